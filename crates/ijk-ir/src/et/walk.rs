//! Goes through statements in the order of their text.

use ijk_syntax::et::ast::{Access, Call, CallArg, Index, Name, Program, Statement, Value};

/// Where an access stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Assigned.
    Left,
    /// A value.
    Right,
    /// Part of an index expression.
    Nested,
    /// Within `DIMS()` or `RANK()`, which read no element at the points of a statement.
    Fixed,
}

/// Role of a name that is not an array's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A variable in an index expression.
    Index,
    /// Inside `DIMS()`.
    Fixed,
    /// Inside `RANK()`, which does not ask for extents.
    Ranked,
    /// A value.
    Value,
    /// Along which all values are taken: `SORT(x, i)`.
    Along,
}

/// Event of the walk.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    Access(&'a Access, Role),
    Name(&'a Name, Standing),
}

/// All of a statement, left side first; an access before its indices.
pub fn statement<'a>(statement: &'a Statement, visit: &mut impl FnMut(Event<'a>)) {
    access(&statement.left, Role::Left, visit);
    value(&statement.value, visit);
}

/// The conditions that are tested after a statement of that number.
pub fn conditions<'a>(program: &'a Program, statement: usize, visit: &mut impl FnMut(Event<'a>)) {
    program.conditions_after(statement).for_each(|(_, condition)| value(condition, visit));
}

/// All statements, and the conditions of loops where they are tested; with the number of the statement.
pub fn program<'a>(program: &'a Program, visit: &mut impl FnMut(usize, Event<'a>)) {
    for (n, of) in program.statements.iter().enumerate() {
        statement(of, &mut |event| visit(n, event));
        conditions(program, n, &mut |event| visit(n, event));
    }
}

fn access<'a>(access: &'a Access, role: Role, visit: &mut impl FnMut(Event<'a>)) {
    accessed(access, role, Standing::Index, visit);
}

fn accessed<'a>(
    access: &'a Access,
    role: Role,
    standing: Standing,
    visit: &mut impl FnMut(Event<'a>),
) {
    visit(Event::Access(access, role));
    all(&access.indices, standing, visit);
}

fn all<'a>(indices: &'a [Index], standing: Standing, visit: &mut impl FnMut(Event<'a>)) {
    indices.iter().for_each(|e| index(e, standing, visit));
}

/// All of an index expression.
pub fn index<'a>(e: &'a Index, standing: Standing, visit: &mut impl FnMut(Event<'a>)) {
    match e {
        Index::Integer(..) | Index::Star(_) => {}
        Index::Tuple(name) => visit(Event::Name(name, standing)),
        Index::Dims(of, _) => all(of, Standing::Fixed, visit),
        Index::Rank(of, _) => all(of, Standing::Ranked, visit),
        Index::Flat(of, _) | Index::Call(_, of, _) => all(of, standing, visit),
        Index::Array(nested) => {
            let fixed = matches!(standing, Standing::Fixed | Standing::Ranked);
            let role = if fixed { Role::Fixed } else { Role::Nested };
            accessed(nested, role, standing, visit);
        }
        Index::Sum(terms, _) => terms.iter().for_each(|(_, t)| index(t, standing, visit)),
        Index::Product(first, rest, _) => {
            index(first, standing, visit);
            rest.iter().for_each(|(_, f)| index(f, standing, visit));
        }
    }
}

/// All of a value.
pub fn value<'a>(v: &'a Value, visit: &mut impl FnMut(Event<'a>)) {
    match v {
        Value::Number(..) => {}
        Value::Element(element) => access(element, Role::Right, visit),
        Value::Tuple(name) => visit(Event::Name(name, Standing::Value)),
        Value::Dims { of, coord, .. } => {
            all(of, Standing::Fixed, visit);
            coord.iter().for_each(|e| index(e, Standing::Index, visit));
        }
        Value::Rank(of, _) => all(of, Standing::Ranked, visit),
        Value::Random { lo, hi, .. } => {
            value(lo, visit);
            value(hi, visit);
        }
        Value::Call { args, .. } => args.iter().for_each(|a| value(a, visit)),
        Value::Along(along) => {
            value(&along.of, visit);
            visit(Event::Name(&along.tuple, Standing::Along));
            along.place.iter().for_each(|e| index(e, Standing::Index, visit));
        }
        Value::Sum(terms, _) => terms.iter().for_each(|(_, t)| value(t, visit)),
        Value::Product(first, rest, _) => {
            value(first, visit);
            rest.iter().for_each(|(_, f)| value(f, visit));
        }
    }
}

/// All of a framework call: arrays as values, the eintups of `DIMS` and `RANK`.
pub fn call<'a>(of: &'a Call, visit: &mut impl FnMut(Event<'a>)) {
    of.args.iter().for_each(|(_, arg)| argument(arg, visit));
}

fn argument<'a>(arg: &'a CallArg, visit: &mut impl FnMut(Event<'a>)) {
    match arg {
        CallArg::Integer(..) | CallArg::Literal(..) => {}
        CallArg::Array(name) => visit(Event::Name(name, Standing::Value)),
        CallArg::Dims(of, _) => all(of, Standing::Fixed, visit),
        CallArg::Rank(of, _) => all(of, Standing::Ranked, visit),
        CallArg::Tensor(of, _) => argument(of, visit),
        CallArg::List(items, _) => items.iter().for_each(|i| argument(i, visit)),
        CallArg::Call(inner) => call(inner, visit),
        CallArg::Sum(terms, _) => terms.iter().for_each(|(_, t)| argument(t, visit)),
        CallArg::Product(first, rest, _) => {
            argument(first, visit);
            rest.iter().for_each(|(_, f)| argument(f, visit));
        }
    }
}
