//! Loops whose passes compute every row from the same row alone: passes and rows are interchanged.
//!
//! A *row* is a point of the axes that all updates of a pass have in common. Where each update is a function of
//! elements of its own row, a block of rows may run all passes before the next block begins: its values stay in L1, a
//! pass is a list of kernel calls with addresses that move by constants, and blocks are divided among threads. Each
//! element is computed by the same functions in the same order, so results are those of pass after pass.
//!
//! Kernels need rows that are adjacent in memory. Where they are not, as in `y[b,t]` with a loop over `t`, elements of a
//! range of passes are packed, pass by pass, and results are copied back after the range.
//!
//! * [`compile`] finds such loops: [`draft`] has the elements that they access, as functions of row and pass
//!   ([`access`]), [`layout`] chooses blocks and packs, [`calls`] lists kernels, [`peephole`] saves copies;
//! * [`range`] finds the passes in which no update is left out, [`run`] runs blocks.

mod access;
mod calls;
mod compile;
mod draft;
mod layout;
mod peephole;
mod range;
mod run;

use super::address::MovingWindow;
use crate::copy::Copier;
use crate::nest::TileKernel;
use ijk_plan::plan::loops::PassRange;
use smallvec::SmallVec;

pub(super) use compile::compile;

/// A loop whose passes and rows are interchanged.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Interchanged {
    /// Number of the loop's coordinate.
    coordinate: usize,
    /// Axes of rows except the innermost, outermost first.
    outer: SmallVec<[usize; 2]>,
    /// Extent of the innermost axis of rows.
    rows: usize,
    /// Rows of a block; the last block has fewer.
    width: usize,
    streams: Vec<Stream>,
    packs: Vec<Pack>,
    /// Passes for which elements are packed at a time; all of them if none are.
    depth: usize,
    /// Bytes of the packed elements and values of a block.
    scratch: usize,
    /// For each value that is computed or constant its place in the scratch memory.
    values: Vec<usize>,
    /// Values that are constants,
    constants: Vec<(usize, [u64; 2])>,
    /// and those that are coordinates, with their numbers.
    cells: Vec<(usize, usize)>,
    calls: Vec<Call>,
    /// Positions that must be in bounds in a pass.
    ranges: Vec<PassRange>,
    /// Estimated nanoseconds of a row in a pass.
    cost: f64,
}

/// Elements of an array: one for each row in each pass.
#[derive(Clone, Debug)]
struct Stream {
    window: MovingWindow,
    /// Bytes from the first element of the window.
    offset: isize,
    /// Strides in bytes of the outer axes of rows, and of the innermost.
    outer: SmallVec<[isize; 2]>,
    along: isize,
    /// The pack that has the elements, and how many passes they are behind its first.
    packed: Option<(usize, usize)>,
}

/// Packed elements of an array: of some passes, and of a few before and behind these.
#[derive(Clone, Debug)]
struct Pack {
    /// The stream with the first elements.
    first: usize,
    /// Place in the scratch memory, and bytes from pass to pass.
    at: usize,
    step: usize,
    size: usize,
    /// False for elements that are the same in all passes.
    moves: bool,
    /// Number of further passes whose elements some stream has.
    reach: usize,
    copier: Copier,
    reads: PackReads,
    /// Passes from the first elements to those that are written.
    writes: Option<usize>,
}

/// Elements that a range of passes reads before it writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PackReads {
    All,
    /// The elements of this number of leading passes.
    First(usize),
}

/// An operand of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassOperand {
    Stream(usize),
    Value(usize),
}

/// A call of a kernel on a block of rows.
#[derive(Clone, Debug)]
struct Call {
    kernel: TileKernel,
    to: PassOperand,
    from: [PassOperand; 3],
    /// It only stores a value.
    copies: bool,
}

impl Interchanged {
    /// Number of rows of a block.
    pub(super) fn block_rows(&self) -> usize {
        self.width
    }

    /// Bytes of scratch memory of a task.
    pub(super) fn scratch_bytes(&self) -> u64 {
        self.scratch as u64
    }
}
