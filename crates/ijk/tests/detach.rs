//! Long work runs in the wrapper of `EngineBuilder::detach`, short work does not.

use ijk::ndarray::{Array1, Array2, Array3};
use ijk::{Engine, Tensor, TensorViewMut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls of `counted`, static since a function pointer has no state.
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn counted(work: &mut (dyn FnMut() + Send)) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    work();
}

/// Number of detached calls, after all plans are cached.
fn calls<R>(mut done: impl FnMut() -> R) -> (usize, R) {
    done();
    let before = CALLS.load(Ordering::Relaxed);
    let result = done();
    (CALLS.load(Ordering::Relaxed) - before, result)
}

#[test]
fn work_is_judged_by_what_it_takes() {
    let engine = Engine::builder().threads(1).detach(counted).build();
    let plain = Engine::builder().threads(1).build();

    // Short work.
    let a = Array2::<f64>::eye(8);
    assert_eq!(calls(|| engine.einsum("ij,jk->ik", (&a, &a)).unwrap()).0, 0);
    let transpose = ijk::i("ij~ji").unwrap();
    assert_eq!(calls(|| engine.apply(&transpose, (&a,)).unwrap()).0, 0);
    let square = ijk::et("y[a,b] = x[a,b] * x[a,b]").unwrap();
    assert_eq!(calls(|| square.run_on(&engine, [("x", &a)]).unwrap()).0, 0);

    // Small arguments, long work.
    let v = Array1::from_iter((0..200).map(f64::from));
    let outer = |engine: &Engine| engine.einsum("i,j,k->ijk", (&v, &v, &v)).unwrap();
    let (long, result) = calls(|| outer(&engine));
    assert!(long == 1 && result == outer(&plain));
    let sines = ijk::i("i+j~ij . ij+k~ijk . @sin ijk~ijk . +ijk~.").unwrap();
    let sum = |engine: &Engine| -> Vec<Tensor> { engine.apply(&sines, (&v, &v, &v)).unwrap() };
    let (long, result) = calls(|| sum(&engine));
    assert!(long == 1 && result == sum(&plain));
    let program = ijk::et("y[a,b,c] = v[a] * v[b] * v[c]").unwrap();
    let cube = |engine: &Engine| program.run_on(engine, [("v", &v)]).unwrap();
    let (long, result) = calls(|| cube(&engine));
    assert!(long == 1 && result["y"] == cube(&plain)["y"]);

    // Outputs of the caller; an error.
    let mut out = Array3::<f64>::zeros((200, 200, 200));
    let product = ijk::Einsum::new("i,j,k->ijk").unwrap();
    let (long, ()) = calls(|| {
        let out = TensorViewMut::from(out.view_mut());
        engine.apply_einsum_into(&product, (&v, &v, &v), out).unwrap();
    });
    assert!(long == 1 && Tensor::from_array(out) == outer(&plain));
    let divide = ijk::i("i/j~ij . ij+k~ijk").unwrap();
    let zeros = Array1::<i32>::zeros(200);
    let (long, failed) = calls(|| engine.apply(&divide, (&zeros, &zeros, &zeros)).is_err());
    assert!(long >= 1 && failed);
}

#[test]
fn a_hook_that_does_nothing_changes_nothing() {
    let engine = Engine::builder().detach(|_| {}).build();
    let v = Array1::<f64>::ones(2000);
    let sum = engine.einsum("i,j->", (&v, &v)).unwrap();
    assert_eq!(sum.get(&[]), ijk::Scalar::F64(4e6));
}
