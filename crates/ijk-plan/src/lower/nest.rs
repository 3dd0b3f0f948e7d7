//! Lowering of a loop nest's body: loads at affine positions, gathers at computed ones.

use crate::domain::bounds;
use crate::graph::expr::can_fail;
use crate::graph::{Expr, ExprNode, Few, Graph, Stmt, index, zero};
use crate::lower::buffers::Buffers;
use crate::lower::emit::affine;
use crate::plan::{Base, Load, Node, NodeId};
use ijk_ir::core::{Access, ArrayId, Atom, IndexExpr};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};
use std::borrow::Cow;

/// Builder of the loads and nodes of one nest.
pub(crate) struct Emitter<'a> {
    graph: &'a Graph,
    buffers: &'a Buffers,
    extents: Few<u64>,
    axes: usize,
    loads: Vec<Load>,
    body: Vec<Node>,
    /// Conjunction of the guards emitted so far; `None` if there is none.
    mask: Option<NodeId>,
    /// Elements that indices depend on, with their nodes.
    elements: Vec<(Access, NodeId)>,
}

impl<'a> Emitter<'a> {
    /// Creates an emitter over a statement's domain, with its guards as mask.
    pub(crate) fn new(graph: &'a Graph, buffers: &'a Buffers, stmt: &Stmt) -> Self {
        let (extents, axes) = (stmt.extents(), stmt.axes.len());
        let (loads, body, elements) = (Vec::new(), Vec::new(), Vec::new());
        let mut emitter = Self { graph, buffers, extents, axes, loads, body, mask: None, elements };
        stmt.guards.iter().for_each(|(e, extent)| emitter.guard(e, *extent));
        emitter
    }

    /// Adds the condition that an index is in bounds to the mask.
    fn guard(&mut self, e: &IndexExpr, extent: u64) {
        let value = self.index(e);
        let (least, greatest) = index::range(e, &self.extents);
        if least < 0 {
            let zero = self.integer(0);
            self.narrow_mask(BinaryOp::Ge, value, zero);
        }
        if greatest >= i128::from(extent) {
            let end = self.integer(i64::try_from(extent).unwrap_or(i64::MAX));
            self.narrow_mask(BinaryOp::Lt, value, end);
        }
    }

    fn narrow_mask(&mut self, op: BinaryOp, value: NodeId, bound: NodeId) {
        let holds = self.share(Node::Binary(op, value, bound));
        self.mask = Some(match self.mask {
            None => holds,
            Some(mask) => self.share(Node::Binary(BinaryOp::And, mask, holds)),
        });
    }

    /// `value` where the mask holds, else `other`.
    pub(crate) fn masked(&mut self, value: NodeId, other: Scalar) -> NodeId {
        let Some(mask) = self.mask else { return value };
        let other = self.push(Node::Const(other));
        self.push(Node::Select(mask, value, other))
    }

    /// Tells whether an access is in bounds at all points, skipped ones included.
    pub(crate) fn stays_inside(&self, array: ArrayId, index: &[IndexExpr]) -> bool {
        let places = index.iter().zip(&self.graph.array(array).shape);
        self.mask.is_none() || { places }
            .all(|(e, extent)| bounds::holds(e, *extent, &self.extents))
    }

    /// The identity combined with a value.
    pub(crate) fn combined(&mut self, value: NodeId, monoid: Monoid, dtype: DType) -> NodeId {
        let start = self.push(Node::Const(scalar::identity(monoid, dtype)));
        self.push(Node::Binary(monoid.op(), start, value))
    }

    /// The value, replaced by a neutral one at skipped points.
    pub(crate) fn neutral_where_masked(
        &mut self,
        value: NodeId,
        reduce: Option<Reducer>,
        dtype: DType,
    ) -> NodeId {
        match reduce {
            Some(Reducer::Monoid(monoid)) => self.masked(value, scalar::neutral(monoid, dtype)),
            _ => value,
        }
    }

    /// Returns loads and nodes, with the node `root` last.
    pub(crate) fn finish(mut self, root: NodeId) -> (Vec<Load>, Vec<Node>) {
        if root.0 as usize + 1 != self.body.len() {
            self.body.push(self.body[root.0 as usize].clone());
        }
        (self.loads, self.body)
    }

