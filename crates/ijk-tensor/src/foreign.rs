//! Arrays in memory that another library owns: NumPy's.
//!
//! Such memory is checked before it becomes a view: its extent, its alignment, and that booleans are 0 or 1, since
//! other libraries store any byte as a truth value. Arrays that fail a check are copied.

use crate::interop::raw_view;
use crate::shape::{Shape, Strides, c_strides, element_count};
use crate::{Footprint, Overlap, Tensor, TensorError, TensorView, TensorViewMut};
use ijk_types::{DType, with_element};
use ndarray::ArrayViewD;
use std::ptr::NonNull;
use thiserror::Error;

/// An object that keeps an array's memory, such as a reference to an array of NumPy's.
///
/// # Contract
///
/// Views are made of what this says, so an implementation vouches for it, as an `unsafe impl` would; bindings
/// to another language, where every pointer comes from there, are what it is for:
///
/// * while the object lives, the memory stays where it is, and [`data`](Self::data) and the others say the
///   same as when they were asked first;
/// * for every index within the shape, `data` plus index times `byte_strides` points to `dtype.size()`
///   bytes of that memory, of any value.
///
/// Other threads may access the memory while views of it exist, as NumPy lets them: those that read it, or access other
/// elements, disturb nothing. Where one writes what is read here, what is read is any mixture of old and new
/// elements, and where two write the same elements, any of theirs is left; offsets that are computed from
/// elements are checked as they are used. One that makes a boolean's byte anything but 0 or 1
/// meanwhile breaks the contract.
pub trait ForeignArray {
    /// Points to the element at index (0, 0, …).
    fn data(&self) -> *mut u8;
    /// The element type.
    fn dtype(&self) -> DType;
    /// The extent of each axis.
    fn shape(&self) -> &[usize];
    /// For each axis, the distance of neighbours in bytes.
    fn byte_strides(&self) -> &[isize];
}

/// Why no view is made of an array of another library.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ForeignError {
    /// The first element is not where the machine wants elements of its type.
    #[error("its elements are not aligned in memory")]
    Unaligned,
    /// Neighbours are not whole elements apart.
    #[error("the stride of axis {axis} is {stride} bytes, no multiple of an element's {size}")]
    Stride {
        /// Position of the axis.
        axis: usize,
        /// Distance of neighbours in bytes.
        stride: isize,
        /// Size of an element in bytes.
        size: usize,
    },
    /// More elements than an address space holds.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// An array in memory that another library owns.
pub struct Foreign<A> {
    array: A,
    data: NonNull<u8>,
    dtype: DType,
    shape: Shape,
    strides: Strides,
    booleans: Booleans,
}

/// State of the check of an array's booleans.
enum Booleans {
    /// There are none, or all are 0 or 1.
    Valid,
    /// Nothing yet.
    Unchecked,
    /// Some are other bytes: this is the same array, with 1 for those.
    Copied(Box<ValidBooleans>),
}

impl<A: ForeignArray> Foreign<A> {
    /// The array, if views can be made of it.
    ///
    /// # Errors
    /// If elements are not aligned or not whole elements apart, or there are too many of them.
    #[inline]
    pub fn new(array: A) -> Result<Self, ForeignError> {
        let (dtype, shape) = (array.dtype(), Shape::from_slice(array.shape()));
        element_count(dtype, &shape)?;
        let booleans = if dtype == DType::Bool { Booleans::Unchecked } else { Booleans::Valid };
        let strides = element_strides(dtype, &shape, array.byte_strides())?;
        let data = match shape.contains(&0) {
            // Nothing is there to be pointed to.
            true => with_element!(dtype, T => NonNull::<T>::dangling().cast()),
            false => NonNull::new(array.data()).ok_or(ForeignError::Unaligned)?,
        };
        let align = with_element!(dtype, T => align_of::<T>());
        if data.addr().get() % align != 0 {
            return Err(ForeignError::Unaligned);
        }
        Ok(Self { array, data, dtype, shape, strides, booleans })
    }

    /// The object that keeps the memory.
    pub fn array(&self) -> &A {
        &self.array
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The booleans that are to be [checked](UncheckedBooleans::check) before they can be read.
    #[inline]
    pub fn unchecked(&self) -> Option<UncheckedBooleans<'_>> {
        if !matches!(self.booleans, Booleans::Unchecked) {
            return None;
        }
        let (shape, strides) = (&self.shape, &self.strides);
        Some(UncheckedBooleans { data: self.data, shape, strides, footprint: self.footprint() })
    }

