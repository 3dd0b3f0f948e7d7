//! Index expressions.

use super::{Parsed, Parser, number};
use crate::ast::{Body, Compound, IndexExpr, NodeId, NodeKind, Operand};
use crate::report::{nearest, shorten};
use crate::{Diagnostic, Function, Span, TokenKind, codes};

/// The function before an operand or parentheses, and what it applies to.
type Applied = (Option<(Function, Span)>, Body);

/// Operands of a function in parentheses.
pub(super) enum Arguments {
    One(Body),
    Listed(Vec<Body>),
}

/// Hint for parentheses that nest too deep, and for too many functions.
pub(super) const CHAIN_IT: &str = "chain expressions with `.`";

/// An index expression has at most this many functions.
pub const MAX_FUNCTIONS: usize = 256;

/// A function of one operand that stands before all others is outside of the body.
fn before_all(outer: Option<(Function, Span)>, body: Body) -> Applied {
    match (outer, body) {
        (None, Body::Apply { function, symbol, mut operands }) if operands.len() == 1 => {
            (Some((function, symbol)), operands.remove(0))
        }
        applied => applied,
    }
}

impl Parser<'_> {
    pub(super) fn index(&mut self) -> Parsed<NodeId> {
        let start = self.peek(0).span;
        self.functions = 0;
        let (outer, body) =
            if self.at_operand() || self.is(0, '(') { self.infix()? } else { self.prefix()? };
        self.check_index(&body, start);
        let (outer, body) = before_all(outer, body);
        let output = self.output(outer, &body, start)?;
        let span = self.since(start);
        self.node(NodeKind::Index(Box::new(IndexExpr { outer, body, output, span })), span)
    }

    /// `operand` or `operand function operand`.
    fn infix(&mut self) -> Parsed<Applied> {
        let start = self.peek(0).span;
        let left = self.operand()?;
        let breaks = self.peek(0).after_newline && (self.is(0, '~') || self.is_infix(0));
        if breaks {
            self.warn_break("this takes the line before as its left operand");
        }
        let body = self.infix_rest(left)?;
        self.check_no_more(None, start)?;
        Ok((None, body))
    }

    /// Parses the rest of an infix expression, behind its first operand: the function and the other operand.
    fn infix_rest(&mut self, left: Body) -> Parsed<Body> {
        if !self.is_infix(0) {
            return Ok(left);
        }
        let (function, symbol) = self.counted()?;
        let right = self.operand()?;
        self.check_count(function, symbol, 2);
        Ok(Body::Apply { function, symbol, operands: vec![left, right] })
    }

    /// `function operand`, `function(…)`.
    fn prefix(&mut self) -> Parsed<Applied> {
        let (function, symbol) = self.counted()?;
        let start = self.peek(0).span;
        let applied = if self.is(0, '(') {
            match self.call(function, symbol)? {
                Arguments::One(body) => (Some((function, symbol)), body),
                Arguments::Listed(operands) => (None, Body::Apply { function, symbol, operands }),
            }
        } else {
            let operand = self.operand()?;
            self.check_count(function, symbol, 1);
            (Some((function, symbol)), operand)
        };
        self.check_no_more(Some(symbol), start)?;
        Ok(applied)
    }

    /// The parentheses of a function: one scalar expression, or a list of them.
    pub(super) fn call(&mut self, function: Function, symbol: Span) -> Parsed<Arguments> {
        let open = self.open()?;
        let first = self.scalar(0)?;
        let arguments = if self.is(0, ',') {
            let mut operands = vec![first];
            while self.eat(',').is_some() {
                operands.push(self.scalar(0)?);
            }
            self.check_call(function, symbol, operands.len());
            Arguments::Listed(operands)
        } else {
            self.check_count(function, symbol, 1);
            Arguments::One(first)
        };
        self.close(open)?;
        Ok(arguments)
    }

    fn open(&mut self) -> Parsed<Span> {
        let open = self.next().span;
        self.deepen(open, CHAIN_IT)?;
        match self.eat(')') {
            Some(close) => {
                self.fail(codes::EMPTY_PARENTHESES.error(open.to(close.span), "empty parentheses"))
            }
            None => Ok(open),
        }
    }

    fn close(&mut self, open: Span) -> Parsed<()> {
        let token = self.peek(0);
        if self.eat(')').is_some() {
            self.depth -= 1;
            return Ok(());
        }
        if matches!(token.kind, TokenKind::End | TokenKind::Punct(';')) || self.is_binding(0) {
            return self.fail(codes::NOT_CLOSED.error(open, "`(` is never closed"));
        }
        let error = if self.is(0, ',') {
            codes::EXPECTED_CLOSE
                .error(token.span, "expected `)`, found `,`")
                .with_hint("operands are joined by an operator: `+(ik*kj)~ij`")
        } else if self.is(0, '~') {
            codes::OUTPUT_INSIDE
                .error(token.span, "the output stands outside the parentheses")
                .with_hint("`+(ik*kj)~ij`")
        } else {
            codes::EXPECTED_CLOSE
                .error(token.span, format!("expected `)`, found {}", self.describe(token)))
        };
        self.fail(error.with_related(open, "opened here"))
    }

    /// An operator symbol or `@name`.
    pub(super) fn function(&mut self) -> Parsed<(Function, Span)> {
        if let Some(function) = self.symbol(0) {
            return Ok((function, self.next().span));
        }
        if !self.is(0, '@') {
            let error = self.no_operand();
            return self.fail(error);
        }
        let token = self.next();
        let name = self.peek(0);
        if name.kind != TokenKind::Ident {
            let message =
                format!("expected a function's name after `@`, found {}", self.describe(name));
            return self.fail(codes::NO_FUNCTION_NAME.error(token.span, message));
        }
        self.next();
        let span = token.span.to(name.span);
        if !name.touches_previous {
            let message = "a function's name touches its `@`";
            self.error(codes::FUNCTION_APART.error(span, message));
        }
        match Function::from_name(self.text(name.span)) {
            Some(function) => Ok((function, span)),
            None => {
                let error = self.no_function(span, self.text(name.span));
                self.fail(error)
            }
        }
    }

    /// Why a name behind `@` is no function.
    fn no_function(&self, span: Span, name: &str) -> Diagnostic {
        let shown = shorten(name);
        let error = codes::UNKNOWN_FUNCTION.error(span, format!("there is no function `@{shown}`"));
        if self.report.is_full() {
            return error;
        }
        let functions = Function::ALL.iter().filter_map(|f| f.spelling().strip_prefix('@'));
        let names = functions.chain(number::CONSTANTS.map(|(name, _)| name));
        match nearest(name, names) {
            Some(near) => {
                error.with_fix(format!("did you mean `@{near}`?"), span, format!("@{near}"))
            }
            None => error,
        }
    }

    /// Reports a number of operands that the function does not take.
    pub(super) fn check_count(&mut self, function: Function, symbol: Span, count: usize) {
        let (least, most) = function.operands();
        if (least..=most).contains(&count) {
            return;
        }
        let name = function.spelling();
        let takes = match (least, most) {
            (1, 1) => "1 operand".to_owned(),
            (a, b) if a == b => format!("{a} operands"),
            (a, b) => format!("{a} or {b} operands"),
        };
        let error =
            codes::OPERAND_COUNT.error(symbol, format!("`{name}` takes {takes}, not {count}"));
        self.error(match most {
            1 => error.with_hint(format!("it stands before its operand: `{name} i~i`")),
            2 => error.with_hint(format!("it stands between its operands: `i {name} j~ij`")),
            _ => error.with_hint(format!("its operands stand in parentheses: `{name}(i,i,i)~i`")),
        });
    }

    /// Reports a list of operands that `function` can't be called with.
    fn check_call(&mut self, function: Function, symbol: Span, count: usize) {
        if function.is_symbol() {
            let name = function.spelling();
            let error = codes::CALLED_WITH_COMMAS
                .error(symbol, format!("`{name}` is not called with commas"));
            self.error(error.with_hint(format!("it stands between its operands: `i{name}j~ij`")));
        } else {
            self.check_count(function, symbol, count);
        }
    }

    /// Fails where a further function follows complete operands, which start at `start`.
    fn check_no_more(&mut self, prefix: Option<Span>, start: Span) -> Parsed<()> {
        if !self.is_infix(0) {
            return Ok(());
        }
        let symbol = self.peek(0).span;
        let whole = self.up_to_output(start);
        let text = whole.map(|whole| shorten(self.text(whole)));
        let error = match prefix {
            Some(prefix) => {
                let op = shorten(self.text(prefix));
                let text = text.unwrap_or_else(|| format!("{}…", shorten(self.text(start))));
                codes::FUNCTION_AROUND
                    .error(symbol, "a function before the operands and another between them")
                    .with_related(prefix, "the one before")
                    .with_hint(format!("to apply `{op}` to the result, write `{op}({text})`"))
            }
            None => codes::THREE_OPERANDS
                .error(symbol, "without parentheses, an index expression has at most two operands"),
        };
        let error = match (prefix, whole) {
            (None, Some(whole)) => {
                let text = format!("({})", self.text(whole));
                let advice = format!("in parentheses it may have more: `{}`", shorten(&text));
                error.with_fix(advice, whole, text)
            }
            (None, None) => error.with_hint("in parentheses it may have more: `(i*j*k)~ijk`"),
            _ => error,
        };
        self.fail(error)
    }

    /// From `start` to before the `~` of an expression, if it is near.
    fn up_to_output(&self, start: Span) -> Option<Span> {
        let mut last = start;
        for ahead in 0..64 {
            let token = self.peek(ahead);
            match token.kind {
                TokenKind::Punct('~') => return Some(start.to(last)),
                TokenKind::End | TokenKind::Chain | TokenKind::Compose => return None,
                TokenKind::Punct(';' | ':' | '&' | '|' | '=') => return None,
                _ => last = token.span,
            }
        }
        None
    }

    /// Reports an expression without an index among its operands.
    fn check_index(&mut self, body: &Body, start: Span) {
        let operands = body.operands();
        let spoiled = self.previous().is_some_and(|t| t.kind == TokenKind::BadNumber);
        if !spoiled && !operands.iter().any(|o| matches!(o, Operand::Index(_))) {
            let span = self.since(start);
            let message = "at least one operand must be an index";
            self.error(codes::NO_INDEX.error(span, message).with_label("numbers only"));
        }
    }

    /// `~` and the output's index.
    fn output(
        &mut self,
        outer: Option<(Function, Span)>,
        body: &Body,
        start: Span,
    ) -> Parsed<Compound> {
        if self.is_arrow(0) {
            let span = self.next().span.to(self.next().span);
            let error = codes::OUTPUT_ARROW.error(span, "the output follows `~`, not `->`");
            self.error(error.with_fix("write `~`", span, "~"));
        } else if self.is(0, '=') {
            let span = self.next().span;
            let error = codes::OUTPUT_EQUALS.error(span, "the output follows `~`, not `=`");
            self.error(error.with_fix("write `~`", span, "~"));
        } else if self.eat('~').is_none() {
            let error = self.no_output(outer, body, start);
            return self.fail(error);
        }
        self.output_index()
    }

    /// The compound index after `~`.
    fn output_index(&mut self) -> Parsed<Compound> {
        let token = self.peek(0);
        match token.kind {
            TokenKind::Ident if !self.is_binding(0) => self.compound(true),
            TokenKind::Punct('.' | '[') => self.compound(true),
            TokenKind::Number | TokenKind::BadNumber => self.fail(
                codes::OUTPUT_NUMBER.error(token.span, "the output is an index, not a number"),
            ),
            _ => {
                let message = "expected the output's index after `~`";
                let found = format!("found {}", self.describe(token));
                let place = self.behind();
                let place = Span::new(place.start.saturating_sub(1), place.end);
                self.fail(
                    codes::NO_OUTPUT_INDEX
                        .error(place, message)
                        .with_label(found)
                        .with_hint("it has one letter for each axis, in order; `.` for rank 0"),
                )
            }
        }
    }

    /// Why there is no `~` here.
    fn no_output(&self, outer: Option<(Function, Span)>, body: &Body, start: Span) -> Diagnostic {
        let token = self.peek(0);
        let written = self.text(self.since(start));
        let shown = shorten(written);
        let close = self.is(0, ')') && self.is(1, '~');
        if close && outer.is_none() && matches!(body, Body::Apply { .. }) {
            return codes::OUTPUT_BEFORE_CLOSE
                .error(token.span, "expected `~` and the output's index before `)`")
                .with_hint(format!("`{shown}~…` maps; `+({shown})~…` maps, then sums"));
        }
        let found = self.describe(token);
        let error = codes::NO_OUTPUT
            .error(self.behind_or(token.span), "expected `~` and the output's index")
            .with_label(format!("found {found}"));
        let error = match token.kind {
            TokenKind::Chain => error.with_hint("`>>` is a combinator; the maximum is one `>`"),
            TokenKind::Compose => error.with_hint("`<<` is a combinator; the minimum is one `<`"),
            TokenKind::Punct('.') | TokenKind::Number if self.near_number() => {
                error.with_hint("a number has digits on both sides of its point: `0.5`")
            }
            TokenKind::Punct('%') => error.with_hint("the remainder is `@mod`: `i @mod j~ij`"),
            TokenKind::Punct(',') => {
                error.with_hint("operands are joined by an operator: `ik*kj~ijk`")
            }
            TokenKind::Punct('(') => {
                error.with_hint("an operator stands between an operand and parentheses: `i*(j-k)`")
            }
            _ => error,
        };
        error.with_hint(format!(
            "an index expression is `{shown}~out`, with the output's letters for `out`"
        ))
    }

    /// Returns true if the token here may have been meant as the rest of the number or `.` before it.
    fn near_number(&self) -> bool {
        let point = |t: crate::Token| matches!(t.kind, TokenKind::Number | TokenKind::Punct('.'));
        self.peek(0).touches_previous && self.previous().is_some_and(point)
    }

    /// The current token, or where it is far off, the place behind the one before.
    fn behind_or(&self, span: Span) -> Span {
        if self.peek(0).after_newline { self.behind() } else { span }
    }
}

