//! Numbers and constants as operands.

use super::report::shorten;
use super::{Parsed, Parser};
use crate::ast::{Number, Operand};
use crate::{Span, TokenKind, codes};

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

    /// Whether a sign stands here, directly before digits or a constant.
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
            None => self.literal(first.span, negative),
        };
        Ok(Operand::Number(value, self.since(start)))
    }

    /// The value of `digits [. digits] [exponent]`; 1 after reporting that it has none.
    fn literal(&mut self, digits: Span, negative: bool) -> Number {
        let text = self.text(digits);
        let number = match text.bytes().all(|b| b.is_ascii_digit()) {
            true => integer(text, negative).map(Number::Integer),
            false => float(text, negative).map(Number::Float),
        };
        number.unwrap_or_else(|| {
            let message = format!("the number `{}` is out of range", shorten(text));
            let hint = match text.bytes().all(|b| b.is_ascii_digit()) {
                true => "integers have 64 bits; with `.0` it is a binary64",
                false => "the greatest binary64 is about 1.8e308; infinity is `@inf`",
            };
            self.error(codes::NUMBER_RANGE.error(digits, message).with_hint(hint));
            Number::Integer(1)
        })
    }

    /// Reports a number that letters touch.
    fn spoiled(&mut self, span: Span) -> Number {
        let text = self.text(span);
        let length = crate::lexer::number_length(text);
        let (digits, tail) = text.split_at(length);
        let (shown, letters) = (shorten(digits), shorten(tail));
        let at = Span::new(span.start + length as u32, span.end);
        let error =
            codes::NUMBER_TOUCHED.error(at, format!("`{letters}` touches the number `{shown}`"));
        self.error(match tail.starts_with(char::is_alphabetic) {
            true => error.with_hint(format!("an operator stands between: `{shown}*{letters}`")),
            false => error.with_hint("a number has digits, a point and an exponent only"),
        });
        Number::Integer(1)
    }
}

fn integer(digits: &str, negative: bool) -> Option<i64> {
    let magnitude = digits.parse::<i128>().ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

fn float(text: &str, negative: bool) -> Option<f64> {
    let magnitude = text.parse::<f64>().ok().filter(|x| x.is_finite())?;
    Some(if negative { -magnitude } else { magnitude })
}
