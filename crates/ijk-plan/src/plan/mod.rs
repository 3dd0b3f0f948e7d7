//! Plans: kernels over affine accesses to buffers.
//!
//! All offsets and strides count elements, not bytes.

pub(crate) mod cost;
pub(crate) mod display;
pub mod loops;

use ijk_ir::core::Span;
use ijk_types::{BinaryOp, DType, Monoid, Order, Reducer, Scalar, UnaryOp};

pub use ijk_types::Then;

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
    /// Bytes of the arena that temporaries share.
    pub arena: usize,
}

/// Memory that kernels read and write.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Argument, result or temporary.
    pub place: Place,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Stride of each axis, in elements; may be 0 or negative for inputs.
    pub strides: Vec<isize>,
}

/// Location of a buffer.
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
    /// A contraction whose rows have right operands of their own:
    /// `c[m, …] = reduce over k of map(a[m, …], b[index[m], …])`.
    Grouped(Box<Grouped>),
    /// `out[…, n] = reduce of from[…, 0], …, from[…, n]`.
    Scan(Scan),
    /// `out[…, k]` = the value at place `k` of the order of `from[…, 0], from[…, 1], …`, or its position.
    Sort(Sort),
    /// Anything else: a fused loop nest.
    Nest(Nest),
    /// Several steps fused by blocks of rows.
    Sweep(Box<Sweep>),
}

/// Several steps fused by blocks of rows: the output of one step is in cache when the next reads it, and temporaries
/// have the size of a block. Blocks can run in any order, or in parallel.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The axes that all steps share, cut into blocks; each combination is one block.
    pub axes: Vec<SweepAxis>,
    /// For each input of the body, its window into a buffer.
    pub inputs: Vec<Window>,
    /// For each output of the body, its window. Windows of different blocks are disjoint.
    pub outputs: Vec<Window>,
    /// Plan of one block; its arena is that of one block, too.
    pub body: Plan,
    /// Plan of the last blocks along the last axis, if those have fewer rows.
    pub rest: Option<Plan>,
    /// Bodies for blocks that need a part of their inputs only.
    pub narrow: Option<Narrow>,
}

/// Bodies of a sweep that skip values which a mask makes the identity of each reduction. That holds as long as the
/// values that they are combined with are finite; otherwise the block runs the whole body.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrow {
    /// Plans of a block, over the same inputs and outputs.
    pub bodies: Vec<Plan>,
    /// For each block along the last axis, the body that suffices; `None` for the whole one.
    pub of_blocks: Vec<Option<usize>>,
    /// Inputs of the body that must be finite.
    pub finite_inputs: Vec<usize>,
    /// Outputs that must be finite after the narrow body ran; if not, the whole body runs after it.
    pub finite_outputs: Vec<usize>,
}

/// An axis of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepAxis {
    /// Its letter.
    pub name: String,
    /// Number of values.
    pub extent: usize,
    /// Values per block; it divides the extent except on the last axis.
    pub block: usize,
}

impl SweepAxis {
    /// Number of blocks along the axis, a shorter last one included.
    pub fn blocks(&self) -> usize {
        self.extent.div_ceil(self.block.max(1))
    }
}

/// View of a block of a [`Sweep`] into a buffer: from the element at `Σ stride · row` on, where `row` is the first row
/// of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The buffer.
    pub buffer: BufferId,
    /// Stride along each axis of the sweep; 0 if every block has the same view.
    pub strides: Vec<isize>,
}

/// `c[batch, m, n] = reduce over k of map(a[batch, m, k], b[batch, k, n])`, each of batch, m, n, k
/// a bundle of any number of axes with any strides. Every element of `c` that the axes reach is
/// written; it is read only by one that accumulates.
#[derive(Clone, Debug, PartialEq)]
pub struct Contraction {
    /// Element type of operands and output.
    pub dtype: DType,
    /// Operator that joins an element of `a` (left) and one of `b` (right).
    pub map: BinaryOp,
    /// Function of the joined value.
    pub then: Option<Then>,
    /// Monoid of the reduction.
    pub reduce: Monoid,
    /// Left operand.
    pub a: Base,
    /// Right operand.
    pub b: Base,
    /// Output.
    pub c: Base,
    /// Accumulate into `c`: `c = reduce(c, reduce over k …)`.
    pub accumulate: bool,
    /// The axes, in the order of the domain; extents may be 0 or 1.
    pub axes: Vec<ContractionAxis>,
    /// The expression it computes.
    pub span: Span,
}

