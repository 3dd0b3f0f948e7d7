//! Plans of random programs compute what the surface trees mean.

use ijk_oracle::Value;
use ijk_oracle::harness::{Contender, Lowered, compare};
use ijk_oracle::random::{Case, Input};
use ijk_plan::{Facts, Layout, plan};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Arguments that are equal, and lie in the same way, are one.
fn facts(inputs: &[Input]) -> Facts {
    let firsts = Input::firsts(inputs).into_iter().enumerate();
    let same = firsts.filter(|(at, first)| first < at).map(|(at, first)| (at as u32, first as u32));
    Facts { same: same.collect(), ..Facts::default() }
}

/// The literal interpreter of plans in which some bytes stay near.
fn interpret(
    (near, strict): (u64, bool),
    lowered: &Lowered,
    inputs: &[Input],
) -> Result<Vec<Value>, String> {
    let Lowered { program, instance, .. } = lowered;
    let strides = inputs.iter().map(|input| input.layout.lay_out(&input.value).strides);
    let inputs_lie = strides.collect();
    let contiguous = Layout::contiguous(program, instance);
    let layout = Layout { inputs: inputs_lie, near, strict, facts: facts(inputs), ..contiguous };
    let plan = plan(program, instance, &layout).map_err(|error| error.to_string())?;
    let data: Vec<_> = inputs.iter().map(|input| input.value.data.clone()).collect();
    // The interpreter panics where a scalar operation has no value.
    let run = AssertUnwindSafe(|| crate::support::run_plan(&plan, &data));
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

/// So little that everything that can sweeps, in blocks of one row or more.
const NEAR: [u64; 3] = [0, 100, 1000];

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
        let mut contenders = [
            Contender::new("the plan", 0, |l, i| interpret((1 << 30, false), l, i)),
            Contender::new("the strict plan", 1, |l, i| interpret((1 << 30, true), l, i)).strict(),
            // As with less memory: sums may be rounded otherwise.
            Contender::new("the plan in sweeps", 2, |l, i| {
                interpret((NEAR[seed as usize % 3], false), l, i)
            }),
        ];
        if let Err(disagreement) = compare(&case, &mut contenders) {
            failures += 1;
            println!("{seed}: {disagreement}\n{case}");
        }
    }
    assert_eq!(failures, 0);
}
