//! Every array that a statement reads, and how.

use ijk_syntax::et::ast::{Access, Index, Statement, Value};

/// Where a nested array stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessUse {
    /// As a value.
    Value,
    /// In an index expression.
    Index,
    /// Where its greatest elements size something: in `FLAT()`, or on the left.
    Extent,
}

/// Calls `visit` with every access of the right side and every nested one; `sizing` is set if the left side's indices
/// size its array.
pub fn for_each(statement: &Statement, sizing: bool, visit: &mut dyn FnMut(&Access, AccessUse)) {
    let left = if sizing { AccessUse::Extent } else { AccessUse::Index };
    statement.left.indices.iter().for_each(|e| index(e, left, visit));
    value(&statement.value, visit);
}

fn index(e: &Index, at: AccessUse, visit: &mut dyn FnMut(&Access, AccessUse)) {
    match e {
        Index::Integer(..) | Index::Rank(..) | Index::Star(_) | Index::Tuple(_) => {}
        Index::Dims(of, _) | Index::Flat(of, _) => {
            of.iter().for_each(|e| index(e, AccessUse::Extent, visit));
        }
        Index::Array(access) => {
            visit(access, at);
            access.indices.iter().for_each(|e| index(e, AccessUse::Index, visit));
        }
        Index::Call(_, of, _) => of.iter().for_each(|e| index(e, at, visit)),
        Index::Sum(terms, _) => terms.iter().for_each(|(_, term)| index(term, at, visit)),
        Index::Product(first, rest, _) => {
            index(first, at, visit);
            rest.iter().for_each(|(_, factor)| index(factor, at, visit));
        }
    }
}

/// Calls `visit` with every access of a value.
pub fn value(v: &Value, visit: &mut dyn FnMut(&Access, AccessUse)) {
    match v {
        Value::Number(..) | Value::Tuple(_) | Value::Rank(..) => {}
        Value::Element(access) => {
            visit(access, AccessUse::Value);
            access.indices.iter().for_each(|e| index(e, AccessUse::Index, visit));
        }
        Value::Dims { of, coord, .. } => {
            of.iter().for_each(|e| index(e, AccessUse::Extent, visit));
            coord.iter().for_each(|e| index(e, AccessUse::Index, visit));
        }
        Value::Random { lo, hi, .. } => {
            value(lo, visit);
            value(hi, visit);
        }
        Value::Call { args, .. } => args.iter().for_each(|arg| value(arg, visit)),
        Value::Along(along) => {
            value(&along.of, visit);
            along.place.iter().for_each(|e| index(e, AccessUse::Extent, visit));
        }
        Value::Sum(terms, _) => terms.iter().for_each(|(_, term)| value(term, visit)),
        Value::Product(first, rest, _) => {
            value(first, visit);
            rest.iter().for_each(|(_, factor)| value(factor, visit));
        }
    }
}

/// Calls `visit` with every nested array of index expressions.
pub fn for_each_nested(of: &[Index], visit: &mut dyn FnMut(&Access)) {
    of.iter().for_each(|e| index(e, AccessUse::Index, &mut |access, _| visit(access)));
}

/// Calls `visit` with every access of a statement, the left side's first.
pub fn for_each_access(statement: &Statement, visit: &mut dyn FnMut(&Access)) {
    visit(&statement.left);
    for_each(statement, false, &mut |access, _| visit(access));
}
