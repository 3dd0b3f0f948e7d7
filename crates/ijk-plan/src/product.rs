//! Pass 7: reductions of products made into contractions of two accesses.
//!
//! A product of several factors is multiplied pairwise, each reduced axis summed as soon as no
//! other factor has it; factors that are more than an access, of fewer axes than the domain, are
//! evaluated before. Where none of it pays the statement stays one loop nest.

use crate::SMALL_DOMAIN;
use crate::expr::{Builder, extract};
use crate::graph::{Expr, Graph, Node, Stmt};
use crate::index;
use crate::plan::Contraction;
use ijk_ir::core::{ArrayId, AxisId, IndexExpr, Init, Span};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};

/// What a point of a loop nest costs, relative to one of a contraction.
const NEST_COST: u64 = 4;
/// How much cheaper summing early must be where it is not exact: with infinities among the factors
/// it gives other results, so it has to be worth it.
const INEXACT_GAIN: u64 = 8;
/// More factors than this are left to one nest.
const MOST_FACTORS: usize = 16;

/// Runs the pass.
pub(crate) fn order_products(graph: &mut Graph) {
    let mut statements = Vec::with_capacity(graph.statements.len());
    for stmt in std::mem::take(&mut graph.statements) {
        match Product::new(graph, &stmt) {
            Some(product) => product.lower(graph, stmt, &mut statements),
            None => statements.push(stmt),
        }
    }
    graph.statements = statements;
}

/// A set of axes, one bit each.
type Axes = u64;

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

/// What pairwise multiplication does, step by step.
enum Move {
    /// Reduce the private axes of a factor.
    Reduce(usize),
    /// Multiply two factors (the first the lower), reducing what no other needs.
    Join(usize, usize),
}

impl Product {
    fn new(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
        let &Node::Binary(op, x, y) = stmt.value.nodes.last()? else { return None };
        let dtype = graph.array(stmt.out).dtype;
        let types = graph.node_types(&stmt.value);
        if stmt.points() <= SMALL_DOMAIN
            || stmt.axes.len() > Axes::BITS as usize
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
        Some(Self {
            op,
            monoid,
            dtype,
            factors,
            kept: kept.fold(0, |axes, (a, _)| axes | 1 << a),
            extents: stmt.extents(),
            names: stmt.axes.iter().map(|a| a.name.clone()).collect(),
            span: stmt.span,
        })
        .filter(|p| p.factors.len() <= MOST_FACTORS)
    }

    /// Adds what computes the statement.
    fn lower(self, graph: &mut Graph, stmt: Stmt, out: &mut Vec<Stmt>) {
        let mut factors = self.factors.clone();
        let moves = self.moves();
        for step in &moves {
            self.apply(step, &mut factors, graph, out);
        }
        if !self.materialise(&mut factors, self.kept, graph, out) && moves.is_empty() {
            out.push(stmt);
            return;
        }
        let stmt = Stmt { value: self.product_of(&factors), ..stmt };
        let used = factors.iter().fold(self.kept, |axes, f| axes | f.axes);
        out.push(if moves.is_empty() { stmt } else { restrict(stmt, used) });
    }

    /// The order in which factors are joined down to two, if that beats one nest of them all.
    fn moves(&self) -> Vec<Move> {
        let everything = self.all_axes();
        let joined = self.factors.iter().fold(0, |axes, f| axes | f.axes);
        if !distributes(self.monoid, self.op, self.dtype) || everything & !self.kept & !joined != 0
        {
            return Vec::new();
        }
        let mut sets: Vec<Axes> = self.factors.iter().map(|f| f.axes).collect();
        let (mut moves, mut cost) = (Vec::new(), 0u64);
        for at in 0..sets.len() {
            let rest = self.needed(&sets, &[at]);
            if sets[at] & !rest != 0 && sets.len() > 1 {
                cost = cost.saturating_add(self.points(sets[at]).saturating_mul(NEST_COST));
                sets[at] &= rest;
                moves.push(Move::Reduce(at));
            }
        }
        while sets.len() > 2 {
            let (p, q) = self.cheapest(&sets);
            let rest = self.needed(&sets, &[p, q]);
            cost = cost.saturating_add(self.cost(sets[p], sets[q], rest));
            sets[p] = (sets[p] | sets[q]) & rest;
            sets.remove(q);
            moves.push(Move::Join(p, q));
        }
        let last = self.cost(sets[0], sets[1], self.kept);
        let direct = match self.factors.len() {
            2 => self.cost(self.factors[0].axes, self.factors[1].axes, self.kept),
            _ => self.points(everything).saturating_mul(NEST_COST),
        };
        let gain =
            if self.dtype.is_integer() || self.dtype == DType::Bool { 1 } else { INEXACT_GAIN };
        let gain = if self.reduces_early(&moves) { gain } else { 1 };
        let total = cost.saturating_add(last).saturating_mul(gain);
        if total < direct { moves } else { Vec::new() }
    }

