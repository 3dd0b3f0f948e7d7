//! Reasons for and against the algorithms of gemv.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::Problem;
use crate::contract::select::gemv::{dot_steps, fills_no_microkernel};
use crate::explain::{KernelChoice, Reason, Relation, limit};
use ijk_kernels::tuning::order::{
    AXPY_COLUMNS, AXPY_LHS_BYTES, DOT_COLUMNS, DOT_ROWS, MANY_STEPS, THIN_EXTENT, THIN_STEPS,
};
use ijk_kernels::tuning::time::AXPY_SUM_BYTES;

/// Dot products in one call of a microkernel.
pub(super) fn dot_in_one_call(problem: &Problem) -> KernelChoice {
    let rows = ("m", problem.m.len());
    let then = "all rows are one call of the kernel, without tasks";
    KernelChoice::new("dot products, one call")
        .because(few_columns(problem))
        .because(Reason::compared(rows, Relation::AtMost, limit!(DOT_ROWS), then))
}

/// Dot products in tasks of rows.
pub(super) fn dot(problem: &Problem) -> KernelChoice {
    let (k, size, steps) = (problem.k.len(), problem.algebra.size, dot_steps(problem));
    let choice = KernelChoice::new("dot products")
        .block("mc", DOT_ROWS.min(problem.m.len()), "rows")
        .block("kc", steps.min(k), "steps")
        .holding("part of a column", steps.min(k) * size)
        .because(few_columns(problem));
    let long = ("DOT_STEP_BYTES", steps);
    let then = "sums of parts are combined";
    choice.because((k > steps).then(|| Reason::compared(("k", k), Relation::Above, long, then)))
}

fn few_columns(problem: &Problem) -> Reason {
    let then = "k, contiguous in lhs, fills the lanes, and nothing is packed";
    let n = ("n", problem.n.len());
    match n.1 <= DOT_COLUMNS {
        true => Reason::compared(n, Relation::AtMost, limit!(DOT_COLUMNS), then),
        false => Reason::compared(n, Relation::AtMost, limit!(THIN_EXTENT), then),
    }
}

/// All sums in registers.
pub(super) fn thin(problem: &Problem) -> KernelChoice {
    let [m, n, k] = [&problem.m, &problem.n, &problem.k].map(|bundle| bundle.len());
    let then = "all sums stay in registers while k is streamed";
    KernelChoice::new("sums in registers")
        .because(Reason::compared(("m", m), Relation::AtMost, limit!(THIN_EXTENT), ""))
        .because(Reason::compared(("n", n), Relation::AtMost, limit!(THIN_EXTENT), ""))
        .because(Reason::compared(("k", k), Relation::AtLeast, limit!(THIN_STEPS), then))
}

/// Scaled rows added to sums in L1.
pub(super) fn axpy(problem: &Problem) -> KernelChoice {
    let Problem { m, n, k, algebra, .. } = problem;
    let lhs = m.len().saturating_mul(k.len()).saturating_mul(algebra.size);
    let rows = (AXPY_SUM_BYTES / algebra.size).min(m.len());
    let then = "each step adds a scaled row of lhs, which is streamed once";
    let pays = match fills_no_microkernel(problem) {
        true => Reason::compared(("k", k.len()), Relation::AtLeast, limit!(MANY_STEPS), then),
        false => Reason::sized(("lhs", lhs), Relation::AtLeast, limit!(AXPY_LHS_BYTES), then),
    };
    KernelChoice::new("axpy")
        .block("mc", rows, "rows")
        .holding("sums of a column", rows * algebra.size)
        .because(Reason::compared(("n", n.len()), Relation::AtMost, limit!(AXPY_COLUMNS), ""))
        .because(pays)
}

/// The comparison that rules out gemv for a few columns.
pub(super) fn obstacle(problem: &Problem) -> Option<Reason> {
    let Problem { m, n, k, algebra, .. } = problem;
    let along_k = k.run(TensorId::Left) >= algebra.lanes.div_ceil(2)
        && m.run(TensorId::Left) < 2 * algebra.lanes;
    let near = (DOT_COLUMNS + 1..=4 * DOT_COLUMNS).contains(&n.len());
    let then = "dot products would read lhs too often";
    (near && along_k)
        .then(|| Reason::compared(("n", n.len()), Relation::Above, limit!(DOT_COLUMNS), then))
}
