//! Aggregations of `contract`: `+` of `*`, or another pair of functions.

mod closures;
mod lists;

pub use closures::Semiring;
pub(crate) use closures::{Contracts, Extents, fibres};
use lists::ListContraction;

use crate::component;
use crate::formula::{Fold, fold_name, parse_aggregation};
use crate::{ElementType, Formula, Problem, TextError, Value};
use ijk_ir::core::Program;
use ijk_types::{BinaryOp, DType, Element, Monoid, Reducer, scalar};
use std::fmt;
use std::sync::Arc;

/// Combination of pairs of elements and fold of all pairs, for [`BigTensor::contract`](crate::BigTensor::contract);
/// cheap to clone.
///
/// However a sum of products is spelled, it is recognised, and multiplied by the engine's kernels:
///
/// ```
/// use ijk_blocks::{Aggregation, BigTensor};
/// use ijk_types::{BinaryOp, Monoid};
/// let spellings = [
///     Aggregation::parse("sum(l * r)")?,
///     Aggregation::parse("sum(r * l)")?,
///     Aggregation::parse("+(i*i)~.")?,
///     Aggregation::parse("i*i~i . +i~.")?,
///     Aggregation::new(Monoid::Add, BinaryOp::Mul),
///     Aggregation::fold(Monoid::Add, |l, r| l * r),
/// ];
/// assert!(spellings.iter().all(Aggregation::is_product));
/// assert!(!Aggregation::parse("max(l + r)")?.is_product());
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
///
/// Aggregations are `sum`, `product`, `max`, `min`, `all` and `any`, which run block by block, and `argmax`, `argmin`
/// and `collect` (a list of all values), which need an axis in one block. Of elements that are lists, the formula makes
/// numbers of each pair, as `sum(sum(l * r))` does; `collect` accepts any.
#[derive(Clone)]
pub struct Aggregation {
    pub(crate) kind: Kind,
}

#[derive(Clone)]
pub(crate) enum Kind {
    /// A formula, computed by the engine.
    Fold(Fold, Arc<Formula>),
    /// Closures.
    Closures(Arc<dyn Contracts>),
}

