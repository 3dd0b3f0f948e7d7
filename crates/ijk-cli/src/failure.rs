//! Failures of commands, with their exit codes.

use ijk::file::{FileError, Problem};
use ijk::{RunError, TensorError, blocks, visible};
use std::io;

/// A message for the user, and the exit code by its cause.
#[derive(Debug)]
pub enum Failure {
    /// Error of the program or the data: exit code 1.
    Wrong(String),
    /// Failure of the machine: exit code 2.
    Environment(String),
    /// The reader of the output closed it: no message, no error.
    BrokenPipe,
}

impl Failure {
    /// Error of the program or the data. Names in the message may come from anywhere: they are escaped.
    pub fn wrong(message: impl Into<String>) -> Self {
        Self::Wrong(visible(&message.into()).into_owned())
    }

    /// Failure of the machine; escaped likewise.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::Environment(visible(&message.into()).into_owned())
    }

    /// The same, with the library's remedy replaced by that of the command line.
    pub fn offering(self, offer: &str, spelt: &str) -> Self {
        match self {
            Self::Wrong(message) => Self::Wrong(message.replace(offer, spelt)),
            other => other,
        }
    }

    /// The message.
    pub fn text(&self) -> String {
        match self {
            Self::Wrong(message) | Self::Environment(message) => message.clone(),
            Self::BrokenPipe => String::new(),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let message = error.to_string();
        match &error.problem {
            Problem::Io { source, .. } if is_environment(source.kind()) => {
                Self::environment(message)
            }
            Problem::Tensor(TensorError::OutOfMemory { .. }) => Self::environment(message),
            _ => Self::wrong(message),
        }
    }
}

impl From<TensorError> for Failure {
    fn from(error: TensorError) -> Self {
        match error {
            TensorError::OutOfMemory { .. } => Self::environment(error.to_string()),
            _ => Self::wrong(error.to_string()),
        }
    }
}

/// Returns true if an error is a failure of the machine, not a wrong path.
fn is_environment(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | OutOfMemory | ReadOnlyFilesystem)
}

/// Classifies an error of block tensors by its exit code.
pub fn of_blocks(error: blocks::Error) -> Failure {
    if let blocks::Error::Cluster(error) = error {
        return error.into();
    }
    if let blocks::Error::Memory { .. } = &error {
        return Failure::Environment(
            error.to_string().replace("raise the limit", "raise --memory"),
        );
    }
    let message = error.to_string();
    let is_environment = match &error {
        blocks::Error::Run(RunError::OutOfMemory(_) | RunError::Level(_)) => true,
        blocks::Error::Store(error) => is_of_machine(&*error.cause),
        _ => false,
    };
    match is_environment {
        true => Failure::environment(message),
        false => Failure::wrong(message),
    }
}

/// Returns true if an error is, or comes from, a failure of the machine.
fn is_of_machine(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return is_environment(error.kind());
        }
        next = error.source();
    }
    false
}
