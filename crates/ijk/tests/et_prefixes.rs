//! Reductions over all positions up to one, as they are written in Einsum Tuple, and periodic indices,
//! against loops: of several types, layouts and numbers of threads.

use crate::common::programs;
use ijk::Tensor;

const ROWS: usize = 3;
const LENGTH: usize = 1100;

fn numbers(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f64 / (1u64 << 24) as f64 * 2.0 - 1.0
    };
    std::iter::repeat_with(next).take(n).collect()
}

fn tensor(x: &[f64], shape: &[usize], single: bool) -> Tensor {
    match single {
        true => Tensor::from_vec(x.iter().map(|&x| x as f32).collect(), shape).unwrap(),
        false => Tensor::from_vec(x.to_vec(), shape).unwrap(),
    }
}

fn elements(x: &Tensor) -> Vec<f64> {
    match x.as_slice::<f32>() {
        Some(x) => x.iter().map(|&x| x.into()).collect(),
        None => x.as_slice::<f64>().unwrap().to_vec(),
    }
}

fn run(source: &str, bound: &[(&str, &Tensor)]) -> Tensor {
    programs::run(source, bound, false)
}

/// Compares with `expected` of each prefix of each row.
fn check(source: &str, x: &[f64], within: f64, expected: impl Fn(&[f64]) -> f64) {
    let source = format!("{source}\n\ny\n\nDIMS(t)={LENGTH}\nDIMS(k)={LENGTH}");
    for single in [true, false] {
        let array = tensor(x, &[ROWS, LENGTH], single);
        let found = elements(&run(&source, &[("x", &array)]));
        let x = elements(&array);
        let within = if single { within } else { within * 1e-8 };
        for (at, found) in found.iter().enumerate() {
            let row = at / LENGTH * LENGTH;
            let want = expected(&x[row..=at]);
            let near = (found - want).abs() <= within * want.abs().max(1.0);
            assert!(near || found == &want, "{found} for {want} at {at}, {source}");
        }
    }
}

fn greatest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

const SHIFTED: &str = "m[b,t] max= x[b,t-k]\ns[b,t] = EXP(x[b,t-k]-m[b,t])\n";

#[test]
fn log_sum_exp_keeps_its_level() {
    let source = format!("{SHIFTED}y[b,t] = LOG(s[b,t]) + m[b,t]");
    let log_sum = |x: &[f64]| {
        let m = greatest(x);
        x.iter().map(|x| (x - m).exp()).sum::<f64>().ln() + m
    };
    let small = numbers(1, ROWS * LENGTH);
    // Too large for an exponential without scaling; rising, so that all earlier terms vanish.
    let large: Vec<f64> = small.iter().map(|x| 3000.0 * x).collect();
    let rising: Vec<f64> = (0..ROWS * LENGTH).map(|n| (n % LENGTH) as f64 / 7.0).collect();
    for x in [small, large, rising] {
        check(&source, &x, 1e-5, log_sum);
    }
}

#[test]
fn what_comes_before_a_level_is_forgotten() {
    let source = format!("{SHIFTED}y[b,t] = s[b,t]");
    let mut x = numbers(2, ROWS * LENGTH);
    x[..700].fill(f64::NEG_INFINITY);
    let array = tensor(&x, &[ROWS, LENGTH], false);
    let source = format!("{source}\n\ny\n\nDIMS(t)={LENGTH}\nDIMS(k)={LENGTH}");
    let found = elements(&run(&source, &[("x", &array)]));
    assert!(found[700..].iter().all(|x| *x >= 1.0 - 1e-9), "{:?}", &found[690..710]);
}

#[test]
fn factors_of_the_position_are_taken_out() {
    let x = numbers(3, ROWS * LENGTH);
    let last = |x: &[f64]| x[x.len() - 1];
    check("y[b,t] = x[b,t-k]*x[b,t]", &x, 1e-4, |x| x.iter().sum::<f64>() * last(x));
    check("y[b,t] = x[b,t-k]/(t[0]+1)", &x, 1e-4, |x| x.iter().sum::<f64>() / x.len() as f64);
    check("y[b,t] max= x[b,t-k]-x[b,t]", &x, 1e-5, |x| greatest(x) - last(x));
    check("y[b,t] = EXP(x[b,t-k]-x[b,t])", &x, 1e-4, |x| {
        x.iter().map(|y| (y - last(x)).exp()).sum()
    });
    let weighted = format!("{SHIFTED}y[b,t] = x[b,t-k]*EXP(x[b,t-k]-m[b,t])*x[b,t]");
    check(&weighted, &x, 1e-4, |x| {
        let m = greatest(x);
        x.iter().map(|x| x * (x - m).exp()).sum::<f64>() * last(x)
    });
}

