//! Sums and products: the structure that all kinds of expressions share.

use super::ast::{Bound, CallArg, Index, IndexOp, Value, ValueOp};
use crate::Span;

/// An expression with sums and products.
pub(super) trait Tree: Sized {
    /// Operators of its products.
    type Op: Copy + PartialEq + 'static;

    fn sum(terms: Vec<(bool, Self)>, span: Span) -> Self;

    fn product(first: Self, factors: Vec<(Self::Op, Self)>, span: Span) -> Self;

    /// Form of the node.
    fn form(&self) -> Form<'_, Self>;

    /// As the first term of a longer sum: its sign and the rest, where it is a sum of one term.
    fn unsigned(self) -> (bool, Self);
}

/// A sum, a product or something else.
pub(super) enum Form<'t, T: Tree> {
    Sum(&'t [(bool, T)]),
    Product(&'t T, &'t [(T::Op, T)]),
    Other,
}

macro_rules! trees {
    ($($tree:ident: $op:ident;)*) => {$(
        impl Tree for $tree {
            type Op = $op;

            fn sum(terms: Vec<(bool, Self)>, span: Span) -> Self {
                Self::Sum(terms, span)
            }

            fn product(first: Self, factors: Vec<($op, Self)>, span: Span) -> Self {
                Self::Product(Box::new(first), factors, span)
            }

            fn form(&self) -> Form<'_, Self> {
                match self {
                    Self::Sum(terms, _) => Form::Sum(terms),
                    Self::Product(first, factors, _) => Form::Product(first, factors),
                    _ => Form::Other,
                }
            }

            fn unsigned(self) -> (bool, Self) {
                let mut tree = self;
                loop {
                    match tree {
                        Self::Sum(mut terms, _) if terms.len() == 1 => match terms.remove(0) {
                            (false, term) => tree = term,
                            signed => return signed,
                        },
                        tree => return (false, tree),
                    }
                }
            }
        }
    )*};
}

trees! {
    Index: IndexOp;
    Value: ValueOp;
    Bound: IndexOp;
    CallArg: IndexOp;
}
