//! Scalar functions by name.

use super::kind::Kind;
use super::messages;
use super::value::{Operand, ValueBuilder};
use crate::core::ScalarNode;
use crate::leaf::functions::{self, UnaryForm};
use crate::text::slice;
use ijk_syntax::et::ast::ValueFunction;
use ijk_syntax::{Function, Span};
use ijk_types::{BinaryOp, TypeSet, UnaryOp};

impl ValueBuilder<'_, '_, '_> {
    /// A function of these operands.
    pub fn call(
        &mut self,
        ValueFunction(function): ValueFunction,
        at: Span,
        args: &[Operand],
        span: Span,
    ) -> Option<Operand> {
        let name = slice(self.scope.source(), at).to_string();
        let result = match (args, functions::binary(function)) {
            ([c, x, y], _) if function == Function::Where => self.choose(*c, *x, *y, &name),
            ([x, y], Some(op)) => self.call_binary(op, *x, *y, &name),
            ([x], _) => match functions::unary(function) {
                Some(UnaryForm::Op(op)) => self.call_unary(op, *x, &name, span),
                _ => self.scope.fail(messages::operands(&name, at, 1)),
            },
            _ => self.scope.fail(messages::operands(&name, at, args.len())),
        };
        Some(Operand { span, ..result? })
    }

    fn choose(&mut self, c: Operand, x: Operand, y: Operand, name: &str) -> Option<Operand> {
        let kind = x.kind.with(y.kind);
        let c = self.truth(c, name);
        let (x, y) = (self.convert(x, kind.dtype(), name), self.convert(y, kind.dtype(), name));
        let (c, x, y) = (c?, x?, y?);
        Some(self.push(ScalarNode::Select(c.id, x.id, y.id), kind, x.span))
    }

    fn call_unary(
        &mut self,
        op: UnaryOp,
        operand: Operand,
        name: &str,
        span: Span,
    ) -> Option<Operand> {
        let operand = match op {
            UnaryOp::Cast(to) => {
                let kind = Kind::Of(to);
                return match operand.kind.dtype() == to {
                    true => Some(Operand { kind, ..operand }),
                    false => Some(Operand { kind, ..self.unary(op, operand, name, span)? }),
                };
            }
            UnaryOp::Not => self.truth(operand, name)?,
            _ if is_real(op.accepts()) => self.inexact(operand, name)?,
            _ => operand,
        };
        self.unary(op, operand, name, span)
    }

    fn call_binary(
        &mut self,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        name: &str,
    ) -> Option<Operand> {
        let whole = left.kind.with(right.kind).is_whole();
        let (left, right) = match op {
            BinaryOp::And | BinaryOp::Or => (self.truth(left, name), self.truth(right, name)),
            _ if whole && is_real(op.accepts()) => {
                (self.inexact(left, name), self.inexact(right, name))
            }
            _ => (Some(left), Some(right)),
        };
        self.binary(op, left?, right?, name)
    }
}

/// Returns true if a function accepts floating-point types only.
fn is_real(accepts: TypeSet) -> bool {
    accepts.is_subset(TypeSet::INEXACT)
}
