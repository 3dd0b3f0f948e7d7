//! Random statements: every form of assignment, and arrays of any extents.

use super::build::{SPAN, access};
use super::value::{floating, real};
use super::world::{ArrayPlace, EtArray, World};
use crate::reference::et::types::Type;
use ijk_syntax::et::ast::{Access, Assign, AssignOp, Declared, Index, Name, Statement, Value};
use ijk_types::DType;

const OPS: [(u32, AssignOp); 7] = [
    (50, AssignOp::Add),
    (8, AssignOp::Mul),
    (8, AssignOp::Max),
    (8, AssignOp::Min),
    (5, AssignOp::And),
    (5, AssignOp::Or),
    (8, AssignOp::LogAddExp),
];

/// Most elements of an array.
const MOST_ELEMENTS: u64 = 6000;

impl World<'_> {
    /// Adds a statement.
    pub fn statement(&mut self) {
        self.pool.clear();
        let assign = Assign { op: self.rng.weighted(&OPS), accumulate: self.rng.chance(0.35) };
        let depth = self.rng.weighted(&[(4, 0), (5, 1), (4, 2), (1, 3)]);
        let usable: Vec<usize> = (0..self.arrays.len()).filter(|&at| self.may_assign(at)).collect();
        if !usable.is_empty() && self.rng.chance(0.4) {
            let at = *self.rng.pick(&usable);
            let left = self.again(at);
            let value = self.value(depth);
            let old = self.arrays[at].dtype;
            let (value, assign, dtype) = fit(value, assign, Some(old));
            self.arrays[at].dtype = dtype;
            self.arrays[at].star = self.arrays[at].star.filter(|_| dtype.is_integer());
            return self.push(Statement {
                left,
                assign,
                symbol: SPAN,
                value,
                declared: None,
                span: SPAN,
            });
        }
        let (value, left) = match self.rng.chance(0.5) {
            true => {
                let value = self.value(depth);
                (value, self.first())
            }
            false => {
                let left = self.first();
                (self.value(depth), left)
            }
        };
        let (value, assign, dtype) = fit(value, assign, None);
        let places = left.indices.iter().map(|e| self.place_of(e)).collect();
        let name = left.array.text.clone();
        self.arrays.push(EtArray { name, dtype, places, star: None, bound: false });
        self.push(Statement { left, assign, symbol: SPAN, value, declared: None, span: SPAN });
    }

    /// Declares some of the arrays that are drawn and then bound.
    pub fn declare(&mut self) {
        let looped: Vec<usize> = self.program.loops.iter().flat_map(|l| l.body.clone()).collect();
        let mut seen: Vec<String> = Vec::new();
        for at in 0..self.program.statements.len() {
            let statement = &self.program.statements[at];
            let name = statement.left.array.text.clone();
            let plain = statement.assign == Assign { op: AssignOp::Add, accumulate: false };
            let drawn = plain && matches!(statement.value, Value::Random { .. });
            let fits = drawn && !seen.contains(&name) && !looped.contains(&at);
            let bound = self.bound.get(&name).map(|input| input.value.dtype);
            if let Some(dtype) = bound.filter(|_| fits && self.rng.chance(0.4)) {
                let typed = self.rng.chance(0.5);
                let text = dtype.name().to_uppercase();
                let element = typed.then_some(Name { text, span: SPAN });
                self.program.statements[at].declared = Some(Declared { element });
            }
            seen.push(name);
        }
    }

    /// Returns true for arrays that are computed, or drawn and then bound.
    fn may_assign(&self, at: usize) -> bool {
        let name = &self.arrays[at].name;
        self.arrays[at].star.is_none()
            && !name.starts_with("idx")
            && self.program.statements.iter().any(|s| s.left.array.text == *name)
    }

    /// The left side of an existing array.
    fn again(&mut self, at: usize) -> Access {
        let EtArray { name, places, .. } = self.arrays[at].clone();
        let depth = self.rng.weighted(&[(6, 0), (3, 1), (1, 2)]);
        let indices = places.iter().map(|place| self.place_index(at, place, depth)).collect();
        access(&name, indices)
    }

    /// The left side of a new array.
    fn first(&mut self) -> Access {
        let name = self.fresh_array(None);
        let ranks: Vec<usize> = self.tuples.iter().map(|t| t.rank).collect();
        let count = self.rng.weighted(&[(1, 0), (5, 1), (5, 2), (2, 3)]);
        let mut indices = Vec::new();
        let mut size: u64 = 1;
        for _ in 0..count {
            let r = *self.rng.pick(&ranks);
            let depth = self.rng.weighted(&[(7, 0), (3, 1), (1, 2)]);
            let e = match r == 1 && self.rng.chance(0.02) {
                true => super::build::rank(vec![self.plain(0)]),
                false => self.index(r, depth, r != 1),
            };
            let extent = self.most(&e).saturating_add(1).saturating_pow(r as u32);
            let (e, extent) = match size.saturating_mul(extent) > MOST_ELEMENTS {
                true => (self.index(r, 0, r != 1), 100),
                false => (e, extent),
            };
            size = size.saturating_mul(extent);
            indices.push(e);
        }
        access(&name, indices)
    }

    fn place_of(&self, e: &Index) -> ArrayPlace {
        let tuple = match e {
            Index::Tuple(name) => self.tuples.iter().position(|t| t.name == name.text),
            _ => None,
        };
        ArrayPlace { rank: self.rank_of(e).unwrap_or(1), tuple }
    }

    /// The rank of an index expression, unless it is a scalar.
    fn rank_of(&self, e: &Index) -> Option<usize> {
        let of_list =
            |list: &[Index]| list.iter().map(|e| self.rank_of(e).unwrap_or(1)).sum::<usize>();
        match e {
            Index::Integer(..) | Index::Rank(..) | Index::Star(_) => None,
            Index::Tuple(name) => self.tuples.iter().find(|t| t.name == name.text).map(|t| t.rank),
            Index::Dims(list, _) => Some(of_list(list)),
            Index::Flat(..) => Some(1),
            Index::Array(access) => {
                let starred = access.indices.iter().any(|e| matches!(e, Index::Star(_)));
                let array = self.array_named(&access.array.text)?;
                let extent = self.arrays[array].star.map_or(1, |(_, extent)| extent);
                Some(if starred { extent } else { 1 })
            }
            Index::Call(_, list, _) => list.iter().find_map(|e| self.rank_of(e)),
            Index::Sum(terms, _) => terms.iter().find_map(|(_, term)| self.rank_of(term)),
            Index::Product(first, rest, _) => {
                self.rank_of(first).or_else(|| rest.iter().find_map(|(_, e)| self.rank_of(e)))
            }
        }
    }
}

/// A value, an assignment that can combine it, and the element type of the result.
fn fit(value: (Value, Type), assign: Assign, old: Option<DType>) -> (Value, Assign, DType) {
    let kept = old.filter(|_| assign.accumulate);
    let simple = matches!(assign.op, AssignOp::Add | AssignOp::Mul);
    let assign = match !simple && kept.is_some_and(DType::is_complex) {
        true => Assign { op: AssignOp::Add, ..assign },
        false => assign,
    };
    let simple = matches!(assign.op, AssignOp::Add | AssignOp::Mul);
    let (value, t) = match assign.op {
        AssignOp::LogAddExp => floating(value),
        _ if simple => value,
        _ => real(value),
    };
    let logical = matches!(assign.op, AssignOp::And | AssignOp::Or);
    let dtype = match kept {
        _ if logical => DType::Bool,
        Some(old) => Type::strong(old).join(t).dtype,
        None => t.dtype,
    };
    (value, assign, dtype)
}
