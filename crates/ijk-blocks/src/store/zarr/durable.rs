//! Syncing of files to disk, so that they survive a power failure.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// More files than this are synced with their whole file system, where the operating system can.
const FEW: usize = 16;

/// Syncs files, and the directories that lead to them from the one that a root is in.
pub(super) fn sync(root: &Path, files: &[PathBuf]) -> io::Result<()> {
    if files.len() > FEW && sync_file_system(root)? {
        return Ok(());
    }
    for file in files {
        sync_file(file)?;
    }
    let parents = files.iter().flat_map(|file| file.ancestors().skip(1));
    let within: BTreeSet<&Path> = parents.filter(|parent| parent.starts_with(root)).collect();
    within.into_iter().chain(root.parent()).try_for_each(sync_directory)
}

/// Syncs the contents of a file.
fn sync_file(path: &Path) -> io::Result<()> {
    // Windows syncs only what may be written.
    File::options().read(true).write(cfg!(windows)).open(path)?.sync_data()
}

/// Syncs the entries of a directory.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match File::open(path).and_then(|directory| directory.sync_all()) {
        // Some file systems keep directories elsewhere, and have nothing to sync; some directories are not to be read.
        Err(error) if is_unsupported(&error) => Ok(()),
        synced => synced,
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

/// Syncs all files of the file system of a directory; false where the system cannot.
#[cfg(target_os = "linux")]
fn sync_file_system(root: &Path) -> io::Result<bool> {
    rustix::fs::syncfs(File::open(root)?)?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Preallocates space for appending to a file, if possible: then a full disk does not prevent records of written
/// chunks.
pub(super) fn reserve(file: &File, bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
        // It is a precaution: not every file system can.
        rustix::fs::fallocate(file, flags, 0, bytes).unwrap_or_default();
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, bytes);
}
