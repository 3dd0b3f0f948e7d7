//! Order in which the values of a nest are combined.

use crate::check::CheckedNest;
use ijk_kernels::tuning::time::COLUMNS_POINTS;
use ijk_plan::plan::{Nest, Start};
use ijk_types::Reducer;

/// Dependence of the results on the order of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// None: blocks and lanes determine the order.
    Free,
    /// Each output combines its values sequentially, but outputs are distinct: all may take one value at a time, in
    /// parallel lanes.
    Columns,
    /// Outputs are at computed offsets, or may be identical: points are processed sequentially.
    Points,
}

/// The order of a nest. Integer results never depend on it.
pub(crate) fn order(nest: &Nest, checked: &CheckedNest) -> Order {
    let shows = checked.types.last().is_some_and(|t| t.is_float() || t.is_complex());
    let combines = matches!(nest.reduce, Some(Reducer::Monoid(_)));
    if nest.store.offset.is_some() {
        return Order::Points;
    }
    if !(nest.sequential && combines && shows) {
        return Order::Free;
    }
    let several = |a: &usize| checked.extents[*a] > 1 && !nest.axes[*a].reduced;
    let apart = (0..nest.axes.len()).filter(several).all(|a| checked.separable.contains(&a));
    let one_tile = checked.extents.iter().product::<usize>() <= COLUMNS_POINTS;
    match apart && one_tile && nest.start == Start::Covered {
        true => Order::Columns,
        false => Order::Points,
    }
}
