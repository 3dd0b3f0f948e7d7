//! Words with a meaning: keywords, constants, and functions by their names in capitals.

use crate::Function;
use crate::et::ast::{AssignOp, ValueFunction};

/// Words that can't be names, besides those of constants and functions.
pub(super) const KEYWORDS: [&str; 10] =
    ["DIMS", "FLAT", "FLOAT", "IN", "INPUT", "INT", "LOOP", "RANDOM", "RANK", "UNTIL"];

/// Constants as values.
pub(super) const CONSTANTS: [(&str, f64); 3] =
    [("INF", f64::INFINITY), ("NAN", f64::NAN), ("PI", std::f64::consts::PI)];

/// Words in the symbols of assignments.
pub(super) const ASSIGN_WORDS: [(&str, AssignOp); 5] = [
    ("max", AssignOp::Max),
    ("min", AssignOp::Min),
    ("and", AssignOp::And),
    ("or", AssignOp::Or),
    ("logaddexp", AssignOp::LogAddExp),
];

/// Functions that i spells as operators, with the number of operands they have here.
const OPERATORS: [(&str, Function, usize); 5] = [
    ("EXP", Function::Pow, 1),
    ("LOG", Function::Log, 1),
    ("MAX", Function::Max, 2),
    ("MIN", Function::Min, 2),
    ("POW", Function::Pow, 2),
];

/// Functions of all values along an eintup: `ARGMAX(x, i)`, `SORT(x, i)`.
const ALONG: [(&str, Function); 6] = [
    ("ARGMAX", Function::ArgMax),
    ("ARGMIN", Function::ArgMin),
    ("SORT", Function::Sort),
    ("ARGSORT", Function::ArgSort),
    ("TOPK", Function::TopK),
    ("ARGTOPK", Function::ArgTopK),
];

/// The value of the constant of that name.
pub(super) fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(n, _)| *n == name).map(|&(_, value)| value)
}

/// The assigning operator of that word.
pub(super) fn assign_word(word: &str) -> Option<AssignOp> {
    ASSIGN_WORDS.iter().find(|(w, _)| *w == word).map(|&(_, op)| op)
}

/// The cast that a type of RANDOM may be written for.
pub(super) fn cast(word: &str) -> Option<&'static str> {
    match word {
        "INT" => Some("I64"),
        "FLOAT" => Some("F64"),
        _ => None,
    }
}

/// Hint for a function that is a reduction in other languages.
pub(super) fn reduction(name: &str) -> Option<&'static str> {
    match &*name.to_ascii_lowercase() {
        "sum" => Some("values at the same element are added: `y[i] = x[i,j]` sums over `j`"),
        "prod" | "product" => Some("`y[i] =* x[i,j]` multiplies over `j`"),
        "logsumexp" => Some("`y[i] =logaddexp x[i,j]` takes the log-sum-exp over `j`"),
        "any" => Some("`y[i] =or x[i,j]` is true where one of them is"),
        "all" => Some("`y[i] =and x[i,j]` is true where all are"),
        _ => None,
    }
}

/// Returns true for words that cannot be names.
pub(super) fn is_reserved(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && (KEYWORDS.contains(&word)
            || constant(word).is_some()
            || function(word).is_some()
            || along(word).is_some())
}

/// The function of that name, and how many operands it takes.
pub(super) fn function(name: &str) -> Option<(ValueFunction, usize)> {
    functions().find(|(n, _, _)| n.is(name)).map(|(_, f, operands)| (ValueFunction(f), operands))
}

/// The function of that name of all values along an eintup.
pub(super) fn along(name: &str) -> Option<Function> {
    ALONG.iter().find(|(own, _)| *own == name).map(|(_, function)| *function)
}

/// The name of a function of all values along an eintup.
pub(super) fn along_name(function: Function) -> &'static str {
    ALONG.iter().find(|(_, own)| *own == function).map_or("", |(name, _)| name)
}

/// The function whose name differs in small letters only, and its name.
pub(super) fn function_in_capitals(name: &str) -> Option<String> {
    let capitals = name.to_ascii_uppercase();
    (function(&capitals).is_some() || along(&capitals).is_some()).then_some(capitals)
}

/// The names of all functions.
pub(super) fn function_names() -> impl Iterator<Item = String> {
    let along = ALONG.iter().map(|(name, _)| (*name).to_owned());
    functions().map(|(name, _, _)| name.text()).chain(along)
}

/// Spelling of a function of that many operands.
pub(super) fn spelling(function: ValueFunction, operands: usize) -> String {
    let mut spelled = functions().filter(|&(_, f, _)| f == function.0);
    let exact = spelled.clone().find(|&(_, _, n)| n == operands);
    exact.or_else(|| spelled.next()).map_or_else(String::new, |(name, _, _)| name.text())
}

/// A function's name.
#[derive(Clone, Copy)]
enum FunctionName {
    Capitals(&'static str),
    /// In small letters, as in i.
    Small(&'static str),
}

impl FunctionName {
    fn is(self, name: &str) -> bool {
        match self {
            Self::Capitals(own) => own == name,
            Self::Small(own) => {
                own.len() == name.len()
                    && own.bytes().zip(name.bytes()).all(|(a, b)| a.to_ascii_uppercase() == b)
            }
        }
    }

    fn text(self) -> String {
        match self {
            Self::Capitals(own) => own.to_owned(),
            Self::Small(own) => own.to_ascii_uppercase(),
        }
    }
}

/// Every function with its name and number of operands.
fn functions() -> impl Iterator<Item = (FunctionName, Function, usize)> + Clone {
    let named = Function::ALL.iter().copied().filter_map(|f| {
        let name = f.spelling().strip_prefix('@').filter(|_| !f.is_along())?;
        Some((FunctionName::Small(name), f, f.operands().1))
    });
    let operators = OPERATORS.iter().map(|&(name, f, n)| (FunctionName::Capitals(name), f, n));
    operators.chain(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_by_name() {
        assert_eq!(function("EXP"), Some((ValueFunction(Function::Pow), 1)));
        assert_eq!(function("POW"), Some((ValueFunction(Function::Pow), 2)));
        assert_eq!(function("AND"), Some((ValueFunction(Function::And), 2)));
        assert_eq!(function("WHERE"), Some((ValueFunction(Function::Where), 3)));
        assert_eq!(function("I64"), Some((ValueFunction(Function::CastI64), 1)));
        assert_eq!(function("SORT").or(function("exp")).or(function("+")), None);
    }

    #[test]
    fn spellings_are_names() {
        for name in function_names() {
            if let Some(function) = along(&name) {
                assert_eq!(along_name(function), name);
                assert!(is_reserved(&name));
                continue;
            }
            let (f, operands) = function(&name).expect("a function");
            assert_eq!(spelling(f, operands), name);
            assert!(is_reserved(&name));
        }
    }
}
