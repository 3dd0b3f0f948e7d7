//! Elements of arrays: the value in the specified order, and the range of values in other orders.

use super::complex::{self, Complex};
use super::form::Map;
use super::real::{self, Precision, Real, precision};
use crate::EvalError;
use crate::reference::value::{same_bits, zero};
use ijk_types::{BinaryOp, C128, DType, Monoid, Scalar, UnaryOp, scalar};

/// An element with its error analysis.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The value in the order that small programs specify, with separate rounding of each operation.
    pub value: Scalar,
    /// The value in the highest precision: `f32` as `f64`, `c64` as `c128`, others unchanged.
    pub wide: Scalar,
    /// Largest deviation from `wide` (of each part of a complex number) within the stated error bounds: 0 if it must be
    /// exact, infinite if any value is allowed.
    pub error: f64,
    /// Effect of factors in another order.
    pub(crate) order: Order,
}

/// Effect on an element of taking factors of a reduction in another order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Order {
    /// True for a product with a factor that is not finite, or very large or small, or with a divisor 0: after a
    /// reduction, it may become another NaN or infinity.
    product: bool,
    /// The same for a sum that a maximum or minimum reduces.
    sum: bool,
    /// True if any value is allowed.
    anything: bool,
    /// Number of multiplications and divisions of the element.
    factors: u32,
    /// Number of additions and subtractions, and the sum of the magnitudes of all terms.
    terms: (u32, f64),
}

impl Order {
    fn of(operands: &[Cell]) -> Self {
        operands.iter().fold(Self::default(), |all, cell| Self {
            product: all.product || cell.order.product,
            sum: all.sum || cell.order.sum,
            anything: all.anything || cell.order.anything,
            factors: all.factors + cell.order.factors,
            terms: (all.terms.0 + cell.order.terms.0, all.terms.1 + cell.terms()),
        })
    }

    /// After a function that is not part of a product or sum.
    fn closed(self) -> Self {
        Self { anything: self.anything, ..Self::default() }
    }

    fn after_unary(self, op: UnaryOp, x: Cell) -> Self {
        match op {
            UnaryOp::Neg | UnaryOp::Conj => self,
            UnaryOp::Recip => {
                let product = self.product || is_extreme(x) || is_zero(x);
                Self { product, factors: self.factors + 1, ..self.closed() }
            }
            _ => self.closed(),
        }
    }

    fn after_binary(self, op: BinaryOp, x: Cell, y: Cell) -> Self {
        let extreme = is_extreme(x) || is_extreme(y);
        match op {
            BinaryOp::Mul => Self {
                product: self.product || extreme,
                factors: self.factors + 1,
                ..self.closed()
            },
            BinaryOp::Div => Self {
                product: self.product || extreme || is_zero(y),
                factors: self.factors + 1,
                ..self.closed()
            },
            // Subtraction from 0 is negation.
            BinaryOp::Add | BinaryOp::Sub => Self {
                product: self.product && is_zero(x),
                sum: self.sum || extreme,
                anything: self.anything,
                factors: if is_zero(x) { self.factors } else { 0 },
                terms: (self.terms.0 + 1, self.terms.1),
            },
            _ => self.closed(),
        }
    }

    /// The elements of a reduction, with the roundings that another order may have.
    pub(crate) fn widened(monoid: Monoid, cells: &[Cell], p: &Precision) -> Vec<Cell> {
        let slack = |cell: &Cell| match (monoid, cell.order) {
            (Monoid::Add, Order { factors, .. }) if factors > 1 => {
                f64::from(factors) * p.unit * size(cell.wide)
            }
            (
                Monoid::Max | Monoid::Min | Monoid::LogAddExp,
                Order { terms: (count, sizes), .. },
            ) if count > 1 => f64::from(count) * p.unit * sizes,
            _ => 0.0,
        };
        let widened = |cell: &Cell| match slack(cell) {
            slack if slack.is_finite() => Cell { error: cell.error + slack, ..*cell },
            _ => *cell,
        };
        cells.iter().map(widened).collect()
    }

