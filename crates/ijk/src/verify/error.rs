//! Why a verification can not go on.

use super::Refused;
use thiserror::Error;

/// Why the framework gives no results to compare with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChildError {
    /// The interpreter does not start.
    #[error("cannot start `{python}`: {why}")]
    Start {
        /// Its path, as it was given.
        python: String,
        /// What the system says.
        why: String,
    },
    /// A package is not installed.
    #[error("`{python}` has no package `{package}` ({why})")]
    Missing {
        /// The interpreter.
        python: String,
        /// Which package.
        package: String,
        /// What Python says.
        why: String,
    },
    /// The interpreter ended, or was ended.
    #[error("the Python process ended: {status}{}", said(.stderr))]
    Died {
        /// How.
        status: String,
        /// The last it said.
        stderr: String,
    },
    /// No answer within the time allowed.
    #[error("the Python process gave no answer in {seconds} s and was ended{}", said(.stderr))]
    Silent {
        /// The time allowed.
        seconds: u64,
        /// The last it said.
        stderr: String,
    },
    /// An answer that is none.
    #[error("the Python process gave an answer that makes no sense: {what}{}", said(.stderr))]
    Nonsense {
        /// In what way.
        what: String,
        /// The last it said.
        stderr: String,
    },
    /// A module that raises something else than that a package is missing.
    #[error("importing for the call fails: {0}")]
    Import(String),
}

fn said(stderr: &str) -> String {
    match stderr.trim_end() {
        "" => String::new(),
        text => format!("\n{text}"),
    }
}

/// Why a verification can not go on.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The framework gives no results to compare with.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// The program names a function that is not to be called.
    #[error("`{}` is not called: {}", .0.path, .0.why)]
    Refused(Box<Refused>),
}

impl From<Refused> for VerifyError {
    fn from(refused: Refused) -> Self {
        Self::Refused(Box::new(refused))
    }
}
