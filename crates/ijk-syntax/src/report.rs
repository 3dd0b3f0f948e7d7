//! Collecting diagnostics, not too many.

use crate::{Diagnostic, Severity, codes};

/// Diagnostics of one severity that are kept.
const KEPT: usize = 100;

/// Diagnostics in the order of the source, at most [`KEPT`] of a severity.
#[derive(Default)]
pub(crate) struct Report {
    kept: Vec<Diagnostic>,
    errors: Tally,
    warnings: Tally,
}

/// Number of diagnostics, and the first one that was dropped.
#[derive(Default)]
struct Tally {
    seen: usize,
    dropped: Option<crate::Span>,
}

impl Report {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let tally = self.tally(diagnostic.severity);
        tally.seen += 1;
        if tally.seen <= KEPT {
            self.kept.push(diagnostic);
        } else {
            tally.dropped.get_or_insert(diagnostic.span);
        }
    }

    /// Errors seen so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors.seen
    }

    /// Returns true if further errors are counted but not kept.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.seen >= KEPT
    }

    fn tally(&mut self, severity: Severity) -> &mut Tally {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        }
    }

    /// The diagnostics by their place, then how many more there were.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        let mut kept = self.kept;
        kept.sort_by_key(|d| d.span);
        let more = |n: usize, what: &str| format!("and {} more {what}", n - KEPT);
        if let Some(span) = self.errors.dropped {
            kept.push(codes::MORE_ERRORS.error(span, more(self.errors.seen, "errors")));
        }
        if let Some(span) = self.warnings.dropped {
            kept.push(codes::MORE_WARNINGS.warning(span, more(self.warnings.seen, "warnings")));
        }
        kept
    }
}

/// Text for a message: on one line, and only its beginning where it is long.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 32;
    let (text, dots) = match text.char_indices().nth(MOST) {
        None => (text, ""),
        Some((end, _)) => (&text[..end], "…"),
    };
    let blank = |c: char| if c.is_control() || c.is_whitespace() { ' ' } else { c };
    text.chars().map(blank).chain(dots.chars()).collect()
}

/// The candidate most like `name`, if one is alike.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = 1 + name.chars().count() / 3;
    candidates
        .map(|c| (distance(name, c), c))
        .filter(|&(d, _)| d <= limit)
        .min_by_key(|&(d, _)| d)
        .map(|(_, c)| c)
}

/// Insertions, deletions and substitutions from one text to the other; long texts count as unlike.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    if a.chars().nth(64).is_some() {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        let names = ["tanh", "tan", "where"];
        assert_eq!(nearest("tahn", names.into_iter()), Some("tan"));
        assert_eq!(nearest("wher", names.into_iter()), Some("where"));
        assert_eq!(nearest("zebra", names.into_iter()), None);
    }
}
