//! Surface trees of Einsum Tuple.
//!
//! Sums and products are flat and other forms nest no deeper than [`crate::MAX_NESTING`], so
//! passes may recurse.

use crate::Span;
use std::ops::Range;

pub use crate::ast::{Name, Number};

/// A whole program: its four sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Assignments, in the order of the text.
    pub statements: Vec<Statement>,
    /// Loops around statements, an outer one before those in it.
    pub loops: Vec<Loop>,
    /// The framework call that should give the same outputs.
    pub call: Option<Call>,
    /// Names of the arrays that are results; empty where the section is missing.
    pub outputs: Vec<Name>,
    /// Constraints on ranks and extents.
    pub constraints: Vec<Constraint>,
}

/// `LOOP t`: its statements run once for each value of an eintup.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The eintup that each pass fixes.
    pub tuple: Name,
    /// `LOOP -t`: from the greatest value to the least.
    pub descending: bool,
    /// Positions of its statements in [`Program::statements`]; at least one. Ranges of loops nest.
    pub body: Range<usize>,
    /// Condition that ends the loop after a pass.
    pub until: Option<Value>,
    /// Its header, from `LOOP` on.
    pub span: Span,
}

impl Program {
    /// The loops around a statement, outermost first.
    pub fn loops_around(&self, statement: usize) -> impl Iterator<Item = &Loop> {
        self.loops.iter().filter(move |around| around.body.contains(&statement))
    }

    /// A loop and those around it, outermost first.
    pub fn loops_over(&self, at: usize) -> impl Iterator<Item = &Loop> {
        let body = self.loops[at].body.clone();
        let around = self.loops[..=at].iter();
        around.filter(move |l| l.body.start <= body.start && body.end <= l.body.end)
    }

    /// The conditions that are tested after a statement, those of inner loops first, each with the position of its
    /// loop.
    pub fn conditions_after(&self, statement: usize) -> impl Iterator<Item = (usize, &Value)> {
        let ending = self.loops.iter().enumerate().rev();
        let ending = ending.filter(move |(_, l)| l.body.end == statement + 1);
        ending.filter_map(|(at, ending)| Some((at, ending.until.as_ref()?)))
    }
}

/// `left = value`, `left += value` …
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The elements that are assigned.
    pub left: Access,
    /// Kind of assignment.
    pub assign: Assign,
    /// Where the assigning symbol stands.
    pub symbol: Span,
    /// The value at a point.
    pub value: Value,
    /// `INPUT x[b,d]`: the array is bound, and the value is never computed.
    pub declared: Option<Declared>,
    /// All of it.
    pub span: Span,
}

/// Declaration of an array that must be bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The name of its element type, as in `: F32`.
    pub element: Option<Name>,
}

/// Assignment of values to the array on the left.
///
/// | spelling | `op` | `accumulate` |
/// |---|---|---|
/// | `=`, `+=` | `Add` | no, yes |
/// | `=*`, `*=` | `Mul` | no, yes |
/// | `=max`, `max=` … | `Max` … | no, yes |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Assign {
    /// Operation that combines the values that fall on one element.
    pub op: AssignOp,
    /// Former elements of the array take part; otherwise elements start from the identity.
    pub accumulate: bool,
}

/// The operator of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AssignOp {
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// Logical and.
    And,
    /// Logical or.
    Or,
    /// Log-add-exp.
    LogAddExp,
}

/// `array[index, …]`: an element of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The array. On the right of a statement it may turn out to be an eintup: `pos[coord]`.
    pub array: Name,
    /// One index expression for each place of its signature; none for rank 0 (`total[]`).
    pub indices: Vec<Index>,
    /// All of it.
    pub span: Span,
}

/// An index expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// An integer.
    Integer(i64, Span),
    /// An eintup.
    Tuple(Name),
    /// `DIMS(e, …)`: the extents of the index expressions, one after another.
    Dims(Vec<Index>, Span),
    /// `RANK(e, …)`: the sum of their ranks.
    Rank(Vec<Index>, Span),
    /// `FLAT(e, …)`: their components as the digits of one number.
    Flat(Vec<Index>, Span),
    /// `array[…]`: an element, or with a `:` among its indices a tuple of elements.
    Array(Access),
    /// `MAX(i - 1, 0)`: a function, with as many arguments as it has operands.
    Call(IndexFunction, Vec<Index>, Span),
    /// `:`, among the indices of a nested array only.
    Star(Span),
    /// `a + b - c`, `-a`: terms with whether each is negated; two or more, or one with a sign.
    Sum(Vec<(bool, Index)>, Span),
    /// `a * b // c`: applied from left to right.
    Product(Box<Index>, Vec<(IndexOp, Index)>, Span),
}

