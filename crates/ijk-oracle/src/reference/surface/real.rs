//! Running error analysis of real functions.
//!
//! A [`Real`] is a number computed in binary64 and a bound on the distance of any evaluation within the stated error
//! bounds. With a bound of 0 exactly this number is required; with an infinite one, any number is allowed.

use ijk_types::{BinaryOp, DType, Scalar, UnaryOp, bf16, f16, scalar};

/// A number and a bound on the error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real {
    pub value: f64,
    pub error: f64,
}

/// Any number: the outcome is not determined by the stated bounds.
pub(crate) const ANYTHING: Real = Real { value: 0.0, error: f64::INFINITY };

/// Error of elementwise functions in units in the last place.
const FUNCTION_UNITS: f64 = 4.0;

/// Precision of the numbers of an element type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    /// Relative rounding error of an operation: one rounding of the engine; for binary64 also one of the oracle.
    pub unit: f64,
    /// Absolute rounding error below the normal numbers.
    pub tiny: f64,
    /// Greatest finite number.
    pub max: f64,
    /// Digits of the significand.
    pub digits: i32,
    /// The nearest number of the type.
    rounded: fn(f64) -> f64,
}

/// The precision of the real part's type. Integers and bools have none.
pub(crate) fn precision(dtype: DType) -> Option<Precision> {
    match dtype.real() {
        DType::F16 => Some(Precision {
            unit: f64::from(f32::from(f16::EPSILON)),
            tiny: f64::from(f32::from(f16::from_bits(1))),
            max: f64::from(f32::from(f16::MAX)),
            digits: 11,
            rounded: |x| f16::from_f64(x).into(),
        }),
        DType::BF16 => Some(Precision {
            unit: f64::from(f32::from(bf16::EPSILON)),
            tiny: f64::from(f32::from(bf16::from_bits(1))),
            max: f64::from(f32::from(bf16::MAX)),
            digits: 8,
            rounded: |x| bf16::from_f64(x).into(),
        }),
        DType::F32 => Some(Precision {
            unit: f64::from(f32::EPSILON),
            tiny: f64::from(f32::from_bits(1)),
            max: f32::MAX.into(),
            digits: 24,
            rounded: |x| (x as f32).into(),
        }),
        DType::F64 => Some(Precision {
            unit: f64::EPSILON,
            tiny: f64::from_bits(2),
            max: f64::MAX,
            digits: 53,
            rounded: |x| x,
        }),
        _ => None,
    }
}

impl Precision {
    /// Returns true if the type can represent the number.
    pub fn holds(&self, x: f64) -> bool {
        x.is_nan() || (self.rounded)(x) == x
    }

    /// A result with an error of `error` and `units` roundings of what is within that error.
    pub fn round(&self, value: f64, error: f64, units: f64) -> Real {
        if !value.is_finite() {
            return Real { value, error };
        }
        if error.is_infinite() {
            return ANYTHING;
        }
        let most = value.abs() + error;
        let error = error + units * (self.unit * most + self.tiny);
        if value.abs() <= self.max && value.abs() + error <= self.max {
            Real { value, error }
        } else if value.abs() > 1.001 * self.max && error < 1e-3 * value.abs() {
            exact(f64::INFINITY.copysign(value))
        } else {
            ANYTHING
        }
    }

    /// A result with an error of `error`, and of a rounding unless `residual` (the part that binary64 lost) is 0 and
    /// the type can represent it.
    fn basic(&self, value: f64, error: f64, residual: f64) -> Real {
        let kept = residual == 0.0 && self.holds(value) && value.abs() <= self.max;
        self.round(value, error, if kept { 0.0 } else { 1.0 })
    }
}

/// An exact number.
pub(crate) fn exact(value: f64) -> Real {
    Real { value, error: 0.0 }
}

impl Real {
    pub fn is_exact(self) -> bool {
        self.error == 0.0
    }

    pub fn is_anything(self) -> bool {
        self.error == f64::INFINITY
    }

    /// Returns true if the exact value may be 0.
    fn may_be_zero(self) -> bool {
        self.value.abs() <= self.error
    }
}

/// A function of one operand.
pub(crate) fn unary(op: UnaryOp, x: Real, p: &Precision) -> Real {
    if x.is_anything() {
        return ANYTHING;
    }
    let f = |v: f64| eval_unary(op, v);
    let value = f(x.value);
    match op {
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Conj | UnaryOp::Re => Real { value, ..x },
        UnaryOp::Im => exact(value),
        UnaryOp::Recip => binary(BinaryOp::Div, exact(1.0), x, p),
        UnaryOp::Sign | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round => {
            Real { value, error: spread(f, x) }
        }
        UnaryOp::Sqrt => p.basic(value, spread(f, x), value.mul_add(value, -x.value)),
        UnaryOp::Sin | UnaryOp::Cos => p.round(value, x.error, FUNCTION_UNITS),
        UnaryOp::Tan => p.round(value, spread_tan(x), FUNCTION_UNITS),
        UnaryOp::Gelu => {
            // The tail 1 + erf(x) cancels: its error is relative to the operand.
            let tail = FUNCTION_UNITS * p.unit * x.value.abs();
            let error = 1.2 * x.error + if value.is_finite() { tail } else { 0.0 };
            p.round(value, error, FUNCTION_UNITS)
        }
        _ => p.round(value, spread(f, x), FUNCTION_UNITS),
    }
}

