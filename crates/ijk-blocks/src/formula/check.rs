//! The element types of a formula.

use super::{Formula, FormulaNode};
use crate::ElementType;
use ijk_types::{DType, LiteralError, TypeSet, UnaryOp};
use thiserror::Error;

/// Error of a formula that has no type for elements of certain types.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FormulaError {
    /// A function that does not take elements of that type.
    #[error("`{function}` does not take {found}, but {accepts}")]
    Accepts {
        /// The function.
        function: String,
        /// The operands' type.
        found: DType,
        /// Accepted types.
        accepts: TypeSet,
    },
    /// Operands of two types.
    #[error("`{function}` has operands of {left} and {right}; a cast makes them one type")]
    Differ {
        /// The function.
        function: String,
        /// Type of one.
        left: DType,
        /// Type of the other.
        right: DType,
    },
    /// A fold of an operand that is no list.
    #[error("`{function}` folds a list, but its operand is {found}")]
    NoList {
        /// The fold.
        function: String,
        /// The operand's type.
        found: ElementType,
    },
    /// A fold of a list of lists.
    #[error("`{function}` folds a list of numbers, but its operand is {found}")]
    Nested {
        /// The fold.
        function: String,
        /// The operand's type.
        found: ElementType,
    },
    /// Operands that are lists, one of them of lists.
    #[error("`{function}` has operands of {left} and {right}, which nest differently")]
    Depths {
        /// The function.
        function: String,
        /// Type of one.
        left: ElementType,
        /// Type of the other.
        right: ElementType,
    },
    /// A number without a value in the type.
    #[error(transparent)]
    Literal(#[from] LiteralError),
}

impl Formula {
    /// The type of its value where the variables have these types.
    ///
    /// # Errors
    /// If a function does not take its operands.
    pub(crate) fn result(&self, variables: &[DType]) -> Result<DType, FormulaError> {
        let types = self.types(variables)?;
        Ok(types.last().copied().unwrap_or(DType::F64))
    }

    /// The type of each node.
    pub(crate) fn types(&self, variables: &[DType]) -> Result<Vec<DType>, FormulaError> {
        let types = self.numbers(variables)?;
        if self.nodes.iter().any(|node| matches!(node, FormulaNode::Fold(..))) {
            self.depths(&types, &vec![0; variables.len()])?;
        }
        Ok(types)
    }

    /// The type of each node; of a list, that of its numbers.
    pub(super) fn numbers(&self, variables: &[DType]) -> Result<Vec<DType>, FormulaError> {
        let mut types: Vec<Option<DType>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let found = self.of_operands(node, variables, &types)?;
            types.push(found);
        }
        let types = self.of_numbers(&types, variables);
        for (n, node) in self.nodes.iter().enumerate() {
            self.check(node, types[n], &types)?;
        }
        Ok(types)
    }

    /// The type of a node as far as its operands determine it: that of numbers alone is undetermined.
    fn of_operands(
        &self,
        node: &FormulaNode,
        variables: &[DType],
        types: &[Option<DType>],
    ) -> Result<Option<DType>, FormulaError> {
        let at = |n: u32| types[n as usize];
        Ok(match *node {
            FormulaNode::Variable(number) => Some(variables[number]),
            FormulaNode::Number(_) => None,
            FormulaNode::Unary(UnaryOp::Cast(to), _) => Some(to),
            FormulaNode::Unary(op, x) => at(x).map(|x| op.result().of(x)),
            FormulaNode::Binary(op, x, y) => {
                let operands = same(&|| super::words::binary(op), at(x), at(y))?;
                match op.result() {
                    ijk_types::ResultType::Fixed(fixed) => Some(fixed),
                    result => operands.map(|t| result.of(t)),
                }
            }
            FormulaNode::Select(_, x, y) => same(&|| "where".into(), at(x), at(y))?,
            FormulaNode::Random(ref of) => same(&|| "random".into(), at(of.lo), at(of.hi))?,
            FormulaNode::Fold(fold, x) => fold.fixed().or(at(x)),
        })
    }

    /// All types: numbers take the type of the other operand, or of the first variable.
    fn of_numbers(&self, types: &[Option<DType>], variables: &[DType]) -> Vec<DType> {
        let first = variables.first().copied().unwrap_or(DType::F64);
        let mut types = types.to_vec();
        for (n, node) in self.nodes.iter().enumerate().rev() {
            let own = *types[n].get_or_insert(first);
            let wanted = match *node {
                FormulaNode::Binary(op, x, y) => {
                    let known = types[x as usize].or(types[y as usize]);
                    let fixed = matches!(op.result(), ijk_types::ResultType::Fixed(_));
                    known.unwrap_or(if fixed { first } else { own })
                }
                // A number that is cast to a type is of that type.
                FormulaNode::Unary(UnaryOp::Cast(to), x) => match self.nodes[x as usize] {
                    FormulaNode::Number(literal) if literal.to_scalar(to).is_ok() => to,
                    _ => first,
                },
                FormulaNode::Fold(fold, _) if fold.fixed().is_some() => first,
                _ => own,
            };
            let condition = if let FormulaNode::Select(c, ..) = node { Some(*c) } else { None };
            for operand in node.operands().filter(|&operand| Some(operand) != condition) {
                types[operand as usize].get_or_insert(wanted);
            }
            if let Some(condition) = condition {
                types[condition as usize].get_or_insert(DType::Bool);
            }
        }
        types.into_iter().map(|t| t.unwrap_or(first)).collect()
    }

    /// Checks that a node accepts its operands.
    fn check(&self, node: &FormulaNode, own: DType, types: &[DType]) -> Result<(), FormulaError> {
        let at = |n: u32| types[n as usize];
        let accept = |function: String, accepts: TypeSet, found: DType| {
            let accepted = accepts.contains(found);
            accepted.then_some(()).ok_or(FormulaError::Accepts { function, found, accepts })
        };
        match *node {
            FormulaNode::Variable(_) => Ok(()),
            FormulaNode::Number(literal) => Ok(literal.to_scalar(own).map(|_| ())?),
            FormulaNode::Unary(op, x) => accept(super::words::unary(op), op.accepts(), at(x)),
            FormulaNode::Binary(op, x, y) => {
                same(&|| super::words::binary(op), Some(at(x)), Some(at(y)))?;
                accept(super::words::binary(op), op.accepts(), at(x))
            }
            FormulaNode::Select(c, x, y) => {
                same(&|| "where".into(), Some(at(x)), Some(at(y)))?;
                accept("where".into(), TypeSet::BOOL, at(c))
            }
            FormulaNode::Fold(fold, x) => accept(fold.name().into(), fold.accepts(), at(x)),
            FormulaNode::Random(ref of) => {
                same(&|| "random".into(), Some(at(of.lo)), Some(at(of.hi)))?;
                let drawn = TypeSet::I64.union(TypeSet::only(DType::F64));
                accept("random".into(), drawn, at(of.lo))?;
                let mut counters = of.counters.iter();
                counters.try_for_each(|&(_, n)| accept("random".into(), TypeSet::I64, at(n)))
            }
        }
    }
}

/// The common type of two operands, as far as it is known.
fn same(
    function: &dyn Fn() -> String,
    left: Option<DType>,
    right: Option<DType>,
) -> Result<Option<DType>, FormulaError> {
    match (left, right) {
        (Some(left), Some(right)) if left != right => {
            Err(FormulaError::Differ { function: function(), left, right })
        }
        (left, right) => Ok(left.or(right)),
    }
}
