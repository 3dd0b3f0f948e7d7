//! Codes of diagnostics: names that stay when the words of a message change.

use crate::{Diagnostic, Span};
use std::fmt;

/// Kind of a diagnostic, independent of the letters, names and numbers in its message.
///
/// Codes come from tables ([`codes!`](crate::codes!)), so that tests can ask whether each has been
/// seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(
    /// Twice behind a reference: results that hold a diagnostic stay small.
    &'static &'static str,
);

impl Code {
    #[doc(hidden)]
    pub const fn declare(name: &'static &'static str) -> Self {
        Self(name)
    }

    /// Its name: `not-closed`.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// An error at `span`.
    pub fn error(self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code: Some(self), ..Diagnostic::error(span, message) }
    }

    /// A warning at `span`.
    pub fn warning(self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code: Some(self), ..Diagnostic::warning(span, message) }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A table of codes: a constant for each, and `ALL` of them.
///
/// ```
/// ijk_syntax::codes! {
///     NOT_CLOSED = "not-closed";
/// }
/// assert_eq!(ALL, [NOT_CLOSED]);
/// ```
#[macro_export]
macro_rules! codes {
    ($($name:ident = $text:literal;)*) => {
        $(pub(crate) const $name: $crate::Code = $crate::Code::declare(&$text);)*
        /// All codes of this table.
        pub const ALL: &[$crate::Code] = &[$($name),*];
    };
}
