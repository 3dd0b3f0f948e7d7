//! Pass 7: reductions of products made into contractions of two accesses.
//!
//! A product of several factors is multiplied pairwise, in the order that [`crate::order`] finds,
//! each reduced axis summed as soon as no other factor has it; factors that are more than an access,
//! of fewer axes than the domain, are evaluated before. Where none of it pays the statement stays
//! one loop nest.

mod chain;
mod moves;

use crate::SMALL_DOMAIN;
use crate::axes::{Axes, restrict, union};
use crate::expr::{Builder, extract};
use crate::graph::{Expr, Graph, Node, Stmt};
use crate::index;
use crate::plan::Contraction;
use crate::simplify::drop_dead;
use chain::Chains;
use ijk_ir::core::{ArrayId, AxisId, IndexExpr, Init, Span};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};
use moves::{Left, Move};

pub(crate) use moves::worth_contracting;

/// What a point of a loop nest costs, relative to one of a contraction.
const NEST_COST: u64 = 4;
/// How much cheaper summing early must be where it is not exact: with infinities among the factors
/// it gives other results, so it has to be worth it.
const INEXACT_GAIN: u64 = 8;

/// Runs the pass.
pub(crate) fn order_products(graph: &mut Graph) {
    let chains = Chains::new(graph);
    let mut statements = Vec::with_capacity(graph.statements.len());
    for at in 0..graph.statements.len() {
        let stmt = graph.statements[at].clone();
        match Product::new(graph, &stmt) {
            Some(product) => {
                let (product, moves, stmt) = product.best(graph, &chains, stmt);
                product.lower(&moves, graph, stmt, &mut statements);
            }
            None => statements.push(stmt),
        }
    }
    graph.statements = statements;
    drop_dead(graph);
}

/// One operand of a product.
#[derive(Clone)]
struct Factor {
    axes: Axes,
    value: Expr,
}

/// A statement that reduces a product.
struct Product {
    op: BinaryOp,
    monoid: Monoid,
    dtype: DType,
    factors: Vec<Factor>,
    kept: Axes,
    extents: Vec<u64>,
    names: Vec<String>,
    span: Span,
}

impl Product {
    fn new(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
        let &Node::Binary(op, x, y) = stmt.value.nodes.last()? else { return None };
        let dtype = graph.array(stmt.out).dtype;
        let types = graph.node_types(&stmt.value);
        if stmt.points() <= SMALL_DOMAIN
            || types[x as usize] != dtype
            || !Contraction::supports(dtype, (op, None), monoid)
            || graph.can_fail(stmt)
            || !stmt.guards.is_empty()
            || stmt.scan.is_some()
        {
            return None;
        }
        let mut roots = vec![x, y];
        if distributes(monoid, op, dtype) {
            flatten(&stmt.value, op, &mut roots);
        }
        let factors = roots.iter().map(|&root| Factor::new(&stmt.value, root)).collect();
        let kept = stmt.kept_axes().into_iter().enumerate().filter(|(_, kept)| *kept);
        let kept = kept.map(|(axis, _)| axis as u32).collect();
        Some(Self {
            op,
            monoid,
            dtype,
            factors,
            kept,
            extents: stmt.extents(),
            names: stmt.axes.iter().map(|a| a.name.clone()).collect(),
            span: stmt.span,
        })
    }

    /// The moves that are best, of the statement or of one in which the products that it reads are
    /// multiplied out.
    fn best(self, graph: &Graph, chains: &Chains, stmt: Stmt) -> (Self, Vec<Move>, Stmt) {
        let direct = self.direct();
        let (moves, cost) = self.moves(direct).unwrap_or((Vec::new(), direct));
        if let Some((wide, others)) = chains.multiplied_out(graph, &stmt, &self)
            && let Some(product) = Self::new(graph, &wide)
            && let Some((moves, _)) = product.moves(cost.saturating_add(others))
        {
            return (product, moves, wide);
        }
        (self, moves, stmt)
    }

    /// Adds what computes the statement.
    fn lower(&self, moves: &[Move], graph: &mut Graph, stmt: Stmt, out: &mut Vec<Stmt>) {
        let mut factors = self.factors.clone();
        let mut left = self.left(&factors);
        for &step in moves {
            self.apply(step, &left, &mut factors, graph, out);
            left.apply(step);
        }
        let stored = self.materialise(&mut factors, &left, [0, 1], graph, out);
        if !stored && moves.is_empty() {
            out.push(stmt);
            return;
        }
        let stmt = Stmt { value: self.product_of(&factors), ..stmt };
        let used = left.sets.iter().fold(self.kept.clone(), |axes, set| union(&axes, set));
        let used = |axis: usize| used.binary_search(&(axis as u32)).is_ok();
        out.push(if moves.is_empty() { stmt } else { restrict(stmt, used) });
    }

