//! The program's text in messages.

use ijk_syntax::Span;

/// The text a span covers; empty where the span does not fit the source.
pub fn slice(source: &str, span: Span) -> &str {
    source.get(span.start as usize..span.end as usize).unwrap_or("")
}

/// The text a span covers in backquotes, shortened where it is long or has several lines;
/// `otherwise` where there is none.
pub fn quote(source: &str, span: Span, otherwise: &str) -> String {
    let text = slice(source, span);
    if text.is_empty() {
        return otherwise.to_string();
    }
    let line = text.lines().next().unwrap_or("");
    if line.len() == text.len() && text.chars().count() <= 40 {
        return format!("`{text}`");
    }
    let start: String = line.chars().take(36).collect();
    format!("`{}…`", start.trim_end())
}

/// `1 input`, `2 inputs`.
pub fn count(n: usize, noun: &str) -> String {
    count_of(n, noun, &format!("{noun}s"))
}

/// `1 axis`, `2 axes`.
pub fn count_of(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

impl crate::core::Span {
    /// The same place of a text that has `offset` more bytes before it.
    pub fn shifted(self, offset: u32) -> Self {
        Self { start: self.start.saturating_add(offset), end: self.end.saturating_add(offset) }
    }
}

impl From<Span> for crate::core::Span {
    fn from(span: Span) -> Self {
        Self { start: span.start, end: span.end }
    }
}

impl From<crate::core::Span> for Span {
    fn from(span: crate::core::Span) -> Self {
        Self { start: span.start, end: span.end }
    }
}
