//! The core IR: a DAG of index statements over arrays.
//!
//! A statement means: for every point of its domain, if every index is in bounds and every guard
//! holds, combine `value` into `out[out_index]`. Extents are symbolic until a program is instantiated with the shapes and
//! element types of its arguments ([`Instance`]).

use ijk_types::{BinaryOp, DType, Literal, Monoid, Reducer, TypeSet, UnaryOp};
use serde::{Deserialize, Serialize};

mod iterations;
mod loops;
mod terms;

pub use iterations::{Iteration, LoopState, ProgramItem, Swept};
pub use loops::{
    Loop, LoopArray, LoopAxis, LoopProgram, LoopStep, PassCondition, Probe, Update, UpdateInput,
    Window,
};
pub use terms::Terms;

/// Index of an [`Array`] in its [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ArrayId(pub u32);

/// Index of an [`Axis`] in its statement's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AxisId(pub u32);

/// Index of a [`ScalarNode`] in its [`ScalarExpr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScalarId(pub u32);

/// A half-open range of bytes of [`Program::source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A pure function from arrays to arrays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The text that spans point into.
    pub source: String,
    /// Inputs and what statements define.
    pub arrays: Vec<Array>,
    /// The arguments, in order.
    pub inputs: Vec<ArrayId>,
    /// The results, in order. An input may be one, and one array may be several.
    pub outputs: Vec<ArrayId>,
    /// Each defines one array, from inputs and arrays that earlier ones define.
    pub statements: Vec<Statement>,
    /// The names in braces; each means one extent throughout the program.
    pub extent_names: Vec<String>,
    /// For each type variable, the element types it may be. Each is the type of some input.
    pub types: Vec<TypeSet>,
    /// Pairs of type variables whose real parts have the same type (`f32` and `c64`, say).
    pub same_real: Vec<(u32, u32)>,
    /// Loops over ranges of the statements, in the order in which they begin; outer ones first.
    #[serde(default)]
    pub loops: Vec<Iteration>,
}

/// Type and rank of an array, before extents are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// Its rank; `None` where any will do: such an array is an input that is only passed through.
    pub rank: Option<u32>,
    /// Its element type.
    pub dtype: TypeTerm,
    /// Where it comes from in the source: the operand or expression, for messages.
    pub span: Span,
}

/// An element type that may depend on the arguments'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TypeTerm {
    /// A variable of [`Program::types`].
    Var(u32),
    /// The type of the real part of a variable.
    RealOf(u32),
    /// Known.
    Fixed(DType),
}

impl TypeTerm {
    /// The element type when the variables have these.
    pub fn resolve(self, variables: &[DType]) -> DType {
        match self {
            Self::Var(v) => variables[v as usize],
            Self::RealOf(v) => variables[v as usize].real(),
            Self::Fixed(t) => t,
        }
    }
}

/// An index statement: defines the array `out`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Array that the statement defines.
    pub out: ArrayId,
    /// The iteration domain: the product of these axes, in the order of their first appearance in
    /// the source (operands from left to right, then the output). Where an order of combination is
    /// stated, it is lexicographic in this order.
    pub domain: Vec<Axis>,
    /// Element of `out` that a point updates: one expression for each of its axes.
    pub out_index: Vec<IndexExpr>,
    /// Elements before any point updates them.
    pub init: Init,
    /// Combination of the values that fall on one element. `None` stores: then `out_index` is injective.
    pub reduce: Option<Reducer>,
    /// The value at a point.
    pub value: ScalarExpr,
    /// Further conditions: points where not `0 <= index < extent` are skipped, as those are where
    /// an access is out of bounds. An element read where its own index is out of bounds skips, too.
    #[serde(default)]
    pub guards: Vec<(IndexExpr, u64)>,
    /// The index expression in the source.
    pub span: Span,
}

