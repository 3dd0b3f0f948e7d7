//! Kernels that move elements by size without interpreting them, and that compute indices.

use super::{fault, map::TileKernel};
use crate::lines::{AHEAD, prefetch_all};
use crate::simd::Level;
use crate::simd::leveled;
use crate::tuning::time::COMPARED_INDICES;
use std::hint::select_unpredictable;

/// Word for moving elements: the size of an element, with an alignment no stricter than that of any element type.
pub trait Word: Copy {}
impl Word for u8 {}
impl Word for u16 {}
impl Word for u32 {}
impl Word for u64 {}
/// `Complex32`.
impl Word for [u32; 2] {}
/// `Complex64`.
impl Word for [u64; 2] {}

/// Writes, or combines, elements at computed offsets.
///
/// # Safety
/// For each `i < n`, `array` plus `offsets[i]` elements is an element, which no other thread accesses; `tile` has `n`
/// elements and does not overlap the array.
pub type Scatter = unsafe fn(n: usize, array: *mut u8, offsets: *const i64, tile: *const u8);

/// The kernels of one element size.
#[derive(Clone, Copy, Debug)]
pub struct MoveKernels {
    /// Bytes of an element.
    pub size: usize,
    /// `dst[i] = a[0]`.
    pub splat: TileKernel,
    /// `dst[i] = a[i]`.
    pub copy: TileKernel,
    /// `dst[i] = if a[i] { b[i] } else { c[i] }`, with `a` of bools.
    pub select: TileKernel,
    /// `dst[i] = b[a[i]]`, with `a` of checked i64 offsets.
    pub gather: TileKernel,
    /// `array[offsets[i]] = tile[i]` in turn.
    pub scatter: Scatter,
}

/// # Safety
/// As for [`TileKernel`], with `a` a splat.
#[inline(always)]
unsafe fn splat<W: Word>(n: usize, dst: *mut u8, a: *const u8, _: *const u8, _: *const u8) -> u32 {
    // SAFETY: a splat has one element, `dst` has `n`.
    unsafe {
        let value = a.cast::<W>().read();
        for i in 0..n {
            dst.cast::<W>().add(i).write(value);
        }
    }
    0
}

/// # Safety
/// As for [`TileKernel`].
#[inline(always)]
unsafe fn copy<W: Word>(n: usize, dst: *mut u8, a: *const u8, _: *const u8, _: *const u8) -> u32 {
    // SAFETY: both have `n` elements and do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(a.cast::<W>(), dst.cast::<W>(), n) };
    0
}

