//! Packed panels shared by all threads.

use crate::contract::run::context::Context;
use crate::contract::run::operand::{PackedOperand, Panel, rows_of};
use crate::contract::select::k_blocks::{KBlock, Round};
use ijk_kernels::contraction::panel::Flags;
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::tuning::time::PACK_TASK_BYTES;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

/// Panels of a block of rows or columns, for a round of blocks of k.
pub(crate) struct SharedPanels<'a> {
    /// The packed operand.
    pub(crate) side: PackedOperand<'a>,
    /// The rows of all panels.
    pub(crate) range: Range<usize>,
    /// The blocks of k.
    pub(crate) round: &'a Round,
    /// Scratch memory for the panels.
    pub(crate) memory: *mut u8,
    /// [`Flags`] of each packed panel, as bits.
    pub(crate) flags: &'a [AtomicU8],
    /// Position among panels that were packed for more rows and steps; `None` if these are all of them.
    pub(crate) within: Option<PanelOffset>,
}

/// Position of a subset of panels among all packed ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PanelOffset {
    /// Panels of one block of k.
    pub(crate) panels: usize,
    /// Index of the first panel and of the first block.
    pub(crate) panel: usize,
    pub(crate) block: usize,
}

// SAFETY: tasks pack different panels, and read them after all are packed.
unsafe impl Sync for SharedPanels<'_> {}

impl SharedPanels<'_> {
    /// Flags of the panels of some rows, not yet set.
    pub(crate) fn flags(side: PackedOperand, range: &Range<usize>, round: &Round) -> Vec<AtomicU8> {
        let panels = range.len().div_ceil(side.width);
        (0..panels * round.packs().len()).map(|_| AtomicU8::new(0)).collect()
    }

    /// Number of panels of one block of k.
    pub(crate) fn panels(&self) -> usize {
        self.range.len().div_ceil(self.side.width)
    }

    /// Position among the packed panels.
    fn within(&self) -> PanelOffset {
        self.within.unwrap_or(PanelOffset { panels: self.panels(), panel: 0, block: 0 })
    }

    /// KBlock of the longest block of k.
    pub(crate) fn longest(&self) -> usize {
        self.round.blocks.iter().map(KBlock::len).max().unwrap_or(0)
    }

    /// Address of a panel of some steps: after the panels of the steps before, or, if a round is packed as a whole,
    /// after the panels before.
    fn place<W: ElementWord>(&self, steps: &KBlock, panel: usize) -> *mut W {
        let before = match self.round.whole() {
            Some(whole) => panel * whole.len() + steps.before,
            None => {
                let PanelOffset { panels, panel: first, .. } = self.within();
                steps.before * panels + (first + panel) * steps.pitch + steps.skipped
            }
        };
        self.memory.cast::<W>().wrapping_add(before * self.side.width)
    }

    /// Flags of a panel in the pack of index `pack`.
    fn flag(&self, pack: usize, panel: usize) -> &AtomicU8 {
        let PanelOffset { panels, panel: first, block } = self.within();
        &self.flags[(block + pack) * panels + first + panel]
    }

    /// The rows of some panels.
    pub(crate) fn rows_of(&self, panels: Range<usize>) -> Range<usize> {
        rows_of(&self.range, self.side.width, panels)
    }

    fn rows(&self, panel: usize) -> Range<usize> {
        self.rows_of(panel..panel + 1)
    }

    /// Packs all panels, adjacent ones on the same thread.
    ///
    /// # Safety
    /// As for [`PackedOperand::pack`], for all rows and steps; the memory has room for the panels, and no other thread accesses
    /// it.
    pub(crate) unsafe fn pack<W: ElementWord>(&self, context: &Context) {
        let packs = self.round.packs();
        let longest = packs.iter().map(KBlock::len).max().unwrap_or(0);
        let bytes = (longest * self.side.width * size_of::<W>()).max(1);
        let each = PACK_TASK_BYTES.div_ceil(bytes);
        context.parallel_for(self.flags.len().div_ceil(each), |task| {
            for at in task * each..((task + 1) * each).min(self.flags.len()) {
                let (pack, panel) = (at % packs.len(), at / packs.len());
                let steps = &packs[pack];
                let to = self.place::<W>(steps, panel);
                // SAFETY: guaranteed by the caller; this panel is this task's own.
                let packed = unsafe { self.side.pack(context, steps, self.rows(panel), to) };
                self.flag(pack, panel).store(packed.flags.bits(), Ordering::Relaxed);
            }
        });
    }

    /// Packed panels of a range.
    pub(crate) fn some<W: ElementWord>(&self, block: usize, panels: &Range<usize>) -> Vec<Panel> {
        panels.clone().map(|panel| self.panel::<W>(block, panel)).collect()
    }

    /// A packed panel, or the same rows in place.
    fn panel<W: ElementWord>(&self, block: usize, panel: usize) -> Panel {
        let rows = self.rows(panel);
        if let Some(panel) = self.side.in_place::<W>(&self.round.blocks[block], &rows) {
            return panel;
        }
        let pack = if self.round.packs().len() == 1 { 0 } else { block };
        let flags = self.flag(pack, panel).load(Ordering::Relaxed);
        let data = self.place::<W>(&self.round.blocks[block], panel);
        let (data, flags) = (data.cast_const().cast(), Flags::from_bits(flags));
        Panel { data, start: rows.start, count: rows.len(), flags, in_place: false }
    }
}
