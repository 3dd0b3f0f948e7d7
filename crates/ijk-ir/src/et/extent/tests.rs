//! Every row of the table of extents, on trees made by hand.

use super::super::{ArrayInfo, Checked, Extents, Origin, ShapeId, Solution, Tuple};
use super::{is_scalar, is_static};
use crate::et::codes;
use crate::interval::Interval;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{Access, Index, IndexOp, Name};

const AT: Span = Span::new(0, 0);

fn name(text: &str) -> Name {
    Name { text: text.into(), span: AT }
}

fn tuple(text: &str) -> Index {
    Index::Tuple(name(text))
}

fn int(value: i64) -> Index {
    Index::Integer(value, AT)
}

fn dims(of: &[Index]) -> Index {
    Index::Dims(of.to_vec(), AT)
}

fn flat(of: &[Index]) -> Index {
    Index::Flat(of.to_vec(), AT)
}

fn add(a: Index, b: Index) -> Index {
    Index::Sum(vec![(false, a), (false, b)], AT)
}

fn sub(a: Index, b: Index) -> Index {
    Index::Sum(vec![(false, a), (true, b)], AT)
}

fn by(a: Index, op: IndexOp, b: Index) -> Index {
    Index::Product(Box::new(a), vec![(op, b)], AT)
}

fn mul(a: Index, b: Index) -> Index {
    by(a, IndexOp::Mul, b)
}

/// `a` is 5 × 7, `b` is 2 × 3, `empty` is 0 × 4, `one` is 6.
fn known() -> (Checked, Solution) {
    let names = ["a", "b", "empty", "one"];
    let tuple = |(n, name): (usize, &&str)| Tuple {
        name: (*name).into(),
        span: AT,
        shape: ShapeId(n as u32),
    };
    let tuples = names.iter().enumerate().map(tuple).collect();
    let idx = ArrayInfo { name: "idx".into(), span: AT, places: 2, origin: Origin::Input };
    let checked = Checked { tuples, shapes: 4, arrays: vec![idx], ..Checked::default() };
    let dims = vec![vec![5, 7], vec![2, 3], vec![0, 4], vec![6]];
    (checked, Solution { dims, places: vec![vec![1, 1]] })
}

fn extents(index: &Index) -> Vec<u64> {
    let (checked, solution) = known();
    let all = Extents::new(&checked, &solution);
    let rank = all.rank(index).unwrap_or(1);
    all.dims(index, rank).unwrap().unwrap()
}

#[test]
fn with_a_static_operand() {
    let (a, b) = (tuple("a"), dims(&[tuple("b")]));
    assert_eq!(extents(&add(a.clone(), b.clone())), [7, 10]);
    assert_eq!(extents(&sub(a.clone(), b.clone())), [3, 4]);
    assert_eq!(extents(&sub(a.clone(), int(6))), [0, 1]);
    assert_eq!(extents(&mul(a.clone(), b.clone())), [9, 19]);
    assert_eq!(extents(&by(a.clone(), IndexOp::FloorDiv, int(3))), [2, 3]);
    assert_eq!(extents(&by(a.clone(), IndexOp::CeilDiv, int(4))), [2, 3]);
    assert_eq!(extents(&by(a.clone(), IndexOp::Mod, int(6))), [5, 6]);
    assert_eq!(extents(&by(a, IndexOp::Mod, b)), [2, 3]);
}

#[test]
fn of_two_tuples() {
    assert_eq!(extents(&add(tuple("a"), tuple("b"))), [6, 9]);
    assert_eq!(extents(&sub(tuple("a"), tuple("b"))), [5, 7]);
    assert_eq!(extents(&mul(tuple("a"), tuple("b"))), [4 + 1, 12 + 1]);
}

#[test]
fn with_a_static_on_the_left() {
    assert_eq!(extents(&add(int(3), tuple("a"))), [8, 10]);
    assert_eq!(extents(&sub(int(3), tuple("a"))), [4, 4]);
    assert_eq!(extents(&mul(int(3), tuple("a"))), [13, 19]);
}

#[test]
fn of_statics() {
    assert_eq!(extents(&int(3)), [4]);
    assert_eq!(extents(&int(-3)), [0]);
    assert_eq!(extents(&dims(&[tuple("a"), tuple("one")])), [6, 8, 7]);
    assert_eq!(extents(&Index::Rank(vec![tuple("a"), tuple("one")], AT)), [4]);
    assert_eq!(extents(&sub(dims(&[tuple("a")]), dims(&[tuple("b")]))), [4, 5]);
}

