//! Errors of block tensors, and their messages.

use crate::formula::FormulaError;
use crate::types::{Blocks, block_text};
use crate::{ElementType, Type};
use ijk_cpu::RunError;
use ijk_plan::PlanError;
use ijk_syntax::{Diagnostic, Span};
use ijk_tensor::TensorError;
use ijk_types::ScalarError;
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// Error of building or computing a block tensor.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The operands do not fit the term's rule.
    #[error(transparent)]
    Type(Box<TypeError>),
    /// The text of a function or an aggregation is wrong.
    #[error(transparent)]
    Text(Box<TextError>),
    /// A result that is too large to be collected.
    #[error(
        "the result {of} has {bytes} bytes, but at most {limit} are collected; write it to a store, or raise the limit"
    )]
    Limit {
        /// The result's type.
        of: Box<Type>,
        /// Bytes of its elements.
        bytes: u64,
        /// Most that are collected.
        limit: u64,
    },
    /// A plan that exceeds the memory limit. Nothing was computed or written.
    #[error(
        "at least {least} bytes of memory are needed, but the limit is {limit}: raise the limit, or cut arrays into smaller blocks"
    )]
    Memory {
        /// The least sufficient limit.
        least: u64,
        /// The limit.
        limit: u64,
    },
    /// A result whose sink has another type.
    #[error("the result is {expected}, but it is to be written as {found}")]
    Sink {
        /// The result's type.
        expected: Box<Type>,
        /// The sink's.
        found: Box<Type>,
    },
    /// A block was not read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A block's computation cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A block's computation failed: integer division by zero, no memory left.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A block could not be made or converted.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// An operation on single elements has no value.
    #[error(transparent)]
    Scalar(#[from] ScalarError),
    /// Elements that are lists do not fit each other.
    #[error("{0}")]
    Lists(String),
    /// A closure gave a value of another type than it promised.
    #[error("the closure of `{what}` gave {found}, but it promises {expected}")]
    Closure {
        /// Function or aggregation of the closure, as printed.
        what: String,
        /// The type it gives.
        found: ElementType,
        /// The type it promises.
        expected: ElementType,
    },
    /// Too many blocks for a simulation.
    #[error(
        "there are {blocks} blocks side by side, but plans for at most {most} are simulated; larger blocks are fewer"
    )]
    TooManyBlocks {
        /// Blocks side by side.
        blocks: usize,
        /// Most that are simulated.
        most: usize,
    },
    /// Too many blocks and panels for a run.
    #[error(
        "{blocks} blocks are to be computed, in {panels} steps, but nobody waits for more than {most}; larger blocks are fewer, and blocks that are missing cost nothing where the result's are, too"
    )]
    Endless {
        /// Blocks to compute.
        blocks: usize,
        /// Panels of all of them.
        panels: usize,
        /// Most that are visited.
        most: usize,
    },
    /// A worker ended before its work was done: a bug.
    #[error("a worker ended early: {0}")]
    Worker(String),
    /// Processes do not compute together, or no longer.
    #[error(transparent)]
    Cluster(#[from] crate::cluster::ClusterError),
    /// A closure panicked.
    #[error("the closure of `{what}` panicked: {message}")]
    Panic {
        /// Function or aggregation of the closure, as printed.
        what: String,
        /// Message of the panic.
        message: String,
    },
}

impl From<Box<TypeError>> for Error {
    fn from(error: Box<TypeError>) -> Self {
        Self::Type(error)
    }
}

impl From<TextError> for Error {
    fn from(error: TextError) -> Self {
        Self::Text(Box::new(error))
    }
}

impl Error {
    /// The message, with the place in the program where there is one: `origin` is the name of the program (of a file),
    /// `color` adds ANSI escapes.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, apply};
    /// let u = BigTensor::lit([1.0; 4], [4], [Some(2)])?;
    /// let error = apply("i*i~i", &[&u, &u.reblock([Some(3)])?]).unwrap_err();
    /// let text = error.render("product.ijk", false);
    /// assert!(text.contains("index `i` has blocks of 2 on axis 0 of u but of 3 on axis 0 of v"));
    /// assert!(text.contains("--> product.ijk:1:1"), "{text}");
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn render(&self, origin: &str, color: bool) -> String {
        match self {
            Self::Type(error) => error.render(origin, color),
            Self::Text(error) => error.render(origin, color),
            other => other.to_string(),
        }
    }

    /// The violated rule, if operands do not fit.
    pub fn type_error(&self) -> Option<&TypeError> {
        match self {
            Self::Type(error) => Some(error),
            _ => None,
        }
    }
}

/// A text that is no formula, function or aggregation. Displays with a caret at the place.
#[derive(Clone, Debug, PartialEq)]
pub struct TextError {
    source: String,
    diagnostics: Vec<Diagnostic>,
}

