//! Packed panels that all threads share.

use super::Context;
use super::pack::Word;
use super::panel::Flags;
use super::side::{Panel, Side, rows_of};
use super::steps::{Round, Steps};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

/// Fewest bytes worth a task of their own when packing.
const PACK_BYTES: usize = 64 << 10;

/// The panels of a block of rows or columns, for a round of blocks of k.
pub(crate) struct Panels<'a> {
    /// The operand.
    pub(crate) side: Side<'a>,
    /// The rows of all panels.
    pub(crate) range: Range<usize>,
    /// The steps.
    pub(crate) round: &'a Round,
    /// Room for [`Panels::elements`].
    pub(crate) memory: *mut u8,
    /// What each panel holds, once packed.
    pub(crate) flags: &'a [AtomicU8],
    /// Where these are among panels that were packed for more rows and steps; `None` if they are all.
    pub(crate) within: Option<Within>,
}

/// Which of more panels some are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    /// Panels for one block of k.
    pub(crate) panels: usize,
    /// The first panel, and the first block.
    pub(crate) panel: usize,
    pub(crate) block: usize,
}

// SAFETY: tasks pack different panels, and read them once all are packed.
unsafe impl Sync for Panels<'_> {}

impl Panels<'_> {
    /// Room for what the panels of some rows hold.
    pub(crate) fn flags(side: Side, range: &Range<usize>, round: &Round) -> Vec<AtomicU8> {
        let panels = range.len().div_ceil(side.width);
        (0..panels * round.packs().len()).map(|_| AtomicU8::new(0)).collect()
    }

    /// Panels for one block of k.
    pub(crate) fn panels(&self) -> usize {
        self.range.len().div_ceil(self.side.width)
    }

    /// Which of those that are packed they are.
    fn within(&self) -> Within {
        self.within.unwrap_or(Within { panels: self.panels(), panel: 0, block: 0 })
    }

    /// Steps of the longest block of k.
    pub(crate) fn longest(&self) -> usize {
        self.round.blocks.iter().map(Steps::len).max().unwrap_or(0)
    }

    /// Where a panel of some steps is, or will be: after those of the steps before, or, if all steps
    /// of the round are packed at a time, after those of the panels before.
    fn place<W: Word>(&self, steps: &Steps, panel: usize) -> *mut W {
        let before = match self.round.whole() {
            Some(whole) => panel * whole.len() + steps.before,
            None => {
                let Within { panels, panel: first, .. } = self.within();
                steps.before * panels + (first + panel) * steps.pitch + steps.skipped
            }
        };
        self.memory.cast::<W>().wrapping_add(before * self.side.width)
    }

    /// What a panel holds, of those that are packed with these steps.
    fn flag(&self, pack: usize, panel: usize) -> &AtomicU8 {
        let Within { panels, panel: first, block } = self.within();
        &self.flags[(block + pack) * panels + first + panel]
    }

    /// The rows of some panels.
    pub(crate) fn rows_of(&self, panels: Range<usize>) -> Range<usize> {
        rows_of(&self.range, self.side.width, panels)
    }

    fn rows(&self, panel: usize) -> Range<usize> {
        self.rows_of(panel..panel + 1)
    }

    /// Packs all panels: those of neighbouring rows on one thread.
    ///
    /// # Safety
    /// As for [`Side::pack`], for all rows and steps; the memory has room for the panels, and nobody
    /// else uses it.
    pub(crate) unsafe fn pack<W: Word>(&self, context: &Context) {
        let packs = self.round.packs();
        let longest = packs.iter().map(Steps::len).max().unwrap_or(0);
        let bytes = (longest * self.side.width * size_of::<W>()).max(1);
        let each = PACK_BYTES.div_ceil(bytes);
        context.parallel_for(self.flags.len().div_ceil(each), |task| {
            for at in task * each..((task + 1) * each).min(self.flags.len()) {
                let (pack, panel) = (at % packs.len(), at / packs.len());
                let steps = &packs[pack];
                let to = self.place::<W>(steps, panel);
                // SAFETY: the caller's promise; this panel is this task's own.
                let packed = unsafe { self.side.pack(context, steps, self.rows(panel), to) };
                self.flag(pack, panel).store(packed.flags.bits(), Ordering::Relaxed);
            }
        });
    }

    /// Some panels, once packed.
    pub(crate) fn some<W: Word>(&self, block: usize, panels: &Range<usize>) -> Vec<Panel> {
        panels.clone().map(|panel| self.panel::<W>(block, panel)).collect()
    }

    /// A panel, once packed.
    fn panel<W: Word>(&self, block: usize, panel: usize) -> Panel {
        let rows = self.rows(panel);
        if let Some(panel) = self.side.lain::<W>(&self.round.blocks[block], &rows) {
            return panel;
        }
        let pack = if self.round.packs().len() == 1 { 0 } else { block };
        let flags = self.flag(pack, panel).load(Ordering::Relaxed);
        let data = self.place::<W>(&self.round.blocks[block], panel);
        let (data, flags) = (data.cast_const().cast(), Flags::from_bits(flags));
        Panel { data, start: rows.start, count: rows.len(), flags, lies: false }
    }
}
