//! Queue of messages to another process.

use super::message::Message;
use crate::cluster::ClusterError;
use crate::run::failure::Failure;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// Time that an idle writer thread waits for more messages.
const LINGER: Duration = Duration::from_secs(1);

/// Ordered queue of messages to one process. A thread writes them while there are any, and for a while after.
pub(super) struct Outbox {
    stream: TcpStream,
    /// Notified if a write fails.
    failure: OnceLock<Weak<Failure>>,
    pending: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Default)]
struct Pending {
    queue: VecDeque<Queued>,
    /// A thread is writing.
    is_written: bool,
    /// No more messages will come.
    is_closed: bool,
}

enum Queued {
    Message(Message),
    /// Unwritten rest of a message.
    Rest(Vec<u8>),
}

impl Outbox {
    pub(super) fn new(stream: TcpStream) -> Arc<Self> {
        Arc::new(Self {
            stream,
            failure: OnceLock::new(),
            pending: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Sets the failure to notify if a write fails.
    pub(super) fn fails(&self, failure: &Arc<Failure>) {
        self.failure.get_or_init(|| Arc::downgrade(failure));
    }

    /// Sends a message behind the queued ones; a short one directly, if none is queued and the socket has room.
    pub(super) fn put(self: &Arc<Self>, message: Message) {
        let mut pending = self.pending();
        if pending.is_closed {
            return;
        }
        if pending.is_written || !message.is_short() {
            pending.queue.push_back(Queued::Message(message));
            return self.write_soon(pending);
        }
        let bytes = framed(&message);
        match write_now(&self.stream, &bytes) {
            Ok(written) if written == bytes.len() => {}
            Ok(written) => {
                pending.queue.push_back(Queued::Rest(bytes[written..].to_vec()));
                self.write_soon(pending);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                pending.queue.push_back(Queued::Message(message));
                self.write_soon(pending);
            }
            Err(_) => {
                drop(pending);
                self.stop();
            }
        }
    }

    /// Sends a message, unless others are being written.
    pub(super) fn put_if_quiet(self: &Arc<Self>, message: Message) {
        if !self.pending().is_written {
            self.put(message);
        }
    }

    /// Marks the end of the messages.
    pub(super) fn close(&self) {
        let mut pending = self.pending();
        pending.is_closed = true;
        if !pending.is_written {
            self.hang_up();
        }
        drop(pending);
        self.changed.notify_all();
    }

    /// Waits until everything is written.
    pub(super) fn wait(&self) {
        let pending = self.changed.wait_while(self.pending(), |pending| pending.is_written);
        drop(pending.unwrap_or_else(PoisonError::into_inner));
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts or wakes the writer thread.
    fn write_soon(self: &Arc<Self>, mut pending: MutexGuard<'_, Pending>) {
        if pending.is_written {
            drop(pending);
            return self.changed.notify_all();
        }
        pending.is_written = true;
        drop(pending);
        let own = Arc::clone(self);
        let writer = std::thread::Builder::new().name("ijk:write".into());
        if let Err(error) = writer.spawn(move || own.write_all()) {
            self.pending().is_written = false;
            self.changed.notify_all();
            if let Some(failure) = self.failure.get().and_then(Weak::upgrade) {
                failure.set(ClusterError::Connections(error).into());
            }
        }
    }

    /// Writes queued messages, until none has been queued for a while.
    fn write_all(&self) {
        let mut pending = self.pending();
        loop {
            let Some(letter) = pending.queue.pop_front() else {
                if pending.is_closed {
                    self.hang_up();
                    break;
                }
                let waits = |pending: &mut Pending| pending.queue.is_empty() && !pending.is_closed;
                let waited = self.changed.wait_timeout_while(pending, LINGER, waits);
                let (guard, waited) = waited.unwrap_or_else(PoisonError::into_inner);
                pending = guard;
                if waited.timed_out() {
                    break;
                }
                continue;
            };
            drop(pending);
            let mut stream = &self.stream;
            let written = match letter {
                Queued::Rest(bytes) => stream.write_all(&bytes),
                Queued::Message(message) => {
                    let bytes = message.encode();
                    let length = (bytes.len() as u64).to_le_bytes();
                    stream.write_all(&length).and_then(|()| stream.write_all(&bytes))
                }
            };
            if written.is_err() {
                // The reader of the link finds the cause.
                self.stop();
                pending = self.pending();
                pending.queue.clear();
                pending.is_closed = true;
                continue;
            }
            pending = self.pending();
        }
        pending.is_written = false;
        drop(pending);
        self.changed.notify_all();
    }

    fn stop(&self) {
        if let Some(failure) = self.failure.get().and_then(Weak::upgrade) {
            failure.stop();
        }
    }

    fn hang_up(&self) {
        // It may be broken already.
        self.stream.shutdown(Shutdown::Write).unwrap_or(());
    }
}

/// A message with its length before it.
fn framed(message: &Message) -> Vec<u8> {
    let bytes = message.encode();
    [&(bytes.len() as u64).to_le_bytes()[..], &bytes].concat()
}

/// Writes as many bytes as the socket has room for.
#[cfg(target_os = "linux")]
fn write_now(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    use rustix::net::{SendFlags, send};
    Ok(send(stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
}

/// Writes nothing, where a write might block.
#[cfg(not(target_os = "linux"))]
fn write_now(_: &TcpStream, _: &[u8]) -> io::Result<usize> {
    Err(io::ErrorKind::WouldBlock.into())
}
