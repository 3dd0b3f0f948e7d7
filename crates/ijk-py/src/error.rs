//! Errors as exceptions, with the messages of the Rust library; control characters are escaped.

use ijk::{PlanError, RunError, TensorError, blocks, visible};
use pyo3::create_exception;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyTypeError, PyValueError, PyZeroDivisionError,
};
use pyo3::prelude::*;

create_exception!(ijk, Error, PyValueError, "A program is wrong, or does not fit its arrays.");
create_exception!(ijk, DTypeError, PyTypeError, "Element types do not fit.");
create_exception!(
    ijk,
    MemoryLimitError,
    Error,
    "More memory would be needed than the engine's limit allows; nothing was allocated."
);
create_exception!(ijk, StoreError, Error, "A block was not read or written.");

/// The exception for an error of block tensors.
pub fn raise_blocks(error: blocks::Error) -> PyErr {
    use blocks::Problem::{Element, Elements, Formula, Takes, Types};
    let text = visible(error.render("program", false).trim_end()).into_owned();
    match error {
        blocks::Error::Type(of) => match of.problem {
            Element { .. } | Elements { .. } | Formula(_) | Takes { .. } | Types { .. } => {
                DTypeError::new_err(text)
            }
            _ => Error::new_err(text),
        },
        blocks::Error::Limit { .. } => MemoryLimitError::new_err(text),
        blocks::Error::Memory { .. } => {
            MemoryLimitError::new_err(text.replace("raise the limit", "raise memory_limit"))
        }
        blocks::Error::Store(_) => StoreError::new_err(offering(text)),
        blocks::Error::Plan(error) => raise(error.into()),
        blocks::Error::Run(error) => raise(error.into()),
        blocks::Error::Tensor(TensorError::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        _ => Error::new_err(text),
    }
}

/// Replaces spellings of Rust by those of Python in messages.
fn offering(text: String) -> String {
    text.replace("start afresh", "pass overwrite=True")
        .replace("open it as partial", "pass partial=True to BigTensor.open")
}

/// Replaces options of the command, such as `--dims t=3`, by keywords of Python: `dims={'t': 3}`.
fn with_keywords(text: String) -> String {
    ["dims", "rank"].into_iter().fold(text, |text, option| {
        let keyword = if option == "rank" { "ranks" } else { option };
        let flag = format!("--{option}");
        let mut parts = text.split(flag.as_str());
        let mut all = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let given = part.strip_prefix(' ').and_then(|rest| {
                let (name, values) =
                    rest.split_once('=').filter(|(name, _)| name.chars().all(word))?;
                let end = values.find(|c: char| !(c.is_ascii_digit() || c == ',' || c == '…'));
                Some((name, values.split_at(end.unwrap_or(values.len()))))
            });
            all += &match given {
                Some((name, (values, rest))) if values.contains(',') => {
                    format!("{keyword}={{'{name}': [{}]}}{rest}", values.replace(',', ", "))
                }
                Some((name, (values, rest))) => format!("{keyword}={{'{name}': {values}}}{rest}"),
                None => format!("{keyword}{part}"),
            };
        }
        all
    })
}

/// The exception for an error.
pub fn raise(error: ijk::Error) -> PyErr {
    let text = with_keywords(visible(&error.to_string()).into_owned());
    match error {
        ijk::Error::Plan(PlanError::MemoryLimit { .. }) | ijk::Error::Memory(_) => {
            MemoryLimitError::new_err(text)
        }
        ijk::Error::Run(RunError::OutOfMemory(_))
        | ijk::Error::Tensor(TensorError::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        ijk::Error::Run(RunError::DivisionByZero) => PyZeroDivisionError::new_err(text),
        ijk::Error::Run(RunError::Interrupted) => PyKeyboardInterrupt::new_err(text),
        ijk::Error::Program(report) if report.is_about_types() => DTypeError::new_err(text),
        _ => Error::new_err(text),
    }
}

#[cfg(test)]
mod tests {
    use super::with_keywords;

    #[test]
    fn options_of_the_command_are_keywords() {
        let keywords = |text: &str| with_keywords(text.to_owned());
        assert_eq!(keywords("`--dims t=3` decides"), "`dims={'t': 3}` decides");
        assert_eq!(keywords("by `--dims`"), "by `dims`");
        assert_eq!(
            keywords("`--rank a=2`, `--dims b=2,3`"),
            "`ranks={'a': 2}`, `dims={'b': [2, 3]}`"
        );
    }
}
