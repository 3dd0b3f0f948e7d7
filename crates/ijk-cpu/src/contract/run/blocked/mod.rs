//! Blocked loops as in BLIS: n by cache, k by accuracy and cache, m by cache and thread, tiles by registers.
//!
//! ```text
//! for each block of the shared operand its panels are shared by all threads
//!   for each round of blocks of k      as many as keep those panels in L3
//!     pack shared                      in parallel
//!     for each block of the other one  in parallel
//!       for each block of k            the first overwrites the output (or not), later ones accumulate
//!         for each lhs panel           packed now, and in L1, while the next one is prefetched
//!           for each rhs panel         from L2; the microkernel: a tile of the output in registers
//! ```
//!
//! A microkernel loads more of lhs than of rhs (mr > nr), so the lhs panel stays in L1 and rhs panels come from L2. If
//! a short k makes a large output, each rhs panel is multiplied by a group of lhs panels in turn, so that the output is
//! written in long contiguous runs.
//!
//! Small problems share no panels: each thread has its own columns and packs for itself. If n is large, each thread
//! packs and reads the same range of columns for as long as it has work there, since panels packed by another core come
//! from that core's caches with a higher latency than L3.
//!
//! The shared operand is rhs, or lhs if m is so small that its panels for a block of k stay in L2; tasks then pack
//! panels of rhs. If n is small, lhs is read only once, and is not packed if m is contiguous. If there are few lhs
//! panels, rhs is not packed if k is contiguous: microkernels read the columns of a tile in place.

mod gemm;
mod mirror;
mod rounds;
mod rows;
mod staged;
mod tiles;

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::run::blocked::gemm::Gemm;
use crate::contract::run::context::Context;
use crate::contract::run::panels::SharedPanels;
use crate::contract::select::blocking::Blocking;
use crate::contract::select::prepared_block::PreparedBlock;
use crate::runtime::threads::cut;
use ijk_kernels::contraction::word::ElementWord;
use std::ops::Range;

/// Computes one batch for the steps `ks` of k. The first block overwrites the output unless the problem accumulates.
///
/// # Safety
/// `W` has the size of an element; `tensors` point to the origins of tensors that are readable (the output: writable)
/// at all points of the problem.
pub(crate) unsafe fn gemm<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    ks: Range<usize>,
    context: &Context,
) {
    let blocking = Blocking::of(problem, context.threads());
    let gemm = Gemm::new(problem, tensors, context, blocking).with_symmetry();
    let parts = gemm.parts();
    if parts == 1 {
        // SAFETY: guaranteed by the caller; a part has all tiles.
        return unsafe {
            gemm.part::<W>(0..gemm.shared().len(), ks);
            gemm.mirror();
        };
    }
    let panels = gemm.right.len().div_ceil(gemm.right.width);
    let start = |part| (cut(panels, part, parts) * gemm.right.width).min(gemm.right.len());
    let blocking = blocking.in_one_range();
    context.parallel_for(parts, |part| {
        let alone = context.alone();
        let gemm = Gemm::new(problem, tensors, &alone, blocking);
        // SAFETY: guaranteed by the caller; parts differ in columns of the output.
        unsafe { gemm.part::<W>(start(part)..start(part + 1), ks.clone()) };
    });
}

/// Computes one batch from given panels of all rows of an operand and all steps. Their width is that of
/// [`shared_width`](crate::contract::select::blocking::shared_width).
///
/// # Safety
/// As for [`gemm`](gemm()); the panels hold the packed operand.
pub(crate) unsafe fn with_panels<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    (operand, panels): (TensorId, &SharedPanels),
    context: &Context,
) {
    let blocking = Blocking::with_panels(problem, operand);
    // SAFETY: guaranteed by the caller.
    unsafe { Gemm::new(problem, tensors, context, blocking).round::<W>(panels) };
}

/// Computes one batch of a problem that is one [`PreparedBlock`].
///
/// # Safety
/// As for [`gemm`](gemm()).
pub(crate) unsafe fn block<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    block: &PreparedBlock,
    context: &Context,
) {
    let gemm = Gemm::new(problem, tensors, context, block.blocking);
    let (side, round) = (gemm.right, &block.round);
    let range = 0..side.len();
    let flags = SharedPanels::flags(side, &range, round);
    let elements = range.len().next_multiple_of(side.width) * problem.k.len();
    let Some(memory) = context.take(elements * size_of::<W>()) else { return };
    let (memory, within) = (memory.as_ptr(), None);
    let shared = SharedPanels { side, range, round, memory, flags: &flags, within };
    let rows = 0..gemm.left.len();
    // SAFETY: the scratch has room for the panels; the caller guarantees the rest.
    unsafe {
        shared.pack::<W>(context);
        gemm.packed::<W>(&shared, (gemm.left, rows), 0..shared.panels(), &block.columns);
    }
}
