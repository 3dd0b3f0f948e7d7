//! Contiguous planes of very few rows or columns, such as pixels of two or three channels: loops of constant length,
//! which compile to shuffles.

/// Deinterleaves: copies a plane whose rows are adjacent in `src`, `N` elements for each column, and strided in `dst`.
///
/// # Safety
/// `src` has `columns` times `N` elements, and each of `N` lines from `dst` on, `stride` bytes apart, has room for
/// `columns`; no other thread accesses these, and no element is on both sides.
#[inline(always)]
pub(super) unsafe fn split<W: Copy, const N: usize>(
    columns: usize,
    dst: *mut u8,
    stride: isize,
    src: *const u8,
) {
    let src = src.cast::<[W; N]>();
    let lines: [*mut W; N] = std::array::from_fn(|n| line(dst, stride, n).cast());
    for column in 0..columns {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let all = src.add(column).read();
            for n in 0..N {
                lines[n].add(column).write(all[n]);
            }
        }
    }
}

/// Interleaves: copies a plane whose `N` columns are strided in `src`, and adjacent in `dst`.
///
/// # Safety
/// As for [`split`], with both sides exchanged.
#[inline(always)]
pub(super) unsafe fn join<W: Copy, const N: usize>(
    rows: usize,
    dst: *mut u8,
    src: *const u8,
    stride: isize,
) {
    let dst = dst.cast::<[W; N]>();
    let lines: [*const W; N] =
        std::array::from_fn(|n| line(src.cast_mut(), stride, n).cast_const().cast());
    for row in 0..rows {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut all = [lines[0].add(row).read(); N];
            for n in 1..N {
                all[n] = lines[n].add(row).read();
            }
            dst.add(row).write(all);
        }
    }
}

/// Copies each of some contiguous elements to `N` adjacent ones.
///
/// # Safety
/// `src` has `rows` elements, and `dst` room for `N` times as many; no other thread accesses these, and no element is
/// on both sides.
#[inline(always)]
pub(super) unsafe fn repeat<W: Copy, const N: usize>(rows: usize, dst: *mut u8, src: *const u8) {
    let (dst, src) = (dst.cast::<[W; N]>(), src.cast::<W>());
    for row in 0..rows {
        // SAFETY: guaranteed by the caller.
        unsafe { dst.add(row).write([src.add(row).read(); N]) };
    }
}

/// Copies rows of `N` elements, each row in reverse order.
///
/// # Safety
/// `src` has `rows` times `N` elements, and `dst` room for as many; no other thread accesses these, and no element is on
/// both sides.
#[inline(always)]
pub(super) unsafe fn mirror<W: Copy, const N: usize>(rows: usize, dst: *mut u8, src: *const u8) {
    let (dst, src) = (dst.cast::<[W; N]>(), src.cast::<[W; N]>());
    for row in 0..rows {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let all = src.add(row).read();
            dst.add(row).write(std::array::from_fn(|n| all[N - 1 - n]));
        }
    }
}

/// Copies every `N`th of some elements to contiguous ones.
///
/// # Safety
/// `src` has `columns` elements, each `N` elements after the one before, and `dst` room for as many contiguous ones; no
/// other thread accesses these, and no element is on both sides.
#[inline(always)]
pub(super) unsafe fn every<W: Copy, const N: usize>(columns: usize, dst: *mut u8, src: *const u8) {
    let (dst, src) = (dst.cast::<W>(), src.cast::<W>());
    for column in 0..columns {
        // SAFETY: guaranteed by the caller.
        unsafe { dst.add(column).write(src.add(column * N).read()) };
    }
}

/// Address of the first element of a line; it may be beyond the last one if it is not dereferenced.
#[inline(always)]
fn line(first: *mut u8, stride: isize, n: usize) -> *mut u8 {
    first.wrapping_offset(stride.wrapping_mul(n as isize))
}
