//! The scalar expression of an index expression, and its types.

use super::elements::{ElementTerms, LeafTypes, Verb, Why};
use super::functions::{UnaryForm, binary, literal_types, unary};
use super::{Lowered, POSITION, Shape};
use crate::codes;
use crate::core::{IndexExpr, ScalarExpr, ScalarId, ScalarNode, TypeTerm};
use crate::infer::TypeVar;
use crate::sink::Sink;
use crate::text::quote;
use ijk_syntax::ast::{Body, Operand, Position};
use ijk_syntax::{Function, Span};
use ijk_types::{Literal, TypeSet};

/// A node and the type of its value.
type Typed = (ScalarId, TypeVar);

/// A number among the nodes.
struct NumberNode {
    node: ScalarId,
    element: TypeVar,
    span: Span,
}

/// Writes the nodes of a value.
pub struct LeafBuilder<'a, 'b> {
    nodes: Vec<ScalarNode>,
    types: &'a mut LeafTypes<'b>,
    operands: &'a [Lowered],
    /// Operands written so far.
    written: usize,
    /// For each input.
    inputs: Vec<TypeVar>,
    numbers: Vec<NumberNode>,
    /// Functions of numbers that stand for both values of `@where`.
    chosen_numbers: Vec<Span>,
    source: &'b str,
    pub sink: &'a mut Sink,
}

impl<'a, 'b> LeafBuilder<'a, 'b> {
    /// Nothing written yet.
    pub fn new(
        types: &'a mut LeafTypes<'b>,
        operands: &'a [Lowered],
        source: &'b str,
        sink: &'a mut Sink,
    ) -> Self {
        let mut inputs = Vec::new();
        for operand in operands {
            if let Lowered::Access(access) = operand {
                inputs.push(types.any(access.span.into()));
            }
        }
        let (nodes, numbers, chosen_numbers) = (Vec::new(), Vec::new(), Vec::new());
        Self { nodes, types, operands, written: 0, inputs, numbers, chosen_numbers, source, sink }
    }

    /// The finished expression and its types; `result` is the type of the result.
    pub fn finish(mut self, result: TypeVar) -> (ScalarExpr, ElementTerms) {
        let values: Vec<TypeVar> = self.numbers.iter().map(|number| number.element).collect();
        let terms = self.types.terms(&self.inputs, &values, result);
        for (number, term) in self.numbers.iter().zip(&terms.values) {
            if let ScalarNode::Const(_, own) | ScalarNode::Extent(_, own) =
                &mut self.nodes[number.node.0 as usize]
            {
                *own = *term;
            }
        }
        if let Some(open) = terms.open.filter(|_| !self.types.failed) {
            let span = self.numbers[open].span;
            let (message, hint) = match self.chosen_numbers.contains(&span) {
                true => (
                    "the element type is open: both values of `@where` are numbers",
                    "one of them must be an index; or cast the condition, such as `@f32 i~i`",
                ),
                false => (
                    "the element type is open: numbers are combined with numbers only",
                    "a number takes the type of the index that it is combined with",
                ),
            };
            self.sink.push(codes::OPEN_TYPE.error(span, message).with_hint(hint));
        }
        (ScalarExpr { nodes: self.nodes }, terms)
    }

    /// The inference of types.
    pub fn types(&mut self) -> (&mut LeafTypes<'b>, &mut Sink) {
        (self.types, self.sink)
    }

    /// Writes the value at a point; `reduces` leaves the outer function to the reduction.
    pub fn value(&mut self, shape: &Shape, reduces: bool) -> TypeVar {
        let (id, value) = match shape.outer {
            Some((Function::Index, span)) => self.index(shape.body, span),
            _ => self.body(shape.body),
        };
        match shape.outer {
            Some((function, span)) if !reduces => self.unary(function, span, (id, value)).1,
            _ => value,
        }
    }

    fn push(&mut self, node: ScalarNode) -> ScalarId {
        self.nodes.push(node);
        ScalarId(self.nodes.len() as u32 - 1)
    }

    /// Writes a scalar expression. The parser bounds how deep it is.
    fn body(&mut self, body: &Body) -> Typed {
        match body {
            Body::Operand(_) => self.operand(),
            Body::Apply { function: Function::Index, symbol, operands } => {
                self.index(&operands[0], *symbol)
            }
            Body::Apply { function, symbol, operands } => {
                let values: Vec<Typed> = operands.iter().map(|body| self.body(body)).collect();
                match values[..] {
                    [operand] => self.unary(*function, *symbol, operand),
                    [left, right] => {
                        let typed = self.binary(*function, *symbol, [left, right]);
                        self.check_power(*function, &operands[1], left.1);
                        typed
                    }
                    [condition, yes, no] => {
                        self.note_numbers(&operands[1..]);
                        self.select(*symbol, condition, [yes, no])
                    }
                    _ => unreachable!("arities have been checked"),
                }
            }
        }
    }

