//! To and from faer's matrices, rows and columns: of any strides, without copies.

use super::{check_matrix, check_shape};
use crate::{Tensor, TensorError, TensorView, TensorViewMut, dtype_of};
use ::faer::{ColRef, Mat, MatMut, MatRef, RowRef, Shape, Stride};
use ijk_types::Element;

impl<'a, T, R, C, RS, CS> From<MatRef<'a, T, R, C, RS, CS>> for TensorView<'a>
where
    T: Element,
    R: Shape,
    C: Shape,
    RS: Stride,
    CS: Stride,
{
    /// # Panics
    /// If the matrix has more elements than an address space, all of them in one place.
    fn from(matrix: MatRef<'a, T, R, C, RS, CS>) -> Self {
        let shape = [matrix.nrows().unbound(), matrix.ncols().unbound()];
        let strides = [matrix.row_stride().element_stride(), matrix.col_stride().element_stride()];
        check_shape(&shape);
        // SAFETY: faer's pointer, shape and strides address elements borrowed for `'a`; the shape is checked.
        unsafe { Self::from_raw_parts(matrix.as_ptr().cast(), dtype_of::<T>(), &shape, &strides) }
    }
}

impl<'a, T: Element> From<&'a Mat<T>> for TensorView<'a> {
    fn from(matrix: &'a Mat<T>) -> Self {
        matrix.as_ref().into()
    }
}

impl<'a, T: Element> From<MatMut<'a, T>> for TensorViewMut<'a> {
    /// # Panics
    /// If the matrix has more elements than an address space, all of them in one place.
    fn from(matrix: MatMut<'a, T>) -> Self {
        let shape = [matrix.nrows(), matrix.ncols()];
        let strides = [matrix.row_stride(), matrix.col_stride()];
        check_shape(&shape);
        // SAFETY: faer's pointer, shape and strides address distinct elements, borrowed exclusively for `'a`.
        unsafe {
            Self::from_raw_parts(matrix.as_ptr_mut().cast(), dtype_of::<T>(), &shape, &strides)
        }
    }
}

impl<'a, T: Element> From<ColRef<'a, T>> for TensorView<'a> {
    fn from(column: ColRef<'a, T>) -> Self {
        let (shape, strides) = ([column.nrows()], [column.row_stride()]);
        check_shape(&shape);
        // SAFETY: faer's pointer, length and stride address elements borrowed for `'a`.
        unsafe { Self::from_raw_parts(column.as_ptr().cast(), dtype_of::<T>(), &shape, &strides) }
    }
}

impl<'a, T: Element> From<RowRef<'a, T>> for TensorView<'a> {
    fn from(row: RowRef<'a, T>) -> Self {
        let (shape, strides) = ([row.ncols()], [row.col_stride()]);
        check_shape(&shape);
        // SAFETY: faer's pointer, length and stride address elements borrowed for `'a`.
        unsafe { Self::from_raw_parts(row.as_ptr().cast(), dtype_of::<T>(), &shape, &strides) }
    }
}

impl<'a> TensorView<'a> {
    /// A faer view of the same elements, of any strides.
    ///
    /// # Errors
    /// If elements are not of type `T`, or the rank is not 2.
    ///
    /// ```
    /// use faer::mat;
    /// use ijk_tensor::{Tensor, TensorView};
    /// let matrix = mat![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let view = TensorView::from(matrix.as_ref().transpose().reverse_rows());
    /// assert_eq!(view.to_tensor()?.as_slice::<f64>().unwrap(), [3.0, 6.0, 2.0, 5.0, 1.0, 4.0]);
    /// assert_eq!(view.to_faer::<f64>()?, matrix.as_ref().transpose().reverse_rows());
    ///
    /// let tensor = Tensor::from_vec(vec![1.0, 2.0, 3.0], &[3])?;
    /// let error = tensor.view().to_faer::<f64>().unwrap_err();
    /// assert_eq!(error.to_string(), "the array has rank 1, not 2");
    /// # Ok::<(), ijk_tensor::TensorError>(())
    /// ```
    pub fn to_faer<T: Element>(&self) -> Result<MatRef<'a, T>, TensorError> {
        let [rows, columns] = check_matrix::<T>(self)?;
        let strides = self.strides();
        // SAFETY: for every index within the shape the strides lead to an element that is initialised and borrowed
        // for `'a`, and the pointer is aligned.
        Ok(unsafe {
            MatRef::from_raw_parts(self.as_ptr().cast(), rows, columns, strides[0], strides[1])
        })
    }
}

impl Tensor {
    /// A faer view of the elements, to be changed.
    ///
    /// # Errors
    /// If elements are not of type `T`, or the rank is not 2.
    ///
    /// ```
    /// let mut tensor = ijk_tensor::Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], &[2, 2])?;
    /// *tensor.to_faer_mut::<f64>()?.transpose_mut().get_mut(1, 0) = 9.0;
    /// assert_eq!(tensor.as_slice::<f64>().unwrap(), [1.0, 9.0, 3.0, 4.0]);
    /// # Ok::<(), ijk_tensor::TensorError>(())
    /// ```
    pub fn to_faer_mut<T: Element>(&mut self) -> Result<MatMut<'_, T>, TensorError> {
        let [rows, columns] = check_matrix::<T>(&self.view())?;
        let elements = self.as_mut_slice::<T>().expect("elements of type `T`");
        Ok(MatMut::from_row_major_slice_mut(elements, rows, columns))
    }
}
