//! Scalar expressions that nest.

use super::super::build::apply;
use super::body::{accepts, random_type};
use super::{Drafter, Source};
use crate::reference::surface::{map_type, pointwise};
use ijk_syntax::Function;
use ijk_syntax::ast::{Body, Operand};
use ijk_types::DType;

/// A part of a scalar expression with its type.
type TypedBody = (Body, DType);

impl Drafter<'_> {
    /// Types of the inputs: of the given arguments, and often one for all others.
    pub(super) fn types_of_nested(&mut self) -> Vec<DType> {
        let mut types: Vec<DType> = self.given.iter().map(|given| given.0).collect();
        let base = types.first().copied().unwrap_or_else(|| random_type(self.rng));
        while types.len() < self.inputs {
            let t = if self.rng.chance(0.85) { base } else { random_type(self.rng) };
            types.push(t);
        }
        types
    }

    /// Combines parts in their order until one is left, with some functions of one part and some numbers.
    pub(super) fn nested(&mut self, mut parts: Vec<TypedBody>) -> Option<TypedBody> {
        let mut more = self.rng.between(1, 3);
        while parts.len() > 1 || more > 0 {
            let at = self.rng.below(parts.len());
            let next = parts.get(at + 1).map(|part| part.1);
            match self.rng.below(6) {
                0 if more > 0 => {
                    more -= 1;
                    let part = parts.remove(at);
                    parts.insert(at, self.unary(part)?);
                }
                1 | 2 if more > 0 && parts[at].1 == DType::Bool && next.is_some() => {
                    more -= 1;
                    let mut three: Vec<TypedBody> = parts.drain(at..at + 2).collect();
                    three.insert(1 + self.rng.below(2), self.number(three[1].1));
                    parts.insert(at, self.choice(three)?);
                }
                1 | 2 if more > 0 => {
                    more -= 1;
                    let part = parts.remove(at);
                    parts.insert(at, self.with_number(part)?);
                }
                _ if at + 2 < parts.len() && parts[at].1 == DType::Bool && self.rng.chance(0.5) => {
                    let three: Vec<TypedBody> = parts.drain(at..at + 3).collect();
                    parts.insert(at, self.choice(three)?);
                }
                _ if next.is_some() => {
                    let two: Vec<TypedBody> = parts.drain(at..at + 2).collect();
                    parts.insert(at, self.joined(two)?);
                }
                _ => {}
            }
        }
        parts.pop()
    }

    fn unary(&mut self, (body, t): TypedBody) -> Option<TypedBody> {
        let takes = |&f: &Function| f != Function::Index && accepts(f, &[t]);
        let choices: Vec<Function> = Function::ALL.iter().copied().filter(takes).collect();
        let function = *self.rng.pick(&choices);
        applied(function, vec![(body, t)])
    }

    fn with_number(&mut self, (body, t): TypedBody) -> Option<TypedBody> {
        let function = self.function_of_two(t)?;
        let mut operands = vec![(body, t), self.number(t)];
        if self.rng.chance(0.4) {
            operands.swap(0, 1);
        }
        applied(function, operands)
    }

    /// A number of a type, or the extent of a letter.
    fn number(&mut self, t: DType) -> TypedBody {
        let number = match self.letter_with_extent(t) {
            Some(letter) => Operand::Extent(letter, Default::default()),
            None => Operand::Number(self.literal(t), Default::default()),
        };
        (Body::Operand(number), t)
    }

    /// Sometimes a letter whose extent stands for a number of a type; it may be one of the output alone.
    fn letter_with_extent(&mut self, t: DType) -> Option<char> {
        if t == DType::Bool || !self.rng.chance(0.4) {
            return None;
        }
        if self.rng.chance(0.1) {
            return Some(self.new_letter(Source::Known(1)));
        }
        let letters: Vec<char> = self.letters.iter().map(|letter| letter.0).collect();
        (!letters.is_empty()).then(|| *self.rng.pick(&letters))
    }

    /// Two parts in a function; one is cast if their types differ.
    fn joined(&mut self, parts: Vec<TypedBody>) -> Option<TypedBody> {
        let t = if self.rng.chance(0.5) { parts[0].1 } else { parts[1].1 };
        let parts = parts.into_iter().map(|part| cast(part, t)).collect::<Option<Vec<_>>>()?;
        let function = self.function_of_two(t)?;
        applied(function, parts)
    }

    /// `@where` of three parts; the last is cast if its type differs.
    fn choice(&mut self, parts: Vec<TypedBody>) -> Option<TypedBody> {
        let [condition, yes, no] = <[TypedBody; 3]>::try_from(parts).ok()?;
        let no = cast(no, yes.1)?;
        applied(Function::Where, vec![condition, yes, no])
    }
}

/// A part as one of type `t`.
fn cast(part: TypedBody, t: DType) -> Option<TypedBody> {
    if part.1 == t {
        return Some(part);
    }
    let cast = Function::from_name(t.name()).filter(|f| accepts(*f, &[part.1]))?;
    applied(cast, vec![part])
}

/// A function of typed parts.
fn applied(function: Function, parts: Vec<TypedBody>) -> Option<TypedBody> {
    let (bodies, types): (Vec<Body>, Vec<DType>) = parts.into_iter().unzip();
    let t = map_type(pointwise(function, types.len())?, &types).ok()?;
    Some((apply(function, bodies), t))
}
