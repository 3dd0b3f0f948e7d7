//! Interrupts within every kernel, and the accuracy of memory limits.

use ijk::PlanError;
use ijk::ndarray::{Array1, Array2, ArrayD, IxDyn};
use ijk::order::{Effort, Options};
use ijk::{Einsum, Engine, Error, RunError, Tensor, TensorView, i};

fn is_interrupted<T>(done: &Result<T, Error>) -> bool {
    matches!(done, Err(Error::Run(RunError::Interrupted)))
}

/// Programs in i, each with arguments for which it takes far longer than the time until the interrupt.
fn programs() -> Vec<(&'static str, String, Vec<Tensor>)> {
    let whole = |shape: &[usize]| Tensor::zeros(ijk::DType::I64, shape).unwrap();
    let real = |shape: &[usize]| Tensor::zeros(ijk::DType::F64, shape).unwrap();
    let many = |step: &str, times: usize| vec![step; times].join(" . ");
    let sines = many("@sin ijk~ijk", 80);
    vec![
        ("a product of integers", "+(ij*jk)~ik".into(), vec![whole(&[2500, 2500]); 2]),
        ("longest paths", ">(ij+jk)~ik".into(), vec![real(&[3500, 3500]); 2]),
        ("many functions of one array", many("@sin i~i", 300), vec![real(&[2_000_000])]),
        ("powers of integers", many("i^3~i", 400), vec![whole(&[2_000_000])]),
        ("a convolution", "[i+k]*k~ik . +ik~i".into(), vec![real(&[4_000_000]), real(&[1600])]),
        ("sums of functions", format!("{sines} . +ijk~i"), vec![real(&[4, 1000, 1000])]),
        ("one sum", format!("{} . +i~.", many("@tanh i~i", 120)), vec![real(&[4_000_000])]),
        ("no sum", format!("ij*jk~ijk . {sines} . +ijk~ik"), vec![real(&[200, 200]); 2]),
    ]
}

#[test]
fn every_kernel_ends_when_it_is_told_to() {
    for (what, program, arguments) in programs() {
        let program = i(&program).unwrap();
        let views: Vec<TensorView<'_>> = arguments.iter().map(Tensor::view).collect();
        for threads in [1, 3] {
            let engine = Engine::builder().threads(threads).interrupt(|| true).build();
            let done = engine.apply(&program, &views[..]);
            assert!(is_interrupted(&done), "{what} with {threads} threads");
        }
    }
}

#[test]
fn statements_of_einsum_tuple_end_when_they_are_told_to() {
    let x = Array2::<f64>::zeros((400_000, 64));
    let at = Array1::from_shape_fn(400_000, |n| ((n * 7919) % 100_000) as i64);
    let rows = "y[i[p],c] += x[p,c]\n\nDIMS(p) = 400000";
    let random = "a[p,q] = RANDOM(0, 1, FLOAT)\nb[p] = EXP(SIN(EXP(SIN(EXP(SIN(a[p,q]))))))\n\nDIMS(p) = 3000\nDIMS(q) = 3000";
    for threads in [1, 3] {
        let engine = Engine::builder().threads(threads).interrupt(|| true).build();
        let done = ijk::et(rows)
            .unwrap()
            .run_on(&engine, ijk::et::Bindings::from([("x", &x)]).bind("i", &at));
        assert!(is_interrupted(&done), "rows that are added, {threads} threads");
        let done = ijk::et(random).unwrap().run_on(&engine, ());
        assert!(is_interrupted(&done), "random numbers, {threads} threads");
    }
}

#[test]
fn slices_end_when_they_are_told_to() {
    let x = ArrayD::<f64>::zeros(IxDyn(&[60, 60, 60]));
    let engine = Engine::builder().threads(1).memory_limit(2 << 20).interrupt(|| true).build();
    let done = engine.einsum("abc,cde,efa,bdg->fg", [&x, &x, &x, &x]);
    assert!(is_interrupted(&done), "{:?}", done.map(|result| result.shape().to_vec()));
}

#[test]
fn searches_end_when_they_are_told_to() {
    // Each operand with some others: a network that takes long to search.
    let pairs = (0..90u32).flat_map(|a| (a + 1..90).map(move |b| (a, b)));
    let pairs: Vec<_> = pairs.filter(|(a, b)| (a * b) % 7 == 1).collect();
    let operands: Vec<Vec<ijk::Label>> = (pairs.iter())
        .map(|&(a, b)| [a, b].map(|n| ijk::Label::Index(n.into())).to_vec())
        .collect();
    let einsum = Einsum::from_lists(&operands, Some(&[])).unwrap();
    let einsum = einsum.with_options(Options { effort: Effort::High, ..Options::default() });
    let shapes = vec![&[2usize, 2][..]; pairs.len()];
    let engine = Engine::builder().interrupt(|| true).build();
    assert!(is_interrupted(&engine.einsum_path(&einsum, &shapes)));
}

/// The memory named in an error suffices; less is refused before anything is computed.
#[test]
fn panels_count_against_the_memory_limit() {
    let x = Array2::from_shape_fn((700, 700), |(i, j)| ((i * 5 + j * 3) % 7) as f64 - 3.0);
    let result = 8 * x.len() as u64;
    let expected = ijk::einsum("ij,jk->ik", [&x, &x]).unwrap();
    for threads in [1, 4] {
        let within = |limit| {
            let engine = Engine::builder().threads(threads).memory_limit(limit).build();
            engine.einsum("ij,jk->ik", [&x, &x])
        };
        let Err(Error::Plan(PlanError::MemoryLimit { needed, results, temporaries, limit })) =
            within(result)
        else {
            panic!("panels take memory")
        };
        assert_eq!((results, limit, needed), (result, result, results + temporaries));
        assert!((1 << 20..16 << 20).contains(&temporaries), "{temporaries}");
        assert_eq!(within(needed).unwrap(), expected);
        assert!(within(needed - 1).is_err());
    }
}
