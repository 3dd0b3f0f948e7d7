//! Runs the cases of `tests/suite/et/check`.
//!
//! A program that does not parse is not checked. Comments of a program ask for more than the checked program: `# ranks` for the combinations of
//! ranks and `# free` for those of free ranks, `# first` for the first solution, `# draw 7` for one
//! drawn from a seed, `# random 7` for that of a run without arrays, `# bind x=[2,3] y=[4]` for the one that fits arrays,
//! with what it warns of; `--rank a=2` and `--dims a=2,3` behind the last three decide.

use crate::cases::describe;
use ijk_ir::et::{self, codes};
use ijk_ir::et::{Checked, Overrides, Ranks, Solution};
use ijk_syntax::{Diagnostic, Severity};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Write;

/// Diagnostics without a case, and why, and where they are tested instead.
const ELSEWHERE: [(&str, &str); 3] = [
    ("extents-of-data", "told of a framework call when it is made: `src/et/extent/tests.rs`"),
    ("index-too-large", "told when a program is lowered: `tests/suite/et/run/errors.et`"),
    ("star-outside", "told by the grammar before: `tests/suite/et/parse/errors.et`"),
];
/// Combinations that a case lists at most.
const SHOWN: usize = 12;

#[test]
fn et_check_cases() {
    let seen = RefCell::new(HashSet::new());
    crate::cases::check("et/check", |source| outcome(source, &mut seen.borrow_mut()));
    let seen = seen.into_inner();
    let unseen: Vec<&str> =
        codes::ALL.iter().map(|c| c.name()).filter(|c| !seen.contains(c)).collect();
    assert_eq!(unseen, ELSEWHERE.map(|(code, _)| code), "codes without a case");
}

fn outcome(source: &str, seen: &mut HashSet<&'static str>) -> String {
    let (tree, mut diagnostics) = ijk_syntax::et::parse(source);
    let wrong = diagnostics.iter().any(|d| d.severity == Severity::Error);
    let (checked, more) = if wrong { (None, Vec::new()) } else { et::check(source, tree) };
    diagnostics.extend(more);
    let mut lines = String::new();
    if let Some(checked) = checked {
        checked.to_string().lines().for_each(|l| writeln!(lines, "# => {l}").expect("text"));
        source.lines().for_each(|l| answer(&checked, source, l, &mut lines, seen));
    }
    tell(source, &diagnostics, &mut lines, seen);
    lines
}

fn tell(
    source: &str,
    diagnostics: &[Diagnostic],
    lines: &mut String,
    seen: &mut HashSet<&'static str>,
) {
    for diagnostic in diagnostics {
        seen.extend(diagnostic.code.map(|c| c.name()));
        describe(source, diagnostic, lines);
    }
}

fn answer(
    checked: &Checked,
    source: &str,
    question: &str,
    lines: &mut String,
    seen: &mut HashSet<&'static str>,
) {
    let mut words = question.split_whitespace();
    if words.next() != Some("#") {
        return;
    }
    let word = words.next().unwrap_or("");
    let rest: Vec<&str> = words.collect();
    match word {
        "ranks" => combinations(checked, et::rank_combinations(checked, false), lines),
        "free" => combinations(checked, et::rank_combinations(checked, true), lines),
        "first" => solution(checked, source, et::first(checked, &overrides(&rest)), lines, seen),
        "draw" => {
            let number = rest[0].parse().expect("a seed");
            let points = rest.get(1).map_or(1_000_000, |n| n.parse().expect("points"));
            let ranks = et::rank_combinations(checked, false).next().expect("ranks");
            solution(checked, source, et::draw(checked, &ranks, number, points), lines, seen);
        }
        "random" => {
            let seed = rest[0].parse().expect("a seed");
            let found = et::random(checked, &overrides(&rest), seed, 1_000_000);
            solution(checked, source, found, lines, seen);
        }
        "bind" => {
            let names = rest.iter().filter_map(|w| Some(w.split_once("=[")?.0));
            let wrong: Vec<_> = names.filter_map(|n| et::given_as_array(checked, n)).collect();
            if !wrong.is_empty() {
                return tell(source, &wrong, lines, seen);
            }
            let bound: Vec<(usize, Vec<u64>)> =
                rest.iter().filter_map(|w| array(checked, w)).collect();
            let found = et::infer(checked, &bound, &overrides(&rest));
            let warnings = found.as_ref().map(|found| et::unreached(checked, &bound, found));
            let warnings = warnings.unwrap_or_default();
            solution(checked, source, found, lines, seen);
            tell(source, &warnings, lines, seen);
        }
        _ => {}
    }
}

fn combinations(checked: &Checked, all: impl Iterator<Item = Ranks>, lines: &mut String) {
    let all: Vec<Ranks> = all.take(SHOWN + 1).collect();
    for ranks in all.iter().take(SHOWN) {
        let rank = |t: &et::Tuple| format!("{}={}", t.name, ranks.shapes[t.shape.0 as usize]);
        let text: Vec<String> = checked.tuples.iter().map(rank).collect();
        writeln!(lines, "# => {}", text.join(" ")).expect("text");
    }
    if all.len() > SHOWN {
        writeln!(lines, "# => …").expect("text");
    }
}

fn solution(
    checked: &Checked,
    source: &str,
    found: Result<Solution, Vec<Diagnostic>>,
    lines: &mut String,
    seen: &mut HashSet<&'static str>,
) {
    match found {
        Ok(found) => {
            let dims = |t: &et::Tuple| format!("{}={:?}", t.name, found.of(t));
            let text: Vec<String> = checked.tuples.iter().map(dims).collect();
            writeln!(lines, "# => {}", text.join(" ")).expect("text");
        }
        Err(errors) => tell(source, &errors, lines, seen),
    }
}

/// `x=[2,3]`.
fn array(checked: &Checked, word: &str) -> Option<(usize, Vec<u64>)> {
    let (name, shape) = word.split_once("=[")?;
    let shape = shape.trim_end_matches(']').split(',').filter(|n| !n.is_empty());
    let shape = shape.map(|n| n.parse().expect("an extent")).collect();
    Some((checked.array(name).expect("an array"), shape))
}

fn overrides(words: &[&str]) -> Overrides {
    let mut overrides = Overrides::default();
    for pair in words.windows(2) {
        let Some((name, value)) = pair[1].split_once('=') else { continue };
        match pair[0] {
            "--rank" => {
                overrides.ranks.insert(name.to_owned(), value.parse().expect("a rank"));
            }
            "--dims" => {
                let dims = value.split(',').filter(|n| !n.is_empty());
                let dims = dims.map(|n| n.parse().expect("an extent")).collect();
                overrides.dims.insert(name.to_owned(), dims);
            }
            _ => {}
        }
    }
    overrides
}
