//! Journals of finished blocks: chunks, with their lengths and checksums, and blocks without a chunk, all of whose
//! elements are the fill value.
//!
//! Every process that writes an array has a journal of its own in `.ijk`. In directories, a line for a chunk is
//! written just before the chunk's file gets its name, so that a process that is killed loses no existing chunk; object
//! stores have no files that grow, so lines go there in batches. A thread of the journal syncs in batches: first chunks,
//! then the journal. The manifest marks a result complete only after the last batch. A line
//! is valid only with its own checksum, which a truncated one lacks, and with a chunk of the recorded length and
//! checksum.

use super::directory::LOG;
use super::error::ZarrError;
use super::spans::Spans;
use super::storage::{Files, Log, OWN};
use crate::store::together;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use twox_hash::XxHash64;

/// A batch is synced when it has that many bytes or blocks, or after that time.
const BYTES: u64 = 64 << 20;
const BLOCKS: usize = 4096;
const TIME: Duration = Duration::from_secs(2);

/// Number of blocks without a chunk that are recorded together.
const EMPTY: usize = 256;

/// Approximate bytes of a line.
const LINE: u64 = 80;

/// Most bytes that are reserved for lines.
const RESERVED: u64 = 1 << 20;

/// A chunk as it was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Chunk {
    /// Bytes of its file.
    pub(super) length: u64,
    /// xxHash64 of these bytes.
    pub(super) xxh64: u64,
}

impl Chunk {
    /// A chunk whose file has these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u64, xxh64: XxHash64::oneshot(0, bytes) }
    }
}

/// A line of a journal. Blocks have numbers, the last axis of the grid fastest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Record {
    Chunk {
        block: u64,
        #[serde(flatten)]
        chunk: Chunk,
    },
    /// Blocks without a chunk.
    Empty { from: u64, to: u64 },
}

impl Record {
    /// The line as text: JSON, and a checksum of that.
    fn text(&self) -> Result<String, ZarrError> {
        let json = serde_json::to_string(self);
        let json = json.map_err(|error| ZarrError::Manifest(error.to_string()))?;
        Ok(format!("{json}\t{}\n", checksum(json.as_bytes())))
    }

    /// A line that is whole.
    fn parse(line: &[u8]) -> Option<Self> {
        let (json, sum) = line.split_at(line.iter().position(|&byte| byte == b'\t')?);
        let is_whole = sum[1..] == *checksum(json).as_bytes();
        is_whole.then(|| serde_json::from_slice(json).ok())?
    }
}

fn checksum(json: &[u8]) -> String {
    format!("{:016x}", XxHash64::oneshot(0, json))
}

/// Contents of the journals.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// Of several records of a block, any may be of what is there.
    pub(super) chunks: HashMap<u64, Vec<Chunk>>,
    pub(super) empty: Spans,
    /// Number of journals.
    pub(super) journals: usize,
}

impl Records {
    /// The records of all journals of an array.
    pub(super) fn read(files: &Files) -> Result<Self, ZarrError> {
        let (names, mut empty) = (names(files)?, Vec::new());
        let mut all = Self { journals: names.len(), ..Self::default() };
        for text in together::each(files.is_far(), &names, |name| journal(files, name)) {
            for line in text?.split(|&byte| byte == b'\n') {
                match Record::parse(line) {
                    Some(Record::Chunk { block, chunk }) => {
                        all.chunks.entry(block).or_default().push(chunk);
                    }
                    Some(Record::Empty { from, to }) => empty.push(from..to),
                    None => {}
                }
            }
        }
        all.empty = empty.into_iter().collect();
        Ok(all)
    }

    /// Number of the blocks below `blocks` that are recorded.
    pub(super) fn count(&self, blocks: u64) -> u64 {
        let is_chunk = |block: &&u64| **block < blocks && !self.empty.contains(**block);
        let chunks = self.chunks.keys().filter(is_chunk).count() as u64;
        chunks
            + self
                .empty
                .iter()
                .map(|span| span.end.min(blocks).saturating_sub(span.start))
                .sum::<u64>()
    }

