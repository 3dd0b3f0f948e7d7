//! Copies between strided boxes of any rank.

mod block;
mod kernel;
mod places;
mod shuffle;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod spread;
mod staged;
mod thin;
mod thin_blocks;

use crate::Few;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::TRANSPOSE_PLANE;
use ijk_types::DType;
use kernel::{Plane, Planes, planes};
use staged::stages;

pub(crate) use ijk_kernels::lines::fence;
pub(crate) use places::{Places, ShortAxis, merged, part};

/// Copies boxes of elements of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copier {
    planes: Planes,
    size: isize,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopySide<'a, P> {
    /// The element at the origin.
    pub ptr: P,
    /// Stride of each axis in bytes.
    pub strides: &'a [isize],
}

impl Copier {
    /// Copies elements of a type.
    pub fn new(t: DType, level: Level) -> Self {
        Self { planes: planes(t, level), size: t.size() as isize }
    }

    /// Copies elements of a type with non-temporal stores, if rows are contiguous on both sides: for arrays out of
    /// cache that are not read soon. [`fence`] must follow before another thread reads them.
    pub fn streaming(t: DType, level: Level) -> Self {
        let planes = planes(t, level);
        Self { planes: Planes { rows: planes.stream, ..planes }, size: t.size() as isize }
    }

    /// Returns true if planes of these extents, whose rows are contiguous in the source and columns in the destination,
    /// are transposed by whole registers although one extent is less than a register's.
    pub fn is_thin(&self, extents: [usize; 2]) -> bool {
        (self.planes.is_thin)(extents)
    }

    /// Copies a box; the last axis is the innermost loop.
    ///
    /// # Safety
    /// Both sides are elements of the copier's type for every index within `extents`, initialised in `src`; no other
    /// thread accesses those of `dst`, and no element is on both sides.
    pub unsafe fn copy(
        &self,
        extents: &[usize],
        dst: CopySide<'_, *mut u8>,
        src: CopySide<'_, *const u8>,
    ) {
        let (outer, [rows, columns]) = match extents {
            [] => (&[][..], [1, 1]),
            &[columns] => (&[][..], [1, columns]),
            [outer @ .., rows, columns] => (outer, [*rows, *columns]),
        };
        let inner = |strides: &[isize]| match strides {
            [] => [0, 0],
            &[column] => [0, column],
            [.., row, column] => [*row, *column],
        };
        // Chosen once for all planes.
        let plane = self.plane([rows, columns], inner(dst.strides), inner(src.strides));
        if (plane.strided || columns == 1)
            && let Some(axes) = self.contiguous_axes(extents, dst.strides, src.strides)
        {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.copy_along(axes, extents, dst, src) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe { plane.copy_all(outer, dst, src) }
    }

    /// The axes in an order whose last ones are contiguous, in `src` and in `dst`, if they are not so already; those of
    /// extent 1 are left out.
    fn contiguous_axes(
        &self,
        extents: &[usize],
        dst: &[isize],
        src: &[isize],
    ) -> Option<Few<usize>> {
        let axes = || (0..extents.len()).filter(|&a| extents[a] > 1);
        let along = |strides: &[isize]| axes().rev().find(|&a| strides[a] == self.size);
        let (row, column) = (along(src)?, along(dst)?);
        if row != column && extents[row].saturating_mul(extents[column]) < TRANSPOSE_PLANE {
            return None;
        }
        let others = axes().filter(|&axis| axis != row && axis != column);
        let rows = (row != column).then_some(row);
        let ordered: Few<usize> = others.chain(rows).chain([column]).collect();
        (!ordered.iter().copied().eq(0..extents.len())).then_some(ordered)
    }

    /// Copies a box with its axes in this order.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    unsafe fn copy_along(
        &self,
        axes: Few<usize>,
        extents: &[usize],
        dst: CopySide<'_, *mut u8>,
        src: CopySide<'_, *const u8>,
    ) {
        let strides = |of: &[isize]| axes.iter().map(|&axis| of[axis]).collect::<Few<isize>>();
        let extents: Few<usize> = axes.iter().map(|&axis| extents[axis]).collect();
        let (to, from) = (strides(dst.strides), strides(src.strides));
        let dst = CopySide { ptr: dst.ptr, strides: &to };
        // SAFETY: guaranteed by the caller; the same elements in another order.
        unsafe { self.copy(&extents, dst, CopySide { ptr: src.ptr, strides: &from }) }
    }