impl Contraction {
    /// Product of the extents of all axes of a role, saturating.
    pub fn extent(&self, role: Role) -> u64 {
        let of = self.axes.iter().filter(|a| a.role == role);
        of.fold(1, |n: u64, a| n.saturating_mul(a.extent as u64))
    }

    /// Tells whether engines have contraction kernels for these operators and type. Others become nests: maps that can
    /// fail, that change the type, or that are no single vector instruction.
    pub fn supports(dtype: DType, (map, then): (BinaryOp, Option<Then>), reduce: Monoid) -> bool {
        use BinaryOp::{Add, Div, Max, Min, Mul, Sub};
        let accepted = map.accepts().contains(dtype)
            && reduce.op().accepts().contains(dtype)
            && reduce != Monoid::LogAddExp;
        let known = match dtype {
            DType::Bool => map.result().of(dtype) == DType::Bool,
            DType::I32 | DType::I64 => matches!(map, Add | Sub | Mul | Max | Min),
            DType::F32 | DType::F64 => matches!(map, Add | Sub | Mul | Div | Max | Min),
            DType::C64 | DType::C128 => matches!(map, Add | Sub | Mul),
            _ => false,
        };
        let distance =
            || dtype.is_float() && matches!(map, Add | Sub) && !matches!(reduce, Monoid::Mul);
        accepted && known && (then.is_none() || distance())
    }
}

/// A contraction in which each row (of the axes M) selects its right operand by an index; rows of the same group are
/// multiplied together. Rows with an index out of range hold the identity.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouped {
    /// The contraction with the first group's operand; it does not accumulate.
    pub each: Contraction,
    /// The index array, of i32 or i64.
    pub index: Base,
    /// Its element type.
    pub index_dtype: DType,
    /// Stride of the index array along each axis of the contraction; 0 for axes other than M.
    pub index_steps: Vec<isize>,
    /// Index of the first group.
    pub first: i64,
    /// Number of groups, with consecutive indices.
    pub groups: usize,
    /// Stride between groups in the right operand.
    pub step: isize,
}

/// The element of a buffer at the origin of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// The buffer.
    pub buffer: BufferId,
    /// Offset of the origin from the buffer's element of index 0, 0, ….
    pub offset: isize,
}

/// An axis of a contraction. Strides of operands that do not depend on it are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractionAxis {
    /// Its letter.
    pub name: String,
    /// Its bundle.
    pub role: Role,
    /// Number of values.
    pub extent: usize,
    /// Stride of `a`.
    pub a: isize,
    /// Stride of `b`.
    pub b: isize,
    /// Stride of `c`.
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

/// `to[rows, n] = reduce of from[rows, 0], …, from[rows, n]`, along one axis of any stride. Every element of `to` that
/// the axes reach is written once.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Element type of both.
    pub dtype: DType,
    /// Monoid of the scan.
    pub reduce: Monoid,
    /// Input.
    pub from: Base,
    /// Output.
    pub to: Base,
    /// Levels that floating-point sums are relative to.
    pub levels: Option<Levels>,
    /// The scanned axis.
    pub along: ScanAxis,
    /// The other axes; each combination is one row.
    pub rows: Vec<ScanAxis>,
    /// The expression it computes.
    pub span: Span,
}

/// Scales of a scan's values: `to[n] = Σ from[k] · exp(level[k] - level[n])` over `k <= n`. Levels never decrease
/// along a row, so no exponential exceeds 1. If a level rises so far that the exponential is 0, all earlier values are
/// dropped, NaN included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The first level.
    pub base: Base,
    /// Stride along the scan's axis; may be 0.
    pub along: isize,
    /// Stride along each of its row axes.
    pub rows: Vec<isize>,
}

/// An axis of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanAxis {
    /// Its letter.
    pub name: String,
    /// Number of values.
    pub extent: usize,
    /// Stride of the input; may be 0.
    pub from: isize,
    /// Stride of the output.
    pub to: isize,
}

/// Orders the values of each row; every element of `to` that the axes reach is written once.
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// Element type of the values.
    pub dtype: DType,
    /// Direction, and what is stored.
    pub order: Order,
    /// Input.
    pub from: Base,
    /// Output, of the values' type, or i64 for positions.
    pub to: Base,
    /// The axis along which values are ordered; its stride of the output is 0.
    pub values: ScanAxis,
    /// The axis of the places, at most as many as values; its stride of the input is 0.
    pub places: ScanAxis,
    /// The other axes; each combination is one row.
    pub rows: Vec<ScanAxis>,
    /// The expression it computes.
    pub span: Span,
}

