//! The links between processes: errors, blocks that are asked for, signs of life.
//!
//! Each link has a thread that writes and one that reads. A reader never writes, so two processes that answer
//! each other at once do not wait for each other.

use super::message::Message;
use crate::progress::Progress;
use crate::run::failure::{Failure, Report};
use crate::store::Store;
use crate::{Block, Error, StoreError};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Who has nothing to say for so long says that it lives.
const PULSE: Duration = Duration::from_millis(250);

/// Who says nothing for so long is lost.
const SILENCE: Duration = Duration::from_secs(30);

/// How long those who wait sleep before they ask whether somebody failed.
const NAP: Duration = Duration::from_millis(50);

/// How long the others have to hang up at the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// What is to be written; nothing at the end.
type Letter = Option<Message>;

/// Where messages of this process go, and from where answers come.
pub(super) struct Desk {
    senders: Vec<Option<Sender<Letter>>>,
    failure: Arc<Failure>,
    progress: Arc<Progress>,
    /// This process's blocks of each stage.
    stores: Vec<Arc<dyn Store>>,
    asked: AtomicUsize,
    waiting: Mutex<HashMap<usize, Sender<Option<Arc<Block>>>>>,
    /// Which processes need nothing any more.
    done: Mutex<Vec<bool>>,
    changed: Condvar,
    closing: AtomicBool,
}

/// The threads of the links.
pub(super) struct Links {
    pub(super) desk: Arc<Desk>,
    writers: Vec<JoinHandle<()>>,
    readers: Vec<JoinHandle<()>>,
}

/// The ends at which letters are put in, and out of which they come.
pub(super) fn boxes(peers: &[bool]) -> Vec<Option<(Sender<Letter>, Receiver<Letter>)>> {
    peers.iter().map(|&peer| peer.then(mpsc::channel)).collect()
}

impl Links {
    /// Starts the threads of links to other processes.
    pub(super) fn start(
        streams: Vec<Option<TcpStream>>,
        boxes: Vec<Option<(Sender<Letter>, Receiver<Letter>)>>,
        (failure, progress): (&Arc<Failure>, &Arc<Progress>),
        stores: Vec<Arc<dyn Store>>,
    ) -> io::Result<Self> {
        let done = boxes.iter().map(Option::is_none).collect();
        let (senders, receivers): (Vec<_>, Vec<_>) = boxes.into_iter().map(Option::unzip).unzip();
        let desk = Arc::new(Desk {
            senders,
            failure: Arc::clone(failure),
            progress: Arc::clone(progress),
            stores,
            asked: AtomicUsize::new(0),
            waiting: Mutex::default(),
            done: Mutex::new(done),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
        });
        let mut links = Self { desk, writers: Vec::new(), readers: Vec::new() };
        for (process, (stream, letters)) in streams.into_iter().zip(receivers).enumerate() {
            if let (Some(stream), Some(letters)) = (stream, letters) {
                links.add(process, stream, letters)?;
            }
        }
        Ok(links)
    }

    fn add(
        &mut self,
        process: usize,
        stream: TcpStream,
        letters: Receiver<Letter>,
    ) -> io::Result<()> {
        stream.set_read_timeout(Some(NAP))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let (out, own) = (stream.try_clone()?, Arc::clone(&self.desk));
        let writer = std::thread::Builder::new().name(format!("ijk:tell-{process}"));
        self.writers.push(writer.spawn(move || write(out, &letters, &own))?);
        let own = Arc::clone(&self.desk);
        let reader = std::thread::Builder::new().name(format!("ijk:hear-{process}"));
        self.readers.push(reader.spawn(move || Hearing { process, stream, desk: own }.run())?);
        Ok(())
    }

