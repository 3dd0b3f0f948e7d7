//! Errors between processes.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Errors by which processes do not compute together, or no longer. Processes are named with their addresses.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A line of a host list that is no address, or one twice.
    #[error("line {line} of the host list is `{text}`, but {why}")]
    Hosts {
        /// Its number, from 1.
        line: usize,
        /// Offending text.
        text: String,
        /// Reason.
        why: String,
    },
    /// A host list without a host.
    #[error("the host list names no process; it has one host:port a line")]
    NoHosts,
    /// A host list or secret that cannot be read.
    #[error("the {what} {} cannot be read: {cause}", path.display())]
    File {
        /// The document: host list or secret.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A process beyond the host list.
    #[error(
        "there is no process {process}: the host list has {processes}, which are numbered from 0"
    )]
    Process {
        /// Its number.
        process: usize,
        /// Number of processes.
        processes: usize,
    },
    /// A secret that could be guessed.
    #[error(
        "the secret has {bytes} bytes, and needs {least} or more that nobody can guess: `head -c 32 /dev/urandom | base64` makes one"
    )]
    ShortSecret {
        /// Its length, without space around it.
        bytes: usize,
        /// The least length.
        least: usize,
    },
    /// A secret that is no text.
    #[error("the secret in the environment variable IJK_SECRET is not UTF-8")]
    SecretText,
    /// An address that others can reach, and no secret.
    #[error(
        "{process} would listen where other machines reach it without a secret: give all processes the same, as a file or in IJK_SECRET"
    )]
    NoSecret {
        /// The process.
        process: String,
    },
    /// The machine has no random numbers.
    #[error("the machine gives no random numbers: {0}")]
    Random(String),
    /// An address at which a process cannot listen.
    #[error("{process} cannot listen at its address: {cause}{}", bind_hint(cause))]
    Listen {
        /// The process.
        process: String,
        /// Why.
        cause: io::Error,
    },
    /// A process that could not be started.
    #[error("process {process} could not be started: {cause}")]
    Start {
        /// Its number.
        process: usize,
        /// Why.
        cause: String,
    },
    /// A process that was waited for.
    #[error("{process} did not come within {seconds} s: {cause}")]
    Absent {
        /// The process.
        process: String,
        /// Seconds waited.
        seconds: u64,
        /// Last connection error, or the step that was waited for.
        cause: String,
    },
    /// Processes that were not started alike.
    #[error("{process} and {own} differ in {what}: {theirs} there, {ours} here")]
    Differs {
        /// The other process.
        process: String,
        /// This one.
        own: String,
        /// Property that differs.
        what: &'static str,
        /// Value of the other process.
        theirs: String,
        /// Value of this process.
        ours: String,
    },
    /// Two processes with one number.
    #[error(
        "{process} came twice, from {first} and from {second}: every process has a number of its own"
    )]
    Twice {
        /// The process.
        process: String,
        /// Where the first one is.
        first: String,
        /// Where the other one is.
        second: String,
    },
    /// A process that gave up before the work began.
    #[error("{process} gave up: {reason}")]
    Left {
        /// The process.
        process: String,
        /// Why.
        reason: String,
    },
    /// A process that failed while it computed.
    #[error("{process}: {reason}")]
    Failed {
        /// The process.
        process: String,
        /// Why.
        reason: String,
    },
    /// A process that ended, or does not answer.
    #[error("{process} is gone: {reason}; blocks that were written stay valid")]
    Lost {
        /// The process.
        process: String,
        /// Observation by which the loss was noticed.
        reason: String,
    },
    /// A closure, which cannot be compared between processes.
    #[error(
        "`{what}` is a closure, and closures run in one process only: spell it as a formula or in i, so that processes can tell that they compute the same"
    )]
    Closure {
        /// Function or aggregation of the closure, as printed.
        what: String,
    },
    /// Established connections that cannot be used: no memory, no threads.
    #[error("the connections between processes cannot be used: {0}")]
    Connections(io::Error),
}

/// Hint for the most frequent cause.
fn bind_hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "; is it running already, or another process with its number?",
        io::ErrorKind::AddrNotAvailable => "; is this the machine of another process?",
        _ => "",
    }
}
