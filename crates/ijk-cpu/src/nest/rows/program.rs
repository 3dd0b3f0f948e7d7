//! The program of a row: kernels over its elements, one piece that fits L1 at a time.

use super::super::kernel::TileKernel;
use super::RowSpec;
use super::run::{Batch, RowBases};
use crate::tuning::order::INDEXED_ROW_PIECE_BYTES;

/// Computes a row from rows of arrays and from scalars.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct RowProgram {
    /// Steps in order; none if the value is a row of an array.
    pub steps: Vec<RowStep>,
    /// The value.
    pub value: RowOperand,
    /// Constants, 16 bytes each.
    pub constants: Vec<[u64; 2]>,
    /// Number of registers.
    pub registers: usize,
    /// Bytes of the largest element in a register.
    pub largest: usize,
    /// Rows of arrays that are the same for all rows, and the registers that repeat them.
    pub repeated: Vec<RepeatedRow>,
}

/// The row of an array that is the same for all rows: copies of it fill a register, so that functions of it and of
/// values in registers take all rows in one call.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct RepeatedRow {
    /// Index of the array.
    pub source: usize,
    pub register: usize,
}

/// A step of the program of a row.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum RowStep {
    /// Applies a kernel: to one row at a time, or to all rows in registers.
    Map { kernel: TileKernel, dst: RowOperand, sources: [RowOperand; 3], by_row: bool },
    /// Copies the first source if the condition, a bool for the row, holds, else the second.
    Choose { condition: RowOperand, dst: RowOperand, sources: [RowOperand; 2], kernels: Choice },
}

/// Kernels that copy a source with a value for each element, and broadcast one with a single value.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Choice {
    pub copy: TileKernel,
    pub splat: TileKernel,
}

/// Location of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum RowOperand {
    /// The row of an array.
    Source(usize),
    /// The scalar of a row.
    Scalar(usize),
    /// A constant.
    Constant(usize),
    /// A register, and bytes of an element there.
    Register(usize, usize),
    /// A register of copies of whole rows, likewise.
    Repeated(usize, usize),
    /// Destination of the value.
    #[default]
    Value,
}

impl RowOperand {
    /// Returns true if it is one scalar for a row.
    pub fn is_one(self) -> bool {
        matches!(self, Self::Scalar(_) | Self::Constant(_))
    }

    /// Returns true if its address depends on the row.
    pub fn is_by_row(self) -> bool {
        matches!(self, Self::Source(_) | Self::Scalar(_))
    }
}

impl RowProgram {
    /// Elements that are computed at a time.
    pub fn piece(&self) -> usize {
        INDEXED_ROW_PIECE_BYTES / self.largest.max(1)
    }

    /// Rows of `length` elements that are computed at a time.
    pub fn rows(&self, length: usize) -> usize {
        if self.steps.is_empty() { 1 } else { (self.piece() / length.max(1)).max(1) }
    }

    /// Bytes of all registers, including one for intermediate values.
    pub fn bytes(&self) -> usize {
        (self.registers + 1) * INDEXED_ROW_PIECE_BYTES
    }

    /// The register for intermediate values.
    pub fn spare(&self, registers: *mut u8) -> *mut u8 {
        registers.wrapping_add(self.registers * INDEXED_ROW_PIECE_BYTES)
    }
}

impl RowSpec {
    /// Fills the registers of rows that are the same for all rows of a batch.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(super) unsafe fn repeat(&self, batch: &Batch, bases: &RowBases, registers: *mut u8) {
        if batch.count == 0 {
            return;
        }
        for &RepeatedRow { source, register } in &self.program.repeated {
            let size = self.sources[source].size;
            let bytes = self.length * size;
            let first = registers.wrapping_add(register * INDEXED_ROW_PIECE_BYTES);
            // SAFETY: guaranteed by the caller; a register has room for as many rows as are computed at a time.
            unsafe {
                let offset = batch.offset(1 + source, 0) as isize;
                let from =
                    bases.sources[source].wrapping_offset(offset.wrapping_mul(size as isize));
                for row in 0..self.program.rows(self.length) {
                    std::ptr::copy_nonoverlapping(from, first.add(row * bytes), bytes);
                }
            }
        }
    }
}

/// Several rows, or a piece of one, and their operands.
pub(super) struct Piece<'a> {
    pub batch: &'a Batch,
    pub bases: &'a RowBases,
    pub registers: *mut u8,
    /// Index of the first row.
    pub row: usize,
    /// Number of rows.
    pub rows: usize,
    /// Index of the first element of each row.
    pub first: usize,
    /// Number of elements of each row.
    pub count: usize,
}

impl Piece<'_> {
    /// Address of an operand for a row of the piece; `dst` is the destination of the value.
    ///
    /// # Safety
    /// As for [`compute`](Self::compute).
    #[inline(always)]
    unsafe fn at(&self, rows: &RowSpec, row: usize, operand: RowOperand, dst: *mut u8) -> *mut u8 {
        match operand {
            RowOperand::Source(n) => {
                // SAFETY: guaranteed by the caller.
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
                self.registers.wrapping_add(n * INDEXED_ROW_PIECE_BYTES + row * self.count * size)
            }
            RowOperand::Repeated(n, size) => {
                let start = self.first + row * self.count;
                self.registers.wrapping_add(n * INDEXED_ROW_PIECE_BYTES + start * size)
            }
            RowOperand::Value => dst.wrapping_add(row * self.count * rows.size),
        }
    }

    /// Computes the piece, row by row, into `dst` unless it is a piece of an array; returns its address. Lowering uses
    /// only kernels that cannot fault.
    ///
    /// # Safety
    /// The batch has the rows, whose offsets are checked: the piece's elements are elements of the sources; no other
    /// thread accesses the registers, which have room for the piece; `dst` has room for it, and overlaps no operand. A
    /// piece of an array has one row.
    #[inline(always)]
    pub unsafe fn compute(&self, rows: &RowSpec, dst: *mut u8) -> *const u8 {
        for step in &rows.program.steps {
            // SAFETY: guaranteed by the caller; lowering chose kernels for the types of the operands. A scalar of a row
            // is a splat of its kernel.
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
        // SAFETY: guaranteed by the caller.
        unsafe { self.at(rows, 0, rows.program.value, dst) }
    }
}