    /// The order of a reduction of elements.
    pub(crate) fn reduced(monoid: Monoid, cells: &[Cell]) -> Self {
        let all = Self::of(cells);
        let reordered = match monoid {
            Monoid::Add => all.product,
            Monoid::Max | Monoid::Min | Monoid::LogAddExp => all.sum,
            _ => false,
        };
        Self { anything: all.anything || reordered, ..Self::default() }
    }

    /// The order of an element that is chosen in a row: if one may have any value, another may be chosen.
    pub(crate) fn chosen(row: &[Cell]) -> Self {
        let anything = row.iter().any(|cell| cell.order.anything);
        Self { anything, ..Self::default() }
    }
}

/// Returns true if a factor may make a product over- or underflow.
fn is_extreme(x: Cell) -> bool {
    let most = match x.value.dtype().real() {
        DType::F16 => 2f64.powi(4),
        DType::BF16 | DType::F32 => 2f64.powi(40),
        DType::F64 => 2f64.powi(300),
        _ => return false,
    };
    let moderate = |x: f64| x == 0.0 || (most.recip()..=most).contains(&x.abs());
    match x.wide {
        Scalar::F64(x) => !moderate(x),
        Scalar::C128(z) => !(moderate(z.re) && moderate(z.im)),
        _ => false,
    }
}

/// Magnitude of a number.
fn size(x: Scalar) -> f64 {
    match x {
        Scalar::F64(x) => x.abs(),
        Scalar::C128(z) => z.norm(),
        _ => 0.0,
    }
}

fn is_zero(x: Cell) -> bool {
    match x.wide {
        Scalar::F64(value) => value.abs() <= x.error,
        Scalar::C128(z) => z.norm() <= x.error,
        _ => false,
    }
}

impl Cell {
    /// An exact element.
    pub fn exact(value: Scalar) -> Self {
        Self::new(value, widen(value), 0.0)
    }

    /// Sum of the magnitudes of its terms.
    fn terms(&self) -> f64 {
        if self.order.terms.0 > 0 { self.order.terms.1 } else { size(self.wide) }
    }

    pub(crate) fn new(value: Scalar, wide: Scalar, error: f64) -> Self {
        Self { value, wide, error, order: Order::default() }
    }

    /// Returns true if a result is within the bound, with factors of a reduction in any order.
    pub fn admits(&self, result: Scalar) -> bool {
        self.order.anything && result.dtype() == self.value.dtype()
            || self.admits_as_written(result)
    }

    /// Returns true if a result is within the bound.
    pub fn admits_as_written(&self, result: Scalar) -> bool {
        if self.error == f64::INFINITY {
            return result.dtype() == self.value.dtype();
        }
        result.dtype() == self.value.dtype() && within(widen(result), self.wide, self.error)
    }

    /// The element, of which any value is allowed.
    pub(crate) fn open(self) -> Self {
        Self { error: f64::INFINITY, ..self }
    }

    /// Returns true if other values than this one are allowed.
    pub(crate) fn is_open(&self) -> bool {
        self.error > 0.0 || self.order.anything
    }

    fn real(&self) -> Option<Real> {
        match self.wide {
            Scalar::F64(value) => Some(Real { value, error: self.error }),
            _ => None,
        }
    }

    fn complex(&self) -> Option<Complex> {
        match self.wide {
            Scalar::C128(value) => Some(Complex { value, error: self.error }),
            _ => None,
        }
    }

    fn of_real(value: Scalar, real: Real) -> Self {
        Self::new(value, Scalar::F64(real.value), real.error)
    }

    fn of_complex(value: Scalar, complex: Complex) -> Self {
        Self::new(value, Scalar::C128(complex.value), complex.error)
    }
}

fn within(result: Scalar, wide: Scalar, error: f64) -> bool {
    let close = |x: f64, y: f64| {
        x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= error && y.is_finite()
    };
    match (result, wide) {
        (Scalar::F64(x), Scalar::F64(y)) => close(x, y),
        (Scalar::C128(x), Scalar::C128(y)) => close(x.re, y.re) && close(x.im, y.im),
        (x, y) => same_bits(x, y),
    }
}

