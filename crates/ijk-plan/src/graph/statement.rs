//! Statements and their expressions.

use super::index;
use ijk_ir::core::{ArrayId, AxisId, IndexExpr, Init, Span};
use ijk_types::{BinaryOp, Reducer, Scalar, UnaryOp};
use smallvec::SmallVec;

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub out: ArrayId,
    pub axes: Vec<Axis>,
    pub out_index: Vec<IndexExpr>,
    pub init: Init,
    pub reduce: Option<Reducer>,
    /// True if at most one point reaches an element, and a sum is that point's value itself: 0 is not added, so that -0
    /// stays.
    pub single: bool,
    pub value: Expr,
    /// Points at which one of these conditions fails are skipped; other indices need not be in bounds there. Without
    /// guards, all indices are. Elements that an index reads are guarded before it.
    pub guards: Vec<Guard>,
    /// The axis of an inclusive scan: each element combines all values up to its own position. The output is injective
    /// in all axes, and the value is an access; a node before it is the access to the [levels](crate::plan::Levels).
    /// Of an order, the axis of its places.
    pub scan: Option<AxisId>,
    pub span: Span,
}

/// Condition `0 <= index < extent`: points where it fails are skipped.
pub(crate) type Guard = (IndexExpr, u64);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub name: String,
    pub extent: u64,
}

/// A list with an item per axis of a domain, or per node of a value. Short lists are stored inline.
pub(crate) type Few<T> = SmallVec<[T; 8]>;

/// Nodes in post-order; the last one is the value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expr {
    pub nodes: Vec<ExprNode>,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprNode {
    Access(ArrayId, Vec<IndexExpr>),
    Const(Scalar),
    Index(IndexExpr),
    Unary(UnaryOp, u32),
    Binary(BinaryOp, u32, u32),
    Select(u32, u32, u32),
    /// A uniform random number, as [`ScalarNode::Random`](ijk_ir::core::ScalarNode::Random).
    Random {
        key: u64,
        counter: IndexExpr,
        lo: u32,
        hi: u32,
    },
}

impl Stmt {
    /// A map over a whole array.
    pub(crate) fn map(out: ArrayId, axes: Vec<Axis>, nodes: Vec<ExprNode>, span: Span) -> Self {
        let out_index = index::of_axes(0..axes.len());
        Self {
            out,
            axes,
            out_index,
            init: Init::Zero,
            reduce: None,
            single: false,
            value: Expr { nodes },
            guards: Vec::new(),
            scan: None,
            span,
        }
    }

    pub(crate) fn extents(&self) -> Few<u64> {
        let mut extents = Few::new();
        self.axes.iter().for_each(|axis| extents.push(axis.extent));
        extents
    }

    /// Returns true if it stores values or combines them by a monoid, so that boxes of its points may be taken one after
    /// another: places of extremes in a box, and its order, tell nothing of those of the whole.
    pub(crate) fn takes_boxes(&self) -> bool {
        self.scan.is_none() && matches!(self.reduce, None | Some(Reducer::Monoid(_)))
    }

    /// Returns true if it orders values along its one reduced axis.
    pub(crate) fn orders(&self) -> bool {
        matches!(self.reduce, Some(Reducer::Order(_)))
    }

    /// Number of points of the domain, saturating.
    pub(crate) fn points(&self) -> u64 {
        self.axes.iter().fold(1, |n: u64, a| n.saturating_mul(a.extent))
    }

    /// Calls `f` with every array that an access, an index or the initial value reads.
    pub(crate) fn for_each_read(&self, mut f: impl FnMut(ArrayId)) {
        if let Init::From(array) = self.init {
            f(array);
        }
        self.for_each_point_read(f);
    }

    /// Like [`Self::for_each_read`], without the initial value.
    pub(crate) fn for_each_point_read(&self, mut f: impl FnMut(ArrayId)) {
        for node in &self.value.nodes {
            if let ExprNode::Access(array, _) = node {
                f(*array);
            }
        }
        self.for_each_index(|e| {
            if !e.is_affine() {
                index::for_each_element(e, &mut |access| f(access.array));
            }
        });
    }

    /// For each axis, tells whether the output depends on it.
    pub(crate) fn kept_axes(&self) -> Few<bool> {
        let mut kept = Few::from_elem(false, self.axes.len());
        for e in &self.out_index {
            index::for_each_axis(e, &mut |axis| kept[axis.0 as usize] = true);
        }
        kept
    }

    /// Axes that the output depends on, in the order of its index.
    pub(crate) fn kept_by_output(&self) -> Vec<usize> {
        let mut kept = Vec::new();
        for e in &self.out_index {
            index::for_each_axis(e, &mut |axis| {
                if !kept.contains(&(axis.0 as usize)) {
                    kept.push(axis.0 as usize);
                }
            });
        }
        kept
    }

