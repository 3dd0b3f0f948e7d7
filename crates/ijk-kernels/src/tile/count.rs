//! Sums of bools as integers: bytes are added up before their sums are widened.

use super::Fold;
use crate::simd::{Level, leveled};
use ijk_types::DType;

/// Kernels that add the bools of a tile to integers.
#[derive(Clone, Copy, Debug)]
pub struct CountKernels {
    /// `acc[k] += values[r][k]` for `r < rows` in turn, `k < n`.
    pub down: Fold,
    /// `acc[r] += sum of values[r][0..n]` for `r < rows`.
    pub along: Fold,
}

/// The kernels that add to elements of a type, which wrap; `None` for others than integers.
pub fn counts(t: DType, level: Level) -> Option<CountKernels> {
    match t {
        DType::I32 => Some(kernels::<i32>(level)),
        DType::I64 => Some(kernels::<i64>(level)),
        _ => None,
    }
}

fn kernels<T: Count>(level: Level) -> CountKernels {
    CountKernels { down: down_at::<T>(level), along: along_at::<T>(level) }
}

/// Bytes that are added up side by side.
pub const COUNTED_LANES: usize = 128;

/// Bools that a byte can count.
const MOST: usize = u8::MAX as usize;

/// Integers that count.
pub trait Count: Copy {
    fn plus(self, count: u64) -> Self;
}

impl Count for i32 {
    #[inline(always)]
    fn plus(self, count: u64) -> Self {
        self.wrapping_add(count as i32)
    }
}

impl Count for i64 {
    #[inline(always)]
    fn plus(self, count: u64) -> Self {
        self.wrapping_add(count as i64)
    }
}

/// Adds up rows of lanes, `step` bytes apart.
///
/// # Safety
/// There are at most `MOST` rows of [`COUNTED_LANES`] bools.
#[inline(always)]
unsafe fn lanes(rows: usize, values: *const u8, step: usize) -> [u8; COUNTED_LANES] {
    let mut sums = [0; COUNTED_LANES];
    for row in 0..rows {
        for lane in 0..COUNTED_LANES {
            // SAFETY: guaranteed by the caller; a bool is a byte.
            sums[lane] += unsafe { values.add(row * step + lane).read() };
        }
    }
    sums
}

/// # Safety
/// As for [`Fold`], with bools as values.
#[inline(always)]
unsafe fn along<T: Count>(rows: usize, n: usize, acc: *mut u8, values: *const u8) {
    let acc = acc.cast::<T>();
    for row in 0..rows {
        let (mut count, mut at) = (0, 0);
        // SAFETY: row `row` has `n` bools, and an accumulator.
        unsafe {
            let values = values.add(row * n);
            while n - at >= COUNTED_LANES {
                let strips = ((n - at) / COUNTED_LANES).min(MOST);
                let sums = lanes(strips, values.add(at), COUNTED_LANES);
                count += sums.iter().map(|&sum| u64::from(sum)).sum::<u64>();
                at += strips * COUNTED_LANES;
            }
            for k in at..n {
                count += u64::from(values.add(k).read());
            }
            let to = acc.add(row);
            to.write(to.read().plus(count));
        }
    }
}

/// # Safety
/// As for [`Fold`], with bools as values.
#[inline(always)]
unsafe fn down<T: Count>(rows: usize, n: usize, acc: *mut u8, values: *const u8) {
    let acc = acc.cast::<T>();
    let whole = n / COUNTED_LANES * COUNTED_LANES;
    for column in (0..whole).step_by(COUNTED_LANES) {
        for row in (0..rows).step_by(MOST) {
            let some = MOST.min(rows - row);
            // SAFETY: these columns of these rows, and their accumulators.
            unsafe {
                let sums = lanes(some, values.add(row * n + column), n);
                for lane in 0..COUNTED_LANES {
                    let to = acc.add(column + lane);
                    to.write(to.read().plus(sums[lane].into()));
                }
            }
        }
    }
    for row in 0..rows {
        for k in whole..n {
            // SAFETY: column `k` of row `row`, and its accumulator.
            unsafe {
                let to = acc.add(k);
                to.write(to.read().plus(values.add(row * n + k).read().into()));
            }
        }
    }
}

leveled!(along_at, along, [T: Count], [T],
    (rows: usize, n: usize, acc: *mut u8, values: *const u8) -> ());
leveled!(down_at, down, [T: Count], [T],
    (rows: usize, n: usize, acc: *mut u8, values: *const u8) -> ());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bools_are_counted_beyond_what_a_byte_holds() {
        for level in crate::simd::Level::available() {
            for (rows, n) in
                [(1, 0), (3, 1), (2, 127), (2, 128), (1, 128 * 300 + 5), (600, 131), (256, 128)]
            {
                let bools: Vec<u8> =
                    (0..rows * n).map(|i| u8::from(n > 300 || i % 3 != 0)).collect();
                let kernels = counts(DType::I64, level).expect("i64");
                let (mut of_rows, mut of_columns) = (vec![1i64; rows], vec![-2i64; n]);
                // SAFETY: the values have `rows` rows of `n` bools, and there is an accumulator for each.
                unsafe {
                    (kernels.along)(rows, n, of_rows.as_mut_ptr().cast(), bools.as_ptr());
                    (kernels.down)(rows, n, of_columns.as_mut_ptr().cast(), bools.as_ptr());
                }
                for (r, &count) in of_rows.iter().enumerate() {
                    let row = &bools[r * n..][..n];
                    assert_eq!(count, 1 + row.iter().map(|&b| i64::from(b)).sum::<i64>());
                }
                for (k, &count) in of_columns.iter().enumerate() {
                    let column = (0..rows).map(|r| i64::from(bools[r * n + k]));
                    assert_eq!(count, column.sum::<i64>() - 2);
                }
            }
        }
    }
}
