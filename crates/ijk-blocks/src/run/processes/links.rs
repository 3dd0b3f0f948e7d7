//! The links between processes: errors, blocks that are asked for, signs of life.
//!
//! Messages to a process are queued in its [`Outbox`]; a thread writes them while there are any, and then ends. One
//! thread, the [`ear`](super::ear), polls all links; a link with much traffic gets a thread that reads it while that
//! lasts. So processes with little traffic need few threads. A reader never writes, so two processes that answer each
//! other at once do not deadlock.

use super::ear::Ear;
use super::message::Message;
use super::outbox::Outbox;
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
const PULSE: Duration = Duration::from_millis(250);

/// The same for more processes than this: less often, so that all of them together say no more.
const FEW: u32 = 8;

/// Time without a message after which a process counts as lost.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// Time that a waiting thread sleeps before it checks for a failure.
pub(super) const NAP: Duration = Duration::from_millis(50);

/// Time that the other processes have to close their connections at the end.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// Where messages of this process go, and from where answers come.
pub(super) struct Desk {
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
    pub(super) desk: Arc<Desk>,
    pulse: JoinHandle<()>,
    ear: Ear,
}

impl Links {
    /// Starts the threads of links to other processes.
    pub(super) fn start(
        streams: Vec<Option<TcpStream>>,
        outboxes: Vec<Option<Arc<Outbox>>>,
        (failure, progress): (&Arc<Failure>, &Arc<Progress>),
        stores: Vec<Arc<dyn Store>>,
    ) -> io::Result<Self> {
        let done = outboxes.iter().map(Option::is_none).collect();
        let desk = Arc::new(Desk {
            outboxes,
            failure: Arc::clone(failure),
            progress: Arc::clone(progress),
            stores,
            asked: AtomicUsize::new(0),
            waiting: Mutex::default(),
            done: Mutex::new(done),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
        });
        let ear = Ear::start(&desk, streams)?;
        let own = Arc::clone(&desk);
        let pulse = std::thread::Builder::new().name("ijk:pulse".into());
        let pulse = pulse.spawn(move || own.live())?;
        Ok(Self { desk, pulse, ear })
    }

