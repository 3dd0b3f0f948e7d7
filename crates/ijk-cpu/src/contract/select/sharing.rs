//! The operand whose panels are shared by threads.

use crate::contract::canonical::bundle::Bundle;
use crate::contract::canonical::problem::Problem;
use ijk_kernels::contraction::algebra::Algebra;
use ijk_kernels::tuning::order::{KC, RESIDENT_LHS_BYTES, SHARE_RATIO};

/// Returns true if lhs panels of `rows` would be shared by threads.
pub(crate) fn shares(rows: &Bundle, columns: &Bundle, algebra: &Algebra) -> bool {
    let m = rows.len();
    m.saturating_mul(KC * algebra.size) <= RESIDENT_LHS_BYTES && m <= columns.len() / SHARE_RATIO
}

/// Returns true if m is so small that the lhs panels for a block of k stay in L2 while rhs panels are streamed.
pub(crate) fn shares_lhs(problem: &Problem) -> bool {
    shares(&problem.m, &problem.n, &problem.algebra)
}
