//! Names, and words in capitals.

use super::super::{codes, words};
use super::{EtParser, Parsed};
use crate::ast::Name;
use crate::report::shorten;
use crate::{Diagnostic, Span, TokenKind};

impl<'s> EtParser<'s> {
    /// The text of the current token, if it is a word.
    pub(super) fn word(&self) -> Option<&'s str> {
        (self.kind(0) == TokenKind::Ident).then(|| self.text(self.peek(0).span))
    }

    /// The word of `words` that stands here with parentheses behind it; reports one in small letters.
    pub(super) fn capitals(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let text = self.word()?;
        let word = words.iter().copied().find(|w| w.eq_ignore_ascii_case(text))?;
        if word != text {
            if !self.opens(1, '(') {
                return None;
            }
            let span = self.peek(0).span;
            self.not_in_capitals(span, word);
        }
        Some(word)
    }

    /// Reports a word in small letters.
    pub(super) fn not_in_capitals(&mut self, span: Span, word: &str) {
        let message = format!("`{}` is written in capitals", shorten(self.text(span)));
        let error = codes::CAPITALS.error(span, message);
        self.error(error.with_fix(format!("write `{word}`"), span, word));
    }

    /// Takes a name; keywords are reported.
    pub(super) fn identifier(&mut self, what: &str) -> Parsed<Name> {
        let token = self.peek(0);
        if token.kind != TokenKind::Ident {
            let message = format!("expected {what}, found {}", self.describe(token));
            return self.fail(codes::EXPECTED_NAME.error(token.span, message));
        }
        self.next();
        let text = self.text(token.span);
        if words::is_reserved(text) {
            let error = self.keyword(token.span);
            self.error(error);
        }
        Ok(self.name(token.span))
    }

    /// A keyword where a name is.
    fn keyword(&self, span: Span) -> Diagnostic {
        let text = self.text(span);
        let kind = match words::function(text) {
            Some(_) => "the name of a function",
            None if words::constant(text).is_some() => "the name of a constant",
            None => "a keyword",
        };
        let error = codes::KEYWORD_AS_NAME.error(span, format!("`{text}` is {kind}"));
        let error = match words::function(text) {
            Some(_) => error.with_hint(format!("its operands stand in parentheses: `{text}(…)`")),
            None => error,
        };
        match text {
            "INT" | "FLOAT" => error.with_hint("it is the type of `RANDOM(lo, hi, type)`"),
            _ => {
                let small = text.to_ascii_lowercase();
                error.with_fix("names in small letters are free", span, small)
            }
        }
    }
}
