//! To and from ndarray.

use crate::buffer::Buffer;
use crate::shape::c_strides;
use crate::{Shape, Strides, Tensor, TensorError, TensorView, TensorViewMut, dtype_of};
use ijk_types::{DType, Element};
use ndarray::{
    Array, ArrayBase, ArrayRef, ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Axis, Data,
    Dimension, IxDyn, RawArrayView, RawArrayViewMut, ShapeBuilder, s,
};
use std::mem::MaybeUninit;

impl<'a> TensorView<'a> {
    /// A view of an array of any layout: owned, sliced, reversed, broadcast.
    pub fn from_array<T: Element, D: Dimension>(array: &'a ArrayRef<T, D>) -> Self {
        // SAFETY: ndarray's pointer, shape and strides address elements borrowed for `'a`.
        unsafe {
            Self::from_raw_parts(
                array.as_ptr().cast(),
                dtype_of::<T>(),
                array.shape(),
                array.strides(),
            )
        }
    }

    /// An ndarray view of the same elements.
    ///
    /// # Errors
    /// If elements are not of type `T`.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayViewD<'a, T>, TensorError> {
        expect_dtype::<T>(self.dtype())?;
        // SAFETY: the elements of all indices are initialised and borrowed for `'a`.
        Ok(unsafe { raw_view(self.as_ptr().cast(), self.shape(), self.strides()) })
    }
}

/// An ndarray view of the elements that start at `ptr`.
///
/// # Safety
/// For all of `'a`, and for every index within the shape, `ptr` plus index times strides points to an
/// initialised element, which nobody writes.
pub(crate) unsafe fn raw_view<'a, T>(
    ptr: *const T,
    shape: &[usize],
    strides: &[isize],
) -> ArrayViewD<'a, T> {
    let layout = NonNegative::of(shape, strides);
    // SAFETY: the offset is that of the element of least address, or 0 if there is none; from there on the
    // strides, which are not negative, address the same elements, for which the caller vouches.
    let mut array = unsafe {
        RawArrayView::from_shape_ptr(layout.shape(shape), ptr.offset(layout.offset))
            .deref_into_view()
    };
    layout.reversed.iter().for_each(|&axis| array.invert_axis(Axis(axis)));
    array
}

impl<'a> TensorViewMut<'a> {
    /// A view of an array of any layout.
    pub fn from_array<T: Element, D: Dimension>(array: &'a mut ArrayRef<T, D>) -> Self {
        let (shape, strides) =
            (Shape::from_slice(array.shape()), Strides::from_slice(array.strides()));
        // SAFETY: ndarray's pointer, shape and strides address distinct elements, borrowed
        // exclusively for `'a`.
        unsafe {
            let ptr = array.as_mut_ptr().cast();
            Self::from_raw_parts(ptr, dtype_of::<T>(), &shape, &strides)
        }
    }

    /// A view of an array that is not initialised, of any layout, such as [`Array::uninit`] makes.
    pub fn from_uninit_array<T: Element, D: Dimension>(
        array: &'a mut ArrayRef<MaybeUninit<T>, D>,
    ) -> Self {
        let (shape, strides) =
            (Shape::from_slice(array.shape()), Strides::from_slice(array.strides()));
        // SAFETY: as for `from_array`.
        unsafe {
            let ptr = array.as_mut_ptr().cast();
            Self::from_raw_parts(ptr, dtype_of::<T>(), &shape, &strides)
        }
    }

    /// An ndarray view of the same elements, which may be uninitialised.
    ///
    /// # Errors
    /// If elements are not of type `T`.
    ///
    /// # Safety
    /// The caller writes initialised elements only: the memory may belong to an array whose elements are initialised.
    pub unsafe fn into_ndarray_uninit<T: Element>(
        mut self,
    ) -> Result<ArrayViewMutD<'a, MaybeUninit<T>>, TensorError> {
        expect_dtype::<T>(self.dtype())?;
        let layout = NonNegative::of(self.shape(), self.strides());
        // SAFETY: as for `TensorView::to_ndarray`; elements are distinct and borrowed exclusively
        // for `'a`, and `MaybeUninit` asks nothing of their contents.
        let mut array = unsafe {
            let first = self.as_mut_ptr().cast::<MaybeUninit<T>>().offset(layout.offset);
            RawArrayViewMut::from_shape_ptr(layout.shape(self.shape()), first).deref_into_view_mut()
        };
        layout.reversed.iter().for_each(|&axis| array.invert_axis(Axis(axis)));
        Ok(array)
    }
}

impl<'a, S, D> From<&'a ArrayBase<S, D>> for TensorView<'a>
where
    S: Data<Elem: Element>,
    D: Dimension,
{
    fn from(array: &'a ArrayBase<S, D>) -> Self {
        Self::from_array(array)
    }
}

impl<'a, T: Element, D: Dimension> From<&'a ArrayRef<T, D>> for TensorView<'a> {
    fn from(array: &'a ArrayRef<T, D>) -> Self {
        Self::from_array(array)
    }
}

impl<'a, T: Element, D: Dimension> From<ArrayView<'a, T, D>> for TensorView<'a> {
    fn from(array: ArrayView<'a, T, D>) -> Self {
        let (shape, strides) = (array.shape(), array.strides());
        // SAFETY: ndarray's pointer, shape and strides address elements borrowed for `'a`.
        unsafe { Self::from_raw_parts(array.as_ptr().cast(), dtype_of::<T>(), shape, strides) }
    }
}

