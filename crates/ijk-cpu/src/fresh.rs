//! Results in arrays of their own.

use crate::compiled::Compiled;
use crate::engine::Engine;
use crate::error::RunError;
use ijk_plan::plan::Place;
use ijk_tensor::{Tensor, TensorPool, TensorView, TensorViewMut, UninitTensor};
use smallvec::SmallVec;

impl Engine {
    /// Runs a compiled plan, whose outputs are in C order, and gives them as new tensors. The memory
    /// of large ones returns to the engine when they are dropped.
    ///
    /// # Errors
    /// [`RunError`], as for [`Engine::execute`]; also if there is no memory for the outputs.
    pub fn execute_new(
        &self,
        compiled: &Compiled,
        inputs: &[TensorView<'_>],
    ) -> Result<Vec<Tensor>, RunError> {
        let mut outputs = Vec::with_capacity(compiled.outputs);
        for position in 0..compiled.outputs {
            outputs.push(allocate(compiled, position, self.results())?);
        }
        let mut views: SmallVec<[TensorViewMut<'_>; 2]> =
            outputs.iter_mut().map(UninitTensor::view_mut).collect();
        self.execute(compiled, inputs, &mut views)?;
        drop(views);
        // SAFETY: a plan that ran has written every element of its outputs.
        Ok(outputs.into_iter().map(|output| unsafe { output.assume_init() }).collect())
    }
}

/// Memory for the result of that position.
fn allocate(
    compiled: &Compiled,
    position: usize,
    pool: &TensorPool,
) -> Result<UninitTensor, RunError> {
    let missing = RunError::Count {
        side: crate::error::Side::Result,
        expected: compiled.outputs,
        found: position,
    };
    let layout = compiled.buffers.iter().find(|b| b.place == Place::Output(position));
    let layout = layout.ok_or(missing)?;
    let bytes = layout.shape.iter().fold(layout.dtype.size(), |n, &m| n.saturating_mul(m));
    let memory = UninitTensor::new_in(pool, layout.dtype, &layout.shape);
    memory.map_err(|_| RunError::OutOfMemory(bytes))
}
