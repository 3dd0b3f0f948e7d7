//! Pattern of nests that reduce over windows.

use crate::check::CheckedNest;
use ijk_kernels::tuning::order::{DISJOINT_WINDOW_TAPS, WINDOW_TAPS};
use ijk_plan::plan::{Nest, Node, NodeId};
use ijk_types::{BinaryOp, Monoid, Reducer};

/// A nest over windows.
#[derive(Clone)]
pub(super) struct WindowPattern {
    /// Map of two inputs; with `None` there is one.
    pub map: Option<BinaryOp>,
    pub reduce: Monoid,
    /// The loads; twice the same if there is one.
    pub loads: [usize; 2],
    /// The axis of the output along which vectors are computed.
    pub row: usize,
    /// Other axes of the output, outermost first.
    pub outer: Vec<usize>,
    /// Reduced axes, in the order of the domain.
    pub taps: Vec<usize>,
}

impl WindowPattern {
    pub fn of(nest: &Nest, checked: &CheckedNest) -> Option<Self> {
        let Some(Reducer::Monoid(reduce)) = nest.reduce else { return None };
        let (map, loads) = match nest.body[..] {
            [Node::Load(a)] => (None, [a, a]),
            [Node::Load(a), Node::Load(b), Node::Binary(map, NodeId(x), NodeId(y))]
                if x + y == 1 =>
            {
                (Some(map), [a, b])
            }
            _ => return None,
        };
        let mut loads = loads.map(|n| n as usize);
        let same_type = |n: &usize| nest.loads[*n].dtype == nest.store.dtype;
        let plain = !nest.sequential && !checked.in_place && nest.store.offset.is_none();
        if !plain || !loads.iter().all(same_type) {
            return None;
        }
        let extents = &checked.extents;
        let several = || (0..extents.len()).filter(|&a| extents[a] > 1);
        let taps: Vec<usize> = several().filter(|&a| nest.axes[a].reduced).collect();
        let mut outer: Vec<usize> = several().filter(|&a| !nest.axes[a].reduced).collect();
        let distinct = outer.iter().all(|axis| checked.separable.contains(axis));
        let count = taps.iter().try_fold(1usize, |n, &a| n.checked_mul(extents[a]))?;
        let overlap = loads.iter().any(|&n| {
            let strides = &nest.loads[n].strides;
            let reach = |k: usize| strides[k].unsigned_abs() * (extents[k] - 1);
            let step = |p: usize| strides[p].unsigned_abs();
            let overlaps = |p: usize, k: usize| {
                step(p) > 0
                    && strides[k] != 0
                    && step(p) <= reach(k)
                    && strides[p] % strides[k] == 0
            };
            outer.iter().any(|&p| taps.iter().any(|&k| overlaps(p, k)))
        });
        let most = if overlap { WINDOW_TAPS } else { DISJOINT_WINDOW_TAPS };
        if !distinct || count < 2 || count > most {
            return None;
        }
        let row = outer.iter().position(|&axis| nest.store.strides[axis] == 1)?;
        let row = outer.remove(row);
        // The map is commutative: the operand that varies along rows comes first.
        if nest.loads[loads[0]].strides[row] == 0 || nest.loads[loads[1]].strides[row] > 1 {
            loads.swap(0, 1);
        }
        outer.sort_by_key(|&axis| std::cmp::Reverse(nest.store.strides[axis].unsigned_abs()));
        Some(Self { map, reduce, loads, row, outer, taps })
    }

    /// The same windows, with rows along the outer axis at a position.
    pub fn along(&self, at: usize, nest: &Nest) -> Self {
        let mut turned = self.clone();
        let row = std::mem::replace(&mut turned.row, self.outer[at]);
        turned.outer[at] = row;
        // The operand that varies along rows comes first, as above.
        if nest.loads[self.loads[0]].strides[turned.row] == 0 {
            turned.loads.swap(0, 1);
        }
        turned
    }

    /// Strides in bytes along an axis in both inputs, of which the second has none if there is one, and in the output.
    pub fn strides(&self, nest: &Nest, axis: usize) -> [isize; 3] {
        let [a, b] = self.loads.map(|n| nest.loads[n].strides[axis]);
        let second = if self.map.is_some() { b } else { 0 };
        let size = nest.store.dtype.size() as isize;
        [a, second, nest.store.strides[axis]].map(|n| n.wrapping_mul(size))
    }
}