    /// Orders the kept axes as the output has them, before the reduced ones, whose order stays: blocks of rows are cut
    /// along the first axis. Statements with colliding points or composite output indices stay as they are.
    pub(crate) fn in_output_order(self) -> Self {
        let kept = match index::plain_axes(&self.out_index) {
            Some(kept) if kept.len() == self.out_index.len() => kept,
            _ => return self,
        };
        let reduced = (0..self.axes.len()).filter(|axis| !kept.contains(axis));
        let order: Vec<usize> = kept.iter().copied().chain(reduced).collect();
        let place = |axis: usize| order.iter().position(|&other| other == axis);
        let map = index::of_axes((0..order.len()).filter_map(place));
        let axes = order.iter().map(|&axis| self.axes[axis].clone()).collect();
        self.substitute(&map, axes).unwrap_or(self)
    }

    /// Calls `f` with every index expression of the output, the value and the guards.
    pub(crate) fn for_each_index(&self, mut f: impl FnMut(&IndexExpr)) {
        self.out_index.iter().for_each(&mut f);
        for node in &self.value.nodes {
            node.indices().iter().for_each(&mut f);
        }
        self.guards.iter().for_each(|(e, _)| f(e));
    }

    /// Calls `f` with every index expression of the output, the value and the guards.
    pub(crate) fn for_each_index_mut(&mut self, mut f: impl FnMut(&mut IndexExpr)) {
        self.out_index.iter_mut().for_each(&mut f);
        for node in &mut self.value.nodes {
            match node {
                ExprNode::Access(_, index) => index.iter_mut().for_each(&mut f),
                ExprNode::Index(e) | ExprNode::Random { counter: e, .. } => f(e),
                _ => {}
            }
        }
        self.guards.iter_mut().for_each(|(e, _)| f(e));
    }

    /// Replaces axis `a` by `map[a]`, over the new axes. `None` on overflow.
    pub(crate) fn substitute(&self, map: &[IndexExpr], axes: Vec<Axis>) -> Option<Self> {
        let extents: Few<u64> = axes.iter().map(|a| a.extent).collect();
        let replace = |e: &IndexExpr| index::substitute(e, map, &extents);
        let out_index = self.out_index.iter().map(replace).collect::<Option<_>>()?;
        let value = self.value.map_indices(replace)?;
        let guard = |(e, extent): &Guard| Some((replace(e)?, *extent));
        let guards = self.guards.iter().map(guard).collect::<Option<_>>()?;
        let scan = match self.scan {
            Some(axis) => Some(index::plain_axis(&map[axis.0 as usize])?),
            None => None,
        };
        Some(Self { axes, out_index, value, guards, scan, ..*self })
    }

    /// The value, if it is a bare access or constant.
    pub(crate) fn as_leaf(&self) -> Option<&ExprNode> {
        match &self.value.nodes[..] {
            [leaf @ (ExprNode::Access(..) | ExprNode::Const(_))] => Some(leaf),
            _ => None,
        }
    }
}

impl ExprNode {
    /// Operands of the node.
    pub(crate) fn children(&self) -> impl Iterator<Item = u32> + use<> {
        let children = match *self {
            Self::Unary(_, x) => [Some(x), None, None],
            Self::Binary(_, x, y) => [Some(x), Some(y), None],
            Self::Select(c, x, y) => [Some(c), Some(x), Some(y)],
            Self::Random { lo, hi, .. } => [Some(lo), Some(hi), None],
            _ => [None; 3],
        };
        children.into_iter().flatten()
    }

    /// Replaces every operand.
    pub(crate) fn map_children(&self, mut f: impl FnMut(u32) -> u32) -> Self {
        match self {
            Self::Unary(op, x) => Self::Unary(*op, f(*x)),
            Self::Binary(op, x, y) => Self::Binary(*op, f(*x), f(*y)),
            Self::Select(c, x, y) => Self::Select(f(*c), f(*x), f(*y)),
            Self::Random { key, counter, lo, hi } => {
                Self::Random { key: *key, counter: counter.clone(), lo: f(*lo), hi: f(*hi) }
            }
            leaf => leaf.clone(),
        }
    }

    /// Index expressions of the node.
    pub(crate) fn indices(&self) -> &[IndexExpr] {
        match self {
            Self::Access(_, index) => index,
            Self::Index(e) | Self::Random { counter: e, .. } => std::slice::from_ref(e),
            _ => &[],
        }
    }

    /// Replaces every index expression.
    pub(crate) fn map_indices(&self, f: impl Fn(&IndexExpr) -> Option<IndexExpr>) -> Option<Self> {
        Some(match self {
            Self::Access(array, index) => {
                Self::Access(*array, index.iter().map(f).collect::<Option<_>>()?)
            }
            Self::Index(e) => Self::Index(f(e)?),
            Self::Random { key, counter, lo, hi } => {
                Self::Random { key: *key, counter: f(counter)?, lo: *lo, hi: *hi }
            }
            other => other.clone(),
        })
    }
}

impl Expr {
    /// Replaces every index expression.
    pub(crate) fn map_indices(&self, f: impl Fn(&IndexExpr) -> Option<IndexExpr>) -> Option<Self> {
        let nodes = self.nodes.iter().map(|node| node.map_indices(&f)).collect::<Option<_>>()?;
        Some(Self { nodes })
    }
}
