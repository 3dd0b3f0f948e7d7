//! Scalar formulas of an element, or of a pair of elements.

mod check;
mod lists;
mod parse;
mod value_set;
mod words;

pub use check::FormulaError;
pub(crate) use lists::{ListFold, folded};
pub(crate) use parse::{Fold, fold_name, parse_aggregation};
pub(crate) use value_set::{FloatBounds, ValueSet};

use ijk_types::{BinaryOp, DType, Literal, Scalar, ScalarError, UnaryOp, scalar};
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A formula of one element, `x`, or of two, `l` and `r`, out of numbers and the functions of i.
///
/// Text has Python's operators: `+ - * / % **`, comparisons, `and`, `or`, `not`; and functions. Elements that
/// are lists are folded by `len`, `sum`, `prod`, `max`, `min`, `all`, `any`, `argmax` and `argmin`; all else is of
/// each element of a list.
///
/// Formulas are written as text, or as closures that operators trace:
///
/// ```
/// use ijk_blocks::Formula;
/// let text = Formula::parse("2 * x + 1", &["x"])?;
/// let traced = Formula::trace(|x| 2.0 * x + 1.0);
/// assert_eq!(text.display(&["x"]).to_string(), "2 * x + 1");
/// assert_eq!(traced.display(&["x"]).to_string(), "2 * x + 1");
/// # Ok::<(), ijk_blocks::TextError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// Operands before users; the last is the value.
    pub(crate) nodes: Vec<FormulaNode>,
}

/// A node of a formula; operands are the numbers of earlier nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FormulaNode {
    /// The variable of that number.
    Variable(usize),
    Number(Literal),
    Unary(UnaryOp, u32),
    Binary(BinaryOp, u32, u32),
    /// The second where the first holds, else the third.
    Select(u32, u32, u32),
    /// Random numbers: see [`Random`].
    Random(Box<Random>),
    /// Fold of the elements of a list.
    Fold(ListFold, u32),
}

/// A uniform random number in `[lo, hi)`: [`ijk_types::random`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Random {
    /// The key of the source of numbers.
    pub(crate) key: u64,
    /// Counter of the number: this constant plus multiples of variables, which are whole numbers.
    pub(crate) constant: i64,
    pub(crate) counters: Vec<(i64, u32)>,
    pub(crate) lo: u32,
    pub(crate) hi: u32,
}

impl FormulaNode {
    pub(crate) fn operands(&self) -> impl Iterator<Item = u32> {
        let operands = match *self {
            Self::Variable(_) | Self::Number(_) => Vec::new(),
            Self::Unary(_, x) | Self::Fold(_, x) => vec![x],
            Self::Binary(_, x, y) => vec![x, y],
            Self::Select(c, x, y) => vec![c, x, y],
            Self::Random(ref of) => {
                of.counters.iter().map(|&(_, counter)| counter).chain([of.lo, of.hi]).collect()
            }
        };
        operands.into_iter()
    }

    /// The same node with other operands.
    pub(crate) fn moved(&self, to: impl Fn(u32) -> u32) -> Self {
        match *self {
            Self::Unary(op, x) => Self::Unary(op, to(x)),
            Self::Fold(fold, x) => Self::Fold(fold, to(x)),
            Self::Binary(op, x, y) => Self::Binary(op, to(x), to(y)),
            Self::Select(c, x, y) => Self::Select(to(c), to(x), to(y)),
            Self::Random(ref of) => {
                let counters = of.counters.iter().map(|&(c, counter)| (c, to(counter))).collect();
                Self::Random(Box::new(Random { counters, lo: to(of.lo), hi: to(of.hi), ..**of }))
            }
            ref leaf => leaf.clone(),
        }
    }
}

impl Formula {
    /// The variable of that number: `x`; `l` is 0 and `r` 1.
    pub fn variable(number: usize) -> Self {
        Self { nodes: vec![FormulaNode::Variable(number)] }
    }