    fn left(&self, factors: &[Factor]) -> Left<'_> {
        let sets = factors.iter().map(|f| f.axes.clone()).collect();
        Left::new(&self.extents, sets, &self.kept)
    }

    /// What it costs as it is.
    fn direct(&self) -> u64 {
        match self.factors.len() {
            2 => moves::total(self.left(&self.factors), &[]).0,
            _ => self.extents.iter().fold(NEST_COST, |n, &extent| n.saturating_mul(extent)),
        }
    }

    /// The order in which factors are joined down to two and what that costs, if it beats another
    /// way that costs so much.
    fn moves(&self, other: u64) -> Option<(Vec<Move>, u64)> {
        let left = self.left(&self.factors);
        let [joined, _] = left.product(&Vec::from_iter(0..self.factors.len()));
        if !distributes(self.monoid, self.op, self.dtype)
            || self.extents.len() > union(&joined, &self.kept).len()
        {
            return None;
        }
        let moves = moves::moves(&left, &self.kept);
        let (cost, early) = moves::total(left, &moves);
        let exact = self.dtype.is_integer() || self.dtype == DType::Bool || !early;
        let gain = if exact { 1 } else { INEXACT_GAIN };
        (!moves.is_empty() && cost.saturating_mul(gain) < other).then_some((moves, cost))
    }

    /// Adds what does a step, and puts its result among the factors.
    fn apply(
        &self,
        step: Move,
        left: &Left,
        factors: &mut Vec<Factor>,
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) {
        let (at, value, [axes, rest]) = match step {
            Move::Reduce(at) => (at, factors[at].value.clone(), left.product(&[at])),
            Move::Join(p, q) => {
                let mut pair = [factors[p].clone(), factors.remove(q)];
                self.materialise(&mut pair, left, [p, q], graph, out);
                (p, self.product_of(&pair), left.product(&[p, q]))
            }
        };
        let reduce = (axes != rest).then_some(self.monoid);
        factors[at] = self.store(value, &axes, &rest, reduce, graph, out);
    }

    /// Evaluates two factors that are more than an access before, where their product is a
    /// contraction; says whether there were any. They are `places` of what is left.
    fn materialise(
        &self,
        factors: &mut [Factor],
        left: &Left,
        places: [usize; 2],
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) -> bool {
        let [p, q] = factors else { return false };
        let points = left.points(&union(&p.axes, &q.axes));
        let pays =
            |f: &Factor| f.is_plain() || left.points(&f.axes).saturating_mul(NEST_COST) <= points;
        let wanted = points > SMALL_DOMAIN
            && left.is_contraction(places[0], places[1])
            && !(p.is_plain() && q.is_plain())
            && pays(p)
            && pays(q);
        for factor in factors.iter_mut().filter(|f| wanted && !f.is_plain()) {
            let Factor { axes, value } = factor.clone();
            *factor = self.store(value, &axes, &axes, None, graph, out);
        }
        wanted
    }

    /// Adds a statement that stores `value`, reduced to the axes `kept`; gives the access to it.
    fn store(
        &self,
        value: Expr,
        axes: &[u32],
        kept: &[u32],
        reduce: Option<Monoid>,
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) -> Factor {
        let index = || kept.iter().map(|&a| IndexExpr::axis(AxisId(a))).collect::<Vec<_>>();
        let shape = kept.iter().map(|&a| self.extents[a as usize]).collect();
        let array = graph.new_array(self.dtype, shape);
        let stmt = self.statement(array, index(), value, reduce);
        out.push(restrict(stmt, |axis| axes.binary_search(&(axis as u32)).is_ok()));
        Factor { axes: kept.to_vec(), value: Expr { nodes: vec![Node::Access(array, index())] } }
    }

    fn statement(
        &self,
        out: ArrayId,
        out_index: Vec<IndexExpr>,
        value: Expr,
        reduce: Option<Monoid>,
    ) -> Stmt {
        let axes = self.names.iter().zip(&self.extents);
        Stmt {
            out,
            axes: axes
                .map(|(name, &extent)| crate::graph::Axis { name: name.clone(), extent })
                .collect(),
            out_index,
            init: reduce.map_or(Init::Zero, Init::Identity),
            reduce: reduce.map(Reducer::Monoid),
            value,
            guards: Vec::new(),
            scan: None,
            span: self.span,
        }
    }

    /// The product of factors, from left to right.
    fn product_of(&self, factors: &[Factor]) -> Expr {
        let mut builder = Builder::default();
        let mut root = None;
        for factor in factors {
            let leaf = |b: &mut Builder, leaf: &Node| Some(b.push(leaf.clone()));
            let right = builder.push_expr(&factor.value, leaf);
            root = match (root, right) {
                (Some(left), Some(right)) => Some(builder.push(Node::Binary(self.op, left, right))),
                (left, right) => left.or(right),
            };
        }
        builder.finish(root.unwrap_or(0))
    }
}

impl Factor {
    fn new(value: &Expr, root: u32) -> Self {
        let value = extract(&value.nodes, root);
        let mut axes = Axes::new();
        for node in &value.nodes {
            let mut mark = |axis: AxisId| axes.push(axis.0);
            node.indices().iter().for_each(|e| index::for_each_axis(e, &mut mark));
        }
        Self { axes: union(&axes, &[]), value }
    }

    /// Whether it is an element at an affine position.
    fn is_plain(&self) -> bool {
        matches!(&self.value.nodes[..],
            [Node::Access(_, index)] if index.iter().all(IndexExpr::is_affine))
    }
}

/// Whether `op` is associative and distributes over the monoid, up to rounding.
fn distributes(monoid: Monoid, op: BinaryOp, dtype: DType) -> bool {
    match (monoid, op) {
        (Monoid::Add, BinaryOp::Mul)
        | (Monoid::Max, BinaryOp::Min)
        | (Monoid::Min, BinaryOp::Max)
        | (Monoid::Or, BinaryOp::And)
        | (Monoid::And, BinaryOp::Or) => true,
        (Monoid::Max | Monoid::Min, BinaryOp::Add) => dtype.is_float(),
        _ => false,
    }
}

/// Replaces roots that are themselves products by their operands.
///
/// Factors that are used again and again are written out only so often that it takes no longer than
/// a value without such.
fn flatten(value: &Expr, op: BinaryOp, roots: &mut Vec<u32>) {
    let mut at = 0;
    while at < roots.len() && roots.len() <= value.nodes.len() {
        match value.nodes[roots[at] as usize] {
            Node::Binary(inner, x, y) if inner == op => {
                roots.splice(at..=at, [x, y]);
            }
            _ => at += 1,
        }
    }
}
