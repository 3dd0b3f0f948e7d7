//! Plans of random programs compute what the surface trees mean.

mod support;

use ijk_oracle::Value;
use ijk_oracle::harness::{Contender, Lowered, compare};
use ijk_oracle::random::{Case, Input};
use ijk_plan::{Layout, plan};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The literal interpreter of plans.
fn interpret(lowered: &Lowered, inputs: &[Input]) -> Result<Vec<Value>, String> {
    let Lowered { program, instance, .. } = lowered;
    let strides = inputs.iter().map(|input| input.layout.lay_out(&input.value).strides);
    let layout = Layout { inputs: strides.collect(), ..Layout::contiguous(program, instance) };
    let plan = plan(program, instance, &layout).map_err(|error| error.to_string())?;
    let data: Vec<_> = inputs.iter().map(|input| input.value.data.clone()).collect();
    // The interpreter panics where a scalar operation has no value.
    let run = AssertUnwindSafe(|| support::run_plan(&plan, &data));
    let results = catch_unwind(run).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        format!("{}\n{plan}", text.unwrap_or_default())
    })?;
    let value = |(id, data): (&ijk_ir::core::ArrayId, Vec<_>)| Value {
        dtype: instance.dtypes[id.0 as usize],
        shape: instance.shapes[id.0 as usize].iter().map(|&n| n as usize).collect(),
        data,
    };
    Ok(program.outputs.iter().zip(results).map(value).collect())
}

#[test]
fn plans_keep_the_meaning() {
    let count = std::env::var("IJK_PROGRAMS").map_or(300, |n| n.parse().expect("a number"));
    let mut failures = 0;
    let points = |case: &Case| case.values().iter().map(|v| v.data.len()).max().unwrap_or(0);
    let first = std::env::var("IJK_SEED").map_or(0, |n| n.parse().expect("a number"));
    for seed in first..first + count {
        let case = Case::random(seed);
        if points(&case) > 4000 {
            continue;
        }
        if let Err(disagreement) = compare(&case, &mut [Contender::new("the plan", 0, interpret)]) {
            failures += 1;
            println!("{seed}: {disagreement}\n{case}");
        }
    }
    assert_eq!(failures, 0);
}