/// The same number in the highest precision.
pub(crate) fn widen(x: Scalar) -> Scalar {
    match x {
        Scalar::F16(_) | Scalar::BF16(_) | Scalar::F32(_) => Scalar::F64(x.as_f64()),
        Scalar::C64(z) => Scalar::C128(C128::new(z.re.into(), z.im.into())),
        other => other,
    }
}

fn wide_type(t: DType) -> DType {
    match t {
        DType::F16 | DType::BF16 | DType::F32 => DType::F64,
        DType::C64 => DType::C128,
        other => other,
    }
}

/// The value of a map at a point.
pub(crate) fn apply(
    map: Map,
    operands: &[Cell],
    point: impl Fn(char) -> i64,
) -> Result<Cell, EvalError> {
    let cell = match map {
        Map::Index(letter) => Cell::exact(Scalar::I64(point(letter))),
        Map::Unary(op) => unary(op, operands[0])?,
        Map::FromIdentity(monoid) => {
            let identity = scalar::identity(monoid, operands[0].value.dtype());
            binary(monoid.op(), Cell::exact(identity), operands[0])?
        }
        Map::Binary(op) => binary(op, operands[0], operands[1])?,
        Map::Where => choose(operands[0], operands[1], operands[2]),
    };
    let order = Order::of(operands);
    let order = match map {
        Map::FromIdentity(_) => order,
        Map::Unary(op) => order.after_unary(op, operands[0]),
        Map::Binary(op) => order.after_binary(op, operands[0], operands[1]),
        Map::Index(_) | Map::Where => order.closed(),
    };
    Ok(Cell { order, ..cell })
}

/// The element type of a map.
pub(crate) fn map_type(map: Map, operands: &[DType]) -> Result<DType, EvalError> {
    let same = |types: &[DType]| match types.iter().find(|&&t| t != types[0]) {
        Some(&other) => Err(EvalError::Mixed(types[0], other)),
        None => Ok(types[0]),
    };
    match map {
        Map::Index(_) => Ok(DType::I64),
        Map::Where if operands[0] != DType::Bool => Err(EvalError::Type(operands[0])),
        Map::Where => same(&operands[1..]),
        Map::Unary(op) if op.accepts().contains(operands[0]) => Ok(op.result().of(operands[0])),
        Map::Binary(op) if op.accepts().contains(same(operands)?) => {
            Ok(op.result().of(operands[0]))
        }
        Map::FromIdentity(monoid) if monoid.op().accepts().contains(operands[0]) => Ok(operands[0]),
        _ => Err(EvalError::Type(operands[0])),
    }
}

fn unary(op: UnaryOp, x: Cell) -> Result<Cell, EvalError> {
    let value = scalar::unary(op, x.value)?;
    let p = precision(x.value.dtype());
    Ok(match (op, p) {
        (UnaryOp::Cast(to), _) => cast(to, value, x),
        (_, Some(p)) => match (x.real(), x.complex()) {
            (Some(real), _) => Cell::of_real(value, real::unary(op, real, &p)),
            (_, Some(z)) => unary_of_complex(op, value, z, &p),
            _ => unreachable!("an element with a precision is real or complex"),
        },
        // As for two operands.
        (_, None) if x.error > 0.0 => Cell::new(value, value, x.error),
        (_, None) => Cell::new(value, scalar::unary(op, x.wide)?, x.error),
    })
}

fn unary_of_complex(op: UnaryOp, value: Scalar, z: Complex, p: &Precision) -> Cell {
    if matches!(op, UnaryOp::Abs | UnaryOp::Re | UnaryOp::Im) {
        Cell::of_real(value, complex::to_real(op, z, p))
    } else {
        Cell::of_complex(value, complex::unary(op, z, p))
    }
}

