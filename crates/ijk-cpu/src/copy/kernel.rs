//! Kernels that copy boxes of two axes, rows and columns.

use super::block::{Block, Plain};
#[cfg(target_arch = "x86_64")]
use super::block::{Lines4, Lines8, Registers4, Registers8};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::spread;
use super::staged::staged;
use super::thin;
use super::thin_blocks::{is_thin, thin_blocks};
use ijk_kernels::lines::LINE;
#[cfg(target_arch = "x86_64")]
use ijk_kernels::simd::Kind;
use ijk_kernels::simd::Level;
use ijk_kernels::simd::leveled;
#[cfg(target_arch = "x86_64")]
use ijk_kernels::tuning::time::{JOIN_BUFFER_BYTES, JOINED_ROW_BYTES};
use ijk_kernels::tuning::time::{
    TRANSPOSE_ALIGNED_BLOCKS, TRANSPOSE_LEAST, TRANSPOSE_NEAR_BYTES, TRANSPOSE_PANEL,
};
use ijk_types::DType;

/// Copies a plane of `extents` = rows, columns; strides are in bytes.
///
/// # Safety
/// Both sides are elements of the kernel's size for every row and column, initialised in `src`; no other thread
/// accesses those of `dst`, and no element is on both sides. Each field of [`Planes`] states a condition on strides.
/// The processor supports the SIMD level of the kernel.
pub(super) type Plane = unsafe fn(
    extents: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
);

/// The kernels of an element size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planes {
    /// Columns are contiguous on both sides.
    pub rows: Plane,
    /// Columns are contiguous in `dst`, and have stride 0 in `src`.
    pub splat: Plane,
    /// Columns are contiguous in `dst`, rows in `src`.
    pub transpose: Plane,
    /// Returns true for extents of planes that `transpose` copies by [thin blocks](thin_blocks).
    pub is_thin: fn([usize; 2]) -> bool,
    /// As `transpose`, for at least as many rows and columns as [`stages`](super::staged::stages) demands.
    pub staged: Plane,
    /// Columns are contiguous in `dst`, and in descending order of addresses in `src`.
    pub reverse: Plane,
    /// Columns are contiguous in `dst`, and two to four elements apart in `src`.
    pub every: Plane,
    /// Columns are contiguous in `src`, and two to four elements apart in `dst`.
    pub spread: Plane,
    /// Any strides.
    pub strided: Plane,
    /// As `rows`, with non-temporal stores, for data that is not read soon. [`fence`](ijk_kernels::lines::fence) must follow before another thread
    /// reads it.
    pub stream: Plane,
}

/// Address of an element of a plane: the only pointer arithmetic of these kernels. It wraps, so that pointers beyond
/// the plane may be computed, but not dereferenced.
#[inline(always)]
pub(super) fn at<W>(ptr: *const u8, strides: [isize; 2], row: usize, column: usize) -> *const W {
    let step = |n: usize, stride: isize| (n as isize).wrapping_mul(stride);
    ptr.wrapping_offset(step(row, strides[0]).wrapping_add(step(column, strides[1]))).cast()
}

/// # Safety
/// As for [`Plane`], with the condition of [`Planes::rows`].
#[inline(always)]
unsafe fn rows<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    let bytes = columns * size_of::<W>();
    // SAFETY: guaranteed by the caller; a row has `bytes` bytes.
    unsafe {
        match bytes {
            4..8 => short_rows::<4>([rows, bytes], dst, dst_strides, src, src_strides),
            8..16 => short_rows::<8>([rows, bytes], dst, dst_strides, src, src_strides),
            16..32 => short_rows::<16>([rows, bytes], dst, dst_strides, src, src_strides),
            32..64 => short_rows::<32>([rows, bytes], dst, dst_strides, src, src_strides),
            64 => short_rows::<64>([rows, bytes], dst, dst_strides, src, src_strides),
            _ => {
                for r in 0..rows {
                    let to = at::<u8>(dst, dst_strides, r, 0).cast_mut();
                    std::ptr::copy_nonoverlapping(at(src, src_strides, r, 0), to, bytes);
                }
            }
        }
    }
}

