//! Plans of random core programs that skip points compute what the programs say.

#[path = "support/skipping.rs"]
mod programs_that_skip;

use ijk_oracle::{Value, interpret};
use ijk_plan::{Layout, plan};
use programs_that_skip::{Case, agree, case};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Result of the interpreter of plans.
fn run(case: &Case, choices: &mut BTreeMap<String, u32>) -> Result<Vec<Value>, String> {
    let Case { program, instance, inputs } = case;
    let layout = Layout::contiguous(program, instance);
    let plan = plan(program, instance, &layout).map_err(|error| error.to_string())?;
    plan.choices().for_each(|choice| *choices.entry(choice).or_default() += 1);
    let data: Vec<_> = inputs.iter().map(|input| input.data.clone()).collect();
    // The interpreter panics where a scalar operation has no value.
    let found = catch_unwind(AssertUnwindSafe(|| crate::support::run_plan(&plan, &data)))
        .map_err(|_| format!("{plan}\n{plan:#?}"))?;
    let value = |(id, data): (&ijk_ir::core::ArrayId, Vec<_>)| Value {
        dtype: instance.dtypes[id.0 as usize],
        shape: instance.shapes[id.0 as usize].iter().map(|&n| n as usize).collect(),
        data,
    };
    Ok(program.outputs.iter().zip(found).map(value).collect())
}

#[test]
fn plans_skip_the_points_that_programs_skip() {
    let number =
        |name: &str, or: u64| std::env::var(name).map_or(or, |n| n.parse().expect("a number"));
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1000));
    let mut choices = BTreeMap::new();
    let (mut faults, mut failures) = (0, 0);
    for seed in first..first + count {
        let case = case(seed);
        let expected = interpret(&case.program, &case.instance, &case.inputs);
        let found = run(&case, &mut choices);
        match (expected, found) {
            (Err(_), Err(_)) => faults += 1,
            (Ok(expected), Ok(found))
                if expected.iter().zip(&found).all(|(e, f)| agree(&case, e, f)) => {}
            (expected, found) => {
                failures += 1;
                println!("{seed}: expected {expected:?}\nfound {found:?}\n{:#?}", case.program);
                println!("{:?}", case.instance);
                assert!(failures < 3, "and so on");
            }
        }
    }
    println!("{choices:#?}\n{faults} faults");
    assert_eq!(failures, 0);
}
