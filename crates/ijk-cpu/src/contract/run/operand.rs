//! An operand as panels, packed or in place.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::run::context::Context;
use crate::contract::run::pack::PackSource;
use crate::contract::select::in_place::InPlace;
use crate::contract::select::k_blocks::KBlock;
use ijk_kernels::contraction::panel;
use ijk_kernels::contraction::panel::{Flags, Prepare, Split};
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::lines::LINE;
use ijk_kernels::tuning::order::SHORT_RUN;
use std::ops::Range;

/// Rows of the widest panel: 8 groups of 16, or 2 of 64.
pub(crate) const MAX_ROWS: usize = 128;

/// An operand, partitioned along the axes that it shares with the output.
#[derive(Clone, Copy)]
pub(crate) struct PackedOperand<'a> {
    problem: &'a Problem,
    tensors: TensorPointers,
    operand: TensorId,
    /// Rows (or columns) of a panel.
    pub(crate) width: usize,
    /// Layout of panels that are read in place.
    in_place: Option<InPlace>,
}

/// A panel: packed, or rows of lhs or columns of rhs in place.
#[derive(Clone, Copy)]
pub(crate) struct Panel {
    pub(crate) data: *const u8,
    /// Index of the first row (or column).
    pub(crate) start: usize,
    /// Number of rows (or columns).
    pub(crate) count: usize,
    pub(crate) flags: Flags,
    /// True if the panel is read in place.
    pub(crate) in_place: bool,
}

impl Panel {
    /// Returns true if the same microkernels apply to both.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let kind = |panel: &Self| (panel.count, panel.flags, panel.in_place);
        kind(self) == kind(other)
    }
}

impl<'a> PackedOperand<'a> {
    /// An operand in panels of `width` rows.
    pub(crate) fn new(
        problem: &'a Problem,
        tensors: TensorPointers,
        operand: TensorId,
        width: usize,
    ) -> Self {
        assert!(width <= MAX_ROWS);
        Self { problem, tensors, operand, width, in_place: None }
    }

    /// The same operand with panels read in place. For rhs, k is contiguous unless it is addressed by offsets, and
    /// columns have a uniform stride; for lhs, rows are contiguous and k has a uniform stride.
    pub(crate) fn read_in_place(self, in_place: Option<InPlace>) -> Self {
        Self { in_place, ..self }
    }

    /// The panel of those rows at some steps, if it is read in place.
    pub(crate) fn in_place<W: ElementWord>(
        &self,
        steps: &KBlock,
        rows: &Range<usize>,
    ) -> Option<Panel> {
        let in_place = self.in_place.filter(|in_place| rows.len().is_multiple_of(in_place.unit))?;
        if rows.start % in_place.run + rows.len() > in_place.run {
            return None;
        }
        let first = match in_place.by_offsets {
            true => 0,
            false => *steps.offsets(self.operand).first()?,
        };
        let base =
            if self.operand == TensorId::Left { self.tensors.left } else { self.tensors.right };
        let offset = self.bundle().offset(self.operand, rows.start) + first;
        Some(Panel {
            data: base.cast::<W>().wrapping_offset(offset).cast(),
            start: rows.start,
            count: rows.len(),
            flags: Flags::NONE,
            in_place: true,
        })
    }

    /// The axes that the operand shares with the output.
    pub(crate) fn bundle(&self) -> &'a Bundle {
        match self.operand {
            TensorId::Left => &self.problem.m,
            _ => &self.problem.n,
        }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.bundle().len()
    }

    /// The rows of one panel out of `all`.
    pub(crate) fn rows(&self, all: &Range<usize>, panel: usize) -> Range<usize> {
        rows_of(all, self.width, panel..panel + 1)
    }

    /// Cache lines of some rows, as byte offsets from the element at the origin plus the offset of a step. Empty if the
    /// rows are not contiguous.
    pub(crate) fn lines(&self, rows: Range<usize>) -> Vec<isize> {
        let (bundle, size) = (self.bundle(), self.problem.algebra.size as isize);
        let run = bundle.run(self.operand);
        if run < SHORT_RUN {
            return Vec::new();
        }
        let ends = |row: usize| {
            let offset = bundle.offset(self.operand, row) * size;
            let length = (run - row % run).min(rows.end - row);
            (offset, length)
        };
        let mut lines = Vec::new();
        let mut row = rows.start;
        while row < rows.end {
            let (start, length) = ends(row);
            lines.extend((0..length as isize * size).step_by(LINE).map(|at| start + at));
            row += length;
        }
        lines
    }

    /// Packs a panel of those rows, unless it is read in place, and returns it with its flags.
    ///
    /// # Safety
    /// `W` has the size of an element; the tensors are readable at those rows and steps; `to` has room for `steps.len()
    /// * width` elements, which no other thread accesses.
    pub(crate) unsafe fn pack<W: ElementWord>(
        &self,
        context: &Context,
        steps: &KBlock,
        rows: Range<usize>,
        to: *mut W,
    ) -> Panel {
        if let Some(panel) = self.in_place::<W>(steps, &rows) {
            return panel;
        }
        let Problem { dtype, algebra, .. } = self.problem;
        let (base, prepare, split) = match self.operand {
            TensorId::Left => (self.tensors.left, algebra.left, algebra.split),
            _ => (self.tensors.right, algebra.right, Split::None),
        };
        let source = PackSource {
            base: base.cast::<W>(),
            operand: self.operand,
            bundle: self.bundle(),
            steps: steps.offsets(self.operand),
            segments: steps.segments(self.operand),
        };
        let mut offsets = [0; MAX_ROWS];
        let offsets = &mut offsets[..rows.len()];
        self.bundle().offsets(self.operand, rows.start, offsets);
        let (level, count) = (context.level, steps.len() * self.width);
        // SAFETY: guaranteed by the caller.
        let flags = unsafe {
            source.pack(level, rows.start, offsets, to, self.width);
            finish(level, *dtype, to.cast(), count, (prepare, split, algebra.guarded))
        };
        let (data, count) = (to.cast_const().cast(), rows.len());
        Panel { data, start: rows.start, count, flags, in_place: false }
    }
}

/// The rows of a range of panels out of `all`.
pub(crate) fn rows_of(all: &Range<usize>, width: usize, panels: Range<usize>) -> Range<usize> {
    let [start, end] = [panels.start, panels.end].map(|panel| all.start + panel * width);
    start..end.min(all.end)
}

/// Transforms a packed panel to the form that microkernels read.
///
/// # Safety
/// The panel has `count` elements of that type.
unsafe fn finish(
    level: crate::Level,
    dtype: ijk_types::DType,
    panel: *mut u8,
    count: usize,
    (prepare, split, guarded): (Prepare, Split, bool),
) -> Flags {
    // SAFETY: guaranteed by the caller.
    unsafe {
        panel::prepare(level, dtype, prepare, panel, count);
        panel::split(level, split, panel, count);
        if guarded { panel::scan(level, dtype, panel, count) } else { Flags::NONE }
    }
}
