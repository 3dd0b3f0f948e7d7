//! Scalar operators as types, for generic kernels.

use super::fault;
use ijk_types::scalar::SkippedFactor;
use ijk_types::{C64, C128, Element, Inexact, Number, Ordered, OrderedNumber, Real, ScalarError};
use std::marker::PhantomData;

/// A function of one operand.
pub trait Op1 {
    /// Operand type.
    type In: Copy;
    /// Result type.
    type Out: Copy;
    /// The value; arbitrary for a faulty operand.
    fn apply(a: Self::In) -> Self::Out;
    /// Fault bits of an operand.
    #[inline(always)]
    fn fault(_a: Self::In) -> u32 {
        0
    }
}

/// A function of two operands of one type.
pub trait Op2 {
    /// Operand type.
    type In: Copy;
    /// Result type.
    type Out: Copy;
    /// The value; arbitrary for faulty operands.
    fn apply(a: Self::In, b: Self::In) -> Self::Out;
    /// Fault bits of operands.
    #[inline(always)]
    fn fault(_a: Self::In, _b: Self::In) -> u32 {
        0
    }
}

macro_rules! ops1 {
    ($($name:ident: $bound:ident, $out:ty, $a:ident => $value:expr;)*) => {$(
        pub(super) struct $name<T>(PhantomData<T>);
        impl<T: $bound> Op1 for $name<T> {
            type In = T;
            type Out = $out;
            #[inline(always)]
            fn apply($a: T) -> $out {
                $value
            }
        }
    )*};
}

ops1! {
    Neg: Number, T, a => a.neg();
    Recip: Inexact, T, a => total(T::identity(ijk_types::Monoid::Mul).div(a));
    Exp: Inexact, T, a => a.exp();
    Ln: Inexact, T, a => a.ln();
    Sqrt: Inexact, T, a => a.sqrt();
    Abs: Number, T::Real, a => a.abs();
    Sign: OrderedNumber, T, a => a.sign();
    Floor: Real, T, a => a.floor();
    Ceil: Real, T, a => a.ceil();
    Round: Real, T, a => a.round();
    Sin: Inexact, T, a => a.sin();
    Cos: Inexact, T, a => a.cos();
    Tan: Inexact, T, a => a.tan();
    Tanh: Inexact, T, a => a.tanh();
    Sinh: Inexact, T, a => a.sinh();
    Cosh: Inexact, T, a => a.cosh();
    Erf: Real, T, a => a.erf();
    Sigmoid: Real, T, a => a.sigmoid();
    Gelu: Real, T, a => a.gelu();
    Log1p: Real, T, a => a.log1p();
    Expm1: Real, T, a => a.expm1();
    Conj: Number, T, a => a.conj();
    Re: Number, T::Real, a => a.re();
    Im: Number, T::Real, a => a.im();
}

macro_rules! ops2 {
    ($($name:ident: $bound:ident, $out:ty, $a:ident $b:ident => $value:expr;)*) => {$(
        pub(super) struct $name<T>(PhantomData<T>);
        impl<T: $bound> Op2 for $name<T> {
            type In = T;
            type Out = $out;
            #[inline(always)]
            fn apply($a: T, $b: T) -> $out {
                $value
            }
        }
    )*};
}

ops2! {
    Add: Element, T, a b => a.add(b);
    Mul: Element, T, a b => a.mul(b);
    Sub: Number, T, a b => a.sub(b);
    Div: Inexact, T, a b => total(a.div(b));
    Max: Ordered, T, a b => a.max(b);
    Min: Ordered, T, a b => a.min(b);
    Pow: Inexact, T, a b => total(a.pow(b));
    Log: Inexact, T, a b => a.log(b);
    Eq: Element, bool, a b => a == b;
    Ne: Element, bool, a b => a != b;
    Lt: Ordered, bool, a b => a.lt(b);
    Le: Ordered, bool, a b => a.le(b);
    Atan2: Real, T, a b => a.atan2(b);
    Hypot: Real, T, a b => a.hypot(b);
    LogAddExp: Real, T, a b => a.log_add_exp(b);
}

/// Product of the factors that are not skipped.
pub(super) struct Product<T>(PhantomData<T>);

impl<T: SkippedFactor> Op2 for Product<T> {
    type In = T;
    type Out = T;
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        a.times(b)
    }
}

/// Composition of a unary with a binary function.
pub(super) struct Then<F, G>(PhantomData<(F, G)>);

