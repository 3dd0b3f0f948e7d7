//! Random programs have the same value in the surface evaluator, in the interpreter of the core IR and
//! on the engine, and all agree on the programs without a value.
//!
//! `IJK_PROGRAMS=100000 cargo test --release -p ijk --test all random_programs` is the full run;
//! `IJK_SEED=42 IJK_PROGRAMS=1 …` runs one program again. See `docs/TESTING.md`.

mod misuse;

use crate::common::{Again, Engines, Peers, in_shares};
use ijk::{Engine, Tensor};
use ijk_oracle::Value;
use ijk_oracle::harness::{Agreement, Contender, Disagreement, Lowered, compare};
use ijk_oracle::random::{
    Case, Coverage, Input, Layout, Placed, Rng, View, ViewMut, expected, expected_of_mistakes,
};
use ijk_plan::{self as plan, Kernel};
use ijk_types::Scalar;

/// All ways to run a program on some engines: into new arrays, and into outputs of any layout.
fn contenders(peers: &[Peers]) -> Vec<Contender<'_>> {
    let mut all = Vec::new();
    for (group, peers) in peers.iter().enumerate() {
        let group = 2 * group as u64;
        let [fresh, into] = [0, 1].map(|way| peers.names[way].into_iter().zip(&peers.engines));
        for (who, engine) in fresh {
            all.push(Contender::new(who, group, |l, i| apply(engine, l, i)).with_loops());
        }
        for (who, engine) in into.step_by(2) {
            all.push(Contender::new(who, group + 1, |l, i| apply_into(engine, l, i)).with_loops());
        }
    }
    all
}

fn contend(peers: &[Peers], case: &Case) -> Result<Agreement, Disagreement> {
    compare(case, &mut contenders(peers))
}

fn apply(engine: &Engine, lowered: &Lowered, inputs: &[Input]) -> Result<Vec<Value>, String> {
    let program = ijk::i(&lowered.source).map_err(|error| error.to_string())?;
    let placed: Vec<Placed> = inputs.iter().map(Placed::input).collect();
    let views: Vec<View> = Input::firsts(inputs).iter().map(|&at| placed[at].view()).collect();
    let views: Vec<_> = views.iter().map(View::tensor).collect();
    let results = engine.apply(&program, &views).map_err(|error| error.to_string())?;
    Ok(results.iter().map(value).collect())
}

fn value(tensor: &Tensor) -> Value {
    let data = tensor.view().iter_scalars().collect();
    Value { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), data }
}

fn apply_into(engine: &Engine, lowered: &Lowered, inputs: &[Input]) -> Result<Vec<Value>, String> {
    let program = ijk::i(&lowered.source).map_err(|error| error.to_string())?;
    let placed: Vec<Placed> = inputs.iter().map(Placed::input).collect();
    let views: Vec<View> = Input::firsts(inputs).iter().map(|&at| placed[at].view()).collect();
    let views: Vec<_> = views.iter().map(View::tensor).collect();
    let mut results = results(lowered);
    let before: Vec<Vec<Scalar>> = results.iter().map(Placed::all_memory).collect();
    let mut result_views: Vec<ViewMut> = results.iter_mut().map(Placed::view_mut).collect();
    let mut result_views: Vec<_> = result_views.iter_mut().map(ViewMut::tensor).collect();
    let run = engine.apply_into(&program, &views, &mut result_views);
    drop(result_views);
    for (result, before) in results.iter().zip(before) {
        result.check_gaps(&before)?;
        if run.is_err() && result.all_memory() != before {
            return Err("an error, but results were written".into());
        }
    }
    run.map_err(|error| error.to_string())?;
    Ok(results.iter().map(Placed::to_value).collect())
}

/// Outputs with layouts that are drawn from the program.
fn results(Lowered { program, instance, source }: &Lowered) -> Vec<Placed> {
    let mut rng = Rng::new(source.len() as u64);
    let place = |id: &ijk_ir::core::ArrayId| {
        let (dtype, shape) = (instance.dtypes[id.0 as usize], &instance.shapes[id.0 as usize]);
        let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let value = Value::full(dtype, &shape, Scalar::zero(dtype));
        Placed::value(&value, &Layout::random_apart(&mut rng, shape.len()))
    };
    program.outputs.iter().map(place).collect()
}

/// Coverage of a share of the programs, and the number of disagreements.
#[derive(Default)]
struct Outcome {
    reached: Coverage,
    mistakes: Coverage,
    failures: u64,
}

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |n| n.parse().expect("a number"))
}

