//! Plain numbers among arguments, which take the element type of the others.

use crate::arguments::Views;
use crate::{Error, Program};
use ijk_ir::core::TypeTerm;
use ijk_tensor::{Tensor, TensorView};
use ijk_types::{DType, Literal};

/// A plain number as an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlainNumber {
    /// Its position among all arguments.
    pub(crate) position: usize,
    pub(crate) value: Literal,
}

impl PlainNumber {
    /// The element type of a number that shares its type with no array.
    fn own_type(self) -> DType {
        match self.value {
            Literal::Integer(_) => DType::I64,
            Literal::Float(_) => DType::F64,
        }
    }

    /// The number as an array of rank 0.
    fn tensor(self, dtype: DType) -> Result<Tensor, Error> {
        let position = self.position + 1;
        let value = match self.value {
            Literal::Integer(n) => n.to_string(),
            Literal::Float(x) => x.to_string(),
        };
        let scalar = self.value.to_scalar(dtype);
        let scalar = scalar.map_err(|_| Error::Number { position, value, dtype })?;
        Ok(Tensor::from_scalars(dtype, &[], [scalar])?)
    }
}

/// Calls `apply` with all arguments: the views of arrays, and numbers in the element types that are `wanted`.
pub(crate) fn with_numbers<R>(
    views: &[TensorView<'_>],
    numbers: &[PlainNumber],
    wanted: impl Fn(PlainNumber) -> Option<DType>,
    apply: impl FnOnce(&[TensorView<'_>]) -> Result<R, Error>,
) -> Result<R, Error> {
    if numbers.is_empty() {
        return apply(views);
    }
    let typed = |number: &PlainNumber| {
        let dtype = wanted(*number).unwrap_or_else(|| number.own_type());
        number.tensor(dtype)
    };
    let tensors: Vec<Tensor> = numbers.iter().map(typed).collect::<Result<_, _>>()?;
    let mut all: Views<'_> = views.iter().cloned().collect();
    for (number, tensor) in numbers.iter().zip(&tensors) {
        all.insert(number.position, tensor.view());
    }
    apply(&all)
}

impl Program {
    /// The element type of a number: the one that the program says, or that of an array which shares it.
    pub(crate) fn type_of_number(
        &self,
        views: &[TensorView<'_>],
        numbers: &[PlainNumber],
        number: PlainNumber,
    ) -> Option<DType> {
        let inputs = &self.signature().inputs;
        let term = inputs.get(number.position)?.dtype;
        if let TypeTerm::Fixed(dtype) = term {
            return Some(dtype);
        }
        let is_number = |n: &usize| numbers.iter().any(|number| number.position == *n);
        let arrays = (0..inputs.len()).filter(|n| !is_number(n)).zip(views);
        let mut same = arrays.filter(|(n, _)| inputs[*n].dtype == term);
        same.next().map(|(_, view)| view.dtype())
    }
}
