//! Coverage of random programs: productions, rows of the table of extents, rules, operators, diagnostics.

mod expected;
mod operators;
mod productions;
mod rows;
mod rules;

pub use expected::{expected_of_et, expected_of_et_mistakes};

use crate::coverage::Coverage;
use crate::generate::et::EtCase;
use crate::harness::et::{EtAgreement, Solved};
#[cfg(test)]
use crate::harness::et::{compare, solve};
use crate::reference::et::{EtEvaluation, PointCount};
use ijk_syntax::Diagnostic;

/// Counts the features of a case on which all evaluations agree.
pub fn note(reached: &mut Coverage, case: &EtCase, agreement: &EtAgreement) {
    let mut notes = Notes { reached, tuples: Vec::new() };
    match agreement {
        EtAgreement::Syntax(diagnostics) => notes.wrong("syntax error", diagnostics),
        EtAgreement::IllFormed(diagnostics) => notes.wrong("ill-formed", diagnostics),
        EtAgreement::Unsolved(diagnostics) => notes.wrong("unsolved", diagnostics),
        EtAgreement::Refused(error, diagnostics) => {
            notes.wrong("refused", diagnostics);
            let text = format!("{error:?}");
            let variant = text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned();
            notes.count(format!("error: {variant}"));
        }
        EtAgreement::NoValue(error, solved) => {
            notes.count(format!("outcome: {error}"));
            notes.said(&solved.warnings);
            notes.operators(&solved.stages);
        }
        EtAgreement::Value(evaluation, solved) => {
            notes.count("outcome: value");
            notes.said(&solved.warnings);
            notes.value(case, evaluation, solved);
        }
    }
}

struct Notes<'a> {
    reached: &'a mut Coverage,
    /// Names of eintups.
    tuples: Vec<String>,
}

impl Notes<'_> {
    fn count(&mut self, feature: impl Into<String>) {
        self.reached.count(feature);
    }

    fn wrong(&mut self, outcome: &str, diagnostics: &[Diagnostic]) {
        self.count(format!("outcome: {outcome}"));
        self.said(diagnostics);
    }

    fn said(&mut self, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            match diagnostic.code {
                Some(code) => self.count(format!("diagnostic: {code}")),
                None => self.count("diagnostic without a code"),
            }
        }
    }

    fn value(&mut self, case: &EtCase, evaluation: &EtEvaluation, solved: &Solved) {
        self.tuples = solved.shapes.tuples.keys().cloned().collect();
        self.points(evaluation);
        self.shapes(solved);
        self.program(&solved.checked.program);
        self.rows(solved);
        self.rules(case, evaluation, solved);
        self.text(&case.source);
        self.operators(&solved.stages);
        if solved.stages.len() > 1 {
            self.count("rule: an array sized by what another holds");
        }
        for (_, array) in evaluation.results() {
            self.count(format!("result: {}", array.dtype));
            self.count(format!("result of rank {}", array.shape.len().min(5)));
            if array.shape.contains(&0) {
                self.count("rule: an empty result");
            }
        }
        for name in case.bound.keys() {
            let drawn =
                solved.checked.program.statements.iter().any(|s| s.left.array.text == *name);
            self.count(if drawn { "rule: bound for RANDOM" } else { "rule: an input" });
        }
    }

    fn points(&mut self, evaluation: &EtEvaluation) {
        for &PointCount { points, skipped, .. } in &evaluation.points {
            self.count(match points {
                0 => "points: none",
                1 => "points: one",
                2..=256 => "points: at most 256",
                257..=2500 => "points: at most 2500",
                _ => "points: more than 2500",
            });
            self.count(match skipped {
                0 => "rule: no point skipped",
                _ if skipped == points => "rule: every point skipped",
                _ => "rule: some points skipped",
            });
        }
    }

    fn shapes(&mut self, solved: &Solved) {
        let checked = &solved.checked;
        for (at, tuple) in checked.tuples.iter().enumerate() {
            let extents = &solved.shapes.tuples[&tuple.name];
            self.count(format!("rule: an eintup of rank {}", extents.len()));
            if extents.contains(&0) {
                self.count("rule: an extent of 0");
            }
            if extents.iter().any(|n| *n != extents[0]) {
                self.count("rule: extents that differ within an eintup");
            }
            if checked.tuples[..at].iter().any(|other| other.shape == tuple.shape) {
                self.count("rule: a shared shape");
            }
        }
    }

    fn text(&mut self, source: &str) {
        if source.contains('#') {
            self.count("production: comment");
        }
        let lines: Vec<&str> = source.lines().collect();
        let assigns = |line: &&str| line.contains("] =") || line.contains("]=");
        let blank = |w: &[&str]| w[1].is_empty() && assigns(&w[0]) && assigns(&w[2]);
        if lines.windows(3).any(blank) {
            self.count("production: blank line between statements");
        }
    }
}

/// The codes of all diagnostics of a case, without duplicates.
#[cfg(test)]
pub(crate) fn codes(case: &EtCase) -> Vec<&'static str> {
    let agreement = compare(case, &mut |case, checked| solve(case, checked, 40_000), &mut []);
    let said = match agreement {
        Ok(
            EtAgreement::Syntax(said)
            | EtAgreement::IllFormed(said)
            | EtAgreement::Unsolved(said)
            | EtAgreement::Refused(_, said),
        ) => said,
        Ok(EtAgreement::NoValue(_, solved) | EtAgreement::Value(_, solved)) => solved.warnings,
        Err(_) => return vec!["disagreement"],
    };
    said.iter().filter_map(|d| d.code).map(|code| code.name()).collect()
}
