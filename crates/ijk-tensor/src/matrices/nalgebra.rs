//! To and from nalgebra's matrices, vectors and views of them, without copies.

use super::{check_matrix, check_shape};
use crate::{Strides, Tensor, TensorError, TensorView, TensorViewMut, dtype_of};
use ::nalgebra::{
    DMatrixView, DMatrixViewMut, Dim, Dyn, Matrix, RawStorage, RawStorageMut, Scalar, ViewStorage,
};
use ijk_types::Element;

/// Shape and strides of a matrix. One whose columns are one by its type, or whose rows are, is a vector, of rank 1.
///
/// # Panics
/// If it has more elements than an address space, all of them in one place.
fn layout<T, R: Dim, C: Dim, S: RawStorage<T, R, C>>(
    matrix: &Matrix<T, R, C, S>,
) -> (Vec<usize>, Strides) {
    let (shape, (row, column)) = (matrix.shape(), matrix.strides());
    let [row, column] = [row as isize, column as isize];
    check_shape(&[shape.0, shape.1]);
    match (R::try_to_usize(), C::try_to_usize()) {
        (_, Some(1)) => (vec![shape.0], Strides::from_slice(&[row])),
        (Some(1), _) => (vec![shape.1], Strides::from_slice(&[column])),
        _ => (vec![shape.0, shape.1], Strides::from_slice(&[row, column])),
    }
}

impl<'a, T, R, C, S> From<&'a Matrix<T, R, C, S>> for TensorView<'a>
where
    T: Element + Scalar,
    R: Dim,
    C: Dim,
    S: RawStorage<T, R, C>,
{
    /// # Panics
    /// If the matrix has more elements than an address space, all of them in one place.
    fn from(matrix: &'a Matrix<T, R, C, S>) -> Self {
        let (shape, strides) = layout(matrix);
        // SAFETY: storage of a matrix has elements at its shape and strides, borrowed with it for `'a`.
        unsafe { Self::from_raw_parts(matrix.as_ptr().cast(), dtype_of::<T>(), &shape, &strides) }
    }
}

impl<'a, T, R, C, S> From<&'a mut Matrix<T, R, C, S>> for TensorViewMut<'a>
where
    T: Element + Scalar,
    R: Dim,
    C: Dim,
    S: RawStorageMut<T, R, C>,
{
    /// # Panics
    /// If the matrix has more elements than an address space, all of them in one place.
    fn from(matrix: &'a mut Matrix<T, R, C, S>) -> Self {
        let (shape, strides) = layout(matrix);
        let first = matrix.as_mut_ptr().cast();
        // SAFETY: as for `TensorView`; mutable storage has distinct elements, borrowed exclusively for `'a`.
        unsafe { Self::from_raw_parts(first, dtype_of::<T>(), &shape, &strides) }
    }
}

impl<'a> TensorView<'a> {
    /// A nalgebra view of the same elements, whose strides are not negative.
    ///
    /// # Errors
    /// If elements are not of type `T`, or the rank is not 2; [`TensorError::Stride`] where an axis is reversed, which
    /// nalgebra has no views for: copy such an array by [`to_tensor`](Self::to_tensor).
    ///
    /// ```
    /// use ijk_tensor::{Tensor, TensorView};
    /// use nalgebra::{DMatrix, Vector3, dmatrix};
    /// let matrix = dmatrix![1.0, 2.0, 3.0; 4.0, 5.0, 6.0];
    /// let view = TensorView::from(&matrix);
    /// assert_eq!(view.to_tensor()?.as_slice::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!(view.to_nalgebra::<f64>()?, matrix);
    /// assert_eq!(TensorView::from(&matrix.columns(1, 2)).shape(), [2, 2]);
    /// assert_eq!(TensorView::from(&Vector3::new(1, 2, 3)).shape(), [3]);
    ///
    /// let reversed = ndarray::arr2(&[[1.0], [2.0]]).slice_move(ndarray::s![..;-1, ..]);
    /// let error = TensorView::from_array(&reversed).to_nalgebra::<f64>().unwrap_err();
    /// assert_eq!(error.to_string(), "the stride of axis 0 is -1, but such views have none below 0");
    /// # Ok::<(), ijk_tensor::TensorError>(())
    /// ```
    pub fn to_nalgebra<T: Element + Scalar>(
        &self,
    ) -> Result<DMatrixView<'a, T, Dyn, Dyn>, TensorError> {
        let [rows, columns] = check_matrix::<T>(self)?;
        let stride = |axis: usize| match usize::try_from(self.strides()[axis]) {
            Ok(stride) => Ok(Dyn(stride)),
            // Of one element or none the stride is never gone.
            Err(_) if self.shape()[axis] < 2 => Ok(Dyn(0)),
            Err(_) => Err(TensorError::Stride { axis, stride: self.strides()[axis] }),
        };
        let strides = (stride(0)?, stride(1)?);
        let (first, shape) = (self.as_ptr().cast::<T>(), (Dyn(rows), Dyn(columns)));
        // SAFETY: for every index within the shape the strides lead to an element that is initialised and borrowed
        // for `'a`.
        let storage = unsafe { ViewStorage::from_raw_parts(first, shape, strides) };
        Ok(Matrix::from_data(storage))
    }
}

impl Tensor {
    /// A nalgebra view of the elements, to be changed.
    ///
    /// # Errors
    /// If elements are not of type `T`, or the rank is not 2.
    ///
    /// ```
    /// let mut tensor = ijk_tensor::Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], &[2, 2])?;
    /// tensor.to_nalgebra_mut::<f64>()?.row_mut(1).fill(0.0);
    /// assert_eq!(tensor.as_slice::<f64>().unwrap(), [1.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), ijk_tensor::TensorError>(())
    /// ```
    pub fn to_nalgebra_mut<T: Element + Scalar>(
        &mut self,
    ) -> Result<DMatrixViewMut<'_, T, Dyn, Dyn>, TensorError> {
        let [rows, columns] = check_matrix::<T>(&self.view())?;
        let elements = self.as_mut_slice::<T>().expect("elements of type `T`");
        let (rows, columns, row) = (Dyn(rows), Dyn(columns), Dyn(columns));
        Ok(DMatrixViewMut::from_slice_with_strides_generic(elements, rows, columns, row, Dyn(1)))
    }
}
