//! Selection of nests and contractions for the kernel of short axes.

use crate::check::CheckedNest;
use crate::folds::least_row;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::order::{
    BRIEF_POINTS, BRIEF_PRODUCT_POINTS, OUTER_PRODUCT_POINTS, OUTER_PRODUCT_RATIO,
    OUTER_PRODUCT_RUN, SHORT_AXES_BATCHED, SHORT_AXES_FEW, SHORT_AXES_FEW_STEPS,
};
use ijk_plan::plan::{Contraction, ContractionAxis, Load, Nest, Role};

/// Returns true if a nest is not empty, and too small to amortise the setup of tiles; larger nests have other kernels.
pub(crate) fn is_brief(nest: &Nest, checked: &CheckedNest) -> bool {
    let points = checked.extents.iter().product::<usize>();
    let most = if nest.reduce.is_some() && nest.loads.len() > 1 {
        BRIEF_PRODUCT_POINTS
    } else {
        BRIEF_POINTS
    };
    (1..=most).contains(&points)
}

/// Returns true if a nest combines all pairs of elements of two arrays that are each much smaller than the result,
/// along runs too short for tiles (a Kronecker product).
pub(crate) fn is_outer_product(nest: &Nest, checked: &CheckedNest) -> bool {
    let points = checked.extents.iter().product::<usize>();
    let elements = |load: &Load| {
        let own = checked.extents.iter().zip(&load.strides).filter(|(_, step)| **step != 0);
        own.map(|(&extent, _)| extent).product::<usize>()
    };
    let steps = checked.extents.iter().zip(&nest.store.strides);
    let run = steps.filter(|(extent, step)| **extent > 1 && **step == 1).map(|(&n, _)| n).min();
    let small = |load: &Load| elements(load) <= points / OUTER_PRODUCT_RATIO;
    nest.reduce.is_none()
        && (1..=OUTER_PRODUCT_POINTS).contains(&points)
        && nest.loads.len() == 2
        && nest.loads.iter().all(small)
        && run.is_some_and(|run| run < OUTER_PRODUCT_RUN)
}

/// Returns true if packing does not pay for a contraction: small m or n and short k, or batches of small matrices.
pub(crate) fn is_thin(task: &Contraction) -> bool {
    let [batch, m, n, k] = [Role::Batch, Role::M, Role::N, Role::K].map(|role| task.extent(role));
    let few = m.min(n) <= SHORT_AXES_FEW && k <= SHORT_AXES_FEW_STEPS;
    task.is_product_sum() && (few || (batch > 1 && m.max(n).max(k) <= SHORT_AXES_BATCHED))
}

/// Number of elements that GEMM reads or writes one by one, since only batches are contiguous to each other in an array:
/// of packed operands and of the output.
pub(crate) fn scattered_elements(task: &Contraction) -> f64 {
    let of = |stride: fn(&ContractionAxis) -> isize, own: [Role; 2]| {
        let axes = || task.axes.iter().filter(|axis| axis.extent > 1 && stride(axis) != 0);
        let contiguous = |role: &dyn Fn(Role) -> bool| {
            axes().any(|axis| role(axis.role) && stride(axis).unsigned_abs() == 1)
        };
        let inside = contiguous(&|role| own.contains(&role));
        match !inside && contiguous(&|role| role == Role::Batch) {
            true => axes().map(|axis| axis.extent as f64).product(),
            false => 0.0,
        }
    };
    of(|axis| axis.a, [Role::M, Role::K])
        + of(|axis| axis.b, [Role::K, Role::N])
        + of(|axis| axis.c, [Role::M, Role::N])
}

/// Returns true if nests are faster for a contraction without an m or n for which packing would pay.
pub(crate) fn is_nest(task: &Contraction, level: Level) -> bool {
    is_large_of_vector(task, level) || is_dot_of_tiles(task)
}

/// Returns true for a large contraction of a vector that is no sum of products, or whose rows of k are shorter than those
/// of folds.
fn is_large_of_vector(task: &Contraction, level: Level) -> bool {
    let [m, n, k] = [Role::M, Role::N, Role::K].map(|role| task.extent(role));
    let points = task.axes.iter().map(|axis| axis.extent).product::<usize>();
    let in_row = |axis: &ContractionAxis| {
        let step = if m > 1 { axis.a } else { axis.b };
        axis.role == Role::K && axis.extent > 1 && step == 1
    };
    let short = m.max(n) > 1 && k < least_row(level) as u64 && task.axes.iter().any(in_row);
    m.min(n) == 1 && (short || !task.is_product_sum()) && points > BRIEF_POINTS
}

/// Returns true for a dot product whose operands are contiguous along different axes of k (the trace of a product), of
/// which tiles transpose one, or in rows with gaps between them.
fn is_dot_of_tiles(task: &Contraction) -> bool {
    let [m, n] = [Role::M, Role::N].map(|role| task.extent(role));
    let long = |axis: &&ContractionAxis| axis.extent > 1 && axis.role == Role::K;
    let axes: Vec<&ContractionAxis> = task.axes.iter().filter(long).collect();
    let along = |step: fn(&ContractionAxis) -> isize| axes.iter().position(|axis| step(axis) == 1);
    let (Some(a), Some(b)) = (along(|axis| axis.a), along(|axis| axis.b)) else { return false };
    let row = axes[a];
    let continues = |outer: isize, inner: isize| outer == inner.wrapping_mul(row.extent as isize);
    let follows = |axis: &&ContractionAxis| continues(axis.a, row.a) && continues(axis.b, row.b);
    let gaps = axes.len() > 1 && task.dtype.is_float() && !axes.iter().any(follows);
    m == 1 && n == 1 && (a != b || gaps)
}