#[test]
fn sums_from_the_end_have_levels_too() {
    let n = LENGTH;
    let source = format!(
        "m[b,t] max= x[b,t+k]\ny[b,t] = EXP(x[b,t+k]-m[b,t])\n\ny\n\nDIMS(t)={n}\nDIMS(k)={n}"
    );
    let x = numbers(4, ROWS * LENGTH);
    let found = elements(&run(&source, &[("x", &tensor(&x, &[ROWS, LENGTH], false))]));
    for (at, found) in found.iter().enumerate() {
        let rest = &x[at..(at / LENGTH + 1) * LENGTH];
        let want: f64 = rest.iter().map(|x| (x - greatest(rest)).exp()).sum();
        assert!((found - want).abs() <= 1e-9 * want, "{found} for {want} at {at}");
    }
}

#[test]
fn levels_of_columns_may_lie_apart() {
    let n = LENGTH;
    let source = format!(
        "m[t,b] max= x[t-k,b]\ny[t,b] = EXP(x[t-k,b]-m[t,b])\n\ny\n\nDIMS(t)={n}\nDIMS(k)={n}"
    );
    let x = numbers(9, ROWS * LENGTH);
    let found = elements(&run(&source, &[("x", &tensor(&x, &[LENGTH, ROWS], false))]));
    for (at, found) in found.iter().enumerate() {
        let before: Vec<f64> = (at % ROWS..=at).step_by(ROWS).map(|at| x[at]).collect();
        let most = greatest(&before);
        let want: f64 = before.iter().map(|x| (x - most).exp()).sum();
        assert!((found - want).abs() <= 1e-9 * want, "{found} for {want} at {at}");
    }
}

#[test]
fn extremes_are_exact() {
    let mut x = numbers(5, ROWS * LENGTH);
    check("y[b,t] max= x[b,t-k]", &x, 0.0, greatest);
    check("y[b,t] min= x[b,t-k]", &x, 0.0, |x| x.iter().copied().fold(f64::INFINITY, f64::min));
    x[LENGTH + 530] = f64::NAN;
    let source = format!("y[b,t] max= x[b,t-k]\n\ny\n\nDIMS(t)={LENGTH}\nDIMS(k)={LENGTH}");
    let found = elements(&run(&source, &[("x", &tensor(&x, &[ROWS, LENGTH], true))]));
    for (at, found) in found.iter().enumerate() {
        let expected = (LENGTH + 530..2 * LENGTH).contains(&at);
        assert_eq!(found.is_nan(), expected, "{at}");
    }
}

#[test]
fn periodic_neighbours_are_those_of_a_torus() {
    let (n, m) = (41, 37);
    let x = numbers(6, n * m);
    let source = format!(
        "y[i,j] = x[(i+1)%{n},j] + x[(i-1)%{n},j] + x[i,(j+1)%{m}] + x[i,(j-1)%{m}]\n\ny\n\n\
         DIMS(i)={n}\nDIMS(j)={m}"
    );
    let found = elements(&run(&source, &[("x", &tensor(&x, &[n, m], false))]));
    let at = |i: usize, j: usize| x[i % n * m + j % m];
    for i in 0..n {
        for j in 0..m {
            let want = at(i + 1, j) + at(i + n - 1, j) + at(i, j + 1) + at(i, j + m - 1);
            assert!((found[i * m + j] - want).abs() < 1e-12, "{i} {j}");
        }
    }
}

#[test]
fn circular_convolutions_wrap() {
    for (n, filter) in [(53, 5), (53, 60), (300, 31)] {
        let (x, w) = (numbers(7, n), numbers(8, filter));
        let source = format!("y[i] = x[(i+f-2)%{n}]*w[f]\n\ny\n\nDIMS(i)={n}");
        let (x_array, w_array) = (tensor(&x, &[n], false), tensor(&w, &[filter], false));
        let found = elements(&run(&source, &[("x", &x_array), ("w", &w_array)]));
        for (i, found) in found.iter().enumerate() {
            let want: f64 = (0..filter).map(|f| x[(i + f + 2 * n - 2) % n] * w[f]).sum();
            assert!((found - want).abs() < 1e-10, "{found} for {want} at {i} of {n}");
        }
    }
}

