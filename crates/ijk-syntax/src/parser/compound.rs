//! Compound indices: letters, extents in braces, arithmetic in brackets.

use super::{Parsed, Parser};
use crate::ast::{Compound, Extent, Letter, Operand, Position};
use crate::report::shorten;
use crate::{Span, Token, TokenKind, codes};

impl Parser<'_> {
    /// A compound index. After an output's, an identifier that does not touch starts an item.
    pub(super) fn compound(&mut self, output: bool) -> Parsed<Compound> {
        let start = self.peek(0).span;
        let mut positions = Vec::new();
        if self.eat('.').is_some() {
            self.check_rank_zero();
            return Ok(Compound { positions, span: start });
        }
        self.check_reserved(start);
        loop {
            match self.kind(0) {
                TokenKind::Ident => self.letters(&mut positions)?,
                _ => positions.push(self.bracket()?),
            }
            if !self.goes_on(output) {
                break;
            }
        }
        Ok(Compound { positions, span: self.since(start) })
    }

    /// `.` is a whole compound index.
    fn check_rank_zero(&mut self) {
        let token = self.peek(0);
        let part = matches!(token.kind, TokenKind::Ident | TokenKind::Punct('[' | '{'));
        if part && token.touches_previous {
            let message = "`.` is an index of rank 0 here, and nothing belongs to it";
            let error = codes::RANK_ZERO_PART.error(self.behind_token(), message);
            self.error(error.with_hint("to chain, write the output's index first: `+i~. . f`"));
        }
    }

    fn behind_token(&self) -> Span {
        self.previous().map_or(self.behind(), |t| t.span)
    }

    /// `I` is no index.
    fn check_reserved(&mut self, span: Span) {
        if self.text(span) == "I" && !self.peek(1).touches_part() {
            let error = codes::IDENTITY_AS_INDEX.error(span, "`I` is the identity, not an index");
            self.error(error.with_hint("choose another letter"));
        }
    }

    /// Returns true if another part of the compound index follows; reports one that does not touch.
    fn goes_on(&mut self, output: bool) -> bool {
        let token = self.peek(0);
        let part = match token.kind {
            TokenKind::Punct('[' | '{') => true,
            TokenKind::Ident => !self.is_binding(0) && (token.touches_previous || !output),
            _ => false,
        };
        if !part || token.after_newline {
            return false;
        }
        if token.kind == TokenKind::Punct('{') {
            let error = codes::STRAY_BRACES.error(token.span, "braces follow a letter");
            self.error(error.with_hint("`i{10}` gives the letter `i` the extent 10"));
            self.skip_braces();
            return self.goes_on(output);
        }
        self.check_touches(token);
        true
    }

    fn check_touches(&mut self, token: Token) {
        if !token.touches_previous {
            let message = "the parts of a compound index touch";
            let gap = Span::new(self.behind().start, token.span.start);
            let error = codes::PARTS_APART.error(token.span, message);
            self.error(error.with_fix("remove the space", gap, ""));
        }
    }

    /// The letters of an identifier, the last with the braces that follow.
    fn letters(&mut self, positions: &mut Vec<Position>) -> Parsed<()> {
        let token = self.next();
        let text = self.text(token.span);
        self.check_letters(text, token.span);
        positions.reserve(text.len().min(text.chars().count()));
        for (offset, name) in text.char_indices().filter(|(_, c)| c.is_alphabetic()) {
            let start = token.span.start + offset as u32;
            let span = Span::new(start, start + name.len_utf8() as u32);
            positions.push(Position::Letter(Letter { name, extent: None, span }));
        }
        if self.is(0, '{') && !self.peek(0).after_newline {
            self.check_touches(self.peek(0));
            let extent = self.extent()?;
            if let Some(Position::Letter(letter)) = positions.last_mut() {
                letter.span = self.since(letter.span);
                letter.extent = extent;
            }
        }
        Ok(())
    }

    fn check_letters(&mut self, text: &str, span: Span) {
        let Some((offset, c)) = text.char_indices().find(|(_, c)| !c.is_alphabetic()) else {
            return;
        };
        let start = span.start + offset as u32;
        let at = Span::new(start, start + c.len_utf8() as u32);
        let error = codes::NOT_A_LETTER.error(at, format!("`{c}` is not a letter")).with_hint(
            "every letter of a compound index is an index; arithmetic stands in brackets: `[2*i]`",
        );
        self.error(error);
    }

    /// `{10}`, `{n}`; none after reporting what else it is.
    pub(super) fn extent(&mut self) -> Parsed<Option<Extent>> {
        let open = self.next().span;
        let token = self.peek(0);
        let extent = match token.kind {
            TokenKind::Number | TokenKind::BadNumber => {
                self.next();
                self.whole(token).map(|n| Extent::Number(n, token.span))
            }
            TokenKind::Ident => {
                self.next();
                Some(Extent::Name(self.name(token.span)))
            }
            _ => {
                let found = self.describe(token);
                let message = format!("expected an extent, found {found}");
                let error = codes::NO_EXTENT.error(token.span, message);
                self.error(
                    error.with_hint("braces hold a whole number or a name: `i{10}`, `i{n}`"),
                );
                self.skip_to_brace(open)?;
                return Ok(None);
            }
        };
        if self.eat('}').is_some() {
            return Ok(extent);
        }
        let token = self.peek(0);
        if !matches!(token.kind, TokenKind::End) {
            let message = format!("expected `}}`, found {}", self.describe(token));
            let error =
                codes::EXPECTED_BRACE.error(token.span, message).with_related(open, "opened here");
            self.error(error.with_hint("an extent is one number or one name"));
        }
        self.skip_to_brace(open)?;
        Ok(extent)
    }

    /// `{j}` as an operand.
    pub(super) fn extent_of_letter(&mut self) -> Parsed<Operand> {
        let start = self.peek(0).span;
        let extent = self.extent()?;
        let span = self.since(start);
        let error = match extent {
            Some(Extent::Name(name)) => {
                let mut chars = name.text.chars();
                match (chars.next().filter(|c| c.is_alphabetic()), chars.next()) {
                    (Some(letter), None) => return Ok(Operand::Extent(letter, span)),
                    _ => codes::NOT_ONE_LETTER
                        .error(name.span, format!("`{}` is not one letter", shorten(&name.text)))
                        .with_hint("`{j}` is the extent of the letter `j`, as a number"),
                }
            }
            Some(Extent::Number(n, _)) => codes::NOT_ONE_LETTER
                .error(span, "a number stands without braces")
                .with_fix(format!("write `{n}`"), span, n.to_string()),
            // Reported already.
            None => return Err(super::Abandon),
        };
        self.fail(error)
    }

    fn skip_braces(&mut self) {
        let open = self.next().span;
        let _ = self.skip_to_brace(open);
    }

    /// Skips to the `}` of this line.
    fn skip_to_brace(&mut self, open: Span) -> Parsed<()> {
        let errors = self.report.errors();
        loop {
            let token = self.peek(0);
            if self.eat('}').is_some() {
                return Ok(());
            }
            if token.kind == TokenKind::End && errors == 0 {
                return self.fail(codes::NOT_CLOSED.error(open, "`{` is never closed"));
            }
            if token.after_newline || token.kind == TokenKind::Punct(';') {
                return Err(super::Abandon);
            }
            self.next();
        }
    }
}

impl Token {
    /// Returns true if the token can be the next part of a compound index.
    fn touches_part(self) -> bool {
        self.touches_previous && matches!(self.kind, TokenKind::Punct('[' | '{'))
    }
}
