//! What a nest is compiled to: a register program over tiles, and what becomes of its value.

use super::geometry::Geometry;
use super::kernel::{
    ArgKernels, Compare, Destination, FoldKernels, Kernel, LinkCode, LinkOp, MoveKernels,
};
use super::rows::{RowBases, RowSpec};
use crate::Few;
use crate::check::Footprint;
use crate::copy::Copier;
use crate::simd::Level;
use ijk_types::DType;

/// Index of a pointer in the table that instructions take their operands from.
pub(super) type Slot = u16;

/// A compiled nest.
#[derive(Clone, Debug)]
pub(crate) struct TileNest {
    /// Its loops.
    pub(super) geometry: Geometry,
    /// For each loop, how many blocks it has.
    pub(super) blocks: Few<usize>,
    /// Arrays read.
    pub(super) loads: Vec<LoadSpec>,
    /// Constants, 16 bytes each, and the slots that point to them.
    pub(super) constants: Vec<(Slot, [u64; 2])>,
    /// Registers: slots that point into scratch memory, at that many bytes from its start.
    pub(super) registers: Vec<(Slot, usize)>,
    /// The program of one tile.
    pub(super) instructions: Vec<Instruction>,
    /// How many of them, from the first, do not depend on the innermost loop over blocks.
    pub(super) standing: usize,
    /// How many of those do not depend on any loop, nor on what is read.
    pub(super) fixed: usize,
    /// Number of slots.
    pub(super) slots: usize,
    /// Scratch bytes of a worker.
    pub(super) scratch: usize,
    /// The value.
    pub(super) value: Slot,
    /// Where it goes.
    pub(super) out: Place,
    /// Bytes of an element of the output.
    pub(super) size: usize,
    /// What becomes of it.
    pub(super) sink: Sink,
    /// Estimated work of a whole run, in nanoseconds on one thread.
    pub(super) cost: f64,
    /// Number of kept loops, from the first, that may be divided among threads.
    pub(super) parallel: usize,
    /// What to ask for while a tile is computed.
    pub(super) ahead: Option<Ahead>,
}

/// What will be read soon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// Which load reads tiles of it where they lie.
    pub(super) load: usize,
    /// Bytes from there to what will be read.
    pub(super) bytes: isize,
}

impl TileNest {
    /// Asks for memory so many bytes further on while it computes with tiles of a buffer; gives
    /// whether it does so, which takes a value that is computed last.
    pub(crate) fn fetch_ahead(&mut self, buffer: usize, bytes: isize) -> bool {
        let reads = |load: &LoadSpec| {
            let dense = load.place.inner.last() == Some(&(load.size as isize));
            load.place.buffer == buffer && dense && matches!(load.mode, LoadMode::Direct)
        };
        let computes = match self.instructions.last() {
            Some(Instruction::Map(map)) => map.dst == self.value && map.over == Over::Points,
            Some(Instruction::Chain(chain)) => chain.dst == self.value,
            _ => false,
        };
        let keeps = matches!(self.sink, Sink::Direct | Sink::Reduce(_));
        let load = self.loads.iter().position(reads).filter(|_| computes && keeps);
        self.ahead = load.map(|load| Ahead { load, bytes });
        self.ahead.is_some()
    }

    /// What offsets of rows count from.
    pub(super) fn row_bases(&self, rows: &RowSpec, bases: &[*mut u8]) -> RowBases {
        let base = |(buffer, offset): (usize, isize)| bases[buffer].wrapping_offset(offset);
        let sources = rows.sources.iter().map(|source| base(source.array).cast_const());
        RowBases { sources: sources.collect(), out: base((self.out.buffer, self.out.offset)) }
    }

    /// How rows that are reduced lie in memory, where a tile is one of them as it lies there.
    pub(super) fn rows_in_place(&self, spec: &ReduceSpec) -> Option<RowsInPlace<'_>> {
        let ([load], Some(&along)) = (&self.loads[..], self.geometry.reduced.last()) else {
            return None;
        };
        let one = |&a: &usize| self.geometry.loops[a].tile == 1;
        let plain = self.instructions.is_empty()
            && self.value == load.slot
            && matches!(load.mode, LoadMode::Direct)
            && self.geometry.reduced.iter().all(one);
        let ReduceKernels::Fold(fold) = spec.reducer else { return None };
        let plain = plain && spec.rows.is_none();
        let step = load.place.strides[along];
        plain.then_some(RowsInPlace { place: &load.place, along, step, fold })
    }
}

/// Rows that are reduced where they lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsInPlace<'a> {
    /// The first of them.
    pub(super) place: &'a Place,
    /// The loop over them.
    pub(super) along: usize,
    /// Bytes from one to the next.
    pub(super) step: isize,
    /// What combines them.
    pub(super) fold: FoldKernels,
}

