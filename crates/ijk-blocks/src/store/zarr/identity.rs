//! What tells an array from what it was before it changed.

use super::files::{Files, OWN};
use super::problem::Problem;
use crate::store::Digest;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The metadata, and the name, size and time of change of each other file. Contents are not read: that would take
/// as long as many a computation.
pub(super) fn of(files: &Files) -> Result<String, Problem> {
    let mut digest = Digest::new();
    digest.add(&files.metadata()?);
    let mut found = Found::default();
    found.walk(files.root())?;
    found.files.sort();
    for (name, size, changed) in &found.files {
        digest.add(name.as_bytes());
        digest.add(&size.to_le_bytes());
        digest.add(&changed.to_le_bytes());
    }
    let bytes: u64 = found.files.iter().map(|(_, size, _)| size).sum();
    Ok(format!("{} files of {bytes} bytes, {}", found.files.len(), digest.finish()))
}

/// Paths from the array's directory, sizes, and times of change in nanoseconds.
#[derive(Default)]
struct Found {
    files: Vec<(String, u64, u128)>,
}

impl Found {
    fn walk(&mut self, root: &Path) -> Result<(), Problem> {
        let mut left = vec![root.to_path_buf()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                let path = entry.path();
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                let kind = entry.file_type()?;
                if kind.is_dir() && name != OWN {
                    left.push(path);
                } else if kind.is_file() && name != "zarr.json" {
                    let meta = entry.metadata()?;
                    let changed =
                        meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
                    self.files.push((name, meta.len(), changed.map_or(0, |t| t.as_nanos())));
                }
            }
        }
        Ok(())
    }
}
