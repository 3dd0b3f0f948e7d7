//! Arrays in and out of files, as the command line names them.

use crate::failure::Failure;
use crate::progress::{Progress, ProgressFile};
use crate::{signals, standard};
use ijk::blocks::url_scheme;
use ijk::file::npz::Archive;
use ijk::file::{FileError, Problem, Staged, npy, npz};
use ijk::{Tensor, TensorView};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek};
use std::path::{Path, PathBuf};

/// A file, or a member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path of the file.
    pub path: PathBuf,
    /// The member, where the file is an archive and one is named.
    pub member: Option<String>,
    /// The text named the member: an archive keeps its other members.
    pub is_part: bool,
}

impl Place {
    /// From `file.npy`, `file.npz`, `file.npz:member` or the URL of a Zarr array.
    ///
    /// # Errors
    /// If it is another URL.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if let Some(scheme) = url_scheme(Path::new(text)) {
            let place = Self { path: text.into(), member: None, is_part: false };
            return if is_read(text, scheme, &place) { Ok(place) } else { Err(url(text, scheme)) };
        }
        Ok(match text.rfind(".npz:") {
            Some(at) => {
                let (path, member) = (&text[..at + 4], &text[at + 5..]);
                Self { path: path.into(), member: Some(member.into()), is_part: true }
            }
            None => Self { path: text.into(), member: None, is_part: false },
        })
    }

    /// Returns true for a Zarr array: by its name, by its contents, or as a member of a Zarr group.
    pub fn is_zarr(&self) -> bool {
        if self.is_stdin() || self.is_stdout() {
            return false;
        }
        let has = |name: &str| self.path.join(name).is_file();
        let is_named = self.has_extension("zarr") || has("zarr.json") || has(".zarray");
        is_named
            || self.is_url()
            || self.is_zipped()
            || !self.has_extension("npy") && !self.is_archive() && self.is_member()
    }

    /// Returns true for a URL.
    pub fn is_url(&self) -> bool {
        url_scheme(&self.path).is_some()
    }

    /// Returns true for a zip archive, and for a place in one.
    fn is_zipped(&self) -> bool {
        let is_zip = |path: &Path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("zip"));
        self.path.ancestors().any(|path| is_zip(path) && (path.is_file() || path == self.path))
    }

    /// Returns true if the path is, or would be, a member of a Zarr group, and is no existing file.
    fn is_member(&self) -> bool {
        #[cfg(feature = "zarr")]
        return !self.path.is_file() && ijk::blocks::ZarrStore::is_in_group(&self.path);
        #[cfg(not(feature = "zarr"))]
        false
    }

    /// Returns true if the name is that of an archive.
    pub fn is_archive(&self) -> bool {
        self.has_extension("npz")
    }

    /// Returns true if the path leads to a pipe or a device: its name says nothing about the format.
    fn is_special(&self) -> bool {
        self.path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
    }

    fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
    }
}

