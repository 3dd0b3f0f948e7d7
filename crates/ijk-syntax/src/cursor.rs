//! Token stream and diagnostics: the basis of both grammars.

use crate::ast::Name;
use crate::report::{Report, shorten};
use crate::{Diagnostic, Span, Token, TokenKind, codes};

/// Parentheses nest this deep, around components and in index arithmetic.
pub const MAX_NESTING: usize = 256;

/// Parsing of the current item failed; there is a diagnostic.
pub(crate) struct Abandon;

pub(crate) type Parsed<T> = Result<T, Abandon>;

/// A place among the tokens of a source, how deep it is nested, and the diagnostics so far.
pub(crate) struct Cursor<'s> {
    source: &'s str,
    pub(crate) tokens: &'s [Token],
    pub(crate) at: usize,
    pub(crate) depth: usize,
    pub(crate) report: Report,
}

/// Tokens.
impl<'s> Cursor<'s> {
    /// Before the first of `tokens`, whose spans point into `source`.
    pub(crate) fn new(source: &'s str, tokens: &'s [Token]) -> Self {
        Self { source, tokens, at: 0, depth: 0, report: Report::default() }
    }

    /// The token `ahead` of the current one.
    pub(crate) fn peek(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).copied().unwrap_or_else(|| self.end())
    }

    /// The token after the last.
    pub(crate) fn end(&self) -> Token {
        let end = self.source.len() as u32;
        Token {
            kind: TokenKind::End,
            span: Span::new(end, end),
            touches_previous: false,
            after_newline: true,
        }
    }

    pub(crate) fn kind(&self, ahead: usize) -> TokenKind {
        self.peek(ahead).kind
    }

    pub(crate) fn is(&self, ahead: usize, punct: char) -> bool {
        self.kind(ahead) == TokenKind::Punct(punct)
    }

    /// Takes the current token.
    pub(crate) fn next(&mut self) -> Token {
        let token = self.peek(0);
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    /// Takes the current token if it is `punct`.
    pub(crate) fn eat(&mut self, punct: char) -> Option<Token> {
        self.is(0, punct).then(|| self.next())
    }

    /// Takes `+` or `-`; whether it negates.
    pub(crate) fn sign(&mut self) -> Option<bool> {
        if self.eat('-').is_some() {
            return Some(true);
        }
        self.eat('+').map(|_| false)
    }

    /// The token taken last.
    pub(crate) fn previous(&self) -> Option<Token> {
        self.at.checked_sub(1).map(|i| self.tokens[i])
    }

    /// The empty place behind the token taken last.
    pub(crate) fn behind(&self) -> Span {
        let end = self.previous().map_or(0, |t| t.span.end);
        Span::new(end, end)
    }

    /// From `start` to the token taken last.
    pub(crate) fn since(&self, start: Span) -> Span {
        Span::new(start.start, self.behind().end.max(start.start))
    }

    pub(crate) fn text(&self, span: Span) -> &'s str {
        &self.source[span.start as usize..span.end as usize]
    }

    pub(crate) fn name(&self, span: Span) -> Name {
        Name { text: self.text(span).to_owned(), span }
    }

    /// Description of a token in messages.
    pub(crate) fn describe(&self, token: Token) -> String {
        match token.kind {
            TokenKind::End => "the end of the program".to_owned(),
            TokenKind::Number | TokenKind::BadNumber => {
                format!("the number `{}`", shorten(self.text(token.span)))
            }
            _ => format!("`{}`", shorten(self.text(token.span))),
        }
    }
}

/// Reports.
impl Cursor<'_> {
    /// All diagnostics.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        self.report.finish()
    }

    /// Reports what does not end the item.
    pub(crate) fn error(&mut self, diagnostic: Diagnostic) {
        self.report.push(diagnostic);
    }

    /// Reports what ends the item.
    pub(crate) fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parsed<T> {
        self.report.push(diagnostic);
        Err(Abandon)
    }

    /// Counts what was opened at `open`; too much of it fails, with advice.
    pub(crate) fn deepen(&mut self, open: Span, advice: &str) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let what = match self.text(open) {
                "+" | "-" => "signs",
                "[" => "brackets",
                _ => "parentheses",
            };
            let message = format!("{what} nest deeper than {MAX_NESTING}");
            return self.fail(codes::TOO_DEEP.error(open, message).with_hint(advice));
        }
        Ok(())
    }
}
