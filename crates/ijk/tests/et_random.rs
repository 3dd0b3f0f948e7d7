//! Random programs of Einsum Tuple have the same value in the evaluator of rules 0 to 6, in the
//! interpreter of the core IR, and on the engine; and all agree on the programs without a value.
//!
//! `IJK_PROGRAMS=50000 cargo test --release -p ijk --test all et_random` is the full run;
//! `IJK_SEED=42 IJK_PROGRAMS=1 …` runs one program again. See `docs/TESTING.md`.

use crate::common::{Again, Engines, Peers, in_shares};
use ijk::et::{Bindings, Program};
use ijk::{Engine, Error, Tensor};
use ijk_ir::et::{Checked, Solution};
use ijk_oracle::Value;
use ijk_oracle::et::harness::{Arrays, EtAgreement, EtContender, EtDisagreement, compare};
use ijk_oracle::et::random::{EtCase, expected_of_et, expected_of_et_mistakes, note};
use ijk_oracle::random::{Coverage, Placed, Rng, View};
use ijk_syntax::Diagnostic;

/// Upper bound of the points of a statement when extents are drawn.
const POINTS: u64 = 40_000;

/// Compares all evaluations of a program, on some engines in turn.
fn contend(peers: &[Peers], case: &EtCase) -> Result<EtAgreement, EtDisagreement> {
    let mut contenders = Vec::new();
    for (group, peers) in peers.iter().enumerate() {
        for (who, engine) in peers.names[0].into_iter().zip(&peers.engines) {
            contenders.push(EtContender::new(who, group as u64, |case| run(engine, case)));
        }
    }
    compare(case, &mut solve, &mut contenders)
}

fn run(engine: &Engine, case: &EtCase) -> Result<Arrays, String> {
    let error = |error: Error| error.to_string();
    let program = Program::parse(&case.source).map_err(error)?;
    let placed: Vec<(&String, Placed)> =
        case.bound.iter().map(|(name, input)| (name, Placed::input(input))).collect();
    let views: Vec<(&String, View)> =
        placed.iter().map(|(name, placed)| (*name, placed.view())).collect();
    let mut bindings = Bindings::new().seed(case.seed).points(POINTS);
    for (name, view) in &views {
        bindings = bindings.bind(name.as_str(), view.tensor());
    }
    for (tuple, dims) in &case.dims {
        bindings = bindings.dims(tuple.as_str(), dims.clone());
    }
    for (tuple, rank) in &case.ranks {
        bindings = bindings.rank(tuple.as_str(), *rank);
    }
    let outputs = program.run_on(engine, &bindings).map_err(error)?;
    Ok(outputs.iter().map(|(name, tensor)| (name.to_owned(), value(tensor))).collect())
}

fn value(tensor: &Tensor) -> Value {
    let data = tensor.view().iter_scalars().collect();
    Value { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), data }
}

fn solve(case: &EtCase, checked: &Checked) -> Result<Solution, Vec<Diagnostic>> {
    ijk_oracle::et::harness::solve(case, checked, POINTS)
}

/// Coverage of a share of the programs, and the number of disagreements.
#[derive(Default)]
struct Outcome {
    reached: Coverage,
    mistakes: Coverage,
    failures: u64,
}

impl Outcome {
    /// Prints the shrunk case, and the command that runs it again.
    fn fail(&mut self, peers: &[Peers], seed: u64, case: &EtCase, disagreement: &EtDisagreement) {
        self.failures += 1;
        println!("{disagreement}\n{case}");
        if self.failures > 3 {
            return;
        }
        let small = case.shrunk(&mut |case| contend(peers, case).is_err());
        if let Err(disagreement) = contend(peers, &small) {
            println!("made small: {disagreement}\n{small}");
        }
        println!("again: IJK_SEED={seed} IJK_PROGRAMS=1 cargo test -p ijk --test all et_random\n");
    }
}

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |n| n.parse().expect("a number"))
}

/// Compares the programs of some seeds, each also with mistakes.
fn work(engines: &Engines, count: u64, seeds: impl Iterator<Item = u64>) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in seeds {
        let _again = Again { test: "et_random", seed };
        let peers = engines.of(seed, count);
        engines.note(seed, count, &mut outcome.reached);
        let case = EtCase::random(seed);
        match contend(peers, &case) {
            Ok(agreement) => note(&mut outcome.reached, &case, &agreement),
            Err(disagreement) => outcome.fail(peers, seed, &case, &disagreement),
        }
        let wrong = case.mutated(&mut Rng::new(seed));
        match contend(peers, &wrong) {
            Ok(agreement) => note(&mut outcome.mistakes, &wrong, &agreement),
            Err(disagreement) => outcome.fail(peers, seed, &wrong, &disagreement),
        }
    }
    outcome
}

#[test]
fn all_evaluations_agree() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1000));
    let engines = &Engines::new(&["run"]);
    let mut all = Outcome::default();
    for outcome in in_shares(first, count, |share| work(engines, count, share)) {
        all.reached.merge(outcome.reached);
        all.mistakes.merge(outcome.mistakes);
        all.failures += outcome.failures;
    }
    println!("{}", all.reached);
    println!("with mistakes:\n{}", all.mistakes);
    println!("{} of {} programs disagree", all.failures, 2 * count);
    println!("programs, {}", engines.summary(&all.reached));
    assert_eq!(all.failures, 0);
    check_coverage(engines, &all, count);
}

/// Everything is reached at least twice in a thousand programs, and most of them have a value.
fn check_coverage(engines: &Engines, all: &Outcome, count: u64) {
    if count < 1000 {
        return;
    }
    assert!(all.reached.of("outcome: value") * 100 > count * 93, "few programs have a value");
    // Short runs need not reach rare rules.
    let least = if count < 10_000 { 0 } else { count / 500 };
    let expected: Vec<String> = expected_of_et().into_iter().chain(engines.expected()).collect();
    let never = all.reached.below(1, expected.iter().map(String::as_str));
    assert!(never.len() * 10 < expected.len(), "never reached: {never:#?}");
    let rare = all.reached.below(least, expected.iter().map(String::as_str));
    assert!(rare.is_empty(), "reached less than {least} times: {rare:#?}");
    let mistakes = expected_of_et_mistakes();
    let rare = all.mistakes.below(least, mistakes.iter().map(String::as_str));
    assert!(rare.is_empty(), "reached less than {least} times by mistakes: {rare:#?}");
}