#[test]
fn reversal_fits_whole() {
    let e = sub(sub(dims(&[tuple("a")]), int(1)), tuple("a"));
    assert_eq!(extents(&e), [5, 7]);
}

#[test]
fn a_remainder_below_zero_reaches_the_divisor() {
    let e = by(sub(tuple("a"), int(1)), IndexOp::Mod, int(4));
    assert_eq!(extents(&e), [4, 4]);
}

#[test]
fn flat_is_one_component() {
    assert_eq!(extents(&flat(&[tuple("a"), tuple("b")])), [5 * 7 * 2 * 3]);
    assert_eq!(extents(&flat(&[tuple("a"), tuple("empty")])), [0]);
    assert_eq!(extents(&add(flat(&[tuple("b")]), tuple("one"))), [6 + 6 - 1]);
}

#[test]
fn empty_tuples_empty_their_components() {
    assert_eq!(extents(&add(tuple("a"), tuple("empty"))), [0, 7 + 4 - 1]);
    assert_eq!(extents(&add(tuple("empty"), int(9))), [0, 13]);
    assert_eq!(extents(&dims(&[tuple("empty")])), [1, 5]);
}

#[test]
fn scalars_take_the_rank_of_their_place() {
    let (checked, solution) = known();
    let all = Extents::new(&checked, &solution);
    assert_eq!(all.rank(&int(1)), None);
    assert_eq!(all.dims(&int(1), 3), Ok(Some(vec![2, 2, 2])));
    assert_eq!(all.static_value(&int(4), 2), Ok(Some(vec![4, 4])));
    assert_eq!(all.static_value(&tuple("a"), 2), Ok(None));
    assert!(is_scalar(&add(int(1), Index::Rank(vec![tuple("a")], AT))));
    assert!(is_static(&dims(&[tuple("a")])) && !is_scalar(&dims(&[tuple("a")])));
}

#[test]
fn nested_arrays_are_known_when_their_elements_are() {
    let (checked, solution) = known();
    let access =
        Access { array: name("idx"), indices: vec![tuple("one"), Index::Star(AT)], span: AT };
    let e = add(Index::Array(access), int(1));
    let all = Extents::new(&checked, &solution);
    assert_eq!(all.rank(&e), None);
    assert_eq!(all.dims(&e, 2), Ok(None));
    let of = |greatest| Interval { least: -1, greatest };
    let found = |_: &Access| Some(vec![of(8), of(-2)]);
    assert_eq!(all.with_elements(&found, &|_| None).dims(&e, 2), Ok(Some(vec![10, 0])));
}

#[test]
fn what_cannot_be_an_index() {
    let (checked, solution) = known();
    let all = Extents::new(&checked, &solution);
    let code = |e: &Index, rank| all.range(e, rank).unwrap_err().code.unwrap();
    assert_eq!(code(&mul(int(i64::MAX), int(2)), 1), codes::INDEX_TOO_LARGE);
    assert_eq!(code(&by(int(1), IndexOp::Mod, sub(int(2), int(2))), 1), codes::ZERO_DIVISOR);
    assert_eq!(code(&by(int(1), IndexOp::Mod, tuple("one")), 1), codes::NOT_STATIC);
    assert_eq!(code(&add(tuple("a"), tuple("one")), 2), codes::RANKS_DIFFER);
    let access = Access { array: name("idx"), indices: vec![tuple("one"), int(0)], span: AT };
    assert_eq!(code(&dims(&[Index::Array(access)]), 1), codes::EXTENTS_OF_DATA);
}

#[test]
fn negative_divisors_floor() {
    let range = |op| {
        let (checked, solution) = known();
        let e = by(tuple("one"), op, int(-2));
        Extents::new(&checked, &solution).range(&e, 1).unwrap()[0]
    };
    assert_eq!(range(IndexOp::FloorDiv), Interval { least: -3, greatest: 0 });
    assert_eq!(range(IndexOp::CeilDiv), Interval { least: -2, greatest: 0 });
    assert_eq!(range(IndexOp::Mod), Interval { least: -1, greatest: 0 });
}
