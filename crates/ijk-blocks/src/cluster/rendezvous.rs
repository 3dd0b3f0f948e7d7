//! Rendezvous: the processes of a run connect to each other.
//!
//! Before data are exchanged the processes connect in a star: all call process 0 and report their preparation
//! ([`agree`]). For a run they connect in a mesh ([`connect()`]): each process calls those before it in the host list,
//! the nearest first, and is called by those after it, on two connections, one for timely's data and a link
//! ([`Purpose`]). Outgoing and incoming connections are handled concurrently ([`mod@connect`], [`accept`]), so that
//! slow or unknown peers do not delay others. A process with all its connections sends "ready" on all links; when all
//! have done so, the run begins. A process that gives up sends the reason on its links, so that no other one waits for
//! it in vain.

mod accept;
mod connect;

use super::handshake::{HandshakeError, Timed, frame, read_frame};
use super::peer_info::{PeerInfo, Purpose, Terms};
use super::pending::PendingHandshakes;
use super::{Cluster, ClusterError};
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// The connections to another process.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) data: TcpStream,
    pub(crate) link: TcpStream,
}

/// Polling interval for processes that gave up.
const POLL: Duration = Duration::from_millis(100);

/// Time that other processes have to receive the reason when this one gives up.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(300);

/// Time that a process which this one still waits for has to report the process that it waits for itself.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Greatest timeout of a socket.
const LONGEST: Duration = Duration::from_secs(3600);

/// Message on a link before the run: ready.
const READY: &[u8] = b"+";
/// Begins the message of a process that gives up: its number and the reason follow.
const GAVE_UP: u8 = b'-';

/// Topology of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topology {
    /// All connect to process 0.
    Star,
    /// Each connects to all others.
    Mesh,
}

impl Topology {
    fn purposes(self) -> &'static [Purpose] {
        match self {
            Self::Star => &[Purpose::Link],
            Self::Mesh => &[Purpose::Link, Purpose::Data],
        }
    }
}

/// Reason for which a rendezvous ends without a run: the error, and its text for the others.
struct Refusal {
    error: Box<ClusterError>,
    /// The process that gave up first.
    origin: usize,
    reason: String,
}

/// Connects to process 0, and by it synchronises with all others, unless one fails: `trouble` is this one's failure.
pub(super) fn agree(
    cluster: &Cluster,
    terms: &Terms,
    trouble: Option<&str>,
) -> Result<(), ClusterError> {
    let rendezvous = Rendezvous::new(cluster, terms, Topology::Star)?;
    let outcome = rendezvous.connect_all().and_then(|()| match trouble {
        Some(reason) => {
            let (origin, reason) = (cluster.process, reason.to_owned());
            let error = ClusterError::Left { process: cluster.name(), reason: reason.clone() };
            Err(Refusal { error: error.into(), origin, reason })
        }
        None => rendezvous.ready(),
    });
    rendezvous.ended(outcome)
}

/// Connects to all other processes; `None` in the place of this one.
pub(super) fn connect(cluster: &Cluster, terms: &Terms) -> Result<Vec<Option<Peer>>, ClusterError> {
    let rendezvous = Rendezvous::new(cluster, terms, Topology::Mesh)?;
    let outcome = rendezvous.connect_all().and_then(|()| rendezvous.ready());
    rendezvous.ended(outcome)?;
    let connections = rendezvous.connections.into_inner().unwrap_or_else(PoisonError::into_inner);
    let alone = |one: Option<Connection>| Arc::into_inner(one?.stream);
    let pairs = connections.data.into_iter().zip(connections.links);
    let peers = pairs.map(|(data, link)| Some(Peer { data: alone(data)?, link: alone(link)? }));
    let peers: Vec<Option<Peer>> = peers.collect();
    for peer in peers.iter().flatten() {
        // The deadline of the rendezvous is over.
        let most = Some(cluster.wait.clamp(Duration::from_secs(1), LONGEST));
        for stream in [&peer.data, &peer.link] {
            let set = stream.set_read_timeout(most).and_then(|()| stream.set_write_timeout(most));
            set.map_err(ClusterError::Connections)?;
        }
    }
    Ok(peers)
}

/// An authenticated connection.
#[derive(Clone)]
struct Connection {
    stream: Arc<TcpStream>,
    /// Identity of the process and run at the other end.
    instance: String,
}

