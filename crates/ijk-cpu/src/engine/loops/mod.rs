//! Loops: compiled plans run pass by pass on windows that move.
//!
//! Everything is compiled before the first pass, and all memory is taken then. A pass evaluates positions, sets the
//! addresses of buffers, and runs the steps of its updates; nothing else depends on the pass.

mod address;
mod compile;
mod interchanged;
mod memory;
mod run;
mod standing;
mod waves;

pub use compile::{CompiledLoop, PassOrder};

use super::Engine;
use crate::error::{PlanError, RunError};
use ijk_plan::plan::loops::LoopPlan;
use ijk_tensor::{Tensor, TensorView};

/// An array of a loop in a run.
pub enum LoopArgument<'r, 'a> {
    /// One that the loop only reads.
    Read(&'r TensorView<'a>),
    /// One that it changes.
    Changed(&'r mut Tensor),
}

impl Engine {
    /// Checks and compiles a loop, for any number of runs.
    ///
    /// # Errors
    /// If a plan of it is inconsistent, or accesses elements outside of its windows: [`PlanError`].
    pub fn compile_loop(&self, plan: &LoopPlan) -> Result<CompiledLoop, PlanError> {
        compile::compile(self, plan)
    }

    /// Runs a loop on its arrays that are not local, in order.
    ///
    /// # Errors
    /// [`RunError`]; arrays may then be changed by some passes.
    pub fn execute_loop(
        &self,
        compiled: &CompiledLoop,
        arguments: &mut [LoopArgument<'_, '_>],
    ) -> Result<(), RunError> {
        run::execute(self, compiled, arguments)
    }
}
