//! Functions with rare slow cases, strip by strip: a loop without branches computes the common case and detects rare
//! operands, for which a second loop recomputes the result.

use super::map::TileKernel;
use crate::simd::Level;
use crate::simd::leveled;
use crate::tuning::time::RARE_CASES_STRIP;
use ijk_types::math::{double, single};
use std::marker::PhantomData;

/// A function of one operand with rare cases.
pub trait Split1 {
    /// Type of operand and result.
    type T: Copy;
    /// The value for common operands, without branches; arbitrary for rare ones.
    fn near(a: Self::T) -> Self::T;
    /// Returns true for rare operands.
    fn is_far(a: Self::T) -> bool;
    /// The value for any operand.
    fn value(a: Self::T) -> Self::T;
}

/// A function of two operands with rare cases.
pub trait Split2 {
    /// Type of operands and result.
    type T: Copy;
    /// The value for common operands, without branches; arbitrary for rare ones.
    fn near(a: Self::T, b: Self::T) -> Self::T;
    /// Returns true for rare pairs of operands.
    fn is_far(a: Self::T, b: Self::T) -> bool;
    /// The value for rare pairs; arbitrary for others.
    fn far(a: Self::T, b: Self::T) -> Self::T;
}

macro_rules! split1 {
    ($($name:ident: $near:ident $method:ident;)*) => {$(
        pub(super) struct $name<T>(PhantomData<T>);
        split1!(@ $name, f32, single, $near, $method);
        split1!(@ $name, f64, double, $near, $method);
    )*};
    (@ $name:ident, $t:ident, $module:ident, $near:ident, $method:ident) => {
        impl Split1 for $name<$t> {
            type T = $t;
            #[inline(always)]
            fn near(a: $t) -> $t {
                $module::$near(a)
            }
            #[inline(always)]
            fn is_far(a: $t) -> bool {
                $module::is_far(a)
            }
            #[inline(always)]
            fn value(a: $t) -> $t {
                $module::$method(a)
            }
        }
    };
}

split1! {
    Sin: sin_near sin;
    Cos: cos_near cos;
    Tan: tan_near tan;
}

macro_rules! split2 {
    ($($name:ident: $near:ident $method:ident;)*) => {$(
        pub(super) struct $name<T>(PhantomData<T>);
        split2!(@ $name, f32, single, $near, $method);
        split2!(@ $name, f64, double, $near, $method);
    )*};
    (@ $name:ident, $t:ident, $module:ident, $near:ident, $method:ident) => {
        impl Split2 for $name<$t> {
            type T = $t;
            #[inline(always)]
            fn near(a: $t, b: $t) -> $t {
                $module::$near(a, b)
            }
            #[inline(always)]
            fn is_far(a: $t, b: $t) -> bool {
                $module::modulo_is_far(a, b)
            }
            #[inline(always)]
            fn far(a: $t, b: $t) -> $t {
                $module::$method(a, b)
            }
        }
    };
}

split2! {
    Mod: modulo_near modulo;
    FloorDiv: floor_div_near floor_div;
}

/// Powers of floats.
pub(super) struct Pow<T>(PhantomData<T>);

macro_rules! pow {
    ($($t:ident: $module:ident),*) => {$(
        impl Split2 for Pow<$t> {
            type T = $t;
            #[inline(always)]
            fn near(a: $t, b: $t) -> $t {
                $module::pow_near(a, b)
            }
            #[inline(always)]
            fn is_far(_a: $t, b: $t) -> bool {
                $module::pow_is_far(b)
            }
            #[inline(always)]
            fn far(a: $t, b: $t) -> $t {
                $module::pow_far(a, b)
            }
        }
    )*};
}

pow!(f32: single, f64: double);

/// # Safety
/// As for [`TileKernel`].
#[inline(always)]
unsafe fn map1<O: Split1>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    _b: *const u8,
    _c: *const u8,
) -> u32 {
    let (dst, a) = (dst.cast::<O::T>(), a.cast::<O::T>());
    for start in (0..n).step_by(RARE_CASES_STRIP) {
        let strip = start..n.min(start + RARE_CASES_STRIP);
        let mut any = false;
        for i in strip.clone() {
            // SAFETY: `i < n`; the caller guarantees `n` elements each.
            unsafe {
                let x = a.add(i).read();
                any |= O::is_far(x);
                dst.add(i).write(O::near(x));
            }
        }
        if !any {
            continue;
        }
        for i in strip {
            // SAFETY: `i < n`; the caller guarantees `n` elements each.
            unsafe {
                let x = a.add(i).read();
                if O::is_far(x) {
                    dst.add(i).write(O::value(x));
                }
            }
        }
    }
    0
}

/// # Safety
/// As for [`TileKernel`]; `A` and `B` mark operands that are splats.
#[inline(always)]
unsafe fn map2<O: Split2, const A: bool, const B: bool>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    b: *const u8,
    _c: *const u8,
) -> u32 {
    let (dst, a, b) = (dst.cast::<O::T>(), a.cast::<O::T>(), b.cast::<O::T>());
    if n == 0 {
        return 0;
    }
    // SAFETY: there is at least one element.
    let (a0, b0) = unsafe { (a.read(), b.read()) };
    // SAFETY: for `i < n`, since the caller guarantees `n` elements each, or one of a splat.
    let pair = |i: usize| unsafe {
        (if A { a0 } else { a.add(i).read() }, if B { b0 } else { b.add(i).read() })
    };
    for start in (0..n).step_by(RARE_CASES_STRIP) {
        let strip = start..n.min(start + RARE_CASES_STRIP);
        let mut any = false;
        for i in strip.clone() {
            let (x, y) = pair(i);
            any |= O::is_far(x, y);
            // SAFETY: `i < n`, as for `pair`.
            unsafe { dst.add(i).write(O::near(x, y)) };
        }
        if !any {
            continue;
        }
        for i in strip {
            let (x, y) = pair(i);
            if O::is_far(x, y) {
                // SAFETY: `i < n`, as for `pair`.
                unsafe { dst.add(i).write(O::far(x, y)) };
            }
        }
    }
    0
}

leveled!(
    /// The loops of a function of one operand.
    kernel1, map1, [O: Split1], [O],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

leveled!(
    /// The loops of a function of two operands; `A` and `B` mark splats.
    kernel2, map2, [O: Split2, const A: bool, const B: bool], [O, A, B],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

/// The kernel of a function of one operand.
pub(super) fn stripped<O: Split1>(level: Level) -> Option<TileKernel> {
    Some(kernel1::<O>(level))
}

/// The kernel of a function of two operands, one of which may be a splat.
pub(super) fn stripped2<O: Split2>(
    level: Level,
    a_splat: bool,
    b_splat: bool,
) -> Option<TileKernel> {
    match (a_splat, b_splat) {
        (false, false) => Some(kernel2::<O, false, false>(level)),
        (true, false) => Some(kernel2::<O, true, false>(level)),
        (false, true) => Some(kernel2::<O, false, true>(level)),
        (true, true) => None,
    }
}
