//! Polling of all links.

use super::links::{End, LinkReader, POLL, PeerChannels, SHUTDOWN_LIMIT};
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Reader of all links of a process.
pub(super) struct LinkPoller {
    readers: Arc<Readers>,
    waker: Waker,
}

/// Wakes the thread that polls all links.
#[cfg(target_os = "linux")]
type Waker = Arc<std::os::unix::net::UnixStream>;
#[cfg(not(target_os = "linux"))]
type Waker = ();

/// Number of running reader threads.
#[derive(Default)]
struct Readers {
    running: Mutex<usize>,
    ended: Condvar,
}

impl LinkPoller {
    /// Starts polling links, one of each process.
    pub(super) fn start(
        channels: &Arc<PeerChannels>,
        streams: Vec<Option<TcpStream>>,
    ) -> io::Result<Self> {
        let readers = Arc::default();
        let mut links = Vec::new();
        for (process, stream) in streams.into_iter().enumerate() {
            let Some(stream) = stream else { continue };
            stream.set_read_timeout(Some(POLL))?;
            let (stream, channels) = (Arc::new(stream), Arc::clone(channels));
            links.push(LinkReader { process, stream, channels, last_received: Instant::now() });
        }
        let waker = listen(&readers, channels, links)?;
        Ok(Self { readers, waker })
    }

    /// Waits until all threads have ended, as they do when the links end.
    pub(super) fn close(self) {
        wake(&self.waker);
        let running = self.readers.running.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = self
            .readers
            .ended
            .wait_timeout_while(running, 4 * SHUTDOWN_LIMIT, |running| *running > 0);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Readers {
    /// Runs a closure on a thread of its own.
    fn spawn(
        self: &Arc<Self>,
        name: String,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let own = Arc::clone(self);
        let spawned = std::thread::Builder::new().name(name).spawn(move || {
            run();
            own.leave();
        });
        spawned.map(drop).inspect_err(|_| self.leave())
    }

    fn leave(&self) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.ended.notify_all();
    }
}

/// A thread for each link, as long as it lasts.
#[cfg(not(target_os = "linux"))]
fn listen(
    readers: &Arc<Readers>,
    _: &Arc<PeerChannels>,
    links: Vec<LinkReader>,
) -> io::Result<Waker> {
    for mut link in links {
        readers.spawn(format!("ijk:read-{}", link.process), move || {
            if let Err(end) = link.run(None) {
                link.channels.ended(link.process, end);
            }
        })?;
    }
    Ok(())
}

/// One thread that polls all links; a link with traffic gets a thread of its own meanwhile.
#[cfg(target_os = "linux")]
fn listen(
    readers: &Arc<Readers>,
    channels: &Arc<PeerChannels>,
    links: Vec<LinkReader>,
) -> io::Result<Waker> {
    let (channels, own) = (Arc::clone(channels), Arc::clone(readers));
    let waiting = linux::IdleLinks::new(links)?;
    let waker = waiting.waker();
    readers.spawn("ijk:poller".into(), move || waiting.run(&channels, &own))?;
    Ok(waker)
}

#[cfg(target_os = "linux")]
fn wake(mut waker: &std::os::unix::net::UnixStream) {
    // A full socket wakes the poller already.
    std::io::Write::write(&mut waker, &[0]).map(drop).unwrap_or_default();
}

#[cfg(not(target_os = "linux"))]
fn wake((): &Waker) {}

#[cfg(target_os = "linux")]
mod linux {
    use super::{End, LinkReader, POLL, PeerChannels, Readers, SHUTDOWN_LIMIT};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::io::{self, Read};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::time::{Duration, Instant};

    /// Time that a thread stays with a link after the last message.
    const QUIET: Duration = Duration::from_secs(1);

    /// Links without traffic.
    pub(super) struct IdleLinks {
        links: Vec<LinkReader>,
        /// Channel by which readers return their links.
        back: (Sender<LinkReader>, Receiver<LinkReader>),
        /// Wakes the poller when one is returned.
        waker: (UnixStream, Arc<UnixStream>),
    }

    impl IdleLinks {
        pub(super) fn new(links: Vec<LinkReader>) -> io::Result<Self> {
            let (last_received, woken) = UnixStream::pair()?;
            last_received.set_nonblocking(true)?;
            woken.set_nonblocking(true)?;
            Ok(Self { links, back: mpsc::channel(), waker: (last_received, Arc::new(woken)) })
        }

        pub(super) fn waker(&self) -> Arc<UnixStream> {
            Arc::clone(&self.waker.1)
        }

        pub(super) fn run(mut self, channels: &Arc<PeerChannels>, readers: &Arc<Readers>) {
            let mut closing = None;
            // Links with a reader thread are not in the list until they are returned.
            loop {
                let ready = self.wait();
                for at in ready.into_iter().rev() {
                    self.read(at, readers);
                }
                self.links.extend(self.back.1.try_iter());
                let silent = |link: &mut LinkReader| link.check_silence().is_err();
                for link in self.links.extract_if(.., silent) {
                    if let Err(end) = link.check_silence() {
                        channels.ended(link.process, end);
                    }
                }
                let late = |since: Instant| since.elapsed() > SHUTDOWN_LIMIT;
                if channels.is_closing()
                    && (self.links.is_empty() || late(*closing.get_or_insert_with(Instant::now)))
                {
                    return;
                }
            }
        }

        /// The links with data to read.
        fn wait(&mut self) -> Vec<usize> {
            let waker = std::iter::once(PollFd::new(&self.waker.0, PollFlags::IN));
            let links = self.links.iter().map(|link| PollFd::new(&*link.stream, PollFlags::IN));
            let mut all: Vec<PollFd<'_>> = waker.chain(links).collect();
            let most =
                Timespec { tv_sec: 0, tv_nsec: 4 * POLL.subsec_nanos().cast_signed() as i64 };
            // A signal ends the poll early, which does no harm.
            poll(&mut all, Some(&most)).unwrap_or_default();
            let came = |fd: &PollFd<'_>| !fd.revents().is_empty();
            let ready = all.iter().skip(1).enumerate().filter(|(_, fd)| came(fd));
            let ready = ready.map(|(at, _)| at).collect();
            let mut woken = [0; 64];
            while matches!((&self.waker.0).read(&mut woken), Ok(1..)) {}
            ready
        }

        /// Reads from a link: here if the message is short, else on a thread.
        fn read(&mut self, at: usize, readers: &Arc<Readers>) {
            let link = &mut self.links[at];
            let end = match link.short() {
                Ok(true) => return,
                Ok(false) => None,
                Err(end) => Some(end),
            };
            let mut link = self.links.swap_remove(at);
            if let Some(end) = end {
                return link.channels.ended(link.process, end);
            }
            let (back, waker) = (self.back.0.clone(), Arc::clone(&self.waker.1));
            let (channels, process) = (Arc::clone(&link.channels), link.process);
            let reader = readers.spawn(format!("ijk:read-{process}"), move || {
                match link.run(Some(QUIET)) {
                    Ok(()) => {
                        // The poller may have ended.
                        back.send(link).unwrap_or_default();
                        super::wake(&waker);
                    }
                    Err(end) => link.channels.ended(process, end),
                }
            });
            if let Err(error) = reader {
                let reason = format!("there is no thread to read what it says: {error}");
                channels.ended(process, End::Wrong(reason));
            }
        }
    }
}
