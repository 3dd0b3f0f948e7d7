//! The shape of a nest's loops: which axes merge, which are inside a tile, and in which order.
//!
//! Everything here is a function of extents and strides, so that the order in which values combine
//! depends on nothing else.

use crate::Few;
use std::ops::Range;

/// A nest's axis with its step in every operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Number of values, at least 2.
    pub extent: usize,
    /// Whether the output does not depend on it.
    pub reduced: bool,
    /// Step in the output, in elements; 0 if reduced.
    pub store: isize,
    /// Step in each load.
    pub loads: Few<isize>,
    /// Coefficient in each index node.
    pub indices: Few<i64>,
    /// Whether elements of the output that differ in it are certainly different ones.
    pub separable: bool,
}

/// What decides the shape besides the axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    /// Elements a tile has at most.
    pub tile: usize,
    /// Whether the axes must stay in their order, none merged: values combine one by one.
    pub ordered: bool,
    /// Whether values combine into elements that exist: those of one tile must be distinct.
    pub distinct: bool,
    /// Whether elements are moved only, so that a tile need not fit the first cache.
    pub moves: bool,
}

/// An axis as a loop over blocks of `tile` points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    /// The axis.
    pub axis: Axis,
    /// Points in a tile.
    pub tile: usize,
}

/// The shape of a nest's loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// The axes.
    pub loops: Vec<Loop>,
    /// Loops over blocks of the output, outermost first; the separable ones come first.
    pub kept: Few<usize>,
    /// Loops over blocks of what is reduced, outermost first.
    pub reduced: Few<usize>,
    /// The axes inside of a tile, outermost first.
    pub inner: Few<usize>,
    /// In a tile that has both, whether the reduced axes are the inner ones.
    pub along: bool,
}

impl Geometry {
    /// Plans the loops over axes (none of extent 0 or 1).
    pub fn new(axes: Vec<Axis>, wishes: Wishes) -> Self {
        let axes = if wishes.ordered { axes } else { merge(axes) };
        let tiles =
            if wishes.ordered { ordered_tiles(&axes, wishes) } else { tiles(&axes, wishes) };
        let along = tiles.last().is_some_and(|&(a, _)| axes[a].reduced);
        let mut inner: Few<usize> = tiles.iter().map(|&(a, _)| a).collect();
        if !wishes.ordered {
            inner.sort_by_key(|&a| axes[a].reduced == along);
        }
        let mut loops: Vec<Loop> = axes.into_iter().map(|axis| Loop { axis, tile: 1 }).collect();
        for (a, tile) in tiles {
            loops[a].tile = tile;
        }
        let (mut kept, mut reduced) = (Few::new(), Few::new());
        for (a, each) in loops.iter().enumerate() {
            if each.axis.reduced { reduced.push(a) } else { kept.push(a) }
        }
        if !wishes.ordered {
            kept.sort_by_key(|&a| {
                let axis = &loops[a].axis;
                (!axis.separable, std::cmp::Reverse(axis.store.unsigned_abs()))
            });
            reduced.sort_by_key(|&a| std::cmp::Reverse(load_span(&loops[a].axis)));
        }
        Self { loops, kept, reduced, inner, along }
    }

    /// Which axes of a tile are those of outputs. Those that are reduced are all before or all behind them.
    pub fn kept_inside(&self) -> Range<usize> {
        let kept = |a: &&usize| !self.loops[**a].axis.reduced;
        let first = self.inner.iter().take_while(|a| !kept(a)).count();
        let first = if first == self.inner.len() { 0 } else { first };
        first..first + self.inner.iter().filter(kept).count()
    }

