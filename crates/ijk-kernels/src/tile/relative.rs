//! Sums by a scan, relative to levels: previous sums are scaled down as the level rises (log-sum-exp).
//!
//! A step is an affine function: a factor of the previous sum, and an addend. Steps are composed in an order that is a
//! function of lengths: in blocks of [`SCAN_BLOCK`] values by doubling windows, as in [`super::extreme`], then groups
//! one after another, and blocks one after another.

use crate::simd::{Level, leveled};
use crate::tuning::order::SCAN_BLOCK;
use ijk_types::{DType, Monoid, Real};

/// Scans `n` values of one row, relative to `n` levels: `from`, `level` and `to` are the first value, level and result,
/// `steps` their strides in bytes.
///
/// # Safety
/// `from`, `level` and `to` have `n` elements, and no other thread accesses those of `to`; the processor supports the
/// SIMD level of the kernel.
pub type RelativeScan =
    unsafe fn(n: usize, from: *const u8, level: *const u8, to: *mut u8, steps: [isize; 3]);

/// Final length of a window. It fixes the order of summation, like the thresholds of [`order`](crate::tuning::order).
const LANES: usize = 16;

/// # Safety
/// As for [`RelativeScan`].
#[inline(always)]
unsafe fn row<T: Real>(
    n: usize,
    from: *const u8,
    level: *const u8,
    to: *mut u8,
    steps: [isize; 3],
) {
    let (zero, one) = (T::identity(Monoid::Add), T::identity(Monoid::Mul));
    let nothing = Steps { left: [one; SCAN_BLOCK], added: [zero; SCAN_BLOCK] };
    let (mut own, mut spare) = (nothing, nothing);
    let (mut sum, mut at) = (zero, 0);
    while at < n {
        let length = SCAN_BLOCK.min(n - at);
        let start = |step: isize| at as isize * step;
        // SAFETY: the block's values, and the one before it, are among the `n`.
        unsafe {
            let (from, level) = (from.offset(start(steps[0])), level.offset(start(steps[1])));
            let before = if at == 0 { level } else { level.offset(-steps[1]) };
            own.read(length, from, [before, level], [steps[0], steps[1]]);
            own.combine(length, &mut spare);
            sum = own.finish(length, sum, to.offset(start(steps[2])), steps[2]);
        }
        at += length;
    }
}

/// The steps of a block: affine functions of the previous sum.
#[derive(Clone, Copy)]
struct Steps<T> {
    /// Factors of the previous sum,
    left: [T; SCAN_BLOCK],
    /// and addends.
    added: [T; SCAN_BLOCK],
}

impl<T: Real> Steps<T> {
    /// Reads the values of a block, their levels, and the level before.
    ///
    /// # Safety
    /// There are `n` of each, from 1 to [`SCAN_BLOCK`].
    #[inline(always)]
    unsafe fn read(
        &mut self,
        n: usize,
        from: *const u8,
        [before, level]: [*const u8; 2],
        [step, level_step]: [isize; 2],
    ) {
        let Self { left, added } = self;
        let unit = size_of::<T>() as isize;
        // SAFETY: guaranteed by the caller.
        unsafe {
            if step == unit && level_step == unit {
                std::ptr::copy_nonoverlapping(from.cast(), added.as_mut_ptr(), n);
                let level = level.cast::<T>();
                left[0] = before.cast::<T>().read().sub(level.read());
                for i in 1..n {
                    left[i] = level.add(i - 1).read().sub(level.add(i).read());
                }
            } else {
                let mut before = before.cast::<T>().read();
                for i in 0..n {
                    added[i] = from.offset(i as isize * step).cast::<T>().read();
                    let own = level.offset(i as isize * level_step).cast::<T>().read();
                    left[i] = before.sub(own);
                    before = own;
                }
            }
        }
        for x in left[..n].iter_mut() {
            *x = x.exp();
        }
    }

    /// Composes each step with all steps of the block before it.
    #[inline(always)]
    fn combine(&mut self, n: usize, spare: &mut Self) {
        spare.doubled_from(1, n, self);
        self.doubled_from(2, n, spare);
        spare.doubled_from(4, n, self);
        self.doubled_from(8, n, spare);
        let mut last = ([T::identity(Monoid::Mul); LANES], [T::identity(Monoid::Add); LANES]);
        for first in (0..n).step_by(LANES) {
            for lane in 0..LANES.min(n - first) {
                let own = (self.left[first + lane], self.added[first + lane]);
                let all = after((last.0[lane], last.1[lane]), own);
                (last.0[lane], last.1[lane]) = all;
                (self.left[first + lane], self.added[first + lane]) = all;
            }
        }
    }

    /// Composes each step of another block with the one `distance` before it.
    #[inline(always)]
    fn doubled_from(&mut self, distance: usize, n: usize, from: &Self) {
        let first = distance.min(n);
        self.left[..first].copy_from_slice(&from.left[..first]);
        self.added[..first].copy_from_slice(&from.added[..first]);
        for i in first..n {
            let before = (from.left[i - first], from.added[i - first]);
            (self.left[i], self.added[i]) = after(before, (from.left[i], from.added[i]));
        }
    }

    /// Writes the sums of a block after `sum`, and returns the last.
    ///
    /// # Safety
    /// `to` has `n` elements, and `n` is from 1 to [`SCAN_BLOCK`].
    #[inline(always)]
    unsafe fn finish(&mut self, n: usize, sum: T, to: *mut u8, step: isize) -> T {
        for i in 0..n {
            self.added[i] = after((self.left[i], sum), (self.left[i], self.added[i])).1;
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            if step == size_of::<T>() as isize {
                std::ptr::copy_nonoverlapping(self.added.as_ptr(), to.cast(), n);
            } else {
                let place = |i: usize| to.offset(i as isize * step).cast::<T>();
                for i in 0..n {
                    place(i).write(self.added[i]);
                }
            }
        }
        self.added[n - 1]
    }
}

/// Composition of two steps. A factor of zero discards the first step, even if that is infinite or NaN.
#[inline(always)]
fn after<T: Real>((left, added): (T, T), (own, more): (T, T)) -> (T, T) {
    let zero = T::identity(Monoid::Add);
    let nothing = own == zero;
    let (kept, sum) = (own.mul(left), more.add(own.mul(added)));
    (if nothing { zero } else { kept }, if nothing { more } else { sum })
}

leveled!(row_at, row, [T: Real], [T],
    (n: usize, from: *const u8, level: *const u8, to: *mut u8, steps: [isize; 3]) -> ());

/// The kernel for a type; `None` if the type is not real.
pub fn relative(t: DType, level: Level) -> Option<RelativeScan> {
    match t {
        DType::F32 => Some(row_at::<f32>(level)),
        DType::F64 => Some(row_at::<f64>(level)),
        _ => None,
    }
}
