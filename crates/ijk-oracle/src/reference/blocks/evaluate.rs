//! Evaluation of terms.

use super::{BlockMap, BlockTerm, Fold, Times};
use crate::Value;
use crate::reference::surface::advance;
use crate::reference::value::position;
use ijk_types::{BinaryOp, DType, Literal, Monoid, Scalar, ScalarError, scalar};

impl BlockTerm {
    /// Elements of a well-typed term.
    ///
    /// # Errors
    /// If an operation on elements fails: integer division by zero.
    ///
    /// # Panics
    /// If the term is ill-typed.
    pub fn evaluate(&self) -> Result<Value, ScalarError> {
        let (shape, _, dtype) = self.ty().expect("a term that has a type");
        match self {
            Self::Lit { value, .. } => Ok(value.clone()),
            Self::Reblock(u, _) => u.evaluate(),
            Self::Zip(op, u, v) => {
                let (u, v) = (u.evaluate()?, v.evaluate()?);
                array(dtype, &shape, |at| scalar::binary(*op, read(&u, at), read(&v, at)))
            }
            Self::Broadcast(u, ..) => {
                let u = u.evaluate()?;
                let new = shape.len() - u.shape.len();
                array(dtype, &shape, |at| {
                    let index = at[new..].iter().zip(&u.shape).map(|(n, extent)| n % extent);
                    Ok(read(&u, &index.collect::<Vec<_>>()))
                })
            }
            Self::Select(u, positions) => {
                let u = u.evaluate()?;
                array(dtype, &shape, |at| {
                    let index = at.iter().zip(positions).map(|(&n, positions)| positions[n]);
                    Ok(read(&u, &index.collect::<Vec<_>>()))
                })
            }
            Self::Map(f, u) => {
                let u = u.evaluate()?;
                array(dtype, &shape, |at| apply(*f, read(&u, at)))
            }
            Self::Contract { u, v, i, j, plus, times } => {
                contract(u, v, (*i, *j), *plus, *times, (dtype, &shape))
            }
            Self::Product(u, v) => {
                let i = u.ty().map_or(0, |(d, ..)| d.len() - 1);
                let (plus, times) = (Fold::Monoid(Monoid::Add), Times::Op(BinaryOp::Mul));
                contract(u, v, (i, 0), plus, times, (dtype, &shape))
            }
        }
    }
}

fn read(value: &Value, at: &[usize]) -> Scalar {
    value.data[position(&value.shape, at.iter().copied())]
}

/// An array, by the element at each index.
fn array(
    dtype: DType,
    shape: &[usize],
    mut element: impl FnMut(&[usize]) -> Result<Scalar, ScalarError>,
) -> Result<Value, ScalarError> {
    let mut at = vec![0; shape.len()];
    let mut data = Vec::new();
    for _ in 0..shape.iter().product() {
        data.push(element(&at)?);
        advance(&mut at, shape);
    }
    Ok(Value { dtype, shape: shape.to_vec(), data })
}

fn apply(f: BlockMap, x: Scalar) -> Result<Scalar, ScalarError> {
    match f {
        BlockMap::Op(op) => scalar::unary(op, x),
        BlockMap::Affine { scale, shift } => {
            let number =
                |n| Literal::Integer(n).to_scalar(x.dtype()).expect("the type was checked");
            let scaled = scalar::binary(BinaryOp::Mul, number(scale), x)?;
            scalar::binary(BinaryOp::Add, scaled, number(shift))
        }
        BlockMap::Above(n) => {
            let number = Literal::Integer(n).to_scalar(x.dtype()).expect("the type was checked");
            scalar::binary(BinaryOp::Gt, x, number)
        }
    }
}

fn pair(times: Times, l: Scalar, r: Scalar) -> Result<Scalar, ScalarError> {
    match times {
        Times::Op(op) => scalar::binary(op, l, r),
        Times::SquareLess => {
            let square = scalar::binary(BinaryOp::Mul, l, l)?;
            scalar::binary(BinaryOp::Sub, square, r)
        }
    }
}

fn contract(
    u: &BlockTerm,
    v: &BlockTerm,
    (i, j): (usize, usize),
    plus: Fold,
    times: Times,
    (dtype, shape): (DType, &[usize]),
) -> Result<Value, ScalarError> {
    let (u, v) = (u.evaluate()?, v.evaluate()?);
    let own = u.shape.len() - 1;
    array(dtype, shape, |at| {
        let mut values = Vec::new();
        for k in 0..u.shape[i] {
            let (mut left, mut right) = (at[..own].to_vec(), at[own..].to_vec());
            left.insert(i, k);
            right.insert(j, k);
            values.push(pair(times, read(&u, &left), read(&v, &right))?);
        }
        fold(plus, values, dtype)
    })
}

fn fold(plus: Fold, values: Vec<Scalar>, dtype: DType) -> Result<Scalar, ScalarError> {
    match plus {
        Fold::Monoid(monoid) => {
            let mut values = values.into_iter();
            values.try_fold(scalar::identity(monoid, dtype), |sum, value| {
                scalar::binary(monoid.op(), sum, value)
            })
        }
        Fold::ArgMax => {
            let mut best = 0;
            for (n, &value) in values.iter().enumerate() {
                if beats(value, values[best])? {
                    best = n;
                }
            }
            Ok(Scalar::I64(best as i64))
        }
    }
}

/// Returns true if `value` is greater than `best`, or the first NaN.
fn beats(value: Scalar, best: Scalar) -> Result<bool, ScalarError> {
    let is_nan = |x: Scalar| x.as_f64().is_nan();
    let greater = scalar::binary(BinaryOp::Gt, value, best)? == Scalar::Bool(true);
    Ok(!is_nan(best) && (greater || is_nan(value)))
}
