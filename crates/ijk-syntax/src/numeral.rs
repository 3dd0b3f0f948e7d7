//! Values of the numbers that tokens spell.

use crate::ast::Number;
use crate::cursor::Cursor;
use crate::report::shorten;
use crate::{Span, Token, codes};

impl Cursor<'_> {
    /// The value of `digits [. digits] [exponent]`; 1 after reporting that it has none.
    /// `infinity` is how the language spells that.
    pub(crate) fn literal(&mut self, digits: Span, negative: bool, infinity: &str) -> Number {
        let text = self.text(digits);
        let number = match text.bytes().all(|b| b.is_ascii_digit()) {
            true => integer(text, negative).map(Number::Integer),
            false => float(text, negative).map(Number::Float),
        };
        number.unwrap_or_else(|| {
            let message = format!("the number `{}` is out of range", shorten(text));
            let hint = match text.bytes().all(|b| b.is_ascii_digit()) {
                true => "integers have 64 bits; with `.0` it is a binary64".to_owned(),
                false => {
                    format!("the greatest binary64 is about 1.8e308; infinity is `{infinity}`")
                }
            };
            self.error(codes::NUMBER_RANGE.error(digits, message).with_hint(hint));
            Number::Integer(1)
        })
    }

    /// Reports a number that letters touch.
    pub(crate) fn spoiled(&mut self, span: Span) -> Number {
        let text = self.text(span);
        let length = crate::lexer::number_length(text);
        let (digits, tail) = text.split_at(length);
        let (shown, letters) = (shorten(digits), shorten(tail));
        let at = Span::new(span.start + length as u32, span.end);
        let error =
            codes::NUMBER_TOUCHED.error(at, format!("`{letters}` touches the number `{shown}`"));
        self.error(match tail.starts_with(char::is_alphabetic) {
            true => error.with_hint(format!("an operator stands between: `{shown}*{letters}`")),
            false => error.with_hint("a number has digits, a point and an exponent only"),
        });
        Number::Integer(1)
    }

    /// The whole number a token is; none after reporting that it is not.
    pub(crate) fn whole(&mut self, token: Token) -> Option<u64> {
        let text = self.text(token.span);
        let whole = text.parse::<u64>().ok().filter(|&n| i64::try_from(n).is_ok());
        if whole.is_none() {
            let shown = shorten(text);
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            let error = match digits {
                true => codes::INTEGER_TOO_LARGE
                    .error(token.span, format!("{shown} is too large"))
                    .with_hint(format!("the greatest is {}", i64::MAX)),
                false => {
                    codes::NOT_WHOLE.error(token.span, format!("`{shown}` is not a whole number"))
                }
            };
            self.error(error);
        }
        whole
    }
}

fn integer(digits: &str, negative: bool) -> Option<i64> {
    let magnitude = digits.parse::<i128>().ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

fn float(text: &str, negative: bool) -> Option<f64> {
    let magnitude = text.parse::<f64>().ok().filter(|x| x.is_finite())?;
    Some(if negative { -magnitude } else { magnitude })
}
