//! Aggregations that are Rust closures.

use super::takes;
use crate::function::promised;
use crate::{Block, ElementType, Error, Problem, Value};
use ijk_tensor::Tensor;
use ijk_types::Element;
use std::marker::PhantomData;

/// A semiring of numbers as a Rust type: `plus` is associative and commutative, `zero` its identity.
///
/// ```
/// use ijk_blocks::{Aggregation, BigTensor, Semiring};
///
/// struct MaxPlus;
/// impl Semiring for MaxPlus {
///     type Value = f64;
///     fn zero() -> f64 { f64::NEG_INFINITY }
///     fn plus(x: f64, y: f64) -> f64 { x.max(y) }
///     fn times(x: f64, y: f64) -> f64 { x + y }
/// }
///
/// let u = BigTensor::lit([0.0, 1.0, 2.0, 3.0], [2, 2], [None, None])?;
/// let longest = u.contract_by(&u, 1, 0, Aggregation::semiring::<MaxPlus>())?;
/// assert_eq!(longest.collect()?.as_numbers().unwrap().as_slice::<f64>(), Some(&[3.0, 4.0, 5.0, 6.0][..]));
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
pub trait Semiring: 'static {
    /// Its values.
    type Value: Element;
    /// The identity of [`plus`](Self::plus).
    fn zero() -> Self::Value;
    /// Fold.
    fn plus(x: Self::Value, y: Self::Value) -> Self::Value;
    /// Combination of a pair.
    fn times(x: Self::Value, y: Self::Value) -> Self::Value;
}

/// The extents of a product of blocks: rows, pairs, columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extents {
    pub(crate) rows: usize,
    pub(crate) pairs: usize,
    pub(crate) columns: usize,
}

/// Contraction of two blocks.
pub(crate) trait Contracts: Send + Sync {
    /// Name in messages.
    fn name(&self) -> String;
    /// The result type for elements of these types, if it accepts them.
    fn result(&self, left: &ElementType, right: &ElementType) -> Result<ElementType, Problem>;
    /// Fold of no pairs; none where that has to be computed, since the fold needs all pairs of a fibre at once.
    fn identity(&self) -> Option<Value>;
    /// The product of two blocks in C order, `rows` by `pairs` and `pairs` by `columns`, combined with
    /// `before` if there is such a block; of that shape, whatever that of the blocks.
    fn contract(
        &self,
        before: Option<Block>,
        left: &Block,
        right: &Block,
        extents: Extents,
        shape: &[usize],
    ) -> Result<Block, Error>;
}

pub(super) struct NumberContraction<T, U, P, F> {
    zero: U,
    plus: P,
    times: F,
    of: PhantomData<fn(T)>,
}

impl<T, U, P, F> NumberContraction<T, U, P, F> {
    pub(super) fn new(zero: U, plus: P, times: F) -> Self {
        Self { zero, plus, times, of: PhantomData }
    }
}

impl<T, U, P, F> Contracts for NumberContraction<T, U, P, F>
where
    T: Element,
    U: Element,
    P: Fn(U, U) -> U + Send + Sync,
    F: Fn(T, T) -> U + Send + Sync,
{
    fn name(&self) -> String {
        format!("|l: {0}, r: {0}| …", T::DTYPE)
    }

    fn result(&self, left: &ElementType, right: &ElementType) -> Result<ElementType, Problem> {
        accept(self, &T::DTYPE.into(), left, right)?;
        Ok(U::DTYPE.into())
    }

    fn identity(&self) -> Option<Value> {
        Some(Value::number(self.zero))
    }

    fn contract(
        &self,
        before: Option<Block>,
        left: &Block,
        right: &Block,
        Extents { rows, pairs, columns }: Extents,
        shape: &[usize],
    ) -> Result<Block, Error> {
        let (l, r) = (numbers::<T>(left), numbers::<T>(right));
        let mut out = match before {
            Some(Block::Numbers(tensor)) => tensor,
            _ => Tensor::from_vec(vec![self.zero; rows * columns], shape)?,
        };
        let sums = out.as_mut_slice::<U>().unwrap_or_default();
        for (row, l) in sums.chunks_exact_mut(columns.max(1)).zip(l.chunks_exact(pairs.max(1))) {
            for (&l, r) in l.iter().zip(r.chunks_exact(columns.max(1))) {
                for (sum, &r) in row.iter_mut().zip(r) {
                    *sum = (self.plus)(*sum, (self.times)(l, r));
                }
            }
        }
        Ok(Block::Numbers(out))
    }
}

