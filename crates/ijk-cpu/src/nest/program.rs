//! A compiled nest: a register program over tiles, and the sink of its value.

use super::geometry::Geometry;
use super::one_tile::OneTile;
use super::rows::{RowBases, RowSpec};
use crate::Few;
use crate::check::Footprint;
use crate::copy::Copier;
use ijk_kernels::simd::Level;
use ijk_kernels::tile::{
    ArgKernels, ChainFold, Compare, CountKernels, Destination, FoldKernels, Link, LinkCode, LinkOp,
    LookupKernel, MoveKernels, TileKernel,
};
use ijk_types::{BinaryOp, DType};

/// Index of a pointer in the table of operands of instructions.
pub(super) type Slot = u16;

/// A compiled nest.
#[derive(Clone, Debug)]
pub(crate) struct TileNest {
    /// Its loops.
    pub(super) geometry: Geometry,
    /// Number of blocks of each loop.
    pub(super) blocks: Few<usize>,
    /// Arrays that are read.
    pub(super) loads: Vec<LoadSpec>,
    /// Constants, 16 bytes each, and the slots that point to them.
    pub(super) constants: Vec<(Slot, [u64; 2])>,
    /// Registers: slots that point into scratch memory, at that many bytes from its start.
    pub(super) registers: Vec<(Slot, usize)>,
    /// The program of one tile.
    pub(super) instructions: Vec<Instruction>,
    /// Number of leading instructions that are invariant in the innermost loop over blocks.
    pub(super) standing: usize,
    /// Number of leading instructions that are invariant in all loops and independent of loads.
    pub(super) fixed: usize,
    /// Number of slots.
    pub(super) slots: usize,
    /// Bytes of scratch memory of a worker.
    pub(super) scratch: usize,
    /// Slot of the value.
    pub(super) value: Slot,
    /// Place of the output.
    pub(super) out: Place,
    /// Bytes of an element of the output.
    pub(super) size: usize,
    /// Sink of the value.
    pub(super) sink: Sink,
    /// Estimated work of a run, in nanoseconds on one thread.
    pub(super) cost: f64,
    /// Number of kept loops, from the outermost, that may be divided among threads.
    pub(super) parallel: usize,
    /// Memory to prefetch while a tile is computed.
    pub(super) ahead: Option<Ahead>,
    /// The calls of its tile, if it has one.
    pub(super) one_tile: Option<OneTile>,
}

/// Prefetch of memory that is read later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// Index of a load that reads tiles in place.
    pub(super) load: usize,
    /// Distance in bytes of the prefetched memory.
    pub(super) bytes: isize,
}

impl TileNest {
    /// Enables prefetch at a distance of `bytes` while the nest processes tiles of a buffer. Returns false if it
    /// cannot: the last instruction must compute the value.
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
        if self.ahead.is_some() {
            // Its calls do not prefetch.
            self.one_tile = None;
        }
        self.ahead.is_some()
    }

    /// Origins of row offsets.
    pub(super) fn row_bases(&self, rows: &RowSpec, bases: &[*mut u8]) -> RowBases {
        let base = |(buffer, offset): (usize, isize)| bases[buffer].wrapping_offset(offset);
        let sources = rows.sources.iter().map(|source| base(source.array).cast_const());
        RowBases { sources: sources.collect(), out: base((self.out.buffer, self.out.offset)) }
    }

    /// The layout of reduced rows in memory, if each tile is one row in place.
    pub(super) fn rows_in_place(&self, spec: &ReduceSpec) -> Option<RowsInPlace<'_>> {
        let ([load], Some(&along)) = (&self.loads[..], self.geometry.reduced.last()) else {
            return None;
        };
        let one = |&a: &usize| self.geometry.loops[a].tile == 1;
        let plain = self.instructions.is_empty()
            && self.value == load.slot
            && matches!(load.mode, LoadMode::Direct)
            && self.geometry.reduced.iter().all(one);
        let &ReduceKernels::Fold(fold) = &spec.reducer else { return None };
        let plain = plain && spec.rows.is_none();
        let step = load.place.strides[along];
        plain.then_some(RowsInPlace { place: &load.place, along, step, fold })
    }
}

/// Reduced rows in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsInPlace<'a> {
    /// Place of the first row.
    pub(super) place: &'a Place,
    /// The loop over them.
    pub(super) along: usize,
    /// Stride in bytes.
    pub(super) step: isize,
    /// Kernels that combine them.
    pub(super) fold: FoldKernels,
}

