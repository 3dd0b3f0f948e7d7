//! Notices about callers that were refused.

use std::collections::HashSet;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// Greatest number of notices that are written.
const LINES: usize = 10;

/// Writes a notice for each refused address once, to the standard error output.
#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    of: HashSet<(IpAddr, String)>,
    /// The last refused caller, and the reason.
    last: Option<(SocketAddr, String)>,
}

impl Notices {
    /// A call of `own` was refused.
    pub(super) fn refused(&self, own: &str, from: SocketAddr, why: &str) {
        let what = format!("a caller from {from} is not let in: {why}");
        self.say(own, from, why, &what);
        self.said().last = Some((from, why.to_owned()));
    }

    /// The listener at the address of a process is not one of ijk; the call is repeated.
    pub(super) fn listener(&self, own: &str, at: SocketAddr, why: &str) {
        let what = format!("what listens at {at} is not believed, but tried again: {why}");
        self.say(own, at, why, &what);
    }

    /// The last refused caller, for the error about the one that did not call.
    pub(super) fn last(&self) -> Option<(SocketAddr, String)> {
        self.said().last.clone()
    }

    fn say(&self, own: &str, who: SocketAddr, why: &str, what: &str) {
        let mut said = self.said();
        if said.of.len() >= LINES || !said.of.insert((who.ip(), why.to_owned())) {
            return;
        }
        let end = if said.of.len() == LINES { "; of others nothing is said" } else { "" };
        drop(said);
        // The standard error output may be closed.
        writeln!(std::io::stderr().lock(), "{own}: {what}{end}").unwrap_or_default();
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
