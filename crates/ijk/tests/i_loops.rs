//! Loops of programs in i: their values, their limits, and what is known of them without a run.

use ijk::ndarray::{Array, Array1, Array2, array};
use ijk::{DType, Engine, LoopForm, Tensor, TensorViewMut};

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.as_slice::<f64>().expect("f64 in C order").to_vec()
}

/// Rows of the recurrence.
const ROWS: usize = 50;

/// Checks the states `h * decay + x` after every pass and after the last, of loops that take rows in this order.
fn check_recurrence([scan, fold]: [&str; 2], order: Vec<usize>) {
    let d = 7;
    let decay = Array::from_shape_fn((ROWS, d), |(t, i)| 0.5 + 0.01 * (t + i) as f64);
    let x = Array::from_shape_fn((ROWS, d), |(t, i)| (t * 3 + i) as f64 - 20.0);
    let start = Array1::from_elem(d, 2.0);
    let run = |combinator: &str| {
        let program = ijk::i(&format!("{combinator} (i*i~i . i+i~i)")).unwrap();
        numbers(&program.apply((&start, &decay, &x)).unwrap()[0])
    };
    let found = run(scan);
    let mut state = start.clone();
    for t in order {
        state = &state * &decay.row(t) + x.row(t);
        assert_eq!(&found[t * d..(t + 1) * d], state.as_slice().unwrap(), "pass {t}");
    }
    assert_eq!(run(fold), state.to_vec());
}

#[test]
fn a_recurrence_is_a_scan() {
    check_recurrence(["@scan", "@fold"], (0..ROWS).collect());
}

#[test]
fn arguments_that_no_pass_takes_a_row_of_are_the_same_in_all() {
    let cell = "(I | ~(I | I)) . (+(j*ij)~i . i+i~i . @tanh i~i)";
    let program = ijk::i(&format!("@fold({cell}, 1)")).unwrap();
    let w = array![[0.5, -0.25], [0.125, 0.75]];
    let x = array![[1.0, 0.0], [0.5, -1.0], [0.25, 2.0]];
    let found = program.apply((&array![0.0, 0.0], &x, &w)).unwrap();
    let once = ijk::i(cell).unwrap();
    let mut state = array![0.0, 0.0];
    for row in x.rows() {
        state = once.apply_one((&state, &row.to_owned(), &w)).unwrap();
    }
    assert_eq!(numbers(&found[0]), state.to_vec());
}

#[test]
fn loops_stand_in_loops_and_states_change_places() {
    let program = ijk::i("@fold (@repeat{3} (i+i~i))").unwrap();
    let found = program.apply((&array![0.0, 1.0], &array![[1.0, 2.0], [3.0, 4.0]])).unwrap();
    assert_eq!(numbers(&found[0]), [12.0, 19.0]);
    let rows = ijk::i("@scan (@fold i+i~i)").unwrap();
    let x = Array::from_shape_fn((2, 3, 1), |(t, s, _)| (3 * t + s) as f64);
    let found = rows.apply((&array![0.0], &x)).unwrap();
    assert_eq!(numbers(&found[0]), [3.0, 15.0]);
    let swap = ijk::i("@repeat{3} ~(I | I)").unwrap();
    let found = swap.apply((&array![1.0], &array![2.0])).unwrap();
    assert_eq!((numbers(&found[0]), numbers(&found[1])), (vec![2.0], vec![1.0]));
    let kept = ijk::i("@repeat{3} (I & i+i~i)").unwrap();
    let found = kept.apply((&array![1.0], &array![2.0])).unwrap();
    assert_eq!((numbers(&found[0]), numbers(&found[1])), (vec![1.0], vec![5.0]));
}

#[test]
fn without_passes_states_are_as_before() {
    let none = Array2::<f64>::zeros((0, 2));
    let fold = ijk::i("@fold i+i~i").unwrap();
    assert_eq!(numbers(&fold.apply((&array![1.0, 2.0], &none)).unwrap()[0]), [1.0, 2.0]);
    let scan = ijk::i("@scan i+i~i").unwrap();
    assert_eq!(scan.apply((&array![1.0, 2.0], &none)).unwrap()[0].shape(), [0, 2]);
    let repeat = ijk::i("@repeat{0} (i+1~i)").unwrap();
    assert_eq!(numbers(&repeat.apply((&array![1.0],)).unwrap()[0]), [1.0]);
    let empty = Array1::<f64>::zeros(0);
    assert_eq!(fold.apply((&empty, &Array2::<f64>::zeros((3, 0)))).unwrap()[0].shape(), [0]);
}

#[test]
fn the_last_row_may_come_first() {
    check_recurrence(["@scanback", "@foldback"], (0..ROWS).rev().collect());
    let none = Array2::<f64>::zeros((0, 2));
    let empty = ijk::i("@scanback i+i~i").unwrap().apply((&array![1.0, 2.0], &none)).unwrap();
    assert_eq!(empty[0].shape(), [0, 2]);
}

