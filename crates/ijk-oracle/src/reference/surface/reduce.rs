//! Reductions, with the error bounds that the engine states.
//!
//! The error of sums is at most `(B + log2 n)·eps·Σ|x|`, of contractions `(KC + K/KC)·eps·Σ|ab|`. Below `B` terms no
//! order is worse than sequential addition: `n·eps·Σ|x|`, which is also the bound of sums whose terms are scattered
//! over the output (`+i~[i%3]`) and added in order.

use super::cell::{self, Cell, Order};
use super::complex::{self, Complex};
use super::real::{self, Precision, Real, precision};
use crate::EvalError;
use crate::reference::value::same_bits;
use ijk_types::{C128, DType, Monoid, Scalar, scalar};
use std::cmp::Ordering;

/// Terms that may be added sequentially before partial sums are combined.
const BLOCK: f64 = 512.0;

/// Combines values in order, starting from the identity; `scattered` if an expression in the output's index determines
/// their element.
pub(crate) fn reduce(
    monoid: Monoid,
    dtype: DType,
    cells: &[Cell],
    scattered: bool,
) -> Result<Cell, EvalError> {
    let start = cell::identity(monoid, dtype);
    let mut value = start.value;
    for cell in cells {
        value = scalar::binary(monoid.op(), value, cell.value)?;
    }
    let widened = precision(dtype).map(|p| Order::widened(monoid, cells, &p));
    let cells = widened.as_deref().unwrap_or(cells);
    let cell = match (precision(dtype), monoid) {
        (Some(p), Monoid::Add) => sum(value, cells, &p, scattered),
        (Some(p), Monoid::Mul) => product(value, cells, &p),
        (Some(p), Monoid::LogAddExp) => log_sum(value, cells, &p),
        (Some(p), _) => extreme(monoid, value, start, cells, &p),
        (None, _) => whole(monoid, value, start, cells)?,
    };
    Ok(Cell { order: Order::reduced(monoid, cells), ..cell })
}

/// Integers and bools: exact in any order.
fn whole(monoid: Monoid, value: Scalar, start: Cell, cells: &[Cell]) -> Result<Cell, EvalError> {
    let mut wide = start.wide;
    for cell in cells {
        wide = scalar::binary(monoid.op(), wide, cell.wide)?;
    }
    let error = cells.iter().map(|c| c.error).fold(0.0, f64::max);
    Ok(Cell::new(value, wide, error))
}

fn extreme(monoid: Monoid, value: Scalar, start: Cell, cells: &[Cell], p: &Precision) -> Cell {
    let real = |c: &Cell| match c.wide {
        Scalar::F64(value) => Real { value, error: c.error },
        _ => real::ANYTHING,
    };
    let most =
        cells.iter().fold(real(&start), |most, c| real::binary(monoid.op(), most, real(c), p));
    Cell::new(value, Scalar::F64(most.value), most.error)
}

fn parts(x: Scalar) -> [f64; 2] {
    match x {
        Scalar::F64(re) => [re, 0.0],
        Scalar::C128(z) => [z.re, z.im],
        _ => [f64::NAN; 2],
    }
}

fn rebuild(value: Scalar, [re, im]: [f64; 2], error: f64) -> Cell {
    let real = value.dtype().is_float();
    let wide = if real { Scalar::F64(re) } else { Scalar::C128(C128::new(re, im)) };
    Cell::new(value, wide, error)
}

fn anything(value: Scalar) -> Cell {
    rebuild(value, [0.0; 2], f64::INFINITY)
}

/// Accumulated properties of one part of a sum.
#[derive(Clone, Copy, Debug)]
struct Sum {
    plain: f64,
    lost: f64,
    magnitude: f64,
    infinite: bool,
    /// The largest power of two that divides every term.
    grain: f64,
}

impl Sum {
    const EMPTY: Self =
        Self { plain: 0.0, lost: 0.0, magnitude: 0.0, infinite: false, grain: f64::INFINITY };

    fn add(&mut self, x: f64) {
        let sum = self.plain + x;
        let bigger = if self.plain.abs() >= x.abs() {
            (self.plain - sum) + x
        } else {
            (x - sum) + self.plain
        };
        self.lost += bigger;
        self.plain = sum;
        self.infinite |= !x.is_finite();
        self.magnitude += if x.is_finite() { x.abs() } else { 0.0 };
        self.grain = self.grain.min(grain(x));
    }

