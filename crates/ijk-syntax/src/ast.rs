//! Surface trees of the language i.
//!
//! Component expressions live in one arena in post-order (operands before the expressions that use
//! them), so a pass over a program is a loop and no program is nested too deep for it.

use crate::{Function, Span};

/// Index of a [`Node`] in its [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A whole program: bindings and bare expressions in source order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Component expressions, operands before users.
    pub nodes: Vec<Node>,
    /// The items.
    pub items: Vec<Item>,
}

impl Program {
    /// The node of an id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The item that is the program's value: its bare expression; with none, its last binding.
    pub fn value(&self) -> Option<&Item> {
        self.items.iter().find(|item| item.name.is_none()).or(self.items.last())
    }
}

/// `name: expression` or a bare expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The binding's name.
    pub name: Option<Name>,
    /// Its expression.
    pub value: NodeId,
    /// All of it.
    pub span: Span,
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The text.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A component expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Kind of the node.
    pub kind: NodeKind,
    /// Where; for a group, without its parentheses.
    pub span: Span,
}

/// The forms of a component expression.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// An index expression.
    Index(Box<IndexExpr>),
    /// The name of a binding.
    Name(String),
    /// `I`.
    Identity,
    /// `~f`.
    Swap(NodeId),
    /// Two components and the combinator between them, as written (compose is not turned round).
    Combine {
        /// Combinator applied to the operands.
        combinator: Combinator,
        /// Left operand.
        left: NodeId,
        /// Right operand.
        right: NodeId,
        /// Where the combinator's symbol stands.
        symbol: Span,
    },
    /// `@repeat{10} f`, `@fold f`, `@scan(f, 1)`: a component run once for each pass.
    Loop(Box<LoopHead>, NodeId),
    /// A part that did not parse; there is a diagnostic.
    Error,
}

/// The part of a loop before its component, and the number behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopHead {
    /// The combinator.
    pub form: LoopForm,
    /// Number of passes in braces.
    pub passes: Option<Extent>,
    /// Number of inputs after the states of which each pass takes a row, behind a comma.
    pub rows: Option<(u64, Span)>,
    /// Its `@` and name.
    pub symbol: Span,
}

/// Combinators that run a component once for each pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopForm {
    /// `@repeat{n} f`: the state after n passes.
    Repeat,
    /// `@fold f`: the state after the last row.
    Fold,
    /// `@scan f`: the states after each row.
    Scan,
    /// `@foldback f`: the state after the first row, the last one being taken first.
    FoldBack,
    /// `@scanback f`: the states after each row, the last one being taken first.
    ScanBack,
    /// `@until{n} f`: the state after the first pass whose last output is true, at most after n passes.
    Until,
}

impl LoopForm {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Repeat, Self::Fold, Self::Scan, Self::FoldBack, Self::ScanBack, Self::Until];

    /// Its name, without `@`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Fold => "fold",
            Self::Scan => "scan",
            Self::FoldBack => "foldback",
            Self::ScanBack => "scanback",
            Self::Until => "until",
        }
    }

    /// Returns true if passes take rows of inputs after the states.
    pub const fn sweeps(self) -> bool {
        !matches!(self, Self::Repeat | Self::Until)
    }

    /// Returns true if the results are the states after every pass.
    pub const fn keeps_all(self) -> bool {
        matches!(self, Self::Scan | Self::ScanBack)
    }

    /// Returns true if the last row comes first.
    pub const fn is_descending(self) -> bool {
        matches!(self, Self::FoldBack | Self::ScanBack)
    }

    /// Returns true if the last output of the component is a condition, not a state.
    pub const fn has_condition(self) -> bool {
        matches!(self, Self::Until)
    }

    /// The combinator of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// Combinators of two components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combinator {
    /// `f . g`, `f >> g`.
    Chain,
    /// `f << g`.
    Compose,
    /// `f & g`.
    Fanout,
    /// `f | g`.
    Pair,
}