/// Origin and strides of an access, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The buffer.
    pub(super) buffer: usize,
    /// Bytes from its first element to the origin.
    pub(super) offset: isize,
    /// Stride of each loop.
    pub(super) strides: Few<isize>,
    /// Stride of each axis of a tile.
    pub(super) inner: Few<isize>,
}

/// A load.
#[derive(Clone, Debug)]
pub(super) struct LoadSpec {
    /// Place in memory.
    pub(super) place: Place,
    /// Slot of its elements for instructions.
    pub(super) slot: Slot,
    /// Access to its elements.
    pub(super) mode: LoadMode,
    /// Bytes of an element.
    pub(super) size: usize,
    /// True if tiles of equal extents have the same elements, which are packed once for all of them.
    pub(super) stays: bool,
}

/// Access of instructions to the elements of a load.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoadMode {
    /// In place, since their layout is that of a tile, or a single element: the slot points there.
    Direct,
    /// Packed to a register.
    Pack(Copier),
    /// Packed to a register, with one element for each [row](Over::Rows) of a tile.
    PackRows(Copier),
    /// Packed by one copy with the loads that follow it in the list, whose elements lie between its own: the number of
    /// these loads, with itself.
    Split(Copier, usize),
    /// Packed by the copy of the [`Split`](Self::Split) before it.
    Beside(Copier),
}

/// An instruction of a tile's program.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// Calls a kernel.
    Map(Map),
    /// Calls a chain of cheap functions.
    Chain(Box<Chain>),
    /// Selects between values of a tile. If the condition holds for the whole tile, the slot aliases the first value,
    /// otherwise its register at the offset `register` of scratch memory.
    Select { map: Map, register: usize },
    /// Computes the values of an affine index.
    Index { dst: Slot, constant: i64, steps: Vec<i64>, inner: Vec<i64>, iota: Iota, over: Over },
    /// Compares an affine index, which varies along rows, with an i64 of each row, or with 0.
    Threshold {
        dst: Slot,
        op: BinaryOp,
        constant: i64,
        steps: Vec<i64>,
        inner: Vec<i64>,
        other: Option<Source>,
    },
    /// Gathers elements at computed offsets from the origin of a tile in an array.
    Gather {
        dst: Slot,
        offsets: Slot,
        array: Place,
        moves: MoveKernels,
        range: OffsetCheck,
        over: Over,
    },
    /// Looks up elements by numbers.
    Lookup(Box<LookupSpec>),
}

/// A lookup in an array, of whose elements those for valid numbers are known to exist.
#[derive(Clone, Debug)]
pub(super) struct LookupSpec {
    pub(super) kernel: LookupKernel,
    pub(super) dst: Slot,
    /// The numbers, one for each point, and the bytes of one.
    pub(super) numbers: Slot,
    pub(super) number_size: usize,
    /// The places of the number 0.
    pub(super) array: Place,
    /// Bytes of an element.
    pub(super) size: usize,
    /// First number that has no element.
    pub(super) end: u64,
    /// Elements from the place of a number to that of the next.
    pub(super) scale: i64,
    /// Bits of the element for other numbers.
    pub(super) fill: u64,
}

/// A call of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Map {
    pub(super) kernel: TileKernel,
    pub(super) dst: Slot,
    pub(super) sources: [Source; 3],
    /// Bytes of an element of the result.
    pub(super) size: usize,
    /// Number of elements of the result.
    pub(super) over: Over,
    /// The function and the type of its operands, if chains support it.
    pub(super) function: Option<(Function, DType)>,
}

/// A function that chains support.
#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    /// Unary.
    One(LinkOp),
    /// Binary: the link with the value so far as the first operand, and as the second.
    Two([LinkOp; 2]),
    /// Conversion of elements of another type, which can only start a chain.
    Start(LinkOp),
    /// Comparison of two values.
    Compare(Compare),
    /// Select: the second operand if the first holds, else the third.
    Select,
}

/// Most links of a chain.
pub(super) const LONGEST: usize = 24;

/// Composition of cheap functions, for all points of a tile.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) level: Level,
    pub(super) dtype: DType,
    pub(super) dst: Slot,
    /// Slots of the values that it stores on the way.
    pub(super) stored: Vec<Slot>,
    /// The first one is a start.
    pub(super) links: Vec<ChainLink>,
}

/// A link of a chain, as in [`Link`](super::kernel::Link).
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainLink {
    pub(super) code: LinkCode,
    /// Number of sources that are operands.
    pub(super) operands: usize,
    pub(super) sources: [Source; 3],
    pub(super) ahead: usize,
}

