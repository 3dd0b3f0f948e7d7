//! Copies with another element type.

use crate::{Tensor, TensorError};
use ijk_types::{C64, C128, DType, Element, Ordered, with_ordered};

impl Tensor {
    /// The same numbers as elements of another type, as the language's casts (`@f32`) convert them;
    /// real numbers become complex ones without an imaginary part.
    ///
    /// # Errors
    /// From a complex type to one that is not; if memory does not suffice.
    pub fn cast(&self, to: DType) -> Result<Tensor, TensorError> {
        let from = self.dtype();
        if from == to {
            return self.view().to_tensor();
        }
        match to {
            DType::C64 => self.to_complex(|re: f32, im| C64::new(re, im)),
            DType::C128 => self.to_complex(|re: f64, im| C128::new(re, im)),
            _ => with_ordered!(to, U => self.to_ordered::<U>(), else unreachable!()),
        }
    }

    fn to_ordered<U: Ordered>(&self) -> Result<Tensor, TensorError> {
        let complex = TensorError::DType { expected: U::DTYPE, found: self.dtype() };
        with_ordered!(self.dtype(), T => self.convert(|x: T| x.cast::<U>()), else Err(complex))
    }

    fn to_complex<R: Ordered, U: Element>(
        &self,
        join: impl Fn(R, R) -> U,
    ) -> Result<Tensor, TensorError> {
        let join = &join;
        match self.dtype() {
            DType::C64 => self.convert(|x: C64| join(x.re.cast(), x.im.cast())),
            DType::C128 => self.convert(|x: C128| join(x.re.cast(), x.im.cast())),
            real => with_ordered!(
                real,
                T => self.convert(|x: T| join(x.cast(), R::default())),
                else unreachable!()
            ),
        }
    }

    fn convert<T: Element, U: Element>(&self, f: impl Fn(T) -> U) -> Result<Tensor, TensorError> {
        let mut copy = Tensor::zeros(U::DTYPE, self.shape())?;
        let to = copy.as_mut_slice::<U>().expect("of that type");
        let from = self.as_slice::<T>().expect("of that type");
        to.iter_mut().zip(from).for_each(|(to, &x)| *to = f(x));
        Ok(copy)
    }
}