    fn total(&self) -> f64 {
        if self.plain.is_finite() { self.plain + self.lost } else { self.plain }
    }

    /// Returns true if any order gives exactly the total.
    fn is_exact(&self, p: &Precision) -> bool {
        self.magnitude == 0.0 || self.magnitude <= self.grain * 2f64.powi(p.digits)
    }
}

/// The largest power of two that divides a number.
fn grain(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return f64::INFINITY;
    }
    let bits = x.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (exponent, significand) =
        if exponent == 0 { (1, fraction) } else { (exponent, fraction | 1 << 52) };
    2f64.powi(significand.trailing_zeros() as i32).mul_add(2f64.powi(exponent - 1075), 0.0)
}

fn sum(value: Scalar, cells: &[Cell], p: &Precision, scattered: bool) -> Cell {
    let mut sums = [Sum::EMPTY; 2];
    for cell in cells {
        parts(cell.wide).into_iter().zip(&mut sums).for_each(|(x, sum)| sum.add(x));
    }
    let given: f64 = cells.iter().map(|c| c.error).sum();
    let total = sums.map(|s| s.total());
    let magnitude = sums[0].magnitude.max(sums[1].magnitude);
    if given.is_infinite() || (magnitude + given) * 1.001 > p.max {
        return anything(value);
    }
    if sums.iter().all(|s| s.infinite || s.magnitude == 0.0) {
        return rebuild(value, total, given);
    }
    if given == 0.0 && sums.iter().all(|s| s.is_exact(p)) {
        return rebuild(value, total, 0.0);
    }
    let n = cells.len() as f64;
    let run = if scattered { n } else { n.min(BLOCK) };
    let steps = run + n.log2() + n / BLOCK + 2.0;
    rebuild(value, total, given + steps * p.unit * (magnitude + given) + n * p.tiny)
}

/// The logarithm of a sum of exponentials. Those are summed relative to the greatest term, so roundings are those of a
/// sum of numbers of at most 1, of the terms and of the result. Errors of terms weigh one together.
fn log_sum(value: Scalar, cells: &[Cell], p: &Precision) -> Cell {
    let terms = || cells.iter().map(|c| parts(c.wide)[0]);
    let given = cells.iter().map(|c| c.error).fold(0.0, f64::max);
    let most = terms().fold(f64::NEG_INFINITY, f64::max);
    if given.is_infinite() {
        return anything(value);
    }
    if terms().any(f64::is_nan) || most.is_infinite() {
        let all = if terms().any(f64::is_nan) { f64::NAN } else { most };
        return rebuild(value, [all, 0.0], 0.0);
    }
    let mut sum = Sum::EMPTY;
    terms().for_each(|x| sum.add((x - most).exp()));
    let total = most + sum.total().ln();
    let n = cells.len() as f64;
    let steps = n.min(BLOCK) + n.log2() + n / BLOCK + LOG_SUM_STEPS;
    let size = 4.0 * (most.abs() + total.abs());
    if total.abs().max(most.abs()) * 1.001 + given > p.max {
        return anything(value);
    }
    let error = given + p.unit * (steps + size) + p.tiny;
    rebuild(value, [total, 0.0], error)
}

/// Roundings of exponents, exponentials and logarithms, and what the least normal number of the exponents' range adds.
const LOG_SUM_STEPS: f64 = 128.0;

/// Range of a product's partial products, above and below its final value.
#[derive(Clone, Copy, Debug, Default)]
struct Swing {
    up: f64,
    down: f64,
}

impl Swing {
    fn multiply(&mut self, x: f64) {
        let log = if x == 0.0 { 0.0 } else { x.abs().log2() };
        self.up += log.max(0.0);
        self.down += log.min(0.0);
    }

    fn stays_normal(&self, p: &Precision) -> bool {
        let limit = p.max.log2() - 2.0;
        self.up < limit && -self.down < limit
    }
}

fn product(value: Scalar, cells: &[Cell], p: &Precision) -> Cell {
    if matches!(value, Scalar::C64(_) | Scalar::C128(_)) {
        return complex_product(value, cells, p);
    }
    let finite = |c: &&Cell| parts(c.wide)[0].is_finite();
    let mut swing = Swing::default();
    cells.iter().filter(finite).for_each(|c| swing.multiply(parts(c.wide)[0]));
    let real = |c: &Cell| Real { value: parts(c.wide)[0], error: c.error };
    let total = cells
        .iter()
        .fold(real::exact(1.0), |total, c| real::binary(Monoid::Mul.op(), total, real(c), p));
    let error = if exact_in_any_order(cells, p) {
        total.error
    } else {
        total.error.max(p.unit * total.value.abs())
    };
    let special = cells.iter().any(|c| !finite(&c)) && cells.iter().all(|c| c.error == 0.0);
    let plain = || cells.iter().map(|c| parts(c.wide)[0]).product();
    match swing.stays_normal(p) {
        true if special => rebuild(value, [plain(), 0.0], 0.0),
        true => rebuild(value, [total.value, 0.0], 2.0 * error),
        false => anything(value),
    }
}