impl TextError {
    pub(crate) fn new(source: &str, diagnostic: Diagnostic) -> Self {
        Self::all(source, vec![diagnostic])
    }

    pub(crate) fn all(source: &str, diagnostics: Vec<Diagnostic>) -> Self {
        Self { source: source.into(), diagnostics }
    }

    /// The message: `origin` is the name of the text, `color` adds ANSI escapes.
    pub fn render(&self, origin: &str, color: bool) -> String {
        ijk_syntax::render(&self.source, origin, &self.diagnostics, color)
    }

    /// Diagnostics of the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render("text", false).trim_end())
    }
}

impl std::error::Error for TextError {}

/// A block that was not read or written.
#[derive(Debug, Error)]
#[error("{place}: {cause}")]
pub struct StoreError {
    /// The store and the block or file of it.
    pub place: String,
    /// Why.
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Operands that do not fit the rule of a term.
#[derive(Clone, Debug, PartialEq, Error)]
pub struct TypeError {
    /// The term: `contract(u, v, 1, 0)`.
    pub rule: String,
    /// The operands' names in the rule, and their types.
    pub operands: Vec<(Cow<'static, str>, Type)>,
    /// Violated rule.
    pub problem: Problem,
    /// Remedy, if there is one.
    pub hint: Option<String>,
    /// The statement of a program, if there is one.
    pub site: Option<Box<Site>>,
}

/// A statement of a program, and the places where it reads its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The program.
    pub source: String,
    /// The statement.
    pub span: Span,
    /// For each operand the place of its first read; none for operands that are no array of the program.
    pub reads: Vec<Option<Span>>,
}

/// Violated rule of a [`TypeError`]. Axes count from 0.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Problem {
    /// As many blocks as dimensions, and so on: two lists of different lengths.
    Lengths { what: (&'static str, &'static str), lengths: (usize, usize) },
    /// A block of 0 elements.
    EmptyBlock { axis: usize },
    /// Dimensions whose product is not the number of elements.
    Count { expected: Option<usize>, found: usize },
    /// An element of another type than the first.
    Element { at: usize, expected: ElementType, found: ElementType },
    /// No element, from which to infer the type.
    NoElement,
    /// Different numbers of axes.
    Ranks { ranks: (usize, usize) },
    /// Different extents of an axis of `u` and one of `v`.
    Extents { axes: (usize, usize), extents: (usize, usize) },
    /// Blocks that are not compatible.
    Blocks { axes: (usize, usize), blocks: (Option<usize>, Option<usize>) },
    /// Blocks of an axis of `u` and of the result that are not compatible.
    BroadcastBlocks { axes: (usize, usize), blocks: (Option<usize>, Option<usize>) },
    /// Element types that differ.
    Elements { elements: (ElementType, ElementType) },
    /// Blocks of an index that are not compatible: operand, axis and block of two of its places.
    Index { index: String, places: [(Cow<'static, str>, usize, Option<usize>); 2] },
    /// Element types of two operands that differ.
    Types { operands: (Cow<'static, str>, Cow<'static, str>), types: (String, String) },
    /// Construct that cannot run in blocks, and the reason.
    NotInBlocks(String),
    /// An extent that is no whole multiple of the operand's.
    Multiple { axis: usize, of: usize, found: usize },
    /// An axis that the operand does not have.
    Axis { operand: &'static str, axis: usize, rank: usize },
    /// A position beyond an axis.
    Position { axis: usize, position: usize, extent: usize },
    /// Positions that do not ascend.
    Order { axis: usize, positions: (usize, usize) },
    /// A formula has no type for these elements.
    Formula(FormulaError),
    /// An aggregation or function that does not take the elements.
    Takes { what: String, expected: String, found: String },
    /// A fold that needs the whole fibre on an axis that is cut.
    Fibre { what: String, operand: Cow<'static, str>, axis: usize, block: usize },
    /// A fold of nothing that has no value.
    EmptyFibre { what: String, axes: (usize, usize) },
}

impl TypeError {
    /// A violated rule, with the operands' names in the rule.
    pub fn new(
        rule: impl Into<String>,
        operands: Vec<(&'static str, Type)>,
        problem: Problem,
    ) -> Box<Self> {
        let operands = operands.into_iter().map(|(name, ty)| (name.into(), ty)).collect();
        Self::named(rule, operands, problem)
    }

    /// The same with names that are built at run time.
    pub(crate) fn named(
        rule: impl Into<String>,
        operands: Vec<(Cow<'static, str>, Type)>,
        problem: Problem,
    ) -> Box<Self> {
        Box::new(Self { rule: rule.into(), operands, problem, hint: None, site: None })
    }

    /// The message, with the statement of the program where there is one: `origin` is the name of the program, `color`
    /// adds ANSI escapes.
    pub fn render(&self, origin: &str, color: bool) -> String {
        let Some(site) = &self.site else { return self.to_string() };
        let mut diagnostic = Diagnostic::error(site.span, self.problem.to_string());
        for ((name, of), read) in self.operands.iter().zip(&site.reads) {
            if let Some(read) = read {
                diagnostic = diagnostic.with_related(*read, format!("{name}: {of}"));
            }
        }
        if let Some(hint) = &self.hint {
            diagnostic = diagnostic.with_hint(hint);
        }
        ijk_syntax::render(&site.source, origin, &[diagnostic], color)
    }

    /// The same in a statement of a program.
    #[must_use]
    pub fn at(mut self: Box<Self>, site: Site) -> Box<Self> {
        self.site = Some(Box::new(site));
        self
    }

    #[must_use]
    pub(crate) fn with_hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.problem)?;
        for (name, of) in &self.operands {
            write!(f, "\n  {name}: {of}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths { what: (left, right), lengths: (l, r) } => {
                write!(f, "{l} {left}, but {r} {right}")
            }
            Self::EmptyBlock { axis } => {
                write!(f, "a block of axis {axis} has 0 elements; blocks are at least 1, or ⊥")
            }
            Self::Count { expected, found } => f.write_str(&count_text(*expected, *found)),
            Self::Element { at, expected, found } => {
                write!(f, "element {at} is of {found}, but those before it of {expected}")
            }
            Self::NoElement => f.write_str("there is no element to tell the type"),
            Self::Ranks { ranks: (l, r) } => write!(f, "u has {l} axes but v has {r}"),
            Self::Extents { axes: (i, j), extents: (l, r) } => {
                write!(f, "axis {i} of u has {l} elements but axis {j} of v has {r}")
            }
            Self::Blocks { axes, blocks } => f.write_str(&blocks_text(*axes, "v", *blocks)),
            Self::BroadcastBlocks { axes, blocks } => {
                f.write_str(&blocks_text(*axes, "the result", *blocks))
            }
            Self::Elements { elements: (l, r) } => {
                write!(f, "u has elements of {l} but v of {r}")
            }
            Self::Index { index, places: [(u, i, l), (v, j, r)] } => {
                let (l, r) = (block_text(*l), block_text(*r));
                write!(
                    f,
                    "index `{index}` has blocks of {l} on axis {i} of {u} but of {r} on axis {j} of {v}"
                )
            }
            Self::Types { operands: (u, v), types: (l, r) } => {
                write!(f, "{u} has elements of {l} but {v} of {r}")
            }
            Self::NotInBlocks(why) => write!(f, "this cannot run in blocks: {why}"),
            Self::Multiple { axis: n, of, found } => {
                write!(f, "axis {n} of the result has {found} elements, no whole multiple of {of}")
            }
            Self::Axis { operand, axis, rank } => f.write_str(&axis_text(operand, *axis, *rank)),
            Self::Position { axis, position: n, extent } => {
                write!(f, "there is no position {n} on axis {axis}, which has {extent} elements")
            }
            Self::Order { axis, positions: (first, second) } => {
                write!(f, "positions of axis {axis} do not ascend: {second} comes after {first}")
            }
            Self::Formula(error) => error.fmt(f),
            Self::Takes { what, expected, found } => {
                write!(f, "{what} takes {expected}, but the elements are of {found}")
            }
            Self::EmptyFibre { what, axes: (i, j) } => {
                write!(f, "{what} of nothing: axis {i} of u and axis {j} of v have no elements")
            }
            Self::Fibre { what, operand, axis, block } => write!(
                f,
                "{what} needs all values at once, but axis {axis} of {operand} has blocks of {block}"
            ),
        }
    }
}

/// Hint for blocks that do not fit: the reblocking that makes them fit.
pub(crate) fn reblock_hint(operand: &str, blocks: &[Option<usize>]) -> String {
    format!("reblock({operand}, {}) has blocks that fit", Blocks(blocks))
}

/// Message about blocks of an axis of `u` and of another operand or the result that are not compatible.
fn blocks_text(
    (i, j): (usize, usize),
    other: &str,
    (l, r): (Option<usize>, Option<usize>),
) -> String {
    let (l, r) = (block_text(l), block_text(r));
    format!("axis {i} of u has blocks of {l} but axis {j} of {other} has blocks of {r}")
}

/// Message about a number of elements; `expected` is `None` if the product of the extents overflows.
fn count_text(expected: Option<usize>, found: usize) -> String {
    match expected {
        Some(expected) => {
            format!("the dimensions have {expected} elements, but {found} are given")
        }
        None => format!("the dimensions have more elements than can be, but {found} are given"),
    }
}

/// Message about an axis that an operand does not have.
fn axis_text(operand: &str, axis: usize, rank: usize) -> String {
    match rank.checked_sub(1) {
        None => format!("there is no axis {axis} of {operand}, which has none"),
        Some(last) => {
            format!("there is no axis {axis} of {operand}, whose axes are 0 to {last}")
        }
    }
}