impl Aggregation {
    /// Reads `sum(l * r)`, or an i expression of two arrays of rank 1: `+(i*i)~.`.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    ///
    /// ```
    /// let error = ijk_blocks::Aggregation::parse("sum(l * x)").unwrap_err();
    /// assert!(error.to_string().contains("the elements are `l` and `r`"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let (fold, formula) = match text.contains('~') {
            true => component::aggregation(text)?,
            false => parse_aggregation(text)?,
        };
        Ok(Self::of(fold, formula))
    }

    /// The aggregation of a lowered program in i of two arrays of rank 1.
    ///
    /// # Errors
    /// If it is none.
    pub fn of_program(program: &Program) -> Result<Self, TextError> {
        let (fold, formula) = component::aggregation_of(program)?;
        Ok(Self::of(fold, formula))
    }

    /// A monoid over an operator.
    pub fn new(plus: Monoid, times: BinaryOp) -> Self {
        let (fold, formula) = component::semiring(plus, times);
        Self::of(fold, formula)
    }

    /// The sum of products; of bools, the disjunction of conjunctions.
    pub fn sum_of_products() -> Self {
        Self::new(Monoid::Add, BinaryOp::Mul)
    }

    /// A monoid over the formula that a closure of `l` and `r` writes.
    pub fn fold(plus: Monoid, times: impl FnOnce(Formula, Formula) -> Formula) -> Self {
        Self::of(Fold::Reduce(Reducer::Monoid(plus)), Formula::trace_pair(times))
    }

    /// A semiring as a Rust type, for one process.
    pub fn semiring<S: Semiring>() -> Self {
        Self::closures(S::zero(), S::plus, S::times)
    }

    /// A monoid and a product as closures, for one process: `zero` is the identity of `plus`, which is
    /// associative and commutative.
    ///
    /// ```
    /// use ijk_blocks::{Aggregation, BigTensor};
    /// let u = BigTensor::lit([1, 2, 3, 4], [2, 2], [Some(1), None])?;
    /// let xor = Aggregation::closures(0, |x: i32, y| x ^ y, |x: i32, y: i32| x & y);
    /// let product = u.contract_by(&u, 1, 0, xor)?;
    /// assert_eq!(product.collect()?.as_numbers().unwrap().as_slice::<i32>(), Some(&[3, 0, 1, 6][..]));
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn closures<T: Element, U: Element>(
        zero: U,
        plus: impl Fn(U, U) -> U + Send + Sync + 'static,
        times: impl Fn(T, T) -> U + Send + Sync + 'static,
    ) -> Self {
        Self { kind: Kind::Closures(Arc::new(closures::NumberContraction::new(zero, plus, times))) }
    }

    /// The same for elements of any type, lists included: pairs of `from` have values of `zero`'s type.
    pub fn of_values(
        from: ElementType,
        zero: Value,
        plus: impl Fn(&Value, &Value) -> Value + Send + Sync + 'static,
        times: impl Fn(&Value, &Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind: Kind::Closures(Arc::new(closures::ValueContraction { from, zero, plus, times })),
        }
    }

    /// Any function of the list of all values of pairs: `times` maps pairs of `from` to values, and the result is of
    /// type `to`. It needs an axis in one block.
    pub fn whole(
        from: ElementType,
        to: ElementType,
        times: impl Fn(&Value, &Value) -> Value + Send + Sync + 'static,
        whole: impl Fn(&[Value]) -> Value + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind: Kind::Closures(Arc::new(closures::WholeContraction { from, to, times, whole })),
        }
    }

    pub(crate) fn of(fold: Fold, formula: Formula) -> Self {
        Self { kind: Kind::Fold(fold, Arc::new(formula)) }
    }

    /// Returns true for a sum of products.
    pub fn is_product(&self) -> bool {
        let Kind::Fold(Fold::Reduce(Reducer::Monoid(plus)), formula) = &self.kind else {
            return false;
        };
        matches!(
            (plus, formula.as_binary()),
            (Monoid::Add, Some(BinaryOp::Mul)) | (Monoid::Or, Some(BinaryOp::And))
        )
    }

    /// Returns true if the engine computes the fold.
    pub(crate) fn is_engine(&self) -> bool {
        matches!(self.kind, Kind::Fold(Fold::Reduce(_), _))
    }

    /// Returns true if the fold needs all pairs of a fibre at once.
    pub(crate) fn needs_whole(&self) -> bool {
        match &self.kind {
            Kind::Fold(Fold::Reduce(Reducer::Monoid(_)), _) => false,
            Kind::Fold(..) => true,
            Kind::Closures(closures) => closures.identity().is_none(),
        }
    }

    /// Returns true if the fold of no pairs has no value.
    pub(crate) fn has_no_empty_fold(&self) -> bool {
        matches!(self.kind, Kind::Fold(Fold::Reduce(Reducer::ArgMax | Reducer::ArgMin), _))
    }

    /// The result type for elements of these types.
    pub(crate) fn result(
        &self,
        left: &ElementType,
        right: &ElementType,
    ) -> Result<ElementType, Problem> {
        match &self.kind {
            Kind::Closures(closures) => closures.result(left, right),
            Kind::Fold(fold, formula) => {
                let pairs = formula.result_of(&[left.clone(), right.clone()]);
                let pairs = pairs.map_err(Problem::Formula)?;
                folded(*fold, &pairs).ok_or_else(|| {
                    let what = format!("`{}`", fold_name(*fold));
                    let expected = match pairs.number() {
                        Some(_) => format!("other values than {pairs}"),
                        None => format!("numbers, such as `{}(len(l) * len(r))`", fold_name(*fold)),
                    };
                    Problem::Takes { what, expected, found: pairs.to_string() }
                })
            }
        }
    }

    /// The same for elements of accepted types: the engine computes with numbers only.
    pub(crate) fn of_elements(self, left: &ElementType, right: &ElementType) -> Self {
        match &self.kind {
            Kind::Fold(fold, formula) if left.number().and(right.number()).is_none() => {
                let (fold, formula) = (*fold, Arc::clone(formula));
                let from = [left.clone(), right.clone()];
                Self { kind: Kind::Closures(Arc::new(ListContraction { fold, formula, from })) }
            }
            _ => self,
        }
    }

    /// Fold of no pairs.
    pub(crate) fn identity(&self, left: &ElementType, right: &ElementType) -> Option<Value> {
        match &self.kind {
            Kind::Closures(closures) => closures.identity(),
            Kind::Fold(..) => self.identity_of(&[left.number()?, right.number()?]),
        }
    }

    /// Fold of no values, where pairs have numbers of these types.
    pub(crate) fn identity_of(&self, types: &[DType]) -> Option<Value> {
        let Kind::Fold(fold, formula) = &self.kind else { return None };
        let pairs = formula.result(types).ok()?;
        match fold {
            Fold::Reduce(Reducer::Monoid(monoid)) => {
                Some(Value::Number(scalar::identity(*monoid, pairs)))
            }
            Fold::Reduce(_) => None,
            Fold::Collect => Value::list_of(pairs.into(), []),
        }
    }
}

pub(crate) fn takes(what: &impl fmt::Display, expected: &str, of: &ElementType) -> Problem {
    let (what, expected) = (format!("`{what}`"), expected.to_owned());
    Problem::Takes { what, expected, found: of.to_string() }
}

/// The type of a fold of values of a type, if there is one.
fn folded(fold: Fold, pairs: &ElementType) -> Option<ElementType> {
    if fold == Fold::Collect {
        return Some(ElementType::array(pairs.clone()));
    }
    let pairs = pairs.number()?;
    match fold {
        Fold::Collect => None,
        Fold::Reduce(Reducer::Monoid(monoid)) => {
            monoid.op().accepts().contains(pairs).then_some(pairs.into())
        }
        Fold::Reduce(Reducer::ArgMax | Reducer::ArgMin) => {
            BinaryOp::Max.accepts().contains(pairs).then_some(DType::I64.into())
        }
        Fold::Reduce(Reducer::Order(_)) => None,
    }
}

impl std::str::FromStr for Aggregation {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        Self::parse(text)
    }
}

impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Closures(closures) => f.write_str(&closures.name()),
            Kind::Fold(fold, formula) => {
                write!(f, "{}({})", fold_name(*fold), formula.display(&["l", "r"]))
            }
        }
    }
}

impl fmt::Debug for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Aggregation({self})")
    }
}

/// Argument of [`BigTensor::contract_by`](crate::BigTensor::contract_by): an aggregation or its text.
pub trait IntoAggregation {
    /// The aggregation.
    ///
    /// # Errors
    /// If a text is none.
    fn into_aggregation(self) -> Result<Aggregation, TextError>;
}

impl IntoAggregation for Aggregation {
    fn into_aggregation(self) -> Result<Aggregation, TextError> {
        Ok(self)
    }
}

impl IntoAggregation for &Aggregation {
    fn into_aggregation(self) -> Result<Aggregation, TextError> {
        Ok(self.clone())
    }
}

impl IntoAggregation for &str {
    fn into_aggregation(self) -> Result<Aggregation, TextError> {
        Aggregation::parse(self)
    }
}
