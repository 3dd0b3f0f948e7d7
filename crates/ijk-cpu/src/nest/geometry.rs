//! Loop structure of a nest: which axes are merged, which are inside a tile, and the order of loops.
//!
//! Everything here is a function of extents and strides, so that the order of combination depends on nothing else.

use crate::Few;
use ijk_kernels::lines::LINE;
use ijk_kernels::tuning::order::{
    CROSSING_SIDE, CROSSING_TILES, GAPPED_ROW, INNERMOST_KEPT, INNERMOST_REDUCED, LONGER_AXIS,
    TRANSPOSED_MAP_ROW,
};
use ijk_kernels::tuning::time::{CHAIN_CALL_ROW, MOVED_TILE_ROW, MOVED_TILE_ROWS};
use std::ops::Range;

/// An axis of a nest with its strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Number of values, at least 2.
    pub extent: usize,
    /// True if the axis is reduced.
    pub reduced: bool,
    /// Stride in the output, in elements; 0 if reduced.
    pub store: isize,
    /// Stride in each load.
    pub loads: Few<isize>,
    /// Coefficient in each index node.
    pub indices: Few<i64>,
    /// True if points that differ in this axis never share an element of the output.
    pub separable: bool,
}

/// Options of tiling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    /// Most elements of a tile.
    pub tile: usize,
    /// True if axes must keep their order without merging: values are combined one by one.
    pub ordered: bool,
    /// True if values are combined with existing elements: those of one tile must be distinct.
    pub distinct: bool,
    /// True if elements are only copied, so that a tile may exceed L1.
    pub moves: bool,
    /// True if operands are those of functions, which read rows with gaps between them where they are stored.
    pub computes: bool,
    /// True if elements are read at computed places, which are often those of all elements of a short axis.
    pub gathers: bool,
}

/// An axis as a loop over blocks of `tile` points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    /// The axis.
    pub axis: Axis,
    /// Points of the axis in a tile.
    pub tile: usize,
}

/// Loop structure of a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// The axes.
    pub loops: Vec<Loop>,
    /// Loops over blocks of outputs, outermost first; separable ones first.
    pub kept: Few<usize>,
    /// Loops over blocks of reduced axes, outermost first.
    pub reduced: Few<usize>,
    /// The axes inside a tile, outermost first.
    pub inner: Few<usize>,
    /// In a tile with both kinds of axes, true if the reduced ones are innermost.
    pub along: bool,
}

impl Geometry {
    /// Loop structure for axes of extent at least 2.
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

    /// Range of a tile's axes that are outputs. The reduced axes are all before or all after them.
    pub fn kept_inside(&self) -> Range<usize> {
        let kept = |a: &&usize| !self.loops[**a].axis.reduced;
        let first = self.inner.iter().take_while(|a| !kept(a)).count();
        let first = if first == self.inner.len() { 0 } else { first };
        first..first + self.inner.iter().filter(kept).count()
    }

    /// True if functions read the rows of tiles where each operand has them.
    pub fn reads_rows_in_place(&self) -> bool {
        self.inner
            .last()
            .is_some_and(|&row| self.rows_in_place() == self.loops[row].axis.loads.len())
    }

    /// Number of operands whose rows functions read where the operand has them.
    pub fn rows_in_place(&self) -> usize {
        let Some((&row, outer)) = self.inner.split_last() else { return 0 };
        let of = |a: usize| &self.loops[a].axis.loads;
        let in_place = |&(load, &step): &(usize, &isize)| match step {
            0 => outer.iter().all(|&a| of(a)[load] == 0) || outer.len() == 1,
            1 if outer.len() <= 1 => true,
            _ => {
                let inner: Few<isize> = self.inner.iter().map(|&a| of(a)[load]).collect();
                self.is_dense(&inner, 1)
            }
        };
        of(row).iter().enumerate().filter(in_place).count()
    }

    /// Number of operands that have an element for each point of a row.
    pub fn operands_of_rows(&self) -> usize {
        let of =
            |&row: &usize| self.loops[row].axis.loads.iter().filter(|&&step| step != 0).count();
        self.inner.last().map_or(0, of)
    }

