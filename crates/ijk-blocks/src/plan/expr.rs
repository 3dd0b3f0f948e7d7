//! Elementwise expressions over arrays, evaluated wherever their elements are read.

use super::axis_map::{AxisMap, MapStep};
use crate::function::{Elementwise, Function, Kind};
use crate::{ElementType, Formula, Value};
use ijk_types::{DType, Scalar};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// An array, or an elementwise expression of arrays.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Leaf(Leaf),
    /// A formula of operands of these types.
    Formula {
        formula: Formula,
        operands: Vec<Expr>,
        types: Vec<DType>,
        of: DType,
    },
    /// A closure.
    Closure {
        closure: Closure,
        operand: Box<Expr>,
        of: ElementType,
    },
}

/// A function that is a closure.
#[derive(Clone)]
pub(crate) struct Closure(pub(crate) Arc<dyn Elementwise>);

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name())
    }
}

/// Elements of an array, at positions that follow from the expression's axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    /// The number of the array.
    pub(crate) array: usize,
    /// Type of its elements.
    pub(crate) element: ElementType,
    /// The elements of its missing blocks.
    pub(crate) fill: Option<Value>,
    /// For each axis of the array, an axis of the expression and the map of its positions.
    pub(crate) axes: Vec<(usize, AxisMap)>,
}

impl Leaf {
    /// The first block of the array, of this type, that is read for these ranges of the expression's axes.
    pub(crate) fn first(
        &self,
        ty: &crate::Type,
        ranges: &[std::ops::Range<usize>],
    ) -> Option<Vec<usize>> {
        let first = |(n, (axis, along)): (usize, &(usize, AxisMap))| {
            let range = ranges[*axis].clone();
            let one = range.start..range.end.min(range.start + 1);
            Some(along.runs(one, ty.dims[n], ty.blocks[n]).first()?.block)
        };
        self.axes.iter().enumerate().map(first).collect()
    }
}

/// Greatest number of operands or nodes of an expression that is evaluated where it is read: it might be used many
/// times.
const MOST: usize = 24;

impl Expr {
    /// An array itself.
    pub(crate) fn array(
        array: usize,
        rank: usize,
        element: ElementType,
        fill: Option<Value>,
    ) -> Self {
        let axes = (0..rank).map(|axis| (axis, AxisMap::default())).collect();
        Self::Leaf(Leaf { array, element, fill, axes })
    }

    /// The type of its elements.
    pub(crate) fn element(&self) -> ElementType {
        match self {
            Self::Leaf(leaf) => leaf.element.clone(),
            Self::Formula { of, .. } => (*of).into(),
            Self::Closure { of, .. } => of.clone(),
        }
    }

    /// The array, if the expression is an array itself.
    pub(crate) fn as_array(&self) -> Option<usize> {
        let Self::Leaf(leaf) = self else { return None };
        let mut axes = leaf.axes.iter().enumerate();
        axes.all(|(n, (axis, along))| n == *axis && along.is_identity()).then_some(leaf.array)
    }

    /// Returns true if the expression should be computed once, as an array of its own.
    pub(crate) fn is_large(&self) -> bool {
        self.size() > MOST
            || self.leaves().iter().any(|leaf| leaf.axes.iter().any(|(_, a)| a.steps() > 8))
    }

    fn size(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Formula { formula, operands, .. } => {
                formula.nodes.len() + operands.iter().map(Self::size).sum::<usize>()
            }
            Self::Closure { operand, .. } => 1 + operand.size(),
        }
    }

    /// The arrays that it reads.
    pub(crate) fn leaves(&self) -> Vec<&Leaf> {
        match self {
            Self::Leaf(leaf) => vec![leaf],
            Self::Formula { operands, .. } => operands.iter().flat_map(Self::leaves).collect(),
            Self::Closure { operand, .. } => operand.leaves(),
        }
    }

    /// The axes that it depends on.
    pub(crate) fn axes(&self) -> HashSet<usize> {
        let leaves = self.leaves();
        leaves.iter().flat_map(|leaf| leaf.axes.iter().map(|(axis, _)| *axis)).collect()
    }

    /// The same expression along other axes: for each of its axes, the new one, and the step that maps positions of the
    /// new axis to its own.
    #[must_use]
    pub(crate) fn seen(&self, axes: &[(usize, Option<MapStep>)]) -> Self {
        let mut seen = self.clone();
        seen.for_each_leaf(&mut |leaf| {
            for (axis, along) in &mut leaf.axes {
                let (new, step) = &axes[*axis];
                *axis = *new;
                if let Some(step) = step {
                    *along = along.after(step.clone());
                }
            }
        });
        seen
    }

    fn for_each_leaf(&mut self, visit: &mut impl FnMut(&mut Leaf)) {
        match self {
            Self::Leaf(leaf) => visit(leaf),
            Self::Formula { operands, .. } => {
                operands.iter_mut().for_each(|operand| operand.for_each_leaf(visit));
            }
            Self::Closure { operand, .. } => operand.for_each_leaf(visit),
        }
    }

    /// A function of each element.
    pub(crate) fn map(self, function: &Function, of: ElementType) -> Self {
        match (&function.kind, of) {
            (Kind::Formula(formula), ElementType::Number(of)) => {
                Self::formula(formula, vec![self], of)
            }
            (Kind::Formula(_), of) => unreachable!("formulas give numbers, not {of}"),
            (Kind::Closure(closure), of) => {
                let closure = Closure(Arc::clone(closure));
                Self::Closure { closure, operand: Box::new(self), of }
            }
        }
    }

    /// Composition of a formula with those of its operands.
    pub(crate) fn formula(formula: &Formula, of: Vec<Self>, to: DType) -> Self {
        let mut all: Vec<Expr> = Vec::new();
        let mut types: Vec<DType> = Vec::new();
        let parts: Vec<Formula> = of
            .into_iter()
            .map(|part| match part {
                Self::Formula { formula, operands, types: part_types, .. } => {
                    let places: Vec<Formula> = operands
                        .into_iter()
                        .zip(part_types)
                        .map(|(operand, t)| place(&mut all, &mut types, operand, t))
                        .collect();
                    formula.with(&places)
                }
                other => {
                    let t = other.element().number().unwrap_or(DType::F64);
                    place(&mut all, &mut types, other, t)
                }
            })
            .collect();
        Self::Formula { formula: formula.with(&parts), operands: all, types, of: to }
    }

    /// Element where all blocks that the expression reads are missing; none where that has to be computed, or has no
    /// value.
    pub(crate) fn fill(&self) -> Option<Value> {
        match self {
            Self::Leaf(leaf) => leaf.fill.clone(),
            Self::Formula { formula, operands, .. } => {
                let fills = operands.iter().map(|operand| operand.fill()?.as_number());
                let fills: Vec<Scalar> = fills.collect::<Option<_>>()?;
                formula.evaluate(&fills).ok().map(Value::Number)
            }
            Self::Closure { .. } => None,
        }
    }
}

/// The variable that an operand is, a new one where it is not among those before.
fn place(all: &mut Vec<Expr>, types: &mut Vec<DType>, operand: Expr, dtype: DType) -> Formula {
    let same = |other: &Expr| match (other, &operand) {
        (Expr::Leaf(l), Expr::Leaf(r)) => l == r,
        _ => false,
    };
    let at = all.iter().position(same).unwrap_or_else(|| {
        all.push(operand);
        types.push(dtype);
        all.len() - 1
    });
    Formula::variable(at)
}
