//! Random programs of Einsum Tuple mean the same to the evaluator and to the interpreter of their lowered form; and the
//! programs cover all features.
//!
//! `IJK_PROGRAMS=50000 cargo test --release -p ijk-oracle --test all et_lowering` is the full run. With
//! the engine: `crates/ijk/tests/et_random.rs`.

use ijk_ir::et::{Checked, Solution};
use ijk_oracle::et::harness::compare;
use ijk_oracle::et::random::{EtCase, expected_of_et, expected_of_et_mistakes, note};
use ijk_oracle::random::{Coverage, Rng};
use ijk_syntax::Diagnostic;

fn solve(case: &EtCase, checked: &Checked) -> Result<Solution, Vec<Diagnostic>> {
    ijk_oracle::et::harness::solve(case, checked, 40_000)
}

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |n| n.parse().expect("a number"))
}

/// Returns true if all agree; otherwise prints the case, reduced.
fn agrees(seed: u64, case: &EtCase, reached: &mut Coverage) -> bool {
    match compare(case, &mut solve, &mut []) {
        Ok(agreement) => {
            note(reached, case, &agreement);
            true
        }
        Err(disagreement) => {
            println!("seed {seed}: {disagreement}\n{case}");
            let small = case.shrunk(&mut |case| compare(case, &mut solve, &mut []).is_err());
            if let Err(disagreement) = compare(&small, &mut solve, &mut []) {
                println!("made small: {disagreement}\n{small}");
            }
            false
        }
    }
}

#[test]
fn the_lowering_agrees() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1000));
    let (mut failures, mut reached, mut mistakes) = (0, Coverage::default(), Coverage::default());
    for seed in first..first + count {
        let case = EtCase::random(seed);
        let wrong = case.mutated(&mut Rng::new(seed));
        failures += u32::from(!agrees(seed, &case, &mut reached));
        failures += u32::from(!agrees(seed, &wrong, &mut mistakes));
        assert!(failures < 8, "many programs disagree");
    }
    println!("{reached}\nwith mistakes:\n{mistakes}");
    assert_eq!(failures, 0, "programs disagree");
    // A solver that finds nothing is not wrong.
    let values = reached.of("outcome: value");
    assert!(count < 1000 || values * 100 > count * 93, "few programs have a value");
    if count >= 10_000 {
        let rare = reached.below(count / 500, expected_of_et().iter().map(String::as_str));
        let wrong =
            mistakes.below(count / 500, expected_of_et_mistakes().iter().map(String::as_str));
        assert!(rare.is_empty() && wrong.is_empty(), "rarely reached: {rare:#?} {wrong:#?}");
    }
}
