//! Attention under masks, and contractions with operands gathered by row, against loops: with one thread and several,
//! with infinities and NaN at masked positions.

use crate::common::programs;
use ijk::Tensor;

const BATCH: usize = 2;
const QUERIES: usize = 530;
const KEYS: usize = 560;
const WIDTH: usize = 8;

fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32 * 2.0 - 1.0
    };
    std::iter::repeat_with(next).take(n).collect()
}

/// The elements of the result `y` of a program.
fn run(source: &str, bound: &[(&str, &Tensor)]) -> Vec<f64> {
    let found = programs::run(source, bound, false);
    found.as_slice::<f32>().unwrap().iter().map(|&x| x.into()).collect()
}

/// Queries, keys and values.
struct Attention {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
}

impl Attention {
    fn new() -> Self {
        let of = |seed, rows| numbers(seed, BATCH * rows * WIDTH);
        Self { q: of(3, QUERIES), k: of(5, KEYS), v: of(7, KEYS) }
    }

    /// As written.
    fn expected(&self, mask: impl Fn(i64, i64) -> bool) -> Vec<f64> {
        let row = |x: &[f32], rows: usize, b: usize, at: usize| {
            let start = (b * rows + at) * WIDTH;
            x[start..start + WIDTH].iter().map(|&x| f64::from(x)).collect::<Vec<_>>()
        };
        let mut out = Vec::new();
        for b in 0..BATCH {
            for i in 0..QUERIES {
                let q = row(&self.q, QUERIES, b, i);
                let score = |j: usize| match mask(i as i64, j as i64) {
                    true => q.iter().zip(row(&self.k, KEYS, b, j)).map(|(x, y)| x * y).sum(),
                    false => f64::NEG_INFINITY,
                };
                let scores: Vec<f64> = (0..KEYS).map(score).collect();
                let greater =
                    |m: f64, &s: &f64| if m.is_nan() || s.is_nan() { f64::NAN } else { m.max(s) };
                let most = scores.iter().fold(f64::NEG_INFINITY, greater);
                let weights: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
                let sum: f64 = weights.iter().sum();
                let mut own = vec![0.0; WIDTH];
                for (j, weight) in weights.iter().enumerate() {
                    let values = row(&self.v, KEYS, b, j);
                    own.iter_mut().zip(values).for_each(|(y, v)| *y += weight / sum * v);
                }
                out.extend(own);
            }
        }
        out
    }

    fn check(&self, text: &str, mask: impl Fn(i64, i64) -> bool) {
        let source = format!(
            "s[b,i,j] = q[b,i,f] * k[b,j,f]\na[b,i,j] = {text}\nm[b,i] =max a[b,i,j]\n\
             w[b,i,j] = EXP(a[b,i,j] - m[b,i])\nt[b,i] = w[b,i,j]\n\
             y[b,i,g] = w[b,i,j] / t[b,i] * v[b,j,g]\n\ny\n"
        );
        let tensor = |x: &[f32], rows| Tensor::from_vec(x.to_vec(), &[BATCH, rows, WIDTH]).unwrap();
        let (q, k) = (tensor(&self.q, QUERIES), tensor(&self.k, KEYS));
        let v = tensor(&self.v, KEYS);
        let found = run(&source, &[("q", &q), ("k", &k), ("v", &v)]);
        for (at, (found, want)) in found.iter().zip(self.expected(mask)).enumerate() {
            let near = *found == want || (found - want).abs() <= 1e-4 * want.abs().max(1.0);
            assert!(
                near || (found.is_nan() && want.is_nan()),
                "{found} for {want} at {at}, {text}"
            );
        }
    }
}

#[test]
fn masks_of_positions() {
    let all = Attention::new();
    all.check("WHERE(LE(j, i), s[b,i,j], -INF)", |i, j| j <= i);
    all.check("WHERE(GT(j, i), -INF, s[b,i,j])", |i, j| j <= i);
    all.check("WHERE(GE(j, i), s[b,i,j], -INF)", |i, j| j >= i);
    let band = "WHERE(AND(LE(j, i), LT(i - j, 70)), s[b,i,j], -INF)";
    all.check(band, |i, j| j <= i && i - j < 70);
    let sinks = "WHERE(OR(LT(j, 4), LE(ABS(i - j), 9)), s[b,i,j], -INF)";
    all.check(sinks, |i, j| j < 4 || (i - j).abs() <= 9);
    // Some rows are masked completely.
    all.check("WHERE(LT(2*j + 3, i - 5), s[b,i,j], -INF)", |i, j| 2 * j + 3 < i - 5);
    // Operations on masked scores keep the mask.
    all.check("WHERE(LE(j, i), s[b,i,j], -INF) - 0.25 * i", |i, j| j <= i);
}

#[test]
fn what_a_mask_hides_may_be_infinite() {
    for special in [f32::INFINITY, f32::NAN] {
        for (array, at) in [(0, 100), (1, 901), (2, 4000), (2, 8 * KEYS - 1)] {
            let mut all = Attention::new();
            let arrays = [&mut all.q, &mut all.k, &mut all.v];
            arrays.into_iter().nth(array).unwrap()[at] = special;
            all.check("WHERE(LE(j, i), s[b,i,j], -INF)", |i, j| j <= i);
            all.check("WHERE(LE(ABS(i - j), 9), s[b,i,j], -INF)", |i, j| (i - j).abs() <= 9);
        }
    }
}

#[test]
fn operands_looked_up_by_row() {
    let (rows, groups, width, out) = (700, 5, 24, 40);
    let (x, w) = (numbers(11, rows * width), numbers(13, (groups + 1) * width * out));
    let places = numbers(17, rows);
    // Some rows have none: -1, and beyond the last.
    let places: Vec<i64> = places.iter().map(|x| ((x + 1.0) * 4.0) as i64 - 1).collect();
    let bound_x = Tensor::from_vec(x.clone(), &[rows, width]).unwrap();
    let bound_w = Tensor::from_vec(w.clone(), &[groups + 1, width, out]).unwrap();
    let bound_c = Tensor::from_vec(places.clone(), &[rows]).unwrap();
    for shift in [0, 1] {
        let index = if shift == 0 { "c[t]" } else { "c[t] + 1" };
        for source in [
            format!("y[t,h] = x[t,d] * w[{index},d,h]\n\ny\n"),
            format!("y[t,h] = w[{index},d,h] * x[t,d]\n\ny\n"),
        ] {
            let found = run(&source, &[("x", &bound_x), ("w", &bound_w), ("c", &bound_c)]);
            for (at, found) in found.iter().enumerate() {
                let (row, column) = (at / out, at % out);
                let want = match usize::try_from(places[row] + shift) {
                    Ok(group) if group <= groups => (0..width)
                        .map(|d| {
                            let y = w[(group * width + d) * out + column];
                            f64::from(x[row * width + d]) * f64::from(y)
                        })
                        .sum(),
                    _ => 0.0,
                };
                assert!((found - want).abs() < 1e-4, "{found} for {want} at {at}, {source}");
            }
        }
    }
}