    /// A number, which takes the type of the other operand.
    pub fn number(value: f64) -> Self {
        let whole = value.fract() == 0.0 && value.abs() < 1e15 && !is_negative_zero(value);
        let literal = if whole { Literal::Integer(value as i64) } else { Literal::Float(value) };
        Self { nodes: vec![FormulaNode::Number(literal)] }
    }

    /// A function of one operand.
    #[must_use]
    pub fn unary(op: UnaryOp, of: Formula) -> Self {
        let at = of.last();
        let mut nodes = of.nodes;
        nodes.push(FormulaNode::Unary(op, at));
        Self { nodes }
    }

    /// Fold of the elements of a list.
    #[must_use]
    pub(crate) fn fold(fold: ListFold, of: Formula) -> Self {
        let at = of.last();
        let mut nodes = of.nodes;
        nodes.push(FormulaNode::Fold(fold, at));
        Self { nodes }
    }

    /// A function of two operands.
    #[must_use]
    pub fn binary(op: BinaryOp, left: Formula, right: Formula) -> Self {
        let (mut nodes, [l, r]) = joined([left, right]);
        nodes.push(FormulaNode::Binary(op, l, r));
        Self { nodes }
    }

    /// The second where the first holds, else the third.
    #[must_use]
    pub fn select(condition: Formula, then: Formula, otherwise: Formula) -> Self {
        let (mut nodes, [c, x, y]) = joined([condition, then, otherwise]);
        nodes.push(FormulaNode::Select(c, x, y));
        Self { nodes }
    }

    /// The formula of a closure of `x`, traced by operators.
    pub fn trace(formula: impl FnOnce(Formula) -> Formula) -> Self {
        formula(Self::variable(0))
    }

    /// The formula of a closure of `l` and `r`, traced by operators.
    pub fn trace_pair(formula: impl FnOnce(Formula, Formula) -> Formula) -> Self {
        formula(Self::variable(0), Self::variable(1))
    }

    /// Parses a formula of variables of these names.
    ///
    /// # Errors
    /// All errors of the text, each with its place.
    ///
    /// ```
    /// let error = ijk_blocks::Formula::parse("2 * y", &["x"]).unwrap_err();
    /// assert!(error.to_string().contains("`y`"));
    /// ```
    pub fn parse(text: &str, variables: &[&str]) -> Result<Self, crate::TextError> {
        parse::parse_formula(text, variables)
    }

    /// The same without unused nodes.
    #[must_use]
    pub(crate) fn pruned(self) -> Self {
        let mut needed = vec![false; self.nodes.len()];
        if let Some(last) = needed.last_mut() {
            *last = true;
        }
        for (n, node) in self.nodes.iter().enumerate().rev() {
            if needed[n] {
                node.operands().for_each(|operand| needed[operand as usize] = true);
            }
        }
        let mut places = vec![0; self.nodes.len()];
        let mut nodes: Vec<FormulaNode> = Vec::new();
        for (n, node) in self.nodes.into_iter().enumerate().filter(|(n, _)| needed[*n]) {
            places[n] = nodes.len() as u32;
            nodes.push(node.moved(|operand| places[operand as usize]));
        }
        Self { nodes }
    }

    /// The number of its last node.
    fn last(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }

    /// The operator, if the formula is one of `l` and `r` (in either order, if it is commutative).
    pub(crate) fn as_binary(&self) -> Option<BinaryOp> {
        let commutative = |op| {
            use BinaryOp::{Add, And, Max, Min, Mul, Or};
            matches!(op, Add | Mul | Max | Min | And | Or)
        };
        match self.nodes[..] {
            [FormulaNode::Variable(0), FormulaNode::Variable(1), FormulaNode::Binary(op, 0, 1)] => {
                Some(op)
            }
            [FormulaNode::Variable(1), FormulaNode::Variable(0), FormulaNode::Binary(op, 0, 1)]
            | [FormulaNode::Variable(0), FormulaNode::Variable(1), FormulaNode::Binary(op, 1, 0)] => {
                Some(op).filter(|&op| commutative(op))
            }
            _ => None,
        }
    }

