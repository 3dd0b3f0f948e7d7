//! Every access of a statement.

use ijk_syntax::et::ast::{Access, Index, Statement, Value};

/// The left side, reads of the value, and the arrays in the indices of both.
pub(crate) fn accesses(statement: &Statement) -> Vec<&Access> {
    let mut found = Vec::new();
    access(&statement.left, &mut found);
    value(&statement.value, &mut found);
    found
}

fn access<'p>(of: &'p Access, found: &mut Vec<&'p Access>) {
    found.push(of);
    indices(&of.indices, found);
}

fn indices<'p>(list: &'p [Index], found: &mut Vec<&'p Access>) {
    list.iter().for_each(|e| index(e, found));
}

fn index<'p>(e: &'p Index, found: &mut Vec<&'p Access>) {
    match e {
        Index::Integer(..) | Index::Star(_) | Index::Tuple(_) => {}
        Index::Flat(list, _)
        | Index::Dims(list, _)
        | Index::Rank(list, _)
        | Index::Call(_, list, _) => indices(list, found),
        Index::Array(of) => access(of, found),
        Index::Sum(terms, _) => terms.iter().for_each(|(_, term)| index(term, found)),
        Index::Product(first, rest, _) => {
            index(first, found);
            rest.iter().for_each(|(_, factor)| index(factor, found));
        }
    }
}

fn value<'p>(v: &'p Value, found: &mut Vec<&'p Access>) {
    match v {
        Value::Number(..) | Value::Tuple(_) => {}
        Value::Element(of) => access(of, found),
        Value::Rank(of, _) => indices(of, found),
        Value::Dims { of, coord, .. } => {
            indices(of, found);
            coord.iter().for_each(|e| index(e, found));
        }
        Value::Random { lo, hi, .. } => {
            value(lo, found);
            value(hi, found);
        }
        Value::Call { args, .. } => args.iter().for_each(|arg| value(arg, found)),
        Value::Along(along) => {
            value(&along.of, found);
            along.place.iter().for_each(|e| index(e, found));
        }
        Value::Sum(terms, _) => terms.iter().for_each(|(_, term)| value(term, found)),
        Value::Product(first, rest, _) => {
            value(first, found);
            rest.iter().for_each(|(_, factor)| value(factor, found));
        }
    }
}