/// The connections by process.
struct Connections {
    data: Vec<Option<Connection>>,
    links: Vec<Option<Connection>>,
    /// Last connection error of each process that is called.
    reasons: Vec<Option<String>>,
}

impl Connections {
    fn of(&mut self, purpose: Purpose) -> &mut Vec<Option<Connection>> {
        match purpose {
            Purpose::Data => &mut self.data,
            Purpose::Link => &mut self.links,
        }
    }
}

struct Rendezvous<'a> {
    cluster: &'a Cluster,
    own: PeerInfo,
    topology: Topology,
    /// None for an unlimited time.
    deadline: Option<Instant>,
    connections: Mutex<Connections>,
    pending: PendingHandshakes,
    /// Connections in the handshake.
    busy: AtomicUsize,
    over: AtomicBool,
}

/// Result of a thread that connects or accepts.
type Outcome = Result<(), Refusal>;

impl<'a> Rendezvous<'a> {
    fn new(cluster: &'a Cluster, terms: &Terms, topology: Topology) -> Result<Self, ClusterError> {
        let hosts = &cluster.hosts;
        let connections = Connections {
            data: hosts.each(|_| None),
            links: hosts.each(|_| None),
            reasons: hosts.each(|_| None),
        };
        Ok(Self {
            cluster,
            own: PeerInfo::new(hosts, cluster.process, cluster.next_run(), terms)?,
            topology,
            deadline: Instant::now().checked_add(cluster.wait),
            connections: Mutex::new(connections),
            pending: PendingHandshakes::default(),
            busy: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        })
    }

    /// The processes that this one calls, in this order: of many, no two call the same one first.
    fn called(&self) -> Vec<usize> {
        match (self.topology, self.cluster.process) {
            (Topology::Star, 0) => Vec::new(),
            (Topology::Star, _) => vec![0],
            (Topology::Mesh, own) => (0..own).rev().collect(),
        }
    }

    /// Returns true if a process is to call this one.
    fn expects(&self, process: usize) -> bool {
        let own = self.cluster.process;
        let calls = self.topology == Topology::Mesh || own == 0;
        calls && (own + 1..self.cluster.hosts.len()).contains(&process)
    }

    fn connect_all(&self) -> Result<(), Refusal> {
        thread::scope(|scope| {
            let outcome = self.start(scope).and_then(|heard| self.watch(&heard));
            self.over.store(true, Ordering::Release);
            self.pending.close();
            outcome
        })
    }

