//! A problem with its blocking, and what the loops pass to each other.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::columns::ColumnOffsets;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::run::context::Context;
use crate::contract::run::operand::PackedOperand;
use crate::contract::run::output::OutputRows;
use crate::contract::select::blocking::Blocking;
use crate::contract::select::symmetric::SymmetricOutput;
use ijk_kernels::tuning::time::GROUP_PANELS;
use smallvec::SmallVec;
use std::ops::Range;
use std::ptr;

/// A problem with its blocking.
pub(crate) struct Gemm<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) tensors: TensorPointers,
    pub(crate) context: &'a Context<'a>,
    pub(crate) blocking: Blocking,
    pub(crate) left: PackedOperand<'a>,
    pub(crate) right: PackedOperand<'a>,
    /// The layout of the output, if the tiles above its diagonal are copied instead of computed.
    pub(crate) symmetric: Option<SymmetricOutput>,
}

impl<'a> Gemm<'a> {
    pub(crate) fn new(
        problem: &'a Problem,
        tensors: TensorPointers,
        context: &'a Context<'a>,
        blocking: Blocking,
    ) -> Self {
        let left = PackedOperand::new(problem, tensors, TensorId::Left, blocking.mr)
            .read_in_place(blocking.unpacked_lhs().map(|lhs| lhs.in_place()));
        let right = PackedOperand::new(problem, tensors, TensorId::Right, blocking.nr)
            .read_in_place(blocking.unpacked_rhs.map(|rhs| rhs.in_place(blocking.nr)));
        Self { problem, tensors, context, blocking, left, right, symmetric: None }
    }

    /// Computes only one half of the tiles, if the output is symmetric.
    pub(crate) fn with_symmetry(self) -> Self {
        Self { symmetric: SymmetricOutput::of(self.problem, self.tensors), ..self }
    }

    /// The operand whose panels are packed first and shared by threads.
    pub(crate) fn shared(&self) -> PackedOperand<'a> {
        if self.blocking.shares_lhs { self.left } else { self.right }
    }
}

/// One value for each lhs panel of a group.
pub(crate) type PanelGroup<T> = SmallVec<[T; GROUP_PANELS]>;

/// The rows and columns of the output that a task writes.
pub(crate) struct TileOutput<'a> {
    pub(crate) rows: &'a OutputRows<'a>,
    pub(crate) columns: &'a ColumnOffsets,
}

/// Lines to prefetch during a tile: byte offsets from the element at the origin plus the offset of a step.
pub(crate) struct PrefetchLines {
    pub(crate) from: *const u8,
    pub(crate) lines: Vec<isize>,
}

impl PrefetchLines {
    /// The lines of some rows.
    pub(crate) fn of(side: PackedOperand, rows: Range<usize>, from: *const u8) -> Self {
        Self { from, lines: side.lines(rows) }
    }

    pub(crate) fn nothing() -> Self {
        Self { from: ptr::null(), lines: Vec::new() }
    }
}