impl ChainLink {
    /// A function; if `product`, its operand is the product of two sources. Sources are prefetched at the distance
    /// `ahead`.
    pub(super) fn new(op: LinkOp, product: bool, mut sources: [Source; 3], ahead: usize) -> Self {
        if product && sources[0].over.is_one_a_row() {
            sources.swap(0, 1);
        }
        let ones = sources.map(|source| source.over.is_one_a_row());
        let operands = match op {
            LinkOp::DivShort | LinkOp::KeepIf | LinkOp::TakeIf => 2,
            _ if op.compares() => 3,
            _ => 1 + usize::from(product),
        };
        Self { code: LinkCode::new(op, product, ones), operands, sources, ahead }
    }

    /// The link of a call, with its operands and the bytes between their rows.
    #[inline(always)]
    pub(super) fn at(&self, operands: [*const u8; 3], rows: [isize; 3]) -> Link {
        let size = self.sources[0].size;
        Link { code: self.code, size, operands, rows, ahead: self.ahead }
    }
}

impl Chain {
    /// Destination of its elements, by the index of the first.
    pub(super) fn places(&self, dst: *mut u8) -> impl Fn(usize) -> Destination {
        let size = self.dtype.size();
        move |first| Destination { first: dst.wrapping_add(first * size), stream: false }
    }

    /// Returns true if a call processes at most one row.
    pub(super) fn is_by_row(&self) -> bool {
        self.links.iter().flat_map(|link| &link.sources).any(|source| source.over.is_partial())
    }
}

/// An operand of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) slot: Slot,
    /// Number of its elements.
    pub(super) over: Over,
    /// Bytes of an element.
    pub(super) size: usize,
}

impl Source {
    /// Bytes from the first element to the one that an instruction reads at the start of a row, and from one element to
    /// the next; `value` is the extent of what the instruction computes.
    #[inline(always)]
    pub(super) fn at(&self, value: Over, start: usize, row: usize) -> (usize, usize) {
        let size = self.size;
        match self.over {
            over if over == value => (start * size, size),
            Over::One => (0, 0),
            Over::Rows => (row * size, 0),
            Over::Columns => (0, size),
            Over::Points => (start * size, size),
            Over::Apart(apart) => ((row as isize * apart) as usize, size),
        }
    }

    /// Bytes from the elements of a row of points to those of the next.
    pub(super) fn row_step(&self, length: usize) -> isize {
        match self.over {
            Over::One | Over::Columns => 0,
            Over::Rows => self.size as isize,
            Over::Points => (length * self.size) as isize,
            Over::Apart(step) => step,
        }
    }
}

impl Map {
    /// Returns true if a call of the kernel processes at most one row, since some operand is constant within a row or
    /// restarts with each row.
    pub(super) fn is_by_row(&self) -> bool {
        self.over == Over::Points && self.sources.iter().any(|s| s.over.is_partial())
    }
}

/// Extent of a value in a tile: the points among which it varies.
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
    /// One for each point, in rows that are this number of bytes apart: operands that are read where they are stored.
    Apart(isize),
}

impl Over {
    /// Number of elements in a tile.
    #[inline]
    pub(super) fn count(self, points: usize, row: usize) -> usize {
        match self {
            Self::One => 1,
            Self::Rows => points / row,
            Self::Columns => row,
            Self::Points | Self::Apart(_) => points,
        }
    }

    /// Extent of a function of two values.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Apart(_), _) | (_, Self::Apart(_)) => Self::Points,
            (a, b) if a == b => a,
            (Self::One, other) | (other, Self::One) => other,
            _ => Self::Points,
        }
    }

    /// Returns true if all points of a row share one element.
    pub(super) fn is_one_a_row(self) -> bool {
        matches!(self, Self::One | Self::Rows)
    }

    /// Returns true if its elements are neither one for the tile nor contiguous for all points.
    pub(super) fn is_partial(self) -> bool {
        matches!(self, Self::Rows | Self::Columns | Self::Apart(_))
    }
}

/// Writes `start + step · i`.
pub(super) type Iota = unsafe fn(n: usize, dst: *mut i64, start: i64, step: i64);