    /// Takes note of what a check of all booleans found: nothing, or what is to be read in their place.
    ///
    /// # Panics
    /// If that is another array's.
    pub fn checked(&mut self, copied: Option<ValidBooleans>) {
        self.booleans = match copied {
            None => Booleans::Valid,
            Some(copy) => {
                assert_eq!(copy.shape, self.shape, "the same array");
                Booleans::Copied(Box::new(copy))
            }
        };
    }

    /// The array, to be read.
    ///
    /// # Panics
    /// If booleans are not checked.
    #[inline]
    pub fn view(&self) -> TensorView<'_> {
        match &self.booleans {
            Booleans::Unchecked => panic!("booleans are checked before they are read"),
            Booleans::Copied(copy) => copy.view(),
            // SAFETY: the array vouches for the memory; elements are aligned, whole elements apart, and
            // valid: booleans were found to be. The shape's elements were counted. Whoever writes elements
            // meanwhile does what the contract of `ForeignArray` allows.
            Booleans::Valid => unsafe {
                TensorView::from_raw_parts(
                    self.data.as_ptr(),
                    self.dtype,
                    &self.shape,
                    &self.strides,
                )
            },
        }
    }

    /// The array, to be written, if no two of its elements share memory.
    pub fn view_mut(&mut self) -> Option<TensorViewMut<'_>> {
        if self.footprint().overlap_of_elements() != Overlap::Disjoint {
            return None;
        }
        // SAFETY: as for `view`; elements are distinct, need not be valid, and this borrow is exclusive.
        Some(unsafe {
            TensorViewMut::from_raw_parts(
                self.data.as_ptr(),
                self.dtype,
                &self.shape,
                &self.strides,
            )
        })
    }

    /// The bytes of the array's elements.
    pub fn footprint(&self) -> Footprint {
        let size = self.dtype.size();
        let strides: Strides = self.strides.iter().map(|stride| stride * size as isize).collect();
        Footprint::new(self.data.addr().get(), size, &self.shape, &strides)
    }

    /// The bytes that views of the array read: none, where they read a copy.
    pub fn read_footprint(&self) -> Option<Footprint> {
        (!matches!(self.booleans, Booleans::Copied(_))).then(|| self.footprint())
    }
}

/// Strides in elements. Those of axes without neighbours may be anything elsewhere: they are replaced by those of C
/// order.
fn element_strides(
    dtype: DType,
    shape: &[usize],
    byte_strides: &[isize],
) -> Result<Strides, ForeignError> {
    assert_eq!(shape.len(), byte_strides.len(), "one stride for each axis");
    let mut strides = c_strides(shape);
    if shape.contains(&0) {
        return Ok(strides);
    }
    let size = dtype.size();
    for (axis, &stride) in byte_strides.iter().enumerate().filter(|&(axis, _)| shape[axis] > 1) {
        if stride.unsigned_abs() % size != 0 {
            return Err(ForeignError::Stride { axis, stride, size });
        }
        strides[axis] = stride / size as isize;
    }
    Ok(strides)
}

/// Booleans of another library, bytes of any value.
pub struct UncheckedBooleans<'a> {
    data: NonNull<u8>,
    shape: &'a [usize],
    strides: &'a [isize],
    footprint: Footprint,
}

// SAFETY: this is a shared reference to bytes.
unsafe impl Send for UncheckedBooleans<'_> {}

/// A copy of booleans in which each is 0 or 1.
pub struct ValidBooleans {
    copy: Tensor,
    /// The position in the copy of the element at index (0, 0, …).
    first: usize,
    shape: Shape,
    strides: Strides,
}

