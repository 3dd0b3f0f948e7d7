//! Starting the other processes of a cluster on this machine.
//!
//! Each process binds a free port and reports it to the parent, so that no port has to be chosen in advance. The parent
//! sends all addresses and a secret of this run. They use pipes, the standard streams of the children, so that the
//! secret is in no argument and no environment. A child reads its standard input to the end, which comes when its
//! parent ends, and then ends, too.

use super::{Cluster, ClusterError, Hosts, Secret, secret};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Environment variable with the child's number and the number of processes.
const CHILD: &str = "IJK_LAUNCHED";

/// Prefix of the line by which a child reports its address. The parent ignores earlier output.
const LISTENS: &str = "ijk process listens at ";

/// Time that children have to end by themselves when the parent is done.
const GRACE: Duration = Duration::from_secs(5);

/// Children, which end with their parent.
#[derive(Debug)]
pub(super) struct Children(Mutex<Vec<Running>>);

#[derive(Debug)]
struct Running {
    child: Child,
    /// Closed when the parent ends.
    _stdin: ChildStdin,
    /// Threads that pass on its output.
    said: Vec<JoinHandle<()>>,
}

impl Cluster {
    /// Starts the other processes of a cluster on this machine: this program with the same arguments, in
    /// which this call returns as the others. What they print comes out on this process's standard error, each
    /// line with the number of its process. They end when this process does.
    ///
    /// # Errors
    /// If they cannot be started, or do not reach this call.
    pub fn launch(processes: usize) -> Result<Self, ClusterError> {
        match std::env::var(CHILD) {
            Ok(place) => child(&place),
            Err(_) => parent(processes.max(1)),
        }
    }
}

pub(super) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn bind(process: usize) -> Result<(TcpListener, String), ClusterError> {
    let name = || format!("process {process} (127.0.0.1)");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let bound = listener.and_then(|listener| {
        let address = listener.local_addr()?.to_string();
        Ok((listener, address))
    });
    bound.map_err(|cause| ClusterError::Listen { process: name(), cause })
}

fn parent(processes: usize) -> Result<Cluster, ClusterError> {
    let (listener, own) = bind(0)?;
    let mut running = Children(Mutex::default());
    let mut addresses = vec![own];
    let wrong = |process: usize, error: std::io::Error| ClusterError::Start {
        process,
        cause: error.to_string(),
    };
    let mut starting = Vec::new();
    for process in 1..processes {
        // All of them start at once, and report one after the other.
        starting.push(start(process, processes).map_err(|error| wrong(process, error))?);
    }
    for (n, started) in starting.into_iter().enumerate() {
        let (child, address) = started.listens(n + 1).map_err(|error| wrong(n + 1, error))?;
        running.list().push(child);
        addresses.push(address);
    }
    let secret = secret::generated()?;
    let line = format!("{secret} {}\n", addresses.join(" "));
    for (n, child) in running.list().iter_mut().enumerate() {
        let told = child._stdin.write_all(line.as_bytes());
        told.map_err(|e| ClusterError::Start { process: n + 1, cause: e.to_string() })?;
    }
    let hosts = Hosts::parse(&addresses.join("\n"))?;
    let cluster = Cluster::at(hosts, 0, Secret::new(&secret)?, listener)?;
    Ok(Cluster { children: Some(running), ..cluster })
}

/// A child that has not reported its address; killed if it is dropped.
struct Starting {
    child: Option<Child>,
    stdin: Option<ChildStdin>,
    lines: Option<BufReader<ChildStdout>>,
    errors: Option<JoinHandle<()>>,
}

fn start(process: usize, processes: usize) -> std::io::Result<Starting> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env(CHILD, format!("{process} {processes}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let errors = child.stderr.take().map(|stderr| pass_on(process, BufReader::new(stderr)));
    let (stdin, lines) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
    Ok(Starting { child: Some(child), stdin, lines, errors })
}

impl Starting {
    /// The child, and its address.
    fn listens(mut self, process: usize) -> std::io::Result<(Running, String)> {
        let all = (self.child.take(), self.stdin.take(), self.lines.take(), self.errors.take());
        let (Some(mut child), Some(stdin), Some(mut lines), Some(errors)) = all else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        let Some(address) = listens(process, &mut lines) else {
            let ended = child.wait()?;
            // Passes on all output of the child before its end is reported.
            errors.join().unwrap_or_default();
            return Err(std::io::Error::other(format!("it ended first: {ended}")));
        };
        let said = vec![errors, pass_on(process, lines)];
        Ok((Running { child, _stdin: stdin, said }, address))
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            child.kill().unwrap_or_default();
            child.wait().map(drop).unwrap_or_default();
        }
    }
}

/// Reads the address that a child reports.
fn listens(process: usize, lines: &mut impl BufRead) -> Option<String> {
    loop {
        let mut line = Vec::new();
        if lines.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        match line.trim_end().strip_prefix(LISTENS) {
            Some(address) => return Some(address.to_owned()),
            None => say(process, &line),
        }
    }
}

/// Passes on the output of a process, line by line.
fn pass_on(process: usize, mut from: impl BufRead + Send + 'static) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            say(process, &String::from_utf8_lossy(&line));
            line.clear();
        }
    })
}

fn say(process: usize, line: &str) {
    let mut out = std::io::stderr().lock();
    // The standard error output may be closed.
    let shown = ijk_syntax::visible(line.trim_end());
    writeln!(out, "process {process}: {shown}").unwrap_or_default();
}

fn child(place: &str) -> Result<Cluster, ClusterError> {
    let wrong = |process: usize, cause: &str| ClusterError::Start { process, cause: cause.into() };
    let numbers: Vec<usize> = place.split(' ').filter_map(|text| text.parse().ok()).collect();
    let [process, _] = numbers[..] else {
        return Err(wrong(0, &format!("{CHILD} is `{place}`, which no parent sets")));
    };
    let (listener, address) = bind(process)?;
    let mut out = std::io::stdout().lock();
    let told = writeln!(out, "{LISTENS}{address}").and_then(|()| out.flush());
    drop(out);
    told.map_err(|error| wrong(process, &error.to_string()))?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| wrong(process, &error.to_string()))?;
    let mut words = line.split_whitespace();
    let Some(secret) = words.next() else {
        return Err(wrong(process, "process 0 is gone"));
    };
    let secret = Secret::new(secret)?;
    let hosts = Hosts::parse(&words.collect::<Vec<_>>().join("\n"))?;
    std::thread::spawn(|| {
        // Ends, well or not, when the parent is gone.
        let rest = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        rest.map(drop).unwrap_or_default();
        std::process::exit(1);
    });
    Cluster::at(hosts, process, secret, listener)
}

impl Children {
    /// A child that ended before the run did, and its status.
    pub(super) fn ended(&self) -> Option<(usize, String)> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter_mut().enumerate().find_map(|(n, running)| match running.child.try_wait() {
            Ok(Some(status)) => Some((n + 1, status.to_string())),
            _ => None,
        })
    }

    fn list(&mut self) -> &mut Vec<Running> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Children {
    /// Waits for the children; those that do not end in time are killed.
    fn drop(&mut self) {
        let deadline = Instant::now() + GRACE;
        for mut running in self.list().drain(..) {
            let mut ended = running.child.try_wait();
            while matches!(ended, Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
                ended = running.child.try_wait();
            }
            // It may have ended in between.
            running.child.kill().unwrap_or_default();
            running.child.wait().map(drop).unwrap_or_default();
            for thread in running.said.drain(..) {
                thread.join().unwrap_or_default();
            }
        }
    }
}
