//! Arrays in zip archives.
//!
//! Members are objects, and what is stored is read where it is, by any number of threads. Checksums of members are
//! compared when they are read to their ends.

use super::error::ZarrError;
use super::storage::{ByteRange, Files, METADATA, Object, Storage, Writer};
use super::v2;
use crate::store::Digest;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;
use zip::{CompressionMethod, ZipArchive};

/// Most arrays that a message names.
const NAMED: usize = 8;

/// An archive, or a directory in it.
#[derive(Clone, Debug)]
pub(super) struct Archive {
    /// The path of the archive, with the path in it.
    path: PathBuf,
    opened: Arc<Opened>,
    /// Names of members begin so; empty, or with a slash at the end.
    prefix: String,
}

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    file: Arc<File>,
    members: BTreeMap<String, Member>,
}

/// A member's bytes in the archive's file.
#[derive(Clone, Copy, Debug)]
struct Member {
    start: u64,
    stored: u64,
    length: u64,
    checksum: u32,
    method: CompressionMethod,
    is_encrypted: bool,
}

impl Archive {
    /// Returns true if a path is that of an archive: by its name, unless a directory has that.
    pub(super) fn is_named(path: &Path) -> bool {
        path.extension().is_some_and(|e| e.eq_ignore_ascii_case("zip")) && !path.is_dir()
    }

    /// The archive that a path leads to or into, if it is one.
    pub(super) fn around(path: &Path) -> Result<Option<Self>, ZarrError> {
        let Some(file) = path.ancestors().find(|path| Self::is_named(path)) else {
            return Ok(None);
        };
        if !file.exists() {
            return Err(ZarrError::NoArchive);
        }
        let within = path.strip_prefix(file).unwrap_or(Path::new(""));
        let names: Vec<_> = within.iter().map(|name| name.to_string_lossy()).collect();
        let prefix = names.iter().map(|name| format!("{name}/")).collect();
        Ok(Some(Self { path: path.into(), opened: Arc::new(Opened::new(file)?), prefix }))
    }

    /// Reads all members to their ends, which compares their checksums; an error names the first one that differs.
    pub(super) fn verify(&self, stop: Option<&AtomicBool>) -> Result<(), ZarrError> {
        for (name, member) in &self.opened.members {
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(ZarrError::Interrupted);
            }
            let read = self.opened.read(member).and_then(|(mut object, _)| {
                io::copy(&mut object, &mut io::sink())?;
                Ok(())
            });
            read.map_err(|problem| ZarrError::Damaged {
                key: name.clone(),
                why: problem.to_string(),
            })?;
        }
        Ok(())
    }

    fn member_at(&self, key: &str) -> Option<Member> {
        self.opened.members.get(&format!("{}{key}", self.prefix)).copied()
    }

    /// Keys of all members below a prefix, which ends with a slash or is empty.
    fn below(&self, under: &str) -> impl Iterator<Item = &str> {
        let start = format!("{}{under}", self.prefix);
        let names = self.opened.members.range(start.clone()..).map(|(name, _)| &name[..]);
        let keys = names.take_while(move |name| name.starts_with(&start));
        keys.filter_map(|name| name.strip_prefix(&*self.prefix))
    }
}

impl Opened {
    fn new(path: &Path) -> Result<Self, ZarrError> {
        let file = Arc::new(File::open(path)?);
        let reader = BufReader::new(Positioned { file: Arc::clone(&file), at: 0 });
        let mut archive = ZipArchive::new(reader).map_err(wrong)?;
        let mut members = BTreeMap::new();
        for number in 0..archive.len() {
            let entry = archive.by_index_raw(number).map_err(wrong)?;
            let member = Member {
                start: entry.data_start().unwrap_or(u64::MAX),
                stored: entry.compressed_size(),
                length: entry.size(),
                checksum: entry.crc32(),
                method: entry.compression(),
                is_encrypted: entry.encrypted(),
            };
            members.insert(entry.name().map_err(wrong)?.into_owned(), member);
        }
        Ok(Self { path: path.into(), file, members })
    }

    /// The archive's bytes from a place on.
    fn from(&self, at: u64) -> Positioned {
        Positioned { file: Arc::clone(&self.file), at }
    }

    fn read(&self, member: &Member) -> Result<Object, ZarrError> {
        if member.is_encrypted {
            return Err(ZarrError::Archive("members are encrypted".into()));
        }
        let bytes = self.from(member.start).take(member.stored);
        let (left, expected) = (member.length, member.checksum);
        let reader: Box<dyn Read + Send> = match member.method {
            CompressionMethod::Stored => Box::new(Checked::new(bytes, left, expected)),
            CompressionMethod::Deflated => {
                Box::new(Checked::new(DeflateDecoder::new(BufReader::new(bytes)), left, expected))
            }
            method => {
                let why = format!(
                    "members compressed by {method} are not read; stored and deflated ones are"
                );
                return Err(ZarrError::Archive(why));
            }
        };
        Ok((reader, member.length))
    }
}

