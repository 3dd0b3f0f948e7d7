//! Owned memory for elements: a `Vec<T>` whose `T` is known at run time.

use crate::pool::{Allocation, PoolRef};
use crate::{TensorError, TensorPool};
use ijk_types::with_element;
use ijk_types::{DType, Element};
use std::alloc::Layout;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Bytes that first elements are aligned to: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// The allocation of a `Vec<T>`, `T` the type of `dtype`, of which elements are used from `start`
/// on.
///
/// Because it is one, ndarray can own it without a copy; because it is a little longer than it
/// need be, the first used element can be aligned to a cache line all the same. The elements before
/// `start` are initialised.
pub(crate) struct Buffer {
    ptr: NonNull<u8>,
    dtype: DType,
    capacity: usize,
    start: usize,
    /// Where the memory goes when it is dropped.
    owner: PoolRef,
}

// SAFETY: a buffer owns its elements, whose types are all `Send`.
unsafe impl Send for Buffer {}
// SAFETY: shared references to it only read, and element types are all `Sync`.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Memory for `len` elements, zeroed or not initialised.
    pub(crate) fn allocate(
        dtype: DType,
        len: usize,
        zeroed: bool,
        shape: &[usize],
    ) -> Result<Self, TensorError> {
        if len == 0 {
            return Ok(Self::empty(dtype));
        }
        let layout = padded(dtype, len, shape)?;
        let block = Allocation::allocate(layout, zeroed).ok_or_else(|| refused(layout, shape))?;
        Ok(Self::of_allocation(block, dtype, PoolRef::new()))
    }

    /// Memory of a pool for `len` elements, not initialised; it returns there when it is dropped.
    pub(crate) fn allocate_in(
        pool: &TensorPool,
        dtype: DType,
        len: usize,
        shape: &[usize],
    ) -> Result<Self, TensorError> {
        if len == 0 {
            return Ok(Self::empty(dtype));
        }
        let layout = padded(dtype, len, shape)?;
        let block =
            pool.reuse(layout, dtype.size()).or_else(|| Allocation::allocate(layout, false));
        let retry = || {
            pool.clear();
            Allocation::allocate(layout, false)
        };
        let block = block.or_else(retry).ok_or_else(|| refused(layout, shape))?;
        Ok(Self::of_allocation(block, dtype, pool.owner_of(layout.size())))
    }

    /// Memory for no elements.
    fn empty(dtype: DType) -> Self {
        Self { ptr: dangling(dtype), dtype, capacity: 0, start: 0, owner: PoolRef::new() }
    }

    /// A block aligned for the type, whose size is a multiple of the type's: the allocation of a
    /// `Vec<T>`.
    fn of_allocation(block: Allocation, dtype: DType, owner: PoolRef) -> Self {
        let (ptr, allocated) = block.into_raw();
        let capacity = allocated.size() / dtype.size();
        assert_eq!(layout(dtype, capacity), Some(allocated), "the layout of a vector");
        let start = ptr.align_offset(ALIGN) / dtype.size();
        // SAFETY: `start` elements lie before the aligned one, within the padding; all bits 0 is a
        // value of every element type.
        unsafe { ptr.write_bytes(0, start * dtype.size()) };
        Self { ptr, dtype, capacity, start, owner }
    }

    /// The elements of a vector from `start` on.
    pub(crate) fn from_vec<T: Element>(vec: Vec<T>, start: usize) -> Self {
        let dtype = crate::dtype_of::<T>();
        assert!(start <= vec.len());
        let mut vec = ManuallyDrop::new(vec);
        let capacity = vec.capacity();
        let ptr = NonNull::new(vec.as_mut_ptr()).expect("a vector's pointer is not null").cast();
        Self { ptr, dtype, capacity, start, owner: PoolRef::new() }
    }

    /// The vector, without a copy, and where its used elements start.
    ///
    /// # Safety
    /// `T` is the element type, `len` elements from `start` on are within the allocation and
    /// initialised.
    pub(crate) unsafe fn into_vec<T: Element>(self, len: usize) -> (Vec<T>, usize) {
        debug_assert_eq!(crate::dtype_of::<T>(), self.dtype);
        let mut this = ManuallyDrop::new(self);
        // The vector frees the memory itself.
        this.owner = PoolRef::new();
        // SAFETY: the allocation is that of a `Vec<T>` of this capacity; elements before `start`
        // are initialised by construction and those after by the caller's promise.
        let vec = unsafe {
            Vec::from_raw_parts(this.ptr.as_ptr().cast(), this.start + len, this.capacity)
        };
        (vec, this.start)
    }

    /// The element type.
    #[inline]
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Points to the first used element.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        // SAFETY: `start` is at most the capacity.
        unsafe { self.ptr.as_ptr().add(self.start * self.dtype.size()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(layout) = layout(self.dtype, self.capacity).filter(|l| l.size() > 0) {
            // SAFETY: allocated with this layout, by `allocate` or by a `Vec<T>`, and ours alone.
            let block = unsafe { Allocation::from_raw(self.ptr, layout) };
            if let Some(kept) = self.owner.upgrade() {
                kept.give(block);
            }
        }
    }
}

/// The layout for `len` elements, the first of which may have to be moved to be aligned: a line more,
/// whatever the type, so that types of one size find each other's memory in a pool.
fn padded(dtype: DType, len: usize, shape: &[usize]) -> Result<Layout, TensorError> {
    let capacity = len.checked_add(ALIGN / dtype.size());
    let layout = capacity.and_then(|capacity| layout(dtype, capacity));
    layout.ok_or_else(|| TensorError::TooLarge(shape.into()))
}

#[cold]
fn refused(layout: Layout, shape: &[usize]) -> TensorError {
    TensorError::OutOfMemory { shape: shape.into(), bytes: layout.size() }
}

/// The layout of a `Vec<T>`'s allocation.
fn layout(dtype: DType, capacity: usize) -> Option<Layout> {
    with_element!(dtype, T => Layout::array::<T>(capacity)).ok()
}

/// Address of an empty vector's elements: aligned, and not null.
fn dangling(dtype: DType) -> NonNull<u8> {
    with_element!(dtype, T => NonNull::<T>::dangling().cast())
}
