//! Subscripts as text, and what is checked of all subscripts.

use super::{Ellipsis, Index, Subscripts, Term, codes, visible};
use crate::{Diagnostic, Span};
use std::collections::BTreeMap;

/// Greatest number of errors reported for one text.
const MOST_ERRORS: usize = 8;

pub(super) fn parse(text: &str) -> Result<Subscripts, Vec<Diagnostic>> {
    let mut names: Vec<char> = text.chars().filter(|&c| is_index(c)).collect();
    names.sort_unstable();
    names.dedup();
    let mut parser = SubscriptsParser { text, at: 0, names: &names, errors: Vec::new() };
    let (operands, output) = parser.subscripts();
    let errors = parser.errors;
    let names = names.iter().map(char::to_string).collect();
    finish(text.to_string(), names, operands, output, errors)
}

/// Returns true if a character names an index: an ASCII letter, or any character from `À` on, spaces of other scripts
/// included. opt_einsum names the indices of large networks by all of these.
fn is_index(c: char) -> bool {
    c.is_ascii_alphabetic() || c >= FIRST_BEYOND_ASCII || (!c.is_ascii() && c.is_alphanumeric())
}

/// The first character that names an index whatever it is.
const FIRST_BEYOND_ASCII: char = '\u{c0}';

struct SubscriptsParser<'a> {
    text: &'a str,
    at: usize,
    /// Sorted.
    names: &'a [char],
    errors: Vec<Diagnostic>,
}

impl SubscriptsParser<'_> {
    /// Operands up to the end or an arrow, and what is behind the arrow.
    fn subscripts(&mut self) -> (Vec<Term>, Option<Term>) {
        let mut operands = vec![self.term()];
        while self.take(",") {
            operands.push(self.term());
        }
        let output = self.take("->").then(|| self.output());
        (operands, output)
    }

    /// Parses the output: everything behind the arrow.
    fn output(&mut self) -> Term {
        let output = self.term();
        while self.at < self.text.len() {
            let start = self.at;
            let arrow = self.take("->") || !self.take(",");
            let (code, message) = match arrow {
                true => (codes::ARROW, "`->` stands once, before the output"),
                false => (codes::OUTPUT_OPERANDS, "there is one output only"),
            };
            self.errors.push(code.error(self.since(start), message));
            self.term();
        }
        output
    }

    /// Indices and `...` up to a comma, an arrow or the end.
    fn term(&mut self) -> Term {
        let mut term = Term::default();
        self.spaces();
        let start = self.at;
        let mut end = start;
        while let Some(c) = self.rest().chars().next() {
            if c == ',' || self.rest().starts_with("->") {
                break;
            }
            let from = self.at;
            if self.take("...") {
                term.meet_ellipsis(self.since(from), &mut self.errors);
            } else {
                self.at += c.len_utf8();
                let span = self.since(from);
                match self.names.binary_search(&c) {
                    Ok(number) => term.indices.push(Index { number: number as u32, span }),
                    Err(_) => self.errors.push(stranger(c, span)),
                }
            }
            end = self.at;
            self.spaces();
        }
        term.span = Span::new(start as u32, end as u32);
        term
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Skips white space of ASCII, which means nothing; other spaces may be symbols of opt_einsum.
    fn spaces(&mut self) {
        let is_space = |c: char| c.is_ascii_whitespace();
        self.at += self.rest().len() - self.rest().trim_start_matches(is_space).len();
    }

    fn since(&self, start: usize) -> Span {
        Span::new(start as u32, self.at as u32)
    }
}

/// Diagnostic of a character that is no index.
fn stranger(c: char, span: Span) -> Diagnostic {
    match c {
        '.' => codes::DOTS
            .error(span, "a `.` that is not one of three")
            .with_hint("`...` stands for all axes that no letter names"),
        '-' | '>' => codes::ARROW
            .error(span, format!("`{c}` without `{}`", if c == '-' { '>' } else { '-' }))
            .with_fix("the output stands behind `->`", span, "->"),
        _ if c.is_whitespace() => codes::NOT_AN_INDEX
            .error(span, format!("`{}` is not an index", c.escape_debug()))
            .with_hint("write a space, which means nothing, or leave it out"),
        _ => codes::NOT_AN_INDEX
            .error(span, format!("`{}` is not an index", c.escape_debug()))
            .with_hint("an index is a letter, of any script if a to z and A to Z are too few"),
    }
}

impl Term {
    /// Takes an ellipsis where there was none.
    pub(super) fn meet_ellipsis(&mut self, span: Span, errors: &mut Vec<Diagnostic>) {
        match self.ellipsis {
            None => self.ellipsis = Some(Ellipsis { at: self.indices.len(), span }),
            Some(first) => errors.push(
                codes::TWO_ELLIPSES
                    .error(span, "a second `...` in one operand")
                    .with_related(first.span, "the first"),
            ),
        }
    }
}

/// Checks the output, or makes the implicit one.
pub(super) fn finish(
    source: String,
    names: Vec<String>,
    operands: Vec<Term>,
    output: Option<Term>,
    mut errors: Vec<Diagnostic>,
) -> Result<Subscripts, Vec<Diagnostic>> {
    let explicit = output.is_some();
    if let Some(output) = &output {
        check_output(&names, &operands, output, &mut errors);
    }
    let output = output.unwrap_or_else(|| implicit(&operands, &source));
    errors.sort_by_key(|error| error.span);
    errors.truncate(MOST_ERRORS);
    match errors.is_empty() {
        true => Ok(Subscripts { source, names, operands, output, explicit }),
        false => Err(errors),
    }
}

