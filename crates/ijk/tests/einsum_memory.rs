//! Memory of einsums: as much as errors say, and no more than the limit.

use ijk::PlanError;
use ijk::ndarray::Array2;
use ijk::{Arguments, Einsum, Engine, Error, Tensor, TensorView, TensorViewMut};

fn engine(limit: u64) -> Engine {
    Engine::builder().threads(1).memory_limit(limit).build()
}

/// The result, or the memory limit that suffices according to the error.
fn needed<T>(result: Result<T, Error>, limit: u64) -> Result<T, u64> {
    match result {
        Err(Error::Plan(PlanError::MemoryLimit { needed, results, temporaries, limit: told })) => {
            assert_eq!((needed, told), (results + temporaries, limit));
            assert!(needed > limit);
            Err(needed)
        }
        result => Ok(result.unwrap()),
    }
}

fn within(limit: u64, subscripts: &str, operands: &[TensorView<'_>]) -> Result<Tensor, u64> {
    needed(engine(limit).einsum(subscripts, operands), limit)
}

fn into(limit: u64, subscripts: &str, operands: &[TensorView<'_>]) -> Result<Tensor, u64> {
    let einsum = Einsum::new(subscripts).unwrap();
    let shapes: Vec<&[usize]> = operands.iter().map(TensorView::shape).collect();
    let shape = einsum.result_shape(&shapes).unwrap();
    let mut out = Tensor::zeros(operands[0].dtype(), &shape).unwrap();
    let place: TensorViewMut<'_> = out.view_mut();
    needed(engine(limit).apply_einsum_into(&einsum, operands, place), limit).map(|()| out)
}

fn matrix(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 5 + j * 3) % 7) as f64 - 3.0)
}

/// Bytes of some numbers in an arena, rounded up to cache lines.
const fn arena(numbers: u64) -> u64 {
    (8 * numbers).next_multiple_of(64)
}

#[test]
fn what_is_needed_is_enough() {
    let (a, b, c) = (matrix(4, 64), matrix(64, 32), matrix(32, 6));
    let views = (&a, &b, &c).views(&mut Default::default());
    for subscripts in
        ["ij,jk,kl->il", "ij,jk,kl->ikl", "ij,jk,kl->", "ij,jk,kl->li", "ij,jk,kl->jl"]
    {
        let whole = ijk::einsum(subscripts, &*views).unwrap();
        let (mut least, mut most) = (u64::MAX, 0);
        for limit in (0..40).chain((40..1000).step_by(24)).chain((1000..20_000).step_by(500)) {
            for run in [within, into] {
                match run(limit, subscripts, &views) {
                    Ok(result) => {
                        assert_eq!(result, whole, "{subscripts} within {limit}");
                        least = least.min(limit);
                    }
                    Err(needed) => {
                        let enough = run(needed, subscripts, &views);
                        assert_eq!(enough.unwrap(), whole, "{subscripts} within {needed}");
                        most = most.max(limit);
                    }
                }
            }
        }
        assert!(least < 20_000 && most > 0, "{subscripts}: {least}, {most}");
    }
}

/// The numbers in memory at the same time, counted by hand.
#[test]
fn what_is_alive_at_once() {
    let (a, b, c) = (matrix(4, 64), matrix(64, 32), matrix(32, 6));
    let views = (&a, &b, &c).views(&mut Default::default());
    // Whole: all of `ik`, and the result.
    let whole = 8 * (4 * 32 * 6) + arena(4 * 32);
    // Slices written to the result, each after a number of `ik`.
    let least = 8 * (4 * 32 * 6) + arena(1);
    assert!(within(least, "ij,jk,kl->ikl", &views).is_ok());
    assert_eq!(within(least - 1, "ij,jk,kl->ikl", &views), Err(least));
    // Slices for an output of the caller are collected in other memory, which is more than rows of `ik`.
    let rows = into(0, "ij,jk,kl->ikl", &views).unwrap_err();
    assert!(rows > least && rows < whole);
    assert_eq!(into(rows - 1, "ij,jk,kl->ikl", &views), Err(rows));
    // Slices that are summed: the sum, a slice of it, and its temporaries.
    let sums = 8 * (4 * 6) + 8 * 6 + arena(1);
    assert!(within(sums, "ij,jk,kl->il", &views).is_ok());
}
