//! Abstract interpretation of formulas: a superset of the values that a formula may have, derived from those of its
//! operands.
//!
//! A panel is skipped only if everything that it could add is known to add nothing. So sets contain every possible
//! value: bounds are computed in the elements' own type, whose rounding is monotone.

use super::{Formula, FormulaNode};
use ijk_types::{BinaryOp, DType, Reducer, Scalar, UnaryOp, scalar};

/// Set of values that elements may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueSet {
    /// One value, of these bits.
    Is(Scalar),
    /// Floats, and the parts of complex numbers.
    Bounds(FloatBounds),
    /// Any value of their type.
    Any,
}

/// Floats from the least to the greatest, of which -0 is less than 0, and perhaps NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FloatBounds {
    pub(crate) least: f64,
    pub(crate) greatest: f64,
    pub(crate) nan: bool,
}

impl FloatBounds {
    const ALL: Self = Self { least: f64::NEG_INFINITY, greatest: f64::INFINITY, nan: true };
    const ZEROS: Self = Self { least: -0.0, greatest: 0.0, nan: false };

    /// From one bound to another, in either order.
    fn between(bounds: &[f64], nan: bool) -> Self {
        if bounds.iter().any(|bound| bound.is_nan()) {
            return Self::ALL;
        }
        let least = bounds.iter().copied().min_by(f64::total_cmp);
        let greatest = bounds.iter().copied().max_by(f64::total_cmp);
        Self { least: least.unwrap_or_default(), greatest: greatest.unwrap_or_default(), nan }
    }

    fn is_finite(&self) -> bool {
        !self.nan && self.least.is_finite() && self.greatest.is_finite()
    }

    /// Returns true if all values are zeros, of either sign.
    fn is_zero(&self) -> bool {
        !self.nan && self.least == 0.0 && self.greatest == 0.0
    }

    fn has_zero(&self) -> bool {
        self.least <= 0.0 && self.greatest >= 0.0
    }

    fn has_infinity(&self) -> bool {
        self.least.is_infinite() || self.greatest.is_infinite()
    }

    fn negated(self) -> Self {
        Self { least: -self.greatest, greatest: -self.least, nan: self.nan }
    }
}

impl ValueSet {
    /// Set of all values of a type.
    pub(crate) fn unknown(dtype: DType) -> Self {
        match is_inexact(dtype) {
            true => Self::Bounds(FloatBounds::ALL),
            false => Self::Any,
        }
    }

    /// Returns true if all values equal `value`, to the last bit.
    pub(crate) fn is(&self, value: Scalar) -> bool {
        matches!(self, Self::Is(own) if own.same_bits(value))
    }

    /// Returns true if folding with such values changes nothing. The sum of zeros is 0 whatever their signs.
    pub(crate) fn adds_nothing(&self, reducer: Reducer, dtype: DType) -> bool {
        let Reducer::Monoid(monoid) = reducer else { return false };
        match *self {
            Self::Is(value) if monoid == ijk_types::Monoid::Add => value == Scalar::zero(dtype),
            Self::Is(value) => value.same_bits(scalar::identity(monoid, dtype)),
            Self::Bounds(within) => monoid == ijk_types::Monoid::Add && within.is_zero(),
            Self::Any => false,
        }
    }

    /// The same, assuming that no value is infinite or NaN that is not known to be.
    fn assumed_finite(self, dtype: DType) -> Self {
        let most = if single(dtype) { f64::from(f32::MAX) } else { f64::MAX };
        match self {
            Self::Bounds(FloatBounds { least, greatest, .. }) => {
                let [least, greatest] = [least, greatest].map(|bound| bound.clamp(-most, most));
                Self::Bounds(FloatBounds { least, greatest, nan: false })
            }
            known => known,
        }
    }

    /// As bounds, of elements of a type that has them.
    fn within(self, dtype: DType) -> Option<FloatBounds> {
        let point = |x: f64| FloatBounds { least: x, greatest: x, nan: x.is_nan() };
        match self {
            Self::Bounds(within) => Some(within),
            Self::Is(Scalar::F32(x)) => Some(point(x.into())),
            Self::Is(Scalar::F64(x)) => Some(point(x)),
            Self::Is(x @ (Scalar::F16(_) | Scalar::BF16(_))) => Some(point(x.as_f64())),
            Self::Is(Scalar::C64(z)) => Some(parts(z.re.into(), z.im.into())),
            Self::Is(Scalar::C128(z)) => Some(parts(z.re, z.im)),
            _ => is_inexact(dtype).then_some(FloatBounds::ALL),
        }
        .map(|within| if within.least.is_nan() { FloatBounds::ALL } else { within })
    }

