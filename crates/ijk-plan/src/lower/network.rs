//! Direct planning of tensor products along a path, without the passes.
//!
//! Products of tensors have bare indices, whole domains and values of two factors: the passes would find nothing. A
//! network of hundreds of tiny tensors runs in less time than the passes take, so its steps are emitted directly.

use crate::PlanError;
use crate::SMALL_DOMAIN;
use crate::graph::ArrayInfo;
use crate::layout::{Layout, axis_order, c_strides};
use crate::lower::arena::Arena;
use crate::lower::buffers::bytes;
use crate::lower::reverse;
use crate::plan::{
    Base, Buffer, BufferId, Contraction, ContractionAxis, Load, Nest, NestAxis, Node, NodeId,
    Place, Plan, Role, Start, Step, Store,
};
use crate::select::profit::is_worth;
use ijk_ir::core::Span;
use ijk_ir::einsum::{Multiplication, Product, operators};
use ijk_types::{DType, Reducer};

/// Plans a product of tensors along a path. `None` if it is better planned as a program: a step multiplies more than
/// two tensors, the result repeats an index, elements have to be cast, an extent is 0, intermediates are large enough
/// for sweeps or copies to pay, or memory is short.
///
/// # Errors
/// [`PlanError`] if an array is larger than the address space.
///
/// # Panics
/// If a step repeats a position, or names one that does not exist.
///
/// ```
/// use ijk_ir::einsum::Product;
/// use ijk_plan::{Layout, c_strides, plan_product};
/// use ijk_types::DType;
///
/// // ij,jk,kl->il
/// let product = Product {
///     source: String::new(),
///     extents: vec![2, 3, 4, 5],
///     names: ["i", "j", "k", "l"].map(String::from).into(),
///     operands: [[0, 1], [1, 2], [2, 3]].map(|axes| axes.map(Some).into()).into(),
///     result: vec![Some(0), Some(3)],
///     shapes: vec![vec![2, 3], vec![3, 4], vec![4, 5]],
/// };
/// let inputs = product.shapes.iter().map(|shape| c_strides(shape)).collect();
/// let layout = Layout::new(inputs, vec![c_strides(&[2, 5])], None);
/// let plan = plan_product(&product, DType::F64, &[vec![1, 2], vec![0, 1]], &layout).unwrap();
/// assert_eq!(plan.unwrap().steps.len(), 2);
/// ```
pub fn plan_product(
    product: &Product,
    dtype: DType,
    path: &[Vec<usize>],
    layout: &Layout,
) -> Result<Option<Plan>, PlanError> {
    let empty = product.extents.contains(&0) || product.shapes.iter().any(|s| s.contains(&0));
    let of_two = path.iter().all(|step| step.len() <= 2);
    let stored_only = dtype.lanes() != dtype;
    if empty || stored_only || !of_two || layout.inputs.len() != product.operands.len() {
        return Ok(None);
    }
    let steps = product.steps(path);
    let Some(last) = steps.last() else { return Ok(None) };
    let plain = last.factors.len() <= 2 && last.kept == last.axes.iter().flatten().count();
    if !plain {
        return Ok(None);
    }
    let mut network = NetworkPlanner::new(product, dtype, layout)?;
    for (at, step) in steps.iter().enumerate() {
        if !network.step(&steps, at, step)? {
            return Ok(None);
        }
    }
    Ok(network.finish())
}

/// Points up to which an index of a single factor is summed within the product.
const MAX_SUMMED_WITHIN: u64 = 4096;

/// Shortest rows that a step reads in their order rather than in that of its result.
const SHORTEST_ROW: u64 = 4;

/// Points of a step whose run time exceeds that of the passes, which may copy an operand.
const MAX_DIRECT_POINTS: u64 = 1 << 26;

/// Steps from which on a network is planned directly even if intermediates are large.
const MIN_DIRECT_STEPS: usize = 16;

struct NetworkPlanner<'a> {
    product: &'a Product,
    dtype: DType,
    layout: &'a Layout,
    /// Buffers of operands and of results of steps.
    buffers: Vec<BufferId>,
    arena: Arena,
    plan: Plan,
}

