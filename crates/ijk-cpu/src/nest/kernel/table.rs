//! Which kernel computes which operator on which element type.

use super::map::{Kernel, heavy, light, one};
use super::op::*;
use crate::simd::Level;
use ijk_types::{BinaryOp, C64, C128, DType, UnaryOp};

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

/// The kernel of a function of one operand of type `t`; `None` if it does not accept that type.
pub(crate) fn unary(op: UnaryOp, t: DType, level: Level) -> Option<Kernel> {
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
        UnaryOp::Sin => of!(t, INEXACT, one::<Sin>(level)),
        UnaryOp::Cos => of!(t, INEXACT, one::<Cos>(level)),
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
fn cast(from: DType, to: DType, level: Level) -> Option<Kernel> {
    if to.is_complex() {
        return to_complex(from, to, level);
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

/// The kernel of a cast to a complex type.
fn to_complex(from: DType, to: DType, level: Level) -> Option<Kernel> {
    type ToC64<T> = Embed<T, C64>;
    type ToC128<T> = Embed<T, C128>;
    match (from, to) {
        (DType::C64, DType::C128) => one::<Convert<C64, C128>>(level),
        (DType::C128, DType::C64) => one::<Convert<C128, C64>>(level),
        (_, DType::C64) => of!(from, ORDERED, one::<ToC64>(level)),
        _ => of!(from, ORDERED, one::<ToC128>(level)),
    }
}

/// Whether the kernels of an operator on type `t` take a splat as one operand.
pub(crate) fn takes_splat(op: BinaryOp, t: DType) -> bool {
    let float_division = op == BinaryOp::Div && !t.is_integer();
    let dear = matches!(
        op,
        BinaryOp::Pow
            | BinaryOp::Log
            | BinaryOp::Mod
            | BinaryOp::Atan2
            | BinaryOp::Hypot
            | BinaryOp::FloorDiv
    );
    float_division || (op != BinaryOp::Div && !dear)
}

/// The kernel of a function of two operands of type `t`, one of which may be a splat where
/// [`takes_splat`]; `None` if it does not accept that type. `Gt` and `Ge` are not here: swap the
/// operands of `Lt` and `Le`.
pub(crate) fn binary(op: BinaryOp, t: DType, level: Level, a: bool, b: bool) -> Option<Kernel> {
    match op {
        BinaryOp::Add => of!(t, ALL, light::<Add>(level, a, b)),
        BinaryOp::Mul => of!(t, ALL, light::<Mul>(level, a, b)),
        BinaryOp::Sub => of!(t, NUMBER, light::<Sub>(level, a, b)),
        BinaryOp::Div if t.is_integer() => of!(t, INTEGER, heavy::<IntDiv>(level, a, b)),
        BinaryOp::Div => of!(t, INEXACT, light::<Div>(level, a, b)),
        BinaryOp::Max => of!(t, ORDERED, light::<Max>(level, a, b)),
        BinaryOp::Min => of!(t, ORDERED, light::<Min>(level, a, b)),
        BinaryOp::Pow if t.is_integer() => of!(t, INTEGER, heavy::<IntPow>(level, a, b)),
        BinaryOp::Pow => of!(t, INEXACT, heavy::<Pow>(level, a, b)),
        BinaryOp::Log => of!(t, INEXACT, heavy::<Log>(level, a, b)),
        BinaryOp::Eq => of!(t, ALL, light::<Eq>(level, a, b)),
        BinaryOp::Ne => of!(t, ALL, light::<Ne>(level, a, b)),
        BinaryOp::Lt => of!(t, ORDERED, light::<Lt>(level, a, b)),
        BinaryOp::Le => of!(t, ORDERED, light::<Le>(level, a, b)),
        BinaryOp::Gt | BinaryOp::Ge => None,
        BinaryOp::And => (t == DType::Bool).then(|| light::<Mul<bool>>(level, a, b)).flatten(),
        BinaryOp::Or => (t == DType::Bool).then(|| light::<Add<bool>>(level, a, b)).flatten(),
        BinaryOp::Mod if t.is_integer() => of!(t, INTEGER, heavy::<IntMod>(level, a, b)),
        BinaryOp::Mod => of!(t, REAL, heavy::<Mod>(level, a, b)),
        BinaryOp::Atan2 => of!(t, REAL, heavy::<Atan2>(level, a, b)),
        BinaryOp::Hypot => of!(t, REAL, heavy::<Hypot>(level, a, b)),
        BinaryOp::FloorDiv => of!(t, REAL, heavy::<FloorDiv>(level, a, b)),
    }
}

/// The kernel of a function of what another one gives for two operands of type `t`, as [`binary`] has it; for
/// pairs that are common.
pub(crate) fn joined(
    (then, op): (UnaryOp, BinaryOp),
    t: DType,
    level: Level,
    (a, b): (bool, bool),
) -> Option<Kernel> {
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