/// Copies rows of `N` to `2 * N` bytes by their first and last `N` bytes: a call of memcpy for each would take longer.
///
/// # Safety
/// As for [`Plane`], for elements of one byte, with the condition of [`Planes::rows`].
#[inline(always)]
unsafe fn short_rows<const N: usize>(
    [rows, bytes]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    for r in 0..rows {
        // SAFETY: row `r` has `bytes` contiguous bytes on both sides, which do not overlap.
        unsafe {
            let to = at::<u8>(dst, dst_strides, r, 0).cast_mut();
            let from = at::<u8>(src, src_strides, r, 0);
            let last = bytes - N;
            to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read());
            if last > 0 {
                to.add(last).cast::<[u8; N]>().write(from.add(last).cast::<[u8; N]>().read());
            }
        }
    }
}

/// # Safety
/// As for [`Plane`], with the condition of [`Planes::splat`].
#[inline(always)]
unsafe fn splat<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    if columns == 0 {
        return;
    }
    let size = size_of::<W>() as isize;
    if src_strides[0] == size && dst_strides[0] == size * columns as isize {
        // SAFETY: guaranteed by the caller; the plane is contiguous on both sides.
        unsafe {
            match columns {
                2 => return thin::repeat::<W, 2>(rows, dst, src),
                3 => return thin::repeat::<W, 3>(rows, dst, src),
                4 => return thin::repeat::<W, 4>(rows, dst, src),
                _ => {}
            }
        }
    }
    for r in 0..rows {
        // SAFETY: row `r`; its columns are contiguous in `dst`, and the same element in `src`.
        unsafe {
            let to = at::<W>(dst, dst_strides, r, 0).cast_mut();
            let value = at::<W>(src, src_strides, r, 0).read();
            for c in 0..columns {
                to.add(c).write(value);
            }
        }
    }
}

/// # Safety
/// As for [`Plane`], with the condition of [`Planes::reverse`].
#[inline(always)]
unsafe fn reverse<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    let row = (columns * size_of::<W>()) as isize;
    if [dst_strides[0], src_strides[0]] == [row; 2] {
        let first = src.wrapping_offset(size_of::<W>() as isize - row);
        // SAFETY: guaranteed by the caller; rows are adjacent on both sides, and begin with their last column in `src`.
        unsafe {
            match columns {
                2 => return thin::mirror::<W, 2>(rows, dst, first),
                3 => return thin::mirror::<W, 3>(rows, dst, first),
                4 => return thin::mirror::<W, 4>(rows, dst, first),
                _ => {}
            }
        }
    }
    for r in 0..rows {
        let to = at::<W>(dst, dst_strides, r, 0).cast_mut();
        let from = at::<W>(src, src_strides, r, 0);
        for c in 0..columns {
            // SAFETY: row `r`, column `c`.
            unsafe { to.add(c).write(from.sub(c).read()) };
        }
    }
}

/// # Safety
/// As for [`Plane`], with the condition of [`Planes::every`].
#[inline(always)]
unsafe fn every<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    for r in 0..rows {
        let to = at::<u8>(dst, dst_strides, r, 0).cast_mut();
        let from = at::<u8>(src, src_strides, r, 0);
        // SAFETY: row `r`; its columns are contiguous in `dst`, and at every `N`th element in `src`.
        unsafe {
            match src_strides[1] / size_of::<W>() as isize {
                2 => thin::every::<W, 2>(columns, to, from),
                3 => thin::every::<W, 3>(columns, to, from),
                _ => thin::every::<W, 4>(columns, to, from),
            }
        }
    }
}

/// # Safety
/// As for [`Plane`].
#[inline(always)]
pub(super) unsafe fn strided<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    for r in 0..rows {
        for c in 0..columns {
            // SAFETY: row `r`, column `c`.
            unsafe {
                let value = at::<W>(src, src_strides, r, c).read();
                at::<W>(dst, dst_strides, r, c).cast_mut().write(value);
            }
        }
    }
}

