//! Programs written by hand, statement by statement.

use super::{checked, for_points, uses};
use ijk_ir::core::*;
use ijk_plan::plan::Plan;
use ijk_plan::{Layout, plan};
use ijk_types::{BinaryOp, DType, Literal, Monoid, Reducer, TypeSet, UnaryOp};
use std::collections::BTreeMap;

/// A program under construction; every letter has one extent.
pub struct Builder {
    pub program: Program,
    pub instance: Instance,
    letters: BTreeMap<char, u64>,
    dtype: DType,
}

impl Builder {
    pub fn new(dtype: DType, letters: &[(char, u64)]) -> Self {
        let program = Program { types: vec![TypeSet::ALL], ..Program::default() };
        let instance = Instance { dtypes: vec![], shapes: vec![], extents: vec![], passes: vec![] };
        Self { program, instance, letters: letters.iter().copied().collect(), dtype }
    }

    fn array(&mut self, dtype: DType, shape: Vec<u64>) -> ArrayId {
        let term = if dtype == self.dtype { TypeTerm::Var(0) } else { TypeTerm::Fixed(dtype) };
        let span = Span::default();
        self.program.arrays.push(Array { rank: Some(shape.len() as u32), dtype: term, span });
        self.instance.dtypes.push(dtype);
        self.instance.shapes.push(shape);
        ArrayId(self.program.arrays.len() as u32 - 1)
    }

    /// An input with these letters' extents.
    pub fn input(&mut self, letters: &str) -> ArrayId {
        let shape = letters.chars().map(|c| self.letters[&c]).collect();
        self.input_shape(shape)
    }

    pub fn input_shape(&mut self, shape: Vec<u64>) -> ArrayId {
        let id = self.array(self.dtype, shape);
        self.program.inputs.push(id);
        id
    }

    pub fn output(&mut self, id: ArrayId) {
        self.program.outputs.push(id);
    }

    /// `reduce(value over operands)~out`; `build` makes nodes after the operands' accesses.
    pub fn statement(
        &mut self,
        operands: &[(ArrayId, &str)],
        build: impl FnOnce(&mut Vec<ScalarNode>),
        out: &str,
        reduce: Option<Reducer>,
    ) -> ArrayId {
        let mut domain: Vec<char> = Vec::new();
        let texts = operands.iter().map(|o| o.1).chain([out]);
        for c in texts.flat_map(str::chars).filter(|c| c.is_alphabetic()) {
            if !domain.contains(&c) {
                domain.push(c);
            }
        }
        let span = Span::default();
        let access = |&(array, text): &(ArrayId, &str)| {
            ScalarNode::Access(Access { array, index: indices(text, &domain), span })
        };
        let mut nodes: Vec<ScalarNode> = operands.iter().map(access).collect();
        build(&mut nodes);
        let value = ScalarExpr { nodes };
        let extents: Vec<u64> = domain.iter().map(|c| self.letters[c]).collect();
        let out_index = indices(out, &domain);
        let shape = out_index.iter().map(|e| extent(e, &extents)).collect();
        let dtype = match reduce {
            Some(reducer) if reducer.gives_positions() => DType::I64,
            _ => self.type_of(&value),
        };
        let out = self.array(dtype, shape);
        let axis = |c: &char| Axis { name: c.to_string(), dims: vec![], pins: vec![] };
        let init = match reduce {
            Some(Reducer::Monoid(m)) => Init::Identity(m),
            _ => Init::Zero,
        };
        let domain = domain.iter().map(axis).collect();
        self.program.statements.push(Statement {
            out,
            domain,
            out_index,
            init,
            reduce,
            value,
            guards: vec![],
            span,
        });
        self.instance.extents.push(extents);
        out
    }

    fn type_of(&self, value: &ScalarExpr) -> DType {
        let mut types: Vec<DType> = vec![];
        for node in &value.nodes {
            types.push(match node {
                ScalarNode::Access(a) => self.instance.dtypes[a.array.0 as usize],
                ScalarNode::Const(_, t) | ScalarNode::Extent(_, t) => t.resolve(&[self.dtype]),
                ScalarNode::Index(_) => DType::I64,
                ScalarNode::Unary(op, x) => op.result().of(types[x.0 as usize]),
                ScalarNode::Binary(op, x, _) => op.result().of(types[x.0 as usize]),
                ScalarNode::Select(_, x, _) | ScalarNode::Random { lo: x, .. } => {
                    types[x.0 as usize]
                }
            });
        }
        types[types.len() - 1]
    }

