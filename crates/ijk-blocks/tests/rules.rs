//! Each type rule, accepting and rejecting, and what refusals say.

use ijk_blocks::{Aggregation, BigTensor, ElementType, Error, Function, Problem, Value};
use ijk_types::{DType, UnaryOp};

fn tensor(dims: &[usize], blocks: &[Option<usize>]) -> BigTensor {
    BigTensor::zeros(DType::F64, dims, blocks).unwrap()
}

fn ty(tensor: Result<BigTensor, Error>) -> String {
    tensor.unwrap_or_else(|error| panic!("{error}")).ty().to_string()
}

/// The refusal's lines.
fn refused<T: std::fmt::Debug>(built: Result<T, Error>) -> String {
    built.expect_err("a type error").to_string()
}

#[test]
fn literals_have_as_many_elements_as_dimensions_say() {
    assert_eq!(ty(BigTensor::lit([1, 2, 3, 4], [2, 2], [Some(1), None])), "([2, 2], [1, ⊥], i32)");
    assert_eq!(ty(BigTensor::lit([true], [0usize; 0], [None; 0])), "([], [], bool)");
    assert_eq!(ty(BigTensor::lit::<f32>([], [3, 0], [None, Some(7)])), "([3, 0], [⊥, 7], f32)");
    let text = refused(BigTensor::lit([1, 2, 3], [2, 2], [None, None]));
    assert_eq!(text, "lit([…], [2, 2], [⊥, ⊥]): the dimensions have 4 elements, but 3 are given");
    let text = refused(BigTensor::lit([1, 2], [2], [None, None]));
    assert_eq!(text, "lit([…], [2], [⊥, ⊥]): 1 dimensions, but 2 blocks");
    let text = refused(BigTensor::lit([1, 2], [2], [Some(0)]));
    assert!(text.contains("a block of axis 0 has 0 elements"), "{text}");
    let text = refused(BigTensor::lit([1, 2], [usize::MAX, 2], [None, None]));
    assert!(text.contains("more elements than can be"), "{text}");
}

#[test]
fn elements_are_of_one_type() {
    let lists = [Value::list([1]), Value::list([2, 3])];
    assert_eq!(ty(BigTensor::lit_values(lists, [2], [None])), "([2], [⊥], array(i32))");
    let nested = Value::list_of(ElementType::array(DType::I32.into()), [Value::list([1])]).unwrap();
    assert_eq!(ty(BigTensor::lit_values([nested], [1], [None])), "([1], [⊥], array(array(i32)))");
    let text = refused(BigTensor::lit_values([Value::number(1), Value::list([2])], [2], [None]));
    assert!(text.contains("element 1 is of array(i32), but those before it of i32"), "{text}");
    let text = refused(BigTensor::lit_values([], [0], [None]));
    assert!(text.contains("no element to tell the type"), "{text}");
}

#[test]
fn operators_take_equal_dimensions_and_compatible_blocks() {
    let u = tensor(&[4, 6], &[Some(2), None]);
    assert_eq!(ty(&u + &u), "([4, 6], [2, ⊥], f64)");
    let v = tensor(&[4, 6], &[None, Some(3)]);
    for sum in [&u - &v, &v * &u, &u / &v, u.max(&v), v.min(&u)] {
        assert_eq!(ty(sum), "([4, 6], [2, 3], f64)");
    }
    let text = refused(&u + &tensor(&[4, 6], &[Some(4), Some(3)]));
    assert_eq!(
        text,
        "u + v: axis 0 of u has blocks of 2 but axis 0 of v has blocks of 4\n  \
         u: ([4, 6], [2, ⊥], f64)\n  v: ([4, 6], [4, 3], f64)\n  \
         hint: reblock(v, [2, 3]) has blocks that fit"
    );
    let text = refused(&u * &tensor(&[6], &[None]));
    assert!(text.contains("u has 2 axes but v has 1"), "{text}");
    assert!(text.contains("bc(v, [4, 6], [2, ⊥]) repeats it"), "{text}");
    let text = refused(&u * &tensor(&[4, 5], &[None, None]));
    assert!(text.contains("axis 1 of u has 6 elements but axis 1 of v has 5"), "{text}");
    let text = refused(&u + &BigTensor::zeros(DType::F32, [4, 6], [None, None]).unwrap());
    assert!(text.contains("u has elements of f64 but v of f32"), "{text}");
    let bools = BigTensor::lit([true, false], [2], [None]).unwrap();
    assert_eq!(ty(&bools + &bools), "([2], [⊥], bool)");
    let text = refused(&bools - &bools);
    assert!(
        text.contains("`u - v` takes integers, floating-point numbers, complex numbers"),
        "{text}"
    );
    let lists = BigTensor::lit_values([Value::list([1])], [1], [None]).unwrap();
    assert!(refused(&lists + &lists).contains("the elements are of array(i32)"));
}

