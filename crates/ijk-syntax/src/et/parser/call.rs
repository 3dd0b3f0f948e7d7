//! The framework call.

use super::super::ast::{Call, CallArg, IndexOp};
use super::super::codes;
use super::index::{INDEX_OPERATORS, NOT_OF_INTEGERS, SLASH};
use super::term::{Foreign, TermGrammar};
use super::{EtParser, Parsed};
use crate::ast::Name;
use crate::{Diagnostic, Span, Token, TokenKind};
use std::collections::HashMap;

impl TermGrammar for CallArg {
    const NAME: &'static str = "arguments";
    const ONE: &'static str = "an argument";
    const SEVERAL: &'static str = "a list is `[a, b]`, a tuple of numbers `L((1, 2))`";
    const OPERATORS: &'static [(&'static str, IndexOp)] = INDEX_OPERATORS;
    const MEANT: Option<(&'static str, &'static str, IndexOp)> = SLASH;
    const FOREIGN: &'static [Foreign] = NOT_OF_INTEGERS;

    fn primary(parser: &mut EtParser<'_>) -> Parsed<Self> {
        parser.argument_primary()
    }

    fn number(parser: &mut EtParser<'_>, token: Token, negative: bool, span: Span) -> Self {
        parser.integer_argument(token, negative, span)
    }
}

/// Options of a call parsed so far.
#[derive(Default)]
struct Keywords<'s> {
    /// Where each keyword stands.
    seen: HashMap<&'s str, Span>,
    first: Option<Span>,
}

impl<'s> EtParser<'s> {
    /// `path.function(argument, keyword=argument)`.
    pub(super) fn call(&mut self) -> Parsed<Call> {
        let start = self.peek(0).span;
        let path = self.path()?;
        self.call_behind(path, start)
    }

    /// `name.name.name`.
    fn path(&mut self) -> Parsed<Vec<Name>> {
        let mut path = vec![self.identifier("a function")?];
        while self.is(0, '.') && (self.depth > 0 || !self.peek(0).after_newline) {
            self.next();
            let token = self.peek(0);
            if token.kind != TokenKind::Ident || token.after_newline && self.depth == 0 {
                let (found, span) = self.found();
                let message = format!("expected a name after `.`, found {found}");
                return self.fail(codes::EXPECTED_NAME.error(span, message));
            }
            self.next();
            path.push(self.name(token.span));
        }
        Ok(path)
    }

    /// The arguments behind a path.
    fn call_behind(&mut self, path: Vec<Name>, start: Span) -> Parsed<Call> {
        let path_span = self.since(start);
        let word = self.shown(path_span);
        self.expect_open(&word)?;
        let mut keywords = Keywords::default();
        let args = self.python_list(')', |parser, _| parser.argument(&mut keywords))?;
        Ok(Call { path, args, span: self.since(start) })
    }

    /// `argument` or `keyword=argument`.
    fn argument(&mut self, keywords: &mut Keywords<'s>) -> Parsed<(Option<Name>, CallArg)> {
        let span = self.peek(0).span;
        if self.word().is_some() && self.is(1, '=') && !self.is_symbol(1, "==") {
            self.next();
            self.next();
            self.check_keyword(span, keywords);
            return Ok((Some(self.name(span)), self.sum()?));
        }
        let arg = self.sum()?;
        if let Some(first) = keywords.first {
            let message = "an argument without a keyword after one with a keyword";
            let error = codes::POSITIONAL_LAST.error(self.since(span), message);
            self.error(error.with_related(first, "the first keyword"));
        }
        Ok((None, arg))
    }

    fn check_keyword(&mut self, span: Span, keywords: &mut Keywords<'s>) {
        keywords.first.get_or_insert(span);
        let text = self.text(span);
        if let Some(&first) = keywords.seen.get(text) {
            let message = format!("`{}` is given twice", self.shown(span));
            let error = codes::KEYWORD_TWICE.error(span, message);
            self.error(error.with_related(first, "first given here"));
        }
        keywords.seen.entry(text).or_insert(span);
    }

