//! A product of tensors as a program: a statement for each step of a path.

use super::{Multiplication, Product, operators};
use crate::core::{
    Access, Array, ArrayId, Axis, AxisId, IndexExpr, Init, Instance, Program, ScalarExpr, ScalarId,
    ScalarNode, Span, Statement, TypeTerm,
};
use ijk_types::{BinaryOp, DType, Reducer};

impl Product {
    /// The program that multiplies [step by step](Self::steps).
    ///
    /// # Panics
    /// If a step names a position twice, or one that there is not.
    pub fn lower(&self, dtype: DType, path: &[Vec<usize>]) -> (Program, Instance) {
        let steps = self.steps(path);
        let mut lowering = EinsumLowering::new(self, dtype, &steps);
        steps.iter().for_each(|step| lowering.step(step));
        lowering.finish()
    }
}

struct EinsumLowering<'a> {
    product: &'a Product,
    dtype: DType,
    steps: &'a [Multiplication],
    program: Program,
    instance: Instance,
}

impl<'a> EinsumLowering<'a> {
    fn new(product: &'a Product, dtype: DType, steps: &'a [Multiplication]) -> Self {
        let count = product.operands.len();
        let array = |shape: &Vec<u64>| Array {
            rank: Some(shape.len() as u32),
            dtype: TypeTerm::Fixed(dtype),
            span: Span::default(),
        };
        let program = Program {
            source: product.source.clone(),
            arrays: product.shapes.iter().map(array).collect(),
            inputs: (0..count as u32).map(ArrayId).collect(),
            ..Program::default()
        };
        let instance = Instance {
            dtypes: vec![dtype; count],
            shapes: product.shapes.clone(),
            ..Instance::default()
        };
        Self { product, dtype, steps, program, instance }
    }

    fn step(&mut self, step: &Multiplication) {
        let out = self.array(&step.axes);
        self.statement(out, step);
    }

    /// A new array.
    fn array(&mut self, axes: &[Option<u32>]) -> ArrayId {
        let id = ArrayId(self.program.arrays.len() as u32);
        let extent = |index: &Option<u32>| index.map_or(1, |i| self.product.extents[i as usize]);
        let (rank, dtype) = (Some(axes.len() as u32), TypeTerm::Fixed(self.dtype));
        self.program.arrays.push(Array { rank, dtype, span: Span::default() });
        self.instance.dtypes.push(self.dtype);
        self.instance.shapes.push(axes.iter().map(extent).collect());
        id
    }

    fn statement(&mut self, out: ArrayId, step: &Multiplication) {
        let Multiplication { factors, axes, domain, kept } = step;
        let reduces = *kept < domain.len();
        let index = |axes: &[Option<u32>]| -> Vec<IndexExpr> {
            let position =
                |index: u32| domain.iter().position(|&other| other == index).unwrap_or(0);
            let axis = |index: &Option<u32>| match index {
                Some(index) => IndexExpr::axis(AxisId(position(*index) as u32)),
                None => IndexExpr::constant(0),
            };
            axes.iter().map(axis).collect()
        };
        let (times, plus) = operators(self.dtype);
        let access = |&factor: &usize| {
            (ArrayId(factor as u32), index(self.product.axes(self.steps, factor)))
        };
        let accesses = factors.iter().map(access);
        let nodes = product(times, accesses);
        let axis = |&index: &u32| {
            let name = self.product.names[index as usize].clone();
            Axis { name, dims: Vec::new(), pins: Vec::new() }
        };
        self.program.statements.push(Statement {
            out,
            domain: domain.iter().map(axis).collect(),
            out_index: index(axes),
            init: if reduces { Init::Identity(plus) } else { Init::Zero },
            reduce: reduces.then_some(Reducer::Monoid(plus)),
            value: ScalarExpr { nodes },
            guards: Vec::new(),
            span: Span::default(),
        });
        let extents = domain.iter().map(|&index| self.product.extents[index as usize]);
        self.instance.extents.push(extents.collect());
    }

    fn finish(mut self) -> (Program, Instance) {
        self.program.outputs = vec![ArrayId(self.program.arrays.len() as u32 - 1)];
        (self.program, self.instance)
    }
}

/// A product of elements.
pub(super) fn product(
    times: BinaryOp,
    elements: impl Iterator<Item = (ArrayId, Vec<IndexExpr>)>,
) -> Vec<ScalarNode> {
    let mut nodes = Vec::with_capacity(2 * elements.size_hint().0);
    for (n, (array, index)) in elements.enumerate() {
        nodes.push(ScalarNode::Access(Access { array, index, span: Span::default() }));
        if n > 0 {
            let right = nodes.len() as u32 - 1;
            let left = if n == 1 { 0 } else { right - 1 };
            nodes.push(ScalarNode::Binary(times, ScalarId(left), ScalarId(right)));
        }
    }
    nodes
}
