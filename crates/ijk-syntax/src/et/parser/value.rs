//! Values: right sides of statements.

use super::super::ast::{Along, Index, Value, ValueFunction, ValueOp};
use super::super::{codes, words};
use super::term::{Foreign, TermGrammar};
use super::{EtParser, Parsed};
use crate::ast::{Name, Number};
use crate::report::{nearest, shorten};
use crate::{Diagnostic, Function, Span, Token, TokenKind};

impl TermGrammar for Value {
    const NAME: &'static str = "values";
    const ONE: &'static str = "a value";
    const OPERATORS: &'static [(&'static str, ValueOp)] =
        &[("//", ValueOp::FloorDiv), ("/", ValueOp::Div), ("*", ValueOp::Mul)];
    const FOREIGN: &'static [Foreign] = &[
        Foreign { symbol: "//^", hint: "`CEIL(x / y)` rounds up" },
        Foreign { symbol: "**", hint: "the power is `POW(x, y)`" },
        Foreign { symbol: "^", hint: "the power is `POW(x, y)`" },
        Foreign { symbol: "%", hint: "the remainder is `MOD(x, y)`" },
        Foreign { symbol: "==", hint: "`EQ(x, y)` compares" },
        Foreign { symbol: "<=", hint: "`LE(x, y)` compares" },
        Foreign { symbol: ">=", hint: "`GE(x, y)` compares" },
        Foreign { symbol: "<", hint: "`LT(x, y)` compares, `MIN(x, y)` is the minimum" },
        Foreign { symbol: ">", hint: "`GT(x, y)` compares, `MAX(x, y)` is the maximum" },
        Foreign { symbol: "&", hint: "`AND(x, y)`" },
        Foreign { symbol: "|", hint: "`OR(x, y)`" },
        Foreign { symbol: "and", hint: "`AND(x, y)`" },
        Foreign { symbol: "or", hint: "`OR(x, y)`" },
        Foreign { symbol: "if", hint: "`WHERE(condition, x, y)` chooses" },
        Foreign { symbol: "~", hint: "`~` is of the language i; here, `left[…] = right[…]`" },
    ];

    fn primary(parser: &mut EtParser<'_>) -> Parsed<Self> {
        parser.value_primary()
    }

    fn number(parser: &mut EtParser<'_>, token: Token, negative: bool, span: Span) -> Self {
        let number = match token.kind {
            TokenKind::BadNumber => parser.spoiled(token.span),
            _ => parser.literal(token.span, negative, "INF"),
        };
        Self::Number(number, span)
    }
}

/// An operand of a function of all values along an eintup.
enum AlongArg {
    Values(Box<Value>),
    Tuple(Name),
    Place(Index),
}

impl AlongArg {
    fn into_place(self) -> Option<Index> {
        match self {
            Self::Place(place) => Some(place),
            _ => None,
        }
    }
}

/// An argument of RANDOM.
enum RandomArg {
    Value(Value),
    Float(bool),
}

