//! Chains of cheap functions: each element passes all of them in registers.
//!
//! Separate loops over a tile load and store L1 for each function, which takes longer than the arithmetic. Here several
//! vectors of a tile are processed by the whole chain, and each link is dispatched once for all of them.

use crate::lines::LINE;
use crate::simd::{Float, Kernel, Level, Simd, Vector};
use ijk_types::{BinaryOp, DType, UnaryOp};

/// Function of a link, of the value so far and of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LinkOp {
    /// The operand itself: the first link, and only that.
    Start,
    /// A 32-bit integer operand, rounded to the type of the chain; only first.
    StartI32,
    /// A 64-bit integer operand, likewise.
    StartI64,
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
}

/// A comparison; false for NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
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
        matches!(self, Self::Square | Self::Cube | Self::Neg | Self::Abs | Self::Sqrt)
    }

    /// Returns true for functions that compare two further operands.
    pub fn compares(self) -> bool {
        use LinkOp::{KeepEq, KeepLe, KeepLt, TakeEq, TakeLe, TakeLt};
        matches!(self, KeepLt | KeepLe | KeepEq | TakeLt | TakeLe | TakeEq)
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
            _ => return None,
        })
    }

    /// The link that starts with elements of another type, for a chain of type `to`.
    pub fn of_cast(from: DType, to: DType) -> Option<Self> {
        Some(match (from, to) {
            (DType::I32, DType::F32 | DType::F64) => Self::StartI32,
            (DType::I64, DType::F32 | DType::F64) => Self::StartI64,
            _ => return None,
        })
    }
}

/// Returns true for element types with compiled chains.
pub(crate) fn chains(t: DType, level: Level) -> bool {
    // NEON's instruction differs in the sign of zeros; the portable level has too few registers.
    matches!(t, DType::F32 | DType::F64) && matches!(level.name(), "avx2" | "avx512")
}

/// Function of a link and kinds of its operands, as one dispatch code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkCode {
    code: u8,
    /// Operands that are broadcast scalars; the others are contiguous elements.
    ones: [bool; 3],
}

impl LinkCode {
    /// The operand is the first one, or with `product` the rounded product of the first two, of which a scalar must be
    /// the second.
    pub fn new(op: LinkOp, product: bool, ones: [bool; 3]) -> Self {
        let [a, b, _] = ones;
        let kind = match (product && !op.compares(), a, b) {
            _ if op.is_unary() => ONE,
            (false, false, _) => EACH,
            (false, true, _) => ONE,
            (true, false, false) => EACH_TIMES_EACH,
            (true, true, true) => ONE_TIMES_ONE,
            (true, ..) => EACH_TIMES_ONE,
        };
        Self { code: op as u8 * KINDS + kind, ones }
    }
}

/// A link with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub code: LinkCode,
    /// Bytes of an element of its operands.
    pub size: usize,
    /// Addresses of the operand, or of the two factors of a product; and of the two compared operands. Those that the
    /// function does not have are arbitrary.
    pub operands: [*const u8; 3],
}

impl Link {
    /// Advances the operands by a number of elements.
    pub fn advance(&mut self, elements: usize) {
        for (operand, one) in self.operands.iter_mut().zip(self.code.ones) {
            *operand = operand.wrapping_add(if one { 0 } else { elements * self.size });
        }
    }
}

/// Kinds of operands; the dispatch code combines function and kind.
const KINDS: u8 = 5;
const EACH: u8 = 0;
const ONE: u8 = 1;
const EACH_TIMES_EACH: u8 = 2;
const EACH_TIMES_ONE: u8 = 3;
const ONE_TIMES_ONE: u8 = 4;

/// The code of a function with a kind of operand.
struct Code<const OP: u8, const KIND: u8>;

impl<const OP: u8, const KIND: u8> Code<OP, KIND> {
    const IS: u8 = OP * KINDS + KIND;
}

/// Destination of the values of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    pub first: *mut u8,
    /// Non-temporal stores, if the address is aligned to lines and the level [`streams`].
    pub stream: bool,
}

/// Returns true for levels whose chains support non-temporal stores.
pub(crate) fn streams(level: Level) -> bool {
    level.name() == "avx512"
}

/// Computes the chain `links` for `n` elements of type `t` into a destination.
///
/// # Safety
/// `to` has room for `n` elements, which overlap no operand; operands have `n` elements, or one if broadcast; only the
/// first link is a start; [`chains`] holds for the type. Streaming stores need a [`fence`](crate::copy::fence) before
/// other threads read.
pub(crate) unsafe fn chain(level: Level, t: DType, n: usize, to: Destination, links: &[Link]) {
    let stream = to.stream && to.first.addr().is_multiple_of(LINE);
    let chain = Chain { n, dst: to.first, stream, links };
    match t {
        DType::F64 => level.run(Double(chain)),
        _ => level.run(Single(chain)),
    }
}