/// Indices of the output are different ones, and some operand has each.
fn check_output(names: &[String], operands: &[Term], output: &Term, errors: &mut Vec<Diagnostic>) {
    let mut present = vec![false; names.len()];
    for index in operands.iter().flat_map(|operand| &operand.indices) {
        present[index.number as usize] = true;
    }
    let mut seen: BTreeMap<u32, Span> = BTreeMap::new();
    for index in &output.indices {
        let name = visible(&names[index.number as usize]);
        if let Some(&first) = seen.get(&index.number) {
            let message = format!("index `{name}` occurs twice in the output");
            errors
                .push(codes::OUTPUT_TWICE.error(index.span, message).with_related(first, "first"));
            continue;
        }
        seen.insert(index.number, index.span);
        if !present[index.number as usize] {
            let message = format!("index `{name}` of the output occurs in no operand");
            errors.push(codes::OUTPUT_ABSENT.error(index.span, message));
        }
    }
}

/// The indices that occur once, behind the axes of `...`.
fn implicit(operands: &[Term], source: &str) -> Term {
    let mut times: BTreeMap<u32, (usize, Span)> = BTreeMap::new();
    for index in operands.iter().flat_map(|operand| &operand.indices) {
        times.entry(index.number).or_insert((0, index.span)).0 += 1;
    }
    let once = times.into_iter().filter(|(_, (times, _))| *times == 1);
    let indices = once.map(|(number, (_, span))| Index { number, span }).collect();
    let ellipsis = operands.iter().find_map(|operand| operand.ellipsis);
    let ellipsis = ellipsis.map(|ellipsis| Ellipsis { at: 0, ..ellipsis });
    let end = source.len() as u32;
    Term { indices, ellipsis, span: Span::new(end, end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<(&'static str, u32)> {
        let errors = Subscripts::parse(text).err().unwrap_or_default();
        let code = |error: &Diagnostic| error.code.map_or("", |code| code.name());
        errors.iter().map(|error| (code(error), error.span.start)).collect()
    }

    #[test]
    fn spaces_mean_nothing() {
        let [plain, spaced] = ["ij,jk->ik", " i j , jk ->  i k "].map(|text| {
            let subscripts = Subscripts::parse(text).unwrap();
            let numbers = |term: &Term| term.indices.iter().map(|i| i.number).collect::<Vec<_>>();
            let operands: Vec<_> = subscripts.operands.iter().map(numbers).collect();
            (operands, numbers(&subscripts.output))
        });
        assert_eq!(plain, spaced);
    }

    #[test]
    fn outputs_that_are_not_written() {
        let cases = [
            ("ij,jk", "ik"),
            ("ba", "ab"),
            ("bA", "Ab"),
            ("ii", ""),
            ("...i,i", "..."),
            ("i...j", "...ij"),
            ("", ""),
            (",", ""),
            ("éa", "aé"),
        ];
        for (text, output) in cases {
            assert_eq!(Subscripts::parse(text).unwrap().output_text(), output, "{text}");
        }
    }

    #[test]
    fn every_symbol_of_opt_einsum_is_an_index() {
        // Its first ones are letters of ASCII; the next are all characters from U+00C0 on.
        let symbols = (0xc0..=u32::from(char::MAX)).filter_map(char::from_u32);
        assert!(symbols.clone().all(is_index));
        for c in symbols.filter(|c| c.is_whitespace() || c.is_control()) {
            let subscripts = Subscripts::parse(&format!("{c}...i->...{c}")).unwrap();
            assert_eq!(subscripts.output_text(), format!("...{c}"), "{c:?}");
            let [operand] = &subscripts.operands[..] else { panic!("{c:?}") };
            assert_eq!((operand.indices.len(), operand.ellipsis.unwrap().at), (2, 1));
        }
        let twice = Subscripts::parse("\u{2028}->\u{2028}\u{2028}").unwrap_err();
        assert_eq!(twice[0].message, "index `\\u{2028}` occurs twice in the output");
    }

    #[test]
    fn other_spaces_than_that_of_ascii_are_told() {
        for c in ['\u{b}', '\u{85}', '\u{a0}'] {
            assert_eq!(messages(&format!("i{c},j")), [("einsum-not-an-index", 1)], "{c:?}");
        }
        for c in [' ', '\t', '\n', '\r', '\u{c}'] {
            assert_eq!(Subscripts::parse(&format!("i,{c}j")).unwrap().output_text(), "ij", "{c:?}");
        }
    }

    #[test]
    fn everything_that_is_wrong() {
        let cases: &[(&str, &[(&str, u32)])] = &[
            ("i.j", &[("einsum-dots", 1)]),
            ("....i", &[("einsum-dots", 3)]),
            ("...i...", &[("einsum-two-ellipses", 4)]),
            ("i-j", &[("einsum-arrow", 1)]),
            ("i->j->k", &[("einsum-output-absent", 3), ("einsum-arrow", 4)]),
            ("ij->i,j", &[("einsum-output-operands", 5)]),
            ("ij->ii", &[("einsum-output-twice", 5)]),
            (
                "i1,j;->k",
                &[
                    ("einsum-not-an-index", 1),
                    ("einsum-not-an-index", 4),
                    ("einsum-output-absent", 7),
                ],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(messages(text), *expected, "{text}");
        }
    }

    #[test]
    fn errors_are_not_endless() {
        assert_eq!(messages(&"0".repeat(100_000)).len(), MOST_ERRORS);
    }
}
