//! Reduction of failing cases: statements, constraints, terms and extents are removed while the case keeps failing.

use super::loops::without;
use super::{EtCase, print_et};
use crate::generate::Layout;
use ijk_syntax::et::ast::{Along, Index, Program, Statement, Value};
use ijk_types::Scalar;

/// Most attempts.
const MOST_ATTEMPTS: usize = 500;

impl EtCase {
    /// The smallest case found for which `fails` still holds.
    pub fn shrunk(&self, fails: &mut dyn FnMut(&EtCase) -> bool) -> Self {
        let mut best = self.clone();
        let mut attempts = MOST_ATTEMPTS;
        'again: loop {
            for smaller in best.smaller() {
                if attempts == 0 {
                    return best;
                }
                attempts -= 1;
                if fails(&smaller) {
                    best = smaller;
                    continue 'again;
                }
            }
            return best;
        }
    }

    /// Cases one step smaller, the largest steps first.
    fn smaller(&self) -> Vec<EtCase> {
        let (program, _) = ijk_syntax::et::parse(&self.source);
        let mut programs = without_one(&program);
        for (at, statement) in program.statements.iter().enumerate() {
            for smaller in statements(statement) {
                let mut other = program.clone();
                other.statements[at] = smaller;
                programs.push(other);
            }
        }
        let with = |program: &Program| {
            let source = print_et(program, None);
            EtCase { source, ..self.clone() }
        };
        let mut all: Vec<EtCase> = programs.iter().map(with).collect();
        for case in &mut all {
            let text = case.source.clone();
            case.bound.retain(|name, _| text.contains(&format!("{name}[")));
            case.dims.retain(|name, _| text.contains(&name[..]));
            case.ranks.retain(|name, _| text.contains(&name[..]));
        }
        for name in self.dims.keys() {
            let mut fewer = self.clone();
            fewer.dims.remove(name);
            all.push(fewer);
        }
        self.with_plain_arrays(&mut all);
        self.with_smaller_numbers(&mut all);
        all.retain(|case| case != self);
        all
    }

    fn with_plain_arrays(&self, all: &mut Vec<EtCase>) {
        for name in self.bound.keys() {
            let mut plain = self.clone();
            let input = plain.bound.get_mut(name).expect("a bound array");
            input.layout = Layout::contiguous(input.value.shape.len());
            all.push(plain.clone());
            let mut ones = plain;
            let value = &mut ones.bound.get_mut(name).expect("a bound array").value;
            let zero = Scalar::zero(value.dtype);
            value.data.iter_mut().for_each(|x| *x = zero);
            all.push(ones);
        }
    }

    /// Decrements numbers of the text.
    fn with_smaller_numbers(&self, all: &mut Vec<EtCase>) {
        let bytes = self.source.as_bytes();
        for (at, digit) in bytes.iter().enumerate() {
            let digits = |at: Option<&u8>| {
                at.is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'.' || *c == b'_')
            };
            let alone =
                !digits(at.checked_sub(1).and_then(|b| bytes.get(b))) && !digits(bytes.get(at + 1));
            if alone && (b'2'..=b'9').contains(digit) {
                let mut text = bytes.to_vec();
                text[at] -= 1;
                let source = String::from_utf8(text).expect("a digit for a digit");
                all.push(EtCase { source, ..self.clone() });
            }
        }
    }
}

/// The program without a statement, a constraint, or the outputs.
fn without_one(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for at in (0..program.statements.len()).rev() {
        let mut fewer = without(program, at);
        fewer.outputs.clear();
        all.push(fewer);
    }
    for at in 0..program.loops.len() {
        let mut fewer = program.clone();
        fewer.loops.remove(at);
        all.push(fewer);
        let mut endless = program.clone();
        endless.loops[at].until = None;
        all.push(endless);
    }
    for at in 0..program.constraints.len() {
        let mut fewer = program.clone();
        fewer.constraints.remove(at);
        all.push(fewer);
    }
    let outputs = Vec::new();
    all.push(Program { outputs, ..program.clone() });
    all
}

fn statements(statement: &Statement) -> Vec<Statement> {
    let mut all = Vec::new();
    for value in values(&statement.value) {
        all.push(Statement { value, ..statement.clone() });
    }
    for (at, e) in statement.left.indices.iter().enumerate() {
        for smaller in indices(e) {
            let mut other = statement.clone();
            other.left.indices[at] = smaller;
            all.push(other);
        }
    }
    all
}

