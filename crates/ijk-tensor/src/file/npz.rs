//! `.npz` files: archives (zip) of named arrays.

use super::{FileError, Problem, Staged, npy};
use crate::{Tensor, TensorView};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// One packed byte unpacks to at most this many (deflate reaches 1032).
const MAX_RATIO: u64 = 1040;

/// An open archive, whose arrays are read one by one.
#[derive(Debug)]
pub struct Archive<R = BufReader<File>> {
    path: PathBuf,
    archive: ZipArchive<R>,
    /// Bytes of the whole file.
    length: u64,
}

impl Archive {
    /// Opens an archive.
    ///
    /// # Errors
    /// If the file cannot be read or is no archive.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let (file, _) = npy::open(path).map_err(|error| error.in_file(path))?;
        Self::new(file, path)
    }
}

impl<R: Read + Seek> Archive<R> {
    /// The archive in a reader; messages will call it `path`.
    ///
    /// # Errors
    /// If it is no archive.
    pub fn new(mut reader: R, path: impl Into<PathBuf>) -> Result<Self, FileError> {
        let path = path.into();
        let length = reader.seek(SeekFrom::End(0)).map_err(Problem::io("read"));
        let length = length.map_err(|error| error.in_file(&path))?;
        match ZipArchive::new(reader) {
            Ok(archive) => Ok(Self { path, archive, length }),
            Err(error) => Err(problem(error).in_file(&path)),
        }
    }

    /// The names of the arrays, without `.npy`, in the order of the archive.
    pub fn names(&self) -> Vec<String> {
        (0..self.archive.len())
            .filter_map(|n| self.archive.name_for_index(n)?.ok())
            .map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_string())
            .collect()
    }

    /// Reads the array of that name.
    ///
    /// # Errors
    /// If there is none, if it is damaged, or as for [`npy::read`].
    pub fn read(&mut self, name: &str) -> Result<Tensor, FileError> {
        let index = [format!("{name}.npy"), name.to_string()]
            .iter()
            .find_map(|name| self.archive.index_for_name(name));
        let Some(index) = index else {
            let present = list(&self.names());
            return Err(Problem::NoMember { name: name.into(), present }.in_file(&self.path));
        };
        self.read_index(index).map_err(|error| error.in_member(&self.path, name))
    }

    fn read_index(&mut self, index: usize) -> Result<Tensor, Problem> {
        let member = self.archive.by_index(index).map_err(problem)?;
        let (packed, claimed) = (member.compressed_size().min(self.length), member.size());
        if claimed > packed.saturating_mul(MAX_RATIO) {
            return Err(Problem::Inflated { packed, claimed });
        }
        npy::decode(member, Some(claimed))
    }
}

/// Reads all arrays of an archive with their names.
///
/// # Errors
/// As for [`Archive::open`] and [`Archive::read`].
pub fn read(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>, FileError> {
    let mut archive = Archive::open(path)?;
    let names = archive.names();
    names
        .into_iter()
        .map(|name| {
            let tensor = archive.read(&name)?;
            Ok((name, tensor))
        })
        .collect()
}

/// Writes arrays under names, packed if `packed`; the archive appears whole or not at all, as with
/// [`npy::write`].
///
/// # Errors
/// If it cannot be written, or two arrays have one name.
pub fn write(
    path: impl AsRef<Path>,
    arrays: &[(&str, TensorView<'_>)],
    packed: bool,
) -> Result<(), FileError> {
    stage(path, arrays, packed)?.commit()
}

/// Writes an archive but for the last step, in which it takes its name.
///
/// # Errors
/// As for [`write()`].
pub fn stage(
    path: impl AsRef<Path>,
    arrays: &[(&str, TensorView<'_>)],
    packed: bool,
) -> Result<Staged, FileError> {
    Staged::write(path.as_ref(), |file| encode(file, arrays, packed))
}

/// Writes an archive.
///
/// # Errors
/// If the writer fails, or two arrays have one name.
pub fn encode(
    writer: impl Write + Seek,
    arrays: &[(&str, TensorView<'_>)],
    packed: bool,
) -> Result<(), Problem> {
    let method = if packed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let mut names = HashSet::new();
    let mut zip = ZipWriter::new(writer);
    for (name, array) in arrays {
        if name.is_empty() || !names.insert(name) {
            return Err(Problem::MemberName((*name).into()));
        }
        let large = array.len() * array.dtype().size() > (u32::MAX / 2) as usize;
        let options = SimpleFileOptions::default().compression_method(method).large_file(large);
        zip.start_file(format!("{name}.npy"), options).map_err(problem)?;
        npy::encode(&mut zip, array)?;
    }
    zip.finish().map(drop).map_err(problem)
}

fn problem(error: ZipError) -> Problem {
    match error {
        ZipError::Io(source) => Problem::Io { action: "read", source },
        other => Problem::Archive(other.to_string()),
    }
}

/// The first few of a list of names.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let quoted: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "none".into(),
        n if n > SHOWN => format!("{} and {} more", quoted.join(", "), n - SHOWN),
        _ => quoted.join(", "),
    }
}
