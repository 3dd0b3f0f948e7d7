//! Views of every layout and element type agree with ndarray; tensors convert without copies.
#![allow(unsafe_code)]

use ijk_tensor::{Tensor, TensorError, TensorView, TensorViewMut, UninitTensor};
use ijk_types::{C64, C128, DType, Element, Scalar};
use ndarray::{Array, Array2, ArrayD, Axis, Dimension, Ix1, Ix2, IxDyn, Slice, arr0, array, s};
use proptest::prelude::*;
use std::mem::MaybeUninit;

/// An array and one of its views: permuted, sliced with steps, reversed.
fn layouts() -> impl Strategy<Value = (ArrayD<f64>, Vec<usize>, Vec<Slice>)> {
    prop::collection::vec(0usize..5, 0..5).prop_flat_map(|shape| {
        let rank = shape.len();
        let count = shape.iter().product::<usize>();
        let array = Array::from_iter((0..count).map(|x| x as f64));
        let array = array.into_shape_with_order(IxDyn(&shape)).unwrap();
        let axes = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
        let slices = prop::collection::vec((0usize..3, prop_oneof![-3isize..0, 1isize..4]), rank);
        (Just(array), axes, slices).prop_map(|(array, axes, steps)| {
            let slices = (steps.iter().zip(&axes))
                .map(|(&(from, step), &axis)| {
                    Slice::new(from.min(array.shape()[axis]) as isize, None, step)
                })
                .collect();
            (array, axes, slices)
        })
    })
}

proptest! {
    #[test]
    fn views_agree_with_ndarray((array, axes, slices) in layouts()) {
        let mut view = array.view().permuted_axes(axes);
        for (axis, &slice) in slices.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), slice);
        }
        let tensor = TensorView::from_array(&view);
        prop_assert_eq!(tensor.to_ndarray::<f64>().unwrap(), view.view());
        let scalars: Vec<_> = view.iter().map(|&x| Scalar::F64(x)).collect();
        prop_assert_eq!(tensor.iter_scalars().collect::<Vec<_>>(), scalars);
        for (index, &value) in view.indexed_iter() {
            prop_assert_eq!(tensor.get(index.slice()), Scalar::F64(value));
        }
        let copy = tensor.to_tensor().unwrap();
        prop_assert!(copy.view().is_c_contiguous());
        prop_assert_eq!(tensor.is_c_contiguous(), view.is_standard_layout());
        prop_assert_eq!(copy.into_array::<f64, IxDyn>().unwrap(), view);
    }

    #[test]
    fn writes_through_any_layout((mut array, axes, slices) in layouts()) {
        let mut view = array.view_mut().permuted_axes(axes);
        for (axis, &slice) in slices.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), slice);
        }
        let indices: Vec<_> = view.indexed_iter().map(|(i, _)| i).collect();
        let mut target = TensorViewMut::from_array(&mut view);
        for (n, index) in indices.iter().enumerate() {
            target.set(index.slice(), Scalar::F64(-1.0 - n as f64));
        }
        let expected: Vec<_> = (0..indices.len()).map(|n| -1.0 - n as f64).collect();
        prop_assert_eq!(view.iter().copied().collect::<Vec<_>>(), expected);
    }
}

fn round_trip<T: Element>(values: [T; 6]) {
    let array = Array2::from_shape_vec((2, 3), values.to_vec()).unwrap();
    let tensor = TensorView::from_array(&array.t()).to_tensor().unwrap();
    assert_eq!(tensor.dtype(), T::DTYPE);
    assert_eq!(tensor.view().as_ptr() as usize % 64, 0);
    let scalars: Vec<_> = tensor.view().iter_scalars().collect();
    let again = Tensor::from_scalars(T::DTYPE, tensor.shape(), scalars).unwrap();
    assert_eq!(again, tensor);
    let pointer = again.view().as_ptr();
    let back: Array2<T> = again.into_array().unwrap();
    assert_eq!(back, array.t());
    assert_eq!(back.as_ptr().cast(), pointer, "moved, not copied");
    assert_eq!(Tensor::from_array(back).view().as_ptr(), pointer);
}

