//! Tensors before their elements are written.

use crate::buffer::Buffer;
use crate::shape::{c_strides, element_count};
use crate::{Shape, Tensor, TensorError, TensorPool, TensorViewMut};
use ijk_types::DType;

/// A tensor whose elements are still to be written: what an engine computes into.
///
/// ```
/// use ijk_tensor::UninitTensor;
/// use ijk_types::{DType, Scalar};
///
/// let mut out = UninitTensor::new(DType::I32, &[2])?;
/// out.view_mut().set(&[0], Scalar::I32(7));
/// out.view_mut().set(&[1], Scalar::I32(8));
/// // SAFETY: both elements are written.
/// let tensor = unsafe { out.assume_init() };
/// assert_eq!(tensor.as_slice::<i32>(), Some(&[7, 8][..]));
/// # Ok::<(), ijk_tensor::TensorError>(())
/// ```
pub struct UninitTensor {
    buffer: Buffer,
    shape: Shape,
}

impl UninitTensor {
    /// Memory for a C-contiguous array, its first element aligned to 64 bytes.
    ///
    /// # Errors
    /// If the size overflows or memory does not suffice.
    pub fn new(dtype: DType, shape: &[usize]) -> Result<Self, TensorError> {
        Self::allocate(dtype, shape, false)
    }

    /// The same in memory of a pool, to which it returns when the tensor is dropped.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn new_in(pool: &TensorPool, dtype: DType, shape: &[usize]) -> Result<Self, TensorError> {
        let len = element_count(dtype, shape)?;
        let buffer = Buffer::allocate_in(pool, dtype, len, shape)?;
        Ok(Self { buffer, shape: Shape::from_slice(shape) })
    }

    /// The same, all elements 0 (false). Costs next to nothing for large arrays, whose pages the
    /// operating system hands out zeroed.
    pub(crate) fn zeroed(dtype: DType, shape: &[usize]) -> Result<Self, TensorError> {
        Self::allocate(dtype, shape, true)
    }

    fn allocate(dtype: DType, shape: &[usize], zeroed: bool) -> Result<Self, TensorError> {
        let len = element_count(dtype, shape)?;
        Ok(Self { buffer: Buffer::allocate(dtype, len, zeroed, shape)?, shape: shape.into() })
    }

    /// Points to the first element; dangling where there is none.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.buffer.as_ptr()
    }

    /// The memory.
    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        let strides = c_strides(&self.shape);
        // SAFETY: the buffer holds as many elements as the shape, aligned for their type, and is
        // borrowed exclusively.
        unsafe {
            TensorViewMut::from_raw_parts(
                self.buffer.as_ptr(),
                self.buffer.dtype(),
                &self.shape,
                &strides,
            )
        }
    }

    /// The bytes of the memory.
    ///
    /// # Safety
    /// All bytes are initialised: the tensor was made by [`Self::zeroed`], or every element has been written.
    pub(crate) unsafe fn zeroed_bytes(&mut self) -> &mut [u8] {
        let len = self.shape.iter().product::<usize>() * self.buffer.dtype().size();
        // SAFETY: as many bytes are in the buffer, borrowed exclusively and initialised.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.as_ptr(), len) }
    }

    /// The tensor.
    ///
    /// # Safety
    /// Every element has been written.
    pub unsafe fn assume_init(self) -> Tensor {
        // SAFETY: the buffer holds as many elements as the shape, initialised as the caller says.
        unsafe { Tensor::from_buffer(self.buffer, self.shape) }
    }
}
