//! Reasons for and against the algorithm of small matrices.

use crate::Level;
use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::problem::Problem;
use crate::contract::select::gemv::is_dot;
use crate::contract::select::small::{LhsCopy, LhsParts, SmallGemm, columns, is_narrow};
use crate::explain::{KernelChoice, Reason, Relation, limit};
use ijk_kernels::contraction::panel::Prepare;
use ijk_kernels::tuning::order::{
    KC, SMALL_BYTES, SMALL_LHS_BYTES, SMALL_PARTS, SMALL_POINTS, SMALL_POINTS_OF_ONE_GROUP,
    SMALL_RHS_ONCE_BYTES,
};

/// The choice of small matrices.
pub(super) fn explain(problem: &Problem, small: &SmallGemm) -> KernelChoice {
    let Problem { algebra, m, n, k, .. } = problem;
    let size = algebra.size;
    let algorithm = match small.reads_in_place() {
        true => "small matrices, read in place",
        false => "small matrices, lhs copied",
    };
    let parts = &small.parts;
    let rows = parts.each.saturating_mul(parts.rows).min(m.len());
    let choice = KernelChoice::new(algorithm)
        .block("mc", rows, "rows")
        .holding("part of lhs", rows * k.len() * size);
    if is_narrow([m, n, k], TensorId::Right, algebra) {
        let lanes = match m.len() <= algebra.lanes {
            true => ("LANES", algebra.lanes),
            false => ("LANES of several groups", algebra.small.groups * algebra.lanes),
        };
        let then = "rhs is streamed once, and not packed";
        return choice.because(Reason::compared(("m", m.len()), Relation::AtMost, lanes, then));
    }
    let rhs = rhs_limit(problem);
    let points = problem.points() / problem.batch.len().max(1) as f64;
    let then = "panels would be reused too little to be packed";
    choice
        .because(Reason::compared(("k", k.len()), Relation::AtMost, limit!(KC), ""))
        .because(Reason::sized(("rhs", bytes(k, n, size)), Relation::AtMost, rhs, ""))
        .because(Reason::compared(
            ("m·n·k", points as usize),
            Relation::AtMost,
            limit!(SMALL_POINTS),
            then,
        ))
}

/// The limit of the size of rhs.
fn rhs_limit(problem: &Problem) -> (&'static str, usize) {
    let once = problem.m.len() <= 2 * problem.algebra.lanes;
    if once { limit!(SMALL_RHS_ONCE_BYTES) } else { limit!(SMALL_BYTES) }
}

/// The condition of [`SmallGemm::of`] that a problem does not meet.
pub(super) fn obstacle(problem: &Problem, level: Level) -> Option<Reason> {
    let Problem { algebra, m, n, k, .. } = problem;
    let keeps = algebra.left == Prepare::Keep && algebra.right == Prepare::Keep;
    if [m, n, k].iter().any(|bundle| bundle.len() == 0) {
        return Some(Reason::plain("the sum is empty"));
    }
    if !keeps || algebra.small.for_columns(n.len()).is_none() {
        return Some(Reason::plain("these operators and this type have no kernel without packing"));
    }
    let narrow = is_narrow([m, n, k], TensorId::Right, algebra);
    if !narrow && let Some(reason) = too_large(problem) {
        return Some(reason);
    }
    if m.run(TensorId::Out) != m.len() {
        return Some(Reason::plain("rows of the output are not contiguous: loops are blocked"));
    }
    if !narrow && let Some(reason) = too_many_parts(problem) {
        return Some(reason);
    }
    strided(problem).or_else(|| uncopied(problem, level, narrow))
}

/// An operand or k that is too large.
fn too_large(problem: &Problem) -> Option<Reason> {
    let Problem { algebra, m, n, k, .. } = problem;
    let above = |what, value, limit: (&'static str, usize)| {
        (value > limit.1)
            .then(|| Reason::sized((what, value), Relation::Above, limit, "loops are blocked"))
    };
    if k.len() > KC {
        let k = ("k", k.len());
        return Some(Reason::compared(k, Relation::Above, limit!(KC), "loops are blocked"));
    }
    above("rhs", bytes(k, n, algebra.size), rhs_limit(problem))
        .or_else(|| above("the output", bytes(m, n, algebra.size), limit!(SMALL_BYTES)))
}

/// Too many parts of lhs, or too many multiply-adds.
fn too_many_parts(problem: &Problem) -> Option<Reason> {
    if LhsParts::of(problem).is_some() {
        return None;
    }
    let points = problem.points() / problem.batch.len().max(1) as f64;
    let lhs = bytes(&problem.m, &problem.k, problem.algebra.size);
    let limit = match points > SMALL_POINTS {
        _ if lhs > SMALL_PARTS * SMALL_LHS_BYTES => {
            let most = ("SMALL_PARTS", SMALL_PARTS * SMALL_LHS_BYTES);
            let then = "too many parts of it would be in L1 in turn: loops are blocked";
            return Some(Reason::sized(("lhs", lhs), Relation::Above, most, then));
        }
        true => limit!(SMALL_POINTS),
        false if points > SMALL_POINTS_OF_ONE_GROUP => limit!(SMALL_POINTS_OF_ONE_GROUP),
        false => return Some(Reason::plain("lhs cannot be cut into parts that stay in L1")),
    };
    let then = "packed panels are reused often enough to pay";
    Some(Reason::compared(("m·n·k", points as usize), Relation::Above, limit, then))
}