    /// Waits until no process needs anything any more, or somebody failed.
    pub(super) fn finish(&self) {
        for sender in self.desk.senders.iter().flatten() {
            // A writer that is gone has said so.
            let last = Message::Alive(self.desk.progress.own());
            sender.send(Some(last)).and_then(|()| sender.send(Some(Message::Done))).unwrap_or(());
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
        for sender in self.desk.senders.iter().flatten() {
            sender.send(None).unwrap_or(());
        }
        for thread in self.writers.into_iter().chain(self.readers) {
            // They do not panic; if they do, there is nobody else to tell.
            thread.join().unwrap_or(());
        }
    }
}

impl Desk {
    fn done(&self) -> MutexGuard<'_, Vec<bool>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<usize, Sender<Option<Arc<Block>>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, process: usize, message: Message) {
        if let Some(Some(sender)) = self.senders.get(process) {
            // A writer that is gone has said so.
            sender.send(Some(message)).unwrap_or(());
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
                // Who asked may have stopped waiting.
                waiting.send(block).unwrap_or(());
            }
            Message::Done => {
                self.done()[process] = true;
                self.changed.notify_all();
            }
        }
        true
    }
}

/// Writes letters, and in between that this process lives.
fn write(mut stream: TcpStream, letters: &Receiver<Letter>, desk: &Desk) {
    loop {
        let message = match letters.recv_timeout(PULSE) {
            Ok(Some(message)) => message,
            Err(RecvTimeoutError::Timeout) => Message::Alive(desk.progress.own()),
            Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
        };
        let bytes = message.encode();
        let length = (bytes.len() as u64).to_le_bytes();
        if stream.write_all(&length).and_then(|()| stream.write_all(&bytes)).is_err() {
            // The reader finds out why.
            desk.failure.stop();
            break;
        }
    }
    // It may be broken already.
    stream.shutdown(Shutdown::Write).unwrap_or(());
}

/// What reads a link.
struct Hearing {
    process: usize,
    stream: TcpStream,
    desk: Arc<Desk>,
}

/// Why nothing more is read.
enum End {
    /// The other one hung up, or the connection broke.
    Closed,
    /// This process is done.
    Enough,
    Wrong(String),
}

impl Hearing {
    fn run(mut self) {
        let reason = loop {
            let message = match self.next() {
                Ok(message) => message,
                Err(End::Enough) => return,
                Err(End::Closed) => break "its connection closed".to_owned(),
                Err(End::Wrong(reason)) => break reason,
            };
            if !self.desk.hear(self.process, message) {
                break "what it says makes no sense".to_owned();
            }
        };
        let left = self.desk.done()[self.process];
        if !left && !self.desk.failure.is_told() {
            let report = Report { process: self.process, lost: true, reason };
            self.desk.failure.report(&report);
        }
    }

    fn next(&mut self) -> Result<Message, End> {
        let mut length = [0; 8];
        self.fill(&mut length)?;
        let length = u64::from_le_bytes(length);
        let mut bytes = Vec::new();
        let room = usize::try_from(length).map(|length| bytes.try_reserve_exact(length));
        if !matches!(room, Ok(Ok(()))) {
            return Err(End::Wrong(format!("there is no memory for the {length} bytes it sends")));
        }
        bytes.resize(length as usize, 0);
        self.fill(&mut bytes)?;
        let wrong = || End::Wrong("what it says is not understood".to_owned());
        Message::decode(&bytes).ok_or_else(wrong)
    }

    /// Reads as many bytes.
    fn fill(&mut self, mut bytes: &mut [u8]) -> Result<(), End> {
        let (mut heard, mut closing) = (Instant::now(), None);
        while !bytes.is_empty() {
            match self.stream.read(bytes) {
                Ok(0) => return Err(End::Closed),
                Ok(read) => {
                    heard = Instant::now();
                    bytes = &mut bytes[read..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) => {}
                Err(_) => return Err(End::Closed),
            }
            if heard.elapsed() > SILENCE {
                let seconds = SILENCE.as_secs();
                return Err(End::Wrong(format!("it has said nothing for {seconds} s")));
            }
            if self.desk.closing.load(Ordering::Acquire)
                && closing.get_or_insert_with(Instant::now).elapsed() > FAREWELL
            {
                return Err(End::Enough);
            }
        }
        Ok(())
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
