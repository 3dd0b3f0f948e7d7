//! Chains of cheap functions: a value of each element goes through all of them in registers.
//!
//! One function after another over a tile reads and writes the first cache for each, which takes longer than to
//! compute. Here some vectors of a tile go through the whole chain. Which function comes next is looked up once for
//! all of them.

use crate::simd::{Float, Kernel, Level, Simd};
use ijk_types::{BinaryOp, DType, UnaryOp};

/// What becomes of the value that a chain has so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkOp {
    /// It is the operand: the first link, and no other.
    Start,
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
    /// The greater; which of two zeros, and which NaN, is as of [`ijk_types::Ordered::max`].
    Max,
    /// The same with the operand first.
    MaxOf,
    /// The less.
    Min,
    /// The same with the operand first.
    MinOf,
    /// `value · value`.
    Square,
    /// `value · value · value`.
    Cube,
    /// `-value`.
    Neg,
    /// Its magnitude.
    Abs,
}

impl LinkOp {
    /// The link of a function of two operands, of which the value is the first or the second.
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

    /// The link of a function of one operand.
    pub fn of_unary(op: UnaryOp) -> Option<Self> {
        Some(match op {
            UnaryOp::Neg => Self::Neg,
            UnaryOp::Abs => Self::Abs,
            _ => return None,
        })
    }
}

/// Whether there are chains of a type.
pub(crate) fn chains(t: DType, level: Level) -> bool {
    // The instruction of Neon gives another one of two zeros.
    matches!(t, DType::F32 | DType::F64) && level.name() != "neon"
}

/// A link with where its operand is for the first element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub op: LinkOp,
    /// Whether the operand is one element for all.
    pub one: bool,
    pub operand: *const u8,
}

/// Computes the chain `links` for `n` elements of type `t` into `dst`.
///
/// # Safety
/// `dst` has room for `n` elements, and overlaps no operand; operands have as many, or one; the first link is the only
/// [`Start`](LinkOp::Start), and [`chains`] holds of the type.
pub(crate) unsafe fn chain(level: Level, t: DType, n: usize, dst: *mut u8, links: &[Link]) {
    match t {
        DType::F64 => level.run(Double(Chain { n, dst, links })),
        _ => level.run(Single(Chain { n, dst, links })),
    }
}

#[derive(Clone, Copy)]
struct Chain<'a> {
    n: usize,
    dst: *mut u8,
    links: &'a [Link],
}

struct Single<'a>(Chain<'a>);
struct Double<'a>(Chain<'a>);

impl Kernel for Single<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: the promise of the caller of `chain`, which made it.
        unsafe { self.0.run::<S::F32>(simd) }
    }
}

impl Kernel for Double<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: as above.
        unsafe { self.0.run::<S::F64>(simd) }
    }
}

/// Vectors that go through a chain together: they and as many operands are registers of every level.
const TOGETHER: usize = 8;

impl Chain<'_> {
    /// # Safety
    /// That of [`chain`], for elements of the vector.
    #[inline(always)]
    unsafe fn run<V: Float>(self, simd: V::Simd) {
        let mut at = 0;
        // SAFETY: elements from `at` on, as many as there are.
        unsafe {
            while at + TOGETHER * V::LANES <= self.n {
                self.vectors::<V, TOGETHER>(simd, at);
                at += TOGETHER * V::LANES;
            }
            while at + V::LANES <= self.n {
                self.vectors::<V, 1>(simd, at);
                at += V::LANES;
            }
            if at < self.n {
                self.rest::<V>(simd, at);
            }
        }
    }

    /// So many vectors from an element on.
    ///
    /// # Safety
    /// That of [`run`](Self::run); there are so many.
    #[inline(always)]
    unsafe fn vectors<V: Float, const K: usize>(self, simd: V::Simd, at: usize) {
        let mut values = [V::splat(simd, 0.into()); K];
        for link in self.links {
            // SAFETY: operands have so many elements, or one.
            let operands = unsafe {
                let first = link.operand.cast::<V::Element>();
                let mut operands = [V::splat(simd, first.read()); K];
                if !link.one {
                    for (k, operand) in operands.iter_mut().enumerate() {
                        *operand = V::load(first.add(at + k * V::LANES));
                    }
                }
                operands
            };
            values = apply(simd, link.op, values, operands);
        }
        let dst = self.dst.cast::<V::Element>();
        for (k, value) in values.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { value.store(dst.add(at + k * V::LANES)) };
        }
    }

    /// The elements from one on, fewer than a vector has.
    ///
    /// # Safety
    /// That of [`run`](Self::run).
    #[inline(always)]
    unsafe fn rest<V: Float>(self, simd: V::Simd, at: usize) {
        let mut value = [V::splat(simd, 0.into())];
        for link in self.links {
            // SAFETY: operands have so many elements, or one.
            let operand = unsafe {
                let first = link.operand.cast::<V::Element>();
                match link.one {
                    true => V::splat(simd, first.read()),
                    false => V::load_partial(first.add(at), self.n - at),
                }
            };
            value = apply(simd, link.op, value, [operand]);
        }
        // SAFETY: as above.
        unsafe { value[0].store_partial(self.dst.cast::<V::Element>().add(at), self.n - at) };
    }
}