    /// Starts the threads that connect and accept.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<mpsc::Receiver<Outcome>, Refusal> {
        let (tell, heard) = mpsc::channel();
        let (calls, next) = (Arc::new(self.called()), Arc::new(AtomicUsize::new(0)));
        for _ in 0..calls.len().min(connect::AT_ONCE) {
            let (calls, next, tell) = (Arc::clone(&calls), Arc::clone(&next), tell.clone());
            let caller = move || {
                while let Some(&process) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    tell_all(&tell, self.call(process));
                }
            };
            thread::Builder::new().spawn_scoped(scope, caller).map_err(|e| self.broken(e))?;
        }
        if (0..self.cluster.hosts.len()).any(|process| self.expects(process)) {
            let acceptor = move || self.accept(scope, &tell);
            thread::Builder::new().spawn_scoped(scope, acceptor).map_err(|e| self.broken(e))?;
        }
        Ok(heard)
    }

    /// Waits until all are connected, or some process gives up.
    fn watch(&self, heard: &mpsc::Receiver<Outcome>) -> Result<(), Refusal> {
        let mut looked = Instant::now();
        while let Some(missing) = self.missing() {
            match heard.recv_timeout(POLL) {
                Ok(outcome) => outcome?,
                Err(RecvTimeoutError::Timeout) => {}
                // No thread is left that could change anything.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
            }
            if looked.elapsed() >= POLL {
                self.check(missing)?;
                looked = Instant::now();
            }
        }
        Ok(())
    }

    /// The first process with a missing connection.
    fn missing(&self) -> Option<usize> {
        let mut connections = self.connections();
        let called = self.called().into_iter().rev();
        let expected = (0..self.cluster.hosts.len()).filter(|&process| self.expects(process));
        called.chain(expected).find(|&process| {
            self.topology
                .purposes()
                .iter()
                .any(|&purpose| connections.of(purpose)[process].is_none())
        })
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Checks the deadline, and the links for processes that gave up.
    fn check(&self, missing: usize) -> Result<(), Refusal> {
        let ended = self.cluster.children.as_ref().and_then(super::Children::ended);
        if let Some((process, status)) = ended {
            return Err(self.left_by(process, format!("it ended: {status}")));
        }
        let links: Vec<_> = self.connections().links.clone();
        for (process, outcome) in links.into_iter().enumerate() {
            let Some(Connection { stream, .. }) = outcome else { continue };
            // Reads buffered bytes only, without waiting for more.
            let mut first = [0; 9];
            stream.set_nonblocking(true).map_err(|e| self.broken(e))?;
            let seen = stream.peek(&mut first);
            stream.set_nonblocking(false).map_err(|e| self.broken(e))?;
            match seen {
                Err(error) if is_late(&error) => {}
                Ok(1..9) => {}
                Ok(9) if first[8..] == *READY => {}
                _ => self.await_ready(process, &mut Timed::new(&stream, POLL))?,
            }
        }
        match self.left() {
            Duration::ZERO => Err(self.absent(missing)),
            _ => Ok(()),
        }
    }

    /// Waits for "ready", or the reason for which a process gave up.
    fn await_ready(&self, process: usize, link: &mut impl Read) -> Result<(), Refusal> {
        let said = match read_frame(link) {
            Ok(said) => said,
            Err(error) if is_late(&error) => {
                let error = self.waited_for(process, "it is not ready".into());
                return Err(self.refusal(error));
            }
            Err(_) => return Err(self.left_by(process, "its connection closed".into())),
        };
        if said == READY {
            return Ok(());
        }
        match said.split_first().and_then(|(kind, rest)| Some((*kind, rest.split_first_chunk()?))) {
            Some((GAVE_UP, (origin, reason))) => {
                let origin = usize::try_from(u64::from_le_bytes(*origin)).unwrap_or(usize::MAX);
                let origin = if origin < self.cluster.hosts.len() { origin } else { process };
                Err(self.left_by(origin, String::from_utf8_lossy(reason).into_owned()))
            }
            _ => Err(self.left_by(process, "it said something that is not understood".into())),
        }
    }

    /// Sends "ready", and waits for that of all others.
    fn ready(&self) -> Result<(), Refusal> {
        let links = self.links();
        // In a star, process 0 confirms for all others.
        let hub = self.topology == Topology::Star && self.cluster.process == 0;
        let say = || {
            for (_, link) in &links {
                // A closed link is reported below, with its reason.
                frame(&mut Timed::new(link, POLL), READY).unwrap_or_default();
            }
        };
        if !hub {
            say();
        }
        for (process, link) in &links {
            // Processes that time out need time to report the process that they waited for.
            let most = self.left().saturating_add(REPORT_TIMEOUT);
            self.await_ready(*process, &mut Timed::new(link, most))?;
        }
        if hub {
            say();
        }
        Ok(())
    }

    fn links(&self) -> Vec<(usize, Arc<TcpStream>)> {
        let connections = self.connections();
        let links = connections.links.iter().enumerate();
        links.filter_map(|(n, outcome)| Some((n, Arc::clone(&outcome.as_ref()?.stream)))).collect()
    }

    /// Result of the rendezvous; if there is to be no run, sends the reason to all connected processes.
    fn ended(&self, outcome: Result<(), Refusal>) -> Result<(), ClusterError> {
        outcome.map_err(|refusal| {
            self.give_up(&refusal);
            *refusal.error
        })
    }

    fn give_up(&self, refusal: &Refusal) {
        let links = self.links();
        for (_, link) in &links {
            // A peer with a broken link cannot be informed.
            let said = frame(&mut Timed::new(link, POLL), &refusal.as_bytes());
            said.and_then(|()| link.shutdown(Shutdown::Write)).unwrap_or_default();
        }
        let until = Instant::now() + CLOSE_TIMEOUT;
        for (_, link) in &links {
            // Closing a connection with unread data would discard the sent data, too.
            let left = until.saturating_duration_since(Instant::now());
            io::copy(&mut Timed::new(link, left), &mut io::sink()).map(drop).unwrap_or_default();
        }
    }

    fn left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map_or(LONGEST, left).min(LONGEST)
    }

    /// Refusal because of the deadline.
    fn absent(&self, process: usize) -> Refusal {
        let reason = self.connections().reasons[process].clone();
        let called = reason.unwrap_or_else(|| match self.expects(process) {
            true => self.uncalled(),
            false => "it does not answer".into(),
        });
        let error = self.waited_for(process, called);
        self.refusal(error)
    }

    /// Last caller that was refused, as a substitute for the missing call.
    fn uncalled(&self) -> String {
        match self.cluster.notices.last() {
            Some((from, why)) => format!("it did not call, but somebody from {from}: {why}"),
            None => "it did not call".into(),
        }
    }

    fn waited_for(&self, process: usize, cause: String) -> ClusterError {
        let seconds = self.cluster.wait.as_secs();
        ClusterError::Absent { process: self.cluster.hosts.name(process), seconds, cause }
    }

    fn left_by(&self, origin: usize, reason: String) -> Refusal {
        let process = self.cluster.hosts.name(origin);
        let error = ClusterError::Left { process, reason: reason.clone() };
        Refusal { error: error.into(), origin, reason }
    }

    fn broken(&self, error: io::Error) -> Refusal {
        self.refusal(ClusterError::Connections(error))
    }

    /// Refusal by this process.
    fn refusal(&self, error: ClusterError) -> Refusal {
        let (origin, reason) = (self.cluster.process, error.to_string());
        Refusal { error: error.into(), origin, reason }
    }

    /// Text of a handshake error.
    fn why(&self, trouble: &HandshakeError) -> String {
        match trouble {
            HandshakeError::Secret => format!("it has another secret than {}", self.cluster.name()),
            HandshakeError::Protocol => "it is no process of ijk".into(),
            HandshakeError::Io(error) if is_late(error) => "it does not answer".into(),
            HandshakeError::Io(_) => "it hung up before it proved the secret".into(),
            HandshakeError::Mismatch(_, what, ..) => format!("it differs in {what}"),
        }
    }
}

