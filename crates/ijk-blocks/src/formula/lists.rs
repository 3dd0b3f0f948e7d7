//! Formulas of elements that are lists: folds of lists, and all other functions element by element.

use super::{Fold, Formula, FormulaError, FormulaNode, fold_name, words};
use crate::{ElementType, Error, Value};
use ijk_types::{BinaryOp, DType, Reducer, Scalar, ScalarError, TypeSet, scalar};

/// Fold of the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ListFold {
    /// Number of elements.
    Length,
    /// A fold of the elements; or the position of the first greatest or least.
    Reduce(Reducer),
}

impl ListFold {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match (name, super::parse::fold(name)) {
            ("len", _) => Some(Self::Length),
            (_, Some(Fold::Reduce(reducer))) => Some(Self::Reduce(reducer)),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Length => "len",
            Self::Reduce(reducer) => fold_name(Fold::Reduce(reducer)),
        }
    }

    /// The type that it gives, whatever the list holds.
    pub(super) fn fixed(self) -> Option<DType> {
        match self {
            Self::Reduce(Reducer::Monoid(_)) => None,
            Self::Length | Self::Reduce(_) => Some(DType::I64),
        }
    }

    /// Types that the elements of the list may have.
    pub(super) fn accepts(self) -> TypeSet {
        match self {
            Self::Length => TypeSet::ALL,
            Self::Reduce(Reducer::Monoid(monoid)) => monoid.op().accepts(),
            Self::Reduce(_) => BinaryOp::Max.accepts(),
        }
    }
}

/// Nesting depth of lists, and the type of the numbers in them.
fn apart(of: &ElementType) -> (u32, DType) {
    match of {
        ElementType::Number(dtype) => (0, *dtype),
        ElementType::Array(of) => {
            let (depth, dtype) = apart(of);
            (depth + 1, dtype)
        }
    }
}

/// The type of numbers in lists of that nesting depth.
fn nested(depth: u32, dtype: DType) -> ElementType {
    (0..depth).fold(dtype.into(), |of, _| ElementType::array(of))
}

impl Formula {
    /// The type of its value where the variables have these types.
    ///
    /// # Errors
    /// If a function does not take its operands.
    pub(crate) fn result_of(&self, variables: &[ElementType]) -> Result<ElementType, FormulaError> {
        let types = self.element_types(variables)?;
        Ok(types.last().cloned().unwrap_or(ElementType::Number(DType::F64)))
    }

    /// The type of each node.
    fn element_types(&self, variables: &[ElementType]) -> Result<Vec<ElementType>, FormulaError> {
        let (depths, dtypes): (Vec<u32>, Vec<DType>) = variables.iter().map(apart).unzip();
        let types = self.numbers(&dtypes)?;
        let depths = self.depths(&types, &depths)?;
        Ok(depths.into_iter().zip(types).map(|(depth, dtype)| nested(depth, dtype)).collect())
    }

    /// Nesting depth of the lists of each node, given that of the variables.
    pub(super) fn depths(
        &self,
        types: &[DType],
        variables: &[u32],
    ) -> Result<Vec<u32>, FormulaError> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |n: u32| nested(depths[n as usize], types[n as usize]);
            let depth = match *node {
                FormulaNode::Variable(number) => variables[number],
                FormulaNode::Fold(fold, x) => {
                    let (function, found) = (fold.name().to_owned(), of(x));
                    match (depths[x as usize], fold) {
                        (0, _) => return Err(FormulaError::NoList { function, found }),
                        (1, _) | (_, ListFold::Length) => 0,
                        _ => return Err(FormulaError::Nested { function, found }),
                    }
                }
                _ => {
                    let mut deepest: Option<u32> = None;
                    for n in node.operands().filter(|n| depths[*n as usize] > 0) {
                        if let Some(other) = deepest
                            && depths[other as usize] != depths[n as usize]
                        {
                            let (function, left, right) = (name(node), of(other), of(n));
                            return Err(FormulaError::Depths { function, left, right });
                        }
                        deepest = Some(n);
                    }
                    deepest.map_or(0, |n| depths[n as usize])
                }
            };
            depths.push(depth);
        }
        Ok(depths)
    }

    /// Its value for these values of the variables, whose types were checked.
    ///
    /// # Errors
    /// Lists of different lengths in one operation; operations without a value.
    pub(crate) fn evaluate_lists(
        &self,
        variables: &[&Value],
        types: &[ElementType],
    ) -> Result<Value, Error> {
        let of = self.element_types(types).unwrap_or_default();
        let mut values: Vec<Value> = Vec::with_capacity(self.nodes.len());
        for (node, of) in self.nodes.iter().zip(&of) {
            let operands: Vec<&Value> = node.operands().map(|n| &values[n as usize]).collect();
            let value = match *node {
                FormulaNode::Variable(number) => variables[number].clone(),
                FormulaNode::Fold(fold, _) => Value::Number(fold_list(fold, operands[0], of)?),
                _ => each(node, of, &operands)?,
            };
            values.push(value);
        }
        values.pop().ok_or_else(|| ScalarError::Type(DType::F64).into())
    }
}

