//! Canonical form of a contraction: the operand that fills the lanes is chosen, axes are merged and ordered.

use super::across;
use super::algebra::Algebra;
use super::bundle::{Bundle, BundleAxis, Operand};
use super::pack::Word;
use super::panel::Prepare;
use super::small;
use super::stage;
use super::steps::KTile;
use super::tile::Microkernel;
use super::units;
use crate::tuning::order::{
    KC, MOVE_COST, OUTPUT_RATIO, PACK_COST, RESIDENT_LHS_BYTES, SHARE_RATIO, SHORT_AXIS, SHORT_RUN,
    SMALL_BYTES, STRIDED_OUTPUT_COST,
};
use ijk_plan::plan::{Contraction, Role};
use ijk_types::DType;
use std::ptr;

/// `out[batch, m, n] = reduce over k of map(left[batch, m, k], right[batch, k, n])`, with m along the vector lanes.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Element type.
    pub(crate) dtype: DType,
    /// The microkernels.
    pub(crate) algebra: Algebra,
    /// Axes of all three tensors.
    pub(crate) batch: Bundle,
    /// Axes of left and out.
    pub(crate) m: Bundle,
    /// Axes of right and out.
    pub(crate) n: Bundle,
    /// Axes of left and right.
    pub(crate) k: Bundle,
    /// The two innermost axes of k, if each operand is contiguous along a different one of them.
    pub(crate) tile: Option<KTile>,
    /// Rows of a unit that is staged at a time, if the axes of m are short.
    pub(crate) unit: Option<usize>,
    /// Left, right and out at the origin.
    pub(crate) tensors: Tensors,
    /// True if left is b, and right is a.
    pub(crate) swapped: bool,
    /// True to combine with the contents of the output, false to overwrite it.
    pub(crate) accumulate: bool,
}

/// Pointers to the elements at the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensors {
    /// The operand that fills lanes (lhs).
    pub(crate) left: *const u8,
    /// The operand that is broadcast (rhs).
    pub(crate) right: *const u8,
    /// The output.
    pub(crate) out: *mut u8,
    /// Left and right of the next batch, if known, to prefetch them.
    pub(crate) next: Option<[*const u8; 2]>,
}

// SAFETY: these are only pointers; the caller of `contract` guarantees access to the elements, and tasks write to
// disjoint elements.
unsafe impl Send for Tensors {}
// SAFETY: as for `Send`.
unsafe impl Sync for Tensors {}

impl Tensors {
    pub(crate) fn new(left: *const u8, right: *const u8, out: *mut u8) -> Self {
        Self { left, right, out, next: None }
    }

    /// Null pointers, for problems that are prepared without addresses.
    pub(crate) fn nowhere() -> Self {
        Self::new(ptr::null(), ptr::null(), ptr::null_mut())
    }

    /// Exchanges left and right.
    pub(crate) fn swapped(self) -> Self {
        Self::new(self.right, self.left, self.out)
    }

    /// Moves the origin to a point of a bundle.
    pub(crate) fn at<W: Word>(self, bundle: &Bundle, point: usize) -> Self {
        let bytes = |operand| bundle.offset(operand, point).wrapping_mul(size_of::<W>() as isize);
        Self::new(
            self.left.wrapping_offset(bytes(Operand::Left)),
            self.right.wrapping_offset(bytes(Operand::Right)),
            self.out.wrapping_offset(bytes(Operand::Out)),
        )
    }
}

impl Problem {
    /// The canonical form of a contraction.
    pub(crate) fn new(task: &Contraction, algebra: Algebra, tensors: Tensors) -> Self {
        let [batch, m, n, k] = [Role::Batch, Role::M, Role::N, Role::K].map(|r| bundle(task, r));
        let (dtype, accumulate) = (task.dtype, task.accumulate);
        let (tile, unit, swapped) = (None, None, false);
        let mut problem =
            Self { dtype, algebra, batch, m, n, k, tile, unit, tensors, swapped, accumulate };
        if problem.algebra.commutative && problem.cost_swapped() < problem.cost() {
            problem.swap();
        }
        problem.order();
        problem
    }

    /// Number of multiply-adds: elements of the output times steps of k.
    pub(crate) fn points(&self) -> f64 {
        [&self.batch, &self.m, &self.n, &self.k].iter().map(|b| b.len() as f64).product()
    }

    /// Elements of the output of one batch.
    pub(crate) fn outputs(&self) -> usize {
        self.m.len().saturating_mul(self.n.len())
    }

    /// Size in bytes of an operand's part of a batch, if that is one contiguous piece of memory from the origin on.
    pub(crate) fn piece(&self, operand: Operand) -> Option<usize> {
        let side = if operand == Operand::Left { &self.m } else { &self.n };
        let axes = side.axes().iter().chain(self.k.axes());
        let mut axes: Vec<_> = axes.map(|a| (a.strides[operand as usize], a.extent)).collect();
        axes.sort_unstable();
        let elements = axes.iter().try_fold(1, |len: usize, &(stride, extent)| {
            let follows = usize::try_from(stride) == Ok(len);
            follows.then(|| len.saturating_mul(extent))
        });
        Some(elements?.saturating_mul(self.algebra.size))
    }

    /// The same problem with an output of contiguous rows, whose columns are `height` elements apart.
    pub(crate) fn dense(&self, height: usize) -> Self {
        let (m, n) = (self.m.dense(Operand::Out, 1), self.n.dense(Operand::Out, height));
        Self { m, n, ..self.clone() }
    }