/// Masks of positions, with how each value at `h` counts for `t`: sums, maxima and numbers of elements.
#[test]
fn masks_of_positions_are_scans() {
    let x = numbers(10, ROWS * LENGTH);
    let array = tensor(&x, &[ROWS, LENGTH], false);
    type Mask = (&'static str, fn(i64, i64) -> bool);
    let masks: [Mask; 9] = [
        ("LE(h, t)", |h, t| h <= t),
        ("GE(t, h)", |h, t| h <= t),
        ("LT(h, t)", |h, t| h < t),
        ("GT(h, t)", |h, t| h > t),
        ("GE(h, t)", |h, t| h >= t),
        ("LE(h, t + 3)", |h, t| h <= t + 3),
        ("LT(h + 2, t)", |h, t| h + 2 < t),
        ("LE(h + 2000, t)", |h, t| h + 2000 <= t),
        ("GE(h - 5, t)", |h, t| h - 5 >= t),
    ];
    for (mask, counts) in masks {
        let chosen = |at: usize| {
            let (row, t) = (&x[at / LENGTH * LENGTH..][..LENGTH], (at % LENGTH) as i64);
            row.iter().enumerate().filter(move |(h, _)| counts(*h as i64, t)).map(|(_, x)| *x)
        };
        let sum = |at: usize| chosen(at).sum::<f64>();
        let most = |at: usize| chosen(at).fold(f64::NEG_INFINITY, f64::max);
        let number = |at: usize| chosen(at).filter(|x| *x > 0.0).count() as f64;
        let all_hold = |at: usize| chosen(at).count() == LENGTH;
        let padded = |at: usize| if all_hold(at) { most(at) } else { most(at).max(-0.5) };
        let programs: [(String, &dyn Fn(usize) -> f64); 6] = [
            (format!("y[b,t] = x[b,h] * {mask}"), &sum),
            (format!("y[b,t] = WHERE({mask}, x[b,h], 0)"), &sum),
            (format!("y[b,t] max= WHERE({mask}, x[b,h], -INF)"), &most),
            (format!("y[b,t] max= WHERE({mask}, x[b,h], -0.5)"), &padded),
            (format!("y[b,t] = F64(GT(x[b,h], 0)) * F64({mask})"), &number),
            (format!("y[b,t] = F64(AND(GT(x[b,h], 0), {mask}))"), &number),
        ];
        for (source, expected) in programs {
            let source = format!("{source}\n\ny\n\nDIMS(t)={LENGTH}");
            let found = elements(&run(&source, &[("x", &array)]));
            for (at, found) in found.iter().enumerate() {
                let want = expected(at);
                let near = (found - want).abs() <= 1e-10 * want.abs().max(1.0);
                assert!(near || *found == want, "{found} for {want} at {at}, {source}");
            }
        }
    }
}

/// Elements that a mask chooses are moved to the front at linear cost, strict or not: a quadratic one would take minutes.
#[test]
fn compressing_by_a_mask() {
    let n = 500_000;
    let x = numbers(11, n);
    let source = "place[i] = I64(GT(x[h], 0)) * LE(h, i)\ny[room] = 0 * x[room]\n\
                  y[place[i]-1] += x[i] * GT(x[i], 0)\n\ny";
    let mut expected: Vec<f64> = x.iter().copied().filter(|x| *x > 0.0).collect();
    expected.resize(n, 0.0);
    for strict in [false, true] {
        let found = programs::run(source, &[("x", &tensor(&x, &[n], false))], strict);
        assert!(elements(&found) == expected);
    }
}

/// Strict plans leave out what is chosen, but no factors.
#[test]
fn strict_masks_are_as_written() {
    let n = LENGTH;
    let mut x = numbers(12, n);
    x[n - 1] = f64::INFINITY;
    let array = tensor(&x, &[n], false);
    let of = |source: &str| {
        let source = format!("{source}\n\ny\n\nDIMS(t)={n}");
        elements(&programs::run(&source, &[("x", &array)], true))
    };
    assert!(of("y[t] = x[h] * LE(h, t)")[..n - 1].iter().all(|y| y.is_nan()));
    let chosen = of("y[t] = WHERE(LE(h, t), x[h], 0)");
    let mut sum = 0.0;
    for (x, found) in x.iter().zip(&chosen) {
        sum += x;
        assert!((found - sum).abs() <= 1e-10 || *found == sum, "{found} for {sum}");
    }
}
