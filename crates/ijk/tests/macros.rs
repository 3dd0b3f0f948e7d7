//! `i!`, `try_i!` and `into_i!`: every form, on small arrays (inline loops) and larger ones.

use ijk::ndarray::{Array, Array0, Array1, Array2, Array3, array, s};
use ijk::num_complex::{Complex32, Complex64};
use ijk::{i, into_i, try_i};

/// Elements 0, 1, 2 … of a shape.
fn counting(shape: [usize; 2]) -> Array2<f64> {
    Array::from_iter((0..shape[0] * shape[1]).map(|n| n as f64))
        .into_shape_with_order(shape)
        .unwrap()
}

#[test]
fn views_of_any_layout() {
    let x = counting([4, 6]);
    let double = i!(2*ij~ij);
    assert_eq!(double(&x.view()), &x * 2.0);
    assert_eq!(double(&x.t()), &x.t() * 2.0);
    assert_eq!(double(&x.slice(s![..;-1, 1..;2])), &x.slice(s![..;-1, 1..;2]) * 2.0);
    let row = x.row(0);
    let wide = row.broadcast((3, 6)).unwrap();
    assert_eq!(double(&wide), &wide * 2.0);
    let mut owned = x.clone();
    assert_eq!(double(&owned.view_mut()), &x * 2.0);
}

#[test]
fn large_arrays() {
    let (x, y) = (counting([40, 50]), counting([50, 30]));
    let mm = i!(ik*kj~ijk . +ijk~ij);
    assert_eq!(mm(&x, &y), x.dot(&y));
    assert_eq!(mm(&x.t().to_owned().t(), &y.slice(s![.., ..;-1])), x.dot(&y.slice(s![.., ..;-1])));
}

#[test]
fn every_element_type() {
    let sum_i32 = i!(+ij~i)(&array![[1, 2], [i32::MAX, 1]]);
    assert_eq!(sum_i32, array![3, i32::MIN]);
    let sum_i64 = i!(+ij~i)(&array![[1i64, 2], [3, 4]]);
    assert_eq!(sum_i64, array![3, 7]);
    let sum_f32 = i!(+ij~i)(&array![[1.5f32, 2.0], [3.0, 4.0]]);
    assert_eq!(sum_f32, array![3.5, 7.0]);
    let sum_bool = i!(+ij~i)(&array![[true, false], [false, false]]);
    assert_eq!(sum_bool, array![true, false]);
    let z = Complex32::new(0.0, 1.0);
    assert_eq!(i!(i*i~i)(&array![z], &array![z]), array![Complex32::new(-1.0, 0.0)]);
    let w = Complex64::new(3.0, 4.0);
    let modulus: Array1<f64> = i!(@abs i~i)(&array![w]);
    assert_eq!(modulus, array![5.0]);
}

/// Type variables that are equal in every application, though not in the Rust signature.
#[test]
fn real_parts_of_types() {
    let z = array![Complex32::new(3.0, 4.0)];
    let sum = i!((@abs i~i | @abs i~i) . i+i~i);
    assert_eq!(sum(&z, &array![1f32]), array![6f32]);
    assert_eq!(i!(@re i~i . i @lt i~i)(&z, &array![4f32]), array![true]);
    assert_eq!(i!(@abs i~i . @abs i~i)(&z), array![5f32]);
    assert_eq!(i!(@abs i~i . >i~.)(&z)[()], 5f32);
}

#[test]
fn one_function_for_several_types() {
    fn square<T: ijk::Number>(x: &Array1<T>) -> Array1<T> {
        i!(i*i~i)(x, x)
    }
    assert_eq!(square(&array![2, 3]), array![4, 9]);
    assert_eq!(square(&array![0.5]), array![0.25]);
}

#[test]
fn several_results_are_a_tuple() {
    let (sum, greatest) = i!(+ij~i & >ij~i)(&array![[1.0, 2.0], [3.0, 5.0]]);
    assert_eq!(sum, array![3.0, 8.0]);
    assert_eq!(greatest, array![2.0, 5.0]);
    let (first, second) = i!(a: i*i~i a & a)(&array![3], &array![2]);
    assert_eq!((first, second), (array![6], array![6]));
}

#[test]
fn identity_has_any_rank() {
    let (same, total) = i!(I & +ij~.)(&array![[1.0, 2.0]]);
    assert_eq!((same, total), (array![[1.0, 2.0]], Array0::from_elem((), 3.0)));
    let cube: Array3<i32> = i!(I)(&Array3::zeros((1, 2, 3)));
    assert_eq!(cube.dim(), (1, 2, 3));
}

