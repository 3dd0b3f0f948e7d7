//! An operand packed once for many contractions that share it: those of the blocks of a sweep.

use crate::Level;
use crate::contract::canonical::algebra_of;
use crate::contract::canonical::bundle::{Bundle, BundleAxis, TensorId};
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::run::blocked::with_panels;
use crate::contract::run::context::Context;
use crate::contract::run::operand::PackedOperand;
use crate::contract::run::panels::{PanelOffset, SharedPanels};
use crate::contract::select::blocking::{Blocking, shared_width};
use crate::contract::select::gemv::{is_dot, is_thin};
use crate::contract::select::k_blocks::{Round, one_round};
use crate::contract::select::orient::orient;
use crate::runtime::scratch::{Scratch, ScratchPool};
use ijk_kernels::contraction::word::{ElementWord, for_word};
use ijk_kernels::tuning::order::SHARED_PADDING;
use ijk_plan::plan::{Base, Contraction};
use smallvec::SmallVec;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicU8;

/// The operand that is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedArgument {
    /// `a`.
    A,
    /// `b`.
    B,
}

/// A contraction that is executed many times with one operand unchanged.
#[derive(Clone, Debug)]
pub(crate) struct SharedOperandGemm {
    /// Canonical form, without addresses.
    problem: Problem,
    /// The shared operand in canonical form.
    operand: TensorId,
    same: SharedArgument,
    width: usize,
}

/// A part of such a contraction: some rows of the shared operand, or some steps.
#[derive(Clone, Debug)]
pub(crate) struct SharedOperandPart {
    /// Canonical form, without addresses.
    problem: Problem,
    /// First row, a multiple of the panel width, and steps.
    row: usize,
    steps: Range<usize>,
}

impl SharedOperandGemm {
    /// The contraction, if packing an operand once pays.
    pub(crate) fn new(task: &Contraction, level: Level, same: SharedArgument) -> Option<Self> {
        let algebra = algebra_of(level, task)?;
        let problem = orient(task, algebra);
        let operand = match (same == SharedArgument::A) != problem.swapped {
            true => TensorId::Left,
            false => TensorId::Right,
        };
        let width = shared_width(&problem, operand);
        let suits = !is_dot(&problem) && !is_thin(&problem);
        let fixed = Self { problem, operand, same, width };
        let padded = fixed.panels() * width > SHARED_PADDING * fixed.rows().len();
        (suits && !padded).then_some(fixed)
    }

    /// The part of the whole contraction, whose operand is packed, that another contraction is.
    pub(crate) fn part(
        &self,
        whole: &Contraction,
        part: &Contraction,
        level: Level,
    ) -> Option<SharedOperandPart> {
        let problem = orient(part, algebra_of(level, part)?);
        let (own, operand) = (&self.problem, self.operand);
        let alike = problem.swapped == own.swapped
            && problem.accumulate == own.accumulate
            && (whole.map, whole.then, whole.reduce) == (part.map, part.then, part.reduce)
            && whole.dtype == part.dtype
            && same_panels(own, &problem, operand)
            && problem.tile.is_none();
        let from = self.base(part).offset.checked_sub(self.base(whole).offset)?;
        let side = |problem: &Problem| match operand {
            TensorId::Left => problem.m.clone(),
            _ => problem.n.clone(),
        };
        let rows = within(&side(own), &side(&problem), operand)?;
        let steps = within(&own.k, &problem.k, operand)?;
        let batch = within(&own.batch, &problem.batch, operand)?.is_none();
        let (row, step) = match (rows, steps) {
            (None, None) if from == 0 => (0, 0),
            (Some(cut), None) => (position(cut, from, side(&problem).len())?, 0),
            (None, Some(cut)) => (0, position(cut, from, problem.k.len())?),
            _ => return None,
        };
        let aligned = row.is_multiple_of(self.width);
        let steps = step..step + problem.k.len();
        (alike && batch && aligned).then_some(SharedOperandPart { problem, row, steps })
    }

