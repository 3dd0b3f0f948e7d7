//! Einsums in slices: for each value of some indices the rest of the einsum is computed; slices are summed, or are parts
//! of the result.
//!
//! The result, the operands and the product of a step of one slice, and, if slices are summed, one slice are in memory at
//! the same time.

use crate::prepared::{Prepared, Rules};
use crate::{Engine, Error, Tensor, TensorView, TensorViewMut, Views};
use ijk_cpu::RunError;
use ijk_ir::einsum::{Product, sums};
use ijk_plan::order::Order;
use ijk_plan::{Facts, PlanError};
use ijk_types::{DType, Element, with_element};
use ndarray::{ArrayViewD, ArrayViewMutD, Axis};
use std::time::{Duration, Instant};

/// An einsum that is computed slice by slice.
pub(super) struct Sliced {
    /// The plan of a slice.
    slice: Prepared,
    /// The shape of a slice, if slices are summed; none if each is written to its own part of the result.
    added: Option<Vec<usize>>,
    /// The extents of the sliced indices.
    extents: Vec<usize>,
    /// For each operand, its sliced axes, last first.
    axes: Vec<SlicedAxes>,
    /// The sliced axes of the result.
    result: SlicedAxes,
    shape: Vec<usize>,
    /// The element type of the result, and that in which it is summed.
    dtype: DType,
    sum: DType,
}

/// Pairs of a sliced axis and the position of its index in `extents`.
type SlicedAxes = Vec<(usize, usize)>;

/// Interval between polls of the interrupt callback.
const ASK: Duration = Duration::from_millis(20);

/// Elements that are added between two polls.
const BRIEF: usize = 1 << 20;

/// Polls the interrupt callback of an engine at intervals.
struct Pace<'a> {
    engine: &'a Engine,
    asked: Instant,
}

impl Pace<'_> {
    fn goes_on(&mut self) -> Result<(), Error> {
        if self.asked.elapsed() < ASK {
            return Ok(());
        }
        let ends = self.engine.cpu().is_interrupted();
        self.asked = Instant::now();
        if ends { Err(RunError::Interrupted.into()) } else { Ok(()) }
    }
}

