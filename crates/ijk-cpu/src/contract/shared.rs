//! Packed panels that all threads share.

use super::Context;
use super::pack::Word;
use super::panel::Flags;
use super::side::{Panel, Side, rows_of};
use super::steps::Steps;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

/// Fewest bytes worth a task of their own when packing.
const PACK_BYTES: usize = 64 << 10;

/// The panels of a block of rows or columns, for a round of blocks of k.
pub(crate) struct Panels<'a> {
    /// Rows (or columns) of a panel.
    pub(crate) width: usize,
    /// The rows of all panels.
    pub(crate) range: Range<usize>,
    /// The blocks of k.
    pub(crate) steps: &'a [Steps],
    /// Room for [`Panels::elements`].
    pub(crate) memory: *mut u8,
    /// What each panel holds, once packed.
    pub(crate) flags: &'a [AtomicU8],
}

// SAFETY: tasks pack different panels, and read them once all are packed.
unsafe impl Sync for Panels<'_> {}

impl Panels<'_> {
    /// Room for what the panels of some rows hold.
    pub(crate) fn flags(side: Side, range: &Range<usize>, steps: &[Steps]) -> Vec<AtomicU8> {
        let panels = range.len().div_ceil(side.width);
        (0..panels * steps.len()).map(|_| AtomicU8::new(0)).collect()
    }

    /// Panels for one block of k.
    pub(crate) fn panels(&self) -> usize {
        self.range.len().div_ceil(self.width)
    }

    /// Steps of the longest block of k.
    pub(crate) fn longest(&self) -> usize {
        self.steps.iter().map(Steps::len).max().unwrap_or(0)
    }

    /// Where a panel is, or will be.
    fn place<W: Word>(&self, block: usize, panel: usize) -> *mut W {
        let steps = &self.steps[block];
        let before = steps.before * self.panels() + panel * steps.len();
        self.memory.cast::<W>().wrapping_add(before * self.width)
    }

    fn rows(&self, panel: usize) -> Range<usize> {
        rows_of(&self.range, self.width, panel)
    }

    /// Packs all panels.
    ///
    /// # Safety
    /// As for [`Side::pack`], for all rows and steps; the memory has room for the panels, and nobody
    /// else uses it.
    pub(crate) unsafe fn pack<W: Word>(&self, side: Side, context: &Context) {
        let bytes = (self.longest() * self.width * size_of::<W>()).max(1);
        let each = PACK_BYTES.div_ceil(bytes);
        context.parallel_for(self.flags.len().div_ceil(each), |task| {
            for at in task * each..((task + 1) * each).min(self.flags.len()) {
                let (block, panel) = (at / self.panels(), at % self.panels());
                let (steps, to) = (&self.steps[block], self.place::<W>(block, panel));
                // SAFETY: the caller's promise; this panel is this task's own.
                let packed = unsafe { side.pack(context, steps, self.rows(panel), to) };
                self.flags[at].store(packed.flags.bits(), Ordering::Relaxed);
            }
        });
    }

    /// A panel, once packed.
    pub(crate) fn panel<W: Word>(&self, block: usize, panel: usize) -> Panel {
        let flags = self.flags[block * self.panels() + panel].load(Ordering::Relaxed);
        let (rows, data) = (self.rows(panel), self.place::<W>(block, panel));
        let data = data.cast_const().cast();
        Panel { data, start: rows.start, count: rows.len(), flags: Flags::from_bits(flags) }
    }
}