impl EtParser<'_> {
    fn value_primary(&mut self) -> Parsed<Value> {
        let token = self.peek(0);
        let Some(text) = self.word() else {
            let error = self.no_value();
            return self.fail(error);
        };
        if text == "not" && self.kind(1) == TokenKind::Ident && !self.peek(1).after_newline {
            let error = codes::OPERATOR.error(token.span, "`not` is no operator of values");
            return self.fail(error.with_hint("`NOT(x)`"));
        }
        match self.capitals(&["RANDOM", "RANK", "DIMS", "FLAT"]) {
            Some("RANDOM") => return self.random(),
            Some("RANK") => {
                let of = self.tuples("RANK")?;
                return Ok(Value::Rank(of, self.since(token.span)));
            }
            Some("DIMS") => return self.dims_value(),
            Some(_) => return self.flat_value(),
            None => {}
        }
        if let Some(value) = words::constant(text).filter(|_| !self.opens(1, '[')) {
            self.next();
            return Ok(Value::Number(Number::Float(value), token.span));
        }
        if self.opens(1, '(') {
            return self.apply();
        }
        match self.opens(1, '[') {
            true => self.access(false).map(Value::Element),
            false => self.identifier("a value").map(Value::Tuple),
        }
    }

    /// `DIMS(…)`, perhaps `[coord]`.
    fn dims_value(&mut self) -> Parsed<Value> {
        let start = self.peek(0).span;
        let of = self.tuples("DIMS")?;
        let coord = match self.opens(0, '[') {
            true => Some(Box::new(self.coordinate()?)),
            false => None,
        };
        Ok(Value::Dims { of, coord, span: self.since(start) })
    }

    /// `[index]`.
    fn coordinate(&mut self) -> Parsed<Index> {
        let open = self.peek(0).span;
        let indices = self.list(']', |parser, _| parser.sum())?;
        if let Ok([index]) = <[Index; 1]>::try_from(indices) {
            return Ok(index);
        }
        let span = self.since(open);
        self.fail(codes::ARGUMENT_COUNT.error(span, "`DIMS(…)` takes one index"))
    }

    fn flat_value(&mut self) -> Parsed<Value> {
        let span = self.peek(0).span;
        let error = codes::EXPECTED_TERM.error(span, "`FLAT(…)` is an index, not a value");
        self.fail(error.with_hint("an array may be indexed by it: `x[FLAT(i, j)]`"))
    }

    /// `RANDOM(lo, hi, INT|FLOAT)`.
    fn random(&mut self) -> Parsed<Value> {
        let start = self.next().span;
        self.expect_open("RANDOM")?;
        let args = self.list(')', |parser, args: &[RandomArg]| match args.len() {
            2 => parser.number_type().map(RandomArg::Float),
            _ => parser.sum().map(RandomArg::Value),
        })?;
        let (span, found) = (self.since(start), args.len());
        match <[RandomArg; 3]>::try_from(args) {
            Ok([RandomArg::Value(lo), RandomArg::Value(hi), RandomArg::Float(float)]) => {
                let (lo, hi) = (Box::new(lo), Box::new(hi));
                Ok(Value::Random { lo, hi, float, span })
            }
            _ => {
                let message = format!("`RANDOM` takes 3 arguments, not {found}");
                let error = codes::ARGUMENT_COUNT.error(span, message);
                self.fail(error.with_hint(
                    "`RANDOM(0, 10, INT)`: the least value, what all are less than, INT or FLOAT",
                ))
            }
        }
    }

    /// `INT` or `FLOAT`; whether the latter.
    fn number_type(&mut self) -> Parsed<bool> {
        let token = self.peek(0);
        let types = ["INT", "FLOAT"];
        let found = self.word().and_then(|w| types.iter().find(|t| t.eq_ignore_ascii_case(w)));
        let Some(&word) = found else {
            let message = format!("expected INT or FLOAT, found {}", self.describe(token));
            return self.fail(codes::NUMBER_TYPE.error(token.span, message));
        };
        if self.text(token.span) != word {
            self.not_in_capitals(token.span, word);
        }
        self.next();
        Ok(word == "FLOAT")
    }

    /// `FUNCTION(value, …)`.
    fn apply(&mut self) -> Parsed<Value> {
        let name = self.next().span;
        let capitals = self.text(name).to_ascii_uppercase();
        if let Some(function) = words::along(&capitals) {
            if self.text(name) != capitals {
                self.not_in_capitals(name, &capitals);
            }
            return self.along(name, function);
        }
        let function = self.function(name);
        let args = self.list(')', |parser, _| parser.sum())?;
        let span = self.since(name);
        let Some((function, operands)) = function else {
            return Ok(Value::Number(Number::Integer(0), span));
        };
        if args.len() != operands {
            let error = self.wrong_count(name, args.len(), operands);
            self.error(error);
        }
        Ok(Value::Call { function, name, args, span })
    }

    /// The operands of `SORT(value, eintup, place)` and its like.
    fn along(&mut self, name: Span, function: Function) -> Parsed<Value> {
        let args = self.list(')', |parser, args: &[AlongArg]| match args.len() {
            0 => parser.sum().map(|of| AlongArg::Values(Box::new(of))),
            1 => parser.identifier("an eintup").map(AlongArg::Tuple),
            _ => parser.sum().map(AlongArg::Place),
        })?;
        let (span, found) = (self.since(name), args.len());
        let mut args = args.into_iter();
        if let (Some(AlongArg::Values(of)), Some(AlongArg::Tuple(tuple)), place, None) =
            (args.next(), args.next(), args.next(), args.next())
            && (place.is_none() || function.orders())
        {
            let place = place.and_then(AlongArg::into_place);
            let along = Along { function, name, of: *of, tuple, place, span };
            return Ok(Value::Along(Box::new(along)));
        }
        let text = words::along_name(function);
        let (takes, hint) = match function.orders() {
            false => ("2 operands", format!("`{text}(x[i,j], j)`: the values, the eintup")),
            true => (
                "2 or 3 operands",
                format!(
                    "`{text}(x[i,j], j)`, or `{text}(x[i,j], j, k)`: the values, the eintup along which they are \
                     ordered, the place in the order"
                ),
            ),
        };
        let message = format!("`{text}` takes {takes}, not {found}");
        self.fail(codes::ARGUMENT_COUNT.error(span, message).with_hint(hint))
    }

    pub(super) fn wrong_count(&self, name: Span, found: usize, takes: usize) -> Diagnostic {
        let text = self.text(name).to_ascii_uppercase();
        let plural = if takes == 1 { "" } else { "s" };
        let message = format!("`{text}` takes {takes} operand{plural}, not {found}");
        let error = codes::ARGUMENT_COUNT.error(self.since(name), message);
        match (&*text, found) {
            ("MAX" | "MIN" | "AND" | "OR", 3..) => {
                error.with_hint(format!("`{text}(x, {text}(y, z))`"))
            }
            ("LOG", 2) => error.with_hint("the logarithm to a base is `LOG(x) / LOG(base)`"),
            ("EXP", 2) => error.with_hint("the power is `POW(x, y)`"),
            _ => error,
        }
    }

    /// The function of that name; none after reporting that it is unknown.
    fn function(&mut self, name: Span) -> Option<(ValueFunction, usize)> {
        let text = self.text(name);
        if let Some(function) = words::function(text) {
            return Some(function);
        }
        if let Some(capitals) = words::function_in_capitals(text) {
            self.not_in_capitals(name, &capitals);
            return words::function(&capitals);
        }
        let error = self.unknown_function(name);
        self.error(error);
        None
    }

    fn unknown_function(&self, name: Span) -> Diagnostic {
        let text = self.text(name);
        let message = format!("there is no function `{}`", shorten(text));
        let error = codes::UNKNOWN_FUNCTION.error(name, message);
        if self.report.is_full() {
            return error;
        }
        if let Some(cast) = words::cast(text) {
            return error.with_fix(format!("`{cast}(x)` converts"), name, cast);
        }
        if let Some(hint) = words::reduction(text) {
            return error.with_hint(hint);
        }
        let names: Vec<String> = words::function_names().collect();
        let capitals = text.to_ascii_uppercase();
        match nearest(&capitals, names.iter().map(String::as_str)) {
            Some(near) => error.with_fix(format!("did you mean `{near}`?"), name, near),
            None => error.with_hint("an element of an array is `array[index, …]`"),
        }
    }

    fn no_value(&self) -> Diagnostic {
        let token = self.peek(0);
        let message = format!("expected a value, found {}", self.describe(token));
        let error = codes::EXPECTED_TERM.error(token.span, message);
        let before = self.previous().map_or("", |t| self.text(t.span));
        match token.kind {
            _ if words::assign_word(before).is_some() => error
                .with_hint(format!("as a value `{before}` stands behind a space: `= {before}`")),
            TokenKind::Punct('@') => error.with_hint("functions are called: `TANH(x[i])`"),
            TokenKind::Punct('[') => error.with_hint("an array's name comes before its brackets"),
            TokenKind::Punct('~') => {
                error.with_hint("`~` is of the language i; here, `left[…] = right[…]`")
            }
            TokenKind::Quoted | TokenKind::BadQuoted => {
                error.with_hint("text stands in the framework call only: `L('VALID')`")
            }
            _ => error,
        }
    }
}