    /// Position of the shared operand in a contraction.
    pub(crate) fn base(&self, task: &Contraction) -> Base {
        if self.same == SharedArgument::A { task.a } else { task.b }
    }

    fn side(&self, tensors: TensorPointers) -> PackedOperand<'_> {
        PackedOperand::new(&self.problem, tensors, self.operand, self.width)
    }

    fn rows(&self) -> Range<usize> {
        0..self.side(TensorPointers::nowhere()).len()
    }

    fn panels(&self) -> usize {
        self.rows().len().div_ceil(self.width)
    }

    /// Bytes of the panels of one batch; `None` on overflow.
    fn bytes(&self) -> Option<usize> {
        let elements = (self.panels() * self.width).checked_mul(self.problem.k.len())?;
        elements.checked_mul(self.problem.algebra.size)
    }

    /// Bytes of the panels of all batches at `origins` origins; `None` on overflow.
    pub(crate) fn all_bytes(&self, origins: usize) -> Option<usize> {
        self.bytes()?.checked_mul(origins.checked_mul(self.problem.batch.len())?)
    }
}

/// Returns true if the panels of an operand have the same width and use in two problems.
fn same_panels(one: &Problem, other: &Problem, operand: TensorId) -> bool {
    let way = |problem: &Problem| {
        let blocking = Blocking::with_panels(problem, operand);
        (blocking.mr, blocking.nr, blocking.is_direct(), blocking.shares_lhs)
    };
    way(one) == way(other)
}

/// Extent of an axis, and its stride in the shared operand.
type ExtentStride = (usize, isize);

/// The one axis along which a bundle has fewer values than another; `Some(None)` if both have the same values, `None`
/// if they differ otherwise.
fn within(all: &Bundle, some: &Bundle, operand: TensorId) -> Option<Option<ExtentStride>> {
    let cut = |axis: &BundleAxis| (axis.extent, axis.strides[operand as usize]);
    let cuts =
        |bundle: &Bundle| bundle.axes().iter().map(cut).collect::<SmallVec<[ExtentStride; 4]>>();
    let (all, some) = (cuts(all), cuts(some));
    match (&all[..], &some[..]) {
        _ if all == some => Some(None),
        (&[cut], []) => Some(Some(cut)),
        (&[cut], &[own]) if own.0 <= cut.0 && own.1 == cut.1 => Some(Some(cut)),
        _ => None,
    }
}

/// First index along an axis of a range of `count` values at the offset `from`, if it is within the axis.
fn position((extent, stride): ExtentStride, from: isize, count: usize) -> Option<usize> {
    let first = usize::try_from(from.checked_div(stride)?).ok()?;
    let exact = from == first as isize * stride;
    (exact && first.checked_add(count)? <= extent).then_some(first)
}

/// Panels of an operand at several origins.
pub(crate) struct PackedSharedOperand<'a> {
    fixed: &'a SharedOperandGemm,
    round: Round,
    memory: Scratch<'a>,
    flags: Vec<AtomicU8>,
}

impl<'a> PackedSharedOperand<'a> {
    /// Packs the operand at each of several origins; `None` if allocation fails or the run is cancelled.
    ///
    /// # Safety
    /// The operand is readable at every point of its axes from each origin.
    pub(crate) unsafe fn new(
        fixed: &'a SharedOperandGemm,
        origins: &[*const u8],
        context: &Context<'_>,
        scratch: &'a ScratchPool,
    ) -> Option<Self> {
        let Problem { batch, algebra, .. } = &fixed.problem;
        let parts = origins.len().checked_mul(batch.len())?;
        let memory = scratch.try_take(fixed.all_bytes(origins.len())?)?;
        let blocking = Blocking::with_panels(&fixed.problem, fixed.operand);
        let round = one_round(&fixed.problem, blocking)?;
        let flags = fixed.panels() * round.packs().len() * parts;
        let flags = (0..flags).map(|_| AtomicU8::new(0)).collect();
        let packed = Self { fixed, round, memory, flags };
        for (at, &origin) in origins.iter().enumerate() {
            for n in 0..batch.len() {
                if context.have_ended() {
                    return None;
                }
                // SAFETY: guaranteed by the caller; words have the size of an element.
                unsafe { for_word!(algebra.size, W => packed.pack::<W>(at, origin, n, context)) }
            }
        }
        Some(packed)
    }