/// # Safety
/// As for [`TileKernel`], with `a` of bools.
#[inline(always)]
unsafe fn select<W: Word>(n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32 {
    for i in 0..n {
        // SAFETY: `i < n`; all have `n` elements.
        unsafe {
            let (yes, no) = (b.cast::<W>().add(i).read(), c.cast::<W>().add(i).read());
            // A select of values; a select of addresses would compile to a gather.
            let choice = select_unpredictable(a.cast::<bool>().add(i).read(), yes, no);
            dst.cast::<W>().add(i).write(choice);
        }
    }
    0
}

/// # Safety
/// `dst` and `a` have `n` elements; `b` plus each offset in `a` is an element.
#[inline(always)]
unsafe fn gather<W: Word>(n: usize, dst: *mut u8, a: *const u8, b: *const u8, _: *const u8) -> u32 {
    for i in 0..n {
        // SAFETY: `i < n`; the offset is that of an element.
        unsafe {
            let offset = a.cast::<i64>().add(i).read() as isize;
            dst.cast::<W>().add(i).write(b.cast::<W>().wrapping_offset(offset).read());
        }
    }
    0
}

/// # Safety
/// As for [`Scatter`].
unsafe fn scatter<W: Word>(n: usize, array: *mut u8, offsets: *const i64, tile: *const u8) {
    for i in 0..n {
        // SAFETY: `i < n`; the offset is that of an element.
        unsafe {
            let at = array.cast::<W>().wrapping_offset(offsets.add(i).read() as isize);
            at.write(tile.cast::<W>().add(i).read());
        }
    }
}

macro_rules! leveled_moves {
    ($($name:ident: $body:ident),*) => {$(
        leveled!($name, $body, [W: Word], [W],
            (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32);
    )*};
}
leveled_moves!(splat_at: splat, select_at: select, gather_at: gather);

fn kernels<W: Word>(level: Level) -> MoveKernels {
    MoveKernels {
        size: size_of::<W>(),
        splat: splat_at::<W>(level),
        copy: copy::<W>,
        select: select_at::<W>(level),
        gather: gather_at::<W>(level),
        scatter: scatter::<W>,
    }
}

/// The kernels for elements of a type.
pub fn moves(t: ijk_types::DType, level: Level) -> MoveKernels {
    match (t.size(), t.is_complex()) {
        (1, _) => kernels::<u8>(level),
        (2, _) => kernels::<u16>(level),
        (4, _) => kernels::<u32>(level),
        (8, false) => kernels::<u64>(level),
        (8, true) => kernels::<[u32; 2]>(level),
        _ => kernels::<[u64; 2]>(level),
    }
}

/// # Safety
/// `dst` has `n` elements, which no other thread accesses.
#[inline(always)]
unsafe fn iota_row(n: usize, dst: *mut i64, start: i64, step: i64) {
    for i in 0..n {
        // SAFETY: `i < n`.
        unsafe { dst.add(i).write(start.wrapping_add(step.wrapping_mul(i as i64))) };
    }
}

/// # Safety
/// `offsets` has `n` elements.
#[inline(always)]
unsafe fn range_check(n: usize, offsets: *const i64, least: i64, greatest: i64) -> u32 {
    let mut outside = false;
    for i in 0..n {
        // SAFETY: `i < n`.
        let offset = unsafe { offsets.add(i).read() };
        outside |= (offset < least) | (offset > greatest);
    }
    if outside { fault::OFFSET } else { 0 }
}

/// `dst[i] = 0 <= a[i] < b[0]` for i64, combined with `c[i]` if there is another condition.
///
/// # Safety
/// As for [`TileKernel`], with `b` a nonnegative splat, and `c` of bools if `AND`.
#[inline(always)]
unsafe fn window<const AND: bool>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    b: *const u8,
    c: *const u8,
) -> u32 {
    // SAFETY: a splat has one element, all others have `n`; these are parts of them.
    unsafe {
        // As unsigned numbers, negative ones exceed all others.
        let end = b.cast::<u64>().read();
        let whole = n / COMPARED_INDICES;
        for part in 0..whole {
            let at = part * COMPARED_INDICES;
            // Indices are usually out of cache here.
            prefetch_all(a.wrapping_add(at * 8 + AHEAD), COMPARED_INDICES * 8);
            windows::<AND>(COMPARED_INDICES, dst.add(at), a.add(at * 8), end, c.wrapping_add(at));
        }
        let at = whole * COMPARED_INDICES;
        windows::<AND>(n - at, dst.add(at), a.add(at * 8), end, c.wrapping_add(at));
    }
    0
}

/// `dst[i] = a[i] < end`, combined with `c[i]` if there is another condition.
///
/// # Safety
/// As for [`window`].
#[inline(always)]
unsafe fn windows<const AND: bool>(n: usize, dst: *mut u8, a: *const u8, end: u64, c: *const u8) {
    for i in 0..n {
        // SAFETY: `i < n`.
        unsafe {
            let inside = u8::from(a.cast::<u64>().add(i).read() < end);
            // A bool is a byte.
            let other = if AND { c.add(i).read() } else { 1 };
            dst.add(i).write(inside & other);
        }
    }
}

leveled!(window_at, window, [const AND: bool], [AND],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32);

/// The kernel that compares numbers with a window, combined with another condition if `and`.
pub fn within(level: Level, and: bool) -> TileKernel {
    if and { window_at::<true>(level) } else { window_at::<false>(level) }
}

/// Returns true if `count` bools are all true.
///
/// # Safety
/// `bools` has `count` elements.
#[inline(always)]
pub unsafe fn all_hold(bools: *const bool, count: usize) -> bool {
    // SAFETY: guaranteed by the caller; a bool is a byte.
    let bools = unsafe { std::slice::from_raw_parts(bools.cast::<u8>(), count) };
    bools.iter().fold(1, |all, holds| all & holds) == 1
}

/// Returns true if one of `count` bools is true.
///
/// # Safety
/// `bools` has `count` elements.
#[inline(always)]
pub unsafe fn any_of(bools: *const bool, count: usize) -> bool {
    // SAFETY: guaranteed by the caller; a bool is a byte.
    let bools = unsafe { std::slice::from_raw_parts(bools.cast::<u8>(), count) };
    bools.iter().fold(0, |any, holds| any | holds) == 1
}

/// Returns true if offsets are in ascending order.
///
/// # Safety
/// `offsets` has `n` elements.
pub type Ascends = unsafe fn(n: usize, offsets: *const i64) -> bool;

/// # Safety
/// As for [`Ascends`].
#[inline(always)]
unsafe fn each_ascends(n: usize, offsets: *const i64) -> bool {
    let mut descends = false;
    for i in 1..n {
        // SAFETY: `i < n`.
        descends |= unsafe { offsets.add(i).read() < offsets.add(i - 1).read() };
    }
    !descends
}

leveled!(
    /// Returns true if offsets are in ascending order.
    ascends, each_ascends, [], [], (n: usize, offsets: *const i64) -> bool
);
leveled!(
    /// Writes `start + step · i`, wrapping.
    iota, iota_row, [], [], (n: usize, dst: *mut i64, start: i64, step: i64) -> ()
);
leveled!(
    /// Fault unless all offsets are within bounds.
    in_range, range_check, [], [], (n: usize, offsets: *const i64, least: i64, greatest: i64) -> u32
);
