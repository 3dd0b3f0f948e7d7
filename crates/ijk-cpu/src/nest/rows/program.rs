//! The program of a row: kernels over its elements, a piece that stays in the first cache at a time.

use super::super::kernel::Kernel;
use super::RowSpec;
use super::run::{Batch, RowBases};

/// Bytes of a register.
const REGISTER: usize = 4096;

/// Computes a row from rows of arrays, and from what is one number for a row.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct RowProgram {
    /// In order; none if the value is a row of an array.
    pub steps: Vec<RowStep>,
    /// The value.
    pub value: RowOperand,
    /// Constants, 16 bytes each.
    pub constants: Vec<[u64; 2]>,
    /// How many registers there are.
    pub registers: usize,
    /// Bytes of the largest element that any holds.
    pub largest: usize,
}

/// A step of the program of a row.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum RowStep {
    /// Applies a kernel: to one row at a time, or to all that registers hold.
    Map { kernel: Kernel, dst: RowOperand, sources: [RowOperand; 3], by_row: bool },
    /// Copies the first source where the condition, a bool for the row, holds, else the second.
    Choose { condition: RowOperand, dst: RowOperand, sources: [RowOperand; 2], kernels: Choice },
}

/// What moves a source that has a value for each element, and one that has one for all.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Choice {
    pub copy: Kernel,
    pub splat: Kernel,
}

/// Where an operand is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum RowOperand {
    /// The row of an array.
    Source(usize),
    /// The number of a row.
    Scalar(usize),
    /// A constant.
    Constant(usize),
    /// A register, and bytes of an element there.
    Register(usize, usize),
    /// Where the value is to go.
    #[default]
    Value,
}

impl RowOperand {
    /// Whether it is one number for a row.
    pub fn is_one(self) -> bool {
        matches!(self, Self::Scalar(_) | Self::Constant(_))
    }

    /// Whether where it is follows from the row, and not from the row before.
    pub fn is_by_row(self) -> bool {
        matches!(self, Self::Source(_) | Self::Scalar(_))
    }
}

impl RowProgram {
    /// Elements that are computed at a time.
    pub fn piece(&self) -> usize {
        REGISTER / self.largest.max(1)
    }

    /// Rows of so many elements that are computed at a time.
    pub fn rows(&self, length: usize) -> usize {
        if self.steps.is_empty() { 1 } else { (self.piece() / length.max(1)).max(1) }
    }

    /// Bytes of all registers, and of one that takes a value on its way.
    pub fn bytes(&self) -> usize {
        (self.registers + 1) * REGISTER
    }

    /// The register for a value on its way.
    pub fn spare(&self, registers: *mut u8) -> *mut u8 {
        registers.wrapping_add(self.registers * REGISTER)
    }
}

/// Some rows, or a piece of one, and what they are computed with.
pub(super) struct Piece<'a> {
    pub batch: &'a Batch,
    pub bases: &'a RowBases,
    pub registers: *mut u8,
    /// The first of the rows.
    pub row: usize,
    /// How many.
    pub rows: usize,
    /// The first element of each.
    pub first: usize,
    /// How many elements.
    pub count: usize,
}

impl Piece<'_> {
    /// Where an operand is for a row of the piece; `dst` is the place of the value.
    ///
    /// # Safety
    /// That of [`compute`](Self::compute).
    #[inline(always)]
    unsafe fn at(&self, rows: &RowSpec, row: usize, operand: RowOperand, dst: *mut u8) -> *mut u8 {
        match operand {
            RowOperand::Source(n) => {
                // SAFETY: the caller's promise.
                let from = unsafe { self.batch.offset(1 + n, self.row + row) } + self.first as i64;
                let bytes = (from as isize).wrapping_mul(rows.sources[n].size as isize);
                self.bases.sources[n].wrapping_offset(bytes).cast_mut()
            }
            RowOperand::Scalar(n) => {
                let column = self.batch.columns[1 + rows.sources.len() + n];
                column.wrapping_add((self.row + row) * rows.scalars[n].size).cast_mut()
            }
            RowOperand::Constant(n) => rows.program.constants[n].as_ptr().cast_mut().cast(),
            RowOperand::Register(n, size) => {
                self.registers.wrapping_add(n * REGISTER + row * self.count * size)
            }
            RowOperand::Value => dst.wrapping_add(row * self.count * rows.size),
        }
    }

    /// Computes the piece, row after row, into `dst` unless it is a piece of an array; gives where it is. Lowering
    /// sees to it that no kernel meets a fault.
    ///
    /// # Safety
    /// The batch has the rows, whose offsets were checked: the piece's elements are elements of the sources;
    /// registers are there, nobody else's, with room for the piece; `dst` has room for it, which nothing that is
    /// read overlaps. A piece of an array is one row's.
    #[inline(always)]
    pub unsafe fn compute(&self, rows: &RowSpec, dst: *mut u8) -> *const u8 {
        for step in &rows.program.steps {
            // SAFETY: the caller's promise; lowering chose kernels for the types of the operands. What is one
            // number for a row is a splat of its kernel.
            unsafe {
                match *step {
                    RowStep::Map { kernel, dst: to, sources: [a, b, c], by_row: false } => {
                        let at = |operand| self.at(rows, 0, operand, dst);
                        kernel(self.rows * self.count, at(to), at(a), at(b), at(c));
                    }
                    RowStep::Map { kernel, dst: to, sources: [a, b, c], by_row: true } => {
                        for row in 0..self.rows {
                            let at = |operand| self.at(rows, row, operand, dst);
                            kernel(self.count, at(to), at(a), at(b), at(c));
                        }
                    }
                    RowStep::Choose { condition, dst: to, sources: [yes, no], kernels } => {
                        for row in 0..self.rows {
                            let at = |operand| self.at(rows, row, operand, dst);
                            let holds = at(condition).cast::<bool>().read();
                            let chosen = if holds { yes } else { no };
                            let one = chosen.is_one();
                            let kernel = if one { kernels.splat } else { kernels.copy };
                            kernel(self.count, at(to), at(chosen), at(chosen), at(chosen));
                        }
                    }
                }
            }
        }
        // SAFETY: as above.
        unsafe { self.at(rows, 0, rows.program.value, dst) }
    }
}
