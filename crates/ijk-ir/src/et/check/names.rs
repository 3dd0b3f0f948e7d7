//! Classifies names as arrays or eintups.

use super::super::codes;
use super::super::walk::{self, Event, Role, Standing};
use crate::compile::order::nearest;
use crate::sink::Sink;
use ijk_syntax::et::ast::{Bound, Constraint, Program, Relation};
use ijk_syntax::{Diagnostic, Span};
use std::collections::HashMap;

/// Uses of a name; the first place of each kind.
#[derive(Clone, Debug)]
pub struct Uses {
    pub name: String,
    pub first: Span,
    /// `name[…] =`.
    assigned: Option<Span>,
    /// `name[…]` on the right or nested.
    read: Option<Span>,
    /// In an index expression, `DIMS` or `RANK`, of statements and of the framework call, or in a `LOOP`.
    pub index: Option<Span>,
    /// In the value of a constraint.
    pub bounds: Option<Span>,
    /// Number of uses in bounds.
    times_in_bounds: usize,
    /// The eintup of a constraint.
    pub constrained: Option<Span>,
    /// Bare as a value.
    value: Option<Span>,
}

/// Kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Array,
    Tuple,
}

/// The names of a program in the order of their first appearance.
#[derive(Debug, Default)]
pub struct Names {
    pub uses: Vec<Uses>,
    by_name: HashMap<String, usize>,
}

impl Uses {
    /// Kind of the name. An assigned name that is used as an eintup has an error already.
    pub fn kind(&self) -> Kind {
        let tuple = self.index.or(self.bounds).or(self.constrained);
        let array = self.assigned.is_some() || (self.read.is_some() && tuple.is_none());
        if array { Kind::Array } else { Kind::Tuple }
    }

    pub fn is_assigned(&self) -> bool {
        self.assigned.is_some()
    }

    /// Returns true if the name occurs in the value of one constraint only.
    pub fn is_lonely(&self) -> bool {
        !self.in_statements() && self.constrained.is_none() && self.times_in_bounds == 1
    }

    /// Returns true if a statement or the framework call mentions the eintup.
    pub fn in_statements(&self) -> bool {
        self.index.or(self.value).or(self.read).is_some()
    }
}

impl Names {
    /// Collects the names; reports those that are both array and eintup.
    pub fn collect(program: &Program, sink: &mut Sink) -> Self {
        let mut names = Self::default();
        for (n, statement) in program.statements.iter().enumerate() {
            for started in program.loops.iter().filter(|l| l.body.start == n) {
                let span = started.tuple.span;
                names.of(&started.tuple.text, span).index.get_or_insert(span);
            }
            walk::statement(statement, &mut |event| names.take(event));
            walk::conditions(program, n, &mut |event| names.take(event));
        }
        if let Some(call) = &program.call {
            walk::call(call, &mut |event| {
                if !matches!(event, Event::Name(_, Standing::Value)) {
                    names.take(event);
                }
            });
        }
        program.constraints.iter().for_each(|c| names.take_constraint(c));
        names.uses.iter().for_each(|uses| judge(uses, sink));
        names
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Access(access, role) => {
                let uses = self.of(&access.array.text, access.array.span);
                let place = if role == Role::Left { &mut uses.assigned } else { &mut uses.read };
                place.get_or_insert(access.array.span);
            }
            Event::Name(name, standing) => {
                let uses = self.of(&name.text, name.span);
                let value = standing == Standing::Value;
                let place = if value { &mut uses.value } else { &mut uses.index };
                place.get_or_insert(name.span);
            }
        }
    }

    fn take_constraint(&mut self, constraint: &Constraint) {
        let tuple = &constraint.tuple;
        self.of(&tuple.text, tuple.span).constrained.get_or_insert(tuple.span);
        if let Relation::Equals(bound) = &constraint.relation {
            self.take_bound(bound);
        }
    }

    fn take_bound(&mut self, bound: &Bound) {
        match bound {
            Bound::Integer(..) => {}
            Bound::Of(_, name, _) => {
                let uses = self.of(&name.text, name.span);
                uses.bounds.get_or_insert(name.span);
                uses.times_in_bounds += 1;
            }
            Bound::Min(a, b, _) | Bound::Max(a, b, _) => {
                self.take_bound(a);
                self.take_bound(b);
            }
            Bound::Sum(terms, _) => terms.iter().for_each(|(_, t)| self.take_bound(t)),
            Bound::Product(first, rest, _) => {
                self.take_bound(first);
                rest.iter().for_each(|(_, f)| self.take_bound(f));
            }
        }
    }

    fn of(&mut self, name: &str, span: Span) -> &mut Uses {
        let n = *self.by_name.entry(name.to_owned()).or_insert_with(|| {
            let (assigned, read, index) = (None, None, None);
            let (bounds, constrained, value, times_in_bounds) = (None, None, None, 0);
            let name = name.to_owned();
            self.uses.push(Uses {
                name,
                first: span,
                assigned,
                read,
                index,
                bounds,
                times_in_bounds,
                constrained,
                value,
            });
            self.uses.len() - 1
        });
        &mut self.uses[n]
    }

    /// Uses of a name.
    pub fn get(&self, name: &str) -> Option<&Uses> {
        self.by_name.get(name).map(|n| &self.uses[*n])
    }

    /// An offer of a name that is like the one that is not known.
    pub fn offer(&self, kind: Kind, name: &str, span: Span, error: Diagnostic) -> Diagnostic {
        let known = self.uses.iter().filter(|u| u.kind() == kind && u.name != name);
        let known = known.filter(|u| kind == Kind::Array || u.in_statements());
        match nearest(name, known.map(|u| u.name.as_str())) {
            Some(near) => error.with_fix(format!("did you mean `{near}`?"), span, near),
            None => error,
        }
    }
}

fn judge(uses: &Uses, sink: &mut Sink) {
    let tuple = uses.index.or(uses.bounds).or(uses.constrained);
    let (Some(array), Some(tuple)) = (uses.assigned, tuple) else { return };
    let name = &uses.name;
    let message = format!("`{name}` is both an array and an eintup");
    let (late, late_label, early, early_label) = if array < tuple {
        (tuple, "an eintup here", array, "an array here")
    } else {
        (array, "an array here", tuple, "an eintup here")
    };
    let error = codes::BOTH_ARRAY_AND_TUPLE
        .error(late, message)
        .with_label(late_label)
        .with_related(early, early_label)
        .with_hint("`DIMS`, `RANK` and constraints take the names that index arrays");
    sink.push(error);
}
