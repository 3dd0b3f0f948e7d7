//! Text from elsewhere, made harmless to print.

use std::borrow::Cow;

/// Text with what steers a terminal, or changes the order in which text is shown, written as escapes: control
/// characters but line feeds and tabs, and overrides, isolates and marks of direction. Names of files, of members of
/// archives and of element types may contain them.
///
/// ```
/// use ijk_syntax::visible;
/// assert_eq!(visible("\x1b]0;title\x07a.npy"), r"\x1b]0;title\x07a.npy");
/// assert_eq!(visible("a\u{202e}b"), r"a\u{202e}b");
/// assert_eq!(visible("line 1\n\tline 2"), "line 1\n\tline 2");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !steers(c) => out.push(c),
            '\r' => out.push_str(r"\r"),
            c if c <= '\u{ff}' => out.push_str(&format!(r"\x{:02x}", c as u32)),
            c => out.push_str(&format!(r"\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(out)
}

/// Returns true if a character is shown as an escape.
fn steers(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_steers_is_escaped() {
        for code in 0..=0x10ffff {
            let Some(c) = char::from_u32(code) else { continue };
            let text = c.to_string();
            let shown = visible(&text);
            assert!(!shown.chars().any(steers), "{code:x}");
            assert_eq!(shown == text, !steers(c));
            assert_eq!(visible(&shown), shown);
        }
        assert_eq!(visible("\r\u{7f}\u{9b}31m"), r"\r\x7f\x9b31m");
    }
}
