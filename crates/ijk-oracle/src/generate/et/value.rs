//! Random values: reads, literals, positions, random numbers, operators, functions.

use super::build::{SPAN, access, call, integer, name, number, whole};
use super::world::{EtArray, Kind, World};
use crate::generate::data_input;
use crate::reference::et::types::Type;
use crate::reference::surface::{Map, pointwise};
use ijk_syntax::Function;
use ijk_syntax::ast::Number;
use ijk_syntax::et::ast::{Along, Assign, AssignOp, Index, IndexOp, Statement, Value, ValueOp};
use ijk_types::{BinaryOp, DType, TypeSet, UnaryOp};

type TypedValue = (Value, Type);

#[derive(Clone, Copy)]
enum LeafKind {
    Read,
    Number,
    Position,
    Component,
    Extent,
    Rank,
    Random,
}

impl World<'_> {
    /// A value with at most `depth` levels of operators.
    pub fn value(&mut self, depth: u32) -> TypedValue {
        if depth == 0 {
            return self.leaf();
        }
        match self.rng.below(10) {
            0..=2 => self.leaf(),
            3..=5 => self.sum(depth),
            6 | 7 => self.product(depth),
            _ => self.function(depth),
        }
    }

    fn leaf(&mut self) -> TypedValue {
        let leaf = self.rng.weighted(&[
            (60, LeafKind::Read),
            (10, LeafKind::Number),
            (7, LeafKind::Position),
            (4, LeafKind::Component),
            (5, LeafKind::Extent),
            (2, LeafKind::Rank),
            (5, LeafKind::Random),
        ]);
        match leaf {
            LeafKind::Read => self.read(),
            LeafKind::Number => self.literal(),
            LeafKind::Position => self.position(),
            LeafKind::Component => self.component(),
            LeafKind::Extent => self.extent(),
            LeafKind::Rank => {
                let list = (0..self.rng.between(1, 2)).map(|_| self.any_tuple()).collect();
                (Value::Rank(list, SPAN), Type::weak(DType::I64))
            }
            LeafKind::Random => self.random(),
        }
    }

    fn any_tuple(&mut self) -> Index {
        let at = self.rng.below(self.tuples.len());
        self.plain(at)
    }

    fn literal(&mut self) -> TypedValue {
        let n = match self.rng.below(10) {
            0..=5 => Number::Integer(self.rng.between(0, 8) as i64 - 3),
            6 | 7 => Number::Float(*self.rng.pick(&[0.5, 1.25, 0.1, 2e-3, 3.0])),
            8 => Number::Float(*self.rng.pick(&[f64::INFINITY, f64::NAN])),
            _ => Number::Float(std::f64::consts::PI),
        };
        let dtype = if matches!(n, Number::Integer(_)) { DType::I64 } else { DType::F64 };
        (number(n), Type::weak(dtype))
    }

    fn position(&mut self) -> TypedValue {
        match self.pick_tuple(1) {
            Some(at) => (Value::Tuple(name(&self.tuples[at].name)), Type::weak(DType::I64)),
            None => self.literal(),
        }
    }

    /// `pos[coord]`, `pos[0]`.
    fn component(&mut self) -> TypedValue {
        let ranks: Vec<usize> = self.tuples.iter().map(|t| t.rank).collect();
        let r = *self.rng.pick(&ranks);
        let Some(at) = self.pick_tuple(r) else { return self.literal() };
        let coord = self.coord(r);
        let element = access(&self.tuples[at].name, vec![coord]);
        (Value::Element(element), Type::weak(DType::I64))
    }

    /// A number that is usually below the rank.
    fn coord(&mut self, r: usize) -> Index {
        match self.rng.below(4) {
            0 => integer(self.rng.below(r + 1) as i64),
            1 => self.index(1, 1, false),
            2 if self.pool_points() * r.max(1) as u64 <= self.budget => {
                let at = self.tuple(1, Kind::Inferred);
                self.tuples[at].lo = r as u64;
                self.tuples[at].hi = r as u64;
                self.pool.push(at);
                self.plain(at)
            }
            _ => integer(r.saturating_sub(1) as i64),
        }
    }

    fn extent(&mut self) -> TypedValue {
        let list: Vec<usize> =
            (0..self.rng.between(1, 2)).map(|_| self.rng.below(self.tuples.len())).collect();
        let r = list.iter().map(|&at| self.tuples[at].rank).sum();
        let mut of: Vec<Index> = list.iter().map(|&at| self.plain(at)).collect();
        if let ([one], true) = (&of[..], self.rng.chance(0.2)) {
            let steps = integer(self.rng.between(1, 3) as i64);
            of = vec![super::build::sum(one.clone(), self.rng.chance(0.4), steps)];
        }
        let bare = r == 1 && self.rng.chance(0.4);
        let coord = if bare { None } else { Some(Box::new(self.coord(r))) };
        (Value::Dims { of, coord, span: SPAN }, Type::weak(DType::I64))
    }

    pub fn random(&mut self) -> TypedValue {
        let float = self.rng.chance(0.5);
        let lo = whole(self.rng.between(0, 4) as i64 - 3);
        let hi = match self.rng.below(8) {
            2 => {
                let (lo, hi) = (Box::new(whole(0)), Box::new(whole(3)));
                let inner = Value::Random { lo, hi, float: false, span: SPAN };
                Value::Sum(vec![(false, whole(4)), (false, inner)], SPAN)
            }
            3 => {
                let position = self.position().0;
                match position {
                    Value::Tuple(_) => Value::Sum(vec![(false, position), (false, whole(2))], SPAN),
                    _ => whole(3),
                }
            }
            0 => {
                let extent = self.extent().0;
                Value::Sum(vec![(false, extent), (false, whole(2))], SPAN)
            }
            1 if float => number(Number::Float(2.5)),
            _ => whole(self.rng.between(2, 9) as i64),
        };
        let (lo, hi) = (Box::new(lo), Box::new(hi));
        let dtype = if float { DType::F64 } else { DType::I64 };
        (Value::Random { lo, hi, float, span: SPAN }, Type::strong(dtype))
    }

    /// An element of an existing array, or of a new input.
    fn read(&mut self) -> TypedValue {
        let at = match self.arrays.is_empty() || self.arrays.len() < 5 && self.rng.chance(0.3) {
            true => return self.new_input(),
            false => self.rng.below(self.arrays.len()),
        };
        self.read_of(at)
    }

    pub fn read_of(&mut self, at: usize) -> TypedValue {
        let EtArray { name, dtype, places, .. } = self.arrays[at].clone();
        let depth = self.rng.weighted(&[(5, 0), (4, 1), (2, 2)]);
        let indices = places.iter().map(|place| self.place_index(at, place, depth)).collect();
        (Value::Element(access(&name, indices)), Type::strong(dtype))
    }

    /// An input with its first use; a statement of random numbers may define it instead.
    fn new_input(&mut self) -> TypedValue {
        let dtype = self.rng.weighted(&[
            (5, DType::F64),
            (4, DType::F32),
            (4, DType::I64),
            (3, DType::I32),
            (2, DType::Bool),
            (2, DType::C64),
            (1, DType::C128),
            (1, DType::U8),
            (1, DType::U16),
            (1, DType::U32),
            (1, DType::U64),
            (1, DType::I8),
            (1, DType::I16),
            (1, DType::F16),
            (1, DType::BF16),
        ]);
        let ranks: Vec<usize> = self.tuples.iter().map(|t| t.rank).collect();
        let count = self.rng.weighted(&[(1, 0), (5, 1), (5, 2), (2, 3)]);
        let mut places: Vec<(usize, Option<usize>, Vec<usize>)> = Vec::new();
        for _ in 0..count {
            let r = *self.rng.pick(&ranks);
            places.push(self.input_place(r));
        }
        let shape = places.iter().flat_map(|place| place.2.clone()).collect::<Vec<_>>();
        if shape.iter().product::<usize>() > 5000 {
            return self.literal();
        }
        let name = self.fresh_array(None);
        let flavour = self.flavour;
        let input = data_input(self.rng, &(dtype, shape), flavour);
        self.bound.insert(name.clone(), input);
        let drawn = self.rng.chance(0.25) && places.iter().all(|place| place.1.is_some());
        if drawn {
            let tuples: Vec<usize> = places.iter().filter_map(|place| place.1).collect();
            let value = self.plain_random();
            let left = self.plain_access(&name, &tuples);
            let assign = Assign { op: AssignOp::Add, accumulate: false };
            self.push(Statement { left, assign, symbol: SPAN, value, declared: None, span: SPAN });
        }
        let as_places =
            places.iter().map(|&(rank, tuple, _)| super::world::ArrayPlace { rank, tuple });
        let array = EtArray {
            name: name.clone(),
            dtype,
            places: as_places.collect(),
            star: None,
            bound: true,
        };
        self.arrays.push(array);
        let at = self.arrays.len() - 1;
        let first = self.first_read(at);
        if self.rng.chance(0.1) { self.beside_a_shift(first) } else { first }
    }

    /// The sum of a read and of the same at shifts of its plain eintups: `x[a] + x[a+1]`.
    fn beside_a_shift(&mut self, (value, t): TypedValue) -> TypedValue {
        let Value::Element(read) = &value else { return (value, t) };
        let mut shifted = read.clone();
        for index in shifted.indices.iter_mut().filter(|index| matches!(index, Index::Tuple(_))) {
            let by = integer(self.rng.between(0, 2) as i64);
            *index = super::build::sum(index.clone(), self.rng.chance(0.2), by);
        }
        let both = vec![(false, value), (false, Value::Element(shifted))];
        (Value::Sum(both, SPAN), t)
    }

    fn plain_random(&mut self) -> Value {
        let (lo, hi) = (Box::new(whole(0)), Box::new(whole(9)));
        Value::Random { lo, hi, float: self.rng.chance(0.5), span: SPAN }
    }

    /// The first use of an input: plain eintups take their extents from it.
    fn first_read(&mut self, at: usize) -> TypedValue {
        let EtArray { name, dtype, places, .. } = self.arrays[at].clone();
        let mut indices = Vec::new();
        for place in &places {
            indices.push(match place.tuple {
                Some(tuple) if self.admit(tuple) => self.plain(tuple),
                Some(tuple) => {
                    self.open.push(tuple);
                    super::build::dims(vec![self.plain(tuple)])
                }
                None => match self.index(place.rank, 2, false) {
                    plain @ Index::Tuple(_) => {
                        super::build::sum(plain, self.rng.chance(0.3), integer(1))
                    }
                    e => e,
                },
            });
        }
        (Value::Element(access(&name, indices)), Type::strong(dtype))
    }

    /// A place of a new input: its rank, the plain eintup of it, and its extents.
    fn input_place(&mut self, r: usize) -> (usize, Option<usize>, Vec<usize>) {
        if self.rng.chance(0.4) {
            let extents = (0..r).map(|_| self.rng.between(1, 4)).collect();
            return (r, None, extents);
        }
        let usable = |at: &usize| {
            let t = &self.tuples[*at];
            t.rank == r && matches!(t.kind, Kind::Pinned | Kind::Ranged)
        };
        let known: Vec<usize> = (0..self.tuples.len()).filter(usable).collect();
        let at = match known.is_empty() || self.rng.chance(0.5) {
            true => self.tuple(r, Kind::Bound),
            false => *self.rng.pick(&known),
        };
        let (lo, hi) = (self.tuples[at].lo, self.tuples[at].hi);
        let exact = match self.tuples[at].exact.clone() {
            Some(exact) => exact,
            None if self.tuples[at].kind == Kind::Bound => {
                (0..r).map(|_| self.rng.between(hi.min(1) as usize, hi as usize) as u64).collect()
            }
            None => (0..r).map(|_| self.rng.between(lo as usize, hi as usize) as u64).collect(),
        };
        self.tuples[at].exact = Some(exact.clone());
        (r, Some(at), exact.iter().map(|&n| n as usize).collect())
    }

    fn sum(&mut self, depth: u32) -> TypedValue {
        let (first, mut t) = self.value(depth - 1);
        let negated = self.rng.chance(0.15);
        if negated {
            t = number_type(t);
        }
        let mut terms = vec![(negated, first)];
        let least = if negated { 0 } else { 1 };
        for _ in 0..self.rng.between(least, 2) {
            let (term, other) = self.value(depth - 1);
            let minus = self.rng.chance(0.4);
            t = match minus {
                true => number_type(t).join(number_type(other)),
                false => t.join(other),
            };
            terms.push((minus, term));
        }
        (Value::Sum(terms, SPAN), t)
    }

    fn product(&mut self, depth: u32) -> TypedValue {
        let (first, mut t) = self.value(depth - 1);
        let mut factors = Vec::new();
        for _ in 0..self.rng.between(1, 2) {
            let op =
                self.rng.weighted(&[(6, ValueOp::Mul), (2, ValueOp::Div), (2, ValueOp::FloorDiv)]);
            let op =
                if t.dtype.is_complex() && op == ValueOp::FloorDiv { ValueOp::Div } else { op };
            let (factor, other) = match op {
                ValueOp::FloorDiv => self.divisor(depth - 1),
                ValueOp::Mul if self.rng.chance(0.1) => self.one_hot(),
                _ => self.value(depth - 1),
            };
            let joined = t.join(other);
            let whole = joined.dtype == DType::Bool || joined.dtype.is_integer();
            t = match op {
                ValueOp::Mul => joined,
                ValueOp::Div if whole => Type { dtype: DType::F64, ..joined },
                ValueOp::FloorDiv if whole => number_type(t).join(number_type(other)),
                _ => joined,
            };
            factors.push((op, factor));
        }
        (Value::Product(Box::new(first), factors, SPAN), t)
    }

    /// 1 if a position equals a number, usually an element or another position, else 0.
    fn one_hot(&mut self) -> TypedValue {
        let depth = self.rng.below(2) as u32;
        let (left, right) = (self.position(), real(self.value(depth)));
        let (equal, _) = match self.rng.chance(0.5) {
            true => binary(Function::Eq, BinaryOp::Eq, left, right),
            false => binary(Function::Eq, BinaryOp::Eq, right, left),
        };
        let (cast, to) = *self.rng.pick(&[
            (Function::CastF64, DType::F64),
            (Function::CastF32, DType::F32),
            (Function::CastI64, DType::I64),
        ]);
        (call(cast, vec![equal]), Type::strong(to))
    }

    /// A real number, usually nonzero.
    fn divisor(&mut self, depth: u32) -> TypedValue {
        match self.rng.below(10) {
            0 | 2 => {
                let value = self.value(depth);
                real(value)
            }
            3 if self.rng.chance(0.2) => (whole(0), Type::weak(DType::I64)),
            1 => (number(Number::Float(0.75)), Type::weak(DType::F64)),
            _ => (whole(*self.rng.pick(&[1, 2, 3, -2])), Type::weak(DType::I64)),
        }
    }

    fn function(&mut self, depth: u32) -> TypedValue {
        let along = self.rng.chance(0.15);
        let takes = |f: &Function| !along || f.is_along() && *f != Function::Index;
        let choices: Vec<Function> = Function::ALL.iter().copied().filter(takes).collect();
        let function = *self.rng.pick(&choices);
        if function.is_along() && function != Function::Index {
            return self.along(function).unwrap_or_else(|| self.sum(depth));
        }
        let count = match function {
            Function::Add | Function::Mul | Function::Sub | Function::Div => 0,
            Function::Pow => self.rng.between(1, 2),
            Function::Log => 1,
            other => other.operands().1,
        };
        match pointwise(function, count) {
            Some(Map::Unary(op)) => {
                let operand = self.value(depth - 1);
                unary(function, op, operand)
            }
            Some(Map::Binary(op)) => {
                let (left, right) = (self.value(depth - 1), self.value(depth - 1));
                let right = match op {
                    BinaryOp::Mod => self.divisor(0),
                    BinaryOp::Pow if self.rng.chance(0.9) => {
                        let power = self.rng.between(0, 5) as i64 - 1;
                        (whole(power), Type::weak(DType::I64))
                    }
                    _ => right,
                };
                binary(function, op, left, right)
            }
            Some(Map::Where) => {
                let condition = truth(self.value(depth - 1));
                let (yes, no) = (self.value(depth - 1), self.value(depth - 1));
                let t = yes.1.join(no.1);
                (call(Function::Where, vec![condition.0, yes.0, no.0]), t)
            }
            _ => self.sum(depth),
        }
    }
}

