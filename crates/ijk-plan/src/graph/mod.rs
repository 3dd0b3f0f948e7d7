//! The graph that passes rewrite: the core IR with extents and element types filled in.
//!
//! No statement has an empty domain: such a statement is replaced by one that stores the initial value.

pub(crate) mod axes;
pub(crate) mod coverage;
pub(crate) mod expr;
pub(crate) mod index;
pub(crate) mod terms;
pub(crate) mod verify;

mod import;
mod statement;

pub(crate) use statement::{Axis, Expr, ExprNode, Few, Guard, Stmt};

use expr::{can_fail, is_partial, random_can_fail};
use ijk_ir::core::{ArrayId, Init, Span};
use ijk_types::{DType, Reducer, Scalar, UnaryOp, scalar};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub arrays: Vec<ArrayInfo>,
    pub inputs: Vec<ArrayId>,
    pub outputs: Vec<ArrayId>,
    /// Arrays that no output needs, but whose evaluation can fail: a program fails if any part of it does.
    pub fallible: Vec<ArrayId>,
    /// Arrays of a chain of statements that define disjoint parts of the elements. Elements that a statement reaches
    /// are undefined before it, and no other statement reads them before the chain ends.
    pub partial: BTreeSet<ArrayId>,
    /// Arrays whose elements are their own indices.
    pub numbers: BTreeSet<ArrayId>,
    /// Statements, producers before consumers; each array but inputs is defined by one.
    pub statements: Vec<Stmt>,
    /// Disables reassociation; see [`Layout`](crate::Layout).
    pub strict: bool,
    /// Strides of inputs and outputs that are not in C order.
    pub strides: BTreeMap<ArrayId, Vec<isize>>,
}

#[derive(Clone, Debug)]
pub(crate) struct ArrayInfo {
    pub dtype: DType,
    pub shape: Vec<u64>,
}

impl Graph {
    /// The statement that stores the initial value everywhere.
    pub(crate) fn initial(
        &self,
        out: ArrayId,
        init: Init,
        reduce: Option<Reducer>,
        span: Span,
    ) -> Stmt {
        let info = self.array(out);
        let axes: Vec<_> = (0..info.shape.len()).map(|a| axis_named(a, info.shape[a])).collect();
        let value = match init {
            Init::From(source) => ExprNode::Access(source, index::of_axes(0..axes.len())),
            init => ExprNode::Const(self.initial_value(out, init, reduce)),
        };
        Stmt::map(out, axes, vec![value], span)
    }

    /// Initial value of an array's elements, unless it is another array. Positions of extremes start from 0.
    pub(crate) fn initial_value(
        &self,
        out: ArrayId,
        init: Init,
        reduce: Option<Reducer>,
    ) -> Scalar {
        let dtype = self.array(out).dtype;
        match (init, reduce) {
            (Init::Identity(monoid), None | Some(Reducer::Monoid(_))) => {
                scalar::identity(monoid, dtype)
            }
            _ => zero(dtype),
        }
    }

    pub(crate) fn array(&self, id: ArrayId) -> &ArrayInfo {
        &self.arrays[id.0 as usize]
    }

    /// The graph with the strides of inputs and outputs.
    pub(crate) fn with_strides(mut self, inputs: &[Vec<isize>], outputs: &[Vec<isize>]) -> Self {
        let inputs = self.inputs.iter().zip(inputs);
        for (&array, strides) in inputs.chain(self.outputs.iter().zip(outputs)) {
            let several = strides.iter().zip(&self.arrays[array.0 as usize].shape);
            let several = several.filter(|(step, extent)| **extent > 1 && **step != 0);
            if !several.is_sorted_by_key(|(step, _)| Reverse(step.unsigned_abs())) {
                self.strides.insert(array, strides.clone());
            }
        }
        self
    }

    /// Axes of an array by descending stride. Axes of one element or of stride 0 come first.
    pub(crate) fn axes_by_stride(&self, array: ArrayId) -> Vec<usize> {
        let shape = &self.array(array).shape;
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        match self.strides.get(&array) {
            Some(strides) => axes.sort_by_key(|&axis| match strides[axis].unsigned_abs() {
                step if step > 0 && shape[axis] > 1 => Reverse(step),
                _ => Reverse(usize::MAX),
            }),
            None => axes.sort_by_key(|&axis| shape[axis] > 1),
        }
        axes
    }

    /// A new array for a statement that a pass adds.
    pub(crate) fn new_array(&mut self, dtype: DType, shape: Vec<u64>) -> ArrayId {
        self.arrays.push(ArrayInfo { dtype, shape });
        ArrayId((self.arrays.len() - 1) as u32)
    }

    /// For each array, the index of the statement that defines it.
    pub(crate) fn definitions(&self) -> Vec<Option<u32>> {
        let mut definitions = vec![None; self.arrays.len()];
        for (at, stmt) in self.statements.iter().enumerate() {
            definitions[stmt.out.0 as usize] = Some(at as u32);
        }
        definitions
    }

    /// For each array, the number of its reads, outputs and initial values included.
    pub(crate) fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0; self.arrays.len()];
        for output in &self.outputs {
            uses[output.0 as usize] += 1;
        }
        for stmt in &self.statements {
            stmt.for_each_read(|array| uses[array.0 as usize] += 1);
        }
        uses
    }

    /// Tells whether evaluating a statement can fail.
    pub(crate) fn can_fail(&self, stmt: &Stmt) -> bool {
        self.can_fail_in(&stmt.value)
    }

    /// Tells whether evaluating an expression can fail.
    pub(crate) fn can_fail_in(&self, value: &Expr) -> bool {
        let partial = |node: &ExprNode| match node {
            ExprNode::Binary(op, ..) => is_partial(*op),
            ExprNode::Unary(op, _) => *op == UnaryOp::Recip,
            ExprNode::Random { .. } => true,
            _ => false,
        };
        if !value.nodes.iter().any(partial) {
            return false;
        }
        let types = self.node_types(value);
        let constant = |at: u32| match value.nodes[at as usize] {
            ExprNode::Const(value) => Some(value),
            _ => None,
        };
        value.nodes.iter().any(|node| match node {
            ExprNode::Binary(op, x, y) => can_fail(*op, types[*x as usize], constant(*y)),
            ExprNode::Unary(op, x) => *op == UnaryOp::Recip && types[*x as usize].is_integer(),
            ExprNode::Random { lo, hi, .. } => random_can_fail(constant(*lo), constant(*hi)),
            _ => false,
        })
    }

    /// Element types of all nodes.
    pub(crate) fn node_types(&self, value: &Expr) -> Few<DType> {
        let mut types: Few<DType> = Few::with_capacity(value.nodes.len());
        for node in &value.nodes {
            types.push(self.node_type(node, &types));
        }
        types
    }

    /// Element type of a node, given those of the nodes before it.
    fn node_type(&self, node: &ExprNode, types: &[DType]) -> DType {
        match node {
            ExprNode::Access(array, _) => self.array(*array).dtype,
            ExprNode::Const(value) => value.dtype(),
            ExprNode::Index(_) => DType::I64,
            ExprNode::Unary(op, x) => op.result().of(types[*x as usize]),
            ExprNode::Binary(op, x, _) => op.result().of(types[*x as usize]),
            ExprNode::Select(_, x, _) | ExprNode::Random { lo: x, .. } => types[*x as usize],
        }
    }
}

/// Zero of an element type; `false` for booleans.
pub(crate) fn zero(dtype: DType) -> Scalar {
    Scalar::zero(dtype)
}

fn axis_named(number: usize, extent: u64) -> Axis {
    Axis { name: format!("i{number}"), extent }
}
