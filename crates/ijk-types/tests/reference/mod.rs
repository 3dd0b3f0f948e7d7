//! Functions in double-double arithmetic (about 104 bits), by textbook series: slow, and
//! independent of what they judge.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// An unevaluated sum of two numbers, the second within half a unit of the first.
#[derive(Clone, Copy, Debug)]
pub struct Dd(pub f64, pub f64);

const LN_2: [f64; 3] =
    [f64::from_bits(0x3fe62e42fefa39ef), 2.3190468138462996e-17, 5.707708438416212e-34];
const HALF_PI: [f64; 4] = [
    std::f64::consts::FRAC_PI_2,
    6.123233995736766e-17,
    -1.4973849048591698e-33,
    5.562271104316826e-50,
];
const TWO_OVER_ROOT_PI: Dd = Dd(std::f64::consts::FRAC_2_SQRT_PI, 1.533545961316588e-17);
const ROOT_HALF: Dd = Dd(std::f64::consts::FRAC_1_SQRT_2, -4.833646656726457e-17);

fn two_sum(a: f64, b: f64) -> Dd {
    let sum = a + b;
    let back = sum - a;
    Dd(sum, (a - (sum - back)) + (b - back))
}

impl From<f64> for Dd {
    fn from(x: f64) -> Self {
        Dd(x, 0.0)
    }
}

impl Add for Dd {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        let (s, t) = (two_sum(self.0, b.0), two_sum(self.1, b.1));
        let s = two_sum(s.0, s.1 + t.0);
        two_sum(s.0, s.1 + t.1)
    }
}

impl Neg for Dd {
    type Output = Self;
    fn neg(self) -> Self {
        Dd(-self.0, -self.1)
    }
}

impl Sub for Dd {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

impl Mul for Dd {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        let p = self.0 * b.0;
        two_sum(p, self.0.mul_add(b.0, -p) + (self.0 * b.1 + self.1 * b.0))
    }
}

impl Div for Dd {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let q = Dd(self.0 / b.0, 0.0);
        let rest = self - q * b;
        let q = q + Dd(rest.0 / b.0, 0.0);
        let rest = self - q * b;
        q + Dd(rest.0 / b.0, 0.0)
    }
}

impl Dd {
    pub fn sqrt(self) -> Self {
        let root = Dd(self.0.sqrt(), 0.0);
        root + (self - root * root) / (root + root)
    }

    /// Times a power of two.
    pub fn scale(self, exponent: i32) -> Self {
        Dd(libm::ldexp(self.0, exponent), libm::ldexp(self.1, exponent))
    }

    fn abs(self) -> Self {
        if self.0 < 0.0 { -self } else { self }
    }
}

/// `Σ x^n c(n)` with `c(n) / c(n - 1) = ratio(n)`, from the term `first`.
fn series(first: Dd, terms: usize, next: impl Fn(Dd, f64) -> Dd) -> Dd {
    let mut all = vec![first];
    for n in 1..terms {
        let term = next(all[n - 1], n as f64);
        all.push(term);
    }
    all.into_iter().rev().fold(Dd(0.0, 0.0), |sum, term| sum + term)
}

/// `exp(r) - 1` for small r.
fn expm1_series(r: Dd) -> Dd {
    series(r, 32, |term, n| term * r / Dd(n + 1.0, 0.0))
}

pub fn expm1(x: Dd) -> Dd {
    if x.0.abs() < 0.4 {
        return expm1_series(x);
    }
    let e = exp(x);
    if e.0.is_infinite() { e } else { e - Dd(1.0, 0.0) }
}

pub fn exp(x: Dd) -> Dd {
    exp_scaled(x, 0)
}

/// `exp(x) 2^shift`.
fn exp_scaled(x: Dd, shift: i32) -> Dd {
    if x.0 > 712.0 || x.0 < -760.0 {
        return Dd(libm::exp(x.0), 0.0);
    }
    let n = (x.0 / LN_2[0]).round();
    let r = LN_2.iter().fold(x, |r, &c| r - Dd(n, 0.0) * Dd(c, 0.0));
    (expm1_series(r) + Dd(1.0, 0.0)).scale(n as i32 + shift)
}

pub fn ln(x: Dd) -> Dd {
    let exponent = libm::ilogb(x.0 * std::f64::consts::SQRT_2.recip()) + 1;
    let m = x.scale(-exponent);
    let s = (m - Dd(1.0, 0.0)) / (m + Dd(1.0, 0.0));
    let z = s * s;
    let two = Dd(2.0, 0.0);
    let odd =
        series(two * s, 36, |term, n| term * z * Dd(2.0 * n - 1.0, 0.0) / Dd(2.0 * n + 1.0, 0.0));
    LN_2.iter().rev().fold(odd, |sum, &c| sum + Dd(exponent.into(), 0.0) * Dd(c, 0.0))
}

pub fn log1p(x: f64) -> Dd {
    ln(two_sum(1.0, x))
}

