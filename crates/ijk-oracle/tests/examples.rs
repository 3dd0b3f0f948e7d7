//! The programs in `examples/`, compared with loops written by hand.

#[path = "../../../examples/by_hand.rs"]
mod by_hand;

use by_hand::{Array, EXAMPLES, Example};
use ijk_oracle::{Value, evaluate, random::Rng};
use ijk_types::{DType, Scalar};

fn value(array: &Array) -> Value {
    let data = array.data.iter().map(|&x| Scalar::F64(x)).collect();
    Value { dtype: DType::F64, shape: array.shape.clone(), data }
}

fn check(example: Example) {
    let (name, _, loops) = example;
    let mut rng = Rng::new(7);
    let inputs = by_hand::inputs(example, || rng.unit());
    let path = format!("{}/../../examples/{name}.ijk", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).expect("the example is there");
    let compiled = ijk_ir::compile_source(&source);
    assert!(compiled.diagnostics.is_empty(), "{name}: {:?}", compiled.diagnostics);
    let (program, _) = ijk_syntax::parse(&source);
    let values: Vec<_> = inputs.iter().map(value).collect();
    let outputs = evaluate(&program, &values).expect(name);
    let expected = loops(&inputs);
    assert_eq!(outputs[0].shape, expected.shape, "{name}");
    for (got, want) in outputs[0].data.iter().zip(&expected.data) {
        assert!((got.as_f64() - want).abs() < 1e-12, "{name}: {got}, not {want}");
    }
}

#[test]
fn programs_compute_what_the_loops_do() {
    EXAMPLES.into_iter().for_each(check);
}