impl Statement {
    /// Returns true if the last axis of the domain can be that of the places of an order: the value does not depend on
    /// it, each place of the output is an axis of its own, and nothing is skipped.
    pub fn has_places(&self) -> bool {
        let Some(last) = self.domain.len().checked_sub(1) else { return false };
        let last = AxisId(last as u32);
        let mut axes: Vec<AxisId> = self.out_index.iter().filter_map(IndexExpr::as_axis).collect();
        axes.sort();
        axes.dedup();
        let apart = axes.len() == self.out_index.len() && axes.last() == Some(&last);
        let free = |e: &IndexExpr| !e.mentions(last);
        let values = self.value.nodes.iter().all(|node| match node {
            ScalarNode::Access(access) => access.index.iter().all(free),
            ScalarNode::Index(e) | ScalarNode::Random { counter: e, .. } => free(e),
            _ => true,
        });
        apart && values && self.guards.is_empty()
    }
}

/// Elements of an array before a statement's points update them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Init {
    /// 0 (false).
    Zero,
    /// The identity of a monoid.
    Identity(Monoid),
    /// Another array's elements, of the same shape and type.
    From(ArrayId),
}

/// One dimension of an iteration domain, and what determines its extent.
///
/// All `dims` and `pins` must agree. With neither, an axis that occurs in an access of the value
/// ranges as far as every access stays in bounds, and one that occurs in none has extent 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The letter.
    pub name: String,
    /// Axes of arrays that the letter alone indexes.
    pub dims: Vec<Dim>,
    /// Extents in braces.
    pub pins: Vec<Pin>,
}

/// An axis of an array, indexed by a letter alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dim {
    /// The array.
    pub array: ArrayId,
    /// Axis of the array.
    pub axis: u32,
    /// The occurrence of the letter.
    pub span: Span,
}

/// An extent in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pin {
    /// `{10}`.
    Number(u64, Span),
    /// `{n}`: an index into [`Program::extent_names`].
    Name(u32, Span),
}

/// A quasi-affine index: `constant + Σ coefficient · atom`.
///
/// Normal form: coefficients are not 0, atoms are distinct, axes come first and ascend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IndexExpr {
    /// The constant.
    pub constant: i64,
    /// The terms.
    pub terms: Terms,
}

/// Atom of an index, which is linear in its atoms.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Atom {
    /// An axis of the domain.
    Axis(AxisId),
    /// Division by a positive constant, rounding down.
    FloorDiv(Box<IndexExpr>, i64),
    /// The remainder of that division.
    Mod(Box<IndexExpr>, i64),
    /// A product of two that are not constant.
    Product(Box<IndexExpr>, Box<IndexExpr>),
    /// An element of an array of integers. Where its own index is out of bounds, so is the index
    /// that it is part of.
    Element(Box<Access>),
    /// The magnitude.
    Abs(Box<IndexExpr>),
    /// The greater of two.
    Max(Box<IndexExpr>, Box<IndexExpr>),
    /// The lesser of two.
    Min(Box<IndexExpr>, Box<IndexExpr>),
}

impl Atom {
    /// The atom without source spans, so that equal ones compare equal.
    pub fn without_spans(&self) -> Self {
        match self {
            Self::Axis(_) => self.clone(),
            Self::FloorDiv(inner, d) => Self::FloorDiv(inner.without_spans().into(), *d),
            Self::Mod(inner, d) => Self::Mod(inner.without_spans().into(), *d),
            Self::Product(left, right) => {
                Self::Product(left.without_spans().into(), right.without_spans().into())
            }
            Self::Abs(inner) => Self::Abs(inner.without_spans().into()),
            Self::Max(left, right) => {
                Self::Max(left.without_spans().into(), right.without_spans().into())
            }
            Self::Min(left, right) => {
                Self::Min(left.without_spans().into(), right.without_spans().into())
            }
            Self::Element(access) => {
                let index = access.index.iter().map(IndexExpr::without_spans).collect();
                Self::Element(Access { array: access.array, index, span: Span::default() }.into())
            }
        }
    }
}

impl IndexExpr {
    /// The expression without source spans, so that equal ones compare equal.
    pub fn without_spans(&self) -> Self {
        let terms =
            self.terms.iter().map(|(coefficient, atom)| (*coefficient, atom.without_spans()));
        Self { constant: self.constant, terms: terms.collect() }
    }

    /// The axis alone.
    pub fn axis(axis: AxisId) -> Self {
        Self::atom(Atom::Axis(axis))
    }

