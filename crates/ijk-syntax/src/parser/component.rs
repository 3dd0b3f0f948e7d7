//! Component expressions: combinators, groups, names.
//!
//! Operators wait on a stack of our own, so no program is nested too deep for the thread's.

use super::{NAME_IT, Parsed, Parser};
use crate::ast::{Combinator, LoopHead, Name, NodeId, NodeKind};
use crate::{Diagnostic, Span, Token, TokenKind, codes};

/// Operator whose operand is not complete.
pub(super) enum Pending {
    /// `(`.
    Group(Span),
    /// `~`.
    Swap(Span),
    /// `@fold`, with its braces.
    Loop(Box<LoopHead>),
    /// A combinator and its left operand.
    Combine(Combinator, OperandNode, Span),
}

/// A component that may be an operand.
#[derive(Clone, Copy)]
pub(super) struct OperandNode {
    node: NodeId,
    /// Where it stands, the parentheses around it included.
    span: Span,
}

/// Precedence of a combinator.
pub(crate) fn precedence(combinator: Combinator) -> u8 {
    match combinator {
        Combinator::Chain | Combinator::Compose => 1,
        Combinator::Pair => 2,
        Combinator::Fanout => 3,
    }
}

impl Parser<'_> {
    /// An expression, of the binding of that name.
    pub(super) fn expression(&mut self, name: Option<&Name>) -> Parsed<NodeId> {
        let mut pending = Vec::new();
        loop {
            self.openings(&mut pending)?;
            let node = self.atom(name)?;
            let atom = OperandNode { node, span: self.program.node(node).span };
            self.schedule(node);
            let operand = self.closings(&mut pending, atom)?;
            let Some((combinator, symbol)) = self.combinator() else {
                self.check_closed(&pending)?;
                return Ok(self.reduce(&mut pending, operand, 0)?.node);
            };
            let left = self.reduce(&mut pending, operand, precedence(combinator))?;
            pending.push(Pending::Combine(combinator, left, symbol));
        }
    }

    /// Any number of `~`, of loops' names, and of `(` around components.
    fn openings(&mut self, pending: &mut Vec<Pending>) -> Parsed<()> {
        loop {
            let span = self.peek(0).span;
            if self.eat('~').is_some() {
                pending.push(Pending::Swap(span));
            } else if let Some(form) = self.loop_form(0) {
                pending.push(Pending::Loop(self.loop_head(form)?));
            } else if self.is(0, '(') && self.at_scalar() {
                return Ok(());
            } else if self.eat('(').is_some() {
                self.deepen(span, NAME_IT)?;
                if matches!(pending.last(), Some(Pending::Loop(_))) {
                    self.loop_groups.push(self.depth);
                }
                pending.push(Pending::Group(span));
                if let Some(close) = self.eat(')') {
                    return self.fail(
                        codes::EMPTY_PARENTHESES.error(span.to(close.span), "empty parentheses"),
                    );
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Any number of `)` that close groups.
    fn closings(&mut self, pending: &mut Vec<Pending>, mut of: OperandNode) -> Parsed<OperandNode> {
        while self.depth > 0 && (self.is(0, ')') || self.is(0, ',')) {
            of = self.reduce(pending, of, 0)?;
            if self.is(0, ',') && !self.rows(pending)? {
                break;
            }
            let open = pending.pop();
            let depth = self.depth;
            self.loop_groups.pop_if(|own| *own == depth);
            self.depth -= 1;
            let close = self.next().span;
            if let Some(Pending::Group(open)) = open {
                of.span = open.to(close);
            }
            self.schedule(of.node);
        }
        Ok(of)
    }

    /// Applies to an operand what waits on top of the innermost group and binds at least so tightly.
    fn reduce(
        &mut self,
        pending: &mut Vec<Pending>,
        mut of: OperandNode,
        least: u8,
    ) -> Parsed<OperandNode> {
        loop {
            let (kind, span) = match pending.last() {
                Some(&Pending::Swap(symbol)) => (NodeKind::Swap(of.node), symbol.to(of.span)),
                Some(Pending::Loop(head)) => {
                    (NodeKind::Loop(head.clone(), of.node), head.symbol.to(of.span))
                }
                Some(&Pending::Combine(combinator, left, symbol))
                    if precedence(combinator) >= least =>
                {
                    let (span, left, right) = (left.span.to(of.span), left.node, of.node);
                    (NodeKind::Combine { combinator, left, right, symbol }, span)
                }
                _ => return Ok(of),
            };
            of = OperandNode { node: self.node(kind, span)?, span };
            pending.pop();
        }
    }

    /// A combinator.
    fn combinator(&mut self) -> Option<(Combinator, Span)> {
        let token = self.peek(0);
        let combinator = match token.kind {
            TokenKind::Punct('.') | TokenKind::Chain => Combinator::Chain,
            TokenKind::Compose => Combinator::Compose,
            TokenKind::Punct('&') => Combinator::Fanout,
            TokenKind::Punct('|') => Combinator::Pair,
            _ => return None,
        };
        if self.is(0, '.') && token.after_newline && (self.is(1, '~') || self.is_infix(1)) {
            self.warn_break("`.` chains it to the line before");
        }
        self.next();
        Some((combinator, token.span))
    }

    /// Warns that the current token, the first of its line, goes on with the line before.
    pub(super) fn warn_break(&mut self, label: &str) {
        let warning = codes::GOES_ON
            .warning(
                self.peek(0).span,
                "an item goes on across a line break where another could start",
            )
            .with_label(label)
            .with_fix("if an item ends here, end it with `;`", self.behind(), ";");
        self.error(warning);
    }

    /// Fails where a group is open.
    fn check_closed(&mut self, pending: &[Pending]) -> Parsed<()> {
        let open = pending.iter().rev().find_map(|p| match p {
            Pending::Group(open) => Some(*open),
            _ => None,
        });
        let Some(open) = open else { return Ok(()) };
        let token = self.peek(0);
        if matches!(token.kind, TokenKind::End | TokenKind::Punct(';')) || self.is_binding(0) {
            return self.fail(codes::NOT_CLOSED.error(open, "`(` is never closed"));
        }
        let message = format!("expected a combinator or `)`, found {}", self.describe(token));
        self.fail(
            codes::EXPECTED_COMBINATOR.error(token.span, message).with_related(open, "opened here"),
        )
    }

    /// A name, `I` or an index expression.
    fn atom(&mut self, name: Option<&Name>) -> Parsed<NodeId> {
        let token = self.peek(0);
        match token.kind {
            TokenKind::Ident if !self.is_binding(0) => self.identifier(),
            TokenKind::Number | TokenKind::BadNumber | TokenKind::Punct('.' | '[' | '@' | '(') => {
                self.index()
            }
            TokenKind::Punct('{') if self.is(2, '}') && self.is_infix(3) => self.index(),
            _ if self.symbol(0).is_some() && !self.is_arrow(0) => self.index(),
            _ => {
                let error = self.no_component(token, name);
                self.fail(error)
            }
        }
    }

    fn identifier(&mut self) -> Parsed<NodeId> {
        let token = self.peek(0);
        let identity = self.text(token.span) == "I";
        if self.starts_index() && !(identity && self.peek(1).after_newline) {
            return self.index();
        }
        let counted = self.loop_groups.last() == Some(&self.depth);
        let listed = self.is(1, ',') && !counted;
        if listed || self.is(1, '=') || self.is_arrow(1) {
            return self.foreign();
        }
        self.next();
        let kind = match identity {
            true => NodeKind::Identity,
            false => NodeKind::Name(self.text(token.span).to_owned()),
        };
        self.node(kind, token.span)
    }

    /// Returns true if the identifier here starts an index expression.
    fn starts_index(&self) -> bool {
        let bracket = self.is(1, '[') || self.is(1, '{');
        self.is(1, '~') || self.is_infix(1) || bracket && !self.peek(1).after_newline
    }

    /// Why there is no component here.
    fn no_component(&self, token: Token, name: Option<&Name>) -> Diagnostic {
        let found = self.describe(token);
        let behind = match (self.previous(), name) {
            (Some(before), Some(name)) if before.kind == TokenKind::Punct(':') => {
                format!(" after `{}:`", crate::report::shorten(&name.text))
            }
            (Some(before), _) if before.kind != TokenKind::Punct(';') => {
                format!(" after {}", self.describe(before))
            }
            _ => String::new(),
        };
        let message = format!("expected an expression{behind}, found {found}");
        let error = codes::NO_COMPONENT.error(token.span, message);
        match token.kind {
            TokenKind::Punct('{') => error.with_hint("braces follow a letter: `i{10}`"),
            TokenKind::Unknown => error,
            _ => self.stray_label(error),
        }
    }

    fn stray_label(&self, error: Diagnostic) -> Diagnostic {
        match self.kind(0) {
            TokenKind::Chain => error.with_hint("`>>` is a combinator; the maximum is one `>`"),
            TokenKind::Compose => error.with_hint("`<<` is a combinator; the minimum is one `<`"),
            _ => error,
        }
    }
}
