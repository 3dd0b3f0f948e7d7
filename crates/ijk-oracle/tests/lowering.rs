//! Surface trees and their lowering to the core IR mean the same, and agree on undefined programs.

use ijk_oracle::harness::{Agreement, Disagreement, compare};
use ijk_oracle::random::{Case, Coverage, Rng, expected};
use ijk_oracle::{Value, evaluate_bounded};
use ijk_types::{DType, Scalar};

fn programs(default: u64) -> std::ops::Range<u64> {
    let number = |name, or| std::env::var(name).map_or(or, |n| n.parse().expect("a number"));
    let first = number("IJK_SEED", 0);
    first..first + number("IJK_PROGRAMS", default)
}

fn report(seed: u64, case: &Case, disagreement: &Disagreement) {
    println!("{seed}: {disagreement}\n{}", case.source);
    for input in &case.inputs {
        println!("  {} {:?}", input.value.dtype, input.value.shape);
    }
}

#[test]
fn lowering_keeps_the_meaning() {
    let mut failures = 0;
    let mut coverage = Coverage::default();
    for seed in programs(1500) {
        let case = Case::random(seed);
        match compare(&case, &mut []) {
            Ok(Agreement::Syntax(d)) => panic!("{d:?}"),
            Ok(agreement) => coverage.note(&case, &agreement),
            Err(disagreement) => {
                failures += 1;
                report(seed, &case, &disagreement);
            }
        }
    }
    assert_eq!(failures, 0);
    println!("{coverage}\n{:#?}", coverage.below(20, expected().iter().map(|f| &f[..])));
}

#[test]
fn what_means_nothing_is_refused() {
    let mut failures = 0;
    let mut coverage = Coverage::default();
    for seed in programs(1500) {
        let case = Case::random(seed).mutated(&mut Rng::new(seed));
        match compare(&case, &mut []) {
            Ok(agreement) => coverage.note(&case, &agreement),
            Err(disagreement) => {
                failures += 1;
                report(seed, &case, &disagreement);
            }
        }
    }
    assert_eq!(failures, 0);
    println!("{coverage}");
}

#[test]
fn what_a_row_chooses_may_be_what_one_of_it_may() {
    let program = ijk_syntax::parse("+(lj/j)~j . @topk i~k{2}").0;
    let array = |shape: &[usize], numbers: &[f32]| Value {
        dtype: DType::F32,
        shape: shape.to_vec(),
        data: numbers.iter().map(|&x| Scalar::F32(x)).collect(),
    };
    // The first column is 0/0 + 1/0 as written, and 1/0 with the division behind the sum.
    let inputs = [array(&[2, 2], &[0.0, 3.0, 1.0, 4.0]), array(&[2], &[0.0, 1.0])];
    let truth = evaluate_bounded(&program, &inputs).unwrap();
    for first in [f32::NAN, f32::INFINITY] {
        assert_eq!(truth.outputs[0].first_outside(&array(&[2], &[first, 7.0])), None);
    }
}