/// The values after a link.
#[inline(always)]
fn apply<V: Float, const K: usize>(
    simd: V::Simd,
    op: LinkOp,
    mut values: [V; K],
    operands: [V; K],
) -> [V; K] {
    macro_rules! each {
        ($value:ident, $x:ident => $new:expr) => {
            for k in 0..K {
                let ($value, $x) = (values[k], operands[k]);
                values[k] = $new;
            }
        };
    }
    match op {
        LinkOp::Start => each!(_value, x => x),
        LinkOp::Add => each!(value, x => value.add(x)),
        LinkOp::Sub => each!(value, x => value.sub(x)),
        LinkOp::SubFrom => each!(value, x => x.sub(value)),
        LinkOp::Mul => each!(value, x => value.mul(x)),
        LinkOp::Div => each!(value, x => value.div(x)),
        LinkOp::DivInto => each!(value, x => x.div(value)),
        LinkOp::Max => each!(value, x => value.max_nan(x)),
        LinkOp::MaxOf => each!(value, x => x.max_nan(value)),
        LinkOp::Min => each!(value, x => value.min_nan(x)),
        LinkOp::MinOf => each!(value, x => x.min_nan(value)),
        LinkOp::Square => each!(value, _x => value.mul(value)),
        LinkOp::Cube => each!(value, _x => value.mul(value).mul(value)),
        LinkOp::Neg => {
            let zero = V::splat(simd, -V::Element::from(0));
            each!(value, _x => zero.sub(value));
        }
        LinkOp::Abs => each!(value, _x => value.abs()),
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_types::{Element, Real, Scalar, scalar};

    /// What a link makes of a value.
    fn linked(op: LinkOp, value: Scalar, x: Scalar) -> Scalar {
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
        }
    }

    const OPS: [LinkOp; 14] = [
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
    ];

    /// Chains of two links on numbers of all kinds, for lengths around that of whole vectors.
    fn check<T: Real>() {
        let special = [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3e-41];
        let at =
            |n: usize| T::cast_from(if n % 3 == 0 { special[n / 3 % 8] } else { n as f64 - 70.0 });
        let x: Vec<T> = (0..300).map(at).collect();
        let y: Vec<T> = (0..300).map(|n| at(n * 7 + 1)).collect();
        let levels = Level::available().into_iter().filter(|&level| chains(T::DTYPE, level));
        for (level, first, second) in levels
            .flat_map(|level| OPS.map(|first| (level, first)))
            .flat_map(|(level, first)| OPS.map(|second| (level, first, second)))
        {
            for (n, one) in
                [0, 1, 15, 16, 130, 257, 300].into_iter().zip([true, false].into_iter().cycle())
            {
                let link = |op, one, from: &[T]| Link { op, one, operand: from.as_ptr().cast() };
                let links = [
                    link(LinkOp::Start, false, &x),
                    link(first, one, &y),
                    link(second, !one, &x[5..]),
                ];
                let mut out = vec![T::default(); n];
                let length = if n > 295 { 295 } else { n };
                // SAFETY: operands have so many elements.
                unsafe { chain(level, T::DTYPE, length, out.as_mut_ptr().cast(), &links) };
                for (k, &got) in out[..length].iter().enumerate() {
                    let with = |from: &[T], one: bool| from[if one { 0 } else { k }].into_scalar();
                    let value = linked(first, x[k].into_scalar(), with(&y, one));
                    let value = linked(second, value, with(&x[5..], !one));
                    let nan = scalar::binary(BinaryOp::Ne, value, value) == Ok(Scalar::Bool(true));
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
