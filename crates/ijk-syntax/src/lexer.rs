//! From program text to tokens.

use crate::token::PUNCTUATION;
use crate::{Span, Token, TokenKind};

/// The tokens of a program text. Every character that is not white space or in a comment belongs
/// to exactly one token.
///
/// Texts of 4 GiB and more have no tokens: spans could not point into them.
pub fn lex(source: &str) -> Vec<Token> {
    lex_with(source, token)
}

/// The same where `'…'` and `"…"` are tokens, which may hold `#`.
pub(crate) fn lex_quoted(source: &str) -> Vec<Token> {
    lex_with(source, token_or_quoted)
}

/// Reads the token at the start of a text whose first character is given: its kind and length.
type ReadToken = fn(&str, char) -> (TokenKind, usize);

fn lex_with(source: &str, read: ReadToken) -> Vec<Token> {
    let (at, tokens) = (0, Vec::new());
    let mut lexer = Lexer { source, read, at, touches: false, newline: true, tokens };
    if u32::try_from(source.len()).is_ok() {
        while lexer.step() {}
    }
    lexer.tokens
}

/// Length in bytes of the number at the start of `text`: `digits [. digits] [exponent]`; 0 where
/// there is none.
pub(crate) fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let mut end = digits(0);
    if end == 0 {
        return 0;
    }
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    end
}

/// Returns true if an identifier may start with `c`.
fn starts_identifier(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Returns true if an identifier may continue with `c`.
fn continues_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

struct Lexer<'s> {
    source: &'s str,
    read: ReadToken,
    at: usize,
    touches: bool,
    newline: bool,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    /// Reads one token, comment or character of white space; false at the end.
    fn step(&mut self) -> bool {
        let rest = &self.source[self.at..];
        let Some(first) = rest.chars().next() else { return false };
        match first {
            '\n' => self.skip(1, true),
            '#' => self.skip(rest.find('\n').unwrap_or(rest.len()), false),
            c if c.is_whitespace() => self.skip(c.len_utf8(), false),
            _ => {
                let (kind, length) = (self.read)(rest, first);
                self.push(kind, length);
            }
        }
        true
    }

    fn skip(&mut self, bytes: usize, newline: bool) {
        self.at += bytes;
        self.touches = false;
        self.newline |= newline;
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let span = Span::new(self.at as u32, (self.at + length) as u32);
        self.tokens.push(Token {
            kind,
            span,
            touches_previous: self.touches,
            after_newline: self.newline,
        });
        self.at += length;
        (self.touches, self.newline) = (true, false);
    }
}

/// The token at the start of `rest`, whose first character is given, and its length in bytes.
fn token(rest: &str, first: char) -> (TokenKind, usize) {
    let run = |keep: fn(char) -> bool| rest.find(|c| !keep(c)).unwrap_or(rest.len());
    match first {
        c if starts_identifier(c) => (TokenKind::Ident, run(continues_identifier)),
        '0'..='9' => number(rest),
        '>' if rest.starts_with(">>") => (TokenKind::Chain, 2),
        '<' if rest.starts_with("<<") => (TokenKind::Compose, 2),
        c if PUNCTUATION.contains(c) => (TokenKind::Punct(c), 1),
        _ => (TokenKind::Unknown, run(is_unknown).max(first.len_utf8())),
    }
}

/// The same where text in quotes is a token.
fn token_or_quoted(rest: &str, first: char) -> (TokenKind, usize) {
    const QUOTES: [char; 2] = ['\'', '"'];
    if QUOTES.contains(&first) {
        return quoted(rest, first);
    }
    match token(rest, first) {
        (TokenKind::Unknown, length) => {
            (TokenKind::Unknown, rest[..length].find(QUOTES).unwrap_or(length))
        }
        token => token,
    }
}

/// From a quote to the next like it that no `\` escapes, on the same line.
fn quoted(rest: &str, quote: char) -> (TokenKind, usize) {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return (TokenKind::BadQuoted, at),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return (TokenKind::Quoted, at + 1),
            _ => {}
        }
    }
    (TokenKind::BadQuoted, rest.len())
}

/// A number, with what touches it and spoils it.
fn number(rest: &str) -> (TokenKind, usize) {
    let end = number_length(rest);
    let tail = &rest[end..];
    let spoiled = tail.find(|c| !continues_identifier(c)).unwrap_or(tail.len());
    match spoiled {
        0 => (TokenKind::Number, end),
        _ => (TokenKind::BadNumber, end + spoiled),
    }
}

/// Returns true if no token can start with `c`.
fn is_unknown(c: char) -> bool {
    !(c.is_whitespace() || c == '#' || continues_identifier(c) || PUNCTUATION.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(TokenKind, &str)> {
        let text = |t: &Token| &source[t.span.start as usize..t.span.end as usize];
        lex(source).iter().map(|t| (t.kind, text(t))).collect()
    }

    #[test]
    fn numbers_stop_before_a_chain() {
        use TokenKind::{Ident, Number, Punct};
        assert_eq!(
            kinds("2.5e-3 2.a 1e"),
            [
                (Number, "2.5e-3"),
                (Number, "2"),
                (Punct('.'), "."),
                (Ident, "a"),
                (TokenKind::BadNumber, "1e")
            ]
        );
    }

    #[test]
    fn double_angles_come_first() {
        use TokenKind::{Chain, Compose, Punct};
        assert_eq!(kinds(">>> <<"), [(Chain, ">>"), (Punct('>'), ">"), (Compose, "<<")]);
    }

    #[test]
    fn neighbours_are_recorded() {
        let tokens = lex("a[i] # words\n{n}");
        let touches: Vec<bool> = tokens.iter().map(|t| t.touches_previous).collect();
        assert_eq!(touches, [false, true, true, true, false, true, true]);
        let lines: Vec<bool> = tokens.iter().map(|t| t.after_newline).collect();
        assert_eq!(lines, [true, false, false, false, true, false, false]);
    }

    #[test]
    fn quotes_hold_anything_of_their_line() {
        let text = |t: &Token| (t.kind, t.span.start, t.span.end);
        let kinds = |source: &str| lex_quoted(source).iter().map(text).collect::<Vec<_>>();
        use TokenKind::{BadQuoted, Quoted, Unknown};
        assert_eq!(kinds(r##"'#(' "it's""##), [(Quoted, 0, 4), (Quoted, 5, 11)]);
        assert_eq!(kinds(r"'a\'b'"), [(Quoted, 0, 6)]);
        assert_eq!(kinds("'a\\\n'"), [(BadQuoted, 0, 3), (BadQuoted, 4, 5)]);
        assert_eq!(kinds("?!'a'"), [(Unknown, 0, 2), (Quoted, 2, 5)]);
    }

    #[test]
    fn every_character_has_a_token() {
        assert_eq!(
            kinds("é½²¿λ²"),
            [(TokenKind::Ident, "é½²"), (TokenKind::Unknown, "¿"), (TokenKind::Ident, "λ²")]
        );
        assert_eq!(kinds("²"), [(TokenKind::Unknown, "²")]);
    }
}