#[test]
fn a_condition_ends_a_loop() {
    let halve = "@until{N} (i/2~i . (I & (>i~. . .@lt 1~.)))";
    let of = |passes: &str, x: &Array1<f64>| {
        let program = ijk::i(&halve.replace('N', passes)).unwrap();
        numbers(&program.apply((x,)).unwrap()[0])
    };
    let x = array![6.0, 5.0];
    assert_eq!(of("100", &x), [0.75, 0.625]);
    assert_eq!(of("2", &x), [1.5, 1.25]);
    assert_eq!(of("0", &x), [6.0, 5.0]);
    // The condition is tested after a pass, and a comparison with NaN is false.
    assert_eq!(of("100", &array![0.5]), [0.25]);
    assert!(of("9", &array![f64::NAN])[0].is_nan());
    // In a loop the number of passes is another in each pass.
    let rows = ijk::i("@scan (i+i~i . @until{9} (i/2~i . (I & (>i~. . .@lt 1~.))))").unwrap();
    let found = rows.apply((&array![0.0], &array![[6.0], [0.25], [16.0]])).unwrap();
    assert_eq!(numbers(&found[0]), [0.75, 0.5, 0.515625]);
    let error = ijk::i("@until{5} (i+1~i)").unwrap_err().to_string();
    assert!(error.contains("the one output is the condition"), "{error}");
    let error = ijk::i("@until{5} (I & (i@lt 1~i))").unwrap_err().to_string();
    assert!(error.contains("the last output ends the loop where it is true"), "{error}");
    let error = ijk::i("@until (i+1~i)").unwrap_err().to_string();
    assert!(error.contains("`@until` has no number of passes"), "{error}");
}

#[test]
fn texts_and_methods_agree() {
    let step = ijk::i("+(j*ij)~i").unwrap();
    let (x, m) = (array![1.0, 2.0], array![[0.5, 0.5], [1.0, -1.0]]);
    let text = ijk::i("@repeat{4} (+(j*ij)~i)").unwrap().apply((&x, &m)).unwrap();
    let method = step.repeat(4).unwrap().apply((&x, &m)).unwrap();
    assert_eq!(numbers(&text[0]), numbers(&method[0]));
    let all = step.looped(LoopForm::Scan, Some(4), Some(0)).unwrap();
    let chained = (all >> ijk::i("+ij~j").unwrap()).unwrap();
    let found = chained.apply((&x, &m)).unwrap();
    let text = ijk::i("@scan{4}(+(j*ij)~i, 0) . +ij~j").unwrap();
    assert_eq!(numbers(&found[0]), numbers(&text.apply((&x, &m)).unwrap()[0]));
    assert!(step.fold().unwrap().signature().to_string().starts_with("(T[1], T[3]) -> T[1]"));
}

#[test]
fn results_go_to_given_arrays() {
    let program = ijk::i("@scan i+i~i").unwrap();
    let mut out = Array2::<f64>::zeros((2, 3));
    let x = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let start = array![0.0, 0.0];
    program
        .apply_into((&start, &x), &mut [TensorViewMut::from(out.view_mut().reversed_axes())])
        .unwrap();
    assert_eq!(out, array![[1.0, 4.0, 9.0], [2.0, 6.0, 12.0]]);
    let mut wrong = Array1::<f64>::zeros(2);
    let outputs = &mut [TensorViewMut::from_array(&mut wrong)];
    assert!(program.apply_into((&start, &x), outputs).is_err());
}

