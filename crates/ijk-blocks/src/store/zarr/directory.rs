//! Arrays in directories: objects are files.

use super::durable::{self, sync_directory};
use super::error::ZarrError;
use super::location::resolved;
use super::lock::Lock;
use super::payload::Payload;
use super::storage::{ByteRange, Files, Hold, Log, METADATA, OWN, Object, Storage, Writer};
use super::v2;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Suffix of files that are being written.
const TEMPORARY: &str = ".tmp";

/// Most members of a group that are looked at.
const MEMBERS: usize = 4096;

/// Prefix and suffix of logs.
pub(super) const LOG: (&str, &str) = ("done-", ".log");

/// Prefix of files that this process is writing.
fn temporary_prefix() -> String {
    format!("writing-{}-", std::process::id())
}

/// The directory of an array.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    root: PathBuf,
}

impl Directory {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.into() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a key.
    pub(super) fn file(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// A file and its length, if it is there.
    fn opened(&self, key: &str) -> Result<Option<(File, u64)>, ZarrError> {
        let file = match File::open(self.file(key)) {
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

    /// A file of some bytes under another name.
    fn written(&self, bytes: &[u8]) -> Result<NamedTempFile, ZarrError> {
        let mut builder = tempfile::Builder::new();
        let prefix = temporary_prefix();
        builder.prefix(&prefix).suffix(TEMPORARY);
        #[cfg(unix)]
        {
            // Permissions of a new file: all but those of the user's mask.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(self.file(OWN)).map_err(ZarrError::of_writing)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Gives a file its name.
    fn name(&self, file: NamedTempFile, key: &str) -> Result<(), ZarrError> {
        let path = self.file(key);
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

    fn sweep_if(&self, is_left: impl Fn(&str) -> bool) -> Result<(), ZarrError> {
        each(&self.file(OWN), &mut |name| match is_left(name) {
            true => remove(&self.file(OWN).join(name)),
            false => Ok(()),
        })
    }

    /// Visits entries below a directory, whose key is given, at a depth.
    fn walk(&self, key: &str, depth: usize, visit: &mut dyn FnMut(&str)) -> Result<(), ZarrError> {
        each(&self.file(key), &mut |name| {
            let key = if key.is_empty() { name.to_owned() } else { format!("{key}/{name}") };
            match depth {
                0 | 1 => {
                    visit(&key);
                    Ok(())
                }
                // Our own directory is not part of the array.
                _ if key == OWN => Ok(()),
                _ => self.walk(&key, depth - 1, visit),
            }
        })
    }
}

impl Storage for Directory {
    fn path(&self) -> &Path {
        &self.root
    }

    fn directory(&self) -> Option<&Path> {
        Some(&self.root)
    }

    fn open(&self, key: &str) -> Result<Option<Object>, ZarrError> {
        Ok(self.opened(key)?.map(|(file, length)| (Box::new(file) as _, length)))
    }

    fn part(&self, key: &str, part: ByteRange) -> Result<Option<Vec<u8>>, ZarrError> {
        let Some((mut file, found)) = self.opened(key)? else { return Ok(None) };
        let (start, length) = part.within(found);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(length).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn length(&self, key: &str) -> Result<Option<u64>, ZarrError> {
        Ok(fs::metadata(self.file(key)).ok().filter(fs::Metadata::is_file).map(|meta| meta.len()))
    }

    fn visit(
        &self,
        under: &str,
        depth: usize,
        visit: &mut dyn FnMut(&str),
    ) -> Result<bool, ZarrError> {
        match depth {
            0 if fs::symlink_metadata(self.file(under)).is_ok() => visit(under),
            0 => {}
            _ => self.walk(under, depth, visit)?,
        }
        Ok(true)
    }

    fn members(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten().take(MEMBERS);
        let members = entries.filter(|entry| entry.path().is_dir());
        members.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn member(&self, name: &str) -> Files {
        Files::new(&self.root.join(name))
    }

    fn above(&self) -> Option<(Files, String)> {
        let path = resolved(&self.root);
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((Files::new(path.parent()?), name))
    }

    fn exists(&self) -> bool {
        self.root.exists()
    }

    fn absence(&self) -> ZarrError {
        match fs::metadata(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => ZarrError::Missing,
            Err(error) => error.into(),
            Ok(meta) if !meta.is_dir() => ZarrError::File,
            Ok(_) if self.file(v2::ARRAY).exists() || self.file(v2::GROUP).exists() => {
                ZarrError::Version2
            }
            Ok(_) => ZarrError::NoMetadata,
        }
    }

    fn identity(&self) -> Result<String, ZarrError> {
        super::identity::of(&self.root, &Files::new(&self.root).description()?)
    }

    fn writer(&self) -> Result<&dyn Writer, ZarrError> {
        Ok(self)
    }
}

impl Writer for Directory {
    fn prepare(&self) -> Result<(), ZarrError> {
        Ok(fs::create_dir_all(self.file(OWN))?)
    }

    fn write(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        self.name(self.written(bytes)?, key)
    }

    fn write_through(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        let file = self.written(bytes)?;
        file.as_file().sync_all()?;
        self.name(file, key)?;
        let path = self.file(key);
        Ok(path.parent().map_or(Ok(()), sync_directory)?)
    }

    fn write_new(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        let path = self.file(key);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        Ok(File::create_new(path)?.write_all(bytes)?)
    }

    fn replace(&self, key: &str, _: &[u8], new: &[u8]) -> Result<bool, ZarrError> {
        let path = self.file(key);
        let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
        file.write_all(new)?;
        file.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(true)
    }

    /// A process that is killed has recorded all chunks that have their name.
    fn write_chunk(
        &self,
        key: &str,
        chunk: Payload,
        record: &mut dyn FnMut() -> Result<(), ZarrError>,
    ) -> Result<(), ZarrError> {
        let file = self.written(chunk.as_ref())?;
        record()?;
        self.name(file, key)
    }

    fn sync(&self, keys: &[String]) -> Result<(), ZarrError> {
        let files: Vec<_> = keys.iter().map(|key| self.file(key)).collect();
        Ok(durable::sync(&self.root, &files)?)
    }

    fn remove(&self, keys: &[String]) -> Result<(), ZarrError> {
        keys.iter().try_for_each(|key| remove(&self.file(key)))?;
        match keys.iter().any(|key| key.starts_with(OWN)) {
            true => Ok(sync_directory(&self.file(OWN))?),
            false => Ok(()),
        }
    }

    fn clear(&self) -> Result<(), ZarrError> {
        // Without metadata, the remaining files are no array to any reader.
        remove(&self.file(METADATA))?;
        sync_directory(&self.root)?;
        each(&self.root, &mut |name| match is_of_chunks(name) {
            true => remove(&self.file(name)),
            false => Ok(()),
        })
    }

    fn is_free(&self) -> Result<bool, ZarrError> {
        Ok(match fs::read_dir(&self.root) {
            // A run that ended before it wrote anything leaves only this directory.
            Ok(mut entries) => {
                entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == OWN))
            }
            Err(_) => fs::symlink_metadata(&self.root).is_err(),
        })
    }

    fn has_own(&self) -> Result<bool, ZarrError> {
        Ok(self.file(OWN).is_dir())
    }

    fn sweep(&self) -> Result<(), ZarrError> {
        self.sweep_if(|name| super::scratch::is_scratch(name) || name.ends_with(TEMPORARY))
    }

    fn abandon(&self) -> Result<(), ZarrError> {
        let own = [temporary_prefix(), super::scratch::own_prefix()];
        self.sweep_if(|name| own.iter().any(|prefix| name.starts_with(prefix)))
    }

    fn log(&self, bytes: u64) -> Result<Box<dyn Log>, ZarrError> {
        let directory = self.file(OWN);
        let file = tempfile::Builder::new().prefix(LOG.0).suffix(LOG.1).tempfile_in(&directory);
        let (file, _) = file.map_err(ZarrError::of_writing)?.keep().map_err(|error| error.error)?;
        durable::reserve(&file, bytes);
        Ok(Box::new(FileLog { file, directory }))
    }

    fn lock(&self) -> Result<Box<dyn Hold>, ZarrError> {
        Ok(Box::new(Lock::beside(self)?))
    }

    fn join(&self) -> Result<Box<dyn Hold>, ZarrError> {
        Ok(Box::new(Lock::join(self)?))
    }
}

/// A file that lines are appended to.
#[derive(Debug)]
struct FileLog {
    file: File,
    directory: PathBuf,
}

impl Log for FileLog {
    fn append(&self, lines: &str) -> Result<(), ZarrError> {
        // All at once: what is there is whole lines, and perhaps a part of one.
        Ok((&self.file).write_all(lines.as_bytes())?)
    }

    fn sync(&self) -> Result<(), ZarrError> {
        self.file.sync_data()?;
        Ok(sync_directory(&self.directory)?)
    }
}

/// Returns true if the first name of a key is one that chunks have.
pub(super) fn is_of_chunks(name: &str) -> bool {
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit());
    name == "c" || name.starts_with("c.") || name.split('.').all(is_number)
}

/// Removes a file or a directory, if it is there.
fn remove(path: &Path) -> Result<(), ZarrError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if !is_missing(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Visits the names of a directory, of which there are none where it is none.
fn each(
    directory: &Path,
    visit: &mut dyn FnMut(&str) -> Result<(), ZarrError>,
) -> Result<(), ZarrError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let name = entry?.file_name();
        name.to_str().map_or(Ok(()), &mut *visit)?;
    }
    Ok(())
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
