//! Links of a chain: their functions, operands and dispatch codes.

use ijk_types::{BinaryOp, DType, Scalar, UnaryOp};

/// Function of a link, of the value so far and of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkOp {
    /// The operand itself: the first link, and the first one behind a store.
    Start,
    /// A 32-bit integer operand, rounded to the type of the chain, in the same places.
    StartI32,
    /// A 64-bit integer operand, likewise.
    StartI64,
    /// An integer of 8 or 16 bits, likewise.
    StartU8,
    StartI8,
    StartU16,
    StartI16,
    /// The value, which is also written to the operand; later links may read it there.
    Store,
    /// `value + operand`.
    Add,
    /// `value - operand`.
    Sub,
    /// `operand - value`.
    SubFrom,
    /// `value · operand`.
    Mul,
    /// `value / operand`.
    Div,
    /// `operand / value`.
    DivInto,
    /// `value / operand` of a value that is an integer of at most 16 bits, where the second operand is the
    /// [inverse](LinkOp::inverse) of the first. Both are broadcast.
    DivShort,
    /// Maximum; signs of zeros and NaN as in [`ijk_types::Ordered::max`].
    Max,
    /// Maximum with the operand first.
    MaxOf,
    /// Minimum.
    Min,
    /// Minimum with the operand first.
    MinOf,
    /// `value · value`.
    Square,
    /// `value · value · value`.
    Cube,
    /// `-value`.
    Neg,
    /// Absolute value.
    Abs,
    /// Square root.
    Sqrt,
    /// Greatest whole number that is not greater.
    Floor,
    /// Least whole number that is not less.
    Ceil,
    /// Nearest whole number, of two the even one.
    Round,
    /// The value if the second operand is less than the third, else the first operand.
    KeepLt,
    /// The same with less or equal.
    KeepLe,
    /// The same with equal.
    KeepEq,
    /// The first operand if the second is less than the third, else the value.
    TakeLt,
    /// The same with less or equal.
    TakeLe,
    /// The same with equal.
    TakeEq,
    /// The value if the second operand, of bools, is true, else the first operand.
    KeepIf,
    /// The first operand if the second, of bools, is true, else the value.
    TakeIf,
}

/// A comparison; false for NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Lt,
    Le,
    Eq,
}

impl Compare {
    /// The comparison of an operator, if it is one of these.
    pub fn of(op: BinaryOp) -> Option<Self> {
        Some(match op {
            BinaryOp::Lt => Self::Lt,
            BinaryOp::Le => Self::Le,
            BinaryOp::Eq => Self::Eq,
            _ => return None,
        })
    }

    /// The links that keep the value if the comparison holds, and that replace it.
    pub fn links(self) -> [LinkOp; 2] {
        match self {
            Self::Lt => [LinkOp::KeepLt, LinkOp::TakeLt],
            Self::Le => [LinkOp::KeepLe, LinkOp::TakeLe],
            Self::Eq => [LinkOp::KeepEq, LinkOp::TakeEq],
        }
    }
}

impl LinkOp {
    /// Returns true for functions of the value alone.
    pub fn is_unary(self) -> bool {
        use LinkOp::{Abs, Ceil, Cube, Floor, Neg, Round, Sqrt, Square};
        matches!(self, Square | Cube | Neg | Abs | Sqrt | Floor | Ceil | Round)
    }

    /// Returns true for functions that compare two further operands.
    pub fn compares(self) -> bool {
        use LinkOp::{KeepEq, KeepLe, KeepLt, TakeEq, TakeLe, TakeLt};
        matches!(self, KeepLt | KeepLe | KeepEq | TakeLt | TakeLe | TakeEq)
    }

    /// Returns true for functions that choose by an operand of bools.
    pub fn chooses(self) -> bool {
        matches!(self, Self::KeepIf | Self::TakeIf)
    }

    /// The link with value and operand exchanged, of a function of these two.
    pub fn exchanged(self) -> Option<Self> {
        Some(match self {
            Self::Add => Self::Add,
            Self::Mul => Self::Mul,
            Self::Sub => Self::SubFrom,
            Self::SubFrom => Self::Sub,
            Self::Div => Self::DivInto,
            Self::DivInto => Self::Div,
            Self::Max => Self::MaxOf,
            Self::MaxOf => Self::Max,
            Self::Min => Self::MinOf,
            Self::MinOf => Self::Min,
            _ => return None,
        })
    }

    /// The link of a binary function whose first or second operand is the value so far.
    pub fn of_binary(op: BinaryOp, value_first: bool) -> Option<Self> {
        Some(match (op, value_first) {
            (BinaryOp::Add, _) => Self::Add,
            (BinaryOp::Mul, _) => Self::Mul,
            (BinaryOp::Sub, true) => Self::Sub,
            (BinaryOp::Sub, false) => Self::SubFrom,
            (BinaryOp::Div, true) => Self::Div,
            (BinaryOp::Div, false) => Self::DivInto,
            (BinaryOp::Max, true) => Self::Max,
            (BinaryOp::Max, false) => Self::MaxOf,
            (BinaryOp::Min, true) => Self::Min,
            (BinaryOp::Min, false) => Self::MinOf,
            _ => return None,
        })
    }

