//! Errors of programs and of their application.

use ijk_cpu::RunError;
use ijk_plan::PlanError;
use ijk_plan::order::OrderError;
use ijk_syntax::{Diagnostic, Severity};
use ijk_tensor::TensorError;
use ijk_types::DType;
use std::fmt;
use thiserror::Error;

/// An error in a program, or in its application.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is wrong, or does not fit its arguments: their number, types, ranks or extents.
    #[error(transparent)]
    Program(Box<Report>),
    /// The arrays of a program in Einsum Tuple would not fit in the memory that it may take; nothing
    /// was allocated.
    #[error(transparent)]
    Memory(Box<Report>),
    /// The results or temporaries are too large.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A computation failed: integer division by zero, no memory left.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An array could not be made or converted.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// An einsum's operands cannot be multiplied along the path that was given.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A name that nothing can be bound to, in an Einsum Tuple program.
    #[error("`{name}` {reason}; {}", can_be_bound(.bindable))]
    Binding {
        /// The name.
        name: String,
        /// Reason: `is not an array of the program`.
        reason: &'static str,
        /// The names of arrays that can be bound.
        bindable: Vec<String>,
    },
    /// Another number of outputs than the program has results.
    #[error("the program has {expected} results, but {found} outputs are given")]
    OutputCount {
        /// Results of the program.
        expected: usize,
        /// Outputs given.
        found: usize,
    },
    /// A plain number as an argument that is no value of the element type of the others.
    #[error(
        "argument {position} is the number {value}, but the element type of the others is {dtype}: \
         pass a value of that type, or cast them"
    )]
    Number {
        /// Number of the argument, from 1.
        position: usize,
        /// The number.
        value: String,
        /// The element type that it would take.
        dtype: DType,
    },
    /// An output of another type or shape than the result.
    #[error(
        "output {position} is {found_dtype} of shape {found:?}, \
         but the result is {expected_dtype} of shape {expected:?}"
    )]
    Output {
        /// Number of the output, from 1.
        position: usize,
        /// The result's element type.
        expected_dtype: DType,
        /// The result's shape.
        expected: Vec<usize>,
        /// The output's element type.
        found_dtype: DType,
        /// The output's shape.
        found: Vec<usize>,
    },
    /// A name or an index of no operation of the program.
    #[error(transparent)]
    Operation(Box<Operation>),
    /// An argument or result that the program does not have.
    #[error("there is no {side} {position}: the program has {count}, counted from 0")]
    Position {
        /// `argument` or `result`.
        side: &'static str,
        /// Number that was given.
        position: usize,
        /// Number of arguments or results.
        count: usize,
    },
}

/// An operation that a program does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Spelling in the query.
    pub(crate) text: String,
    pub(crate) error: OperationError,
    /// Names of all operations.
    pub(crate) names: Vec<String>,
}

/// Reason why a spelling names no operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OperationError {
    Unknown,
    /// It is a suffix of all of these.
    Ambiguous(Vec<String>),
    Spelling,
    NoPoint,
    /// The index is outside of this shape.
    Outside(Vec<u64>),
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, error, names } = self;
        let some = |names: &[String]| {
            let shown: Vec<String> =
                names.iter().take(20).map(|name| format!("`{name}`")).collect();
            let more = if names.len() > shown.len() { ", …" } else { "" };
            format!("{}{more}", shown.join(", "))
        };
        match error {
            OperationError::Unknown => {
                write!(f, "there is no operation `{text}`; the program's are {}", some(names))
            }
            OperationError::Ambiguous(found) => {
                write!(f, "`{text}` is ambiguous: name one of {}", some(found))
            }
            OperationError::Spelling => {
                write!(
                    f,
                    "`{text}`: an operation is written mm.m[2,3,1], by its name and its indices"
                )
            }
            OperationError::NoPoint => {
                write!(
                    f,
                    "`{text}` names all elements of an operation: add an index, such as {text}[0,1]"
                )
            }
            OperationError::Outside(shape) => {
                let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                write!(
                    f,
                    "`{text}` is outside of the result, which has the shape ({})",
                    shape.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for Operation {}

/// Diagnostics with their program. Displays each with its source line and a caret.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    source: String,
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub(crate) fn new(source: impl Into<String>, diagnostics: Vec<Diagnostic>) -> Self {
        Self { source: source.into(), diagnostics }
    }

    /// The program.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The diagnostics.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// True if all diagnostics are about element types.
    pub fn is_about_types(&self) -> bool {
        let mut codes = self.diagnostics.iter().map(|diagnostic| diagnostic.code);
        codes.all(|code| code.is_some_and(|code| code.name().contains("type")))
    }

    /// The report as text; `origin` is the name of the program (of its file), `color` adds ANSI escapes.
    pub fn render(&self, origin: &str, color: bool) -> String {
        ijk_syntax::render(&self.source, origin, &self.diagnostics, color)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render("program", false).trim_end())
    }
}

impl std::error::Error for Report {}

impl Error {
    pub(crate) fn program(source: impl Into<String>, diagnostics: Vec<Diagnostic>) -> Self {
        Self::Program(Box::new(Report::new(source, diagnostics)))
    }

    /// The diagnostics of a program that is wrong or needs too much memory; empty for other errors.
    ///
    /// ```
    /// let error = ijk::i("ij~i").unwrap_err();
    /// let diagnostics = error.diagnostics();
    /// assert_eq!(diagnostics.len(), 1);
    /// assert!(diagnostics[0].message.contains("`j`"));
    /// ```
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Program(report) | Self::Memory(report) => report.diagnostics(),
            _ => &[],
        }
    }
}

/// The end of a message: the names that can be bound.
fn can_be_bound(names: &[String]) -> String {
    match names {
        [] => "no array of the program can be bound".into(),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("arrays that can be bound: {}", names.join(", "))
        }
    }
}

/// True if any of them is an error.
pub(crate) fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}
