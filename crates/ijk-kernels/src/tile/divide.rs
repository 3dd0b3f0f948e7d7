//! Kernels of integer division and remainder, rounded down.
//!
//! Division by a single divisor multiplies by its reciprocal (Granlund and Montgomery, *Division by invariant integers
//! using multiplication*, figure 4.1), on magnitudes: the quotient of `x < 0` is the complement of the quotient of the
//! complement of `x`.

use super::fault;
use super::map::TileKernel;
use crate::simd::Level;
use crate::simd::leveled;
use ijk_types::{Ordered, OrderedNumber};
use std::marker::PhantomData;

/// Quotients of integers.
pub(super) struct Quotient<T>(PhantomData<T>);

/// Remainders of integers.
pub(super) struct Remainder<T>(PhantomData<T>);

/// Quotient or remainder.
pub trait Division {
    /// Operand type.
    type T: Divide;
    /// The result for a dividend, a divisor and their quotient.
    fn result(x: Self::T, divisor: Self::T, quotient: Self::T) -> Self::T;
}

impl<T: Divide> Division for Quotient<T> {
    type T = T;
    #[inline(always)]
    fn result(_x: T, _divisor: T, quotient: T) -> T {
        quotient
    }
}

impl<T: Divide> Division for Remainder<T> {
    type T = T;
    #[inline(always)]
    fn result(x: T, divisor: T, quotient: T) -> T {
        x.sub(quotient.mul(divisor))
    }
}

/// The reciprocal of a divisor: a factor and two shifts.
#[derive(Clone, Copy)]
pub struct Reciprocal<U> {
    factor: U,
    first: u32,
    second: u32,
}

/// An integer that can be divided.
pub trait Divide: OrderedNumber {
    /// Type of magnitudes.
    type Magnitude: Copy;
    /// The reciprocal of a nonzero divisor.
    fn reciprocal(divisor: Self) -> Reciprocal<Self::Magnitude>;
    /// The floored quotient by the divisor of a reciprocal, negative if `NEGATIVE`.
    fn by<const NEGATIVE: bool>(self, reciprocal: Reciprocal<Self::Magnitude>) -> Self;
    /// The floored quotient by any divisor; arbitrary for 0.
    fn floored(self, divisor: Self) -> Self;
}

/// Upper half of a product.
trait High {
    fn high(self, factor: Self) -> Self;
}

impl High for u32 {
    #[inline(always)]
    fn high(self, factor: u32) -> u32 {
        ((u64::from(self) * u64::from(factor)) >> 32) as u32
    }
}

/// Computed from products of halves, since vector units have no 64-bit high multiplication.
impl High for u64 {
    #[inline(always)]
    fn high(self, factor: u64) -> u64 {
        const LOW: u64 = 0xffff_ffff;
        let (a, b) = (self & LOW, self >> 32);
        let (c, d) = (factor & LOW, factor >> 32);
        let middle = b * c + ((a * c) >> 32);
        let other = a * d + (middle & LOW);
        b * d + (middle >> 32) + (other >> 32)
    }
}

macro_rules! divide {
    ($($t:ident, $u:ident, $wide:ident, $x:ident $divisor:ident => $floored:expr;)*) => {$(
        impl Divide for $t {
            type Magnitude = $u;

            #[inline(always)]
            fn reciprocal(divisor: $t) -> Reciprocal<$u> {
                let d = $wide::from(divisor.unsigned_abs());
                // The smallest power of two that is at least the divisor.
                let log = d.next_power_of_two().trailing_zeros();
                let factor = ((((1 << log) - d) << $u::BITS) / d + 1) as $u;
                Reciprocal { factor, first: Ord::min(log, 1), second: log.saturating_sub(1) }
            }

            #[inline(always)]
            fn by<const NEGATIVE: bool>(self, by: Reciprocal<$u>) -> $t {
                // `x / -d` is `-x / d`; -MIN fits the magnitude.
                let x = if NEGATIVE { self.wrapping_neg() } else { self };
                let below = if NEGATIVE { self > 0 } else { self < 0 };
                let complement: $t = if below { -1 } else { 0 };
                let magnitude = (x ^ complement) as $u;
                let high = magnitude.high(by.factor);
                let half = (magnitude.wrapping_sub(high)) >> by.first;
                let quotient = high.wrapping_add(half) >> by.second;
                quotient as $t ^ complement
            }

            #[inline(always)]
            fn floored(self, $divisor: $t) -> $t {
                let $x = self;
                $floored
            }
        }
    )*};
}

divide! {
    // A quotient that is not an integer differs from the nearest one by more than the rounding error of binary64.
    i32, u32, u64, x divisor => {
        let quotient = (f64::from(x) / f64::from(divisor)).floor() as i32;
        if divisor == -1 { x.wrapping_neg() } else { quotient }
    };
    i64, u64, u128, x divisor => {
        let safe = if divisor == 0 { 1 } else { divisor };
        let (quotient, rest) = (x.wrapping_div(safe), x.wrapping_rem(safe));
        quotient - i64::from(rest != 0 && (rest < 0) != (safe < 0))
    };
}

/// # Safety
/// As for [`TileKernel`]; the second operand is a splat.
#[inline(always)]
unsafe fn by_one<O: Division>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    b: *const u8,
    _c: *const u8,
) -> u32 {
    if n == 0 {
        return 0;
    }
    let (dst, a) = (dst.cast::<O::T>(), a.cast::<O::T>());
    // SAFETY: a splat has one element.
    let divisor = unsafe { b.cast::<O::T>().read() };
    let zero = O::T::default();
    if divisor == zero {
        for i in 0..n {
            // SAFETY: `i < n`; the caller guarantees `n` elements.
            unsafe { dst.add(i).write(zero) };
        }
        return fault::DIVISION;
    }
    let reciprocal = O::T::reciprocal(divisor);
    // SAFETY: guaranteed by the caller.
    unsafe {
        match divisor.lt(zero) {
            true => multiplied::<O, true>(n, dst, a, divisor, reciprocal),
            false => multiplied::<O, false>(n, dst, a, divisor, reciprocal),
        }
    }
    0
}