impl World<'_> {
    /// All values along an eintup that stands at a place of an array.
    fn along(&mut self, function: Function) -> Option<TypedValue> {
        let usable = |world: &Self, array: &EtArray| {
            let plain = array.places.iter().all(|place| place.tuple.is_some());
            plain && array.places.iter().any(|place| place.rank == 1) && {
                let tuples = array.places.iter().filter_map(|place| place.tuple);
                tuples.map(|at| world.points(at).max(1)).product::<u64>() <= world.budget
            }
        };
        let arrays: Vec<usize> =
            (0..self.arrays.len()).filter(|&at| usable(self, &self.arrays[at])).collect();
        let EtArray { name: array, dtype, places, .. } =
            self.arrays[*arrays.get(self.rng.below(arrays.len().max(1)))?].clone();
        let tuples: Vec<usize> = places.iter().filter_map(|place| place.tuple).collect();
        let own: Vec<usize> =
            tuples.iter().copied().filter(|&at| self.tuples[at].rank == 1).collect();
        let along = *self.rng.pick(&own);
        let others = tuples.iter().filter(|&&at| at != along);
        if !others.copied().collect::<Vec<_>>().into_iter().all(|at| self.admit(at)) {
            return None;
        }
        let element = Value::Element(self.plain_access(&array, &tuples));
        let mut of = real((element, Type::strong(dtype)));
        if self.rng.chance(0.3) {
            let factor = (whole(*self.rng.pick(&[-1, 2, 0])), Type::weak(DType::I64));
            let product = vec![(ValueOp::Mul, factor.0)];
            of = (Value::Product(Box::new(of.0), product, SPAN), of.1.join(factor.1));
        }
        let least = match &self.tuples[along].exact {
            Some(exact) => exact.iter().copied().min().unwrap_or(0),
            None => self.tuples[along].lo,
        };
        if !function.orders() && least == 0 {
            return None;
        }
        let place = match self.rng.below(4) {
            0 if function.orders() && least > 0 => {
                Some(integer(self.rng.below(least as usize) as i64))
            }
            1 if function.orders() => {
                let own = self.plain(along);
                let half = super::build::product(own, IndexOp::FloorDiv, integer(2));
                Some(half)
            }
            _ => None,
        };
        let ranges = function.orders() && !matches!(place, Some(Index::Integer(..)));
        if ranges && !self.admit(along) {
            return None;
        }
        let gives_values = matches!(function, Function::Sort | Function::TopK);
        let t = if gives_values { of.1 } else { Type::weak(DType::I64) };
        let tuple = name(&self.tuples[along].name);
        let along = Along { function, name: SPAN, of: of.0, tuple, place, span: SPAN };
        Some((Value::Along(Box::new(along)), t))
    }
}