/// Functions of index expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexFunction {
    /// `ABS(a)`: the magnitude.
    Abs,
    /// `MAX(a, b)`: the greater.
    Max,
    /// `MIN(a, b)`: the lesser.
    Min,
}

impl IndexFunction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Abs, Self::Max, Self::Min];

    /// Spelling of the function.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abs => "ABS",
            Self::Max => "MAX",
            Self::Min => "MIN",
        }
    }

    /// Number of operands.
    pub fn operands(self) -> usize {
        if self == Self::Abs { 1 } else { 2 }
    }
}

/// Operators of a product of index expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexOp {
    /// `*`.
    Mul,
    /// `//`: rounds down.
    FloorDiv,
    /// `//^`: rounds up.
    CeilDiv,
    /// `%`: the remainder of `//`.
    Mod,
}

/// The right side of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number: INT without point and exponent. `INF`, `NAN`, `PI` are such, too.
    Number(Number, Span),
    /// `array[…]`, or a component of an eintup: `pos[coord]`.
    Element(Access),
    /// The value of an eintup of rank 1.
    Tuple(Name),
    /// `DIMS(e, …)[coord]`; without `[coord]` where there is one extent.
    Dims {
        /// Indices of the group.
        of: Vec<Index>,
        /// Position in the group.
        coord: Option<Box<Index>>,
        /// All of it.
        span: Span,
    },
    /// `RANK(e, …)`.
    Rank(Vec<Index>, Span),
    /// `RANDOM(lo, hi, INT|FLOAT)`.
    Random {
        /// Least value.
        lo: Box<Value>,
        /// The values are less.
        hi: Box<Value>,
        /// Conversion by FLOAT, not INT.
        float: bool,
        /// All of it.
        span: Span,
    },
    /// `EXP(x)`, `WHERE(c, x, y)`.
    Call {
        /// Function that is called.
        function: ValueFunction,
        /// Where its name stands.
        name: Span,
        /// The operands.
        args: Vec<Value>,
        /// All of it.
        span: Span,
    },
    /// `SORT(x, i)`, `ARGMAX(x, i)`: something of all values along an eintup.
    Along(Box<Along>),
    /// `a + b - c`, `-a`, `+a`: terms with whether each is negated; two or more, or one with a sign.
    Sum(Vec<(bool, Value)>, Span),
    /// `a * b / c // d`: applied from left to right.
    Product(Box<Value>, Vec<(ValueOp, Value)>, Span),
}

/// A function of all values along an eintup, of which it ranges over all positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Along {
    /// `ARGMAX`, `ARGMIN`, or one of those that [order](crate::Function::orders).
    pub function: crate::Function,
    /// Where its name stands.
    pub name: Span,
    /// The values.
    pub of: Value,
    /// The eintup.
    pub tuple: Name,
    /// The place in the order: `SORT(x, i, k)`. None is the place that the eintup itself has: `SORT(x, i)`.
    pub place: Option<Index>,
    /// All of it.
    pub span: Span,
}

impl Along {
    /// The place in the order as it is meant; none for positions of extremes.
    pub fn place(&self) -> Option<Index> {
        let own = || Index::Tuple(self.tuple.clone());
        self.function.orders().then(|| self.place.clone().unwrap_or_else(own))
    }
}

/// Operators of a product of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueOp {
    /// `*`.
    Mul,
    /// `/`: gives FLOAT.
    Div,
    /// `//`: rounds down.
    FloorDiv,
}

/// Scalar functions of values: those of i by name in capitals (`@tanh` is `TANH`), and
/// `EXP LOG POW MAX MIN` for its operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueFunction(pub crate::Function);

/// A constraint on an eintup's rank or extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Of what.
    pub quantity: Quantity,
    /// Tuple of the element.
    pub tuple: Name,
    /// The constraint.
    pub relation: Relation,
    /// All of it.
    pub span: Span,
}

/// Quantity that a constraint restricts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// `RANK(tup)`.
    Rank,
    /// `DIMS(tup)`.
    Dims,
}

