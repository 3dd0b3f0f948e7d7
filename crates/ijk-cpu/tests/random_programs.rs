//! The engine agrees with surface trees on random programs, and rejects undefined ones.

use ijk_cpu::{Engine, LEVEL_VARIABLE, Level};
use ijk_oracle::Value;
use ijk_oracle::harness::{Contender, Lowered, compare};
use ijk_oracle::random::{Case, Input, Layout as Places, Placed, Rng, View, ViewMut};
use ijk_oracle::turns;
use ijk_plan::{Layout, plan};
use ijk_types::Scalar;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Plans and runs a lowered program, with results in memory of random layouts.
fn run(
    engine: &Engine,
    near: u64,
    lowered: &Lowered,
    inputs: &[Input],
) -> Result<Vec<Value>, String> {
    let Lowered { program, instance, .. } = lowered;
    let placed: Vec<Placed> = inputs.iter().map(Placed::input).collect();
    let views: Vec<View> = placed.iter().map(Placed::view).collect();
    let views: Vec<_> = views.iter().map(View::tensor).collect();
    let mut results = results(lowered);
    let mut result_views: Vec<ViewMut> = results.iter_mut().map(Placed::view_mut).collect();
    let mut result_views: Vec<_> = result_views.iter_mut().map(ViewMut::tensor).collect();
    let layout = Layout {
        inputs: views.iter().map(|view| view.strides().to_vec()).collect(),
        outputs: result_views.iter().map(|view| view.strides().to_vec()).collect(),
        near,
        ..Layout::contiguous(program, instance)
    };
    let plan = plan(program, instance, &layout).map_err(|error| error.to_string())?;
    let run = engine.run(&plan, &views, &mut result_views);
    drop(result_views);
    run.map_err(|error| format!("{error}\n{plan}"))?;
    Ok(results.iter().map(Placed::to_value).collect())
}

/// Memory for the results, in a random layout that is a function of the program.
fn results(Lowered { program, instance, .. }: &Lowered) -> Vec<Placed> {
    let mut rng = Rng::new(program.statements.len() as u64);
    let place = |id: &ijk_ir::core::ArrayId| {
        let (dtype, shape) = (instance.dtypes[id.0 as usize], &instance.shapes[id.0 as usize]);
        let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let value = Value::full(dtype, &shape, Scalar::zero(dtype));
        Placed::value(&value, &Places::random_apart(&mut rng, shape.len()))
    };
    program.outputs.iter().map(place).collect()
}

/// Assumed cache sizes in bytes, which determine sweeps and their blocks.
const NEAR: [u64; 3] = [0, 1000, 1 << 19];

/// Numbers of threads: one, as on small machines, and more than there is work for.
const THREADS: [usize; 3] = [1, 2, 7];

/// Engines of one SIMD level with [`THREADS`], and their names in messages.
struct Peers {
    level: Level,
    engines: [(&'static str, Engine); 3],
}

/// Engines of every level that the machine has, or of the one that `IJK_LEVEL` names.
fn engines() -> Vec<Peers> {
    let levels = match std::env::var_os(LEVEL_VARIABLE) {
        Some(_) => vec![Level::preferred().unwrap_or_else(|error| panic!("{error}"))],
        None => Level::available(),
    };
    let build = |level| {
        move |threads| {
            let who = match threads {
                1 => "one thread",
                2 => "two threads",
                _ => "seven threads",
            };
            // With two, results are written with non-temporal stores.
            let streams = if threads == 2 { 0 } else { usize::MAX };
            let engine = Engine::builder().level(level).threads(threads).stream_from(streams);
            (who, engine.build())
        }
    };
    let peers = |level| Peers { level, engines: THREADS.map(build(level)) };
    levels.into_iter().map(peers).collect()
}

/// Disagreement on a program among engines of several levels.
fn problem(case: &Case, near: u64, peers: &[Peers]) -> Option<String> {
    let found = |peers: &Peers| {
        let problem = problem_under(case, near, peers)?;
        Some(format!("{}: {problem}", peers.level.name()))
    };
    peers.iter().find_map(found)
}

/// Disagreement on a program among engines of one level.
fn problem_under(case: &Case, near: u64, peers: &Peers) -> Option<String> {
    let mut all: Vec<Contender> = Vec::new();
    for (who, engine) in &peers.engines {
        all.push(Contender::new(who, 0, move |l, i| run(engine, near, l, i)));
    }
    match catch_unwind(AssertUnwindSafe(|| compare(case, &mut all))) {
        Ok(Ok(_)) => None,
        Ok(Err(disagreement)) => Some(disagreement.to_string()),
        Err(_) => Some("a panic".into()),
    }
}

#[test]
fn the_engine_keeps_the_meaning() {
    let number =
        |name: &str, or: u64| std::env::var(name).map_or(or, |n| n.parse().expect("a number"));
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1500));
    let engines = engines();
    let mut failures = 0;
    let mut runs = vec![0; engines.len()];
    for seed in first..first + count {
        let near = NEAR[seed as usize % NEAR.len()];
        let turns = turns(seed, count, engines.len());
        runs[turns.clone()].iter_mut().for_each(|runs| *runs += 2);
        let case = Case::random(seed);
        let wrong = case.mutated(&mut Rng::new(seed));
        for case in [case, wrong] {
            if let Some(problem) = problem(&case, near, &engines[turns.clone()]) {
                failures += 1;
                println!("{seed}: {problem}\n{case}");
            }
        }
    }
    println!("{failures} of {} programs disagree", 2 * count);
    for (peers, runs) in engines.iter().zip(runs) {
        println!("{runs} of them under {}, with {THREADS:?} threads each", peers.level.name());
    }
    assert_eq!(failures, 0);
}
