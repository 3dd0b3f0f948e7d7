//! Canonical form of a contraction: selects the operand that fills the lanes, merges axes, and orders them.

use crate::contract::canonical::bundle::{Bundle, BundleAxis, TensorId};
use crate::contract::canonical::k_tile::KTile;
use crate::contract::canonical::problem::Problem;
use crate::contract::select::gemv::is_thin;
use crate::contract::select::in_place::are_windows;
use crate::contract::select::rows::staged_order;
use crate::contract::select::sharing::shares_lhs;
use crate::contract::select::small::is_narrow;
use ijk_kernels::contraction::algebra::Algebra;
use ijk_kernels::contraction::microkernel::Microkernel;
use ijk_kernels::contraction::panel::Prepare;
use ijk_kernels::tuning::order::{
    KC, MOVE_COST, OUTPUT_RATIO, PACK_COST, SHORT_RUN, SMALL_BYTES, SMALL_NARROW_STEPS,
    STRIDED_OUTPUT_COST, THIN_EXTENT, THIN_STEPS,
};
use ijk_plan::plan::{Contraction, Role};

/// The canonical form of a contraction.
pub(crate) fn orient(task: &Contraction, algebra: Algebra) -> Problem {
    let [batch, m, n, k] = [Role::Batch, Role::M, Role::N, Role::K].map(|r| bundle(task, r));
    let (dtype, accumulate) = (task.dtype, task.accumulate);
    let (tile, unit, swapped) = (None, None, false);
    let mut problem = Problem { dtype, algebra, batch, m, n, k, tile, unit, swapped, accumulate };
    if problem.algebra.commutative && is_better_swapped(&mut problem) {
        problem.swap();
    }
    order(&mut problem);
    problem
}

/// Returns true if the other operand should fill the lanes. Few rows by few columns stay in registers if the rows of one
/// operand are contiguous.
fn is_better_swapped(problem: &mut Problem) -> bool {
    if problem.outputs() <= THIN_EXTENT * THIN_EXTENT && problem.k.len() >= THIN_STEPS {
        let mut thin = || {
            problem.swap();
            is_thin(problem)
        };
        let (swapped, as_it_is) = (thin(), thin());
        if swapped != as_it_is {
            return swapped;
        }
    }
    cost_swapped(problem) < cost(problem)
}

/// Cost of the present choice of lanes, relative to the other one: unused lanes, rows that are strided in the
/// output, and packing.
fn cost(problem: &Problem) -> f64 {
    cost_of(problem, [&problem.m, &problem.n], [TensorId::Left, TensorId::Right])
}

fn cost_swapped(problem: &Problem) -> f64 {
    cost_of(problem, [&problem.n, &problem.m], [TensorId::Right, TensorId::Left])
}

fn cost_of(problem: &Problem, [rows, columns]: [&Bundle; 2], [left, right]: [TensorId; 2]) -> f64 {
    let algebra = &problem.algebra;
    let narrow = is_narrow([rows, columns, &problem.k], right, algebra);
    if narrow && rows.len() > 1 && problem.k.len() <= SMALL_NARROW_STEPS {
        return columns.len() as f64;
    }
    let padded = rows.len().next_multiple_of(algebra.lanes) as f64;
    let windows = reads_windows(problem, [rows, columns], right);
    let scattered = match rows.touches_unit(TensorId::Out) {
        true => 1.0,
        false if windows => 1.0 + MOVE_COST / problem.k.len() as f64,
        false => STRIDED_OUTPUT_COST,
    };
    let products = padded * columns.len() as f64 * scattered;
    let most = rows.len().max(columns.len()).saturating_mul(problem.k.len());
    if most.saturating_mul(algebra.size) <= SMALL_BYTES {
        return products;
    }
    let direct = columns.len() <= algebra.tiles.widest() && rows.run(left) >= 2 * algebra.lanes;
    let packed = match (narrow, direct) {
        (true, _) => 0,
        (_, true) => columns.len(),
        _ if windows => rows.len(),
        _ => rows.len().saturating_add(columns.len()),
    };
    products + PACK_COST * packed as f64
}

/// Returns true if columns would be [windows](super::in_place) of an operand, read in place.
fn reads_windows(problem: &Problem, [rows, columns]: [&Bundle; 2], right: TensorId) -> bool {
    let algebra = &problem.algebra;
    let keeps = !algebra.guarded && [algebra.left, algebra.right] == [Prepare::Keep; 2];
    let mut columns = columns.clone();
    columns.follow(right);
    let bundles = [rows, &columns, &problem.k];
    let windows = |e: &Microkernel| are_windows(bundles, right, (e.columns, algebra));
    keeps && algebra.tiles.windows.first().is_some_and(windows)
}

/// Orders the axes of each bundle. Rows follow both lhs and the output if a stage makes that possible, otherwise
/// the output if its contiguous runs fill vectors, otherwise lhs. Columns follow rhs, or the output if that is far
/// larger. Steps follow the larger operand.
fn order(problem: &mut Problem) {
    let along = |b: &Bundle| {
        let mut by_out = b.clone();
        by_out.follow(TensorId::Out);
        by_out.run(TensorId::Out) >= problem.algebra.lanes
    };
    match staged_order(&problem.m, problem.n.len(), problem.algebra.size) {
        Some(both) => problem.m = both,
        None if along(&problem.m) => problem.m.follow(TensorId::Out),
        None => problem.m.follow(TensorId::Left),
    }
    let many = problem.m.len() / OUTPUT_RATIO >= problem.k.len();
    problem.n.follow(if many { TensorId::Out } else { TensorId::Right });
    problem.batch.follow(TensorId::Out);
    let larger = if problem.m.len() >= problem.n.len() { TensorId::Left } else { TensorId::Right };
    problem.k.follow(larger);
    tile_steps(problem);
}

/// If the operands are contiguous along different axes of k: makes the axis of the operand that is packed block by
/// block the innermost, and that of the shared operand the next.
fn tile_steps(problem: &mut Problem) {
    let (shared, other) = match shares_lhs(problem) {
        true => (TensorId::Left, TensorId::Right),
        false => (TensorId::Right, TensorId::Left),
    };
    let (Some(inner), Some(around)) = (problem.k.unit(other), problem.k.unit(shared)) else {
        return;
    };
    let rows = problem.m.run(TensorId::Left).max(problem.n.run(TensorId::Right));
    if inner != around && rows < SHORT_RUN && problem.k.len() > KC {
        problem.k.follow(other);
        problem.k.unit(shared).into_iter().for_each(|axis| problem.k.around_last(axis));
        problem.tile = KTile::of(&problem.k);
    }
}
fn bundle(task: &Contraction, role: Role) -> Bundle {
    let axes = task.axes.iter().filter(|a| a.role == role);
    Bundle::new(axes.map(|a| BundleAxis { extent: a.extent, strides: [a.a, a.b, a.c] }))
}
