//! The body of a loop nest: loads where positions are affine, computed offsets where they are not.

use crate::buffers::Buffers;
use crate::emit::affine;
use crate::graph::{Expr, Graph, Node as Value};
use crate::plan::{Base, Load, Node, NodeId};
use ijk_ir::core::{ArrayId, Atom, IndexExpr};
use ijk_types::{BinaryOp, Scalar};

/// Collects loads and nodes of one nest.
pub(crate) struct Emitter<'a> {
    graph: &'a Graph,
    buffers: &'a Buffers,
    axes: usize,
    loads: Vec<Load>,
    body: Vec<Node>,
}

impl<'a> Emitter<'a> {
    pub(crate) fn new(graph: &'a Graph, buffers: &'a Buffers, axes: usize) -> Self {
        Self { graph, buffers, axes, loads: Vec::new(), body: Vec::new() }
    }

    /// Loads and nodes, the value `root` last.
    pub(crate) fn finish(mut self, root: NodeId) -> (Vec<Load>, Vec<Node>) {
        if root.0 as usize + 1 != self.body.len() {
            self.body.push(self.body[root.0 as usize].clone());
        }
        (self.loads, self.body)
    }

    /// The node of an expression's value.
    pub(crate) fn value(&mut self, value: &Expr) -> NodeId {
        let mut nodes: Vec<NodeId> = Vec::with_capacity(value.nodes.len());
        for node in &value.nodes {
            let id = |at: &u32| nodes[*at as usize];
            let emitted = match node {
                Value::Access(array, index) => self.access(*array, index),
                Value::Index(e) => self.index(e),
                Value::Const(value) => self.push(Node::Const(*value)),
                Value::Unary(op, x) => self.push(Node::Unary(*op, id(x))),
                Value::Binary(op, x, y) => self.push(Node::Binary(*op, id(x), id(y))),
                Value::Select(c, x, y) => self.push(Node::Select(id(c), id(x), id(y))),
                Value::Random { .. } => todo!("random numbers"),
            };
            nodes.push(emitted);
        }
        nodes.last().copied().unwrap_or(NodeId(0))
    }

    /// Where an array is indexed: its origin, a step for each axis, and what divisions and
    /// remainders add.
    pub(crate) fn place(
        &mut self,
        array: ArrayId,
        index: &[IndexExpr],
    ) -> (Base, Vec<isize>, Option<NodeId>) {
        let buffer = self.buffers.of(array);
        let array_strides = &self.buffers.all[buffer.0 as usize].strides;
        let (offset, strides) = affine(index, array_strides, self.axes);
        let mut computed = None;
        for (e, &stride) in index.iter().zip(array_strides) {
            for (coefficient, atom) in &e.terms {
                if let Some(term) = self.term(coefficient.wrapping_mul(stride as i64), atom) {
                    computed = Some(self.add(computed, term));
                }
            }
        }
        (Base { buffer, offset }, strides, computed)
    }

    fn access(&mut self, array: ArrayId, index: &[IndexExpr]) -> NodeId {
        let dtype = self.graph.array(array).dtype;
        let (base, strides, computed) = self.place(array, index);
        let Some(computed) = computed else {
            return self.load(Load { base, dtype, strides });
        };
        let offset = if strides.iter().any(|&s| s != 0) {
            let coefficients = strides.iter().map(|&s| s as i64).collect();
            let affine = self.share(Node::Index { constant: 0, coefficients });
            self.add(Some(affine), computed)
        } else {
            computed
        };
        self.share(Node::Gather { base, dtype, offset })
    }

    fn load(&mut self, load: Load) -> NodeId {
        let known = self.loads.iter().position(|l| *l == load);
        let at = known.unwrap_or_else(|| {
            self.loads.push(load);
            self.loads.len() - 1
        });
        self.share(Node::Load(at as u32))
    }

    /// The value of an index expression.
    fn index(&mut self, e: &IndexExpr) -> NodeId {
        let mut coefficients = vec![0; self.axes];
        for (coefficient, atom) in &e.terms {
            if let Atom::Axis(axis) = atom {
                coefficients[axis.0 as usize] = *coefficient;
            }
        }
        let mut sum = self.share(Node::Index { constant: e.constant, coefficients });
        for (coefficient, atom) in &e.terms {
            if let Some(term) = self.term(*coefficient, atom) {
                sum = self.add(Some(sum), term);
            }
        }
        sum
    }

    /// `coefficient · atom`, where the atom is no axis.
    fn term(&mut self, coefficient: i64, atom: &Atom) -> Option<NodeId> {
        let (op, inner, d) = match atom {
            Atom::Axis(_) => return None,
            Atom::FloorDiv(inner, d) => (BinaryOp::Div, inner, *d),
            Atom::Mod(inner, d) => (BinaryOp::Mod, inner, *d),
            Atom::Product(..) | Atom::Element(_) => todo!("computed indices"),
        };
        let inner = self.index(inner);
        let divisor = self.integer(d);
        let value = self.share(Node::Binary(op, inner, divisor));
        if coefficient == 1 {
            return Some(value);
        }
        let coefficient = self.integer(coefficient);
        Some(self.share(Node::Binary(BinaryOp::Mul, value, coefficient)))
    }

    fn add(&mut self, sum: Option<NodeId>, term: NodeId) -> NodeId {
        match sum {
            None => term,
            Some(sum) => self.share(Node::Binary(BinaryOp::Add, sum, term)),
        }
    }

    fn integer(&mut self, value: i64) -> NodeId {
        self.share(Node::Const(Scalar::I64(value)))
    }

    /// The node, or an equal one there is. Not for floating-point constants: 0 equals -0.
    fn share(&mut self, node: Node) -> NodeId {
        match self.body.iter().position(|n| *n == node) {
            Some(at) => NodeId(at as u32),
            None => self.push(node),
        }
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.body.push(node);
        NodeId((self.body.len() - 1) as u32)
    }
}
