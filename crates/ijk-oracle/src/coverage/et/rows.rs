//! Loops of which every row computes from itself alone.

use super::Notes;
use crate::harness::et::Solved;
use crate::reference::et::accesses::accesses;
use ijk_syntax::et::ast::{Access, Index, Loop, Program, Statement};

/// Fewer passes run one after another.
const FEWEST_PASSES: u64 = 5;

/// An access by eintups that stand by themselves, and one pass.
struct RowAccess<'p> {
    /// The eintups besides that of the loop.
    rows: Vec<&'p str>,
    /// The place of the loop's eintup among the indices, and what is added to it.
    pass: Option<(usize, i64)>,
}

impl<'p> RowAccess<'p> {
    fn of(access: &'p Access, own: &Loop) -> Option<Self> {
        let mut found = Self { rows: Vec::new(), pass: None };
        for (at, index) in access.indices.iter().enumerate() {
            match index {
                Index::Tuple(name) if name.text != own.tuple.text => found.rows.push(&name.text),
                index => {
                    let further = further(index, &own.tuple.text)?;
                    if found.pass.replace((at, further)).is_some() {
                        return None;
                    }
                }
            }
        }
        Some(found)
    }
}

/// The number that an index adds to an eintup.
fn further(index: &Index, tuple: &str) -> Option<i64> {
    let is_own = |e: &Index| matches!(e, Index::Tuple(name) if name.text == tuple);
    match index {
        e if is_own(e) => Some(0),
        Index::Sum(terms, _) => match &terms[..] {
            [(false, first), (minus, Index::Integer(by, _))] if is_own(first) => {
                Some(if *minus { -by } else { *by })
            }
            _ => None,
        },
        _ => None,
    }
}

impl Notes<'_> {
    /// Notes the loops of rows that have some rows and passes.
    pub(super) fn rows(&mut self, solved: &Solved) {
        let program = &solved.checked.program;
        for (at, own) in program.loops.iter().enumerate() {
            let inner =
                |other: &Loop| own.body.start <= other.body.start && other.body.end <= own.body.end;
            let extents = solved.shapes.tuples.get(&own.tuple.text);
            let passes = extents.filter(|own| own.len() == 1).map_or(0, |own| own[0]);
            if own.until.is_some()
                || passes < FEWEST_PASSES
                || program.loops[at + 1..].iter().any(inner)
            {
                continue;
            }
            let Some(found) = by_rows(program, own) else { continue };
            let points = |name: &&str| solved.shapes.tuples[*name].iter().product::<u64>();
            let rows: u64 = found[0].rows.iter().map(points).product();
            if rows > 1 {
                self.row_loop(own, &found, rows);
            }
        }
    }

    fn row_loop(&mut self, own: &Loop, found: &[RowAccess<'_>], rows: u64) {
        self.count("loop of rows");
        if own.descending {
            self.count("loop of rows: decreasing");
        }
        if rows > 64 {
            self.count("loop of rows: many");
        }
        let last = |a: &RowAccess<'_>| a.pass.is_some_and(|(at, _)| at == a.rows.len());
        self.count(match found.iter().any(last) {
            true => "loop of rows: packed",
            false => "loop of rows: in place",
        });
        if found.iter().any(|a| a.pass.is_none()) {
            self.count("loop of rows: state");
        }
        let lags = found.iter().filter_map(|a| a.pass.map(|(_, further)| further.abs()));
        if lags.clone().any(|lag| lag == 1) {
            self.count("loop of rows: the pass before");
        }
        if lags.clone().any(|lag| lag > 1) {
            self.count("loop of rows: passes further apart");
        }
    }
}

/// The accesses to arrays that a loop assigns, if all of them are of the same rows.
fn by_rows<'p>(program: &'p Program, own: &Loop) -> Option<Vec<RowAccess<'p>>> {
    let body: &[Statement] = &program.statements[own.body.clone()];
    let assigned = |name: &str| body.iter().any(|s| s.left.array.text == name);
    let own_accesses = body.iter().flat_map(accesses).filter(|a| assigned(&a.array.text));
    let found: Vec<RowAccess<'p>> =
        own_accesses.map(|access| RowAccess::of(access, own)).collect::<Option<_>>()?;
    let same = found.iter().all(|access| access.rows == found[0].rows);
    same.then_some(found)
}