/// The origin of an access and its steps, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The buffer.
    pub(super) buffer: usize,
    /// Bytes from its first element to the origin.
    pub(super) offset: isize,
    /// For each loop, bytes of a step.
    pub(super) strides: Few<isize>,
    /// For each axis of a tile, bytes of a step.
    pub(super) inner: Few<isize>,
}

/// An array read.
#[derive(Clone, Debug)]
pub(super) struct LoadSpec {
    /// Where.
    pub(super) place: Place,
    /// The slot instructions find it at.
    pub(super) slot: Slot,
    /// How its elements come there.
    pub(super) mode: LoadMode,
    /// Bytes of an element.
    pub(super) size: usize,
}

/// How the elements of a load come to instructions.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoadMode {
    /// They lie in memory as a tile does, or are one: the slot points there.
    Direct,
    /// They are copied to a register.
    Pack(Copier),
    /// The same, with one element for each [row](Over::Rows) of a tile.
    PackRows(Copier),
}

/// An instruction of a tile's program.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// A kernel.
    Map(Map),
    /// Several cheap functions, one of what the other gives.
    Chain(Box<Chain>),
    /// The kernel that chooses between values of a tile. Where all are of the first kind, the slot points to them and
    /// not to its register, which begins at so many bytes of scratch memory.
    Select { map: Map, register: usize },
    /// The values of an affine index.
    Index { dst: Slot, constant: i64, steps: Vec<i64>, inner: Vec<i64>, iota: Iota, over: Over },
    /// Elements at computed offsets from the origin of a tile in an array.
    Gather {
        dst: Slot,
        offsets: Slot,
        array: Place,
        moves: MoveKernels,
        range: OffsetCheck,
        over: Over,
    },
}

/// Applies a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Map {
    pub(super) kernel: Kernel,
    pub(super) dst: Slot,
    pub(super) sources: [Source; 3],
    /// Bytes of an element of the result.
    pub(super) size: usize,
    /// How many elements the result has.
    pub(super) over: Over,
    /// The function that it computes and the type of its operands, if a chain may have it.
    pub(super) function: Option<(Function, DType)>,
}

/// A function that a chain may have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    /// Of one operand.
    One(LinkOp),
    /// Of two: the link where the value so far is the first, and where it is the second.
    Two([LinkOp; 2]),
    /// Of elements of another type, with which a chain may begin.
    Start(LinkOp),
    /// A comparison of two.
    Compare(Compare),
    /// The second operand where the first holds, else the third.
    Select,
}

/// Links of a chain at most.
pub(super) const LONGEST: usize = 24;

/// Several cheap functions, one of what the other gives: of all points of a tile.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) level: Level,
    pub(super) dtype: DType,
    pub(super) dst: Slot,
    /// The first is where it starts.
    pub(super) links: Vec<ChainLink>,
}

/// A link of a chain: as [`Link`](super::kernel::Link) has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainLink {
    pub(super) code: LinkCode,
    /// How many of the sources are operands.
    pub(super) operands: usize,
    pub(super) sources: [Source; 3],
}

impl ChainLink {
    /// A function, of the product of two sources as `product` tells.
    pub(super) fn new(op: LinkOp, product: bool, mut sources: [Source; 3]) -> Self {
        if product && sources[0].over.is_one_a_row() {
            sources.swap(0, 1);
        }
        let ones = sources.map(|source| source.over.is_one_a_row());
        let operands = if op.compares() { 3 } else { 1 + usize::from(product) };
        Self { code: LinkCode::new(op, product, ones), operands, sources }
    }
}

impl Chain {
    /// Where its elements go, from a first one on.
    pub(super) fn places(&self, dst: *mut u8, stream: bool) -> impl Fn(usize) -> Destination {
        let size = self.dtype.size();
        move |first| Destination { first: dst.wrapping_add(first * size), stream }
    }

    /// Whether a call goes over one row at most.
    pub(super) fn is_by_row(&self) -> bool {
        self.links.iter().flat_map(|link| &link.sources).any(|source| source.over.is_partial())
    }
}

/// An operand of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) slot: Slot,
    /// How many elements it has.
    pub(super) over: Over,
    /// Bytes of an element.
    pub(super) size: usize,
}

impl Map {
    /// Whether a call of the kernel goes over one row at most: some operand stays the same within a
    /// row, or begins anew with each.
    pub(super) fn is_by_row(&self) -> bool {
        self.over == Over::Points && self.sources.iter().any(|s| s.over.is_partial())
    }
}

/// How many elements a value has in a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Over {
    /// One for all points.
    One,
    /// One for each row: the points that differ in the innermost axis alone.
    Rows,
    /// One for each point of a row, the same in all rows.
    Columns,
    /// One for each point.
    Points,
}