    /// Writes the next operand.
    fn operand(&mut self) -> Typed {
        let n = self.written;
        self.written += 1;
        match &self.operands[n] {
            Lowered::Access(access) => {
                let element = self.inputs[access.array.0 as usize];
                (self.push(ScalarNode::Access(access.clone())), element)
            }
            Lowered::Extent(axis, span) => {
                let (axis, span) = (*axis, *span);
                let why = Why { span, set: TypeSet::NUMBER, verb: Verb::Fits };
                let element = self.types.of(why);
                let node = self.push(ScalarNode::Extent(axis, TypeTerm::Var(0)));
                self.numbers.push(NumberNode { node, element, span });
                (node, element)
            }
            Lowered::Number(literal, span) => {
                let (literal, span) = (*literal, *span);
                let why = Why { span, set: literal_types(literal), verb: Verb::Fits };
                let element = self.types.of(why);
                (self.number(literal, element, span), element)
            }
        }
    }

    fn number(&mut self, literal: Literal, element: TypeVar, span: Span) -> ScalarId {
        let node = self.push(ScalarNode::Const(literal, TypeTerm::Var(0)));
        self.numbers.push(NumberNode { node, element, span });
        node
    }

    fn binary(&mut self, function: Function, span: Span, [left, right]: [Typed; 2]) -> Typed {
        let Some(op) = binary(function) else { return right };
        let rule = (op.accepts(), op.result());
        let value = self.types.apply(span, rule, &[left.1, right.1], self.sink);
        (self.push(ScalarNode::Binary(op, left.0, right.0)), value)
    }

    /// Excludes integers of negative powers that are numbers.
    fn check_power(&mut self, function: Function, exponent: &Body, base: TypeVar) {
        if let (Function::Pow, Body::Operand(Operand::Number(number, span))) = (function, exponent)
            && matches!(number, ijk_syntax::ast::Number::Integer(..0))
        {
            let why = Why { span: *span, set: TypeSet::INEXACT, verb: Verb::Fits };
            self.types.narrow(base, why, self.sink);
        }
    }

    /// Notes where both values of `@where` are numbers.
    fn note_numbers(&mut self, values: &[Body]) {
        let number = |value: &Body| {
            matches!(value, Body::Operand(Operand::Number(..) | Operand::Extent(..)))
        };
        if values.iter().all(number) {
            self.chosen_numbers.extend(values.iter().map(Body::span));
        }
    }

    fn select(&mut self, span: Span, condition: Typed, [yes, no]: [Typed; 2]) -> Typed {
        let set = TypeSet::only(ijk_types::DType::Bool);
        let bool = self.types.of(Why { span, set, verb: Verb::Accepts });
        self.types.unify(bool, condition.1, self.sink);
        self.types.unify(yes.1, no.1, self.sink);
        (self.push(ScalarNode::Select(condition.0, yes.0, no.0)), yes.1)
    }

    fn unary(&mut self, function: Function, span: Span, (operand, value): Typed) -> Typed {
        let Some(form) = unary(function) else { return (operand, value) };
        let rule = match form {
            UnaryForm::Op(op) => (op.accepts(), op.result()),
            UnaryForm::Default(op, _) | UnaryForm::Same(op) => (op.accepts(), op.result()),
            UnaryForm::Index => return (operand, value),
        };
        let applied = self.types.apply(span, rule, &[value], self.sink);
        let id = match form {
            UnaryForm::Op(op) => self.push(ScalarNode::Unary(op, operand)),
            UnaryForm::Default(op, literal) => {
                let default = self.number(literal, value, span);
                self.push(ScalarNode::Binary(op, default, operand))
            }
            _ => operand,
        };
        (id, applied)
    }

    /// Writes the value of the index that is the operand, which is not read.
    fn index(&mut self, operand: &Body, span: Span) -> Typed {
        let value = self.types.fixed(POSITION, span);
        let Body::Operand(operand) = operand else {
            let message = "`@index` takes a letter, not the value of a function";
            self.sink.push(codes::INDEX_OF_VALUE.error(span, message));
            return self.body(operand);
        };
        let lowered = &self.operands[self.written];
        self.written += 1;
        let axis = match (operand, lowered) {
            (Operand::Index(compound), Lowered::Access(access)) => {
                let alone = matches!(compound.positions[..], [Position::Letter(_)]);
                super::lone_letter(access, alone)
            }
            _ => None,
        };
        if axis.is_none() {
            let at = operand.span();
            let quoted = quote(self.source, at, "this");
            let message = format!("`@index` takes an operand of exactly one letter, not {quoted}");
            self.sink.push(codes::INDEX_OPERAND.error(at, message));
        }
        let e = axis.map_or(IndexExpr::default(), IndexExpr::axis);
        (self.push(ScalarNode::Index(e)), value)
    }
}
