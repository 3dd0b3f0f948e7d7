//! Spellings of other languages that begin like an index: `ij,jk->ik`, `c = a*b`.

use super::{Parsed, Parser};
use crate::report::shorten;
use crate::{Span, TokenKind, codes};

impl Parser<'_> {
    /// Fails at an identifier that `,`, `->` or `=` follows, saying how it is written here.
    pub(super) fn foreign<T>(&mut self) -> Parsed<T> {
        if self.is(1, '=') {
            return self.assignment();
        }
        let start = self.peek(0).span;
        let operands = self.einsum_operands();
        let arrow = self.is_arrow(0).then(|| self.next().span.to(self.next().span));
        let Some(arrow) = arrow else {
            let error = codes::OPERANDS_LISTED
                .error(self.since(start), "operands are not listed with commas");
            return self.fail(error.with_hint("an operator joins them: `ik*kj~ijk`"));
        };
        let named = self.kind(0) == TokenKind::Ident && !self.is_binding(0);
        let output = if named { self.next().span } else { Span::new(arrow.end, arrow.end) };
        let span = self.since(start);
        let error = codes::EINSUM.error(span, "this is spelled like einsum");
        let error = match self.translate(&operands, output) {
            Some(text) => error.with_fix(format!("here it is `{}`", shorten(&text)), span, text),
            None => error.with_hint("here a matrix product is `+(ik*kj)~ij`"),
        };
        self.fail(error)
    }

    fn assignment<T>(&mut self) -> Parsed<T> {
        let name = self.next().span;
        let name = self.text(name);
        let span = self.next().span;
        let error =
            codes::ASSIGNMENT.error(span, "an expression is bound to a name by `:`, not `=`");
        let fix = format!("write `{}: …`", shorten(name));
        self.fail(error.with_fix(fix, span, ":"))
    }

    /// The identifiers of a list with commas.
    fn einsum_operands(&mut self) -> Vec<Span> {
        let mut operands = vec![self.next().span];
        while self.is(0, ',') && self.kind(1) == TokenKind::Ident {
            self.next();
            operands.push(self.next().span);
        }
        operands
    }

    /// The expression that sums the product of the operands over what the output lacks.
    fn translate(&self, operands: &[Span], output: Span) -> Option<String> {
        let total: usize = operands.iter().map(|s| self.text(*s).len()).sum();
        if operands.len() > 8 || total > 64 {
            return None;
        }
        let out = self.text(output);
        let target = if out.is_empty() { "." } else { out };
        let mut letters = self.text(operands[0]).to_owned();
        let mut steps = Vec::new();
        for (n, operand) in operands.iter().enumerate().skip(1) {
            let operand = self.text(*operand);
            let product = format!("{letters}*{operand}");
            letters.extend(operand.chars().filter(|c| !self.text(operands[0]).contains(*c)));
            letters = distinct(&letters);
            let last = n + 1 == operands.len();
            steps.push(match last {
                false => format!("{product}~{letters}"),
                true if dropped(&letters, out) => format!("+({product})~{target}"),
                true => format!("{product}~{target}"),
            });
        }
        if steps.is_empty() {
            let sum = if dropped(&letters, out) { "+" } else { "" };
            steps.push(format!("{sum}{letters}~{target}"));
        }
        Some(steps.join(" . "))
    }
}

/// Returns true if a letter is missing from the output.
fn dropped(letters: &str, output: &str) -> bool {
    letters.chars().any(|c| !output.contains(c))
}

/// Each character once.
fn distinct(letters: &str) -> String {
    let mut seen = String::new();
    for c in letters.chars() {
        if !seen.contains(c) {
            seen.push(c);
        }
    }
    seen
}