    /// Copies `n` contiguous elements.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    #[inline]
    pub(crate) unsafe fn row(&self, n: usize, to: *mut u8, from: *const u8) {
        let strides = [0, self.size];
        // SAFETY: guaranteed by the caller.
        unsafe { (self.planes.rows)([1, n], to, strides, from, strides) }
    }

    /// The copy of boxes of two axes.
    fn plane(
        &self,
        extents: [usize; 2],
        dst_strides: [isize; 2],
        src_strides: [isize; 2],
    ) -> ChosenPlane {
        let (size, [rows, columns]) = (self.size, extents);
        let dense = dst_strides[1] == size || columns == 1;
        if src_strides[0] == -size && dense && rows > 1 {
            // Rows are in descending order of addresses: start with the last.
            let last = |stride: isize| stride * (rows as isize - 1);
            let shifts = [last(dst_strides[0]), -last(size)];
            let (to, from) = ([-dst_strides[0], dst_strides[1]], [size, src_strides[1]]);
            return ChosenPlane { shifts, ..self.plane(extents, to, from) };
        }
        let few_apart = |stride: isize| (2..=4).any(|elements| stride == elements * size);
        let (mut staged, mut strided) = (None, false);
        let kernel = match src_strides {
            [_, s] if dense && (s == size || columns == 1) => self.planes.rows,
            [_, 0] if dense => self.planes.splat,
            [_, s] if dense && s == -size => self.planes.reverse,
            [r, _] if dense && r == size => {
                staged = Some(self.planes.staged);
                self.planes.transpose
            }
            [_, s] if dense && few_apart(s) => self.planes.every,
            [_, s] if s == size && few_apart(dst_strides[1]) => self.planes.spread,
            _ => {
                strided = true;
                self.planes.strided
            }
        };
        let repeats =
            dense && rows > 1 && src_strides[0] == 0 && ![0, size].contains(&src_strides[1]);
        let (repeated, shifts) = (repeats.then_some(self.planes.rows), [0; 2]);
        ChosenPlane { kernel, staged, strided, repeated, extents, dst_strides, src_strides, shifts }
    }
}

/// The copy of boxes of two axes with the same strides.
#[derive(Clone, Copy)]
struct ChosenPlane {
    kernel: Plane,
    /// That of planes which are copied by way of registers and L1, if some are.
    staged: Option<Plane>,
    /// True if neither side is contiguous along rows or columns as other kernels require.
    strided: bool,
    /// The copy of rows to contiguous ones, if all rows are the same, and their elements are apart.
    repeated: Option<Plane>,
    extents: [usize; 2],
    dst_strides: [isize; 2],
    src_strides: [isize; 2],
    /// Bytes from the origins to the elements with which the kernel begins.
    shifts: [isize; 2],
}

