//! Transformations of a packed panel before microkernels read it.

use crate::Level;
use crate::simd::{Float, Kernel, Simd, Vector};
use ijk_types::DType;

/// Transformation of every element of an operand, which replaces further microkernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepare {
    /// None.
    Keep,
    /// `-x`, so that a difference is a sum.
    Negate,
    /// `!x` of a bool.
    Flip,
}

/// Layout of the complex elements of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Not complex.
    None,
    /// Groups of `c64`: real parts, then imaginary parts.
    C64,
    /// Groups of `c128`, likewise.
    C128,
}

impl Split {
    /// The split of complex elements of `size` bytes.
    pub fn of(size: usize) -> Self {
        if size == 8 { Self::C64 } else { Self::C128 }
    }
}

/// Special floats in a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// NaN.
    pub const NAN: Self = Self(1);
    /// Positive infinity.
    pub const POSITIVE: Self = Self(2);
    /// Negative infinity.
    pub const NEGATIVE: Self = Self(4);

    /// Union of both.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if `self` has all flags of `other`.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// As a byte.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// From [`bits`](Self::bits).
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::NONE }
    }
}

/// Transforms `count` elements in place.
///
/// # Safety
/// They are initialised elements of that type.
pub unsafe fn prepare(level: Level, dtype: DType, how: Prepare, panel: *mut u8, count: usize) {
    let parts = if dtype.is_complex() { 2 * count } else { count };
    /// # Safety
    /// `count` elements are initialised, and no other thread accesses them.
    unsafe fn each<T: Copy>(level: Level, panel: *mut u8, count: usize, f: fn(T) -> T) {
        // SAFETY: guaranteed by the caller.
        let elements = unsafe { std::slice::from_raw_parts_mut(panel.cast::<T>(), count) };
        level.run(MapKernel(elements, f));
    }
    // SAFETY: guaranteed by the caller; a complex element is two parts.
    unsafe {
        match (how, dtype.real()) {
            (Prepare::Keep, _) => {}
            (Prepare::Flip, _) => each::<u8>(level, panel, count, |x| x ^ 1),
            (_, DType::I32) => each::<i32>(level, panel, count, i32::wrapping_neg),
            (_, DType::I64) => each::<i64>(level, panel, count, i64::wrapping_neg),
            (_, DType::F32) => each::<f32>(level, panel, parts, |x| -x),
            _ => each::<f64>(level, panel, parts, |x| -x),
        }
    }
}

struct MapKernel<'a, T, F>(&'a mut [T], F);

impl<T: Copy, F: Fn(T) -> T> Kernel for MapKernel<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for x in self.0 {
            *x = self.1(*x);
        }
    }
}

/// Rearranges groups of complex elements: real parts before imaginary ones.
///
/// # Safety
/// `count` elements are initialised; `count` is a multiple of the level's lanes.
pub unsafe fn split(level: Level, how: Split, panel: *mut u8, count: usize) {
    if how != Split::None {
        level.run(SplitKernel { how, panel, count });
    }
}

struct SplitKernel {
    how: Split,
    panel: *mut u8,
    count: usize,
}

impl Kernel for SplitKernel {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // SAFETY: only `split` constructs this, and its caller guarantees the elements.
        unsafe {
            match self.how {
                Split::C64 => part::<S::F32>(self.panel.cast(), self.count),
                _ => part::<S::F64>(self.panel.cast(), self.count),
            }
        }
    }
}

#[inline(always)]
unsafe fn part<V: Float>(panel: *mut V::Element, count: usize) {
    for group in 0..count / V::LANES {
        // SAFETY: a group is two vectors, and `count / LANES` groups are there.
        unsafe {
            let low = panel.add(2 * group * V::LANES);
            let high = low.add(V::LANES);
            let (re, im) = V::load(low).deinterleave(V::load(high));
            re.store(low);
            im.store(high);
        }
    }
}

/// Special values among `count` elements; none unless they are `f32` or `f64`.
///
/// # Safety
/// They are initialised elements of that type.
pub unsafe fn scan(level: Level, dtype: DType, panel: *const u8, count: usize) -> Flags {
    level.run(ScanKernel { dtype, panel, count })
}