    /// For rows of outer axes that combine to one each: a tile has rows of all reduced axes, if they are so few,
    /// for up to so many outputs, in the order of the axes.
    pub fn of_rows(axes: Vec<Axis>, rows: usize, outputs: usize) -> Self {
        let axes = merge(axes);
        let (reduced, kept): (Few<_>, Few<_>) =
            (0..axes.len()).partition(|&axis| axes[axis].reduced);
        let mut loops: Vec<Loop> = axes.into_iter().map(|axis| Loop { axis, tile: 1 }).collect();
        let (left, mut inner) = fill(&mut loops, &reduced, rows);
        if inner.len() == reduced.len() {
            let kept = fill(&mut loops, &kept, left.min(outputs)).1;
            inner.insert_many(0, kept);
        }
        Self { loops, kept, reduced, inner, along: false }
    }

    /// One tile of all points, in which every output takes its values in the order of the domain: the
    /// reduced axes are outside of the others.
    pub fn columns(axes: Vec<Axis>) -> Self {
        let (reduced, kept): (Few<_>, Few<_>) =
            (0..axes.len()).partition(|&axis| axes[axis].reduced);
        let inner = reduced.iter().chain(&kept).copied().collect();
        let whole = |axis: Axis| Loop { tile: axis.extent, axis };
        let loops = axes.into_iter().map(whole).collect();
        Self { loops, kept, reduced, inner, along: false }
    }
}

/// The greatest step in a load: how far apart in memory neighbours are.
fn load_span(axis: &Axis) -> usize {
    axis.loads.iter().map(|s| s.unsigned_abs()).max().unwrap_or(0)
}

/// Joins axes that are one axis in every operand.
fn merge(mut axes: Vec<Axis>) -> Vec<Axis> {
    let mut outer = 0;
    while outer < axes.len() {
        let joins = |inner: usize| inner != outer && joins(&axes[outer], &axes[inner]);
        match (0..axes.len()).find(|&inner| joins(inner)) {
            Some(inner) => {
                axes[inner].extent *= axes[outer].extent;
                axes[inner].separable &= axes[outer].separable;
                axes.remove(outer);
                outer = 0;
            }
            None => outer += 1,
        }
    }
    axes
}

/// Whether `outer` continues where `inner` ends, in every operand.
fn joins(outer: &Axis, inner: &Axis) -> bool {
    let n = inner.extent as i128;
    let continues = |o: i128, i: i128| o == i * n;
    outer.reduced == inner.reduced
        && continues(outer.store as i128, inner.store as i128)
        && outer.loads.iter().zip(&inner.loads).all(|(&o, &i)| continues(o as i128, i as i128))
        && outer.indices.iter().zip(&inner.indices).all(|(&o, &i)| continues(o.into(), i.into()))
}

/// The innermost axes in their order, as many as fit; only the outermost of them is cut.
fn ordered_tiles(axes: &[Axis], wishes: Wishes) -> Few<(usize, usize)> {
    let mut tiles = Few::new();
    let mut room = wishes.tile;
    for (a, axis) in axes.iter().enumerate().rev() {
        tiles.push((a, axis.extent.min(room)));
        room /= axis.extent;
        if room < 2 {
            break;
        }
    }
    tiles.reverse();
    tiles
}

/// Gives the innermost of some loops as many points in a tile as there is room for: gives the room that is left,
/// and which have some.
fn fill(loops: &mut [Loop], which: &[usize], mut room: usize) -> (usize, Few<usize>) {
    let mut inner = Few::new();
    for &a in which.iter().rev() {
        let each = &mut loops[a];
        each.tile = each.axis.extent.min(room).max(1);
        room /= each.tile;
        inner.insert(0, a);
        if each.tile < each.axis.extent || room < 2 {
            break;
        }
    }
    (room, inner)
}

/// Sides of a tile whose rows are not contiguous where its columns are: a run of four lines on
/// either side, which pays for the page that it begins.
const BLOCK: usize = 64;

/// How many times as large such a tile is as others, since its runs matter more than that it stays in
/// the first cache.
const CROSSING: usize = 4;

/// The same where elements are only moved.
const MOVED_SIDE: usize = 128;

