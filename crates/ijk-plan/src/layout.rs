//! Where inputs and outputs lie in memory.

use crate::{Facts, PlanError};
use ijk_ir::core::{Instance, Program};

/// How inputs and outputs lie in memory, how much of it a plan may use, and whether it may reorder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// For each input, its strides in elements.
    pub inputs: Vec<Vec<isize>>,
    /// For each output, its strides in elements; no two elements of one may overlap.
    pub outputs: Vec<Vec<isize>>,
    /// Most bytes that results and temporaries together may take.
    pub memory_limit: Option<u64>,
    /// Bytes that stay near: steps sweep together over arrays that are larger; where it is 0, all
    /// that can, for the smallest temporaries.
    pub near: u64,
    /// Disables reassociation: values are computed as they are written. Factors of what is reduced are
    /// else taken in any order, and those that do not depend on a reduced index once for each result.
    pub strict: bool,
    /// Facts about the elements of inputs.
    pub facts: Facts,
}

/// What stays in the second cache of any machine the engine is made for.
const NEAR: u64 = 512 << 10;

impl Layout {
    /// Inputs and outputs of these strides, and a limit of memory.
    pub fn new(
        inputs: Vec<Vec<isize>>,
        outputs: Vec<Vec<isize>>,
        memory_limit: Option<u64>,
    ) -> Self {
        Self { inputs, outputs, memory_limit, near: NEAR, strict: false, facts: Facts::default() }
    }

    /// Inputs and outputs in C order, no limit.
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

/// Strides of an array in C order (wrapping where it is too large to exist).
pub fn c_strides(shape: &[u64]) -> Vec<isize> {
    let mut strides = vec![1isize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis].max(1) as isize);
    }
    strides
}
