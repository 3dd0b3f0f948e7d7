//! Elements in logical order.

use crate::{Shape, TensorView};
use ijk_types::Scalar;

/// The elements of a view in C order of their indices: [`TensorView::iter_scalars`].
#[derive(Clone, Debug)]
pub struct Scalars<'a> {
    view: &'a TensorView<'a>,
    index: Shape,
    offset: isize,
    left: usize,
}

impl<'a> Scalars<'a> {
    pub(crate) fn new(view: &'a TensorView<'a>) -> Self {
        let index = smallvec::smallvec![0; view.rank()];
        Self { view, index, offset: 0, left: view.len() }
    }

    /// Moves to the next index: the last axis counts, and carries into those before it.
    fn advance(&mut self) {
        for axis in (0..self.index.len()).rev() {
            let stride = self.view.strides()[axis];
            self.index[axis] += 1;
            self.offset = self.offset.wrapping_add(stride);
            if self.index[axis] < self.view.shape()[axis] {
                return;
            }
            self.offset = self.offset.wrapping_sub(stride.wrapping_mul(self.index[axis] as isize));
            self.index[axis] = 0;
        }
    }
}

impl Iterator for Scalars<'_> {
    type Item = Scalar;

    fn next(&mut self) -> Option<Scalar> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: `left` counts the indices, so `offset` is that of one within the shape.
        let value = unsafe { self.view.read_offset(self.offset) };
        self.advance();
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Scalars<'_> {}
