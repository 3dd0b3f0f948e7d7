//! Transposition by way of a buffer, for rows that collide in L1.

use super::block::Block;
use super::kernel::{Cuts, at, blocks};
use ijk_kernels::lines::LINE;
use ijk_kernels::tuning::time::{
    L1_SET_STRIDE_BYTES, TRANSPOSE_STAGED, TRANSPOSE_STAGED_COLUMNS, TRANSPOSE_STAGED_ROWS,
};

/// Returns true if the plane with those extents is staged: it is large enough, and rows of its destination map to few
/// sets of L1. Blocks write two lines of each row where it does not begin at a line, so that half the distance suffices.
pub(super) fn stages([rows, columns]: [usize; 2], dst: *const u8, stride: isize) -> bool {
    let aligned = dst.addr().is_multiple_of(LINE);
    let distance = if aligned { L1_SET_STRIDE_BYTES } else { L1_SET_STRIDE_BYTES / 2 };
    rows >= TRANSPOSE_STAGED_ROWS
        && columns >= TRANSPOSE_STAGED_COLUMNS
        && stride.unsigned_abs().is_multiple_of(distance)
}

/// Transposes a plane of at least a block's rows and columns by way of a buffer, so that each row is written in order:
/// partially written lines of colliding rows would be evicted.
/// A kernel of its own: a frame with the buffer costs small planes more than their copy.
///
/// # Safety
/// As for [`Plane`](super::kernel::Plane), with the condition of [`Planes::transpose`](super::kernel::Planes::transpose);
/// the processor supports the block's instructions, as for [`Block::transpose`].
#[inline(always)]
pub(super) unsafe fn staged<B: Block>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) {
    #[repr(align(64))]
    struct StagingBuffer(
        #[allow(dead_code, reason = "memory")]
        [u8; TRANSPOSE_STAGED[0] * (TRANSPOSE_STAGED[1] + 16) * 4],
    );
    let mut memory = std::mem::MaybeUninit::<StagingBuffer>::uninit();
    let memory = memory.as_mut_ptr().cast::<u8>();
    let size = size_of::<B::Word>();
    let [most, width] = TRANSPOSE_STAGED;
    let (most, width) = if size > 4 { (most / 2, width / 2) } else { (most, width) };
    // Rows of the buffer do not collide either.
    let pitch = (width + B::SIDE) * size;
    let side = rows.min(most);
    assert!(side * pitch <= size_of::<StagingBuffer>());
    let rows = Cuts::new(rows, side, size, src.addr(), src_strides[1]);
    for r in 0..rows.count {
        let r = rows.at(r);
        for c in (0..columns).step_by(width) {
            // The last part overlaps the one before if it is narrower than a block.
            let c = c.min(columns - B::SIDE);
            let count = width.min(columns - c);
            let from = at(src, src_strides, r, c);
            // SAFETY: a part of the plane, and the buffer's rows.
            unsafe {
                blocks::<B>(
                    [side, count],
                    memory,
                    [pitch as isize, size as isize],
                    from,
                    src_strides,
                )
            };
            for k in 0..side {
                let to = at::<u8>(dst, dst_strides, r + k, c).cast_mut();
                // SAFETY: part of row `r + k`, which was transposed into row `k` of the buffer.
                unsafe { std::ptr::copy_nonoverlapping(memory.add(k * pitch), to, count * size) };
            }
        }
    }
}