impl<'a, T: Element, D: Dimension> From<ArrayViewMut<'a, T, D>> for TensorViewMut<'a> {
    fn from(mut array: ArrayViewMut<'a, T, D>) -> Self {
        let ptr = array.as_mut_ptr().cast();
        let (shape, strides) = (array.shape(), array.strides());
        // SAFETY: ndarray's pointer, shape and strides address distinct elements, borrowed
        // exclusively for `'a`.
        unsafe { Self::from_raw_parts(ptr, dtype_of::<T>(), shape, strides) }
    }
}

impl<'a> From<&'a Tensor> for TensorView<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        tensor.view()
    }
}

impl<'a> From<&'a TensorView<'_>> for TensorView<'a> {
    fn from(view: &'a TensorView<'_>) -> Self {
        view.clone()
    }
}

// Iterators over slices of references yield references to these.

impl<'a, S, D> From<&'a &ArrayBase<S, D>> for TensorView<'a>
where
    S: Data<Elem: Element>,
    D: Dimension,
{
    fn from(array: &'a &ArrayBase<S, D>) -> Self {
        Self::from_array(array)
    }
}

impl<'a> From<&'a &Tensor> for TensorView<'a> {
    fn from(tensor: &'a &Tensor) -> Self {
        tensor.view()
    }
}

impl Tensor {
    /// The tensor of an array's elements: its own memory where it is in standard layout (C order),
    /// else a copy.
    pub fn from_array<T: Element, D: Dimension>(array: Array<T, D>) -> Self {
        let array = if array.is_standard_layout() {
            array
        } else {
            array.as_standard_layout().into_owned()
        };
        let shape = Shape::from_slice(array.shape());
        let (elements, start) = array.into_raw_vec_and_offset();
        // SAFETY: in standard layout all elements of the shape lie densely from the offset on.
        unsafe { Self::from_buffer(Buffer::from_vec(elements, start.unwrap_or(0)), shape) }
    }

    /// An ndarray view of the elements, to be changed.
    ///
    /// # Errors
    /// If elements are not of type `T`.
    ///
    /// ```
    /// let mut tensor = ijk_tensor::Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], &[2, 2])?;
    /// tensor.to_ndarray_mut::<f64>()?.index_axis_mut(ndarray::Axis(0), 1).fill(0.0);
    /// assert_eq!(tensor.as_slice::<f64>(), Some(&[1.0, 2.0, 0.0, 0.0][..]));
    /// # Ok::<(), ijk_tensor::TensorError>(())
    /// ```
    pub fn to_ndarray_mut<T: Element>(&mut self) -> Result<ArrayViewMutD<'_, T>, TensorError> {
        expect_dtype::<T>(self.dtype())?;
        let shape = IxDyn(self.shape());
        let elements = self.as_mut_slice::<T>().expect("elements of type `T`");
        Ok(ArrayViewMut::from_shape(shape, elements).expect("as many elements, in C order"))
    }

    /// The array that takes over the tensor's memory, without a copy.
    ///
    /// # Errors
    /// If elements are not of type `T`, or the rank is not that of `D`.
    pub fn into_array<T: Element, D: Dimension>(self) -> Result<Array<T, D>, TensorError> {
        expect_dtype::<T>(self.dtype())?;
        let wrong_rank =
            TensorError::Rank { expected: D::NDIM.unwrap_or_default(), found: self.rank() };
        let dim = D::from_dimension(&IxDyn(self.shape())).ok_or(wrong_rank)?;
        let len = self.len();
        let (buffer, _) = self.into_parts();
        // SAFETY: `T` is the element type, and the buffer holds as many elements as the shape.
        let (elements, start) = unsafe { buffer.into_vec::<T>(len) };
        let flat = Array::from_vec(elements).slice_move(s![start..]);
        Ok(flat.into_shape_with_order(dim).expect("as many elements, in C order"))
    }
}

/// Checks that `T` is the Rust type of `dtype`.
pub(crate) fn expect_dtype<T: Element>(found: DType) -> Result<(), TensorError> {
    let expected = dtype_of::<T>();
    if expected == found { Ok(()) } else { Err(TensorError::DType { expected, found }) }
}

/// A layout with its negative strides turned over: ndarray makes views of strides that are not
/// negative, and inverts axes afterwards.
struct NonNegative {
    strides: Vec<usize>,
    /// Elements from the first in logical order to the one of least address.
    offset: isize,
    reversed: Vec<usize>,
}

impl NonNegative {
    fn of(shape: &[usize], strides: &[isize]) -> Self {
        if shape.contains(&0) {
            // The pointer may dangle, so nothing may be derived from the strides.
            let strides = c_strides(shape).iter().map(|&s| s as usize).collect();
            return Self { strides, offset: 0, reversed: Vec::new() };
        }
        let reversed: Vec<_> = (0..shape.len()).filter(|&axis| strides[axis] < 0).collect();
        let back = |&axis: &usize| (shape[axis] - 1) as isize * strides[axis];
        let offset = reversed.iter().map(back).sum();
        Self { strides: strides.iter().map(|s| s.unsigned_abs()).collect(), offset, reversed }
    }

    fn shape(&self, shape: &[usize]) -> ndarray::StrideShape<IxDyn> {
        IxDyn(shape).strides(IxDyn(&self.strides))
    }
}
