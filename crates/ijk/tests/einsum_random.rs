//! Random einsums have the same value in the literal evaluator and on the engine: in the order of the
//! search and in any other, whole and in slices, into new arrays and into outputs of any layout.
//!
//! `IJK_PROGRAMS=100000 cargo test --release -p ijk --test all einsum_random` is the full run;
//! `IJK_SEED=42 IJK_PROGRAMS=1 …` runs one einsum again.

use ijk::{Einsum, Engine, Tensor};
use ijk_oracle::random::{EinsumCase, Layout, Placed, Rng, View, ViewMut};
use ijk_oracle::{Value, evaluate_einsum};
use ijk_syntax::einsum::Subscripts;
use ijk_types::Scalar;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn value(tensor: &Tensor) -> Value {
    let data = tensor.view().iter_scalars().collect();
    Value { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), data }
}

/// Equality of numbers; zeros of either sign are equal.
fn equal(left: &Value, right: &Value) -> bool {
    left.dtype == right.dtype && left.shape == right.shape && left.data == right.data
}

#[test]
fn einsums_agree_with_the_oracle() {
    let engines: Vec<Engine> =
        [1, 2, 7].map(|threads| Engine::builder().threads(threads).build()).into();
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1500));
    let (mut fitting, mut sliced) = (0, 0);
    for seed in first..first + count {
        let case = EinsumCase::random(seed);
        let text = &case.subscripts;
        let subscripts = Subscripts::parse(text).expect("subscripts");
        let values: Vec<Value> = case.inputs.iter().map(|input| input.value.clone()).collect();
        let expected = evaluate_einsum(&subscripts, &values);
        let placed: Vec<Placed> = case.inputs.iter().map(Placed::input).collect();
        let views: Vec<View> = placed.iter().map(Placed::view).collect();
        let views: Vec<_> = views.iter().map(View::tensor).collect();
        let engine = &engines[seed as usize % engines.len()];
        let einsum = Einsum::new(text).expect("subscripts");
        let result = engine.apply_einsum(&einsum, &views);
        let Some(expected) = expected else {
            assert!(result.is_err(), "{seed}: {text}: {case:?}");
            continue;
        };
        fitting += 1;
        let result = value(&result.unwrap_or_else(|error| panic!("{seed}: {error}\n{case:?}")));
        assert!(
            equal(&result, &expected),
            "{seed}: {text}: {result:?}, not {expected:?}: {case:?}"
        );
        let along = einsum.with_path(case.path.clone());
        let other = value(&engine.apply_einsum(&along, &views).unwrap());
        assert!(equal(&other, &expected), "{seed}: {text} along {:?}: {other:?}", case.path);
        into(engine, &einsum, &views, &expected, seed);
        sliced += usize::from(in_slices(&einsum, &views, &expected, seed));
    }
    println!("{fitting} of {count} einsums fit, {sliced} were computed in slices");
    assert!(fitting * 2 > count);
    assert!(count < 1000 || sliced > 0);
}

fn into(
    engine: &Engine,
    einsum: &Einsum,
    views: &[ijk::TensorView<'_>],
    expected: &Value,
    seed: u64,
) {
    let mut rng = Rng::new(seed);
    let layout = Layout::random_apart(&mut rng, expected.shape.len());
    let zero = ijk_types::Scalar::zero(expected.dtype);
    let mut placed = Placed::value(&Value::full(expected.dtype, &expected.shape, zero), &layout);
    let before = placed.all_memory();
    let mut view: ViewMut = placed.view_mut();
    engine.apply_einsum_into(einsum, views, view.tensor()).unwrap();
    placed.check_gaps(&before).unwrap();
    assert!(equal(&placed.to_value(), expected), "{seed}: {einsum} into {layout:?}");
}

/// Empty sums are 0, whatever the other factors are: along any path, and in slices.
#[test]
fn sums_of_nothing_are_zero_beside_infinities() {
    let engine = Engine::builder().threads(2).build();
    let mut empty = 0;
    for seed in number("IJK_SEED", 0)..number("IJK_SEED", 0) + number("IJK_PROGRAMS", 1500) {
        let mut case = EinsumCase::random(seed);
        for input in &mut case.inputs {
            input.value.data.iter_mut().for_each(|x| *x = infinite(*x, seed));
        }
        let subscripts = Subscripts::parse(&case.subscripts).expect("subscripts");
        let values: Vec<Value> = case.inputs.iter().map(|input| input.value.clone()).collect();
        let Some(expected) = evaluate_einsum(&subscripts, &values) else { continue };
        if !values.iter().any(|value| value.data.is_empty()) || expected.data.is_empty() {
            continue;
        }
        empty += 1;
        let placed: Vec<Placed> = case.inputs.iter().map(Placed::input).collect();
        let views: Vec<View> = placed.iter().map(Placed::view).collect();
        let views: Vec<_> = views.iter().map(View::tensor).collect();
        let einsum = Einsum::new(&case.subscripts).expect("subscripts");
        let limit = (expected.data.len() * expected.dtype.size()) as u64;
        let small = Engine::builder().threads(1).memory_limit(limit).build();
        for engine in [&engine, &small] {
            for einsum in [&einsum, &einsum.with_path(case.path.clone())] {
                let result = value(&engine.apply_einsum(einsum, &views).unwrap());
                assert!(equal(&result, &expected), "{seed}: {result:?}: {case:?}");
            }
        }
    }
    println!("{empty} sums of nothing");
    assert!(number("IJK_PROGRAMS", 1500) < 1000 || empty > 20);
}

/// Infinity or NaN in place of a floating-point number.
fn infinite(x: Scalar, seed: u64) -> Scalar {
    let value = if seed.is_multiple_of(2) { f64::INFINITY } else { f64::NAN };
    match x {
        Scalar::F32(_) => Scalar::F32(value as f32),
        Scalar::F64(_) => Scalar::F64(value),
        other => other,
    }
}

/// Computes within so little memory that slices are needed, if that is possible; true if it was computed.
fn in_slices(einsum: &Einsum, views: &[ijk::TensorView<'_>], expected: &Value, seed: u64) -> bool {
    let bytes = (expected.data.len() * expected.dtype.size()) as u64;
    let needs = |limit| {
        let engine = Engine::builder().threads(1).memory_limit(limit).build();
        engine.apply_einsum(einsum, views)
    };
    if needs(bytes).is_ok() {
        return false;
    }
    let Ok(result) = needs(2 * bytes + 16 + seed % 64) else { return false };
    assert!(equal(&value(&result), expected), "{seed}: {einsum} in slices");
    true
}