#[test]
fn rules_of_the_language() {
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    assert_eq!(i!(ij~ji)(&x), x.t());
    assert_eq!(i!(ii~i)(&x), array![1.0, 4.0]);
    assert_eq!(i!(+ii~.)(&x)[()], 5.0);
    assert_eq!(i!(i~ii)(&array![1.0, 2.0]), array![[1.0, 0.0], [0.0, 2.0]]);
    assert_eq!(i!(*i~ii)(&array![1.0, 2.0]), array![[1.0, 0.0], [0.0, 2.0]]);
    assert_eq!(i!(i~ij)(&array![1.0, 2.0]), array![[1.0], [2.0]]);
    assert_eq!(i!(i~ij{2})(&array![1.0, 2.0]), array![[1.0, 1.0], [2.0, 2.0]]);
    assert_eq!(i!((I & +i~.) . i/.~i)(&array![1.0, 3.0]), array![0.25, 0.75]);
    assert_eq!(i!(ij>0~ij)(&array![[-1.0, 1.0]]), array![[0.0, 1.0]]);
    assert_eq!(i!(ij>-1~ij)(&array![[-2.0, 1.0]]), array![[-1.0, 1.0]]);
    assert_eq!(i!(+(ik*kj)~ij)(&x, &x), x.dot(&x));
    assert_eq!(i!(<(ik+kj)~ij)(&x, &x), array![[2.0, 3.0], [4.0, 5.0]]);
    assert_eq!(i!(~(i-i~i))(&array![1], &array![10]), array![9]);
    assert_eq!(i!(i @lt j~ij)(&array![1, 2], &array![2]), array![[true], [false]]);
    assert_eq!(
        i!(@where(i,i,i)~i)(&array![true, false], &array![1, 2], &array![3, 4]),
        array![1, 4]
    );
    assert_eq!(i!(@argmax ij~i)(&array![[1.0, 5.0, 5.0], [f64::NAN, 9.0, f64::NAN]]), array![1, 0]);
    assert_eq!(i!(@index i~i)(&array![0.5, 0.5]), array![0, 1]);
    assert_eq!(i!(@i32 i~i)(&array![2.7, -2.7]), array![2, -2]);
    assert_eq!(i!([i+k]*k~ik . +ik~i)(&array![1, 2, 3, 4], &array![1, 10]), array![21, 32, 43]);
    assert_eq!(i!([2*i]~i)(&array![1, 2, 3, 4, 5]), array![1, 3, 5]);
    assert_eq!(i!(ij~[2*i+j{2}])(&array![[1, 2], [3, 4]]), array![1, 2, 3, 4]);
    assert_eq!(i!(i{n}j{n}~ij)(&x), x);
}

/// Plain numbers take the type of what shares it, in line and on the engine.
#[test]
fn numbers_are_weak() {
    let (x, y) = (counting([40, 50]), array![1i8, 2]);
    assert_eq!(i!(ij*.~ij)(&x, 2), &x * 2.0);
    assert_eq!(i!(.-ij~ij . ij*.~ij)(1u8, &x, 0.5f32), (1.0 - &x) * 0.5);
    assert_eq!(i!(i*.~i)(&y, 3), array![3i8, 6]);
    assert_eq!(i!(i*.~i)(&y, &array![3i8, 4].slice(s![1])), array![4i8, 8]);
    let z = array![Complex64::new(0.0, 1.0)];
    assert_eq!(i!(i*.~i)(&z, 2), array![Complex64::new(0.0, 2.0)]);
    let real: Array1<f64> = i!(@re i~i . i*.~i)(&z, 2);
    assert_eq!(real, array![0.0]);
    assert_eq!(i!(@f32 i~i . i*.~i)(&y, 0.5), array![0.5f32, 1.0]);
    let mut place = Array1::zeros(2);
    into_i!(i*.~i)(&array![1.5, 2.0], 2, &mut place);
    assert_eq!(place, array![3.0, 4.0]);
    let error = try_i!(i*.~i)(&y, 300).unwrap_err().to_string();
    assert!(
        error.starts_with("argument 2 is the number 300, but the element type of the others is i8")
    );
    assert_eq!(ijk::einsum!(",i->i", 2, &y), array![2i8, 4]);
}

#[test]
#[should_panic(expected = "argument 2 is the number 0.5")]
fn numbers_of_no_value_panic() {
    i!(i*.~i)(&array![1, 2], 0.5);
}

#[test]
fn softmax() {
    let softmax = i!(
        m: >ij~i
        e: (I & m) . ij-i~ij . ^ij~ij
        e . (I & +ij~i) . ij/i~ij
    );
    let x = array![[1.0, 2.0, 3.0], [1000.0, 1000.0, 1000.0]];
    let y = softmax(&x);
    for row in y.rows() {
        assert!((row.sum() - 1.0f64).abs() < 1e-12);
    }
    assert!((y[[0, 2]] / y[[0, 1]] - 1f64.exp()).abs() < 1e-12);
}

