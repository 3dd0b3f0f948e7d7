//! Scalar expressions in parentheses, by precedence.

use super::index::MAX_FUNCTIONS;
use super::{Parsed, Parser};
use crate::ast::Body;
use crate::{Function, Span, TokenKind, codes};

/// Binds tighter than every function.
const TIGHTEST: u8 = u8::MAX;

impl Parser<'_> {
    /// Operands and functions between them that bind at least as tightly as `least`.
    pub(super) fn scalar(&mut self, least: u8) -> Parsed<Body> {
        let mut left = self.term(least)?;
        while self.is_infix(0) && self.precedence_here() >= least {
            let (function, symbol) = self.counted()?;
            let right = self.scalar(function.operand_precedences().1)?;
            self.check_count(function, symbol, 2);
            left = Body::Apply { function, symbol, operands: vec![left, right] };
        }
        Ok(left)
    }

    /// The precedence of the function here.
    fn precedence_here(&self) -> u8 {
        let named = || self.at_name(0).and_then(Function::from_name);
        self.symbol(0).or_else(named).map_or(TIGHTEST, Function::precedence)
    }

    /// An operand, or a function before one: an operator then has its default on its left, and binds as between
    /// operands; a name binds tighter than every operator.
    fn term(&mut self, least: u8) -> Parsed<Body> {
        if self.at_operand() || self.is(0, '(') {
            return self.operand();
        }
        let (function, symbol) = self.counted()?;
        let operands = if !function.is_symbol() && self.is(0, '(') {
            match self.call(function, symbol)? {
                super::index::Arguments::One(operand) => vec![operand],
                super::index::Arguments::Listed(operands) => operands,
            }
        } else {
            let own =
                if function.is_symbol() { function.operand_precedences().1 } else { TIGHTEST };
            self.deepen(symbol, super::index::CHAIN_IT)?;
            let operand = self.scalar(own.max(least))?;
            self.depth -= 1;
            self.check_count(function, symbol, 1);
            vec![operand]
        };
        Ok(Body::Apply { function, symbol, operands })
    }

    /// A function of an index expression, which may have a number of them.
    pub(super) fn counted(&mut self) -> Parsed<(Function, Span)> {
        let (function, symbol) = self.function()?;
        self.functions += 1;
        if self.functions > MAX_FUNCTIONS {
            let message = format!("an index expression has at most {MAX_FUNCTIONS} functions");
            let error = codes::TOO_MANY_FUNCTIONS.error(symbol, message);
            return self.fail(error.with_hint(super::index::CHAIN_IT));
        }
        Ok((function, symbol))
    }

    /// Returns true if the parentheses here hold a scalar expression and no component: a function outside of brackets,
    /// no output and no combinator.
    pub(super) fn at_scalar(&self) -> bool {
        let (mut depth, mut brackets, mut function, mut operand) = (0usize, 0usize, false, false);
        for ahead in 0.. {
            let token = self.peek(ahead);
            match token.kind {
                TokenKind::Punct('(') => depth += 1,
                TokenKind::Punct(')') if depth <= 1 => return function,
                TokenKind::Punct(')') => depth -= 1,
                TokenKind::Punct('[') => brackets += 1,
                TokenKind::Punct(']') => brackets = brackets.saturating_sub(1),
                TokenKind::End | TokenKind::Chain | TokenKind::Compose => return false,
                TokenKind::Punct('~' | '&' | '|' | ';' | ':' | '=') => return false,
                TokenKind::Punct('.') if operand => return false,
                _ if self.is_arrow(ahead) || self.loop_form(ahead).is_some() => return false,
                _ if brackets == 0 && (self.symbol(ahead).is_some() || self.is(ahead, '@')) => {
                    function = true;
                }
                _ => {}
            }
            if depth > crate::MAX_NESTING {
                return false;
            }
            let named =
                ahead > 0 && self.at_name(ahead - 1).and_then(Function::from_name).is_some();
            let ends = matches!(token.kind, TokenKind::Punct(')' | ']' | '}' | '.'));
            operand = ends || !named && matches!(token.kind, TokenKind::Ident | TokenKind::Number);
        }
        false
    }
}
