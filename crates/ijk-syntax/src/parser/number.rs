//! Numbers and constants as operands.

use super::{Parsed, Parser};
use crate::TokenKind;
use crate::ast::{Number, Operand};

/// The named constants, without their `@`.
pub(crate) const CONSTANTS: [(&str, f64); 4] = [
    ("inf", f64::INFINITY),
    ("nan", f64::NAN),
    ("pi", std::f64::consts::PI),
    ("e", std::f64::consts::E),
];

/// The constant of that name.
pub(super) fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(n, _)| *n == name).map(|&(_, value)| value)
}

impl Parser<'_> {
    pub(super) fn at_constant(&self, ahead: usize) -> bool {
        self.at_name(ahead).and_then(constant).is_some()
    }

    /// Returns true if a sign stands here, directly before digits or a constant.
    pub(super) fn at_signed(&self) -> bool {
        let sign = self.is(0, '-') || self.is(0, '+');
        let number = matches!(self.kind(1), TokenKind::Number | TokenKind::BadNumber);
        sign && self.peek(1).touches_previous && (number || self.at_constant(1))
    }

    /// A number or a constant, with its sign.
    pub(super) fn number(&mut self) -> Parsed<Operand> {
        let start = self.peek(0).span;
        let negative = self.is(0, '-');
        if self.at_signed() {
            self.next();
        }
        let constant = self.at_name(0).and_then(constant);
        let first = self.next();
        let value = match constant {
            Some(value) => {
                self.next();
                Number::Float(if negative { -value } else { value })
            }
            None if first.kind == TokenKind::BadNumber => self.spoiled(first.span),
            None => self.literal(first.span, negative, "@inf"),
        };
        Ok(Operand::Number(value, self.since(start)))
    }
}
