//! Scans that are independent of order: maxima and minima.
//!
//! A block is scanned by doubling windows: each value is combined with its predecessor, then with the value at distance
//! two, four, eight, in loops over the whole block. Each element then holds the extreme of its last [`LANES`] values,
//! and one loop over groups of [`LANES`] combines adjacent windows.

use super::op::Op2;
use crate::simd::leveled;
use crate::tuning::order::SCAN_BLOCK;

/// Final length of a window.
const LANES: usize = 16;

/// Scan of rows, as for [other monoids](super::scan::ScanRows).
///
/// # Safety
/// As for [`ScanRows`](super::scan::ScanRows).
#[inline(always)]
unsafe fn rows<O: Op2<Out = <O as Op2>::In>, const DOWN: bool>(
    [rows, n]: [usize; 2],
    sum: *mut u8,
    from: *const u8,
    to: *mut u8,
    steps: [isize; 2],
) {
    let sum = sum.cast::<O::In>();
    // SAFETY: guaranteed by the caller.
    unsafe {
        let before = sum.read();
        let mut windows = [[before; SCAN_BLOCK]; 2];
        for row in 0..rows as isize {
            let (from, to) = (from.offset(row * steps[0]), to.offset(row * steps[1]));
            let (from, to) = (from.cast::<O::In>(), to.cast::<O::In>());
            let (mut all, mut at) = (before, 0);
            while at < n {
                let length = SCAN_BLOCK.min(n - at);
                let place = if DOWN { -(at as isize) } else { at as isize };
                let ends = (from.offset(place), to.offset(place));
                all = block::<O, DOWN>(length, all, ends, &mut windows);
                at += length;
            }
            sum.write(all);
        }
    }
}

/// Scans a block after `all`; returns the extreme including the block.
///
/// # Safety
/// `from` and `to` have `n` elements, from 1 to [`SCAN_BLOCK`], in descending order of addresses if `DOWN`.
#[inline(always)]
unsafe fn block<O: Op2<Out = <O as Op2>::In>, const DOWN: bool>(
    n: usize,
    all: O::In,
    (from, to): (*const O::In, *mut O::In),
    [x, y]: &mut [[O::In; SCAN_BLOCK]; 2],
) -> O::In {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match DOWN {
            false => std::ptr::copy_nonoverlapping(from, x.as_mut_ptr(), n),
            true => {
                for i in 0..n {
                    x[i] = from.sub(i).read();
                }
            }
        }
    }
    doubled::<O>(1, &x[..n], &mut y[..n]);
    doubled::<O>(2, &y[..n], &mut x[..n]);
    doubled::<O>(4, &x[..n], &mut y[..n]);
    doubled::<O>(8, &y[..n], &mut x[..n]);
    let mut last = [all; LANES];
    let (groups, rest) = x[..n].as_chunks::<LANES>();
    let (outs, out_rest) = y[..n].as_chunks_mut::<LANES>();
    for g in 0..groups.len() {
        for lane in 0..LANES {
            last[lane] = O::apply(last[lane], groups[g][lane]);
        }
        outs[g] = last;
    }
    let out_rest = &mut out_rest[..rest.len()];
    for lane in 0..rest.len() {
        out_rest[lane] = O::apply(last[lane], rest[lane]);
    }
    // SAFETY: guaranteed by the caller; all of `from` has been read.
    unsafe {
        match DOWN {
            false => std::ptr::copy_nonoverlapping(y.as_ptr(), to, n),
            true => {
                for i in 0..n {
                    to.sub(i).write(y[i]);
                }
            }
        }
    }
    y[n - 1]
}

/// Combines each value with the one `distance` before it.
#[inline(always)]
fn doubled<O: Op2<Out = <O as Op2>::In>>(distance: usize, from: &[O::In], to: &mut [O::In]) {
    let first = distance.min(from.len());
    to[..first].copy_from_slice(&from[..first]);
    let (before, own) = (&from[..from.len() - first], &from[first..]);
    let to = &mut to[first..][..own.len()];
    for n in 0..own.len() {
        to[n] = O::apply(before[n], own[n]);
    }
}

leveled!(
    /// The kernel of an operator for a direction.
    rows_at, rows, [O: Op2<Out = <O as Op2>::In>, const DOWN: bool], [O, DOWN],
    (extents: [usize; 2], sum: *mut u8, from: *const u8, to: *mut u8, steps: [isize; 2]) -> ());
