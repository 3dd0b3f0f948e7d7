//! The seed documents' own examples, as written there but for `&` on arguments and for what the language page
//! resolved (`a . p` is `a << p`).

use ijk::i;
use ijk::ndarray::{Array2, Array3, array};

fn x() -> Array2<f64> {
    array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
}

fn y() -> Array2<f64> {
    array![[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]]
}

#[test]
fn the_multiplies_and_the_accumulation_of_a_matmul() {
    let m = i!(m: ik*kj~ijk); // the multiplies of a matmul
    let a = i!(a: +ijk~ij); // the accumulation of a matmul

    let result = a(&m(&x(), &y()));
    assert_eq!(result, x().dot(&y()));
}

#[test]
fn the_multiplies_alone_are_indexed_ijk() {
    let p = i!(p: ik*kj~ijk);
    let (x, y) = (x(), y());
    let products = p(&x, &y);
    assert_eq!(products.shape(), &[2, 2, 3]);
    for ((i, j, k), &product) in products.indexed_iter() {
        assert_eq!(product, x[[i, k]] * y[[k, j]]);
    }
}

#[test]
fn matrix_multiplication_by_expression_chaining() {
    // matrix multiplication, multiplies, accumulation, expression chaining
    let mm = i!(
        m: ik*kj~ijk
        a: +ijk~ij
        m.a
    );
    let result = mm(&x(), &y()); // for some matrices `x` and `y`
    assert_eq!(result, x().dot(&y()));
}

#[test]
fn a_binding_names_the_chain() {
    let mm = i!(
        mm: m.a
        m: ik*kj~ijk
        a: +ijk~ij
        mm
    );
    assert_eq!(mm(&x(), &y()), x().dot(&y()));
}

#[test]
fn compose_applies_the_right_first() {
    let mm = i!(
        p: ik*kj~ijk
        a: +ijk~ij
        mm: a << p
    );
    assert_eq!(mm(&x(), &y()), x().dot(&y()));
}

#[test]
fn an_accumulation_of_a_three_dimensional_array() {
    let a = i!(a: +ijk~ij);
    let cube = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as i64);
    assert_eq!(a(&cube), cube.sum_axis(ijk::ndarray::Axis(2)));
}

#[test]
fn transpose_is_a_no_op() {
    let t = i!(t: ij~ji);
    assert_eq!(t(&x()), x().t());
}

#[test]
fn indices_only_on_the_right_unsqueeze() {
    let u = i!(i~ij);
    assert_eq!(u(&array![1, 2, 3]), array![[1], [2], [3]]);
}

#[test]
fn repeated_indices_enforce_shape_constraints() {
    let mm = ijk::try_i!(m: ik*kj~ijk);
    let error = mm(&x(), &x()).unwrap_err().to_string();
    for part in ["letter `k`", "3", "axis 1 of argument 1", "2", "axis 0 of argument 2"] {
        assert!(error.contains(part), "{part} is missing from: {error}");
    }
}