impl<'a> NetworkPlanner<'a> {
    fn new(product: &'a Product, dtype: DType, layout: &'a Layout) -> Result<Self, PlanError> {
        let plan = Plan { buffers: Vec::new(), steps: Vec::new(), arena: 0 };
        let mut network =
            Self { product, dtype, layout, buffers: Vec::new(), arena: Arena::default(), plan };
        for (n, shape) in product.shapes.iter().enumerate() {
            let strides = layout.inputs[n].clone();
            if strides.len() != shape.len() {
                let (expected, found) = (shape.len(), strides.len());
                return Err(PlanError::Layout { expected, found });
            }
            network.bytes(shape)?;
            network.buffer(Place::Input(n), shape, strides);
        }
        Ok(network)
    }

    /// Bytes of an array, if it fits in the address space.
    fn bytes(&self, shape: &[u64]) -> Result<u64, PlanError> {
        bytes(&ArrayInfo { dtype: self.dtype, shape: shape.to_vec() })
    }

    fn buffer(&mut self, place: Place, shape: &[u64], strides: Vec<isize>) {
        let shape = shape.iter().map(|&n| n as usize).collect();
        self.buffers.push(BufferId(self.plan.buffers.len() as u32));
        self.plan.buffers.push(Buffer { place, dtype: self.dtype, shape, strides });
    }

    /// Adds a step; returns false if the network is better planned as a program.
    fn step(
        &mut self,
        steps: &[Multiplication],
        at: usize,
        step: &Multiplication,
    ) -> Result<bool, PlanError> {
        let extent = |index: &Option<u32>| index.map_or(1, |i| self.product.extents[i as usize]);
        let shape: Vec<u64> = step.axes.iter().map(extent).collect();
        let bytes = self.bytes(&shape)?;
        if at + 1 == steps.len() {
            let Some(strides) = self.layout.outputs.first() else { return Ok(false) };
            if strides.len() != shape.len() {
                return Ok(false);
            }
            self.buffer(Place::Output(0), &shape, strides.clone());
        } else {
            if bytes > self.layout.near && steps.len() < MIN_DIRECT_STEPS {
                return Ok(false);
            }
            let Some(start) = self.arena.allocate(bytes) else { return Ok(false) };
            self.buffer(Place::Temporary(start as usize), &shape, c_strides(&shape));
        }
        let Some(kernel) = self.kernel(steps, step) else { return Ok(false) };
        self.plan.steps.push(kernel);
        for &factor in &step.factors {
            let buffer = &self.plan.buffers[self.buffers[factor].0 as usize];
            if let Place::Temporary(start) = buffer.place {
                let bytes = buffer.shape.iter().product::<usize>() * self.dtype.size();
                self.arena.release(start as u64, bytes as u64);
            }
        }
        Ok(true)
    }

    /// The kernel that computes a step into the newest buffer; `None` if a factor is better summed or copied first.
    fn kernel(&self, steps: &[Multiplication], step: &Multiplication) -> Option<Step> {
        let place = |buffer: BufferId, axes: &[Option<u32>]| {
            let array_strides = &self.plan.buffers[buffer.0 as usize].strides;
            let mut strides = vec![0isize; step.domain.len()];
            for (index, &stride) in axes.iter().zip(array_strides) {
                if let Some(at) = index.and_then(|i| step.domain.iter().position(|&d| d == i)) {
                    strides[at] = strides[at].wrapping_add(stride);
                }
            }
            (Base { buffer, offset: 0 }, strides)
        };
        let factor = |&n: &usize| place(self.buffers[n], self.product.axes(steps, n));
        let factors: Vec<(Base, Vec<isize>)> = step.factors.iter().map(factor).collect();
        let out = place(BufferId(self.plan.buffers.len() as u32 - 1), &step.axes);
        let extents = step.domain.iter().map(|&index| self.product.extents[index as usize]);
        let points = extents.fold(1u64, |n, extent| n.saturating_mul(extent));
        if let [a, b] = &factors[..]
            && points > SMALL_DOMAIN
            && step.kept < step.domain.len()
        {
            let summed = step.kept..step.domain.len();
            if points > MAX_SUMMED_WITHIN && summed.into_iter().any(|n| a.1[n] == 0 || b.1[n] == 0)
            {
                return None;
            }
            if points > MAX_DIRECT_POINTS && steps.len() < MIN_DIRECT_STEPS {
                return None;
            }
            let contraction = self.contraction(step, a, b, &out);
            if is_worth(&contraction) {
                let batched = |n: usize| a.1[n] != 0 && b.1[n] != 0;
                let across = self.writes_across(step, &factors, &out.1, batched);
                return (!across).then_some(Step::Contract(contraction));
            }
        }
        if points > 8 * SMALL_DOMAIN && self.writes_across(step, &factors, &out.1, |_| true) {
            return None;
        }
        Some(Step::Nest(self.nest(step, factors, out, points)))
    }

