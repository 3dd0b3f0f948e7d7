//! Statements and their assigning symbols.

use super::super::ast::{Access, Assign, AssignOp, Declared, Name, Number, Statement, Value};
use super::super::{codes, words};
use super::{EtParser, Parsed};
use crate::{Diagnostic, Span, TokenKind};

/// Symbols of other languages for assignments: the symbol, the one of this language, its meaning and a hint.
const MISSPELLED: [(&str, &str, Assign, &str); 9] = [
    ("==", "=", set(AssignOp::Add), "one `=` assigns; `EQ(x, y)` compares"),
    (":=", "=", set(AssignOp::Add), "`=` assigns"),
    ("-=", "+=", add_to(AssignOp::Add), "`+= -(…)` subtracts"),
    ("/=", "*=", add_to(AssignOp::Mul), "`*= 1 / (…)` divides"),
    (">=", "max=", add_to(AssignOp::Max), "`max=` takes the maximum"),
    ("<=", "min=", add_to(AssignOp::Min), "`min=` takes the minimum"),
    ("&=", "and=", add_to(AssignOp::And), "`and=` takes both"),
    ("|=", "or=", add_to(AssignOp::Or), "`or=` takes either"),
    ("<-", "=", set(AssignOp::Add), "`=` assigns"),
];

const fn set(op: AssignOp) -> Assign {
    Assign { op, accumulate: false }
}

const fn add_to(op: AssignOp) -> Assign {
    Assign { op, accumulate: true }
}

