//! Index arithmetic in brackets → quasi-affine expressions.

use super::letters::Letters;
use crate::codes;
use crate::core::IndexExpr;
use crate::limits::MAX_TERMS;
use crate::sink::Sink;
use crate::text::quote;
use ijk_syntax::ast::{Arith, ArithOp};
use ijk_syntax::{Code, Span};

/// Turns the arithmetic of one bracket into an index expression.
pub struct ArithLowering<'a, 'b> {
    /// The letters seen so far.
    pub letters: &'a mut Letters<'b>,
    /// Where errors go.
    pub sink: &'a mut Sink,
    /// The program's text.
    pub source: &'a str,
}

impl ArithLowering<'_, '_> {
    /// The expression of the bracket at `span`; an error has been reported where there is none.
    pub fn bracket(&mut self, arith: &Arith, span: Span) -> Option<IndexExpr> {
        let e = self.arith(arith, span)?;
        if e.terms.len() > MAX_TERMS {
            return self.too_many(span);
        }
        Some(e)
    }

    fn arith(&mut self, arith: &Arith, bracket: Span) -> Option<IndexExpr> {
        match arith {
            Arith::Integer(n, _) => Some(IndexExpr::constant(*n)),
            Arith::Letter(letter) => {
                let axis = self.letters.occurrence(letter, self.sink);
                Some(IndexExpr::axis(axis))
            }
            Arith::Sum(terms, span) => self.sum(terms, *span, bracket),
            Arith::Product(first, rest, span) => self.product(first, rest, *span, bracket),
        }
    }

    fn sum(&mut self, terms: &[(bool, Arith)], span: Span, bracket: Span) -> Option<IndexExpr> {
        if terms.len() > MAX_TERMS {
            return self.too_many(span);
        }
        let mut sum = IndexExpr::default();
        for (negated, term) in terms {
            let value = self.arith(term, bracket)?;
            let value = if *negated { value.times(-1) } else { Some(value) };
            let constant = value.as_ref().and_then(|v| sum.constant.checked_add(v.constant));
            let (Some(value), Some(constant)) = (value, constant) else {
                return self.overflow(span);
            };
            sum.constant = constant;
            sum.terms.extend(value.terms);
            if sum.terms.len() > 2 * MAX_TERMS {
                return self.too_many(span);
            }
        }
        match sum.normalised() {
            Some(sum) => Some(sum),
            None => self.overflow(span),
        }
    }

    fn product(
        &mut self,
        first: &Arith,
        rest: &[(ArithOp, Arith)],
        span: Span,
        bracket: Span,
    ) -> Option<IndexExpr> {
        let mut value = self.arith(first, bracket)?;
        for (op, operand) in rest {
            let right = self.arith(operand, bracket)?;
            value = match op {
                ArithOp::Mul => self.multiply(value, right, span, bracket)?,
                ArithOp::Div | ArithOp::Mod => {
                    let divisor = self.divisor(*op, &right, arith_span(operand), bracket)?;
                    if *op == ArithOp::Div {
                        value.floor_div(divisor)
                    } else {
                        value.modulo(divisor)
                    }
                }
            };
        }
        Some(value)
    }

    fn multiply(
        &mut self,
        left: IndexExpr,
        right: IndexExpr,
        span: Span,
        bracket: Span,
    ) -> Option<IndexExpr> {
        let product = match (left.as_constant(), right.as_constant()) {
            (_, Some(factor)) => left.times(factor),
            (Some(factor), _) => right.times(factor),
            _ => {
                let quoted = quote(self.source, bracket, "the brackets");
                let message = format!("a product of letters is not affine in {quoted}");
                let hint = "an index may be a sum of letters with constant factors";
                self.sink.push(
                    codes::PRODUCT_OF_LETTERS
                        .error(span, message)
                        .with_label("letters on both sides")
                        .with_hint(hint),
                );
                return None;
            }
        };
        if product.is_none() {
            return self.overflow(span);
        }
        product
    }

    fn divisor(&mut self, op: ArithOp, e: &IndexExpr, span: Span, bracket: Span) -> Option<i64> {
        let what = if op == ArithOp::Div { "division" } else { "a remainder" };
        match e.as_constant() {
            Some(divisor) if divisor > 0 => Some(divisor),
            Some(divisor) => {
                let message = format!("{what} by {divisor}: the right operand must be positive");
                self.fail(codes::DIVISOR, span, message)
            }
            None => {
                let quoted = quote(self.source, bracket, "the brackets");
                let message = format!("{what} by a letter is not affine in {quoted}");
                self.fail(codes::DIVISION_BY_LETTER, span, message)
            }
        }
    }

    fn overflow<T>(&mut self, span: Span) -> Option<T> {
        let message = "a number in this index does not fit in 64 bits";
        self.fail(codes::INDEX_OVERFLOW, span, message.into())
    }

    fn too_many<T>(&mut self, span: Span) -> Option<T> {
        let message = format!("more than {MAX_TERMS} terms in one bracket");
        self.fail(codes::TOO_MANY_TERMS, span, message)
    }

    fn fail<T>(&mut self, code: Code, span: Span, message: String) -> Option<T> {
        self.sink.push(code.error(span, message));
        None
    }
}

/// Where index arithmetic stands.
pub fn arith_span(arith: &Arith) -> Span {
    match arith {
        Arith::Integer(_, span) | Arith::Sum(_, span) | Arith::Product(_, _, span) => *span,
        Arith::Letter(letter) => letter.span,
    }
}

/// Calls `visit` for every letter, from left to right.
pub fn for_each_letter<'a>(arith: &'a Arith, visit: &mut impl FnMut(&'a ijk_syntax::ast::Letter)) {
    match arith {
        Arith::Integer(..) => {}
        Arith::Letter(letter) => visit(letter),
        Arith::Sum(terms, _) => terms.iter().for_each(|(_, term)| for_each_letter(term, visit)),
        Arith::Product(first, rest, _) => {
            for_each_letter(first, visit);
            rest.iter().for_each(|(_, operand)| for_each_letter(operand, visit));
        }
    }
}

/// Returns true if the arithmetic has a division or a remainder.
pub fn divides(arith: &Arith) -> bool {
    match arith {
        Arith::Integer(..) | Arith::Letter(_) => false,
        Arith::Sum(terms, _) => terms.iter().any(|(_, term)| divides(term)),
        Arith::Product(first, rest, _) => {
            let here = rest.iter().any(|(op, right)| *op != ArithOp::Mul || divides(right));
            here || divides(first)
        }
    }
}