/// An index expression.
///
/// | source | `outer` | `body` |
/// |---|---|---|
/// | `ij~ji` | none | operand `ij` |
/// | `+ij~i`, `@tanh ij~ij`, `@argmax ij~i` | `+`, `@tanh`, `@argmax` | operand `ij` |
/// | `ik*kj~ijk`, `i @lt j~ij`, `@where(i,j,k)~ijk` | none | `*(ik, kj)` … |
/// | `+(ik*kj)~ij`, `>(@abs(i))~.` | `+`, `>` | `*(ik, kj)`, `@abs(i)` |
/// | `(i*j*k)~ijk`, `(-i)~i` | none, `-` | `*(*(i, j), k)`, operand `i` |
#[derive(Clone, Debug, PartialEq)]
pub struct IndexExpr {
    /// The function before the operand or the parentheses.
    pub outer: Option<(Function, Span)>,
    /// Expression that the index expression reduces or applies.
    pub body: Body,
    /// The output's compound index.
    pub output: Compound,
    /// All of it.
    pub span: Span,
}

/// Body of an index expression, a scalar expression: the part between its outer function and its `~`. The parser bounds
/// how many functions it has, so walks of it may be recursive.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// One operand.
    Operand(Operand),
    /// A function of scalar expressions: infix, prefix, or called.
    Apply {
        /// Function applied to the operands.
        function: Function,
        /// Where its symbol or name stands.
        symbol: Span,
        /// One to three operands.
        operands: Vec<Body>,
    },
}

impl Body {
    /// The indices and numbers in source order.
    pub fn operands(&self) -> Vec<&Operand> {
        let mut all = Vec::new();
        self.collect_operands(&mut all);
        all
    }

    fn collect_operands<'a>(&'a self, all: &mut Vec<&'a Operand>) {
        match self {
            Self::Operand(operand) => all.push(operand),
            Self::Apply { operands, .. } => {
                operands.iter().for_each(|operand| operand.collect_operands(all));
            }
        }
    }

    /// Visits every function with its operands, outer ones first.
    pub fn for_each_function<'a>(&'a self, visit: &mut impl FnMut(Function, Span, &'a [Body])) {
        if let Self::Apply { function, symbol, operands } = self {
            visit(*function, *symbol, operands);
            operands.iter().for_each(|operand| operand.for_each_function(visit));
        }
    }

    /// Where it stands, without parentheses around it.
    pub fn span(&self) -> Span {
        match self {
            Self::Operand(operand) => operand.span(),
            Self::Apply { symbol, operands, .. } => {
                let spans = operands.iter().map(Self::span);
                spans.fold(*symbol, |all, span| {
                    Span::new(all.start.min(span.start), all.end.max(span.end))
                })
            }
        }
    }
}

/// An operand of an index expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A compound index: the next argument of the component.
    Index(Compound),
    /// A number; it is no argument.
    Number(Number, Span),
    /// `{j}`: the extent of a letter, a number.
    Extent(char, Span),
}

impl Operand {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Index(compound) => compound.span,
            Self::Number(_, span) | Self::Extent(_, span) => *span,
        }
    }
}

/// A numeric literal or constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Digits without point and exponent, with its sign.
    Integer(i64),
    /// With point or exponent; `@inf @nan @pi @e`.
    Float(f64),
}

/// A compound index: one position for each axis of an array; none (`.`) for rank 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Compound {
    /// The positions.
    pub positions: Vec<Position>,
    /// All of it.
    pub span: Span,
}

/// One position of a compound index.
#[derive(Clone, Debug, PartialEq)]
pub enum Position {
    /// A letter.
    Letter(Letter),
    /// An expression in brackets.
    Bracket(Arith, Span),
}

impl Position {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Letter(letter) => letter.span,
            Self::Bracket(_, span) => *span,
        }
    }
}

/// One occurrence of a letter, with the braces that may follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Letter {
    /// The letter.
    pub name: char,
    /// Its extent in braces.
    pub extent: Option<Extent>,
    /// Where, braces included.
    pub span: Span,
}

/// An extent in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// `{10}`.
    Number(u64, Span),
    /// `{n}`.
    Name(Name),
}

/// Index arithmetic in brackets. Sums and products are flat, so only parentheses nest, and the parser bounds them. It
/// need not be affine: lowering checks where it must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Arith {
    /// An integer.
    Integer(i64, Span),
    /// A letter.
    Letter(Letter),
    /// `a + b - c`, also `-a`: terms with whether each is negated; two or more, or one negated.
    Sum(Vec<(bool, Arith)>, Span),
    /// `a * b / c % d`, applied from left to right.
    Product(Box<Arith>, Vec<(ArithOp, Arith)>, Span),
}

/// Operators of a product in index arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithOp {
    /// `*`.
    Mul,
    /// `/`: floors.
    Div,
    /// `%`: the remainder of floored division.
    Mod,
}
