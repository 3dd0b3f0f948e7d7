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

    /// Writes an archive of arrays and of all members of this one that have other names, which are copied as they
    /// are: packed or not, arrays or not.
    ///
    /// # Errors
    /// If this archive is damaged or has members that cannot be copied; as for [`encode`].
    pub fn encode_with(
        &mut self,
        writer: impl Write + Seek,
        arrays: &[(&str, TensorView<'_>)],
        packed: bool,
    ) -> Result<(), Problem> {
        if self.archive.has_overlapping_entries().map_err(problem)? {
            return Err(Problem::Archive("its members overlap".into()));
        }
        let mut zip = ZipWriter::new(writer);
        zip.set_raw_comment(self.archive.comment().into()).map_err(problem)?;
        let replaced: HashSet<String> = arrays.iter().map(|(name, _)| member(name)).collect();
        for index in 0..self.archive.len() {
            let member = self.archive.by_index_raw(index).map_err(problem)?;
            if replaced.contains(member.name().map_err(problem)?.as_ref()) {
                continue;
            }
            if member.encrypted() {
                return Err(Problem::Archive("it has encrypted members".into()));
            }
            zip.raw_copy_file(member).map_err(problem)?;
        }
        add(zip, arrays, packed)
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

/// Writes arrays into an archive, in place of members of the same names; other members stay as they are. Where there
/// is no archive, one is made. It appears whole or not at all.
///
/// # Errors
/// If what is there is no archive, or damaged: then it is left as it is. As for [`write()`].
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("all.npz");
/// use ijk_tensor::TensorView;
/// use ijk_tensor::file::npz;
/// let (one, two) = (ndarray::array![1.0], ndarray::array![2.0, 2.0]);
/// npz::write(&path, &[("a", TensorView::from_array(&one)), ("b", TensorView::from_array(&one))], false)?;
/// npz::update(&path, &[("b", TensorView::from_array(&two)), ("c", TensorView::from_array(&two))], true)?;
/// let shapes: Vec<_> = npz::read(&path)?.into_iter().map(|(name, x)| (name, x.len())).collect();
/// assert_eq!(shapes, [("a".into(), 1), ("b".into(), 2), ("c".into(), 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn update(
    path: impl AsRef<Path>,
    arrays: &[(&str, TensorView<'_>)],
    packed: bool,
) -> Result<(), FileError> {
    let path = path.as_ref();
    if !path.is_file() {
        return write(path, arrays, packed);
    }
    let mut old = Archive::open(path)?;
    Staged::write(path, |file| old.encode_with(file, arrays, packed))?.commit()
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
    add(ZipWriter::new(writer), arrays, packed)
}

/// Adds arrays to what was written of an archive, and ends it.
fn add<W: Write + Seek>(
    mut zip: ZipWriter<W>,
    arrays: &[(&str, TensorView<'_>)],
    packed: bool,
) -> Result<(), Problem> {
    let method = if packed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let mut names = HashSet::new();
    for (name, array) in arrays {
        if name.is_empty() || !names.insert(name) {
            return Err(Problem::MemberName((*name).into()));
        }
        let large = array.len() * array.dtype().size() > (u32::MAX / 2) as usize;
        let options = SimpleFileOptions::default().compression_method(method).large_file(large);
        zip.start_file(member(name), options).map_err(problem)?;
        npy::encode(&mut zip, array)?;
    }
    zip.finish().map(drop).map_err(problem)
}

/// The member that an array of a name is.
fn member(name: &str) -> String {
    format!("{name}.npy")
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