pub fn tanh(x: f64) -> Dd {
    if x.abs() > 30.0 {
        return Dd(x.signum(), -x.signum() * libm::exp(-2.0 * x.abs()) * 2.0);
    }
    let t = expm1(Dd(2.0 * x, 0.0));
    t / (t + Dd(2.0, 0.0))
}

pub fn sinh(x: f64) -> Dd {
    if x.abs() > 40.0 {
        let half = exp(two_sum(x.abs(), -LN_2[0]) - Dd(LN_2[1], 0.0));
        return if x < 0.0 { -half } else { half };
    }
    let t = expm1(Dd(x, 0.0));
    (t + t / (t + Dd(1.0, 0.0))).scale(-1)
}

pub fn cosh(x: f64) -> Dd {
    let half = exp(two_sum(x.abs(), -LN_2[0]) - Dd(LN_2[1], 0.0));
    if x.abs() > 40.0 { half } else { half + Dd(0.25, 0.0) / half }
}

pub fn sigmoid(x: f64) -> Dd {
    if x < -700.0 {
        return exp(Dd(x, 0.0));
    }
    let e = exp(Dd(-x.min(700.0), 0.0));
    Dd(1.0, 0.0) / (Dd(1.0, 0.0) + e)
}

/// Quadrant and rest.
fn reduce(x: f64) -> (i64, Dd) {
    let n = (x / HALF_PI[0]).round();
    let r = HALF_PI.iter().fold(Dd(x, 0.0), |r, &c| r - Dd(n, 0.0) * Dd(c, 0.0));
    (n as i64, r)
}

fn sin_cos_series(r: Dd) -> (Dd, Dd) {
    let z = r * r;
    let step =
        |shift: f64| move |term: Dd, n: f64| -(term * z) / Dd(2.0 * n * (2.0 * n + shift), 0.0);
    (series(r, 20, step(1.0)), series(Dd(1.0, 0.0), 20, step(-1.0)))
}

pub fn sin_cos(x: f64) -> (Dd, Dd) {
    let (n, r) = reduce(x);
    let (s, c) = sin_cos_series(r);
    match n & 3 {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    }
}

pub fn atan2(y: f64, x: f64) -> Dd {
    let shift = -libm::ilogb(x.abs().max(y.abs()));
    let (x, y) = (libm::ldexp(x, shift), libm::ldexp(y, shift));
    let start = libm::atan2(y, x);
    let (s, c) = sin_cos(start);
    let across = Dd(y, 0.0) * c - Dd(x, 0.0) * s;
    let along = Dd(x, 0.0) * c + Dd(y, 0.0) * s;
    Dd(start, 0.0) + across / along
}

pub fn hypot(x: f64, y: f64) -> Dd {
    let shift = -libm::ilogb(x.abs().max(y.abs()));
    let (x, y) = (Dd(libm::ldexp(x, shift), 0.0), Dd(libm::ldexp(y, shift), 0.0));
    (x * x + y * y).sqrt().scale(-shift)
}

fn erf_series(x: Dd) -> Dd {
    let z = x * x;
    TWO_OVER_ROOT_PI
        * series(x, 90, |term, n| {
            -(term * z) * Dd(2.0 * n - 1.0, 0.0) / (Dd(n, 0.0) * Dd(2.0 * n + 1.0, 0.0))
        })
}

/// By Laplace's continued fraction.
fn erfc_tail(x: Dd) -> Dd {
    erfc_tail_scaled(x, 0)
}

fn erfc_tail_scaled(x: Dd, shift: i32) -> Dd {
    let fraction = (1..500).rev().fold(x, |rest, n| x + Dd(f64::from(n) / 2.0, 0.0) / rest);
    exp_scaled(-(x * x), shift) * TWO_OVER_ROOT_PI.scale(-1) / fraction
}

pub fn erfc(x: Dd) -> Dd {
    if x.0 < -2.0 {
        Dd(2.0, 0.0) - erfc_tail(x.abs())
    } else if x.0 < 2.0 {
        Dd(1.0, 0.0) - erf_series(x)
    } else {
        erfc_tail(x)
    }
}

pub fn erf(x: f64) -> Dd {
    let x = Dd(x, 0.0);
    if x.0.abs() < 2.0 { erf_series(x) } else { Dd(1.0, 0.0) - erfc(x) }
}

pub fn gelu(x: f64) -> Dd {
    let y = -(Dd(x, 0.0) * ROOT_HALF);
    if y.0 < 2.0 {
        return erfc(y) * Dd(0.5 * x, 0.0);
    }
    // A product with a subnormal number would lose digits.
    (erfc_tail_scaled(y, 200) * Dd(0.5 * x, 0.0)).scale(-200)
}

pub fn pow(x: f64, y: f64) -> Dd {
    exp(ln(Dd(x, 0.0)) * Dd(y, 0.0))
}
