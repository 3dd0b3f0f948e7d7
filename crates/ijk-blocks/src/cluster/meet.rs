//! Rendezvous: the processes of a run connect to each other.
//!
//! Before data are exchanged all processes meet in a star: everybody calls process 0 and says whether it is
//! prepared ([`agree`]). For a run they meet in a mesh ([`connect`]): each process calls those before it in the host
//! list, the nearest first, and is called by those after it, on two connections, one for timely's data and a link
//! ([`Purpose`]). Calls and callers are handled side by side ([`call`], [`answer`]), so that nobody who is slow or
//! does not belong here holds up others. When a process has met all it should, it says so on all links; when all
//! have said so, the run begins. Whoever gives up says why on the links that it has, so nobody waits for it in vain.

mod answer;
mod call;

use super::guests::Greetings;
use super::handshake::{Timed, Trouble, frame, read_frame};
use super::hello::{Hello, Purpose, Terms};
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
const LOOK: Duration = Duration::from_millis(100);

/// Time that other processes have to receive the reason when this one gives up.
const FAREWELL: Duration = Duration::from_millis(300);

/// Time that a process which this one still waits for has to report the process that it waits for itself.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Timeouts of sockets are no longer.
const LONGEST: Duration = Duration::from_secs(3600);

/// Message on a link before the run: ready.
const READY: &[u8] = b"+";
/// Before the number of the process that gave up, and why.
const GAVE_UP: u8 = b'-';

/// Topology of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// All meet process 0.
    Star,
    /// Each meets all others.
    Mesh,
}

impl Round {
    fn purposes(self) -> &'static [Purpose] {
        match self {
            Self::Star => &[Purpose::Link],
            Self::Mesh => &[Purpose::Link, Purpose::Data],
        }
    }
}

/// Why a meeting ends without a run: the error, and what the others are told of it.
struct Refusal {
    error: Box<ClusterError>,
    /// The process that gave up first.
    origin: usize,
    reason: String,
}

/// Meets process 0, and by it all others, unless one says why it cannot go on: `trouble` is this one's reason.
pub(super) fn agree(
    cluster: &Cluster,
    terms: &Terms,
    trouble: Option<&str>,
) -> Result<(), ClusterError> {
    let meeting = Meeting::new(cluster, terms, Round::Star)?;
    let met = meeting.meet_all().and_then(|()| match trouble {
        Some(reason) => {
            let (origin, reason) = (cluster.process, reason.to_owned());
            let error = ClusterError::Left { process: cluster.name(), reason: reason.clone() };
            Err(Refusal { error: error.into(), origin, reason })
        }
        None => meeting.ready(),
    });
    meeting.ended(met)
}

/// Meets all other processes; `None` in the place of this one.
pub(super) fn connect(cluster: &Cluster, terms: &Terms) -> Result<Vec<Option<Peer>>, ClusterError> {
    let meeting = Meeting::new(cluster, terms, Round::Mesh)?;
    let met = meeting.meet_all().and_then(|()| meeting.ready());
    meeting.ended(met)?;
    let places = meeting.places.into_inner().unwrap_or_else(PoisonError::into_inner);
    let alone = |met: Option<Met>| Arc::into_inner(met?.stream);
    let pairs = places.data.into_iter().zip(places.links);
    let peers = pairs.map(|(data, link)| Some(Peer { data: alone(data)?, link: alone(link)? }));
    let peers: Vec<Option<Peer>> = peers.collect();
    for peer in peers.iter().flatten() {
        // Deadlines of the meeting do not count any more.
        let most = Some(cluster.wait.clamp(Duration::from_secs(1), LONGEST));
        for stream in [&peer.data, &peer.link] {
            let set = stream.set_read_timeout(most).and_then(|()| stream.set_write_timeout(most));
            set.map_err(ClusterError::Connections)?;
        }
    }
    Ok(peers)
}

/// A connection that is as it should be.
#[derive(Clone)]
struct Met {
    stream: Arc<TcpStream>,
    /// Identity of the process and run at the other end.
    instance: String,
}

/// The connections that are there, by process.
struct Places {
    data: Vec<Option<Met>>,
    links: Vec<Option<Met>>,
    /// Why processes that are called could not be reached last.
    reasons: Vec<Option<String>>,
}

