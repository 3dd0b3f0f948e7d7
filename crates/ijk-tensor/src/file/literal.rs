//! A parser of Python literals, enough for the header of a `.npy` file.

/// Deeper nesting is refused: honest headers need three levels.
const MAX_DEPTH: usize = 32;

/// A Python literal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    None,
    Bool(bool),
    /// `None` where it exceeds an `i64`.
    Int(Option<i64>),
    Str(String),
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
}

/// Syntax error, with its byte offset.
#[derive(Debug, PartialEq)]
pub(crate) struct Bad {
    pub offset: usize,
    pub message: String,
}

/// Parses a text that is one literal, surrounded by white space.
pub(crate) fn parse(text: &str) -> Result<Value, Bad> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser.value()?;
    match parser.peek() {
        None => Ok(value),
        Some(c) => parser.fail(format!("unexpected `{c}` after the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, Bad> {
        Err(Bad { offset: self.at, message: message.into() })
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        let skipped = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', '\x0c']).len();
        self.at += skipped;
        self.rest().chars().next()
    }

    /// Consumes the next character if it is `c`.
    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, c: char) -> Result<(), Bad> {
        if self.eat(c) {
            return Ok(());
        }
        match self.peek() {
            Some(found) => self.fail(format!("expected `{c}`, found `{found}`")),
            None => self.fail(format!("expected `{c}`, found the end")),
        }
    }

    fn value(&mut self) -> Result<Value, Bad> {
        match self.peek() {
            Some('{') => self.nested(Self::dict),
            Some('(') => self.nested(Self::tuple),
            Some('[') => self.nested(|p| Ok(Value::List(p.items('[', ']')?.0))),
            Some('\'' | '"') => self.string().map(Value::Str),
            Some('0'..='9' | '-' | '+') => self.integer(),
            Some(c) if c.is_ascii_alphabetic() => self.word(),
            Some(c) => self.fail(format!("unexpected `{c}`")),
            None => self.fail("unexpected end"),
        }
    }

    fn nested(&mut self, parse: fn(&mut Self) -> Result<Value, Bad>) -> Result<Value, Bad> {
        if self.depth == MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        self.depth += 1;
        let value = parse(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn dict(&mut self) -> Result<Value, Bad> {
        let mut entries = Vec::new();
        self.expect('{')?;
        while !self.eat('}') {
            let key = self.value()?;
            self.expect(':')?;
            entries.push((key, self.value()?));
            if !self.eat(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(Value::Dict(entries))
    }

    /// `(a)` is `a`; a comma makes a tuple.
    fn tuple(&mut self) -> Result<Value, Bad> {
        let (mut items, comma) = self.items('(', ')')?;
        match (items.len(), comma) {
            (1, false) => Ok(items.remove(0)),
            _ => Ok(Value::Tuple(items)),
        }
    }

    /// Items between brackets, and whether a comma followed the last.
    fn items(&mut self, open: char, close: char) -> Result<(Vec<Value>, bool), Bad> {
        let mut items = Vec::new();
        self.expect(open)?;
        let mut comma = false;
        while !self.eat(close) {
            items.push(self.value()?);
            comma = self.eat(',');
            if !comma {
                self.expect(close)?;
                break;
            }
        }
        Ok((items, comma))
    }

    fn string(&mut self) -> Result<String, Bad> {
        let mut chars = self.rest().char_indices();
        let quote = chars.next().map_or('\'', |(_, c)| c);
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => text.extend(chars.next().map(|(_, c)| c)),
                '\n' => break,
                _ if c == quote => {
                    self.at += at + 1;
                    return Ok(text);
                }
                _ => text.push(c),
            }
        }
        self.fail("a string without an end")
    }

    /// Digits with a sign, and the `L` that Python 2 wrote after them.
    fn integer(&mut self) -> Result<Value, Bad> {
        let rest = self.rest();
        let signs = usize::from(rest.starts_with(['-', '+']));
        let digits = rest[signs..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return self.fail("a sign without digits");
        }
        let value = rest[..signs + digits].parse().ok();
        let long = usize::from(rest[signs + digits..].starts_with('L'));
        self.at += signs + digits + long;
        Ok(Value::Int(value))
    }

    fn word(&mut self) -> Result<Value, Bad> {
        let rest = self.rest();
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let value = match &rest[..length] {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::None,
            other => return self.fail(format!("unexpected `{other}`")),
        };
        self.at += length;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[i64]) -> Vec<Value> {
        values.iter().map(|&x| Value::Int(Some(x))).collect()
    }

    #[test]
    fn literals() {
        assert_eq!(parse(" (1, 2) "), Ok(Value::Tuple(ints(&[1, 2]))));
        assert_eq!(parse("(3,)"), Ok(Value::Tuple(ints(&[3]))));
        assert_eq!(parse("(3)"), Ok(Value::Int(Some(3))));
        assert_eq!(parse("(10L, -5L)"), Ok(Value::Tuple(ints(&[10, -5]))));
        assert_eq!(parse("()"), Ok(Value::Tuple(vec![])));
        assert_eq!(parse("[1,]"), Ok(Value::List(ints(&[1]))));
        assert_eq!(parse(r#"'a\'"b'"#), Ok(Value::Str("a'\"b".into())));
        assert_eq!(parse("None"), Ok(Value::None));
        assert_eq!(parse("99999999999999999999"), Ok(Value::Int(None)));
        let entry = (Value::Str("a".into()), Value::Bool(true));
        assert_eq!(parse("{'a': True, }"), Ok(Value::Dict(vec![entry])));
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, offset, message) in [
            ("", 0, "unexpected end"),
            ("(1, 2", 5, "expected `)`, found the end"),
            ("{'a' 1}", 5, "expected `:`, found `1`"),
            ("'abc", 0, "a string without an end"),
            ("(1, x)", 4, "unexpected `x`"),
            ("1 2", 2, "unexpected `2` after the end"),
            ("-", 0, "a sign without digits"),
            ("é", 0, "unexpected `é`"),
        ] {
            assert_eq!(parse(text), Err(Bad { offset, message: message.into() }), "{text}");
        }
        assert_eq!(parse(&"(".repeat(1_000_000)).unwrap_err().message, "nested too deeply");
    }
}
