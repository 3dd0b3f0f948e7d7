//! Which blocks are finished though they have no chunk: all their elements are the fill value.
//!
//! Every process that writes an array has a file of its own in `.ijk`, to which it adds a line for each such
//! block. A line that was cut off has no end, and does not count.

use super::files::{Files, OWN};
use super::problem::Problem;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

const PREFIX: &str = "missing-";
const SUFFIX: &str = ".log";

/// The file of this process, made when it is needed first.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Option<File>>);

impl Log {
    /// Adds a block.
    pub(super) fn add(&self, files: &Files, at: &[usize]) -> Result<(), Problem> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(create(files)?),
        };
        // All at once: what is there is whole lines, and perhaps a part of one.
        Ok(file.write_all(line(at).as_bytes())?)
    }
}

fn create(files: &Files) -> io::Result<File> {
    let file =
        tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(files.path(OWN))?;
    Ok(file.keep().map_err(|error| error.error)?.0)
}

/// `0/3`, and an end.
fn line(at: &[usize]) -> String {
    let places: Vec<String> = at.iter().map(usize::to_string).collect();
    format!("{};\n", places.join("/"))
}

/// The blocks of all files.
pub(super) fn read(files: &Files) -> Result<HashSet<Vec<usize>>, Problem> {
    let mut all = HashSet::new();
    for entry in fs::read_dir(files.path(OWN))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
            all.extend(text.lines().filter_map(place));
        }
    }
    Ok(all)
}

/// The block of a line.
fn place(line: &str) -> Option<Vec<usize>> {
    let places = line.strip_suffix(';')?;
    match places {
        "" => Some(Vec::new()),
        places => places.split('/').map(|n| n.parse().ok()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_cut_off_do_not_count() {
        for at in [vec![], vec![0], vec![12, 3, 400]] {
            let line = line(&at);
            assert_eq!(place(line.trim_end()), Some(at));
            for length in 0..line.len() - 2 {
                assert_eq!(place(&line[..length]), None);
            }
        }
        assert_eq!(place("1/x;"), None);
    }
}