    /// The atom alone.
    pub fn atom(atom: Atom) -> Self {
        Self { constant: 0, terms: Terms::one(1, atom) }
    }

    /// A constant.
    pub fn constant(constant: i64) -> Self {
        Self { constant, terms: Terms::new() }
    }

    /// The axis, where the expression is one alone.
    pub fn as_axis(&self) -> Option<AxisId> {
        match (&self.terms[..], self.constant) {
            ([(1, Atom::Axis(axis))], 0) => Some(*axis),
            _ => None,
        }
    }

    /// Returns true for a sum of multiples of axes and a constant.
    pub fn is_affine(&self) -> bool {
        self.terms.iter().all(|(_, atom)| matches!(atom, Atom::Axis(_)))
    }

    /// Its value at a point of the domain, wrapping on overflow, where it reads no array.
    ///
    /// # Panics
    /// If it reads an array.
    pub fn eval(&self, point: &[i64]) -> i64 {
        self.eval_with(point, &|_| None).expect("no element of an array is in the index")
    }

    /// Its value at a point of the domain, wrapping on overflow; `element` gives elements of
    /// arrays, `None` where their own index is out of bounds.
    pub fn eval_with(
        &self,
        point: &[i64],
        element: &impl Fn(&Access) -> Option<i64>,
    ) -> Option<i64> {
        self.terms.iter().try_fold(self.constant, |sum, (coefficient, atom)| {
            let value = atom.eval_with(point, element)?;
            Some(sum.wrapping_add(coefficient.wrapping_mul(value)))
        })
    }
}

impl Atom {
    fn eval_with(&self, point: &[i64], element: &impl Fn(&Access) -> Option<i64>) -> Option<i64> {
        Some(match self {
            Self::Axis(axis) => point[axis.0 as usize],
            Self::FloorDiv(e, divisor) => e.eval_with(point, element)?.div_euclid(*divisor),
            Self::Mod(e, divisor) => e.eval_with(point, element)?.rem_euclid(*divisor),
            Self::Product(left, right) => {
                let left = left.eval_with(point, element)?;
                left.wrapping_mul(right.eval_with(point, element)?)
            }
            Self::Element(access) => element(access)?,
            Self::Abs(e) => e.eval_with(point, element)?.wrapping_abs(),
            Self::Max(left, right) => {
                left.eval_with(point, element)?.max(right.eval_with(point, element)?)
            }
            Self::Min(left, right) => {
                left.eval_with(point, element)?.min(right.eval_with(point, element)?)
            }
        })
    }
}

/// The value of a statement at a point: nodes in post-order, the last is the value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalarExpr {
    /// Operands before users.
    pub nodes: Vec<ScalarNode>,
}

/// A node of a scalar expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ScalarNode {
    /// An element of an array.
    Access(Access),
    /// A number.
    Const(Literal, TypeTerm),
    /// The value of an index, as i64.
    Index(IndexExpr),
    /// A function of one operand.
    Unary(UnaryOp, ScalarId),
    /// A function of two.
    Binary(BinaryOp, ScalarId, ScalarId),
    /// The second where the first (a bool) holds, else the third.
    Select(ScalarId, ScalarId, ScalarId),
    /// A uniform random number in `[lo, hi)`, i64 or f64 as these are: [`ijk_types::random`].
    Random {
        /// The key of the source of numbers.
        key: u64,
        /// Counter of the random number.
        counter: IndexExpr,
        /// Least value.
        lo: ScalarId,
        /// The values are less.
        hi: ScalarId,
    },
    /// The extent of an axis of the domain, as a number.
    Extent(AxisId, TypeTerm),
}

/// An element of an array, as an index of the domain's axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// The array.
    pub array: ArrayId,
    /// One expression for each of its axes.
    pub index: Vec<IndexExpr>,
    /// The operand in the source.
    pub span: Span,
}

/// A program with the element types and shapes of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance {
    /// For each array, its element type.
    pub dtypes: Vec<DType>,
    /// For each array, its shape.
    pub shapes: Vec<Vec<u64>>,
    /// For each statement, the extents of its domain's axes.
    pub extents: Vec<Vec<u64>>,
    /// For each loop, its number of passes.
    pub passes: Vec<u64>,
}
