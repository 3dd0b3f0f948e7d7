//! Types that the real parts of type variables are restricted to, for the loops to be well typed.

use ijk_ir::core::{Program, ScalarNode, Statement, TypeTerm};
use ijk_types::{BinaryOp, DType, Reducer, ResultType, TypeSet, UnaryOp};
use std::collections::BTreeMap;

/// For each variable, the types its real part may have; `None` where Rust's types are too weak, such
/// as for the real part of a real part, which it does not know to be of the same type.
pub fn requirements(program: &Program) -> Option<BTreeMap<u32, TypeSet>> {
    let mut requirements = Requirements::default();
    program.statements.iter().all(|s| requirements.statement(program, s));
    (!requirements.unknown).then_some(requirements.real)
}

#[derive(Default)]
struct Requirements {
    real: BTreeMap<u32, TypeSet>,
    unknown: bool,
}

impl Requirements {
    fn statement(&mut self, program: &Program, statement: &Statement) -> bool {
        let mut terms: Vec<TypeTerm> = Vec::new();
        for node in &statement.value.nodes {
            let term = self.node(program, node, &terms);
            terms.push(term);
        }
        let positions = statement.reduce.is_some_and(Reducer::gives_positions);
        if let (Some(&value), false) = (terms.last(), positions) {
            self.same(value, program.arrays[statement.out.0 as usize].dtype);
        }
        if let (Some(&value), Some(reduce)) = (terms.last(), statement.reduce) {
            self.require(
                value,
                match reduce {
                    Reducer::Monoid(monoid) => monoid.op().accepts(),
                    Reducer::ArgMax | Reducer::ArgMin | Reducer::Order(_) => TypeSet::ORDERED,
                },
            );
        }
        !self.unknown
    }

    fn node(&mut self, program: &Program, node: &ScalarNode, terms: &[TypeTerm]) -> TypeTerm {
        match node {
            ScalarNode::Access(access) => program.arrays[access.array.0 as usize].dtype,
            ScalarNode::Const(_, term) | ScalarNode::Extent(_, term) => *term,
            ScalarNode::Index(_) => TypeTerm::Fixed(DType::I64),
            ScalarNode::Unary(op, x) => self.unary(*op, terms[x.0 as usize]),
            ScalarNode::Binary(op, x, y) => {
                self.same(terms[x.0 as usize], terms[y.0 as usize]);
                self.binary(*op, terms[x.0 as usize])
            }
            ScalarNode::Select(_, x, y) | ScalarNode::Random { lo: x, hi: y, .. } => {
                self.same(terms[x.0 as usize], terms[y.0 as usize]);
                terms[x.0 as usize]
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: TypeTerm) -> TypeTerm {
        self.require(operand, op.accepts());
        self.result(op.result(), operand)
    }

    fn binary(&mut self, op: BinaryOp, operand: TypeTerm) -> TypeTerm {
        self.require(operand, op.accepts());
        self.result(op.result(), operand)
    }

    fn result(&mut self, result: ResultType, operand: TypeTerm) -> TypeTerm {
        match (result, operand) {
            (ResultType::Fixed(dtype), _) => TypeTerm::Fixed(dtype),
            (ResultType::Same, _) => operand,
            (ResultType::Real, TypeTerm::Fixed(dtype)) => TypeTerm::Fixed(dtype.real()),
            (ResultType::Real, TypeTerm::Var(v)) => TypeTerm::RealOf(v),
            (ResultType::Real, TypeTerm::RealOf(_)) => {
                self.unknown = true;
                operand
            }
        }
    }

    /// Two terms may be one type in every application without Rust knowing.
    fn same(&mut self, left: TypeTerm, right: TypeTerm) {
        self.unknown |= left != right;
    }

    fn require(&mut self, term: TypeTerm, accepts: TypeSet) {
        if let TypeTerm::RealOf(v) = term {
            let set = self.real.entry(v).or_insert(TypeSet::ALL);
            *set = set.intersect(accepts);
        }
    }
}