fn eval_unary(op: UnaryOp, x: f64) -> f64 {
    match scalar::unary(op, Scalar::F64(x)) {
        Ok(Scalar::F64(y)) => y,
        _ => f64::NAN,
    }
}

fn eval_binary(op: BinaryOp, x: f64, y: f64) -> f64 {
    match scalar::binary(op, Scalar::F64(x), Scalar::F64(y)) {
        Ok(Scalar::F64(z)) => z,
        _ => f64::NAN,
    }
}

/// Deviation of a function within the error of its operand; for functions without an extremum in that interval, except
/// `cosh` and `abs`, whose deviation is largest at an end.
fn spread(f: impl Fn(f64) -> f64, x: Real) -> f64 {
    if x.is_exact() || !x.value.is_finite() {
        return 0.0;
    }
    let ends = [f(x.value - x.error), f(x.value + x.error)];
    farthest(f(x.value), &ends)
}

/// Largest distance; infinite unless all are finite.
fn farthest(value: f64, ends: &[f64]) -> f64 {
    let distance = |end: &f64| (end - value).abs();
    let worst = ends.iter().map(distance).fold(0.0, f64::max);
    let fine = value.is_finite() && ends.iter().all(|end| end.is_finite());
    // Rounding of the evaluations themselves.
    if fine { worst * (1.0 + 1e-9) + 1e-15 * value.abs() } else { f64::INFINITY }
}

fn spread_tan(x: Real) -> f64 {
    let slope = 1.0 + x.value.tan().powi(2);
    match x.error * slope {
        _ if x.is_exact() => 0.0,
        moved if moved * x.value.tan().abs().max(1.0) < 0.1 => 2.0 * moved,
        _ => f64::INFINITY,
    }
}

/// A function of two operands with a real result.
pub(crate) fn binary(op: BinaryOp, x: Real, y: Real, p: &Precision) -> Real {
    let value = eval_binary(op, x.value, y.value);
    if x.is_anything() || y.is_anything() {
        return ANYTHING;
    }
    match op {
        BinaryOp::Max | BinaryOp::Min => extreme(value, x, y),
        BinaryOp::LogAddExp => log_add_exp(value, x, y, p),
        BinaryOp::Log => {
            let [base, of] = [x, y].map(|v| unary(UnaryOp::Ln, v, p));
            binary(BinaryOp::Div, of, base, p)
        }
        _ if !(x.value.is_finite() && y.value.is_finite()) => beyond(op, value, x, y, p),
        BinaryOp::Add | BinaryOp::Sub => {
            let right = if op == BinaryOp::Add { y.value } else { -y.value };
            p.basic(value, x.error + y.error, lost_by_sum(x.value, right, value))
        }
        BinaryOp::Mul => product(value, x, y, p),
        BinaryOp::Div => quotient(value, x, y, p),
        BinaryOp::Pow => power(value, x, y, p),
        BinaryOp::Mod => remainder(value, x, y, p),
        BinaryOp::FloorDiv => floored(value, x, y, p),
        BinaryOp::Atan2 => p.round(value, angle_error(x, y), FUNCTION_UNITS),
        BinaryOp::Hypot => p.round(value, x.error + y.error, FUNCTION_UNITS),
        _ => ANYTHING,
    }
}

/// A floored quotient: exact if the operands are, as long as the format has its digits.
fn floored(value: f64, x: Real, y: Real, p: &Precision) -> Real {
    let has_digits = value.abs() < 0.125 / p.unit;
    if x.is_exact() && y.is_exact() {
        return if has_digits { exact(value) } else { p.round(value, 0.0, FUNCTION_UNITS) };
    }
    let quotient = quotient(x.value / y.value, x, y, p);
    let [least, most] = [-quotient.error, quotient.error].map(|e| (quotient.value + e).floor());
    let error = if least == most { 0.0 } else { most - least };
    p.round(value, error, if has_digits { 0.0 } else { FUNCTION_UNITS })
}

/// `ln(exp(x) + exp(y))`: errors of operands weigh one together; near 0 the result may cancel.
fn log_add_exp(value: f64, x: Real, y: Real, p: &Precision) -> Real {
    let least = [x, y].into_iter().position(|v| v.value == f64::NEG_INFINITY && v.is_exact());
    match least {
        Some(at) => return [y, x][at],
        None if x.value.is_nan() || y.value.is_nan() || value.is_infinite() => {
            return Real { value, error: 0.0 };
        }
        None => {}
    }
    let size = x.value.abs().min(y.value.abs()).max(1.0);
    let error = x.error.max(y.error) + FUNCTION_UNITS * p.unit * size;
    p.round(value, error, FUNCTION_UNITS)
}