#[derive(Clone, Copy)]
struct Chain<'a> {
    n: usize,
    dst: *mut u8,
    stream: bool,
    links: &'a [Link],
}

struct Single<'a>(Chain<'a>);
struct Double<'a>(Chain<'a>);

impl Kernel for Single<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: guaranteed by the caller of `chain`, which constructs it.
        unsafe { self.0.run_fused::<S, S::F32>(simd) }
    }
}

impl Kernel for Double<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: as in the kernel for `f32`.
        unsafe { self.0.run_fused::<S, S::F64>(simd) }
    }
}

impl Chain<'_> {
    /// Executes at levels that [have chains](chains); the code of others is removed.
    ///
    /// # Safety
    /// As for [`chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn run_fused<S: Simd, V: Value + Vector<Simd = S>>(self, simd: S) {
        if S::FUSED {
            // SAFETY: guaranteed by the caller.
            unsafe { self.run::<V>(simd) }
        }
    }

    /// # Safety
    /// As for [`run_fused`](Self::run_fused).
    #[inline(always)]
    unsafe fn run<V: Value>(self, simd: V::Simd) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            // Values take half of the registers; operands need a few.
            match V::Simd::REGISTERS {
                32.. => self.blocks::<V, 16>(simd),
                _ => self.blocks::<V, 8>(simd),
            }
        }
    }

    /// Processes blocks of `K` vectors. The last block overlaps its predecessor to be full: single vectors would
    /// dispatch each link once more.
    ///
    /// # Safety
    /// As for [`run_fused`](Self::run_fused).
    #[inline(always)]
    unsafe fn blocks<V: Value, const K: usize>(self, simd: V::Simd) {
        let block = K * V::LANES;
        // SAFETY: each block has its elements within `n`.
        unsafe {
            if self.n < block {
                for at in (0..self.n).step_by(V::LANES) {
                    self.vectors::<V, 1, true>(simd, at);
                }
                return;
            }
            let mut at = 0;
            while at + block <= self.n {
                self.vectors::<V, K, false>(simd, at);
                at += block;
            }
            if at < self.n {
                let last = Self { stream: false, ..self };
                last.vectors::<V, K, false>(simd, self.n - block);
            }
        }
    }

    /// Processes `K` vectors from an element on, or a partial vector if `PART`.
    ///
    /// # Safety
    /// As for [`run_fused`](Self::run_fused); these elements are within `n`.
    #[inline(always)]
    unsafe fn vectors<V: Value, const K: usize, const PART: bool>(self, simd: V::Simd, at: usize) {
        let mut values = [V::splat(simd, 0.into()); K];
        let count = V::LANES.min(self.n - at);
        for link in self.links {
            // SAFETY: operands have these elements, or one.
            values = unsafe { linked::<V, K, PART>(simd, link, (at, count), values) };
        }
        let dst = self.dst.cast::<V::Element>();
        for (k, value) in values.into_iter().enumerate() {
            // SAFETY: the destination has room for these elements.
            unsafe {
                match PART {
                    true => value.store_partial(dst.add(at), count),
                    false if self.stream => value.stream(dst.add(at + k * V::LANES)),
                    false => value.store(dst.add(at + k * V::LANES)),
                }
            }
        }
    }
}

/// Source of vectors of an operand.
trait Fetch<V>: Copy {
    /// Vector `k`.
    ///
    /// # Safety
    /// The operand has vector `k`.
    unsafe fn get(self, k: usize) -> V;
}

/// A broadcast element.
#[derive(Clone, Copy)]
struct One<V>(V);

impl<V: Vector> Fetch<V> for One<V> {
    #[inline(always)]
    unsafe fn get(self, _: usize) -> V {
        self.0
    }
}

/// Contiguous elements; with `PART`, only the given number of them.
#[derive(Clone, Copy)]
struct Each<T, const PART: bool>(*const T, usize);

impl<V: Vector, const PART: bool> Fetch<V> for Each<V::Element, PART> {
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match PART {
                true => V::load_partial(self.0, self.1),
                false => V::load(self.0.add(k * V::LANES)),
            }
        }
    }
}

/// Floats to which integers are rounded.
trait Rounds<W> {
    fn rounded(whole: W) -> Self;
}

