//! Socket of timely to another process, which hides failures of the connection.
//!
//! When a socket breaks, timely panics on a thread of its own, and its workers after it. So this wrapper reports no
//! errors. When a peer is lost, or any worker failed, it stops all workers, waits until they have ended, and then
//! completes the stream with made-up bytes: the rest of the last message, and timely's end marker, a header without a
//! message. The workers must not see made-up bytes.

use crate::progress::Progress;
use crate::run::failure::Failure;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use timely::communication::allocator::zero_copy::stream::Stream;

/// State shared by the streams of a process.
pub(super) struct StreamContext {
    pub(super) failure: Arc<Failure>,
    pub(super) progress: Arc<Progress>,
    workers_gone: Mutex<bool>,
    gone: Condvar,
}

impl StreamContext {
    pub(super) fn new(failure: Arc<Failure>, progress: Arc<Progress>) -> Self {
        Self { failure, progress, workers_gone: Mutex::new(false), gone: Condvar::new() }
    }

    /// Marks the workers of this process as ended.
    pub(super) fn leave(&self) {
        *self.workers_gone.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.gone.notify_all();
    }

    fn wait_for_workers(&self) {
        let gone = self.workers_gone.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = self.gone.wait_while(gone, |gone| !*gone);
        drop(gone.unwrap_or_else(PoisonError::into_inner));
    }
}

/// One end of a connection.
pub(super) struct DataStream {
    stream: TcpStream,
    shared: Arc<StreamContext>,
    frames: Frames,
    broken: bool,
}

impl DataStream {
    pub(super) fn new(stream: TcpStream, shared: Arc<StreamContext>) -> Self {
        Self { stream, shared, frames: Frames::default(), broken: false }
    }
}

impl Read for DataStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while !self.broken {
            match self.stream.read(bytes) {
                Ok(0) if self.frames.ended => return Ok(0),
                Ok(read @ 1..) => {
                    self.frames.pass(&bytes[..read]);
                    return Ok(read);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => {
                    // The link reports the reason.
                    self.shared.failure.stop();
                    self.shared.wait_for_workers();
                    self.broken = true;
                }
            }
        }
        Ok(self.frames.close(bytes))
    }
}

impl Write for DataStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while !self.shared.failure.is_set() {
            match self.stream.write(bytes) {
                Ok(written) => {
                    self.shared.progress.sent(written);
                    return Ok(written);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.shared.failure.stop(),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for DataStream {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self::new(self.stream.try_clone()?, Arc::clone(&self.shared)))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        // A broken connection needs no shutdown.
        self.stream.shutdown(how).unwrap_or_default();
        Ok(())
    }
}

/// Size of the header before each of timely's messages, and the position of the message length in it.
const HEADER: usize = 48;
const LENGTH: std::ops::Range<usize> = 32..40;

/// Position of a stream within timely's messages.
struct Frames {
    header: [u8; HEADER],
    /// Number of bytes of the header received.
    filled: usize,
    /// Number of bytes of the message still to come.
    missing: usize,
    /// The end marker has passed.
    ended: bool,
}

impl Default for Frames {
    fn default() -> Self {
        Self { header: [0; HEADER], filled: 0, missing: 0, ended: false }
    }
}

impl Frames {
    /// Parses the next bytes of the stream.
    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let known = if self.missing > 0 { self.missing } else { HEADER - self.filled };
            let (next, rest) = bytes.split_at(known.min(bytes.len()));
            bytes = rest;
            if self.missing > 0 {
                self.missing -= next.len();
                continue;
            }
            self.header[self.filled..self.filled + next.len()].copy_from_slice(next);
            self.filled += next.len();
            if self.filled == HEADER {
                self.filled = 0;
                let mut length = [0; 8];
                length.copy_from_slice(&self.header[LENGTH]);
                self.missing = usize::try_from(u64::from_be_bytes(length)).unwrap_or(usize::MAX);
                self.ended = self.missing == 0;
            }
        }
    }

    /// Writes the bytes that complete the stream; returns 0 at the end.
    fn close(&mut self, bytes: &mut [u8]) -> usize {
        if self.ended {
            return 0;
        }
        let known = if self.missing > 0 { self.missing } else { HEADER - self.filled };
        let made = known.min(bytes.len());
        bytes[..made].fill(0);
        self.pass(&bytes[..made]);
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timely::communication::networking::MessageHeader;

    /// A stream of messages of these lengths, as timely encodes them.
    fn stream(lengths: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &length in lengths {
            let [channel, source, target_lower] = [7, 1, 2];
            let (target_upper, seqno) = (3, usize::MAX);
            let header =
                MessageHeader { channel, source, target_lower, target_upper, length, seqno };
            assert_eq!(header.header_bytes(), HEADER);
            header.write_to(&mut bytes).unwrap();
            bytes.extend(vec![0xff; length]);
        }
        bytes
    }

    #[test]
    fn streams_end_whole_wherever_they_break() {
        let whole = stream(&[5, 100, 1]);
        for end in 0..=whole.len() {
            let mut frames = Frames::default();
            whole[..end].chunks(7).for_each(|bytes| frames.pass(bytes));
            let mut all = whole[..end].to_vec();
            let mut bytes = [0; 11];
            loop {
                let made = frames.close(&mut bytes);
                if made == 0 {
                    break;
                }
                all.extend_from_slice(&bytes[..made]);
            }
            // Messages, then an empty one.
            let mut rest = &all[..];
            let mut last = 1;
            while let Some(header) = MessageHeader::try_read(rest) {
                assert!(last > 0, "{end}: something follows the end");
                rest = &rest[header.required_bytes()..];
                last = header.length;
            }
            assert!(rest.is_empty() && last == 0, "{end}: {} bytes left", rest.len());
        }
    }

    #[test]
    fn the_sign_for_the_end_is_seen() {
        let mut frames = Frames::default();
        frames.pass(&stream(&[3, 8, 0]));
        assert!(frames.ended);
        let mut frames = Frames::default();
        frames.pass(&stream(&[3, 8]));
        assert!(!frames.ended);
    }
}
