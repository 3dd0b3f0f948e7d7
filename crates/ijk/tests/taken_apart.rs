//! Programs whose statements are taken apart or put together for speed, against loops: sums of several products, maxima
//! of what a condition on positions chooses, tests of equality with a position, conditions on positions along rows, and
//! accumulations in overlapping boxes. Numbers are small and whole, so that sums are exact in any order.

use crate::common::programs;
use ijk::Tensor;
use ndarray::{Array1, Array2};

/// Rows and columns of the matrices.
const N: usize = 300;
/// Elements of the vectors.
const LONG: usize = 20_000;

/// Arguments of the programs.
struct Arguments {
    a: Vec<f32>,
    b: Vec<f32>,
    v: Vec<f32>,
    w: Vec<f32>,
    /// Positions, of which some are out of bounds.
    l: Vec<i64>,
}

impl Arguments {
    fn new() -> Self {
        let whole = |n: usize, factor: usize| -> Vec<f32> {
            (0..n).map(|at| (at * factor % 41) as f32 - 20.0).collect()
        };
        let l = (0..N).map(|at| (at * 97 % (N + 20)) as i64 - 10).collect();
        let (a, b) = (whole(N * N, 7919), whole(N * N, 104_729));
        Self { a, b, v: whole(LONG, 7919), w: whole(LONG, 1299), l }
    }

    fn run(&self, source: &str, strict: bool) -> Vec<f64> {
        let f32s = |x: &[f32], shape: &[usize]| Tensor::from_vec(x.to_vec(), shape).unwrap();
        let l = Tensor::from_vec(self.l.clone(), &[N]).unwrap();
        let arrays = [
            ("a", f32s(&self.a, &[N, N])),
            ("b", f32s(&self.b, &[N, N])),
            ("v", f32s(&self.v, &[LONG])),
            ("w", f32s(&self.w, &[LONG])),
            ("p", f32s(&self.a, &[N * N / 4, 2, 2])),
            ("r", f32s(&self.a, &[N * N / 3, 3])),
            ("s", f32s(&self.b, &[N * N / 3, 3])),
            ("l", l),
        ];
        let bound: Vec<(&str, &Tensor)> = arrays
            .iter()
            .filter(|(name, _)| source.contains(&format!("{name}[")))
            .map(|(name, array)| (*name, array))
            .collect();
        let y = programs::run(source, &bound, strict);
        y.view().iter_scalars().map(|scalar| scalar.as_f64()).collect()
    }

    /// Compares a program with a function of the position, as written and as reordered.
    fn check(&self, source: &str, shape: [usize; 2], expected: impl Fn(usize, usize) -> f64) {
        for strict in [true, false] {
            let found = self.run(source, strict);
            assert_eq!(found.len(), shape[0] * shape[1], "{source}");
            for (at, found) in found.into_iter().enumerate() {
                let (i, j) = (at / shape[1], at % shape[1]);
                assert_eq!(found, expected(i, j), "{source} at {i}, {j}, strict: {strict}");
            }
        }
    }

    fn a(&self, i: usize, j: usize) -> f64 {
        self.a[i * N + j].into()
    }

    fn b(&self, i: usize, j: usize) -> f64 {
        self.b[i * N + j].into()
    }

    /// An element of a vector, or 0 beyond its ends.
    fn at(x: &[f32], i: i64) -> f64 {
        usize::try_from(i).ok().and_then(|i| x.get(i)).map_or(0.0, |&x| x.into())
    }
}

fn sum(f: impl Fn(usize) -> f64) -> f64 {
    (0..N).map(f).sum()
}

#[test]
fn sums_of_products() {
    let all = Arguments::new();
    let (a, b) = (|i, j| all.a(i, j), |i, j| all.b(i, j));
    all.check("y[i,j] = a[i,k]*b[k,j] - b[i,k]*a[k,j]\n\ny", [N, N], |i, j| {
        sum(|k| a(i, k) * b(k, j) - b(i, k) * a(k, j))
    });
    all.check("y[i,j] = 2*(a[i,k]*b[k,j] + a[k,i]*a[k,j] - b[k,j])\n\ny", [N, N], |i, j| {
        2.0 * sum(|k| a(i, k) * b(k, j) + a(k, i) * a(k, j) - b(k, j))
    });
    all.check("y[i,j] = a[i,j] - a[i,k]*b[k,j]\n\ny", [N, N], |i, j| {
        sum(|k| a(i, j) - a(i, k) * b(k, j))
    });
    all.check("y[i,j] = -a[i,k]*b[k,j] + (a[i,k] - b[k,j])\n\ny", [N, N], |i, j| {
        sum(|k| a(i, k) - b(k, j) - a(i, k) * b(k, j))
    });
}

