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
        (extents, steps): (&[usize], &[i64]),
        dst: *mut u8,
        numbers: *const u8,
        first: *const u8,
    ) {
        let &Self { end, scale, fill, .. } = self;
        let (outer, step, length) = match steps.iter().rposition(|&step| step != 0) {
            None => (&[][..], 0, extents.iter().product::<usize>()),
            Some(_) => {
                let Some((&length, outer)) = extents.split_last() else { return };
                (outer, steps[outer.len()], length)
            }
        };
        for row in 0..outer.iter().product::<usize>() {
            let mut rest = row;
            let mut apart = 0i64;
            for (&extent, &step) in outer.iter().zip(steps).rev() {
                apart = apart.wrapping_add((rest % extent) as i64 * step);
                rest /= extent;
            }
            let first = first.wrapping_offset(apart as isize * self.size as isize);
            let table = Table { first, end, scale, step, fill };
            let at = row * length;
            let numbers = numbers.wrapping_add(at * self.number_size);
            // SAFETY: guaranteed by the caller, for a row of the box.
            unsafe { (self.kernel)(length, dst.wrapping_add(at * self.size), numbers, &table) };
        }
    }
}
