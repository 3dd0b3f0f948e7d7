//! What a planned program is: kernels over affine accesses to buffers.
//!
//! All offsets and strides count elements, not bytes.

use ijk_ir::core::Span;
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp};

/// Index of a [`Buffer`] in its [`Plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// A program planned for the element types, shapes and strides of one application.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Arguments, results and temporaries.
    pub buffers: Vec<Buffer>,
    /// Kernels, to run in order.
    pub steps: Vec<Step>,
    /// Bytes of the one arena that temporaries share.
    pub arena: usize,
}

/// Memory that kernels read and write.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Whose it is.
    pub place: Place,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// For each axis, how many elements apart two neighbours lie; may be 0 or negative for inputs.
    pub strides: Vec<isize>,
}

/// Where a buffer lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The argument of that position.
    Input(usize),
    /// The result of that position.
    Output(usize),
    /// In the arena, from that byte (a multiple of 64) on, C-contiguous.
    Temporary(usize),
}

/// One kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Set every element of a buffer.
    Fill(BufferId, Scalar),
    /// `c[…] = reduce over k of map(a[…], b[…])`.
    Contract(Contraction),
    /// The same where rows have right operands of their own: `c[m, …] = reduce over k of map(a[m, …], b[index[m], …])`.
    Grouped(Box<Grouped>),
    /// `out[…, n] = reduce of from[…, 0], …, from[…, n]`.
    Scan(Scan),
    /// Anything else: a fused loop nest.
    Nest(Nest),
    /// Several steps, block of rows by block of rows.
    Sweep(Box<Sweep>),
}

/// Steps that go through their arrays together, one block of rows after another: what one writes
/// is still near when the next reads it, and temporaries are as large as a block. Blocks can run in
/// any order, or side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The axes that all steps have in common, cut into blocks: each combination is one block.
    pub axes: Vec<SweepAxis>,
    /// For each input of the body, what it shows of a buffer.
    pub inputs: Vec<Window>,
    /// The same for each output. Windows of different blocks have no element in common.
    pub outputs: Vec<Window>,
    /// The steps of one block; its arena is for one block, too.
    pub body: Plan,
    /// The steps of the last blocks along the last axis, where those have fewer rows.
    pub rest: Option<Plan>,
    /// Other bodies for blocks that need a part of what they see only.
    pub narrow: Option<Narrow>,
}

/// Bodies of a sweep that leave out what a mask makes the identity of each reduction, as long as numbers that it
/// is joined with are finite: otherwise a block has the whole body.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrow {
    /// The steps of a block, over the same inputs and outputs.
    pub bodies: Vec<Plan>,
    /// For each block along the last axis the body that suffices; `None` for the whole one.
    pub of_blocks: Vec<Option<usize>>,
    /// Inputs of the body whose buffers hold finite numbers only.
    pub finite_inputs: Vec<usize>,
    /// Outputs that do so, too, once the narrow body has run; if not, the whole one runs after it.
    pub finite_outputs: Vec<usize>,
}

/// An axis of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepAxis {
    /// Its letter.
    pub name: String,
    /// Number of values.
    pub extent: usize,
    /// How many of them a block has; it divides the extent but for the last axis.
    pub block: usize,
}

impl SweepAxis {
    /// Blocks along the axis, a shorter last one included.
    pub fn blocks(&self) -> usize {
        self.extent.div_ceil(self.block.max(1))
    }
}

/// What a block of a [`Sweep`] sees of a buffer: from its element at `Σ stride · row` on, where
/// `row` is the first of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The buffer.
    pub buffer: BufferId,
    /// For each axis of the sweep, the step; 0 where every block sees the same.
    pub strides: Vec<isize>,
}

/// A function of what a contraction joins: of differences, it makes distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// `x * x`.
    Square,
    /// `@abs x`.
    Abs,
}

