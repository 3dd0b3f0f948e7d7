//! Application of einsums on an engine.

use super::planned::Planned;
use super::{Einsum, codes};
use crate::cache::Key;
use crate::engine::regular;
use crate::numbers::with_numbers;
use crate::prepared::extents;
use crate::{Arguments, Engine, Error, Tensor, TensorView, TensorViewMut};
use ijk_ir::einsum::Product;
use ijk_plan::Facts;
use ijk_syntax::Span;
use std::sync::Arc;

/// Operands up to which the search for an order takes no time.
const FEW: usize = 4;

impl Einsum {
    /// Applies the einsum to operands, on the [global engine](Engine::global).
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum()).
    pub fn apply<'a, Kind>(&self, operands: impl Arguments<'a, Kind>) -> Result<Tensor, Error> {
        Engine::global().apply_einsum(self, operands)
    }

    /// Applies the einsum to operands and writes the result to `output`, of any layout.
    ///
    /// If anything fails, the output is unchanged.
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum()); [`Error::Output`] if its type or shape is not that of the result.
    ///
    /// ```
    /// use ijk::{Einsum, TensorViewMut, ndarray::{Array2, array}};
    /// let mut out = Array2::<i32>::zeros((2, 2));
    /// let transpose = Einsum::new("ij->ji")?;
    /// transpose.apply_into((&array![[1, 2], [3, 4]],), TensorViewMut::from(out.view_mut()))?;
    /// assert_eq!(out, array![[1, 3], [2, 4]]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn apply_into<'a, Kind>(
        &self,
        operands: impl Arguments<'a, Kind>,
        output: TensorViewMut<'_>,
    ) -> Result<(), Error> {
        Engine::global().apply_einsum_into(self, operands, output)
    }

    /// The shape of the result for operands of these shapes.
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum()).
    pub fn result_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let product = self.product_of(shapes.iter().copied())?;
        Ok(product.result_shape().iter().map(|&n| n as usize).collect())
    }

    /// The product of operands of these shapes.
    pub(super) fn product_of<'a>(
        &self,
        shapes: impl Iterator<Item = &'a [usize]>,
    ) -> Result<Product, Error> {
        let shapes: Vec<Vec<u64>> = shapes.map(extents).collect();
        let shapes: Vec<&[u64]> = shapes.iter().map(Vec::as_slice).collect();
        Product::new(&self.inner.subscripts, &shapes).map_err(|errors| self.error(errors))
    }

    /// The product of operands, which must have one element type.
    pub(super) fn product(&self, inputs: &[TensorView<'_>]) -> Result<Product, Error> {
        let product = self.product_of(inputs.iter().map(TensorView::shape))?;
        self.check_types(inputs)?;
        Ok(product)
    }

    /// Checks that all operands have one element type.
    fn check_types(&self, inputs: &[TensorView<'_>]) -> Result<(), Error> {
        let Some(first) = inputs.first() else { return Ok(()) };
        let Some(other) = inputs.iter().position(|input| input.dtype() != first.dtype()) else {
            return Ok(());
        };
        let terms = &self.inner.subscripts.operands;
        let span = |n: usize| terms.get(n).map_or(Span::default(), |term| term.span);
        let (is, was) = (inputs[other].dtype(), first.dtype());
        let message = format!("operand {} is of {is}, but operand 1 of {was}", other + 1);
        let error = codes::TYPES.error(span(other), message).with_label(is.to_string());
        Err(self.error(vec![error.with_related(span(0), was.to_string())]))
    }
}

impl Engine {
    /// The einsum of some arrays, as [`einsum`](crate::einsum()) computes it.
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum()).
    pub fn einsum<'a, Kind>(
        &self,
        subscripts: &str,
        operands: impl Arguments<'a, Kind>,
    ) -> Result<Tensor, Error> {
        let einsum = self.recent_einsum(subscripts)?;
        self.apply_einsum(&einsum, operands)
    }

    /// Applies an einsum, as [`Einsum::apply`] does.
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum()).
    pub fn apply_einsum<'a, Kind>(
        &self,
        einsum: &Einsum,
        operands: impl Arguments<'a, Kind>,
    ) -> Result<Tensor, Error> {
        let run = |inputs: &[TensorView<'_>]| match &*self.planned(einsum, inputs, None)? {
            Planned::Whole(prepared) => Ok(self.run_prepared(prepared, inputs)?.swap_remove(0)),
            Planned::Sliced(sliced) => self.at_length(f64::INFINITY, || sliced.run(self, inputs)),
        };
        operands.with_views(|views, numbers| {
            let first = |_| Some(views.first()?.dtype());
            with_numbers(views, numbers, first, |inputs| regular(inputs, run))
        })
    }

    /// Applies an einsum, as [`Einsum::apply_into`] does.
    ///
    /// # Errors
    /// As for [`Einsum::apply_into`].
    pub fn apply_einsum_into<'a, Kind>(
        &self,
        einsum: &Einsum,
        operands: impl Arguments<'a, Kind>,
        output: TensorViewMut<'_>,
    ) -> Result<(), Error> {
        let outputs = &mut [output];
        let run = |inputs: &[TensorView<'_>]| match &*self.planned(einsum, inputs, Some(outputs))? {
            Planned::Whole(prepared) => self.run_prepared_into(prepared, inputs, outputs),
            Planned::Sliced(sliced) => {
                let result = self.at_length(f64::INFINITY, || sliced.run(self, inputs))?;
                self.copy(&result.view(), &mut outputs[0])
            }
        };
        operands.with_views(|views, numbers| {
            let first = |_| Some(views.first()?.dtype());
            with_numbers(views, numbers, first, |inputs| regular(inputs, run))
        })
    }

    /// The plan for these operands, from the cache or new.
    fn planned(
        &self,
        einsum: &Einsum,
        inputs: &[TensorView<'_>],
        outputs: Option<&[TensorViewMut<'_>]>,
    ) -> Result<Arc<Planned>, Error> {
        let plans = &einsum.inner.plans;
        let key = Key::new(self.context(), inputs, outputs, &Facts::default());
        if let Some(planned) = plans.get(&key) {
            return Ok(planned);
        }
        // The search for an order of many operands may take long.
        let nanoseconds = if einsum.arity() > FEW { f64::INFINITY } else { 0.0 };
        let plan = || Planned::new(self, einsum, inputs, outputs);
        let planned = Arc::new(self.at_length(nanoseconds, plan)?);
        plans.insert(key, Arc::clone(&planned));
        Ok(planned)
    }
}
