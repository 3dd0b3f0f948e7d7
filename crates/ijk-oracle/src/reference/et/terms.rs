//! The right side of a statement: its reads, and their function.

use super::EtError;
use super::index::{Element, Node, PlaceIndex};
use super::resolve::Scope;
use super::types::Type;
use crate::reference::surface::{Map, apply_map, map_type, pointwise};
use crate::reference::value::position;
use crate::{Bounded, Cell};
use ijk_syntax::Function;
use ijk_syntax::ast::Number;
use ijk_syntax::et::ast::{Access, Index, Value, ValueOp};
use ijk_types::{BinaryOp, C64, C128, DType, Literal, Scalar, TypeSet, UnaryOp, random};

/// An operand that is read at a point, before anything is computed (rule 4).
#[derive(Clone, Debug)]
pub(crate) enum Read<'a> {
    Element(Element<'a>),
    /// A component of an eintup: its first axis, its rank, and the index of the component.
    Component(usize, usize, Node<'a>),
    /// One of some extents.
    Extent(Vec<i128>, Node<'a>),
    /// An element of an array that only this statement has, and its index.
    Own(Bounded, Vec<PlaceIndex<'a>>),
}

impl Read<'_> {
    /// The value, if every index is in bounds.
    pub fn at(&self, point: &[usize]) -> Option<Cell> {
        let within = |coord: &Node, count: usize| {
            let coord = Some(coord).filter(|coord| coord.inside(point))?;
            let at = usize::try_from(coord.at(0, point)?).ok()?;
            (at < count).then_some(at)
        };
        let integer = |value: i128| Cell::exact(Scalar::I64(value as i64));
        Some(match self {
            Self::Element(element) if !element.inside(point) => return None,
            Self::Element(element) => element.array.cells[element.position(0, point)?],
            Self::Own(array, index) => {
                let mut at = Vec::with_capacity(index.len());
                for (e, &extent) in index.iter().zip(&array.shape) {
                    let PlaceIndex::Index(e) = e else { return None };
                    let here = Some(e).filter(|e| e.inside(point))?.at(0, point)?;
                    at.push(usize::try_from(here).ok().filter(|&here| here < extent)?);
                }
                array.cells[position(&array.shape, at)]
            }
            Self::Component(first, rank, coord) => {
                integer(point[first + within(coord, *rank)?] as i128)
            }
            Self::Extent(extents, coord) => integer(extents[within(coord, extents.len())?]),
        })
    }
}

/// A value as a function of reads.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    Constant(Cell),
    /// The index of a read.
    Read(usize),
    /// Key of its site, lower bound, upper bound.
    Random(u64, Box<Term>, Box<Term>),
    Apply(Map, Vec<Term>),
    /// A real number as a complex one of that type.
    Complex(DType, Box<Term>),
}

impl Term {
    /// Its value, from the reads at point number `counter` of the domain (rule 5).
    pub fn value(&self, reads: &[Cell], counter: u64) -> Result<Cell, EtError> {
        match self {
            Self::Constant(cell) => Ok(*cell),
            Self::Read(number) => Ok(reads[*number]),
            Self::Random(key, lo, hi) => {
                let bits = random::bits(*key, counter);
                draw(bits, lo.value(reads, counter)?, hi.value(reads, counter)?)
            }
            Self::Apply(map, operands) => {
                let operand = |term: &Term| term.value(reads, counter);
                let operands = operands.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
                Ok(apply_map(*map, &operands, |_| unreachable!("no letters here"))?)
            }
            Self::Complex(to, term) => Ok(complex(*to, term.value(reads, counter)?)),
        }
    }
}

/// A random number, whose error is at most that of its bounds.
fn draw(bits: u64, lo: Cell, hi: Cell) -> Result<Cell, EtError> {
    let cell = match (lo.value, hi.value) {
        (Scalar::I64(lo), Scalar::I64(hi)) => {
            Cell::exact(Scalar::I64(random::uniform_i64(bits, lo, hi)?))
        }
        (Scalar::F64(lo), Scalar::F64(hi)) => {
            Cell::exact(Scalar::F64(random::uniform_f64(bits, lo, hi)?))
        }
        _ => unreachable!("bounds are converted when they are compiled"),
    };
    let rounding = if lo.error + hi.error > 0.0 { 4.0 * f64::EPSILON } else { 0.0 };
    let size = lo.value.as_f64().abs() + hi.value.as_f64().abs();
    Ok(Cell { error: lo.error + hi.error + rounding * size, ..cell })
}

fn complex(to: DType, x: Cell) -> Cell {
    let value = match (to, x.value) {
        (DType::C64, x) => Scalar::C64(C64::new(x.as_f64() as f32, 0.0)),
        (_, Scalar::C64(z)) => Scalar::C128(C128::new(z.re.into(), z.im.into())),
        (_, x) => Scalar::C128(C128::new(x.as_f64(), 0.0)),
    };
    let wide = match x.wide {
        Scalar::C128(z) => z,
        real => C128::new(real.as_f64(), 0.0),
    };
    Cell { order: x.order, ..Cell::new(value, Scalar::C128(wide), x.error) }
}

/// The number of `RANDOM`s in a value.
pub(crate) fn sites(value: &Value) -> u64 {
    match value {
        Value::Random { lo, hi, .. } => 1 + sites(lo) + sites(hi),
        Value::Call { args, .. } => args.iter().map(sites).sum(),
        Value::Along(along) => sites(&along.of),
        Value::Sum(terms, _) => terms.iter().map(|(_, term)| sites(term)).sum(),
        Value::Product(first, rest, _) => {
            sites(first) + rest.iter().map(|(_, factor)| sites(factor)).sum::<u64>()
        }
        Value::Number(..) | Value::Element(_) | Value::Tuple(_) => 0,
        Value::Dims { .. } | Value::Rank(..) => 0,
    }
}

/// Compiles the right side of a statement.
pub(crate) struct Compiler<'a> {
    pub scope: Scope<'a>,
    pub reads: Vec<Read<'a>>,
    /// The seed of the run, and the ordinal of the next `RANDOM`.
    pub seed: u64,
    pub site: u64,
}

