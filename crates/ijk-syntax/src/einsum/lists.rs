//! Subscripts as lists of numbers.

use super::parse::finish;
use super::{Index, Subscripts, Term};
use crate::{Diagnostic, Span};
use std::collections::BTreeSet;

/// Element of a list of subscripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// An index.
    Index(i64),
    /// `...`
    Ellipsis,
}

/// Writes the lists out as a text, for messages to point into.
pub(super) fn subscripts(
    operands: &[Vec<Label>],
    output: Option<&[Label]>,
) -> Result<Subscripts, Vec<Diagnostic>> {
    let all = operands.iter().map(|list| &list[..]).chain(output);
    let number = |label: &Label| match label {
        Label::Index(number) => Some(*number),
        Label::Ellipsis => None,
    };
    let numbers: BTreeSet<i64> = all.flatten().filter_map(number).collect();
    let numbers: Vec<i64> = numbers.into_iter().collect();
    let mut writer = Writer { source: String::new(), numbers: &numbers, errors: Vec::new() };
    let mut terms = Vec::with_capacity(operands.len());
    for (n, list) in operands.iter().enumerate() {
        writer.source += if n > 0 { ", " } else { "" };
        terms.push(writer.list(list));
    }
    let output = output.map(|list| {
        writer.source += " -> ";
        writer.list(list)
    });
    let Writer { source, errors, .. } = writer;
    let names = numbers.iter().map(i64::to_string).collect();
    finish(source, names, terms, output, errors)
}

struct Writer<'a> {
    source: String,
    numbers: &'a [i64],
    errors: Vec<Diagnostic>,
}

impl Writer<'_> {
    fn list(&mut self, list: &[Label]) -> Term {
        let start = self.at();
        self.source.push('[');
        let mut term = Term::default();
        for (n, label) in list.iter().enumerate() {
            self.source += if n > 0 { " " } else { "" };
            let start = self.at();
            match label {
                Label::Ellipsis => {
                    self.source += "...";
                    let span = Span::new(start, self.at());
                    term.meet_ellipsis(span, &mut self.errors);
                }
                Label::Index(number) => {
                    self.source += &number.to_string();
                    let span = Span::new(start, self.at());
                    let number = self.numbers.partition_point(|n| n < number) as u32;
                    term.indices.push(Index { number, span });
                }
            }
        }
        self.source.push(']');
        term.span = Span::new(start, self.at());
        term
    }

    fn at(&self) -> u32 {
        self.source.len() as u32
    }
}