impl UncheckedBooleans<'_> {
    /// Number of bytes to check.
    pub fn len(&self) -> usize {
        self.distinct().iter().product()
    }

    /// Returns true if there are no bytes to check.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Looks at all of them; gives a copy, where some are neither 0 nor 1.
    ///
    /// # Errors
    /// If there is no memory for a copy.
    pub fn check(&self) -> Result<Option<ValidBooleans>, TensorError> {
        let shape = self.distinct();
        // SAFETY: the array vouches for the bytes of all indices within its shape, of which these are some.
        let bytes = unsafe { raw_view::<u8>(self.data.as_ptr(), &shape, self.strides) };
        match bytes.fold(0, |all, &byte| all | byte) {
            0 | 1 => Ok(None),
            _ => self.copied(&shape, &bytes).map(Some),
        }
    }

    /// The shape without repetitions: axes along which nothing moves have one position.
    fn distinct(&self) -> Shape {
        let axes = self.shape.iter().zip(self.strides);
        axes.map(|(&n, &stride)| if stride == 0 { n.min(1) } else { n }).collect()
    }

    /// A copy: of the elements, or, where there are more of these than bytes between the first and the last, since
    /// windows overlap, of these bytes.
    fn copied(
        &self,
        distinct: &[usize],
        bytes: &ArrayViewD<'_, u8>,
    ) -> Result<ValidBooleans, TensorError> {
        let shape = Shape::from_slice(self.shape);
        let (before, length) = self.footprint.extent_around(self.data.addr().get());
        if bytes.len() <= length {
            let mut strides = c_strides(distinct);
            let repeated = |axis: &usize| self.strides[*axis] == 0;
            (0..shape.len()).filter(repeated).for_each(|axis| strides[axis] = 0);
            return Ok(ValidBooleans { copy: truths(bytes)?, first: 0, shape, strides });
        }
        // SAFETY: bytes between elements are of the same memory, which the array vouches for.
        let bytes = unsafe { raw_view::<u8>(self.data.as_ptr().sub(before), &[length], &[1]) };
        let strides = Strides::from_slice(self.strides);
        Ok(ValidBooleans { copy: truths(&bytes)?, first: before, shape, strides })
    }
}

/// Booleans of bytes: those other than 0 are true.
fn truths(bytes: &ArrayViewD<'_, u8>) -> Result<Tensor, TensorError> {
    let mut copy = Tensor::zeros(DType::Bool, bytes.shape())?;
    copy.to_ndarray_mut::<bool>()?.zip_mut_with(bytes, |truth, &byte| *truth = byte != 0);
    Ok(copy)
}