/// `c[batch, m, n] = reduce over k of map(a[batch, m, k], b[batch, k, n])`, each of batch, m, n, k
/// a bundle of any number of axes with any strides. Every element of `c` that the axes reach is
/// written; it is read only by one that accumulates.
#[derive(Clone, Debug, PartialEq)]
pub struct Contraction {
    /// Element type of all three.
    pub dtype: DType,
    /// What joins an element of `a` (left) and one of `b` (right).
    pub map: BinaryOp,
    /// What becomes of what is joined, before it is combined.
    pub then: Option<Then>,
    /// What combines over k.
    pub reduce: Monoid,
    /// Left operand.
    pub a: Base,
    /// Right operand.
    pub b: Base,
    /// Output.
    pub c: Base,
    /// Whether to combine with what `c` holds: `c = reduce(c, reduce over k …)`.
    pub accumulate: bool,
    /// The axes, in the order of the domain; extents may be 0 or 1.
    pub axes: Vec<ContractionAxis>,
    /// The expression it computes.
    pub span: Span,
}

impl Contraction {
    /// Whether an engine contracts this pair on elements of that type. The others are nests: maps
    /// that can fail, that change the type, or that have no one vector instruction.
    pub fn supports(dtype: DType, (map, then): (BinaryOp, Option<Then>), reduce: Monoid) -> bool {
        use BinaryOp::{Add, Div, Max, Min, Mul, Sub};
        let accepted = map.accepts().contains(dtype) && reduce.op().accepts().contains(dtype);
        let known = match dtype {
            DType::Bool => map.result().of(dtype) == DType::Bool,
            DType::I32 | DType::I64 => matches!(map, Add | Sub | Mul | Max | Min),
            DType::F32 | DType::F64 => matches!(map, Add | Sub | Mul | Div | Max | Min),
            DType::C64 | DType::C128 => matches!(map, Add | Sub | Mul),
        };
        let distance =
            || dtype.is_float() && matches!(map, Add | Sub) && !matches!(reduce, Monoid::Mul);
        accepted && known && (then.is_none() || distance())
    }
}

/// A contraction whose right operand is another one for each row (of the axes M), by an index: rows with the same one
/// go together. Rows whose index is none of a group's hold the identity.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouped {
    /// The contraction, with the operand of the first group; it does not accumulate.
    pub each: Contraction,
    /// An array of i32 or i64.
    pub index: Base,
    /// Its element type.
    pub index_dtype: DType,
    /// For each axis of the contraction, the step in it; 0 for others than M.
    pub index_steps: Vec<isize>,
    /// What an element is for the first group.
    pub first: i64,
    /// How many there are, the next one for the next number.
    pub groups: usize,
    /// Elements of the right operand from one to the next.
    pub step: isize,
}

/// The element of a buffer at the origin of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// The buffer.
    pub buffer: BufferId,
    /// Elements from the buffer's first (its index 0, 0, …) to the origin.
    pub offset: isize,
}

/// An axis of a contraction. Strides of operands that do not depend on it are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractionAxis {
    /// Its letter.
    pub name: String,
    /// Which bundle it belongs to.
    pub role: Role,
    /// Number of values.
    pub extent: usize,
    /// Step in `a`.
    pub a: isize,
    /// Step in `b`.
    pub b: isize,
    /// Step in `c`.
    pub c: isize,
}

/// The bundle of an axis, by the operands that share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// In the output and in both operands.
    Batch,
    /// In the output and in `a`, or in the output alone.
    M,
    /// In the output and in `b`.
    N,
    /// Not in the output.
    K,
}

/// `to[rows, n] = reduce of from[rows, 0], …, from[rows, n]`, along one axis of any step. Every
/// element of `to` that the axes reach is written, and is another one at each point.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Element type of both.
    pub dtype: DType,
    /// What combines.
    pub reduce: Monoid,
    /// What is read.
    pub from: Base,
    /// What is written.
    pub to: Base,
    /// What values are relative to, of sums of floating-point numbers.
    pub levels: Option<Levels>,
    /// The axis along which it goes.
    pub along: ScanAxis,
    /// The others, each combination of which is one row.
    pub rows: Vec<ScanAxis>,
    /// The expression it computes.
    pub span: Span,
}