    /// A single value, if the bounds are equal.
    fn narrowed(self, dtype: DType) -> Self {
        let Self::Bounds(FloatBounds { least, greatest, nan: false }) = self else { return self };
        match dtype {
            _ if least.to_bits() != greatest.to_bits() => self,
            DType::F32 => Self::Is(Scalar::F32(least as f32)),
            DType::F64 => Self::Is(Scalar::F64(least)),
            _ => self,
        }
    }
}

fn parts(re: f64, im: f64) -> FloatBounds {
    FloatBounds::between(&[re, im], re.is_nan() || im.is_nan())
}

fn is_inexact(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// Returns true if the type is computed in 32-bit floats.
fn single(dtype: DType) -> bool {
    matches!(dtype.lanes(), DType::F32 | DType::C64)
}

impl Formula {
    /// Set of values for variables of these types and sets. `finite` assumes that no element is infinite or NaN that is
    /// not known to be.
    ///
    /// [`ValueSet::Any`], too, where there may be no value, as an integer divided by zero.
    pub(crate) fn value_set(
        &self,
        types: &[DType],
        variables: &[ValueSet],
        finite: bool,
    ) -> ValueSet {
        let Ok(types) = self.types(types) else { return ValueSet::Any };
        let mut all: Vec<ValueSet> = Vec::with_capacity(self.nodes.len());
        for (node, &dtype) in self.nodes.iter().zip(&types) {
            let of = |n: u32| (all[n as usize], types[n as usize]);
            let found = match *node {
                FormulaNode::Variable(number) => Some(variables[number]),
                FormulaNode::Number(literal) => literal.to_scalar(dtype).ok().map(ValueSet::Is),
                FormulaNode::Unary(op, x) => unary(op, of(x), dtype),
                FormulaNode::Binary(op, x, y) => binary(op, of(x), of(y).0),
                FormulaNode::Select(c, x, y) => Some(match of(c).0 {
                    ValueSet::Is(Scalar::Bool(true)) => of(x).0,
                    ValueSet::Is(_) => of(y).0,
                    _ => ValueSet::unknown(dtype),
                }),
                // They differ from point to point.
                FormulaNode::Random(_) => Some(ValueSet::unknown(dtype)),
                // Numbers have nothing to fold.
                FormulaNode::Fold(..) => None,
            };
            let Some(found) = found else { return ValueSet::Any };
            let found = if finite { found.assumed_finite(dtype) } else { found };
            all.push(found.narrowed(dtype));
        }
        all.pop().unwrap_or(ValueSet::Any)
    }
}

/// Value of a function; none where it may have no value.
fn unary(op: UnaryOp, (x, from): (ValueSet, DType), to: DType) -> Option<ValueSet> {
    if let ValueSet::Is(x) = x {
        return scalar::unary(op, x).ok().map(ValueSet::Is);
    }
    let real = |dtype| matches!(dtype, DType::F32 | DType::F64);
    let found = match (op, x) {
        (UnaryOp::Neg, ValueSet::Bounds(x)) => x.negated(),
        (UnaryOp::Abs, ValueSet::Bounds(x)) if real(from) => {
            let greatest = x.least.abs().max(x.greatest.abs());
            FloatBounds { least: 0.0, greatest, nan: x.nan }
        }
        (UnaryOp::Cast(DType::F64), ValueSet::Bounds(x)) if real(from) => x,
        (UnaryOp::Cast(DType::F32), ValueSet::Bounds(x)) if real(from) => {
            let [least, greatest] = [x.least, x.greatest].map(|bound| f64::from(bound as f32));
            FloatBounds { least, greatest, nan: x.nan }
        }
        _ => return Some(ValueSet::unknown(to)),
    };
    Some(ValueSet::Bounds(found))
}

/// The same of two operands of one type.
fn binary(op: BinaryOp, (x, dtype): (ValueSet, DType), y: ValueSet) -> Option<ValueSet> {
    if let (ValueSet::Is(x), ValueSet::Is(y)) = (x, y) {
        return scalar::binary(op, x, y).ok().map(ValueSet::Is);
    }
    let exact = !is_inexact(dtype);
    let one = match (x, y) {
        (ValueSet::Is(one), _) | (_, ValueSet::Is(one)) => Some(one),
        _ => None,
    };
    match op {
        BinaryOp::Mul | BinaryOp::And if exact && one == Some(Scalar::zero(dtype)) => {
            return one.map(ValueSet::Is);
        }
        BinaryOp::Or | BinaryOp::Add if one == Some(Scalar::Bool(true)) => {
            return one.map(ValueSet::Is);
        }
        // By zero, or to a negative power.
        BinaryOp::Div | BinaryOp::Mod | BinaryOp::Pow if exact => return None,
        _ => {}
    }
    let fixed = matches!(op.result(), ijk_types::ResultType::Fixed(_));
    let (Some(x), Some(y), false) = (x.within(dtype), y.within(dtype), fixed) else {
        return Some(ValueSet::Any);
    };
    // Rounding of an operation of a narrow type to it depends on the expression around it.
    let coarse = dtype.is_complex() || dtype.lanes() != dtype;
    let found = match op {
        BinaryOp::Mul if coarse => product_of_parts(x, y),
        BinaryOp::Max | BinaryOp::Min => extreme(op, x, y),
        _ if coarse => FloatBounds::ALL,
        BinaryOp::Mul => product(x, y, dtype),
        BinaryOp::Add => sum(x, y, dtype),
        BinaryOp::Sub => sum(x, y.negated(), dtype),
        BinaryOp::Div => quotient(x, y, dtype),
        _ => FloatBounds::ALL,
    };
    Some(ValueSet::Bounds(found))
}

/// A number, rounded to the type.
fn rounded(x: f64, dtype: DType) -> f64 {
    if single(dtype) { f64::from(x as f32) } else { x }
}

fn product(x: FloatBounds, y: FloatBounds, dtype: DType) -> FloatBounds {
    if x.has_zero() && y.has_infinity() || y.has_zero() && x.has_infinity() {
        return FloatBounds::ALL;
    }
    let ends =
        [x.least * y.least, x.least * y.greatest, x.greatest * y.least, x.greatest * y.greatest];
    FloatBounds::between(&ends.map(|end| rounded(end, dtype)), x.nan || y.nan)
}

fn quotient(x: FloatBounds, y: FloatBounds, dtype: DType) -> FloatBounds {
    if y.has_zero() || x.has_infinity() && y.has_infinity() {
        return FloatBounds::ALL;
    }
    let ends =
        [x.least / y.least, x.least / y.greatest, x.greatest / y.least, x.greatest / y.greatest];
    FloatBounds::between(&ends.map(|end| rounded(end, dtype)), x.nan || y.nan)
}

/// Of complex numbers: where one factor is 0 and the other finite, parts are zeros of any sign.
fn product_of_parts(x: FloatBounds, y: FloatBounds) -> FloatBounds {
    let is_zero = x.is_zero() && y.is_finite() || y.is_zero() && x.is_finite();
    if is_zero { FloatBounds::ZEROS } else { FloatBounds::ALL }
}

fn sum(x: FloatBounds, y: FloatBounds, dtype: DType) -> FloatBounds {
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    let cancels = |x: FloatBounds, y: FloatBounds| x.least == low && y.greatest == high;
    if cancels(x, y) || cancels(y, x) {
        return FloatBounds::ALL;
    }
    let ends = [x.least + y.least, x.greatest + y.greatest];
    FloatBounds::between(&ends.map(|end| rounded(end, dtype)), x.nan || y.nan)
}

/// The greater or the less. Of two zeros it may be either.
fn extreme(op: BinaryOp, x: FloatBounds, y: FloatBounds) -> FloatBounds {
    let choose = |x: f64, y: f64| match (op == BinaryOp::Max) == (x.total_cmp(&y).is_gt()) {
        true => x,
        false => y,
    };
    let mut found = FloatBounds {
        least: choose(x.least, y.least),
        greatest: choose(x.greatest, y.greatest),
        nan: x.nan || y.nan,
    };
    if x.has_zero() && y.has_zero() {
        if found.least == 0.0 {
            found.least = -0.0;
        }
        if found.greatest == 0.0 {
            found.greatest = 0.0;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_types::Monoid;

    fn of(text: &str, l: ValueSet, r: ValueSet) -> ValueSet {
        let formula = Formula::parse(text, &["l", "r"]).unwrap();
        formula.value_set(&[DType::F64; 2], &[l, r], false)
    }

    fn is(x: f64) -> ValueSet {
        ValueSet::Is(Scalar::F64(x))
    }

    fn within(least: f64, greatest: f64) -> ValueSet {
        ValueSet::Bounds(FloatBounds { least, greatest, nan: false })
    }

    #[test]
    fn zero_annihilates_what_is_finite() {
        let adds = |values: ValueSet| values.adds_nothing(Reducer::Monoid(Monoid::Add), DType::F64);
        assert!(of("l * r", is(0.0), within(1.0, 3.0)).is(Scalar::F64(0.0)));
        assert!(of("l * r", is(0.0), within(-3.0, -1.0)).is(Scalar::F64(-0.0)));
        assert!(adds(of("l * r", is(0.0), within(-3.0, f64::MAX))));
        assert!(!adds(of("l * r", is(0.0), within(1.0, f64::INFINITY))));
        assert!(!adds(of("l * r", is(0.0), ValueSet::unknown(DType::F64))));
        assert!(!adds(of("l * r", is(f64::NAN), within(0.0, 1.0))));
        assert!(!adds(of("r * (l + 1)", is(0.0), within(0.0, 1.0))));
        // A product that overflows first.
        assert!(!adds(of("l * (r * r)", is(0.0), within(1.0, 1e300))));
        assert!(adds(of("l * (r * r)", is(0.0), within(1.0, 1e100))));
    }

    #[test]
    fn infinity_annihilates_what_has_not_the_opposite() {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        let greater =
            |values: ValueSet| values.adds_nothing(Reducer::Monoid(Monoid::Max), DType::F64);
        assert!(greater(of("l + r", is(low), within(low, f64::MAX))));
        assert!(!greater(of("l + r", is(low), within(0.0, high))));
        assert!(!greater(of("l - r", is(low), within(low, 0.0))));
        assert!(of("l + r", within(-1.0, high), is(high)).is(Scalar::F64(high)));
        let nan = ValueSet::Bounds(FloatBounds { least: 0.0, greatest: 1.0, nan: true });
        assert!(!greater(of("l + r", is(low), nan)));
    }

    #[test]
    fn whole_numbers_annihilate_always_unless_there_is_no_value() {
        let whole = |text: &str| {
            let formula = Formula::parse(text, &["l", "r"]).unwrap();
            let zero = Scalar::I32(0);
            formula
                .value_set(&[DType::I32; 2], &[ValueSet::Is(zero), ValueSet::Any], false)
                .is(zero)
        };
        assert!(whole("l * r") && whole("r * (2 * l)"));
        assert!(!whole("l + r") && !whole("l * (1 / r)"));
    }

    #[test]
    fn bounds_hold_all_values() {
        let values = [
            f64::NEG_INFINITY,
            -1e300,
            -2.5,
            -1e-300,
            -0.0,
            0.0,
            1e-300,
            0.5,
            3.0,
            1e300,
            f64::INFINITY,
        ];
        let texts = [
            "l + r",
            "l - r",
            "l * r",
            "l / r",
            "max(l, r)",
            "min(l, r)",
            "abs(l) - l * r",
            "-l + 2 * r",
        ];
        for text in texts {
            let formula = Formula::parse(text, &["l", "r"]).unwrap();
            for (a, b) in (0..values.len()).flat_map(|a| (a..values.len()).map(move |b| (a, b))) {
                for (c, d) in [(0, 10), (4, 5), (5, 5), (2, 7), (6, 10), (0, 4), (3, 3)] {
                    let (x, y) = (&values[a..=b], &values[c..=d]);
                    let ranges = [x, y].map(|v| within(v[0], v[v.len() - 1]).narrowed(DType::F64));
                    let found = formula.value_set(&[DType::F64; 2], &ranges, false);
                    let bounds = found.within(DType::F64).unwrap();
                    for (&l, &r) in x.iter().flat_map(|l| y.iter().map(move |r| (l, r))) {
                        let value = formula.evaluate(&[Scalar::F64(l), Scalar::F64(r)]).unwrap();
                        let value = value.as_f64();
                        let held = match value.is_nan() {
                            true => bounds.nan,
                            false => {
                                bounds.least.total_cmp(&value).is_le()
                                    && bounds.greatest.total_cmp(&value).is_ge()
                            }
                        };
                        assert!(held, "{text} of {l} and {r} is {value}, not in {bounds:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_assumed_to_be_finite_is_annihilated() {
        let formula = Formula::parse("l * (r * r)", &["l", "r"]).unwrap();
        let variables = [is(0.0), ValueSet::unknown(DType::F64)];
        let found = formula.value_set(&[DType::F64; 2], &variables, true);
        assert!(found.adds_nothing(Reducer::Monoid(Monoid::Add), DType::F64));
    }
}