    /// True if the elements of every tile, including partial ones, form a dense box of that element size, for strides
    /// along the axes inside a tile, or along the first of them.
    pub fn is_dense(&self, inner: &[isize], size: usize) -> bool {
        let mut step = size as isize;
        for (position, (&a, &stride)) in self.inner.iter().zip(inner).enumerate().rev() {
            let each = &self.loops[a];
            let whole = position == 0 || each.tile == each.axis.extent;
            if stride != step || !whole {
                return false;
            }
            step *= each.tile as isize;
        }
        true
    }

    /// Loop structure for rows of outer axes, each reduced to one row: a tile has at most `rows` rows along all reduced
    /// axes, for at most `outputs` outputs, in the order of the axes.
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

    /// One tile of all points, in which every output combines its values in the order of the domain: the reduced axes
    /// are outside the others.
    pub fn columns(axes: Vec<Axis>) -> Self {
        let (reduced, kept): (Few<_>, Few<_>) =
            (0..axes.len()).partition(|&axis| axes[axis].reduced);
        let inner = reduced.iter().chain(&kept).copied().collect();
        let whole = |axis: Axis| Loop { tile: axis.extent, axis };
        let loops = axes.into_iter().map(whole).collect();
        Self { loops, kept, reduced, inner, along: false }
    }
}

/// The largest stride in a load.
fn load_span(axis: &Axis) -> usize {
    axis.loads.iter().map(|s| s.unsigned_abs()).max().unwrap_or(0)
}

/// Merges axes that are nested contiguously in every operand.
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

/// Returns true if `outer` continues `inner` contiguously in every operand.
fn joins(outer: &Axis, inner: &Axis) -> bool {
    let n = inner.extent as i128;
    let continues = |o: i128, i: i128| o == i * n;
    outer.reduced == inner.reduced
        && continues(outer.store as i128, inner.store as i128)
        && outer.loads.iter().zip(&inner.loads).all(|(&o, &i)| continues(o as i128, i as i128))
        && outer.indices.iter().zip(&inner.indices).all(|(&o, &i)| continues(o.into(), i.into()))
}

/// The innermost axes in their order, as many as fit; only the outermost of them is split.
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

/// Assigns to the innermost of some loops as many points in a tile as there is room for; returns the remaining room,
/// and the loops that got any.
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

/// The axes of a tile with their extents in it, innermost last.
fn tiles(axes: &[Axis], wishes: Wishes) -> Few<(usize, usize)> {
    let Some(vector) = vector_axis(axes, wishes.gathers) else { return Few::new() };
    let mut chosen: Few<(usize, usize)> = Few::new();
    let crossing =
        crossing_axis(axes, vector).filter(|&a| may_join(axes, &[(vector, 0)], a, wishes));
    let stores = axes.iter().all(|axis| !axis.reduced);
    let tile = match crossing {
        Some(_) if stores && !wishes.moves => CROSSING_SIDE * TRANSPOSED_MAP_ROW,
        Some(_) => CROSSING_TILES * wishes.tile,
        None => wishes.tile,
    };
    let mut room = tile;
    match crossing {
        Some(_) if wishes.moves => room = MOVED_TILE_ROW,
        Some(a) if stores => room /= CROSSING_SIDE.min(axes[a].extent),
        Some(a) => room = (room / CROSSING_SIDE.min(axes[a].extent)).max(CROSSING_SIDE),
        None => {}
    }
    let side = axes[vector].extent.min(room);
    chosen.push((vector, side));
    room = if crossing.is_some() && wishes.moves { MOVED_TILE_ROWS } else { tile / side };
    if let Some(a) = crossing {
        let side = axes[a].extent.min(room);
        chosen.push((a, side));
        room = if wishes.moves { MOVED_TILE_ROW / side } else { room / side };
    }
    let cut = chosen.iter().any(|&(a, side)| side < axes[a].extent);
    while room > 1 && !cut {
        let free = |a: &usize| chosen.iter().all(|&(c, _)| c != *a);
        let fits = |a: &usize| may_join(axes, &chosen, *a, wishes);
        let next =
            (0..axes.len()).filter(free).filter(fits).min_by_key(|&a| nearness(&axes[a], axes));
        let Some(a) = next else { break };
        let long = side >= GAPPED_ROW && !wishes.moves;
        let [loads, store] = [false, true].map(|store| long && leaves_gaps(axes, vector, a, store));
        // Functions read and write two axes of a tile where they are stored.
        if (loads || store) && !(wishes.computes && chosen.len() == 1) {
            break;
        }
        // A second axis makes calls longer, which outweighs what is packed for it.
        let long_calls = wishes.computes && stores && chosen.len() > 1 && side >= CHAIN_CALL_ROW;
        let side = match axes[a].extent.min(room) {
            side if stores && side < axes[a].extent => of_whole_lines(side, &chosen),
            side => side,
        };
        if long_calls && moves_from_place(axes, &chosen, (a, side)) {
            break;
        }
        chosen.push((a, side));
        if loads || store || side < axes[a].extent {
            break;
        }
        room /= side;
    }
    chosen.into_iter().rev().collect()
}