#[test]
fn empty_arrays() {
    let none = Array2::<f64>::zeros((3, 0));
    assert_eq!(i!(+ij~i)(&none), array![0.0, 0.0, 0.0]);
    assert_eq!(i!(>ij~i)(&none), Array1::from_elem(3, f64::NEG_INFINITY));
    assert_eq!(i!(ij~ji)(&none).dim(), (0, 3));
    assert_eq!(i!(*ij~j)(&none).dim(), 0);
}

i!(
    /// The product of two matrices.
    pub fn product: ik*kj~ijk . +ijk~ij
);

try_i!(fn try_product: +(ik*kj)~ij);

into_i!(fn product_into: +(ik*kj)~ij);

#[test]
fn items() {
    let x = array![[1, 2], [3, 4]];
    assert_eq!(product(&x, &x), x.dot(&x));
    assert_eq!(product(&x.mapv(f64::from), &x.mapv(f64::from)), x.dot(&x).mapv(f64::from));
    assert_eq!(try_product(&x, &x).unwrap(), x.dot(&x));
    let mut out = Array2::zeros((2, 2));
    product_into(&x, &x, &mut out);
    assert_eq!(out, x.dot(&x));
}

#[test]
fn files() {
    let normalise = i!(file "tests/normalise.ijk");
    assert_eq!(normalise(&array![1.0, 3.0]), array![0.25, 0.75]);
}

#[test]
fn results_written_into_places() {
    let x = counting([3, 4]);
    let mut out = Array2::from_elem((8, 3), -1.0);
    into_i!(ij~ji)(&x, &mut out.slice_mut(s![..;2, ..;-1]));
    assert_eq!(out.slice(s![..;2, ..;-1]), x.t());
    assert!(out.slice(s![1..;2, ..]).iter().all(|&v| v == -1.0));

    let (mut sum, mut greatest) = (Array1::zeros(3), Array1::zeros(3));
    into_i!(+ij~i & >ij~i)(&x, &mut sum, &mut greatest);
    assert_eq!(sum, array![6.0, 22.0, 38.0]);
    assert_eq!(greatest, array![3.0, 7.0, 11.0]);

    let big = counting([50, 60]);
    let mut out = Array2::zeros((60, 50));
    into_i!(ij~ji)(&big, &mut out);
    assert_eq!(out, big.t());
}

#[test]
fn errors_are_results_of_try_i() {
    let mm = try_i!(ik*kj~ijk . +ijk~ij);
    let error = mm(&Array2::<f64>::zeros((2, 3)), &Array2::zeros((4, 2))).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`k` is 3 on axis 1 of argument 1 but 4 on axis 0 of argument 2"),
        "{text}"
    );
    assert!(mm(&Array2::<f64>::zeros((2, 3)), &Array2::zeros((3, 2))).is_ok());
    assert!(try_i!(i/i~i)(&array![1], &array![0]).is_err());
    assert!(try_i!(@argmax i~.)(&Array1::<f64>::zeros(0)).is_err());
}

#[test]
#[should_panic = "`k` is 3 on axis 1 of argument 1 but 4 on axis 0 of argument 2"]
fn shape_errors_panic() {
    i!(ik*kj~ijk)(&Array2::<f64>::zeros((2, 3)), &Array2::zeros((4, 2)));
}

#[test]
#[should_panic = "output 1"]
fn places_of_other_shapes_panic() {
    into_i!(ij~ji)(&Array2::<f64>::zeros((2, 3)), &mut Array2::zeros((2, 3)));
}

/// The inline loops of the macro and the engine have the same bits.
#[test]
fn small_domains_agree_with_the_engine() {
    let x = Array::from_iter((0..24).map(|n| (n as f32 * 0.7).sin() * 1e3))
        .into_shape_with_order((4, 6))
        .unwrap();
    let y = Array::from_iter((0..24).map(|n| (n as f32 * 1.3).cos() * 1e-2))
        .into_shape_with_order((6, 4))
        .unwrap();
    macro_rules! same {
        ($($program:literal = $function:expr, $($argument:ident),+;)*) => {$(
            let inline: Array2<f32> = $function($(&$argument),+);
            let engine: Array2<f32> = ijk::i($program).unwrap().apply_one(($(&$argument,)+)).unwrap();
            let bits = |a: &Array2<f32>| a.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&inline), bits(&engine), $program);
        )*};
    }
    same! {
        "ik*kj~ijk . +ijk~ij" = i!(ik*kj~ijk . +ijk~ij), x, y;
        "+(ik-kj)~ji" = i!(+(ik-kj)~ji), x, y;
        "*(ik>kj)~ij" = i!(*(ik>kj)~ij), x, y;
        "@tanh ij~ij . ij^2~ji" = i!(@tanh ij~ij . ij^2~ji), x;
        "(I & +ij~i) . ij/i~ij" = i!((I & +ij~i) . ij/i~ij), x;
        "@sigmoid(ij+ji)~ji" = i!(@sigmoid(ij+ji)~ji), x, y;
    }
}
