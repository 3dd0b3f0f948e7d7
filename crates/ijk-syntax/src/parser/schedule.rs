//! Schedules, which other implementations of i let follow an index expression: `… | i:16,j:16 | jii'j'k`.
//!
//! A segment of `letter:number` sets the blocks in which letters are split, the one after it the order of loops. ijk
//! schedules automatically: both are skipped.

use super::Parser;
use crate::ast::NodeId;
use crate::{Span, TokenKind, codes};

impl Parser<'_> {
    /// Skips a schedule, if one follows, and warns of the first.
    pub(super) fn schedule(&mut self, of: NodeId) {
        let start = self.peek(0).span;
        let before = self.at;
        while let Some(tokens) = self.splits() {
            self.at += tokens;
            if let Some(tokens) = self.order(of) {
                self.at += tokens;
            }
        }
        if self.at == before || std::mem::replace(&mut self.scheduled, true) {
            return;
        }
        let span = self.since(start);
        let message = "ijk schedules by itself: splits and orders of loops are ignored";
        let removed = Span::new(self.tokens[before - 1].span.end, span.end);
        let warning = codes::SCHEDULE.warning(span, message);
        self.error(warning.with_fix("leave it out", removed, ""));
    }

    /// Number of tokens of `| i:16,j:16`; none where another segment follows.
    fn splits(&self) -> Option<usize> {
        if !self.is(0, '|') {
            return None;
        }
        let mut at = 1;
        loop {
            at = self.split(at)?;
            if !self.is(at, ',') {
                break;
            }
            at += 1;
        }
        // The number is an operand where an operator follows: `| i: 16*j~j`.
        let goes_on = self.is(at, '~') || self.is_infix(at) && !self.peek(at).after_newline;
        (!goes_on).then_some(at)
    }

    /// The token after `i':16:4`.
    fn split(&self, mut at: usize) -> Option<usize> {
        if self.kind(at) != TokenKind::Ident
            || self.text(self.peek(at).span).chars().nth(1).is_some()
        {
            return None;
        }
        at += 1;
        while self.is_prime(at) {
            at += 1;
        }
        let first = at;
        while self.is(at, ':') && self.kind(at + 1) == TokenKind::Number {
            at += 2;
        }
        (at > first).then_some(at)
    }

    /// Number of tokens of `| jii'j'k`, the letters of an index expression in the order of loops; none where the
    /// segment is a component.
    fn order(&self, of: NodeId) -> Option<usize> {
        if !self.is(0, '|') {
            return None;
        }
        let (mut at, mut primes) = (1, false);
        loop {
            let token = self.peek(at);
            let goes_on = at == 1 || token.touches_previous;
            match token.kind {
                _ if goes_on && self.is_prime(at) => primes = true,
                TokenKind::Ident if goes_on && !self.is(at + 1, ':') => {}
                _ => break,
            }
            at += 1;
        }
        let letters = self.text(self.program.node(of).span);
        let plain = || {
            let mut order = self.text(self.peek(1).span).chars();
            let component = self.is(2, '~') || self.is_infix(2);
            at == 2 && !component && order.all(|c| letters.contains(c))
        };
        (primes || plain()).then_some(at)
    }

    /// Returns true if primes stand there: `'`, `''`, or a primed letter `'j'`, which Rust lexes as a character.
    fn is_prime(&self, ahead: usize) -> bool {
        let token = self.peek(ahead);
        let marked = |text: &str| {
            text.starts_with('\'') && text.chars().all(|c| c == '\'' || c.is_alphabetic())
        };
        token.kind == TokenKind::Unknown && marked(self.text(token.span))
    }
}