fn number_type(t: Type) -> Type {
    if t.dtype == DType::Bool { Type { dtype: DType::I64, ..t } } else { t }
}

/// The value, converted to a real one if it is complex.
pub(crate) fn real((value, t): TypedValue) -> TypedValue {
    match t.dtype.is_complex() {
        true => (call(Function::Re, vec![value]), Type { dtype: t.dtype.real(), ..t }),
        false => (value, t),
    }
}

/// A real value as a floating-point number.
pub(crate) fn floating(typed: TypedValue) -> TypedValue {
    let (value, t) = real(typed);
    match t.dtype.is_float() {
        true => (value, t),
        false => (call(Function::CastF64, vec![value]), Type::strong(DType::F64)),
    }
}

fn truth(typed: TypedValue) -> TypedValue {
    real(typed)
}

/// The value in a type that a function accepts.
fn accepted(accepts: TypeSet, typed: TypedValue) -> TypedValue {
    let typed = if accepts.contains(DType::C64) { typed } else { real(typed) };
    let bool_alone = typed.1.dtype == DType::Bool && !accepts.contains(DType::Bool);
    match bool_alone && !accepts.is_subset(TypeSet::INEXACT) {
        true => (call(Function::CastI64, vec![typed.0]), Type::strong(DType::I64)),
        false => typed,
    }
}

