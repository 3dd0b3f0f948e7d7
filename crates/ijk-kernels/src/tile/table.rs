//! Table of kernels by operator and element type.

use super::divide::{Quotient, Remainder, divided};
use super::map::{TileKernel, heavy, light, one};
use super::moves::moves;
use super::op::*;
use super::power::{IntPow, powers, whole_powers};
use super::strips::{
    Cos as CosStrip, FloorDiv, Mod, Pow as RealPow, Sin as SinStrip, Tan as TanStrip, stripped,
    stripped2,
};
use crate::simd::Level;
use ijk_types::{BinaryOp, C64, C128, DType, UnaryOp, bf16, f16};

/// Evaluates to a kernel of `$op<T>`, with `T` the type of `$t`, if it is among the listed ones.
macro_rules! of {
    ($t:expr, $make:ident::<$op:ident>$args:tt, [$($variant:ident: $T:ty),*]) => {
        match $t {
            $(DType::$variant => $make::<$op<$T>>$args,)*
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
    ($t:expr, ALL, $($rest:tt)*) => {
        of!($t, $($rest)*, [Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64, C64: C64, C128: C128])
    };
    ($t:expr, NUMBER, $($rest:tt)*) => {
        of!($t, $($rest)*, [I32: i32, I64: i64, F32: f32, F64: f64, C64: C64, C128: C128])
    };
    ($t:expr, INEXACT, $($rest:tt)*) => {
        of!($t, $($rest)*, [F32: f32, F64: f64, C64: C64, C128: C128])
    };
    ($t:expr, ORDERED, $($rest:tt)*) => {
        of!($t, $($rest)*, [Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64])
    };
    ($t:expr, ORDERED_NUMBER, $($rest:tt)*) => {
        of!($t, $($rest)*, [I32: i32, I64: i64, F32: f32, F64: f64])
    };
    ($t:expr, REAL, $($rest:tt)*) => { of!($t, $($rest)*, [F32: f32, F64: f64]) };
    ($t:expr, INTEGER, $($rest:tt)*) => { of!($t, $($rest)*, [I32: i32, I64: i64]) };
}

/// The kernel of a function of one operand of type `t`; `None` if it does not support the type.
pub fn unary(op: UnaryOp, t: DType, level: Level) -> Option<TileKernel> {
    match op {
        UnaryOp::Neg => of!(t, NUMBER, one::<Neg>(level)),
        UnaryOp::Recip if t.is_integer() => of!(t, INTEGER, one::<IntRecip>(level)),
        UnaryOp::Recip => of!(t, INEXACT, one::<Recip>(level)),
        UnaryOp::Exp => of!(t, INEXACT, one::<Exp>(level)),
        UnaryOp::Ln => of!(t, INEXACT, one::<Ln>(level)),
        UnaryOp::Sqrt => of!(t, INEXACT, one::<Sqrt>(level)),
        UnaryOp::Abs => of!(t, NUMBER, one::<Abs>(level)),
        UnaryOp::Sign => of!(t, ORDERED_NUMBER, one::<Sign>(level)),
        UnaryOp::Floor => of!(t, REAL, one::<Floor>(level)),
        UnaryOp::Ceil => of!(t, REAL, one::<Ceil>(level)),
        UnaryOp::Round => of!(t, REAL, one::<Round>(level)),
        UnaryOp::Sin if real(t) => of!(t, REAL, stripped::<SinStrip>(level)),
        UnaryOp::Sin => of!(t, INEXACT, one::<Sin>(level)),
        UnaryOp::Cos if real(t) => of!(t, REAL, stripped::<CosStrip>(level)),
        UnaryOp::Cos => of!(t, INEXACT, one::<Cos>(level)),
        UnaryOp::Tan if real(t) => of!(t, REAL, stripped::<TanStrip>(level)),
        UnaryOp::Tan => of!(t, INEXACT, one::<Tan>(level)),
        UnaryOp::Tanh => of!(t, INEXACT, one::<Tanh>(level)),
        UnaryOp::Sinh => of!(t, INEXACT, one::<Sinh>(level)),
        UnaryOp::Cosh => of!(t, INEXACT, one::<Cosh>(level)),
        UnaryOp::Erf => of!(t, REAL, one::<Erf>(level)),
        UnaryOp::Sigmoid => of!(t, REAL, one::<Sigmoid>(level)),
        UnaryOp::Gelu => of!(t, REAL, one::<Gelu>(level)),
        UnaryOp::Log1p => of!(t, REAL, one::<Log1p>(level)),
        UnaryOp::Expm1 => of!(t, REAL, one::<Expm1>(level)),
        UnaryOp::Not => (t == DType::Bool).then(|| one::<Not>(level)).flatten(),
        UnaryOp::Conj => of!(t, NUMBER, one::<Conj>(level)),
        UnaryOp::Re => of!(t, NUMBER, one::<Re>(level)),
        UnaryOp::Im => of!(t, NUMBER, one::<Im>(level)),
        UnaryOp::Cast(to) => cast(t, to, level),
    }
}

/// The kernel of a cast.
fn cast(from: DType, to: DType, level: Level) -> Option<TileKernel> {
    if let Some(kernel) = stored(from, to, level) {
        return Some(kernel);
    }
    if to.is_complex() {
        return to_complex(from, to, level);
    }
    if real(from) && to.is_integer() {
        return truncate(from, to, level);
    }
    macro_rules! from {
        ($($variant:ident: $T:ty),*) => {
            match from {
                $(DType::$variant => {
                    type To<U> = Cast<$T, U>;
                    of!(to, ORDERED, one::<To>(level))
                })*
                _ => None,
            }
        };
    }
    from!(Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64)
}

/// The kernel of a cast between a type that is only stored and one that is computed with.
fn stored(from: DType, to: DType, level: Level) -> Option<TileKernel> {
    use DType::{BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    match (from, to) {
        (U8, I32) => one::<Cast<u8, i32>>(level),
        (I8, I32) => one::<Cast<i8, i32>>(level),
        (U16, I32) => one::<Cast<u16, i32>>(level),
        (I16, I32) => one::<Cast<i16, i32>>(level),
        (U32, I64) => one::<Cast<u32, i64>>(level),
        (U8, F32) => one::<Cast<u8, f32>>(level),
        (I8, F32) => one::<Cast<i8, f32>>(level),
        (U16, F32) => one::<Cast<u16, f32>>(level),
        (I16, F32) => one::<Cast<i16, f32>>(level),
        (U8, F64) => one::<Cast<u8, f64>>(level),
        (I8, F64) => one::<Cast<i8, f64>>(level),
        (U16, F64) => one::<Cast<u16, f64>>(level),
        (I16, F64) => one::<Cast<i16, f64>>(level),
        (F16, F32) => one::<Cast<f16, f32>>(level),
        (BF16, F32) => one::<Cast<bf16, f32>>(level),
        (I32, U8 | I8) => one::<Cast<i32, u8>>(level),
        (I32, U16 | I16) => one::<Cast<i32, u16>>(level),
        (I64, U32) => one::<Cast<i64, i32>>(level),
        (F32, F16) => one::<Cast<f32, f16>>(level),
        (F32, BF16) => one::<Cast<f32, bf16>>(level),
        (F64, F16) => one::<Cast<f64, f16>>(level),
        (F64, BF16) => one::<Cast<f64, bf16>>(level),
        // The same bits.
        (U64, I64) | (I64, U64) => Some(moves(to, level).copy),
        (U64, F32) => one::<Cast<u64, f32>>(level),
        (U64, F64) => one::<Cast<u64, f64>>(level),
        (F32, U64) => one::<Cast<f32, u64>>(level),
        (F64, U64) => one::<Cast<f64, u64>>(level),
        _ => None,
    }
}

/// The kernel of a cast of a float to an integer type.
fn truncate(from: DType, to: DType, level: Level) -> Option<TileKernel> {
    type FromF32<U> = Truncate<f32, U>;
    type FromF64<U> = Truncate<f64, U>;
    match from {
        DType::F32 => of!(to, INTEGER, one::<FromF32>(level)),
        _ => of!(to, INTEGER, one::<FromF64>(level)),
    }
}

/// The kernel of a cast to a complex type.
fn to_complex(from: DType, to: DType, level: Level) -> Option<TileKernel> {
    type ToC64<T> = Embed<T, C64>;
    type ToC128<T> = Embed<T, C128>;
    match (from, to) {
        (DType::C64, DType::C128) => one::<Convert<C64, C128>>(level),
        (DType::C128, DType::C64) => one::<Convert<C128, C64>>(level),
        (_, DType::C64) => of!(from, ORDERED, one::<ToC64>(level)),
        _ => of!(from, ORDERED, one::<ToC128>(level)),
    }
}

/// Returns true if the kernels of an operator on type `t` support a splat as one operand.
pub fn takes_splat(op: BinaryOp, t: DType) -> bool {
    let functions =
        matches!(op, BinaryOp::Log | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::LogAddExp);
    !(functions || op == BinaryOp::Pow && t.is_complex() || t == DType::U64)
}

/// Returns true if an operator on type `t` takes much longer than a load.
pub fn is_dear(op: BinaryOp, t: DType) -> bool {
    use BinaryOp::{Atan2, Div, FloorDiv, Hypot, Log, LogAddExp, Mod, Pow};
    matches!(op, Pow | Log | Mod | Atan2 | Hypot | LogAddExp | FloorDiv)
        || (op == Div && t.is_integer())
}

/// Returns true for real floating-point types.
fn real(t: DType) -> bool {
    matches!(t, DType::F32 | DType::F64)
}

/// The kernel of a function of two operands of type `t`, one of which may be a splat if [`takes_splat`]; `None` if it
/// does not support the type. For `Gt` and `Ge`, exchange the operands of `Lt` and `Le`.
pub fn binary(op: BinaryOp, t: DType, level: Level, a: bool, b: bool) -> Option<TileKernel> {
    match op {
        BinaryOp::Div if t == DType::U64 => heavy::<AnyDiv<u64>>(level, a, b),
        BinaryOp::Mod if t == DType::U64 => heavy::<AnyMod<u64>>(level, a, b),
        BinaryOp::Pow if t == DType::U64 => heavy::<AnyPow<u64>>(level, a, b),
        BinaryOp::Add => of!(t, ALL, light::<Add>(level, a, b)),
        BinaryOp::Mul => of!(t, ALL, light::<Mul>(level, a, b)),
        BinaryOp::Sub => of!(t, NUMBER, light::<Sub>(level, a, b)),
        BinaryOp::Div if t.is_integer() => of!(t, INTEGER, divided::<Quotient>(level, a, b)),
        BinaryOp::Div => of!(t, INEXACT, light::<Div>(level, a, b)),
        BinaryOp::Max => of!(t, ORDERED, light::<Max>(level, a, b)),
        BinaryOp::Min => of!(t, ORDERED, light::<Min>(level, a, b)),
        BinaryOp::Pow if t.is_integer() => of!(t, INTEGER, whole_powers::<IntPow>(level, a, b)),
        BinaryOp::Pow if real(t) => of!(t, REAL, powers::<RealPow>(level, a, b)),
        BinaryOp::Pow => of!(t, INEXACT, heavy::<Pow>(level, a, b)),
        BinaryOp::Log => of!(t, INEXACT, heavy::<Log>(level, a, b)),
        BinaryOp::Eq => of!(t, ALL, light::<Eq>(level, a, b)),
        BinaryOp::Ne => of!(t, ALL, light::<Ne>(level, a, b)),
        BinaryOp::Lt => of!(t, ORDERED, light::<Lt>(level, a, b)),
        BinaryOp::Le => of!(t, ORDERED, light::<Le>(level, a, b)),
        BinaryOp::Gt | BinaryOp::Ge => None,
        BinaryOp::And => (t == DType::Bool).then(|| light::<Mul<bool>>(level, a, b)).flatten(),
        BinaryOp::Or => (t == DType::Bool).then(|| light::<Add<bool>>(level, a, b)).flatten(),
        BinaryOp::Mod if t.is_integer() => of!(t, INTEGER, divided::<Remainder>(level, a, b)),
        BinaryOp::Mod => of!(t, REAL, stripped2::<Mod>(level, a, b)),
        BinaryOp::Atan2 => of!(t, REAL, heavy::<Atan2>(level, a, b)),
        BinaryOp::Hypot => of!(t, REAL, heavy::<Hypot>(level, a, b)),
        BinaryOp::LogAddExp => of!(t, REAL, heavy::<LogAddExp>(level, a, b)),
        BinaryOp::FloorDiv => of!(t, REAL, stripped2::<FloorDiv>(level, a, b)),
    }
}

/// The kernel of a unary function fused to a binary one on operands of type `t`, as for [`binary`]; `None` except for
/// common pairs.
pub fn joined(
    (then, op): (UnaryOp, BinaryOp),
    t: DType,
    level: Level,
    (a, b): (bool, bool),
) -> Option<TileKernel> {
    type ExpSub<T> = Then<Exp<T>, Sub<T>>;
    type AbsSub<T> = Then<Abs<T>, Sub<T>>;
    type SqrtAdd<T> = Then<Sqrt<T>, Add<T>>;
    type TanhAdd<T> = Then<Tanh<T>, Add<T>>;
    type SigmoidAdd<T> = Then<Sigmoid<T>, Add<T>>;
    type GeluAdd<T> = Then<Gelu<T>, Add<T>>;
    match (then, op) {
        (UnaryOp::Exp, BinaryOp::Sub) => of!(t, REAL, light::<ExpSub>(level, a, b)),
        (UnaryOp::Abs, BinaryOp::Sub) => of!(t, REAL, light::<AbsSub>(level, a, b)),
        (UnaryOp::Sqrt, BinaryOp::Add) => of!(t, REAL, light::<SqrtAdd>(level, a, b)),
        (UnaryOp::Tanh, BinaryOp::Add) => of!(t, REAL, light::<TanhAdd>(level, a, b)),
        (UnaryOp::Sigmoid, BinaryOp::Add) => of!(t, REAL, light::<SigmoidAdd>(level, a, b)),
        (UnaryOp::Gelu, BinaryOp::Add) => of!(t, REAL, light::<GeluAdd>(level, a, b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_types::{Element, Scalar, scalar};

    /// Result of a kernel of one operand.
    fn apply<T: Element, U: Element>(op: UnaryOp, level: Level, x: &[T]) -> Vec<U> {
        let mut out = vec![U::default(); x.len()];
        let kernel = unary(op, T::DTYPE, level).unwrap();
        let a = x.as_ptr().cast();
        // SAFETY: both have `x.len()` elements of the kernel's types.
        unsafe { kernel(x.len(), out.as_mut_ptr().cast(), a, a, a) };
        out
    }

    /// Floats of all exponents, including the bounds of integer types.
    fn floats() -> Vec<f64> {
        let ends = [0.0, -0.0, 0.5, -0.5, 1e300, f64::INFINITY, f64::NAN, i32::MAX as f64];
        let powers = [31, 32, 63, 64].map(|n| 2f64.powi(n));
        let around =
            powers.into_iter().flat_map(|x| [x, x * (1.0 + 1e-7), x * (1.0 - 1e-7), x - 0.5]);
        let spread = (0..2000).map(|n| (n as f64 * 0.731).exp2() * 1e-3);
        ends.into_iter().chain(around).chain(spread).flat_map(|x| [x, -x]).collect()
    }

    fn check<T: Element, U: Element>(x: &[T]) {
        for level in Level::available() {
            let got: Vec<U> = apply(UnaryOp::Cast(U::DTYPE), level, x);
            for (&x, got) in x.iter().zip(got) {
                let exact = scalar::unary(UnaryOp::Cast(U::DTYPE), x.into_scalar()).unwrap();
                assert!(got.same_bits(U::from_scalar(exact).unwrap()), "{x:?} as {:?}", U::DTYPE);
            }
        }
    }

    #[test]
    fn casts_of_floats_saturate() {
        let wide = floats();
        let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
        check::<f64, i32>(&wide);
        check::<f64, i64>(&wide);
        check::<f32, i32>(&narrow);
        check::<f32, i64>(&narrow);
        check::<f64, u64>(&wide);
        check::<f32, u64>(&narrow);
    }

    #[test]
    fn casts_of_stored_types_are_the_scalar_ones() {
        let wide = floats();
        let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
        let whole: Vec<i64> =
            (0..64).flat_map(|n| [1 << n, -1 << n, (1_i64 << n).wrapping_sub(1)]).collect();
        let small: Vec<i32> = whole.iter().map(|&n| n as i32).collect();
        let bits = || 0..=u16::MAX;
        check::<f64, f16>(&wide);
        check::<f64, bf16>(&wide);
        check::<f32, f16>(&narrow);
        check::<f32, bf16>(&narrow);
        check::<f16, f32>(&bits().map(f16::from_bits).collect::<Vec<_>>());
        check::<bf16, f32>(&bits().map(bf16::from_bits).collect::<Vec<_>>());
        check::<u8, i32>(&(0..=u8::MAX).collect::<Vec<_>>());
        check::<i8, i32>(&(i8::MIN..=i8::MAX).collect::<Vec<_>>());
        check::<u16, i32>(&bits().collect::<Vec<_>>());
        check::<i16, i32>(&(i16::MIN..=i16::MAX).collect::<Vec<_>>());
        check::<u32, i64>(&whole.iter().map(|&n| n as u32).collect::<Vec<_>>());
        check::<i32, u8>(&small);
        check::<i32, i8>(&small);
        check::<i32, u16>(&small);
        check::<i32, i16>(&small);
        check::<i64, u32>(&whole);
        check::<i64, u64>(&whole);
        let unsigned: Vec<u64> = whole.iter().map(|&n| n as u64).collect();
        check::<u64, i64>(&unsigned);
        check::<u64, f32>(&unsigned);
        check::<u64, f64>(&unsigned);
    }

    /// The same bits at any position, for functions with a second loop for rare operands.
    #[test]
    fn functions_with_rare_operands_are_the_scalar_ones() {
        let mut x: Vec<f64> = (0..3000).map(|n| (f64::from(n) - 1500.0) * 0.37).collect();
        for (n, far) in floats().into_iter().enumerate().filter(|(n, _)| n % 3 == 0) {
            x[n % 3000] = far;
        }
        let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        for level in Level::available() {
            for op in [UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Tan] {
                let (wide, got): (Vec<f64>, Vec<f32>) =
                    (apply(op, level, &x), apply(op, level, &narrow));
                let exact = |x: Scalar| scalar::unary(op, x).unwrap();
                let same = |got: Scalar, x: Scalar| got.same_bits(exact(x));
                assert!(wide.iter().zip(&x).all(|(&y, &x)| same(y.into_scalar(), x.into_scalar())));
                assert!(
                    got.iter().zip(&narrow).all(|(&y, &x)| same(y.into_scalar(), x.into_scalar()))
                );
            }
        }
    }

    /// Compares powers, remainders and quotients, with and without splats, with the scalar functions.
    fn check_pairs<T: Element>(ops: &[BinaryOp], x: &[T], y: &[T]) {
        // `None` if the operator fails.
        let scalar = |op, x: T, y: T| {
            let value = scalar::binary(op, x.into_scalar(), y.into_scalar()).ok()?;
            T::from_scalar(value)
        };
        #[allow(clippy::eq_op, reason = "NaN is what differs from itself")]
        let is = |got: T, exact: Option<T>| exact.is_none_or(|e| got.same_bits(e) || e != e);
        let run = |kernel: TileKernel, a: &[T], b: &[T]| {
            let mut out = vec![T::default(); a.len().max(b.len())];
            let (n, dst) = (out.len(), out.as_mut_ptr().cast());
            let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
            // SAFETY: each has `n` elements, except a splat.
            unsafe { kernel(n, dst, a, b, b) };
            out
        };
        for (level, &op) in
            Level::available().into_iter().flat_map(|l| ops.iter().map(move |op| (l, op)))
        {
            for (n, &b) in y.iter().enumerate() {
                let by_one = run(binary(op, T::DTYPE, level, false, true).unwrap(), x, &[b]);
                let turned: Vec<T> = (0..x.len()).map(|i| y[(i + n) % y.len()]).collect();
                let by_each = run(binary(op, T::DTYPE, level, false, false).unwrap(), x, &turned);
                for (i, &a) in x.iter().enumerate() {
                    let (one, each) = (scalar(op, a, b), scalar(op, a, turned[i]));
                    assert!(is(by_one[i], one), "{a:?} {op:?} {b:?}: {:?}", by_one[i]);
                    assert!(is(by_each[i], each), "{a:?} {op:?} {:?}", turned[i]);
                }
                let of_one = run(binary(op, T::DTYPE, level, true, false).unwrap(), &[b], x);
                assert!(of_one.iter().zip(x).all(|(&got, &a)| is(got, scalar(op, b, a))));
            }
        }
    }

    #[test]
    fn powers_and_remainders_are_the_scalar_ones() {
        let ops = [BinaryOp::Pow, BinaryOp::Mod, BinaryOp::FloorDiv];
        let x: Vec<f64> = floats().into_iter().step_by(7).chain([-2.5, -3.0, 0.1]).collect();
        let y = [
            3.0,
            4.0,
            -1.0,
            -2.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            0.0,
            1.0,
            2.0,
            -7.0,
            f64::NAN,
            f64::INFINITY,
        ];
        check_pairs(&ops, &x, &y);
        let narrow = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<_>>();
        check_pairs(&ops, &narrow(&x), &narrow(&y));
        let whole = [0, 1, -1, 2, -2, 3, 7, -10, i32::MAX, i32::MIN, 46341, 65536];
        let exponents = [0, 1, 2, 3, 5, 31, 64, 1000, i32::MAX];
        check_pairs(&[BinaryOp::Pow], &whole.map(i64::from), &exponents.map(i64::from));
        check_pairs(&[BinaryOp::Pow], &whole, &exponents);
    }
}