impl ChosenPlane {
    /// Copies the planes of a box with further axes outside them.
    ///
    /// # Safety
    /// As for [`Copier::copy`].
    unsafe fn copy_all(
        &self,
        outer: &[usize],
        dst: CopySide<'_, *mut u8>,
        src: CopySide<'_, *const u8>,
    ) {
        let Some((&n, rest)) = outer.split_first() else {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.copy(dst.ptr, src.ptr) };
        };
        let [to, from] = [dst.strides[0], src.strides[0]];
        for i in 0..n as isize {
            let (dst_at, src_at) =
                (dst.ptr.wrapping_offset(i * to), src.ptr.wrapping_offset(i * from));
            // SAFETY: a sub-box, at index `i` of the first axis.
            unsafe {
                match rest {
                    [] => self.copy(dst_at, src_at),
                    _ => {
                        let dst = CopySide { ptr: dst_at, strides: &dst.strides[1..] };
                        let src = CopySide { ptr: src_at, strides: &src.strides[1..] };
                        self.copy_all(rest, dst, src);
                    }
                }
            }
        }
    }

    /// Copies a plane.
    ///
    /// # Safety
    /// As for [`Copier::copy`].
    #[inline(always)]
    unsafe fn copy(&self, dst: *mut u8, src: *const u8) {
        let Self { extents, dst_strides, src_strides, shifts, .. } = *self;
        let (dst, src) = (dst.wrapping_offset(shifts[0]), src.wrapping_offset(shifts[1]));
        if let Some(rows) = self.repeated {
            // SAFETY: guaranteed by the caller; further rows have the elements of the first.
            unsafe {
                (self.kernel)([1, extents[1]], dst, dst_strides, src, src_strides);
                let (to, further) =
                    (dst.wrapping_offset(dst_strides[0]), [extents[0] - 1, extents[1]]);
                rows(further, to, dst_strides, dst, [0, dst_strides[1]]);
            }
            return;
        }
        let kernel = match self.staged {
            Some(staged) if stages(extents, dst, dst_strides[0]) => staged,
            _ => self.kernel,
        };
        // SAFETY: guaranteed by the caller; the kernel's condition on strides holds.
        unsafe { kernel(extents, dst, dst_strides, src, src_strides) }
    }
}

