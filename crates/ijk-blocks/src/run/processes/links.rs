//! Links between processes: errors, requests for blocks, heartbeats.
//!
//! Messages to a process are queued in its [`Outbox`]; a thread writes them while there are any, and then ends. One
//! thread, the [`poller`](super::poller), polls all links; a link with much traffic gets a thread that reads it while that
//! lasts. So processes with little traffic need few threads. A reader never writes, so two processes that answer each
//! other at once do not deadlock.

use super::data_stream::StreamContext;
use super::message::Message;
use super::outbox::Outbox;
use super::poller::LinkPoller;
use crate::progress::Progress;
use crate::run::failure::{Failure, Report};
use crate::store::Store;
use crate::{Block, Error, StoreError};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Heartbeat interval of a process that sends nothing else, for few processes.
const HEARTBEAT: Duration = Duration::from_millis(250);

/// Beyond this number of processes the interval grows, so that their total traffic does not.
const FEW_PEERS: u32 = 8;

/// Time without a message after which a process counts as lost.
pub(super) const PEER_TIMEOUT: Duration = Duration::from_secs(30);

/// Time that a waiting thread sleeps before it checks for a failure.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// Time that the other processes have to close their connections at the end.
pub(super) const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// The channels to all peers: outgoing messages, pending requests, and the state that incoming messages change.
pub(super) struct PeerChannels {
    outboxes: Vec<Option<Arc<Outbox>>>,
    pub(super) failure: Arc<Failure>,
    progress: Arc<Progress>,
    /// This process's blocks of each stage.
    stores: Vec<Arc<dyn Store>>,
    asked: AtomicUsize,
    waiting: Mutex<HashMap<usize, Sender<Option<Arc<Block>>>>>,
    /// Processes that have finished.
    done: Mutex<Vec<bool>>,
    changed: Condvar,
    closing: AtomicBool,
}

/// The threads of the links.
pub(super) struct Links {
    pub(super) channels: Arc<PeerChannels>,
    heartbeat: JoinHandle<()>,
    poller: LinkPoller,
}

impl Links {
    /// Starts the threads of the links.
    pub(super) fn start(
        streams: Vec<Option<TcpStream>>,
        outboxes: Vec<Option<Arc<Outbox>>>,
        shared: &StreamContext,
        stores: Vec<Arc<dyn Store>>,
    ) -> io::Result<Self> {
        let done = outboxes.iter().map(Option::is_none).collect();
        let channels = Arc::new(PeerChannels {
            outboxes,
            failure: Arc::clone(&shared.failure),
            progress: Arc::clone(&shared.progress),
            stores,
            asked: AtomicUsize::new(0),
            waiting: Mutex::default(),
            done: Mutex::new(done),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
        });
        let poller = LinkPoller::start(&channels, streams)?;
        let own = Arc::clone(&channels);
        let heartbeat = std::thread::Builder::new().name("ijk:heartbeat".into());
        let heartbeat = heartbeat.spawn(move || own.send_heartbeats())?;
        Ok(Self { channels, heartbeat, poller })
    }