/// The side of an axis, at most as long, with which a tile consists of whole lines of any elements.
fn of_whole_lines(side: usize, chosen: &[(usize, usize)]) -> usize {
    let points: usize = chosen.iter().map(|&(_, side)| side).product();
    let step = LINE >> points.trailing_zeros().min(LINE.ilog2());
    if side < step { side } else { side - side % step }
}

/// True if functions read a load where it is stored in a tile of the axes `chosen`, but not with one more.
fn moves_from_place(axes: &[Axis], chosen: &[(usize, usize)], more: (usize, usize)) -> bool {
    let wider: Few<(usize, usize)> = chosen.iter().copied().chain([more]).collect();
    let mut loads = 0..axes[more.0].loads.len();
    loads.any(|load| is_in_place(axes, chosen, load) && !is_in_place(axes, &wider, load))
}

/// True if functions read a load where it is stored, in tiles of these axes, the innermost first.
fn is_in_place(axes: &[Axis], chosen: &[(usize, usize)], load: usize) -> bool {
    let strides: Few<isize> = chosen.iter().map(|&(a, _)| axes[a].loads[load]).collect();
    let is_dense = |from: usize| {
        let sides = chosen[from..].iter().scan(1, |step, &(_, side)| {
            let own = *step;
            *step *= side as isize;
            Some(own)
        });
        sides.eq(strides[from..].iter().copied())
    };
    let stands = |from: usize| strides[from..].iter().all(|&stride| stride == 0);
    match strides[0] {
        0 => stands(1) || is_dense(1),
        1 => stands(1) || strides.len() == 2 || is_dense(0),
        _ => false,
    }
}

/// True if rows along `vector` that differ in `a` have gaps between them: in the output if `store`, else in an operand.
fn leaves_gaps(axes: &[Axis], vector: usize, a: usize, store: bool) -> bool {
    let (row, outer) = (&axes[vector], &axes[a]);
    let apart = |inner: isize, outer: isize| {
        inner.unsigned_abs() == 1 && outer != 0 && outer != inner * row.extent as isize
    };
    match store {
        true => apart(row.store, outer.store),
        false => row.loads.iter().zip(&outer.loads).any(|(&inner, &outer)| apart(inner, outer)),
    }
}

/// Sort key of axes: their stride in the output, or in the loads of a reduction.
fn nearness(axis: &Axis, axes: &[Axis]) -> usize {
    let reduces = axes.iter().any(|a| a.reduced);
    if reduces { load_span(axis) } else { axis.store.unsigned_abs() }
}

