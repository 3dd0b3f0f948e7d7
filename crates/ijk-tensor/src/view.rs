//! Borrowed arrays that are read.

use crate::element::{self, dtype_of};
use crate::shape::{self, Shape, Strides, c_strides, element_count};
use crate::{Scalars, Tensor, TensorError};
use ijk_types::{DType, Element, Scalar};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

/// A borrowed array of any element type, shape and strides, read only.
///
/// Strides count elements and may be 0 (broadcast) or negative (reversed).
pub struct TensorView<'a> {
    ptr: NonNull<u8>,
    dtype: DType,
    shape: Shape,
    strides: Strides,
    elements: PhantomData<&'a [u8]>,
}

// SAFETY: a view is a shared reference to elements, and every element type is `Sync`.
unsafe impl Send for TensorView<'_> {}
// SAFETY: as above.
unsafe impl Sync for TensorView<'_> {}

impl<'a> TensorView<'a> {
    /// A view of the elements that start at `ptr`.
    ///
    /// `ptr` points to the element at index (0, 0, …), which need not have the lowest address.
    ///
    /// # Safety
    /// For all of `'a`, and for every index within `shape`: `ptr` plus index times `strides`, in
    /// units of `dtype.size()` bytes, points to an initialised, valid (a `bool` is 0 or 1) and
    /// aligned element of type `dtype` in one allocation, which nobody writes. With no index
    /// within `shape`, `ptr` need only be aligned and not null. The product of the
    /// extents other than 0 is at most `isize::MAX`.
    ///
    /// # Panics
    /// If `shape` and `strides` differ in length.
    pub unsafe fn from_raw_parts(
        ptr: *const u8,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Self {
        assert_eq!(shape.len(), strides.len(), "one stride for each axis");
        let ptr = NonNull::new(ptr.cast_mut()).expect("a view's pointer is not null");
        let (shape, strides) = (Shape::from_slice(shape), Strides::from_slice(strides));
        Self { ptr, dtype, shape, strides, elements: PhantomData }
    }

    /// A view of a slice's elements in C order.
    ///
    /// # Errors
    /// If the shape has another number of elements than the slice.
    pub fn from_slice<T: Element>(elements: &'a [T], shape: &[usize]) -> Result<Self, TensorError> {
        let dtype = dtype_of::<T>();
        let expected = element_count(dtype, shape)?;
        if expected != elements.len() {
            let found = elements.len();
            return Err(TensorError::Length { shape: shape.into(), expected, found });
        }
        // SAFETY: C strides of a shape of as many elements stay within the slice.
        Ok(unsafe {
            Self::from_raw_parts(elements.as_ptr().cast(), dtype, shape, &c_strides(shape))
        })
    }

    /// A view of one number, of rank 0.
    pub fn from_element<T: Element>(element: &'a T) -> Self {
        // SAFETY: the one index, (), is the element.
        unsafe {
            Self::from_raw_parts(std::ptr::from_ref(element).cast(), dtype_of::<T>(), &[], &[])
        }
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
    pub fn as_ptr(&self) -> *const u8 {
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
    ///
    /// ```
    /// use ijk_tensor::TensorView;
    /// let matrix = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &[2, 3])?;
    /// let column = matrix.at(1, 2);
    /// assert_eq!((column.shape(), column.to_tensor()?.as_slice::<i32>()), (&[2][..], Some(&[3, 6][..])));
    /// # Ok::<(), ijk_tensor::TensorError>(())
    /// ```
    #[must_use]
    pub fn at(&self, axis: usize, position: usize) -> Self {
        let (offset, shape, strides) = shape::at(&self.shape, &self.strides, axis, position);
        let ptr = self.ptr.as_ptr().wrapping_offset(offset * self.dtype.size() as isize);
        let ptr = NonNull::new(ptr).unwrap_or(self.ptr);
        Self { ptr, dtype: self.dtype, shape, strides, elements: PhantomData }
    }

    /// The elements at some positions of each axis.
    ///
    /// # Panics
    /// If there are more or fewer ranges than axes, or one ends beyond its axis or before it starts.
    ///
    /// ```
    /// use ijk_tensor::TensorView;
    /// let matrix = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &[2, 3])?;
    /// let part = matrix.part(&[1..2, 1..3]);
    /// assert_eq!((part.shape(), part.to_tensor()?.as_slice::<i32>()), (&[1, 2][..], Some(&[5, 6][..])));
    /// # Ok::<(), ijk_tensor::TensorError>(())
    /// ```
    #[must_use]
    pub fn part(&self, ranges: &[Range<usize>]) -> Self {
        let (offset, shape) = shape::part(&self.shape, &self.strides, ranges);
        let ptr = self.ptr.as_ptr().wrapping_offset(offset * self.dtype.size() as isize);
        let ptr = NonNull::new(ptr).unwrap_or(self.ptr);
        Self { ptr, dtype: self.dtype, shape, strides: self.strides.clone(), elements: PhantomData }
    }

    /// The elements in C order, if they are dense in that order and of type `T`.
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        let fits = dtype_of::<T>() == self.dtype && self.is_c_contiguous();
        // SAFETY: `len` initialised elements of that type lie densely from `ptr` on, for `'a`.
        fits.then(|| unsafe { std::slice::from_raw_parts(self.ptr.as_ptr().cast(), self.len()) })
    }

    /// The element at an index.
    ///
    /// # Panics
    /// If the index has another rank, or is out of bounds.
    pub fn get(&self, index: &[usize]) -> Scalar {
        let offset = shape::offset_of(index, &self.shape, &self.strides);
        // SAFETY: the index is within the shape, so `from_raw_parts`' contract covers its element.
        unsafe { self.read_offset(offset) }
    }

    /// The elements in C order of their indices, whatever the layout.
    pub fn iter_scalars(&self) -> Scalars<'_> {
        Scalars::new(self)
    }

    /// A copy, C-contiguous.
    ///
    /// # Errors
    /// If memory does not suffice (a broadcast view may stand for more than there is).
    pub fn to_tensor(&self) -> Result<Tensor, TensorError> {
        Tensor::copy_of(self)
    }

    /// The element `offset` elements from the first.
    ///
    /// # Safety
    /// The offset is that of an index within the shape.
    #[inline]
    pub(crate) unsafe fn read_offset(&self, offset: isize) -> Scalar {
        // SAFETY: the caller's promise and that of `from_raw_parts`.
        unsafe {
            let ptr = self.ptr.as_ptr().offset(offset * self.dtype.size() as isize);
            element::read(self.dtype, ptr)
        }
    }
}

impl Clone for TensorView<'_> {
    /// Copies shape and strides as a whole: a derived clone goes element by element, which small calls
    /// notice.
    fn clone(&self) -> Self {
        let (shape, strides) = (Shape::from_slice(&self.shape), Strides::from_slice(&self.strides));
        Self { shape, strides, ..*self }
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorView")
            .field("dtype", &self.dtype)
            .field("shape", &self.shape)
            .field("strides", &self.strides)
            .finish_non_exhaustive()
    }
}