#[test]
fn errors_name_states_passes_and_shapes() {
    let message = |source: &str, shapes: &[&[usize]]| {
        let arguments: Vec<_> = shapes.iter().map(|s| (DType::F64, *s)).collect();
        match ijk::i(source) {
            Ok(program) => program.results(&arguments).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    };
    let grows = message("@repeat{2} i~[i+1]", &[&[3]]);
    assert!(grows.contains("changes its shape: it is [3], and [4] in the next pass"), "{grows}");
    let passes = message("@fold{4} (i+i~i)", &[&[3], &[5, 3]]);
    assert!(
        passes.contains("has 5 passes by axis 0 of argument 2, but 4 by its braces"),
        "{passes}"
    );
    let rows = message("@fold (i+i~i)", &[&[3], &[5, 4]]);
    assert!(rows.contains("a row of argument 2"), "{rows}");
    let rank = message("@repeat{2} (+ij~i)", &[&[3, 3]]);
    assert!(rank.contains("output 1 is the next value of input 1"), "{rank}");
    assert!(message("@fold i~i", &[&[3]]).contains("nothing determines the number of passes"));
}

#[test]
fn a_limit_bounds_the_arrays_of_a_loop() {
    let program = ijk::i("@scan i+i~i").unwrap();
    let (start, x) = (Array1::<f64>::zeros(1000), Array2::<f64>::zeros((50, 1000)));
    let tight = Engine::builder().memory_limit(300_000).build();
    let error = tight.apply(&program, (&start, &x)).unwrap_err().to_string();
    assert!(error.contains("the memory limit is 300000 bytes"), "{error}");
    let enough = Engine::builder().memory_limit(600_000).build();
    assert!(enough.apply(&program, (&start, &x)).is_ok());
}

#[test]
fn a_loop_is_interrupted() {
    let engine = Engine::builder().interrupt(|| true).build();
    let program = ijk::i("@repeat{1000000} (+(j*ij)~i)").unwrap();
    let (x, m) = (Array1::<f64>::zeros(300), Array2::<f64>::zeros((300, 300)));
    assert_eq!(engine.apply(&program, (&x, &m)).unwrap_err().to_string(), "interrupted");
}

#[test]
fn dependencies_go_through_passes() {
    let program = ijk::i("@scan (i*i~i . i+i~i)").unwrap();
    let shapes: [(DType, &[usize]); 3] =
        [(DType::F64, &[2]), (DType::F64, &[4, 2]), (DType::F64, &[4, 2])];
    let sets = program.dependencies(&shapes, 0, &[1, 1]).unwrap();
    assert!(sets[0].contains(&[1]) && !sets[0].contains(&[0]));
    assert!(sets[2].contains(&[0, 1]) && sets[2].contains(&[1, 1]));
    assert!(!sets[2].contains(&[2, 1]) && !sets[2].contains(&[0, 0]));
    let long: [(DType, &[usize]); 3] =
        [(DType::F64, &[2]), (DType::F64, &[4000, 2]), (DType::F64, &[4000, 2])];
    let error = program.dependencies(&long, 0, &[1, 1]).unwrap_err().to_string();
    assert!(error.contains("of at most 1000 index expressions in all passes"), "{error}");
}

#[test]
fn macros_take_loops() {
    let scan = ijk::i!(@scan (i*i~i . i+i~i));
    let states = scan(&array![1.0], &array![[2.0], [3.0]], &array![[1.0], [1.0]]);
    assert_eq!(states, array![[3.0], [10.0]]);
    let power = ijk::try_i!(
        step: +(j*ij)~i
        @repeat{3} step
    );
    assert_eq!(power(&array![1, 0], &array![[0, 1], [1, 1]]).unwrap(), array![1, 2]);
    let back = ijk::i!(@scanback (i*i~i . i+i~i));
    let states = back(&array![1.0], &array![[2.0], [3.0]], &array![[1.0], [1.0]]);
    assert_eq!(states, array![[9.0], [4.0]]);
    let last = ijk::i!(@foldback (i*i~i . i+i~i));
    assert_eq!(last(&array![1.0], &array![[2.0], [3.0]], &array![[1.0], [1.0]]), array![9.0]);
}

ijk::i!(
    /// Halves until the greatest is below 1.
    fn halved: @until{100} (i/2~i . (I & (>i~. . .@lt 1~.)))
);
ijk::into_i!(fn back_into: @foldback i-i~i);

#[test]
fn macros_take_conditions_and_reverse_orders() {
    assert_eq!(halved(&array![6.0, 5.0]), array![0.75, 0.625]);
    assert_eq!(halved(&array![6f32, 5.0]), array![0.75, 0.625]);
    let two = ijk::try_i!(@until{2} (i/2~i . (I & (>i~. . .@lt 1~.))));
    assert_eq!(two(&array![6.0, 5.0]).unwrap(), array![1.5, 1.25]);
    let mut place = Array1::zeros(2);
    back_into(&array![1, 2], &array![[1, 10], [2, 20], [3, 30]], &mut place);
    assert_eq!(place, array![-5, -58]);
    let wrong = ijk::try_i!(@scanback i+i~i)(&array![1, 2], &array![[1, 2, 3]]);
    assert!(wrong.unwrap_err().to_string().contains("letter `i`"));
    let rows = ijk::i!(@scan (i+i~i . @until{9} (i/2~i . (I & (>i~. . .@lt 1~.)))));
    assert_eq!(rows(&array![0.0], &array![[6.0], [0.25]]), array![[0.75], [0.5]]);
}

#[test]
fn loops_are_explained() {
    let text = |program: &str, shapes: &[&[usize]]| {
        let arguments: Vec<_> = shapes.iter().map(|&shape| (DType::F64, shape)).collect();
        ijk::i(program).unwrap().explain(&arguments).unwrap().to_string()
    };
    let halve = "@until{100} (i/2~i . (I & (>i~. . .@lt 1~.)))";
    assert!(text(halve, &[&[5]]).contains("at most 100 passes, pass after pass"));
    for [form, order] in [
        ["@fold", "7 passes, 5 rows at a time run through all passes"],
        ["@scan", "7 passes, 5 rows at a time run through all passes"],
        ["@foldback", "7 passes in reverse order, 5 rows at a time run through all passes"],
        ["@scanback", "7 passes in reverse order, 5 rows at a time run through all passes"],
    ] {
        let text = text(&format!("{form} i+i~i"), &[&[5], &[7, 5]]);
        assert!(text.contains(order), "{text}");
    }
    let within = text(&format!("@scanback (i+i~i . {halve})"), &[&[5], &[7, 5]]);
    let order =
        "7 passes in reverse order, pass after pass; in each at most 100 passes, pass after pass";
    assert!(within.contains(order), "{within}");
}