pub(super) type TypedTerm = (Term, Type);

impl<'a> Compiler<'a> {
    pub fn value(&mut self, value: &Value) -> Result<TypedTerm, EtError> {
        match value {
            Value::Number(number, _) => Ok(literal(*number)),
            Value::Element(access) if self.scope.is_tuple(&access.array.text) => {
                self.component(access)
            }
            Value::Element(access) => {
                let element = self.scope.element(access)?;
                let dtype = element.array.dtype;
                let t = self.scope.weak.type_of(&access.array.text, dtype);
                Ok((self.read(Read::Element(element)), t))
            }
            Value::Tuple(name) => self.only_component(&name.text),
            Value::Dims { of, coord, .. } => self.extent(of, coord.as_deref()),
            Value::Rank(list, span) => {
                let rank = self.scope.index(&Index::Rank(list.clone(), *span))?;
                Ok(integer(rank.at(0, &[]).expect("a rank is static")))
            }
            Value::Random { lo, hi, float, .. } => self.random(lo, hi, *float),
            Value::Along(along) => self.along(along),
            Value::Call { function, args, .. } => {
                let args = args.iter().map(|arg| self.value(arg)).collect::<Result<_, _>>()?;
                call(function.0, args)
            }
            Value::Sum(terms, _) => self.sum(terms),
            Value::Product(first, rest, _) => {
                rest.iter().try_fold(self.value(first)?, |product, (op, factor)| {
                    multiply(*op, product, self.value(factor)?)
                })
            }
        }
    }

    pub(super) fn read(&mut self, read: Read<'a>) -> Term {
        self.reads.push(read);
        Term::Read(self.reads.len() - 1)
    }

    /// `pos[coord]`.
    fn component(&mut self, access: &Access) -> Result<TypedTerm, EtError> {
        let name = &access.array.text;
        let [coord] = &access.indices[..] else {
            let found = access.indices.len();
            return Err(EtError::Places { name: name.clone(), found, expected: 1 });
        };
        let rank = self.scope.extents(name)?.len();
        let first = self.scope.first_axis(name).expect("a variable of the statement");
        let coord = self.coordinate(coord)?;
        let read = self.read(Read::Component(first, rank, coord));
        Ok((read, Type::weak(DType::I64)))
    }

