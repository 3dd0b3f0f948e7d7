//! Memory layout of inputs and outputs, and options of planning.

use crate::Facts;
use crate::PlanError;
use ijk_ir::core::{Instance, Program};

/// Strides of inputs and outputs, and the limits under which a program is planned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Strides of each input, in elements.
    pub inputs: Vec<Vec<isize>>,
    /// Strides of each output, in elements; distinct elements must not overlap.
    pub outputs: Vec<Vec<isize>>,
    /// Limit of bytes of results and temporaries together.
    pub memory_limit: Option<u64>,
    /// Bytes that stay in cache between steps: steps over larger arrays are fused into sweeps. With 0, all steps that
    /// can are, for the smallest temporaries.
    pub near: u64,
    /// Disables reassociation: values are computed as written. Otherwise, factors under a reduction are multiplied in
    /// any order, and those that do not depend on a reduced index once per result.
    pub strict: bool,
    /// Facts about the values of inputs.
    pub facts: Facts,
}

/// Bytes that fit in L2 on every supported machine.
const NEAR: u64 = 512 << 10;

impl Layout {
    /// Layout with these strides and memory limit, and default options.
    pub fn new(
        inputs: Vec<Vec<isize>>,
        outputs: Vec<Vec<isize>>,
        memory_limit: Option<u64>,
    ) -> Self {
        Self { inputs, outputs, memory_limit, near: NEAR, strict: false, facts: Facts::default() }
    }

    /// Layout in C order, without a limit.
    pub fn contiguous(program: &Program, instance: &Instance) -> Self {
        let of = |ids: &[ijk_ir::core::ArrayId]| {
            ids.iter().map(|a| c_strides(&instance.shapes[a.0 as usize])).collect()
        };
        let (inputs, outputs) = (of(&program.inputs), of(&program.outputs));
        Self::new(inputs, outputs, None)
    }

    pub(crate) fn check(&self, program: &Program, instance: &Instance) -> Result<(), PlanError> {
        check_ids(&self.inputs, &program.inputs, instance)?;
        check_ids(&self.outputs, &program.outputs, instance)
    }
}

fn check_ids(
    strides: &[Vec<isize>],
    arrays: &[ijk_ir::core::ArrayId],
    instance: &Instance,
) -> Result<(), PlanError> {
    expect(arrays.len(), strides.len())?;
    for (strides, array) in strides.iter().zip(arrays) {
        expect(instance.shapes[array.0 as usize].len(), strides.len())?;
    }
    Ok(())
}

fn expect(expected: usize, found: usize) -> Result<(), PlanError> {
    if expected == found { Ok(()) } else { Err(PlanError::Layout { expected, found }) }
}

/// Strides of an array in C order, wrapping if it exceeds the address space.
pub fn c_strides(shape: &[u64]) -> Vec<isize> {
    let mut strides = vec![1isize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis].max(1) as isize);
    }
    strides
}
