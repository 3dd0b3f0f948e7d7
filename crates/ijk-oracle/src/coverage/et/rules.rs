//! Rules of docs/language/einsum-tuple.md that a whole program exercises, or a statement with its shapes.

use super::Notes;
use super::productions::has_nested;
use crate::generate::et::EtCase;
use crate::generate::et::links::{draws, links};
use crate::harness::et::{Solved, standing};
use crate::reference::et::accesses::accesses;
use crate::reference::et::variables::variables;
use crate::reference::et::{EtEvaluation, PointCount, Shapes};
use ijk_syntax::et::ast::{
    Access, Bound, Constraint, Index, Program, Quantity, Relation, Statement, Value,
};

impl Notes<'_> {
    pub(super) fn rules(&mut self, case: &EtCase, evaluation: &EtEvaluation, solved: &Solved) {
        let (program, shapes) = (&solved.checked.program, &solved.shapes);
        self.sections(case, program);
        self.ranks(case, program, shapes);
        self.order(&program.constraints);
        if !case.dims.is_empty() {
            self.count("rule: extents given with the program");
        }
        if !case.ranks.is_empty() {
            self.count("rule: ranks given with the program");
        }
        let outside = |c: &&Constraint| match (c.quantity, &c.relation) {
            (Quantity::Dims, Relation::In((lo, _), (hi, _))) => {
                let extents = shapes.tuples.get(&c.tuple.text).into_iter().flatten();
                extents.into_iter().any(|&n| !(*lo..=*hi).contains(&(n as i64)))
            }
            _ => false,
        };
        if program.constraints.iter().any(|c| outside(&c)) {
            self.count("rule: bound extents outside of a range");
        }
        let ruled = |name: &str| {
            let constraints = program.constraints.iter();
            let mut ranks = constraints.filter(|c| c.quantity == Quantity::Rank);
            ranks.any(|c| c.tuple.text == *name)
        };
        let yields = |(name, dims): (&String, &Vec<u64>)| {
            dims.len() != 1 && !ruled(name) && !case.dims.contains_key(name)
        };
        if case.bound.iter().any(|(name, input)| shortened(name, &input.value.shape, solved)) {
            self.count("rule: an extent in bounds of shifts");
        }
        if shapes.tuples.keys().any(|name| goes_as_far_as_it_fits(name, case, program)) {
            self.count("rule: an extent in bounds of arithmetic");
        }
        if !case.bound.is_empty() && shapes.tuples.iter().any(yields) {
            self.count("rule: a default rank that yields to a bound array");
        }
        if case.bound.is_empty() && shapes.tuples.values().flatten().any(|&n| n > 24) {
            self.count("rule: extents that nothing says");
        }
        let mut ran = evaluation.points.iter();
        let mut known: Vec<&str> = Vec::new();
        for statement in &program.statements {
            let name = &statement.left.array.text[..];
            let first = !known.contains(&name);
            known.push(name);
            let points = match first && case.bound.contains_key(name) {
                true => PointCount::default(),
                false => ran.next().copied().unwrap_or_default(),
            };
            self.shown(statement, shapes);
            self.meeting(statement, points);
            self.length(statement, first, evaluation, solved);
        }
    }

    fn sections(&mut self, case: &EtCase, program: &Program) {
        if program.call.is_some() {
            self.count("production: framework call");
        }
        let names: Vec<&str> = program.outputs.iter().map(|name| &name.text[..]).collect();
        if names.len() > 1 {
            let commas = case.source.contains(&names.join(", "));
            let form = if commas { "with commas" } else { "on lines" };
            self.count(format!("production: outputs {form}"));
        }
    }

    /// Sources of ranks.
    fn ranks(&mut self, case: &EtCase, program: &Program, shapes: &Shapes) {
        let rule = |tuple: &str| {
            let own = |c: &&Constraint| c.quantity == Quantity::Rank && c.tuple.text == tuple;
            program.constraints.iter().find(own).map(|c| &c.relation)
        };
        let any = program.constraints.iter().any(|c| c.quantity == Quantity::Rank);
        if !any && case.bound.is_empty() && case.dims.is_empty() {
            self.count("rule: a default rank of 1");
        }
        let given = |tuple: &str| case.dims.contains_key(tuple) || case.ranks.contains_key(tuple);
        let open = |tuple: &str| {
            let rank = shapes.tuples.get(tuple).map_or(1, Vec::len);
            rule(tuple).is_none() && rank != 1 && !given(tuple)
        };
        for (link, x, y) in links(program, &|name| shapes.tuples.contains_key(name)) {
            if open(x) != open(y) {
                self.count(format!("rule: ranks equal {}", link.text()));
            }
        }
        for tuple in shapes.tuples.keys() {
            let wide = matches!(rule(tuple), Some(Relation::In((lo, _), (hi, _))) if lo < hi);
            if wide && !given(tuple) {
                let by = if case.bound.is_empty() { "chance" } else { "a bound array" };
                self.count(format!("rule: a rank decided by {by}"));
            }
        }
    }

    /// Counts constraints that precede those they use.
    fn order(&mut self, constraints: &[Constraint]) {
        for (at, constraint) in constraints.iter().enumerate() {
            let Relation::Equals(bound) = &constraint.relation else { continue };
            let uses = |later: &Constraint| {
                later.quantity == constraint.quantity && mentions(bound, &later.tuple.text)
            };
            if constraints[at + 1..].iter().any(uses) {
                self.count("rule: a constraint before one that it uses");
            }
        }
    }

    /// Features of a statement.
    fn shown(&mut self, statement: &Statement, shapes: &Shapes) {
        let is_tuple = |name: &str| shapes.tuples.contains_key(name);
        let used = variables(statement, &is_tuple);
        let all = accesses(statement);
        for (number, access) in all.iter().enumerate() {
            let place = if number == 0 { "scatter" } else { "gather" };
            self.access(place, access, shapes);
            if number > 0 && access.array.text == statement.left.array.text {
                let within =
                    |e: &Index| nested(e).iter().any(|n| n.array.text == access.array.text);
                if all.iter().any(|outer| outer.indices.iter().any(within)) {
                    self.count("rule: an index reads the former version");
                }
            }
        }
        let mut named = Vec::new();
        of_value(&statement.value, &mut named);
        if named.iter().any(|name| !used.iter().any(|used| used == name)) {
            self.count("rule: only inside DIMS or RANK");
        }
        self.bounds_of_random(&statement.value, &is_tuple);
    }

    fn access(&mut self, kind: &str, access: &Access, shapes: &Shapes) {
        let Some(places) = shapes.places.get(&access.array.text) else { return };
        for (place, e) in access.indices.iter().enumerate() {
            let rank = places.get(place).copied().unwrap_or(1);
            if let Index::Array(inner) = e
                && inner.indices.iter().any(|e| matches!(e, Index::Star(_)))
            {
                self.count(format!("rule: `:` of {} components", rank.min(4)));
            }
            if rank > 1
                && matches!(e, Index::Sum(terms, _) if terms.iter().any(|(_, e)| matches!(e, Index::Integer(..))))
            {
                self.count("rule: an integer with several components");
            }
            let mut own = Vec::new();
            nested(e).iter().for_each(|n| n.indices.iter().for_each(|e| names(e, &mut own)));
            let mut others = Vec::new();
            let beside = access.indices.iter().enumerate().filter(|(at, _)| *at != place);
            beside.for_each(|(_, e)| names(e, &mut others));
            if own.iter().any(|name| others.contains(name)) {
                self.count(format!("rule: batched {kind}"));
            }
        }
    }

    fn bounds_of_random(&mut self, value: &Value, is_tuple: &dyn Fn(&str) -> bool) {
        match value {
            Value::Random { lo, hi, .. } => {
                for bound in [lo, hi] {
                    if draws(bound) {
                        self.count("rule: RANDOM in bounds of RANDOM");
                    }
                    let mut named = Vec::new();
                    of_value(bound, &mut named);
                    if !named.is_empty() {
                        self.count("rule: DIMS in bounds of RANDOM");
                    }
                    if varies(bound, is_tuple) {
                        self.count("rule: bounds of RANDOM differ by point");
                    }
                }
            }
            Value::Call { args, .. } => {
                args.iter().for_each(|arg| self.bounds_of_random(arg, is_tuple));
            }
            Value::Along(along) => self.bounds_of_random(&along.of, is_tuple),
            Value::Sum(terms, _) => {
                terms.iter().for_each(|(_, term)| self.bounds_of_random(term, is_tuple));
            }
            Value::Product(first, rest, _) => {
                self.bounds_of_random(first, is_tuple);
                rest.iter().for_each(|(_, factor)| self.bounds_of_random(factor, is_tuple));
            }
            _ => {}
        }
    }

    /// Counts scatters whose points have common elements, or distinct ones.
    fn meeting(&mut self, statement: &Statement, points: PointCount) {
        if statement.left.indices.iter().any(has_nested) {
            self.count(match points.meet {
                0 | 1 => "rule: points of a scatter apart",
                _ => "rule: points of a scatter meet",
            });
        }
    }

    /// Counts later values that are trimmed or padded, and clamped extents.
    fn length(
        &mut self,
        statement: &Statement,
        first: bool,
        evaluation: &EtEvaluation,
        solved: &Solved,
    ) {
        let name = &statement.left.array.text;
        let (Some(array), Some(places)) =
            (evaluation.arrays.get(name), solved.shapes.places.get(name))
        else {
            return;
        };
        let mut axis = 0;
        for (e, &rank) in statement.left.indices.iter().zip(places) {
            let here = &array.shape[axis..axis + rank];
            axis += rank;
            let mut own = Vec::new();
            names(e, &mut own);
            let extents = |name: &&str| solved.shapes.tuples.get(*name);
            if first
                && here.contains(&0)
                && !own.iter().filter_map(extents).flatten().any(|&n| n == 0)
            {
                self.count("rule: an extent clamped at 0");
            }
            let Index::Tuple(tuple) = e else { continue };
            let Some(extents) = solved.shapes.tuples.get(&tuple.text).filter(|_| !first) else {
                continue;
            };
            for (&n, &m) in extents.iter().zip(here) {
                match n.cmp(&(m as u64)) {
                    std::cmp::Ordering::Less => self.count("rule: a later value is padded"),
                    std::cmp::Ordering::Greater => self.count("rule: a later value is trimmed"),
                    std::cmp::Ordering::Equal => {}
                }
            }
        }
    }
}

