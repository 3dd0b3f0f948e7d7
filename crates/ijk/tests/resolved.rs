//! Decisions on questions that the first documents of the language left open: one test each.

use ijk::ndarray::{Array, Array1, Array2, Array3, array, s};
use ijk::{i, try_i};

/// The rendered errors of a wrong program.
fn rejected(source: &str) -> String {
    match ijk::i(source) {
        Ok(_) => panic!("`{source}` compiles"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing from:\n{message}");
    }
}

fn square() -> Array2<i64> {
    array![[1, 2, 3], [4, 5, 6], [7, 8, 9]]
}

#[test]
fn a_repeated_letter_in_one_input_is_the_diagonal() {
    assert_eq!(i!(ii~i)(&square()), array![1, 5, 9]);
    assert_eq!(i!(+ii~.)(&square())[()], 15);
}

#[test]
fn and_enforces_squareness() {
    let trace = try_i!(+ii~.);
    let message = trace(&Array2::<i64>::zeros((2, 3))).unwrap_err().to_string();
    says(&message, &["letter `i`", "2", "3", "axis 0", "axis 1", "argument 1"]);
}

#[test]
fn a_repeated_letter_in_the_output_embeds_on_the_diagonal() {
    let embed = i!(i~ii);
    assert_eq!(embed(&array![1, 2]), array![[1, 0], [0, 2]]);
}

#[test]
fn elements_no_point_reaches_keep_the_reducing_operators_identity() {
    let product = i!(*ij~ii);
    assert_eq!(product(&array![[2, 3], [4, 5]]), array![[6, 1], [1, 20]]);
    let negated = i!(-i~ii); // nothing reduces
    assert_eq!(negated(&array![2, 3]), array![[-2, 0], [0, -3]]);
}

#[test]
fn braces_pin_an_extent() {
    let ten = try_i!(i{10}~i);
    assert!(ten(&Array1::<f32>::zeros(10)).is_ok());
    let message = ten(&Array1::<f32>::zeros(9)).unwrap_err().to_string();
    says(&message, &["`i`", "10", "9"]);
}

#[test]
fn a_name_in_braces_enforces_squareness_without_a_diagonal() {
    let same = try_i!(i{n}j{n}~ij);
    assert_eq!(same(&square()).unwrap(), square());
    let message = same(&Array2::<i64>::zeros((2, 3))).unwrap_err().to_string();
    says(&message, &["`n`", "2", "3"]);
}

#[test]
fn a_name_in_braces_means_one_extent_throughout_a_program() {
    let both = try_i!(
        left: i{n}~i
        right: j{n}~j
        left | right
    );
    assert!(both(&array![1, 2], &array![3, 4]).is_ok());
    assert!(both(&array![1, 2], &array![3, 4, 5]).is_err());
}

#[test]
fn an_explicit_extent_broadcasts() {
    let rows = i!(j~i{3}j);
    assert_eq!(rows(&array![1, 2]), array![[1, 2], [1, 2], [1, 2]]);
}

#[test]
fn numbers_stand_where_a_compound_index_may() {
    assert_eq!(i!(ij>0~ij)(&array![[-1, 2], [3, -4]]), array![[0, 2], [3, 0]]);
    assert_eq!(i!(2*i~i)(&array![1.5, 2.0]), array![3.0, 4.0]);
    assert_eq!(i!(i^2~i)(&array![3, 4]), array![9, 16]);
    assert_eq!(i!(ij>-1~ij)(&array![[-5, 5]]), array![[-1, 5]]);
}

#[test]
fn at_least_one_operand_is_an_index() {
    says(&rejected("1+2~."), &["at least one operand must be an index"]);
}

#[test]
fn a_letter_dropped_by_a_binary_expression_offers_both_folds() {
    says(&rejected("ik*kj~ij"), &["`k`", "+(ik*kj)~ij", "*(ik*kj)~ij"]);
}

#[test]
fn a_no_op_that_drops_a_letter_offers_the_sum() {
    says(&rejected("ij~i"), &["`j`", "+ij~i"]);
}

#[test]
fn an_operator_before_parentheses_maps_and_reduces_at_once() {
    let (a, b) = (array![[1, 2], [3, 4]], array![[5, 6], [7, 8]]);
    assert_eq!(i!(+(ik*kj)~ij)(&a, &b), a.dot(&b));
    assert_eq!(i!(*(ik*kj)~ij)(&a, &b), array![[5 * 14, 6 * 16], [15 * 28, 18 * 32]]);
    assert_eq!(i!(-(i+j)~ij)(&array![1, 2], &array![10]), array![[-11], [-12]]);
}

#[test]
fn the_repeater_is_fan_out_with_the_identity() {
    let normalise = i!((I & +i~.) . i/.~i);
    assert_eq!(normalise(&array![1.0, 3.0, 4.0]), array![0.125, 0.375, 0.5]);
}

#[test]
fn inputs_a_chain_leaves_over_follow_the_lefts() {
    let affine = i!(ik*kj~ijk . +ijk~ij . ij+j~ij);
    let (x, w, b) = (array![[1, 2]], array![[1, 0], [0, 1]], array![10, 20]);
    assert_eq!(affine(&x, &w, &b), array![[11, 22]]);
}

#[test]
fn a_chain_that_yields_more_outputs_than_the_right_takes_is_an_error() {
    says(&rejected("(i~i & i~i) . i~i"), &["2", "1"]);
}

#[test]
fn chain_goes_left_to_right_and_says_so() {
    // Written as the first seeds wrote compose: the accumulation before the multiplies.
    let message = rejected("a: +ijk~ij ; p: (ik*kj~ijk & ik~ik) ; p . a");
    says(&message, &["`.` chains left to right", "a . p"]);
    let both = ijk::i("p: ik*kj~ijk ; a: +ijk~ij ; p . a").unwrap();
    let composed = ijk::i("p: ik*kj~ijk ; a: +ijk~ij ; a << p").unwrap();
    assert_eq!(both.signature().to_string(), composed.signature().to_string());
}

#[test]
fn bracketed_positions_correlate() {
    let correlate = i!([i+k]*k~ik . +ik~i);
    assert_eq!(correlate(&array![1, 2, 3, 4], &array![1, 10]), array![21, 32, 43]);
}

#[test]
fn bracketed_positions_stride() {
    assert_eq!(i!([2*i]~i)(&array![0, 1, 2, 3, 4]), array![0, 2, 4]);
    assert_eq!(i!([2*i+1]~i)(&array![0, 1, 2, 3, 4]), array![1, 3]);
}

#[test]
fn bracketed_positions_split_and_merge_axes() {
    let split = i!(b[4*h+w{4}]c~bhwc);
    let image = Array3::from_shape_fn((2, 8, 3), |(b, p, c)| (b * 100 + p * 10 + c) as i32);
    let blocks = split(&image);
    assert_eq!(blocks.shape(), &[2, 2, 4, 3]);
    assert_eq!(blocks.slice(s![1, 1, 2, ..]), image.slice(s![1, 6, ..]));

    let merge = i!(ij~[4*i+j{4}]);
    let table = Array::from_shape_fn((3, 4), |(i, j)| (4 * i + j) as i32);
    assert_eq!(merge(&table), Array1::from_iter(0..12));
}

#[test]
fn a_letter_only_in_brackets_that_nothing_determines_needs_braces() {
    says(&rejected("[i+k]~ik"), &["letter `i`", "letter `k`", "braces"]);
    let two = i!([i+k{2}]~ik);
    assert_eq!(two(&array![1, 2, 3]), array![[1, 2], [2, 3]]);
}

#[test]
fn an_access_that_could_be_out_of_bounds_is_an_error() {
    let shifted = try_i!([i+1]*i~i);
    let message = shifted(&array![1, 2, 3], &array![1, 2, 3]).unwrap_err().to_string();
    says(&message, &["3", "argument 1"]);
}
