//! Waiting for all links at once.

use super::links::{Desk, End, FAREWELL, Hearing, NAP};
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Reader of all links of a process.
pub(super) struct Ear {
    readers: Arc<Readers>,
    bell: Bell,
}

/// Wakes the thread that polls all links.
#[cfg(target_os = "linux")]
type Bell = Arc<std::os::unix::net::UnixStream>;
#[cfg(not(target_os = "linux"))]
type Bell = ();

/// The threads that read: how many there are.
#[derive(Default)]
struct Readers {
    running: Mutex<usize>,
    ended: Condvar,
}

impl Ear {
    /// Listens to links, each of a process.
    pub(super) fn start(desk: &Arc<Desk>, streams: Vec<Option<TcpStream>>) -> io::Result<Self> {
        let readers = Arc::default();
        let mut links = Vec::new();
        for (process, stream) in streams.into_iter().enumerate() {
            let Some(stream) = stream else { continue };
            stream.set_read_timeout(Some(NAP))?;
            let (stream, desk) = (Arc::new(stream), Arc::clone(desk));
            links.push(Hearing { process, stream, desk, heard: Instant::now() });
        }
        let bell = listen(&readers, desk, links)?;
        Ok(Self { readers, bell })
    }

    /// Waits until all threads have ended, which the end of the links brings about.
    pub(super) fn close(self) {
        ring(&self.bell);
        let running = self.readers.running.lock().unwrap_or_else(PoisonError::into_inner);
        let ended =
            self.readers.ended.wait_timeout_while(running, 4 * FAREWELL, |running| *running > 0);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Readers {
    /// Runs something on a thread of its own.
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
fn listen(readers: &Arc<Readers>, _: &Arc<Desk>, links: Vec<Hearing>) -> io::Result<Bell> {
    for mut link in links {
        readers.spawn(format!("ijk:hear-{}", link.process), move || {
            if let Err(end) = link.run(None) {
                link.desk.ended(link.process, end);
            }
        })?;
    }
    Ok(())
}

/// One thread that waits for all links; those on which something comes get threads of their own while it does.
#[cfg(target_os = "linux")]
fn listen(readers: &Arc<Readers>, desk: &Arc<Desk>, links: Vec<Hearing>) -> io::Result<Bell> {
    let (desk, own) = (Arc::clone(desk), Arc::clone(readers));
    let waiting = linux::Waiting::new(links)?;
    let bell = waiting.bell();
    readers.spawn("ijk:ear".into(), move || waiting.run(&desk, &own))?;
    Ok(bell)
}

#[cfg(target_os = "linux")]
fn ring(mut bell: &std::os::unix::net::UnixStream) {
    // One that is full rings already.
    std::io::Write::write(&mut bell, &[0]).map(drop).unwrap_or_default();
}

#[cfg(not(target_os = "linux"))]
fn ring((): &Bell) {}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Desk, End, FAREWELL, Hearing, NAP, Readers};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::io::{self, Read};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::time::{Duration, Instant};

    /// Time that a thread stays with a link after the last message.
    const QUIET: Duration = Duration::from_secs(1);

    /// Links on which nothing comes at the moment.
    pub(super) struct Waiting {
        links: Vec<Hearing>,
        /// Where links come back.
        back: (Sender<Hearing>, Receiver<Hearing>),
        /// Wakes the poller when one is returned.
        bell: (UnixStream, Arc<UnixStream>),
    }

    impl Waiting {
        pub(super) fn new(links: Vec<Hearing>) -> io::Result<Self> {
            let (heard, rung) = UnixStream::pair()?;
            heard.set_nonblocking(true)?;
            rung.set_nonblocking(true)?;
            Ok(Self { links, back: mpsc::channel(), bell: (heard, Arc::new(rung)) })
        }

        pub(super) fn bell(&self) -> Arc<UnixStream> {
            Arc::clone(&self.bell.1)
        }

        pub(super) fn run(mut self, desk: &Arc<Desk>, readers: &Arc<Readers>) {
            let mut closing = None;
            // Links that threads read are not here, but come back or end.
            loop {
                let ready = self.wait();
                for at in ready.into_iter().rev() {
                    self.read(at, readers);
                }
                self.links.extend(self.back.1.try_iter());
                let silent = |link: &mut Hearing| link.check_silence().is_err();
                for link in self.links.extract_if(.., silent) {
                    if let Err(end) = link.check_silence() {
                        desk.ended(link.process, end);
                    }
                }
                let late = |since: Instant| since.elapsed() > FAREWELL;
                if desk.is_closing()
                    && (self.links.is_empty() || late(*closing.get_or_insert_with(Instant::now)))
                {
                    return;
                }
            }
        }

        /// The links on which something comes.
        fn wait(&mut self) -> Vec<usize> {
            let bell = std::iter::once(PollFd::new(&self.bell.0, PollFlags::IN));
            let links = self.links.iter().map(|link| PollFd::new(&*link.stream, PollFlags::IN));
            let mut all: Vec<PollFd<'_>> = bell.chain(links).collect();
            let most = Timespec { tv_sec: 0, tv_nsec: 4 * NAP.subsec_nanos().cast_signed() as i64 };
            // A signal is a reason to look, too.
            poll(&mut all, Some(&most)).unwrap_or_default();
            let came = |fd: &PollFd<'_>| !fd.revents().is_empty();
            let ready = all.iter().skip(1).enumerate().filter(|(_, fd)| came(fd));
            let ready = ready.map(|(at, _)| at).collect();
            let mut rung = [0; 64];
            while matches!((&self.bell.0).read(&mut rung), Ok(1..)) {}
            ready
        }

        /// Reads what comes on a link: here if it is short, else by a thread.
        fn read(&mut self, at: usize, readers: &Arc<Readers>) {
            let link = &mut self.links[at];
            let end = match link.short() {
                Ok(true) => return,
                Ok(false) => None,
                Err(end) => Some(end),
            };
            let mut link = self.links.swap_remove(at);
            if let Some(end) = end {
                return link.desk.ended(link.process, end);
            }
            let (back, bell) = (self.back.0.clone(), Arc::clone(&self.bell.1));
            let (desk, process) = (Arc::clone(&link.desk), link.process);
            let reader = readers.spawn(format!("ijk:hear-{process}"), move || {
                match link.run(Some(QUIET)) {
                    Ok(()) => {
                        // The poller may have ended.
                        back.send(link).unwrap_or_default();
                        super::ring(&bell);
                    }
                    Err(end) => link.desk.ended(process, end),
                }
            });
            if let Err(error) = reader {
                let reason = format!("there is no thread to read what it says: {error}");
                desk.ended(process, End::Wrong(reason));
            }
        }
    }
}
