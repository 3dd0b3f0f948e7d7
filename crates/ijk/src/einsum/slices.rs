//! Einsums slice by slice: for each value of some indices the rest, added up or put side by side.

use crate::cache::Planned as _;
use crate::prepared::Prepared;
use crate::{Component, Engine, Error, Tensor, TensorView, Views};
use ijk_ir::einsum::Product;
use ijk_plan::order::Order;
use ijk_types::DType;

/// An einsum that is computed slice by slice.
pub(super) struct Sliced {
    /// How one slice is computed.
    slice: Prepared,
    /// What adds a slice to those before it, both flat.
    add: Component,
    /// The extents of the sliced indices.
    extents: Vec<usize>,
    /// For each operand, its axes that are sliced, the last first, and by which index.
    axes: Vec<Vec<(usize, usize)>>,
    /// The same of the result.
    result: Vec<(usize, usize)>,
    shape: Vec<usize>,
    dtype: DType,
}

impl Sliced {
    /// Plans slices of operands with these layouts, of which one takes no more than so many bytes.
    pub(super) fn new(
        engine: &Engine,
        product: &Product,
        order: &Order,
        dtype: DType,
        inputs: &[TensorView<'_>],
        limit: u64,
    ) -> Result<Self, Error> {
        let sliced = &order.sliced;
        let axes = |indices: &[Option<u32>]| -> Vec<(usize, usize)> {
            let each = indices.iter().enumerate().rev();
            let number = |index: &Option<u32>| sliced.iter().position(|s| Some(*s) == *index);
            each.filter_map(|(axis, index)| Some((axis, number(index)?))).collect()
        };
        let operands: Vec<_> = product.operands.iter().map(|o| axes(o)).collect();
        let result = axes(&product.result);
        let part = product.without(sliced);
        let (program, instance) = part.lower(dtype, &order.path.0);
        let first = vec![0; sliced.len()];
        let views = select(inputs, &operands, &first);
        let slice = Prepared::of(&program, &instance, engine.cpu(), Some(limit), &views, None)?;
        let add = Component::parse(if dtype == DType::Bool { "i>i~i" } else { "i+i~i" })?;
        let extents = sliced.iter().map(|&i| product.extents[i as usize] as usize).collect();
        let shape = product.result_shape().iter().map(|&n| n as usize).collect();
        Ok(Self { slice, add, extents, axes: operands, result, shape, dtype })
    }

    pub(super) fn steps(&self) -> usize {
        self.slice.steps()
    }

    /// Computes all slices, in order.
    pub(super) fn run(&self, engine: &Engine, inputs: &[TensorView<'_>]) -> Result<Tensor, Error> {
        let mut sum = Tensor::zeros(self.dtype, &self.shape)?;
        let mut at = vec![0; self.extents.len()];
        loop {
            let views = select(inputs, &self.axes, &at);
            let part = engine.run_prepared(&self.slice, &views)?.swap_remove(0);
            self.add(engine, &mut sum, part, &at)?;
            if !next(&mut at, &self.extents) {
                return Ok(sum);
            }
        }
    }

    /// Adds a slice to its part of the result; the first is what is there then.
    fn add(
        &self,
        engine: &Engine,
        sum: &mut Tensor,
        part: Tensor,
        at: &[usize],
    ) -> Result<(), Error> {
        let first = (0..at.len()).all(|n| at[n] == 0 || self.result.iter().any(|&(_, r)| r == n));
        let part = match first {
            true => part,
            false => {
                let shape = part.shape().to_vec();
                let flat = |tensor: Tensor| tensor.into_shape(&[shape.iter().product()]);
                let before = flat(part_of(&sum.view(), &self.result, at).to_tensor()?)?;
                let part = flat(part)?;
                let both = [before.view(), part.view()];
                engine.apply(&self.add, &both)?.swap_remove(0).into_shape(&shape)?
            }
        };
        let whole = sum.view_mut();
        let mut own = self.result.iter().fold(whole, |view, &(axis, n)| view.at(axis, at[n]));
        engine.copy(&part.view(), &mut own)
    }
}

/// What an array has at a slice.
fn part_of<'a>(whole: &TensorView<'a>, axes: &[(usize, usize)], at: &[usize]) -> TensorView<'a> {
    axes.iter().fold(whole.clone(), |view, &(axis, number)| view.at(axis, at[number]))
}

/// The operands at a slice.
fn select<'a>(inputs: &[TensorView<'a>], axes: &[Vec<(usize, usize)>], at: &[usize]) -> Views<'a> {
    inputs.iter().zip(axes).map(|(input, axes)| part_of(input, axes, at)).collect()
}

/// The next slice, the last index fastest; whether there is one.
fn next(at: &mut [usize], extents: &[usize]) -> bool {
    for (at, &extent) in at.iter_mut().zip(extents).rev() {
        *at += 1;
        if *at < extent {
            return true;
        }
        *at = 0;
    }
    false
}
