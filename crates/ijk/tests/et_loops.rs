//! Loops of Einsum Tuple on engines: sizes beyond the suite's, threads, limits, cancellation, layouts.

use ijk::et::Bindings;
use ijk::ndarray::{Array1, Array2, Array3, ArrayView2, s};
use ijk::{Engine, Error, RunError};

fn numbers(n: usize) -> Array1<i64> {
    Array1::from_shape_fn(n, |i| ((i * 7919 + 13) % 5) as i64)
}

const EDITS: &str = "
d[i,j] = i + j
LOOP i, j
    d[i,j]    = d[i-1,j-1] + I64(NE(a[i-1], b[j-1]))
    d[i,j] min= d[i-1,j] + 1
    d[i,j] min= d[i,j-1] + 1

d
";

fn edits(a: &Array1<i64>, b: &Array1<i64>) -> Array2<i64> {
    let mut d = Array2::from_shape_fn((a.len() + 1, b.len() + 1), |(i, j)| (i + j) as i64);
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = d[[i - 1, j - 1]] + i64::from(a[i - 1] != b[j - 1]);
            d[[i, j]] = replaced.min(d[[i - 1, j]] + 1).min(d[[i, j - 1]] + 1);
        }
    }
    d
}

#[test]
fn dynamic_programs_of_many_shapes_run_along_diagonals() {
    for (n, m) in [(0, 3), (1, 1), (3, 9), (40, 7), (70, 70), (130, 300), (1200, 1100)] {
        let (a, b) = (numbers(n), numbers(m));
        let program = ijk::et(EDITS).unwrap();
        let dims = |n: usize| vec![n as u64 + 1];
        let bindings = Bindings::new().bind("a", &a).bind("b", &b);
        let bindings = bindings.dims("i", dims(n)).dims("j", dims(m));
        let found = program.run(bindings).unwrap();
        let expected = edits(&a, &b);
        assert_eq!(found["d"].as_slice::<i64>(), expected.as_slice(), "{n} {m}");
    }
}

/// A dynamic program in one of four directions, on diagonals that may be steep, with an axis beside the loops.
struct Directed {
    shape: [i64; 2],
    descending: [bool; 2],
    steep: bool,
    /// The update reads the element that it writes.
    accumulates: bool,
}

impl Directed {
    /// Steps to the passes before, and across them.
    fn steps(&self) -> [i64; 3] {
        let [up, left] = self.descending.map(|descending| if descending { 1 } else { -1 });
        [up, left, if self.steep { -left } else { left }]
    }

    fn source(&self) -> String {
        let [up, left, across] = self.steps();
        let [rows, columns] = self.descending.map(|descending| if descending { "-" } else { "" });
        let first = match self.accumulates {
            true => format!("y[i,j,c] = x[i,j] + c\nLOOP {rows}i, {columns}j\n"),
            false => format!("LOOP {rows}i, {columns}j\n    y[i,j,c] = x[i,j] + c\n"),
        };
        format!(
            "{first}    y[i,j,c] += 3 * y[i{up:+},j{across:+},c]\n    y[i,j,c] += y[i,j{left:+},c]\n\n\
             y\n\nDIMS(c) = 2"
        )
    }

    fn expected(&self, x: &Array2<i64>) -> Vec<i64> {
        let [rows, columns] = self.shape;
        let [up, left, across] = self.steps();
        let mut all = vec![0i64; (rows * columns * 2) as usize];
        let place = |i: i64, j: i64, c: usize| {
            let inside = (0..rows).contains(&i) && (0..columns).contains(&j);
            inside.then(|| (i * columns + j) as usize * 2 + c)
        };
        let in_order = |n: i64, descending: bool, extent: i64| match descending {
            true => extent - 1 - n,
            false => n,
        };
        for (row, column, c) in
            (0..rows * columns * 2).map(|n| (n / (2 * columns), n / 2 % columns, n as usize % 2))
        {
            let i = in_order(row, self.descending[0], rows);
            let j = in_order(column, self.descending[1], columns);
            let read = |at: Option<usize>| at.map_or(0, |at| all[at]);
            let far = read(place(i + up, j + across, c)).wrapping_mul(3);
            let near = read(place(i, j + left, c));
            let own = x[[i as usize, j as usize]] + c as i64;
            all[place(i, j, c).unwrap()] = own.wrapping_add(far).wrapping_add(near);
        }
        all
    }
}