#[test]
fn every_element_type() {
    round_trip([true, false, false, true, true, false]);
    round_trip([1, -2, 3, i32::MIN, 5, i32::MAX]);
    round_trip([1, -2, 3, i64::MIN, 5, i64::MAX]);
    round_trip([1.0f32, -0.0, f32::INFINITY, 4.0, 5.0, 6.0]);
    round_trip([1.0f64, -0.0, f64::INFINITY, 4.0, 5.0, 6.0]);
    round_trip([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(|x| C64::new(x, -x)));
    round_trip([1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0].map(|x| C128::new(x, -x)));
}

#[test]
fn broadcast_and_rank_0() {
    let row = array![1i32, 2, 3];
    let wide = row.broadcast((2, 3)).unwrap();
    let view = TensorView::from_array(&wide);
    assert_eq!(view.strides(), [0, 1]);
    assert_eq!(view.to_tensor().unwrap().as_slice::<i32>(), Some(&[1, 2, 3, 1, 2, 3][..]));
    let huge = row.slice(s![0..1]);
    let huge = huge.broadcast(1 << 55).unwrap();
    let error = TensorView::from_array(&huge).to_tensor().unwrap_err();
    assert!(matches!(error, TensorError::OutOfMemory { .. }), "{error}");

    let number = arr0(4i64);
    let view = TensorView::from_array(&number);
    assert_eq!((view.rank(), view.len(), view.get(&[])), (0, 1, Scalar::I64(4)));
    assert_eq!(TensorView::from_element(&4i64).get(&[]), Scalar::I64(4));
    assert_eq!(view.to_tensor().unwrap().into_array::<i64, _>().unwrap(), number);
}

#[test]
fn no_elements() {
    for shape in [&[0][..], &[3, 0, 2], &[0, 1 << 40]] {
        let tensor = Tensor::zeros(DType::C64, shape).unwrap();
        assert!(tensor.is_empty() && tensor.view().iter_scalars().next().is_none());
        assert_eq!(tensor.clone(), tensor);
        let array = tensor.into_array::<C64, IxDyn>().unwrap();
        assert_eq!(Tensor::from_array(array).shape(), shape);
    }
}

#[test]
fn offsets_of_moved_arrays_are_kept() {
    let array = Array::from_iter(0..10i32).slice_move(s![4..]);
    let tensor = Tensor::from_array(array);
    assert_eq!(tensor.as_slice::<i32>(), Some(&[4, 5, 6, 7, 8, 9][..]));
    let array = tensor.into_shape(&[2, 3]).unwrap().into_array::<i32, Ix2>().unwrap();
    assert_eq!(array, array![[4, 5, 6], [7, 8, 9]]);
    let mut extended =
        Tensor::from_vec(vec![1, 2, 3], &[3]).unwrap().into_array::<i32, Ix1>().unwrap();
    extended.append(Axis(0), array![4].view()).unwrap();
    assert_eq!(extended, array![1, 2, 3, 4]);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let tensor = Tensor::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
    let (expected, found) = (DType::F64, DType::F32);
    assert_eq!(
        tensor.view().to_ndarray::<f64>().unwrap_err(),
        TensorError::DType { expected, found }
    );
    let rank = tensor.clone().into_array::<f32, Ix2>().unwrap_err();
    assert_eq!(rank, TensorError::Rank { expected: 2, found: 1 });
    assert!(tensor.as_slice::<i32>().is_none());
    let error = Tensor::from_vec(vec![1i32; 3], &[2]).unwrap_err();
    assert_eq!(error.to_string(), "shape (2,) has 2 elements, but 3 are given");
    for elements in [vec![true], vec![true; 3]] {
        let scalars = elements.iter().map(|&x| Scalar::Bool(x));
        assert!(Tensor::from_scalars(DType::Bool, &[2], scalars).is_err());
    }
    let wrong = Tensor::from_scalars(DType::I32, &[1], [Scalar::I64(1)]).unwrap_err();
    assert_eq!(wrong, TensorError::DType { expected: DType::I32, found: DType::I64 });
    assert!(matches!(Tensor::zeros(DType::F32, &[usize::MAX, 2]), Err(TensorError::TooLarge(_))));
    assert!(matches!(
        UninitTensor::new(DType::F32, &[1 << 60]),
        Err(TensorError::OutOfMemory { .. })
    ));
    assert!(TensorView::from_slice(&[1.0f32], &[2]).is_err());
}

#[test]
fn outputs_may_be_uninitialised() {
    let mut memory = [MaybeUninit::<f64>::uninit(); 4];
    let mut view = TensorViewMut::from_uninit(&mut memory, &[2, 2]).unwrap();
    for (n, index) in [[0, 0], [0, 1], [1, 0], [1, 1]].iter().enumerate() {
        view.reborrow().set(index, Scalar::F64(n as f64));
    }
    // SAFETY: all four are written.
    let read = unsafe { view.assume_init() };
    assert_eq!(read.as_slice::<f64>(), Some(&[0.0, 1.0, 2.0, 3.0][..]));

    let mut array = Array2::<i32>::uninit((1, 2));
    let mut view = TensorViewMut::from_uninit_array(&mut array);
    view.set(&[0, 0], Scalar::I32(5));
    view.set(&[0, 1], Scalar::I32(6));
    // SAFETY: both are written.
    assert_eq!(unsafe { array.assume_init() }, array![[5, 6]]);
}

#[test]
fn full_repeats_one_value() {
    let ones = Tensor::full(Scalar::C64(C64::new(1.0, 2.0)), &[2, 2]).unwrap();
    assert!(ones.view().iter_scalars().all(|x| x == Scalar::C64(C64::new(1.0, 2.0))));
}

#[test]
#[should_panic(expected = "index [0, 3] is out of bounds for shape [2, 3]")]
fn out_of_bounds_panics() {
    Tensor::zeros(DType::F32, &[2, 3]).unwrap().get(&[0, 3]);
}

#[test]
fn casts() {
    let numbers = Tensor::from_vec(vec![0.0f64, -1.5, 3e9, f64::NAN], &[2, 2]).unwrap();
    let to = |dtype| numbers.cast(dtype).unwrap();
    assert_eq!(to(DType::I32).as_slice::<i32>(), Some(&[0, -1, i32::MAX, 0][..]));
    assert_eq!(to(DType::Bool).as_slice::<bool>(), Some(&[false, true, true, true][..]));
    assert_eq!(to(DType::F32).as_slice::<f32>().unwrap()[2], 3e9);
    assert_eq!(to(DType::C64).get(&[0, 1]), Scalar::C64(C64::new(-1.5, 0.0)));
    assert_eq!(to(DType::C128).cast(DType::C64).unwrap().shape(), [2, 2]);
    assert!(to(DType::C64).cast(DType::F32).is_err());
}

#[test]
fn large_copies_of_any_layout() {
    let array = Array::from_iter(0..70 * 45 * 3).into_shape_with_order((70, 45, 3)).unwrap();
    for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let view = array.view().permuted_axes(axes);
        for view in [view, view.slice(s![..;-1, 1..;2, ..]), view.slice(s![1..2, .., ..;-3])] {
            let copy = TensorView::from_array(&view).to_tensor().unwrap();
            assert_eq!(copy.into_array::<i32, _>().unwrap(), view);
        }
    }
}
