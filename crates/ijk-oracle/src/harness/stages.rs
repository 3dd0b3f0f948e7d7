//! Programs with loops as stages, and with their passes written out: the same values.

use crate::{EvalError, Value, interpret, interpret_loop};
use ijk_ir::core::{Instance, Program};
use ijk_ir::et::{LoopStage, Stage};
use ijk_ir::staged::{StagedWork, Unrolled, stages, unrolled};

/// Statements of the longest program that is written out.
const MOST: usize = 200;

/// The results of a program by its stages.
///
/// # Errors
/// If a scalar operation fails, or a stage violates a rule of the core IR.
pub(super) fn by_stages(
    program: &Program,
    instance: &Instance,
    inputs: &[Value],
) -> Result<Vec<Value>, EvalError> {
    let mut arrays: Vec<Option<Value>> = vec![None; program.arrays.len()];
    for (id, input) in program.inputs.iter().zip(inputs) {
        arrays[id.0 as usize] = Some(input.clone());
    }
    for step in stages(program, instance) {
        match step.work {
            StagedWork::Run(stage) => run(&stage, &mut arrays)?,
            StagedWork::Pass(pairs) => {
                for (from, to) in pairs {
                    arrays[to] = Some(get(&arrays, from)?.clone());
                }
            }
            StagedWork::Loop(stage) => run_loop(&stage, &mut arrays)?,
        }
        step.dead.iter().for_each(|&array| arrays[array] = None);
    }
    program.outputs.iter().map(|id| get(&arrays, id.0 as usize).cloned()).collect()
}

fn get(arrays: &[Option<Value>], at: usize) -> Result<&Value, EvalError> {
    arrays[at].as_ref().ok_or(EvalError::Core("a stage reads an array that has no elements"))
}

fn run(stage: &Stage, arrays: &mut [Option<Value>]) -> Result<(), EvalError> {
    let inputs = stage.inputs.iter().map(|&at| get(arrays, at).cloned());
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let results = interpret(&stage.program, &stage.instance, &inputs)?;
    for (&at, result) in stage.outputs.iter().zip(results) {
        arrays[at] = Some(result);
    }
    Ok(())
}

fn run_loop(stage: &LoopStage, arrays: &mut [Option<Value>]) -> Result<(), EvalError> {
    let outer: Vec<usize> = stage.arrays.iter().copied().flatten().collect();
    let own = outer.iter().map(|&at| get(arrays, at).cloned());
    let mut own = own.collect::<Result<Vec<_>, _>>()?;
    interpret_loop(&stage.program, &mut own)?;
    for (at, value) in outer.into_iter().zip(own) {
        arrays[at] = Some(value);
    }
    Ok(())
}

/// The results of a program whose passes are written out; none if there are too many.
pub(super) fn written_out(
    program: &Program,
    instance: &Instance,
    inputs: &[Value],
) -> Option<Result<Vec<Value>, EvalError>> {
    let Unrolled { program, instance, .. } = unrolled(program, instance, MOST)?;
    Some(interpret(&program, &instance, inputs))
}