/// # Safety
/// As for [`Plane`], with the condition of [`Planes::transpose`]; the processor supports the block's instructions, as
/// for [`Block::transpose`].
#[inline(always)]
unsafe fn transpose<B: Block>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if thin_blocks::<B>([rows, columns], dst, dst_strides, src, src_strides) {
            return;
        }
        let size = size_of::<B::Word>() as isize;
        let side_by_side = |stride: isize, count: usize| stride == size * count as isize;
        if side_by_side(src_strides[1], rows)
            && thin::split_any::<B::Word>([rows, columns], dst, dst_strides[0], src)
        {
            return;
        }
        if side_by_side(dst_strides[0], columns)
            && thin::join_any::<B::Word>([rows, columns], dst, src, src_strides[1])
        {
            return;
        }
        match [rows, columns] {
            _ if B::SIDE == 1 || rows.min(columns) < TRANSPOSE_LEAST => {
                strided::<B::Word>([rows, columns], dst, dst_strides, src, src_strides);
            }
            _ if rows.min(columns) < B::SIDE => {
                transpose::<B::Smaller>([rows, columns], dst, dst_strides, src, src_strides);
            }
            _ => blocks_and_strips::<B>([rows, columns], dst, dst_strides, src, src_strides),
        }
    }
}

/// First rows or columns of the blocks of a plane. The last block overlaps the one before, so that each is whole, and so
/// does the second of many: from then on blocks begin at multiples of a block's bytes, so that they cover whole lines.
#[derive(Clone, Copy)]
pub(super) struct Cuts {
    /// First row of the second block.
    head: usize,
    side: usize,
    /// First row of the last block.
    last: usize,
    /// Number of blocks.
    pub count: usize,
}

impl Cuts {
    /// The cuts of `extent >= side` contiguous elements at an address, from which other rows are `stride` bytes apart.
    #[inline(always)]
    pub fn new(extent: usize, side: usize, size: usize, address: usize, stride: isize) -> Self {
        let bytes = side * size;
        let aligns = extent >= TRANSPOSE_ALIGNED_BLOCKS * side && stride % bytes as isize == 0;
        let head = if aligns { address.wrapping_neg() % bytes / size } else { 0 };
        let head = if head == 0 { side } else { head };
        let count = 1 + extent.saturating_sub(head).div_ceil(side);
        Self { head, side, last: extent - side, count }
    }

    /// First row of block `n`.
    #[inline(always)]
    pub fn at(self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.head + (n - 1) * self.side).min(self.last) }
    }
}

/// Transposes a plane of at least a block's rows and columns. If it has hardly more than one block's, a strip of smaller
/// blocks covers the rest: a second block would mostly repeat the first.
///
/// # Safety
/// As for [`transpose`].
#[inline(always)]
unsafe fn blocks_and_strips<B: Block>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    let strip = B::Smaller::SIDE;
    let whole = |extent: usize| if extent <= B::SIDE + strip { B::SIDE } else { extent };
    let (high, wide) = (whole(rows), whole(columns));
    let part = |r, c| (at::<u8>(dst, dst_strides, r, c).cast_mut(), at(src, src_strides, r, c));
    // SAFETY: parts of the plane, which together cover it.
    unsafe {
        blocks::<B>([high, wide], dst, dst_strides, src, src_strides);
        if wide < columns {
            let (to, from) = part(0, columns - strip);
            blocks::<B::Smaller>([high, strip], to, dst_strides, from, src_strides);
        }
        if high < rows {
            let (to, from) = part(rows - strip, 0);
            blocks::<B::Smaller>([strip, columns], to, dst_strides, from, src_strides);
        }
    }
}

