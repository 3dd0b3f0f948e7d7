//! Programs in i and Einsum Tuple over block tensors.

mod access;
mod axes;
mod builder;

use super::fit::Fit;
use super::{AxisUse, Statement, common_block, types};
use crate::domain::{Affine, Points, StageAxis};
use crate::formula::{Fold, Formula, fold_name};
use crate::term::Kind;
use crate::{BigTensor, Error, Problem, TextError, Type, TypeError};
use builder::TermBuilder;
use ijk_ir::core::{self, ArrayId, Instance, Iteration, Program};
use ijk_ir::staged::{Unrolled, unrolled};
use ijk_syntax::{Diagnostic, Severity};
use ijk_types::{DType, Reducer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Applies a program in i to block tensors: each index expression is a term.
///
/// Letters have blocks: the axes that they index have compatible ones. Where positions are computed, as in `[i+k]`, a
/// block of the result reads parts of neighbouring blocks; positions that are elements of an array need the whole axis,
/// in one block. Where positions of a result are computed, each block of it visits all blocks that may write to it; its
/// extent follows from the blocks of the operands of the positions. Operands that are [re-cut to
/// fit](BigTensor::recut_to_fit) get compatible blocks, and whole axes, automatically.
///
/// # Errors
/// If the program is wrong or does not fit; and if it cannot run in blocks: positions from arrays on an axis in several
/// blocks, or a fold that needs all values at once of such an axis or at computed positions.
///
/// ```
/// use ijk_blocks::{BigTensor, apply};
/// let u = BigTensor::lit((0..8).map(f64::from), [8], [Some(3)])?;
/// let averages = &apply("[i+k{2}]~ik . +ik~i . i/2~i", &[&u])?[0];
/// assert_eq!(averages.ty().to_string(), "([7], [3], f64)");
/// let found = averages.collect()?;
/// assert_eq!(found.as_numbers().unwrap().as_slice::<f64>().unwrap()[..3], [0.5, 1.5, 2.5]);
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
pub fn apply(program: &str, operands: &[&BigTensor]) -> Result<Vec<BigTensor>, Error> {
    let compiled = ijk_ir::compile_source(program);
    let wrong = compiled.diagnostics.iter().any(|d| d.severity == Severity::Error);
    let lowered = match compiled.program {
        Some(lowered) if !wrong => lowered,
        _ => return Err(TextError::all(program, compiled.diagnostics).into()),
    };
    apply_program(&lowered, operands)
}

/// Applies a lowered program in i to block tensors: see [`apply`].
///
/// # Errors
/// As for [`apply`].
pub fn apply_program(lowered: &Program, operands: &[&BigTensor]) -> Result<Vec<BigTensor>, Error> {
    let rule = format!("i({})", lowered.source.trim());
    if let Some(at) = operands.iter().position(|operand| operand.element_type().number().is_none())
    {
        let (what, found) = (format!("`{rule}`"), operands[at].element_type().to_string());
        let problem = Problem::Takes { what, expected: "numbers".into(), found };
        return Err(TypeError::named(rule, types(operands), problem).into());
    }
    let shapes: Vec<Vec<u64>> =
        operands.iter().map(|operand| operand.dims().iter().map(|&n| n as u64).collect()).collect();
    let dtypes = operands.iter().map(|operand| operand.element_type().number());
    let arguments: Vec<(DType, &[u64])> =
        dtypes.zip(&shapes).map(|(t, shape)| (t.unwrap_or(DType::F64), &shape[..])).collect();
    let instance = ijk_ir::instantiate(lowered, &arguments);
    let instance = instance.map_err(|all| TextError::all(&lowered.source, all))?;
    let written = without_loops(lowered, &instance)?;
    let (program, instance) = match &written {
        Some(Unrolled { program, instance, .. }) => (program, instance),
        None => (lowered, &instance),
    };
    statements(program, instance, operands, &|text| format!("i({text})"))
}

/// Index expressions of all passes of loops that become terms.
const MOST_IN_LOOPS: usize = 256;

/// A program with loops with these written out: a pass is a term like others; none for one without loops.
fn without_loops(program: &Program, instance: &Instance) -> Result<Option<Unrolled>, Error> {
    let Some(first) = program.loops.first() else { return Ok(None) };
    let refuse = |own: &Iteration, message: &str, hint: &str| {
        let error = Diagnostic::error(own.span.into(), message).with_hint(hint);
        Err(TextError::new(&program.source, error).into())
    };
    if let Some(own) = program.loops.iter().find(|own| own.all) {
        let hint = "fold, or apply the program to arrays: `collect()` gives one";
        return refuse(own, "a scan does not run in blocks: it writes a row in each pass", hint);
    }
    if let Some(own) = program.loops.iter().find(|own| own.until.is_some()) {
        let message = "`@until` does not run in blocks: elements decide the number of its passes";
        let hint = "repeat, or apply the program to arrays: `collect()` gives one";
        return refuse(own, message, hint);
    }
    match unrolled(program, instance, MOST_IN_LOOPS) {
        Some(written) => Ok(Some(written)),
        None => {
            let message = format!(
                "a loop of more than {MOST_IN_LOOPS} index expressions in all passes does not run in blocks"
            );
            let hint = "run some passes at a time and write the state in between, or apply the \
                        program to arrays: `collect()` gives one";
            refuse(first, &message, hint)
        }
    }
}

/// Applies the statements of a program with known types, shapes and extents to block tensors: see [`apply`].
///
/// # Errors
/// Constructs that cannot run in blocks.
pub fn apply_instance(
    program: &Program,
    instance: &Instance,
    operands: &[&BigTensor],
) -> Result<Vec<BigTensor>, Error> {
    statements(program, instance, operands, &str::to_owned)
}

/// A term for each statement, whose printed name `spelled` makes of its text.
fn statements(
    program: &Program,
    instance: &Instance,
    operands: &[&BigTensor],
    spelled: &dyn Fn(&str) -> String,
) -> Result<Vec<BigTensor>, Error> {
    let mut arrays: HashMap<ArrayId, BigTensor> = HashMap::new();
    for (&id, &operand) in program.inputs.iter().zip(operands) {
        arrays.insert(id, operand.clone());
    }
    for (n, statement) in program.statements.iter().enumerate() {
        let span = statement.span.start as usize..statement.span.end as usize;
        let rule = spelled(program.source.get(span).unwrap_or_default());
        let mut builder = TermBuilder::new(rule, program, instance, n, &arrays);
        let built = builder.build().and_then(|built| match builder.before()? {
            Some(before) => onto(&before, &built, statement, builder.written()),
            None => Ok(built),
        });
        let built = built.map_err(|error| match error {
            Error::Type(error) => error.at(builder.site()).into(),
            other => other,
        })?;
        arrays.insert(statement.out, built);
    }
    Ok(program.outputs.iter().map(|id| arrays[id].clone()).collect())
}

/// Combines the former elements of an array with those that a statement adds.
fn onto(
    before: &BigTensor,
    built: &BigTensor,
    of: &core::Statement,
    name: Cow<'static, str>,
) -> Result<BigTensor, Error> {
    let operands = vec![(name, before.ty().clone()), ("what is added".into(), built.ty().clone())];
    let Some(reducer @ Reducer::Monoid(monoid)) = of.reduce else {
        let problem = Problem::NotInBlocks("nothing says how values combine".into());
        let rule = "an array that is written again";
        return Err(TypeError::named(rule, operands, problem).into());
    };
    let rule = format!("{}=", fold_name(Fold::Reduce(reducer)));
    let mut fit = Fit::new([before.clone(), built.clone()]);
    for axis in 0..before.ty().rank() {
        let block = |of: &BigTensor| of.ty().blocks[axis];
        let met = |(operand, of)| AxisUse { operand, axis, block: block(of) };
        fit.index(&[(0, before), (1, built)].map(met));
    }
    let [before, built] = &fit.operands()?[..] else {
        unreachable!("as many operands as there were");
    };
    let operands = vec![
        (operands[0].0.clone(), before.ty().clone()),
        (operands[1].0.clone(), built.ty().clone()),
    ];
    let axes = (0..before.ty().rank()).map(|axis| {
        let met = |operand: usize| {
            let block = operands[operand].1.blocks[axis];
            AxisUse { operand, axis, block }
        };
        let own = of.out_index[axis].as_axis().map(|own| of.domain[own.0 as usize].name.clone());
        let name = own.unwrap_or_else(|| format!("{axis}"));
        let block = common_block(&rule, &name, &[met(0), met(1)], &operands)?;
        Ok(StageAxis { name, extent: before.dims()[axis], block, folded: false })
    });
    let axes: Vec<StageAxis> = axes.collect::<Result<_, Error>>()?;
    let blocks: Vec<Option<usize>> = axes.iter().map(|axis| axis.block).collect();
    let ty = Type::new(before.dims(), blocks, before.element_type().clone());
    let formula = Formula::binary(monoid.op(), Formula::variable(0), Formula::variable(1));
    let own: Vec<Affine> = (0..axes.len()).map(Affine::axis).collect();
    let (index, types) = (vec![own; 2], vec![before.ty().clone(), built.ty().clone()]);
    let (reducer, points) = (None, Points::default());
    let statement = Statement { name: rule, axes, index, types, formula, reducer, points };
    let operands = vec![before.clone(), built.clone()];
    Ok(BigTensor::new(Kind::Statement(Arc::new(statement)), operands, ty))
}
