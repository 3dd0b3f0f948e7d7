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

/// Elements of a column, or row, up to which planes are (de)interleaved: beyond, loops compile to scalar code. Those of
/// rare sizes have no loops of their own.
const fn most<W>() -> usize {
    match size_of::<W>() {
        1 => 4,
        4 => 8,
        8 => 6,
        _ => 3,
    }
}

/// Calls a loop of constant length, or returns false if there is none of that length for the words.
macro_rules! of_length {
    ($length:expr, $f:ident::<$w:ty>($($argument:expr),*)) => {
        match $length {
            2 => $f::<$w, 2>($($argument),*),
            3 => $f::<$w, 3>($($argument),*),
            4 if const { most::<$w>() >= 4 } => $f::<$w, 4>($($argument),*),
            5 if const { most::<$w>() >= 5 } => $f::<$w, 5>($($argument),*),
            6 if const { most::<$w>() >= 6 } => $f::<$w, 6>($($argument),*),
            7 if const { most::<$w>() >= 7 } => $f::<$w, 7>($($argument),*),
            8 if const { most::<$w>() >= 8 } => $f::<$w, 8>($($argument),*),
            _ => return false,
        }
    };
}

/// [`split`] for as many rows as a plane has; returns false, without copying, if there is no loop for them.
///
/// # Safety
/// As for [`split`].
#[inline(always)]
pub(super) unsafe fn split_any<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    stride: isize,
    src: *const u8,
) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { of_length!(rows, split::<W>(columns, dst, stride, src)) };
    true
}

/// [`join`] for as many columns as a plane has; returns false, without copying, if there is no loop for them.
///
/// # Safety
/// As for [`join`].
#[inline(always)]
pub(super) unsafe fn join_any<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    src: *const u8,
    stride: isize,
) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { of_length!(columns, join::<W>(rows, dst, src, stride)) };
    true
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
