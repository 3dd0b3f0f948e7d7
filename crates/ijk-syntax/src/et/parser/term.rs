//! Sums and products, the same for all kinds of terms.

use super::super::codes;
use super::super::tree::Tree;
use super::{Abandon, EtParser, Parsed};
use crate::{Span, Token, TokenKind};

/// Hint for expressions that nest too deep.
pub(super) const ASSIGN_IT: &str = "assign a part of it to an array";

/// An operator that a kind of terms does not have.
pub(super) struct Foreign {
    /// Symbol as written.
    pub(super) symbol: &'static str,
    /// Remedy.
    pub(super) hint: &'static str,
}

/// An expression as the grammar reads it.
pub(super) trait TermGrammar: Tree {
    /// Name of such expressions in messages.
    const NAME: &'static str;

    /// The symbols of its products; one that starts with another comes first.
    const OPERATORS: &'static [(&'static str, Self::Op)];

    /// Name of a missing expression in messages.
    const ONE: &'static str;

    /// Hint for several expressions in parentheses.
    const SEVERAL: &'static str = "parentheses hold one expression";

    /// A symbol of another language, the one of this language, and its operation.
    const MEANT: Option<(&'static str, &'static str, Self::Op)> = None;

    /// Operators that others have.
    const FOREIGN: &'static [Foreign] = &[];

    /// A name, a call, an element.
    fn primary(parser: &mut EtParser<'_>) -> Parsed<Self>;

    /// The value of a number, with its sign.
    fn number(parser: &mut EtParser<'_>, token: Token, negative: bool, span: Span) -> Self;
}

impl EtParser<'_> {
    /// `product + product - product`; no operator of another language follows.
    pub(super) fn sum<T: TermGrammar>(&mut self) -> Parsed<T> {
        let start = self.peek(0).span;
        let first = self.product::<T>()?;
        let Some(mut negated) = self.sign() else {
            self.check_foreign::<T>()?;
            return Ok(first);
        };
        let mut terms = vec![first.unsigned()];
        loop {
            terms.push((negated, self.product::<T>()?));
            match self.sign() {
                Some(minus) => negated = minus,
                None => break,
            }
        }
        self.check_foreign::<T>()?;
        Ok(T::sum(terms, self.since(start)))
    }

    /// `factor * factor // factor`.
    fn product<T: TermGrammar>(&mut self) -> Parsed<T> {
        let start = self.peek(0).span;
        let first = self.factor::<T>()?;
        let mut factors = Vec::new();
        while let Some(op) = self.operator::<T>() {
            factors.push((op, self.factor::<T>()?));
        }
        match factors.is_empty() {
            true => Ok(first),
            false => Ok(T::product(first, factors, self.since(start))),
        }
    }

    /// Takes an operator of products. A longer symbol that starts like it is none.
    fn operator<T: TermGrammar>(&mut self) -> Option<T::Op> {
        if T::FOREIGN.iter().any(|f| self.is_symbol(0, f.symbol)) || self.at_compound_assignment() {
            return None;
        }
        if let Some(&(symbol, op)) = T::OPERATORS.iter().find(|(s, _)| self.is_symbol(0, s)) {
            self.take_symbol(symbol);
            return Some(op);
        }
        let (written, symbol, op) = T::MEANT.filter(|(s, _, _)| self.is_symbol(0, s))?;
        let span = self.take_symbol(written);
        let message = format!("`{written}` is no operator of {}", T::NAME);
        let error = codes::OPERATOR.error(span, message);
        self.error(error.with_fix(format!("`{symbol}` rounds down"), span, symbol));
        Some(op)
    }

    /// Returns true if `*=` stands here, which ends a product.
    fn at_compound_assignment(&self) -> bool {
        self.is_symbol(0, "*=")
    }

    /// A primary with any number of signs before it; the sign before digits belongs to the number.
    fn factor<T: TermGrammar>(&mut self) -> Parsed<T> {
        let start = self.peek(0);
        let Some(negated) = self.sign() else { return self.unsigned_factor::<T>() };
        if let TokenKind::Number | TokenKind::BadNumber = self.kind(0) {
            let token = self.next();
            let span = self.since(start.span);
            return self.number::<T>(token, negated, span);
        }
        self.deepen(start.span, ASSIGN_IT)?;
        let inner = self.factor::<T>()?;
        self.depth -= 1;
        Ok(T::sum(vec![(negated, inner)], self.since(start.span)))
    }

    fn unsigned_factor<T: TermGrammar>(&mut self) -> Parsed<T> {
        let token = self.peek(0);
        match token.kind {
            TokenKind::Number | TokenKind::BadNumber => {
                self.next();
                self.number::<T>(token, false, token.span)
            }
            TokenKind::Punct('(') => self.group::<T>(),
            TokenKind::Ident if self.starts_item_for_sure() => {
                let message = format!("expected {}, found the end of the line", T::ONE);
                let span = self.behind();
                self.fail(codes::EXPECTED_TERM.error(span, message))
            }
            _ => T::primary(self),
        }
    }

    /// The value of a number. What is spoiled by a name with brackets is given up.
    fn number<T: TermGrammar>(&mut self, token: Token, negative: bool, span: Span) -> Parsed<T> {
        let number = T::number(self, token, negative, span);
        let spoiled = token.kind == TokenKind::BadNumber;
        if spoiled && matches!(self.kind(0), TokenKind::Punct('[' | '(')) {
            return Err(Abandon);
        }
        Ok(number)
    }

    /// `(sum)`.
    fn group<T: TermGrammar>(&mut self) -> Parsed<T> {
        let open = self.next().span;
        self.deepen(open, ASSIGN_IT)?;
        let sum = self.sum::<T>()?;
        if self.is(0, ',') {
            let error = self.not_closed(open, ')', "an operator").with_hint(T::SEVERAL);
            return self.fail(error);
        }
        self.close(open, ')', "an operator")?;
        Ok(sum)
    }

    /// Fails at an operator that these terms do not have.
    fn check_foreign<T: TermGrammar>(&mut self) -> Parsed<()> {
        let Some(foreign) = T::FOREIGN.iter().find(|f| self.is_foreign(f.symbol)) else {
            return Ok(());
        };
        let start = self.peek(0).span;
        let symbol = foreign.symbol;
        let span = match symbol.starts_with(char::is_alphabetic) {
            true => start,
            false => self.peek(symbol.len() - 1).span.to(start),
        };
        let message = format!("`{symbol}` is no operator of {}", T::NAME);
        self.fail(codes::OPERATOR.error(span, message).with_hint(foreign.hint))
    }

    /// Returns true if that symbol or word stands here.
    fn is_foreign(&self, symbol: &str) -> bool {
        match symbol.starts_with(char::is_alphabetic) {
            true => self.word() == Some(symbol) && !self.peek(0).after_newline,
            false => self.is_symbol(0, symbol),
        }
    }

    /// The value of a number that must be an integer; 1 after reporting that it is none.
    pub(super) fn integer(&mut self, token: Token, negative: bool) -> i64 {
        let digits = self.text(token.span).bytes().all(|b| b.is_ascii_digit());
        let value = match token.kind {
            TokenKind::BadNumber => self.spoiled(token.span),
            _ if digits => self.literal(token.span, negative, "INF"),
            _ => {
                let shown = crate::report::shorten(self.text(token.span));
                let message = format!("`{shown}` is not a whole number");
                self.error(crate::codes::NOT_WHOLE.error(token.span, message));
                return 1;
            }
        };
        match value {
            crate::ast::Number::Integer(value) => value,
            crate::ast::Number::Float(_) => 1,
        }
    }
}
