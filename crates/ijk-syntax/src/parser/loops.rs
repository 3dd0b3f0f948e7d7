//! Loops: `@repeat{10} f`, `@fold f`, `@scan(f, 1)`.
//!
//! They stand before a component as `~` does. Their names are reserved among functions, since a function is applied to
//! elements and these to components.

use super::component::Pending;
use super::{Parsed, Parser};
use crate::TokenKind;
use crate::ast::{LoopForm, LoopHead};
use crate::codes;

impl Parser<'_> {
    /// The combinator whose name stands there.
    pub(super) fn loop_form(&self, ahead: usize) -> Option<LoopForm> {
        self.at_name(ahead).and_then(LoopForm::from_name)
    }

    /// The name of a loop here, with its braces.
    pub(super) fn loop_head(&mut self, form: LoopForm) -> Parsed<Box<LoopHead>> {
        let start = self.next().span;
        let name = self.next();
        if !name.touches_previous {
            let error = codes::FUNCTION_APART.error(name.span, "`@` touches the name behind it");
            self.error(error);
        }
        let symbol = start.to(name.span);
        let braces = self.is(0, '{');
        let passes = if braces { self.extent()? } else { None };
        if !form.sweeps() && !braces {
            let name = form.name();
            let message = format!("`@{name}` has no number of passes");
            let error = codes::LOOP_BRACES.error(symbol, message);
            let hint = format!("it stands in braces: `@{name}{{10}} f`, `@{name}{{n}} f`");
            self.error(error.with_hint(hint));
        }
        Ok(Box::new(LoopHead { form, passes, rows: None, symbol }))
    }

    /// `, 1` before the parenthesis that closes the group of a fold or scan; false where it stands elsewhere.
    pub(super) fn rows(&mut self, pending: &mut [Pending]) -> Parsed<bool> {
        let [.., Pending::Loop(head), Pending::Group(_)] = pending else { return Ok(false) };
        if !head.form.sweeps() {
            let message = format!("`@{}` takes rows of no input", head.form.name());
            let error = codes::LOOP_COUNT.error(self.peek(0).span, message);
            return self.fail(error.with_hint("`@fold{10}(f, 1)` folds along one input"));
        }
        self.next();
        let token = self.peek(0);
        if !matches!(token.kind, TokenKind::Number | TokenKind::BadNumber) {
            let found = self.describe(token);
            let message = format!("expected a number of inputs, found {found}");
            let error = codes::LOOP_COUNT.error(token.span, message);
            let hint = "`@fold(f, 1)` takes rows of one input after the states; the others stay";
            return self.fail(error.with_hint(hint));
        }
        self.next();
        head.rows = self.whole(token).map(|rows| (rows, token.span));
        if self.is(0, ')') {
            return Ok(true);
        }
        let found = self.describe(self.peek(0));
        let error =
            codes::EXPECTED_CLOSE.error(self.peek(0).span, format!("expected `)`, found {found}"));
        self.fail(error)
    }
}