/// Returns true if a URL is one of those that Zarr arrays are read from.
fn is_read(text: &str, scheme: &str, place: &Place) -> bool {
    let is_known = ["s3", "http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let is_file = place.has_extension("npy") || text.contains(".npz");
    cfg!(feature = "object-store") && is_known && !text.contains("::") && !is_file
}

#[cold]
fn url(text: &str, scheme: &str) -> Failure {
    let hint = match text.split_once("://") {
        Some((_, path)) if scheme.eq_ignore_ascii_case("file") => {
            format!("; write the path alone: {path}")
        }
        _ => "; copy it here first, or write to a path and copy that".into(),
    };
    let read = match cfg!(feature = "object-store") {
        true => {
            "files and directories of this machine, and Zarr arrays of s3, http and https, are read and written"
        }
        false => "files and directories of this machine are read and written",
    };
    Failure::wrong(format!("{text}: it is a URL of the scheme `{scheme}`, but only {read}{hint}"))
}

/// Places of arguments.
///
/// # Errors
/// If one is a URL, or two are the standard input.
pub fn places(texts: &[String]) -> Result<Vec<Place>, Failure> {
    let places: Vec<_> = texts.iter().map(|text| Place::parse(text)).collect::<Result<_, _>>()?;
    standard::check_inputs(places.iter())?;
    Ok(places)
}

/// Numbers of results, and their places.
///
/// # Errors
/// If one is a URL.
pub fn numbered(texts: &[String]) -> Result<Vec<(usize, Place)>, Failure> {
    texts.iter().enumerate().map(|(n, text)| Ok((n, Place::parse(text)?))).collect()
}

/// Reads an array.
///
/// # Errors
/// If that fails; if an archive has several arrays and none is named.
pub fn read(place: &Place) -> Result<Tensor, Failure> {
    if place.is_stdin() {
        return standard::read();
    }
    let (file, length) = open(&place.path)?;
    if !place.is_archive() {
        return Ok(npy::decode(file, length).map_err(|e| e.in_file(&place.path))?);
    }
    let mut archive = Archive::new(file, &place.path)?;
    let names = archive.names();
    let name = match (&place.member, &names[..]) {
        (Some(member), _) => member,
        (None, [only]) => only,
        (None, names) => return Err(no_member(&place.path, names)),
    };
    Ok(archive.read(name)?)
}

/// Opens a file, with its length if it is a regular one.
fn open(path: &Path) -> Result<(impl Read + Seek, Option<u64>), FileError> {
    let (file, length) = npy::open(path).map_err(|problem| problem.in_file(path))?;
    let progress = Progress::bytes(format!("reading {}", path.display()), length);
    Ok((ProgressFile::new(file, progress), length))
}

/// Writes a file by `write` under a temporary name; the number of bytes is for the progress bar.
fn stage(
    path: &Path,
    length: Option<u64>,
    write: impl FnOnce(ProgressFile<&mut BufWriter<&mut File>>) -> Result<(), Problem>,
) -> Result<Staged, FileError> {
    let progress = Progress::bytes(format!("writing {}", path.display()), length);
    let mut staged = signals::removed_unless_named(|| Staged::create(path))?;
    staged.fill(|file| write(ProgressFile::new(file, progress)))?;
    Ok(staged)
}

#[cold]
fn no_member(path: &Path, names: &[String]) -> Failure {
    let path = path.display();
    Failure::wrong(match names {
        [] => format!("{path}: the archive has no arrays"),
        [first, ..] => format!(
            "{path}: the archive has {} arrays; name one, such as `{path}:{first}`",
            names.len()
        ),
    })
}

/// Checks that each result has a place of its own, of a known format, and that none is in an existing Zarr array.
///
/// # Errors
/// If not: the message names the place.
pub fn check_places(places: &[(usize, Place)]) -> Result<(), Failure> {
    let mut taken = BTreeMap::new();
    for (output, place) in places {
        check_format(place)?;
        check_outside(place)?;
        let member = place.is_archive().then(|| member(*output, place));
        if let Some(other) = taken.insert((identity(&place.path), member), output) {
            let path = place.path.display();
            let message = format!("{path}: outputs {other} and {output} both go there");
            return Err(Failure::wrong(message));
        }
    }
    Ok(())
}

/// Checks that the name of a result is that of a format. A name without an ending is a `.npy` file.
fn check_format(place: &Place) -> Result<(), Failure> {
    let Some(extension) = place.path.extension() else { return Ok(()) };
    let is_known = place.has_extension("npy") || place.is_archive() || place.is_stdout();
    if is_known || place.is_zarr() || place.is_special() {
        return Ok(());
    }
    let (path, extension) = (place.path.display(), extension.display());
    let npy = place.path.with_extension("npy");
    Err(Failure::wrong(format!(
        "{path}: `.{extension}` names no format that results are written in, which are .npy, .npz and .zarr; name it {}, for example",
        npy.display()
    )))
}

/// Checks that a result would not be inside a Zarr array.
#[cfg(feature = "zarr")]
fn check_outside(place: &Place) -> Result<(), Failure> {
    if place.is_url() {
        // Servers are asked when the result is begun.
        return Ok(());
    }
    match ijk::blocks::ZarrStore::enclosing(&place.path) {
        Some(array) => Err(Failure::wrong(format!(
            "{}: it would be part of the Zarr array {}; name a path beside it",
            place.path.display(),
            array.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(not(feature = "zarr"))]
fn check_outside(_: &Place) -> Result<(), Failure> {
    Ok(())
}

/// Canonical path, which is the same for all names of one file; it may not exist yet.
fn identity(path: &Path) -> PathBuf {
    if standard::is_output(path) {
        return "-".into();
    }
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty());
    let resolve = || {
        let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
        let file = directory.join(path.file_name()?);
        Some(file.canonicalize().unwrap_or(file))
    };
    resolve().unwrap_or_else(|| path.into())
}

/// Member of an archive for a result.
fn member(output: usize, place: &Place) -> String {
    place.member.clone().unwrap_or_else(|| output.to_string())
}

/// An archive to write.
struct Archived<'a> {
    path: &'a Path,
    /// Other members of an existing archive are kept.
    is_part: bool,
    arrays: Vec<(String, TensorView<'a>)>,
}

impl Archived<'_> {
    /// The archive, and a lock of the one that it replaces: another process that adds members waits until it is
    /// replaced.
    fn stage(&self) -> Result<(Staged, Option<File>), FileError> {
        let arrays: Vec<_> =
            self.arrays.iter().map(|(name, view)| (&name[..], view.clone())).collect();
        if self.is_part && self.path.is_file() {
            let reading = |source| Problem::Io { action: "read", source }.in_file(self.path);
            let lock = locked(self.path).map_err(reading)?;
            let mut old = Archive::open(self.path)?;
            let staged = stage(self.path, None, |file| old.encode_with(file, &arrays, true))?;
            return Ok((staged, Some(lock)));
        }
        Ok((stage(self.path, None, |file| npz::encode(file, &arrays, true))?, None))
    }
}

/// The file at a path, locked.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        let file = File::open(path)?;
        // Some file systems have no locks.
        file.lock().unwrap_or_default();
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Returns true if a path still leads to the file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let named = path.metadata().map(of);
    file.metadata().map(of).is_ok_and(|held| named.is_ok_and(|named| named == held))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Writes results to files, all or none: files get their names after the last one is written, and after the result of
/// the standard output. Members are added to archives that are named with a member; archives that are named without
/// are replaced.
///
/// # Errors
/// If one cannot be written.
pub fn write_all(results: &[Tensor], places: &[(usize, Place)]) -> Result<(), Failure> {
    let (staged, _locks): (Vec<_>, Vec<_>) = stage_arrays(results, places)?.into_iter().unzip();
    let streamed = match places.iter().find(|(_, place)| place.is_stdout()) {
        Some((output, _)) => standard::write(&results[*output].view()),
        None => Ok(()),
    };
    // A reader that has enough of its array takes nothing from the files.
    if !matches!(streamed, Ok(()) | Err(Failure::BrokenPipe)) {
        return streamed;
    }
    signals::undisturbed(|| staged.into_iter().try_for_each(|file| file.commit()))?;
    streamed
}

/// Bytes of data.
pub fn size(view: &TensorView<'_>) -> u64 {
    view.len() as u64 * view.dtype().size() as u64
}

fn stage_arrays(
    results: &[Tensor],
    places: &[(usize, Place)],
) -> Result<Vec<(Staged, Option<File>)>, Failure> {
    let mut staged = Vec::new();
    let mut archives: BTreeMap<PathBuf, Archived<'_>> = BTreeMap::new();
    for (output, place) in places.iter().filter(|(_, place)| !place.is_stdout()) {
        let view = results[*output].view();
        if place.is_archive() {
            let new = || Archived { path: &place.path, is_part: false, arrays: Vec::new() };
            let archive = archives.entry(identity(&place.path)).or_insert_with(new);
            archive.is_part |= place.is_part;
            archive.arrays.push((member(*output, place), view));
        } else {
            let file = stage(&place.path, Some(size(&view)), |file| npy::encode(file, &view))?;
            staged.push((file, None));
        }
    }
    for archive in archives.into_values() {
        staged.push(archive.stage()?);
    }
    Ok(staged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let place = Place::parse("dir/a.npz:weights/x").unwrap();
        assert_eq!(place.path, Path::new("dir/a.npz"));
        assert_eq!(place.member.as_deref(), Some("weights/x"));
        assert!(Place::parse("A.NPZ").unwrap().is_archive());
        assert_eq!(Place::parse("odd:name.npy").unwrap().member, None);
        for text in
            ["gs://bucket/a.zarr", "s3://b/a.npz:x", "http://host/a.npy", "file:///tmp/a.npy"]
        {
            let Err(Failure::Wrong(message)) = Place::parse(text) else { panic!("{text}") };
            let scheme = text.split(':').next().unwrap();
            assert!(message.starts_with(&format!("{text}: it is a URL of the scheme `{scheme}`")));
        }
    }

    #[test]
    fn one_place_for_one_result() {
        let check = |texts: &[&str]| {
            let places: Vec<_> =
                texts.iter().map(|t| Place::parse(t).unwrap()).enumerate().collect();
            check_places(&places).is_ok()
        };
        assert!(check(&["a.npy", "b.npy"]));
        assert!(!check(&["a.npy", "./a.npy"]));
        assert!(check(&["a.npz", "a.npz"]), "they become members 0 and 1");
        assert!(check(&["a.npz:x", "a.npz:y"]));
        assert!(!check(&["a.npz:x", "a.npz:x"]));
        assert!(check(&["-", "./-", "a.npy"]));
        assert!(!check(&["-", "/dev/stdout"]));
    }

    #[test]
    fn names_of_formats() {
        let check = |text: &str| check_places(&[(0, Place::parse(text).unwrap())]);
        for good in ["a", "a.npy", "A.NPZ", "b.npz:x", "c.zarr", "-", "/dev/null"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, named) in [("x.csv", "name it x.npy"), ("d/y.tar.gz", "name it d/y.tar.npy")] {
            let message = check(bad).unwrap_err().text();
            assert!(message.starts_with(bad) && message.contains(named), "{message}");
            assert!(message.contains(".npy, .npz and .zarr"), "{message}");
        }
    }
}
