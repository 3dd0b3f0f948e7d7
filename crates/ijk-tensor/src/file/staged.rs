//! Files that appear whole or not at all.

use super::{FileError, Problem};
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that is written but does not bear its name yet; dropped, it is gone.
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
    /// If `path` is a directory or no file can be made beside it; if writing fails.
    pub fn write(
        path: &Path,
        write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), Problem>,
    ) -> Result<Self, FileError> {
        let write = |file: &mut File| {
            let mut writer = BufWriter::new(file);
            write(&mut writer)?;
            writer.flush().map_err(Problem::io("write"))
        };
        Self::create(path, write).map_err(|error| error.in_file(path))
    }

    fn create(
        path: &Path,
        write: impl FnOnce(&mut File) -> Result<(), Problem>,
    ) -> Result<Self, Problem> {
        let present = fs::metadata(path).ok();
        let content = match present {
            Some(meta) if meta.is_dir() => return Err(Problem::Directory),
            Some(meta) if !meta.is_file() => {
                let mut file = tempfile::tempfile().map_err(Problem::io("write"))?;
                write(&mut file)?;
                Content::Apart(file)
            }
            present => {
                let target = resolve(path)?;
                let mut file = beside(&target, present.map(|meta| meta.permissions()))?;
                write(file.as_file_mut())?;
                Content::Beside(file, target)
            }
        };
        Ok(Self { path: path.into(), content })
    }

    /// The path the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, in place of an old one.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn commit(self) -> Result<(), FileError> {
        let Self { path, content } = self;
        let done = match content {
            Content::Beside(file, target) => file.persist(target).map(drop).map_err(|e| e.error),
            Content::Apart(file) => copy_to(file, &path),
        };
        done.map_err(|error| Problem::io("write")(error).in_file(&path))
    }
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
    let directory = target.parent().filter(|d| !d.as_os_str().is_empty());
    if target.file_name().is_none() {
        return Err(Problem::io("write")(io::ErrorKind::NotFound.into()));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ijk-").suffix(".tmp");
    if let Some(permissions) = old.or_else(default_permissions) {
        builder.permissions(permissions);
    }
    builder.tempfile_in(directory.unwrap_or(Path::new("."))).map_err(Problem::io("write"))
}

/// What a new file may have, less what the user's mask takes away.
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