impl<G: Op2, F: Op1<In = G::Out>> Op2 for Then<F, G> {
    type In = G::In;
    type Out = F::Out;
    #[inline(always)]
    fn apply(a: G::In, b: G::In) -> F::Out {
        F::apply(G::apply(a, b))
    }
    #[inline(always)]
    fn fault(a: G::In, b: G::In) -> u32 {
        G::fault(a, b) | F::fault(G::apply(a, b))
    }
}

/// `1 / x` of integers.
pub(super) struct IntRecip<T>(PhantomData<T>);

impl<T: OrderedNumber> Op1 for IntRecip<T> {
    type In = T;
    type Out = T;
    #[inline(always)]
    fn apply(a: T) -> T {
        total(T::identity(ijk_types::Monoid::Mul).div(a))
    }
    #[inline(always)]
    fn fault(a: T) -> u32 {
        T::identity(ijk_types::Monoid::Mul).div(a).map_or_else(fault_of, |_| 0)
    }
}

/// Operators on integers without a kernel of their own.
macro_rules! fallible {
    ($($name:ident: $function:ident;)*) => {$(
        pub(super) struct $name<T>(PhantomData<T>);
        impl<T: OrderedNumber> Op2 for $name<T> {
            type In = T;
            type Out = T;
            #[inline(always)]
            fn apply(a: T, b: T) -> T {
                total(a.$function(b))
            }
            #[inline(always)]
            fn fault(a: T, b: T) -> u32 {
                a.$function(b).map_or_else(fault_of, |_| 0)
            }
        }
    )*};
}

fallible! {
    AnyDiv: div;
    AnyMod: modulo;
    AnyPow: pow;
}

/// The value of a fallible operator; the default if it fails, since a fault is reported separately.
#[inline(always)]
fn total<T: Default>(value: Result<T, ScalarError>) -> T {
    value.unwrap_or_default()
}

/// The fault bit of an error.
#[inline(always)]
fn fault_of(error: ScalarError) -> u32 {
    match error {
        ScalarError::NegativePower => fault::POWER,
        _ => fault::DIVISION,
    }
}

/// `@not`.
pub(super) struct Not;

impl Op1 for Not {
    type In = bool;
    type Out = bool;
    #[inline(always)]
    fn apply(a: bool) -> bool {
        !a
    }
}

/// A cast of a real number to a complex type.
pub(super) struct Embed<T, U>(PhantomData<(T, U)>);

macro_rules! embed {
    ($($complex:ty: $real:ty),*) => {$(
        impl<T: Ordered> Op1 for Embed<T, $complex> {
            type In = T;
            type Out = $complex;
            #[inline(always)]
            fn apply(a: T) -> $complex {
                <$complex>::new(a.cast::<$real>(), 0.0)
            }
        }
    )*};
}

embed!(C64: f32, C128: f64);

/// A cast between complex types.
pub(super) struct Convert<T, U>(PhantomData<(T, U)>);

impl Op1 for Convert<C64, C128> {
    type In = C64;
    type Out = C128;
    #[inline(always)]
    fn apply(a: C64) -> C128 {
        C128::new(a.re.into(), a.im.into())
    }
}

impl Op1 for Convert<C128, C64> {
    type In = C128;
    type Out = C64;
    #[inline(always)]
    fn apply(a: C128) -> C64 {
        C64::new(a.re as f32, a.im as f32)
    }
}

/// A cast of a float to an integer with Rust's semantics, in a form that the compiler vectorises.
pub(super) struct Truncate<T, U>(PhantomData<(T, U)>);

macro_rules! truncate {
    ($($t:ident: $($u:ident)*),*) => {$($(
        impl Op1 for Truncate<$t, $u> {
            type In = $t;
            type Out = $u;
            #[inline(always)]
            fn apply(a: $t) -> $u {
                // Exact, since these are powers of two.
                const LEAST: $t = $u::MIN as $t;
                let inside = (LEAST..-LEAST).contains(&a);
                // SAFETY: the truncated number is within the integer's range.
                let whole = unsafe { (if inside { a } else { 0.0 }).to_int_unchecked::<$u>() };
                let beyond = if a < LEAST { $u::MIN } else { whole };
                if a >= -LEAST { $u::MAX } else { beyond }
            }
        }
    )*)*};
}

truncate!(f32: i32 i64, f64: i32 i64);

/// A cast.
pub(super) struct Cast<T, U>(PhantomData<(T, U)>);

impl<T: Ordered, U: Ordered> Op1 for Cast<T, U> {
    type In = T;
    type Out = U;
    #[inline(always)]
    fn apply(a: T) -> U {
        a.cast()
    }
}