impl Refusal {
    /// Encoding for the other processes.
    fn as_bytes(&self) -> Vec<u8> {
        let cut = &self.reason[..self.reason.floor_char_boundary(4096)];
        [&[GAVE_UP][..], &(self.origin as u64).to_le_bytes(), cut.as_bytes()].concat()
    }
}

/// Reports an outcome; a closed channel needs none.
fn tell_all(tell: &Sender<Outcome>, outcome: Outcome) {
    tell.send(outcome).unwrap_or_default();
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::super::{Hosts, Secret};
    use super::*;
    use std::net::TcpListener;

    /// Messages of processes of these numbers, all but the first of which listen on any port.
    fn outcome(processes: &[usize], wait: Duration) -> Vec<String> {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let list = format!("{}\n127.0.0.1:1\n127.0.0.1:2", first.local_addr().unwrap());
        let hosts = Hosts::parse(&list).unwrap();
        let mut first = Some(first);
        let clusters = processes.iter().map(|&process| {
            let other = || TcpListener::bind("127.0.0.1:0").unwrap();
            let listener = if process == 0 { first.take().unwrap() } else { other() };
            Cluster::at(hosts.clone(), process, Secret::none(), listener).unwrap().wait(wait)
        });
        let clusters: Vec<Cluster> = clusters.collect();
        std::thread::scope(|scope| {
            let say = |cluster: Cluster| cluster.meet().unwrap_err().to_string();
            let threads = clusters.into_iter().map(|cluster| scope.spawn(move || say(cluster)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn two_processes_with_one_number_hear_of_it() {
        let said = outcome(&[0, 1, 1], Duration::from_secs(20));
        assert!(
            said[0].starts_with("process 1 (127.0.0.1:1) came twice, from 127.0.0.1:"),
            "{said:?}"
        );
        for other in &said[1..] {
            assert!(other.starts_with("process 0 (127.0.0.1:") && other.contains(") gave up: "));
        }
        assert!(said[1..].iter().any(|other| other.contains("came twice")), "{said:?}");
    }

    #[test]
    fn who_does_not_come_is_named() {
        // The last one waits for no other.
        let said = outcome(&[0, 2], Duration::from_millis(1200));
        assert!(
            said[0].starts_with("process 1 (127.0.0.1:1) did not come within 1 s: "),
            "{said:?}"
        );
        let named = said[1].starts_with("process 1 (127.0.0.1:1) did not come")
            || said[1].ends_with(
                "gave up: process 1 (127.0.0.1:1) did not come within 1 s: it did not call",
            );
        assert!(named, "{said:?}");
    }
}