impl Places {
    fn of(&mut self, purpose: Purpose) -> &mut Vec<Option<Met>> {
        match purpose {
            Purpose::Data => &mut self.data,
            Purpose::Link => &mut self.links,
        }
    }
}

struct Meeting<'a> {
    cluster: &'a Cluster,
    own: Hello,
    round: Round,
    /// None if there is all the time there may be.
    deadline: Option<Instant>,
    places: Mutex<Places>,
    greetings: Greetings,
    /// Greetings of callers that have not ended.
    busy: AtomicUsize,
    over: AtomicBool,
}

/// That something happened, or cannot.
type Word = Result<(), Refusal>;

impl<'a> Meeting<'a> {
    fn new(cluster: &'a Cluster, terms: &Terms, round: Round) -> Result<Self, ClusterError> {
        let hosts = &cluster.hosts;
        let places = Places {
            data: hosts.each(|_| None),
            links: hosts.each(|_| None),
            reasons: hosts.each(|_| None),
        };
        Ok(Self {
            cluster,
            own: Hello::new(hosts, cluster.process, cluster.next_run(), terms)?,
            round,
            deadline: Instant::now().checked_add(cluster.wait),
            places: Mutex::new(places),
            greetings: Greetings::default(),
            busy: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        })
    }

    /// The processes that this one calls, in this order: of many, no two call the same one first.
    fn called(&self) -> Vec<usize> {
        match (self.round, self.cluster.process) {
            (Round::Star, 0) => Vec::new(),
            (Round::Star, _) => vec![0],
            (Round::Mesh, own) => (0..own).rev().collect(),
        }
    }

    /// Returns true if a process is to call this one.
    fn expects(&self, process: usize) -> bool {
        let own = self.cluster.process;
        let calls = self.round == Round::Mesh || own == 0;
        calls && (own + 1..self.cluster.hosts.len()).contains(&process)
    }

    fn meet_all(&self) -> Result<(), Refusal> {
        thread::scope(|scope| {
            let met = self.start(scope).and_then(|heard| self.watch(&heard));
            self.over.store(true, Ordering::Release);
            self.greetings.close();
            met
        })
    }