    /// Packs one batch of an origin.
    ///
    /// # Safety
    /// As for [`new`](Self::new); `W` has the size of an element.
    unsafe fn pack<W: ElementWord>(
        &self,
        at: usize,
        origin: *const u8,
        n: usize,
        context: &Context,
    ) {
        let tensors = TensorPointers::new(origin, origin, ptr::null_mut());
        let tensors = tensors.at::<W>(&self.fixed.problem.batch, n);
        // SAFETY: guaranteed by the caller; the memory has room for the panels of each batch.
        unsafe { self.panels(at, n, tensors).pack::<W>(context) };
    }

    /// The panels of a batch of an origin.
    fn panels(&self, at: usize, n: usize, tensors: TensorPointers) -> SharedPanels<'_> {
        let part = at * self.fixed.problem.batch.len() + n;
        let each = self.fixed.panels() * self.round.packs().len();
        let bytes = self.fixed.bytes().unwrap_or(0);
        SharedPanels {
            side: self.fixed.side(tensors),
            range: self.fixed.rows(),
            round: &self.round,
            memory: self.memory.as_ptr().wrapping_add(part * bytes),
            flags: &self.flags[part * each..(part + 1) * each],
            within: None,
        }
    }

    /// Executes a part of the contraction with the operand at the origin of index `at`; returns false if it did not.
    ///
    /// # Safety
    /// As for [`contract`](crate::contract::contract), for the part.
    pub(crate) unsafe fn contract_part(
        &self,
        at: usize,
        part: &SharedOperandPart,
        (a, b, c): (*const u8, *const u8, *mut u8),
        context: &Context,
    ) -> bool {
        let SharedOperandGemm { operand, width, .. } = *self.fixed;
        let problem = &part.problem;
        let Some((round, block)) = self.round.part(problem, part.steps.clone()) else {
            return false;
        };
        let within = PanelOffset { panels: self.fixed.panels(), panel: part.row / width, block };
        let tensors = TensorPointers::new(a, b, c);
        let tensors = if problem.swapped { tensors.swapped() } else { tensors };
        for n in (0..problem.batch.len()).take_while(|_| !context.have_ended()) {
            // SAFETY: guaranteed by the caller; words have the size of an element, and the panels hold these rows and
            // steps.
            unsafe {
                for_word!(problem.algebra.size, W => {
                    let tensors = tensors.at::<W>(&problem.batch, n);
                    let side = PackedOperand::new(problem, tensors, operand, width);
                    let (range, within) = (0..side.len(), Some(within));
                    let all = self.panels(at, n, tensors);
                    let panels = SharedPanels { side, range, round: &round, within, ..all };
                    with_panels::<W>(problem, tensors, (operand, &panels), context);
                });
            }
        }
        true
    }

    /// Executes the contraction with the operand at the origin of index `at`; of `a` and `b`, only the other operand is
    /// read.
    ///
    /// # Safety
    /// As for [`contract`](crate::contract::contract).
    pub(crate) unsafe fn contract(
        &self,
        at: usize,
        (a, b, c): (*const u8, *const u8, *mut u8),
        context: &Context,
    ) {
        let Problem { batch, swapped, algebra, .. } = &self.fixed.problem;
        let tensors = TensorPointers::new(a, b, c);
        let tensors = if *swapped { tensors.swapped() } else { tensors };
        for n in (0..batch.len()).take_while(|_| !context.have_ended()) {
            let operand = self.fixed.operand;
            // SAFETY: guaranteed by the caller; words have the size of an element.
            unsafe {
                for_word!(algebra.size, W => {
                    let tensors = tensors.at::<W>(batch, n);
                    let panels = self.panels(at, n, tensors);
                    let panels = (operand, &panels);
                    with_panels::<W>(&self.fixed.problem, tensors, panels, context);
                });
            }
        }
    }
}