    /// The link of a unary function.
    pub fn of_unary(op: UnaryOp) -> Option<Self> {
        Some(match op {
            UnaryOp::Neg => Self::Neg,
            UnaryOp::Abs => Self::Abs,
            UnaryOp::Sqrt => Self::Sqrt,
            UnaryOp::Floor => Self::Floor,
            UnaryOp::Ceil => Self::Ceil,
            UnaryOp::Round => Self::Round,
            _ => return None,
        })
    }

    /// The link that starts with elements of another type, for a chain of type `to`.
    pub fn of_cast(from: DType, to: DType) -> Option<Self> {
        Some(match (from, to) {
            (DType::I32, DType::F32 | DType::F64) => Self::StartI32,
            (DType::I64, DType::F32 | DType::F64) => Self::StartI64,
            (DType::U8, DType::F32 | DType::F64) => Self::StartU8,
            (DType::I8, DType::F32 | DType::F64) => Self::StartI8,
            (DType::U16, DType::F32 | DType::F64) => Self::StartU16,
            (DType::I16, DType::F32 | DType::F64) => Self::StartI16,
            _ => return None,
        })
    }

    /// Returns true for starts with integers of at most 16 bits.
    pub fn is_short(self) -> bool {
        matches!(self, Self::StartU8 | Self::StartI8 | Self::StartU16 | Self::StartI16)
    }

    /// The rounded inverse of a divisor of [`DivShort`](Self::DivShort), if neither is so small or great that what the
    /// division computes on the way is rounded to less than full precision.
    pub fn inverse(divisor: Scalar) -> Option<Scalar> {
        const LIMIT: f64 = (1u64 << 60) as f64;
        match divisor {
            Scalar::F32(x) if (1.0 / LIMIT..=LIMIT).contains(&f64::from(x.abs())) => {
                Some(Scalar::F32(x.recip()))
            }
            Scalar::F64(x) if (1.0 / LIMIT..=LIMIT).contains(&x.abs()) => {
                Some(Scalar::F64(x.recip()))
            }
            _ => None,
        }
    }
}

/// Function of a link and kinds of its operands, as one dispatch code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCode {
    pub(super) code: u8,
    /// Operands that are broadcast scalars; the others are contiguous elements.
    pub(super) ones: [bool; 3],
}

impl LinkCode {
    /// The operand is the first one, or with `product` the rounded product of the first two, of which a scalar must be
    /// the second.
    pub fn new(op: LinkOp, product: bool, ones: [bool; 3]) -> Self {
        let [a, b, _] = ones;
        let kind = match (product && !op.compares() && !op.chooses(), a, b) {
            _ if op.is_unary() => ONE,
            (false, false, _) => EACH,
            (false, true, _) => ONE,
            (true, false, false) => EACH_TIMES_EACH,
            (true, true, true) => ONE_TIMES_ONE,
            (true, ..) => EACH_TIMES_ONE,
        };
        Self { code: op as u8 * KINDS + kind, ones }
    }

    /// Returns true unless the link only loads or stores.
    pub fn is_function(self) -> bool {
        self.code >= LinkOp::Add as u8 * KINDS
    }

    /// Returns true if operand `n` is of bools.
    #[inline(always)]
    pub(super) fn is_condition(self, n: usize) -> bool {
        n == 1 && self.code >= LinkOp::KeepIf as u8 * KINDS
    }
}

/// A link with its operands.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub code: LinkCode,
    /// Bytes of an element of its operands, except of bools.
    pub size: usize,
    /// Addresses of the operand, or of the two factors of a product; and of the two compared operands, or of bools. Those that the
    /// function does not have are arbitrary.
    pub operands: [*const u8; 3],
    /// Bytes from one row of each operand to the next.
    pub rows: [isize; 3],
    /// Bytes from an element to the one that is prefetched when it is read; 0 for none.
    pub ahead: usize,
}

impl Link {
    /// Advances the operands by a row.
    #[inline(always)]
    pub fn next_row(&mut self) {
        for (operand, row) in self.operands.iter_mut().zip(self.rows) {
            *operand = operand.wrapping_offset(row);
        }
    }

    /// Advances the operands by a number of elements.
    pub fn advance(&mut self, elements: usize) {
        for (n, (operand, one)) in self.operands.iter_mut().zip(self.code.ones).enumerate() {
            let size = if self.code.is_condition(n) { size_of::<bool>() } else { self.size };
            *operand = operand.wrapping_add(if one { 0 } else { elements * size });
        }
    }
}

/// Kinds of operands; the dispatch code combines function and kind.
const KINDS: u8 = 5;
pub(super) const EACH: u8 = 0;
pub(super) const ONE: u8 = 1;
pub(super) const EACH_TIMES_EACH: u8 = 2;
pub(super) const EACH_TIMES_ONE: u8 = 3;
pub(super) const ONE_TIMES_ONE: u8 = 4;

/// The code of a function with a kind of operand.
pub(super) struct Code<const OP: u8, const KIND: u8>;

impl<const OP: u8, const KIND: u8> Code<OP, KIND> {
    pub(super) const IS: u8 = OP * KINDS + KIND;
}
