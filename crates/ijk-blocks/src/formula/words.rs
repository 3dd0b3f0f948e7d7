//! Spelling of functions in formulas.

use super::{Formula, FormulaNode, ListFold};
use ijk_types::{BinaryOp, DType, Literal, UnaryOp};
use std::fmt;

/// Functions of one operand by their names; casts are the names of types.
const UNARY: &[(&str, UnaryOp)] = &[
    ("exp", UnaryOp::Exp),
    ("ln", UnaryOp::Ln),
    ("log", UnaryOp::Ln),
    ("sqrt", UnaryOp::Sqrt),
    ("abs", UnaryOp::Abs),
    ("sign", UnaryOp::Sign),
    ("floor", UnaryOp::Floor),
    ("ceil", UnaryOp::Ceil),
    ("round", UnaryOp::Round),
    ("sin", UnaryOp::Sin),
    ("cos", UnaryOp::Cos),
    ("tan", UnaryOp::Tan),
    ("tanh", UnaryOp::Tanh),
    ("sinh", UnaryOp::Sinh),
    ("cosh", UnaryOp::Cosh),
    ("erf", UnaryOp::Erf),
    ("sigmoid", UnaryOp::Sigmoid),
    ("gelu", UnaryOp::Gelu),
    ("log1p", UnaryOp::Log1p),
    ("expm1", UnaryOp::Expm1),
    ("not", UnaryOp::Not),
    ("conj", UnaryOp::Conj),
    ("re", UnaryOp::Re),
    ("im", UnaryOp::Im),
    ("recip", UnaryOp::Recip),
    ("neg", UnaryOp::Neg),
];

/// Functions of two operands by their names.
const BINARY: &[(&str, BinaryOp)] = &[
    ("max", BinaryOp::Max),
    ("min", BinaryOp::Min),
    ("pow", BinaryOp::Pow),
    ("eq", BinaryOp::Eq),
    ("ne", BinaryOp::Ne),
    ("lt", BinaryOp::Lt),
    ("le", BinaryOp::Le),
    ("gt", BinaryOp::Gt),
    ("ge", BinaryOp::Ge),
    ("and", BinaryOp::And),
    ("or", BinaryOp::Or),
    ("mod", BinaryOp::Mod),
    ("atan2", BinaryOp::Atan2),
    ("hypot", BinaryOp::Hypot),
    ("logaddexp", BinaryOp::LogAddExp),
    ("floordiv", BinaryOp::FloorDiv),
];

/// Operators by their symbols, with their precedence.
const SYMBOLS: &[(&str, BinaryOp, u8)] = &[
    ("or", BinaryOp::Or, OR),
    ("and", BinaryOp::And, AND),
    ("<", BinaryOp::Lt, COMPARISON),
    ("<=", BinaryOp::Le, COMPARISON),
    (">", BinaryOp::Gt, COMPARISON),
    (">=", BinaryOp::Ge, COMPARISON),
    ("==", BinaryOp::Eq, COMPARISON),
    ("!=", BinaryOp::Ne, COMPARISON),
    ("+", BinaryOp::Add, SUM),
    ("-", BinaryOp::Sub, SUM),
    ("*", BinaryOp::Mul, PRODUCT),
    ("/", BinaryOp::Div, PRODUCT),
    ("%", BinaryOp::Mod, PRODUCT),
    ("^", BinaryOp::Pow, POWER),
];

const OR: u8 = 1;
const AND: u8 = 2;
/// Precedence of `not`.
pub(super) const NOT: u8 = 3;
/// Precedence of comparisons.
pub(super) const COMPARISON: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
/// Precedence of a sign.
pub(super) const SIGN: u8 = 7;
const POWER: u8 = 8;
/// Precedence above all operators.
const ATOM: u8 = 9;

/// Numbers with names.
const CONSTANTS: &[(&str, f64)] = &[
    ("inf", f64::INFINITY),
    ("nan", f64::NAN),
    ("pi", std::f64::consts::PI),
    ("e", std::f64::consts::E),
];

/// Meaning of a name that is called.
#[derive(Clone, Copy)]
pub(super) enum Called {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Where,
    /// Fold of a list.
    Fold(ListFold),
}

impl Called {
    /// Number of operands.
    pub(super) fn arity(self) -> usize {
        match self {
            Self::Unary(_) | Self::Fold(_) => 1,
            Self::Binary(_) => 2,
            Self::Where => 3,
        }
    }
}

/// The function of a name.
pub(super) fn called(name: &str) -> Option<Called> {
    let unary = || UNARY.iter().find(|(word, _)| *word == name).map(|&(_, op)| Called::Unary(op));
    let binary =
        || BINARY.iter().find(|(word, _)| *word == name).map(|&(_, op)| Called::Binary(op));
    let cast = || DType::from_name(name).map(|to| Called::Unary(UnaryOp::Cast(to)));
    let choice = || (name == "where").then_some(Called::Where);
    unary().or_else(binary).or_else(cast).or_else(choice)
}

