//! Elements combined with existing ones at affine positions of both sides.
//!
//! If several elements are combined with the same one (`+nfrshw~nf[2*h+r][2*w+s]`), a tile must not have two of these,
//! and moves its outputs to registers and back. Here rows of the longest axis are combined in place, one after another,
//! so that the elements of the output stay in cache for all values combined with them.

mod run;

use crate::check::CheckedNest;
use crate::explain::{KernelChoice, Reason, Relation, limit};
use crate::nest::{IntoPlane, into_plane};
use crate::origin::Origin;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::order::{
    SCATTER_BYTES, SCATTER_LONG_ROW, SCATTER_PIECE, SCATTER_SHORT_ROW,
};
use ijk_kernels::tuning::time::SCATTER_ELEMENT;
use ijk_plan::plan::{Nest, Node, Start};
use ijk_types::Reducer;
use smallvec::SmallVec;

/// A nest that combines elements with existing ones.
#[derive(Clone, Debug)]
pub(crate) struct ScatterProgram {
    from: Origin,
    to: Origin,
    /// The axis along which elements are combined at a time, and their number.
    row: ScatterAxis,
    piece: usize,
    /// The axis whose rows are combined one after another.
    rows: ScatterAxis,
    /// Axes along which elements of the output differ, outermost first.
    apart: SmallVec<[ScatterAxis; 6]>,
    /// The other axes; the pieces of all of their rows are combined before the next piece.
    others: SmallVec<[ScatterAxis; 6]>,
    kernel: IntoPlane,
}

/// An axis with its strides in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScatterAxis {
    extent: usize,
    from: isize,
    to: isize,
}

impl ScatterProgram {
    /// The program of a checked nest, if it is such a scatter.
    pub fn new(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Self> {
        let (&[Node::Load(load)], Some(Reducer::Monoid(monoid))) = (&nest.body[..], nest.reduce)
        else {
            return None;
        };
        let load = &nest.loads[load as usize];
        let t = nest.store.dtype;
        let plain = nest.start == Start::Existing
            && nest.store.offset.is_none()
            && !nest.sequential
            && load.dtype == t;
        let several: SmallVec<[usize; 8]> =
            (0..nest.axes.len()).filter(|&a| checked.extents[a] > 1).collect();
        let collides = several.iter().any(|axis| !checked.separable.contains(axis));
        if !plain || !collides || several.iter().any(|&a| nest.axes[a].reduced) {
            return None;
        }
        let bytes = |n: isize| n.wrapping_mul(t.size() as isize);
        let axis = |a: usize| ScatterAxis {
            extent: checked.extents[a],
            from: bytes(load.strides[a]),
            to: bytes(nest.store.strides[a]),
        };
        let neighbours = |a: &usize| {
            let extent = checked.extents[*a];
            (load.strides[*a].unsigned_abs() == 1 && extent >= SCATTER_LONG_ROW, extent)
        };
        let row = several.iter().copied().max_by_key(neighbours)?;
        let mut outer: Vec<usize> = several.into_iter().filter(|&a| a != row).collect();
        outer.sort_by_key(|&a| std::cmp::Reverse(nest.store.strides[a].unsigned_abs()));
        let (apart, others): (Vec<usize>, Vec<usize>) =
            outer.into_iter().partition(|a| checked.separable.contains(a));
        let origin = |base| Origin::new(base, t.size());
        let row = axis(row);
        let mut others: SmallVec<[ScatterAxis; 6]> = others.into_iter().map(axis).collect();
        let rows = take_rows(&mut others, &row);
        Some(Self {
            from: origin(load.base),
            to: origin(nest.store.base),
            row,
            piece: row.extent.min(SCATTER_PIECE),
            apart: apart.into_iter().map(axis).collect(),
            rows,
            others,
            kernel: into_plane(monoid, t, level)?,
        })
        .filter(|program| program.row.extent >= SCATTER_SHORT_ROW)
    }

    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let reach = |axis: &ScatterAxis| axis.extent.saturating_mul(axis.to.unsigned_abs());
        let bytes = reach(&self.rows).saturating_add(reach(&self.row));
        let apart = self.apart.iter().map(|axis| axis.extent).product::<usize>();
        let choice = KernelChoice::new("rows combined in place, one after another")
            .extent("row", self.row.extent)
            .extent("rows", self.rows.extent)
            .extent("independent", apart)
            .block("piece", self.piece, "elements")
            .holding("range of the output", bytes)
            .because(Reason::compared(
                ("the row", self.row.extent),
                Relation::AtLeast,
                limit!(SCATTER_SHORT_ROW),
                "it fills vectors",
            ));
        let relation = Relation::to_most(bytes, SCATTER_BYTES);
        let then = match relation {
            Relation::AtMost => "it stays in L1 for all values that are combined with it",
            _ => "rows are combined in the order of the domain",
        };
        let range = ("the range of the output that rows reach", bytes);
        choice.because(Reason::sized(range, relation, limit!(SCATTER_BYTES), then))
    }

    /// Estimated work, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        let axes = self.apart.iter().chain(&self.others).chain([&self.row, &self.rows]);
        axes.map(|axis| axis.extent as f64).product::<f64>() * SCATTER_ELEMENT
    }
}

/// Removes the axis of a plane's rows from `others`: the longest, if the plane's range of the output stays in L1 for
/// later rows, or else the innermost.
fn take_rows(others: &mut SmallVec<[ScatterAxis; 6]>, row: &ScatterAxis) -> ScatterAxis {
    let reach = |axis: &ScatterAxis| axis.extent.saturating_mul(axis.to.unsigned_abs());
    let near = |axis: &ScatterAxis| reach(axis).saturating_add(reach(row)) <= SCATTER_BYTES;
    let longest = (0..others.len()).max_by_key(|&n| others[n].extent);
    match longest.filter(|&n| near(&others[n])) {
        Some(at) => others.remove(at),
        None => others.pop().unwrap_or(ScatterAxis { extent: 1, from: 0, to: 0 }),
    }
}
