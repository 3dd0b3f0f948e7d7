//! Programs, from files or from the command line.

use crate::failure::Failure;
use crate::output::{self, colors};
use ijk::{Error, PlanError, Program, RunError};
use std::fs;
use std::io;
use std::path::Path;

/// A program's text.
#[derive(Debug)]
pub struct Source {
    /// The text.
    text: String,
    /// Name of the source in messages.
    origin: String,
}

impl Source {
    /// The program of a file.
    ///
    /// # Errors
    /// If it cannot be read as text.
    pub fn file(path: &Path) -> Result<Self, Failure> {
        let origin = path.display().to_string();
        let wrong = |why: &str| Failure::wrong(format!("{origin}: {why}"));
        if path.is_dir() {
            return Err(wrong("is a directory, not a file"));
        }
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => wrong("no such file"),
            io::ErrorKind::InvalidData => wrong("is not text in UTF-8"),
            _ => wrong(&error.to_string()),
        })?;
        // Some editors write a byte-order mark before the text.
        let text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned);
        Ok(Self { text, origin })
    }

    /// An expression of the command line.
    pub fn expression(text: &str) -> Self {
        Self { text: text.into(), origin: "expression".into() }
    }

    /// The subscripts of an einsum.
    pub fn subscripts(text: &str) -> Self {
        Self { text: text.into(), origin: "subscripts".into() }
    }

    /// A file's program if the text ends in `.ijk` or names a file (or is the path of a folder, which
    /// is refused), else an expression.
    ///
    /// # Errors
    /// As for [`Source::file`].
    pub fn either(text: &str) -> Result<Self, Failure> {
        let path = Path::new(text);
        let folder = text.contains('/') && path.is_dir();
        if path.extension().is_some_and(|e| e == "ijk") || path.is_file() || folder {
            return Self::file(path);
        }
        Ok(Self::expression(text))
    }

    /// The checked program. Prints its warnings.
    ///
    /// # Errors
    /// If it is wrong.
    pub fn compile(&self) -> Result<Program, Failure> {
        let program = ijk::i(&self.text).map_err(|error| self.failure(error))?;
        self.warn(program.warnings());
        Ok(program)
    }

    /// The checked program in Einsum Tuple. Prints its warnings.
    ///
    /// # Errors
    /// If it is wrong.
    pub fn compile_et(&self) -> Result<ijk::et::Program, Failure> {
        let program = ijk::et(&self.text).map_err(|error| self.failure(error))?;
        self.warn(program.warnings());
        Ok(program)
    }

    /// Prints warnings.
    pub fn warn(&self, warnings: &[ijk::Diagnostic]) {
        if !warnings.is_empty() {
            output::message(&ijk::render(&self.text, &self.origin, warnings, colors()));
        }
    }

    /// A diagnostic of this program as text, with the source line.
    pub fn quote(&self, diagnostic: ijk::Diagnostic) -> String {
        ijk::render(&self.text, &self.origin, &[diagnostic], colors())
    }

    /// Report of an error in applying this program to block tensors.
    pub fn blocks_failure(&self, error: ijk::blocks::Error) -> Failure {
        match error {
            ijk::blocks::Error::Type(_) | ijk::blocks::Error::Text(_) => {
                Failure::Wrong(error.render(&self.origin, colors()))
            }
            other => crate::failure::of_blocks(other),
        }
    }

    /// Name of the source in messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Report of an error in this program or its application.
    pub fn failure(&self, error: Error) -> Failure {
        match error {
            Error::Program(report) => Failure::Wrong(report.render(&self.origin, colors())),
            Error::Memory(report) => Failure::Environment(report.render(&self.origin, colors())),
            Error::Tensor(error) => error.into(),
            Error::Run(RunError::OutOfMemory(_)) | Error::Plan(PlanError::MemoryLimit { .. }) => {
                Failure::environment(error.to_string())
            }
            other => Failure::wrong(other.to_string()),
        }
    }
}
