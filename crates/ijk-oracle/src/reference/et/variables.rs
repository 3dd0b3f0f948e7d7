//! Rule 1: the eintups that a statement ranges over, in the order of its text.

use ijk_syntax::et::ast::{Access, Along, Index, Statement, Value};

/// The variables of a statement. `is_tuple` distinguishes eintups from arrays.
pub(crate) fn variables(statement: &Statement, is_tuple: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Found { names: Vec::new(), is_tuple };
    found.indices(&statement.left.indices);
    found.value(&statement.value);
    found.names
}

/// Returns true if each point has an element of its own on the left whatever the extents: its indices are eintups, some
/// of them in `FLAT`, all different, and `variables`, those that vary, are among them.
pub(crate) fn stands_alone(left: &Access, variables: &[String]) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for index in &left.indices {
        let parts = match index {
            Index::Flat(parts, _) => &parts[..],
            other => std::slice::from_ref(other),
        };
        for part in parts {
            match part {
                Index::Tuple(name) if !names.contains(&name.text.as_str()) => {
                    names.push(&name.text)
                }
                _ => return false,
            }
        }
    }
    variables.iter().all(|name| names.contains(&name.as_str()))
}

/// Eintups over which all values along an eintup range: that eintup, too.
pub(crate) fn along_variables(along: &Along, is_tuple: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Found { names: Vec::new(), is_tuple };
    found.value(&along.of);
    found.name(&along.tuple.text);
    found.names
}

struct Found<'a> {
    names: Vec<String>,
    is_tuple: &'a dyn Fn(&str) -> bool,
}

impl Found<'_> {
    fn name(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    fn access(&mut self, access: &Access) {
        if (self.is_tuple)(&access.array.text) {
            self.name(&access.array.text);
        }
        self.indices(&access.indices);
    }

    fn indices(&mut self, indices: &[Index]) {
        indices.iter().for_each(|e| self.index(e));
    }

    fn index(&mut self, e: &Index) {
        match e {
            // Names in DIMS() and RANK() are not variables.
            Index::Integer(..) | Index::Star(_) | Index::Dims(..) | Index::Rank(..) => {}
            Index::Tuple(name) => self.name(&name.text),
            Index::Flat(list, _) | Index::Call(_, list, _) => self.indices(list),
            Index::Array(access) => self.indices(&access.indices),
            Index::Sum(terms, _) => terms.iter().for_each(|(_, term)| self.index(term)),
            Index::Product(first, rest, _) => {
                self.index(first);
                rest.iter().for_each(|(_, factor)| self.index(factor));
            }
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Number(..) | Value::Rank(..) => {}
            Value::Element(access) => self.access(access),
            Value::Tuple(name) => self.name(&name.text),
            Value::Dims { coord, .. } => {
                if let Some(coord) = coord {
                    self.index(coord);
                }
            }
            Value::Random { lo, hi, .. } => {
                self.value(lo);
                self.value(hi);
            }
            Value::Call { args, .. } => args.iter().for_each(|arg| self.value(arg)),
            Value::Along(along) => {
                let own = along_variables(along, self.is_tuple);
                own.iter()
                    .filter(|name| **name != along.tuple.text)
                    .for_each(|name| self.name(name));
                along.place().iter().for_each(|place| self.index(place));
            }
            Value::Sum(terms, _) => terms.iter().for_each(|(_, term)| self.value(term)),
            Value::Product(first, rest, _) => {
                self.value(first);
                rest.iter().for_each(|(_, factor)| self.value(factor));
            }
        }
    }
}
