//! An operand packed once for many contractions that have it in common: those of a sweep's blocks.

use super::algebra::Algebra;
use super::bundle::Operand;
use super::pack::Word;
use super::problem::{Problem, Tensors};
use super::shape::{self, Shape};
use super::shared::Panels;
use super::side::Side;
use super::steps::{Round, one_round};
use super::{Context, dot, for_word, gemm, thin};
use crate::Level;
use crate::scratch::{Scratch, ScratchPool};
use ijk_plan::plan::Contraction;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicU8;

/// Panels may be so many times as large as what is in them.
const MOST_PADDING: usize = 4;

/// Which operand of a contraction stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Same {
    /// `a`.
    A,
    /// `b`.
    B,
}

/// A contraction that is computed many times with one operand the same.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    /// Its tensors are nowhere.
    problem: Problem,
    /// The operand that stays.
    operand: Operand,
    width: usize,
}

impl Fixed {
    /// The contraction, if packing an operand once is of use.
    pub(crate) fn new(task: &Contraction, level: Level, same: Same) -> Option<Self> {
        let algebra = Algebra::find(level, task)?;
        let problem = Problem::new(task, algebra, Tensors::nowhere());
        let operand = match (same == Same::A) != problem.swapped {
            true => Operand::Left,
            false => Operand::Right,
        };
        let width = shape::width(&problem, operand);
        let suits = !dot::suits(&problem) && !thin::suits(&problem);
        let fixed = Self { problem, operand, width };
        let padded = fixed.panels() * width > MOST_PADDING * fixed.rows().len();
        (suits && !padded).then_some(fixed)
    }

    fn side(&self, tensors: Tensors) -> Side<'_> {
        Side::new(&self.problem, tensors, self.operand, self.width)
    }

    fn rows(&self) -> Range<usize> {
        0..self.side(self.problem.tensors).len()
    }

    fn panels(&self) -> usize {
        self.rows().len().div_ceil(self.width)
    }

    /// Bytes of the panels of one batch; `None` beyond any address.
    fn bytes(&self) -> Option<usize> {
        let elements = (self.panels() * self.width).checked_mul(self.problem.k.len())?;
        elements.checked_mul(self.problem.algebra.size)
    }

    /// Bytes of the panels of all batches at so many origins; `None` beyond any address.
    pub(crate) fn all_bytes(&self, origins: usize) -> Option<usize> {
        self.bytes()?.checked_mul(origins.checked_mul(self.problem.batch.len())?)
    }
}

/// The panels of an operand at several origins.
pub(crate) struct Packed<'a> {
    fixed: &'a Fixed,
    round: Round,
    memory: Scratch<'a>,
    flags: Vec<AtomicU8>,
}

impl<'a> Packed<'a> {
    /// Packs the operand at each of some origins, in memory of a pool; `None` where there is none, or the run
    /// ends.
    ///
    /// # Safety
    /// From each origin, the operand may be read at every point of its axes.
    pub(crate) unsafe fn new(
        fixed: &'a Fixed,
        origins: &[*const u8],
        context: &Context<'_>,
        scratch: &'a ScratchPool,
    ) -> Option<Self> {
        let Problem { batch, algebra, .. } = &fixed.problem;
        let parts = origins.len().checked_mul(batch.len())?;
        let memory = scratch.try_take(fixed.all_bytes(origins.len())?)?;
        let shape = Shape::with_panels(&fixed.problem, fixed.operand);
        let round = one_round(&fixed.problem, shape)?;
        let flags = fixed.panels() * round.packs().len() * parts;
        let flags = (0..flags).map(|_| AtomicU8::new(0)).collect();
        let packed = Self { fixed, round, memory, flags };
        for (at, &origin) in origins.iter().enumerate() {
            for n in 0..batch.len() {
                if context.have_ended() {
                    return None;
                }
                // SAFETY: the caller's promise; words have the size of an element.
                unsafe { for_word!(algebra.size, W => packed.pack::<W>(at, origin, n, context)) }
            }
        }
        Some(packed)
    }

    /// Packs one batch of an origin.
    ///
    /// # Safety
    /// As for [`new`](Self::new); `W` has the size of an element.
    unsafe fn pack<W: Word>(&self, at: usize, origin: *const u8, n: usize, context: &Context) {
        let tensors = Tensors::new(origin, origin, ptr::null_mut());
        let tensors = tensors.at::<W>(&self.fixed.problem.batch, n);
        // SAFETY: the caller's promise; the memory has room for the panels of each batch.
        unsafe { self.panels(at, n, tensors).pack::<W>(context) };
    }

    /// The panels of a batch of an origin.
    fn panels(&self, at: usize, n: usize, tensors: Tensors) -> Panels<'_> {
        let part = at * self.fixed.problem.batch.len() + n;
        let each = self.fixed.panels() * self.round.packs().len();
        let bytes = self.fixed.bytes().unwrap_or(0);
        Panels {
            side: self.fixed.side(tensors),
            range: self.fixed.rows(),
            round: &self.round,
            memory: self.memory.as_ptr().wrapping_add(part * bytes),
            flags: &self.flags[part * each..(part + 1) * each],
        }
    }

    /// Executes the contraction with the operand at the origin of that number; of `a` and `b` the
    /// other one is read.
    ///
    /// # Safety
    /// As for [`contract`](super::contract).
    pub(crate) unsafe fn contract(
        &self,
        at: usize,
        (a, b, c): (*const u8, *const u8, *mut u8),
        context: &Context,
    ) {
        let Problem { batch, swapped, algebra, .. } = &self.fixed.problem;
        let tensors = Tensors::new(a, b, c);
        let tensors = if *swapped { tensors.swapped() } else { tensors };
        for n in (0..batch.len()).take_while(|_| !context.have_ended()) {
            let operand = self.fixed.operand;
            // SAFETY: the caller's promise; words have the size of an element.
            unsafe {
                for_word!(algebra.size, W => {
                    let tensors = tensors.at::<W>(batch, n);
                    let panels = self.panels(at, n, tensors);
                    let panels = (operand, &panels);
                    gemm::with_panels::<W>(&self.fixed.problem, tensors, panels, context);
                });
            }
        }
    }
}