struct ScanKernel {
    dtype: DType,
    panel: *const u8,
    count: usize,
}

impl Kernel for ScanKernel {
    type Output = Flags;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Flags {
        // SAFETY: only `scan` constructs this, and its caller guarantees the elements.
        unsafe {
            match self.dtype {
                DType::F32 => {
                    let zero = S::F32::splat(simd, 0.0);
                    let (low, high) = range::<S::F32>(zero, self.panel.cast(), self.count);
                    flags(lanes(low, 0.0).into_iter(), lanes(high, 0.0).into_iter())
                }
                DType::F64 => {
                    let zero = S::F64::splat(simd, 0.0);
                    let (low, high) = range::<S::F64>(zero, self.panel.cast(), self.count);
                    flags(lanes(low, 0.0).into_iter(), lanes(high, 0.0).into_iter())
                }
                _ => Flags::NONE,
            }
        }
    }
}

/// Lane-wise minimum and maximum of 0 and all elements; the maximum is NaN if any element is.
#[inline(always)]
unsafe fn range<V: Float>(zero: V, panel: *const V::Element, count: usize) -> (V, V) {
    let (mut low, mut high) = ([zero; 2], [zero; 2]);
    let mut at = 0;
    // SAFETY: positions stay below `count`.
    unsafe {
        while at + 2 * V::LANES <= count {
            for n in 0..2 {
                let x = V::load(panel.add(at + n * V::LANES));
                low[n] = low[n].min(x);
                high[n] = high[n].max_nan(x);
            }
            at += 2 * V::LANES;
        }
        while at < count {
            let x = V::load_partial(panel.add(at), (count - at).min(V::LANES));
            low[0] = low[0].min(x);
            high[0] = high[0].max_nan(x);
            at += V::LANES;
        }
    }
    (low[0].min(low[1]), high[0].max_nan(high[1]))
}

/// A vector as an array whose surplus lanes hold `fill`.
#[inline(always)]
fn lanes<V: Vector>(x: V, fill: V::Element) -> [V::Element; 16] {
    let mut out = [fill; 16];
    assert!(V::LANES <= 16);
    // SAFETY: the array has room for the lanes.
    unsafe { x.store(out.as_mut_ptr()) };
    out
}

#[inline(always)]
fn flags<T: PartialEq + Into<f64>>(
    low: impl Iterator<Item = T>,
    high: impl Iterator<Item = T>,
) -> Flags {
    let low = low.map(|x| Flags::NEGATIVE.when(x.into() == f64::NEG_INFINITY));
    let high = high.map(|x| {
        let x: f64 = x.into();
        Flags::NAN.when(x.is_nan()).union(Flags::POSITIVE.when(x == f64::INFINITY))
    });
    low.chain(high).fold(Flags::NONE, Flags::union)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values_are_found_wherever_they_are() {
        let cases = [
            (f32::NAN, Flags::NAN),
            (f32::INFINITY, Flags::POSITIVE),
            (f32::NEG_INFINITY, Flags::NEGATIVE),
            (f32::MAX, Flags::NONE),
        ];
        for level in Level::available() {
            for at in 0..77 {
                for (value, expected) in cases {
                    let mut values = vec![-1.5_f32; 77];
                    values[at] = value;
                    // SAFETY: the vector holds 77 elements.
                    let found = unsafe { scan(level, DType::F32, values.as_ptr().cast(), 77) };
                    assert_eq!(found, expected, "{} {at}", level.name());
                }
            }
        }
    }

    #[test]
    fn elements_are_negated() {
        let mut values: Vec<f64> = (0..30).map(f64::from).collect();
        // SAFETY: 15 complex elements are 30 parts.
        unsafe {
            prepare(Level::best(), DType::C128, Prepare::Negate, values.as_mut_ptr().cast(), 15)
        };
        assert!(values.iter().zip(0..).all(|(&x, n)| x == -f64::from(n)));
    }
}
