//! Literals of Python.

use super::super::ast::CallArg;
use super::super::codes;
use super::term::ASSIGN_IT;
use super::{EtParser, Parsed};
use crate::TokenKind;

impl EtParser<'_> {
    /// `L(…)`: any tokens whose parentheses and brackets match.
    pub(super) fn literal_argument(&mut self) -> Parsed<CallArg> {
        let start = self.next().span;
        let text = self.literal_text()?;
        let span = self.since(start);
        if text.is_empty() {
            let error = codes::EMPTY_LIST.error(span, "`L()` of nothing");
            self.error(error.with_hint("`L(None)`, `L('VALID')`: any literal of Python"));
        }
        Ok(CallArg::Literal(text, span))
    }

    /// Text of the parentheses here, with one space where tokens do not touch.
    fn literal_text(&mut self) -> Parsed<String> {
        let mut opened = Vec::new();
        let mut text = String::new();
        loop {
            let token = self.next();
            match token.kind {
                TokenKind::Punct('(' | '[' | '{') => {
                    opened.push(token.span);
                    self.deepen(token.span, ASSIGN_IT)?;
                }
                TokenKind::Punct(')' | ']' | '}') => {
                    opened.pop();
                    self.depth -= 1;
                }
                _ => {}
            }
            let Some(&open) = opened.last() else { return Ok(text) };
            if !(text.is_empty() && opened.len() == 1 && token.span == open) {
                let space = !text.is_empty() && !token.touches_previous;
                text.push_str(if space { " " } else { "" });
                text.push_str(self.text(token.span));
            }
            self.check_literal_goes_on(open)?;
        }
    }

    /// Fails where a literal that is open since `open` ends in the wrong way.
    fn check_literal_goes_on(&mut self, open: crate::Span) -> Parsed<()> {
        let token = self.peek(0);
        let close = match self.text(open) {
            "(" => ')',
            "[" => ']',
            _ => '}',
        };
        match token.kind {
            TokenKind::BadQuoted => {
                let error = codes::QUOTE_OPEN.error(token.span, "the text in quotes has no end");
                self.fail(error.with_hint("it ends on its line, with the quote it starts with"))
            }
            TokenKind::Punct(found @ (')' | ']' | '}')) if found != close => {
                self.close(open, close, "a literal")
            }
            TokenKind::End => self.close(open, close, "a literal"),
            _ if self.starts_item() => self.close(open, close, "a literal"),
            _ => Ok(()),
        }
    }
}