fn mentions(bound: &Bound, name: &str) -> bool {
    match bound {
        Bound::Integer(..) => false,
        Bound::Of(_, tuple, _) => tuple.text == name,
        Bound::Min(x, y, _) | Bound::Max(x, y, _) => mentions(x, name) || mentions(y, name),
        Bound::Sum(terms, _) => terms.iter().any(|(_, term)| mentions(term, name)),
        Bound::Product(first, rest, _) => {
            mentions(first, name) || rest.iter().any(|(_, factor)| mentions(factor, name))
        }
    }
}

/// The arrays in an index expression, except those nested in others.
fn nested(e: &Index) -> Vec<&Access> {
    match e {
        Index::Array(access) => vec![access],
        Index::Flat(list, _) | Index::Call(_, list, _) => list.iter().flat_map(nested).collect(),
        Index::Sum(terms, _) => terms.iter().flat_map(|(_, term)| nested(term)).collect(),
        Index::Product(first, rest, _) => {
            nested(first).into_iter().chain(rest.iter().flat_map(|(_, e)| nested(e))).collect()
        }
        _ => Vec::new(),
    }
}

/// The eintups of an index expression that are variables.
fn names<'p>(e: &'p Index, found: &mut Vec<&'p str>) {
    match e {
        Index::Tuple(name) => found.push(&name.text),
        Index::Array(access) => access.indices.iter().for_each(|e| names(e, found)),
        Index::Flat(list, _) | Index::Call(_, list, _) => list.iter().for_each(|e| names(e, found)),
        Index::Sum(terms, _) => terms.iter().for_each(|(_, term)| names(term, found)),
        Index::Product(first, rest, _) => {
            names(first, found);
            rest.iter().for_each(|(_, factor)| names(factor, found));
        }
        Index::Integer(..) | Index::Dims(..) | Index::Rank(..) | Index::Star(_) => {}
    }
}

