//! Offsets of points of a bundle.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::problem::Problem;
use std::ops::Range;

/// The offsets of a range of a bundle's points.
pub(crate) fn point_offsets(
    bundle: &Bundle,
    operand: TensorId,
    range: &Range<usize>,
) -> Vec<isize> {
    let mut out = vec![0; range.len()];
    bundle.offsets(operand, range.start, &mut out);
    out
}

/// Some columns of the output.
#[derive(Clone, Debug)]
pub(crate) struct ColumnOffsets {
    first: usize,
    offsets: Vec<isize>,
}

impl ColumnOffsets {
    pub(crate) fn new(problem: &Problem, range: &Range<usize>) -> Self {
        Self { first: range.start, offsets: point_offsets(&problem.n, TensorId::Out, range) }
    }

    /// The offsets of `count` columns from `start` on.
    pub(crate) fn at(&self, start: usize, count: usize) -> &[isize] {
        &self.offsets[start - self.first..][..count]
    }
}
