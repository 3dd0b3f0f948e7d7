//! Loops that compute rows by themselves: blocks of rows run all passes, with the results of pass after pass. A loop
//! with `UNTIL` runs pass after pass.

use ijk::Engine;
use ijk::et::Bindings;
use ijk::ndarray::{Array2, ArrayView2, s};
use ijk_oracle::et::random::EtCase;

/// Statements of a pass, over `x[b,t]`, `a[b,t]` and `w[b]` of f64.
const BODIES: &[&str] = &[
    "y[b,t] = x[b,t]\n    y[b,t] += a[b,t] * y[b,t-1]",
    "y[t,b] = x[b,t]\n    y[t,b] += a[b,t] * y[t-1,b]",
    // Two passes back, and a maximum with what a pass wrote before.
    "y[b,t] = x[b,t]\n    y[b,t] += y[b,t-1] / 2 - y[b,t-2] / 3\n    y[b,t] max= w[b]",
    // State, its former value, and choices.
    "s[b] = WHERE(GT(x[b,t], 0), s[b] * 0.5 + x[b,t], s[b])\n    y[t,b] = s[b]",
    "o[b] = s[b]\n    s[b] = x[b,t] + s[b] * a[b,t]\n    y[b,t] = o[b] - s[b]",
    // Neighbours of inputs, some out of bounds, and the pass itself.
    "y[b,t] = x[b,t+1] - x[b,t-1] + t\n    y[b,t] += y[b,t-1]",
    "y[b,t] += x[b,t-3] * a[b,t+2]",
    "y[b,t] = SIGMOID(x[b,t]) + EXP(0 - ABS(y[b,t-1]))",
    // Every second position, and a broadcast.
    "y[b,2*t] = x[b,t] + w[0]\n    y[b,2*t+1] = y[b,2*t] * w[b]",
    // What this pass writes and later ones read; elements of before where none is written.
    "z[b,t] = x[b,t] * 2\n    y[b,t] = z[b,t] + z[b,t-5]",
    // Another row: not computed by itself.
    "y[b,t] = x[b,t]\n    y[b,t] += y[b-1,t-1]",
    "y[b,t] = x[b,t]\n    c[] = y[b,t]\n    y[b,t] = y[b,t] - c[]",
    // A number for each pass.
    "n[] = n[] * 0.5 + t\n    m[t] = n[]",
];

/// Statements that give arrays their elements before the loop.
const BEFORE: &[&str] =
    &["s[b] = w[b]", "n[] = 1.0", "z[b,t] = x[b,t]", "y[b,t] = x[b,t]", "y[t,b] = x[b,t]"];

fn matrix(rows: usize, columns: usize, by: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| {
        ((i * 7919 + j * 104_729 + by) % 1013) as f64 / 506.0 - 1.0
    })
}

fn source(body: &str, header: &str, doubles: bool) -> String {
    let convert = if doubles { "" } else { "F32" };
    let mut names: Vec<&str> = ["y", "s", "m", "n", "z", "a"].into();
    names.retain(|name| body.contains(&format!("{name}[")));
    let written = |line: &&&str| body.contains(&format!("{} ", line.split_once(' ').unwrap().0));
    let before: Vec<&str> = BEFORE.iter().filter(written).copied().collect();
    let inputs = "x[b,t] = CONVERT(gx[b,t])\na[b,t] = CONVERT(ga[b,t])\nw[b] = CONVERT(gw[b])";
    let inputs = inputs.replace("CONVERT", convert);
    let before = before.join("\n").replace(" = ", &format!(" = {convert}(")).replace('\n', ")\n");
    let before = if before.is_empty() { before } else { format!("{before})") };
    format!("{inputs}\n{before}\nLOOP {header}\n    {body}\n\n{}\n", names.join("\n"))
}

