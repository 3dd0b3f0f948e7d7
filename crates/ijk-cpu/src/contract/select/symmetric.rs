//! Symmetric outputs: those of products of an array with itself.

use crate::contract::canonical::bundle::{Bundle, BundleAxis, TensorId};
use crate::contract::canonical::problem::{Problem, TensorPointers};

/// Layout of an output that is symmetric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SymmetricOutput {
    /// Rows, and columns.
    pub(crate) side: usize,
    /// Bytes from one row to the next, and from one column to the next.
    pub(crate) steps: [isize; 2],
}

impl SymmetricOutput {
    /// The output of a problem whose operands are one array, read alike; `None` if it is not symmetric.
    pub(crate) fn of(problem: &Problem, tensors: TensorPointers) -> Option<Self> {
        let Problem { m, n, k, algebra, .. } = problem;
        let ([row], [column]) = (m.axes(), n.axes()) else { return None };
        let both = |axis: &BundleAxis| axis.strides[0] == axis.strides[1];
        let alike = row.extent == column.extent
            && row.strides[TensorId::Left as usize] == column.strides[TensorId::Right as usize]
            && k.axes().iter().all(both);
        let symmetric = tensors.left == tensors.right && algebra.symmetric && alike;
        let step = |bundle: &Bundle| {
            let elements = bundle.inner(TensorId::Out).1;
            elements.saturating_mul(algebra.size as isize)
        };
        let output = || Self { side: row.extent, steps: [step(m), step(n)] };
        (symmetric && !problem.accumulate).then(output)
    }
}
