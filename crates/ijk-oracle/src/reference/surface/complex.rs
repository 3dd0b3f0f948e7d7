//! Running error analysis of complex functions: one bound for both parts.

use super::real::{Precision, Real, exact};
use ijk_types::{BinaryOp, C128, Scalar, UnaryOp, scalar};

/// A complex number and a bound on the error of each part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Complex {
    pub value: C128,
    pub error: f64,
}

pub(crate) const ANYTHING: Complex =
    Complex { value: C128 { re: 0.0, im: 0.0 }, error: f64::INFINITY };

/// Error of a function of complex numbers, made of several real ones, in roundings.
const FUNCTION_UNITS: f64 = 64.0;

impl Complex {
    fn size(self) -> f64 {
        self.value.re.abs() + self.value.im.abs()
    }

    /// Returns true if intermediate products and squares are far from overflow and underflow.
    fn is_moderate(self) -> bool {
        let size = self.size();
        size == 0.0 || (1e-8..1e8).contains(&size)
    }

    /// Returns true if both parts are integers whose products are exact.
    fn is_small_integer(self, p: &Precision) -> bool {
        let small = |x: f64| x == x.trunc() && x.abs() < f64::from(1 << (p.digits / 2 - 1));
        self.error == 0.0 && small(self.value.re) && small(self.value.im)
    }
}

fn round(value: C128, error: f64, units: f64, p: &Precision) -> Complex {
    let size = value.re.abs() + value.im.abs();
    if error.is_infinite() {
        return ANYTHING;
    }
    let error = error + units * (p.unit * (size + error) + p.tiny);
    let fine = size.is_finite() && size + error < p.max;
    if fine { Complex { value, error } } else { ANYTHING }
}

fn eval_unary(op: UnaryOp, x: C128) -> C128 {
    match scalar::unary(op, Scalar::C128(x)) {
        Ok(Scalar::C128(y)) => y,
        _ => C128::new(f64::NAN, f64::NAN),
    }
}

fn eval_binary(op: BinaryOp, x: C128, y: C128) -> C128 {
    match scalar::binary(op, Scalar::C128(x), Scalar::C128(y)) {
        Ok(Scalar::C128(z)) => z,
        _ => C128::new(f64::NAN, f64::NAN),
    }
}

/// A function of one operand with a complex result.
pub(crate) fn unary(op: UnaryOp, x: Complex, p: &Precision) -> Complex {
    let value = eval_unary(op, x.value);
    match op {
        UnaryOp::Neg | UnaryOp::Conj => Complex { value, ..x },
        _ if !x.size().is_finite() || x.error.is_infinite() => ANYTHING,
        UnaryOp::Recip => binary(BinaryOp::Div, one(), x, p),
        _ if wild(op, x) => ANYTHING,
        _ => {
            let scale = if relative(op) { 0.0 } else { FUNCTION_UNITS * p.unit };
            round(value, spread(op, x) + scale, FUNCTION_UNITS, p)
        }
    }
}

fn one() -> Complex {
    Complex { value: C128::new(1.0, 0.0), error: 0.0 }
}

/// Functions whose error is relative to the size of their value.
fn relative(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::Exp | UnaryOp::Sqrt | UnaryOp::Cosh | UnaryOp::Cos)
}

/// Returns true if a function is near a branch cut or a pole, or its parts overflow.
fn wild(op: UnaryOp, x: Complex) -> bool {
    let C128 { re, im } = x.value;
    let cut = re <= x.error && im.abs() <= x.error;
    match op {
        UnaryOp::Ln | UnaryOp::Sqrt => cut || !x.is_moderate(),
        UnaryOp::Tan | UnaryOp::Tanh => x.size() > 15.0 || x.error > 1e-3,
        _ => x.size() > 80.0,
    }
}