#[cold]
pub(super) fn wrong(error: zip::result::ZipError) -> ZarrError {
    match error {
        zip::result::ZipError::Io(error) => ZarrError::Io(error),
        error => ZarrError::Archive(error.to_string()),
    }
}

impl Storage for Archive {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self, key: &str) -> Result<Option<Object>, ZarrError> {
        self.member_at(key).map(|member| self.opened.read(&member)).transpose()
    }

    fn part(&self, key: &str, part: ByteRange) -> Result<Option<Vec<u8>>, ZarrError> {
        let Some(member) = self.member_at(key) else { return Ok(None) };
        let (start, length) = part.within(member.length);
        let mut bytes = Vec::new();
        if member.method == CompressionMethod::Stored && !member.is_encrypted {
            let at = member.start.saturating_add(start);
            let length = length.min(member.stored.saturating_sub(start));
            self.opened.from(at).take(length).read_to_end(&mut bytes)?;
            return Ok(Some(bytes));
        }
        let (mut object, _) = self.opened.read(&member)?;
        io::copy(&mut object.by_ref().take(start), &mut io::sink())?;
        object.take(length).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn length(&self, key: &str) -> Result<Option<u64>, ZarrError> {
        Ok(self.member_at(key).map(|member| member.length))
    }

    fn visit(
        &self,
        under: &str,
        depth: usize,
        visit: &mut dyn FnMut(&str),
    ) -> Result<bool, ZarrError> {
        if depth == 0 {
            if self.member_at(under).is_some() {
                visit(under);
            }
            return Ok(true);
        }
        let under = if under.is_empty() { String::new() } else { format!("{under}/") };
        let is_at_depth = |key: &&str| key[under.len()..].split('/').count() == depth;
        self.below(&under).filter(is_at_depth).for_each(visit);
        Ok(true)
    }

    fn members(&self) -> Vec<String> {
        let names = self.below("").filter_map(|key| Some(key.split_once('/')?.0.to_owned()));
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn member(&self, name: &str) -> Files {
        let (opened, prefix) = (Arc::clone(&self.opened), format!("{}{name}/", self.prefix));
        Files::at(Self { path: self.path.join(name), opened, prefix })
    }

    fn above(&self) -> Option<(Files, String)> {
        let (before, name) = match self.prefix.strip_suffix('/')?.rsplit_once('/') {
            Some((before, name)) => (format!("{before}/"), name),
            None => (String::new(), self.prefix.strip_suffix('/')?),
        };
        let (path, opened) = (self.path.parent()?.into(), Arc::clone(&self.opened));
        Some((Files::at(Self { path, opened, prefix: before }), name.to_owned()))
    }

    fn exists(&self) -> bool {
        self.below("").next().is_some()
    }

    fn absence(&self) -> ZarrError {
        let metadata = |key: &'_ str| {
            let (place, name) = key.rsplit_once('/')?;
            [METADATA, v2::ARRAY].contains(&name).then(|| place.to_owned())
        };
        ZarrError::NoRoot { arrays: self.below("").filter_map(metadata).take(NAMED).collect() }
    }

    fn identity(&self) -> Result<String, ZarrError> {
        let mut digest = Digest::new();
        digest.add(&Files::at(self.clone()).description()?);
        let meta = self.opened.path.metadata()?;
        let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        digest.add(&changed.map_or(0, |time| time.as_nanos()).to_le_bytes());
        Ok(format!("an archive of {} bytes, {}", meta.len(), digest.finish()))
    }

    fn writer(&self) -> Result<&dyn Writer, ZarrError> {
        Err(ZarrError::ArchiveMember)
    }
}

/// A file with a position of its own.
#[derive(Clone, Debug)]
struct Positioned {
    file: Arc<File>,
    at: u64,
}

impl Read for Positioned {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(&*self.file, bytes, self.at)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(&*self.file, bytes, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Positioned {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.file.metadata()?.len(), by),
        };
        let at = from.checked_add_signed(by);
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

/// A reader whose bytes are as many as they should be, with the checksum that they should have.
struct Checked<R> {
    inner: R,
    left: u64,
    crc: Crc,
    expected: u32,
}

impl<R: Read> Checked<R> {
    fn new(inner: R, left: u64, expected: u32) -> Self {
        Self { inner, left, crc: Crc::new(), expected }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        if most == 0 {
            return Ok(0);
        }
        let count = self.inner.read(&mut bytes[..most])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        self.crc.update(&bytes[..count]);
        match self.left > 0 || self.crc.sum() == self.expected {
            true => Ok(count),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum differs")),
        }
    }
}