/// Strides that kernels without packing cannot follow.
fn strided(problem: &Problem) -> Option<Reason> {
    let Problem { n, k, .. } = problem;
    let even = k.step(TensorId::Left).is_some() && k.step(TensorId::Right).is_some();
    let text = match (columns(n), even) {
        (None, _) => "columns have more than two axes: loops are blocked",
        (_, false) => "steps of k have no single stride: loops are blocked",
        _ => return None,
    };
    Some(Reason::plain(text))
}

/// Rows of lhs that are not contiguous, if they are not copied.
fn uncopied(problem: &Problem, level: Level, narrow: bool) -> Option<Reason> {
    let parts = if narrow { Some(LhsParts::whole(problem)) } else { LhsParts::of(problem) };
    let copied = parts.is_some_and(|parts| LhsCopy::of(problem, &parts, level).is_some());
    let contiguous = problem.m.run(TensorId::Left) == problem.m.len();
    let text = "rows of lhs are not contiguous, and a copy would take as long as packed panels";
    (!contiguous && (!copied || is_dot(problem))).then(|| Reason::plain(text))
}

fn bytes(a: &Bundle, b: &Bundle, size: usize) -> usize {
    a.len().saturating_mul(b.len()).saturating_mul(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::canonical::algebra_of;
    use crate::contract::select::orient::orient;
    use ijk_plan::plan::{Base, BufferId, Contraction, ContractionAxis, Role};
    use ijk_types::{BinaryOp, DType, Monoid};

    /// A product of matrices; each is transposed in memory if its bit of `layout` is set.
    fn product(dtype: DType, [m, n, k]: [usize; 3], layout: u8) -> Contraction {
        let strides = |bit: u8, rows: usize, columns: usize| match layout >> bit & 1 {
            0 => [columns as isize, 1],
            _ => [1, rows as isize],
        };
        let (a, b, c) = (strides(0, m, k), strides(1, k, n), strides(2, m, n));
        let axis = |name: &str, role, extent, [a, b, c]: [isize; 3]| ContractionAxis {
            name: name.to_owned(),
            role,
            extent,
            a,
            b,
            c,
        };
        let base = |n| Base { buffer: BufferId(n), offset: 0 };
        Contraction {
            dtype,
            map: BinaryOp::Mul,
            then: None,
            reduce: Monoid::Add,
            a: base(0),
            b: base(1),
            c: base(2),
            axes: vec![
                axis("i", Role::M, m, [a[0], 0, c[0]]),
                axis("j", Role::N, n, [0, b[1], c[1]]),
                axis("k", Role::K, k, [a[1], b[0], 0]),
            ],
            accumulate: false,
            span: Default::default(),
        }
    }

    /// Extents on both sides of all thresholds.
    const EXTENTS: [usize; 8] = [1, 3, 4, 16, 64, 150, 257, 3000];

    /// Asserts that products of some layouts are small, or have an obstacle; returns the numbers of both.
    fn agree(level: Level, dtype: DType, extents: [usize; 3]) -> [usize; 2] {
        let mut counts = [0; 2];
        for layout in 0..8 {
            let task = product(dtype, extents, layout);
            let Some(algebra) = algebra_of(level, &task) else { continue };
            let problem = orient(&task, algebra);
            let is_small = SmallGemm::of(&problem, level).is_some();
            let obstacle = obstacle(&problem, level);
            let case = format!("{level:?} {dtype} {extents:?} {layout}: {obstacle:?}");
            assert_eq!(is_small, obstacle.is_none(), "{case}");
            counts[usize::from(is_small)] += 1;
        }
        counts
    }

    #[test]
    fn obstacles_agree_with_the_selection() {
        for level in Level::available() {
            let mut counts = [0; 2];
            for dtype in [DType::F32, DType::F64, DType::I64, DType::C64, DType::Bool] {
                for n in 0..EXTENTS.len().pow(3) {
                    let at = |n: usize| EXTENTS[n % EXTENTS.len()];
                    let extents = [at(n), at(n / EXTENTS.len()), at(n / EXTENTS.len().pow(2))];
                    let both = agree(level, dtype, extents);
                    counts.iter_mut().zip(both).for_each(|(sum, n)| *sum += n);
                }
            }
            let [not_small, small] = counts;
            // The portable level need not have the kernel.
            let has_kernel = level.name() != "portable";
            assert!(not_small > 100 && (small > 100 || !has_kernel), "{counts:?}");
        }
    }
}