/// Deviation of the function within the error of its operand, estimated in four directions.
fn spread(op: UnaryOp, x: Complex) -> f64 {
    if x.error == 0.0 {
        return 0.0;
    }
    let value = eval_unary(op, x.value);
    let directions = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)];
    let moved = directions.map(|(re, im): (f64, f64)| {
        (eval_unary(op, x.value + C128::new(re, im) * (2.0 * x.error)) - value).norm()
    });
    2.0 * moved.into_iter().fold(0.0, nan_max)
}

fn nan_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// A function of two operands with a complex result.
pub(crate) fn binary(op: BinaryOp, x: Complex, y: Complex, p: &Precision) -> Complex {
    if x.error.is_infinite() || y.error.is_infinite() {
        return ANYTHING;
    }
    let value = eval_binary(op, x.value, y.value);
    match op {
        BinaryOp::Add | BinaryOp::Sub => sum(op, x, y, p),
        _ if !(x.is_moderate() && y.is_moderate()) => ANYTHING,
        BinaryOp::Mul => {
            let error = 2.0 * (x.error * y.size() + y.error * x.size() + x.error * y.error);
            let units = if x.is_small_integer(p) && y.is_small_integer(p) { 0.0 } else { 4.0 };
            let scale = units * p.unit * x.size() * y.size();
            round(value, error + scale, if units == 0.0 { 0.0 } else { 1.0 }, p)
        }
        BinaryOp::Div => quotient(value, x, y, p),
        BinaryOp::Pow => power(value, x, y, p),
        BinaryOp::Log => {
            let [base, of] = [x, y].map(|v| unary(UnaryOp::Ln, v, p));
            binary(BinaryOp::Div, of, base, p)
        }
        _ => ANYTHING,
    }
}

fn sum(op: BinaryOp, x: Complex, y: Complex, p: &Precision) -> Complex {
    let part = |a: f64, b: f64| {
        let [a, b] = [a, b].map(|v| Real { value: v, error: 0.0 });
        super::real::binary(op, a, b, p)
    };
    let (re, im) = (part(x.value.re, y.value.re), part(x.value.im, y.value.im));
    let error = x.error + y.error + re.error.max(im.error);
    Complex { value: C128::new(re.value, im.value), error }
}

fn quotient(value: C128, x: Complex, y: Complex, p: &Precision) -> Complex {
    let size = y.value.norm();
    if size <= 4.0 * y.error || size == 0.0 {
        return ANYTHING;
    }
    let error = 4.0 * (x.error + value.norm() * y.error) / size;
    round(value, error, FUNCTION_UNITS, p)
}

fn power(value: C128, x: Complex, y: Complex, p: &Precision) -> Complex {
    let ln = unary(UnaryOp::Ln, x, p);
    let exponent = binary(BinaryOp::Mul, y, ln, p);
    if x.size() == 0.0 || exponent.error > 0.1 || exponent.size() > 80.0 {
        return ANYTHING;
    }
    round(value, 4.0 * value.norm() * exponent.error, FUNCTION_UNITS, p)
}

/// Returns true if `@eq` has the same result within the errors.
pub(crate) fn comparison_is_settled(x: Complex, y: Complex) -> bool {
    let error = x.error + y.error;
    let gap = |a: f64, b: f64| (a - b).abs() > error;
    let apart = gap(x.value.re, y.value.re) || gap(x.value.im, y.value.im);
    error == 0.0 || error.is_finite() && apart
}

/// The modulus and the parts.
pub(crate) fn to_real(op: UnaryOp, x: Complex, p: &Precision) -> Real {
    match op {
        UnaryOp::Re => Real { value: x.value.re, error: x.error },
        UnaryOp::Im => Real { value: x.value.im, error: x.error },
        _ if x.error.is_infinite() => super::real::ANYTHING,
        _ => {
            let value = x.value.norm();
            if x.value.im == 0.0 && x.error == 0.0 {
                return exact(value);
            }
            p.round(value, 1.5 * x.error, 4.0)
        }
    }
}
