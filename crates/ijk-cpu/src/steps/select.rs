//! Selection of the program of a step: ordered tables of candidates, the first of which that takes the step executes
//! it.

use super::{Program, contraction_nest};
use crate::check::{CheckedNest, Layout, check_nest};
use crate::contract::ContractProgram;
use crate::engine::compiled::CompileTarget;
use crate::error::Fault;
use crate::folds::{FoldsProgram, is_of_rows};
use crate::nest;
use crate::steps::narrow_product::NarrowProductProgram;
use crate::steps::permute::PermuteProgram;
use crate::steps::scatter::ScatterProgram;
use crate::steps::short_axes::{
    ShortAxesProgram, is_brief, is_outer_product, is_thin, scattered_elements,
};
use crate::steps::window::{self, WindowProgram};
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::order::{
    BRIEF_POINTS, GEMM_SETUP, PACKED_ELEMENT, SCATTERED_ELEMENT, SHORT_AXES_COPY_READS,
};
use ijk_plan::plan::{Contraction, Nest, Role};

/// A checked nest that is to be executed.
struct NestTask<'a> {
    nest: &'a Nest,
    checked: &'a CheckedNest,
    buffers: &'a [Layout],
    level: Level,
}

/// A candidate for nests: its program, if it takes the nest.
type NestCandidate = fn(&NestTask<'_>) -> Option<Program>;

/// Candidates for nests; tiles take all others.
const NESTS: &[NestCandidate] = &[
    |task| NarrowProductProgram::new(task.nest, task.checked, task.level).map(Program::from),
    |task| window::program(task.nest, task.checked, task.level),
    |task| ScatterProgram::new(task.nest, task.checked, task.level).map(Program::from),
    |task| {
        PermuteProgram::new(task.nest, task.checked, task.buffers, task.level).map(Program::from)
    },
    |task| FoldsProgram::new(task.nest, task.checked, task.level).map(Program::from),
];

/// The program of a checked nest.
pub(crate) fn nest_program(
    nest: &Nest,
    checked: &CheckedNest,
    buffers: &[Layout],
    level: Level,
) -> Result<Program, Fault> {
    let task = NestTask { nest, checked, buffers, level };
    match NESTS.iter().find_map(|takes| takes(&task)) {
        Some(program) => Ok(program),
        None => nest::compile(nest, checked, buffers, level).map(Program::from),
    }
}

/// The kernel of short axes for a checked nest, if it takes it before all others. It overwrites its output, so no fill
/// is needed before it.
pub(crate) fn short_axes(
    nest: &Nest,
    checked: &CheckedNest,
    streams: bool,
    level: Level,
) -> Option<ShortAxesProgram> {
    let suits = is_brief(nest, checked) || (!streams && is_outer_product(nest, checked));
    let short_axes = suits.then(|| ShortAxesProgram::new(nest, checked, level)).flatten()?;
    // Tiles transpose what is read once or twice faster.
    let points = checked.extents.iter().product::<usize>();
    let copied = short_axes.copied().saturating_mul(SHORT_AXES_COPY_READS);
    if nest.reduce.is_some() && points > BRIEF_POINTS && copied > points {
        return None;
    }
    WindowProgram::new(nest, checked, level).is_none().then_some(short_axes)
}

/// A checked contraction that is to be executed.
struct ContractionTask<'a> {
    task: &'a Contraction,
    buffers: &'a [Layout],
    target: CompileTarget<'a>,
    /// The contraction prepared as GEMM, by the first candidate that needs it.
    gemm: Option<ContractProgram>,
}