#[test]
fn broadcasting_takes_whole_multiples_from_the_right() {
    let u = tensor(&[2, 3], &[None, Some(3)]);
    assert_eq!(ty(u.bc([2, 3], [Some(1), None])), "([2, 3], [1, ⊥], f64)");
    assert_eq!(ty(u.bc([5, 4, 9], [Some(2), Some(3), Some(3)])), "([5, 4, 9], [2, 3, 3], f64)");
    assert_eq!(ty(u.bc([0, 3], [None, None])), "([0, 3], [⊥, ⊥], f64)");
    assert_eq!(ty(tensor(&[], &[]).bc([2], [None])), "([2], [⊥], f64)");
    assert!(
        refused(u.bc([2, 4], [None, None]))
            .contains("axis 1 of the result has 4 elements, no whole multiple of 3")
    );
    assert!(refused(u.bc([6], [None])).contains("2 axes of u, but 1 dimensions"));
    let text = refused(u.bc([2, 6], [None, Some(2)]));
    assert!(
        text.contains("axis 1 of u has blocks of 3 but axis 1 of the result has blocks of 2"),
        "{text}"
    );
    assert!(text.contains("hint: reblock(u, [⊥, 2]) has blocks that fit"), "{text}");
    let none = tensor(&[0], &[None]);
    assert!(none.bc([0], [None]).is_ok());
    assert!(refused(none.bc([2], [None])).contains("no whole multiple of 0"));
    assert!(refused(u.bc([2, 3], [None])).contains("2 dimensions, but 1 blocks"));
}

#[test]
fn selection_takes_ascending_positions() {
    let u = tensor(&[4, 6], &[Some(2), None]);
    assert_eq!(ty(u.select([vec![0, 3].into(), (..).into()])), "([2, 6], [2, ⊥], f64)");
    assert_eq!(ty(u.select([vec![].into(), (1..3).into()])), "([0, 2], [2, ⊥], f64)");
    assert!(
        refused(u.select([vec![0, 4].into(), (..).into()]))
            .contains("no position 4 on axis 0, which has 4")
    );
    assert!(refused(u.select([(..).into(), (3..7).into()])).contains("no position 6 on axis 1"));
    assert!(
        refused(u.select([vec![1, 1].into(), (..).into()]))
            .contains("do not ascend: 1 comes after 1")
    );
    assert!(refused(u.select([(..).into()])).contains("1 sets of positions, but 2 axes of u"));
}

#[test]
fn maps_take_the_elements() {
    let u = tensor(&[4], &[Some(2)]);
    assert_eq!(ty(u.map("lt(x, 0)")), "([4], [2], bool)");
    assert_eq!(ty(u.map(UnaryOp::Cast(DType::I32))), "([4], [2], i32)");
    assert_eq!(ty(u.map("@sqrt .~. . 2*.~.")), "([4], [2], f64)");
    assert_eq!(ty(u.map(Function::closure(|x: f64| x > 0.0))), "([4], [2], bool)");
    assert!(refused(u.map("not(x)")).contains("`not` does not take f64, but bool"));
    assert!(
        refused(u.map(Function::closure(|x: f32| x)))
            .contains("takes f32, but the elements are of f64")
    );
    assert!(refused(u.map("+i~.")).contains("a function takes one array of rank 0"));
    assert!(refused(u.map("ij~i")).contains("`j`"));
    let lists = BigTensor::lit_values([Value::list([1])], [1], [None]).unwrap();
    assert_eq!(ty(lists.map("x + 1")), "([1], [⊥], array(i32))");
    assert_eq!(ty(lists.map("sum(x)")), "([1], [⊥], i32)");
    assert!(refused(lists.map("@sqrt .~.")).contains("array(i32)"));
}