macro_rules! rounds {
    ($($from:ty => $to:ty),*) => {
        $(impl Rounds<$from> for $to {
            #[inline(always)]
            fn rounded(whole: $from) -> Self {
                whole as $to
            }
        })*
    };
}
rounds!(i32 => f32, i32 => f64, i64 => f32, i64 => f64);

/// Vectors that chains support.
trait Value: Float<Element: Rounds<i32> + Rounds<i64>> {}
impl<V: Float<Element: Rounds<i32> + Rounds<i64>>> Value for V {}

/// Most lanes of a vector.
const MOST_LANES: usize = 16;

/// Contiguous integers, rounded to floats.
#[derive(Clone, Copy)]
struct Rounded<W>(*const W, usize);

impl<V: Float<Element: Rounds<W>>, W: Copy> Fetch<V> for Rounded<W> {
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        const { assert!(V::LANES <= MOST_LANES) };
        let mut lanes = [V::Element::from(0); MOST_LANES];
        for (lane, value) in lanes[..self.1].iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            *value = V::Element::rounded(unsafe { self.0.add(k * V::LANES + lane).read() });
        }
        // SAFETY: the array has a vector's lanes.
        unsafe { V::load(lanes.as_ptr()) }
    }
}

/// Products of two operands.
#[derive(Clone, Copy)]
struct Times<A, B>(A, B);

impl<V: Float, A: Fetch<V>, B: Fetch<V>> Fetch<V> for Times<A, B> {
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.get(k).mul(self.1.get(k)) }
    }
}

/// The values after a link, for elements from `at` on.
///
/// # Safety
/// Operands have these elements, or one.
#[inline(always)]
unsafe fn linked<V: Value, const K: usize, const PART: bool>(
    simd: V::Simd,
    link: &Link,
    (at, count): (usize, usize),
    mut values: [V; K],
) -> [V; K] {
    let [a, b, c] = link.operands;
    let each = |operand: *const u8| {
        Each::<V::Element, PART>(operand.cast::<V::Element>().wrapping_add(at), count)
    };
    let one = |operand: *const u8| {
        // SAFETY: operands have one element.
        One(V::splat(simd, unsafe { operand.cast::<V::Element>().read() }))
    };
    let lanes = if PART { count } else { V::LANES };
    macro_rules! rounded {
        ($t:ty) => {
            Rounded(a.cast::<$t>().wrapping_add(at), lanes)
        };
    }
    macro_rules! each {
        ($value:ident, $x:ident = $operand:expr => $new:expr) => {{
            let operand = $operand;
            for k in 0..K {
                // SAFETY: guaranteed by the caller.
                let ($value, $x): (V, V) = unsafe { (values[k], operand.get(k)) };
                values[k] = $new;
            }
        }};
    }
    macro_rules! own {
        ($value:ident => $new:expr) => {
            for value in &mut values {
                let $value = *value;
                *value = $new;
            }
        };
    }
    // One dispatch for each link, by function and kind of operand.
    macro_rules! functions {
        ($($op:ident: $value:ident, $x:ident => $new:expr;)*) => {
            match link.code.code {
                $(Code::<{ LinkOp::$op as u8 }, EACH>::IS => each!($value, $x = each(a) => $new),
                Code::<{ LinkOp::$op as u8 }, ONE>::IS => each!($value, $x = one(a) => $new),
                Code::<{ LinkOp::$op as u8 }, EACH_TIMES_EACH>::IS => {
                    each!($value, $x = Times(each(a), each(b)) => $new)
                }
                Code::<{ LinkOp::$op as u8 }, EACH_TIMES_ONE>::IS => {
                    each!($value, $x = Times(each(a), one(b)) => $new)
                }
                Code::<{ LinkOp::$op as u8 }, ONE_TIMES_ONE>::IS => {
                    each!($value, $x = Times(one(a), one(b)) => $new)
                })*
                Code::<{ LinkOp::StartI32 as u8 }, EACH>::IS => each!(_v, x = rounded!(i32) => x),
                Code::<{ LinkOp::StartI64 as u8 }, EACH>::IS => each!(_v, x = rounded!(i64) => x),
                Code::<{ LinkOp::Square as u8 }, ONE>::IS => own!(v => v.mul(v)),
                Code::<{ LinkOp::Cube as u8 }, ONE>::IS => own!(v => v.mul(v).mul(v)),
                Code::<{ LinkOp::Neg as u8 }, ONE>::IS => {
                    let zero = V::splat(simd, -V::Element::from(0));
                    own!(v => zero.sub(v))
                }
                Code::<{ LinkOp::Abs as u8 }, ONE>::IS => own!(v => v.abs()),
                Code::<{ LinkOp::Sqrt as u8 }, ONE>::IS => own!(v => v.sqrt()),
                // SAFETY: guaranteed by the caller.
                _ => values = unsafe {
                    match (link.code.ones[1], link.code.ones[2]) {
                        (true, true) => chosen(link.code.code, values, (each(a), one(a)), one(b), one(c)),
                        (true, false) => chosen(link.code.code, values, (each(a), one(a)), one(b), each(c)),
                        (false, true) => chosen(link.code.code, values, (each(a), one(a)), each(b), one(c)),
                        (false, false) => chosen(link.code.code, values, (each(a), one(a)), each(b), each(c)),
                    }
                },
            }
        };
    }
    functions! {
        Start: _value, x => x;
        Add: value, x => value.add(x);
        Sub: value, x => value.sub(x);
        SubFrom: value, x => x.sub(value);
        Mul: value, x => value.mul(x);
        Div: value, x => value.div(x);
        DivInto: value, x => x.div(value);
        Max: value, x => value.max_nan(x);
        MaxOf: value, x => x.max_nan(value);
        Min: value, x => value.min_nan(x);
        MinOf: value, x => x.min_nan(value);
    }
    values
}