/// The numbers of a block of them.
fn numbers<T: Element>(block: &Block) -> &[T] {
    block.as_numbers().and_then(Tensor::as_slice).unwrap_or_default()
}

pub(super) struct ValueContraction<P, F> {
    pub(super) from: ElementType,
    pub(super) zero: Value,
    pub(super) plus: P,
    pub(super) times: F,
}

impl<P, F> Contracts for ValueContraction<P, F>
where
    P: Fn(&Value, &Value) -> Value + Send + Sync,
    F: Fn(&Value, &Value) -> Value + Send + Sync,
{
    fn name(&self) -> String {
        format!("|l: {0}, r: {0}| …", self.from)
    }

    fn result(&self, left: &ElementType, right: &ElementType) -> Result<ElementType, Problem> {
        accept(self, &self.from, left, right)?;
        Ok(self.zero.element_type())
    }

    fn identity(&self) -> Option<Value> {
        Some(self.zero.clone())
    }

    fn contract(
        &self,
        before: Option<Block>,
        left: &Block,
        right: &Block,
        extents: Extents,
        shape: &[usize],
    ) -> Result<Block, Error> {
        let before = before.map(|block| block.values());
        let fold = |at: usize, pairs: &mut dyn Iterator<Item = Value>| {
            let start = before.as_ref().map_or(&self.zero, |values| &values[at]);
            pairs.fold(start.clone(), |sum, value| (self.plus)(&sum, &value))
        };
        let values = fibres(left, right, extents, &self.times, fold);
        let to = self.zero.element_type();
        promised(&self.name(), &to, &values)?;
        Ok(Block::from_values(&to, shape, values)?)
    }
}

pub(super) struct WholeContraction<F, W> {
    pub(super) from: ElementType,
    pub(super) to: ElementType,
    pub(super) times: F,
    pub(super) whole: W,
}

impl<F, W> Contracts for WholeContraction<F, W>
where
    F: Fn(&Value, &Value) -> Value + Send + Sync,
    W: Fn(&[Value]) -> Value + Send + Sync,
{
    fn name(&self) -> String {
        format!("|l: {0}, r: {0}| … of all", self.from)
    }

    fn result(&self, left: &ElementType, right: &ElementType) -> Result<ElementType, Problem> {
        accept(self, &self.from, left, right)?;
        Ok(self.to.clone())
    }

    fn identity(&self) -> Option<Value> {
        None
    }

    fn contract(
        &self,
        _: Option<Block>,
        left: &Block,
        right: &Block,
        extents: Extents,
        shape: &[usize],
    ) -> Result<Block, Error> {
        let values = fibres(left, right, extents, &self.times, |_, pairs| {
            (self.whole)(&pairs.collect::<Vec<_>>())
        });
        promised(&self.name(), &self.to, &values)?;
        Ok(Block::from_values(&self.to, shape, values)?)
    }
}

/// Folds the values of each fibre, row by row.
pub(crate) fn fibres(
    left: &Block,
    right: &Block,
    extents: Extents,
    times: &impl Fn(&Value, &Value) -> Value,
    fold: impl Fn(usize, &mut dyn Iterator<Item = Value>) -> Value,
) -> Vec<Value> {
    fibres_of(left, right, extents, times, fold)
}

/// The same for pairs with results of any type.
pub(super) fn fibres_of<P, V>(
    left: &Block,
    right: &Block,
    Extents { rows, pairs, columns }: Extents,
    times: impl Fn(&Value, &Value) -> P,
    fold: impl Fn(usize, &mut dyn Iterator<Item = P>) -> V,
) -> Vec<V> {
    let (left, right) = (left.values(), right.values());
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let fibre = |(row, column): (usize, usize)| {
        let pair = |at| times(&left[row * pairs + at], &right[at * columns + column]);
        fold(row * columns + column, &mut (0..pairs).map(pair))
    };
    places.map(fibre).collect()
}

fn accept(
    of: &(impl Contracts + ?Sized),
    expected: &ElementType,
    left: &ElementType,
    right: &ElementType,
) -> Result<(), Problem> {
    match [left, right].into_iter().find(|found| *found != expected) {
        None => Ok(()),
        Some(found) => Err(takes(&of.name(), &expected.to_string(), found)),
    }
}
