//! Borrowed arrays that are written.

use crate::element::{self, dtype_of};
use crate::shape::{self, Shape, Strides, c_strides, element_count};
use crate::{TensorError, TensorView};
use ijk_types::{DType, Element, Scalar, with_element};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::NonNull;

/// A borrowed array of any element type, shape and strides, to be written.
///
/// Its elements may be uninitialised, so that safe code writes but never reads them; distinct
/// indices have distinct elements. Strides count elements and may be negative.
pub struct TensorViewMut<'a> {
    ptr: NonNull<u8>,
    dtype: DType,
    shape: Shape,
    strides: Strides,
    elements: PhantomData<&'a mut [u8]>,
}

// SAFETY: a mutable view is an exclusive reference to elements, and every element type is `Send`.
unsafe impl Send for TensorViewMut<'_> {}
// SAFETY: a shared reference to it gives no access to elements.
unsafe impl Sync for TensorViewMut<'_> {}

impl<'a> TensorViewMut<'a> {
    /// A view of the elements that start at `ptr`, that of index (0, 0, …).
    ///
    /// # Safety
    /// For all of `'a`, and for every index within `shape`: `ptr` plus index times `strides`, in
    /// units of `dtype.size()` bytes, points to aligned memory for an element of type `dtype`,
    /// possibly uninitialised, in one allocation; no two indices share memory; nothing else
    /// accesses it. With no index within `shape`, `ptr` need only be aligned and not null. The product of the
    /// extents other than 0 is at most `isize::MAX`.
    ///
    /// # Panics
    /// If `shape` and `strides` differ in length.
    pub unsafe fn from_raw_parts(
        ptr: *mut u8,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Self {
        assert_eq!(shape.len(), strides.len(), "one stride for each axis");
        let ptr = NonNull::new(ptr).expect("a view's pointer is not null");
        let (shape, strides) = (Shape::from_slice(shape), Strides::from_slice(strides));
        Self { ptr, dtype, shape, strides, elements: PhantomData }
    }

    /// A view of a slice's elements in C order.
    ///
    /// # Errors
    /// If the shape has another number of elements than the slice.
    pub fn from_slice<T: Element>(
        elements: &'a mut [T],
        shape: &[usize],
    ) -> Result<Self, TensorError> {
        // SAFETY: `MaybeUninit<T>` has the layout of `T`; the view only ever writes valid elements.
        Self::from_uninit(unsafe { &mut *(elements as *mut [T] as *mut [MaybeUninit<T>]) }, shape)
    }

    /// A view of memory in C order that need not be initialised.
    ///
    /// # Errors
    /// If the shape has another number of elements than the slice.
    pub fn from_uninit<T: Element>(
        elements: &'a mut [MaybeUninit<T>],
        shape: &[usize],
    ) -> Result<Self, TensorError> {
        let dtype = dtype_of::<T>();
        let expected = element_count(dtype, shape)?;
        if expected != elements.len() {
            let found = elements.len();
            return Err(TensorError::Length { shape: shape.into(), expected, found });
        }
        // SAFETY: C strides of a shape of as many elements reach each element of the slice once.
        Ok(unsafe {
            Self::from_raw_parts(elements.as_mut_ptr().cast(), dtype, shape, &c_strides(shape))
        })
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extent of each axis.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// For each axis, the distance of neighbours in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns true if there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Points to the element at index (0, 0, …); dangling where there is none.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Returns true if the elements are dense in C order.
    pub fn is_c_contiguous(&self) -> bool {
        shape::is_c_contiguous(&self.shape, &self.strides)
    }

    /// The elements at one position of an axis: a view of one axis less.
    ///
    /// # Panics
    /// If there is no such axis, or no such position along it.
    #[must_use]
    pub fn at(self, axis: usize, position: usize) -> Self {
        let (offset, shape, strides) = shape::at(&self.shape, &self.strides, axis, position);
        let ptr = self.ptr.as_ptr().wrapping_offset(offset * self.dtype.size() as isize);
        let ptr = NonNull::new(ptr).unwrap_or(self.ptr);
        Self { ptr, dtype: self.dtype, shape, strides, elements: PhantomData }
    }

    /// The elements at some positions of each axis.
    ///
    /// # Panics
    /// If there are more or fewer ranges than axes, or one ends beyond its axis or before it starts.
    #[must_use]
    pub fn part(self, ranges: &[Range<usize>]) -> Self {
        let (offset, shape) = shape::part(&self.shape, &self.strides, ranges);
        let ptr = self.ptr.as_ptr().wrapping_offset(offset * self.dtype.size() as isize);
        let ptr = NonNull::new(ptr).unwrap_or(self.ptr);
        Self { ptr, dtype: self.dtype, shape, strides: self.strides, elements: PhantomData }
    }

    /// Copies the elements of a view of this type and shape.
    ///
    /// # Panics
    /// If it has another type or shape.
    ///
    /// ```
    /// use ijk_tensor::{Tensor, TensorView};
    /// let mut matrix = Tensor::zeros(ijk_types::DType::I32, &[2, 2])?;
    /// let row = TensorView::from_slice(&[1, 2], &[1, 2])?;
    /// matrix.view_mut().part(&[1..2, 0..2]).assign(&row);
    /// assert_eq!(matrix.as_slice::<i32>(), Some(&[0, 0, 1, 2][..]));
    /// # Ok::<(), ijk_tensor::TensorError>(())
    /// ```
    pub fn assign(&mut self, from: &TensorView<'_>) {
        assert_eq!(from.dtype(), self.dtype, "elements of the array's type");
        assert_eq!(from.shape(), &self.shape[..], "an array of this shape");
        with_element!(self.dtype, T => crate::copy::copy::<T>(from, self));
    }

    /// Writes the element at an index.
    ///
    /// # Panics
    /// If the index has another rank or is out of bounds, or `value` has another element type.
    pub fn set(&mut self, index: &[usize], value: Scalar) {
        assert_eq!(value.dtype(), self.dtype, "a value of the array's element type");
        let offset = shape::offset_of(index, &self.shape, &self.strides);
        // SAFETY: the index is within the shape, so `from_raw_parts`' contract covers its element.
        unsafe {
            element::write(value, self.ptr.as_ptr().offset(offset * self.dtype.size() as isize))
        }
    }

    /// The same view for a shorter time.
    pub fn reborrow(&mut self) -> TensorViewMut<'_> {
        TensorViewMut {
            ptr: self.ptr,
            dtype: self.dtype,
            shape: self.shape.clone(),
            strides: self.strides.clone(),
            elements: PhantomData,
        }
    }

    /// The elements, to be read.
    ///
    /// # Safety
    /// Every element has been initialised.
    pub unsafe fn assume_init(&self) -> TensorView<'_> {
        // SAFETY: the contract of `Self::from_raw_parts`, with the caller's promise; the borrow of
        // `self` keeps writers away.
        unsafe {
            TensorView::from_raw_parts(self.ptr.as_ptr(), self.dtype, &self.shape, &self.strides)
        }
    }
}

impl fmt::Debug for TensorViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorViewMut")
            .field("dtype", &self.dtype)
            .field("shape", &self.shape)
            .field("strides", &self.strides)
            .finish_non_exhaustive()
    }
}
