//! The engine agrees with random core programs that skip points, on 1, 2 and 7 threads, at every SIMD level in turn.

#[path = "../../ijk-plan/tests/support/skipping.rs"]
mod programs_that_skip;

use ijk_cpu::{Engine, Level, RunError};
use ijk_oracle::random::{Layout as Places, Placed, View, ViewMut};
use ijk_oracle::{Value, interpret, turns};
use ijk_plan::{Layout, plan};
use ijk_types::Scalar;
use programs_that_skip::{Case, agree, case};

fn run(engine: &Engine, case: &Case) -> Result<Vec<Value>, RunError> {
    let Case { program, instance, inputs } = case;
    let plan = plan(program, instance, &Layout::contiguous(program, instance)).unwrap();
    let place = |value: &Value| Placed::value(value, &Places::contiguous(value.shape.len()));
    let inputs: Vec<Placed> = inputs.iter().map(place).collect();
    let views: Vec<View> = inputs.iter().map(Placed::view).collect();
    let views: Vec<_> = views.iter().map(View::tensor).collect();
    let zeros = |id: &ijk_ir::core::ArrayId| {
        let (dtype, shape) = (instance.dtypes[id.0 as usize], &instance.shapes[id.0 as usize]);
        let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        place(&Value::full(dtype, &shape, Scalar::zero(dtype)))
    };
    let mut results: Vec<Placed> = program.outputs.iter().map(zeros).collect();
    let mut result_views: Vec<ViewMut> = results.iter_mut().map(Placed::view_mut).collect();
    let mut result_views: Vec<_> = result_views.iter_mut().map(ViewMut::tensor).collect();
    engine.run(&plan, &views, &mut result_views)?;
    drop(result_views);
    Ok(results.iter().map(Placed::to_value).collect())
}

#[test]
fn the_engine_skips_the_points_that_programs_skip() {
    let number =
        |name: &str, or: u64| std::env::var(name).map_or(or, |n| n.parse().expect("a number"));
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1000));
    let build = |level| [1, 2, 7].map(|n| Engine::builder().level(level).threads(n).build());
    let engines: Vec<_> = Level::available().into_iter().map(build).collect();
    let mut failures = 0;
    for seed in first..first + count {
        let case = case(seed);
        let expected = interpret(&case.program, &case.instance, &case.inputs);
        for engine in engines[turns(seed, count, engines.len())].iter().flatten() {
            let found = run(engine, &case);
            let agrees = match (&expected, &found) {
                (Err(_), Err(error)) => !matches!(error, RunError::Plan(_) | RunError::OutOfBounds),
                (Ok(e), Ok(f)) => e.iter().zip(f).all(|(e, f)| agree(&case, e, f)),
                _ => false,
            };
            if !agrees {
                failures += 1;
                let Case { program, instance, .. } = &case;
                println!("{seed}: expected {expected:?}\nfound {found:?}");
                println!(
                    "{}",
                    plan(program, instance, &Layout::contiguous(program, instance)).unwrap()
                );
                break;
            }
        }
        assert!(failures < 3, "and so on");
    }
    assert_eq!(failures, 0);
}
