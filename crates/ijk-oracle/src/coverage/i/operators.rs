//! Operators by element type, and features of statements.

use super::Coverage;
use crate::harness::i::Lowered;
use ijk_ir::core::{ScalarNode, Statement, TypeTerm};
use ijk_types::{DType, Reducer};

impl Coverage {
    pub(super) fn lowered(&mut self, lowered: &Lowered) {
        for (statement, extents) in lowered.program.statements.iter().zip(&lowered.instance.extents)
        {
            self.statement(lowered, statement);
            if extents.contains(&0) {
                self.count("rule: empty domain");
            }
            if extents.contains(&1) {
                self.count("rule: extent 1");
            }
            self.unreached(lowered, statement, extents);
            let empty = lowered.instance.shapes[statement.out.0 as usize].contains(&0);
            if extents.contains(&0) && !empty && statement.reduce.is_some() {
                self.count("rule: identity of an empty reduction");
            }
        }
    }

    /// Elements without points, since there are fewer points than elements.
    fn unreached(&mut self, lowered: &Lowered, statement: &Statement, extents: &[u64]) {
        let product = |extents: &[u64]| extents.iter().fold(1u64, |n, &m| n.saturating_mul(m));
        let shape = &lowered.instance.shapes[statement.out.0 as usize];
        if product(shape) > product(extents) {
            let start = if statement.reduce.is_some() { "the identity" } else { "0" };
            self.count(format!("rule: elements that no point reaches are {start}"));
        }
    }

    fn statement(&mut self, lowered: &Lowered, statement: &Statement) {
        let mut types: Vec<DType> = Vec::new();
        for node in &statement.value.nodes {
            let of = |id: &ijk_ir::core::ScalarId| types[id.0 as usize];
            let t = match node {
                ScalarNode::Access(access) => lowered.instance.dtypes[access.array.0 as usize],
                ScalarNode::Const(_, t) => resolve(lowered, *t),
                ScalarNode::Extent(_, t) => {
                    let t = resolve(lowered, *t);
                    self.count(format!("operator: extent {t}"));
                    t
                }
                ScalarNode::Index(_) => DType::I64,
                ScalarNode::Unary(op, x) => {
                    self.count(format!("operator: {op:?} {}", of(x)));
                    op.result().of(of(x))
                }
                ScalarNode::Binary(op, x, _) => {
                    self.count(format!("operator: {op:?} {}", of(x)));
                    op.result().of(of(x))
                }
                ScalarNode::Select(_, x, _) => {
                    self.count(format!("operator: Where {}", of(x)));
                    of(x)
                }
                ScalarNode::Random { lo, .. } => of(lo),
            };
            types.push(t);
        }
        let read = statement.value.nodes.iter().filter_map(|node| match node {
            ScalarNode::Access(access) => Some(lowered.instance.dtypes[access.array.0 as usize]),
            _ => None,
        });
        let read: std::collections::BTreeSet<DType> = read.collect();
        if read.len() > 1 {
            self.count("rule: operands of several types");
        }
        let last = *types.last().expect("a statement has a value");
        match statement.reduce {
            None if statement.value.nodes.len() == 1 => {
                self.count(format!("operator: no-op {last}"))
            }
            None => {}
            Some(Reducer::Monoid(monoid)) => self.count(format!("reducer: {monoid:?} {last}")),
            Some(Reducer::Order(order)) => {
                let name = match (order.descending, order.positions) {
                    (false, false) => "Sort",
                    (false, true) => "ArgSort",
                    (true, false) => "TopK",
                    (true, true) => "ArgTopK",
                };
                self.count(format!("reducer: {name} {last}"));
            }
            Some(arg) => self.count(format!("reducer: {arg:?} {last}")),
        }
    }
}

fn resolve(lowered: &Lowered, t: TypeTerm) -> DType {
    let known = |wanted: TypeTerm| {
        let at = lowered.program.arrays.iter().position(|a| a.dtype == wanted);
        at.map(|at| lowered.instance.dtypes[at])
    };
    match t {
        TypeTerm::Fixed(t) => t,
        TypeTerm::Var(_) => known(t).unwrap_or(DType::F64),
        TypeTerm::RealOf(v) => known(TypeTerm::Var(v)).map_or(DType::F64, DType::real),
    }
}