/// The innermost axis: contiguous in the output, or in the operands of a reduction, weighted by their sizes. If it
/// reads no operand contiguously, a reduction goes along the axis whose elements are nearest to each other.
fn vector_axis(axes: &[Axis], gathers: bool) -> Option<usize> {
    let reduces = axes.iter().any(|a| a.reduced);
    let mut strides = axes.iter().flat_map(|axis| &axis.loads).map(|s| s.unsigned_abs());
    let scattered = reduces && strides.clone().any(|s| s > 1) && strides.all(|s| s != 1);
    let score = |a: usize| {
        let axis = &axes[a];
        let dense = axis.loads.iter().filter(|s| s.unsigned_abs() == 1).count();
        let stored = usize::from(axis.store.unsigned_abs() == 1 && !scattered);
        let weight = match reduces {
            true => (0..axis.loads.len())
                .filter(|&load| axis.loads[load].unsigned_abs() == 1)
                .fold(stored, |sum, load| sum.saturating_add(elements(axes, load))),
            false => dense + 2 * axis.loads.len().max(1) * stored,
        };
        let least = if axis.reduced { INNERMOST_REDUCED } else { INNERMOST_KEPT };
        let short = axis.extent < least && axes.iter().any(|b| b.extent >= LONGER_AXIS * least);
        let distance = if reduces { load_span(axis) } else { axis.store.unsigned_abs() };
        (!(short && (reduces || gathers)), weight, std::cmp::Reverse(distance), a)
    };
    (0..axes.len()).max_by_key(|&a| score(a))
}

/// Approximate number of elements of a load, its weight for the order of loops.
fn elements(axes: &[Axis], load: usize) -> usize {
    let own = axes.iter().filter(|axis| axis.loads[load] != 0);
    own.fold(1, |n, axis| axis.extent.saturating_mul(n))
}

/// The axis that is contiguous in a load in which the vector axis is strided, the largest one.
fn crossing_axis(axes: &[Axis], vector: usize) -> Option<usize> {
    let crosses = |a: usize, load: usize| {
        let (other, here) = (axes[a].loads[load], axes[vector].loads[load]);
        other.unsigned_abs() == 1 && here.unsigned_abs() > 1
    };
    let size = |a: usize| {
        let crossed = (0..axes[a].loads.len()).filter(|&load| crosses(a, load));
        crossed.map(|load| elements(axes, load)).max()
    };
    let others = (0..axes.len()).rev().filter(|&a| a != vector);
    others.filter_map(|a| Some((size(a)?, a))).max_by_key(|&(size, _)| size).map(|(_, a)| a)
}

/// Returns true if an axis may be added to a tile: with `distinct`, outputs in a tile must be distinct elements.
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

    const WISHES: Wishes = Wishes {
        tile: 1024,
        ordered: false,
        distinct: false,
        moves: false,
        computes: false,
        gathers: false,
    };

    #[test]
    fn contiguous_axes_merge() {
        let axes = vec![axis(4096, false, 4096, &[4096]), axis(4096, false, 1, &[1])];
        let g = Geometry::new(axes, WISHES);
        assert_eq!(g.loops.len(), 1);
        assert_eq!((g.loops[0].axis.extent, g.loops[0].tile), (1 << 24, 1024));
    }

    #[test]
    fn transposed_loads_get_runs_of_lines_on_both_sides() {
        let axes = vec![axis(4096, false, 4096, &[4096, 1]), axis(4096, false, 1, &[1, 4096])];
        let g = Geometry::new(axes, WISHES);
        assert_eq!(g.inner[..], [0, 1]);
        assert_eq!((g.loops[0].tile, g.loops[1].tile), (CROSSING_SIDE, TRANSPOSED_MAP_ROW));
    }

    #[test]
    fn tiles_cross_the_largest_load() {
        let axes = vec![
            axis(16, false, 40_000, &[1, 100]),
            axis(100, false, 400, &[0, 1]),
            axis(400, false, 1, &[16, 1600]),
        ];
        assert_eq!(Geometry::new(axes, WISHES).inner[..], [1, 2]);
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
    fn sums_of_scattered_elements_go_along_the_nearest() {
        let traces = vec![axis(4096, false, 1, &[4096]), axis(64, true, 0, &[65])];
        let g = Geometry::new(traces, WISHES);
        assert!(g.along && g.loops[1].tile == 64 && g.loops[0].tile == 16);
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