fn cast(to: DType, value: Scalar, x: Cell) -> Cell {
    if x.error == f64::INFINITY {
        return Cell::new(value, zero(wide_type(to)), f64::INFINITY);
    }
    match (x.real(), precision(to)) {
        (Some(real), Some(p)) if x.error > 0.0 => {
            Cell::of_real(value, p.round(real.value, real.error, 1.0))
        }
        (Some(real), None) if x.error > 0.0 => cast_inexact(to, value, real),
        _ => Cell::exact(value_of_exact(to, x, value)),
    }
}

/// The cast of an exact element: of its exact value, from which the value in the specified order may differ.
fn value_of_exact(to: DType, x: Cell, value: Scalar) -> Scalar {
    scalar::unary(UnaryOp::Cast(to), x.wide).unwrap_or(value)
}

fn cast_inexact(to: DType, value: Scalar, real: Real) -> Cell {
    let at = |x: f64| scalar::unary(UnaryOp::Cast(to), Scalar::F64(x)).unwrap_or(value);
    let ends = [at(real.value - real.error), at(real.value), at(real.value + real.error)];
    let straddles = real.value.abs() <= real.error && to == DType::Bool;
    let settled = ends.iter().all(|&end| same_bits(end, ends[1])) && !straddles;
    Cell::new(value, ends[1], if settled { 0.0 } else { f64::INFINITY })
}

fn binary(op: BinaryOp, x: Cell, y: Cell) -> Result<Cell, EvalError> {
    let value = scalar::binary(op, x.value, y.value)?;
    if value.dtype() == DType::Bool {
        return Ok(compare(op, value, x, y));
    }
    let p = precision(x.value.dtype());
    Ok(match (p, x.real(), y.real(), x.complex(), y.complex()) {
        (Some(p), Some(a), Some(b), ..) => Cell::of_real(value, real::binary(op, a, b, &p)),
        (Some(p), _, _, Some(a), Some(b)) => Cell::of_complex(value, complex::binary(op, a, b, &p)),
        _ => {
            let error = x.error.max(y.error);
            // An undetermined integer may replace a divisor that was valid.
            let wide = scalar::binary(op, x.wide, y.wide);
            Cell::new(value, if error > 0.0 { value } else { wide? }, error)
        }
    })
}

fn compare(op: BinaryOp, value: Scalar, x: Cell, y: Cell) -> Cell {
    let settled = match (x.real(), y.real(), x.complex(), y.complex()) {
        (Some(a), Some(b), ..) => real::comparison_is_settled(a, b),
        (_, _, Some(a), Some(b)) => complex::comparison_is_settled(a, b),
        _ => x.error.max(y.error) == 0.0,
    };
    let wide = scalar::binary(op, x.wide, y.wide).unwrap_or(value);
    Cell::new(value, wide, if settled { 0.0 } else { f64::INFINITY })
}

fn choose(condition: Cell, yes: Cell, no: Cell) -> Cell {
    let take = |bool: Scalar| if bool == Scalar::Bool(true) { yes } else { no };
    let (value, chosen) = (take(condition.value).value, take(condition.wide));
    let settled = condition.error == 0.0
        || yes.error == 0.0 && no.error == 0.0 && same_bits(yes.wide, no.wide);
    Cell::new(value, chosen.wide, if settled { chosen.error } else { f64::INFINITY })
}

/// The identity of a monoid as a cell.
pub(crate) fn identity(monoid: Monoid, t: DType) -> Cell {
    Cell::exact(scalar::identity(monoid, t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undetermined_integers_divide_as_their_values_do() {
        // A position among numbers that may have any value.
        let x = Cell::new(Scalar::I64(7), Scalar::I64(0), f64::INFINITY);
        let one = Cell::exact(Scalar::I64(1));
        for cell in [unary(UnaryOp::Recip, x), binary(BinaryOp::Div, one, x)] {
            let cell = cell.unwrap();
            assert_eq!((cell.value, cell.error), (Scalar::I64(0), f64::INFINITY));
        }
        assert!(unary(UnaryOp::Recip, Cell::exact(Scalar::I64(0))).is_err());
    }
}
