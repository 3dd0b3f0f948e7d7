//! Incoming connections.

use super::{Connection, Outcome, READY, Refusal, Rendezvous, is_late, tell_all};
use crate::cluster::ClusterError;
use crate::cluster::handshake::{HandshakeError, Side, Timed, frame, handshake};
use crate::cluster::peer_info::PeerInfo;
use crate::cluster::pending::MOST;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread::{self, Scope};
use std::time::Duration;

/// Time limit of a handshake, from the first byte to the last.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Polling interval of the listener: the first, and the greatest.
const NAP: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

impl Rendezvous<'_> {
    /// Accepts callers, each on a thread of its own, until the rendezvous is over.
    pub(super) fn accept<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        tell: &Sender<Outcome>,
    ) {
        let mut nap = NAP.0;
        while !self.is_over() {
            // Connections that were shut down may still have threads.
            let full = self.busy.load(Ordering::Acquire) >= 2 * MOST;
            if !full && let Ok((stream, from)) = self.cluster.listener.accept() {
                nap = NAP.0;
                self.accept_one(scope, stream, from, tell.clone());
                continue;
            }
            thread::sleep(nap);
            nap = (nap * 2).min(NAP.1);
        }
    }

    /// Handles a caller on a thread of its own. If no thread can be started, the caller calls again.
    fn accept_one<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        stream: TcpStream,
        from: SocketAddr,
        tell: Sender<Outcome>,
    ) {
        self.busy.fetch_add(1, Ordering::AcqRel);
        let admit = move || {
            let outcome = self.admit(stream, from);
            self.busy.fetch_sub(1, Ordering::AcqRel);
            tell_all(&tell, outcome);
        };
        if thread::Builder::new().spawn_scoped(scope, admit).is_err() {
            self.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Performs the handshake with a caller, and keeps the connection if it is expected. An unauthenticated caller is
    /// dropped without other effects.
    fn admit(&self, stream: TcpStream, from: SocketAddr) -> Result<(), Refusal> {
        // A socket that cannot be configured is as good as closed.
        if stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true)).is_err() {
            return Ok(());
        }
        let stream = Arc::new(stream);
        let Some(ticket) = self.pending.admit(&stream) else { return Ok(()) };
        let most = self.left().min(TIME_LIMIT);
        let secret = &self.cluster.secret;
        let heard = handshake(&mut Timed::new(&stream, most), &self.own, secret, Side::Called);
        let stays = self.pending.done(ticket);
        match heard {
            Ok(_) if !stays => Ok(()),
            Ok(info) => self.receive(info, stream, from),
            Err(HandshakeError::Mismatch(process, what, theirs, ours)) => {
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

    fn turned_away(&self, trouble: &HandshakeError, from: SocketAddr) {
        let why = match trouble {
            HandshakeError::Io(error) if is_late(error) => {
                "it did not prove in time that it knows the secret".into()
            }
            trouble => self.why(trouble),
        };
        self.cluster.notices.refused(&self.cluster.name(), from, &why);
    }

    /// Keeps the connection of a process that is expected.
    fn receive(
        &self,
        info: PeerInfo,
        stream: Arc<TcpStream>,
        from: SocketAddr,
    ) -> Result<(), Refusal> {
        let PeerInfo { process, purpose, instance, .. } = info;
        let mut connections = self.connections();
        let known = connections.of(purpose).get(process).cloned().flatten();
        // A process whose connection broke before it received the answer calls again.
        let is_new = known.as_ref().is_none_or(|known| known.instance == instance);
        if self.expects(process) && is_new && self.topology.purposes().contains(&purpose) {
            connections.of(purpose)[process] =
                Some(Connection { stream: Arc::clone(&stream), instance });
            drop(connections);
            // A caller that misses the answer calls again.
            frame(&mut Timed::new(&stream, TIME_LIMIT), READY).unwrap_or_default();
            return Ok(());
        }
        drop(connections);
        let first = known.and_then(|known| known.stream.peer_addr().ok());
        let first = first.map_or("here".into(), |first| first.to_string());
        let process = self.caller(Some(process), "not in the host list");
        let second = from.to_string();
        let refusal = self.refusal(ClusterError::Twice { process, first, second });
        // The connection is dropped anyway.
        frame(&mut Timed::new(&stream, TIME_LIMIT), &refusal.as_bytes()).unwrap_or_default();
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