    /// Writes these records as the only journal of an array.
    pub(super) fn replace(&self, files: &Files) -> Result<(), ZarrError> {
        let old = names(files)?;
        let chunks = self
            .chunks
            .iter()
            .flat_map(|(&block, all)| all.iter().map(move |chunk| (block, chunk)));
        let text = text(chunks, &self.empty)?;
        let writer = files.writer()?;
        writer.write_through(&unused(&old), text.as_bytes())?;
        writer.remove(&old)
    }

    /// Removes all journals of an array.
    pub(super) fn remove(files: &Files) -> Result<(), ZarrError> {
        files.writer()?.remove(&names(files)?)
    }
}

/// The text of a journal.
fn journal(files: &Files, name: &str) -> Result<Vec<u8>, ZarrError> {
    let mut text = Vec::new();
    if let Some((mut log, _)) = files.open(name)? {
        log.read_to_end(&mut text)?;
    }
    Ok(text)
}

/// The keys of all journals.
fn names(files: &Files) -> Result<Vec<String>, ZarrError> {
    let mut names = Vec::new();
    files.visit(OWN, 1, &mut |key| {
        let name = key.rsplit('/').next().unwrap_or(key);
        if name.starts_with(LOG.0) && name.ends_with(LOG.1) {
            names.push(key.to_owned());
        }
    })?;
    Ok(names)
}

/// The key of a journal that is not there.
fn unused(names: &[String]) -> String {
    let name = |n: usize| format!("{OWN}/{}{n}{}", LOG.0, LOG.1);
    (0..).map(name).find(|name| !names.contains(name)).unwrap_or_default()
}

fn text<'a>(
    chunks: impl Iterator<Item = (u64, &'a Chunk)>,
    empty: &Spans,
) -> Result<String, ZarrError> {
    let chunks = chunks.map(|(block, chunk)| Record::Chunk { block, chunk: chunk.clone() });
    let empty = empty.iter().map(|span| Record::Empty { from: span.start, to: span.end });
    chunks.chain(empty).map(|line| line.text()).collect()
}

