//! Comparisons of an index along the rows of a tile.

use super::super::threshold::Holds;
use ijk_types::BinaryOp;
use std::mem::MaybeUninit;

/// The other sides of the comparisons of rows, in turn: 0, or numbers at a distance from row to row.
pub(super) struct Others(pub(super) Option<(*const i64, usize)>);

impl Others {
    /// That of the next row.
    ///
    /// # Safety
    /// The numbers are readable for all rows.
    unsafe fn next(&mut self) -> i64 {
        let Some((at, step)) = &mut self.0 else { return 0 };
        // SAFETY: guaranteed by the caller.
        let value = unsafe { at.read() };
        *at = at.wrapping_add(*step);
        value
    }
}

/// Writes where an affine index over a box, with these steps along its axes, compares with the other side of each row.
///
/// # Safety
/// `dst` has one element for each point, which no other thread accesses; the others are those of all rows.
pub(super) unsafe fn thresholds(
    (op, steps): (BinaryOp, &[i64]),
    extents: &[usize],
    dst: *mut MaybeUninit<bool>,
    start: i64,
    others: &mut Others,
) {
    match extents {
        [] => {}
        &[n] => {
            // SAFETY: guaranteed by the caller; the elements of a row.
            let (row, other) = unsafe { (std::slice::from_raw_parts_mut(dst, n), others.next()) };
            Holds::of(op, n, (start, steps[0]), other).write(row);
        }
        [n, rest @ ..] => {
            let size: usize = rest.iter().product();
            for i in 0..*n {
                let start = start.wrapping_add(steps[0].wrapping_mul(i as i64));
                // SAFETY: row `i` is a sub-box, which begins `i * size` elements in.
                unsafe { thresholds((op, &steps[1..]), rest, dst.add(i * size), start, others) };
            }
        }
    }
}