    /// Waits until no process needs anything more, or one failed.
    pub(super) fn finish(&self) {
        for outbox in self.channels.outboxes.iter().flatten() {
            outbox.put(Message::Heartbeat(self.channels.progress.own()));
            outbox.put(Message::Done);
        }
        let mut done = self.channels.done();
        while done.contains(&false) && !self.channels.failure.is_set() {
            let waited = self.channels.changed.wait_timeout(done, POLL);
            done = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the threads when everything is written.
    pub(super) fn close(self) {
        self.channels.closing.store(true, Ordering::Release);
        // A thread that has not seen the flag is waiting now, and is woken.
        drop(self.channels.done());
        self.channels.changed.notify_all();
        // These threads do not panic.
        self.heartbeat.join().unwrap_or(());
        let outboxes = || self.channels.outboxes.iter().flatten();
        outboxes().for_each(|outbox| outbox.close());
        outboxes().for_each(|outbox| outbox.wait());
        self.poller.close();
    }
}

impl PeerChannels {
    fn done(&self) -> MutexGuard<'_, Vec<bool>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<usize, Sender<Option<Arc<Block>>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true once this process has finished.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Sends heartbeats to all peers.
    fn send_heartbeats(&self) {
        let processes = u32::try_from(self.outboxes.len()).unwrap_or(u32::MAX);
        let heartbeat = (HEARTBEAT * processes.div_ceil(FEW_PEERS).max(1)).min(PEER_TIMEOUT / 8);
        let mut done = self.done();
        while !self.is_closing() {
            let waited = self.changed.wait_timeout(done, heartbeat);
            let (guard, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            drop(guard);
            if waited.timed_out() {
                let alive = || Message::Heartbeat(self.progress.own());
                self.outboxes.iter().flatten().for_each(|outbox| outbox.put_if_quiet(alive()));
            }
            done = self.done();
        }
    }

    fn send(&self, process: usize, message: Message) {
        if let Some(Some(outbox)) = self.outboxes.get(process) {
            outbox.put(message);
        }
    }

    /// Requests a block from the process that owns it.
    pub(super) fn request(
        &self,
        process: usize,
        stage: usize,
        at: &[usize],
    ) -> Result<Option<Arc<Block>>, StoreError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = mpsc::channel();
        self.waiting().insert(number, sender);
        self.send(process, Message::Request { number, stage, at: at.to_vec() });
        loop {
            match answer.recv_timeout(POLL) {
                Ok(block) => return Ok(block),
                Err(_) if self.failure.is_set() => {
                    let place = format!("stage {stage}");
                    return Err(StoreError::of_block(&place, at, "its process is gone"));
                }
                Err(_) => {}
            }
        }
    }

    /// Handles a message; false if it is invalid.
    fn handle(&self, process: usize, message: Message) -> bool {
        match message {
            Message::Heartbeat(done) => self.progress.heard(process, done),
            Message::Failed(report) => self.failure.report(&report),
            Message::Request { number, stage, at } => {
                let Some(store) = self.stores.get(stage) else { return false };
                match store.read(&at) {
                    Ok(block) => {
                        self.progress.moved(block.as_ref().map_or(0, |block| block.bytes()));
                        self.send(process, Message::Answer { number, block });
                    }
                    Err(error) => self.failure.set(error.into()),
                }
            }
            Message::Answer { number, block } => {
                let Some(waiting) = self.waiting().remove(&number) else { return false };
                // The requester may have stopped waiting.
                waiting.send(block).unwrap_or(());
            }
            Message::Done => {
                self.done()[process] = true;
                self.changed.notify_all();
            }
        }
        true
    }

    /// Records the end of a link.
    pub(super) fn ended(&self, process: usize, end: End) {
        let reason = match end {
            End::Enough => return,
            End::Closed => "its connection closed".to_owned(),
            End::Wrong(reason) => reason,
        };
        let left = self.done()[process];
        if !left && !self.failure.is_cause_known() {
            self.failure.report(&Report { process, lost: true, reason });
        }
    }
}

/// Reason for which a reader stops.
pub(super) enum End {
    /// The peer closed the connection, or it broke.
    Closed,
    /// This process has finished.
    Enough,
    Wrong(String),
}

/// Reader of one link.
pub(super) struct LinkReader {
    pub(super) process: usize,
    pub(super) stream: Arc<TcpStream>,
    pub(super) channels: Arc<PeerChannels>,
    /// Time of the last message.
    pub(super) last_received: Instant,
}

impl LinkReader {
    /// Reads messages until none arrives for `quiet`; without that, until the link ends.
    pub(super) fn run(&mut self, quiet: Option<Duration>) -> Result<(), End> {
        loop {
            let mut length = [0; 8];
            if !self.fill(&mut length, quiet)? {
                return Ok(());
            }
            let message = self.message(u64::from_le_bytes(length))?;
            if !self.channels.handle(self.process, message) {
                return Err(End::Wrong("what it says makes no sense".to_owned()));
            }
        }
    }

    /// Reads a message that is in the buffer, short, and handled without I/O; false if the next message is not.
    #[cfg(target_os = "linux")]
    pub(super) fn short(&mut self) -> Result<bool, End> {
        let mut bytes = [0; 256];
        let there = match self.stream.peek(&mut bytes) {
            Ok(0) => return Err(End::Closed),
            Ok(there) => there,
            Err(error) if error.kind() == ErrorKind::Interrupted || is_late(&error) => {
                return Ok(true);
            }
            Err(_) => return Err(End::Closed),
        };
        let Some(length) = bytes[..there].first_chunk() else { return Ok(false) };
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let whole = length.saturating_add(8);
        if whole > there || Message::is_request(&bytes[8..whole]) {
            return Ok(false);
        }
        // The bytes are buffered, so that this does not block.
        self.fill(&mut bytes[..whole], None)?;
        let wrong = |why: &str| End::Wrong(format!("what it says {why}"));
        let message = Message::decode(&bytes[8..whole]);
        match self.channels.handle(self.process, message.ok_or_else(|| wrong("is not understood"))?)
        {
            true => Ok(true),
            false => Err(wrong("makes no sense")),
        }
    }

    /// Reads a message of `length` bytes.
    fn message(&mut self, length: u64) -> Result<Message, End> {
        let mut bytes = Vec::new();
        let room = usize::try_from(length).map(|length| bytes.try_reserve_exact(length));
        if !matches!(room, Ok(Ok(()))) {
            return Err(End::Wrong(format!("there is no memory for the {length} bytes it sends")));
        }
        bytes.resize(length as usize, 0);
        self.fill(&mut bytes, None)?;
        let wrong = || End::Wrong("what it says is not understood".to_owned());
        Message::decode(&bytes).ok_or_else(wrong)
    }

    /// Fills `bytes`; false if none arrives for `quiet`.
    fn fill(&mut self, mut bytes: &mut [u8], quiet: Option<Duration>) -> Result<bool, End> {
        let (all, began, mut closing) = (bytes.len(), Instant::now(), None);
        while !bytes.is_empty() {
            match (&*self.stream).read(bytes) {
                Ok(0) => return Err(End::Closed),
                Ok(read) => {
                    self.last_received = Instant::now();
                    bytes = &mut bytes[read..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) => {}
                Err(_) => return Err(End::Closed),
            }
            if bytes.len() == all && quiet.is_some_and(|quiet| began.elapsed() > quiet) {
                return Ok(false);
            }
            self.check_silence()?;
            if self.channels.is_closing()
                && closing.get_or_insert_with(Instant::now).elapsed() > SHUTDOWN_LIMIT
            {
                return Err(End::Enough);
            }
        }
        Ok(true)
    }

    /// Fails if the peer has been silent for too long.
    pub(super) fn check_silence(&self) -> Result<(), End> {
        if self.last_received.elapsed() <= PEER_TIMEOUT {
            return Ok(());
        }
        Err(End::Wrong(format!("it has said nothing for {} s", PEER_TIMEOUT.as_secs())))
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Waits a little for the cause of a failure, which may arrive later than its consequences.
pub(super) fn reason(failure: &Failure) -> Option<Error> {
    let late = Instant::now() + SHUTDOWN_LIMIT;
    while !failure.is_cause_known() && Instant::now() < late {
        std::thread::sleep(Duration::from_millis(5));
    }
    failure.take()
}