/// Operands.
impl Parser<'_> {
    /// Returns true if an operand stands here.
    pub(super) fn at_operand(&self) -> bool {
        match self.kind(0) {
            TokenKind::Ident => !self.is_binding(0),
            TokenKind::Number | TokenKind::BadNumber | TokenKind::Punct('.' | '[' | '{') => true,
            _ => self.at_signed() || self.at_constant(0),
        }
    }

    /// A compound index, a number, or a scalar expression in parentheses.
    pub(super) fn operand(&mut self) -> Parsed<Body> {
        if self.is(0, '(') {
            let open = self.open()?;
            let body = self.scalar(0)?;
            self.close(open)?;
            return Ok(body);
        }
        if !self.at_operand() {
            let error = self.no_operand();
            return self.fail(error);
        }
        let operand = match self.kind(0) {
            TokenKind::Ident | TokenKind::Punct('.' | '[') => Operand::Index(self.compound(false)?),
            TokenKind::Punct('{') => self.extent_of_letter()?,
            _ => self.number()?,
        };
        Ok(Body::Operand(operand))
    }

    /// Why there is no operand here.
    fn no_operand(&self) -> Diagnostic {
        let token = self.peek(0);
        let found = self.describe(token);
        let error =
            codes::NO_OPERAND.error(token.span, format!("expected an operand, found {found}"));
        match token.kind {
            TokenKind::Punct('-' | '+') => error.with_hint("a sign touches its digits: `i*-1~i`"),
            TokenKind::Punct('~') => error.with_hint("an index of rank 0 is written `.`"),
            TokenKind::Chain => error.with_hint("`>>` is a combinator; the maximum is one `>`"),
            TokenKind::Compose => error.with_hint("`<<` is a combinator; the minimum is one `<`"),
            TokenKind::Punct('*') if self.peek(0).touches_previous => {
                error.with_hint("the power is `^`: `i^2~i`")
            }
            _ => error.with_hint("an operand is an index, such as `ij`, or a number"),
        }
    }
}
