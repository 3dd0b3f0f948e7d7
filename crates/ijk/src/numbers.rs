//! Plain numbers among arguments, which take the element type of the others.

use crate::arguments::Views;
use crate::{Error, Program};
use ijk_ir::core::TypeTerm;
use ijk_tensor::{Tensor, TensorView};
use ijk_types::{DType, Element, Literal, Scalar};
use ndarray::{Array0, ArrayBase, ArrayRef, Data, Ix0, arr0};
use std::ops::Deref;

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

    /// The number as an element.
    fn scalar(self, dtype: DType) -> Result<Scalar, Error> {
        let position = self.position + 1;
        let value = match self.value {
            Literal::Integer(n) => n.to_string(),
            Literal::Float(x) => x.to_string(),
        };
        let scalar = self.value.to_scalar(dtype);
        scalar.map_err(|_| Error::Number { position, value, dtype })
    }

    /// The number as an array of rank 0.
    fn tensor(self, dtype: DType) -> Result<Tensor, Error> {
        Ok(Tensor::from_scalars(dtype, &[], [self.scalar(dtype)?])?)
    }
}

/// An argument of rank 0 of a function that [`i!`](crate::i!) makes: a reference to an array of rank 0, or a plain
/// number. A number takes the element type `T`, that of the arrays that share it; it has to be a value of that type.
///
/// ```
/// use ijk::ndarray::{arr0, array};
/// let scale = ijk::i!(ij*.~ij);
/// assert_eq!(scale(&array![[1.5f32, 2.0]], 2), array![[3.0, 4.0]]);
/// assert_eq!(ijk::i!(i*.~i)(&array![1u8, 2], &arr0(2)), array![2, 4]);
/// let error = ijk::try_i!(i*.~i)(&array![1, 2], 0.5).unwrap_err();
/// assert!(error.to_string().starts_with("argument 2 is the number 0.5"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a number of type `{T}` nor an array of rank 0 with such an element",
    label = "expected a number, or a reference to an array of type `Array0<{T}>`"
)]
pub trait ScalarArgument<T> {
    /// The array, or one that holds the number.
    #[doc(hidden)]
    type Held: Deref<Target = ArrayRef<T, Ix0>>;

    /// The argument at a position, counted from 0, as an array.
    #[doc(hidden)]
    fn hold(self, position: usize) -> Result<Self::Held, Error>;
}

impl<T> ScalarArgument<T> for &ArrayRef<T, Ix0> {
    type Held = Self;

    fn hold(self, _: usize) -> Result<Self, Error> {
        Ok(self)
    }
}

impl<'a, T, S: Data<Elem = T>> ScalarArgument<T> for &'a ArrayBase<S, Ix0> {
    type Held = &'a ArrayRef<T, Ix0>;

    fn hold(self, _: usize) -> Result<Self::Held, Error> {
        Ok(self)
    }
}

/// A plain number as an array.
pub(crate) fn held<T: Element>(value: Literal, position: usize) -> Result<Array0<T>, Error> {
    let scalar = PlainNumber { position, value }.scalar(T::DTYPE)?;
    Ok(arr0(T::from_scalar(scalar).expect("a scalar of that type")))
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
