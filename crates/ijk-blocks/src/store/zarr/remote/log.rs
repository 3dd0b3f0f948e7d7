//! Logs in objects, which cannot grow.
//!
//! Lines are written with each batch: the object of the log is replaced by a longer one, until it is long enough and the
//! next one begins. So a process that is killed loses the lines of its last batch, and their blocks are computed again.

use super::super::directory::LOG;
use super::super::error::ZarrError;
use super::super::storage::{Log, OWN};
use super::Remote;
use bytes::Bytes;
use std::sync::{Mutex, PoisonError};

/// Bytes from which on the next object begins.
const LONG: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct ObjectLog {
    place: Remote,
    /// Names of its objects begin so.
    name: String,
    state: Mutex<LogState>,
}

#[derive(Debug, Default)]
struct LogState {
    /// The lines of the last object.
    lines: String,
    /// Bytes of them that are written.
    written: usize,
    /// Objects before.
    objects: usize,
}

impl ObjectLog {
    pub(super) fn new(place: Remote) -> Result<Self, ZarrError> {
        let name = format!("{OWN}/{}{}", LOG.0, super::lease::random_name()?);
        Ok(Self { place, name, state: Mutex::default() })
    }
}

impl Log for ObjectLog {
    fn append(&self, lines: &str) -> Result<(), ZarrError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.lines.push_str(lines);
        Ok(())
    }

    fn sync(&self) -> Result<(), ZarrError> {
        // Lines may be appended meanwhile.
        let (lines, objects) = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.lines.len() == state.written {
                return Ok(());
            }
            (state.lines.clone(), state.objects)
        };
        let (length, key) = (lines.len(), format!("{}-{objects}{}", self.name, LOG.1));
        self.place.put(&key, Bytes::from(lines))?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match length < LONG {
            true => state.written = length,
            false => {
                state.lines.drain(..length);
                (state.written, state.objects) = (0, objects + 1);
            }
        }
        Ok(())
    }
}