/// The values after a link that compares `x` and `y`, given the first operand as both kinds.
///
/// # Safety
/// Operands have a vector for each value; of the first operand, the kind of the link has.
#[inline(always)]
unsafe fn chosen<V: Float, const K: usize>(
    code: u8,
    mut values: [V; K],
    (each, one): (impl Fetch<V>, impl Fetch<V>),
    x: impl Fetch<V>,
    y: impl Fetch<V>,
) -> [V; K] {
    macro_rules! functions {
        ($($op:ident: $value:ident, $other:ident => $compare:ident($yes:ident, $no:ident);)*) => {
            match code {
                $(Code::<{ LinkOp::$op as u8 }, EACH>::IS => {
                    functions!(@ each, $value, $other, $compare($yes, $no))
                }
                Code::<{ LinkOp::$op as u8 }, ONE>::IS => {
                    functions!(@ one, $value, $other, $compare($yes, $no))
                })*
                _ => {}
            }
        };
        (@ $operand:ident, $value:ident, $other:ident, $compare:ident($yes:ident, $no:ident)) => {
            for k in 0..K {
                let $value = values[k];
                // SAFETY: guaranteed by the caller.
                let ($other, x, y) = unsafe { ($operand.get(k), x.get(k), y.get(k)) };
                values[k] = x.$compare(y, $yes, $no);
            }
        };
    }
    functions! {
        KeepLt: value, other => where_lt(value, other);
        KeepLe: value, other => where_le(value, other);
        KeepEq: value, other => where_eq(value, other);
        TakeLt: value, other => where_lt(other, value);
        TakeLe: value, other => where_le(other, value);
        TakeEq: value, other => where_eq(other, value);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_types::{Real, Scalar, scalar};

    /// Reference result of a unary or binary link.
    fn link_of(op: LinkOp, value: Scalar, x: Scalar) -> Scalar {
        let binary = |op, a, b| scalar::binary(op, a, b).unwrap();
        let square = binary(BinaryOp::Mul, value, value);
        match op {
            LinkOp::Start => x,
            LinkOp::Add => binary(BinaryOp::Add, value, x),
            LinkOp::Sub => binary(BinaryOp::Sub, value, x),
            LinkOp::SubFrom => binary(BinaryOp::Sub, x, value),
            LinkOp::Mul => binary(BinaryOp::Mul, value, x),
            LinkOp::Div => binary(BinaryOp::Div, value, x),
            LinkOp::DivInto => binary(BinaryOp::Div, x, value),
            LinkOp::Max => binary(BinaryOp::Max, value, x),
            LinkOp::MaxOf => binary(BinaryOp::Max, x, value),
            LinkOp::Min => binary(BinaryOp::Min, value, x),
            LinkOp::MinOf => binary(BinaryOp::Min, x, value),
            LinkOp::Square => square,
            LinkOp::Cube => binary(BinaryOp::Mul, square, value),
            LinkOp::Neg => scalar::unary(UnaryOp::Neg, value).unwrap(),
            LinkOp::Abs => scalar::unary(UnaryOp::Abs, value).unwrap(),
            LinkOp::Sqrt => scalar::unary(UnaryOp::Sqrt, value).unwrap(),
            _ => unreachable!("the others have more operands"),
        }
    }

    /// Reference result of any link.
    fn linked_all(op: LinkOp, product: bool, value: Scalar, [x, y, z]: [Scalar; 3]) -> Scalar {
        let holds = |op| scalar::binary(op, y, z) == Ok(Scalar::Bool(true));
        let keeps = match op {
            LinkOp::KeepLt => holds(BinaryOp::Lt),
            LinkOp::KeepLe => holds(BinaryOp::Le),
            LinkOp::KeepEq => holds(BinaryOp::Eq),
            LinkOp::TakeLt => !holds(BinaryOp::Lt),
            LinkOp::TakeLe => !holds(BinaryOp::Le),
            _ => !holds(BinaryOp::Eq),
        };
        match op {
            _ if op.compares() => {
                if keeps {
                    value
                } else {
                    x
                }
            }
            _ if product => link_of(op, value, scalar::binary(BinaryOp::Mul, x, y).unwrap()),
            _ => link_of(op, value, x),
        }
    }

    const OPS: [LinkOp; 19] = [
        LinkOp::Add,
        LinkOp::Sub,
        LinkOp::SubFrom,
        LinkOp::Mul,
        LinkOp::Div,
        LinkOp::DivInto,
        LinkOp::Max,
        LinkOp::MaxOf,
        LinkOp::Min,
        LinkOp::MinOf,
        LinkOp::Square,
        LinkOp::Cube,
        LinkOp::Neg,
        LinkOp::Abs,
        LinkOp::Sqrt,
        LinkOp::KeepLt,
        LinkOp::KeepLe,
        LinkOp::TakeLt,
        LinkOp::TakeEq,
    ];

    /// Checks chains of two links on special and other numbers, for lengths around whole vectors.
    fn check<T: Real>() {
        let special = [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3e-41];
        let at = |n: usize| {
            T::cast_from(if n.is_multiple_of(3) { special[n / 3 % 8] } else { n as f64 - 70.0 })
        };
        let x: Vec<T> = (0..300).map(at).collect();
        let y: Vec<T> = (0..300).map(|n| at(n * 7 + 1)).collect();
        let levels = Level::available().into_iter().filter(|&level| chains(T::DTYPE, level));
        for (level, first, second) in levels
            .flat_map(|level| OPS.map(|first| (level, first)))
            .flat_map(|(level, first)| OPS.map(|second| (level, first, second)))
        {
            let lengths = [0, 1, 15, 16, 130, 257, 290];
            for (n, one) in lengths.into_iter().zip([true, false].into_iter().cycle()) {
                let (product, z) = (n % 2 == 0 && !first.compares(), &x[5..]);
                let operand = |one, from: &[T]| (one, from.as_ptr().cast::<u8>());
                let link = |op, product, mut operands: [(bool, *const u8); 3]| {
                    if product && operands[0].0 {
                        operands.swap(0, 1);
                    }
                    let code = LinkCode::new(op, product, operands.map(|(one, _)| one));
                    Link { code, size: size_of::<T>(), operands: operands.map(|(_, first)| first) }
                };
                let start = operand(false, &x);
                let links = [
                    link(LinkOp::Start, false, [start; 3]),
                    link(first, product, [operand(one, &y), operand(!one, z), start]),
                    link(second, false, [operand(!one, z), operand(false, &y), operand(one, &x)]),
                ];
                let mut out = vec![T::default(); n];
                let to = Destination { first: out.as_mut_ptr().cast(), stream: n % 3 == 0 };
                // SAFETY: operands have `n` elements, or one.
                unsafe { chain(level, T::DTYPE, n, to, &links) };
                for (k, &got) in out.iter().enumerate() {
                    let with = |from: &[T], one: bool| from[if one { 0 } else { k }].into_scalar();
                    let start = with(&x, false);
                    let operands = [with(&y, one), with(z, !one), start];
                    let value = linked_all(first, product, start, operands);
                    let operands = [with(z, !one), with(&y, false), with(&x, one)];
                    let value = linked_all(second, false, value, operands);
                    let nan = scalar::binary(BinaryOp::Ne, value, value) == Ok(Scalar::Bool(true));
                    #[allow(clippy::eq_op, reason = "NaN is what differs from itself")]
                    let same = got.into_scalar().same_bits(value) || nan && got != got;
                    assert!(same, "{first:?} {second:?} {:?}: {value:?}, not {got:?}", x[k]);
                }
            }
        }
    }

    #[test]
    fn chains_are_functions_one_after_another() {
        check::<f32>();
        check::<f64>();
    }
}