fn as_float(accepts: TypeSet, t: Type) -> Type {
    let whole = t.dtype == DType::Bool || t.dtype.is_integer();
    match whole && accepts.is_subset(TypeSet::INEXACT) {
        true => Type { dtype: DType::F64, ..t },
        false => t,
    }
}

fn unary(function: Function, op: UnaryOp, operand: TypedValue) -> TypedValue {
    match op {
        UnaryOp::Cast(to) => {
            let (value, _) = real(operand);
            (call(function, vec![value]), Type::strong(to))
        }
        UnaryOp::Not => (call(function, vec![truth(operand).0]), Type::strong(DType::Bool)),
        _ => {
            let (value, t) = accepted(op.accepts(), operand);
            let t = as_float(op.accepts(), t);
            (call(function, vec![value]), Type { dtype: op.result().of(t.dtype), ..t })
        }
    }
}

fn binary(function: Function, op: BinaryOp, left: TypedValue, right: TypedValue) -> TypedValue {
    if matches!(op, BinaryOp::And | BinaryOp::Or) {
        let args = vec![truth(left).0, truth(right).0];
        return (call(function, args), Type::strong(DType::Bool));
    }
    let (left, right) = (accepted(op.accepts(), left), accepted(op.accepts(), right));
    let t = as_float(op.accepts(), left.1.join(right.1));
    let dtype = op.result().of(t.dtype);
    let weak = t.weak && dtype != DType::Bool;
    (call(function, vec![left.0, right.0]), Type { dtype, weak, ..t })
}