/// Pairs of an odd number of rows are two boxes, of which each has both summands.
#[test]
fn sums_of_products_in_boxes() -> Result<(), ijk::Error> {
    for rows in [46, 47, 301] {
        let a = Array1::from_shape_fn(rows, |i| (i % 7) as f64);
        let b = Array2::from_shape_fn((3, 5), |(k, n)| (k + 2 * n) as f64);
        let found: Array2<f64> = ijk::i("+(i*kn + 6)~[i/2]k")?.apply_one((&a, &b))?;
        let expected = Array2::from_shape_fn((rows.div_ceil(2), 3), |(pair, k)| {
            let pair = (2 * pair)..rows.min(2 * pair + 2);
            pair.map(|i| (0..5).map(|n| a[i] * b[[k, n]] + 6.0).sum::<f64>()).sum::<f64>()
        });
        assert_eq!(found, expected, "{rows} rows");
    }
    Ok(())
}

#[test]
fn counts_of_pairs() {
    let all = Arguments::new();
    let (a, b) = (|i, j| all.a(i, j) > 3.0, |i, j| all.b(i, j) > -4.0);
    let count = |holds: &dyn Fn(usize) -> bool| sum(|k| f64::from(u8::from(holds(k))));
    let of = |condition: &str, number: &str| {
        let one = format!("{condition}(GT(a[i,k], 3), GT(b[k,j], -4))");
        format!("y[i,j] = WHERE({one}, {number}, 0)\n\ny")
    };
    all.check(&of("AND", "1"), [N, N], |i, j| count(&|k| a(i, k) && b(k, j)));
    all.check(&of("AND", "2.5"), [N, N], |i, j| 2.5 * count(&|k| a(i, k) && b(k, j)));
    all.check(&of("OR", "1"), [N, N], |i, j| count(&|k| a(i, k) || b(k, j)));
    all.check(&of("OR", "-3"), [N, N], |i, j| -3.0 * count(&|k| a(i, k) || b(k, j)));
    let three = "y[i,j] = WHERE(OR(AND(GT(a[i,k], 3), GT(b[k,j], -4)), GT(a[k,j], 9)), 1, 0)\n\ny";
    all.check(three, [N, N], |i, j| count(&|k| a(i, k) && b(k, j) || all.a(k, j) > 9.0));
}

#[test]
fn maxima_of_choices_by_position() {
    let all = Arguments::new();
    let greatest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    for (condition, holds) in [
        ("LE(k, j)", (|k, j| k <= j) as fn(usize, usize) -> bool),
        ("LT(k, j)", |k, j| k < j),
        ("GE(k, j)", |k, j| k >= j),
        ("GT(k, j + 3)", |k, j| k > j + 3),
        ("LE(k, j + 500)", |k, j| k <= j + 500),
    ] {
        let source = |other: &str| format!("y[i,j] =max WHERE({condition}, a[i,k], {other})\n\ny");
        let sized = |other: &str| format!("{}\n\nDIMS(j) = {N}", source(other));
        all.check(&sized("-7"), [N, N], |i, j| {
            greatest(&mut (0..N).map(|k| if holds(k, j) { all.a(i, k) } else { -7.0 }))
        });
        all.check(&source("b[i,j]"), [N, N], |i, j| {
            greatest(&mut (0..N).map(|k| if holds(k, j) { all.a(i, k) } else { all.b(i, j) }))
        });
    }
    let both =
        format!("y[i,j] =max WHERE(AND(LE(k, j), GT(b[i,k], 0)), a[i,k], 2)\n\ny\n\nDIMS(j) = {N}");
    all.check(&both, [N, N], |i, j| {
        let holds = |k: usize| k <= j && all.b(i, k) > 0.0;
        greatest(&mut (0..N).map(|k| if holds(k) { all.a(i, k) } else { 2.0 }))
    });
    let least = "y[i,j] =min WHERE(LE(k, j), a[i,k], 3)\n\ny\n\nDIMS(j) = 300";
    all.check(least, [N, N], |i, j| {
        (0..N).map(|k| if k <= j { all.a(i, k) } else { 3.0 }).fold(f64::INFINITY, f64::min)
    });
}