impl EtParser<'_> {
    /// `left = value`.
    pub(super) fn statement(&mut self) -> Parsed<()> {
        let left = self.left()?;
        let (assign, symbol) = self.assignment()?;
        let value = self.sum()?;
        let span = self.since(left.span);
        let declared = None;
        self.program.statements.push(Statement { left, assign, symbol, value, declared, span });
        Ok(())
    }

    /// Returns true if `INPUT` and a name stand here.
    pub(super) fn at_input(&self) -> bool {
        let name = self.kind(1) == TokenKind::Ident && !self.peek(1).after_newline;
        self.word() == Some("INPUT") && name
    }

    /// `INPUT x[b,d]: F32, y[d]`.
    pub(super) fn input(&mut self) -> Parsed<()> {
        let word = self.next().span;
        if let Some(header) = self.header() {
            let error = codes::INPUT_IN_LOOP.error(word, "an input is declared before the loop");
            return self.fail(error.with_related(header, "the loop"));
        }
        loop {
            let left = self.left()?;
            let element = match self.eat(':') {
                Some(_) => Some(self.element_type()?),
                None => None,
            };
            let span = self.since(left.span);
            // The value stands for random numbers, which are never drawn.
            let bound = |n| Box::new(Value::Number(Number::Integer(n), span));
            let value = Value::Random { lo: bound(0), hi: bound(1), float: true, span };
            let (assign, symbol) = (set(AssignOp::Add), word);
            let declared = Some(Declared { element });
            let statement = Statement { left, assign, symbol, value, declared, span };
            self.program.statements.push(statement);
            if self.eat(',').is_none() {
                return Ok(());
            }
        }
    }

    /// The name of an element type.
    fn element_type(&mut self) -> Parsed<Name> {
        let token = self.peek(0);
        if token.kind != TokenKind::Ident || token.after_newline {
            let message = format!("expected an element type, found {}", self.describe(token));
            let error = codes::EXPECTED_NAME.error(token.span, message);
            return self.fail(error.with_hint("an input with a type is `INPUT x[i]: F32`"));
        }
        self.next();
        Ok(self.name(token.span))
    }

    /// `array[index, …]`; brackets may be missing, which is reported.
    fn left(&mut self) -> Parsed<Access> {
        if self.is(1, '[') {
            return self.access(false);
        }
        let array = self.identifier("an array")?;
        let message = format!("`{}` is assigned without brackets", self.shown(array.span));
        let error = codes::NO_BRACKETS.error(array.span, message);
        let behind = self.behind();
        self.error(error.with_fix("an array of rank 0 is `x[]`", behind, "[]"));
        let span = array.span;
        Ok(Access { array, indices: Vec::new(), span })
    }

    /// Returns true if an assigning symbol, or one that resembles it, stands there.
    pub(super) fn at_assignment(&self, ahead: usize) -> bool {
        let symbols = ["=", "+=", "*="].iter();
        let all = symbols.copied().chain(MISSPELLED.iter().map(|m| m.0));
        let word = self.kind(ahead) == TokenKind::Ident && self.is(ahead + 1, '=');
        word && self.assign_word(ahead).is_some() || all.clone().any(|s| self.is_symbol(ahead, s))
    }

    /// The operator of a word there: `max`, also `MAX`.
    fn assign_word(&self, ahead: usize) -> Option<AssignOp> {
        let token = self.peek(ahead);
        if token.kind != TokenKind::Ident {
            return None;
        }
        words::assign_word(&self.text(token.span).to_ascii_lowercase())
    }

    /// Takes an assigning symbol.
    fn assignment(&mut self) -> Parsed<(Assign, Span)> {
        let start = self.peek(0).span;
        let assign = match self.misspelled().or_else(|| self.symbol()) {
            Some(assign) => assign,
            None => {
                let error = self.no_assignment();
                return self.fail(error);
            }
        };
        Ok((assign, self.since(start)))
    }

    /// A symbol that is none, but may stand for one.
    fn misspelled(&mut self) -> Option<Assign> {
        let found = MISSPELLED.iter().find(|m| self.is_symbol(0, m.0));
        let &(written, meant, assign, hint) = found?;
        let span = self.take_symbol(written);
        self.misspelling(span, hint, meant);
        Some(assign)
    }

    fn misspelling(&mut self, span: Span, hint: &str, meant: &str) {
        let message = format!("`{}` is no assignment", self.shown(span));
        self.error(codes::ASSIGN_SPELLING.error(span, message).with_fix(hint, span, meant));
    }

    fn symbol(&mut self) -> Option<Assign> {
        let start = self.peek(0).span;
        for (symbol, op) in [("+", AssignOp::Add), ("*", AssignOp::Mul)] {
            if self.is_symbol(0, symbol) && self.is(1, '=') {
                self.next();
                return Some(self.accumulating(op, start, &format!("{symbol}=")));
            }
        }
        if self.is(1, '=') {
            let op = self.assign_word(0)?;
            let word = self.next().span;
            let word = self.text(word).to_ascii_lowercase();
            return Some(self.accumulating(op, start, &format!("{word}=")));
        }
        self.eat('=').map(|_| set(self.setting()))
    }

    /// Takes the `=` of an accumulating symbol that starts at `start` and should be `symbol`.
    fn accumulating(&mut self, op: AssignOp, start: Span, symbol: &str) -> Assign {
        self.next();
        let span = self.since(start);
        if self.text(span) != symbol {
            self.misspelling(span, "the symbol is written in one", symbol);
        }
        add_to(op)
    }

    /// Parses the operation behind `=` in an assigning symbol.
    fn setting(&mut self) -> AssignOp {
        let start = self.previous().map_or_else(Span::default, |t| t.span);
        if self.eat('*').is_some() {
            let span = self.since(start);
            if self.text(span) != "=*" {
                self.misspelling(span, "the symbol is written in one", "=*");
            }
            return AssignOp::Mul;
        }
        let word = self.word().and_then(words::assign_word);
        match word.filter(|_| self.peek(0).touches_previous && !self.is_used(1)) {
            Some(op) => {
                self.next();
                op
            }
            None => AssignOp::Add,
        }
    }

    /// Returns true if the tokens there make the name before them that of an array or a function.
    fn is_used(&self, ahead: usize) -> bool {
        let open = matches!(self.kind(ahead), TokenKind::Punct('[' | '(' | '.'));
        open && self.peek(ahead).touches_previous
    }

    fn no_assignment(&self) -> Diagnostic {
        let (found, span) = self.found();
        let message = format!("expected `=` or another assignment, found {found}");
        let error = codes::EXPECTED_ASSIGNMENT.error(span, message);
        let error = error.with_hint("a statement is `array[index, …] = value`");
        match self.kind(0) {
            TokenKind::Punct('~') => error.with_hint("`~` is of the language i"),
            TokenKind::Punct(',') => error.with_hint("outputs are names without brackets"),
            _ => error,
        }
    }

    /// Text for a message.
    pub(super) fn shown(&self, span: Span) -> String {
        crate::report::shorten(self.text(span))
    }
}