/// A fused loop nest: at every point of a domain evaluate `body`, combine it into the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// The domain, in order of evaluation if that is fixed.
    pub axes: Vec<NestAxis>,
    /// Arrays read at affine positions.
    pub loads: Vec<Load>,
    /// Nodes in post-order; the last is the value.
    pub body: Vec<Node>,
    /// Destination of the value.
    pub store: Store,
    /// Reducer of values that are written to one element; `None` stores.
    pub reduce: Option<Reducer>,
    /// Initial contents of the output. `Covered`: every element is reached, by points that differ in reduced axes
    /// only, so a kernel may skip initialisation and keep accumulators in registers.
    pub start: Start,
    /// Combine in lexicographic order of `axes`, one point after another, with one rounding for
    /// each operation: the order that small programs promise.
    pub sequential: bool,
    /// The expression it computes.
    pub span: Span,
}

/// Fewest rows, and columns, of a product of narrow factors that engines have kernels for.
pub const NARROW_SIDE: usize = 16;

/// Tells whether engines multiply elements of these types, each cast to `wide`, without storing the casts.
pub fn multiplies_narrow(left: DType, right: DType, wide: DType) -> bool {
    let whole = |t: DType| matches!(t, DType::U8 | DType::I8 | DType::I16);
    match wide {
        DType::I32 => whole(left) && whole(right),
        DType::F32 => left == DType::BF16 && right == DType::BF16,
        _ => false,
    }
}

/// The two loads whose casts a nest multiplies and adds, if [`multiplies_narrow`] holds for them.
pub fn narrow_factors(nest: &Nest) -> Option<[usize; 2]> {
    if nest.reduce != Some(Reducer::Monoid(Monoid::Add)) {
        return None;
    }
    let &Node::Binary(BinaryOp::Mul, x, y) = nest.body.last()? else { return None };
    let wide = nest.store.dtype;
    let load = |NodeId(at): NodeId| match nest.body[at as usize] {
        Node::Unary(UnaryOp::Cast(to), NodeId(of)) if to == wide => match nest.body[of as usize] {
            Node::Load(load) => Some(load as usize),
            _ => None,
        },
        _ => None,
    };
    let loads = [load(x)?, load(y)?];
    let [left, right] = loads.map(|load| nest.loads[load].dtype);
    multiplies_narrow(left, right, wide).then_some(loads)
}

/// Contents of a nest's output before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Undefined: the nest defines each element (the reducer's identity if reduced axes are empty).
    Covered,
    /// Values of an earlier step (a fill, or the `From` of a statement), which points accumulate into, and which stay
    /// where no point writes. Distinct points may write the same element along axes marked [`NestAxis::collides`].
    Existing,
}

/// An axis of a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestAxis {
    /// Its letter.
    pub name: String,
    /// Number of values.
    pub extent: usize,
    /// True if the output does not depend on it.
    pub reduced: bool,
    /// True if points that differ in it (among others) may write the same element although the output depends on it:
    /// `[i+j]`.
    pub collides: bool,
}

/// An array read at `offset + Σ stride · axis`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Array and origin.
    pub base: Base,
    /// Its element type.
    pub dtype: DType,
    /// Stride along each axis of the nest.
    pub strides: Vec<isize>,
}

/// Index of a [`Node`] in its nest's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A node of a nest's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// An element of a load (an index into [`Nest::loads`]).
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
        /// Stride along each axis of the nest.
        strides: Vec<isize>,
        /// Computed offset, an i64.
        offset: NodeId,
    },
    /// A function of one operand.
    Unary(UnaryOp, NodeId),
    /// A function of two operands.
    Binary(BinaryOp, NodeId, NodeId),
    /// The second operand where the first (a bool) holds, else the third.
    Select(NodeId, NodeId, NodeId),
    /// A uniform random number in `[lo, hi)`, i64 or f64 as these are: [`ijk_types::random`].
    Random {
        /// The key of the source of numbers.
        key: u64,
        /// Counter within the sequence, an i64.
        counter: NodeId,
        /// Lower bound, inclusive.
        lo: NodeId,
        /// Upper bound, exclusive.
        hi: NodeId,
    },
}

/// Destination of a nest's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Array and origin.
    pub base: Base,
    /// Its element type.
    pub dtype: DType,
    /// Stride along each axis of the nest; 0 along reduced ones.
    pub strides: Vec<isize>,
    /// Computed offset, for divisions, remainders and elements in an output's index: that of other dimensions than those
    /// of the strides, which are in bounds on their own.
    pub offset: Option<NodeId>,
}
