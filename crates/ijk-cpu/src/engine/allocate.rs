//! Results in newly allocated arrays.

use crate::check::Layout;
use crate::engine::compiled::Compiled;
use crate::engine::{Engine, Stoppable};
use crate::error::{RunError, Side};
use ijk_tensor::{Tensor, TensorView, UninitTensor};
use smallvec::SmallVec;
use std::borrow::Borrow;

/// Results of a run, usually one.
pub type Results = SmallVec<[Tensor; 1]>;

impl Engine {
    /// Executes a compiled plan, whose outputs are in C order, and returns them as new tensors. The memory of large
    /// ones returns to the engine when they are dropped.
    ///
    /// # Errors
    /// [`RunError`], as for [`Engine::execute`]; also if the outputs cannot be allocated.
    pub fn execute_new<'a>(
        &self,
        compiled: &Compiled,
        inputs: &[impl Borrow<TensorView<'a>>],
    ) -> Result<Results, RunError> {
        self.until(None).execute_new(compiled, inputs)
    }
}

impl Stoppable<'_> {
    /// Same as [`Engine::execute_new`].
    ///
    /// # Errors
    /// As for [`Engine::execute_new`].
    pub fn execute_new<'a>(
        &self,
        compiled: &Compiled,
        inputs: &[impl Borrow<TensorView<'a>>],
    ) -> Result<Results, RunError> {
        if compiled.continues {
            return Err(RunError::Continues);
        }
        match self.attempt(compiled, inputs) {
            Err(RunError::OutOfMemory(_)) => {
                // Memory that is kept for later runs may suffice.
                self.engine.release_memory();
                self.attempt(compiled, inputs)
            }
            done => done,
        }
    }

    fn attempt<'a>(
        &self,
        compiled: &Compiled,
        inputs: &[impl Borrow<TensorView<'a>>],
    ) -> Result<Results, RunError> {
        let mut outputs: SmallVec<[UninitTensor; 1]> = SmallVec::new();
        for position in 0..compiled.outputs {
            outputs.push(self.engine.allocate(compiled, position)?);
        }
        let mut written = |_: &Layout, position: usize| Ok(outputs[position].as_mut_ptr());
        // SAFETY: each result was allocated for its layout above, which is in C order as that of a tensor.
        unsafe { self.engine.execute_at(compiled, inputs, &mut written, self.stop) }?;
        // SAFETY: a successful run has written every element of the outputs.
        Ok(outputs.into_iter().map(|output| unsafe { output.assume_init() }).collect())
    }
}

impl Engine {
    /// Allocates the result at a position.
    fn allocate(&self, compiled: &Compiled, position: usize) -> Result<UninitTensor, RunError> {
        let (side, expected) = (Side::Result, compiled.outputs);
        let missing = RunError::Count { side, expected, found: position };
        let layout = compiled.result(position).ok_or(missing)?;
        if !layout.is_c_contiguous() {
            return Err(RunError::Layout { side, position });
        }
        let memory = UninitTensor::new_in(self.results(), layout.dtype, &layout.shape);
        memory.map_err(|_| RunError::OutOfMemory(layout.bytes()))
    }
}
