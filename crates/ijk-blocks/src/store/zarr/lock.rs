//! Locks of arrays in directories: one run writes at a time, of however many processes.
//!
//! Two files are locked. One is beside the array's directory and outlives it, so that no other run recreates a
//! directory that is removed while a run writes it; it exists only while the lock is held. The other one is in the
//! directory, which may have several paths. A run of one process holds both exclusively. The processes of a run hold
//! them shared, so that no other run begins before the last of them has ended.

use super::directory::Directory;
use super::error::ZarrError;
use super::storage::{Hold, OWN};
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The name of the file in the directory.
pub(super) const LOCK: &str = ".ijk/lock";

/// Number of attempts to lock a file that its last holder may remove after it is opened.
const ATTEMPTS: usize = 100;

/// Keeps others from writing an array in a directory, as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    directory: Directory,
    inside: Option<Held>,
    /// None where no file can be made beside the array. Dropped last: the next holder finds the other one free.
    beside: Option<Held>,
}

/// Mode of a lock: shared or exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Exclusive,
    Shared,
}

impl Lock {
    /// Locks the path of an array, whether or not there is a directory.
    pub(super) fn beside(directory: &Directory) -> Result<Self, ZarrError> {
        if let Some(parent) = directory.root().parent() {
            fs::create_dir_all(parent)?;
        }
        let beside = Held::beside(directory.root(), Mode::Exclusive)?;
        Ok(Self { directory: directory.clone(), inside: None, beside })
    }

    /// Takes part in what the first process of a run has locked.
    pub(super) fn join(directory: &Directory) -> Result<Self, ZarrError> {
        let beside = Held::beside(directory.root(), Mode::Shared)?;
        let inside = Some(Held::new(directory.file(LOCK), Mode::Shared)?);
        Ok(Self { directory: directory.clone(), inside, beside })
    }
}

impl Hold for Lock {
    /// Locks the directory, too, which is made if it is not there.
    fn enter(&mut self) -> Result<bool, ZarrError> {
        fs::create_dir_all(self.directory.file(OWN))?;
        self.inside = Some(Held::new(self.directory.file(LOCK), Mode::Exclusive)?);
        // One that reached the directory by another path.
        Ok(true)
    }

    fn share(&mut self) -> Result<(), ZarrError> {
        for held in [&mut self.inside, &mut self.beside].into_iter().flatten() {
            held.share()?;
        }
        Ok(())
    }

    /// Returns true if the directory is still the one that was locked.
    fn is_in_place(&self) -> bool {
        self.inside.as_ref().is_none_or(Held::is_in_place)
    }
}

/// A file that is locked.
#[derive(Debug)]
struct Held {
    file: File,
    path: PathBuf,
    /// The last holder removes the file.
    transient: bool,
}

impl Held {
    /// The file beside an array, if one can be made there.
    fn beside(root: &Path, mode: Mode) -> Result<Option<Self>, ZarrError> {
        let Some(path) = path_beside(root) else { return Ok(None) };
        match Self::locked(path, mode, true) {
            // A directory may be writable though the one that it is in is not; names may be too long.
            Err(ZarrError::Io(_)) => Ok(None),
            Err(problem) => Err(problem),
            Ok(held) => {
                if mode == Mode::Exclusive {
                    held.sign();
                }
                Ok(Some(held))
            }
        }
    }

    fn new(path: PathBuf, mode: Mode) -> Result<Self, ZarrError> {
        Self::locked(path, mode, false)
    }

    fn locked(path: PathBuf, mode: Mode, transient: bool) -> Result<Self, ZarrError> {
        let options =
            File::options().create(true).truncate(false).read(true).write(true).to_owned();
        let mut holder = None;
        for _ in 0..ATTEMPTS {
            let held = Self { file: options.open(&path)?, path: path.clone(), transient };
            let locked = match mode {
                Mode::Exclusive => held.file.try_lock(),
                Mode::Shared => held.file.try_lock_shared(),
            };
            match locked {
                Ok(()) if held.is_in_place() => return Ok(held),
                // Its last holder removed it in between.
                Ok(()) => held.forget(),
                // Some file systems have no locks.
                Err(TryLockError::Error(_)) => return Ok(held),
                Err(TryLockError::WouldBlock) => {
                    holder = held.signature();
                    held.forget();
                    break;
                }
            }
        }
        Err(ZarrError::Locked { holder })
    }

