//! Names: what they stand for, in which order bindings are checked, cycles, unused bindings.

use crate::codes;
use crate::sink::Sink;
use ijk_syntax::ast::{NodeId, NodeKind, Program};
use ijk_syntax::{Diagnostic, Span};
use std::collections::{HashMap, HashSet};

/// Unknown names for which a near one is looked for.
const MAX_SUGGESTIONS: usize = 20;
/// Bindings among which a near name is looked for.
const MAX_CANDIDATES: usize = 2_000;
/// Bytes of a name for which a near one is looked for.
const MAX_NAME: usize = 64;
/// Names of a cycle that its message lists.
const MAX_CYCLE: usize = 8;

/// The items of a program.
pub struct Items<'a> {
    /// For each item, its nodes in post-order.
    pub nodes: Vec<Vec<NodeId>>,
    /// Items in an order in which names come after what they stand for; those on cycles left out.
    pub order: Vec<usize>,
    /// The program's value.
    pub value: Option<usize>,
    by_name: HashMap<&'a str, usize>,
}

/// A name in an item: what it stands for and where it is.
type Reference = (usize, Span);

impl<'a> Items<'a> {
    /// Resolves a program's names.
    pub fn new(program: &'a Program, sink: &mut Sink) -> Self {
        let value = program.items.iter().position(|item| item.name.is_none());
        let value = value.or(program.items.len().checked_sub(1));
        let nodes = program.items.iter().map(|item| post_order(program, item.value)).collect();
        let by_name = by_name(program, sink);
        let mut items = Self { nodes, order: Vec::new(), value, by_name };
        if value.is_none() {
            sink.reported_by_parser();
        }
        let references = items.references(program, sink);
        items.order = order(program, &references, sink);
        items.warn_unused(program, &references, sink);
        items
    }

    /// The item a name stands for.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    fn references(&self, program: &Program, sink: &mut Sink) -> Vec<Vec<Reference>> {
        let mut suggestions = MAX_SUGGESTIONS;
        let mut of_item = |nodes: &Vec<NodeId>| {
            let mut references = Vec::new();
            for id in nodes {
                let node = program.node(*id);
                if let NodeKind::Name(name) = &node.kind {
                    match self.find(name) {
                        Some(item) => references.push((item, node.span)),
                        None => sink.push(self.unknown(name, node.span, &mut suggestions)),
                    }
                }
            }
            references
        };
        self.nodes.iter().map(&mut of_item).collect()
    }

    #[cold]
    fn unknown(&self, name: &str, span: Span, suggestions: &mut usize) -> Diagnostic {
        let diagnostic = codes::UNKNOWN_NAME
            .error(span, format!("unknown name `{name}`"))
            .with_label("nothing is bound to this name");
        if *suggestions == 0 || self.by_name.len() > MAX_CANDIDATES {
            return diagnostic;
        }
        *suggestions -= 1;
        match nearest(name, self.by_name.keys().copied()) {
            Some(near) => diagnostic.with_fix(format!("did you mean `{near}`?"), span, near),
            None if name.chars().all(char::is_alphabetic) => {
                diagnostic.with_hint(format!("an index expression has an output: `{name}~…`"))
            }
            None => diagnostic,
        }
    }

    fn warn_unused(&self, program: &Program, references: &[Vec<Reference>], sink: &mut Sink) {
        let mut used = vec![false; program.items.len()];
        let mut pending: Vec<usize> = self.value.into_iter().collect();
        while let Some(item) = pending.pop() {
            if !std::mem::replace(&mut used[item], true) {
                pending.extend(references[item].iter().map(|(to, _)| *to));
            }
        }
        for (item, used) in program.items.iter().zip(used) {
            if let (Some(name), false) = (&item.name, used) {
                let message = format!("`{}` is never used", name.text);
                sink.push(codes::UNUSED.warning(name.span, message));
            }
        }
    }
}

fn by_name<'a>(program: &'a Program, sink: &mut Sink) -> HashMap<&'a str, usize> {
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for (n, item) in program.items.iter().enumerate() {
        let Some(name) = &item.name else { continue };
        if name.text == "I" || by_name.contains_key(name.text.as_str()) {
            sink.reported_by_parser();
        } else {
            by_name.insert(&name.text, n);
        }
    }
    by_name
}

/// The nodes of an expression, operands before users, left before right.
fn post_order(program: &Program, root: NodeId) -> Vec<NodeId> {
    let mut reversed = Vec::new();
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        reversed.push(id);
        match &program.node(id).kind {
            NodeKind::Swap(of) | NodeKind::Loop(_, of) => pending.push(*of),
            NodeKind::Combine { left, right, .. } => pending.extend([*left, *right]),
            _ => {}
        }
    }
    reversed.reverse();
    reversed
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Depth-first order of the items; a cycle is reported where it closes.
fn order(program: &Program, references: &[Vec<Reference>], sink: &mut Sink) -> Vec<usize> {
    let mut marks = vec![Mark::New; references.len()];
    let mut depths = vec![0; references.len()];
    let mut cyclic: HashSet<usize> = HashSet::new();
    let mut order = Vec::with_capacity(references.len());
    for start in 0..references.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((item, next)) = path.last_mut() {
            let (item, at) = (*item, *next);
            *next += 1;
            match references[item].get(at) {
                None => {
                    marks[item] = Mark::Done;
                    if !cyclic.contains(&item) {
                        order.push(item);
                    }
                    path.pop();
                }
                Some((to, _)) if marks[*to] == Mark::New => {
                    marks[*to] = Mark::Open;
                    depths[*to] = path.len();
                    path.push((*to, 0));
                }
                Some((to, span)) if marks[*to] == Mark::Open => {
                    if cyclic.insert(item) {
                        sink.push(cycle_error(program, &path[depths[*to]..], *span));
                    }
                }
                Some(_) => {}
            }
        }
    }
    order
}

#[cold]
fn cycle_error(program: &Program, cycle: &[(usize, usize)], span: Span) -> Diagnostic {
    let name = |(item, _): &(usize, usize)| {
        program.items[*item].name.as_ref().map_or("", |n| n.text.as_str())
    };
    let mut names: Vec<&str> = cycle.iter().take(MAX_CYCLE).map(name).collect();
    if cycle.len() > MAX_CYCLE {
        names.push("…");
    }
    names.push(name(&cycle[0]));
    let first = names[0];
    let message = format!("`{first}` is defined by itself: {}", names.join(" → "));
    let mut diagnostic = codes::CYCLE.error(span, message).with_label("closes the cycle");
    for (item, _) in cycle.iter().take(MAX_CYCLE) {
        if let Some(name) = &program.items[*item].name {
            diagnostic = diagnostic.with_related(name.span, "on the cycle");
        }
    }
    diagnostic
}

/// The candidate with the fewest edits from `name`, if few enough; the first of equals by name.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let letters = name.chars().count();
    let allowed = (letters / 3).max(1).min(letters.saturating_sub(1));
    let close =
        candidates.filter(|c| c.len().abs_diff(name.len()) <= 4 * allowed && c.len() <= MAX_NAME);
    let scored = close.map(|c| (edits(name, c), c)).filter(|(n, _)| *n <= allowed);
    scored.min().map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and exchanges of neighbours between two words.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        assert_eq!(nearest("matmull", ["matmul", "softmax"].into_iter()), Some("matmul"));
        assert_eq!(nearest("mm", ["m", "a"].into_iter()), Some("m"));
        assert_eq!(nearest("ab", ["ba"].into_iter()), Some("ba"));
        assert_eq!(nearest("x", ["softmax", "a"].into_iter()), None);
    }
}
