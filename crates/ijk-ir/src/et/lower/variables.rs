//! The variables of a statement: the eintups that its points range over.

use crate::et::Checked;
use ijk_syntax::et::ast::{Access, Along, Index, Name, Statement, Value};

/// Names of a statement's variables in the order of their first appearance, left side first. What
/// stands in `DIMS()` and `RANK()` is not used as a variable.
pub fn variables<'a>(checked: &Checked, statement: &'a Statement) -> Vec<&'a str> {
    let mut found = VariableNames { checked, names: Vec::new() };
    found.indices(&statement.left.indices);
    found.value(&statement.value);
    found.names
}

/// Returns true if no two points of statement `n` share an element of the left side, whatever the extents: each variable
/// but those of loops around it is there once, by itself or in a `FLAT`.
pub fn is_map(checked: &Checked, n: usize, statement: &Statement) -> bool {
    let parts = statement.left.indices.iter().flat_map(|index| match index {
        Index::Flat(parts, _) => &parts[..],
        other => std::slice::from_ref(other),
    });
    let names = parts.map(|part| match part {
        Index::Tuple(name) => Some(&name.text[..]),
        _ => None,
    });
    let Some(mut names) = names.collect::<Option<Vec<&str>>>() else { return false };
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    let in_loop = |name: &str| checked.program.loops_around(n).any(|l| l.tuple.text == name);
    let is_there = |name: &&str| names.contains(name) || in_loop(name);
    names.len() == count && variables(checked, statement).iter().all(is_there)
}

/// Names of the eintups that the values along an eintup range over, that one included.
pub fn inner<'a>(checked: &Checked, along: &'a Along) -> Vec<&'a str> {
    let mut found = VariableNames { checked, names: Vec::new() };
    found.value(&along.of);
    found.name(&along.tuple);
    found.names
}

/// Number of `RANDOM`s in a value.
pub fn sites(value: &Value) -> u64 {
    match value {
        Value::Number(..)
        | Value::Element(_)
        | Value::Tuple(_)
        | Value::Dims { .. }
        | Value::Rank(..) => 0,
        Value::Random { lo, hi, .. } => 1 + sites(lo) + sites(hi),
        Value::Call { args, .. } => args.iter().map(sites).sum(),
        Value::Along(along) => sites(&along.of),
        Value::Sum(terms, _) => terms.iter().map(|(_, term)| sites(term)).sum(),
        Value::Product(first, rest, _) => {
            sites(first) + rest.iter().map(|(_, factor)| sites(factor)).sum::<u64>()
        }
    }
}

struct VariableNames<'c, 'a> {
    checked: &'c Checked,
    names: Vec<&'a str>,
}

impl<'a> VariableNames<'_, 'a> {
    fn name(&mut self, name: &'a Name) {
        self.text(&name.text);
    }

    fn text(&mut self, name: &'a str) {
        if self.checked.tuple(name).is_some() && !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    fn indices(&mut self, indices: &'a [Index]) {
        indices.iter().for_each(|e| self.index(e));
    }

    fn index(&mut self, e: &'a Index) {
        match e {
            Index::Integer(..) | Index::Dims(..) | Index::Rank(..) | Index::Star(_) => {}
            Index::Tuple(name) => self.name(name),
            Index::Flat(of, _) | Index::Call(_, of, _) => self.indices(of),
            Index::Array(access) => self.access(access),
            Index::Sum(terms, _) => terms.iter().for_each(|(_, term)| self.index(term)),
            Index::Product(first, rest, _) => {
                self.index(first);
                rest.iter().for_each(|(_, factor)| self.index(factor));
            }
        }
    }

    /// Of an array or, as `pos[coord]`, of an eintup.
    fn access(&mut self, access: &'a Access) {
        if self.checked.array(&access.array.text).is_none() {
            self.name(&access.array);
        }
        self.indices(&access.indices);
    }

    fn value(&mut self, value: &'a Value) {
        match value {
            Value::Number(..) | Value::Rank(..) => {}
            Value::Element(access) => self.access(access),
            Value::Tuple(name) => self.name(name),
            Value::Dims { coord, .. } => coord.iter().for_each(|e| self.index(e)),
            Value::Random { lo, hi, .. } => {
                self.value(lo);
                self.value(hi);
            }
            Value::Call { args, .. } => args.iter().for_each(|arg| self.value(arg)),
            Value::Along(along) => {
                let inner = inner(self.checked, along);
                let free = inner.into_iter().filter(|name| *name != along.tuple.text);
                free.for_each(|name| self.text(name));
                match &along.place {
                    Some(place) => self.index(place),
                    None if along.function.orders() => self.name(&along.tuple),
                    None => {}
                }
            }
            Value::Sum(terms, _) => terms.iter().for_each(|(_, term)| self.value(term)),
            Value::Product(first, rest, _) => {
                self.value(first);
                rest.iter().for_each(|(_, factor)| self.value(factor));
            }
        }
    }
}