    /// Emits an expression; returns its node.
    pub(crate) fn value(&mut self, value: &Expr) -> NodeId {
        let types = self.graph.node_types(value);
        let mut nodes: Few<NodeId> = Few::with_capacity(value.nodes.len());
        for node in &value.nodes {
            let id = |at: &u32| nodes[*at as usize];
            let emitted = match node {
                ExprNode::Access(array, index) => self.access(*array, index),
                ExprNode::Index(e) => self.index(e),
                ExprNode::Const(value) => self.push(Node::Const(*value)),
                ExprNode::Unary(op, x) => {
                    let t = types[*x as usize];
                    let partial = *op == UnaryOp::Recip && t.is_integer();
                    let x = if partial { self.masked(id(x), one(t)) } else { id(x) };
                    self.push(Node::Unary(*op, x))
                }
                ExprNode::Binary(op, x, y) => {
                    let t = types[*x as usize];
                    let right = match value.nodes[*y as usize] {
                        ExprNode::Const(value) => Some(value),
                        _ => None,
                    };
                    let partial = can_fail(*op, t, right);
                    let y = if partial { self.masked(id(y), one(t)) } else { id(y) };
                    self.push(Node::Binary(*op, id(x), y))
                }
                ExprNode::Select(c, x, y) => self.push(Node::Select(id(c), id(x), id(y))),
                ExprNode::Random { key, counter, lo, hi } => {
                    let t = types[*lo as usize];
                    let lo = self.masked(id(lo), zero(t));
                    let hi = self.masked(id(hi), one(t));
                    let counter = self.index(counter);
                    self.push(Node::Random { key: *key, counter, lo, hi })
                }
            };
            nodes.push(emitted);
        }
        nodes.last().copied().unwrap_or(NodeId(0))
    }

    /// Position of an access: origin, strides, and the computed offset of divisions, remainders and elements.
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

    /// Position of an access that may be out of bounds: dimensions that may be are computed, with offset 0 at skipped
    /// points.
    pub(crate) fn masked_place(
        &mut self,
        array: ArrayId,
        index: &[IndexExpr],
    ) -> (Base, Vec<isize>, Option<NodeId>) {
        let (base, strides, offset) = self.split_place(array, index);
        (base, strides, Some(self.masked(offset, Scalar::I64(0))))
    }

    /// Position of an access: origin and strides of the dimensions whose index is affine and always in bounds, and the
    /// computed offset of the others.
    pub(crate) fn split_place(
        &mut self,
        array: ArrayId,
        index: &[IndexExpr],
    ) -> (Base, Vec<isize>, NodeId) {
        let safe = self.safe_places(array, index);
        let part = |wanted: bool| -> Vec<IndexExpr> {
            let places = index.iter().zip(&safe);
            places
                .map(|(e, &s)| if s == wanted { e.clone() } else { IndexExpr::default() })
                .collect()
        };
        let (base, strides, _) = self.place(array, &part(true));
        let (origin, steps, computed) = self.place(array, &part(false));
        let offset = self.offset(origin.offset as i64, &steps, computed);
        (base, strides, offset)
    }

