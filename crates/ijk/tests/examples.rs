//! The programs in `examples/` on the engine, against loops written by hand.

#[path = "../../../examples/by_hand.rs"]
mod by_hand;

use by_hand::{Array, EXAMPLES, Example};
use ijk::{DType, Tensor};

fn tensor(array: &Array) -> Tensor {
    Tensor::from_vec(array.data.clone(), &array.shape).expect("sizes agree")
}

/// Numbers in [0, 1), the same in every run.
fn draws() -> impl FnMut() -> f64 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn source(name: &str) -> String {
    let path = format!("{}/../../examples/{name}.ijk", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the example is there")
}

fn check(example: Example, dtype: DType, tolerance: f64) {
    let (name, _, loops) = example;
    let inputs = by_hand::inputs(example, draws());
    let expected = loops(&inputs);
    let program = ijk::i(&source(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let tensors: Vec<_> = inputs.iter().map(|x| tensor(x).cast(dtype).unwrap()).collect();
    let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
    let results = program.apply(&views).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(results[0].shape(), expected.shape, "{name}");
    for (got, want) in results[0].view().iter_scalars().zip(&expected.data) {
        let error = (got.as_f64() - want).abs();
        assert!(error <= tolerance * want.abs().max(1.0), "{name} of {dtype}: {got}, not {want}");
    }
}

#[test]
fn programs_compute_what_the_loops_do() {
    for example in EXAMPLES {
        check(example, DType::F64, 1e-12);
        check(example, DType::F32, 1e-4);
    }
}
