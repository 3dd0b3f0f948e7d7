//! The grammar of i, over abstract tokens.
//!
//! Errors inside an item give the item up and the parse goes on with the next; errors that leave
//! no doubt about what was meant are reported and the parse goes on where it is.

mod arith;
mod component;
mod compound;
mod einsum;
mod index;
mod loops;
mod number;
mod program;
mod scalar;
mod schedule;

pub(crate) use component::precedence;
pub use index::MAX_FUNCTIONS;

use crate::ast::{LoopForm, Node, NodeId, NodeKind, Program};
use crate::cursor::{Abandon, Cursor, Parsed};
use crate::lexer::lex;
use crate::{Diagnostic, Function, Span, Token, TokenKind, codes};
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

/// Hint for parentheses that nest too deep.
const NAME_IT: &str = "name a part of it";

/// A program has at most this many index expressions, names and combinators.
pub const MAX_NODES: usize = 1 << 21;

/// Parses a program text.
///
/// Never fails: a part that does not parse is a [`NodeKind::Error`], and reported in diagnostics, at most 100 errors
/// and 100 warnings, and the number of further ones. The program is meaningful if no diagnostic is an error.
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
        cursor: Cursor::new(source, tokens),
        program: Program::default(),
        names: HashMap::new(),
        scheduled: false,
        functions: 0,
        loop_groups: Vec::new(),
    };
    parser.program();
    (parser.program, parser.cursor.finish())
}

struct Parser<'s> {
    cursor: Cursor<'s>,
    program: Program,
    /// Where each binding's name stands.
    names: HashMap<&'s str, Span>,
    /// A warning about schedules was reported.
    scheduled: bool,
    /// Number of functions in the current index expression.
    functions: usize,
    /// Depths of the open groups of loops, in which a number may follow a comma.
    loop_groups: Vec<usize>,
}

impl<'s> Deref for Parser<'s> {
    type Target = Cursor<'s>;

    fn deref(&self) -> &Cursor<'s> {
        &self.cursor
    }
}

impl<'s> DerefMut for Parser<'s> {
    fn deref_mut(&mut self) -> &mut Cursor<'s> {
        &mut self.cursor
    }
}

/// Lookahead.
impl Parser<'_> {
    /// Returns true if the token there is an identifier with a `:` behind it.
    fn is_binding(&self, ahead: usize) -> bool {
        self.kind(ahead) == TokenKind::Ident && self.is(ahead + 1, ':')
    }

    /// Returns true if `->` stands there.
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

    /// Returns true if a function of two operands there continues the operand before it.
    fn is_infix(&self, ahead: usize) -> bool {
        if self.is_arrow(ahead) {
            return false;
        }
        match self.at_name(ahead) {
            None => self.symbol(ahead).is_some() || self.is(ahead, '@'),
            Some(name) if number::constant(name).is_some() => false,
            Some(name) if LoopForm::from_name(name).is_some() => false,
            Some(name) => {
                let unary = Function::from_name(name).is_some_and(|f| f.operands().1 != 2);
                !(unary && self.peek(ahead).after_newline)
            }
        }
    }
}

/// Nodes.
impl Parser<'_> {
    fn node(&mut self, kind: NodeKind, span: Span) -> Parsed<NodeId> {
        if self.program.nodes.len() >= MAX_NODES {
            self.at = self.tokens.len();
            let message = format!("the program has more than {MAX_NODES} expressions");
            return self.fail(codes::TOO_MANY_EXPRESSIONS.error(span, message));
        }
        self.program.nodes.push(Node { kind, span });
        Ok(NodeId(self.program.nodes.len() as u32 - 1))
    }
}
