//! Tests for infinities and NaN.

use crate::check::Layout;
use crate::runtime::threads::{Workers, cut};
use ijk_kernels::simd::{Kernel, Level, Simd};
use ijk_kernels::tuning::time::FINITE_PIECE;
use ijk_types::DType;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns true if all elements of a buffer are finite; in parallel if that pays.
///
/// # Safety
/// `base` is the first element of a buffer with that layout, whose elements are initialised, and no thread writes them.
pub(crate) unsafe fn all_finite(
    layout: &Layout,
    base: *const u8,
    level: Level,
    workers: &Workers,
) -> bool {
    if !has_infinities(layout.dtype) {
        return true;
    }
    if !layout.is_c_contiguous() {
        // SAFETY: guaranteed by the caller.
        return unsafe { walk(layout, base, level) };
    }
    let base = &Shared(base);
    let (size, tasks) = (layout.dtype.size(), layout.len.div_ceil(16 * FINITE_PIECE).max(1));
    let finite = AtomicBool::new(true);
    workers.parallel_for(tasks, |task| {
        let (start, end) = (cut(layout.len, task, tasks), cut(layout.len, task + 1, tasks));
        if finite.load(Ordering::Relaxed) {
            // SAFETY: guaranteed by the caller; these are elements of the buffer.
            let own = unsafe { run(layout.dtype, base.0.add(start * size), end - start, level) };
            finite.fetch_and(own, Ordering::Relaxed);
        }
    });
    finite.into_inner()
}

/// Address of elements that threads read.
struct Shared(*const u8);

// SAFETY: the elements are only read, and no thread writes them meanwhile.
unsafe impl Sync for Shared {}

/// Returns true if all elements of a buffer are finite, for any strides.
///
/// # Safety
/// As for [`all_finite`].
pub(crate) unsafe fn walk(layout: &Layout, base: *const u8, level: Level) -> bool {
    if layout.len == 0 || !has_infinities(layout.dtype) {
        return true;
    }
    let size = layout.dtype.size() as isize;
    let inner = layout.strides.len().checked_sub(1);
    let row = inner.filter(|&axis| layout.strides[axis] == 1).map_or(1, |axis| layout.shape[axis]);
    (0..layout.len).step_by(row).all(|mut number| {
        let mut offset = 0;
        for (&extent, &stride) in layout.shape.iter().zip(&layout.strides).rev() {
            offset += (number % extent) as isize * stride;
            number /= extent;
        }
        // SAFETY: these are elements of the buffer: a contiguous row, or one element.
        unsafe { run(layout.dtype, base.offset(offset * size), row, level) }
    })
}

fn has_infinities(dtype: DType) -> bool {
    matches!(dtype.real(), DType::F32 | DType::F64)
}

/// Returns true if `count` contiguous elements are finite.
///
/// # Safety
/// They are initialised elements of that type, which no thread writes.
unsafe fn run(dtype: DType, from: *const u8, count: usize, level: Level) -> bool {
    let parts = if dtype.is_complex() { 2 * count } else { count };
    // SAFETY: guaranteed by the caller; a complex element is two parts.
    unsafe {
        match dtype.real() {
            DType::F32 => level
                .run(Finite::<u32, 0x7f80_0000>(std::slice::from_raw_parts(from.cast(), parts))),
            _ => level.run(Finite::<u64, 0x7ff0_0000_0000_0000>(std::slice::from_raw_parts(
                from.cast(),
                parts,
            ))),
        }
    }
}

/// Words of floats, which are not finite if all bits of the exponent are set.
struct Finite<'a, W, const EXPONENT: u64>(&'a [W]);

impl<W: Copy + Into<u64>, const EXPONENT: u64> Kernel for Finite<'_, W, EXPONENT> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> bool {
        self.0.chunks(FINITE_PIECE).all(|piece| {
            let infinite = |&word: &W| word.into() & EXPONENT == EXPONENT;
            !piece.iter().fold(false, |any, word| any | infinite(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::layouts;
    use ijk_plan::plan::{Buffer, Place, Plan};

    fn layout(shape: &[usize], strides: &[isize]) -> Layout {
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        let buffer = Buffer { place: Place::Input(0), dtype: DType::F32, shape, strides };
        let plan = Plan { buffers: vec![buffer], steps: vec![], arena: 0 };
        layouts(&plan).expect("a buffer").remove(0)
    }

    #[test]
    fn what_is_not_finite_is_found_wherever_it_is() {
        let level = Level::best();
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -0.0] {
            for at in 0..70 {
                let mut values = vec![-1.5_f32; 70];
                values[at] = value;
                // The second one omits every other column.
                let layouts = [layout(&[7, 10], &[10, 1]), layout(&[7, 5], &[10, 2])];
                // SAFETY: the vector holds 70 elements.
                let found = layouts.map(|l| unsafe { walk(&l, values.as_ptr().cast(), level) });
                let seen = [true, at % 2 == 0];
                assert_eq!(found, seen.map(|seen| value.is_finite() || !seen), "{value} {at}");
            }
        }
    }
}
