//! Constraints.

use super::super::ast::{Bound, Constraint, IndexOp, Quantity, Relation};
use super::super::codes;
use super::index::{INDEX_OPERATORS, NOT_OF_INTEGERS, SLASH};
use super::term::{Foreign, TermGrammar};
use super::{EtParser, Parsed};
use crate::ast::Name;
use crate::{Diagnostic, Span, Token, TokenKind};

impl TermGrammar for Bound {
    const NAME: &'static str = "constraints";
    const ONE: &'static str = "an integer, RANK or DIMS";
    const OPERATORS: &'static [(&'static str, IndexOp)] = INDEX_OPERATORS;
    const MEANT: Option<(&'static str, &'static str, IndexOp)> = SLASH;
    const FOREIGN: &'static [Foreign] = NOT_OF_INTEGERS;

    fn primary(parser: &mut EtParser<'_>) -> Parsed<Self> {
        parser.bound_primary()
    }

    fn number(parser: &mut EtParser<'_>, token: Token, negative: bool, span: Span) -> Self {
        Self::Integer(parser.integer(token, negative), span)
    }
}

impl EtParser<'_> {
    /// `RANK(tup) = value`, `DIMS(tup) IN [lo, hi]`.
    pub(super) fn constraint(&mut self) -> Parsed<()> {
        let start = self.peek(0).span;
        let word = self.capitals(&["RANK", "DIMS"]).unwrap_or("DIMS");
        let (quantity, tuple) = self.quantity(word)?;
        let relation = self.relation()?;
        let span = self.since(start);
        self.program.constraints.push(Constraint { quantity, tuple, relation, span });
        Ok(())
    }

    /// `RANK(name)` or `DIMS(name)`, whose word stands here.
    fn quantity(&mut self, word: &str) -> Parsed<(Quantity, Name)> {
        let start = self.next().span;
        let quantity = if word == "RANK" { Quantity::Rank } else { Quantity::Dims };
        self.expect_open(word)?;
        let names = self.list(')', |parser, _| parser.tuple_name())?;
        let span = self.since(start);
        let found = names.len();
        match names.into_iter().next() {
            Some(name) => {
                if found > 1 {
                    let error = self.of_several(span, word);
                    self.error(error);
                }
                Ok((quantity, name))
            }
            None => self.fail(codes::EMPTY_LIST.error(span, format!("`{word}()` of nothing"))),
        }
    }

    fn of_several(&self, span: Span, word: &str) -> Diagnostic {
        let message = format!("in a constraint `{word}` is of one index");
        let error = codes::ARGUMENT_COUNT.error(span, message);
        match word {
            "RANK" => error.with_hint("a sum is written `RANK(a) + RANK(b)`"),
            _ => error.with_hint("each has its own constraint"),
        }
    }

    fn tuple_name(&mut self) -> Parsed<Name> {
        let name = self.identifier("an index")?;
        if self.is(0, ',') || self.is(0, ')') {
            return Ok(name);
        }
        let token = self.peek(0);
        let message = format!("expected `)` after an index, found {}", self.describe(token));
        let error = codes::EXPECTED_CLOSE.error(token.span, message);
        self.fail(error.with_hint("a constraint is on an index; compute behind the `=`"))
    }

    /// `= value` or `IN [lo, hi]`.
    fn relation(&mut self) -> Parsed<Relation> {
        let token = self.peek(0);
        if self.word().is_some_and(|w| w.eq_ignore_ascii_case("IN")) {
            if self.text(token.span) != "IN" {
                self.not_in_capitals(token.span, "IN");
            }
            self.next();
            return self.range();
        }
        if self.is_symbol(0, "==") {
            let span = self.take_symbol("==");
            let error = codes::OPERATOR.error(span, "`==` is no relation of constraints");
            self.error(error.with_fix("one `=` is an equation", span, "="));
            return self.sum().map(Relation::Equals);
        }
        if self.eat('=').is_some() {
            return self.sum().map(Relation::Equals);
        }
        let (found, span) = self.found();
        let message = format!("expected `=` or `IN`, found {found}");
        let error = codes::EXPECTED_RELATION.error(span, message);
        self.fail(match token.kind {
            TokenKind::Punct('<' | '>') => {
                error.with_hint("`IN [lo, hi]` gives the least and the greatest")
            }
            _ => error,
        })
    }

    /// `[lo, hi]`.
    fn range(&mut self) -> Parsed<Relation> {
        if !self.is(0, '[') {
            let (found, span) = self.found();
            let message = format!("expected `[` after `IN`, found {found}");
            let error = codes::EXPECTED_OPEN.error(span, message);
            return self.fail(error.with_hint("a range is `IN [lo, hi]`; both belong to it"));
        }
        let open = self.peek(0).span;
        let ends = self.list(']', |parser, _| parser.range_end())?;
        match ends[..] {
            [lo, hi] => Ok(Relation::In(lo, hi)),
            _ => {
                let message = format!("a range has 2 ends, not {}", ends.len());
                let error = codes::ARGUMENT_COUNT.error(self.since(open), message);
                self.fail(error.with_hint("`IN [2, 5]` is 2, 3, 4 or 5"))
            }
        }
    }

    /// An integer.
    fn range_end(&mut self) -> Parsed<(i64, Span)> {
        let start = self.peek(0).span;
        let negative = self.sign().unwrap_or(false);
        let token = self.peek(0);
        if let TokenKind::Number | TokenKind::BadNumber = token.kind {
            self.next();
            return Ok((self.integer(token, negative), self.since(start)));
        }
        let message = format!("expected an integer, found {}", self.describe(token));
        let error = codes::EXPECTED_TERM.error(token.span, message);
        self.fail(error.with_hint("the ends of a range are integers; `= …` computes"))
    }

    fn bound_primary(&mut self) -> Parsed<Bound> {
        let start = self.peek(0).span;
        if let Some(word) = self.capitals(&["RANK", "DIMS"]) {
            let (quantity, name) = self.quantity(word)?;
            return Ok(Bound::Of(quantity, name, self.since(start)));
        }
        let small = self.word().map(str::to_ascii_lowercase);
        if matches!(small.as_deref(), Some("min" | "max")) && self.opens(1, '(') {
            return self.extremum();
        }
        let error = self.no_bound();
        self.fail(error)
    }

    /// `min(a, b)` or `max(a, b)`.
    fn extremum(&mut self) -> Parsed<Bound> {
        let name = self.next().span;
        let small = self.text(name).to_ascii_lowercase();
        if self.text(name) != small {
            let message = format!("`{}` of a constraint is written in small letters", small);
            let error = codes::CAPITALS.error(name, message);
            self.error(error.with_fix(format!("write `{small}`"), name, &*small));
        }
        let args = self.list(')', |parser, _| parser.sum())?;
        let (span, found) = (self.since(name), args.len());
        match <[Bound; 2]>::try_from(args) {
            Ok([a, b]) if small == "min" => Ok(Bound::Min(Box::new(a), Box::new(b), span)),
            Ok([a, b]) => Ok(Bound::Max(Box::new(a), Box::new(b), span)),
            Err(_) => {
                let message = format!("`{small}` takes 2 operands, not {found}");
                let error = codes::ARGUMENT_COUNT.error(span, message);
                self.fail(error.with_hint(format!("`{small}(a, {small}(b, c))`")))
            }
        }
    }

    fn no_bound(&self) -> Diagnostic {
        let token = self.peek(0);
        let message = format!("expected an integer, RANK or DIMS, found {}", self.describe(token));
        let error = codes::EXPECTED_TERM.error(token.span, message);
        match self.word() {
            Some(_) if self.opens(1, '(') => {
                error.with_hint("constraints know `RANK`, `DIMS`, `min` and `max`")
            }
            Some(name) => {
                let name = crate::report::shorten(name);
                error.with_hint(format!("`DIMS({name})` are its extents, `RANK({name})` its rank"))
            }
            None => error,
        }
    }
}
