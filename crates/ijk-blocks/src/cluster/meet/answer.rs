//! Answering who calls.

use super::{Meeting, Met, READY, Refusal, Word, is_late, tell_all};
use crate::cluster::ClusterError;
use crate::cluster::guests::MOST;
use crate::cluster::handshake::{Side, Timed, Trouble, frame, greet};
use crate::cluster::hello::Hello;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread::{self, Scope};
use std::time::Duration;

/// Time limit of a handshake, from the first byte to the last.
const GREETING: Duration = Duration::from_secs(5);

/// Between two looks whether somebody calls: at first, and at most.
const NAP: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

impl Meeting<'_> {
    /// Answers callers, each on a thread of its own, until the meeting is over.
    pub(super) fn answer<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        tell: &Sender<Word>,
    ) {
        let mut nap = NAP.0;
        while !self.is_over() {
            // Those that had to make room may not have gone yet.
            let full = self.busy.load(Ordering::Acquire) >= 2 * MOST;
            if !full && let Ok((stream, from)) = self.cluster.listener.accept() {
                nap = NAP.0;
                self.host(scope, stream, from, tell.clone());
                continue;
            }
            thread::sleep(nap);
            nap = (nap * 2).min(NAP.1);
        }
    }

    /// Greets a caller on a thread of its own; if there is none to be had, the caller has to call again.
    fn host<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        stream: TcpStream,
        from: SocketAddr,
        tell: Sender<Word>,
    ) {
        self.busy.fetch_add(1, Ordering::AcqRel);
        let guest = move || {
            let word = self.greet(stream, from);
            self.busy.fetch_sub(1, Ordering::AcqRel);
            tell_all(&tell, word);
        };
        if thread::Builder::new().spawn_scoped(scope, guest).is_err() {
            self.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Lets a caller in who is expected; whoever has not proved the secret can do no more than go.
    fn greet(&self, stream: TcpStream, from: SocketAddr) -> Result<(), Refusal> {
        // A socket that cannot even be set up is as good as closed.
        if stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true)).is_err() {
            return Ok(());
        }
        let stream = Arc::new(stream);
        let Some(ticket) = self.greetings.admit(&stream) else { return Ok(()) };
        let most = self.left().min(GREETING);
        let secret = &self.cluster.secret;
        let heard = greet(&mut Timed::new(&stream, most), &self.own, secret, Side::Called);
        let stays = self.greetings.done(ticket);
        match heard {
            Ok(_) if !stays => Ok(()),
            Ok(hello) => self.receive(hello, stream, from),
            Err(Trouble::Differs(process, what, theirs, ours)) => {
                let process = self.caller(process, &from.to_string());
                let own = self.cluster.name();
                Err(self.refusal(ClusterError::Differs { process, own, what, theirs, ours }))
            }
            Err(trouble) => {
                if !self.is_over() {
                    self.turned_away(&trouble, from);
                }
                Ok(())
            }
        }
    }

    fn turned_away(&self, trouble: &Trouble, from: SocketAddr) {
        let why = match trouble {
            Trouble::Broken(error) if is_late(error) => {
                "it did not prove in time that it knows the secret".into()
            }
            trouble => self.why(trouble),
        };
        self.cluster.notices.stranger(&self.cluster.name(), from, &why);
    }

    /// Keeps the connection of a process that is expected.
    fn receive(
        &self,
        hello: Hello,
        stream: Arc<TcpStream>,
        from: SocketAddr,
    ) -> Result<(), Refusal> {
        let Hello { process, purpose, instance, .. } = hello;
        let mut places = self.places();
        let known = places.of(purpose).get(process).cloned().flatten();
        // A process whose connection broke before it heard the answer calls again.
        let is_new = known.as_ref().is_none_or(|known| known.instance == instance);
        if self.expects(process) && is_new && self.round.purposes().contains(&purpose) {
            places.of(purpose)[process] = Some(Met { stream: Arc::clone(&stream), instance });
            drop(places);
            // A caller that misses the answer calls again.
            frame(&mut Timed::new(&stream, GREETING), READY).unwrap_or_default();
            return Ok(());
        }
        drop(places);
        let first = known.and_then(|known| known.stream.peer_addr().ok());
        let first = first.map_or("here".into(), |first| first.to_string());
        let process = self.caller(Some(process), "not in the host list");
        let second = from.to_string();
        let refusal = self.refusal(ClusterError::Twice { process, first, second });
        // It goes away anyway.
        frame(&mut Timed::new(&stream, GREETING), &refusal.as_bytes()).unwrap_or_default();
        Err(refusal)
    }

    /// Name of a caller in messages.
    fn caller(&self, process: Option<usize>, from: &str) -> String {
        match process {
            Some(process) if process < self.cluster.hosts.len() => self.cluster.hosts.name(process),
            Some(process) => format!("process {process} ({from})"),
            None => format!("a process ({from})"),
        }
    }
}