/// The eintups in `DIMS` and `RANK` of a value.
fn of_value<'p>(value: &'p Value, found: &mut Vec<&'p str>) {
    match value {
        Value::Dims { of, .. } | Value::Rank(of, _) => of.iter().for_each(|e| names(e, found)),
        Value::Random { lo, hi, .. } => {
            of_value(lo, found);
            of_value(hi, found);
        }
        Value::Call { args, .. } => args.iter().for_each(|arg| of_value(arg, found)),
        Value::Along(along) => of_value(&along.of, found),
        Value::Sum(terms, _) => terms.iter().for_each(|(_, term)| of_value(term, found)),
        Value::Product(first, rest, _) => {
            of_value(first, found);
            rest.iter().for_each(|(_, factor)| of_value(factor, found));
        }
        Value::Number(..) | Value::Element(_) | Value::Tuple(_) => {}
    }
}

/// Returns true if a value reads an operand that differs from point to point.
fn varies(value: &Value, is_tuple: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::Tuple(_) => true,
        Value::Element(access) => is_tuple(&access.array.text) || !access.indices.is_empty(),
        Value::Sum(terms, _) => terms.iter().any(|(_, term)| varies(term, is_tuple)),
        _ => false,
    }
}

/// Returns true if reads of bound arrays at arithmetic of an eintup are all that tells its extents.
fn goes_as_far_as_it_fits(name: &str, case: &EtCase, program: &Program) -> bool {
    let ruled = |c: &Constraint| c.quantity == Quantity::Dims && c.tuple.text == name;
    if case.dims.contains_key(name) || program.constraints.iter().any(ruled) {
        return false;
    }
    let reads: Vec<&Access> =
        program.statements.iter().flat_map(|s| accesses(s).into_iter().skip(1)).collect();
    let plain = |e: &Index| matches!(e, Index::Tuple(tuple) if tuple.text == name);
    let arithmetic = |e: &Index| {
        let mut found = Vec::new();
        names(e, &mut found);
        !has_nested(e) && found.contains(&name)
    };
    !reads.iter().any(|access| access.indices.iter().any(plain))
        && reads.iter().any(|access| {
            case.bound.contains_key(&access.array.text) && access.indices.iter().any(arithmetic)
        })
}

/// Returns true if an eintup that an array has by itself has less extents than the array.
fn shortened(name: &str, shape: &[usize], solved: &Solved) -> bool {
    let mut axis = 0;
    let places = solved.shapes.places.get(name).into_iter().flatten().enumerate();
    places.into_iter().any(|(place, &rank)| {
        let here = &shape[axis..axis + rank];
        axis += rank;
        let tuple = standing(&solved.checked.program, name, place);
        let extents = tuple.map(|tuple| &solved.shapes.tuples[tuple]);
        extents.is_some_and(|extents| extents.iter().zip(here).any(|(&n, &here)| n < here as u64))
    })
}