    /// Whether any of the moves sums over an axis.
    fn reduces_early(&self, moves: &[Move]) -> bool {
        let mut sets: Vec<Axes> = self.factors.iter().map(|f| f.axes).collect();
        moves.iter().any(|step| {
            let (at, axes, rest) = match *step {
                Move::Reduce(at) => (at, sets[at], self.needed(&sets, &[at])),
                Move::Join(p, q) => {
                    let rest = self.needed(&sets, &[p, q]);
                    (p, sets[p] | sets.remove(q), rest)
                }
            };
            sets[at] = axes & rest;
            axes & !rest != 0
        })
    }

    fn all_axes(&self) -> Axes {
        (0..self.extents.len()).fold(0, |axes, a| axes | 1 << a)
    }

    /// Axes that the output or any other factor has.
    fn needed(&self, sets: &[Axes], except: &[usize]) -> Axes {
        let others = sets.iter().enumerate().filter(|(at, _)| !except.contains(at));
        others.fold(self.kept, |axes, (_, set)| axes | set)
    }

    /// The two factors that are cheapest to multiply, then with the smallest product.
    fn cheapest(&self, sets: &[Axes]) -> (usize, usize) {
        let pairs = (0..sets.len()).flat_map(|q| (0..q).map(move |p| (p, q)));
        pairs
            .min_by_key(|&(p, q)| {
                let rest = self.needed(sets, &[p, q]);
                let union = sets[p] | sets[q];
                (self.cost(sets[p], sets[q], rest), self.points(union & rest), q, p)
            })
            .unwrap_or((0, 1))
    }

    fn points(&self, axes: Axes) -> u64 {
        let extents = self.extents.iter().enumerate().filter(|(a, _)| axes >> a & 1 == 1);
        extents.fold(1, |n, (_, &extent)| n.saturating_mul(extent))
    }

    /// The cost of multiplying factors of axes `p` and `q`, with `kept` axes kept.
    fn cost(&self, p: Axes, q: Axes, kept: Axes) -> u64 {
        let points = self.points(p | q);
        if self.is_contraction(p, q, kept) { points } else { points.saturating_mul(NEST_COST) }
    }

    fn is_contraction(&self, p: Axes, q: Axes, kept: Axes) -> bool {
        let (m, n) = (self.points(p & !q & kept), self.points(q & !p & kept));
        worth_contracting(self.points(p & q & kept), m, n, self.points((p | q) & !kept))
    }

    fn apply(
        &self,
        step: &Move,
        factors: &mut Vec<Factor>,
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) {
        let sets: Vec<Axes> = factors.iter().map(|f| f.axes).collect();
        let (at, value, axes, rest) = match *step {
            Move::Reduce(at) => {
                (at, factors[at].value.clone(), sets[at], self.needed(&sets, &[at]))
            }
            Move::Join(p, q) => {
                let rest = self.needed(&sets, &[p, q]);
                let mut pair = [factors[p].clone(), factors.remove(q)];
                self.materialise(&mut pair, rest, graph, out);
                (p, self.product_of(&pair), sets[p] | sets[q], rest)
            }
        };
        let reduce = (axes & !rest != 0).then_some(self.monoid);
        factors[at] = self.store(value, axes, axes & rest, reduce, graph, out);
    }

