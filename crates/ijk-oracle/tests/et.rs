//! The evaluator of Einsum Tuple, compared with results computed by hand, and the generator's programs.

use ijk_oracle::et::random::{EtCase, print_et};
use ijk_oracle::et::{EtError, EtEvaluation, Shapes, evaluate_et};
use ijk_oracle::random::Rng;
use ijk_oracle::{EvalError, Value};
use ijk_types::{DType, Scalar, ScalarError};
use std::collections::BTreeMap;

/// Runs a program with extents of eintups `a=2,3 b=` and ranks of places `x=1,1`.
fn run(
    source: &str,
    tuples: &str,
    places: &str,
    bound: &[(&str, Value)],
) -> Result<EtEvaluation, EtError> {
    let (program, diagnostics) = ijk_syntax::et::parse(source);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let shapes = Shapes { tuples: named(tuples), places: named(places) };
    let bound = bound.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    evaluate_et(&program, &shapes, &bound, 7)
}

fn named<T: std::str::FromStr>(text: &str) -> BTreeMap<String, Vec<T>> {
    let one = |word: &str| {
        let (name, numbers) = word.split_once('=').expect("name=numbers");
        let numbers = numbers.split(',').filter_map(|n| n.parse().ok()).collect();
        (name.to_owned(), numbers)
    };
    text.split_whitespace().map(one).collect()
}

fn ints(shape: &[usize], elements: &[i64]) -> Value {
    let data = elements.iter().map(|&x| Scalar::I64(x)).collect();
    Value { dtype: DType::I64, shape: shape.to_vec(), data }
}

/// Shape and elements of the last result, as integers.
fn last(result: Result<EtEvaluation, EtError>) -> (Vec<usize>, Vec<i64>) {
    let run = result.expect("a value");
    let (_, array) = run.results().last().expect("a result");
    let whole = |x: &Scalar| match x {
        Scalar::I64(x) => *x,
        Scalar::Bool(x) => i64::from(*x),
        other => panic!("{other:?} is no integer"),
    };
    let value = array.value();
    (value.shape, value.data.iter().map(whole).collect())
}

#[test]
fn points_out_of_bounds_are_skipped() {
    let x = [("x", ints(&[4], &[1, 2, 3, 4]))];
    let place = "x=1 y=1";
    let shifted = last(run("y[a] = x[a + 2]\n", "a=4", place, &x));
    assert_eq!(shifted, (vec![4], vec![3, 4, 0, 0]));
    let reversed = last(run("y[DIMS(a) - 1 - a] = x[a]\n", "a=4", place, &x));
    assert_eq!(reversed, (vec![4], vec![4, 3, 2, 1]));
    let negative = last(run("y[a] = x[a - 1] * 10\n", "a=6", place, &x));
    assert_eq!(negative, (vec![6], vec![0, 10, 20, 30, 40, 0]));
    let divided = last(run("y[a] += x[(a - 1) // 2]\n", "a=4", place, &x));
    assert_eq!(divided, (vec![4], vec![0, 1, 1, 2]));
}

#[test]
fn faults_of_skipped_points_do_not_happen() {
    let x = [("x", ints(&[2], &[1, 2]))];
    let source = "y[a] = x[a] // (2 - a)\n";
    assert_eq!(last(run(source, "a=4", "x=1 y=1", &x)), (vec![4], vec![0, 2, 0, 0]));
    let fault = run("y[a] = 1 // a\n", "a=2", "y=1", &[]).unwrap_err();
    assert_eq!(fault, EtError::Value(EvalError::Scalar(ScalarError::DivisionByZero)));
}