/// All four directions, with reads that need steep diagonals, and an axis beside the loops: in one tile, and in several
/// that threads divide.
#[test]
fn directions_and_steep_diagonals() {
    let sides = [false, true];
    let all =
        sides.map(|rows| sides.map(|columns| sides.map(|s| sides.map(|a| (rows, columns, s, a)))));
    let all = all.into_iter().flatten().flatten().flatten();
    for (rows, columns, steep, accumulates) in all {
        for shape in [[23, 31], [700, 600]] {
            let x = Array2::from_shape_fn(shape.map(|n| n as usize), |(i, j)| {
                ((i * 31 + j) % 17) as i64
            });
            let directed = Directed { shape, descending: [rows, columns], steep, accumulates };
            let (source, expected) = (directed.source(), directed.expected(&x));
            for threads in [1, 3] {
                let engine = Engine::builder().threads(threads).build();
                let found = ijk::et(&source).unwrap().run_on(&engine, [("x", &x)]).unwrap();
                assert!(found["y"].as_slice::<i64>() == Some(&expected[..]), "{shape:?} {source}");
            }
        }
    }
}

/// In some passes the assignment is left out, so that the others accumulate.
#[test]
fn diagonals_with_passes_that_only_accumulate() {
    let (rows, columns) = (300, 400);
    let x = Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 37 + j) % 11) as i64);
    let source = "y[i,j] = x[i,j]\nLOOP i, j\n    y[i,j]  = 2 * x[i-60,j-3]\n    y[i,j] += y[i-1,j]\n    \
                  y[i,j] += y[i,j-1]\n\ny";
    let mut expected = x.clone();
    for i in 0..rows {
        for j in 0..columns {
            if i >= 60 && j >= 3 {
                expected[[i, j]] = 2 * x[[i - 60, j - 3]];
            }
            let above = if i > 0 { expected[[i - 1, j]] } else { 0 };
            let left = if j > 0 { expected[[i, j - 1]] } else { 0 };
            expected[[i, j]] = expected[[i, j]].wrapping_add(above).wrapping_add(left);
        }
    }
    for threads in [1, 3] {
        let engine = Engine::builder().threads(threads).build();
        let found = ijk::et(source).unwrap().run_on(&engine, [("x", &x)]).unwrap();
        assert!(found["y"].as_slice::<i64>() == expected.as_slice());
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let source = "
v[j] = 1.0
LOOP step
    p[i] = w[i,j] * v[j]
    u[i] = 1 / p[i]
    q[j] = w[i,j] * u[i]
    v[j] = 1 / q[j]

u, v

DIMS(step) = 7";
    let w = Array2::from_shape_fn((300, 500), |(i, j)| 1.0 + ((i * 500 + j) % 97) as f64 / 97.0);
    let program = ijk::et(source).unwrap();
    let run = |threads| {
        let engine = Engine::builder().threads(threads).build();
        let outputs = program.run_on(&engine, [("w", &w)]).unwrap();
        ["u", "v"].map(|name| outputs[name].as_slice::<f64>().unwrap().to_vec())
    };
    let one = run(1);
    assert!([2, 3].into_iter().all(|threads| run(threads) == one));
}

