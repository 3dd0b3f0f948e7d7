//! Plans of einsums, whole or in slices.

use super::Einsum;
use super::slices::{Sliced, with};
use crate::cache;
use crate::prepared::{Prepared, Rules, check_output, naming_the_least};
use crate::{Engine, Error, TensorView, TensorViewMut};
use ijk_cpu::RunError;
use ijk_ir::einsum::Product;
use ijk_plan::order::{self, Measure, Network, Options, Order, OrderError, Path};
use ijk_plan::{Facts, Layout, PlanError, c_strides, plan_product};
use ijk_types::DType;

/// A compiled plan of an einsum for operands of some types, shapes and strides.
pub(super) enum Planned {
    /// All at once.
    Whole(Prepared),
    /// Slice by slice, since intermediates of the whole exceed the memory limit.
    Sliced(Sliced),
}

impl cache::HasSteps for Planned {
    fn steps(&self) -> usize {
        match self {
            Self::Whole(prepared) => prepared.steps(),
            Self::Sliced(sliced) => sliced.steps(),
        }
    }
}

/// Ratio of the bounds on intermediates of successive attempts to meet the memory limit.
const SHRINK: u64 = 2;

impl Planned {
    pub(super) fn new(
        engine: &Engine,
        einsum: &Einsum,
        inputs: &[TensorView<'_>],
        outputs: Option<&[TensorViewMut<'_>]>,
    ) -> Result<Self, Error> {
        let product = einsum.product(inputs)?;
        let dtype = inputs.first().map_or(DType::F64, TensorView::dtype);
        let order = order(engine, einsum, &product, None)?;
        let beside = einsum.inner.beside;
        let limit = engine.memory_limit().map(|limit| (limit, limit.saturating_sub(beside)));
        let spare = limit.map(|(_, spare)| spare);
        let planned = whole((engine, spare), &product, &order, dtype, inputs, outputs);
        let planned = planned.map_err(|error| match limit {
            Some((limit, _)) => with(error, beside, limit),
            None => error,
        });
        let error = match planned {
            Err(Error::Plan(error @ PlanError::MemoryLimit { .. })) => error,
            planned => return Ok(Self::Whole(planned?.beside(beside))),
        };
        let PlanError::MemoryLimit { limit, results, needed: mut least, .. } = error else {
            return Err(error.into());
        };
        if einsum.inner.path.is_some() {
            return Err(error.into());
        }
        // An output of the caller counts, too: slices are summed in memory of their own.
        let given = if outputs.is_some() { results } else { 0 };
        let given = given.saturating_add(beside);
        let mut before = Vec::new();
        for most in bounds(order.cost.largest, limit / dtype.size() as u64) {
            let order = self::order(engine, einsum, &product, Some(most))?;
            let empty = order.sliced.iter().any(|&index| product.extents[index as usize] == 0);
            if empty || order.sliced.is_empty() || order.sliced == before {
                continue;
            }
            match Sliced::new(engine, &product, &order, dtype, inputs, (limit, given)) {
                Err(Error::Plan(PlanError::MemoryLimit { needed, .. })) => {
                    least = least.min(needed)
                }
                sliced => return Ok(Self::Sliced(sliced?)),
            }
            before = order.sliced;
        }
        let (needed, temporaries) = (least, least.saturating_sub(results));
        Err(PlanError::MemoryLimit { needed, results, temporaries, limit }.into())
    }
}

/// Bounds on intermediates in elements, descending from the least one above the limit. They are fractions of the
/// largest intermediate, so that similar limits lead to the same slices.
fn bounds(largest: f64, limit: u64) -> impl Iterator<Item = u64> {
    let parts = std::iter::successors(Some(largest as u64), |most| Some(most / SHRINK));
    parts.skip(1).skip_while(move |most| most / SHRINK > limit).take_while(|&most| most > 0)
}

/// The product as a network for the search.
pub(super) fn network(product: &Product) -> Network {
    let operands = (0..product.operands.len()).map(|n| product.indices(n)).collect();
    let output = product.result.iter().flatten().copied().collect();
    Network { operands, output, extents: product.extents.clone() }
}

/// The given order, or one that is searched for, unless the user interrupts the search.
pub(super) fn order(
    engine: &Engine,
    einsum: &Einsum,
    product: &Product,
    most_elements: Option<u64>,
) -> Result<Order, Error> {
    let network = network(product);
    let inner = &*einsum.inner;
    match &inner.path {
        Some(path) => {
            let cost = order::cost(&network, path, &[])?;
            Ok(Order { path: path.clone(), sliced: Vec::new(), cost })
        }
        None if engine.is_strict() => {
            let path = Path(vec![(0..product.operands.len()).collect()]);
            let cost = order::cost(&network, &path, &[])?;
            Ok(Order { path, sliced: Vec::new(), cost })
        }
        None => {
            let most_elements = most_elements.or(inner.options.most_elements);
            let measure = Measure::Time;
            let options = Options { most_elements, measure, ..inner.options.clone() };
            let stop = || engine.cpu().is_interrupted();
            order::order_until(&network, &options, &stop).map_err(|error| match error {
                OrderError::Interrupted => RunError::Interrupted.into(),
                error => error.into(),
            })
        }
    }
}

fn whole(
    (engine, limit): (&Engine, Option<u64>),
    product: &Product,
    order: &Order,
    dtype: DType,
    inputs: &[TensorView<'_>],
    outputs: Option<&[TensorViewMut<'_>]>,
) -> Result<Prepared, Error> {
    let shape = product.result_shape();
    for (position, output) in outputs.into_iter().flatten().enumerate() {
        check_output(position, output, dtype, &shape)?;
    }
    let outputs = outputs.map(crate::prepared::strides);
    let strides = || -> Vec<Vec<isize>> { inputs.iter().map(|i| i.strides().to_vec()).collect() };
    let results = || outputs.clone().unwrap_or_else(|| vec![c_strides(&shape)]);
    let strict = engine.is_strict();
    let direct = naming_the_least(limit, |limit| {
        let layout = Layout { strict, ..Layout::new(strides(), results(), limit) };
        let plan = plan_product(product, dtype, &order.path.0, &layout)?;
        plan.map(|plan| Prepared::planned(plan, engine.cpu(), limit)).transpose()
    })?;
    if let Some(prepared) = direct {
        return Ok(prepared);
    }
    let (program, instance) = product.lower(dtype, &order.path.0);
    let rules = Rules { memory_limit: limit, strict };
    let facts = Facts::default();
    Prepared::of(&program, &instance, engine.cpu(), rules, inputs, outputs, facts)
}