impl Over {
    /// What a function of two values has.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::One, other) | (other, Self::One) => other,
            _ => Self::Points,
        }
    }

    /// True if it has one element for all points of a row.
    pub(super) fn is_one_a_row(self) -> bool {
        matches!(self, Self::One | Self::Rows)
    }

    /// Whether it is neither one for all nor one for each.
    fn is_partial(self) -> bool {
        matches!(self, Self::Rows | Self::Columns)
    }
}

/// Writes `start + step · i`.
pub(super) type Iota = unsafe fn(n: usize, dst: *mut i64, start: i64, step: i64);

/// Which computed offsets are elements.
#[derive(Clone, Debug)]
pub(super) enum OffsetCheck {
    /// Those between two.
    Range {
        /// Inclusive, relative to the access's origin.
        least: i64,
        /// Inclusive.
        greatest: i64,
        /// The loop that checks.
        check: unsafe fn(usize, *const i64, i64, i64) -> u32,
    },
    /// Those from which on a footprint has a run of elements, after adding the origin's offset.
    Sparse {
        /// The array's elements.
        footprint: Footprint,
        /// Offset of the access's origin.
        origin: i64,
        /// Length of the run.
        run: usize,
    },
}

impl OffsetCheck {
    /// The same for the first of `length` neighbouring elements.
    pub(super) fn of_rows(self, length: usize) -> Self {
        match self {
            Self::Range { least, greatest, check } => {
                let greatest = greatest.saturating_sub(length as i64 - 1);
                Self::Range { least, greatest, check }
            }
            Self::Sparse { footprint, origin, .. } => {
                Self::Sparse { footprint, origin, run: length }
            }
        }
    }
}

/// What becomes of a tile's value.
#[derive(Clone, Debug)]
pub(super) enum Sink {
    /// The last instruction writes it into the output.
    Direct,
    /// It is copied, from the one load in place if `moved`, else from its slot.
    Store { copier: Copier, moved: bool },
    /// It is copied from its slot past the caches.
    Stream(StreamSpec),
    /// It is combined with the output's elements, distinct ones within a tile.
    Combine { copier: Copier, fold: FoldKernels, size: usize, register: usize },
    /// It goes to computed elements, one by one in order.
    Scatter {
        offsets: Slot,
        range: Option<OffsetCheck>,
        fold: Option<FoldKernels>,
        moves: MoveKernels,
    },
    /// Each point has a row, which is stored or combined.
    Rows(Box<RowSpec>),
    /// It is reduced.
    Reduce(ReduceSpec),
}

/// How a value leaves past the caches.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamSpec {
    /// What copies it.
    pub(super) copier: Copier,
    /// Whether tiles are dense in the output: then they are one row.
    pub(super) dense: bool,
    /// Whether the last instruction is computed strip by strip, each of which leaves at once, so
    /// that reads go on while lines are written.
    pub(super) strips: bool,
}

/// How the tiles of one block of outputs are reduced.
#[derive(Clone, Debug)]
pub(super) struct ReduceSpec {
    /// What combines values.
    pub(super) reducer: ReduceKernels,
    /// The identity, or the best of nothing.
    pub(super) start: [u64; 2],
    /// Fills accumulators.
    pub(super) splat: Kernel,
    /// Outputs of a block at most.
    pub(super) outputs: usize,
    /// Where accumulators begin in scratch memory, at `stride` bytes from each other.
    pub(super) accumulators: usize,
    /// Bytes of an accumulator.
    pub(super) stride: usize,
    /// How many there are: levels of the binary counter.
    pub(super) levels: usize,
    /// How many values (rows of a tile, or whole folded rows) the first level takes.
    pub(super) capacity: usize,
    /// Blocks of the reduced loops that make one chunk, reduced on its own.
    pub(super) chunk: usize,
    /// Number of chunks.
    pub(super) chunks: usize,
    /// Copies results to the output.
    pub(super) copier: Copier,
    /// Combines them with the output's elements instead.
    pub(super) existing: Option<FoldKernels>,
    /// Bytes of a value.
    pub(super) size: usize,
    /// For each kept axis of a tile, bytes of a step in the output; and along a row, if there are rows.
    pub(super) out: Few<isize>,
    /// What is reduced are rows, each of a point.
    pub(super) rows: Option<Box<RowSpec>>,
}

impl ReduceSpec {
    /// Outputs that a row has, if rows are reduced and their elements do not combine.
    pub(super) fn row_outputs(&self) -> Option<usize> {
        self.rows.as_ref().filter(|rows| !rows.along).map(|rows| rows.length)
    }
}

/// The slot of the output.
pub(super) const OUT: Slot = 0;

/// What combines values.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReduceKernels {
    /// A monoid.
    Fold(FoldKernels),
    /// A position; the accumulators hold the best values, and after them positions.
    Arg(ArgKernels),
}