    /// Waits until no process needs anything any more, or somebody failed.
    pub(super) fn finish(&self) {
        for outbox in self.desk.outboxes.iter().flatten() {
            outbox.put(Message::Alive(self.desk.progress.own()));
            outbox.put(Message::Done);
        }
        let mut done = self.desk.done();
        while done.contains(&false) && !self.desk.failure.is_set() {
            let waited = self.desk.changed.wait_timeout(done, NAP);
            done = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the threads, when everything is written.
    pub(super) fn close(self) {
        self.desk.closing.store(true, Ordering::Release);
        // Whoever has not seen that waits by now, and is woken.
        drop(self.desk.done());
        self.desk.changed.notify_all();
        // They do not panic; if they do, there is nobody else to tell.
        self.pulse.join().unwrap_or(());
        let outboxes = || self.desk.outboxes.iter().flatten();
        outboxes().for_each(|outbox| outbox.close());
        outboxes().for_each(|outbox| outbox.wait());
        self.ear.close();
    }
}

impl Desk {
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

    /// Says from time to time to all others that this process lives.
    fn live(&self) {
        let processes = u32::try_from(self.outboxes.len()).unwrap_or(u32::MAX);
        let pulse = (PULSE * processes.div_ceil(FEW).max(1)).min(SILENCE / 8);
        let mut done = self.done();
        while !self.is_closing() {
            let waited = self.changed.wait_timeout(done, pulse);
            let (guard, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            drop(guard);
            if waited.timed_out() {
                let alive = || Message::Alive(self.progress.own());
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

    /// A block that another process has computed.
    pub(super) fn ask(
        &self,
        process: usize,
        stage: usize,
        at: &[usize],
    ) -> Result<Option<Arc<Block>>, StoreError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = mpsc::channel();
        self.waiting().insert(number, sender);
        self.send(process, Message::Ask { number, stage, at: at.to_vec() });
        loop {
            match answer.recv_timeout(NAP) {
                Ok(block) => return Ok(block),
                Err(_) if self.failure.is_set() => {
                    let place = format!("stage {stage}");
                    return Err(StoreError::of_block(&place, at, "its process is gone"));
                }
                Err(_) => {}
            }
        }
    }

    /// Does what a message asks for; false if it makes no sense.
    fn hear(&self, process: usize, message: Message) -> bool {
        match message {
            Message::Alive(done) => self.progress.heard(process, done),
            Message::Failed(report) => self.failure.report(&report),
            Message::Ask { number, stage, at } => {
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

    /// Takes note of a link that has ended.
    pub(super) fn ended(&self, process: usize, end: End) {
        let reason = match end {
            End::Enough => return,
            End::Closed => "its connection closed".to_owned(),
            End::Wrong(reason) => reason,
        };
        let left = self.done()[process];
        if !left && !self.failure.is_told() {
            self.failure.report(&Report { process, lost: true, reason });
        }
    }
}

/// Why nothing more is read.
pub(super) enum End {
    /// The other one hung up, or the connection broke.
    Closed,
    /// This process is done.
    Enough,
    Wrong(String),
}

/// Reader of one link.
pub(super) struct Hearing {
    pub(super) process: usize,
    pub(super) stream: Arc<TcpStream>,
    pub(super) desk: Arc<Desk>,
    /// When something came last.
    pub(super) heard: Instant,
}

impl Hearing {
    /// Reads messages until none comes for so long; none stands for as long as the link lasts.
    pub(super) fn run(&mut self, quiet: Option<Duration>) -> Result<(), End> {
        loop {
            let mut length = [0; 8];
            if !self.fill(&mut length, quiet)? {
                return Ok(());
            }
            let message = self.message(u64::from_le_bytes(length))?;
            if !self.desk.hear(self.process, message) {
                return Err(End::Wrong("what it says makes no sense".to_owned()));
            }
        }
    }

    /// Reads a message that is there, short, and answered at once; false if what comes is another one.
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
        if whole > there || Message::is_ask(&bytes[8..whole]) {
            return Ok(false);
        }
        // It is there, so that reading it does not wait.
        self.fill(&mut bytes[..whole], None)?;
        let wrong = |why: &str| End::Wrong(format!("what it says {why}"));
        let message = Message::decode(&bytes[8..whole]);
        match self.desk.hear(self.process, message.ok_or_else(|| wrong("is not understood"))?) {
            true => Ok(true),
            false => Err(wrong("makes no sense")),
        }
    }

    /// Reads a message of so many bytes.
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

    /// Reads as many bytes; false if there is none for so long.
    fn fill(&mut self, mut bytes: &mut [u8], quiet: Option<Duration>) -> Result<bool, End> {
        let (all, began, mut closing) = (bytes.len(), Instant::now(), None);
        while !bytes.is_empty() {
            match (&*self.stream).read(bytes) {
                Ok(0) => return Err(End::Closed),
                Ok(read) => {
                    self.heard = Instant::now();
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
            if self.desk.is_closing()
                && closing.get_or_insert_with(Instant::now).elapsed() > FAREWELL
            {
                return Err(End::Enough);
            }
        }
        Ok(true)
    }

    /// That something came not too long ago.
    pub(super) fn check_silence(&self) -> Result<(), End> {
        if self.heard.elapsed() <= SILENCE {
            return Ok(());
        }
        Err(End::Wrong(format!("it has said nothing for {} s", SILENCE.as_secs())))
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Waits a little for the reason of a failure, which may come later than its consequences.
pub(super) fn reason(failure: &Failure) -> Option<Error> {
    let late = Instant::now() + FAREWELL;
    while !failure.is_told() && Instant::now() < late {
        std::thread::sleep(Duration::from_millis(5));
    }
    failure.take()
}
