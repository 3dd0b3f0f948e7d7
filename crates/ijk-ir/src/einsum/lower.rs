//! A product of tensors as a program: a statement for each step of a path.

use super::{Product, distinct};
use crate::core::{
    Access, Array, ArrayId, Axis, AxisId, IndexExpr, Init, Instance, Program, ScalarExpr, ScalarId,
    ScalarNode, Span, Statement, TypeTerm,
};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};

impl Product {
    /// The program that multiplies step by step: each takes the operands at its positions out of the
    /// list, and appends their product, summed over what nothing else has. What remains in the end is
    /// multiplied at once.
    ///
    /// # Panics
    /// If a step names a position that there is not, or its positions do not ascend.
    pub fn lower(&self, dtype: DType, path: &[Vec<usize>]) -> (Program, Instance) {
        let mut lowering = Lowering::new(self, dtype);
        for step in path {
            lowering.step(step);
        }
        if lowering.list.len() != 1 || path.is_empty() {
            lowering.step(&(0..lowering.list.len()).collect::<Vec<_>>());
        }
        lowering.finish()
    }
}

/// An array that is to be multiplied, with the index of each axis.
struct Tensor {
    array: ArrayId,
    axes: Vec<Option<u32>>,
}

struct Lowering<'a> {
    product: &'a Product,
    dtype: DType,
    list: Vec<Tensor>,
    /// For each index, how many arrays of the list have it, the result counted.
    users: Vec<u32>,
    /// Scratch: whether an index is among those of the step.
    met: Vec<bool>,
    program: Program,
    instance: Instance,
}

impl<'a> Lowering<'a> {
    fn new(product: &'a Product, dtype: DType) -> Self {
        let count = product.operands.len();
        let list: Vec<Tensor> = product
            .operands
            .iter()
            .enumerate()
            .map(|(n, axes)| Tensor { array: ArrayId(n as u32), axes: axes.clone() })
            .collect();
        let mut users = vec![0; product.extents.len()];
        let all = product.operands.iter().chain([&product.result]);
        all.for_each(|axes| distinct(axes).into_iter().for_each(|i| users[i as usize] += 1));
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
            extents: Vec::new(),
        };
        let met = vec![false; product.extents.len()];
        Self { product, dtype, list, users, met, program, instance }
    }

    /// Takes tensors out of the list and appends their product.
    fn step(&mut self, positions: &[usize]) {
        let last = positions.len() == self.list.len();
        let taken = positions.iter().rev().map(|&at| self.list.remove(at));
        let mut taken: Vec<Tensor> = taken.collect();
        taken.reverse();
        let mut indices: Vec<u32> = Vec::new();
        for tensor in &taken {
            for index in distinct(&tensor.axes) {
                self.users[index as usize] -= 1;
                if !std::mem::replace(&mut self.met[index as usize], true) {
                    indices.push(index);
                }
            }
        }
        indices.iter().for_each(|&index| self.met[index as usize] = false);
        let kept = |index: &u32| self.users[*index as usize] > 0;
        let axes = match last {
            true => self.product.result.clone(),
            false => indices.iter().copied().filter(kept).map(Some).collect(),
        };
        // What is kept first, so that the domain begins with the output's axes.
        let reduced: Vec<u32> = indices.iter().copied().filter(|index| !kept(index)).collect();
        let domain: Vec<u32> = distinct(&axes).into_iter().chain(reduced.iter().copied()).collect();
        distinct(&axes).into_iter().for_each(|index| self.users[index as usize] += 1);
        let out = self.array(&axes);
        self.statement(out, &axes, &domain, &taken, !reduced.is_empty());
        self.list.push(Tensor { array: out, axes });
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

    fn statement(
        &mut self,
        out: ArrayId,
        axes: &[Option<u32>],
        domain: &[u32],
        factors: &[Tensor],
        reduces: bool,
    ) {
        let index = |axes: &[Option<u32>]| -> Vec<IndexExpr> {
            let position =
                |index: u32| domain.iter().position(|&other| other == index).unwrap_or(0);
            let axis = |index: &Option<u32>| match index {
                Some(index) => IndexExpr::axis(AxisId(position(*index) as u32)),
                None => IndexExpr::constant(0),
            };
            axes.iter().map(axis).collect()
        };
        let (times, plus) = match self.dtype {
            DType::Bool => (BinaryOp::And, Monoid::Or),
            _ => (BinaryOp::Mul, Monoid::Add),
        };
        let accesses = factors.iter().map(|factor| (factor.array, index(&factor.axes)));
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
        self.program.outputs = self.list.iter().map(|tensor| tensor.array).collect();
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
