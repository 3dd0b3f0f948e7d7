//! Files that appear whole or not at all.

use super::{FileError, Problem};
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that is written but does not bear its name yet; dropped, it is gone.
///
/// ```
/// use ijk_tensor::file::{Problem, Staged};
/// use std::io::Write;
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("words");
/// let mut staged = Staged::create(&path)?;
/// let problem = |source| Problem::Io { action: "write", source };
/// staged.fill(|file| file.write_all(b"all of them").map_err(problem))?;
/// assert!(!path.exists() && staged.temporary().is_some_and(|part| part.exists()));
/// staged.commit()?;
/// assert_eq!(std::fs::read(path)?, b"all of them");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// Beside the file it will replace.
    Beside(NamedTempFile, PathBuf),
    /// For a pipe or a device, which cannot be replaced: kept apart, to be copied.
    Apart(File),
}

impl Staged {
    /// Writes what will be the file at `path` with `write`.
    ///
    /// # Errors
    /// As for [`create`](Self::create) and [`fill`](Self::fill).
    pub fn write(
        path: &Path,
        write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), Problem>,
    ) -> Result<Self, FileError> {
        let mut staged = Self::create(path)?;
        staged.fill(write)?;
        Ok(staged)
    }

    /// Creates an empty file that becomes the one at `path`.
    ///
    /// # Errors
    /// If `path` is a directory or no file can be made beside it.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        match Content::new(path) {
            Ok(content) => Ok(Self { path: path.into(), content }),
            Err(error) => Err(error.in_file(path)),
        }
    }

    /// Writes the contents with `write`, and brings them to the disk.
    ///
    /// # Errors
    /// If writing fails.
    pub fn fill(
        &mut self,
        write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), Problem>,
    ) -> Result<(), FileError> {
        let (file, is_kept) = match &mut self.content {
            Content::Beside(file, _) => (file.as_file_mut(), true),
            Content::Apart(file) => (file, false),
        };
        let filled = filled(file, write).and_then(|()| match is_kept {
            // A name may not outlast what it names.
            true => file.sync_all().map_err(Problem::io("write")),
            false => Ok(()),
        });
        filled.map_err(|error| error.in_file(&self.path))
    }

    /// The path the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path that it has until then, if it has one.
    pub fn temporary(&self) -> Option<&Path> {
        match &self.content {
            Content::Beside(file, _) => Some(file.path()),
            Content::Apart(_) => None,
        }
    }

    /// Gives the file its name, in place of an old one, for good: the name, too, is on the disk.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn commit(self) -> Result<(), FileError> {
        let Self { path, content } = self;
        let done = match content {
            Content::Beside(file, target) => {
                let named = file.persist(&target).map(drop).map_err(|e| e.error);
                named.and_then(|()| sync_directory(&target))
            }
            Content::Apart(file) => copy_to(file, &path),
        };
        done.map_err(|error| Problem::io("write")(error).in_file(&path))
    }
}

impl Content {
    fn new(path: &Path) -> Result<Self, Problem> {
        let present = fs::metadata(path).ok();
        match present {
            Some(meta) if meta.is_dir() => Err(Problem::Directory),
            Some(meta) if !meta.is_file() => {
                Ok(Self::Apart(tempfile::tempfile().map_err(Problem::io("write"))?))
            }
            present => {
                let target = resolve(path)?;
                let file = beside(&target, present.map(|meta| meta.permissions()))?;
                Ok(Self::Beside(file, target))
            }
        }
    }
}

fn filled(
    file: &mut File,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut writer = BufWriter::new(file);
    write(&mut writer)?;
    writer.flush().map_err(Problem::io("write"))
}

/// Brings the name of a file to the disk.
fn sync_directory(target: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory_of(target)).and_then(|directory| directory.sync_all()) {
        // The file is there: some file systems keep names elsewhere, some directories are not to be read.
        Err(error) if is_refusal(error.kind()) => Ok(()),
        synced => synced,
    }
}

fn is_refusal(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(kind, InvalidInput | PermissionDenied | Unsupported)
}

fn directory_of(target: &Path) -> &Path {
    target.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that is to be replaced: behind a symbolic link, what it links to.
fn resolve(path: &Path) -> Result<PathBuf, Problem> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => fs::canonicalize(path).map_err(Problem::io("write")),
        Ok(meta) if meta.permissions().readonly() => {
            Err(Problem::io("write")(io::ErrorKind::PermissionDenied.into()))
        }
        _ => Ok(path.into()),
    }
}

/// A temporary file in the directory of `target`, with the permissions a new file would have, or
/// those of the old.
fn beside(target: &Path, old: Option<fs::Permissions>) -> Result<NamedTempFile, Problem> {
    if target.file_name().is_none() {
        return Err(Problem::io("write")(io::ErrorKind::NotFound.into()));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ijk-").suffix(".tmp");
    if let Some(permissions) = old.or_else(default_permissions) {
        builder.permissions(permissions);
    }
    builder.tempfile_in(directory_of(target)).map_err(Problem::io("write"))
}

/// Permissions of a new file: all but those of the user's mask.
fn default_permissions() -> Option<fs::Permissions> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(fs::Permissions::from_mode(0o666))
    }
    #[cfg(not(unix))]
    None
}

fn copy_to(mut file: File, path: &Path) -> io::Result<()> {
    file.rewind()?;
    let mut target = fs::OpenOptions::new().write(true).open(path)?;
    io::copy(&mut file, &mut target).map(drop)
}