/// The strides in bytes of a contiguous box of elements of `size` bytes.
pub(crate) fn dense_strides(extents: &[usize], size: usize, strides: &mut [isize]) {
    let mut step = size as isize;
    for (stride, &extent) in strides.iter_mut().zip(extents).rev() {
        *stride = step;
        step *= extent as isize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies `src[i, j, k]` at strides into a dense box and compares element by element.
    fn check<T: Copy + PartialEq + std::fmt::Debug>(
        t: DType,
        level: Level,
        extents: [usize; 3],
        order: [usize; 3],
        make: fn(usize) -> T,
    ) {
        let size = size_of::<T>();
        let (mut dense, ordered) = ([0; 3], order.map(|a| extents[a]));
        dense_strides(&ordered, size, &mut dense);
        let mut strides = [0; 3];
        order.iter().zip(dense).for_each(|(&a, s)| strides[a] = s);
        let n: usize = extents.iter().product();
        let copiers = [Copier::new(t, level), Copier::streaming(t, level)];
        let src: Vec<T> = (0..n).map(make).collect();
        let mut to = [0; 3];
        dense_strides(&extents, size, &mut to);
        for copier in copiers {
            let mut dst: Vec<T> = (0..n).map(|_| make(0)).collect();
            // SAFETY: both vectors have the box's elements at those strides.
            unsafe {
                let to = CopySide { ptr: dst.as_mut_ptr().cast::<u8>(), strides: &to };
                let from = CopySide { ptr: src.as_ptr().cast::<u8>(), strides: &strides };
                copier.copy(&extents, to, from);
            }
            fence();
            let mut at = dst.iter();
            for i in 0..extents[0] {
                for j in 0..extents[1] {
                    for k in 0..extents[2] {
                        let [x, y, z] = strides.map(|s| s as usize / size);
                        assert_eq!(*at.next().unwrap(), src[i * x + j * y + k * z]);
                    }
                }
            }
        }
    }

    const SHAPES: [[usize; 3]; 12] = [
        [5, 4, 40],
        [7, 6, 33],
        [4, 50, 1],
        [8, 1, 50],
        [3, 37, 50],
        [1, 64, 33],
        [2, 1, 5],
        [5, 16, 16],
        [2, 35, 512],
        [1, 67, 3],
        [2, 2, 70],
        [3, 3, 41],
    ];

    #[test]
    fn elements_are_repeated() {
        let copier = Copier::new(DType::F32, Level::best());
        let src: Vec<f32> = (0..70).map(|n| n as f32).collect();
        for (rows, columns) in (0..70).flat_map(|rows| (1..7).map(move |columns| (rows, columns))) {
            let mut out = vec![-1f32; rows * columns + 1];
            let dst =
                CopySide { ptr: out.as_mut_ptr().cast(), strides: &[4 * columns as isize, 4] };
            // SAFETY: the arrays have these elements.
            unsafe {
                copier.copy(
                    &[rows, columns],
                    dst,
                    CopySide { ptr: src.as_ptr().cast(), strides: &[4, 0] },
                );
            }
            assert_eq!(out.pop(), Some(-1.0));
            let expected = src.iter().take(rows).flat_map(|&x| std::iter::repeat_n(x, columns));
            assert!(out.into_iter().eq(expected), "{rows} by {columns}");
        }
    }

    #[test]
    fn rows_are_repeated() {
        let src: Vec<f32> = (0..700).map(|n| n as f32).collect();
        for apart in [-3isize, -1, 2, 3, 5, 9] {
            for (rows, columns) in [(1, 70), (2, 1), (3, 7), (5, 64), (24, 33)] {
                let mut out = vec![-1f32; rows * columns];
                let strides = [4 * columns as isize, 4];
                let first = if apart < 0 { 699 } else { 0 };
                let from = CopySide { ptr: src[first..].as_ptr().cast(), strides: &[0, 4 * apart] };
                let to = CopySide { ptr: out.as_mut_ptr().cast(), strides: &strides };
                // SAFETY: the arrays have these elements.
                unsafe { Copier::new(DType::F32, Level::best()).copy(&[rows, columns], to, from) };
                let at = |n: usize| src[(first as isize + (n % columns) as isize * apart) as usize];
                assert!(
                    (0..rows * columns).all(|n| out[n] == at(n)),
                    "{rows} by {columns}, {apart}"
                );
            }
        }
    }

    #[test]
    fn rows_and_columns_are_reversed() {
        let src: Vec<f32> = (0..80 * 80).map(|n| n as f32).collect();
        for level in Level::available() {
            let copier = Copier::new(DType::F32, level);
            for (rows, columns) in (1..80).step_by(3).flat_map(|r| (1..80).map(move |c| (r, c))) {
                for (step, turned) in [(columns as isize, false), (1, true)] {
                    let other = if turned { rows as isize } else { 1 };
                    for signs in [[-1, -1], [-1, 1], [1, -1]] {
                        let steps = [signs[0] * step, signs[1] * other];
                        let last = [rows, columns].map(|n| n as isize - 1);
                        let first = (0..2).map(|a| (-steps[a]).max(0) * last[a]).sum::<isize>();
                        let mut out = vec![-1f32; rows * columns];
                        let strides = [4 * columns as isize, 4];
                        let dst = CopySide { ptr: out.as_mut_ptr().cast(), strides: &strides };
                        let ptr = src[first as usize..].as_ptr().cast();
                        // SAFETY: the arrays have these elements.
                        unsafe {
                            let from = CopySide { ptr, strides: &steps.map(|s| 4 * s) };
                            copier.copy(&[rows, columns], dst, from);
                        }
                        let at = |n: usize| {
                            let (r, c) = ((n / columns) as isize, (n % columns) as isize);
                            src[(first + r * steps[0] + c * steps[1]) as usize]
                        };
                        assert!((0..rows * columns).all(|n| out[n] == at(n)));
                    }
                }
            }
        }
    }

    /// Copies rows of elements that are `apart` elements from each other in `dst` or in `src`; what lies between stays.
    fn check_apart<T: ijk_types::Element + PartialEq>(
        level: Level,
        [apart_to, apart_from]: [usize; 2],
        columns: usize,
        make: fn(usize) -> T,
    ) {
        let (rows, size) = (2, size_of::<T>());
        let src: Vec<T> = (0..rows * columns * apart_from).map(|n| make(n + 1)).collect();
        let mut dst = vec![make(0); rows * columns * apart_to];
        let strides = |apart: usize| [columns * apart * size, apart * size].map(|s| s as isize);
        let (to, from) = (strides(apart_to), strides(apart_from));
        // SAFETY: the vectors have these elements.
        unsafe {
            let to = CopySide { ptr: dst.as_mut_ptr().cast::<u8>(), strides: &to };
            let from = CopySide { ptr: src.as_ptr().cast::<u8>(), strides: &from };
            Copier::new(T::DTYPE, level).copy(&[rows, columns], to, from);
        }
        for (n, value) in dst.into_iter().enumerate() {
            let expected = match n % apart_to {
                0 => src[n / apart_to * apart_from],
                _ => make(0),
            };
            assert_eq!(value, expected, "{} {n} of {columns}", level.name());
        }
    }

    #[test]
    fn elements_a_few_apart() {
        for level in Level::available() {
            for apart in (1..6).flat_map(|n| [[n, 1], [1, n]]) {
                for columns in [0, 1, 7, 8, 16, 17, 100] {
                    check_apart(level, apart, columns, |n| n as u8);
                    check_apart(level, apart, columns, |n| n as f32);
                    check_apart(level, apart, columns, |n| n as f64);
                    check_apart(level, apart, columns, |n| ijk_types::C64::new(n as f32, 1.0));
                }
            }
        }
    }

    /// Transposes a plane with gaps between its rows and columns; what lies between stays.
    fn check_gaps<T: ijk_types::Element + PartialEq>(
        level: Level,
        [rows, columns]: [usize; 2],
        make: fn(usize) -> T,
    ) {
        let (wide, high, size) = (columns + 5, rows + 3, size_of::<T>());
        let src: Vec<T> = (0..columns * high).map(|n| make(n + 1)).collect();
        let mut dst = vec![make(0); rows * wide];
        let (to, from) = ([wide * size, size], [size, high * size]);
        let [to, from] = [to, from].map(|strides| strides.map(|s| s as isize));
        // SAFETY: the vectors have these elements.
        unsafe {
            let to = CopySide { ptr: dst.as_mut_ptr().cast::<u8>(), strides: &to };
            let from = CopySide { ptr: src.as_ptr().cast::<u8>(), strides: &from };
            Copier::new(T::DTYPE, level).copy(&[rows, columns], to, from);
        }
        for (n, value) in dst.into_iter().enumerate() {
            let (r, c) = (n / wide, n % wide);
            let expected = if c < columns { src[c * high + r] } else { make(0) };
            assert_eq!(value, expected, "{} {rows} by {columns} at {n}", level.name());
        }
    }

    #[test]
    fn few_rows_or_columns_are_transposed() {
        for level in Level::available() {
            for few in 1..=18 {
                for many in [1, 7, 8, 9, 15, 16, 17, 31, 33, 100] {
                    for extents in [[few, many], [many, few]] {
                        check_gaps(level, extents, |n| n as f32);
                        check_gaps(level, extents, |n| n as f64);
                    }
                }
            }
        }
    }

    #[test]
    fn all_orders_sizes_and_levels() {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for level in Level::available() {
            for order in orders {
                for extents in SHAPES {
                    check(DType::Bool, level, extents, order, |n| n as u8);
                    check(DType::F32, level, extents, order, |n| n as f32);
                    check(DType::F64, level, extents, order, |n| n as f64);
                    check(DType::C64, level, extents, order, |n| {
                        ijk_types::C64::new(n as f32, 1.0)
                    });
                    check(DType::C128, level, extents, order, |n| {
                        ijk_types::C128::new(n as f64, 1.0)
                    });
                }
            }
        }
    }
}