/// Name of the function of a node in messages.
fn name(node: &FormulaNode) -> String {
    match *node {
        FormulaNode::Unary(op, _) => words::unary(op),
        FormulaNode::Binary(op, ..) => words::binary(op),
        _ => "where".into(),
    }
}

/// A function of numbers, for each element of operands that are lists; operands that are numbers are broadcast.
fn each(node: &FormulaNode, of: &ElementType, operands: &[&Value]) -> Result<Value, Error> {
    let ElementType::Array(items) = of else {
        let numbers: Option<Vec<Scalar>> = operands.iter().map(|value| value.as_number()).collect();
        return Ok(Value::Number(of_numbers(node, of, &numbers.unwrap_or_default())?));
    };
    let mut lengths = operands.iter().filter_map(|value| Some(value.as_list()?.items().len()));
    let length = lengths.next().unwrap_or(0);
    if let Some(other) = lengths.find(|&other| other != length) {
        let function = name(node);
        return Err(Error::Lists(format!(
            "`{function}` of lists of {length} and {other} elements"
        )));
    }
    let item = |n: usize| {
        let own = operands.iter().map(|&value| match value {
            Value::Number(_) => value,
            Value::List(list) => &list.items()[n],
        });
        let own: Vec<&Value> = own.collect();
        each(node, items, &own)
    };
    let all = (0..length).map(item).collect::<Result<Vec<_>, _>>()?;
    let wrong = || Error::Lists(format!("`{}` of lists gives no {of}", name(node)));
    Value::list_of((**items).clone(), all).ok_or_else(wrong)
}

/// A function of numbers.
fn of_numbers(
    node: &FormulaNode,
    of: &ElementType,
    operands: &[Scalar],
) -> Result<Scalar, ScalarError> {
    let dtype = of.number().unwrap_or(DType::F64);
    let wrong = ScalarError::Type(dtype);
    match (node, operands) {
        (FormulaNode::Number(literal), _) => literal.to_scalar(dtype).map_err(|_| wrong),
        (FormulaNode::Unary(op, _), [x]) => scalar::unary(*op, *x),
        (FormulaNode::Binary(op, ..), [x, y]) => scalar::binary(*op, *x, *y),
        (FormulaNode::Select(..), [c, x, y]) => Ok(if *c == Scalar::Bool(true) { *x } else { *y }),
        _ => Err(wrong),
    }
}

fn fold_list(fold: ListFold, list: &Value, of: &ElementType) -> Result<Scalar, Error> {
    let items = list.as_list().map_or(&[][..], |list| list.items());
    match fold {
        ListFold::Length => Ok(Scalar::I64(items.len() as i64)),
        ListFold::Reduce(reducer) => {
            let numbers = items.iter().filter_map(Value::as_number);
            folded(reducer, numbers.map(Ok), of.number().unwrap_or(DType::F64))
        }
    }
}

/// Fold of numbers in order; `of` is the type of a sum.
///
/// # Errors
/// Errors of the numbers; a position of the greatest or least of no elements.
pub(crate) fn folded(
    reducer: Reducer,
    mut numbers: impl Iterator<Item = Result<Scalar, Error>>,
    of: DType,
) -> Result<Scalar, Error> {
    let greatest = match reducer {
        Reducer::Monoid(monoid) => {
            let start = scalar::identity(monoid, of);
            return numbers.try_fold(start, |sum, x| Ok(scalar::binary(monoid.op(), sum, x?)?));
        }
        Reducer::ArgMax => true,
        Reducer::ArgMin | Reducer::Order(_) => false,
    };
    let mut best: Option<(usize, Scalar)> = None;
    for (n, x) in numbers.enumerate() {
        let x = x?;
        let better = match best {
            None => true,
            Some((_, y)) => !is_nan(y) && (is_nan(x) || beats(greatest, x, y)?),
        };
        if better {
            best = Some((n, x));
        }
    }
    let name = fold_name(Fold::Reduce(reducer));
    let none = || Error::Lists(format!("`{name}` of an empty list: no element has a position"));
    best.map(|(n, _)| Scalar::I64(n as i64)).ok_or_else(none)
}

fn is_nan(x: Scalar) -> bool {
    x.as_f64().is_nan()
}

fn beats(greatest: bool, x: Scalar, y: Scalar) -> Result<bool, ScalarError> {
    let op = if greatest { BinaryOp::Gt } else { BinaryOp::Lt };
    Ok(scalar::binary(op, x, y)? == Scalar::Bool(true))
}
