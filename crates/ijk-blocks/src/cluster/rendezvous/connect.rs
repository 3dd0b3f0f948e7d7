//! Outgoing connections, to the processes before this one in the host list.

use super::{Connection, Refusal, Rendezvous, is_late};
use crate::cluster::handshake::{HandshakeError, Side, Timed, handshake};
use crate::cluster::peer_info::{PeerInfo, Purpose};
use crate::cluster::{ClusterError, hosts};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Number of processes that are called at once.
pub(super) const AT_ONCE: usize = 4;

/// Delay between attempts: the first, and the greatest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// Timeout of an attempt to connect.
const CONNECT: Duration = Duration::from_secs(2);

/// Failure of an attempt.
enum Missed {
    /// There will be no run.
    Refused(Refusal),
    /// No connection: less informative than an earlier failure.
    Nobody(String),
    /// A failed handshake, which may succeed next time.
    Again(String),
}

impl From<Refusal> for Missed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Rendezvous<'_> {
    /// Connects to a process, for all purposes.
    pub(super) fn call(&self, process: usize) -> Result<(), Refusal> {
        for &purpose in self.topology.purposes() {
            let mut pause = PAUSE.0;
            while !self.is_over() {
                match self.attempt(process, purpose) {
                    Ok(met) => {
                        let mut connections = self.connections();
                        connections.reasons[process] = None;
                        connections.of(purpose)[process] = Some(met);
                        break;
                    }
                    Err(Missed::Refused(refusal)) => return Err(refusal),
                    Err(Missed::Again(why)) => self.connections().reasons[process] = Some(why),
                    Err(Missed::Nobody(why)) => {
                        self.connections().reasons[process].get_or_insert(why);
                    }
                }
                thread::sleep(pause);
                pause = (pause * 2).min(PAUSE.1);
            }
        }
        Ok(())
    }

    fn attempt(&self, process: usize, purpose: Purpose) -> Result<Connection, Missed> {
        let nobody = |error: io::Error| Missed::Nobody(error.to_string());
        let (stream, at) = self.connect(process).map_err(nobody)?;
        let stream = Arc::new(stream);
        let over = || Missed::Again("there is no time left".into());
        let ticket = self.pending.call(&stream).ok_or_else(over)?;
        let met = self.introduce(process, purpose, &stream, at);
        // If it was shut down, there will be no run.
        self.pending.done(ticket);
        met.map(|instance| Connection { stream, instance })
    }

    /// Performs the handshake with the process, and awaits its readiness; returns its instance.
    fn introduce(
        &self,
        process: usize,
        purpose: Purpose,
        stream: &TcpStream,
        at: SocketAddr,
    ) -> Result<String, Missed> {
        let own = PeerInfo { purpose, ..self.own.clone() };
        let mut timed = Timed::new(stream, self.left());
        let met = match handshake(&mut timed, &own, &self.cluster.secret, Side::Caller) {
            Ok(met) => met,
            Err(HandshakeError::Mismatch(_, what, theirs, ours)) => {
                return Err(self.differs(process, what, theirs, ours).into());
            }
            Err(trouble) => {
                let why = self.why(&trouble);
                if matches!(trouble, HandshakeError::Secret | HandshakeError::Protocol) {
                    self.cluster.notices.listener(&self.cluster.name(), at, &why);
                }
                return Err(Missed::Again(why));
            }
        };
        if met.process != process {
            let [theirs, ours] = [met.process, process].map(|n| format!("process {n}"));
            return Err(self.differs(process, "who is there", theirs, ours).into());
        }
        let mut first = [0; 1];
        match stream.peek(&mut first) {
            Ok(1..) => {}
            // The peer may have timed out, and is called again.
            Ok(0) => return Err(Missed::Again("it hung up".into())),
            Err(error) if is_late(&error) => {
                return Err(Missed::Again("it does not answer".into()));
            }
            Err(error) => return Err(Missed::Again(error.to_string())),
        }
        self.await_ready(process, &mut timed)?;
        Ok(met.instance)
    }

    fn differs(&self, process: usize, what: &'static str, theirs: String, ours: String) -> Refusal {
        let (process, own) = (self.cluster.hosts.name(process), self.cluster.name());
        self.refusal(ClusterError::Differs { process, own, what, theirs, ours })
    }

    fn connect(&self, process: usize) -> io::Result<(TcpStream, SocketAddr)> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        let most = self.left().clamp(PAUSE.1, CONNECT);
        for address in hosts::resolve(self.cluster.hosts.address(process))? {
            match TcpStream::connect_timeout(&address, most) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok((stream, address));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
