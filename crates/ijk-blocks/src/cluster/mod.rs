//! Several processes that compute together, on one machine or many.

mod error;
mod handshake;
mod hosts;
mod launch;
mod notices;
mod peer_info;
mod pending;
mod rendezvous;
mod secret;

pub use error::ClusterError;
pub use hosts::Hosts;
pub use secret::Secret;

pub(crate) use peer_info::Terms;
pub(crate) use rendezvous::Peer;

use launch::Children;
use notices::Notices;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// This process and its peers in one computation: see [`Executor::cluster`](crate::Executor::cluster).
///
/// All processes run the same program: each makes the same terms, and collects or writes them in the same
/// order. They are told apart by their numbers, from 0. Process 0 gets what is
/// [collected](crate::Executor::collect).
///
/// # Trust
///
/// Processes compute only with peers that prove to know the same [`Secret`] and have the same version, list of hosts
/// and plan. The secret comes first: before it is proved nothing received is trusted, and a caller that does not prove
/// it within some seconds is dropped, with a line on the standard error output, while others are answered. Later
/// traffic is neither encrypted nor signed: whoever can read or change the network traffic between processes can read
/// or change tensors. Use a network that you trust.
///
/// # On one machine
///
/// [`Cluster::launch`] starts the other processes. By the list of hosts it is
///
/// ```no_run
/// use ijk_blocks::cluster::{Cluster, Hosts, Secret};
/// use ijk_blocks::{BigTensor, Executor};
/// use std::sync::Arc;
/// // Each process is started with another number.
/// let process = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
/// let hosts = Hosts::parse("127.0.0.1:7001\n127.0.0.1:7002")?;
/// let cluster = Cluster::join(hosts, process, Some(Secret::new("correct horse battery staple")?))?;
/// let executor = Executor::new().cluster(Arc::new(cluster));
/// let u = BigTensor::lit((0..64).map(f64::from), [8, 8], [Some(2), Some(2)])?;
/// let square = executor.collect(&u.matmul(&u)?)?; // has elements in process 0 only
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Debug)]
pub struct Cluster {
    hosts: Hosts,
    process: usize,
    secret: Secret,
    wait: Duration,
    listener: TcpListener,
    runs: AtomicUsize,
    notices: Notices,
    /// Those that this process started.
    children: Option<Children>,
}

/// Default time that processes wait for each other.
const WAIT: Duration = Duration::from_secs(60);

impl Cluster {
    /// Process number `process` of those at some addresses; listens at its own.
    ///
    /// # Errors
    /// If there is no such process, it cannot listen at its address, or others can reach that and there is no
    /// secret.
    pub fn join(
        hosts: Hosts,
        process: usize,
        secret: Option<Secret>,
    ) -> Result<Self, ClusterError> {
        let processes = hosts.len();
        if process >= processes {
            return Err(ClusterError::Process { process, processes });
        }
        let listen = |cause| ClusterError::Listen { process: hosts.name(process), cause };
        let addresses = hosts::resolve(hosts.address(process)).map_err(listen)?;
        if secret.is_none() && !addresses.iter().all(|address| address.ip().is_loopback()) {
            return Err(ClusterError::NoSecret { process: hosts.name(process) });
        }
        let listener = TcpListener::bind(&addresses[..]).map_err(listen)?;
        Self::at(hosts, process, secret.unwrap_or_else(Secret::none), listener)
    }

    fn at(
        hosts: Hosts,
        process: usize,
        secret: Secret,
        listener: TcpListener,
    ) -> Result<Self, ClusterError> {
        let listen = |cause| ClusterError::Listen { process: hosts.name(process), cause };
        listener.set_nonblocking(true).map_err(listen)?;
        let (runs, notices) = (AtomicUsize::new(0), Notices::default());
        Ok(Self { hosts, process, secret, wait: WAIT, listener, runs, notices, children: None })
    }

    /// Sets the time to wait for the other processes when a computation begins; 60 seconds by default.
    #[must_use]
    pub fn wait(mut self, most: Duration) -> Self {
        self.wait = most;
        self
    }

    /// The number of this process.
    pub fn process(&self) -> usize {
        self.process
    }

    /// Number of processes.
    pub fn processes(&self) -> usize {
        self.hosts.len()
    }

    /// Returns true if this process was started by [`launch`](Self::launch): process 0 reports its failures, too.
    pub fn is_child() -> bool {
        launch::is_child()
    }

    /// Waits for all processes. Effects of one process before this call are visible to the others after it.
    ///
    /// # Errors
    /// As when a computation begins: if a process does not connect, or is not compatible.
    pub fn meet(&self) -> Result<(), ClusterError> {
        rendezvous::agree(self, &Terms::default(), None)
    }

    /// Waits until all processes have prepared; if one could not, none continues.
    ///
    /// # Errors
    /// If the preparation failed in this process, whose error the others receive as `text`, or in another one; as for
    /// [`meet`](Self::meet).
    pub fn agree<T, E: From<ClusterError>>(
        &self,
        prepared: Result<T, E>,
        text: impl Fn(&E) -> String,
    ) -> Result<T, E> {
        let trouble = prepared.as_ref().err().map(text);
        let met = rendezvous::agree(self, &Terms::default(), trouble.as_deref());
        let prepared = prepared?;
        met.map(|()| prepared).map_err(E::from)
    }

    /// Connections to the other processes, for a run on these terms.
    pub(crate) fn connect(&self, terms: &Terms) -> Result<Vec<Option<Peer>>, ClusterError> {
        rendezvous::connect(self, terms)
    }

    /// Name of this process in messages.
    pub(crate) fn name(&self) -> String {
        self.hosts.name(self.process)
    }

    /// Name of a process in messages.
    pub(crate) fn name_of(&self, process: usize) -> String {
        self.hosts.name(process)
    }

    fn next_run(&self) -> usize {
        self.runs.fetch_add(1, Ordering::Relaxed)
    }
}

/// The text of a file of the cluster's configuration.
fn text_of(what: &'static str, path: &Path) -> Result<String, ClusterError> {
    std::fs::read_to_string(path).map_err(|cause| ClusterError::File {
        what,
        path: path.into(),
        cause,
    })
}
