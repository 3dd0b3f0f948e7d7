//! Errors that end a verification.

use super::Refused;
use thiserror::Error;

/// A failure of the Python process.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChildError {
    /// The interpreter does not start.
    #[error("cannot start `{python}`: {why}")]
    Start {
        /// Its path, as it was given.
        python: String,
        /// Message of the system.
        why: String,
    },
    /// A package is not installed.
    #[error("`{python}` has no package `{package}` ({why})")]
    Missing {
        /// The interpreter.
        python: String,
        /// Name of the package.
        package: String,
        /// Message of Python.
        why: String,
    },
    /// The interpreter ended, or was ended.
    #[error("the Python process ended: {status}{}", said(.stderr))]
    Died {
        /// Exit status.
        status: String,
        /// End of its standard error output.
        stderr: String,
    },
    /// No answer within the time allowed.
    #[error("the Python process gave no answer in {seconds} s and was ended{}", said(.stderr))]
    Silent {
        /// The time allowed.
        seconds: u64,
        /// End of its standard error output.
        stderr: String,
    },
    /// An answer that violates the protocol.
    #[error("the Python process gave an answer that makes no sense: {what}{}", said(.stderr))]
    Nonsense {
        /// Violation.
        what: String,
        /// End of its standard error output.
        stderr: String,
    },
    /// An import that fails for another reason than a missing package.
    #[error("importing for the call fails: {0}")]
    Import(String),
}

fn said(stderr: &str) -> String {
    match stderr.trim_end() {
        "" => String::new(),
        text => format!("\n{text}"),
    }
}

/// An error that ends a verification.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The Python process failed.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// The program names a function that is not allowed.
    #[error("`{}` is not called: {}", .0.path, .0.why)]
    Refused(Box<Refused>),
}

impl From<Refused> for VerifyError {
    fn from(refused: Refused) -> Self {
        Self::Refused(Box::new(refused))
    }
}