    /// Evaluates factors that are more than an access before, where the rest is a contraction;
    /// says whether there were any.
    fn materialise(
        &self,
        factors: &mut [Factor],
        kept: Axes,
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) -> bool {
        let [p, q] = factors else { return false };
        let points = self.points(p.axes | q.axes);
        let pays =
            |f: &Factor| f.is_plain() || self.points(f.axes).saturating_mul(NEST_COST) <= points;
        let wanted = points > SMALL_DOMAIN
            && self.is_contraction(p.axes, q.axes, kept)
            && !(p.is_plain() && q.is_plain())
            && pays(p)
            && pays(q);
        for factor in factors.iter_mut().filter(|f| wanted && !f.is_plain()) {
            let Factor { axes, value } = factor.clone();
            *factor = self.store(value, axes, axes, None, graph, out);
        }
        wanted
    }

    /// Adds a statement that stores `value`, reduced to the axes `kept`; gives the access to it.
    fn store(
        &self,
        value: Expr,
        axes: Axes,
        kept: Axes,
        reduce: Option<Monoid>,
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) -> Factor {
        let index = |set: Axes| -> Vec<IndexExpr> {
            let members = (0..self.extents.len()).filter(|a| set >> a & 1 == 1);
            members.map(|a| IndexExpr::axis(AxisId(a as u32))).collect()
        };
        let shape = (0..self.extents.len()).filter(|a| kept >> a & 1 == 1);
        let array = graph.new_array(self.dtype, shape.map(|a| self.extents[a]).collect());
        let stmt = self.statement(array, index(kept), value, reduce);
        out.push(restrict(stmt, axes));
        Factor { axes: kept, value: Expr { nodes: vec![Node::Access(array, index(kept))] } }
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
        let mut axes = 0;
        for node in &value.nodes {
            let mut mark = |axis: AxisId| axes |= 1 << axis.0;
            node.indices().iter().for_each(|e| index::for_each_axis(e, &mut mark));
        }
        Self { axes, value }
    }

    /// Whether it is an element at an affine position.
    fn is_plain(&self) -> bool {
        matches!(&self.value.nodes[..],
            [Node::Access(_, index)] if index.iter().all(IndexExpr::is_affine))
    }
}

/// Whether a contraction of these extents is faster than a loop nest; picked by measurement.
///
/// Products of a matrix and a vector need sides long enough for vector lanes, and batches enough
/// work each to be worth their packing.
pub(crate) fn worth_contracting(batch: u64, m: u64, n: u64, k: u64) -> bool {
    let (short, long) = (m.min(n), m.max(n));
    let work = m.saturating_mul(n).saturating_mul(k);
    match (short, batch) {
        (_, 0) | (0, _) => false,
        (1, 1) => long >= 16 && k >= 16,
        (1, _) => false,
        (_, 1) => k > 1 && short.saturating_mul(k) >= 16 && work > 64,
        (_, _) => k > 1 && work >= 512,
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
fn flatten(value: &Expr, op: BinaryOp, roots: &mut Vec<u32>) {
    let mut at = 0;
    while at < roots.len() && roots.len() <= MOST_FACTORS {
        match value.nodes[roots[at] as usize] {
            Node::Binary(inner, x, y) if inner == op => {
                roots.splice(at..=at, [x, y]);
            }
            _ => at += 1,
        }
    }
}

/// The statement over the axes of a set alone; no index names the others.
pub(crate) fn restrict(stmt: Stmt, axes: Axes) -> Stmt {
    let mut kept = Vec::new();
    let mut map = Vec::new();
    for (a, axis) in stmt.axes.iter().enumerate() {
        if axes >> a & 1 == 1 {
            map.push(IndexExpr::axis(AxisId(kept.len() as u32)));
            kept.push(axis.clone());
        } else {
            map.push(IndexExpr::constant(0));
        }
    }
    if kept.len() == stmt.axes.len() {
        return stmt;
    }
    stmt.substitute(&map, kept).unwrap_or(stmt)
}