/// Compares the programs of some seeds, each also with mistakes.
fn work(engines: &Engines, count: u64, seeds: impl Iterator<Item = u64>) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in seeds {
        let _again = Again { test: "random_programs", seed };
        let peers = engines.of(seed, count);
        engines.note(seed, count, &mut outcome.reached);
        let case = Case::random(seed);
        match contend(peers, &case) {
            Ok(agreement) => {
                outcome.reached.note(&case, &agreement);
                kernels(&mut outcome.reached, &case, &agreement);
            }
            Err(disagreement) => outcome.fail(peers, seed, &case, &disagreement),
        }
        let wrong = case.mutated(&mut Rng::new(seed));
        match contend(peers, &wrong) {
            Ok(agreement) => {
                outcome.mistakes.note(&wrong, &agreement);
                outcome.misuse(&peers[0].engines[0], seed, &wrong, &agreement);
            }
            Err(disagreement) => outcome.fail(peers, seed, &wrong, &disagreement),
        }
    }
    outcome
}

/// Counts the kernel of each step of the plan.
fn kernels(reached: &mut Coverage, case: &Case, agreement: &Agreement) {
    let Agreement::Value(_, lowered) = agreement else { return };
    if !lowered.program.loops.is_empty() {
        return;
    }
    let strides = case.inputs.iter().map(|input| input.layout.lay_out(&input.value).strides);
    let contiguous = plan::Layout::contiguous(&lowered.program, &lowered.instance);
    let layout = plan::Layout { inputs: strides.collect(), ..contiguous };
    let plan = plan::plan(&lowered.program, &lowered.instance, &layout).expect("as before");
    for choice in plan.choices() {
        let kind = choice.split(' ').next().unwrap_or_default();
        reached.count(format!("kernel: {kind}"));
        reached.count(format!("choice: {choice}"));
    }
}

impl Outcome {
    /// Cases without a value fail with an error, and so do programs that are used wrongly.
    fn misuse(&mut self, engine: &Engine, seed: u64, case: &Case, agreement: &Agreement) {
        let run = match agreement {
            // Evaluators have limits of their own on sizes.
            Agreement::IllFormed(_, diagnostics) if diagnostics.is_empty() => return,
            Agreement::Value(_, lowered) => {
                misuse::wrong_use(&mut Rng::new(seed), lowered, &case.inputs)
            }
            _ => misuse::refusal(engine, case),
        };
        match run {
            Err(error) => self.mistakes.count(format!("engine: {}", misuse::kind(&error))),
            // A memory limit of 0 suffices for empty results.
            Ok(()) if matches!(agreement, Agreement::Value(..)) => {}
            Ok(()) => {
                self.failures += 1;
                println!("seed {seed}: the engine takes what means nothing\n{case}");
            }
        }
    }

    /// Prints the shrunk case, and the command that runs it again.
    fn fail(&mut self, peers: &[Peers], seed: u64, case: &Case, disagreement: &Disagreement) {
        self.failures += 1;
        println!("{disagreement}\n{case}");
        if self.failures > 3 {
            return;
        }
        let small = case.shrunk(&mut |case| contend(peers, case).is_err());
        if let Err(disagreement) = contend(peers, &small) {
            println!("made small: {disagreement}\n{small}");
        }
        println!(
            "again: IJK_SEED={seed} IJK_PROGRAMS=1 cargo test -p ijk --test all random_programs\n"
        );
    }
}

#[test]
fn all_evaluations_agree() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 3000));
    let engines = &Engines::new(&["apply", "apply_into"]);
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

/// Everything is reached at least once in a thousand programs.
fn check_coverage(engines: &Engines, all: &Outcome, count: u64) {
    if count < 1000 {
        return;
    }
    // Short runs need not reach rare rules.
    let least = if count < 10_000 { 0 } else { count / 1000 };
    // Programs in i skip no points, so they have no prefixes; those of `et_random` have.
    let kernels = Kernel::ALL.into_iter().filter(|kernel| *kernel != Kernel::Scan);
    let kernels = kernels.map(|kernel| format!("kernel: {kernel}"));
    let expected: Vec<String> =
        expected().into_iter().chain(kernels).chain(engines.expected()).collect();
    let total = expected.len();
    let never = all.reached.below(1, expected.iter().map(String::as_str));
    assert!(never.len() * 20 < total, "never reached: {never:#?}");
    let rare = all.reached.below(least, expected.iter().map(String::as_str));
    assert!(rare.is_empty(), "reached less than {least} times: {rare:#?}");
    let kinds = misuse::KINDS.map(|kind| format!("engine: {kind}"));
    let mistakes: Vec<String> = expected_of_mistakes().into_iter().chain(kinds).collect();
    let rare = all.mistakes.below(least, mistakes.iter().map(String::as_str));
    assert!(rare.is_empty(), "reached less than {least} times by mistakes: {rare:#?}");
}