    /// Starts who calls others, and who answers them.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<mpsc::Receiver<Word>, Refusal> {
        let (tell, heard) = mpsc::channel();
        let (calls, next) = (Arc::new(self.called()), Arc::new(AtomicUsize::new(0)));
        for _ in 0..calls.len().min(call::AT_ONCE) {
            let (calls, next, tell) = (Arc::clone(&calls), Arc::clone(&next), tell.clone());
            let caller = move || {
                while let Some(&process) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    tell_all(&tell, self.call(process));
                }
            };
            thread::Builder::new().spawn_scoped(scope, caller).map_err(|e| self.broken(e))?;
        }
        if (0..self.cluster.hosts.len()).any(|process| self.expects(process)) {
            let host = move || self.answer(scope, &tell);
            thread::Builder::new().spawn_scoped(scope, host).map_err(|e| self.broken(e))?;
        }
        Ok(heard)
    }

    /// Waits until all are met, or this one or another one gives up.
    fn watch(&self, heard: &mpsc::Receiver<Word>) -> Result<(), Refusal> {
        let mut looked = Instant::now();
        while let Some(missing) = self.missing() {
            match heard.recv_timeout(LOOK) {
                Ok(word) => word?,
                Err(RecvTimeoutError::Timeout) => {}
                // Nobody is left who could change anything.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
            if looked.elapsed() >= LOOK {
                self.check(missing)?;
                looked = Instant::now();
            }
        }
        Ok(())
    }

    /// The first process whose connections are not all there.
    fn missing(&self) -> Option<usize> {
        let mut places = self.places();
        let called = self.called().into_iter().rev();
        let expected = (0..self.cluster.hosts.len()).filter(|&process| self.expects(process));
        called.chain(expected).find(|&process| {
            self.round.purposes().iter().any(|&purpose| places.of(purpose)[process].is_none())
        })
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// An error if it took too long, or somebody gave up.
    fn check(&self, missing: usize) -> Result<(), Refusal> {
        let ended = self.cluster.children.as_ref().and_then(super::Children::ended);
        if let Some((process, status)) = ended {
            return Err(self.left_by(process, format!("it ended: {status}")));
        }
        let links: Vec<_> = self.places().links.clone();
        for (process, met) in links.into_iter().enumerate() {
            let Some(Met { stream, .. }) = met else { continue };
            // Reads buffered bytes only, without waiting for more.
            let mut first = [0; 9];
            stream.set_nonblocking(true).map_err(|e| self.broken(e))?;
            let seen = stream.peek(&mut first);
            stream.set_nonblocking(false).map_err(|e| self.broken(e))?;
            match seen {
                Err(error) if is_late(&error) => {}
                Ok(1..9) => {}
                Ok(9) if first[8..] == *READY => {}
                _ => self.listen(process, &mut Timed::new(&stream, LOOK))?,
            }
        }
        match self.left() {
            Duration::ZERO => Err(self.absent(missing)),
            _ => Ok(()),
        }
    }

    /// Hears that a process is ready, or why one gave up.
    fn listen(&self, process: usize, link: &mut impl Read) -> Result<(), Refusal> {
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

    /// Says that all are here, and waits until all say so.
    fn ready(&self) -> Result<(), Refusal> {
        let links = self.links();
        // Of a star, process 0 speaks for all others.
        let hub = self.round == Round::Star && self.cluster.process == 0;
        let say = || {
            for (_, link) in &links {
                // A closed link is reported below, with its reason.
                frame(&mut Timed::new(link, LOOK), READY).unwrap_or_default();
            }
        };
        if !hub {
            say();
        }
        for (process, link) in &links {
            // Processes that time out need time to report the process that they waited for.
            let most = self.left().saturating_add(LAST_WORD);
            self.listen(*process, &mut Timed::new(link, most))?;
        }
        if hub {
            say();
        }
        Ok(())
    }

    fn links(&self) -> Vec<(usize, Arc<TcpStream>)> {
        let places = self.places();
        let links = places.links.iter().enumerate();
        links.filter_map(|(n, met)| Some((n, Arc::clone(&met.as_ref()?.stream)))).collect()
    }

    /// Result of the rendezvous; if there is to be no run, sends the reason to all connected processes.
    fn ended(&self, met: Result<(), Refusal>) -> Result<(), ClusterError> {
        met.map_err(|refusal| {
            self.give_up(&refusal);
            *refusal.error
        })
    }

    fn give_up(&self, refusal: &Refusal) {
        let links = self.links();
        for (_, link) in &links {
            // Nothing can be done for those who do not hear it.
            let said = frame(&mut Timed::new(link, LOOK), &refusal.as_bytes());
            said.and_then(|()| link.shutdown(Shutdown::Write)).unwrap_or_default();
        }
        let until = Instant::now() + FAREWELL;
        for (_, link) in &links {
            // A connection that is closed with something unread loses what was sent, too.
            let left = until.saturating_duration_since(Instant::now());
            io::copy(&mut Timed::new(link, left), &mut io::sink()).map(drop).unwrap_or_default();
        }
    }

    fn left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map_or(LONGEST, left).min(LONGEST)
    }

    /// Why it took too long.
    fn absent(&self, process: usize) -> Refusal {
        let reason = self.places().reasons[process].clone();
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

    /// Why a connection was not taken, in words.
    fn why(&self, trouble: &Trouble) -> String {
        match trouble {
            Trouble::Secret => format!("it has another secret than {}", self.cluster.name()),
            Trouble::Stranger => "it is no process of ijk".into(),
            Trouble::Broken(error) if is_late(error) => "it does not answer".into(),
            Trouble::Broken(_) => "it hung up before it proved the secret".into(),
            Trouble::Differs(_, what, ..) => format!("it differs in {what}"),
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

/// Passes word on; who does not listen any more knows enough.
fn tell_all(tell: &Sender<Word>, word: Word) {
    tell.send(word).unwrap_or_default();
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
    fn met(processes: &[usize], wait: Duration) -> Vec<String> {
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
        let said = met(&[0, 1, 1], Duration::from_secs(20));
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
        // The last one waits for nobody else.
        let said = met(&[0, 2], Duration::from_millis(1200));
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
