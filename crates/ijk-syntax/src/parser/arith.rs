//! Index arithmetic in brackets.

use super::{NAME_IT, Parsed, Parser};
use crate::ast::{Arith, ArithOp, Letter, Position};
use crate::{Diagnostic, Span, TokenKind, codes};

impl Parser<'_> {
    /// `[sum]`.
    pub(super) fn bracket(&mut self) -> Parsed<Position> {
        let open = self.next().span;
        if let Some(close) = self.eat(']') {
            let error = codes::EMPTY_BRACKETS.error(open.to(close.span), "empty brackets");
            return self.fail(error.with_hint("an index of rank 0 is written `.`"));
        }
        self.deepen(open, NAME_IT)?;
        let arith = self.sum()?;
        self.depth -= 1;
        let token = self.peek(0);
        if self.eat(']').is_some() {
            return Ok(Position::Bracket(arith, self.since(open)));
        }
        let error = self.not_closed(open);
        self.fail(match token.kind {
            TokenKind::Punct(',') => {
                error.with_hint("every position has its own brackets: `[i+1][j]`")
            }
            TokenKind::Ident => error.with_hint("join letters by an operator: `[i+j]`"),
            _ => error,
        })
    }

    fn not_closed(&self, open: Span) -> Diagnostic {
        let token = self.peek(0);
        match token.kind {
            TokenKind::End | TokenKind::Punct(';') => {
                let bracket = self.text(open);
                codes::NOT_CLOSED.error(open, format!("`{bracket}` is never closed"))
            }
            _ => {
                let close = if self.text(open) == "[" { ']' } else { ')' };
                let found = self.describe(token);
                let message = format!("expected an operator or `{close}`, found {found}");
                codes::EXPECTED_OPERATOR
                    .error(token.span, message)
                    .with_related(open, "opened here")
            }
        }
    }

    /// `product + product - product`.
    fn sum(&mut self) -> Parsed<Arith> {
        let start = self.peek(0).span;
        let mut terms = Vec::new();
        let mut negated = self.sign().unwrap_or(false);
        loop {
            terms.push((negated, self.product()?));
            match self.sign() {
                Some(minus) => negated = minus,
                None => break,
            }
        }
        let alone = terms.len() == 1 && !terms[0].0;
        match terms.pop() {
            Some((_, term)) if alone => Ok(term),
            last => {
                terms.extend(last);
                Ok(Arith::Sum(terms, self.since(start)))
            }
        }
    }

    /// `primary * primary / primary`.
    fn product(&mut self) -> Parsed<Arith> {
        let start = self.peek(0).span;
        let first = self.primary()?;
        let mut factors = Vec::new();
        while let Some(op) = self.product_op() {
            self.next();
            factors.push((op, self.primary()?));
        }
        match factors.is_empty() {
            true => Ok(first),
            false => Ok(Arith::Product(Box::new(first), factors, self.since(start))),
        }
    }

    fn product_op(&self) -> Option<ArithOp> {
        match self.kind(0) {
            TokenKind::Punct('*') => Some(ArithOp::Mul),
            TokenKind::Punct('/') => Some(ArithOp::Div),
            TokenKind::Punct('%') => Some(ArithOp::Mod),
            _ => None,
        }
    }

    /// An integer, a letter, or a sum in parentheses.
    fn primary(&mut self) -> Parsed<Arith> {
        let token = self.peek(0);
        match token.kind {
            TokenKind::Number | TokenKind::BadNumber => {
                self.next();
                let value = self.whole(token).unwrap_or(1);
                Ok(Arith::Integer(value as i64, token.span))
            }
            TokenKind::Ident => self.letter(),
            TokenKind::Punct('(') => self.nested(),
            _ => {
                let error = self.no_primary();
                self.fail(error)
            }
        }
    }

    fn nested(&mut self) -> Parsed<Arith> {
        let open = self.next().span;
        self.deepen(open, NAME_IT)?;
        let sum = self.sum()?;
        self.depth -= 1;
        match self.eat(')') {
            Some(_) => Ok(sum),
            None => {
                let error = self.not_closed(open);
                self.fail(error)
            }
        }
    }

    /// One letter, with the braces that may follow.
    fn letter(&mut self) -> Parsed<Arith> {
        let token = self.next();
        let text = self.text(token.span);
        let mut chars = text.chars();
        let name = chars.next().filter(|c| c.is_alphabetic() && chars.next().is_none());
        if name.is_none() {
            let shown = crate::report::shorten(text);
            let error =
                codes::NOT_ONE_LETTER.error(token.span, format!("`{shown}` is not one letter"));
            self.error(error.with_hint("letters in brackets are joined by operators: `[i+k]`"));
        }
        let mut span = token.span;
        let mut extent = None;
        if self.is(0, '{') {
            extent = self.extent()?;
            span = self.since(span);
        }
        Ok(Arith::Letter(Letter { name: name.unwrap_or('_'), extent, span }))
    }

    fn no_primary(&self) -> Diagnostic {
        let token = self.peek(0);
        let message = format!("expected an integer or a letter, found {}", self.describe(token));
        let error = codes::NO_TERM.error(token.span, message);
        match token.kind {
            TokenKind::Punct('+' | '-') => {
                error.with_hint("a sign inside a sum or product stands in parentheses: `[i*(-2)]`")
            }
            TokenKind::Punct('/') => error.with_hint("`/` rounds down by itself"),
            TokenKind::Punct(':') => {
                error.with_hint("there are no ranges: `[i+1]` with `i{3}` is 1..4")
            }
            _ => error,
        }
    }
}