    /// The same with formulas in place of the variables.
    #[must_use]
    pub(crate) fn with(&self, variables: &[Formula]) -> Self {
        let mut nodes: Vec<FormulaNode> = Vec::new();
        let mut starts = Vec::with_capacity(variables.len());
        for formula in variables {
            let start = nodes.len() as u32;
            nodes.extend(formula.nodes.iter().map(|node| node.moved(|operand| operand + start)));
            starts.push(start + formula.last());
        }
        let mut places: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            if let FormulaNode::Variable(number) = *node {
                places.push(starts[number]);
                continue;
            }
            places.push(nodes.len() as u32);
            nodes.push(node.moved(|operand| places[operand as usize]));
        }
        // The value is the last node, also where it is one of the variables'.
        let value = places.last().copied().unwrap_or_default() as usize;
        nodes.truncate(value + 1);
        Self { nodes }.pruned()
    }

    /// Its value for these values of the variables, whose types were checked.
    ///
    /// # Errors
    /// Integer division by zero, a negative power of an integer.
    pub(crate) fn evaluate(&self, variables: &[Scalar]) -> Result<Scalar, ScalarError> {
        let types: Vec<_> = variables.iter().map(|scalar| scalar.dtype()).collect();
        let unknown = || ScalarError::Type(types.first().copied().unwrap_or(DType::F64));
        let of_nodes = self.types(&types).map_err(|_| unknown())?;
        let mut values: Vec<Scalar> = Vec::with_capacity(self.nodes.len());
        for (node, &dtype) in self.nodes.iter().zip(&of_nodes) {
            let at = |n: u32| values[n as usize];
            values.push(match *node {
                FormulaNode::Variable(number) => variables[number],
                FormulaNode::Number(literal) => literal.to_scalar(dtype).map_err(|_| unknown())?,
                FormulaNode::Unary(op, x) => scalar::unary(op, at(x))?,
                FormulaNode::Binary(op, x, y) => scalar::binary(op, at(x), at(y))?,
                FormulaNode::Select(c, x, y) => match at(c) {
                    Scalar::Bool(true) => at(x),
                    _ => at(y),
                },
                // Random numbers differ from point to point; numbers have nothing to fold.
                FormulaNode::Random(_) | FormulaNode::Fold(..) => return Err(unknown()),
            });
        }
        values.pop().ok_or_else(unknown)
    }

    /// The formula as text.
    pub fn display<'a>(&'a self, variables: &'a [&'a str]) -> impl fmt::Display + 'a {
        words::FormulaDisplay { formula: self, variables }
    }
}

fn is_negative_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

/// Concatenates the nodes of formulas; returns the node of the value of each.
fn joined<const N: usize>(formulas: [Formula; N]) -> (Vec<FormulaNode>, [u32; N]) {
    let mut nodes: Vec<FormulaNode> = Vec::new();
    let places = formulas.map(|formula| {
        let start = nodes.len() as u32;
        nodes.extend(formula.nodes.iter().map(|node| node.moved(|operand| operand + start)));
        start + formula.last()
    });
    (nodes, places)
}

macro_rules! operators {
    ($($Trait:ident $method:ident $op:ident;)*) => {$(
        impl $Trait for Formula {
            type Output = Formula;
            fn $method(self, right: Formula) -> Formula {
                Formula::binary(BinaryOp::$op, self, right)
            }
        }
        impl $Trait<f64> for Formula {
            type Output = Formula;
            fn $method(self, right: f64) -> Formula {
                Formula::binary(BinaryOp::$op, self, Formula::number(right))
            }
        }
        impl $Trait<Formula> for f64 {
            type Output = Formula;
            fn $method(self, right: Formula) -> Formula {
                Formula::binary(BinaryOp::$op, Formula::number(self), right)
            }
        }
    )*};
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}

impl Neg for Formula {
    type Output = Formula;
    fn neg(self) -> Formula {
        Formula::unary(UnaryOp::Neg, self)
    }
}

#[cfg(test)]
mod tests;
