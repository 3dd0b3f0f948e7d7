//! The objects of an array by their keys, wherever they are: in a directory, in an archive, behind a URL.
//!
//! Reading, journals, locks and the listing of chunks use nothing else. Each place keeps what it can promise:
//!
//! | | directory | object store | web server, archive |
//! |---|---|---|---|
//! | a chunk is there whole or not at all | renamed | one request | read only |
//! | chunks are listed | yes | yes | archives |
//! | a finished block is recorded | before its chunk gets its name | with its batch | |
//! | one run at a time | file locks | a lease | |

use super::error::ZarrError;
use super::payload::Payload;
use super::{directory::Directory, v2};
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Prefix of ijk's own objects: readers of Zarr look only for metadata and chunks.
pub(super) const OWN: &str = ".ijk";

/// The metadata of an array or a group.
pub(super) const METADATA: &str = "zarr.json";

/// The most bytes of metadata that are read.
const MOST: u64 = 16 << 20;

/// An object that is read from its start, and its length.
pub(super) type Object = (Box<dyn Read + Send>, u64);

/// Range of bytes of an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum ByteRange {
    /// From a byte on, that many.
    At(u64, usize),
    /// The last ones.
    Last(usize),
}

impl ByteRange {
    /// The start and the length of the part of an object of that length.
    pub(super) fn within(self, whole: u64) -> (u64, u64) {
        match self {
            Self::At(start, length) => (start, whole.saturating_sub(start).min(length as u64)),
            Self::Last(length) => {
                let length = whole.min(length as u64);
                (whole - length, length)
            }
        }
    }
}

/// Lengths of objects by their keys.
pub(super) type Lengths = HashMap<String, u64>;

/// A place of objects.
pub(super) trait Storage: Send + Sync + fmt::Debug {
    /// Its path or URL.
    fn path(&self) -> &Path;

    /// Its directory, if it is one of this machine.
    fn directory(&self) -> Option<&Path> {
        None
    }

    /// An object, if it is there.
    fn open(&self, key: &str) -> Result<Option<Object>, ZarrError>;

    /// Asks for an object that is opened soon, where it can come meanwhile; all of it, unless it is longer than `most`.
    fn request(&self, _key: &str, _most: u64) -> Result<Option<Box<dyn Requested>>, ZarrError> {
        Ok(None)
    }

    /// Returns true if objects can be asked for.
    fn is_far(&self) -> bool {
        false
    }

    /// Bytes of an object, if it is there; fewer where it ends before.
    fn part(&self, key: &str, part: ByteRange) -> Result<Option<Vec<u8>>, ZarrError>;

    /// The length of an object, if it is there.
    fn length(&self, key: &str) -> Result<Option<u64>, ZarrError>;

    /// Visits everything that is `depth` names below a prefix, by its key; returns false if that cannot be listed.
    fn visit(
        &self,
        under: &str,
        depth: usize,
        visit: &mut dyn FnMut(&str),
    ) -> Result<bool, ZarrError>;

    /// Lengths of everything that is `depth` names below a prefix, where one listing has them.
    fn lengths(&self, _under: &str, _depth: usize) -> Result<Option<Lengths>, ZarrError> {
        Ok(None)
    }

    /// Names of the places in this one; some of them, if there are many.
    fn members(&self) -> Vec<String>;

    /// A place in this one.
    fn member(&self, name: &str) -> Files;

    /// The place that this one is in, and its name there.
    fn above(&self) -> Option<(Files, String)>;

    /// Returns true if there is something even without metadata: a directory.
    fn exists(&self) -> bool {
        false
    }

    /// Why there are no metadata.
    fn absence(&self) -> ZarrError;

    /// A text that changes with the contents of an array.
    fn identity(&self) -> Result<String, ZarrError>;

    /// The same place, if it can wait long: its waiting ends soon after a flag is set, if there is one.
    fn until(&self, _flag: Option<&Arc<AtomicBool>>) -> Option<Files> {
        None
    }

    /// Access for writing.
    fn writer(&self) -> Result<&dyn Writer, ZarrError>;
}

/// An object that comes.
pub(super) trait Requested: Send + fmt::Debug {
    /// Returns true if it is opened without waiting.
    fn is_there(&self) -> bool;

    /// The object, if it is one.
    fn open(self: Box<Self>) -> Result<Option<Object>, ZarrError>;
}

/// A chunk that is being written. Dropping it waits for that.
pub(super) trait Upload: Send + fmt::Debug {
    /// Returns true if that has ended.
    fn is_over(&self) -> bool;

    /// Waits for the end.
    fn end(self: Box<Self>) -> Result<(), ZarrError>;
}

/// Work that follows when a chunk is written.
pub(super) type Recording = Box<dyn FnOnce() -> Result<(), ZarrError> + Send>;

/// A place of objects that are written.
pub(super) trait Writer: Send + Sync {
    /// Makes the place, and ours in it.
    fn prepare(&self) -> Result<(), ZarrError>;