impl ValidBooleans {
    fn view(&self) -> TensorView<'_> {
        let first = self.copy.as_bytes()[self.first..].as_ptr();
        // SAFETY: the copy has all elements that the shape and strides lead to, from `first` on.
        unsafe { TensorView::from_raw_parts(first, DType::Bool, &self.shape, &self.strides) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_types::Scalar;
    use proptest::prelude::*;
    use smallvec::smallvec;

    /// Bytes, and an array of some of them.
    struct Bytes {
        bytes: Vec<u8>,
        first: usize,
        dtype: DType,
        shape: Vec<usize>,
        strides: Vec<isize>,
    }

    impl ForeignArray for Bytes {
        fn data(&self) -> *mut u8 {
            self.bytes.as_ptr().wrapping_add(self.first).cast_mut()
        }
        fn dtype(&self) -> DType {
            self.dtype
        }
        fn shape(&self) -> &[usize] {
            &self.shape
        }
        fn byte_strides(&self) -> &[isize] {
            &self.strides
        }
    }

    fn booleans(bytes: &[u8], first: usize, axes: &[(usize, isize)]) -> Foreign<Bytes> {
        let (shape, strides) = axes.iter().copied().unzip();
        let bytes = bytes.to_vec();
        Foreign::new(Bytes { bytes, first, dtype: DType::Bool, shape, strides }).unwrap()
    }

    /// The elements, once checked, and whether they are a copy's.
    fn checked(mut array: Foreign<Bytes>) -> (Vec<bool>, bool) {
        let copied = array.unchecked().unwrap().check().unwrap();
        let is_copied = copied.is_some();
        array.checked(copied);
        assert!(array.unchecked().is_none());
        let truth = |scalar| matches!(scalar, Scalar::Bool(true));
        (array.view().iter_scalars().map(truth).collect(), is_copied)
    }

    #[test]
    fn any_byte_but_0_is_true() {
        assert_eq!(checked(booleans(&[0, 1, 1], 0, &[(3, 1)])), (vec![false, true, true], false));
        assert_eq!(checked(booleans(&[0, 2, 255], 2, &[(3, -1)])), (vec![true, true, false], true));
        // A byte that is no element does not count.
        assert_eq!(checked(booleans(&[0, 2, 1], 0, &[(2, 2)])), (vec![false, true], false));
        assert_eq!(checked(booleans(&[], 0, &[(0, 1)])), (vec![], false));
        assert_eq!(checked(booleans(&[7], 0, &[])), (vec![true], true));
    }

    #[test]
    fn repeated_and_overlapping_booleans_take_no_more_memory() {
        let mut array = booleans(&[0, 9], 0, &[(1 << 40, 0), (2, 1)]);
        let unchecked = array.unchecked().unwrap();
        assert_eq!(unchecked.len(), 2);
        let copied = unchecked.check().unwrap().unwrap();
        assert_eq!(copied.copy.len(), 2);
        array.checked(Some(copied));
        assert_eq!(array.view().strides(), [0, 1]);
        assert_eq!(array.view().get(&[12345, 1]), Scalar::Bool(true));
        let windows = booleans(&[3; 100], 0, &[(50, 1), (51, 1)]);
        assert_eq!(windows.unchecked().unwrap().check().unwrap().unwrap().copy.len(), 100);
    }

    proptest! {
        #[test]
        fn checked_booleans_are_those_of_the_bytes(
            bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 1, 2, 128, 255]), 200),
            axes in prop::collection::vec((0usize..6, -4isize..5), 0..4),
        ) {
            let reach = |axis: &&(usize, isize)| (axis.0.max(1) as isize - 1) * axis.1.min(0);
            let first = axes.iter().map(|axis| -reach(&axis)).sum::<isize>() as usize;
            let mut expected = vec![first as isize];
            for &(extent, stride) in &axes {
                let along = |at: &isize| (0..extent as isize).map(move |n| at + n * stride).collect();
                expected = expected.iter().flat_map(|at| -> Vec<isize> { along(at) }).collect();
            }
            let odd = expected.iter().any(|&at| bytes[at as usize] > 1);
            let expected: Vec<bool> = expected.iter().map(|&at| bytes[at as usize] != 0).collect();
            prop_assert_eq!(checked(booleans(&bytes, first, &axes)), (expected, odd));
        }
    }

    #[test]
    fn what_is_no_view_is_refused() {
        let of = |first, dtype, axes: &[(usize, isize)]| {
            let (shape, strides) = axes.iter().copied().unzip();
            let bytes = vec![0; 64];
            let first = bytes.as_ptr().align_offset(16) + first;
            Foreign::new(Bytes { bytes, first, dtype, shape, strides }).err()
        };
        assert_eq!(of(0, DType::F64, &[(2, 8), (1, 3)]), None);
        assert_eq!(of(1, DType::F64, &[(2, 8)]), Some(ForeignError::Unaligned));
        assert_eq!(of(1, DType::F64, &[(2, 8), (0, 3)]), None);
        let stride = ForeignError::Stride { axis: 1, stride: -12, size: 8 };
        assert_eq!(of(0, DType::F64, &[(1, 8), (2, -12)]), Some(stride));
        let large = of(0, DType::F64, &[(1 << 40, 0), (1 << 40, 0)]);
        assert!(matches!(large, Some(ForeignError::Tensor(TensorError::TooLarge(_)))));
    }

    #[test]
    fn arrays_whose_elements_share_memory_are_not_written() {
        let mut windows = booleans(&[0; 9], 0, &[(3, 1), (2, 1)]);
        assert!(windows.view_mut().is_none());
        let mut rows = booleans(&[0; 9], 8, &[(3, -3), (2, -1)]);
        rows.view_mut().unwrap().set(&[0, 1], Scalar::Bool(true));
        assert_eq!(rows.array().bytes, [0, 0, 0, 0, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn no_elements_are_nowhere() {
        let array = Null(vec![0, 3], smallvec![24, 8]);
        let mut array = Foreign::new(array).unwrap();
        assert!(array.view().is_empty() && array.view_mut().unwrap().is_empty());
    }

    /// An array without elements, at no address.
    struct Null(Vec<usize>, Strides);

    impl ForeignArray for Null {
        fn data(&self) -> *mut u8 {
            std::ptr::null_mut()
        }
        fn dtype(&self) -> DType {
            DType::F64
        }
        fn shape(&self) -> &[usize] {
            &self.0
        }
        fn byte_strides(&self) -> &[isize] {
            &self.1
        }
    }
}