fn extreme(value: f64, x: Real, y: Real) -> Real {
    if x.value.is_nan() || y.value.is_nan() {
        return exact(f64::NAN);
    }
    let settled = (x.value - y.value).abs() > x.error + y.error;
    let error = match settled {
        true if value == x.value => x.error,
        true => y.error,
        false => x.error.max(y.error),
    };
    Real { value, error }
}

/// The result of operands with an infinity or NaN: exact, unless an inexact operand may change it.
fn beyond(op: BinaryOp, value: f64, x: Real, y: Real, p: &Precision) -> Real {
    let sum = matches!(op, BinaryOp::Add | BinaryOp::Sub);
    let settled = |v: Real| v.is_exact() || sum;
    let units = if p.holds(value) { 0.0 } else { FUNCTION_UNITS };
    if settled(x) && settled(y) { p.round(value, 0.0, units) } else { ANYTHING }
}

/// The rounding error of binary64 in `x + y = sum` (Knuth's TwoSum).
fn lost_by_sum(x: f64, y: f64, sum: f64) -> f64 {
    let virtual_y = sum - x;
    (x - (sum - virtual_y)) + (y - virtual_y)
}

fn product(value: f64, x: Real, y: Real, p: &Precision) -> Real {
    let error = x.error * y.value.abs() + y.error * x.value.abs() + x.error * y.error;
    // The sign of 0 is that of a factor.
    let unsigned = value == 0.0 && [x, y].iter().any(|v| !v.is_exact() && v.may_be_zero());
    let error = if unsigned { error.max(p.tiny) } else { error };
    // A product of tiny numbers may lose more than the residual shows.
    let vanishing = value.abs() < 1e-280 && x.value != 0.0 && y.value != 0.0;
    let residual = if vanishing { 1.0 } else { x.value.mul_add(y.value, -value) };
    match p.basic(value, error, residual) {
        // A product that is fused with an addition may not overflow.
        product if product.value.is_infinite() => ANYTHING,
        product => product,
    }
}

fn quotient(value: f64, x: Real, y: Real, p: &Precision) -> Real {
    if y.value == 0.0 && y.is_exact() {
        let settled = x.is_exact() || !x.may_be_zero();
        return if settled { exact(value) } else { ANYTHING };
    }
    if y.may_be_zero() {
        return ANYTHING;
    }
    let error = (x.error + value.abs() * y.error) / (y.value.abs() - y.error);
    let vanishing = value.abs() < 1e-280 && x.value != 0.0;
    let residual = if vanishing { 1.0 } else { value.mul_add(y.value, -x.value) };
    p.basic(value, error, residual)
}

fn power(value: f64, x: Real, y: Real, p: &Precision) -> Real {
    if x.is_exact() && y.is_exact() {
        return p.round(value, 0.0, FUNCTION_UNITS);
    }
    if x.value <= x.error {
        return ANYTHING;
    }
    let corners = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)].map(|(s, t): (f64, f64)| {
        eval_binary(BinaryOp::Pow, x.value + s * x.error, y.value + t * y.error)
    });
    p.round(value, farthest(value, &corners), FUNCTION_UNITS)
}

fn remainder(value: f64, x: Real, y: Real, p: &Precision) -> Real {
    let scale = p.unit * y.value.abs();
    if x.is_exact() && y.is_exact() {
        let residual = if p.holds(value) && value == value.trunc() { 0.0 } else { 1.0 };
        return p.basic(value, if residual == 0.0 { 0.0 } else { scale }, residual);
    }
    let quotient = (x.value / y.value).floor();
    let moved = x.error + quotient.abs() * y.error + scale;
    let inside = value.abs() > moved && (y.value - value).abs() > moved && !y.may_be_zero();
    if inside { p.round(value, moved, 2.0) } else { ANYTHING }
}

fn angle_error(y: Real, x: Real) -> f64 {
    let error = x.error + y.error;
    let radius = x.value.hypot(y.value);
    let crosses = x.value <= x.error && y.may_be_zero();
    match error {
        0.0 => 0.0,
        _ if crosses || radius < 4.0 * error => f64::INFINITY,
        _ => 2.0 * error / radius,
    }
}

/// Returns true if a comparison has the same result within the errors.
pub(crate) fn comparison_is_settled(x: Real, y: Real) -> bool {
    let gap = (x.value - y.value).abs();
    let odd = !x.value.is_finite() || !y.value.is_finite();
    let error = x.error + y.error;
    error == 0.0 || error.is_finite() && (odd || gap > error)
}