#[test]
fn contraction_keeps_the_other_axes() {
    let u = tensor(&[4, 6, 5], &[Some(2), Some(3), None]);
    let v = tensor(&[7, 6], &[None, Some(3)]);
    assert_eq!(ty(u.contract(&v, 1, 1)), "([4, 5, 7], [2, ⊥, ⊥], f64)");
    assert_eq!(ty(u.contract_by(&v, 1, 1, "any(lt(l, r))")), "([4, 5, 7], [2, ⊥, ⊥], bool)");
    assert_eq!(ty(v.matmul(&v.contract(&v, 0, 0).unwrap())), "([7, 6], [⊥, 3], f64)");
    let whole = tensor(&[6], &[None]);
    assert_eq!(ty(u.contract(&whole, 1, 0)), "([4, 5], [2, ⊥], f64)");
    let text = refused(u.contract(&v, 0, 1));
    assert!(
        text.starts_with(
            "contract(u, v, 0, 1, sum(l * r)): axis 0 of u has 4 elements but axis 1 of v has 6"
        ),
        "{text}"
    );
    assert!(refused(u.contract(&v, 3, 1)).contains("no axis 3 of u, whose axes are 0 to 2"));
    assert!(refused(u.contract(&v, 1, 2)).contains("no axis 2 of v, whose axes are 0 to 1"));
    assert!(refused(tensor(&[], &[]).matmul(&v)).contains("no axis 0 of u, which has none"));
    let text = refused(u.contract(&tensor(&[6, 2], &[Some(2), Some(2)]), 1, 0));
    assert!(text.contains("axis 1 of u has blocks of 3 but axis 0 of v has blocks of 2"), "{text}");
    assert!(text.contains("hint: reblock(v, [3, 2]) has blocks that fit"), "{text}");
}

#[test]
fn aggregations_take_the_elements() {
    let u = tensor(&[6], &[Some(3)]);
    let c = BigTensor::zeros(DType::C64, [6], [None]).unwrap();
    assert!(
        refused(c.contract_by(&c, 0, 0, "max(l + r)"))
            .contains("`max` takes other values than c64")
    );
    assert!(refused(u.contract(&c, 0, 0)).contains("`*` has operands of f64 and c64"));
    let lists = BigTensor::lit_values([Value::list([1])], [1], [None]).unwrap();
    assert!(refused(lists.contract(&lists, 0, 0)).contains("takes numbers"));
    let xor = Aggregation::closures(0, |x: i32, y| x ^ y, |x: i32, y: i32| x & y);
    assert!(
        refused(u.contract_by(&u, 0, 0, xor)).contains("takes i32, but the elements are of f64")
    );
    assert!(
        refused(u.contract_by(&u, 0, 0, "mean(l * r)"))
            .contains("expected an aggregation, found `mean`")
    );
    assert!(
        refused(u.contract_by(&u, 0, 0, "i*i~i"))
            .contains("an aggregation takes two arrays of rank 1")
    );
}

#[test]
fn whole_fibres_need_an_axis_that_is_not_cut() {
    let u = tensor(&[6], &[Some(3)]);
    let v = tensor(&[2, 6], &[None, None]);
    assert_eq!(ty(v.contract_by(&v, 1, 1, "argmax(l - r)")), "([2, 2], [⊥, ⊥], i64)");
    assert_eq!(ty(v.contract_by(&v, 1, 1, "collect(l - r)")), "([2, 2], [⊥, ⊥], array(f64))");
    let text = refused(v.contract_by(&u, 1, 0, "argmax(l - r)"));
    assert!(
        text.contains("`argmax(l - r)` needs all values at once, but axis 0 of v has blocks of 3"),
        "{text}"
    );
    assert!(text.contains("hint: reblock(v, [⊥]) has blocks that fit"), "{text}");
    let none = tensor(&[0], &[None]);
    assert!(refused(none.contract_by(&none, 0, 0, "argmax(l)")).contains("of nothing"));
}

#[test]
fn reblocking_changes_blocks_alone() {
    let u = tensor(&[4, 6], &[Some(2), None]);
    assert_eq!(ty(u.reblock([None, Some(4)])), "([4, 6], [⊥, 4], f64)");
    assert!(refused(u.reblock([None])).contains("2 dimensions, but 1 blocks"));
    let error = u.reblock([None, Some(0)]).unwrap_err();
    let problem = error.type_error().map(|error| &error.problem);
    assert_eq!(problem, Some(&Problem::EmptyBlock { axis: 1 }));
}
