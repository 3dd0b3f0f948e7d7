//! Calling the processes before this one in the host list.

use super::{Meeting, Met, Refusal, is_late};
use crate::cluster::handshake::{Side, Timed, Trouble, greet};
use crate::cluster::hello::{Hello, Purpose};
use crate::cluster::{ClusterError, hosts};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// So many processes are called at once.
pub(super) const AT_ONCE: usize = 4;

/// Between attempts: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// A connection that takes longer is tried again.
const CONNECT: Duration = Duration::from_secs(2);

/// Why an attempt gave no connection.
enum Missed {
    /// There will be no run.
    Refused(Refusal),
    /// Nobody is there: that says less than what was heard before.
    Nobody(String),
    /// Nothing that is believed: it may be different next time.
    Again(String),
}

impl From<Refusal> for Missed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Meeting<'_> {
    /// Calls a process until all connections to it are there.
    pub(super) fn call(&self, process: usize) -> Result<(), Refusal> {
        for &purpose in self.round.purposes() {
            let mut pause = PAUSE.0;
            while !self.is_over() {
                match self.attempt(process, purpose) {
                    Ok(met) => {
                        let mut places = self.places();
                        places.reasons[process] = None;
                        places.of(purpose)[process] = Some(met);
                        break;
                    }
                    Err(Missed::Refused(refusal)) => return Err(refusal),
                    Err(Missed::Again(why)) => self.places().reasons[process] = Some(why),
                    Err(Missed::Nobody(why)) => {
                        self.places().reasons[process].get_or_insert(why);
                    }
                }
                thread::sleep(pause);
                pause = (pause * 2).min(PAUSE.1);
            }
        }
        Ok(())
    }

    fn attempt(&self, process: usize, purpose: Purpose) -> Result<Met, Missed> {
        let nobody = |error: io::Error| Missed::Nobody(error.to_string());
        let (stream, at) = self.connect(process).map_err(nobody)?;
        let stream = Arc::new(stream);
        let over = || Missed::Again("there is no time left".into());
        let ticket = self.greetings.call(&stream).ok_or_else(over)?;
        let met = self.introduce(process, purpose, &stream, at);
        // Where it was shut there will be no run.
        self.greetings.done(ticket);
        met.map(|instance| Met { stream, instance })
    }

    /// Greets the process at the other end, and hears what it makes of that; which instance it is.
    fn introduce(
        &self,
        process: usize,
        purpose: Purpose,
        stream: &TcpStream,
        at: SocketAddr,
    ) -> Result<String, Missed> {
        let own = Hello { purpose, ..self.own.clone() };
        let mut timed = Timed::new(stream, self.left());
        let met = match greet(&mut timed, &own, &self.cluster.secret, Side::Caller) {
            Ok(met) => met,
            Err(Trouble::Differs(_, what, theirs, ours)) => {
                return Err(self.differs(process, what, theirs, ours).into());
            }
            Err(trouble) => {
                let why = self.why(&trouble);
                if matches!(trouble, Trouble::Secret | Trouble::Stranger) {
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
            // It may have taken too long, and is called once more.
            Ok(0) => return Err(Missed::Again("it hung up".into())),
            Err(error) if is_late(&error) => {
                return Err(Missed::Again("it does not answer".into()));
            }
            Err(error) => return Err(Missed::Again(error.to_string())),
        }
        self.listen(process, &mut timed)?;
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