/// The right side of a constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// `IN [lo, hi]`: both belong to it.
    In((i64, Span), (i64, Span)),
    /// `= expr`.
    Equals(Bound),
}

/// The value of a constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// An integer.
    Integer(i64, Span),
    /// `RANK(tup)` or `DIMS(tup)`.
    Of(Quantity, Name, Span),
    /// `min(a, b)`.
    Min(Box<Bound>, Box<Bound>, Span),
    /// `max(a, b)`.
    Max(Box<Bound>, Box<Bound>, Span),
    /// As of [`Index::Sum`].
    Sum(Vec<(bool, Bound)>, Span),
    /// As of [`Index::Product`].
    Product(Box<Bound>, Vec<(IndexOp, Bound)>, Span),
}

/// A call of a Python function.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The dotted path: `tf`, `nn`, `convolution`.
    pub path: Vec<Name>,
    /// Positional arguments, then those with a keyword.
    pub args: Vec<(Option<Name>, CallArg)>,
    /// All of it.
    pub span: Span,
}

/// An argument of a framework call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallArg {
    /// An array of the program.
    Array(Name),
    /// An integer.
    Integer(i64, Span),
    /// `DIMS(e, …)`: a list of integers.
    Dims(Vec<Index>, Span),
    /// `RANK(e, …)`: an integer.
    Rank(Vec<Index>, Span),
    /// `L(…)`: the text between the parentheses, a Python literal.
    Literal(String, Span),
    /// `TENSOR(x)`: an integer tensor of an integer or a (nested) list.
    Tensor(Box<CallArg>, Span),
    /// `[a, b]`.
    List(Vec<CallArg>, Span),
    /// Another call, whose value is the argument.
    Call(Box<Call>),
    /// As of [`Index::Sum`]; of integers, or of lists componentwise (`DIMS(a) - DIMS(b) + 1`).
    Sum(Vec<(bool, CallArg)>, Span),
    /// As of [`Index::Product`], likewise.
    Product(Box<CallArg>, Vec<(IndexOp, CallArg)>, Span),
}

impl Index {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Tuple(name) => name.span,
            Self::Array(access) => access.span,
            Self::Integer(_, span)
            | Self::Dims(_, span)
            | Self::Rank(_, span)
            | Self::Flat(_, span)
            | Self::Call(_, _, span)
            | Self::Star(span)
            | Self::Sum(_, span)
            | Self::Product(_, _, span) => *span,
        }
    }
}

impl Value {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Tuple(name) => name.span,
            Self::Element(access) => access.span,
            Self::Along(along) => along.span,
            Self::Number(_, span)
            | Self::Rank(_, span)
            | Self::Dims { span, .. }
            | Self::Random { span, .. }
            | Self::Call { span, .. }
            | Self::Sum(_, span)
            | Self::Product(_, _, span) => *span,
        }
    }
}

impl Value {
    /// Returns true if that holds for it or for a part of it.
    pub fn any(&self, holds: &dyn Fn(&Value) -> bool) -> bool {
        let parts = |of: &[Value]| of.iter().any(|part| part.any(holds));
        holds(self)
            || match self {
                Self::Number(..) | Self::Element(_) | Self::Tuple(_) => false,
                Self::Dims { .. } | Self::Rank(..) => false,
                Self::Random { lo, hi, .. } => lo.any(holds) || hi.any(holds),
                Self::Call { args, .. } => parts(args),
                Self::Along(along) => along.of.any(holds),
                Self::Sum(terms, _) => terms.iter().any(|(_, term)| term.any(holds)),
                Self::Product(first, rest, _) => {
                    first.any(holds) || rest.iter().any(|(_, factor)| factor.any(holds))
                }
            }
    }
}

impl Bound {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Integer(_, span)
            | Self::Of(_, _, span)
            | Self::Min(_, _, span)
            | Self::Max(_, _, span)
            | Self::Sum(_, span)
            | Self::Product(_, _, span) => *span,
        }
    }
}

impl CallArg {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Array(name) => name.span,
            Self::Call(call) => call.span,
            Self::Integer(_, span)
            | Self::Dims(_, span)
            | Self::Rank(_, span)
            | Self::Literal(_, span)
            | Self::Tensor(_, span)
            | Self::List(_, span)
            | Self::Sum(_, span)
            | Self::Product(_, _, span) => *span,
        }
    }
}
