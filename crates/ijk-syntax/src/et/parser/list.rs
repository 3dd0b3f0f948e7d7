//! Lists in parentheses and brackets.

use super::super::codes;
use super::term::ASSIGN_IT;
use super::{EtParser, Parsed};
use crate::codes::NOT_CLOSED;
use crate::{Diagnostic, Span, TokenKind};

impl EtParser<'_> {
    /// Parses the items between the parenthesis or bracket here and `close`, separated by commas. `item` is called with
    /// the items so far.
    pub(super) fn list<T>(
        &mut self,
        close: char,
        item: impl FnMut(&mut Self, &[T]) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.items(close, item, |items| items.is_empty())
    }

    /// The same with a comma after the last item, perhaps, as in Python.
    pub(super) fn python_list<T>(
        &mut self,
        close: char,
        item: impl FnMut(&mut Self, &[T]) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.items(close, item, |_| true)
    }

    /// Items; they may end where another could start if `may_end` returns true.
    fn items<T>(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self, &[T]) -> Parsed<T>,
        may_end: fn(&[T]) -> bool,
    ) -> Parsed<Vec<T>> {
        let open = self.next().span;
        self.deepen(open, ASSIGN_IT)?;
        let mut items = Vec::new();
        while !(may_end(&items) && self.is(0, close)) {
            items.push(item(self, &items)?);
            if self.eat(',').is_none() {
                break;
            }
        }
        self.close(open, close, "an operator, `,`")?;
        Ok(items)
    }

    /// Takes what closes the parenthesis or bracket at `open`.
    pub(super) fn close(&mut self, open: Span, close: char, before: &str) -> Parsed<()> {
        if self.eat(close).is_some() {
            self.depth = self.depth.saturating_sub(1);
            return Ok(());
        }
        let error = self.not_closed(open, close, before);
        self.fail(error)
    }

    /// Why there is no `close` here.
    pub(super) fn not_closed(&self, open: Span, close: char, before: &str) -> Diagnostic {
        let token = self.peek(0);
        if token.kind == TokenKind::End || self.starts_item() {
            let message = format!("`{}` is never closed", self.text(open));
            return NOT_CLOSED.error(open, message);
        }
        let message = format!("expected {before} or `{close}`, found {}", self.describe(token));
        let error = codes::EXPECTED_CLOSE.error(token.span, message);
        let error = error.with_related(open, "opened here");
        match token.kind {
            TokenKind::Punct('=') => {
                error.with_fix(format!("close it with `{close}`"), self.behind(), close)
            }
            TokenKind::Punct(':') => error.with_hint(
                "there are no ranges; `:` alone stands for all components of an array in an index",
            ),
            _ => error,
        }
    }

    /// Fails where a list in parentheses does not open here.
    pub(super) fn expect_open(&mut self, word: &str) -> Parsed<()> {
        if self.opens(0, '(') {
            return Ok(());
        }
        let (found, span) = self.found();
        let message = format!("expected `(` after `{word}`, found {found}");
        self.fail(codes::EXPECTED_OPEN.error(span, message))
    }

    /// Description and place of the token that stands here instead of the rest of an item.
    pub(super) fn found(&self) -> (String, Span) {
        let token = self.peek(0);
        match token.kind {
            TokenKind::End => (self.describe(token), token.span),
            _ if token.after_newline && self.depth == 0 => {
                ("the end of the line".to_owned(), self.behind())
            }
            _ => (self.describe(token), token.span),
        }
    }
}
