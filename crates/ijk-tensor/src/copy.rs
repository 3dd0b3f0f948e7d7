//! Copies from one layout to another.

use crate::{TensorView, TensorViewMut, dtype_of};
use ijk_types::Element;

/// Side of the tiles in which axes are exchanged: small enough that a tile's rows on both sides
/// stay in the first cache.
const TILE: usize = 32;

/// Copies every element to that of the same index.
///
/// Where another axis than the last is the dense one (a transposed array, Fortran order), the two
/// are walked in tiles, so that neither side jumps for every element.
///
/// # Panics
/// If shapes or element types differ.
pub(crate) fn copy<T: Element>(from: &TensorView<'_>, to: &mut TensorViewMut<'_>) {
    let dtype = dtype_of::<T>();
    assert!(from.dtype() == dtype && to.dtype() == dtype && from.shape() == to.shape());
    if from.is_empty() {
        return;
    }
    let (source, target) = (from.as_ptr().cast::<T>(), to.as_mut_ptr().cast::<T>());
    if from.is_c_contiguous() && to.is_c_contiguous() {
        // SAFETY: both hold `len` elements of type `T` densely; `to` is borrowed exclusively.
        return unsafe { source.copy_to_nonoverlapping(target, from.len()) };
    }
    let [outer @ .., rows, columns] = &axes(from, to.strides())[..] else {
        unreachable!("two axes at least")
    };
    let mut index = vec![0; outer.len()];
    loop {
        let (mut a, mut b) = (0, 0);
        for (axis, &n) in outer.iter().zip(&index) {
            a += n as isize * axis.from;
            b += n as isize * axis.to;
        }
        // SAFETY: the offsets are those of an index within the shape, of which `copy_plane` varies
        // the two axes left; both arrays have that shape and element type.
        unsafe { copy_plane(source.offset(a), target.offset(b), rows, columns) };
        if !advance(&mut index, outer) {
            return;
        }
    }
}

/// An axis of both arrays.
#[derive(Clone, Copy)]
struct Axis {
    extent: usize,
    from: isize,
    to: isize,
}

/// Axes in the order in which they are walked: the last is the last of the target, the densest
/// there in C order; the one before, if that is another, the densest in the source. Axes of extent 1 are left
/// out, but there are at least two.
fn axes(from: &TensorView<'_>, to: &[isize]) -> Vec<Axis> {
    let mut axes = vec![Axis { extent: 1, from: 0, to: 0 }; 2];
    axes.extend((0..from.rank()).filter(|&n| from.shape()[n] > 1).map(|n| Axis {
        extent: from.shape()[n],
        from: from.strides()[n],
        to: to[n],
    }));
    let last = axes.len() - 1;
    let density = |n: &usize| (axes[*n].from.unsigned_abs().max(1), usize::MAX - n);
    let dense = (2..last).min_by_key(density).unwrap_or(last - 1);
    let already = axes[last].from.unsigned_abs() <= axes[dense].from.unsigned_abs();
    if !already {
        axes.swap(dense, last - 1);
    }
    axes
}

/// Copies a plane of two axes.
///
/// # Safety
/// From both pointers, steps along the axes within their extents lead to elements of type `T`:
/// initialised ones, and memory that is exclusively the caller's.
unsafe fn copy_plane<T: Copy>(from: *const T, to: *mut T, rows: &Axis, columns: &Axis) {
    // SAFETY: within the extents, as the caller promises.
    let copy = |row: usize, column: usize| unsafe {
        let (row, column) = (row as isize, column as isize);
        let value = from.offset(row * rows.from + column * columns.from).read();
        to.offset(row * rows.to + column * columns.to).write(value);
    };
    if (columns.from, columns.to) == (1, 1) {
        for row in 0..rows.extent as isize {
            // SAFETY: as above, for the whole row.
            unsafe {
                let from = from.offset(row * rows.from);
                from.copy_to_nonoverlapping(to.offset(row * rows.to), columns.extent);
            }
        }
        return;
    }
    for first_row in (0..rows.extent).step_by(TILE) {
        for first_column in (0..columns.extent).step_by(TILE) {
            for row in first_row..rows.extent.min(first_row + TILE) {
                for column in first_column..columns.extent.min(first_column + TILE) {
                    copy(row, column);
                }
            }
        }
    }
}

/// Moves to the next index; `false` after the last.
fn advance(index: &mut [usize], axes: &[Axis]) -> bool {
    for (n, axis) in index.iter_mut().zip(axes).rev() {
        *n += 1;
        if *n < axis.extent {
            return true;
        }
        *n = 0;
    }
    false
}
