//! Sizes of tiles, and what is inside them.

use super::geometry::{Axis, Geometry, Wishes};
use super::lower::Lowering;
use ijk_kernels::tile::{ChainFold, folds_chain};
use ijk_kernels::tuning::order::{
    CHAIN_TILE_POINTS, FEW_FUNCTIONS, FOLDED_TILE_POINTS, LIGHT_TILE_POINTS, TILE_POINTS,
};
use ijk_kernels::tuning::time::{MOVED_TILE_POINTS, ONE_CHAIN_NODES};
use ijk_plan::plan::{Node, Start};
use ijk_types::Reducer;

impl Lowering<'_> {
    /// The loops of tiles. Those of reductions are large, for few calls of kernels, if no more operands are packed:
    /// values that are folded in registers need no room in L1, and accumulators are loaded once for all rows of a tile;
    /// folds along rows have no accumulators, and tiles are as large as rounding permits.
    pub(super) fn tiled(&self, axes: Vec<Axis>, ordered: bool) -> Geometry {
        let wishes = self.wishes(ordered);
        if self.nest.reduce.is_none() {
            return Geometry::new(axes, wishes);
        }
        let geometry = Geometry::new(axes.clone(), wishes);
        let in_registers = self.chain_fold(&geometry).is_some();
        let tile = match in_registers {
            true if geometry.along && geometry.reads_rows_in_place() => FOLDED_TILE_POINTS,
            // Several operands may have to be packed.
            true if self.nest.loads.len() > 2 => CHAIN_TILE_POINTS,
            false if self.functions() > FEW_FUNCTIONS || geometry.operands_of_rows() > 1 => {
                CHAIN_TILE_POINTS
            }
            _ => LIGHT_TILE_POINTS,
        };
        let tile = if self.value_type().size() > 4 { tile / 2 } else { tile };
        if tile <= wishes.tile {
            return geometry;
        }
        let larger = Geometry::new(axes, Wishes { tile, ..wishes });
        let packs_more = larger.rows_in_place() < geometry.rows_in_place();
        if packs_more && !in_registers { geometry } else { larger }
    }

    /// The fold of a chain in registers, if the value is one, and tiles are rows of outputs or have one for each output.
    pub(super) fn chain_fold(&self, geometry: &Geometry) -> Option<ChainFold> {
        let row = geometry.inner.last().map_or(1, |&a| geometry.loops[a].tile);
        let kept = geometry.kept_inside().len();
        let rows = if geometry.along { geometry.inner.len() - kept == 1 } else { kept == 1 };
        let folds = rows && folds_chain(self.level, self.value_type(), row);
        if folds { self.link_fold() } else { None }
    }

    /// The fold of a value that chains compute.
    fn link_fold(&self) -> Option<ChainFold> {
        let Some(Reducer::Monoid(monoid)) = self.nest.reduce else { return None };
        let links = self.functions() > 0 && self.has_links_only();
        ChainFold::of(monoid).filter(|_| links)
    }

    pub(super) fn wishes(&self, ordered: bool) -> Wishes {
        let moves = self.moved().is_some() && !ordered;
        let largest = self.checked.types.iter().map(|t| t.size()).max().unwrap_or(1);
        let body = &self.nest.body;
        let computed = body.iter().filter(|node| !matches!(node, Node::Load(_))).count();
        // A single instruction needs no registers; for reductions, the order of sums depends on the tile.
        let single = computed <= 1 || computed == 2 && self.may_join();
        let light = body.len() <= 2 || single && self.nest.reduce.is_none();
        // Of maps, all elements of a row of a tile are computed before the next: few registers are in use at a time.
        let map = self.nest.store.offset.is_none()
            && self.nest.axes.iter().all(|axis| !axis.reduced && !axis.collides);
        let tile = match light {
            _ if moves => MOVED_TILE_POINTS,
            true => LIGHT_TILE_POINTS,
            // Values within chains, and between chains and the reduction, are in registers.
            false if self.is_chain() => match self.nest.reduce {
                None if computed <= ONE_CHAIN_NODES => LIGHT_TILE_POINTS,
                Some(_) if self.nest.loads.len() > 1 => TILE_POINTS,
                _ => CHAIN_TILE_POINTS,
            },
            false if self.nest.reduce.is_none() => CHAIN_TILE_POINTS,
            false => TILE_POINTS,
        };
        let tile = if largest > 4 && !moves && !map { tile / 2 } else { tile };
        let distinct = self.nest.reduce.is_some() && self.nest.start == Start::Existing;
        let gathers = body.iter().any(|node| matches!(node, Node::Gather { .. }));
        Wishes { tile, ordered, distinct, moves, computes: computed > 0, gathers }
    }

    /// Returns true if the value is a function of an operator that one fused instruction computes.
    fn may_join(&self) -> bool {
        let body = &self.nest.body;
        let Some(&Node::Unary(then, of)) = body.last() else { return false };
        let Node::Binary(op, ..) = body[of.0 as usize] else { return false };
        let neither = (false, false);
        ijk_kernels::tile::joined(
            (then, op),
            self.checked.types[of.0 as usize],
            self.level,
            neither,
        )
        .is_some()
    }
}
