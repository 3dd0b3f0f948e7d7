//! Surface trees and their lowering to the core IR mean the same.

use ijk_oracle::harness::{Agreement, compare};
use ijk_oracle::random::Case;

#[test]
fn lowering_keeps_the_meaning() {
    let count = std::env::var("IJK_PROGRAMS").map_or(1500, |n| n.parse().expect("a number"));
    let (mut failures, mut values) = (0, 0);
    for seed in 0..count {
        let case = Case::random(seed);
        match compare(&case, &mut []) {
            Ok(Agreement::Value(..)) => values += 1,
            Ok(Agreement::Syntax(d)) => panic!("{d:?}"),
            Ok(_) => {}
            Err(disagreement) => {
                failures += 1;
                println!("{seed}: {disagreement}\n{}", case.source);
                for input in &case.inputs {
                    println!("  {} {:?}", input.value.dtype, input.value.shape);
                }
            }
        }
    }
    assert_eq!(failures, 0, "{values}");
}
