//! Plans of passes with what their runs share.

use super::compile::{Input, PassBody};
use crate::engine::Engine;
use crate::error::RunError;
use crate::runtime::threads::Workers;
use crate::steps::{StandingStep, StepRun};
use ijk_plan::plan::Place;

/// A plan that runs pass after pass: its steps, and the addresses of its buffers.
pub(super) struct StandingBody<'r> {
    steps: Vec<StandingStep<'r>>,
    /// Address of each buffer in the present pass.
    bases: Vec<*mut u8>,
    /// Buffers that are inputs, with their position, and that are results.
    inputs: Vec<(usize, &'r Input)>,
    outputs: Vec<(usize, usize)>,
}

impl<'r> StandingBody<'r> {
    /// `arena` has the plan's temporaries.
    pub(super) fn new(
        body: &'r PassBody,
        engine: &'r Engine,
        workers: &'r Workers,
        arena: *mut u8,
    ) -> Self {
        let compiled = &body.compiled;
        let steps = compiled.steps.iter();
        let steps = steps.map(|step| StandingStep::new(step, workers, &engine.scratch)).collect();
        let (mut bases, mut inputs, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        for (n, layout) in compiled.buffers.iter().enumerate() {
            let mut base = std::ptr::null_mut();
            match layout.place {
                Place::Input(position) => inputs.push((n, &body.inputs[position])),
                Place::Output(position) => outputs.push((n, position)),
                Place::Temporary(at) => base = arena.wrapping_add(at),
            }
            bases.push(base);
        }
        Self { steps, bases, inputs, outputs }
    }

    /// Sets the addresses of buffers: of inputs by a function, of results as they are given. Returns false if an input
    /// has no address.
    #[inline]
    pub(super) fn move_to(
        &mut self,
        input: impl Fn(&Input) -> Option<*mut u8>,
        outputs: &[*mut u8],
    ) -> bool {
        for (n, own) in &self.inputs {
            match input(own) {
                Some(address) => self.bases[*n] = address,
                None => return false,
            }
        }
        self.outputs.iter().for_each(|&(n, position)| self.bases[n] = outputs[position]);
        true
    }

    /// Executes all steps, up to the first that faults.
    ///
    /// # Safety
    /// The addresses are those of the buffers that the plan was checked against.
    pub(super) unsafe fn run(
        &mut self,
        engine: &Engine,
        workers: &Workers,
        spare: Option<u64>,
    ) -> Result<u32, RunError> {
        let run =
            StepRun { bases: &self.bases, workers, scratch: &engine.scratch, spare, packed: None };
        for step in &mut self.steps {
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
