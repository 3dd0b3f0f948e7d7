//! From Rust's token trees to the grammar's tokens.
//!
//! The grammar's spans are bytes of a text; here it is a virtual one, which repeats the tokens with
//! the lines and gaps they have in the Rust source, and so reads like it in messages.

use ijk_syntax::{PUNCTUATION, Span as Bytes, Token, TokenKind};
use proc_macro2::{Delimiter, LineColumn, Span, TokenStream, TokenTree};

/// White space repeated before a token at most; the source may be indented or padded oddly.
const MOST_SPACES: usize = 80;

/// Tokens for the grammar, the text they stand in, and where each stands in the Rust source.
#[derive(Default)]
pub struct Tokens {
    /// The virtual text.
    pub source: String,
    /// The tokens, whose spans are bytes of it.
    pub tokens: Vec<Token>,
    spans: Vec<Span>,
    margin: Option<usize>,
    end: Option<LineColumn>,
}

impl Tokens {
    /// Of a macro's input.
    pub fn new(stream: TokenStream) -> Self {
        let mut tokens = Self::default();
        tokens.stream(stream);
        tokens
    }

    /// The first and the last Rust token that bytes of the text come from; of an empty place, the
    /// token before or behind it.
    pub fn rust(&self, bytes: Bytes) -> Option<(Span, Span)> {
        let first = self.tokens.partition_point(|t| t.span.end <= bytes.start);
        let behind = self.tokens.partition_point(|t| t.span.start < bytes.end);
        let first = first.min(self.tokens.len().checked_sub(1)?);
        let last = behind.max(first + 1) - 1;
        Some((self.spans[first], self.spans[last]))
    }

    fn stream(&mut self, stream: TokenStream) {
        for tree in stream {
            match tree {
                TokenTree::Ident(ident) => {
                    let text = ident.to_string();
                    let raw = text.starts_with("r#");
                    let kind = if raw { TokenKind::Unknown } else { TokenKind::Ident };
                    self.push(kind, &text, ident.span());
                }
                TokenTree::Literal(literal) => self.literal(&literal.to_string(), literal.span()),
                TokenTree::Punct(punct) => self.punct(punct.as_char(), punct.span()),
                TokenTree::Group(group) => match delimiters(group.delimiter()) {
                    Some((open, close)) => {
                        self.punct(open, group.span_open());
                        self.stream(group.stream());
                        self.punct(close, group.span_close());
                    }
                    None => self.stream(group.stream()),
                },
            }
        }
    }

    fn punct(&mut self, c: char, span: Span) {
        let known = PUNCTUATION.contains(c);
        let kind = if known { TokenKind::Punct(c) } else { TokenKind::Unknown };
        self.push(kind, c.encode_utf8(&mut [0; 4]), span);
        self.join_angles();
    }

    /// Makes one token of two angles that touch.
    fn join_angles(&mut self) {
        let [.., left, right] = &mut self.tokens[..] else { return };
        let joined = match (left.kind, right.kind) {
            (TokenKind::Punct('>'), TokenKind::Punct('>')) => TokenKind::Chain,
            (TokenKind::Punct('<'), TokenKind::Punct('<')) => TokenKind::Compose,
            _ => return,
        };
        if right.touches_previous {
            left.kind = joined;
            left.span = left.span.to(right.span);
            self.tokens.pop();
            self.spans.pop();
        }
    }

