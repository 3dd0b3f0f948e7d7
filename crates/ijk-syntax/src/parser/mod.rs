//! The grammar of i, over abstract tokens.
//!
//! Errors inside an item give the item up and the parse goes on with the next; errors that leave
//! no doubt about what was meant are reported and the parse goes on where it is.

mod arith;
mod component;
mod compound;
mod einsum;
mod index;
mod number;
mod program;
mod report;

pub(crate) use component::precedence;

use crate::ast::{Name, Node, NodeId, NodeKind, Program};
use crate::lexer::lex;
use crate::{Diagnostic, Function, Span, Token, TokenKind, codes};
use report::Report;
use std::collections::HashMap;

/// Parentheses nest this deep, around components and in index arithmetic.
pub const MAX_NESTING: usize = 256;

/// A program has at most this many index expressions, names and combinators.
pub const MAX_NODES: usize = 1 << 21;

/// Parses a program text.
///
/// Never fails: what does not parse is a [`NodeKind::Error`], and diagnostics say what is wrong,
/// at most 100 errors and 100 warnings, then how many more. The program means something if no
/// diagnostic is an error.
///
/// ```
/// let (program, diagnostics) = ijk_syntax::parse("m: ik*kj~ijk  a: +ijk~ij  m.a");
/// assert_eq!(program.items.len(), 3);
/// assert!(diagnostics.is_empty());
/// ```
pub fn parse(source: &str) -> (Program, Vec<Diagnostic>) {
    if u32::try_from(source.len()).is_err() {
        let error = codes::TOO_LONG.error(Span::default(), "the program is longer than 4 GiB");
        return (Program::default(), vec![error]);
    }
    parse_tokens(source, &lex(source))
}

/// Parses tokens, whose spans point into `source`; otherwise like [`parse`].
///
/// # Panics
/// If a token's span is no part of `source`.
pub fn parse_tokens(source: &str, tokens: &[Token]) -> (Program, Vec<Diagnostic>) {
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        depth: 0,
        program: Program::default(),
        names: HashMap::new(),
        report: Report::default(),
    };
    parser.program();
    (parser.program, parser.report.finish())
}

/// The current item is given up; a diagnostic says why.
struct Abandon;

type Parsed<T> = Result<T, Abandon>;

struct Parser<'s> {
    source: &'s str,
    tokens: &'s [Token],
    at: usize,
    depth: usize,
    program: Program,
    /// Where each binding's name stands.
    names: HashMap<&'s str, Span>,
    report: Report,
}

/// Tokens.
impl<'s> Parser<'s> {
    /// The token `ahead` of the current one.
    fn peek(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).copied().unwrap_or_else(|| self.end())
    }

    /// The token after the last.
    fn end(&self) -> Token {
        let end = self.source.len() as u32;
        Token {
            kind: TokenKind::End,
            span: Span::new(end, end),
            touches_previous: false,
            after_newline: true,
        }
    }

    fn kind(&self, ahead: usize) -> TokenKind {
        self.peek(ahead).kind
    }

    fn is(&self, ahead: usize, punct: char) -> bool {
        self.kind(ahead) == TokenKind::Punct(punct)
    }

    /// Takes the current token.
    fn next(&mut self) -> Token {
        let token = self.peek(0);
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    /// Takes the current token if it is `punct`.
    fn eat(&mut self, punct: char) -> Option<Token> {
        self.is(0, punct).then(|| self.next())
    }

    /// The token taken last.
    fn previous(&self) -> Option<Token> {
        self.at.checked_sub(1).map(|i| self.tokens[i])
    }

    /// The empty place behind the token taken last.
    fn behind(&self) -> Span {
        let end = self.previous().map_or(0, |t| t.span.end);
        Span::new(end, end)
    }

    /// From `start` to the token taken last.
    fn since(&self, start: Span) -> Span {
        Span::new(start.start, self.behind().end.max(start.start))
    }

    fn text(&self, span: Span) -> &'s str {
        &self.source[span.start as usize..span.end as usize]
    }

    fn name(&self, span: Span) -> Name {
        Name { text: self.text(span).to_owned(), span }
    }

    /// How messages call a token.
    fn describe(&self, token: Token) -> String {
        match token.kind {
            TokenKind::End => "the end of the program".to_owned(),
            TokenKind::Number | TokenKind::BadNumber => {
                format!("the number `{}`", report::shorten(self.text(token.span)))
            }
            _ => format!("`{}`", report::shorten(self.text(token.span))),
        }
    }
}

/// What may stand where.
impl Parser<'_> {
    /// Whether the token there is an identifier with a `:` behind it.
    fn is_binding(&self, ahead: usize) -> bool {
        self.kind(ahead) == TokenKind::Ident && self.is(ahead + 1, ':')
    }

    /// Whether `->` stands there.
    fn is_arrow(&self, ahead: usize) -> bool {
        self.is(ahead, '-') && self.is(ahead + 1, '>') && self.peek(ahead + 1).touches_previous
    }

    /// The operator a symbol there stands for.
    fn symbol(&self, ahead: usize) -> Option<Function> {
        match self.kind(ahead) {
            TokenKind::Punct(c) => Function::from_symbol(c),
            _ => None,
        }
    }

    /// The name behind an `@` there.
    fn at_name(&self, ahead: usize) -> Option<&str> {
        let named = self.is(ahead, '@') && self.kind(ahead + 1) == TokenKind::Ident;
        named.then(|| self.text(self.peek(ahead + 1).span))
    }

    /// Whether a function of two operands there goes on with the operand before it.
    fn is_infix(&self, ahead: usize) -> bool {
        if self.is_arrow(ahead) {
            return false;
        }
        match self.at_name(ahead) {
            None => self.symbol(ahead).is_some() || self.is(ahead, '@'),
            Some(name) if number::constant(name).is_some() => false,
            Some(name) => {
                let unary = Function::from_name(name).is_some_and(|f| f.operands().1 != 2);
                !(unary && self.peek(ahead).after_newline)
            }
        }
    }
}

/// Nodes and reports.
impl Parser<'_> {
    fn node(&mut self, kind: NodeKind, span: Span) -> Parsed<NodeId> {
        let nodes = &mut self.program.nodes;
        if nodes.len() >= MAX_NODES {
            self.at = self.tokens.len();
            let message = format!("the program has more than {MAX_NODES} expressions");
            return self.fail(codes::TOO_MANY_EXPRESSIONS.error(span, message));
        }
        nodes.push(Node { kind, span });
        Ok(NodeId(nodes.len() as u32 - 1))
    }

    /// Reports what does not end the item.
    fn error(&mut self, diagnostic: Diagnostic) {
        self.report.push(diagnostic);
    }

    /// Reports what ends the item.
    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parsed<T> {
        self.report.push(diagnostic);
        Err(Abandon)
    }

    /// Counts an opened parenthesis.
    fn deepen(&mut self, open: Span) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("parentheses nest deeper than {MAX_NESTING}");
            return self.fail(codes::TOO_DEEP.error(open, message).with_hint("name a part of it"));
        }
        Ok(())
    }
}
