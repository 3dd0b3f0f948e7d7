//! The text of `zarr.json` as others write it.
//!
//! Python's `json` writes NaN and infinities as bare tokens, which JSON does not have, and reads them again. So do
//! `zarr` and `xarray`, mostly in attributes. Attributes are kept as text: numbers stay as they were written.

use super::error::ZarrError;
use serde_json::Value;
use std::borrow::Cow;

/// Spellings of Python for numbers that JSON cannot represent.
const BARE: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// A document, in which bare tokens are strings as the specification has them.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) json: Value,
    /// The text of the attributes, unless there are none.
    pub(super) attributes: Option<String>,
}

impl Document {
    pub(super) fn parse(text: &[u8]) -> Result<Self, ZarrError> {
        let wrong = |error: String| ZarrError::Metadata(error);
        let text = std::str::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
        let json = serde_json::from_str::<Value>(&quoted(text));
        let json = json.map_err(|error| wrong(error.to_string()))?;
        let is_any =
            json.get("attributes").and_then(Value::as_object).is_some_and(|a| !a.is_empty());
        let attributes = is_any.then(|| member(text, "attributes")).flatten();
        Ok(Self { attributes: attributes.map(str::to_owned), json })
    }
}

/// The text of a group in which consolidated metadata have these of a member, if it has consolidated metadata: readers
/// look nowhere else then.
pub(super) fn consolidated(group: &str, path: &str, metadata: &str) -> Option<String> {
    serde_json::from_str::<Value>(&quoted(group)).ok()?;
    let members = member(member(group, "consolidated_metadata")?, "metadata")?;
    let inner = members.strip_prefix('{')?;
    let name = Value::from(path).to_string();
    let place = |part: &str| part.as_ptr() as usize - group.as_ptr() as usize;
    let (range, text) = match member(members, name.trim_matches('"')) {
        Some(old) => (place(old)..place(old) + old.len(), metadata.trim().to_owned()),
        None => {
            let comma = if inner.trim_start().starts_with('}') { "" } else { "," };
            (place(inner)..place(inner), format!("\n{name}: {}{comma}", metadata.trim()))
        }
    };
    Some([&group[..range.start], &text, &group[range.end..]].concat())
}

/// The text of an object without a member.
pub(super) fn without(text: &str, name: &str) -> String {
    let mut text = text.to_owned();
    while let Some(value) = member(&text, name) {
        let end = value.as_ptr() as usize - text.as_ptr() as usize + value.len();
        let start = text[..end - value.len()].rfind(['{', ',']).unwrap_or_default();
        let rest = text[end..].trim_start();
        let range = match (&text[start..=start], rest.strip_prefix(',')) {
            // The first one takes the comma after it along.
            ("{", Some(rest)) => start + 1..text.len() - rest.trim_start().len(),
            ("{", None) => start + 1..end,
            _ => start..end,
        };
        text.replace_range(range, "");
    }
    text
}

