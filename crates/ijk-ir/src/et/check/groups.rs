//! Groups of equal ranks, and why ranks that are equal cannot be.

use super::super::codes;
use super::super::system::{Group, Limit, RankNode, Rule, Tie};
use crate::sink::Sink;
use crate::text::quote;
use ijk_syntax::Span;
use ijk_syntax::et::ast::Program;
use std::collections::VecDeque;

/// Greatest number of notes of one error.
const MAX_NOTES: usize = 8;

/// Group of each node, and the number of groups.
pub fn groups(nodes: usize, ties: &[Tie]) -> (Vec<Group>, u32) {
    let mut parents: Vec<usize> = (0..nodes).collect();
    for (a, b) in ties.iter().filter_map(ends) {
        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
        parents[a.max(b)] = a.min(b);
    }
    let mut ids: Vec<Option<Group>> = vec![None; nodes];
    let mut count = 0;
    let groups = (0..nodes).map(|node| {
        let root = root(&mut parents, node);
        *ids[root].get_or_insert_with(|| {
            count += 1;
            Group(count - 1)
        })
    });
    (groups.collect(), count)
}

fn root(parents: &mut [usize], node: usize) -> usize {
    let mut at = node;
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// The nodes of a tie between two nodes.
pub fn ends(tie: &Tie) -> Option<(usize, usize)> {
    Some((tie.left.single()?.0 as usize, tie.right.single()?.0 as usize))
}

/// Known rank of a node.
struct Fact {
    node: usize,
    least: i128,
    greatest: i128,
    /// The eintup and the constraint on it; none for what has rank 1 by itself.
    rule: Option<(String, Span)>,
}

impl Fact {
    fn text(&self) -> String {
        match self.least == self.greatest {
            true => format!("{}", self.least),
            false => format!("{} to {}", self.least, self.greatest),
        }
    }
}

/// Complains of groups of which two facts disagree.
pub fn judge(
    source: &str,
    program: &Program,
    groups: &[Group],
    one: RankNode,
    rules: &[Rule],
    ties: &[Tie],
    sink: &mut Sink,
) {
    let mut facts = vec![Fact { node: one.0 as usize, least: 1, greatest: 1, rule: None }];
    facts.extend(rules.iter().filter_map(|rule| fact(program, rule)));
    let mut by_group: std::collections::BTreeMap<Group, Vec<Fact>> = Default::default();
    for fact in facts {
        let group = by_group.entry(groups[fact.node]).or_default();
        let apart = |other: &Fact| other.greatest < fact.least || fact.greatest < other.least;
        if let Some(other) = group.iter().find(|other| apart(other)) {
            sink.push(conflict(source, &fact, other, groups.len(), ties));
        } else {
            group.push(fact);
        }
    }
}

fn fact(program: &Program, rule: &Rule) -> Option<Fact> {
    if rule.quantity != ijk_syntax::et::ast::Quantity::Rank {
        return None;
    }
    let (least, greatest) = match &rule.relation {
        Limit::In(lo, hi) => (i128::from(*lo), i128::from(*hi)),
        Limit::Equals(expr) => expr.constant().map(|value| (value, value))?,
    };
    let constraint = &program.constraints[rule.constraint];
    let rule_of = Some((constraint.tuple.text.clone(), constraint.span));
    Some(Fact { node: rule.shape.0 as usize, least, greatest, rule: rule_of })
}

fn conflict(
    source: &str,
    fact: &Fact,
    other: &Fact,
    nodes: usize,
    ties: &[Tie],
) -> ijk_syntax::Diagnostic {
    let path = path(fact.node, other.node, nodes, ties);
    let (a, b) = (fact.text(), other.text());
    let Some((name, span)) = &fact.rule else {
        return codes::RANKS_DIFFER.error(Span::default(), "ranks differ");
    };
    let mut error = match &other.rule {
        Some((before, at)) => {
            let message =
                format!("`{name}` has rank {a} and `{before}` rank {b}, which must be equal");
            codes::RANKS_DIFFER.error(*span, message).with_label(a).with_related(*at, b)
        }
        None => {
            let text = quote(source, *span, "the constraint");
            let message = format!("{text} cannot hold: the rank of `{name}` is {b}");
            codes::RANKS_DIFFER.error(*span, message).with_label(a)
        }
    };
    for tie in path.iter().take(MAX_NOTES) {
        error = error.with_related(tie.span, tie.why.clone());
    }
    error
}

/// The ties that make two nodes equal.
fn path(from: usize, to: usize, nodes: usize, ties: &[Tie]) -> Vec<&Tie> {
    let mut around: Vec<Vec<(usize, &Tie)>> = vec![Vec::new(); nodes];
    for tie in ties {
        if let Some((a, b)) = ends(tie) {
            around[a].push((b, tie));
            around[b].push((a, tie));
        }
    }
    let mut came: Vec<Option<(usize, &Tie)>> = vec![None; nodes];
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for &(next, tie) in &around[node] {
            if next != from && came[next].is_none() {
                came[next] = Some((node, tie));
                queue.push_back(next);
            }
        }
    }
    let mut path = Vec::new();
    let mut at = to;
    while let Some((before, tie)) = came[at] {
        path.push(tie);
        at = before;
    }
    path
}
