//! In which order a nest's values combine.

use crate::check::CheckedNest;
use ijk_plan::plan::{Nest, Start};
use ijk_types::Reducer;

/// What of the domain's order shows in the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Nothing that the nest has to keep: blocks and lanes decide.
    Free,
    /// Each output takes its values one after another, but outputs are apart: all may take one at a time,
    /// side by side.
    Columns,
    /// Outputs are computed, or may be the same: points go one after another.
    Points,
}

/// Most points of a nest whose outputs go side by side: they are one tile.
const MOST: usize = 1024;

/// The order of a nest. Integers have none that shows.
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
    let one_tile = checked.extents.iter().product::<usize>() <= MOST;
    match apart && one_tile && nest.start == Start::Covered {
        true => Order::Columns,
        false => Order::Points,
    }
}
