//! Memory of a plan. A plan that exceeds its limit is refused before anything is computed.
//!
//! Counted are blocks of results in progress, parts of operands with the blocks that they are read from, buffers of
//! codecs, intermediate results that stay in memory, and a result that is collected. Not counted are the program
//! itself, its threads' stacks, the scratch of kernels, and arguments that are in memory already.

use super::stores::Residence;
use crate::domain::Coordinates;
use crate::plan::{Array, BlockPlan, Expr, From, Kernel, Leaf, Stage};
use crate::{Error, Type, Value};
use std::ops::Range;

/// Memory of a plan, and its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    limit: Option<u64>,
    /// Bytes held throughout the run.
    held: u64,
    /// Bytes of the sink while it writes a block of the result.
    writing: u64,
}

/// Memory of a run besides blocks in progress and parts of operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryUse {
    /// Bytes held throughout the run.
    pub(super) held: u64,
    /// Bytes of the sink while it writes a block of the result.
    pub(super) writing: u64,
}

/// Memory of a region.
#[derive(Clone, Copy, Debug, Default)]
struct Region {
    /// Bytes while it is used.
    held: u64,
    /// Bytes while it is made.
    peak: u64,
}

impl Budget {
    /// The budget of a plan whose stages are stored as `kept` says. Intermediate results in memory are shared by
    /// `processes`.
    ///
    /// # Errors
    /// [`Error::Memory`] where not even one block at a time fits.
    pub(super) fn new(
        plan: &BlockPlan,
        limit: Option<u64>,
        kept: &[Residence],
        processes: usize,
        MemoryUse { held, writing }: MemoryUse,
    ) -> Result<Self, Error> {
        let between = plan.stages.iter().zip(kept).filter(|(_, kept)| **kept == Residence::Memory);
        let share = |bytes: u64| bytes.div_ceil(processes.max(1) as u64);
        let between = between.map(|(stage, _)| share(super::bytes(&stage.out)));
        let held = between.fold(held, u64::saturating_add);
        let budget = Self { limit, held, writing };
        let least = (0..plan.stages.len()).map(|n| budget.least(plan, n)).max().unwrap_or(held);
        match limit {
            Some(limit) if least > limit => Err(Error::Memory { least, limit }),
            _ => Ok(budget),
        }
    }

    /// Limit of the bytes of blocks and parts of a stage, if `workers` workers each make a region and write a block;
    /// none without a memory limit.
    pub(super) fn most(&self, plan: &BlockPlan, number: usize, workers: usize) -> Option<u64> {
        let extra = self.extra(plan, number).saturating_mul(workers as u64);
        Some(self.limit?.saturating_sub(self.held).saturating_sub(extra))
    }

    /// Bytes that are left where a stage has one block at a time; none without a memory limit.
    pub(super) fn spare(&self, plan: &BlockPlan, number: usize) -> Option<f64> {
        Some(self.limit?.saturating_sub(self.least(plan, number)) as f64)
    }

    /// Bytes of a worker while it makes a region, or writes a block.
    fn extra(&self, plan: &BlockPlan, number: usize) -> u64 {
        let regions = regions(plan, &plan.stages[number]);
        let made = regions.iter().map(|region| region.peak - region.held).max().unwrap_or(0);
        made.max(self.written(plan, number))
    }

    fn written(&self, plan: &BlockPlan, number: usize) -> u64 {
        if number + 1 == plan.stages.len() { self.writing } else { 0 }
    }

    /// Bytes of the parts of each operand.
    pub(super) fn parts(plan: &BlockPlan, stage: &Stage) -> Vec<u64> {
        regions(plan, stage).iter().map(|region| region.held).collect()
    }

    /// Minimum of a stage: one block at a time.
    fn least(&self, plan: &BlockPlan, number: usize) -> u64 {
        let stage = &plan.stages[number];
        let regions = regions(plan, stage);
        let block = largest(&stage.out);
        let held = regions.iter().fold(0u64, |sum, region| sum.saturating_add(region.held));
        let made = regions.iter().map(|region| region.peak - region.held).max().unwrap_or(0);
        // Operands of a closure's contraction are packed first; an output written at computed positions is copied.
        let anew = match &stage.kernel {
            Kernel::Contract(by) if !by.is_engine() => held,
            _ if !stage.points.are_plain() => block,
            _ => 0,
        };
        // A stage that only copies writes the block that it has read.
        let is_copy = matches!(stage.kernel, Kernel::Copy);
        let same = is_copy && is_whole(plan, stage);
        let computed = if same { 0 } else { block.saturating_add(anew) };
        let computing = computed.saturating_add(held).saturating_add(made);
        let written = computed.max(if same { block } else { 0 });
        let writing = written.saturating_add(self.written(plan, number));
        self.held.saturating_add(computing.max(writing))
    }
}