impl Sliced {
    /// Plans slices of operands with these layouts, so that all memory in use, including `given` bytes of the
    /// caller, is within a limit.
    pub(super) fn new(
        engine: &Engine,
        product: &Product,
        order: &Order,
        dtype: DType,
        inputs: &[TensorView<'_>],
        (limit, given): (u64, u64),
    ) -> Result<Self, Error> {
        let sliced = &order.sliced;
        let axes = |indices: &[Option<u32>]| -> SlicedAxes {
            let each = indices.iter().enumerate().rev();
            let number = |index: &Option<u32>| sliced.iter().position(|s| Some(*s) == *index);
            each.filter_map(|(axis, index)| Some((axis, number(index)?))).collect()
        };
        let operands: Vec<_> = product.operands.iter().map(|o| axes(o)).collect();
        let result = axes(&product.result);
        let part = product.without(sliced);
        let added = sliced.iter().any(|&index| !product.result.contains(&Some(index)));
        let sum = if added { sums(dtype) } else { dtype };
        let (program, instance) = part.lower_to(dtype, sum, &order.path.0);
        let views = select(inputs, &operands, &vec![0; sliced.len()]);
        let shape: Vec<usize> = product.result_shape().iter().map(|&n| n as usize).collect();
        let part: Vec<usize> = part.result_shape().iter().map(|&n| n as usize).collect();
        let (whole, own) = (bytes(sum, &shape), bytes(sum, &part));
        let rounded = if sum == dtype { 0 } else { bytes(dtype, &shape) };
        // The plan of a slice counts its result, which may be a part of the whole.
        let beside = if added { whole.saturating_add(rounded) } else { whole.saturating_sub(own) };
        let beside = given.saturating_add(beside);
        let places = (!added).then(|| vec![without(&ijk_tensor::c_strides(&shape), &result)]);
        let memory_limit = Some(limit.saturating_sub(beside));
        let rules = Rules { memory_limit, strict: engine.is_strict() };
        let facts = Facts::default();
        let slice = Prepared::of(&program, &instance, engine.cpu(), rules, &views, places, facts);
        let slice = slice.map_err(|error| with(error, beside, limit))?.beside(beside);
        let extents = sliced.iter().map(|&i| product.extents[i as usize] as usize).collect();
        let added = added.then_some(part);
        Ok(Self { slice, added, extents, axes: operands, result, shape, dtype, sum })
    }

    pub(super) fn steps(&self) -> usize {
        self.slice.steps()
    }

    /// Computes all slices, in order.
    pub(super) fn run(&self, engine: &Engine, inputs: &[TensorView<'_>]) -> Result<Tensor, Error> {
        let mut whole = Tensor::zeros(self.sum, &self.shape)?;
        let added = self.added.as_ref().map(|shape| Tensor::zeros(self.sum, shape));
        let mut part = added.transpose()?;
        let mut at = vec![0; self.extents.len()];
        let mut pace = Pace { engine, asked: Instant::now() };
        loop {
            pace.goes_on()?;
            let views = select(inputs, &self.axes, &at);
            let place = match &mut part {
                Some(part) => part.view_mut(),
                None => place(whole.view_mut(), &self.result, &at),
            };
            engine.cpu().execute(self.slice.compiled(), &views, &mut [place])?;
            if let Some(part) = &part {
                with_element!(self.sum, T => self.add::<T>(&mut whole, part, &at, &mut pace))?;
            }
            if !next(&mut at, &self.extents) {
                return match self.sum == self.dtype {
                    true => Ok(whole),
                    false => Ok(whole.cast(self.dtype)?),
                };
            }
        }
    }

    /// Adds a slice to its part of the result.
    fn add<T: Element>(
        &self,
        whole: &mut Tensor,
        part: &Tensor,
        at: &[usize],
        pace: &mut Pace<'_>,
    ) -> Result<(), Error> {
        let mut to = whole.to_ndarray_mut::<T>()?;
        for &(axis, number) in &self.result {
            to.index_axis_inplace(Axis(axis), at[number]);
        }
        add(to, part.view().to_ndarray::<T>()?, pace)
    }
}

/// Adds an array to another one of its shape, in parts between which the callback is polled.
fn add<T: Element>(
    mut to: ArrayViewMutD<'_, T>,
    from: ArrayViewD<'_, T>,
    pace: &mut Pace<'_>,
) -> Result<(), Error> {
    if from.len() <= BRIEF {
        to.zip_mut_with(&from, |sum, &value| *sum = sum.add(value));
        return pace.goes_on();
    }
    let axis = from.max_stride_axis();
    let middle = from.len_of(axis) / 2;
    let (first, second) = from.split_at(axis, middle);
    let (to_first, to_second) = to.view_mut().split_at(axis, middle);
    add(to_first, first, pace)?;
    add(to_second, second, pace)
}

/// Bytes of an array.
fn bytes(dtype: DType, shape: &[usize]) -> u64 {
    shape.iter().fold(dtype.size() as u64, |bytes, &n| bytes.saturating_mul(n as u64))
}

/// The strides of the axes that are not sliced.
fn without(of: &[isize], sliced: &SlicedAxes) -> Vec<isize> {
    let is_left = |axis: usize| sliced.iter().all(|&(other, _)| other != axis);
    of.iter().enumerate().filter(|(axis, _)| is_left(*axis)).map(|(_, &stride)| stride).collect()
}

/// An error in planning a part as one of the whole, which needs `beside` more bytes.
pub(super) fn with(error: Error, beside: u64, limit: u64) -> Error {
    match error {
        Error::Plan(PlanError::MemoryLimit { needed, results, temporaries, .. }) => {
            let needed = needed.saturating_add(beside);
            PlanError::MemoryLimit { needed, results, temporaries, limit }.into()
        }
        other => other,
    }
}

/// The views of the operands that a slice reads.
fn select<'a>(inputs: &[TensorView<'a>], axes: &[SlicedAxes], at: &[usize]) -> Views<'a> {
    let one = |(input, axes): (&TensorView<'a>, &SlicedAxes)| {
        axes.iter().fold(input.clone(), |view, &(axis, number)| view.at(axis, at[number]))
    };
    inputs.iter().zip(axes).map(one).collect()
}

/// The part of the result that a slice is.
fn place<'a>(whole: TensorViewMut<'a>, axes: &SlicedAxes, at: &[usize]) -> TensorViewMut<'a> {
    axes.iter().fold(whole, |view, &(axis, number)| view.at(axis, at[number]))
}

/// Advances to the next slice, last index fastest; false after the last one.
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
