//! Index expressions.

use super::super::ast::{Access, Index, IndexFunction, IndexOp};
use super::super::{codes, words};
use super::term::{Foreign, TermGrammar};
use super::{EtParser, Parsed};
use crate::report::shorten;
use crate::{Diagnostic, Span, Token, TokenKind};

/// The operators of integers.
pub(super) const INDEX_OPERATORS: &[(&str, IndexOp)] = &[
    ("//^", IndexOp::CeilDiv),
    ("//", IndexOp::FloorDiv),
    ("*", IndexOp::Mul),
    ("%", IndexOp::Mod),
];

/// `/`, which rounds down where all are integers.
pub(super) const SLASH: Option<(&str, &str, IndexOp)> = Some(("/", "//", IndexOp::FloorDiv));

/// Operators that integers do not have.
pub(super) const NOT_OF_INTEGERS: &[Foreign] = &[
    Foreign { symbol: "**", hint: "there are no powers among integers: `i * i`" },
    Foreign { symbol: "^", hint: "there are no powers among integers: `i * i`" },
];

impl TermGrammar for Index {
    const NAME: &'static str = "index expressions";
    const ONE: &'static str = "an index";
    const OPERATORS: &'static [(&'static str, IndexOp)] = INDEX_OPERATORS;
    const MEANT: Option<(&'static str, &'static str, IndexOp)> = SLASH;
    const FOREIGN: &'static [Foreign] = NOT_OF_INTEGERS;

    fn primary(parser: &mut EtParser<'_>) -> Parsed<Self> {
        parser.index_primary()
    }

    fn number(parser: &mut EtParser<'_>, token: Token, negative: bool, span: Span) -> Self {
        Self::Integer(parser.integer(token, negative), span)
    }
}

impl EtParser<'_> {
    /// `name[index, …]`; `nested` where it stands in an index.
    pub(super) fn access(&mut self, nested: bool) -> Parsed<Access> {
        let array = self.identifier("an array")?;
        let indices = self.list(']', |parser, _| parser.place(nested))?;
        let span = self.since(array.span);
        Ok(Access { array, indices, span })
    }

    /// One index of an array.
    fn place(&mut self, nested: bool) -> Parsed<Index> {
        let star = self.peek(0);
        let alone = self.is(0, ':') && (self.is(1, ',') || self.is(1, ']'));
        if !alone {
            return self.sum();
        }
        self.next();
        if !nested {
            let message = "`:` belongs to an array that stands in an index";
            let error = codes::STAR_OUTSIDE.error(star.span, message);
            self.error(
                error.with_hint("`out[i] = in[indices[i, :]]` gathers; here, name an index"),
            );
        }
        Ok(Index::Star(star.span))
    }

    fn index_primary(&mut self) -> Parsed<Index> {
        if let Some(word) = self.capitals(&["RANK", "DIMS", "FLAT"]) {
            return self.index_list(word);
        }
        if let Some(function) = self.index_function() {
            return self.index_call(function);
        }
        let token = self.peek(0);
        match token.kind {
            TokenKind::Ident if self.opens(1, '(') => {
                let error = self.function_in_index();
                self.fail(error)
            }
            TokenKind::Ident if self.opens(1, '[') => self.access(true).map(Index::Array),
            TokenKind::Ident => self.identifier("an index").map(Index::Tuple),
            _ => {
                let error = self.no_index();
                self.fail(error)
            }
        }
    }

    /// The function of indices whose name stands here with parentheses behind it.
    fn index_function(&mut self) -> Option<IndexFunction> {
        if !self.opens(1, '(') {
            return None;
        }
        let word = self.capitals(&IndexFunction::ALL.map(IndexFunction::name))?;
        IndexFunction::ALL.into_iter().find(|function| function.name() == word)
    }

    /// `ABS(a)`, `MAX(a, b)` or `MIN(a, b)`.
    fn index_call(&mut self, function: IndexFunction) -> Parsed<Index> {
        let name = self.next().span;
        let of = self.list(')', |parser, _| parser.sum::<Index>())?;
        let span = self.since(name);
        if of.len() == function.operands() {
            return Ok(Index::Call(function, of, span));
        }
        let error = self.wrong_count(name, of.len(), function.operands());
        self.error(error);
        Ok(Index::Integer(0, span))
    }

    /// `DIMS(…)`, `RANK(…)` or `FLAT(…)`.
    fn index_list(&mut self, word: &str) -> Parsed<Index> {
        let start = self.peek(0).span;
        let of = self.tuples(word)?;
        let span = self.since(start);
        if self.opens(0, '[') {
            let at = self.peek(0).span;
            let message = format!("`{word}(…)` has no components in an index");
            let error = codes::ARRAY_INDEXED.error(at, message);
            return self.fail(match word {
                "DIMS" => error.with_hint("`DIMS(x)[coord]` is a value; here, all extents count"),
                _ => error,
            });
        }
        Ok(match word {
            "RANK" => Index::Rank(of, span),
            "DIMS" => Index::Dims(of, span),
            _ => Index::Flat(of, span),
        })
    }

    /// Takes a word and the index expressions in parentheses behind it, at least one.
    pub(super) fn tuples(&mut self, word: &str) -> Parsed<Vec<Index>> {
        let start = self.next().span;
        self.expect_open(word)?;
        let of = self.list(')', |parser, _| parser.sum::<Index>())?;
        if of.is_empty() {
            let error =
                codes::EMPTY_LIST.error(self.since(start), format!("`{word}()` of nothing"));
            self.error(error.with_hint(format!("name an index: `{word}(i)`")));
        }
        Ok(of)
    }

    /// A call in an index.
    fn function_in_index(&self) -> Diagnostic {
        let span = self.peek(0).span;
        let text = shorten(self.text(span));
        let message = format!("`{text}(…)` can't stand in an index");
        let error = codes::FUNCTION_IN_INDEX.error(span, message);
        match words::function_in_capitals(&text) {
            Some(_) => error.with_hint(
                "assign its values to an array of integers first, and index by that: `out[a[i]]`",
            ),
            None if ["clip", "clamp"].iter().any(|name| text.eq_ignore_ascii_case(name)) => {
                error.with_hint("`MIN(MAX(i, least), greatest)` is `i` within bounds")
            }
            None => error.with_hint(
                "an index may hold `RANK(…)`, `DIMS(…)`, `FLAT(…)`, `ABS(…)`, `MAX(…)`, `MIN(…)`",
            ),
        }
    }

    fn no_index(&self) -> Diagnostic {
        let token = self.peek(0);
        let message = format!("expected an index, found {}", self.describe(token));
        let error = codes::EXPECTED_INDEX.error(token.span, message);
        match token.kind {
            TokenKind::Punct(':') => error.with_hint(
                "there are no ranges; `:` alone stands for all components of an array in an index",
            ),
            TokenKind::Punct('.') => error.with_hint("an array of rank 0 is `x[]`"),
            _ => error,
        }
    }
}