    fn coordinate(&self, coord: &Index) -> Result<Node<'a>, EtError> {
        let coord = self.scope.index(coord)?;
        match coord.rank() {
            None | Some(1) => Ok(coord),
            Some(rank) => Err(EtError::Ranks(rank, 1)),
        }
    }

    /// `pos` of rank 1.
    fn only_component(&mut self, name: &str) -> Result<TypedTerm, EtError> {
        match self.scope.extents(name)?.len() {
            1 => {
                let first = self.scope.first_axis(name).expect("a variable of the statement");
                let read = self.read(Read::Component(first, 1, Node::Scalar(0)));
                Ok((read, Type::weak(DType::I64)))
            }
            rank => Err(EtError::Ranks(rank, 1)),
        }
    }

    fn extent(&mut self, of: &[Index], coord: Option<&Index>) -> Result<TypedTerm, EtError> {
        let extents = self.scope.dims(of)?;
        let coord = match coord {
            Some(coord) => self.coordinate(coord)?,
            None if extents.len() == 1 => Node::Scalar(0),
            None => return Err(EtError::Ranks(extents.len(), 1)),
        };
        let known = if coord.is_static() { coord.at(0, &[]) } else { None };
        let known = known.and_then(|at| extents.get(usize::try_from(at).ok()?));
        Ok(match known {
            // A number of the program, with what that says of its type.
            Some(extent) => integer(*extent),
            None => (self.read(Read::Extent(extents, coord)), Type::weak(DType::I64)),
        })
    }

    fn random(&mut self, lo: &Value, hi: &Value, float: bool) -> Result<TypedTerm, EtError> {
        let key = random::key(self.seed, self.site);
        self.site += 1;
        let to = if float { DType::F64 } else { DType::I64 };
        let mut bound = |value| {
            let (term, t) = self.value(value)?;
            let fits = if float { !t.dtype.is_complex() } else { t.dtype.is_integer() };
            if fits { convert((term, t), to) } else { Err(EtError::Type(t.dtype)) }
        };
        let (lo, hi) = (bound(lo)?, bound(hi)?);
        Ok((Term::Random(key, Box::new(lo), Box::new(hi)), Type::strong(to)))
    }

    fn sum(&mut self, terms: &[(bool, Value)]) -> Result<TypedTerm, EtError> {
        let mut sum = None;
        for (negated, term) in terms {
            let term = self.value(term)?;
            sum = Some(match (sum, negated) {
                (None, false) => term,
                (None, true) => negate(term)?,
                (Some(sum), false) => binary(BinaryOp::Add, sum, term)?,
                (Some(sum), true) => binary(BinaryOp::Sub, number(sum)?, number(term)?)?,
            });
        }
        Ok(sum.expect("a sum has terms"))
    }
}

fn literal(n: Number) -> TypedTerm {
    match n {
        Number::Integer(n) => integer(n.into()),
        Number::Float(x) => (Term::Constant(Cell::exact(Scalar::F64(x))), Type::weak(DType::F64)),
    }
}

fn integer(n: i128) -> TypedTerm {
    (Term::Constant(Cell::exact(Scalar::I64(n as i64))), Type::weak(DType::I64))
}

fn unary(op: UnaryOp, term: Term) -> Term {
    Term::Apply(Map::Unary(op), vec![term])
}

/// The value in another type.
pub(crate) fn convert((term, t): TypedTerm, to: DType) -> Result<Term, EtError> {
    if let (Term::Constant(Cell { value: Scalar::I64(n), .. }), true) = (&term, t.weak) {
        let fits = Literal::Integer(*n).to_scalar(to).is_ok() || to == DType::Bool;
        fits.then_some(()).ok_or(EtError::Type(to))?;
    }
    match (t.dtype, to) {
        (from, to) if from == to => Ok(term),
        (DType::C64, DType::C128) => Ok(Term::Complex(to, Box::new(term))),
        (from, DType::Bool) if from.is_complex() => Err(EtError::Type(from)),
        (from, _) if from.is_complex() => Err(EtError::Type(from)),
        (from, DType::C64 | DType::C128) => {
            let real = convert((term, Type::strong(from)), to.real())?;
            Ok(Term::Complex(to, Box::new(real)))
        }
        _ => Ok(unary(UnaryOp::Cast(to), term)),
    }
}

fn with(typed: TypedTerm, dtype: DType) -> Result<TypedTerm, EtError> {
    let t = Type { dtype, ..typed.1 };
    Ok((convert(typed, dtype)?, t))
}

/// A number: bools as INT.
fn number(typed: TypedTerm) -> Result<TypedTerm, EtError> {
    if typed.1.dtype == DType::Bool { with(typed, DType::I64) } else { Ok(typed) }
}

