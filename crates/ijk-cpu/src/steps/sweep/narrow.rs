//! Bodies of a sweep with less work, for blocks that a mask restricts.

use super::{SharedOperand, block};
use crate::check::{Layout, Other};
use crate::contract::SharedOperandPart;
use crate::engine::compiled::{CompileTarget, Compiled};
use crate::error::Fault;
use crate::runtime::threads::Workers;
use crate::steps::Program;
use crate::steps::finite::all_finite;
use ijk_kernels::simd::Level;
use ijk_plan::plan::{BufferId, Contraction, Narrow, Sweep};

/// Compiled bodies with less work than the whole one.
#[derive(Clone, Debug)]
pub(super) struct NarrowProgram {
    pub(super) bodies: Vec<Compiled>,
    /// For each block along the last axis, the body that suffices.
    pub(super) of_blocks: Vec<Option<usize>>,
    /// For each body, its part of each shared operand.
    parts: Vec<Vec<Option<SharedOperandPart>>>,
    /// Buffers, with layouts, that must be finite.
    finite_inputs: Vec<(BufferId, Layout)>,
    /// Outputs that must be finite.
    pub(super) finite_outputs: Vec<usize>,
    pub(super) level: Level,
}

impl NarrowProgram {
    pub(super) fn new(
        sweep: &Sweep,
        narrow: &Narrow,
        buffers: &[Layout],
        target: CompileTarget,
    ) -> Result<Self, Fault> {
        let bodies = narrow.bodies.iter().map(|plan| block(sweep, plan, buffers, target));
        let input = |&n: &usize| {
            let buffer = sweep.inputs.get(n).ok_or(Fault::Reference)?.buffer;
            let layout = buffers.get(buffer.0 as usize).ok_or(Fault::Reference)?;
            Ok((buffer, layout.clone()))
        };
        Ok(Self {
            bodies: bodies.collect::<Result<_, Fault>>()?,
            parts: Vec::new(),
            of_blocks: narrow.of_blocks.clone(),
            finite_inputs: narrow.finite_inputs.iter().map(input).collect::<Result<_, Fault>>()?,
            finite_outputs: narrow.finite_outputs.clone(),
            level: target.level,
        })
    }

    /// Each body with the kind of its blocks.
    pub(super) fn others<'a>(&'a self, sweep: &'a Sweep) -> impl Iterator<Item = Other<'a>> + 'a {
        let last = sweep.axes.last();
        self.of_blocks.iter().enumerate().filter_map(move |(at, body)| {
            let short = last.is_some_and(|axis| (at + 1).saturating_mul(axis.block) > axis.extent);
            Some(Other { layouts: &self.bodies.get((*body)?)?.buffers, short })
        })
    }

    /// The same with parts of the operands that blocks of the whole body share.
    pub(super) fn sharing(self, whole: &Compiled, shared: &[SharedOperand]) -> Self {
        let part = |body: &Compiled, shared: &SharedOperand| {
            let at = shared.step;
            let (Program::Contract(all), Program::Contract(own)) =
                (whole.steps.get(at)?, body.steps.get(at)?)
            else {
                return None;
            };
            let place = |compiled: &Compiled, task: &Contraction| {
                let base = shared.contraction.base(task);
                compiled.buffers[base.buffer.0 as usize].place
            };
            let same = place(whole, &all.task) == place(body, &own.task);
            let part = shared.contraction.part(&all.task, &own.task, self.level);
            part.filter(|_| same && whole.steps.len() == body.steps.len())
        };
        let parts = self.bodies.iter().map(|body| shared.iter().map(|s| part(body, s)).collect());
        Self { parts: parts.collect(), ..self }
    }

    /// The narrow body of a block along the last axis, if any, and its parts.
    pub(super) fn body(&self, at: usize) -> Option<(&Compiled, &[Option<SharedOperandPart>])> {
        self.of_blocks[at].map(|n| (&self.bodies[n], &self.parts[n][..]))
    }

    /// Returns true if none of the omitted values can be infinite or NaN.
    ///
    /// # Safety
    /// As for [`SweepProgram::run`](super::SweepProgram::run).
    pub(super) unsafe fn may_run(&self, bases: &[*mut u8], workers: &Workers) -> bool {
        self.finite_inputs.iter().all(|(buffer, layout)| {
            // SAFETY: guaranteed by the caller.
            unsafe { all_finite(layout, bases[buffer.0 as usize], self.level, workers) }
        })
    }
}