#[test]
fn arrays_are_sized_by_the_bounds_of_their_first_index() {
    let shape = |index: &str, tuples: &str| {
        let (shape, _) = last(run(&format!("y[{index}] = 1\n"), tuples, "y=1", &[]));
        shape[0]
    };
    let rows = [
        ("e + 3", 8),
        ("e - 2", 3),
        ("e * 3", 13),
        ("e // 2", 3),
        ("e //^ 2", 3),
        ("e % 3", 3),
        ("e % 9", 5),
        ("e + f", 8),
        ("e - f", 5),
        ("e * f", 13),
        ("3 + e", 8),
        ("7 - e", 8),
        ("3 * e", 13),
        ("DIMS(e) - 1 - e", 5),
        ("(e - 1) % 4", 4),
        ("7", 8),
        ("DIMS(e)", 6),
        ("RANK(e, f)", 3),
        ("FLAT(e, f)", 20),
        ("e - e", 5),
        ("-e", 1),
        ("e // -2", 1),
        ("e % -3", 1),
    ];
    for (index, extent) in rows {
        assert_eq!(shape(index, "e=5 f=4"), extent, "{index}");
        let empty = shape(index, "e=0 f=4");
        let used = index.starts_with("FLAT") || index.replace("DIMS(e)", "").contains('e');
        assert!(!used || index.starts_with("RANK") || empty == 0, "{index}");
    }
}

#[test]
fn indices_gather_and_scatter() {
    let x = ints(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let idx = ints(&[3, 2], &[1, 2, 0, 0, 1, 3]);
    let bound = [("x", x), ("idx", idx)];
    let gathered = run("y[s] = x[idx[s,:]]\n", "s=3", "x=2 idx=1,1 y=1", &bound);
    assert_eq!(last(gathered), (vec![3], vec![6, 1, 0]));
    let bound = [("idx", ints(&[4], &[1, 3, 1, -1])), ("v", ints(&[4], &[1, 2, 4, 8]))];
    let scattered = run("y[idx[s]] = v[s]\n", "s=4", "idx=1 v=1 y=1", &bound);
    assert_eq!(last(scattered), (vec![4], vec![0, 5, 0, 2]));
}

#[test]
fn forms_of_assignment_start_and_keep() {
    let x = [("x", ints(&[3], &[2, 3, 4]))];
    let run = |source: &str| last(run(source, "a=3 b=2", "x=1 y=1 z=", &x)).1;
    assert_eq!(run("z[] = x[a]\n"), [9]);
    assert_eq!(run("z[] =* x[a]\n"), [24]);
    assert_eq!(run("z[] min= x[a]\n"), [2]);
    assert_eq!(run("z[] =max x[a + 3]\n"), [i64::MIN]);
    assert_eq!(run("y[a] = x[a]\ny[a] += x[a] * x[a]\n"), [6, 12, 20]);
    assert_eq!(run("y[a] = x[a]\ny[a] = y[2 - a]\n"), [4, 3, 2]);
    assert_eq!(run("z[] =and x[a]\n"), [1]);
    assert_eq!(run("y[b] = 2\ny[b + 1] *= 3\n"), [2, 6]);
}

#[test]
fn positions_and_extents_are_values() {
    let run = |source: &str, tuples: &str| last(run(source, tuples, "y=1", &[])).1;
    assert_eq!(run("y[a] = a * 10\n", "a=3"), [0, 10, 20]);
    // 0 + 0 + 0 + 1 + 1 + 1, then 0 + 1 + 2 + 0 + 1 + 2; no point has a third component.
    assert_eq!(run("y[c] = p[c]\n", "c=3 p=2,3"), [3, 6, 0]);
    assert_eq!(run("y[c] = DIMS(p)[c] + RANK(p)\n", "c=3 p=4,5"), [6, 7, 0]);
}

#[test]
fn random_programs_parse_and_print() {
    let mut kinds = 0;
    for seed in 0..3000 {
        let case = EtCase::random(seed);
        let (program, diagnostics) = ijk_syntax::et::parse(&case.source);
        assert!(diagnostics.is_empty(), "{case}\n{diagnostics:?}");
        let printed = print_et(&program, None);
        let (again, diagnostics) = ijk_syntax::et::parse(&printed);
        assert!(diagnostics.is_empty(), "{printed}\n{diagnostics:?}");
        // The position of a sign among factors is determined by the grammar.
        let bare = |text: &str| text.replace(['(', ')'], "");
        assert_eq!(bare(&print_et(&again, None)), bare(&printed), "{case}");
        kinds += usize::from(program.constraints.len() > 1);
    }
    assert!(kinds > 1000);
}

#[test]
fn mistakes_are_no_panics() {
    for seed in 0..3000 {
        let case = EtCase::random(seed).mutated(&mut Rng::new(seed));
        ijk_syntax::et::parse(&case.source);
    }
}