/// A float: INT is converted to FLOAT.
fn inexact(typed: TypedTerm) -> Result<TypedTerm, EtError> {
    let whole = typed.1.dtype == DType::Bool || typed.1.dtype.is_integer();
    if whole { with(typed, DType::F64) } else { Ok(typed) }
}

fn truth(typed: TypedTerm) -> Result<TypedTerm, EtError> {
    Ok((convert(typed, DType::Bool)?, Type::strong(DType::Bool)))
}

fn negate(typed: TypedTerm) -> Result<TypedTerm, EtError> {
    let (term, t) = number(typed)?;
    if let (Term::Constant(Cell { value: Scalar::I64(n), .. }), true) = (&term, t.weak) {
        return Ok(integer(i128::from(n.wrapping_neg())));
    }
    Ok((unary(UnaryOp::Neg, term), t))
}

/// A function of two operands in their common type.
fn binary(op: BinaryOp, left: TypedTerm, right: TypedTerm) -> Result<TypedTerm, EtError> {
    let t = left.1.join(right.1);
    let operands = vec![convert(left, t.dtype)?, convert(right, t.dtype)?];
    let dtype = map_type(Map::Binary(op), &[t.dtype, t.dtype])?;
    let weak = t.weak && dtype != DType::Bool;
    Ok((Term::Apply(Map::Binary(op), operands), Type { dtype, weak, array: t.array }))
}

fn multiply(op: ValueOp, left: TypedTerm, right: TypedTerm) -> Result<TypedTerm, EtError> {
    let whole = {
        let t = left.1.join(right.1).dtype;
        t == DType::Bool || t.is_integer()
    };
    match op {
        ValueOp::Mul => binary(BinaryOp::Mul, left, right),
        ValueOp::Div if whole => binary(BinaryOp::Div, inexact(left)?, inexact(right)?),
        ValueOp::Div => binary(BinaryOp::Div, left, right),
        ValueOp::FloorDiv if whole => binary(BinaryOp::Div, number(left)?, number(right)?),
        ValueOp::FloorDiv => binary(BinaryOp::FloorDiv, left, right),
    }
}

/// A scalar function.
fn call(function: Function, mut args: Vec<TypedTerm>) -> Result<TypedTerm, EtError> {
    let map = pointwise(function, args.len());
    match map.ok_or(EtError::Function(function.spelling()))? {
        Map::Unary(op) => call_unary(op, args.remove(0)),
        Map::Where => {
            let t = args[1].1.join(args[2].1);
            let condition = truth(args.remove(0))?.0;
            let [yes, no] = [args.remove(0), args.remove(0)].map(|arg| convert(arg, t.dtype));
            Ok((Term::Apply(Map::Where, vec![condition, yes?, no?]), t))
        }
        Map::Binary(op) => {
            let (right, left) = (args.remove(1), args.remove(0));
            call_binary(op, left, right)
        }
        _ => Err(EtError::Function(function.spelling())),
    }
}

fn call_unary(op: UnaryOp, operand: TypedTerm) -> Result<TypedTerm, EtError> {
    let operand = match op {
        // A number that is cast need not fit.
        UnaryOp::Cast(to) => {
            let (term, t) = operand;
            return Ok((convert((term, Type::strong(t.dtype)), to)?, Type::strong(to)));
        }
        UnaryOp::Not => truth(operand)?,
        _ if real_only(op.accepts()) => inexact(operand)?,
        _ => operand,
    };
    let dtype = map_type(Map::Unary(op), &[operand.1.dtype])?;
    Ok((
        unary(op, operand.0),
        Type { dtype, weak: operand.1.weak && op != UnaryOp::Not, ..operand.1 },
    ))
}

fn call_binary(op: BinaryOp, left: TypedTerm, right: TypedTerm) -> Result<TypedTerm, EtError> {
    let both = |f: fn(TypedTerm) -> Result<TypedTerm, EtError>| {
        Ok::<_, EtError>((f(left.clone())?, f(right.clone())?))
    };
    let whole = {
        let t = left.1.join(right.1).dtype;
        t == DType::Bool || t.is_integer()
    };
    let (left, right) = match op {
        BinaryOp::And | BinaryOp::Or => both(truth)?,
        _ if real_only(op.accepts()) && whole => both(inexact)?,
        _ => (left, right),
    };
    binary(op, left, right)
}

/// Returns true if a function supports floats and complex numbers only.
fn real_only(accepts: TypeSet) -> bool {
    accepts.is_subset(TypeSet::INEXACT)
}