/// Fold of a list, by its name.
pub(super) fn fold(name: &str) -> Option<Called> {
    ListFold::from_name(name).map(Called::Fold)
}

/// The number of a name.
pub(super) fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(word, _)| *word == name).map(|&(_, value)| value)
}

/// The operator of a symbol, with its precedence.
pub(super) fn symbol(symbol: &str) -> Option<(BinaryOp, u8)> {
    SYMBOLS.iter().find(|(text, ..)| *text == symbol).map(|&(_, op, binds)| (op, binds))
}

/// Name of a function of one operand.
pub(super) fn unary(op: UnaryOp) -> String {
    match op {
        UnaryOp::Cast(to) => to.name().into(),
        _ => name_in(UNARY, op),
    }
}

/// Name of a function of two operands.
pub(super) fn binary(op: BinaryOp) -> String {
    match SYMBOLS.iter().find(|(_, other, _)| *other == op) {
        Some((symbol, ..)) => (*symbol).into(),
        None if op == BinaryOp::Log => "log".into(),
        None => name_in(BINARY, op),
    }
}

fn name_in<T: PartialEq + fmt::Debug>(table: &[(&str, T)], op: T) -> String {
    let found = table.iter().find(|(_, other)| *other == op);
    found.map_or_else(|| format!("{op:?}"), |(word, _)| (*word).into())
}

/// A formula with names for its variables.
pub(super) struct FormulaDisplay<'a> {
    pub(super) formula: &'a Formula,
    pub(super) variables: &'a [&'a str],
}

impl fmt::Display for FormulaDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each node's text, with the precedence of its outermost operator. Long texts are cut, since a node may be used
        // many times.
        let mut texts: Vec<(String, u8)> = Vec::with_capacity(self.formula.nodes.len());
        for node in &self.formula.nodes {
            let (mut text, binds) = self.text(node, &texts);
            if text.chars().count() > MOST {
                text = text.chars().take(MOST).chain("…".chars()).collect();
            }
            texts.push((text, binds));
        }
        f.write_str(texts.last().map_or("", |(text, _)| text))
    }
}

/// Most characters of a formula that are shown.
const MOST: usize = 200;

impl FormulaDisplay<'_> {
    fn text(&self, node: &FormulaNode, texts: &[(String, u8)]) -> (String, u8) {
        let at = |n: u32| texts[n as usize].0.as_str();
        let within = |n: u32, least: u8| match &texts[n as usize] {
            (text, binds) if *binds >= least => text.clone(),
            (text, _) => format!("({text})"),
        };
        match *node {
            FormulaNode::Variable(number) => {
                let name = self.variables.get(number);
                (name.map_or_else(|| format!("x{number}"), |name| (*name).into()), ATOM)
            }
            FormulaNode::Number(Literal::Integer(n)) => {
                (n.to_string(), if n < 0 { SIGN } else { ATOM })
            }
            FormulaNode::Number(Literal::Float(x)) => {
                (x.to_string(), if x < 0.0 { SIGN } else { ATOM })
            }
            FormulaNode::Unary(UnaryOp::Neg, x) => (format!("-{}", within(x, SIGN)), SIGN),
            FormulaNode::Unary(UnaryOp::Not, x) => (format!("not {}", within(x, NOT)), NOT),
            FormulaNode::Unary(op, x) => (format!("{}({})", unary(op), at(x)), ATOM),
            FormulaNode::Fold(fold, x) => (format!("{}({})", fold.name(), at(x)), ATOM),
            FormulaNode::Binary(op, x, y) => {
                match SYMBOLS.iter().find(|(_, other, _)| *other == op) {
                    Some(&(symbol, _, binds)) => {
                        // Comparisons do not chain.
                        let left = if binds == COMPARISON { binds + 1 } else { binds };
                        let text = format!("{} {symbol} {}", within(x, left), within(y, binds + 1));
                        (text, binds)
                    }
                    None => (format!("{}({}, {})", binary(op), at(x), at(y)), ATOM),
                }
            }
            FormulaNode::Select(c, x, y) => {
                (format!("where({}, {}, {})", at(c), at(x), at(y)), ATOM)
            }
            FormulaNode::Random(ref of) => (format!("random({}, {})", at(of.lo), at(of.hi)), ATOM),
        }
    }
}

/// Names similar to a misspelt one: of all functions and constants.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    let unary = UNARY.iter().map(|(name, _)| *name);
    let binary = BINARY.iter().map(|(name, _)| *name);
    let constants = CONSTANTS.iter().map(|(name, _)| *name);
    unary.chain(binary).chain(constants).chain(["where", "len"])
}