impl ContractionTask<'_> {
    fn prepare(&mut self) -> Result<ContractProgram, Fault> {
        let CompileTarget { level, costs, .. } = self.target;
        let prepared = self.gemm.take();
        prepared.or_else(|| ContractProgram::new(self.task, level, costs)).ok_or(Fault::Types)
    }

    /// The kernel of short axes by one of its constructors.
    fn short_axes(
        &self,
        of: fn(&Nest, &CheckedNest, Level) -> Option<ShortAxesProgram>,
    ) -> Result<Option<ShortAxesProgram>, Fault> {
        let nest = contraction_nest(self.task);
        let checked = check_nest(&nest, self.buffers)?;
        Ok(of(&nest, &checked, self.target.level))
    }

    /// The kernel of short axes, if it takes less time than GEMM with `more` nanoseconds that its estimate lacks.
    fn if_faster(&mut self, short: ShortAxesProgram, more: f64) -> Result<Option<Program>, Fault> {
        let gemm = self.prepare()?;
        let faster = short.cost() < gemm.typical_cost() + more;
        self.gemm = Some(gemm);
        Ok(faster.then(|| short.into()))
    }
}

/// A candidate for contractions: its program, if it takes the contraction.
type ContractionCandidate = fn(&mut ContractionTask<'_>) -> Result<Option<Program>, Fault>;

/// Candidates for contractions.
const CONTRACTIONS: &[ContractionCandidate] =
    &[row_folds, unpacked, few_short_axes, contiguous_batches, gemm];

/// The program of a checked contraction that is not empty, and has microkernels.
pub(crate) fn contraction_program(
    task: &Contraction,
    buffers: &[Layout],
    target: CompileTarget<'_>,
) -> Result<Program, Fault> {
    let mut task = ContractionTask { task, buffers, target, gemm: None };
    for takes in CONTRACTIONS {
        if let Some(program) = takes(&mut task)? {
            return Ok(program);
        }
    }
    Err(Fault::Types)
}

/// A fold along rows: dot products, unless threads share one.
fn row_folds(task: &mut ContractionTask<'_>) -> Result<Option<Program>, Fault> {
    if !is_of_rows(task.task) {
        return Ok(None);
    }
    let nest = contraction_nest(task.task);
    let checked = check_nest(&nest, task.buffers)?;
    let folds = FoldsProgram::new(&nest, &checked, task.target.level);
    Ok(folds.filter(|folds| !folds.are_long()).map(Program::from))
}

/// Microkernels on unpacked operands, one call for each batch.
fn unpacked(task: &mut ContractionTask<'_>) -> Result<Option<Program>, Fault> {
    let gemm = task.prepare()?;
    match gemm.is_settled() {
        true => Ok(Some(gemm.into())),
        false => {
            task.gemm = Some(gemm);
            Ok(None)
        }
    }
}

/// The kernel of short axes, where packing does not pay.
fn few_short_axes(task: &mut ContractionTask<'_>) -> Result<Option<Program>, Fault> {
    if !is_thin(task.task) {
        return Ok(None);
    }
    let Some(short) = task.short_axes(ShortAxesProgram::new)? else { return Ok(None) };
    let [batch, m, n, k] =
        [Role::Batch, Role::M, Role::N, Role::K].map(|role| task.task.extent(role) as f64);
    // The estimate of GEMM includes neither the setup of batches nor packing.
    if batch > 1.0 {
        return Ok(Some(short.into()));
    }
    task.if_faster(short, GEMM_SETUP + PACKED_ELEMENT * (m + n) * k)
}

/// The kernel of short axes along batches, where only these are contiguous to each other.
fn contiguous_batches(task: &mut ContractionTask<'_>) -> Result<Option<Program>, Fault> {
    let scattered = scattered_elements(task.task);
    if scattered == 0.0 || is_thin(task.task) || !task.task.is_product_sum() {
        return Ok(None);
    }
    let Some(short) = task.short_axes(ShortAxesProgram::of_any)? else { return Ok(None) };
    task.if_faster(short, SCATTERED_ELEMENT * scattered)
}

/// GEMM.
fn gemm(task: &mut ContractionTask<'_>) -> Result<Option<Program>, Fault> {
    task.prepare().map(|gemm| Some(gemm.into()))
}
