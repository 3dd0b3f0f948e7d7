//! Surface trees and their lowering to the core IR mean the same, and agree on undefined programs.

use ijk_oracle::harness::{Agreement, Disagreement, compare};
use ijk_oracle::random::{Case, Coverage, Rng, expected};

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
