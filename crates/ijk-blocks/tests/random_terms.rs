//! Random terms mean the same to the literal evaluator and the engine, and those without a type are refused.
//!
//! `IJK_PROGRAMS=100000 cargo test --release -p ijk-blocks --test all random_terms` is a long run;
//! `IJK_SEED=42 IJK_PROGRAMS=1 …` runs one case again.

use crate::common::{build, compare};
use crate::environment::number;
use ijk_blocks::{BlockPlan, Executor};
use ijk_oracle::blocks::BlockCase;

#[test]
fn terms_agree_with_the_literal_evaluator() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1500));
    let executors = [1, 2, 3, 4].map(|workers| Executor::new().workers(workers));
    let (mut computed, mut refused, mut failed, mut in_parts) = (0, 0, 0, 0);
    for seed in first..first + count {
        let case = BlockCase::random(seed);
        for wrong in &case.wrong {
            let built = build(wrong, seed);
            assert!(built.is_err(), "{seed}: {wrong:?}\nhas no type, but {:?}", built);
            refused += 1;
        }
        let tensor = build(&case.term, seed).unwrap_or_else(|error| panic!("{seed}: {error}"));
        let (dims, blocks, dtype) = case.term.ty().unwrap();
        let found = (tensor.dims(), &tensor.ty().blocks, tensor.element_type().number());
        assert_eq!(found, (&dims[..], &blocks, Some(dtype)), "{seed}: {tensor}");
        let executor = &executors[seed as usize % executors.len()];
        let found = match seed % 5 {
            0 => crate::within::within(executor, 1 << (seed % 12), &tensor),
            _ => executor.collect(&tensor),
        };
        match (case.term.evaluate(), found) {
            (Ok(expected), Ok(found)) => compare(seed, &case, &expected, &found),
            // Elements that the result does not need may have no value.
            (Err(_), _) => failed += 1,
            (expected, found) => panic!("{seed}: {found:?}, not {expected:?}\n{tensor}"),
        }
        computed += 1;
        in_parts += u32::from(BlockPlan::new(&tensor).to_string().contains(" parts"));
    }
    println!(
        "{computed} terms, {in_parts} with axes that are folded in parts, {refused} without a type refused, {failed} without a value"
    );
    assert!(count < 1000 || (refused > 100 && failed > 0 && in_parts > 0));
}