#[test]
fn a_loop_is_interrupted() {
    let engine = Engine::builder().interrupt(|| true).build();
    let program =
        ijk::et("s[] = 1\nLOOP t\n    s[] = s[] * 3\n\ns\n\nDIMS(t) = 400000000").unwrap();
    let error = program.run_on(&engine, ()).unwrap_err();
    assert!(matches!(error, Error::Run(RunError::Interrupted)), "{error}");
}

#[test]
fn a_loop_stays_within_the_memory_limit() {
    let program =
        ijk::et("LOOP t\n    h[t,d] = t + d\n\nh\n\nDIMS(t) = 100\nDIMS(d) = 1000").unwrap();
    let run = |bytes| program.run_on(&Engine::builder().memory_limit(bytes).build(), ());
    assert!(run(1 << 20).is_ok());
    let error = run(100_000).unwrap_err();
    assert!(error.to_string().contains("bytes"), "{error}");
}

#[test]
fn bound_arrays_stay_as_they_are() {
    let program =
        ijk::et("x[i] = RANDOM(0, 1, FLOAT)\nLOOP t\n    x[i] = 2 * x[i]\n\nx\n\nDIMS(t) = 3");
    let x = Array1::from_vec(vec![1.0, 2.0, 3.0]);
    let outputs = program.unwrap().run([("x", &x)]).unwrap();
    assert_eq!(outputs["x"].as_slice::<f64>(), Some(&[8.0, 16.0, 24.0][..]));
    assert_eq!(x.to_vec(), [1.0, 2.0, 3.0]);
}

/// Passes whose tiles share an operand that is another one in each pass: channels of pixels, the last axis.
#[test]
fn operands_of_all_tiles_belong_to_their_pass() {
    let (passes, pixels, channels) = (4, 2000, 3);
    let x = Array3::from_shape_fn((passes, pixels, channels), |(t, p, c)| {
        ((t * 31 + p * 7 + c) % 256) as u8
    });
    let k = Array2::from_shape_fn((passes, channels), |(t, c)| (1 + t * channels + c) as f32);
    let program = ijk::et(
        "LOOP t
    y[t,p,c] = (F32(x[t,p,c]) / 255 - k[t,c]) / 3
    y[t,p,c] = y[t,p,c] * k[t,c] + y[t-1,p,c]

y",
    )
    .unwrap();
    let found = program.run(Bindings::new().bind("x", &x).bind("k", &k)).unwrap();
    let mut expected = Array3::<f32>::zeros(x.dim());
    for ((t, p, c), &x) in x.indexed_iter() {
        if t > 0 {
            let y = (f32::from(x) / 255.0 - k[[t, c]]) / 3.0;
            expected[[t, p, c]] = y * k[[t, c]] + expected[[t - 1, p, c]];
        } else {
            // The first pass has no pass before it: the statement is left out.
            expected[[t, p, c]] = (f32::from(x) / 255.0 - k[[t, c]]) / 3.0;
        }
    }
    assert_eq!(found["y"].as_slice::<f32>(), expected.as_slice());
}

#[test]
fn inputs_may_be_strided() {
    let all = Array2::from_shape_fn((9, 14), |(i, j)| (i * 14 + j) as f64);
    let x: ArrayView2<'_, f64> = all.slice(s![..;-2, 1..;3]);
    let program = ijk::et("LOOP t\n    h[t,d]  = x[t,d]\n    h[t,d] += h[t-1,d]\n\nh").unwrap();
    let outputs = program.run([("x", &x)]).unwrap();
    let mut expected = x.to_owned();
    for t in 1..expected.nrows() {
        for d in 0..expected.ncols() {
            expected[[t, d]] += expected[[t - 1, d]];
        }
    }
    assert_eq!(outputs["h"].as_slice::<f64>(), expected.as_slice());
}

