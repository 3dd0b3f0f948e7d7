//! The files of a Zarr array.

use super::durable::sync_directory;
use super::error::ZarrError;
use super::metadata::Layout;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Directory of ijk's own files: readers of Zarr look only for `zarr.json` and chunks.
pub(super) const OWN: &str = ".ijk";

/// Suffix of files that are being written.
const TEMPORARY: &str = ".tmp";

/// Prefix of files that this process is writing.
fn temporary_prefix() -> String {
    format!("writing-{}-", std::process::id())
}

/// The most bytes of a `zarr.json`.
const METADATA: u64 = 16 << 20;

/// The directory of an array.
#[derive(Clone, Debug)]
pub(super) struct Files {
    root: PathBuf,
}

impl Files {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.into() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a key.
    pub(super) fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// The text of `zarr.json`.
    pub(super) fn metadata(&self) -> Result<Vec<u8>, ZarrError> {
        let (file, found) = match self.open("zarr.json")? {
            Some(file) => file,
            None => return Err(self.missing()),
        };
        if found > METADATA {
            return Err(ZarrError::LongMetadata { found, most: METADATA });
        }
        let mut text = Vec::new();
        file.take(METADATA).read_to_end(&mut text)?;
        Ok(text)
    }

    /// Why there is no `zarr.json`.
    fn missing(&self) -> ZarrError {
        match fs::metadata(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => ZarrError::Missing,
            Err(error) => error.into(),
            Ok(meta) if !meta.is_dir() => ZarrError::File,
            Ok(_) if self.path(".zarray").exists() || self.path(".zgroup").exists() => {
                ZarrError::Version2
            }
            Ok(_) => ZarrError::NoMetadata,
        }
    }

    /// A file and its length, if it is there.
    pub(super) fn open(&self, key: &str) -> Result<Option<(File, u64)>, ZarrError> {
        let file = match File::open(self.path(key)) {
            Ok(file) => file,
            // A chunk is not there either where what should be its directory is a file.
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        Ok(Some((file, meta.len())))
    }

    /// Makes the array's directory, and ours in it.
    pub(super) fn prepare(&self) -> Result<(), ZarrError> {
        Ok(fs::create_dir_all(self.path(OWN))?)
    }

    /// Writes a file atomically, even if this process is killed.
    pub(super) fn write(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        self.name(self.written(bytes)?, key)
    }

    /// The same, and syncs the file.
    pub(super) fn write_through(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        let file = self.written(bytes)?;
        file.as_file().sync_all()?;
        self.name(file, key)?;
        let path = self.path(key);
        Ok(path.parent().map_or(Ok(()), sync_directory)?)
    }

    /// A file of some bytes under another name.
    pub(super) fn written(&self, bytes: &[u8]) -> Result<NamedTempFile, ZarrError> {
        let mut builder = tempfile::Builder::new();
        let prefix = temporary_prefix();
        builder.prefix(&prefix).suffix(TEMPORARY);
        #[cfg(unix)]
        {
            // Permissions of a new file: all but those of the user's mask.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(self.path(OWN)).map_err(ZarrError::of_writing)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Gives a file its name.
    pub(super) fn name(&self, file: NamedTempFile, key: &str) -> Result<(), ZarrError> {
        let path = self.path(key);
        // Most chunks are not the first of their directory.
        let file = match file.persist(&path) {
            Ok(_) => return Ok(()),
            Err(error) if is_missing(&error.error) => error.file,
            Err(error) => return Err(error.error.into()),
        };
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        file.persist(&path).map_err(|error| ZarrError::of_writing(error.error))?;
        Ok(())
    }

    /// The length of a file, if it is there.
    pub(super) fn length(&self, key: &str) -> Option<u64> {
        fs::metadata(self.path(key)).ok().filter(fs::Metadata::is_file).map(|meta| meta.len())
    }

    /// Returns true if nothing exists yet.
    pub(super) fn is_free(&self) -> bool {
        match fs::read_dir(&self.root) {
            // A run that ended before it wrote anything leaves only this directory.
            Ok(mut entries) => {
                entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == OWN))
            }
            Err(_) => fs::symlink_metadata(&self.root).is_err(),
        }
    }

    /// Checks that the directory may be removed as an array: it is one, or an unfinished one, or empty.
    pub(super) fn check_removable(&self) -> Result<(), ZarrError> {
        if !self.is_free() && !self.path(OWN).is_dir() {
            // Else it is no array of format 3.
            Layout::parse(&self.metadata()?)?;
        }
        Ok(())
    }

    /// Removes an array, but neither what ijk keeps of it nor anything else that may be in its directory.
    pub(super) fn remove(&self) -> Result<(), ZarrError> {
        // Without metadata, the remaining files are no array to any reader.
        match fs::remove_file(self.path("zarr.json")) {
            Err(error) if !is_missing(&error) => return Err(error.into()),
            _ => sync_directory(&self.root)?,
        }
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            let is_chunk =
                name.split('.').all(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()));
            if !is_chunk && name != "c" && !name.starts_with("c.") {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(path)?,
                false => fs::remove_file(path)?,
            }
        }
        Ok(())
    }

    /// Removes temporary files of processes that were killed.
    pub(super) fn sweep(&self) -> Result<(), ZarrError> {
        self.sweep_if(|name| super::scratch::is_scratch(name) || name.ends_with(TEMPORARY))
    }

    /// Removes temporary files of this process.
    pub(super) fn abandon(&self) -> Result<(), ZarrError> {
        let own = [temporary_prefix(), super::scratch::own_prefix()];
        self.sweep_if(|name| own.iter().any(|prefix| name.starts_with(prefix)))
    }

    fn sweep_if(&self, is_left: impl Fn(&str) -> bool) -> Result<(), ZarrError> {
        let entries = match fs::read_dir(self.path(OWN)) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if is_left(&name) {
                match entry.file_type()?.is_dir() {
                    true => fs::remove_dir_all(entry.path())?,
                    false => fs::remove_file(entry.path())?,
                }
            }
        }
        Ok(())
    }
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