/// The axes of a tile with their extents in it, innermost last.
fn tiles(axes: &[Axis], wishes: Wishes) -> Few<(usize, usize)> {
    let Some(vector) = vector_axis(axes) else { return Few::new() };
    let mut chosen: Few<(usize, usize)> = Few::new();
    let crossing =
        crossing_axis(axes, vector).filter(|&a| may_join(axes, &[(vector, 0)], a, wishes));
    let tile = if crossing.is_some() { CROSSING * wishes.tile } else { wishes.tile };
    let mut room = tile;
    match crossing {
        Some(_) if wishes.moves => room = MOVED_SIDE,
        Some(a) => room = (room / BLOCK.min(axes[a].extent)).max(BLOCK),
        None => {}
    }
    let side = axes[vector].extent.min(room);
    chosen.push((vector, side));
    room = if crossing.is_some() && wishes.moves { MOVED_SIDE } else { tile / side };
    if let Some(a) = crossing {
        let side = axes[a].extent.min(room);
        chosen.push((a, side));
        room /= side;
    }
    let cut = chosen.iter().any(|&(a, side)| side < axes[a].extent);
    while room > 1 && !cut {
        let free = |a: &usize| chosen.iter().all(|&(c, _)| c != *a);
        let fits = |a: &usize| may_join(axes, &chosen, *a, wishes);
        let next =
            (0..axes.len()).filter(free).filter(fits).min_by_key(|&a| nearness(&axes[a], axes));
        let Some(a) = next else { break };
        if side >= LONG_ROW && !wishes.moves && leaves_gaps(axes, vector, a) {
            break;
        }
        let side = axes[a].extent.min(room);
        chosen.push((a, side));
        if side < axes[a].extent {
            break;
        }
        room /= side;
    }
    chosen.into_iter().rev().collect()
}

/// Elements of a row that is a tile of its own where rows have gaps between them, at least: kernels then go over rows
/// where they are, instead of over copies that are dense.
const LONG_ROW: usize = 256;

/// True if rows along `vector` that differ in `a` have gaps between them in some operand.
fn leaves_gaps(axes: &[Axis], vector: usize, a: usize) -> bool {
    let (row, outer) = (&axes[vector], &axes[a]);
    let operands = row.loads.iter().zip(&outer.loads).chain([(&row.store, &outer.store)]);
    let apart = |inner: isize, outer: isize| outer != 0 && outer != inner * row.extent as isize;
    operands.into_iter().any(|(&inner, &outer)| inner.unsigned_abs() == 1 && apart(inner, outer))
}

/// Sorts axes by how close neighbours are in memory: in the output, or in what a reduction reads.
fn nearness(axis: &Axis, axes: &[Axis]) -> usize {
    let reduces = axes.iter().any(|a| a.reduced);
    if reduces { load_span(axis) } else { axis.store.unsigned_abs() }
}

/// The innermost axis: contiguous in the output, or in the operands of a reduction, the largest of
/// which count most.
fn vector_axis(axes: &[Axis]) -> Option<usize> {
    let reduces = axes.iter().any(|a| a.reduced);
    let score = |a: usize| {
        let axis = &axes[a];
        let dense = axis.loads.iter().filter(|s| s.unsigned_abs() == 1).count();
        let stored = usize::from(axis.store.unsigned_abs() == 1);
        let weight = match reduces {
            true => (0..axis.loads.len())
                .filter(|&load| axis.loads[load].unsigned_abs() == 1)
                .fold(stored, |sum, load| sum.saturating_add(elements(axes, load))),
            false => dense + 2 * axis.loads.len().max(1) * stored,
        };
        let short = axis.extent < SHORT && axes.iter().any(|b| b.extent >= 4 * SHORT);
        let distance = if reduces { load_span(axis) } else { axis.store.unsigned_abs() };
        (!(short && reduces), weight, std::cmp::Reverse(distance), a)
    };
    (0..axes.len()).max_by_key(|&a| score(a))
}

