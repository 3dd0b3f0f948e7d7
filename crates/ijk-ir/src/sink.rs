//! Where checks put what they find.

use crate::limits::MAX_DIAGNOSTICS;
use ijk_syntax::{Diagnostic, Severity};

/// Collected diagnostics, a bounded number of them.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    left_off: bool,
}

impl Sink {
    /// Takes one in.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let is_error = diagnostic.severity == Severity::Error;
        self.errors += usize::from(is_error);
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        } else if !self.left_off {
            self.left_off = true;
            let message = format!("only the first {MAX_DIAGNOSTICS} errors are shown");
            self.diagnostics.push(Diagnostic::warning(diagnostic.span, message));
        }
    }

    /// Counts an error that the parser has reported.
    pub fn reported_by_parser(&mut self) {
        self.errors += 1;
    }

    /// How many errors there were.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// What was collected, by place in the source.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
        self.diagnostics
    }
}