fn run(
    engine: &Engine,
    source: &str,
    (x, a): (ArrayView2<'_, f64>, ArrayView2<'_, f64>),
) -> Vec<(String, Vec<u8>)> {
    let program = ijk::et(source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let w = x.column(0);
    let bindings = Bindings::new().bind("gx", x).bind("ga", a).bind("gw", w);
    let found = program.run_on(engine, bindings).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let bytes = |t: &ijk::Tensor| {
        let singles = t.as_slice::<f32>().map(|x| x.iter().flat_map(|x| x.to_ne_bytes()).collect());
        let doubles = t.as_slice::<f64>().map(|x| x.iter().flat_map(|x| x.to_ne_bytes()).collect());
        singles.or(doubles).unwrap_or_default()
    };
    found.iter().map(|(name, t)| (name.to_string(), bytes(t))).collect()
}

fn compare(rows: usize, passes: usize, doubles: bool) {
    let (x, a) = (matrix(rows, passes, 1), matrix(rows, passes, 5));
    let one = Engine::builder().threads(1).build();
    let three = Engine::builder().threads(3).build();
    for body in BODIES {
        for loops in ["t", "-t"] {
            let by_rows = source(body, loops, doubles);
            let in_turn = source(body, &format!("{loops} UNTIL LT(t, 0)"), doubles);
            let expected = run(&one, &in_turn, (x.view(), a.view()));
            for engine in [&one, &three] {
                let found = run(engine, &by_rows, (x.view(), a.view()));
                assert!(found == expected, "{rows} by {passes}\n{by_rows}");
            }
        }
    }
}

#[test]
fn rows_run_all_passes_with_the_results_of_pass_after_pass() {
    for (rows, passes) in [(1, 9), (3, 40), (8, 700), (67, 130), (300, 20)] {
        compare(rows, passes, true);
        compare(rows, passes, false);
    }
}

#[test]
fn many_passes_and_rows() {
    compare(5, 2500, false);
    compare(1500, 12, true);
}

/// All arrays of a program, as bytes.
fn arrays(engine: &Engine, source: &str) -> Vec<(String, String)> {
    let program = ijk::et(source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let found = program.run_on(engine, Bindings::new());
    let found = found.unwrap_or_else(|e| panic!("{e}\n{source}"));
    let text = |t: &ijk::Tensor| format!("{:?}", t.view().iter_scalars().collect::<Vec<_>>());
    found.iter().map(|(name, t)| (name.to_string(), text(t))).collect()
}

/// `IJK_PROGRAMS` is the number of bodies, `IJK_SEED` the first.
#[test]
fn random_bodies() {
    let number = |name, or| std::env::var(name).map_or(or, |n| n.parse().expect("a number"));
    let (first, count): (u64, u64) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 60));
    let engines = [1, 3].map(|threads| Engine::builder().threads(threads).build());
    let sizes = [(2, 300), (17, 150), (70, 75), (130, 40), (300, 12), (5, 1200)];
    for seed in first..first + count {
        let (rows, passes) = sizes[seed as usize % sizes.len()];
        let by_rows = EtCase::row_loop(seed, rows, passes).source;
        let until = |header| format!("LOOP {header} UNTIL LT(t, 0)\n");
        let in_turn = by_rows.replace("LOOP t\n", &until("t")).replace("LOOP -t\n", &until("-t"));
        let expected = arrays(&engines[0], &in_turn);
        for engine in &engines {
            assert!(arrays(engine, &by_rows) == expected, "{seed}\n{by_rows}");
        }
    }
}

#[test]
fn inputs_may_have_any_layout() {
    let engine = Engine::builder().threads(2).build();
    let (x, a) = (matrix(130, 90, 3), matrix(90, 130, 8));
    let views = [x.slice(s![..;2, ..]), x.slice(s![..65, ..;-1])];
    for x in views {
        let a = a.t();
        let a = a.slice(s![..65, ..]);
        for body in BODIES {
            let by_rows = source(body, "t", false);
            let in_turn = source(body, "t UNTIL LT(t, 0)", false);
            assert!(run(&engine, &by_rows, (x, a)) == run(&engine, &in_turn, (x, a)), "{by_rows}");
        }
    }
}

#[test]
fn a_division_by_zero_in_a_late_pass() {
    let x = ijk::ndarray::Array1::from_iter((0..100).map(|n| 70 - n));
    let program = ijk::et("y[b,t] = 0\nLOOP t\n    y[b,t] = 10 // x[t] + b\n\ny\n").unwrap();
    let bindings = Bindings::new().bind("x", &x).dims("b", vec![9]);
    let error = program.run(bindings).unwrap_err();
    assert!(error.to_string().contains("division by zero"), "{error}");
}
