//! Diagnostics as text for people: the source line, a caret, related places, hints.

use crate::{Diagnostic, Severity, Span, visible};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// Bytes of a line shown on either side of a place; longer lines are cut.
const MARGIN: usize = 1000;

/// Renders diagnostics with their places in `source`, each with its line; `origin` is the name of the source: a file's
/// name. Spans beyond the source are clamped to its end.
///
/// Ends with a line feed unless there are no diagnostics; `color` adds ANSI escapes. Characters that would steer a
/// terminal are [`visible`](crate::visible).
pub fn render(source: &str, origin: &str, diagnostics: &[Diagnostic], color: bool) -> String {
    let lines = Lines::new(source);
    let origin = &clean(origin);
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for diagnostic in diagnostics {
        let shown = renderer.render(&groups(&lines, origin, diagnostic));
        // Escapes from the source are made visible; those of colours are kept.
        let pieces: Vec<_> = shown.split('\x1b').map(visible).collect();
        text.push_str(&pieces.join(if color { "\x1b" } else { r"\x1b" }));
        text.push_str("\n\n");
    }
    text.truncate(text.trim_end_matches('\n').len());
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// A diagnostic as one line: `origin:3:5: error: message; hint`. Lines and columns count from 1,
/// columns in characters.
pub fn render_line(source: &str, origin: &str, diagnostic: &Diagnostic) -> String {
    let (line, column) = Lines::new(source).position(diagnostic.span.start as usize);
    visible(&format!("{origin}:{line}:{column}: {diagnostic}")).into_owned()
}

/// Severity, message and hints in one line, without the place.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)?;
        if !self.label.is_empty() {
            write!(f, " ({})", self.label)?;
        }
        self.hints.iter().try_for_each(|hint| write!(f, "; {}", hint.message))
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// The lines of a source.
struct Lines<'s> {
    source: &'s str,
    starts: Vec<usize>,
}

impl<'s> Lines<'s> {
    fn new(source: &'s str) -> Self {
        let breaks = source.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(i, _)| i + 1)).collect();
        Self { source, starts }
    }

    /// The line of a byte, counted from 0.
    fn line(&self, byte: usize) -> usize {
        self.starts.partition_point(|&start| start <= byte) - 1
    }

    /// The bytes of a line, without its line feed.
    fn range(&self, line: usize) -> Range<usize> {
        let end = self.starts.get(line + 1).map_or(self.source.len(), |next| next - 1);
        self.starts[line]..end
    }

    /// Line and column of a byte, counted from 1.
    fn position(&self, byte: usize) -> (usize, usize) {
        let byte = floor(self.source, byte);
        let line = self.line(byte);
        (line + 1, 1 + self.source[self.starts[line]..byte].chars().count())
    }

    /// The bytes of a span, inside the source and on character boundaries, on one line.
    fn bytes(&self, span: Span) -> Range<usize> {
        let start = floor(self.source, span.start as usize);
        let line_end = self.range(self.line(start)).end;
        let end = floor(self.source, span.end as usize).min(line_end.max(start));
        start..end.max(start)
    }

    /// The part of its line that is shown around a place.
    fn window(&self, place: &Range<usize>) -> Range<usize> {
        let line = self.range(self.line(place.start));
        let start = floor(self.source, place.start.saturating_sub(MARGIN)).max(line.start);
        let end = floor(self.source, (place.end.min(place.start + MARGIN) + MARGIN).min(line.end));
        start..end.max(start)
    }
}

/// The greatest character boundary up to `byte`.
fn floor(source: &str, byte: usize) -> usize {
    source.floor_char_boundary(byte)
}

/// A place with its label.
struct Mark<'d> {
    kind: AnnotationKind,
    bytes: Range<usize>,
    label: &'d str,
}

