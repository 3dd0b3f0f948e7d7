//! Programs: items and their sections.

use super::super::codes;
use super::{EtParser, Parsed};
use crate::codes::UNEXPECTED;
use crate::report::nearest;
use crate::{Diagnostic, Span, Token, TokenKind};

/// Forms of an item, for messages.
const FORMS: &str = "an item is `array[index, …] = value`, `LOOP index`, `function(…)`, an output's \
                     name, or `RANK(…)`/`DIMS(…)` with `=` or `IN`";

/// The sections of a program in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Statements,
    Call,
    Outputs,
    Constraints,
}

impl Section {
    /// Name of the section's items in messages.
    pub(super) fn item(self) -> &'static str {
        match self {
            Self::Statements => "a statement",
            Self::Call => "the call",
            Self::Outputs => "an output",
            Self::Constraints => "a constraint",
        }
    }

    /// Name of the section in messages.
    fn name(self) -> &'static str {
        match self {
            Self::Statements => "the statements",
            Self::Call => "the call",
            Self::Outputs => "the outputs",
            Self::Constraints => "the constraints",
        }
    }

    /// Hint at the section's first item.
    fn starts(self) -> String {
        let plural = if self == Self::Call { "s" } else { "" };
        format!("{} start{plural} here", self.name())
    }
}

/// Sections of the program seen so far.
#[derive(Default)]
pub(super) struct Stage {
    /// The last of them, and where its first item stands.
    last: Option<(Section, Span)>,
    /// Sections with a misplaced item, which is reported once.
    late: Vec<Section>,
    /// The call.
    call: Option<Span>,
}