/// Returns true if every product of some of the factors is exact: small integers, or powers of two.
fn exact_in_any_order(cells: &[Cell], p: &Precision) -> bool {
    let digits = |c: &Cell| {
        let x = parts(c.wide)[0].abs();
        if x == 0.0 { 0.0 } else { (x / grain(x)).log2().ceil() }
    };
    cells.iter().map(digits).sum::<f64>() < f64::from(p.digits)
}

fn complex_product(value: Scalar, cells: &[Cell], p: &Precision) -> Cell {
    let complex =
        |c: &Cell| Complex { value: C128::new(parts(c.wide)[0], parts(c.wide)[1]), error: c.error };
    let one = Complex { value: C128::new(1.0, 0.0), error: 0.0 };
    let total =
        cells.iter().fold(one, |total, c| complex::binary(Monoid::Mul.op(), total, complex(c), p));
    let mut swing = Swing::default();
    cells.iter().for_each(|c| swing.multiply(complex(c).value.norm()));
    let scale: f64 = cells.iter().map(|c| complex(c).value.norm()).product();
    let slack = 8.0 * cells.len() as f64 * p.unit * scale;
    match swing.stays_normal(p) && scale.is_finite() {
        true if total.error == 0.0 => rebuild(value, parts(Scalar::C128(total.value)), 0.0),
        true => rebuild(value, parts(Scalar::C128(total.value)), 2.0 * total.error + slack),
        false => anything(value),
    }
}

/// The position of the greatest (or least) of some values: the first of equal ones, or the first NaN.
pub(crate) fn arg(greatest: bool, cells: &[Cell]) -> Cell {
    let value = Scalar::I64(first_best(greatest, cells, |c| c.value) as i64);
    let best = first_best(greatest, cells, |c| c.wide);
    let rivals = || cells.iter().enumerate().filter(|&(at, _)| at != best);
    let error = match rivals().all(|(_, rival)| settled(&cells[best], rival)) {
        true => 0.0,
        false => f64::INFINITY,
    };
    Cell { order: Order::chosen(cells), ..Cell::new(value, Scalar::I64(best as i64), error) }
}

fn settled(best: &Cell, rival: &Cell) -> bool {
    match (best.wide, rival.wide) {
        (Scalar::F64(x), Scalar::F64(y)) => {
            let (x, y) =
                (Real { value: x, error: best.error }, Real { value: y, error: rival.error });
            // Compared with an exact NaN, only values that may be NaN matter.
            let nan = x.value.is_nan() && x.is_exact() && !y.is_anything() && !y.value.is_nan();
            nan || real::comparison_is_settled(x, y)
        }
        _ => best.error == 0.0 && rival.error == 0.0,
    }
}

fn first_best(greatest: bool, cells: &[Cell], of: impl Fn(&Cell) -> Scalar) -> usize {
    (1..cells.len()).fold(0, |best, at| {
        if beats(greatest, of(&cells[at]), of(&cells[best])) { at } else { best }
    })
}

/// Returns true if `x` replaces `best`.
fn beats(greatest: bool, x: Scalar, best: Scalar) -> bool {
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let is_nan = |x: Scalar| !same_order(x, x);
    !is_nan(best) && (is_nan(x) || order(x, best) == Some(wanted))
}

fn same_order(x: Scalar, y: Scalar) -> bool {
    order(x, y).is_some() && (same_bits(x, y) || order(x, y) == Some(Ordering::Equal))
}

fn order(x: Scalar, y: Scalar) -> Option<Ordering> {
    macro_rules! compared {
        ($($variant:ident)*) => {
            match (x, y) {
                $((Scalar::$variant(a), Scalar::$variant(b)) => a.partial_cmp(&b),)*
                _ => None,
            }
        };
    }
    compared!(Bool U8 U16 U32 U64 I8 I16 I32 I64 F16 BF16 F32 F64)
}
