//! Positions of the vectors of a block in the rows of operands.

use crate::lines::prefetch_all;
use crate::simd::Vector;
use std::marker::PhantomData;

/// Positions of vectors.
pub(super) trait Spots: Copy {
    /// A value for each row.
    type Each<V: Copy>: Copy;

    /// The values of rows.
    fn by_row<V: Copy>(self, value: impl Fn(isize) -> V) -> Self::Each<V>;
    /// That of the row of vector `k`.
    fn of_row<V: Copy>(values: Self::Each<V>, k: usize) -> V;
    /// Address of vector `k` of an operand with elements of type `T`, whose rows are `step` bytes apart.
    fn place<T>(self, operand: *const u8, step: isize, k: usize) -> *const T;

    /// Prefetches what lies `ahead` bytes after the `K` vectors of an operand.
    fn prefetch<V: Vector, const K: usize>(self, operand: *const u8, step: isize, ahead: usize);
}

/// Successive vectors of the row to which operands point, from an element on.
#[derive(Clone, Copy)]
pub(super) struct InRow<V>(usize, PhantomData<V>);

impl<V> InRow<V> {
    #[inline(always)]
    pub fn from(element: usize) -> Self {
        Self(element, PhantomData)
    }
}

impl<W: Vector> Spots for InRow<W> {
    type Each<V: Copy> = V;

    #[inline(always)]
    fn by_row<V: Copy>(self, value: impl Fn(isize) -> V) -> V {
        value(0)
    }
    #[inline(always)]
    fn of_row<V: Copy>(value: V, _: usize) -> V {
        value
    }
    #[inline(always)]
    fn place<T>(self, operand: *const u8, _: isize, k: usize) -> *const T {
        // In two steps: all vectors then share a base register.
        operand.cast::<T>().wrapping_add(self.0).wrapping_add(k * W::LANES)
    }

    #[inline(always)]
    fn prefetch<V: Vector, const K: usize>(self, operand: *const u8, step: isize, ahead: usize) {
        let first = self.place::<V::Element>(operand, step, 0).cast::<u8>();
        prefetch_all(first.wrapping_add(ahead), K * V::LANES * size_of::<V::Element>());
    }
}

/// A block of `C` vectors in each of `R` rows.
#[derive(Clone, Copy)]
pub(super) struct RowsBlock<const R: usize, const C: usize> {
    rows: [isize; R],
    elements: [usize; C],
}

impl<const R: usize, const C: usize> RowsBlock<R, C> {
    /// The block of the rows from `row` and the vectors from `column` on, out of `count` rows of `length` elements, at
    /// least `C` times `lanes`. The last rows and vectors overlap others to be full.
    #[inline(always)]
    pub fn at(
        (row, column): (usize, usize),
        (count, length): (usize, usize),
        lanes: usize,
    ) -> Self {
        let (mut rows, mut elements) = ([0; R], [0; C]);
        for (n, of) in rows.iter_mut().enumerate() {
            *of = (row + n).min(count - 1) as isize;
        }
        for (n, of) in elements.iter_mut().enumerate() {
            *of = (column * lanes).min(length - C * lanes) + n * lanes;
        }
        Self { rows, elements }
    }
}

impl<const R: usize, const C: usize> Spots for &RowsBlock<R, C> {
    type Each<V: Copy> = [V; R];

    #[inline(always)]
    fn by_row<V: Copy>(self, value: impl Fn(isize) -> V) -> [V; R] {
        let mut values = [value(self.rows[0]); R];
        for n in 1..R {
            values[n] = value(self.rows[n]);
        }
        values
    }
    #[inline(always)]
    fn of_row<V: Copy>(values: [V; R], k: usize) -> V {
        values[k / C]
    }
    #[inline(always)]
    fn place<T>(self, operand: *const u8, step: isize, k: usize) -> *const T {
        let row = operand.wrapping_offset(self.rows[k / C] * step);
        row.cast::<T>().wrapping_add(self.elements[k % C])
    }

    #[inline(always)]
    fn prefetch<V: Vector, const K: usize>(self, operand: *const u8, step: isize, ahead: usize) {
        for row in 0..R {
            let first = self.place::<V::Element>(operand, step, row * C).cast::<u8>();
            prefetch_all(first.wrapping_add(ahead), C * V::LANES * size_of::<V::Element>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_rows() {
        for (count, length) in [(1, 8), (1, 9), (3, 8), (3, 17), (2, 16), (7, 11)] {
            let mut seen = vec![0; count * length];
            for row in (0..count).step_by(3) {
                for column in (0..length.div_ceil(4)).step_by(2) {
                    let block = RowsBlock::<3, 2>::at((row, column), (count, length), 4);
                    for k in 0..6 {
                        let place = (&block).place::<u8>(std::ptr::null(), length as isize, k);
                        let first = place.addr();
                        assert!(first % length + 4 <= length);
                        seen[first..first + 4].iter_mut().for_each(|n| *n += 1);
                    }
                }
            }
            assert!(seen.iter().all(|&n| n > 0), "{count} rows of {length}");
        }
    }
}