impl EtParser<'_> {
    pub(super) fn program(&mut self) {
        while self.kind(0) != TokenKind::End {
            self.item();
        }
        self.close_blocks(0);
        // Loops whose statements did not parse, which is reported.
        self.program.loops.retain(|around| !around.body.is_empty());
        if self.program.statements.is_empty() && self.report.errors() == 0 {
            let hint = "a statement is `array[index, …] = value`";
            let end = self.end().span;
            let error = codes::EMPTY_PROGRAM.error(end, "the program has no statements");
            self.error(error.with_hint(hint));
        }
    }

    fn item(&mut self) {
        let from = self.at;
        self.depth = 0;
        self.indent();
        if self.whole_item().is_err() {
            self.recover(from);
        }
    }

    fn whole_item(&mut self) -> Parsed<()> {
        let Some(section) = self.form() else {
            let error = self.no_item();
            return self.fail(error);
        };
        self.enter(section);
        self.check_block(section)?;
        match section {
            Section::Statements if self.at_loop() => self.loop_header(),
            Section::Statements if self.at_input() => self.input(),
            Section::Statements => self.statement(),
            Section::Call => self.call_item(),
            Section::Outputs => self.outputs(),
            Section::Constraints => self.constraint(),
        }?;
        self.check_end(section)
    }

    /// Section that an item that starts here belongs to.
    pub(super) fn form(&self) -> Option<Section> {
        if self.kind(0) != TokenKind::Ident {
            return None;
        }
        if self.at_constraint() {
            return Some(Section::Constraints);
        }
        if self.at_loop() || self.at_input() {
            return Some(Section::Statements);
        }
        let behind = self.peek(1);
        match behind.kind {
            _ if behind.after_newline => Some(Section::Outputs),
            TokenKind::Punct('[') => Some(Section::Statements),
            TokenKind::Punct('(' | '.') => Some(Section::Call),
            TokenKind::Punct(',') => Some(Section::Outputs),
            _ if self.at_assignment(1) => Some(Section::Statements),
            TokenKind::Ident => Some(Section::Outputs),
            _ => None,
        }
    }

    /// Reports an item of a section that should have come before the last.
    fn enter(&mut self, section: Section) {
        let item = self.peek(0).span;
        let (last, start) = *self.stage.last.get_or_insert((section, item));
        if section > last {
            self.stage.last = Some((section, item));
        }
        if section < last && !self.stage.late.contains(&section) {
            self.stage.late.push(section);
            let message = format!("{} after {}", section.item(), last.name());
            let error = codes::SECTION_ORDER.error(item, message);
            let error = error.with_related(start, last.starts());
            self.error(
                error.with_hint(
                    "the order is: statements, the framework call, outputs, constraints",
                ),
            );
        }
    }

    /// The framework call.
    fn call_item(&mut self) -> Parsed<()> {
        let call = self.call()?;
        match self.stage.call {
            Some(first) => {
                let error = codes::SECOND_CALL.error(call.span, "a second call");
                let error = error.with_related(first, "the first: a program has one");
                self.error(error.with_hint("a program assigns to arrays, `y[i] = EXP(x[i])`"));
            }
            None => {
                self.stage.call = Some(call.span);
                self.program.call = Some(call);
            }
        }
        Ok(())
    }

    /// `name, name`.
    fn outputs(&mut self) -> Parsed<()> {
        loop {
            let name = self.identifier("an output")?;
            self.program.outputs.push(name);
            if self.eat(',').is_none() {
                return Ok(());
            }
        }
    }

    /// `RANK` or `DIMS`, where the call has a name like that, and its place.
    fn meant_quantity(&self) -> Option<(Span, &'static str)> {
        let [name] = &self.program.call.as_ref()?.path[..] else { return None };
        let near = nearest(&name.text.to_uppercase(), ["RANK", "DIMS"].into_iter())?;
        Some((name.span, near))
    }

    /// Fails if the line continues behind an item.
    fn check_end(&mut self, section: Section) -> Parsed<()> {
        let token = self.peek(0);
        if token.after_newline {
            return Ok(());
        }
        let message = format!("expected the end of the line, found {}", self.describe(token));
        let error = self.unopened(codes::EXPECTED_END.error(token.span, message));
        let error = match token.kind {
            TokenKind::Punct('=') if section == Section::Call => match self.meant_quantity() {
                Some((span, word)) => error.with_fix(format!("did you mean `{word}`?"), span, word),
                None => error.with_hint("an element of an array is `array[index, …]`"),
            },
            TokenKind::Punct('=') => error.with_hint("`EQ(x, y)` compares"),
            TokenKind::Ident if self.behind_slashes() => {
                error.with_hint("`//` divides; a comment starts with `#`")
            }
            TokenKind::Ident if section == Section::Outputs => {
                error.with_fix("outputs are separated by commas or lines", self.behind(), ",")
            }
            TokenKind::Ident | TokenKind::Punct(';') => {
                error.with_hint("a line break ends an item")
            }
            _ => error,
        };
        self.fail(error)
    }

    /// Returns true if the word taken last follows `//`, as a comment of another language would.
    fn behind_slashes(&self) -> bool {
        let before = self.at.checked_sub(3).map(|at| &self.tokens[at..at + 2]);
        let is_slash = |t: &Token| t.kind == TokenKind::Punct('/');
        before.is_some_and(|two| two.iter().all(is_slash) && two[1].touches_previous)
    }

    /// Adds what lacks where something is closed that is not open.
    fn unopened(&self, error: Diagnostic) -> Diagnostic {
        match self.kind(0) {
            TokenKind::Punct(')') => error.with_label("no `(` before it"),
            TokenKind::Punct(']') => error.with_label("no `[` before it"),
            _ => error,
        }
    }

    /// Why no item starts here.
    fn no_item(&self) -> Diagnostic {
        let token = self.peek(0);
        let found = self.describe(token);
        match token.kind {
            TokenKind::Ident if self.is(1, ':') => {
                let message = format!("expected `[` or `=` after {found}, found `:`");
                codes::BINDING_OF_I.error(token.span, message).with_hint(
                    "`name: expression` is a binding of the language i; a statement is \
                     `array[index, …] = value`",
                )
            }
            TokenKind::Ident => {
                let behind = self.peek(1);
                let message = format!("unexpected {} after {found}", self.describe(behind));
                codes::EXPECTED_ITEM.error(behind.span, message).with_hint(FORMS)
            }
            TokenKind::Punct(')' | ']') => {
                self.unopened(UNEXPECTED.error(token.span, format!("unexpected {found}")))
            }
            _ => {
                let message = format!("no item starts with {found}");
                codes::EXPECTED_ITEM.error(token.span, message).with_hint(FORMS)
            }
        }
    }
}