    pub fn binary(
        &mut self,
        op: BinaryOp,
        a: (ArrayId, &str),
        b: (ArrayId, &str),
        out: &str,
    ) -> ArrayId {
        self.statement(&[a, b], |n| n.push(binary(op, 0, 1)), out, None)
    }

    pub fn fused(
        &mut self,
        m: Monoid,
        op: BinaryOp,
        a: (ArrayId, &str),
        b: (ArrayId, &str),
        out: &str,
    ) -> ArrayId {
        let reduce = Some(Reducer::Monoid(m));
        self.statement(&[a, b], |n| n.push(binary(op, 0, 1)), out, reduce)
    }

    pub fn reduce(&mut self, m: Monoid, a: (ArrayId, &str), out: &str) -> ArrayId {
        self.statement(&[a], |_| {}, out, Some(Reducer::Monoid(m)))
    }

    pub fn view(&mut self, a: (ArrayId, &str), out: &str) -> ArrayId {
        self.statement(&[a], |_| {}, out, None)
    }

    pub fn unary(&mut self, op: UnaryOp, a: (ArrayId, &str), out: &str) -> ArrayId {
        self.statement(&[a], |n| n.push(ScalarNode::Unary(op, ScalarId(0))), out, None)
    }

    /// `literal op operand`.
    pub fn with_number(&mut self, op: BinaryOp, x: i64, a: (ArrayId, &str), out: &str) -> ArrayId {
        let build = |n: &mut Vec<ScalarNode>| {
            n.push(ScalarNode::Const(Literal::Integer(x), TypeTerm::Var(0)));
            n.push(binary(op, 1, 0));
        };
        self.statement(&[a], build, out, None)
    }

    pub fn plan(&self) -> Plan {
        let layout = Layout::contiguous(&self.program, &self.instance);
        plan(&self.program, &self.instance, &layout).unwrap()
    }

    /// The plan, after it was found to compute what the program says, for several layouts.
    pub fn checked(&self) -> Plan {
        checked(&self.program, &self.instance)
    }
}

pub fn binary(op: BinaryOp, x: u32, y: u32) -> ScalarNode {
    ScalarNode::Binary(op, ScalarId(x), ScalarId(y))
}

fn extent(e: &IndexExpr, extents: &[u64]) -> u64 {
    let mut greatest = -1;
    let at_least_one: Vec<u64> = extents.iter().map(|&n| n.max(1)).collect();
    for_points(&at_least_one, |p| greatest = greatest.max(e.eval(p)));
    let empty = (0..extents.len()).any(|a| extents[a] == 0 && uses(e, a));
    if empty { 0 } else { (greatest + 1) as u64 }
}

/// `ij`, `[4*i+j]k`, `[i/2][i%2]`.
fn indices(text: &str, domain: &[char]) -> Vec<IndexExpr> {
    let axis = |c: char| AxisId(domain.iter().position(|d| *d == c).unwrap() as u32);
    let mut result = vec![];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c != '[' {
            if c != '.' {
                result.push(IndexExpr::axis(axis(c)));
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = rest.find(']').unwrap();
        let mut e = IndexExpr::default();
        for term in rest[1..end].split('+') {
            let letter = term.chars().find(|c| c.is_alphabetic());
            match letter {
                None => e.constant += term.parse::<i64>().unwrap(),
                Some(c) => {
                    let (before, after) = term.split_once(c).unwrap();
                    let k = before.trim_end_matches('*').parse().unwrap_or(1);
                    let inner = Box::new(IndexExpr::axis(axis(c)));
                    let atom = match after.split_at_checked(1) {
                        Some(("/", d)) => Atom::FloorDiv(inner, d.parse().unwrap()),
                        Some(("%", d)) => Atom::Mod(inner, d.parse().unwrap()),
                        _ => Atom::Axis(axis(c)),
                    };
                    e.terms.push((k, atom));
                }
            }
        }
        e.terms.sort_by_key(|(_, a)| match a {
            Atom::Axis(a) => a.0,
            _ => u32::MAX,
        });
        result.push(e);
        rest = &rest[end + 1..];
    }
    result
}
