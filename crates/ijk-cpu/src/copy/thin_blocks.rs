//! Transposition of planes of few rows or few columns, by blocks of few rows or columns.

use super::block::Block;
use super::kernel::at;

/// Transposes a plane of few rows, or few columns, by thin blocks, of which the last overlaps its predecessor; returns
/// false, without copying, if the block has none for its extents.
///
/// # Safety
/// As for [`Plane`](super::kernel::Plane), with the condition of [`Planes::transpose`](super::kernel::Planes); the
/// processor supports the block's instructions, as for [`Block::transpose`].
#[inline(always)]
pub(super) unsafe fn thin_blocks<B: Block>(
    [rows, columns]: [usize; 2],
    dst: *mut u8,
    dst_strides: [isize; 2],
    src: *const u8,
    src_strides: [isize; 2],
) -> bool {
    let starts = |extent: usize, each: usize| {
        (0..extent.div_ceil(each)).map(move |n| (n * each).min(extent - each))
    };
    let part = |r, c| (at::<u8>(dst, dst_strides, r, c).cast_mut(), at(src, src_strides, r, c));
    if splits::<B>([rows, columns]) {
        for c in starts(columns, B::SIDE) {
            for r in starts(rows, B::THIN) {
                let (to, from) = part(r, c);
                // SAFETY: guaranteed by the caller, for blocks within the plane.
                unsafe { B::split(to, dst_strides[0], from, src_strides[1]) };
            }
        }
        return true;
    }
    if joins::<B>([rows, columns]) {
        for r in starts(rows, B::SIDE) {
            for c in starts(columns, B::THIN) {
                let (to, from) = part(r, c);
                // SAFETY: guaranteed by the caller, for blocks within the plane.
                unsafe { B::join(to, dst_strides[0], from, src_strides[1]) };
            }
        }
        return true;
    }
    false
}

/// Returns true for extents of planes that [thin blocks](thin_blocks) cover.
pub(super) fn is_thin<B: Block>(extents: [usize; 2]) -> bool {
    splits::<B>(extents) || joins::<B>(extents)
}

/// Returns true if thin blocks cover the few rows of a plane.
#[inline(always)]
fn splits<B: Block>([rows, columns]: [usize; 2]) -> bool {
    B::SPLITS.contains(&rows) && columns >= B::SIDE
}

/// Returns true if thin blocks cover the few columns of a plane.
#[inline(always)]
fn joins<B: Block>([rows, columns]: [usize; 2]) -> bool {
    B::JOINS.contains(&columns) && rows >= B::SIDE
}
