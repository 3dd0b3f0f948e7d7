//! How the processes of a run find each other.
//!
//! Each process calls those before it in the host list and is called by those after it, twice: a connection for
//! timely's data and a link ([`Purpose`]). When it has met all, it says so on all links; when all have said so,
//! the run begins. Whoever gives up says why on the links that it has, so nobody waits for it in vain.

use super::hello::{Hello, Purpose, Side, Terms, Trouble, frame, greet, read_frame};
use super::{Cluster, ClusterError, hosts};
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The connections to another process.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) data: TcpStream,
    pub(crate) link: TcpStream,
}

/// Between attempts: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// Whoever calls says at once what it is; others are not waited for longer.
const SILENCE: Duration = Duration::from_secs(3);

/// What a process says on its links before the run.
const READY: &[u8] = b"+";
const GAVE_UP: &[u8] = b"-";

/// Meets all other processes, unless this one says why it cannot go on; `None` in the place of this one.
pub(super) fn meet(
    cluster: &Cluster,
    terms: &Terms,
    trouble: Option<&str>,
) -> Result<Vec<Option<Peer>>, ClusterError> {
    let own = Hello::new(&cluster.hosts, cluster.process, cluster.next_run(), terms)?;
    let mut meeting = Meeting {
        cluster,
        own,
        deadline: Instant::now() + cluster.wait,
        data: cluster.hosts.each(|_| None),
        links: cluster.hosts.each(|_| None),
    };
    let met = meeting.meet_all().and_then(|()| match trouble {
        Some(reason) => {
            let (process, reason) = (cluster.name(), reason.to_owned());
            Err(ClusterError::Left { process, reason })
        }
        None => meeting.ready(),
    });
    match met {
        Ok(()) => {
            let pairs = meeting.data.into_iter().zip(meeting.links);
            Ok(pairs.map(|(data, link)| Some(Peer { data: data?, link: link? })).collect())
        }
        Err(error) => {
            let reason = trouble.map_or_else(|| error.to_string(), str::to_owned);
            meeting.give_up(&reason);
            Err(error)
        }
    }
}

struct Meeting<'a> {
    cluster: &'a Cluster,
    own: Hello,
    deadline: Instant,
    data: Vec<Option<TcpStream>>,
    links: Vec<Option<TcpStream>>,
}

