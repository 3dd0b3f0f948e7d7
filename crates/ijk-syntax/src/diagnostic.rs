//! Messages about a program: text, source location, and hints for a fix.

use crate::{Code, Span};

/// Severity of a diagnostic: errors stop a program, warnings do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program means something, perhaps not what was intended.
    Warning,
    /// The program means nothing.
    Error,
}

/// A proposed fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The sentence.
    pub message: String,
    /// Text that could stand in place of a span, where the fix is that simple.
    pub replacement: Option<(Span, String)>,
}

/// An error or a warning about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Kind of the diagnostic; none where the language has no table of codes.
    pub code: Option<Code>,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence without a full stop, naming the letters, arguments, axes and numbers concerned.
    pub message: String,
    /// The offending place.
    pub span: Span,
    /// Text at the caret of the offending place; may be empty.
    pub label: String,
    /// Related places, each with a note.
    pub related: Vec<(Span, String)>,
    /// Offers.
    pub hints: Vec<Hint>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            code: None,
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// The same with words at the caret.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same with another place.
    #[must_use]
    pub fn with_related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// The same with an offer in words.
    #[must_use]
    pub fn with_hint(mut self, message: impl Into<String>) -> Self {
        self.hints.push(Hint { message: message.into(), replacement: None });
        self
    }

    /// The same with an offer of text to put in place of `span`.
    #[must_use]
    pub fn with_fix(
        mut self,
        message: impl Into<String>,
        span: Span,
        text: impl Into<String>,
    ) -> Self {
        self.hints.push(Hint { message: message.into(), replacement: Some((span, text.into())) });
        self
    }

    /// The same about a text that has `offset` more bytes before what it is about.
    ///
    /// ```
    /// use ijk_syntax::{Diagnostic, Span};
    /// let moved = Diagnostic::warning(Span::new(1, 3), "unused").shifted(10);
    /// assert_eq!(moved.span, Span::new(11, 13));
    /// ```
    #[must_use]
    pub fn shifted(mut self, offset: u32) -> Self {
        let moved = |span: Span| {
            Span::new(span.start.saturating_add(offset), span.end.saturating_add(offset))
        };
        self.span = moved(self.span);
        self.related.iter_mut().for_each(|(span, _)| *span = moved(*span));
        let replaced = self.hints.iter_mut().filter_map(|hint| hint.replacement.as_mut());
        replaced.for_each(|(span, _)| *span = moved(*span));
        self
    }
}