/// The journal of this process.
#[derive(Debug)]
pub(super) struct Journal {
    shared: Arc<JournalShared>,
    /// Thread that syncs, started with the first record.
    syncer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct JournalShared {
    files: Files,
    /// Blocks of the array.
    blocks: u64,
    state: Mutex<JournalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct JournalState {
    batch: Batch,
    /// When the first block of the batch was added.
    since: Option<Instant>,
    log: Option<Arc<dyn Log>>,
    is_syncing: bool,
    /// Number of threads that wait until all is synced.
    waiting: usize,
    is_closing: bool,
    failed: Option<(io::ErrorKind, String)>,
}

/// Blocks that are written, but not synced.
#[derive(Debug, Default)]
struct Batch {
    /// Keys of chunks.
    chunks: Vec<String>,
    bytes: u64,
    /// Blocks without a chunk that are not recorded yet.
    empty: Vec<Range<u64>>,
    /// Records were added.
    is_recorded: bool,
}

impl Batch {
    fn is_empty(&self) -> bool {
        !self.is_recorded && self.empty.is_empty() && self.bytes == 0
    }

    fn is_full(&self) -> bool {
        self.bytes >= BYTES || self.chunks.len() >= BLOCKS
    }
}

impl Journal {
    /// A journal of an array of `blocks` blocks; its file is made with the first record.
    pub(super) fn new(files: &Files, blocks: u64) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(JournalShared { files: files.steadfast(), blocks, state, changed });
        Self { shared, syncer: Mutex::default() }
    }

    /// The same; some files are synced with the first blocks.
    pub(super) fn syncing(self, keys: &[&str]) -> Self {
        self.shared.lock().batch.chunks.extend(keys.iter().map(|&key| key.to_owned()));
        self
    }

    /// Records a block whose chunk is about to get its name.
    pub(super) fn record(&self, block: u64, chunk: &Chunk) -> Result<(), ZarrError> {
        self.change(|state| state.record(Some((block, chunk))))
    }

    /// Adds the chunk of a block that is recorded to what is to be synced.
    pub(super) fn add(&self, key: String, chunk: &Chunk) -> Result<(), ZarrError> {
        self.change(|state| {
            state.batch.bytes += chunk.length;
            state.batch.chunks.push(key);
            Ok(())
        })
    }

    /// Adds blocks that need no chunks.
    pub(super) fn add_empty(&self, blocks: Range<u64>) -> Result<(), ZarrError> {
        self.change(|state| {
            state.batch.empty.push(blocks);
            if state.batch.empty.len() < EMPTY { Ok(()) } else { state.record(None) }
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut JournalState) -> Result<(), ZarrError>,
    ) -> Result<(), ZarrError> {
        self.start()?;
        let mut state = self.shared.lock();
        state.check()?;
        let was_full = state.batch.is_full();
        change(&mut state)?;
        let is_first = state.since.is_none();
        state.since.get_or_insert_with(Instant::now);
        if is_first || (!was_full && state.batch.is_full()) {
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    /// Makes the log, and starts the thread that syncs.
    fn start(&self) -> Result<(), ZarrError> {
        let mut syncer = self.syncer.lock().unwrap_or_else(PoisonError::into_inner);
        if syncer.is_some() {
            return Ok(());
        }
        let mut state = self.shared.lock();
        if state.log.is_none() {
            let JournalShared { files, blocks, .. } = &*self.shared;
            let log = files.writer()?.log(RESERVED.min(blocks.saturating_mul(LINE)));
            state.log = Some(log?.into());
        }
        drop(state);
        let shared = Arc::clone(&self.shared);
        let thread = Builder::new().name("ijk:sync".into()).spawn(move || shared.run());
        *syncer = Some(thread?);
        Ok(())
    }

    /// Waits until all blocks that were added are synced and recorded.
    pub(super) fn flush(&self) -> Result<(), ZarrError> {
        let mut state = self.shared.lock();
        state.waiting += 1;
        self.shared.changed.notify_all();
        while state.failed.is_none() && (state.is_syncing || !state.batch.is_empty()) {
            let woken = self.shared.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        state.check()
    }
}

impl Drop for Journal {
    /// Records what is finished, whatever ended the run.
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        let syncer = self.syncer.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = syncer.take() {
            // It does not panic.
            thread.join().unwrap_or_default();
        }
    }
}

impl JournalState {
    /// Writes a line for a chunk, and before it for blocks without one.
    fn record(&mut self, chunk: Option<(u64, &Chunk)>) -> Result<(), ZarrError> {
        let empty = self.batch.empty.drain(..).collect();
        let lines = text(chunk.into_iter(), &empty)?;
        let Some(log) = &self.log else { return Ok(()) };
        if let Err(error) = log.append(&lines) {
            self.failed = Some(failure(&error));
        }
        self.batch.is_recorded = true;
        self.check()
    }

    /// Checks that nothing has failed.
    fn check(&self) -> Result<(), ZarrError> {
        match &self.failed {
            None => Ok(()),
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone()).into()),
        }
    }
}

impl JournalShared {
    fn lock(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs batches until the journal is dropped.
    fn run(&self) {
        let mut state = self.lock();
        loop {
            let age = state.since.map_or(Duration::ZERO, |since| since.elapsed());
            let is_due = state.batch.is_full() || age >= TIME || state.waiting > 0;
            if state.failed.is_some() || state.batch.is_empty() {
                if state.is_closing {
                    return;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else if is_due || state.is_closing {
                if state.record(None).is_err() {
                    self.changed.notify_all();
                    continue;
                }
                let (batch, log) = (std::mem::take(&mut state.batch), state.log.clone());
                (state.since, state.is_syncing) = (None, true);
                drop(state);
                let synced = self.sync(&batch, log.as_deref());
                state = self.lock();
                state.is_syncing = false;
                if let Err(error) = synced {
                    state.failed = Some(failure(&error));
                }
                self.changed.notify_all();
            } else {
                let woken = self.changed.wait_timeout(state, TIME - age);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Syncs the chunks of a batch, then the lines that name its blocks.
    fn sync(&self, batch: &Batch, log: Option<&dyn Log>) -> Result<(), ZarrError> {
        self.files.writer()?.sync(&batch.chunks)?;
        log.map_or(Ok(()), |log| log.sync())
    }
}

/// An error that all later calls return.
fn failure(error: &ZarrError) -> (io::ErrorKind, String) {
    match error {
        ZarrError::Io(error) => (error.kind(), error.to_string()),
        error => (io::ErrorKind::Other, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::new(directory.path());
        files.writer().unwrap().prepare().unwrap();
        (directory, files)
    }

    #[test]
    fn what_is_added_is_recorded_by_every_journal() {
        let (_directory, files) = files();
        let chunk = |n: u8| Chunk::of(&[n; 5]);
        let (one, other) = (Journal::new(&files, 30), Journal::new(&files, 30));
        for n in 0..9u8 {
            let key = format!("c/{n}");
            files.writer().unwrap().write(&key, &[n; 5]).unwrap();
            let journal = if n % 2 == 0 { &one } else { &other };
            journal.record(n.into(), &chunk(n)).unwrap();
            journal.add(key, &chunk(n)).unwrap();
        }
        // A process that is killed now has recorded all chunks.
        assert_eq!(Records::read(&files).unwrap().count(30), 9);
        one.add_empty(20..22).unwrap();
        (22..25).for_each(|n| one.add_empty(n..n + 1).unwrap());
        one.flush().unwrap();
        drop(other);
        let records = Records::read(&files).unwrap();
        assert_eq!((records.journals, records.count(22), records.count(30)), (2, 11, 14));
        assert!((0..9u8).all(|n| records.chunks[&n.into()] == [chunk(n)]));
        drop(one);
        records.replace(&files).unwrap();
        let again = Records::read(&files).unwrap();
        assert_eq!(
            (again.journals, &again.chunks, &again.empty),
            (1, &records.chunks, &records.empty)
        );
    }

    #[test]
    fn lines_that_were_cut_off_do_not_count() {
        let (_directory, files) = files();
        let chunk = Chunk::of(b"bytes");
        let whole = text([(7, &chunk)].into_iter(), &[3, 4].into_iter().collect()).unwrap();
        let ends: Vec<_> = whole.match_indices('\n').map(|(at, _)| at).collect();
        for length in 0..whole.len() {
            std::fs::write(files.path().join(".ijk/done-1.log"), &whole[..length]).unwrap();
            let records = Records::read(&files).unwrap();
            assert_eq!(records.chunks.len(), usize::from(length >= ends[0]), "{length}");
            assert_eq!(records.empty.len(), if length >= ends[1] { 2 } else { 0 }, "{length}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] ^= 1;
            std::fs::write(files.path().join(".ijk/done-1.log"), bytes).unwrap();
            let records = Records::read(&files).unwrap();
            assert!(records.chunks.len() + records.empty.len() as usize <= 2, "{at}");
        }
        // Blocks of zeros, as file systems leave them.
        std::fs::write(files.path().join(".ijk/done-1.log"), [&[0; 64], whole.as_bytes()].concat())
            .unwrap();
        assert_eq!(Records::read(&files).unwrap().count(9), 2);
    }

    #[test]
    fn a_chunk_that_is_gone_before_it_is_synced_is_an_error() {
        let (_directory, files) = files();
        let journal = Journal::new(&files, 9);
        journal.add("c/0".into(), &Chunk::of(b"1")).unwrap();
        assert!(matches!(journal.flush(), Err(ZarrError::Io(_))));
        assert!(journal.add_empty(1..2).is_err() && journal.flush().is_err());
    }
}