impl Meeting<'_> {
    fn meet_all(&mut self) -> Result<(), ClusterError> {
        for process in 0..self.cluster.process {
            for purpose in [Purpose::Link, Purpose::Data] {
                let stream = self.call(process, purpose)?;
                self.keep(process, purpose, stream);
            }
        }
        while let Some(missing) = self.missing() {
            self.answer(missing)?;
        }
        Ok(())
    }

    fn keep(&mut self, process: usize, purpose: Purpose, stream: TcpStream) {
        let place = match purpose {
            Purpose::Data => &mut self.data[process],
            Purpose::Link => &mut self.links[process],
        };
        *place = Some(stream);
    }

    /// The first process that has not called on both connections.
    fn missing(&self) -> Option<usize> {
        let later = self.cluster.process + 1..self.cluster.hosts.len();
        later.into_iter().find(|&n| self.data[n].is_none() || self.links[n].is_none())
    }

    /// Calls a process until it answers.
    fn call(&self, process: usize, purpose: Purpose) -> Result<TcpStream, ClusterError> {
        let own = Hello { purpose, ..self.own.clone() };
        let mut pause = PAUSE.0;
        let mut stream = loop {
            match self.connect(process) {
                Ok(stream) => break stream,
                Err(cause) => self.check(process, &cause.to_string())?,
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE.1);
        };
        let settled = self.settle(&stream, self.left());
        let met = settled.map_err(Trouble::Broken);
        let met = met.and_then(|()| greet(&mut stream, &own, &self.cluster.secret, Side::Caller));
        if let (Err(Trouble::Broken(_)), Some(mut link)) = (&met, self.links[process].as_ref()) {
            // It may have said why.
            self.settle(link, PAUSE.1).map_err(ClusterError::Connections)?;
            self.listen(process, &mut link)?;
        }
        let met = met.map_err(|trouble| self.trouble(Some(process), trouble))?;
        if met.process != process {
            let (what, names) = ("who is there", [met.process, process]);
            let [theirs, ours] = names.map(|n| format!("process {n}"));
            let trouble = Trouble::Differs(Some(process), what, theirs, ours);
            return Err(self.trouble(Some(process), trouble));
        }
        // What the other one makes of it.
        self.listen(process, &mut stream)?;
        Ok(stream)
    }

    fn connect(&self, process: usize) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        let most = self.left().clamp(PAUSE.1, Duration::from_secs(10));
        for address in hosts::resolve(self.cluster.hosts.address(process))? {
            match TcpStream::connect_timeout(&address, most) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Takes one call, if somebody calls who is expected.
    fn answer(&mut self, missing: usize) -> Result<(), ClusterError> {
        let (mut stream, from) = match self.cluster.listener.accept() {
            Ok(called) => called,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.check(missing, "it did not call")?;
                std::thread::sleep(PAUSE.0);
                return Ok(());
            }
            // A caller that is gone again.
            Err(_) => return self.check(missing, "it did not call"),
        };
        let heard = self.settle(&stream, self.left().min(SILENCE)).map_err(Trouble::Broken);
        let secret = &self.cluster.secret;
        let heard = heard.and_then(|()| greet(&mut stream, &self.own, secret, Side::Called));
        let Hello { process, purpose, .. } = match heard {
            Ok(hello) => hello,
            // Somebody who was looking for something else.
            Err(Trouble::Stranger | Trouble::Broken(_)) => return Ok(()),
            Err(Trouble::Differs(process, what, theirs, ours)) => {
                let name = self.caller(process, &from.to_string());
                let own = self.cluster.name();
                return Err(ClusterError::Differs { process: name, own, what, theirs, ours });
            }
            Err(Trouble::Secret(process)) => {
                let (process, own) =
                    (self.caller(Some(process), &from.to_string()), self.cluster.name());
                return Err(ClusterError::Secret { process, own });
            }
        };
        let known = if purpose == Purpose::Data { &self.data } else { &self.links };
        let first = known.get(process).and_then(Option::as_ref).map(TcpStream::peer_addr);
        let expected = process > self.cluster.process && first.is_none();
        if expected {
            frame(&mut stream, READY).map_err(ClusterError::Connections)?;
            self.keep(process, purpose, stream);
            return Ok(());
        }
        let place = first.and_then(Result::ok).map_or("here".into(), |first| first.to_string());
        let name = self.caller(Some(process), "not in the host list");
        let error = ClusterError::Twice { process: name, first: place, second: from.to_string() };
        // It goes away anyway.
        frame(&mut stream, &[GAVE_UP, error.to_string().as_bytes()].concat()).unwrap_or_default();
        Err(error)
    }

    /// What messages call somebody who called.
    fn caller(&self, process: Option<usize>, from: &str) -> String {
        match process {
            Some(process) if process < self.cluster.hosts.len() => self.cluster.hosts.name(process),
            Some(process) => format!("process {process} ({from})"),
            None => format!("a process ({from})"),
        }
    }

    fn trouble(&self, process: Option<usize>, trouble: Trouble) -> ClusterError {
        let name = process.map_or("a process".into(), |process| self.cluster.hosts.name(process));
        let own = self.cluster.name();
        match trouble {
            Trouble::Stranger => ClusterError::Stranger { process: name },
            Trouble::Broken(error) if is_late(&error) => self.absent(name, "it does not answer"),
            Trouble::Broken(_) => ClusterError::Left { process: name, reason: "it hung up".into() },
            Trouble::Secret(_) => ClusterError::Secret { process: name, own },
            Trouble::Differs(_, what, theirs, ours) => {
                ClusterError::Differs { process: name, own, what, theirs, ours }
            }
        }
    }

    fn absent(&self, process: String, cause: &str) -> ClusterError {
        let seconds = self.cluster.wait.as_secs();
        ClusterError::Absent { process, seconds, cause: cause.into() }
    }

    /// An error if it took too long, or somebody gave up.
    fn check(&self, process: usize, cause: &str) -> Result<(), ClusterError> {
        if self.left().is_zero() {
            return Err(self.absent(self.cluster.hosts.name(process), cause));
        }
        let ended = self.cluster.children.as_ref().and_then(super::Children::ended);
        if let Some((process, status)) = ended {
            let process = self.cluster.hosts.name(process);
            return Err(ClusterError::Left { process, reason: format!("it ended: {status}") });
        }
        for (process, link) in self.links.iter().enumerate() {
            let Some(link) = link else { continue };
            // What is there is read; what is not is not waited for.
            let mut first = [0; 9];
            link.set_nonblocking(true).map_err(ClusterError::Connections)?;
            let seen = link.peek(&mut first);
            link.set_nonblocking(false).map_err(ClusterError::Connections)?;
            match seen {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(1..9) => {}
                Ok(9) if first[8..] == *READY => {}
                _ => self.listen(process, &mut &*link)?,
            }
        }
        Ok(())
    }

    /// Hears that a process is ready, or why it gave up.
    fn listen(&self, process: usize, link: &mut impl Read) -> Result<(), ClusterError> {
        let name = || self.cluster.hosts.name(process);
        let reason = match read_frame(link) {
            Ok(said) if said == READY => return Ok(()),
            Ok(said) if said.starts_with(GAVE_UP) => {
                String::from_utf8_lossy(&said[GAVE_UP.len()..]).into_owned()
            }
            Ok(_) => "it said something that is not understood".into(),
            Err(error) if is_late(&error) => return Err(self.absent(name(), "it is not ready")),
            Err(_) => "its connection closed".into(),
        };
        Err(ClusterError::Left { process: name(), reason })
    }

    /// Says that all are here, and waits until all say so.
    fn ready(&self) -> Result<(), ClusterError> {
        for mut link in self.links.iter().flatten() {
            // Who is gone already says why below.
            frame(&mut link, READY).unwrap_or_default();
        }
        for (process, link) in self.links.iter().enumerate() {
            let Some(mut link) = link.as_ref() else { continue };
            self.settle(link, self.left()).map_err(ClusterError::Connections)?;
            self.listen(process, &mut link)?;
        }
        Ok(())
    }

    /// Tells everybody who is there why there will be no run.
    fn give_up(&self, reason: &str) {
        let cut = &reason[..reason.floor_char_boundary(4096)];
        for mut link in self.links.iter().flatten() {
            // Nothing can be done for those who do not hear it.
            let said = frame(&mut link, &[GAVE_UP, cut.as_bytes()].concat());
            said.and_then(|()| link.shutdown(Shutdown::Write)).unwrap_or_default();
        }
        for mut link in self.links.iter().flatten() {
            // A connection that is closed with something unread loses what was sent, too.
            let settled = link.set_read_timeout(Some(PAUSE.1));
            settled
                .and_then(|()| io::copy(&mut link, &mut io::sink()).map(drop))
                .unwrap_or_default();
        }
    }

    /// A blocking socket that sends at once and is not waited for longer.
    fn settle(&self, stream: &TcpStream, most: Duration) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let most = Some(most.max(PAUSE.0));
        stream.set_read_timeout(most)?;
        stream.set_write_timeout(most)
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::super::{Hosts, Secret};
    use super::*;
    use std::net::TcpListener;

    /// What processes of these numbers say, which listen anywhere but for the first.
    fn met(processes: &[usize], wait: Duration) -> Vec<String> {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let list = format!("{}\n127.0.0.1:1\n127.0.0.1:2", first.local_addr().unwrap());
        let hosts = Hosts::parse(&list).unwrap();
        let mut first = Some(first);
        let clusters = processes.iter().map(|&process| {
            let other = || TcpListener::bind("127.0.0.1:0").unwrap();
            let listener = if process == 0 { first.take().unwrap() } else { other() };
            Cluster::at(hosts.clone(), process, Secret::none(), listener).unwrap().wait(wait)
        });
        let clusters: Vec<Cluster> = clusters.collect();
        std::thread::scope(|scope| {
            let say = |cluster: Cluster| cluster.meet().unwrap_err().to_string();
            let threads = clusters.into_iter().map(|cluster| scope.spawn(move || say(cluster)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn two_processes_with_one_number_hear_of_it() {
        let said = met(&[0, 1, 1], Duration::from_secs(20));
        assert!(
            said[0].starts_with("process 1 (127.0.0.1:1) came twice, from 127.0.0.1:"),
            "{said:?}"
        );
        for other in &said[1..] {
            assert!(other.starts_with("process 0 (127.0.0.1:") && other.contains(") gave up: "));
        }
        assert!(said[1..].iter().any(|other| other.contains("came twice")), "{said:?}");
    }

    #[test]
    fn who_does_not_come_is_named() {
        // The last one waits for nobody else.
        let said = met(&[0, 2], Duration::from_millis(1200));
        assert!(
            said[0].starts_with("process 1 (127.0.0.1:1) did not come within 1 s: "),
            "{said:?}"
        );
        let named = said[1].starts_with("process 1 (127.0.0.1:1) did not come")
            || said[1].ends_with(
                "gave up: process 1 (127.0.0.1:1) did not come within 1 s: it did not call",
            );
        assert!(named, "{said:?}");
    }
}