/// Transposes a plane of at least a block's rows and columns, block by block.
///
/// # Safety
/// As for [`transpose`].
#[inline(always)]
pub(super) unsafe fn blocks<B: Block>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    let size = size_of::<B::Word>();
    let rows = Cuts::new(rows, B::SIDE, size, src.addr(), src_strides[1]);
    let columns = Cuts::new(columns, B::SIDE, size, dst.addr(), dst_strides[0]);
    let strides = (dst_strides, src_strides);
    let near =
        dst_strides[0].unsigned_abs().saturating_mul(rows.last + B::SIDE) <= TRANSPOSE_NEAR_BYTES;
    if near || columns.count < TRANSPOSE_PANEL {
        // Along the columns of `src`, which are read from farther away, or longer than the rows of `dst`.
        for c in 0..columns.count {
            let c = columns.at(c);
            for r in 0..rows.count {
                // SAFETY: guaranteed by the caller, for blocks within the plane.
                unsafe { block::<B>((dst, src), strides, rows.at(r), c) };
            }
        }
        return;
    }
    // Along the rows of `dst`, whose lines are then written in order.
    for first in (0..columns.count).step_by(TRANSPOSE_PANEL) {
        for r in 0..rows.count {
            let r = rows.at(r);
            let panel = first..columns.count.min(first + TRANSPOSE_PANEL);
            for c in panel {
                // SAFETY: guaranteed by the caller, for blocks within the plane.
                unsafe { block::<B>((dst, src), strides, r, columns.at(c)) };
            }
        }
    }
}

/// Transposes the block whose first element is in row `r` and column `c`.
///
/// # Safety
/// As for [`transpose`], for a block within the plane.
#[inline(always)]
unsafe fn block<B: Block>(
    (dst, src): (*mut u8, *const u8),
    (to, from): ([isize; 2], [isize; 2]),
    r: usize,
    c: usize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        B::transpose(at::<u8>(dst, to, r, c).cast_mut(), to[0], at(src, from, r, c), from[1])
    };
}

/// Copies with non-temporal stores of whole cache lines.
///
/// # Safety
/// As for [`Plane`], with the condition of [`Planes::rows`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn stream<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    let bytes = columns * size_of::<W>();
    let follow = dst_strides[0] == bytes as isize && rows > 1;
    if follow && JOINED_ROW_BYTES.contains(&bytes) && !bytes.is_multiple_of(LINE) {
        // SAFETY: guaranteed by the caller; rows are contiguous to each other.
        return unsafe { join::<W>([rows, columns], dst, src, src_strides[0]) };
    }
    for r in 0..rows {
        let to = at::<u8>(dst, dst_strides, r, 0).cast_mut();
        // SAFETY: row `r`, whose columns are `bytes` contiguous bytes on both sides.
        unsafe { stream_row(to, at(src, src_strides, r, 0), bytes) };
    }
}

/// Copies rows that are contiguous to each other in `dst` with non-temporal stores: they are first joined in a buffer
/// with the same alignment to cache lines.
///
/// # Safety
/// There are `rows` rows of `columns` elements on both sides, at most [`JOIN_BUFFER_BYTES`] bytes each, which do not
/// overlap; the processor supports `avx`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn join<W: Copy>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    src: *const u8,
    src_stride: isize,
) {
    use ijk_kernels::lines::copy;
    #[repr(align(64))]
    struct JoinBuffer(#[allow(dead_code, reason = "memory")] [u8; JOIN_BUFFER_BYTES + LINE]);
    let mut memory = std::mem::MaybeUninit::<JoinBuffer>::uninit();
    let memory = memory.as_mut_ptr().cast::<u8>();
    let bytes = columns * size_of::<W>();
    let most = JOIN_BUFFER_BYTES / bytes;
    for first in (0..rows).step_by(most) {
        let count = most.min(rows - first);
        let to = dst.wrapping_add(first * bytes);
        let joined = memory.wrapping_add(to.addr() % LINE);
        for r in 0..count {
            let from = at::<W>(src, [src_stride, 0], first + r, 0);
            // SAFETY: row `first + r`; the memory has room for `count` rows and what is before a line's end.
            unsafe { copy(from, joined.add(r * bytes).cast(), columns) };
        }
        // SAFETY: the rows are contiguous to each other on both sides now.
        unsafe { stream_row(to, joined.cast_const(), count * bytes) };
    }
}

/// Copies bytes, whole cache lines of them with non-temporal stores.
///
/// # Safety
/// Both sides have `bytes` bytes, which do not overlap; the processor supports `avx`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline]
unsafe fn stream_row(to: *mut u8, from: *const u8, bytes: usize) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_stream_si256};
    let head = (to.addr().wrapping_neg() % LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let rest = (bytes - head) % LINE;
    // SAFETY: these are parts of the bytes that the caller guarantees; streaming stores start at a multiple of a line.
    unsafe {
        // A copy of unknown length compiles to a call, even if there is nothing to copy.
        if head > 0 {
            std::ptr::copy_nonoverlapping(from, to, head);
        }
        let (mut to, mut from) = (to.add(head), from.add(head));
        for _ in 0..lines {
            let low = _mm256_loadu_si256(from.cast());
            let high = _mm256_loadu_si256(from.add(LINE / 2).cast());
            _mm256_stream_si256(to.cast(), low);
            _mm256_stream_si256(to.add(LINE / 2).cast(), high);
            (to, from) = (to.add(LINE), from.add(LINE));
        }
        if rest > 0 {
            std::ptr::copy_nonoverlapping(from, to, rest);
        }
    }
}

