//! Programs and their items.

use super::Parser;
use crate::ast::{Item, Name, Node, NodeId, NodeKind};
use crate::cursor::{Abandon, Parsed};
use crate::{Code, Diagnostic, Span, TokenKind, codes};

/// The bare expressions so far.
#[derive(Default)]
struct Bare {
    first: Option<Span>,
    /// An item had an error: the tokens that follow may be its rest.
    doubtful: bool,
}

impl Parser<'_> {
    pub(super) fn program(&mut self) {
        let mut bare = Bare::default();
        loop {
            while self.eat(';').is_some() {}
            if self.kind(0) == TokenKind::End {
                break;
            }
            self.item(&mut bare);
        }
        if self.program.items.is_empty() && self.report.errors() == 0 {
            let hint = "write an expression, such as `ij~ji`";
            let end = self.end().span;
            self.error(codes::EMPTY_PROGRAM.error(end, "the program is empty").with_hint(hint));
        }
    }

    fn item(&mut self, bare: &mut Bare) {
        let (from, nodes, errors) = (self.at, self.program.nodes.len(), self.report.errors());
        let start = self.peek(0).span;
        self.depth = 0;
        self.loop_groups.clear();
        let name = self.binding_name();
        let value = match self.item_value(name.as_ref()) {
            Ok(value) => value,
            Err(Abandon) => {
                self.program.nodes.truncate(nodes);
                self.recover(from);
                self.program.nodes.push(Node { kind: NodeKind::Error, span: self.since(start) });
                NodeId(nodes as u32)
            }
        };
        let span = self.since(start);
        bare.doubtful |= self.report.errors() > errors;
        if name.is_none() {
            self.check_single(bare, span);
        }
        self.program.items.push(Item { name, value, span });
    }

    fn binding_name(&mut self) -> Option<Name> {
        if !self.is_binding(0) {
            return None;
        }
        let name = self.next().span;
        self.next();
        let text = self.text(name);
        if text == "I" {
            let message = "`I` is the identity and can't be bound";
            self.error(codes::IDENTITY_BOUND.error(name, message).with_hint("choose another name"));
        } else if let Some(&first) = self.names.get(text) {
            let message = format!("`{}` is bound twice", crate::report::shorten(text));
            self.error(
                codes::BOUND_TWICE.error(name, message).with_related(first, "first bound here"),
            );
        } else {
            self.names.insert(text, name);
        }
        Some(self.name(name))
    }

    fn item_value(&mut self, name: Option<&Name>) -> Parsed<NodeId> {
        let value = self.expression(name)?;
        self.check_end()?;
        Ok(value)
    }

    /// Fails where what follows an item's expression can't start another item.
    fn check_end(&mut self) -> Parsed<()> {
        let token = self.peek(0);
        let fits = token.after_newline || self.is_binding(0);
        let error = |code: Code, message: &str| code.error(token.span, message);
        match token.kind {
            TokenKind::Punct('~') if !fits && self.behind_group() => self.fail(
                error(
                    codes::SWAP_BEHIND_GROUP,
                    "`~` follows operands, and parentheses group components",
                )
                .with_hint("`op(a*b)~out` has its operator before the parentheses"),
            ),
            TokenKind::Punct('~') if !fits => self.fail(
                error(codes::SECOND_OUTPUT, "an index expression has one output")
                    .with_hint("`;` ends an item where `~` is meant to swap inputs"),
            ),
            TokenKind::Punct('(') if !fits => {
                self.fail(error(codes::GROUP_BEHIND, "`(` can't follow an expression").with_hint(
                    "components are joined by combinators: `f . g` applies g to f's output",
                ))
            }
            TokenKind::Punct(';' | '~' | '(' | '[' | '.' | '@') | TokenKind::End => Ok(()),
            TokenKind::Ident | TokenKind::Number | TokenKind::BadNumber => Ok(()),
            _ if self.symbol(0).is_some() && !self.is_arrow(0) => Ok(()),
            _ => {
                let found = self.describe(token);
                let error = error(codes::UNEXPECTED, &format!("unexpected {found}"));
                let error = self.stray(error);
                self.fail(error)
            }
        }
    }

    fn behind_group(&self) -> bool {
        self.previous().is_some_and(|t| t.kind == TokenKind::Punct(')'))
    }

    /// Adds what a stray token may have been meant for.
    fn stray(&self, error: Diagnostic) -> Diagnostic {
        match self.kind(0) {
            TokenKind::Punct(')') => error.with_label("no `(` before it"),
            TokenKind::Punct(']') => error.with_label("no `[` before it"),
            TokenKind::Punct('}') => error.with_label("no `{` before it"),
            TokenKind::Punct(':') => error.with_hint("a binding is `name: expression`"),
            TokenKind::Punct('=') => {
                error.with_hint("a binding is `name: expression`; the output follows `~`")
            }
            TokenKind::Punct('%') => error.with_hint("the remainder is `@mod`: `i @mod j~ij`"),
            TokenKind::Unknown if self.text(self.peek(0).span).contains('"') => {
                error.with_hint("a program has no strings")
            }
            _ => error,
        }
    }

    /// Goes to where the next item may start, at least one token after `from`.
    fn recover(&mut self, from: usize) {
        loop {
            let token = self.peek(0);
            let ends = matches!(token.kind, TokenKind::End | TokenKind::Punct(';'));
            let starts = self.at > from && (self.is_binding(0) || self.starts_line());
            if ends || starts {
                return;
            }
            self.next();
        }
    }

    /// Returns true if the token is the first of its line and an item may start with it.
    fn starts_line(&self) -> bool {
        let token = self.peek(0);
        let starts = matches!(
            token.kind,
            TokenKind::Ident | TokenKind::Number | TokenKind::Punct('(' | '[' | '@')
        );
        token.after_newline && (starts || self.symbol(0).is_some())
    }

    /// A program has one bare expression.
    fn check_single(&mut self, bare: &mut Bare, span: Span) {
        let Some(first) = bare.first else {
            bare.first = Some(span);
            return;
        };
        if bare.doubtful {
            return;
        }
        let error = codes::SECOND_EXPRESSION
            .error(span, "a second expression without a name")
            .with_related(first, "the first: a program has one value")
            .with_hint("name the others, `name: …`, or join them with a combinator, `f . g`");
        self.error(error);
    }
}