    fn argument_primary(&mut self) -> Parsed<CallArg> {
        let token = self.peek(0);
        match token.kind {
            TokenKind::Punct('[') => {
                let items = self.python_list(']', |parser, _| parser.sum())?;
                Ok(CallArg::List(items, self.since(token.span)))
            }
            TokenKind::Ident => self.argument_word(),
            TokenKind::Quoted => {
                self.next();
                self.misfit(token.span, "text in quotes");
                Ok(CallArg::Literal(self.text(token.span).to_owned(), token.span))
            }
            _ => {
                let error = self.no_argument();
                self.fail(error)
            }
        }
    }

    fn argument_word(&mut self) -> Parsed<CallArg> {
        let start = self.peek(0).span;
        if let Some(word) = self.capitals(&["RANK", "DIMS"]) {
            let of = self.tuples(word)?;
            self.check_whole()?;
            let span = self.since(start);
            return Ok(match word {
                "RANK" => CallArg::Rank(of, span),
                _ => CallArg::Dims(of, span),
            });
        }
        match self.word() {
            Some("L") if self.opens(1, '(') => self.literal_argument(),
            Some("TENSOR") if self.opens(1, '(') => self.tensor(),
            Some("None" | "True" | "False") => {
                self.next();
                let text = self.text(start).to_owned();
                self.misfit(start, "a value of Python");
                Ok(CallArg::Literal(text, start))
            }
            _ => self.named_argument(),
        }
    }

    /// `TENSOR(x)`.
    fn tensor(&mut self) -> Parsed<CallArg> {
        let start = self.next().span;
        let args = self.list(')', |parser, _| parser.sum())?;
        let (span, found) = (self.since(start), args.len());
        if let Ok([arg]) = <[CallArg; 1]>::try_from(args) {
            return Ok(CallArg::Tensor(Box::new(arg), span));
        }
        let message = format!("`TENSOR` takes 1 argument, not {found}");
        let error = codes::ARGUMENT_COUNT.error(span, message);
        self.fail(error.with_hint("several integers are a list: `TENSOR([1, 2])`"))
    }

    /// An array or a call.
    fn named_argument(&mut self) -> Parsed<CallArg> {
        let start = self.peek(0).span;
        let mut path = self.path()?;
        if self.opens(0, '(') {
            return Ok(CallArg::Call(Box::new(self.call_behind(path, start)?)));
        }
        if path.len() > 1 {
            let span = self.since(start);
            let message = format!("`{}` is no argument", self.shown(span));
            let error = codes::NOT_AN_ARGUMENT.error(span, message);
            return self.fail(error.with_hint("a dotted name can be called only"));
        }
        self.check_whole()?;
        path.pop().map(CallArg::Array).ok_or(super::Abandon)
    }

    /// Fails at `[`: arrays and lists are handed over whole.
    fn check_whole(&mut self) -> Parsed<()> {
        if !self.is(0, '[') {
            return Ok(());
        }
        let span = self.peek(0).span;
        let error = codes::ARRAY_INDEXED.error(span, "an argument has no index");
        self.fail(error.with_hint("arrays are handed over whole; assign a part to another array"))
    }

    /// An integer; other numbers are Python's.
    fn integer_argument(&mut self, token: Token, negative: bool, span: Span) -> CallArg {
        let whole = self.text(token.span).bytes().all(|b| b.is_ascii_digit());
        if whole || token.kind == TokenKind::BadNumber {
            return CallArg::Integer(self.integer(token, negative), span);
        }
        self.misfit(span, "not a whole number");
        CallArg::Literal(self.text(span).to_owned(), span)
    }

    /// Reports what could stand in `L(…)`.
    fn misfit(&mut self, span: Span, what: &str) {
        let shown = self.shown(span);
        let error = codes::NOT_AN_ARGUMENT.error(span, format!("`{shown}` is {what}"));
        let fix = format!("L({})", self.text(span));
        self.error(error.with_fix("`L(…)` holds any literal of Python", span, fix));
    }

    fn no_argument(&self) -> Diagnostic {
        let token = self.peek(0);
        let message = format!("expected an argument, found {}", self.describe(token));
        let error = codes::EXPECTED_TERM.error(token.span, message);
        match token.kind {
            TokenKind::Punct('{') => error.with_hint("`L(…)` holds any literal of Python"),
            _ => error,
        }
    }
}