    /// Indices of the output that are affine and in bounds at all points.
    pub(crate) fn fixed_places<'s>(&self, stmt: &'s Stmt) -> Cow<'s, [IndexExpr]> {
        if self.stays_inside(stmt.out, &stmt.out_index) {
            return Cow::Borrowed(&stmt.out_index);
        }
        let safe = self.safe_places(stmt.out, &stmt.out_index);
        let places = stmt.out_index.iter().zip(safe);
        Cow::Owned(places.filter(|(_, safe)| *safe).map(|(e, _)| e.clone()).collect())
    }

    /// For each dimension of an array, tells whether its index is affine and always in bounds.
    pub(crate) fn safe_places(&self, array: ArrayId, index: &[IndexExpr]) -> Vec<bool> {
        let safe = |(e, extent): (&IndexExpr, &u64)| {
            e.is_affine() && bounds::holds(e, *extent, &self.extents)
        };
        index.iter().zip(&self.graph.array(array).shape).map(safe).collect()
    }

    fn access(&mut self, array: ArrayId, index: &[IndexExpr]) -> NodeId {
        let dtype = self.graph.array(array).dtype;
        let (base, strides, offset) = match self.stays_inside(array, index) {
            true => self.place(array, index),
            false => self.masked_place(array, index),
        };
        match offset {
            None => self.load(Load { base, dtype, strides }),
            Some(offset) => self.share(Node::Gather { base, dtype, strides, offset }),
        }
    }

    /// `constant + Σ stride · axis + computed`.
    fn offset(&mut self, constant: i64, strides: &[isize], computed: Option<NodeId>) -> NodeId {
        let coefficients: Vec<i64> = strides.iter().map(|&s| s as i64).collect();
        match computed {
            Some(computed) if constant == 0 && coefficients.iter().all(|&c| c == 0) => computed,
            None => self.share(Node::Index { constant, coefficients }),
            Some(computed) => {
                let affine = self.share(Node::Index { constant, coefficients });
                self.add(Some(affine), computed)
            }
        }
    }

    fn load(&mut self, load: Load) -> NodeId {
        let known = self.loads.iter().position(|l| *l == load);
        let at = known.unwrap_or_else(|| {
            self.loads.push(load);
            self.loads.len() - 1
        });
        self.share(Node::Load(at as u32))
    }

    /// Emits an index expression as an i64.
    fn index(&mut self, e: &IndexExpr) -> NodeId {
        let mut coefficients = vec![0; self.axes];
        for (coefficient, atom) in &e.terms {
            if let Atom::Axis(axis) = atom {
                coefficients[axis.0 as usize] = *coefficient;
            }
        }
        let constant = e.constant;
        let starts = constant != 0 || coefficients.iter().any(|&c| c != 0) || e.terms.is_empty();
        let affine = Node::Index { constant, coefficients };
        let mut sum = starts.then(|| self.share(affine.clone()));
        for (coefficient, atom) in &e.terms {
            if let Some(term) = self.term(*coefficient, atom) {
                sum = Some(self.add(sum, term));
            }
        }
        sum.unwrap_or_else(|| self.share(affine))
    }

    /// `coefficient · atom`; `None` if the atom is an axis.
    fn term(&mut self, coefficient: i64, atom: &Atom) -> Option<NodeId> {
        let value = match atom {
            Atom::Axis(_) => return None,
            Atom::FloorDiv(inner, d) => self.division(BinaryOp::Div, inner, *d),
            Atom::Mod(inner, d) => self.division(BinaryOp::Mod, inner, *d),
            Atom::Product(left, right) => {
                let (left, right) = (self.index(left), self.index(right));
                self.share(Node::Binary(BinaryOp::Mul, left, right))
            }
            Atom::Element(access) => self.element(access),
            Atom::Abs(inner) => {
                let inner = self.index(inner);
                self.share(Node::Unary(UnaryOp::Abs, inner))
            }
            Atom::Max(left, right) => self.extreme(BinaryOp::Max, left, right),
            Atom::Min(left, right) => self.extreme(BinaryOp::Min, left, right),
        };
        if coefficient == 1 {
            return Some(value);
        }
        let coefficient = self.integer(coefficient);
        Some(self.share(Node::Binary(BinaryOp::Mul, value, coefficient)))
    }

    fn extreme(&mut self, op: BinaryOp, left: &IndexExpr, right: &IndexExpr) -> NodeId {
        let (left, right) = (self.index(left), self.index(right));
        self.share(Node::Binary(op, left, right))
    }

    fn division(&mut self, op: BinaryOp, e: &IndexExpr, divisor: i64) -> NodeId {
        let e = self.index(e);
        let divisor = self.integer(divisor);
        self.share(Node::Binary(op, e, divisor))
    }

    /// An element that an index depends on, as an i64. Later uses share the node: its value is the same wherever the
    /// mask holds.
    fn element(&mut self, access: &Access) -> NodeId {
        let same = |(a, _): &&(Access, NodeId)| a.array == access.array && a.index == access.index;
        if let Some((_, node)) = self.elements.iter().find(same) {
            return *node;
        }
        let mut value = self.access(access.array, &access.index);
        let dtype = self.graph.array(access.array).dtype;
        // Narrow elements are converted by way of the type that engines compute with.
        if dtype.lanes() != dtype {
            value = self.share(Node::Unary(UnaryOp::Cast(dtype.lanes()), value));
        }
        if dtype != DType::I64 {
            value = self.share(Node::Unary(UnaryOp::Cast(DType::I64), value));
        }
        self.elements.push((access.clone(), value));
        value
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

    /// Adds a node, or finds an equal one. Not for floating-point constants: 0 equals -0.
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

/// One of an element type; `true` for booleans.
fn one(dtype: DType) -> Scalar {
    scalar::identity(Monoid::Mul, dtype)
}
