//! `einsum!`, `try_einsum!` and `into_einsum!`: small operands (inline loops) and larger ones.

use ijk::ndarray::{Array, Array0, Array1, Array2, Array3, Array4, ArrayD, Dimension, array, s};
use ijk::num_complex::Complex32;
use ijk::{Element, einsum, into_einsum, try_einsum};

/// Numbers of both signs with many significant bits.
fn rough(rows: usize, columns: usize, step: f32) -> Array2<f32> {
    Array::from_shape_fn((rows, columns), |(i, j)| {
        ((i * columns + j + 1) as f32 * step).sin() * 1e3
    })
}

#[test]
fn views_of_any_layout() {
    let x = rough(4, 6, 0.7);
    assert_eq!(einsum!("ij->ji", &x), x.t());
    assert_eq!(einsum!("ij->ji", &x.t()), x);
    let part = x.slice(s![..;-1, 1..;2]);
    assert_eq!(einsum!("ij,ij->ij", &part, &part), &part * &part);
    let row = x.row(0);
    let wide = row.broadcast((3, 6)).unwrap();
    assert_eq!(einsum!("ij->ij", &wide), wide);
}

#[test]
fn every_element_type_and_spelling() {
    assert_eq!(einsum!("ii", &array![[1, 2], [3, i32::MAX]])[()], i32::MIN);
    assert_eq!(einsum!(" ij -> i ", &array![[1i64, 2], [3, 4]],), array![3, 7]);
    assert_eq!(einsum!("ba", &array![[1.5, 2.0]]), array![[1.5], [2.0]]);
    assert_eq!(einsum!("µβ,β", &array![[1.0, 2.0]], &array![3.0, 4.0]), array![11.0]);
    let (yes, no) = (true, false);
    let paths = array![[yes, no], [no, yes]];
    assert_eq!(
        einsum!("ij,jk->ik", &paths, &array![[no, no], [yes, no]]),
        array![[no, no], [yes, no]]
    );
    let z = Complex32::new(0.0, 1.0);
    assert_eq!(einsum!("i,i->", &array![z, z], &array![z, z])[()], Complex32::new(-2.0, 0.0));
    assert_eq!(einsum!("", &Array0::from_elem((), 7))[()], 7);
    assert_eq!(einsum!(r#"i,->i"#, &array![1, 2], &Array0::from_elem((), 3)), array![3, 6]);
}

#[test]
fn operands_are_any_expressions() {
    struct Pair(Array1<i32>, Array1<i32>);
    let pair = Pair(array![1, 2], array![3, 4]);
    fn both<A, B>(_: A, b: B) -> B {
        b
    }
    let sum = einsum!("i,i->", both::<u8, &Array1<i32>>(1, &pair.0), { &pair.1 });
    assert_eq!(sum[()], 11);
    fn generic<T: Element>(x: &Array1<T>) -> Array2<T> {
        einsum!("i,j->ij", x, x)
    }
    assert_eq!(generic(&array![1, 2]), array![[1, 2], [2, 4]]);
    assert_eq!(generic(&array![0.5]), array![[0.25]]);
}

#[test]
fn axes_that_no_letter_names() {
    let x = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| i * 100 + j * 10 + k).mapv(|n| n as i64);
    let last: Array3<i64> = einsum!("i...->...i", &x);
    assert_eq!(last, x.view().permuted_axes([1, 2, 0]));
    let any: ArrayD<i64> = einsum!("...,...", &x, &array![1, 10, 100, 1000]);
    assert_eq!(any.shape(), [2, 3, 4]);
    assert_eq!(einsum!("...i->i", &array![1, 2]), array![1, 2]);
    let error = try_einsum!("...i->i", &x).map(|_: Array1<i64>| ()).unwrap_err();
    assert!(error.to_string().contains("`...` stands for 2 axes"), "{error}");
    let wrong: Result<Array2<i64>, _> = try_einsum!("...->...", &x);
    assert!(wrong.is_err());
    let mut out = Array4::zeros((1, 2, 3, 4));
    into_einsum!("...,...->...", &x, &Array4::ones((1, 1, 1, 1)), &mut out);
    assert_eq!(out.slice(s![0, .., .., ..]), x);
}

#[test]
fn single_elements_fit_any_extent() {
    let (column, row) = (array![[1.0], [2.0]], array![[10.0, 20.0, 30.0]]);
    assert_eq!(einsum!("ij,ij->ij", &column, &row), array![[10.0, 20.0, 30.0], [20.0, 40.0, 60.0]]);
    assert_eq!(einsum!("ij,jk->ik", &column, &array![[1.0], [1.0]]), array![[2.0], [4.0]]);
}

#[test]
fn more_axes_than_dimension_types() {
    let x =
        ArrayD::from_shape_fn(vec![2; 7], |at| at.slice().iter().fold(0, |n, b| 2 * n + b) as i32);
    let turned: ArrayD<i32> = einsum!("abcdefg->gfedcba", &x);
    assert_eq!(turned, x.t());
    assert!(try_einsum!("abcdefg->a", &array![1].into_dyn()).is_err());
}

#[test]
fn places() {
    let (x, y) = (rough(30, 40, 0.3), rough(40, 20, 0.9));
    let mut out = Array2::from_elem((60, 20), -1.0);
    into_einsum!("ij,jk->ik", &x, &y, &mut out.slice_mut(s![..;2, ..;-1]));
    assert_eq!(out.slice(s![..;2, ..;-1]), einsum!("ij,jk->ik", &x, &y));
    assert!(out.slice(s![1..;2, ..]).iter().all(|&v| v == -1.0));
    let mut small = Array1::zeros(2);
    into_einsum!("ij->i", &array![[1, 2], [3, 4]], &mut small);
    assert_eq!(small, array![3, 7]);
}

#[test]
#[should_panic = "output 1"]
fn places_of_other_shapes_panic() {
    into_einsum!("ij->ji", &Array2::<f64>::zeros((2, 3)), &mut Array2::zeros((2, 3)));
}

#[test]
#[should_panic = "index `k` is 3 on axis 1 of operand 1 but 4 on axis 0 of operand 2"]
fn shape_errors_panic() {
    einsum!("ik,kj->ij", &Array2::<f64>::zeros((2, 3)), &Array2::zeros((4, 2)));
}

#[test]
fn many_operands() {
    let (a, b, c, v) =
        (rough(8, 9, 0.1), rough(9, 10, 0.2), rough(10, 3, 0.3), array![1.0, 2.0, 3.0]);
    let left = einsum!("ij,jk,kl,l->i", &a, &b, &c, &v);
    let right: Array1<f32> =
        ijk::einsum("ij,jk,kl,l->i", (&a, &b, &c, &v)).unwrap().into_array().unwrap();
    assert_eq!(bits(&left), bits(&right));
}

fn bits<D: Dimension>(array: &Array<f32, D>) -> Vec<u32> {
    array.iter().map(|x| x.to_bits()).collect()
}

/// The inline loops of the macro and the engine have the same bits.
#[test]
fn small_domains_agree_with_the_engine() {
    let (x, y) = (rough(4, 6, 0.7), rough(6, 4, 1.3));
    macro_rules! same {
        ($($subscripts:literal: $($operand:ident),+;)*) => {$(
            let inline = einsum!($subscripts, $(&$operand),+);
            let engine = ijk::einsum($subscripts, ($(&$operand,)+)).unwrap();
            assert_eq!(inline.shape(), engine.shape(), $subscripts);
            let engine: ArrayD<f32> = engine.into_array().unwrap();
            assert_eq!(bits(&inline), bits(&engine), $subscripts);
        )*};
    }
    same! {
        "ij,jk->ik": x, y;
        "ij,jk->ki": x, y;
        "ij,ji->": x, y;
        "ij,ji->j": x, y;
        "ij,kl->": x, y;
        "ij,kl->l": x, y;
        "ij->": x;
        "ij->ji": x;
    }
}