/// The kernel that copies rows with non-temporal stores, or with ordinary ones if the level has none.
fn stream_for<W: Copy>(level: Level) -> Plane {
    match level.kind() {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 | Kind::Avx512 => stream::<W>,
        _ => rows::<W>,
    }
}

macro_rules! leveled_planes {
    ($($name:ident: $body:ident),*) => {$(
        leveled!($name, $body, [W: Copy], [W],
            (extents: [usize; 2], dst: *mut u8, dst_strides: [isize; 2], src: *const u8, src_strides: [isize; 2]) -> ());
    )*};
}
leveled_planes!(rows_at: rows, splat_at: splat, reverse_at: reverse, every_at: every, strided_at: strided);

macro_rules! leveled_transposes {
    ($($name:ident: $body:ident),*) => {$(
        leveled!($name, $body, [B: Block], [B],
            (extents: [usize; 2], dst: *mut u8, dst_strides: [isize; 2], src: *const u8, src_strides: [isize; 2]) -> ());
    )*};
}
leveled_transposes!(transpose_at: transpose, staged_at: staged);

/// The transposition of elements of a size.
struct Transposes {
    direct: Plane,
    staged: Plane,
    is_thin: fn([usize; 2]) -> bool,
}

impl Transposes {
    fn by<B: Block>(level: Level) -> Self {
        let (direct, staged) = (transpose_at::<B>(level), staged_at::<B>(level));
        Self { direct, staged, is_thin: is_thin::<B> }
    }

    /// By whole cache lines if registers are as wide.
    fn of<W: Copy>(level: Level) -> Self {
        #[cfg(target_arch = "x86_64")]
        match (level.kind(), size_of::<W>()) {
            (Kind::Avx512, 4) => return Self::by::<Lines4>(level),
            (Kind::Avx512, 8) => return Self::by::<Lines8>(level),
            (Kind::Avx2, 4) => return Self::by::<Registers4>(level),
            (Kind::Avx2, 8) => return Self::by::<Registers8>(level),
            _ => {}
        }
        Self::by::<Plain<W, 8>>(level)
    }
}

/// The kernel that writes contiguous elements a few elements apart.
fn spread_for<W: Copy>(level: Level) -> Plane {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    match (level.kind(), size_of::<W>()) {
        (Kind::Avx512, 4) => return spread::spread4,
        (Kind::Avx512, 8) => return spread::spread8,
        _ => {}
    }
    strided_at::<W>(level)
}

fn kernels<W: Copy>(level: Level) -> Planes {
    let Transposes { direct, staged, is_thin } = Transposes::of::<W>(level);
    Planes {
        rows: rows_at::<W>(level),
        splat: splat_at::<W>(level),
        transpose: direct,
        is_thin,
        staged,
        reverse: reverse_at::<W>(level),
        every: every_at::<W>(level),
        spread: spread_for::<W>(level),
        strided: strided_at::<W>(level),
        stream: stream_for::<W>(level),
    }
}

/// The kernels for elements of a type: by size, and no stricter alignment than the type's.
pub(super) fn planes(t: DType, level: Level) -> Planes {
    match (t.size(), t.is_complex()) {
        (1, _) => kernels::<u8>(level),
        (2, _) => kernels::<u16>(level),
        (4, _) => kernels::<u32>(level),
        (8, false) => kernels::<u64>(level),
        (8, true) => kernels::<[u32; 2]>(level),
        _ => kernels::<[u64; 2]>(level),
    }
}
