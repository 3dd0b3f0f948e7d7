//! Identity of an array in a directory, which changes with its contents.

use super::error::ZarrError;
use super::storage::OWN;
use crate::store::Digest;
use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The metadata, and the name, size and modification time of each other file, also behind symbolic links, with the
/// links' targets. Contents are not read, which could take longer than the computation.
pub(super) fn of(root: &Path, metadata: &[u8]) -> Result<String, ZarrError> {
    let mut digest = Digest::new();
    digest.add(metadata);
    let mut found = Found::default();
    found.walk(root)?;
    found.files.sort();
    for (name, size, changed) in &found.files {
        digest.add(name.as_bytes());
        digest.add(&size.to_le_bytes());
        digest.add(&changed.to_le_bytes());
    }
    found.links.sort();
    for (name, target) in &found.links {
        digest.add(name.as_bytes());
        digest.add(target.as_bytes());
    }
    let bytes: u64 = found.files.iter().map(|(_, size, _)| size).sum();
    Ok(format!("{} files of {bytes} bytes, {}", found.files.len(), digest.finish()))
}

/// Files below a directory, by relative path.
#[derive(Default)]
struct Found {
    /// Names, sizes, and times of change in nanoseconds.
    files: Vec<(String, u64, u128)>,
    /// Symbolic links, and where they lead.
    links: Vec<(String, String)>,
    /// Directories that links led to: one that leads back is not followed again.
    entered: HashSet<PathBuf>,
}

impl Found {
    fn walk(&mut self, root: &Path) -> Result<(), ZarrError> {
        if let Ok(target) = fs::read_link(root) {
            self.links.push((String::new(), target.to_string_lossy().into_owned()));
        }
        self.entered.insert(root.canonicalize()?);
        let mut left = vec![root.to_path_buf()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                let path = entry.path();
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                if ["zarr.json", OWN].contains(&&*name) {
                    continue;
                }
                if self.entry(name, &entry, &path)? {
                    left.push(path);
                }
            }
        }
        Ok(())
    }

    /// Adds an entry; whether it is a directory to be walked.
    fn entry(&mut self, name: String, entry: &DirEntry, path: &Path) -> io::Result<bool> {
        let mut meta = entry.metadata()?;
        if meta.is_symlink() {
            let target = fs::read_link(path)?;
            self.links.push((name.clone(), target.to_string_lossy().into_owned()));
            meta = match fs::metadata(path) {
                Ok(meta) if meta.is_dir() => return Ok(self.entered.insert(path.canonicalize()?)),
                Ok(meta) => meta,
                // A link to nothing is a chunk that is not there.
                Err(_) => return Ok(false),
            };
        }
        if meta.is_file() {
            let changed = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            self.files.push((name, meta.len(), changed.map_or(0, |t| t.as_nanos())));
        }
        Ok(meta.is_dir())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_once() {
        let directory = tempfile::tempdir().unwrap();
        let (root, data) = (directory.path().join("a.zarr"), directory.path().join("data"));
        fs::create_dir_all(root.join("c")).unwrap();
        fs::create_dir_all(data.join("1")).unwrap();
        fs::write(root.join("zarr.json"), "{}").unwrap();
        fs::write(data.join("0"), "four").unwrap();
        fs::write(data.join("1/0"), "chunk").unwrap();
        symlink(data.join("0"), root.join("c/0")).unwrap();
        symlink(data.join("1"), root.join("c/1")).unwrap();
        // In a circle, and nowhere.
        symlink(&root, data.join("1/back")).unwrap();
        symlink(directory.path().join("gone"), root.join("c/2")).unwrap();
        let of = |root: &Path| of(root, b"{}").unwrap();
        let mut seen = vec![of(&root)];
        let mut changed = |what: &str| {
            let now = of(&root);
            assert!(!seen.contains(&now), "{what}");
            seen.push(now);
        };
        fs::write(data.join("0"), "fours").unwrap();
        changed("a chunk behind a link");
        fs::write(data.join("1/0"), "chunks").unwrap();
        changed("a chunk in a directory behind a link");
        let (old, new) = (fs::metadata(data.join("0")).unwrap(), data.join("new"));
        fs::write(&new, "other").unwrap();
        let file = fs::File::options().write(true).open(&new).unwrap();
        file.set_modified(old.modified().unwrap()).unwrap();
        fs::remove_file(root.join("c/0")).unwrap();
        symlink(&new, root.join("c/0")).unwrap();
        changed("where a link leads");
        fs::write(directory.path().join("gone"), "").unwrap();
        changed("a chunk that is there now");
        let link = directory.path().join("link.zarr");
        symlink(&root, &link).unwrap();
        assert_ne!(of(&link), of(&root));
    }
}
