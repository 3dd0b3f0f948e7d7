//! The scalar expression of an index expression, and its types.

use super::elements::{OperandElements, ValueType, Verb, Why};
use super::functions::{UnaryForm, binary, literal_types, unary};
use super::{Lowered, POSITION, Shape};
use crate::codes;
use crate::core::{Array, IndexExpr, ScalarExpr, ScalarId, ScalarNode, TypeTerm};
use crate::sink::Sink;
use crate::text::quote;
use ijk_syntax::ast::{Operand, Position};
use ijk_syntax::{Function, Span};
use ijk_types::{BinaryOp, DType, Literal, ResultType, TypeSet};

/// Writes the nodes of a value.
pub struct LeafBuilder<'a, 'b> {
    nodes: Vec<ScalarNode>,
    elements: &'a mut OperandElements<'b>,
    operands: &'a [Lowered],
    arrays: &'a mut [Array],
    pub sink: &'a mut Sink,
}

impl<'a, 'b> LeafBuilder<'a, 'b> {
    /// Nothing written yet.
    pub fn new(
        elements: &'a mut OperandElements<'b>,
        operands: &'a [Lowered],
        arrays: &'a mut [Array],
        sink: &'a mut Sink,
    ) -> Self {
        Self { nodes: Vec::new(), elements, operands, arrays, sink }
    }

    /// The finished expression.
    pub fn finish(self) -> ScalarExpr {
        ScalarExpr { nodes: self.nodes }
    }

    /// Writes the value at a point; `reduces` leaves the outer function to the reduction.
    pub fn value(&mut self, shape: &Shape, reduces: bool, source: &str) -> ValueType {
        let (id, value) = match shape.inner {
            None => match shape.outer {
                Some((Function::Index, span)) => self.index(shape.operands, span, source),
                _ => (self.operand(0), ValueType::Operand),
            },
            Some((Function::Index, span)) => self.index(shape.operands, span, source),
            Some((function, span)) => self.apply(function, span, shape.operands.len()),
        };
        if let (Some(_), Some((Function::Index, span))) = (shape.inner, shape.outer) {
            let message = "`@index` takes a letter, not the value of a function";
            self.sink.push(codes::INDEX_OF_VALUE.error(span, message));
        }
        match shape.outer {
            Some((function, span)) if !reduces => self.unary(function, span, id, value).1,
            _ => value,
        }
    }

    fn push(&mut self, node: ScalarNode) -> ScalarId {
        self.nodes.push(node);
        ScalarId(self.nodes.len() as u32 - 1)
    }

    fn operand(&mut self, n: usize) -> ScalarId {
        self.typed_operand(n, None)
    }

    /// Writes an operand, of the expression's type or of a known one.
    fn typed_operand(&mut self, n: usize, known: Option<(DType, Span)>) -> ScalarId {
        let term = known.map_or(TypeTerm::Var(0), |(t, _)| TypeTerm::Fixed(t));
        let node = match &self.operands[n] {
            Lowered::Access(access) => {
                self.arrays[access.array.0 as usize].dtype = term;
                ScalarNode::Access(access.clone())
            }
            Lowered::Number(literal, span) => {
                let (literal, span) = (*literal, *span);
                self.check_literal(literal, span, known);
                ScalarNode::Const(literal, term)
            }
        };
        self.push(node)
    }

    fn check_literal(&mut self, literal: Literal, span: Span, known: Option<(DType, Span)>) {
        let why = Why { span, set: literal_types(literal), verb: Verb::Fits };
        match known {
            None => self.elements.narrow(why, self.sink),
            Some((t, function)) => {
                let value = ValueType::Fixed(t, function);
                self.elements.apply(span, why.set, ResultType::Same, value, self.sink);
            }
        }
    }

    fn apply(&mut self, function: Function, span: Span, count: usize) -> (ScalarId, ValueType) {
        match count {
            1 => {
                let operand = self.operand(0);
                self.unary(function, span, operand, ValueType::Operand)
            }
            2 => self.binary(function, span),
            _ => self.select(span),
        }
    }

    fn binary(&mut self, function: Function, span: Span) -> (ScalarId, ValueType) {
        let (left, right) = (self.operand(0), self.operand(1));
        let Some(op) = binary(function) else { return (right, ValueType::Operand) };
        let sink = &mut *self.sink;
        let value = self.elements.apply(span, op.accepts(), op.result(), ValueType::Operand, sink);
        if let (BinaryOp::Pow, Lowered::Number(Literal::Integer(..0), at)) = (op, &self.operands[1])
        {
            let why = Why { span: *at, set: TypeSet::INEXACT, verb: Verb::Fits };
            self.elements.narrow(why, self.sink);
        }
        (self.push(ScalarNode::Binary(op, left, right)), value)
    }

    fn select(&mut self, span: Span) -> (ScalarId, ValueType) {
        let condition = self.typed_operand(0, Some((DType::Bool, span)));
        let (yes, no) = (self.operand(1), self.operand(2));
        let numbers = self.operands[1..].iter().all(|o| matches!(o, Lowered::Number(..)));
        if numbers && let Lowered::Number(_, at) = self.operands[1] {
            let message = "the element type is open: both values of `@where` are numbers";
            let hint = "one of them must be an index; or cast the condition, such as `@f32 i~i`";
            self.sink.push(codes::OPEN_TYPE.error(at, message).with_hint(hint));
        }
        (self.push(ScalarNode::Select(condition, yes, no)), ValueType::Operand)
    }

    fn unary(
        &mut self,
        function: Function,
        span: Span,
        operand: ScalarId,
        value: ValueType,
    ) -> (ScalarId, ValueType) {
        let Some(form) = unary(function) else { return (operand, value) };
        let (accepts, result) = match form {
            UnaryForm::Op(op) => (op.accepts(), op.result()),
            UnaryForm::Default(op, _) | UnaryForm::Same(op) => (op.accepts(), op.result()),
            UnaryForm::Index => return (operand, value),
        };
        let applied = self.elements.apply(span, accepts, result, value, self.sink);
        let id = match form {
            UnaryForm::Op(op) => self.push(ScalarNode::Unary(op, operand)),
            UnaryForm::Default(op, literal) => {
                let default = self.push(ScalarNode::Const(literal, super::term(value)));
                self.push(ScalarNode::Binary(op, default, operand))
            }
            _ => operand,
        };
        (id, applied)
    }

    fn index(&mut self, operands: &[Operand], span: Span, source: &str) -> (ScalarId, ValueType) {
        let value = ValueType::Fixed(POSITION, span);
        let axis = match (operands, self.operands) {
            ([Operand::Index(compound)], [Lowered::Access(access)]) => {
                let alone = matches!(compound.positions[..], [Position::Letter(_)]);
                super::lone_letter(access, alone)
            }
            _ => None,
        };
        if axis.is_none() {
            let at = super::first_operand_span(operands);
            let quoted = quote(source, at, "this");
            let message = format!("`@index` takes an operand of exactly one letter, not {quoted}");
            self.sink.push(codes::INDEX_OPERAND.error(at, message));
        }
        let e = axis.map_or(IndexExpr::default(), IndexExpr::axis);
        (self.push(ScalarNode::Index(e)), value)
    }
}