#[test]
fn equality_with_a_position() {
    let all = Arguments::new();
    let is = |i: usize, j: usize| all.l[i] == j as i64;
    let dims = format!("\n\ny\n\nDIMS(j) = {N}");
    all.check(&format!("y[i,j] = WHERE(EQ(l[i], j), 1, 0){dims}"), [N, N], |i, j| {
        f64::from(u8::from(is(i, j)))
    });
    all.check("y[i,j] = a[i,j] - WHERE(EQ(j, l[i]), 4, b[i,j])\n\ny", [N, N], |i, j| {
        all.a(i, j) - if is(i, j) { 4.0 } else { all.b(i, j) }
    });
    all.check("y[i,j] = a[i,j] * WHERE(NE(l[i] + 1, j), 2, 0)\n\ny", [N, N], |i, j| {
        all.a(i, j) * if all.l[i] + 1 == j as i64 { 0.0 } else { 2.0 }
    });
    all.check("y[i,j] = a[i,j] + WHERE(EQ(i, j), 5, 0)\n\ny", [N, N], |i, j| {
        all.a(i, j) + if i == j { 5.0 } else { 0.0 }
    });
    all.check("y[i,j] = WHERE(EQ(i + j, 299), a[i,j], b[j,i])\n\ny", [N, N], |i, j| {
        if i + j == 299 { all.a(i, j) } else { all.b(j, i) }
    });
    all.check("y[i,j] = WHERE(EQ(2*i, j), a[i,j], b[j,i])\n\ny", [N, N], |i, j| {
        if 2 * i == j { all.a(i, j) } else { all.b(j, i) }
    });
}

/// Arithmetic on positions and on elements of small types in the float type to which it is converted: a zero of
/// integers has no sign.
#[test]
fn integers_that_floats_hold() {
    let arguments = Arguments::new();
    let dims = format!("\n\ny\n\nDIMS(i) = {N}\nDIMS(j) = {N}");
    let number = |i: usize| i as f64;
    for float in ["F32", "F64"] {
        let inverse = format!("y[i,j] = 1 / {float}((i - 3) * (5 - j)){dims}");
        arguments.check(&inverse, [N, N], |i, j| {
            let product = (i as i64 - 3) * (5 - j as i64);
            match float {
                "F32" => f64::from(1.0 / product as f32),
                _ => 1.0 / product as f64,
            }
        });
        let sum = format!("y[i,j] = {float}(ABS(i - j) + MIN(i, 7) * i - MAX(j, 2)){dims}");
        arguments.check(&sum, [N, N], |i, j| {
            (number(i) - number(j)).abs() + number(i.min(7) * i) - number(j.max(2))
        });
    }
    let far = format!("y[i,j] = a[i,j] + F32((i - 150) * (j - 150)){dims}");
    arguments
        .check(&far, [N, N], |i, j| arguments.a(i, j) + (number(i) - 150.0) * (number(j) - 150.0));
    // A float of 32 bits does not hold these: the sum is rounded once.
    let large = format!("y[i,j] = F32(MIN(70001 * i, 20000001) + j){dims}");
    arguments.check(&large, [N, N], |i, j| f64::from(((70_001 * i).min(20_000_001) + j) as f32));
}

#[test]
fn conditions_along_rows() {
    let all = Arguments::new();
    type Holds = fn(i64, i64, i64) -> bool;
    let conditions: [(&str, Holds); 8] = [
        ("LE(j, i)", |i, j, _| j <= i),
        ("GT(j, i - 5)", |i, j, _| j > i - 5),
        ("LT(j, l[i])", |_, j, l| j < l),
        ("GE(l[i], 2*j)", |_, j, l| l >= 2 * j),
        ("LE(3*i - 2*j, 7)", |i, j, _| 3 * i - 2 * j <= 7),
        ("AND(GE(j, i - 3), LE(j, i + 3))", |i, j, _| (i - 3..=i + 3).contains(&j)),
        ("NE(l[i], j + i)", |i, j, l| l != j + i),
        ("OR(EQ(2*j, i), GT(7, j))", |i, j, _| 2 * j == i || 7 > j),
    ];
    for (condition, holds) in conditions {
        let chosen = |i: usize, j: usize| holds(i as i64, j as i64, all.l[i]);
        all.check(&format!("y[i,j] = WHERE({condition}, a[i,j], -9)\n\ny"), [N, N], |i, j| {
            if chosen(i, j) { all.a(i, j) } else { -9.0 }
        });
        all.check(&format!("y[i] = WHERE({condition}, a[i,j], 1)\n\ny"), [N, 1], |i, _| {
            sum(|j| if chosen(i, j) { all.a(i, j) } else { 1.0 })
        });
    }
}

