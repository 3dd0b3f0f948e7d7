//! The program of a row: kernels over its elements, one piece that fits L1 at a time.

use super::RowSpec;
use super::run::{Batch, RowBases};
use ijk_kernels::tile::TileKernel;
use ijk_kernels::tuning::order::INDEXED_ROW_PIECE_BYTES;

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

/// Addresses of an operand in the rows of a piece: the dispatch on its kind happens once for all of them.
#[derive(Clone, Copy)]
struct Addresses {
    first: *mut u8,
    /// Bytes from one row to the next, if the rows have no list of offsets.
    step: isize,
    /// Offsets of rows, in elements of `size` bytes.
    list: *const i64,
    size: usize,
}

impl Addresses {
    fn every(first: *mut u8, step: usize) -> Self {
        Self { first, step: step as isize, list: std::ptr::null(), size: 0 }
    }

    /// The address in a row.
    ///
    /// # Safety
    /// The list, if there is one, has the row.
    #[inline(always)]
    unsafe fn of(self, row: usize) -> *mut u8 {
        let bytes = match self.list.is_null() {
            true => (row as isize).wrapping_mul(self.step),
            // SAFETY: guaranteed by the caller.
            false => unsafe { self.list.add(row).read() as isize }.wrapping_mul(self.size as isize),
        };
        self.first.wrapping_offset(bytes)
    }
}

impl Piece<'_> {
    /// The addresses of an operand; `dst` is the destination of the value.
    #[inline(always)]
    fn addresses(&self, rows: &RowSpec, operand: RowOperand, dst: *mut u8) -> Addresses {
        let register = |n: usize| self.registers.wrapping_add(n * INDEXED_ROW_PIECE_BYTES);
        match operand {
            RowOperand::Source(n) => {
                let size = rows.sources[n].size;
                let first = self.bases.sources[n].wrapping_add(self.first * size).cast_mut();
                let list = self.batch.columns[1 + n].cast::<i64>().wrapping_add(self.row);
                Addresses { first, step: 0, list, size }
            }
            RowOperand::Scalar(n) => {
                let size = rows.scalars[n].size;
                let column = self.batch.columns[1 + rows.sources.len() + n];
                Addresses::every(column.wrapping_add(self.row * size).cast_mut(), size)
            }
            RowOperand::Constant(n) => {
                Addresses::every(rows.program.constants[n].as_ptr().cast_mut().cast(), 0)
            }
            RowOperand::Register(n, size) => Addresses::every(register(n), self.count * size),
            RowOperand::Repeated(n, size) => {
                Addresses::every(register(n).wrapping_add(self.first * size), self.count * size)
            }
            RowOperand::Value => Addresses::every(dst, self.count * rows.size),
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
                    RowStep::Map { kernel, dst: to, sources: [a, b, c], by_row } => {
                        let of = |operand| self.addresses(rows, operand, dst);
                        let [to, a, b, c] = [of(to), of(a), of(b), of(c)];
                        let (calls, count) = match by_row {
                            true => (self.rows, self.count),
                            false => (1, self.rows * self.count),
                        };
                        for row in 0..calls {
                            kernel(count, to.of(row), a.of(row), b.of(row), c.of(row));
                        }
                    }
                    RowStep::Choose { condition, dst: to, sources: [yes, no], kernels } => {
                        let of = |operand| self.addresses(rows, operand, dst);
                        let (holds, to) = (of(condition), of(to));
                        let choices = [no, yes].map(|one| (of(one), one.is_one()));
                        for row in 0..self.rows {
                            let holds = holds.of(row).cast::<bool>().read();
                            let (chosen, one) = choices[usize::from(holds)];
                            let kernel = if one { kernels.splat } else { kernels.copy };
                            let chosen = chosen.of(row).cast_const();
                            kernel(self.count, to.of(row), chosen, chosen, chosen);
                        }
                    }
                }
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.addresses(rows, rows.program.value, dst).of(0) }
    }
}
