//! Notices about callers that were refused.

use std::collections::HashSet;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// So many lines are written about strangers, and no more.
const LINES: usize = 10;

/// Writes of each stranger once, to the standard error output.
#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    of: HashSet<(IpAddr, String)>,
    /// The last stranger, and why it was not let in.
    last: Option<(SocketAddr, String)>,
}

impl Notices {
    /// Somebody called `own` and was not let in.
    pub(super) fn stranger(&self, own: &str, from: SocketAddr, why: &str) {
        let what = format!("a caller from {from} is not let in: {why}");
        self.say(own, from, why, &what);
        self.said().last = Some((from, why.to_owned()));
    }

    /// The listener at the address of a process is not one of ijk; the call is repeated.
    pub(super) fn listener(&self, own: &str, at: SocketAddr, why: &str) {
        let what = format!("what listens at {at} is not believed, but tried again: {why}");
        self.say(own, at, why, &what);
    }

    /// The last stranger who called, for an error that says who did not call.
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
        // Nobody may be listening.
        writeln!(std::io::stderr().lock(), "{own}: {what}{end}").unwrap_or_default();
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