fn groups<'a>(lines: &Lines<'a>, origin: &'a str, diagnostic: &'a Diagnostic) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(clean(&diagnostic.message)));
    for (window, marks) in windows(lines, diagnostic) {
        let snippet = snippet(lines, origin, &window);
        let marks = marks.into_iter().map(|mark| annotation(mark, &window));
        group = group.element(snippet.annotations(marks));
    }
    let mut groups = Vec::new();
    for hint in &diagnostic.hints {
        match &hint.replacement {
            None => group = group.element(Level::HELP.message(clean(&hint.message))),
            Some((span, text)) => groups.push(fix(lines, origin, &hint.message, *span, text)),
        }
    }
    groups.insert(0, group);
    groups
}

/// The lines concerned, each once, with the places on it.
fn windows<'d>(lines: &Lines, diagnostic: &'d Diagnostic) -> Vec<(Range<usize>, Vec<Mark<'d>>)> {
    let bytes = lines.bytes(diagnostic.span);
    let mut windows = vec![(
        lines.window(&bytes),
        vec![Mark { kind: AnnotationKind::Primary, bytes, label: &diagnostic.label }],
    )];
    for (span, label) in &diagnostic.related {
        let bytes = lines.bytes(*span);
        let inside = |w: &Range<usize>| w.start <= bytes.start && bytes.end <= w.end;
        let mark = Mark { kind: AnnotationKind::Context, bytes: bytes.clone(), label };
        match windows.iter_mut().find(|(window, _)| inside(window)) {
            Some((_, marks)) => marks.push(mark),
            None => windows.push((lines.window(&bytes), vec![mark])),
        }
    }
    windows
}

fn snippet<'a, T: Clone>(
    lines: &Lines<'a>,
    origin: &'a str,
    window: &Range<usize>,
) -> Snippet<'a, T> {
    let line = lines.line(window.start);
    let cut = window.start > lines.range(line).start;
    let snippet = Snippet::source(&lines.source[window.clone()]).line_start(line + 1).fold(false);
    match cut {
        // Columns of a cut line would count from the cut.
        true => snippet.path(format!("{origin} (from byte {})", window.start)),
        false => snippet.path(origin),
    }
}

fn annotation<'d>(mark: Mark<'d>, window: &Range<usize>) -> Annotation<'d> {
    let end = mark.bytes.end.min(window.end);
    let span = mark.bytes.start - window.start..end.max(mark.bytes.start) - window.start;
    let annotation = mark.kind.span(span);
    if mark.label.is_empty() { annotation } else { annotation.label(clean(mark.label)) }
}

/// The source as it would be with the fix.
fn fix<'a>(
    lines: &Lines<'a>,
    origin: &'a str,
    message: &'a str,
    span: Span,
    text: &'a str,
) -> Group<'a> {
    let bytes = lines.bytes(span);
    let window = lines.window(&bytes);
    let end = bytes.end.min(window.end);
    let patch = Patch::new(bytes.start - window.start..end - window.start, clean(text));
    let snippet = snippet(lines, origin, &window).patch(patch);
    Group::with_title(Level::HELP.secondary_title(clean(message))).element(snippet)
}

/// Text on one line, whose control characters do not steer the terminal, and with long words (a
/// program may have names of megabytes) cut in the middle.
fn clean(text: &str) -> String {
    let short: String = text.split_inclusive(' ').flat_map(cut).collect();
    visible(&short).replace('\n', r"\n").replace('\t', r"\t")
}

/// The characters of a word, or those at its ends around an ellipsis.
fn cut(word: &str) -> impl Iterator<Item = char> {
    const MOST: usize = 200;
    const END: usize = 40;
    let long = word.char_indices().nth(MOST).is_some();
    let ends = long.then(|| {
        let (left, _) = word.char_indices().nth(END).unwrap_or_default();
        let (right, _) = word.char_indices().nth_back(END - 1).unwrap_or_default();
        (left, right)
    });
    let (left, right) = ends.unwrap_or((word.len(), word.len()));
    word[..left].chars().chain(long.then_some('…')).chain(word[right..].chars())
}