    /// Lets others hold it, too.
    fn share(&mut self) -> Result<(), ZarrError> {
        self.file.unlock()?;
        let shared = Self::locked(self.path.clone(), Mode::Shared, self.transient)?;
        std::mem::replace(self, shared).forget();
        Ok(())
    }

    /// Closes it without removing it.
    fn forget(mut self) {
        self.transient = false;
    }

    /// Records this process in the file, for messages.
    fn sign(&self) {
        let text = std::process::id().to_string();
        let signed = self.file.set_len(0).and_then(|()| (&self.file).write_all(text.as_bytes()));
        signed.unwrap_or_default();
    }

    fn signature(&self) -> Option<u32> {
        let mut text = String::new();
        (&self.file).take(16).read_to_string(&mut text).ok()?;
        text.parse().ok()
    }

    /// Returns true if its path still leads to it.
    fn is_in_place(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let of = |meta: fs::Metadata| (meta.dev(), meta.ino());
            let named = fs::metadata(&self.path).map(of);
            self.file.metadata().map(of).is_ok_and(|held| named.is_ok_and(|named| named == held))
        }
        // Elsewhere files that are open are not removed.
        #[cfg(not(unix))]
        true
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Explicitly, since a process that was forked has the file open, too.
        let is_last = self.file.unlock().is_ok()
            && self.transient
            && self.file.try_lock().is_ok()
            && self.is_in_place();
        if is_last {
            // A process that opened it meanwhile finds that it is gone.
            fs::remove_file(&self.path).unwrap_or_default();
            self.file.unlock().unwrap_or_default();
        }
    }
}

/// `.name.ijk-lock` beside the directory, by whatever links it is named.
fn path_beside(root: &Path) -> Option<PathBuf> {
    let resolved = root.canonicalize().ok().or_else(|| {
        let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
        Some(parent.unwrap_or(Path::new(".")).canonicalize().ok()?.join(root.file_name()?))
    })?;
    let mut name = OsString::from(".");
    name.push(resolved.file_name()?);
    name.push(".ijk-lock");
    Some(resolved.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(files: &Directory) -> Result<Lock, ZarrError> {
        let mut lock = Lock::beside(files)?;
        lock.enter()?;
        Ok(lock)
    }

    fn names(directory: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn one_run_at_a_time_by_any_path() {
        let directory = tempfile::tempdir().unwrap();
        let files = Directory::new(&directory.path().join("deep/a.zarr"));
        let lock = locked(&files).unwrap();
        let refused = Lock::beside(&files).unwrap_err().to_string();
        let this = format!("another process ({}) is writing it", std::process::id());
        assert!(refused.starts_with(&this), "{refused}");
        #[cfg(unix)]
        {
            let link = directory.path().join("link.zarr");
            std::os::unix::fs::symlink(files.root(), &link).unwrap();
            assert!(Lock::beside(&Directory::new(&link)).is_err());
        }
        drop(lock);
        assert_eq!(names(files.root().parent().unwrap()), ["a.zarr"]);
        locked(&files).unwrap();
    }

    #[test]
    fn a_directory_that_is_removed_stays_locked() {
        let directory = tempfile::tempdir().unwrap();
        let files = Directory::new(&directory.path().join("a.zarr"));
        let lock = locked(&files).unwrap();
        assert!(lock.is_in_place());
        fs::remove_dir_all(files.root()).unwrap();
        assert!(!lock.is_in_place() && Lock::beside(&files).is_err());
        drop(lock);
        assert!(locked(&files).unwrap().is_in_place());
    }

    #[test]
    fn processes_of_a_run_hold_it_until_the_last_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let files = Directory::new(&directory.path().join("a.zarr"));
        let mut first = locked(&files).unwrap();
        assert!(Lock::join(&files).is_err());
        first.share().unwrap();
        let second = Lock::join(&files).unwrap();
        assert!(Lock::beside(&files).is_err());
        drop(first);
        assert!(Lock::beside(&files).is_err());
        drop(second);
        locked(&files).unwrap();
        assert_eq!(names(directory.path()), ["a.zarr"]);
    }
}
