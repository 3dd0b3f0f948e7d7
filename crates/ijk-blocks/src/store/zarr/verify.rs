//! Verifies recorded blocks, byte for byte.

use super::error::ZarrError;
use super::journal::{Chunk, Records};
use super::listing;
use super::metadata::Layout;
use super::storage::Files;
use crate::domain::Coordinates;
use crate::store::together;
use std::collections::HashMap;
use std::hash::Hasher;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};
use twox_hash::XxHash64;

/// Size of the pieces in which chunks are read.
const PIECE: usize = 1 << 20;

/// Result of the verification.
#[derive(Debug, Default)]
pub(super) struct Verified {
    pub(super) kept: Records,
    /// Number of recorded blocks that are missing or differ.
    pub(super) damaged: u64,
    /// Keys of chunks without a valid record.
    stale: Vec<String>,
}

/// An array, and what ends the reading of it early.
pub(super) struct Verifier<'a> {
    pub(super) files: &'a Files,
    pub(super) layout: &'a Layout,
    pub(super) threads: usize,
    pub(super) stop: Option<&'a AtomicBool>,
}

/// A block whose chunk is there, the key of that, and what was recorded of it.
type Candidate = (u64, String, Vec<Chunk>);

impl Verifier<'_> {
    /// Reads each chunk that is there once.
    pub(super) fn verify(&self) -> Result<Verified, ZarrError> {
        let grid = self.layout.ty.grid();
        let read = || Records::read(self.files);
        let (records, present) = together::both(self.files.is_far(), read, || self.present(&grid));
        let mut records = records?;
        let blocks = Coordinates::count(&grid) as u64;
        let recorded = records.count(blocks);
        let (mut candidates, mut stale) = (Vec::<Candidate>::new(), Vec::new());
        let mut filled = Vec::new();
        for (number, key) in present? {
            if records.empty.contains(number) {
                filled.push(number);
            }
            match records.chunks.remove(&number) {
                Some(chunks) => candidates.push((number, key, chunks)),
                None => stale.push(key),
            }
        }
        let found = self.read(&candidates)?;
        let mut kept = HashMap::new();
        for ((number, key, _), found) in candidates.into_iter().zip(found) {
            match found {
                Some(chunk) => drop(kept.insert(number, vec![chunk])),
                None => stale.push(key),
            }
        }
        // A block that needs no chunk has none.
        let spans = records.empty.iter().map(|span| span.start..span.end.min(blocks));
        let empty = if filled.is_empty() {
            spans.collect()
        } else {
            spans.flatten().filter(|number| filled.binary_search(number).is_err()).collect()
        };
        let kept = Records { chunks: kept, empty, journals: records.journals };
        let damaged = recorded - kept.count(blocks);
        Ok(Verified { kept, damaged, stale })
    }

    /// The blocks that have chunks, in ascending order, with their keys.
    fn present(&self, grid: &[usize]) -> Result<Vec<(u64, String)>, ZarrError> {
        let places = listing::chunks(self.files, self.layout)?.unwrap_or_default();
        let number = |at: &[usize]| {
            at.iter().zip(grid).fold(0, |number, (&at, &blocks)| number * blocks as u64 + at as u64)
        };
        let mut all: Vec<_> = places.iter().map(|at| (number(at), self.layout.key(at))).collect();
        all.sort();
        Ok(all)
    }

    /// For each candidate the record that its file is like.
    fn read(&self, candidates: &[Candidate]) -> Result<Vec<Option<Chunk>>, ZarrError> {
        let (next, problem) = (AtomicUsize::new(0), Mutex::new(None));
        let work = || {
            let (mut piece, mut found) = (vec![0; PIECE], Vec::new());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some((_, key, chunks)) = candidates.get(number) else { break };
                if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    break;
                }
                match self.like(key, chunks, &mut piece) {
                    Ok(chunk) => found.push((number, chunk)),
                    Err(error) => {
                        let mut problem = problem.lock().unwrap_or_else(PoisonError::into_inner);
                        problem.get_or_insert(error);
                        break;
                    }
                }
            }
            found
        };
        let others = self.threads.min(candidates.len()).saturating_sub(1);
        let found: Vec<_> = scope(|scope| {
            // Threads that cannot be started are done without.
            let threads: Vec<_> =
                (0..others).map_while(|_| Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut found = work();
            for thread in threads {
                found.extend(thread.join().unwrap_or_default());
            }
            found
        });
        if let Some(problem) = problem.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(problem);
        }
        if found.len() < candidates.len() {
            return Err(ZarrError::Interrupted);
        }
        let mut all = vec![None; candidates.len()];
        found.into_iter().for_each(|(number, chunk)| all[number] = chunk);
        Ok(all)
    }

    /// The record that a chunk is like.
    fn like(
        &self,
        key: &str,
        chunks: &[Chunk],
        piece: &mut [u8],
    ) -> Result<Option<Chunk>, ZarrError> {
        match self.digest(key, chunks, piece) {
            Ok(found) => Ok(chunks.iter().find(|chunk| Some(*chunk) == found.as_ref()).cloned()),
            // An unreadable chunk counts as damaged: a disk error, a directory or a broken link in place of a file.
            Err(ZarrError::Io(error)) if error.kind() != io::ErrorKind::PermissionDenied => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Length and checksum of a chunk that has the length of one of the records.
    fn digest(
        &self,
        key: &str,
        chunks: &[Chunk],
        piece: &mut [u8],
    ) -> Result<Option<Chunk>, ZarrError> {
        let Some((mut object, length)) = self.files.open(key)? else { return Ok(None) };
        if chunks.iter().all(|chunk| chunk.length != length) {
            return Ok(None);
        }
        let (mut hasher, mut read) = (XxHash64::with_seed(0), 0);
        loop {
            match object.read(piece) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.write(&piece[..count]);
                    read += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(Chunk { length: read, xxh64: hasher.finish() }))
    }
}

impl Verified {
    /// Removes chunks that are computed again, or that blocks turn out to need none of.
    pub(super) fn clear(&self, files: &Files) -> Result<(), ZarrError> {
        match self.stale.is_empty() {
            true => Ok(()),
            false => files.writer()?.remove(&self.stale),
        }
    }
}