/// Parts of a value, and the value with smaller parts.
fn values(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match value {
        Value::Sum(terms, _) => {
            all.extend(terms.iter().map(|(_, term)| term.clone()));
            replace(
                terms,
                |t| values(&t.1),
                |t, v| t.1 = v,
                |terms| {
                    all.push(with_terms(value, terms));
                },
            );
        }
        Value::Product(first, rest, span) => {
            all.push((**first).clone());
            all.extend(rest.iter().map(|(_, factor)| factor.clone()));
            for smaller in values(first) {
                all.push(Value::Product(Box::new(smaller), rest.clone(), *span));
            }
            replace(
                rest,
                |f| values(&f.1),
                |f, v| f.1 = v,
                |rest| {
                    all.push(Value::Product(first.clone(), rest, *span));
                },
            );
        }
        Value::Call { function, name, args, span } => {
            all.extend(args.iter().cloned());
            replace(
                args,
                values,
                |arg, v| *arg = v,
                |args| {
                    all.push(Value::Call { function: *function, name: *name, args, span: *span });
                },
            );
        }
        Value::Along(along) => all.extend(along_values(along)),
        Value::Element(access) => {
            replace(
                &access.indices,
                indices,
                |e, v| *e = v,
                |indices| {
                    all.push(Value::Element(ijk_syntax::et::ast::Access {
                        indices,
                        ..access.clone()
                    }));
                },
            );
        }
        _ => {}
    }
    all
}

/// A value along an axis with smaller parts.
fn along_values(along: &Along) -> Vec<Value> {
    let with = |of: Value, place| Value::Along(Box::new(Along { of, place, ..along.clone() }));
    let of = values(&along.of).into_iter().map(|of| with(of, along.place.clone()));
    let without = along.place.iter().map(|_| with(along.of.clone(), None));
    let places = along.place.iter().flat_map(indices);
    of.chain(without).chain(places.map(|place| with(along.of.clone(), Some(place)))).collect()
}

fn with_terms(value: &Value, terms: Vec<(bool, Value)>) -> Value {
    Value::Sum(terms, value.span())
}

/// Lists with one element replaced by each of its smaller forms.
fn replace<T: Clone, V>(
    things: &[T],
    smaller: impl Fn(&T) -> Vec<V>,
    set: impl Fn(&mut T, V),
    mut add: impl FnMut(Vec<T>),
) {
    for (at, thing) in things.iter().enumerate() {
        for value in smaller(thing) {
            let mut other = things.to_vec();
            set(&mut other[at], value);
            add(other);
        }
    }
}

fn indices(e: &Index) -> Vec<Index> {
    let mut all = Vec::new();
    match e {
        Index::Sum(terms, span) => {
            all.extend(terms.iter().map(|(_, term)| term.clone()));
            replace(
                terms,
                |t| indices(&t.1),
                |t, v| t.1 = v,
                |terms| {
                    all.push(Index::Sum(terms, *span));
                },
            );
        }
        Index::Product(first, rest, span) => {
            all.push((**first).clone());
            if rest.len() > 1 {
                let shorter = rest[..rest.len() - 1].to_vec();
                all.push(Index::Product(first.clone(), shorter, *span));
            }
            for smaller in indices(first) {
                all.push(Index::Product(Box::new(smaller), rest.clone(), *span));
            }
            replace(
                rest,
                |f| indices(&f.1),
                |f, v| f.1 = v,
                |rest| {
                    all.push(Index::Product(first.clone(), rest, *span));
                },
            );
        }
        Index::Flat(list, span) => {
            all.extend(list.iter().cloned());
            replace(list, indices, |e, v| *e = v, |list| all.push(Index::Flat(list, *span)));
        }
        Index::Call(function, list, span) => {
            all.extend(list.iter().cloned());
            let with = |list| all.push(Index::Call(*function, list, *span));
            replace(list, indices, |e, v| *e = v, with);
        }
        Index::Array(access) => {
            all.extend(access.indices.iter().filter(|e| !matches!(e, Index::Star(_))).cloned());
            replace(
                &access.indices,
                indices,
                |e, v| *e = v,
                |indices| {
                    all.push(Index::Array(ijk_syntax::et::ast::Access {
                        indices,
                        ..access.clone()
                    }));
                },
            );
        }
        _ => {}
    }
    all
}
