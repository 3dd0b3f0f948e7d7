//! Where checks put what they find.

use crate::codes;
use crate::limits::MAX_DIAGNOSTICS;
use ijk_syntax::{Diagnostic, Severity};

/// Collected diagnostics, a bounded number of them.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Sink {
    /// Takes one in.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let (count, what) = match diagnostic.severity {
            Severity::Error => (&mut self.errors, "errors"),
            Severity::Warning => (&mut self.warnings, "warnings"),
        };
        *count += 1;
        if *count <= MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        } else if *count == MAX_DIAGNOSTICS + 1 {
            let message = format!("only the first {MAX_DIAGNOSTICS} {what} are shown");
            self.diagnostics.push(Diagnostic {
                code: Some(codes::MORE),
                hints: Vec::new(),
                related: Vec::new(),
                message,
                ..diagnostic
            });
        }
    }

    /// Counts an error that the parser has reported.
    pub fn reported_by_parser(&mut self) {
        self.errors += 1;
    }

    /// Number of errors, those beyond the limit included.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// The diagnostics, sorted by place in the source.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
        self.diagnostics
    }
}