/// Checks that a text is a JSON object, bare tokens included.
pub(super) fn check_object(text: &str) -> Result<(), ZarrError> {
    let wrong = |why: &str| ZarrError::Metadata(format!("attributes: {why}"));
    match serde_json::from_str::<Value>(&quoted(text)) {
        Ok(Value::Object(_)) => Ok(()),
        Ok(_) => Err(wrong("they are no JSON object")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

/// The text with strings for bare tokens.
fn quoted(text: &str) -> Cow<'_, str> {
    let mut quoted = String::new();
    // Up to where the text is copied.
    let mut copied = 0;
    let mut scan = Scan::default();
    for (at, byte) in text.bytes().enumerate() {
        if scan.is_in_string(byte) || at < copied {
            continue;
        }
        let Some(token) = BARE.into_iter().find(|token| text[at..].starts_with(token)) else {
            continue;
        };
        let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
        if is_part(before) || is_part(text.as_bytes().get(at + token.len())) {
            continue;
        }
        quoted.extend([&text[copied..at], "\"", token, "\""]);
        copied = at + token.len();
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(quoted + &text[copied..]),
    }
}

/// The text of a member's value in the outermost object of a document that parses; of the last, if it is there twice.
fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (mut scan, mut depth, mut start, mut found) = (Scan::default(), 0usize, 0, None);
    for (at, byte) in text.bytes().enumerate() {
        if scan.is_in_string(byte) {
            continue;
        }
        if depth == 1 && matches!(byte, b',' | b'}') {
            found = value_of(&text[start..at], name).or(found);
            start = at + 1;
        }
        match byte {
            b'{' | b'[' if depth == 0 => (depth, start) = (1, at + 1),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}

/// The value of `"name": value`.
fn value_of<'a>(member: &'a str, name: &str) -> Option<&'a str> {
    let rest = member.trim_start().strip_prefix('"')?.strip_prefix(name)?.strip_prefix('"')?;
    Some(rest.trim_start().strip_prefix(':')?.trim())
}

/// Tells strings from the rest, byte by byte.
#[derive(Default)]
struct Scan {
    string: bool,
    escaped: bool,
}

impl Scan {
    /// Returns true if the next byte belongs to a string, quotes included.
    fn is_in_string(&mut self, byte: u8) -> bool {
        match (self.string, byte) {
            (true, _) if self.escaped => self.escaped = false,
            (true, b'\\') => self.escaped = true,
            (true, b'"') => {
                self.string = false;
                return true;
            }
            (false, b'"') => self.string = true,
            _ => {}
        }
        self.string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_tokens_are_strings() {
        for (text, expected) in [
            (r#"{"a": NaN}"#, r#"{"a": "NaN"}"#),
            (r#"[Infinity,-Infinity,NaN]"#, r#"["Infinity","-Infinity","NaN"]"#),
            (
                r#"{"NaN": "-Infinity NaN", "b": "\"NaN"}"#,
                r#"{"NaN": "-Infinity NaN", "b": "\"NaN"}"#,
            ),
            (r#"["\\", NaN]"#, r#"["\\", "NaN"]"#),
            ("NaN", "\"NaN\""),
            ("[NaNa, aNaN, 1NaN]", "[NaNa, aNaN, 1NaN]"),
            ("[\"ä\", -Infinity]", "[\"ä\", \"-Infinity\"]"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn members_join_consolidated_metadata() {
        let add = |members: &str, path: &str| {
            let group = |members: &str| {
                format!(
                    r#"{{"attributes": {{"a": NaN}}, "consolidated_metadata": {{"metadata": {members}}}}}"#
                )
            };
            let text = consolidated(&group(members), path, "{\"x\": 1}\n")?;
            let (before, after) = text.split_once("{\"metadata\": ").unwrap();
            assert!(before.contains("NaN"));
            assert!(Document::parse(text.as_bytes()).is_ok(), "{text}");
            Some(after.strip_suffix("}}").unwrap().replace('\n', ""))
        };
        for (members, path, expected) in [
            ("{}", "y", r#"{"y": {"x": 1}}"#),
            (r#"{"t": {"y": 1}}"#, "y", r#"{"y": {"x": 1},"t": {"y": 1}}"#),
            (r#"{"t": NaN, "y": {"y": 2}}"#, "y", r#"{"t": NaN, "y": {"x": 1}}"#),
            (r#"{"a/\"y": 0}"#, "a/\"y", r#"{"a/\"y": {"x": 1}}"#),
        ] {
            assert_eq!(add(members, path).as_deref(), Some(expected));
        }
        for group in [
            "{}",
            r#"{"consolidated_metadata": null}"#,
            "{",
            r#"{"consolidated_metadata": {"metadata": 1}}"#,
        ] {
            assert_eq!(consolidated(group, "y", "{}"), None);
        }
    }

    #[test]
    fn members_are_left_out() {
        for (text, expected) in [
            (r#"{"a": [1, {"b": 2}], "b": NaN}"#, r#"{"b": NaN}"#),
            (r#"{"b": "a", "a" : {"a": 1} , "c": 1.50}"#, r#"{"b": "a" , "c": 1.50}"#),
            (r#"{"b": 1, "a": "}"}"#, r#"{"b": 1}"#),
            (r#"{ "a": 1 }"#, r#"{ }"#),
            (r#"{"a": 1, "b": 2, "a": 3}"#, r#"{"b": 2}"#),
            (r#"{"b": {"a": 1}}"#, r#"{"b": {"a": 1}}"#),
        ] {
            assert_eq!(without(text, "a"), expected);
        }
    }

    #[test]
    fn attributes_are_kept_as_they_are_written() {
        let attributes = |text: &str| Document::parse(text.as_bytes()).unwrap().attributes;
        let own = r#"{"n": 12345678901234567890123, "x": NaN, "s": "}, ]", "d": {"attributes": [1e400]}}"#;
        let own = own.replace("1e400", "1.50");
        let text =
            format!(r#"{{"shape": [1, 2], "attributes" : {own} , "last": {{"attributes": 3}}}}"#);
        assert_eq!(attributes(&text), Some(own.clone()));
        assert_eq!(attributes(&format!(r#"{{"attributes":{own}}}"#)), Some(own));
        for text in [r#"{"attributes": {}}"#, r#"{"x": {"attributes": {"a": 1}}}"#, "[]", "{}"] {
            assert_eq!(attributes(text), None, "{text}");
        }
        for text in ["{", "{\"a\": Nan}", "{\"a\": +Infinity}", "{\"attributes\": {]}"] {
            assert!(Document::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
