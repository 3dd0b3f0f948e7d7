//! Owned arrays.

use crate::buffer::Buffer;
use crate::shape::{c_strides, element_count};
use crate::{Shape, TensorError, TensorView, TensorViewMut, UninitTensor, dtype_of};
use ijk_types::with_element;
use ijk_types::{DType, Element, Scalar};
use std::fmt;

/// An owned, C-contiguous array of any element type.
///
/// It converts into an [`ndarray::Array`] without a copy ([`Tensor::into_array`]), and from one in
/// standard layout likewise ([`Tensor::from_array`]). What this crate allocates is aligned to 64
/// bytes.
pub struct Tensor {
    buffer: Buffer,
    shape: Shape,
}

impl Tensor {
    /// A tensor whose elements are all 0 (false).
    ///
    /// # Errors
    /// If the size overflows or memory does not suffice.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<Self, TensorError> {
        let zeroed = UninitTensor::zeroed(dtype, shape)?;
        // SAFETY: all bits 0 is a value of every element type.
        Ok(unsafe { zeroed.assume_init() })
    }

    /// A tensor whose elements all are `value`.
    ///
    /// # Errors
    /// If the size overflows or memory does not suffice.
    pub fn full(value: Scalar, shape: &[usize]) -> Result<Self, TensorError> {
        let dtype = value.dtype();
        let mut tensor = Self::zeros(dtype, shape)?;
        with_element!(dtype, T => {
            let value = <T as Element>::from_scalar(value).expect("of that type");
            tensor.as_mut_slice::<T>().expect("of that type").fill(value);
        });
        Ok(tensor)
    }

    /// A tensor of these elements in C order.
    ///
    /// # Errors
    /// If an element has another type, if there are fewer or more than the shape has; if the size
    /// overflows or memory does not suffice.
    pub fn from_scalars(
        dtype: DType,
        shape: &[usize],
        elements: impl IntoIterator<Item = Scalar>,
    ) -> Result<Self, TensorError> {
        let expected = element_count(dtype, shape)?;
        let wrong = |found| TensorError::Length { shape: shape.into(), expected, found };
        let mut tensor = Self::zeros(dtype, shape)?;
        let mut elements = elements.into_iter();
        for n in 0..expected {
            let value = elements.next().ok_or_else(|| wrong(n))?;
            tensor.set_linear(n, value)?;
        }
        match elements.next() {
            None => Ok(tensor),
            Some(_) => Err(wrong(expected + 1)),
        }
    }

    /// A tensor of a vector's elements in C order, without a copy.
    ///
    /// # Errors
    /// If the shape has another number of elements.
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: &[usize]) -> Result<Self, TensorError> {
        let expected = element_count(dtype_of::<T>(), shape)?;
        let found = elements.len();
        if found != expected {
            return Err(TensorError::Length { shape: shape.into(), expected, found });
        }
        // SAFETY: the vector holds as many elements as the shape.
        Ok(unsafe { Self::from_buffer(Buffer::from_vec(elements, 0), shape.into()) })
    }

    /// A tensor whose elements `fill` writes as bytes, in C order and the machine's byte order; they are 0
    /// before. Truth values are true where the byte is not 0, as NumPy has it.
    ///
    /// # Errors
    /// That of `fill`; if the size overflows or memory does not suffice.
    ///
    /// ```
    /// use ijk_tensor::{Tensor, TensorError};
    /// use ijk_types::DType;
    /// let fill = |bytes: &mut [u8]| {
    ///     bytes[4..].copy_from_slice(&7i32.to_ne_bytes());
    ///     Ok::<_, TensorError>(())
    /// };
    /// let tensor = Tensor::from_bytes(DType::I32, &[2], fill)?;
    /// assert_eq!(tensor.as_slice::<i32>(), Some(&[0, 7][..]));
    /// # Ok::<(), TensorError>(())
    /// ```
    pub fn from_bytes<E: From<TensorError>>(
        dtype: DType,
        shape: &[usize],
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut tensor = UninitTensor::zeroed(dtype, shape)?;
        // SAFETY: it is zeroed.
        let bytes = unsafe { tensor.zeroed_bytes() };
        fill(bytes)?;
        if dtype == DType::Bool {
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        // SAFETY: zeroed and then overwritten; bools are 0 or 1, other types have no invalid bytes.
        Ok(unsafe { tensor.assume_init() })
    }

    /// A copy of a view.
    pub(crate) fn copy_of(view: &TensorView<'_>) -> Result<Self, TensorError> {
        let mut copy = UninitTensor::new(view.dtype(), view.shape())?;
        with_element!(view.dtype(), T => crate::copy::copy::<T>(view, &mut copy.view_mut()));
        // SAFETY: every element is written.
        Ok(unsafe { copy.assume_init() })
    }

    /// # Safety
    /// The buffer holds as many elements as the shape, from its start on, all initialised.
    pub(crate) unsafe fn from_buffer(buffer: Buffer, shape: Shape) -> Self {
        Self { buffer, shape }
    }

    /// The parts: as many elements as the shape has, initialised, from the buffer's start on.
    pub(crate) fn into_parts(self) -> (Buffer, Shape) {
        (self.buffer, self.shape)
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.buffer.dtype()
    }

    /// The extent of each axis.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
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

    /// The size of the elements in bytes.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.len() * self.dtype().size()
    }

    /// The array, to be read.
    pub fn view(&self) -> TensorView<'_> {
        let strides = c_strides(&self.shape);
        // SAFETY: as many initialised elements as the shape has lie densely in C order.
        unsafe {
            TensorView::from_raw_parts(self.buffer.as_ptr(), self.dtype(), &self.shape, &strides)
        }
    }

    /// The array, to be written.
    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        let strides = c_strides(&self.shape);
        // SAFETY: as for `view`, and the borrow is exclusive.
        unsafe {
            TensorViewMut::from_raw_parts(self.buffer.as_ptr(), self.dtype(), &self.shape, &strides)
        }
    }

    /// The elements in C order, where they are of type `T`.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        let fits = dtype_of::<T>() == self.dtype();
        // SAFETY: `len` initialised elements of that type lie densely from the pointer on.
        fits.then(|| unsafe { std::slice::from_raw_parts(self.buffer.as_ptr().cast(), self.len()) })
    }

    /// The elements as bytes, in C order and the machine's byte order.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: as many initialised bytes lie densely from the pointer on; elements have no padding.
        unsafe { std::slice::from_raw_parts(self.buffer.as_ptr(), self.byte_len()) }
    }

    /// The elements in C order, to be written, where they are of type `T`.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        let fits = dtype_of::<T>() == self.dtype();
        // SAFETY: as for `as_slice`, and the borrow is exclusive.
        fits.then(|| unsafe {
            std::slice::from_raw_parts_mut(self.buffer.as_ptr().cast(), self.len())
        })
    }

    /// The element at an index.
    ///
    /// # Panics
    /// If the index has another rank, or is out of bounds.
    pub fn get(&self, index: &[usize]) -> Scalar {
        self.view().get(index)
    }

    /// Writes the element at an index.
    ///
    /// # Panics
    /// If the index has another rank or is out of bounds, or `value` has another element type.
    pub fn set(&mut self, index: &[usize], value: Scalar) {
        self.view_mut().set(index, value);
    }

    /// The same elements in C order under another shape of as many.
    ///
    /// # Errors
    /// If the shape has another number of elements.
    pub fn into_shape(self, shape: &[usize]) -> Result<Self, TensorError> {
        let expected = element_count(self.dtype(), shape)?;
        let found = self.len();
        if expected != found {
            return Err(TensorError::Length { shape: shape.into(), expected, found });
        }
        Ok(Self { buffer: self.buffer, shape: shape.into() })
    }

    /// Writes the element of that number in C order.
    fn set_linear(&mut self, n: usize, value: Scalar) -> Result<(), TensorError> {
        let (expected, found) = (self.dtype(), value.dtype());
        if expected != found {
            return Err(TensorError::DType { expected, found });
        }
        assert!(n < self.len());
        // SAFETY: within the elements, which are of the value's type.
        unsafe { crate::element::write(value, self.buffer.as_ptr().add(n * found.size())) };
        Ok(())
    }
}

impl Clone for Tensor {
    /// A copy.
    ///
    /// # Panics
    /// If memory does not suffice; [`TensorView::to_tensor`] says so instead.
    fn clone(&self) -> Self {
        self.view().to_tensor().unwrap_or_else(|error| panic!("{error}"))
    }
}

impl PartialEq for Tensor {
    /// Same element type, shape and elements; NaN differs from NaN.
    fn eq(&self, other: &Self) -> bool {
        self.dtype() == other.dtype()
            && self.shape == other.shape
            && with_element!(self.dtype(), T => self.as_slice::<T>() == other.as_slice::<T>())
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elements = with_element!(self.dtype(), T => {
            let elements = self.as_slice::<T>().expect("of that type");
            format!("{:?}", &elements[..elements.len().min(32)])
        });
        write!(f, "Tensor {} {:?} {elements}", self.dtype(), &self.shape[..])?;
        if self.len() > 32 { f.write_str(" and more") } else { Ok(()) }
    }
}
