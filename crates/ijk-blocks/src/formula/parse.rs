//! Formulas and aggregations as text: `exp(x) + 1`, `sum(l * r)`.

use super::words::{self, COMPARISON, Called, NOT, SIGN};
use super::{Formula, FormulaNode};
use crate::TextError;
use ijk_syntax::{Diagnostic, MAX_NESTING, Span, Token, TokenKind, lex};
use ijk_types::{BinaryOp, Literal, Monoid, Reducer, UnaryOp};

/// Fold of all values of a fibre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fold {
    Reduce(Reducer),
    /// The list of them.
    Collect,
}

/// Aggregations by their names.
const FOLDS: &[(&str, Fold)] = &[
    ("sum", Fold::Reduce(Reducer::Monoid(Monoid::Add))),
    ("product", Fold::Reduce(Reducer::Monoid(Monoid::Mul))),
    ("prod", Fold::Reduce(Reducer::Monoid(Monoid::Mul))),
    ("max", Fold::Reduce(Reducer::Monoid(Monoid::Max))),
    ("min", Fold::Reduce(Reducer::Monoid(Monoid::Min))),
    ("all", Fold::Reduce(Reducer::Monoid(Monoid::And))),
    ("any", Fold::Reduce(Reducer::Monoid(Monoid::Or))),
    ("logaddexp", Fold::Reduce(Reducer::Monoid(Monoid::LogAddExp))),
    ("argmax", Fold::Reduce(Reducer::ArgMax)),
    ("argmin", Fold::Reduce(Reducer::ArgMin)),
    ("collect", Fold::Collect),
];

/// The fold of a name.
pub(super) fn fold(name: &str) -> Option<Fold> {
    FOLDS.iter().find(|(word, _)| *word == name).map(|&(_, fold)| fold)
}

/// Name of a reducer.
pub(crate) fn fold_name(fold: Fold) -> &'static str {
    FOLDS.iter().find(|(_, other)| *other == fold).map_or("fold", |(name, _)| name)
}

/// Parses a formula.
pub(super) fn parse_formula(text: &str, variables: &[&str]) -> Result<Formula, TextError> {
    let tokens = lex(text);
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0, variables };
    let value = parser.expression(0).and_then(|formula| parser.end().map(|()| formula));
    value.map_err(|diagnostic| TextError::new(text, *diagnostic))
}

