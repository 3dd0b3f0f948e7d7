//! Random programs of Einsum Tuple mean the same to the evaluator and to the interpreter of what
//! they are lowered to.

use ijk_ir::et::{Checked, Overrides, Solution, infer, random};
use ijk_oracle::et::harness::compare;
use ijk_oracle::et::random::{EtCase, note};
use ijk_oracle::random::Coverage;
use ijk_syntax::Diagnostic;

fn solve(case: &EtCase, checked: &Checked) -> Result<Solution, Vec<Diagnostic>> {
    let shape = |name: &str| {
        let input = case.bound.get(name)?;
        Some(input.value.shape.iter().map(|&n| n as u64).collect())
    };
    let bound: Vec<(usize, Vec<u64>)> = checked
        .arrays
        .iter()
        .enumerate()
        .filter_map(|(at, array)| Some((at, shape(&array.name)?)))
        .collect();
    let overrides = Overrides { dims: case.dims.clone(), ..Overrides::default() };
    match bound.is_empty() {
        true => random(checked, &overrides, case.seed, 3000),
        false => infer(checked, &bound, &overrides),
    }
}

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |n| n.parse().expect("a number"))
}

#[test]
fn the_lowering_agrees() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1000));
    let (mut failures, mut reached) = (0, Coverage::default());
    for seed in first..first + count {
        let case = EtCase::random(seed);
        match compare(&case, &mut solve, &mut []) {
            Ok(agreement) => note(&mut reached, &case, &agreement),
            Err(disagreement) => {
                failures += 1;
                println!("seed {seed}: {disagreement}\n{case}");
                if failures > 12 {
                    break;
                }
                let small = case.shrunk(&mut |case| compare(case, &mut solve, &mut []).is_err());
                if let Err(disagreement) = compare(&small, &mut solve, &mut []) {
                    println!("made small: {disagreement}\n{small}");
                }
            }
        }
    }
    println!("{reached}");
    assert_eq!(failures, 0);
}
