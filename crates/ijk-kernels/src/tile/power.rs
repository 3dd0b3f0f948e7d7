//! Kernels of powers: integers by squaring whole strips, floats by a single exponent.

use super::fault;
use super::map::TileKernel;
use super::strips::{Split2, stripped2};
use crate::simd::Level;
use crate::simd::leveled;
use crate::tuning::time::POWER_STRIP;
use ijk_types::{Ordered, OrderedNumber, Real};
use std::marker::PhantomData;

/// Powers of integers.
pub(super) struct IntPow<T>(PhantomData<T>);

/// Operator on integers.
pub trait Integers {
    /// Type of operands and result.
    type T: Whole;
}

/// Integer operations that squaring needs.
pub trait Whole: OrderedNumber {
    /// Returns true if the lowest bit is set.
    fn is_odd(self) -> bool;
    /// Half of the number, rounded down.
    fn half(self) -> Self;
}

macro_rules! integers {
    ($($t:ident),*) => {$(
        impl Integers for IntPow<$t> {
            type T = $t;
        }
        impl Whole for $t {
            #[inline(always)]
            fn is_odd(self) -> bool {
                self & 1 == 1
            }
            #[inline(always)]
            fn half(self) -> Self {
                self >> 1
            }
        }
    )*};
}

integers!(i32, i64);

/// Powers of a strip, each with its own exponent, with as many squarings as the largest exponent needs; returns true if
/// an exponent is negative.
#[inline(always)]
fn raise<T: Whole>(bases: &mut [T; POWER_STRIP], exponents: &mut [T; POWER_STRIP]) -> bool {
    let (zero, one) = (T::default(), T::identity(ijk_types::Monoid::Mul));
    let mut negative = false;
    let mut greatest = zero;
    for e in exponents.iter_mut() {
        negative |= e.lt(zero);
        *e = e.max(zero);
        greatest = greatest.max(*e);
    }
    let mut powers = [one; POWER_STRIP];
    while zero.lt(greatest) {
        for n in 0..POWER_STRIP {
            powers[n] = powers[n].mul(if exponents[n].is_odd() { bases[n] } else { one });
            bases[n] = bases[n].mul(bases[n]);
            exponents[n] = exponents[n].half();
        }
        greatest = greatest.half();
    }
    *bases = powers;
    negative
}

/// # Safety
/// As for [`TileKernel`]; `A` and `B` mark operands that are splats.
#[inline(always)]
unsafe fn whole<O: Integers, const A: bool, const B: bool>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    b: *const u8,
    _c: *const u8,
) -> u32 {
    let (dst, a, b) = (dst.cast::<O::T>(), a.cast::<O::T>(), b.cast::<O::T>());
    let mut negative = false;
    for start in (0..n).step_by(POWER_STRIP) {
        let length = POWER_STRIP.min(n - start);
        let mut bases = [O::T::default(); POWER_STRIP];
        let mut exponents = [O::T::default(); POWER_STRIP];
        // SAFETY: `length` elements from `start` on are among the `n` that the caller guarantees for operands other
        // than splats.
        unsafe {
            match A {
                true => bases = [a.read(); POWER_STRIP],
                false => a.add(start).copy_to_nonoverlapping(bases.as_mut_ptr(), length),
            }
            match B {
                true => exponents = [b.read(); POWER_STRIP],
                false => b.add(start).copy_to_nonoverlapping(exponents.as_mut_ptr(), length),
            }
        }
        negative |= raise(&mut bases, &mut exponents);
        // SAFETY: the destination has `n` elements, of which these are `length`.
        unsafe { dst.add(start).copy_from_nonoverlapping(bases.as_ptr(), length) };
    }
    if negative { fault::POWER } else { 0 }
}

leveled!(
    /// The loop of integer powers; `A` and `B` mark splats.
    kernel, whole, [O: Integers, const A: bool, const B: bool], [O, A, B],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

/// The kernel of integer powers; one operand may be a splat.
pub(super) fn whole_powers<O: Integers>(level: Level, a: bool, b: bool) -> Option<TileKernel> {
    match (a, b) {
        (false, false) => Some(kernel::<O, false, false>(level)),
        (true, false) => Some(kernel::<O, true, false>(level)),
        (false, true) => Some(kernel::<O, false, true>(level)),
        (true, true) => None,
    }
}

/// # Safety
/// As for [`TileKernel`]; the second operand is a splat.
#[inline(always)]
unsafe fn by_one<O: Split2<T: Real>>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    b: *const u8,
    _c: *const u8,
) -> u32 {
    let (dst, a) = (dst.cast::<O::T>(), a.cast::<O::T>());
    if n == 0 {
        return 0;
    }
    // SAFETY: a splat has one element.
    let exponent = unsafe { b.cast::<O::T>().read() };
    // One loop for each exponent with a short expansion, compiled for it.
    macro_rules! loops {
        ($($value:literal),*) => {
            $(if exponent == O::T::cast_from::<f64>($value) {
                for i in 0..n {
                    // SAFETY: `i < n`; the caller guarantees `n` elements.
                    unsafe {
                        dst.add(i).write(O::far(a.add(i).read(), O::T::cast_from::<f64>($value)));
                    }
                }
                return 0;
            })*
        };
    }
    loops!(3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 1.5);
    for i in 0..n {
        // SAFETY: `i < n`; the caller guarantees `n` elements.
        unsafe { dst.add(i).write(O::near(a.add(i).read(), exponent)) };
    }
    0
}

leveled!(
    /// The loops of powers of floats by one exponent.
    kernel_by_one, by_one, [O: Split2<T: Real>], [O],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

/// The kernel of powers of floats; one operand may be a splat.
pub(super) fn powers<O: Split2<T: Real>>(level: Level, a: bool, b: bool) -> Option<TileKernel> {
    if b { (!a).then(|| kernel_by_one::<O>(level)) } else { stripped2::<O>(level, a, b) }
}
