//! Arrays in zip archives that are written.
//!
//! An archive ends with the list of its members, so half of one is none: chunks are appended to a file beside it, which
//! gets the archive's name when the list is written. A run that ends before that leaves nothing to continue.

use super::archive::Archive;
use super::directory::Directory;
use super::durable::sync_directory;
use super::error::ZarrError;
use super::lock::Lock;
use super::storage::Hold;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Suffix of the file, behind the name of the archive and the number of the process.
const TEMPORARY: &str = ".ijk-new";

/// Bytes of a member from which on its lengths are numbers of 64 bits.
const LARGE: usize = u32::MAX as usize;

/// An archive that is being written. What stands at its path stays there meanwhile.
#[derive(Debug)]
pub(super) struct NewArchive {
    path: PathBuf,
    /// None when it is finished.
    members: Mutex<Option<Members>>,
    /// Dropped last.
    _lock: Box<dyn Hold>,
}

type Members = ZipWriter<NamedTempFile>;

/// Returns true if a result at a path is an archive.
pub(super) fn is_named(path: &Path) -> bool {
    crate::url_scheme(path).is_none() && Archive::is_named(path)
}

/// A result in an archive.
#[derive(Debug)]
pub(super) enum ArchivedResult {
    New(Box<NewArchive>),
    /// An earlier run has written it.
    Complete,
}

impl NewArchive {
    /// Begins an archive at a path, where another one may be.
    pub(super) fn begin(path: &Path) -> Result<Self, ZarrError> {
        let lock = Box::new(Lock::beside(&Directory::new(path))?);
        sweep(path, |_| true)?;
        let (folder, prefix) = (parent(path), prefix(path, &std::process::id().to_string()));
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(TEMPORARY);
        #[cfg(unix)]
        {
            // Permissions of a new file: all but those of the user's mask.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder)?;
        let members = Mutex::new(Some(ZipWriter::new(file)));
        Ok(Self { path: path.into(), members, _lock: lock })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Members>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a member.
    pub(super) fn add(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        let mut members = self.lock();
        let members = members.as_mut().ok_or(ZarrError::Exists)?;
        // Chunks are compressed already, if at all; the same result has the same bytes at any time.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .large_file(bytes.len() >= LARGE);
        members.start_file(key, options).map_err(super::archive::wrong)?;
        Ok(members.write_all(bytes)?)
    }

    /// Gives the archive its name. What is done twice is done once.
    pub(super) fn finish(&self) -> Result<(), ZarrError> {
        let Some(members) = self.lock().take() else { return Ok(()) };
        let file = members.finish().map_err(super::archive::wrong)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(sync_directory(parent(&self.path))?)
    }
}

/// The directory of an archive.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Prefix of the names of an archive's files: those of a process, or of all.
fn prefix(path: &Path, process: &str) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push("-");
    prefix.push(process);
    prefix
}

/// Removes files of runs that were killed.
fn sweep(path: &Path, is_left: impl Fn(&str) -> bool) -> Result<(), ZarrError> {
    let prefix = prefix(path, "");
    for entry in fs::read_dir(parent(path))? {
        let entry = entry?;
        let name = entry.file_name();
        let (Some(name), Some(prefix)) = (name.to_str(), prefix.to_str()) else { continue };
        let rest = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(TEMPORARY));
        if rest.is_some_and(&is_left) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes what this process has begun to write.
pub(super) fn abandon(path: &Path) -> Result<(), ZarrError> {
    let own = std::process::id().to_string();
    sweep(path, |rest| rest.starts_with(&own))
}