/// Check that computed offsets are within the array.
#[derive(Clone, Debug)]
pub(super) enum OffsetCheck {
    /// A dense range.
    Range {
        /// Inclusive, relative to the access's origin.
        least: i64,
        /// Inclusive.
        greatest: i64,
        /// The kernel that compares.
        check: unsafe fn(usize, *const i64, i64, i64) -> u32,
    },
    /// Elements of a sparse footprint: each offset, plus that of the origin, must start a run of elements.
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
    /// The check of the first of `length` contiguous elements.
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

/// Sink of a tile's value.
#[derive(Clone, Debug)]
pub(super) enum Sink {
    /// The last instruction writes to the output.
    Direct,
    /// Copy from the single load in place if `moved`, else from the slot.
    Store { copier: Copier, moved: bool },
    /// The last instruction writes rows of the tile, which has two axes, to the output: they are contiguous each.
    StoreRows,
    /// Copy with non-temporal stores.
    Stream(StreamSpec),
    /// Combination with the output's elements, which are distinct within a tile.
    Combine { copier: Copier, fold: FoldKernels, size: usize, register: usize },
    /// Stores or combinations at computed offsets, one by one in order.
    Scatter {
        offsets: Slot,
        /// Offsets that are checked: all, or those that were computed before strides were added.
        checked: Slot,
        range: Option<OffsetCheck>,
        fold: Option<FoldKernels>,
        moves: MoveKernels,
    },
    /// Each point has a row, which is stored or combined.
    Rows(Box<RowSpec>),
    /// Reduction.
    Reduce(Box<ReduceSpec>),
}

impl Sink {
    /// Its rows, if each point has one.
    pub(super) fn rows(&self) -> Option<&RowSpec> {
        match self {
            Self::Rows(rows) => Some(rows),
            Self::Reduce(spec) => spec.rows.as_deref(),
            _ => None,
        }
    }

    /// Its rows, to complete them.
    pub(super) fn rows_mut(&mut self) -> Option<&mut RowSpec> {
        match self {
            Self::Rows(rows) => Some(rows),
            Self::Reduce(spec) => spec.rows.as_deref_mut(),
            _ => None,
        }
    }
}

/// Non-temporal stores of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamSpec {
    /// Copy kernel.
    pub(super) copier: Copier,
    /// True if tiles are contiguous in the output: each is then one row.
    pub(super) dense: bool,
    /// True if the last instruction is computed strip by strip, each of which is stored at once, so that loads and
    /// stores overlap.
    pub(super) strips: bool,
}

/// Reduction of the tiles of one block of outputs.
#[derive(Clone, Debug)]
pub(super) struct ReduceSpec {
    /// Kernels that combine values.
    pub(super) reducer: ReduceKernels,
    /// Initial value: the identity, or a value that every other beats.
    pub(super) start: [u64; 2],
    /// Kernel that initialises accumulators.
    pub(super) splat: TileKernel,
    /// Most outputs of a block.
    pub(super) outputs: usize,
    /// Offset of the accumulators in scratch memory; they are `stride` bytes apart.
    pub(super) accumulators: usize,
    /// Bytes of an accumulator.
    pub(super) stride: usize,
    /// Number of accumulators: levels of the binary counter.
    pub(super) levels: usize,
    /// Number of values (rows of a tile, or whole folded rows) of the first level.
    pub(super) capacity: usize,
    /// Blocks of the reduced loops in a chunk, which is reduced separately.
    pub(super) chunk: usize,
    /// Number of chunks.
    pub(super) chunks: usize,
    /// Copy of results to the output.
    pub(super) copier: Copier,
    /// Bools of the outputs: the start is the result of a block in which none is true, without reducing it.
    pub(super) needed: Option<Place>,
    /// Kernels that combine results with the output's elements instead.
    pub(super) existing: Option<FoldKernels>,
    /// Bytes of a value.
    pub(super) size: usize,
    /// Stride in bytes in the output for each kept axis of a tile, and for the elements of a row, if there are rows.
    pub(super) out: Few<isize>,
    /// Fold of the chain that computes the value, if its rows go to the accumulators in registers.
    pub(super) chain: Option<ChainFold>,
    /// Rows that are reduced, one for each point.
    pub(super) rows: Option<Box<RowSpec>>,
}

impl ReduceSpec {
    /// Outputs of a row, if rows are reduced elementwise.
    pub(super) fn row_outputs(&self) -> Option<usize> {
        self.rows.as_ref().filter(|rows| !rows.along).map(|rows| rows.length)
    }
}

/// The slot of the output.
pub(super) const OUT: Slot = 0;

/// Kernels that combine values.
#[derive(Clone, Debug)]
pub(super) enum ReduceKernels {
    /// A monoid.
    Fold(FoldKernels),
    /// The number of bools that hold: those of tiles are added up by the first, and accumulators by the others.
    Count(Box<CountKernels>, FoldKernels),
    /// A positional reducer; accumulators have the best values, followed by their positions.
    Arg(ArgKernels),
}
