//! Arrays in `.npy` format through the standard input and output, which the path `-` names.
//!
//! A stream holds one array and nothing else: reading checks that nothing follows.

use crate::failure::Failure;
use crate::files::{self, Place};
use crate::progress::{Progress, ProgressFile};
use ijk::file::{Problem, npy};
use ijk::{Tensor, TensorView};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

/// Names of the standard input.
const INPUT: [&str; 4] = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Names of the standard output. Written like a file, the file that it is redirected to would be replaced by another.
const OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Names of the two in messages.
const STDIN: &str = "<stdin>";
const STDOUT: &str = "<stdout>";

/// Size of writes: the standard output is searched for line ends in each of them.
const STEP: usize = 1 << 20;

impl Place {
    /// Returns true if an argument is read from the standard input.
    pub fn is_stdin(&self) -> bool {
        INPUT.iter().any(|name| self.path == Path::new(name))
    }

    /// Returns true if a result is written to the standard output.
    pub fn is_stdout(&self) -> bool {
        is_output(&self.path)
    }
}

/// Returns true for a name of the standard output.
pub fn is_output(path: &Path) -> bool {
    OUTPUT.iter().any(|name| path == Path::new(name))
}

/// Checks that at most one argument is the standard input.
///
/// # Errors
/// If two are.
pub fn check_inputs<'a>(mut inputs: impl Iterator<Item = &'a Place>) -> Result<(), Failure> {
    match inputs.by_ref().filter(|place| place.is_stdin()).count() {
        0 | 1 => Ok(()),
        n => Err(Failure::wrong(format!(
            "{n} arguments are read from the standard input (`-`), which holds one array: give the others as files"
        ))),
    }
}

/// Text that a command prints beside its results.
pub struct Printed {
    /// A name for it.
    pub what: String,
    /// A way to avoid it.
    pub remedy: &'static str,
}

/// Checks that a result on the standard output is alone there, and that something reads it.
///
/// # Errors
/// If other text would be printed among its bytes, or if they would go to a terminal.
pub fn check_output(outputs: &[(usize, Place)], printed: Option<Printed>) -> Result<(), Failure> {
    let Some((output, _)) = outputs.iter().find(|(_, place)| place.is_stdout()) else {
        return Ok(());
    };
    if let Some(Printed { what, remedy }) = printed {
        return Err(Failure::wrong(format!(
            "output {output} is written to the standard output (`-`), where {what} would be printed among its bytes: {remedy}"
        )));
    }
    match io::stdout().is_terminal() {
        false => Ok(()),
        true => Err(Failure::wrong(format!(
            "output {output} would be written to a terminal as bytes: redirect the standard output, or leave the option out to print the array as text"
        ))),
    }
}

/// Text that is printed beside `results` results: the results without a place, or a JSON object.
pub fn printed(outputs: &[(usize, Place)], results: usize, json: bool) -> Option<Printed> {
    if json {
        let what = "the object of --json".into();
        return Some(Printed { what, remedy: "leave out --json, or name a file" });
    }
    let has_place = |n: &usize| outputs.iter().any(|(output, _)| output == n);
    let unplaced = (0..results).find(|n| !has_place(n))?;
    Some(Printed { what: format!("output {unplaced}"), remedy: "name a file for one of them" })
}

/// Reads the array of the standard input.
///
/// # Errors
/// If it is a terminal, or not one array.
pub fn read() -> Result<Tensor, Failure> {
    let input = io::stdin();
    if input.is_terminal() {
        let message = "`-` is the standard input, which is a terminal: pipe or redirect an array in .npy format to it";
        return Err(Failure::wrong(message));
    }
    let progress = Progress::bytes(format!("reading {STDIN}"), None);
    let array = npy::decode(ProgressFile::new(input.lock(), progress), None);
    Ok(array.map_err(|problem| problem.in_file(Path::new(STDIN)))?)
}

/// Writes an array to the standard output.
///
/// # Errors
/// If that fails. A reader that closes the pipe is no error.
pub fn write(view: &TensorView<'_>) -> Result<(), Failure> {
    let progress = Progress::bytes(format!("writing {STDOUT}"), Some(files::size(view)));
    let output = ProgressFile::new(io::stdout().lock(), progress);
    let mut output = BufWriter::with_capacity(STEP, output);
    let written = npy::encode(&mut output, view);
    let flushed = written
        .and_then(|()| output.flush().map_err(|source| Problem::Io { action: "write", source }));
    // Dropped whole, the buffer would write the rest of a failed write once more.
    let _ = output.into_parts();
    match flushed {
        Ok(()) => Ok(()),
        Err(Problem::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => {
            Err(Failure::BrokenPipe)
        }
        Err(problem) => Err(problem.in_file(Path::new(STDOUT)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(texts: &[&str]) -> Vec<Place> {
        texts.iter().map(|text| Place::parse(text).unwrap()).collect()
    }

    #[test]
    fn names() {
        assert!(places(&["-", "/dev/stdin", "/dev/fd/0"]).iter().all(Place::is_stdin));
        assert!(places(&["-", "/dev/stdout", "/dev/fd/1"]).iter().all(Place::is_stdout));
        assert!(!places(&["./-", "a-", "/dev/null"]).iter().any(|p| p.is_stdin() || p.is_stdout()));
    }

    #[test]
    fn one_argument_and_one_result() {
        assert!(check_inputs(places(&["-", "a.npy"]).iter()).is_ok());
        assert!(check_inputs(places(&["-", "/dev/stdin"]).iter()).is_err());
        let one: Vec<_> = places(&["-"]).into_iter().enumerate().collect();
        assert!(printed(&one, 1, false).is_none());
        assert_eq!(printed(&one, 2, false).unwrap().what, "output 1");
        assert!(printed(&one, 1, true).is_some());
        let beside = check_output(&one, printed(&one, 2, false)).unwrap_err().text();
        assert!(beside.contains("output 1 would be printed among its bytes"), "{beside}");
        let file: Vec<_> = places(&["a.npy"]).into_iter().enumerate().collect();
        assert!(check_output(&file, printed(&file, 2, true)).is_ok());
    }
}