    /// Tells whether a reduction reads rows along an axis, and writes its result along another one, for which `holds` is
    /// true: a transposing copy of the result may pay.
    fn writes_across(
        &self,
        step: &Multiplication,
        factors: &[(Base, Vec<isize>)],
        out: &[isize],
        holds: impl Fn(usize) -> bool,
    ) -> bool {
        let is_from = |n: usize, least: u64| self.extent(step.domain[n]) as u64 >= least;
        let long = axis_order::SHORT;
        let written = (0..step.kept).any(|n| out[n] == 1 && is_from(n, long) && holds(n));
        let row = |n: usize| is_from(n, SHORTEST_ROW) && factors.iter().any(|f| f.1[n] == 1);
        let read = |n: usize| out[n] != 1 && row(n);
        step.kept < step.domain.len() && written && (0..step.kept).any(read)
    }

    fn extent(&self, index: u32) -> usize {
        self.product.extents[index as usize] as usize
    }

    fn contraction(
        &self,
        step: &Multiplication,
        a: &(Base, Vec<isize>),
        b: &(Base, Vec<isize>),
        c: &(Base, Vec<isize>),
    ) -> Contraction {
        let (map, reduce) = operators(self.dtype);
        let axis = |(n, &index): (usize, &u32)| ContractionAxis {
            name: self.product.names[index as usize].clone(),
            role: match (n < step.kept, a.1[n] != 0, b.1[n] != 0) {
                (false, ..) => Role::K,
                (true, true, true) => Role::Batch,
                (true, false, true) => Role::N,
                (true, _, false) => Role::M,
            },
            extent: self.extent(index),
            a: a.1[n],
            b: b.1[n],
            c: c.1[n],
        };
        Contraction {
            dtype: self.dtype,
            map,
            then: None,
            reduce,
            a: a.0,
            b: b.0,
            c: c.0,
            accumulate: false,
            axes: step.domain.iter().enumerate().map(axis).collect(),
            span: Span::default(),
        }
    }

    fn nest(
        &self,
        step: &Multiplication,
        factors: Vec<(Base, Vec<isize>)>,
        (base, strides): (Base, Vec<isize>),
        points: u64,
    ) -> Nest {
        let (map, reduce) = operators(self.dtype);
        let axis = |(n, &index): (usize, &u32)| NestAxis {
            name: self.product.names[index as usize].clone(),
            extent: self.extent(index),
            reduced: n >= step.kept,
            collides: false,
        };
        let mut body: Vec<Node> = (0..factors.len()).map(|n| Node::Load(n as u32)).collect();
        if factors.len() == 2 {
            body.push(Node::Binary(map, NodeId(0), NodeId(1)));
        }
        let dtype = self.dtype;
        let load = |(base, strides)| Load { base, dtype, strides };
        Nest {
            axes: step.domain.iter().enumerate().map(axis).collect(),
            loads: factors.into_iter().map(load).collect(),
            body,
            store: Store { base, dtype, strides, offset: None },
            reduce: (step.kept < step.domain.len()).then_some(Reducer::Monoid(reduce)),
            start: Start::Covered,
            sequential: points <= SMALL_DOMAIN,
            span: Span::default(),
        }
    }

    /// The plan, if it stays within the memory limit.
    fn finish(mut self) -> Option<Plan> {
        self.plan.arena = self.arena.bytes() as usize;
        reverse::reverse_axes(&mut self.plan);
        let needed = self.plan.result_bytes().saturating_add(self.plan.temporary_bytes());
        let fits = self.layout.memory_limit.is_none_or(|limit| needed <= limit);
        fits.then_some(self.plan)
    }
}