/// Parses `sum(l * r)`.
pub(crate) fn parse_aggregation(text: &str) -> Result<(Fold, Formula), TextError> {
    let tokens = lex(text);
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0, variables: &["l", "r"] };
    let value = parser.aggregation().and_then(|all| parser.end().map(|()| all));
    value.map_err(|diagnostic| TextError::new(text, *diagnostic))
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    variables: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn aggregation(&mut self) -> Parsed<(Fold, Formula)> {
        let token = self.next();
        let name = self.of(token);
        let Some(fold) = fold(name) else {
            let message = format!("expected an aggregation, found {}", self.describe(token));
            let names: Vec<String> = FOLDS.iter().map(|(name, _)| format!("`{name}`")).collect();
            let error = Diagnostic::error(token.span, message);
            return fail(error.with_hint(format!("one of {}: `sum(l * r)`", names.join(", "))));
        };
        let open = self.expect('(')?;
        let formula = self.expression(0)?;
        if self.is(',') {
            let error = Diagnostic::error(self.peek().span, format!("`{name}` folds one formula"));
            return fail(error.with_related(open.span, "of a pair of elements").with_hint(
                format!("`{name}` of two operands stands inside: `sum({name}(l, r))`"),
            ));
        }
        self.expect(')')?;
        Ok((fold, formula))
    }

    /// Parses operators of at least that precedence.
    fn expression(&mut self, least: u8) -> Parsed<Formula> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let error = format!("the formula nests deeper than {MAX_NESTING}");
            return fail(Diagnostic::error(self.peek().span, error));
        }
        let mut left = self.operand()?;
        let mut compared: Option<Span> = None;
        while let Some((op, binds, tokens)) = self.operator() {
            if binds < least {
                break;
            }
            if let (COMPARISON, Some(first)) = (binds, compared) {
                return fail(self.chained(first));
            }
            compared = (binds == COMPARISON).then(|| self.peek().span);
            self.at += tokens;
            // Powers associate to the right, all others to the left.
            let right = self.expression(if op == BinaryOp::Pow { SIGN } else { binds + 1 })?;
            left = Formula::binary(op, left, right);
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The operator here, its precedence, and its number of tokens.
    fn operator(&self) -> Option<(BinaryOp, u8, usize)> {
        let token = self.peek();
        let touching = |c| {
            let next = self.tokens.get(self.at + 1);
            next.is_some_and(|t| t.touches_previous && t.kind == TokenKind::Punct(c))
        };
        let (symbol, tokens) = match (token.kind, self.of(token)) {
            (TokenKind::Punct('*'), _) if touching('*') => ("^", 2),
            (TokenKind::Punct('<'), _) if touching('=') => ("<=", 2),
            (TokenKind::Punct('>'), _) if touching('=') => (">=", 2),
            (TokenKind::Punct('='), _) if touching('=') => ("==", 2),
            (TokenKind::Unknown, "!") if touching('=') => ("!=", 2),
            (TokenKind::Punct(_), symbol) | (TokenKind::Ident, symbol @ ("and" | "or")) => {
                (symbol, 1)
            }
            _ => return None,
        };
        let (op, binds) = words::symbol(symbol)?;
        Some((op, binds, tokens))
    }

    /// Refuses `0 < x < 1`, which would compare a bool.
    fn chained(&self, first: Span) -> Diagnostic {
        let error = Diagnostic::error(self.peek().span, "comparisons do not chain");
        error
            .with_related(first, "the first comparison")
            .with_hint("join two of them by `and`: `0 < x and x < 1`")
    }

    fn operand(&mut self) -> Parsed<Formula> {
        let token = self.next();
        match token.kind {
            TokenKind::Punct('-') => {
                let of = self.expression(SIGN)?;
                Ok(match of.nodes[..] {
                    [FormulaNode::Number(literal)] => negated(literal),
                    _ => Formula::unary(UnaryOp::Neg, of),
                })
            }
            TokenKind::Punct('+') => self.expression(SIGN),
            TokenKind::Punct('(') => {
                let inner = self.expression(0)?;
                self.expect(')')?;
                Ok(inner)
            }
            TokenKind::Number => self.number(token),
            TokenKind::Ident if self.of(token) == "not" => {
                Ok(Formula::unary(UnaryOp::Not, self.expression(NOT)?))
            }
            TokenKind::Ident if self.is('(') => self.call(token),
            TokenKind::Ident => self.name(token),
            _ => {
                let message = format!("expected a value, found {}", self.describe(token));
                fail(Diagnostic::error(token.span, message).with_hint(self.variables_hint()))
            }
        }
    }

    fn number(&self, token: Token) -> Parsed<Formula> {
        let text = self.of(token);
        let literal = match text.bytes().all(|b| b.is_ascii_digit()) {
            true => text.parse().ok().map(Literal::Integer),
            false => text.parse().ok().filter(|x: &f64| x.is_finite()).map(Literal::Float),
        };
        let Some(literal) = literal else {
            let message = format!("the number `{text}` is out of range");
            return fail(Diagnostic::error(token.span, message));
        };
        Ok(Formula { nodes: vec![FormulaNode::Number(literal)] })
    }

    fn name(&self, token: Token) -> Parsed<Formula> {
        let name = self.of(token);
        if let Some(number) = self.variables.iter().position(|variable| *variable == name) {
            return Ok(Formula::variable(number));
        }
        if let Some(value) = words::constant(name) {
            return Ok(Formula { nodes: vec![FormulaNode::Number(Literal::Float(value))] });
        }
        let error = Diagnostic::error(token.span, format!("there is no variable `{name}`"));
        let hint = match words::called(name) {
            Some(_) => format!("a function is called: `{name}(…)`"),
            None => self.variables_hint(),
        };
        fail(error.with_hint(hint))
    }

    fn call(&mut self, name: Token) -> Parsed<Formula> {
        let text = self.of(name);
        let (called, folds) = (words::called(text), words::fold(text));
        let Some(mut called) = called.or(folds) else { return fail(self.unknown(name)) };
        self.expect('(')?;
        let mut operands = vec![self.expression(0)?];
        while self.is(',') {
            self.at += 1;
            operands.push(self.expression(0)?);
        }
        self.expect(')')?;
        // `max` and `min` of one operand fold it.
        if let (1, Some(fold)) = (operands.len(), folds) {
            called = fold;
        }
        let (takes, found) = (called.arity(), operands.len());
        let mut operands = operands.into_iter();
        let formula = match (called, [operands.next(), operands.next(), operands.next()]) {
            (Called::Unary(op), [Some(x), None, None]) => Formula::unary(op, x),
            (Called::Fold(fold), [Some(x), None, None]) => Formula::fold(fold, x),
            (Called::Binary(op), [Some(x), Some(y), None]) => Formula::binary(op, x, y),
            (Called::Where, [Some(c), Some(x), Some(y)]) if found == 3 => Formula::select(c, x, y),
            _ => {
                let plural = if takes == 1 { "" } else { "s" };
                let message = format!("`{text}` takes {takes} operand{plural}, not {found}");
                return fail(Diagnostic::error(name.span, message));
            }
        };
        Ok(formula)
    }

    fn unknown(&self, name: Token) -> Diagnostic {
        let text = self.of(name);
        let error = Diagnostic::error(name.span, format!("there is no function `{text}`"));
        let lower = text.to_lowercase();
        if FOLDS.iter().any(|(fold, _)| *fold == lower) {
            return error.with_hint(format!("`{lower}` stands outermost, once"));
        }
        match words::called(&lower) {
            Some(_) => error.with_fix(format!("did you mean `{lower}`?"), name.span, lower),
            None => {
                let names: Vec<&str> = words::all().collect();
                error.with_hint(format!("functions are {}", names.join(", ")))
            }
        }
    }

    fn variables_hint(&self) -> String {
        let names: Vec<String> = self.variables.iter().map(|name| format!("`{name}`")).collect();
        format!("the elements are {}", names.join(" and "))
    }

    fn expect(&mut self, punct: char) -> Parsed<Token> {
        let token = self.next();
        if token.kind == TokenKind::Punct(punct) {
            return Ok(token);
        }
        let message = format!("expected `{punct}`, found {}", self.describe(token));
        fail(Diagnostic::error(token.span, message))
    }

    fn end(&self) -> Parsed<()> {
        let token = self.peek();
        match token.kind {
            TokenKind::End => Ok(()),
            _ => {
                let message = format!("{} is left over", self.describe(token));
                let error = Diagnostic::error(token.span, message);
                fail(match self.of(token) {
                    "=" => error.with_hint("`==` compares"),
                    "&" | "|" | "!" | "~" => {
                        error.with_hint("`and`, `or` and `not` combine conditions")
                    }
                    _ => error,
                })
            }
        }
    }

    fn peek(&self) -> Token {
        let end = self.text.len() as u32;
        let (kind, span) = (TokenKind::End, Span::new(end, end));
        let end = Token { kind, span, touches_previous: false, after_newline: false };
        self.tokens.get(self.at).copied().unwrap_or(end)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn is(&self, punct: char) -> bool {
        self.peek().kind == TokenKind::Punct(punct)
    }

    fn of(&self, token: Token) -> &'a str {
        self.text.get(token.span.start as usize..token.span.end as usize).unwrap_or_default()
    }

    fn describe(&self, token: Token) -> String {
        match token.kind {
            TokenKind::End => "the end".into(),
            _ => format!("`{}`", self.of(token).chars().take(40).collect::<String>()),
        }
    }
}

fn fail<T>(diagnostic: Diagnostic) -> Parsed<T> {
    Err(Box::new(diagnostic))
}

fn negated(literal: Literal) -> Formula {
    let literal = match literal {
        Literal::Integer(n) => Literal::Integer(n.wrapping_neg()),
        Literal::Float(x) => Literal::Float(-x),
    };
    Formula { nodes: vec![FormulaNode::Number(literal)] }
}
