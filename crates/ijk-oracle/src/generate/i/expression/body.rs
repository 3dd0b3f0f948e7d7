//! Functions and literals of a body.

use super::super::Rng;
use super::Drafter;
use crate::reference::surface::{map_type, pointwise};
use ijk_syntax::Function;
use ijk_syntax::ast::{Number, Operand};
use ijk_types::DType;

/// The function of the operands, and the positions of literals among them.
pub(super) struct BodyShape {
    function: Option<Function>,
    /// For each operand, a literal, or `None` for an index.
    literals: Vec<Option<Number>>,
}

impl BodyShape {
    pub(super) fn fill(self, indices: Vec<Operand>) -> (Option<Function>, Vec<Operand>) {
        let mut indices = indices.into_iter();
        let operand = |literal: Option<Number>| match literal {
            Some(number) => Some(Operand::Number(number, Default::default())),
            None => indices.next(),
        };
        (self.function, self.literals.into_iter().filter_map(operand).collect())
    }
}

impl Drafter<'_> {
    /// Chooses element types of the inputs and a function that supports them.
    pub(super) fn shape_of_body(&mut self) -> Option<(Vec<DType>, BodyShape)> {
        let mut types: Vec<DType> = self.given.iter().map(|g| g.0).collect();
        let base = types.first().copied().unwrap_or_else(|| random_type(self.rng));
        while types.len() < self.inputs {
            types.push(base);
        }
        let same = types.iter().all(|&t| t == types[0]);
        let takes_where = self.inputs == 3 && self.fits_where(&mut types);
        let body = match self.inputs {
            1 if self.rng.chance(0.55) => BodyShape { function: None, literals: vec![None] },
            1 => self.with_literals(types[0])?,
            2 if types[0] == DType::Bool && (!same || self.rng.chance(0.2)) => {
                self.free_type(&mut types, 1);
                self.where_with_literal(types[1])
            }
            2 if same => self.binary(types[0])?,
            3 if takes_where => {
                BodyShape { function: Some(Function::Where), literals: vec![None; 3] }
            }
            _ => return None,
        };
        Some((types, body))
    }

    /// A type that no given argument determines may be any.
    fn free_type(&mut self, types: &mut [DType], from: usize) {
        if self.given.len() <= from {
            let t = random_type(self.rng);
            types[from..].fill(t);
        }
    }

    fn fits_where(&mut self, types: &mut [DType]) -> bool {
        if self.given.is_empty() {
            types[0] = DType::Bool;
        }
        self.free_type(types, 1);
        if self.given.len() == 2 {
            types[2] = types[1];
        }
        types[0] == DType::Bool && types[1] == types[2]
    }

    /// `ij>0`, `2*i`, `@where(1,i,j)`, `-(@abs i)`, `>(@tanh i)`.
    fn with_literals(&mut self, t: DType) -> Option<BodyShape> {
        if self.rng.chance(0.25) {
            let unary = |&f: &Function| f != Function::Index && accepts(f, &[t]);
            let choices: Vec<Function> = Function::ALL.iter().copied().filter(unary).collect();
            let index = self.rng.chance(0.1);
            let function = if index { Function::Index } else { *self.rng.pick(&choices) };
            return Some(BodyShape { function: Some(function), literals: vec![None] });
        }
        if self.rng.chance(0.1) {
            let condition = Number::Integer(self.rng.below(2) as i64);
            let other = self.literal(t);
            let mut branches = [None, Some(other)];
            self.rng.shuffle(&mut branches);
            let literals = vec![Some(condition), branches[0], branches[1]];
            return Some(BodyShape { function: Some(Function::Where), literals });
        }
        let mut shape = self.binary(t)?;
        let at = self.rng.below(2);
        shape.literals[at] = Some(self.literal(t));
        Some(shape)
    }

    fn where_with_literal(&mut self, t: DType) -> BodyShape {
        let mut branches = [None, Some(self.literal(t))];
        self.rng.shuffle(&mut branches);
        let literals = vec![None, branches[0], branches[1]];
        BodyShape { function: Some(Function::Where), literals }
    }

    fn binary(&mut self, t: DType) -> Option<BodyShape> {
        let function = self.function_of_two(t)?;
        Some(BodyShape { function: Some(function), literals: vec![None; 2] })
    }

    /// A function of two operands of a type, often a common one.
    pub(super) fn function_of_two(&mut self, t: DType) -> Option<Function> {
        let takes = |&f: &Function| accepts(f, &[t, t]);
        let all: Vec<Function> = Function::ALL.iter().copied().filter(takes).collect();
        let common: Vec<Function> = all
            .iter()
            .copied()
            .filter(|f| matches!(f, Function::Add | Function::Mul | Function::Sub | Function::Max))
            .collect();
        let choices = if self.rng.chance(0.5) { &common } else { &all };
        Some(*self.rng.pick(if choices.is_empty() { &all } else { choices }))
    }

    pub(super) fn literal(&mut self, t: DType) -> Number {
        let whole = Number::Integer(match t {
            DType::Bool => self.rng.below(2) as i64,
            _ if t.is_unsigned() => *self.rng.pick(&[0, 1, 2, 3, 5, 10, 100]),
            _ => *self.rng.pick(&[0, 1, 2, 3, 5, 10, -1, -2, 100]),
        });
        let fractions = [0.5, -1.5, 0.1, 1e-7, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        match t {
            _ if t == DType::Bool || t.is_integer() => whole,
            _ if self.rng.chance(0.6) => whole,
            _ if self.rng.chance(0.2) => {
                Number::Float(*self.rng.pick(&[std::f64::consts::PI, std::f64::consts::E]))
            }
            _ => Number::Float(*self.rng.pick(&fractions)),
        }
    }
}

pub(in super::super) fn accepts(function: Function, types: &[DType]) -> bool {
    let map = pointwise(function, types.len());
    map.is_some_and(|map| map_type(map, types).is_ok())
}

pub(super) fn random_type(rng: &mut Rng) -> DType {
    use DType::{BF16, Bool, C64, C128, F16, F32, F64, I32, I64};
    let stored = [DType::U8, DType::U16, DType::U32, DType::U64, DType::I8, DType::I16, F16, BF16];
    if rng.chance(0.3) {
        return *rng.pick(&stored);
    }
    rng.weighted(&[(7, F32), (5, F64), (3, I32), (3, I64), (2, Bool), (1, C64), (1, C128)])
}