/// Returns true if the blocks of a stage are parts of one array.
fn is_whole(plan: &BlockPlan, stage: &Stage) -> bool {
    let [operand] = &stage.operands[..] else { return false };
    let array = operand.expr.as_array();
    let in_place = operand.index.iter().enumerate().all(|(n, at)| at.as_axis() == Some(n));
    in_place && array.is_some_and(|array| plan.arrays[array].ty == stage.out)
}

/// Bytes of the largest block.
pub(crate) fn largest(ty: &Type) -> u64 {
    let extents = ty
        .dims
        .iter()
        .zip(&ty.blocks)
        .map(|(&extent, block)| block.map_or(extent, |block| block.min(extent)));
    elements(extents, ty.element.number().map_or(size_of::<Value>(), |dtype| dtype.size()))
}

fn elements(extents: impl Iterator<Item = usize>, size: usize) -> u64 {
    extents.fold(size as u64, |bytes, extent| bytes.saturating_mul(extent as u64))
}

/// Memory of a part of each operand: the larger of the first and the second block's.
fn regions(plan: &BlockPlan, stage: &Stage) -> Vec<Region> {
    let range = |axis: &crate::domain::StageAxis, n: usize| {
        axis.range(n.min(axis.blocks().saturating_sub(1)))
    };
    let all = [0, 1].map(|n| {
        let ranges: Vec<Range<usize>> = stage.axes.iter().map(|axis| range(axis, n)).collect();
        let of =
            |operand: &crate::plan::Operand| region(plan, &operand.expr, &operand.ranges(&ranges));
        stage.operands.iter().map(of).collect::<Vec<_>>()
    });
    let most = |(l, r): (&Region, &Region)| Region {
        held: l.held.max(r.held),
        peak: l.peak.max(r.peak).max(l.held).max(r.held),
    };
    all[0].iter().zip(&all[1]).map(most).collect()
}

fn region(plan: &BlockPlan, expr: &Expr, ranges: &[Range<usize>]) -> Region {
    let size = expr.element().number().map_or(size_of::<Value>(), |dtype| dtype.size());
    let whole = || elements(expr.axes().iter().map(|&axis| ranges[axis].len()), size);
    let of = |operands: &mut dyn Iterator<Item = &Expr>| {
        operands.fold((0u64, 0u64), |(held, made), operand| {
            let region = region(plan, operand, ranges);
            (held.saturating_add(region.held), made.max(region.peak - region.held))
        })
    };
    match expr {
        Expr::Leaf(leaf) => of_leaf(&plan.arrays[leaf.array], leaf, ranges, size),
        Expr::Formula { operands, .. } => {
            let (inner, made) = of(&mut operands.iter());
            // The part has all axes, whether its operands do or not.
            let held = elements(ranges.iter().map(Range::len), size);
            let peak = inner.saturating_add(made.max(held));
            Region { held, peak: peak.max(held) }
        }
        Expr::Closure { operand, .. } => {
            let (inner, made) = of(&mut std::iter::once(&**operand));
            let held = whole();
            let peak = inner.saturating_add(made.max(inner.saturating_add(held)));
            Region { held, peak }
        }
    }
}

fn of_leaf(array: &Array, leaf: &Leaf, ranges: &[Range<usize>], size: usize) -> Region {
    let ty = &array.ty;
    let (block, reading) = match &array.from {
        From::Source(source) => {
            let reading = source.reading();
            (reading.min(largest(ty)), reading)
        }
        // Blocks of stages that stay in memory are counted there.
        From::Stage(_) => (largest(ty), largest(ty)),
    };
    let runs = leaf.axes.iter().enumerate().map(|(n, (axis, along))| {
        let blocks = along.runs(ranges[*axis].clone(), ty.dims[n], ty.blocks[n]).len();
        (blocks, ranges[*axis].len())
    });
    let (counts, extents): (Vec<usize>, Vec<usize>) = runs.unzip();
    match Coordinates::count(&counts) {
        0 => Region::default(),
        1 => Region { held: block, peak: reading },
        _ => {
            let held = elements(extents.into_iter(), size);
            Region { held, peak: held.saturating_add(reading) }
        }
    }
}
