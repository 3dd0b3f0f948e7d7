//! Canonical form of a contraction: four bundles of axes, and the microkernels.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::k_tile::KTile;
use ijk_kernels::contraction::algebra::Algebra;
use ijk_kernels::contraction::word::ElementWord;
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
    /// True if left is b, and right is a.
    pub(crate) swapped: bool,
    /// True to combine with the contents of the output, false to overwrite it.
    pub(crate) accumulate: bool,
}

/// Pointers to the elements at the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorPointers {
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
unsafe impl Send for TensorPointers {}

// SAFETY: as for `Send`.
unsafe impl Sync for TensorPointers {}

impl TensorPointers {
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
    pub(crate) fn at<W: ElementWord>(self, bundle: &Bundle, point: usize) -> Self {
        let bytes = |operand| bundle.offset(operand, point).wrapping_mul(size_of::<W>() as isize);
        Self::new(
            self.left.wrapping_offset(bytes(TensorId::Left)),
            self.right.wrapping_offset(bytes(TensorId::Right)),
            self.out.wrapping_offset(bytes(TensorId::Out)),
        )
    }
}

impl Problem {
    /// Number of multiply-adds: elements of the output times steps of k.
    pub(crate) fn points(&self) -> f64 {
        [&self.batch, &self.m, &self.n, &self.k].iter().map(|b| b.len() as f64).product()
    }

    /// Elements of the output of one batch.
    pub(crate) fn outputs(&self) -> usize {
        self.m.len().saturating_mul(self.n.len())
    }

    /// Size in bytes of an operand's part of a batch, if that is one contiguous piece of memory from the origin on.
    pub(crate) fn piece(&self, operand: TensorId) -> Option<usize> {
        let side = if operand == TensorId::Left { &self.m } else { &self.n };
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
        let (m, n) = (self.m.dense(TensorId::Out, 1), self.n.dense(TensorId::Out, height));
        Self { m, n, ..self.clone() }
    }

    /// Exchanges left and right.
    pub(crate) fn swap(&mut self) {
        std::mem::swap(&mut self.m, &mut self.n);
        let bundles = [&mut self.batch, &mut self.m, &mut self.n, &mut self.k];
        bundles.into_iter().for_each(Bundle::swap);
        self.algebra.swap();
        self.swapped = !self.swapped;
    }
}
