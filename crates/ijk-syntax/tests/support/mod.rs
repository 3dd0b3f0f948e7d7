//! Properties of every program text, and texts to test them on. Shared with `fuzz/`.

use ijk_syntax::ast::Program;
use ijk_syntax::{
    Diagnostic, Severity, Span, Token, lex, parse, parse_tokens, render, render_line,
};

/// Panics unless the parser keeps its promises for `source`.
pub fn check_text(source: &str) {
    let tokens = lex(source);
    check_tokens_cover(source, &tokens);
    check_parse(source, &tokens);
    assert_eq!(format!("{:?}", parse(source)), format!("{:?}", parse_tokens(source, &tokens)));
}

/// Panics unless the parser keeps its promises for the text's own tokens.
fn check_parse(source: &str, tokens: &[Token]) {
    let (program, diagnostics) = check_tokens(source, tokens);
    if diagnostics.iter().all(|d| d.severity == Severity::Warning) {
        check_round_trip(&program);
    }
}

/// Panics unless the parser keeps its promises for any tokens of `source`.
pub fn check_tokens(source: &str, tokens: &[Token]) -> (Program, Vec<Diagnostic>) {
    let (program, diagnostics) = parse_tokens(source, tokens);
    for diagnostic in &diagnostics {
        check_spans(source, diagnostic);
    }
    assert!(diagnostics.len() <= 202, "{} diagnostics", diagnostics.len());
    let rendered = render(source, "origin", &diagnostics, false);
    assert_eq!(rendered.is_empty(), diagnostics.is_empty());
    for (n, item) in program.items.iter().enumerate() {
        check_span(source, item.span);
        assert!((item.value.0 as usize) < program.nodes.len(), "item {n}");
    }
    for node in &program.nodes {
        check_span(source, node.span);
    }
    (program, diagnostics)
}

/// The printed program parses to the same tree.
fn check_round_trip(program: &Program) {
    let printed = program.to_string();
    let (again, diagnostics) = parse(&printed);
    let errors: Vec<_> = diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{program:?}\n{printed}\n{errors:?}");
    assert_eq!(without_spans(program), without_spans(&again), "{printed}");
}

/// Every character that is neither white space nor comment is in one token.
fn check_tokens_cover(source: &str, tokens: &[Token]) {
    let mut at = 0;
    for token in tokens {
        let gap = &source[at..token.span.start as usize];
        assert_eq!(token.touches_previous, gap.is_empty() && at > 0, "{token:?}");
        let mut code = gap.lines().map(|l| l.split('#').next().unwrap_or("").trim());
        assert!(code.all(str::is_empty), "{gap:?} has no token");
        assert!(token.span.start < token.span.end);
        at = token.span.end as usize;
    }
}

/// Panics unless all places of a diagnostic lie in the source.
pub fn check_spans(source: &str, diagnostic: &Diagnostic) {
    check_span(source, diagnostic.span);
    diagnostic.related.iter().for_each(|(span, _)| check_span(source, *span));
    let fixes = diagnostic.hints.iter().filter_map(|h| h.replacement.as_ref());
    fixes.for_each(|(span, _)| check_span(source, *span));
    assert!(!diagnostic.message.is_empty() && !diagnostic.message.ends_with('.'));
    assert!(!render_line(source, "origin", diagnostic).contains('\n'));
}

/// Panics unless the place is a part of the source.
pub fn check_span(source: &str, span: Span) {
    assert!(span.start <= span.end, "{span:?}");
    assert!(source.get(span.start as usize..span.end as usize).is_some(), "{span:?}");
}

/// The tree as text, its spans left out.
fn without_spans(program: &Program) -> String {
    without_span_texts(&format!("{program:?}"))
}

/// The text of a tree, its spans left out.
pub fn without_span_texts(text: &str) -> String {
    let mut parts = text.split("Span { ");
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        out.push_str(part.split_once(" }").map_or("", |(_, rest)| rest));
    }
    out
}

/// Numbers that look random: SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// One of `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    /// One of the choices.
    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Checks with `IJK_SOUPS` many sources of random numbers, from `IJK_SEED` on.
pub fn for_each_seed(check: impl Fn(&mut Random)) {
    let first = number("IJK_SEED", 0);
    for seed in first..first + number("IJK_SOUPS", 4_000) {
        check(&mut Random(seed.wrapping_mul(0x1234_5678_9abc_def1)));
    }
}

/// A text with characters removed, doubled, or `pieces` put in.
pub fn mutate(random: &mut Random, text: &str, pieces: &[&str]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(3) {
        let at = random.below(chars.len().max(1)).min(chars.len());
        match random.below(3) {
            0 if at < chars.len() => drop(chars.remove(at)),
            1 if at < chars.len() => chars.insert(at, chars[at]),
            _ => random.pick(pieces).chars().rev().for_each(|c| chars.insert(at, c)),
        }
    }
    chars.into_iter().collect()
}
