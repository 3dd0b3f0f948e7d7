//! Einsums read literally: the sum over all values of all indices of the product of the operands.

use crate::Value;
use crate::reference::surface::advance;
use crate::reference::value::position;
use ijk_syntax::einsum::{Subscripts, Term};
use ijk_types::{BinaryOp, DType, Monoid, Scalar, UnaryOp, scalar};

/// The value of an einsum; `None` if the operands do not match the subscripts.
///
/// ```
/// use ijk_oracle::{Value, evaluate_einsum};
/// use ijk_syntax::einsum::Subscripts;
/// use ijk_types::{DType, Scalar};
/// let x = Value { dtype: DType::I64, shape: vec![2], data: [2, 3].map(Scalar::I64).to_vec() };
/// let squares = evaluate_einsum(&Subscripts::parse("i,i->").unwrap(), &[x.clone(), x]).unwrap();
/// assert_eq!(squares.data, [Scalar::I64(13)]);
/// ```
pub fn evaluate_einsum(subscripts: &Subscripts, operands: &[Value]) -> Option<Value> {
    if operands.len() != subscripts.operands.len() {
        return None;
    }
    let dtype = operands.first()?.dtype;
    let terms = || subscripts.operands.iter().zip(operands);
    let spare = terms().filter(|(term, _)| term.ellipsis.is_some());
    let spare = spare.map(|(term, x)| x.shape.len().checked_sub(term.indices.len()));
    let unnamed = spare.collect::<Option<Vec<_>>>()?.into_iter().max().unwrap_or(0);
    let count = subscripts.names.len() + unnamed;
    let mut extents = vec![1; count];
    let mut all = Vec::new();
    for (term, operand) in terms() {
        let axes = axes(term, operand.shape.len().checked_sub(term.indices.len())?, count)?;
        for (n, (&index, &extent)) in axes.iter().zip(&operand.shape).enumerate() {
            let before = axes[..n].iter().position(|&other| other == index);
            if before.is_some_and(|at| operand.shape[at] != extent) {
                return None;
            }
            match extents[index] {
                1 => extents[index] = extent,
                known if extent != 1 && extent != known => return None,
                _ => {}
            }
        }
        all.push(axes);
    }
    let kept = &subscripts.output;
    if kept.ellipsis.is_none() && unnamed > 0 {
        return None;
    }
    let output = axes(kept, if kept.ellipsis.is_some() { unnamed } else { 0 }, count)?;
    let shape: Vec<usize> = output.iter().map(|&index| extents[index]).collect();
    let (times, plus) = match dtype {
        DType::Bool => (BinaryOp::And, Monoid::Or),
        _ => (BinaryOp::Mul, Monoid::Add),
    };
    // Products and sums of f16 and bf16 are f32, and the result is rounded once.
    let wide = if dtype.is_float() { dtype.lanes() } else { dtype };
    let mut result = Value::full(wide, &shape, scalar::identity(plus, wide));
    let mut at = vec![0; count];
    for _ in 0..extents.iter().product() {
        let mut product = None;
        for (axes, operand) in all.iter().zip(operands) {
            let index = axes.iter().zip(&operand.shape);
            let index = index.map(|(&index, &extent)| if extent == 1 { 0 } else { at[index] });
            let factor = cast(operand.data[position(&operand.shape, index)], wide)?;
            product = Some(match product {
                Some(product) => scalar::binary(times, product, factor).ok()?,
                None => factor,
            });
        }
        let place = position(&shape, output.iter().map(|&index| at[index]));
        result.data[place] = scalar::binary(plus.op(), result.data[place], product?).ok()?;
        advance(&mut at, &extents);
    }
    let data = result.data.into_iter().map(|x| cast(x, dtype)).collect::<Option<_>>()?;
    Some(Value { dtype, data, ..result })
}

fn cast(x: Scalar, to: DType) -> Option<Scalar> {
    if x.dtype() == to { Some(x) } else { scalar::unary(UnaryOp::Cast(to), x).ok() }
}

/// The index of each axis; `...` represents `count` axes, the last of which has the highest number.
fn axes(term: &Term, unnamed: usize, count: usize) -> Option<Vec<usize>> {
    let mut axes: Vec<usize> = term.indices.iter().map(|index| index.number as usize).collect();
    match term.ellipsis {
        Some(ellipsis) => drop(axes.splice(ellipsis.at..ellipsis.at, count - unnamed..count)),
        None if unnamed > 0 => return None,
        None => {}
    }
    Some(axes)
}
