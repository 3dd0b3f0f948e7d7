//! Where the next item starts, after one that was given up.

use super::EtParser;
use crate::TokenKind;

impl EtParser<'_> {
    /// Goes to the next line that starts an item, at least one token after `from`.
    ///
    /// Inside parentheses that are still open only what can't be anything else starts one.
    pub(super) fn recover(&mut self, from: usize) {
        if self.at == from {
            self.step_over();
        }
        while self.kind(0) != TokenKind::End && !self.starts_item() {
            self.step_over();
        }
    }

    /// Takes a token and counts what it opens or closes.
    fn step_over(&mut self) {
        match self.next().kind {
            TokenKind::Punct('(' | '[') => self.depth += 1,
            TokenKind::Punct(')' | ']') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    /// Returns true if a line starts here, and with it an item.
    pub(super) fn starts_item(&self) -> bool {
        if !self.peek(0).after_newline || self.kind(0) != TokenKind::Ident {
            return false;
        }
        let sure = self.assigns() || self.constrains();
        sure || self.depth == 0 && !self.goes_on() && self.form().is_some()
    }

    /// Returns true if a line starts here that can be nothing but an item.
    pub(super) fn starts_item_for_sure(&self) -> bool {
        self.peek(0).after_newline && (self.assigns() || self.constrains())
    }

    /// Returns true if the token before requires an operand.
    fn goes_on(&self) -> bool {
        let before = self.previous().map(|t| t.kind);
        matches!(before, Some(TokenKind::Punct('+' | '-' | '*' | '/' | '%' | '^' | '=' | ',')))
    }

    /// Returns true if `name[…] =` or another assignment stands here, on this line.
    fn assigns(&self) -> bool {
        self.is(1, '[') && self.behind_group(1).is_some_and(|ahead| self.at_assignment(ahead))
    }

    /// Returns true if an item that starts here is a constraint: `RANK` or `DIMS`; in small letters, if parentheses and
    /// a relation follow.
    pub(super) fn at_constraint(&self) -> bool {
        let text = self.text(self.peek(0).span);
        matches!(text, "RANK" | "DIMS") || self.constrains()
    }

    /// Returns true if `RANK(…)` or `DIMS(…)` and a relation stand here, on this line.
    fn constrains(&self) -> bool {
        let text = self.text(self.peek(0).span);
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        let opens = (is("RANK") || is("DIMS")) && self.is(1, '(');
        opens && self.behind_group(1).is_some_and(|ahead| self.at_relation(ahead))
    }

    fn at_relation(&self, ahead: usize) -> bool {
        let token = self.peek(ahead);
        let word =
            token.kind == TokenKind::Ident && self.text(token.span).eq_ignore_ascii_case("IN");
        let symbol = matches!(token.kind, TokenKind::Punct('=' | '<' | '>'));
        !token.after_newline && (word || symbol)
    }

    /// Offset behind the group that opens there, if it closes on the same line.
    fn behind_group(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for ahead in open.. {
            let token = self.peek(ahead);
            match token.kind {
                _ if token.after_newline => return None,
                TokenKind::Punct('(' | '[') => depth += 1,
                TokenKind::Punct(')' | ']') if depth == 1 => return Some(ahead + 1),
                TokenKind::Punct(')' | ']') => depth -= 1,
                _ => {}
            }
        }
        None
    }
}