/// How many elements a load has, about: what is worth reading in their order.
fn elements(axes: &[Axis], load: usize) -> usize {
    let own = axes.iter().filter(|axis| axis.loads[load] != 0);
    own.fold(1, |n, axis| axis.extent.saturating_mul(n))
}

/// Axes shorter than this are not worth a vector loop of their own in a reduction.
const SHORT: usize = 16;

/// An axis that is contiguous in a load in which the vector axis is not.
fn crossing_axis(axes: &[Axis], vector: usize) -> Option<usize> {
    let crosses = |a: usize, load: usize| {
        let (other, here) = (axes[a].loads[load], axes[vector].loads[load]);
        other.unsigned_abs() == 1 && here.unsigned_abs() > 1
    };
    let loads = 0..axes[vector].loads.len();
    (0..axes.len()).find(|&a| a != vector && loads.clone().any(|load| crosses(a, load)))
}

/// Whether an axis may join a tile: elements it combines into must be distinct, if that is wished.
fn may_join(axes: &[Axis], chosen: &[(usize, usize)], a: usize, wishes: Wishes) -> bool {
    if !wishes.distinct || axes[a].reduced {
        return true;
    }
    let tile = || chosen.iter().map(|&(c, _)| c).chain([a]).filter(|&c| !axes[c].reduced);
    let extents: Few<usize> = tile().map(|c| axes[c].extent).collect();
    let strides: Few<isize> = tile().map(|c| axes[c].store).collect();
    crate::check::separable(&extents, &strides).len() == extents.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(extent: usize, reduced: bool, store: isize, loads: &[isize]) -> Axis {
        Axis {
            extent,
            reduced,
            store,
            loads: loads.into(),
            indices: Few::new(),
            separable: !reduced,
        }
    }

    const WISHES: Wishes = Wishes { tile: 1024, ordered: false, distinct: false, moves: false };

    #[test]
    fn contiguous_axes_merge() {
        let axes = vec![axis(4096, false, 4096, &[4096]), axis(4096, false, 1, &[1])];
        let g = Geometry::new(axes, WISHES);
        assert_eq!(g.loops.len(), 1);
        assert_eq!((g.loops[0].axis.extent, g.loops[0].tile), (1 << 24, 1024));
    }

    #[test]
    fn transposed_loads_get_square_tiles() {
        let axes = vec![axis(4096, false, 4096, &[4096, 1]), axis(4096, false, 1, &[1, 4096])];
        let g = Geometry::new(axes, WISHES);
        assert_eq!(g.inner[..], [0, 1]);
        assert_eq!((g.loops[0].tile, g.loops[1].tile), (64, 64));
    }

    #[test]
    fn row_sums_reduce_along_and_column_sums_down() {
        let rows = vec![axis(4096, false, 1, &[4096]), axis(4096, true, 0, &[1])];
        let g = Geometry::new(rows, WISHES);
        assert!(g.along && g.loops[1].tile == 1024 && g.loops[0].tile == 1);
        let columns = vec![axis(4096, true, 0, &[4096]), axis(4096, false, 1, &[1])];
        let g = Geometry::new(columns, WISHES);
        assert!(!g.along && g.loops[1].tile == 1024 && g.loops[0].tile == 1);
    }

    #[test]
    fn a_value_for_each_row_does_not_turn_the_tile() {
        let rows = vec![axis(32, false, 1, &[4096, 1]), axis(4096, true, 0, &[1, 0])];
        let g = Geometry::new(rows, WISHES);
        assert!(g.along && g.loops[1].tile == 1024 && g.loops[0].tile == 1);
    }

    #[test]
    fn colliding_axes_do_not_share_a_tile() {
        let axes = vec![axis(10, false, 1, &[1, 0]), axis(10, false, 1, &[0, 1])];
        let g = Geometry::new(axes, Wishes { distinct: true, ..WISHES });
        assert_eq!(g.inner.len(), 1);
    }
}
