//! The grammar of Einsum Tuple.
//!
//! After an error with an obvious intention, parsing continues in place; after others the item is abandoned, and
//! parsing continues at the next line that starts one.

mod bound;
mod call;
mod index;
mod list;
mod literal;
mod loops;
mod name;
mod program;
mod recover;
mod statement;
mod term;
mod value;

use super::ast::Program;
use crate::cursor::{Abandon, Cursor, Parsed};
use crate::lexer::lex_quoted;
use crate::{Diagnostic, Span};
use loops::Block;
use program::Stage;
use std::ops::{Deref, DerefMut};

/// Parses the text of an Einsum Tuple program.
///
/// Never fails: an item that does not parse is omitted, and reported in diagnostics, at most 100 errors and the number
/// of further ones. The program is meaningful if no diagnostic is an error.
///
/// Items are recognised by their form: `name[` starts a statement, a dotted path or name with `(` the framework call,
/// `RANK(`/`DIMS(` a constraint, `LOOP` a loop, and a name alone or before `,` is an output. An item ends at a line break where no
/// parenthesis is open and the next line does not start with an operator: no item starts with one, so that such a line
/// continues the item before.
///
/// In `y[i] =max x[i]`, `=max` is an assignment because `max` touches `=` and no `[`, `(` or `.`
/// touches `max`. `'…'` and `"…"` are Python's, in the arguments of the call; `#` starts no comment
/// in them.
///
/// ```
/// let source = "y[i] = x[i+k] * w[k]\n\ny\n\nDIMS(k) IN [2,3]";
/// let (program, diagnostics) = ijk_syntax::et::parse(source);
/// assert!(diagnostics.is_empty());
/// assert_eq!(program.statements.len(), 1);
/// assert_eq!(program.outputs[0].text, "y");
/// assert_eq!(program.statements[0].to_string(), "y[i] = x[i + k] * w[k]");
/// ```
pub fn parse(source: &str) -> (Program, Vec<Diagnostic>) {
    if u32::try_from(source.len()).is_err() {
        let message = "the program is longer than 4 GiB";
        let error = crate::codes::TOO_LONG.error(Span::default(), message);
        return (Program::default(), vec![error]);
    }
    let tokens = lex_quoted(source);
    let cursor = Cursor::new(source, &tokens);
    let (program, stage, blocks) = (Program::default(), Stage::default(), Vec::new());
    let mut parser = EtParser { cursor, program, stage, blocks };
    parser.program();
    (parser.program, parser.cursor.finish())
}

struct EtParser<'s> {
    cursor: Cursor<'s>,
    program: Program,
    stage: Stage,
    /// The loops that are open, outermost first.
    blocks: Vec<Block>,
}

impl<'s> Deref for EtParser<'s> {
    type Target = Cursor<'s>;

    fn deref(&self) -> &Cursor<'s> {
        &self.cursor
    }
}

impl<'s> DerefMut for EtParser<'s> {
    fn deref_mut(&mut self) -> &mut Cursor<'s> {
        &mut self.cursor
    }
}

/// Symbols of several characters are tokens that touch.
impl EtParser<'_> {
    /// Returns true if `symbol` stands there, regardless of the token after it.
    fn is_symbol(&self, ahead: usize, symbol: &str) -> bool {
        let mut tokens = symbol.chars().enumerate();
        tokens.all(|(n, c)| {
            let token = self.peek(ahead + n);
            token.kind == crate::TokenKind::Punct(c) && (n == 0 || token.touches_previous)
        })
    }

    /// Takes `symbol`, which stands here.
    fn take_symbol(&mut self, symbol: &str) -> Span {
        let start = self.peek(0).span;
        for _ in symbol.chars() {
            self.next();
        }
        self.since(start)
    }

    /// Returns true if `open` stands there and belongs to the name before it: on the same line, except in parentheses.
    fn opens(&self, ahead: usize, open: char) -> bool {
        self.is(ahead, open) && (self.depth > 0 || !self.peek(ahead).after_newline)
    }
}