/// # Safety
/// Both point to `n` elements and do not overlap.
#[inline(always)]
unsafe fn multiplied<O: Division, const NEGATIVE: bool>(
    n: usize,
    dst: *mut O::T,
    a: *const O::T,
    divisor: O::T,
    reciprocal: Reciprocal<<O::T as Divide>::Magnitude>,
) {
    for i in 0..n {
        // SAFETY: `i < n`; the caller guarantees `n` elements.
        unsafe {
            let x = a.add(i).read();
            dst.add(i).write(O::result(x, divisor, x.by::<NEGATIVE>(reciprocal)));
        }
    }
}

/// # Safety
/// As for [`TileKernel`]; the first operand is a splat if `A`.
#[inline(always)]
unsafe fn by_each<O: Division, const A: bool>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    b: *const u8,
    _c: *const u8,
) -> u32 {
    if n == 0 {
        return 0;
    }
    let (dst, a, b) = (dst.cast::<O::T>(), a.cast::<O::T>(), b.cast::<O::T>());
    // SAFETY: the first operand has at least one element.
    let first = unsafe { a.read() };
    let mut by_zero = false;
    for i in 0..n {
        // SAFETY: `i < n`; the caller guarantees `n` elements, or one of a splat.
        unsafe {
            let (x, y) = (if A { first } else { a.add(i).read() }, b.add(i).read());
            by_zero |= y == O::T::default();
            dst.add(i).write(O::result(x, y, x.floored(y)));
        }
    }
    if by_zero { fault::DIVISION } else { 0 }
}

leveled!(
    /// The loops of division by one divisor.
    kernel_by_one, by_one, [O: Division], [O],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

leveled!(
    /// The loop of division by many divisors; the dividend is a splat if `A`.
    kernel_by_each, by_each, [O: Division, const A: bool], [O, A],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

/// The kernel of integer quotients or remainders; one operand may be a splat.
pub(super) fn divided<O: Division>(level: Level, a: bool, b: bool) -> Option<TileKernel> {
    match (a, b) {
        (false, true) => Some(kernel_by_one::<O>(level)),
        (false, false) => Some(kernel_by_each::<O, false>(level)),
        (true, false) => Some(kernel_by_each::<O, true>(level)),
        (true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;
    use ijk_types::Number;

    /// Boundary values: ends of the range, numbers around zero and powers of two, and random bits.
    fn numbers<T>(from: impl Fn(u64) -> T) -> Vec<T> {
        let powers =
            (0..64).flat_map(|n| [-2i64, -1, 0, 1, 2].map(|d| (1i64 << n).wrapping_add(d)));
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let random = std::iter::repeat_with(move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> (state % 61)
        });
        let signed = powers.flat_map(|x| [x, x.wrapping_neg()]).map(|x| x as u64);
        let small = (-20i64..=20).map(|x| x as u64);
        signed.chain(small).chain(random.take(200)).map(from).collect()
    }

    /// Result of a kernel, and true if it reports a division by zero.
    fn run<T: Copy + Default>(kernel: TileKernel, x: &[T], y: &[T]) -> (Vec<T>, bool) {
        let mut out = vec![T::default(); x.len().max(y.len())];
        let n = out.len();
        let (a, b) = (x.as_ptr().cast(), y.as_ptr().cast());
        // SAFETY: one of `x` and `y` has `n` elements, the other as many or is a splat.
        let faults = unsafe { kernel(n, out.as_mut_ptr().cast(), a, b, b) };
        (out, faults & fault::DIVISION != 0)
    }

    fn check<T: Divide + std::fmt::Debug>(xs: &[T]) {
        let scalar = |x: T, y: T| (x.div(y).unwrap_or_default(), x.modulo(y).unwrap_or_default());
        for level in Level::available() {
            let kernel = |a, b| {
                (
                    divided::<Quotient<T>>(level, a, b).unwrap(),
                    divided::<Remainder<T>>(level, a, b).unwrap(),
                )
            };
            for &d in xs {
                let zero = d == T::default();
                let (q, r) = kernel(false, true);
                let ((q, fault), (r, _)) = (run(q, xs, &[d]), run(r, xs, &[d]));
                assert_eq!(fault, zero);
                let ds = vec![d; xs.len()];
                let (p, s) = kernel(false, false);
                let ((p, fault), (s, _)) = (run(p, xs, &ds), run(s, xs, &ds));
                assert_eq!(fault, zero);
                for (i, &x) in xs.iter().enumerate().filter(|_| !zero) {
                    assert_eq!((q[i], r[i]), scalar(x, d), "{x:?} / {d:?}");
                    assert_eq!((p[i], s[i]), scalar(x, d), "{x:?} / {d:?}, one of many");
                }
            }
        }
    }

    #[test]
    fn division_by_all_kinds_of_divisors() {
        check(&numbers(|bits| bits as i32));
        check(&numbers(|bits| bits as i64));
    }

    #[test]
    fn one_dividend_by_many() {
        let ds: Vec<i32> = (1..200).collect();
        let kernel = divided::<Quotient<i32>>(Level::best(), true, false).unwrap();
        let (q, _) = run(kernel, &[-1000], &ds);
        assert!(ds.iter().zip(q).all(|(&d, q)| Number::div(-1000, d) == Ok(q)));
    }
}
