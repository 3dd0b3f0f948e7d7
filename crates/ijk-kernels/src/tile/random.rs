//! Uniform random numbers: the loops of [`ijk_types::random`].

use super::{fault, map::TileKernel};
use crate::simd::Level;
use crate::simd::leveled;
use ijk_types::{DType, ScalarError, random};

/// Types of random numbers.
pub trait Drawn: Copy + Default {
    /// The number for some random bits.
    fn draw(bits: u64, lo: Self, hi: Self) -> Result<Self, ScalarError>;
}

impl Drawn for i64 {
    #[inline(always)]
    fn draw(bits: u64, lo: i64, hi: i64) -> Result<i64, ScalarError> {
        random::uniform_i64(bits, lo, hi)
    }
}

impl Drawn for f64 {
    #[inline(always)]
    fn draw(bits: u64, lo: f64, hi: f64) -> Result<f64, ScalarError> {
        random::uniform_f64(bits, lo, hi)
    }
}

/// `dst[i]` is random number `a[i]` of a source, between `b[i]` and `c[i]`; [`random::state`] has added the source's
/// key to the counters.
///
/// # Safety
/// As for [`TileKernel`]; `b` and `c` are splats if `SPLAT`.
#[inline(always)]
unsafe fn draw<T: Drawn, const SPLAT: bool>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    b: *const u8,
    c: *const u8,
) -> u32 {
    let (dst, states) = (dst.cast::<T>(), a.cast::<i64>());
    let (lo, hi) = (b.cast::<T>(), c.cast::<T>());
    if n == 0 {
        return 0;
    }
    // SAFETY: there is at least one element.
    let (first_lo, first_hi) = unsafe { (lo.read(), hi.read()) };
    let mut empty = false;
    for i in 0..n {
        // SAFETY: `i < n`; the caller guarantees `n` elements each, or one of a splat.
        unsafe {
            let lo = if SPLAT { first_lo } else { lo.add(i).read() };
            let hi = if SPLAT { first_hi } else { hi.add(i).read() };
            let number = T::draw(random::mix(states.add(i).read() as u64), lo, hi);
            empty |= number.is_err();
            dst.add(i).write(number.unwrap_or_default());
        }
    }
    if empty { fault::RANGE } else { 0 }
}

leveled!(
    /// The loop over a tile.
    draw_at, draw, [T: Drawn, const SPLAT: bool], [T, SPLAT],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

/// The kernel that draws numbers of a type from states, with lower and upper bounds; both bounds are splats, or neither
/// is.
pub fn draws(t: DType, level: Level, splat: bool) -> Option<TileKernel> {
    match (t, splat) {
        (DType::I64, false) => Some(draw_at::<i64, false>(level)),
        (DType::I64, true) => Some(draw_at::<i64, true>(level)),
        (DType::F64, false) => Some(draw_at::<f64, false>(level)),
        (DType::F64, true) => Some(draw_at::<f64, true>(level)),
        _ => None,
    }
}
