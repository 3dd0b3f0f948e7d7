//! Selection of gemv: dot products, axpy, and few rows by few columns.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::problem::Problem;
use ijk_kernels::contraction::gemv::{DotFn, STREAM_GROUPS};
use ijk_kernels::contraction::panel::Prepare;
use ijk_kernels::tuning::order::{
    AXPY_COLUMNS, AXPY_LHS_BYTES, DOT_COLUMNS, DOT_PREFETCH_BYTES, DOT_ROWS, DOT_STEP_BYTES,
    DOT_STREAM_BYTES, KC, MANY_STEPS, THIN_EXTENT, THIN_ROWS, THIN_STEPS,
};

/// Returns true if dot products are the algorithm for a problem.
pub(crate) fn is_dot(problem: &Problem) -> bool {
    let algebra = &problem.algebra;
    let fills = |bundle: &Bundle, lanes| bundle.run(TensorId::Left) >= lanes;
    // With few rows, packing costs more than reading them again for each column.
    let columns = match problem.m.len() <= THIN_EXTENT && k_is_contiguous(problem) {
        true => THIN_EXTENT,
        false => DOT_COLUMNS,
    };
    // If both m and k are contiguous in lhs, m fills the lanes unless it is short.
    fills(&problem.k, algebra.lanes.div_ceil(2))
        && !fills(&problem.m, 2 * algebra.lanes)
        && problem.n.len() <= columns
        && algebra.left == Prepare::Keep
        && algebra.rows.kernels.is_some()
}

/// Returns true if a long k is contiguous in both operands, and in the columns as they are.
fn k_is_contiguous(problem: &Problem) -> bool {
    let Problem { k, algebra, .. } = problem;
    let long = |operand| k.run(operand) == k.len() && k.len() >= THIN_STEPS;
    long(TensorId::Left) && long(TensorId::Right) && algebra.right == Prepare::Keep
}

/// A prepared gemv with few rows, independent of the addresses of its tensors.
#[derive(Clone, Debug)]
pub(crate) struct DotGemv {
    /// Offset of each row.
    pub(crate) offsets: Vec<isize>,
    pub(crate) kernel: DotFn,
}

impl DotGemv {
    /// The prepared form of each batch, if operands and output are contiguous and k is one block.
    pub(crate) fn of(problem: &Problem) -> Option<Self> {
        let Problem { m, k, algebra, .. } = problem;
        let contiguous = [TensorId::Left, TensorId::Right].iter().all(|&o| k.run(o) == k.len());
        let one = k.len() <= dot_steps(problem) && problem.n.len() == 1 && !problem.accumulate;
        let few = m.len() <= DOT_ROWS && m.run(TensorId::Out) == m.len();
        if !(contiguous && one && few && is_dot(problem) && algebra.right == Prepare::Keep) {
            return None;
        }
        let mut offsets = vec![0; m.len()];
        m.offsets(TensorId::Left, 0, &mut offsets);
        Some(Self { offsets, kernel: dot_kernel(problem)? })
    }
}

/// The microkernel for the size of lhs: in cache, out of cache, or out of cache with short rows.
pub(crate) fn dot_kernel(problem: &Problem) -> Option<DotFn> {
    let Problem { batch, m, k, algebra, .. } = problem;
    let kernels = algebra.rows.kernels.as_ref()?;
    let elements = batch.len().saturating_mul(m.len()).saturating_mul(k.len());
    let bytes = elements.saturating_mul(algebra.size);
    let short = k.len() < STREAM_GROUPS * algebra.lanes;
    Some(match (m.len() < 4, short) {
        (true, _) => kernels.streamed,
        (_, true) if bytes >= DOT_PREFETCH_BYTES => kernels.short_streamed,
        (_, false) if bytes >= DOT_STREAM_BYTES => kernels.streamed,
        _ => kernels.cached,
    })
}

/// Limit of steps that are summed in lanes. With two groups or more, no chain of additions exceeds KC.
pub(crate) fn dot_steps(problem: &Problem) -> usize {
    let algebra = &problem.algebra;
    (2 * KC * algebra.lanes).min(DOT_STEP_BYTES / algebra.size)
}

/// True if the microkernel applies: few rows and columns, and a long k.
pub(crate) fn is_thin(problem: &Problem) -> bool {
    let Problem { algebra, m, n, k, .. } = problem;
    let keeps = algebra.left == Prepare::Keep && algebra.right == Prepare::Keep;
    let sums = m.len().saturating_mul(n.len()) <= THIN_EXTENT * THIN_EXTENT;
    let few = sums && m.len() <= THIN_ROWS && n.len() <= THIN_EXTENT;
    let few = few && m.run(TensorId::Left) == m.len();
    let even = k.step(TensorId::Left).is_some() && k.step(TensorId::Right).is_some();
    keeps && few && even && k.len() >= THIN_STEPS && algebra.rows.thin.is_some()
}

/// Returns true if axpy is the algorithm for a problem.
pub(crate) fn is_axpy(problem: &Problem) -> bool {
    let Problem { algebra, batch, m, n, k, .. } = problem;
    let elements = batch.len().saturating_mul(m.len()).saturating_mul(k.len());
    let bytes = elements.saturating_mul(algebra.size);
    let keeps = algebra.left == Prepare::Keep && algebra.right == Prepare::Keep;
    let whole = m.run(TensorId::Left) == m.len() && m.len() >= algebra.lanes;
    let pays = match fills_no_microkernel(problem) {
        true => k.len() >= MANY_STEPS,
        false => bytes >= AXPY_LHS_BYTES,
    };
    keeps && whole && n.len() <= AXPY_COLUMNS && algebra.rows.kernels.is_some() && pays
}

/// Returns true if a problem has so few rows that they fill no microkernel.
pub(crate) fn fills_no_microkernel(problem: &Problem) -> bool {
    problem.m.len() < 4 * problem.algebra.lanes
}