    /// Writes an object atomically, even if this process is killed.
    fn write(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError>;

    /// The same; it outlasts a loss of power.
    fn write_through(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError>;

    /// Writes an object that is not there; it is an error if it is.
    fn write_new(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError>;

    /// Replaces an object that was read before, atomically; returns false if it has changed since, where the place can
    /// tell.
    fn replace(&self, key: &str, old: &[u8], new: &[u8]) -> Result<bool, ZarrError>;

    /// Writes a chunk atomically, and calls `record` as late as the place allows before it can be read, or at once
    /// after that.
    fn write_chunk(
        &self,
        key: &str,
        chunk: Payload,
        record: &mut dyn FnMut() -> Result<(), ZarrError>,
    ) -> Result<(), ZarrError>;

    /// The same without waiting, where the place is far away: `record` is called in between.
    fn send_chunk(
        &self,
        key: &str,
        chunk: Payload,
        record: Recording,
    ) -> Result<Option<Box<dyn Upload>>, ZarrError> {
        let mut record = Some(record);
        let mut once = || record.take().map_or(Ok(()), |record| record());
        self.write_chunk(key, chunk, &mut once).map(|()| None)
    }

    /// Makes objects outlast a loss of power.
    fn sync(&self, keys: &[String]) -> Result<(), ZarrError>;

    /// Removes what is at some keys, if it is there. Of what is ijk's own that outlasts a loss of power.
    fn remove(&self, keys: &[String]) -> Result<(), ZarrError>;

    /// Removes an array, but neither what ijk keeps of it nor anything else that may be there.
    fn clear(&self) -> Result<(), ZarrError>;

    /// Returns true if nothing is there yet but what a run left that ended before it wrote anything.
    fn is_free(&self) -> Result<bool, ZarrError>;

    /// Returns true if there is something of ijk's own.
    fn has_own(&self) -> Result<bool, ZarrError>;

    /// Removes temporary objects of processes that were killed.
    fn sweep(&self) -> Result<(), ZarrError>;

    /// Removes temporary objects of this process.
    fn abandon(&self) -> Result<(), ZarrError>;

    /// A new log of ijk's own, for about that many bytes.
    fn log(&self, bytes: u64) -> Result<Box<dyn Log>, ZarrError>;

    /// Keeps others from writing.
    fn lock(&self) -> Result<Box<dyn Hold>, ZarrError>;

    /// Takes part in what the first process of a run has locked.
    fn join(&self) -> Result<Box<dyn Hold>, ZarrError>;
}

/// Lines that are appended.
pub(super) trait Log: Send + Sync + fmt::Debug {
    /// Appends whole lines.
    fn append(&self, lines: &str) -> Result<(), ZarrError>;

    /// Makes all lines outlast a loss of power.
    fn sync(&self) -> Result<(), ZarrError>;
}

/// Keeps others from writing an array, as long as it lives.
pub(super) trait Hold: Send + Sync + fmt::Debug {
    /// Holds what is there, too, after the place was found free or that of the same computation. Returns true if another
    /// process may have changed that since it was found.
    fn enter(&mut self) -> Result<bool, ZarrError>;

    /// Lets the other processes of the run take part.
    fn share(&mut self) -> Result<(), ZarrError>;

    /// Returns true if what was locked is still there.
    fn is_in_place(&self) -> bool;

    /// Returns true if it is still held, as far as this process knows.
    fn is_held(&self) -> bool {
        true
    }
}

/// The place of an array.
#[derive(Clone, Debug)]
pub(super) struct Files(Arc<dyn Storage>);

impl Deref for Files {
    type Target = dyn Storage;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Files {
    /// A directory.
    pub(super) fn new(root: &Path) -> Self {
        Self::at(Directory::new(root))
    }

    pub(super) fn at(storage: impl Storage + 'static) -> Self {
        Self(Arc::new(storage))
    }

    /// The same place for what is to be written also where a run is stopped.
    pub(super) fn steadfast(&self) -> Self {
        self.until(None).unwrap_or_else(|| self.clone())
    }

    /// Its path or URL as text.
    pub(super) fn name(&self) -> String {
        self.path().display().to_string()
    }

    /// The text of `zarr.json`.
    pub(super) fn metadata(&self) -> Result<Vec<u8>, ZarrError> {
        self.text(METADATA)?.ok_or_else(|| self.absence())
    }

    /// The text of `zarr.json`, or what it would be for an array of format 2.
    pub(super) fn description(&self) -> Result<Vec<u8>, ZarrError> {
        if let Some(text) = self.text(METADATA)? {
            return Ok(text);
        }
        match self.text(v2::ARRAY)? {
            Some(array) => v2::as_v3(&array, self.text(v2::ATTRIBUTES)?.as_deref()),
            None if self.length(v2::GROUP)?.is_some() => {
                Err(ZarrError::Group { arrays: Vec::new() })
            }
            None => Err(self.absence()),
        }
    }

    /// The bytes of a small object.
    pub(super) fn text(&self, key: &str) -> Result<Option<Vec<u8>>, ZarrError> {
        let Some((object, found)) = self.open(key)? else { return Ok(None) };
        if found > MOST {
            return Err(ZarrError::LongMetadata { key: key.into(), found, most: MOST });
        }
        let mut text = Vec::new();
        object.take(MOST).read_to_end(&mut text)?;
        Ok(Some(text))
    }

    /// Checks that an array may be removed: it is one, or an unfinished one, or nothing is there.
    pub(super) fn check_removable(&self, is_free: bool) -> Result<(), ZarrError> {
        if !is_free && !self.writer()?.has_own()? {
            // Else it is no array of format 3.
            super::metadata::Layout::parse(&self.metadata()?)?;
        }
        Ok(())
    }
}