#[test]
fn programs_are_explained() {
    let program = ijk::et(EDITS).unwrap();
    let bindings = Bindings::new().outline("a", ijk::DType::I64, &[5]);
    let bindings = bindings.outline("b", ijk::DType::I64, &[5]).dims("i", [6]).dims("j", [6]);
    let explained = program.explain(Engine::global(), &bindings).unwrap();
    let text: Vec<String> = explained.iter().map(ToString::to_string).collect();
    let order = "LOOP i: 6 passes, passes run along diagonals of this loop and the next; LOOP j: 6 passes, \
                 each row runs through all passes";
    assert!(text.iter().any(|text| text.contains(order)), "{text:?}");
}

/// Arrays that only a loop reads have the memory of the passes that are read, and the same elements.
#[test]
fn intermediate_arrays_keep_the_passes_that_are_read() {
    let bodies = [
        ("s[t,d] = 2 * x[t,d]\n    y[t] = s[t,d]", "`s` keeps 1 pass;"),
        ("s[t,d]  = x[t,d]\n    s[t,d] += s[t-1,d]\n    y[t] = s[t,d]", "`s` keeps 2 passes;"),
        ("s[t,d]  = x[t,d]\n    s[t,d] += -s[t-3,d]\n    y[t] = s[t,0]", "`s` keeps 4 passes;"),
        ("s[t,d] = x[t-1,d]\n    y[t] = s[t,d]", "`s` keeps 1 pass;"),
        ("s[t,d] =max x[t,d]\n    y[t] = s[t,d] * s[t-1,d]", "`s` keeps 2 passes;"),
        ("s[t,d] = x[t,d]\n    y[t] = s[t,d] + EXP(s[t-1,d])", "`s` keeps 2 passes;"),
        ("s[t,d] = x[t,d]\n    y[t] =* s[t-1,d]", "`s` keeps 2 passes;"),
        // Passes that leave it out would find what others wrote.
        ("s[t,d] = x[t-2,d]\n    y[t] = s[t,d]", "LOOP"),
        ("s[t,d] = x[t+1,d]\n    y[t] = s[t,d]", "LOOP"),
        ("s[t,d] =max x[t-1,d]\n    y[t] = s[t,d]", "LOOP"),
        ("s[t,d] += x[t,d]\n    y[t] = s[t,d]", "LOOP"),
    ];
    let x = Array2::from_shape_fn((23, 5), |(t, d)| ((t * 5 + d) % 11) as f64 - 3.0);
    for (body, kept) in bodies {
        for descending in [false, true] {
            let (body, sign) = match descending {
                true => (body.replace("t+", "T").replace("t-", "t+").replace('T', "t-"), "-"),
                false => (body.to_owned(), ""),
            };
            let text = format!("LOOP {sign}t\n    {body}\n\ny\n\nDIMS(t) = 23\nDIMS(d) = 5");
            let program = ijk::et(&text).unwrap();
            let bindings = Bindings::new().bind("x", &x);
            let all = program.run(bindings.clone().keep("s")).unwrap();
            let few = program.run(&bindings).unwrap();
            assert_eq!(few["y"].as_slice::<f64>(), all["y"].as_slice::<f64>(), "{text}");
            let explained = program.explain(Engine::global(), &bindings).unwrap();
            let explained = explained.last().unwrap().to_string();
            assert!(explained.contains(kept), "{text}\n{explained}");
            assert_eq!(explained.contains("keeps"), kept != "LOOP", "{text}\n{explained}");
        }
    }
}

#[test]
fn a_limit_holds_for_passes_that_are_kept() {
    let text = "LOOP t\n    s[t,d]  = x[t,d]\n    s[t,d] += s[t-1,d]\n    y[t] = s[t,d]\n\ny";
    let program = ijk::et(text).unwrap();
    let x = Array2::from_elem((3000, 500), 1.0);
    let bindings = Bindings::new().bind("x", &x).memory(1 << 20);
    let found = program.run(&bindings).unwrap();
    assert_eq!(found["y"].as_slice::<f64>().unwrap()[2999], 1_500_000.0);
    assert!(program.run(bindings.keep("s")).is_err());
}