/// The scale of each value of a scan: `to[n] = Σ from[k] · exp(level[k] - level[n])` over `k <= n`. Levels
/// never fall along a row, so that no exponential is more than 1; where a level is so much higher
/// than the one before that the exponential is 0, nothing is left of what came before, NaN included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The first level.
    pub base: Base,
    /// Step along the scan's axis; may be 0.
    pub along: isize,
    /// Step along each of its rows.
    pub rows: Vec<isize>,
}

/// An axis of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanAxis {
    /// Its letter.
    pub name: String,
    /// Number of values.
    pub extent: usize,
    /// Step in what is read; may be 0.
    pub from: isize,
    /// Step in what is written.
    pub to: isize,
}

/// A fused loop nest: at every point of a domain evaluate `body`, combine it into the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// The domain, in the order in which combination is stated to happen where it is.
    pub axes: Vec<NestAxis>,
    /// Arrays read at affine positions.
    pub loads: Vec<Load>,
    /// Nodes in post-order; the last is the value.
    pub body: Vec<Node>,
    /// Where the value goes.
    pub store: Store,
    /// How values that fall on one element combine; `None` stores.
    pub reduce: Option<Reducer>,
    /// What the output's elements start from. `Covered`: every element is reached, by points that
    /// differ in reduced axes only, so a kernel need not initialise and may keep accumulators.
    pub start: Start,
    /// Combine in lexicographic order of `axes`, one point after another, with one rounding for
    /// each operation: the order that small programs promise.
    pub sequential: bool,
    /// The expression it computes.
    pub span: Span,
}

/// What elements of a nest's output hold before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Nothing: the nest defines each one (the reducer's identity where reduced axes are empty).
    Covered,
    /// Values an earlier step wrote (a fill, or the `From` of a statement), which are kept where no
    /// point falls and combined with where one does. Distinct points may fall on one element
    /// along any axes marked [`NestAxis::collides`].
    Existing,
}

/// An axis of a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestAxis {
    /// Its letter.
    pub name: String,
    /// Number of values.
    pub extent: usize,
    /// Whether the output does not depend on it.
    pub reduced: bool,
    /// Whether points that differ in it (among others) may fall on one element of the output
    /// although it depends on it: `[i+j]`.
    pub collides: bool,
}

/// An array read at `offset + Σ stride · axis`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Array and origin.
    pub base: Base,
    /// Its element type.
    pub dtype: DType,
    /// For each axis of the nest, the step.
    pub strides: Vec<isize>,
}

/// Index of a [`Node`] in its nest's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A node of a nest's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// The element of a load (an index into [`Nest::loads`]).
    Load(u32),
    /// A number.
    Const(Scalar),
    /// `constant + Σ coefficient · axis`, as i64.
    Index {
        /// The constant.
        constant: i64,
        /// For each axis of the nest, its coefficient.
        coefficients: Vec<i64>,
    },
    /// An element of an array at `base + Σ stride · axis + offset`, in elements (in bounds).
    Gather {
        /// Array and origin.
        base: Base,
        /// Its element type.
        dtype: DType,
        /// For each axis of the nest, the step.
        strides: Vec<isize>,
        /// A further computed offset, an i64.
        offset: NodeId,
    },
    /// A function of one operand.
    Unary(UnaryOp, NodeId),
    /// A function of two.
    Binary(BinaryOp, NodeId, NodeId),
    /// The second where the first (a bool) holds, else the third.
    Select(NodeId, NodeId, NodeId),
    /// A uniform random number in `[lo, hi)`, i64 or f64 as these are: [`ijk_types::random`].
    Random {
        /// The key of the source of numbers.
        key: u64,
        /// Which of its numbers, an i64.
        counter: NodeId,
        /// Least value.
        lo: NodeId,
        /// The values are less.
        hi: NodeId,
    },
}

/// Where a nest's value goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Array and origin.
    pub base: Base,
    /// Its element type.
    pub dtype: DType,
    /// For each axis of the nest, the step; 0 where it is reduced.
    pub strides: Vec<isize>,
    /// A further computed offset, for divisions and remainders in an output's index.
    pub offset: Option<NodeId>,
}