    /// Rust reads `2.` as one literal and lets a type follow its numbers.
    fn literal(&mut self, text: &str, span: Span) {
        let (sign, number) = match text.strip_prefix('-') {
            Some(number) => ("-", number),
            None => ("", text),
        };
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            return self.push(TokenKind::Unknown, text, span);
        }
        let whole = number.strip_suffix('.').unwrap_or(number);
        let lexed = ijk_syntax::lex(whole);
        let kind = if lexed.len() == 1 { lexed[0].kind } else { TokenKind::BadNumber };
        let mut at = span.start();
        for (kind, part) in [
            (TokenKind::Punct('-'), sign),
            (kind, whole),
            (TokenKind::Punct('.'), &number[whole.len()..]),
        ] {
            if !part.is_empty() {
                let from = at;
                at.column += part.chars().count();
                self.push_at(kind, part, span, from, at);
            }
        }
    }

    fn push(&mut self, kind: TokenKind, text: &str, span: Span) {
        self.push_at(kind, text, span, span.start(), span.end());
    }

    fn push_at(
        &mut self,
        kind: TokenKind,
        text: &str,
        rust: Span,
        from: LineColumn,
        to: LineColumn,
    ) {
        let touches = self.end.is_some_and(|end| end == from);
        let newline = self.end.is_none_or(|end| end.line < from.line);
        if self.end.is_none() {
            self.margin = Some(from.column);
        } else if newline {
            let indent = from.column.saturating_sub(self.margin.unwrap_or(0));
            self.source.push('\n');
            self.source.push_str(&" ".repeat(indent.min(MOST_SPACES)));
        } else if !touches {
            let gap = self.end.map_or(0, |end| from.column.saturating_sub(end.column));
            self.source.push_str(&" ".repeat(gap.clamp(1, MOST_SPACES)));
        }
        let start = self.source.len() as u32;
        self.source.push_str(text);
        let span = Bytes::new(start, self.source.len() as u32);
        self.tokens.push(Token { kind, span, touches_previous: touches, after_newline: newline });
        self.spans.push(rust);
        self.end = Some(to);
    }
}

fn delimiters(delimiter: Delimiter) -> Option<(char, char)> {
    match delimiter {
        Delimiter::Parenthesis => Some(('(', ')')),
        Delimiter::Bracket => Some(('[', ']')),
        Delimiter::Brace => Some(('{', '}')),
        Delimiter::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(source: &str) -> String {
        let tokens = Tokens::new(source.parse().expect("tokens of Rust"));
        let (program, diagnostics) = ijk_syntax::parse_tokens(&tokens.source, &tokens.tokens);
        assert!(diagnostics.is_empty(), "{source}: {diagnostics:?}");
        program.to_string()
    }

    #[test]
    fn text_and_tokens_give_the_same_tree() {
        for source in [
            "m: ik*kj~ijk\na: +ijk~ij\nm.a",
            "(I & +i~.) . i/.~i",
            "[2*i+k]j{3}*k~ikj >> +ikj~j",
            "ij>-1~ij << ij~ji",
            "@where(ij, ij, -1.5e3)~ij",
            "~f . ~~(g | h)",
            "+i~..i~i",
            "i*2.5~i . i$2~i",
            "b: a;\n-ij~ij",
        ] {
            assert_eq!(printed(source), ijk_syntax::parse(source).0.to_string(), "{source}");
        }
    }

    #[test]
    fn schedules_are_skipped() {
        for source in ["ik*kj~ijk | i:16,j:16", "ik*kj~ijk | i:16,j:2:8 | kij", "(i~i | i:4) . j~j"]
        {
            let tokens = Tokens::new(source.parse().expect("tokens of Rust"));
            let (program, diagnostics) = ijk_syntax::parse_tokens(&tokens.source, &tokens.tokens);
            assert_eq!(program.to_string(), ijk_syntax::parse(source).0.to_string(), "{source}");
            let names: Vec<_> = diagnostics.iter().filter_map(|d| d.code).collect();
            assert_eq!(names.iter().map(|code| code.name()).collect::<Vec<_>>(), ["schedule"]);
        }
    }

    #[test]
    fn a_point_behind_a_number_is_a_chain() {
        let tokens = Tokens::new("i~i 2.".parse().expect("tokens of Rust"));
        let kinds: Vec<_> = tokens.tokens.iter().map(|t| t.kind).collect();
        assert_eq!(kinds[3..], [TokenKind::Number, TokenKind::Punct('.')]);
        assert!(tokens.tokens[4].touches_previous);
    }

    #[test]
    fn suffixes_spoil_numbers() {
        let tokens = Tokens::new("2i 1_000 0x10 1f32 \"text\" 'a'".parse().expect("tokens"));
        let kinds: Vec<_> = tokens.tokens.iter().map(|t| t.kind).collect();
        assert_eq!(kinds[..4], [TokenKind::BadNumber; 4]);
        assert_eq!(kinds[4..], [TokenKind::Unknown; 2]);
    }
}