/// Boxes of one array, which are computed tile by tile in turn.
#[test]
fn parts_of_small_vectors_and_matrices() {
    let all = Arguments::new();
    let source = "y[n,i,j] = WHERE(EQ(i, j), p[n,1-i,1-j], 0 - p[n,i,j])\n\ny";
    all.check(source, [N * N / 4, 4], |n, at| {
        let p = |at: usize| f64::from(all.a[4 * n + at]);
        if at == 0 || at == 3 { p(3 - at) } else { 0.0 - p(at) }
    });
    let r = |n: usize, at: usize| f64::from(all.a[3 * n + at % 3]);
    let s = |n: usize, at: usize| f64::from(all.b[3 * n + at % 3]);
    let cross = "y[n,k] = r[n,(k+1)%3]*s[n,(k+2)%3] - r[n,(k+2)%3]*s[n,(k+1)%3]\n\ny";
    all.check(&format!("{cross}\n\nDIMS(k) = 3"), [N * N / 3, 3], |n, k| {
        r(n, k + 1) * s(n, k + 2) - r(n, k + 2) * s(n, k + 1)
    });
    let source = "y[n,c] = WHERE(EQ(c, 0), r[n,0]*s[n,0] - r[n,1]*s[n,1], \
                  r[n,0]*s[n,1] + MAX(r[n,1]*s[n,0], r[n,2]))\n\ny\n\nDIMS(c) = 2";
    all.check(source, [N * N / 3, 2], |n, c| match c {
        0 => r(n, 0) * s(n, 0) - r(n, 1) * s(n, 1),
        _ => r(n, 0) * s(n, 1) + (r(n, 1) * s(n, 0)).max(r(n, 2)),
    });
    let source =
        "y[n,c,k] = WHERE(EQ(c, 1), r[n,k] + s[n,k], r[n,k] - s[n,2-k])\n\ny\n\nDIMS(c) = 2";
    all.check(source, [N * N / 3, 6], |n, at| match at / 3 {
        1 => r(n, at % 3) + s(n, at % 3),
        _ => r(n, at % 3) - s(n, 2 - at % 3),
    });
}

#[test]
fn accumulations_in_overlapping_boxes() {
    let all = Arguments::new();
    let at = |x: &[f32], i: usize, by: i64| Arguments::at(x, i as i64 + by);
    let near = |i: usize, by: i64| (0..LONG as i64).contains(&(i as i64 + by));
    all.check(
        "y[i] = v[i]*w[i]\ny[i] += w[i]*v[i-1]\ny[i] += 2*v[i+3]\ny[i] += -1\n\ny",
        [LONG, 1],
        |i, _| {
            let [before, after] = [(-1, at(&all.w, i, 0)), (3, 2.0)]
                .map(|(by, factor)| if near(i, by) { factor * at(&all.v, i, by) } else { 0.0 });
            at(&all.v, i, 0) * at(&all.w, i, 0) + before + after - 1.0
        },
    );
    let inside = |i: usize, by: i64| usize::try_from(i as i64 + by).ok().filter(|&i| i < N);
    let a = |i: Option<usize>, j: Option<usize>| i.zip(j).map_or(0.0, |(i, j)| all.a(i, j));
    all.check(
        "y[i,j] = -4*a[i,j]\ny[i,j] += a[i+1,j]\ny[i,j] += a[i-1,j]\ny[i,j] += a[i,j+1]\n\
         y[i,j] += a[i,j-1]\n\ny",
        [N, N],
        |i, j| {
            let (own, column) = (Some(i), Some(j));
            let rows = a(inside(i, 1), column) + a(inside(i, -1), column);
            rows + a(own, inside(j, 1)) + a(own, inside(j, -1)) - 4.0 * all.a(i, j)
        },
    );
}

#[test]
fn borders_of_boxes() {
    let all = Arguments::new();
    all.check(
        "y[i,j] = a[i-2,j-1] * 3\n\ny\n\nDIMS(i) = 304\nDIMS(j) = 303",
        [304, 303],
        |i, j| match (2..N + 2).contains(&i) && (1..N + 1).contains(&j) {
            true => 3.0 * all.a(i - 2, j - 1),
            false => 0.0,
        },
    );
    all.check("y[i,j] = a[i-1,j] + a[i,j] - b[i,j-1]\n\ny", [N, N], |i, j| match i > 0 && j > 0 {
        true => all.a(i - 1, j) + all.a(i, j) - all.b(i, j - 1),
        false => 0.0,
    });
}

#[test]
fn places_of_extremes_beside_a_border() {
    // The place in a row whose first three elements are zeros.
    let (rows, columns) = (1500, 11);
    let x: Vec<f32> = (0..rows * columns).map(|at| (at * 7919 % 41) as f32 - 20.0).collect();
    let program = ijk::i("@argmax ij~i << ij*2~i[j+3]").unwrap();
    let array = Array2::from_shape_vec((rows, columns), x.clone()).unwrap();
    let found = &program.apply((&array,)).unwrap()[0];
    for (row, place) in x.chunks(columns).zip(found.view().iter_scalars()) {
        let all: Vec<f32> = [0.0; 3].into_iter().chain(row.iter().map(|x| 2.0 * x)).collect();
        let first = (0..all.len()).rev().max_by(|&i, &j| all[i].total_cmp(&all[j])).unwrap();
        assert_eq!(place.as_f64(), first as f64, "{all:?}");
    }
}
