//! Lookups over the rows of a tile.

use super::super::program::LookupSpec;
use ijk_kernels::tile::Table;

impl LookupSpec {
    /// Looks up the elements of a box of points, row by row where their places differ from point to point.
    ///
    /// # Safety
    /// `dst` has room for the points, and overlaps neither the numbers, one for each point, nor the array; `first` is
    /// the place of the number 0 in the first point of a box of the nest's.
    pub(super) unsafe fn run(
        &self,
        extents: &[usize],
        dst: *mut u8,
        numbers: *const u8,
        first: *const u8,
    ) {
        let &Self { end, scale, fill, size, ref array, .. } = self;
        let still = array.inner.iter().all(|&stride| stride == 0);
        let (outer, length) = match extents.split_last() {
            Some((&length, outer)) if !still => (outer, length),
            _ => (&[][..], extents.iter().product()),
        };
        let step = array.inner.last().map_or(0, |&stride| stride as i64 / size as i64);
        for row in 0..outer.iter().product::<usize>() {
            let (mut rest, mut apart) = (row, 0isize);
            for (&extent, &stride) in outer.iter().zip(&array.inner).rev() {
                apart = apart.wrapping_add((rest % extent) as isize * stride);
                rest /= extent;
            }
            let first = first.wrapping_offset(apart);
            let table = Table { first, end, scale, step, fill };
            let at = row * length;
            let numbers = numbers.wrapping_add(at * self.number_size);
            // SAFETY: guaranteed by the caller, for a row of the box.
            unsafe { (self.kernel)(length, dst.wrapping_add(at * size), numbers, &table) };
        }
    }
}
