//! Execution of the steps of a compiled plan.

use super::Compiled;
use crate::error::RunError;
use crate::runtime::scratch::ScratchPool;
use crate::runtime::threads::Workers;
use crate::steps::{ExecutableStep, PackedInput, StepRun};

/// A compiled plan with its arrays.
pub(crate) struct PlanRun<'a> {
    pub(crate) workers: &'a Workers,
    pub(crate) scratch: &'a ScratchPool,
    pub(crate) compiled: &'a Compiled,
    /// Address of the first element of each buffer.
    pub(crate) bases: &'a [*mut u8],
    /// Operands of contractions that are packed already.
    pub(crate) packed: &'a [PackedInput<'a>],
}

// SAFETY: one thread at a time dereferences the pointers, except what a step divides among workers.
unsafe impl Send for PlanRun<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for PlanRun<'_> {}

impl PlanRun<'_> {
    /// Executes all steps, up to the first that faults.
    ///
    /// # Safety
    /// `bases` are the addresses of the buffers that the plan was checked against.
    pub(crate) unsafe fn steps(&self) -> Result<u32, RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.steps_within(None) }
    }

    /// Executes all steps. `spare` limits the bytes of sweeps in addition to results and the arena; at least one block
    /// is executed in any case.
    ///
    /// # Safety
    /// As for [`Self::steps`].
    pub(super) unsafe fn steps_within(&self, spare: Option<u64>) -> Result<u32, RunError> {
        let &Self { workers, scratch, compiled, bases, packed } = self;
        for (at, step) in compiled.steps.iter().enumerate() {
            let packed = packed.iter().find(|packed| packed.step == at);
            let run = StepRun { bases, workers, scratch, spare, packed };
            // SAFETY: guaranteed by the caller; accesses and the distinctness of outputs were checked, and previous
            // steps wrote the elements that this one reads.
            let faults = unsafe { step.run(&run) }?;
            // A cancelled step has not written all elements that later ones read.
            if faults != 0 || workers.have_ended() {
                return Ok(faults);
            }
        }
        Ok(0)
    }
}
