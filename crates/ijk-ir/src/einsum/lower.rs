//! A product of tensors as a program: a statement for each step of a path.

use super::{Multiplication, Product, operators};
use crate::core::{
    Access, Array, ArrayId, Axis, AxisId, IndexExpr, Init, Instance, Program, ScalarExpr, ScalarId,
    ScalarNode, Span, Statement, TypeTerm,
};
use ijk_types::{BinaryOp, DType, Reducer, UnaryOp};

impl Product {
    /// The program that multiplies [step by step](Self::steps). Products of earlier steps are not rounded to `f16` or
    /// `bf16`.
    ///
    /// # Panics
    /// If a step names a position twice, or one that there is not.
    pub fn lower(&self, dtype: DType, path: &[Vec<usize>]) -> (Program, Instance) {
        self.lower_to(dtype, dtype, path)
    }

    /// [`lower`](Self::lower) with a result of `result`: the type of the operands, or that of their [`sums`].
    ///
    /// # Panics
    /// As for [`lower`](Self::lower).
    pub fn lower_to(
        &self,
        dtype: DType,
        result: DType,
        path: &[Vec<usize>],
    ) -> (Program, Instance) {
        let steps = self.steps(path);
        let mut lowering = EinsumLowering::new(self, dtype, &steps);
        let within = if steps.len() > 1 { sums(dtype) } else { result };
        steps.iter().for_each(|step| lowering.step(step, within));
        if within != result {
            lowering.convert(result);
        }
        lowering.finish()
    }
}

/// The type in which products and sums of products are computed: `f32` for `f16` and `bf16`, whose sums round once.
/// Integers wrap, so they stay in their own.
///
/// ```
/// use ijk_ir::einsum::sums;
/// use ijk_types::DType;
/// assert_eq!([DType::BF16, DType::I8, DType::F64].map(sums), [DType::F32, DType::I8, DType::F64]);
/// ```
pub fn sums(dtype: DType) -> DType {
    if dtype.is_float() { dtype.lanes() } else { dtype }
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

    fn step(&mut self, step: &Multiplication, dtype: DType) {
        let out = self.array(&step.axes, dtype);
        self.statement(out, step);
    }

    /// Converts the last product.
    fn convert(&mut self, dtype: DType) {
        let last = self.program.arrays.len() - 1;
        let Some(Multiplication { axes, domain, kept, .. }) = self.steps.last() else { return };
        let (axes, domain, kept) = (axes.clone(), domain[..*kept].to_vec(), *kept);
        self.step(&Multiplication { factors: vec![last], axes, domain, kept }, dtype);
    }

    /// A new array.
    fn array(&mut self, axes: &[Option<u32>], dtype: DType) -> ArrayId {
        let id = ArrayId(self.program.arrays.len() as u32);
        let extent = |index: &Option<u32>| index.map_or(1, |i| self.product.extents[i as usize]);
        let (rank, fixed) = (Some(axes.len() as u32), TypeTerm::Fixed(dtype));
        self.program.arrays.push(Array { rank, dtype: fixed, span: Span::default() });
        self.instance.dtypes.push(dtype);
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
        let dtypes = &self.instance.dtypes;
        let to = dtypes[out.0 as usize];
        let cast = |array: ArrayId| (dtypes[array.0 as usize] != to).then_some(to);
        let nodes = product(times, accesses, cast);
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

/// A product of elements, each cast to the type that `cast` says, if it says one.
pub(super) fn product(
    times: BinaryOp,
    elements: impl Iterator<Item = (ArrayId, Vec<IndexExpr>)>,
    cast: impl Fn(ArrayId) -> Option<DType>,
) -> Vec<ScalarNode> {
    let mut nodes: Vec<ScalarNode> = Vec::with_capacity(2 * elements.size_hint().0);
    let mut product: Option<ScalarId> = None;
    for (array, index) in elements {
        let mut push = |node| {
            nodes.push(node);
            ScalarId(nodes.len() as u32 - 1)
        };
        let mut factor = push(ScalarNode::Access(Access { array, index, span: Span::default() }));
        if let Some(to) = cast(array) {
            factor = push(ScalarNode::Unary(UnaryOp::Cast(to), factor));
        }
        let all = |left| push(ScalarNode::Binary(times, left, factor));
        product = Some(product.map_or(factor, all));
    }
    nodes
}