    /// Exchanges left and right.
    fn swap(&mut self) {
        std::mem::swap(&mut self.m, &mut self.n);
        let bundles = [&mut self.batch, &mut self.m, &mut self.n, &mut self.k];
        bundles.into_iter().for_each(Bundle::swap);
        self.algebra.swap();
        self.tensors = self.tensors.swapped();
        self.swapped = !self.swapped;
    }

    /// Cost of the present choice of lanes, relative to the other one: unused lanes, rows that are strided in the
    /// output, and packing.
    fn cost(&self) -> f64 {
        self.cost_of([&self.m, &self.n], [Operand::Left, Operand::Right])
    }

    fn cost_swapped(&self) -> f64 {
        self.cost_of([&self.n, &self.m], [Operand::Right, Operand::Left])
    }

    fn cost_of(&self, [rows, columns]: [&Bundle; 2], [left, right]: [Operand; 2]) -> f64 {
        let algebra = &self.algebra;
        let padded = rows.len().next_multiple_of(algebra.lanes) as f64;
        let windows = self.reads_windows([rows, columns], right);
        let scattered = match rows.touches_unit(Operand::Out) {
            true => 1.0,
            false if windows => 1.0 + MOVE_COST / self.k.len() as f64,
            false => STRIDED_OUTPUT_COST,
        };
        let products = padded * columns.len() as f64 * scattered;
        let most = rows.len().max(columns.len()).saturating_mul(self.k.len());
        if most.saturating_mul(algebra.size) <= SMALL_BYTES {
            return products;
        }
        let narrow = small::is_narrow([rows, columns, &self.k], right, algebra);
        let direct = columns.len() <= algebra.tiles.widest() && rows.run(left) >= 2 * algebra.lanes;
        let packed = match (narrow, direct) {
            (true, _) => 0,
            (_, true) => columns.len(),
            _ if windows => rows.len(),
            _ => rows.len().saturating_add(columns.len()),
        };
        products + PACK_COST * packed as f64
    }

    /// Returns true if columns would be [windows](super::across) of an operand, read in place.
    fn reads_windows(&self, [rows, columns]: [&Bundle; 2], right: Operand) -> bool {
        let algebra = &self.algebra;
        let keeps = !algebra.guarded && [algebra.left, algebra.right] == [Prepare::Keep; 2];
        let mut columns = columns.clone();
        columns.follow(right);
        let bundles = [rows, &columns, &self.k];
        let windows = |e: &Microkernel| across::are_windows(bundles, right, (e.columns, algebra));
        keeps && algebra.tiles.windows.first().is_some_and(windows)
    }

    /// Orders the axes of each bundle. Rows follow both lhs and the output if a stage makes that possible, otherwise
    /// the output if its contiguous runs fill vectors, otherwise lhs. Columns follow rhs, or the output if that is far
    /// larger. Steps follow the larger operand.
    fn order(&mut self) {
        let along = |b: &Bundle| {
            let mut by_out = b.clone();
            by_out.follow(Operand::Out);
            by_out.run(Operand::Out) >= self.algebra.lanes
        };
        match stage::order(&self.m, self.n.len(), self.algebra.size) {
            Some(both) => self.m = both,
            None if along(&self.m) => self.m.follow(Operand::Out),
            None => self.m.follow(Operand::Left),
        }
        let many = self.m.len() / OUTPUT_RATIO >= self.k.len();
        self.n.follow(if many { Operand::Out } else { Operand::Right });
        self.batch.follow(Operand::Out);
        let larger = if self.m.len() >= self.n.len() { Operand::Left } else { Operand::Right };
        self.k.follow(larger);
        self.tile_steps();
    }

    /// The same problem with rows in the order for a stage by units, if their axes are short.
    pub(crate) fn in_units(mut self) -> Self {
        let short = self.m.axes().last().is_some_and(|axis| axis.extent < SHORT_AXIS);
        let units = short.then(|| units::order(&self.m, &self.n, self.algebra.size));
        if let Some((m, unit)) = units.flatten() {
            (self.m, self.unit) = (m, Some(unit));
        }
        self
    }

    /// If the operands are contiguous along different axes of k: makes the axis of the operand that is packed block by
    /// block the innermost, and that of the shared operand the next.
    fn tile_steps(&mut self) {
        let (shared, other) = match self.shares_left() {
            true => (Operand::Left, Operand::Right),
            false => (Operand::Right, Operand::Left),
        };
        let (Some(inner), Some(around)) = (self.k.unit(other), self.k.unit(shared)) else { return };
        let rows = self.m.run(Operand::Left).max(self.n.run(Operand::Right));
        if inner != around && rows < SHORT_RUN && self.k.len() > KC {
            self.k.follow(other);
            self.k.unit(shared).into_iter().for_each(|axis| self.k.around_last(axis));
            self.tile = KTile::of(&self.k);
        }
    }

    /// Returns true if m is so small that the lhs panels for a block of k stay in L2 while rhs panels are streamed.
    pub(crate) fn shares_left(&self) -> bool {
        shares(&self.m, &self.n, &self.algebra)
    }
}

/// Returns true if lhs panels of `rows` would be shared by threads.
pub(crate) fn shares(rows: &Bundle, columns: &Bundle, algebra: &Algebra) -> bool {
    let m = rows.len();
    m.saturating_mul(KC * algebra.size) <= RESIDENT_LHS_BYTES && m <= columns.len() / SHARE_RATIO
}

fn bundle(task: &Contraction, role: Role) -> Bundle {
    let axes = task.axes.iter().filter(|a| a.role == role);
    Bundle::new(axes.map(|a| BundleAxis { extent: a.extent, strides: [a.a, a.b, a.c] }))
}
