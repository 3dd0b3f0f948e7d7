//! The child process that runs Python.

use super::Python;
use super::error::ChildError;
use super::frame::{self, Message, Parts};
use ijk_tensor::Tensor;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::process::{Child as Process, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const PROGRAM: &str = include_str!("child.py");
/// The module `reference` that programs may call.
const REFERENCE: &str = include_str!("reference.py");
/// Bytes kept of the end of the standard error output.
const KEPT: usize = 4000;

/// The bytes of a message, or `None` at the end of the stream.
type Answer = io::Result<Option<Vec<u8>>>;

/// Reply to a call.
#[derive(Debug)]
pub(super) enum Reply {
    Results(Vec<Tensor>),
    Failed(String),
}

/// A running interpreter.
#[derive(Debug)]
pub(super) struct Child {
    python: String,
    timeout: Duration,
    process: Process,
    requests: Option<Sender<Vec<u8>>>,
    replies: Receiver<Answer>,
    said: Arc<Mutex<VecDeque<u8>>>,
    listener: Option<JoinHandle<()>>,
}

impl Child {
    /// Starts the interpreter and imports the modules in the paths of calls.
    pub fn start(python: &Python, paths: &[String]) -> Result<Self, ChildError> {
        let mut child = Self::spawn(&python.path, python.timeout)?;
        let mut request = Message::new(b'I');
        request.text(REFERENCE).text(&python.directory.to_string_lossy());
        for list in [&python.modules, paths] {
            request.count(list.len());
            for text in list {
                request.text(text);
            }
        }
        let reply = child.ask(request)?;
        match child.reply(&reply)? {
            Reply::Results(_) => Ok(child),
            Reply::Failed(message) => Err(ChildError::Import(message)),
        }
    }

    /// Evaluates a call with an expected number of results.
    pub fn call(&mut self, request: Message, outputs: usize) -> Result<Reply, ChildError> {
        let reply = self.ask(request)?;
        match self.reply(&reply)? {
            Reply::Results(results) if results.len() != outputs => {
                Err(self.nonsense("another number of results than asked for"))
            }
            reply => Ok(reply),
        }
    }

    fn spawn(python: &str, timeout: Duration) -> Result<Self, ChildError> {
        let mut process = Command::new(python)
            .args(["-c", PROGRAM])
            .env(
                "TF_CPP_MIN_LOG_LEVEL",
                std::env::var("TF_CPP_MIN_LOG_LEVEL").unwrap_or("2".into()),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| ChildError::Start { python: python.into(), why: e.to_string() })?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { unreachable!("all piped") };
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let listener = listen(stderr, said.clone());
        let (requests, replies) = converse(stdin, stdout);
        let (python, requests, listener) = (python.into(), Some(requests), Some(listener));
        Ok(Self { python, timeout, process, requests, replies, said, listener })
    }

    /// Sends a request and waits for its reply, up to the time limit.
    fn ask(&mut self, request: Message) -> Result<Vec<u8>, ChildError> {
        let sent = self.requests.as_ref().is_some_and(|r| r.send(request.0).is_ok());
        if !sent {
            return Err(self.died());
        }
        match self.replies.recv_timeout(self.timeout) {
            Ok(Ok(Some(reply))) => Ok(reply),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(self.nonsense(&error.to_string()))
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => Err(self.died()),
            Err(RecvTimeoutError::Timeout) => {
                self.end();
                Err(ChildError::Silent { seconds: self.timeout.as_secs(), stderr: self.stderr() })
            }
        }
    }

    /// Decodes a reply.
    fn reply(&mut self, reply: &[u8]) -> Result<Reply, ChildError> {
        let mut parts = Parts(reply);
        let understood = match parts.byte() {
            Some(b'O') => Ok(Some(Reply::Results(Vec::new()))),
            Some(b'F') => Ok(parts.text().map(Reply::Failed)),
            Some(b'R') => results(&mut parts),
            Some(b'M') => return Err(self.missing(&mut parts)),
            _ => Ok(None),
        };
        match understood {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(self.nonsense("a message that is cut off, or of no known kind")),
            Err(what) => Err(self.nonsense(&what)),
        }
    }

    fn missing(&mut self, parts: &mut Parts<'_>) -> ChildError {
        match (parts.text(), parts.text()) {
            (Some(package), Some(why)) => {
                ChildError::Missing { python: self.python.clone(), package, why }
            }
            _ => self.nonsense("a message that is cut off"),
        }
    }

    #[cold]
    fn nonsense(&mut self, what: &str) -> ChildError {
        self.end();
        ChildError::Nonsense { what: what.into(), stderr: self.stderr() }
    }

    /// Waits for a process that has closed its pipes, and ends it if it goes on.
    #[cold]
    fn died(&mut self) -> ChildError {
        self.requests = None;
        let waited = (0..100).find_map(|_| {
            let status = self.process.try_wait().ok().flatten();
            if status.is_none() {
                thread::sleep(Duration::from_millis(10));
            }
            status
        });
        self.end();
        let status = waited.map_or("it closed its output".into(), |status| status.to_string());
        ChildError::Died { status, stderr: self.stderr() }
    }

    fn end(&mut self) {
        self.requests = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// The last lines of the standard error output of the ended process.
    fn stderr(&mut self) -> String {
        // A grandchild may hold the pipe open: wait for the end of the stream, but not long.
        for _ in 0..20 {
            if self.listener.as_ref().is_none_or(JoinHandle::is_finished) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = said.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

fn results(parts: &mut Parts<'_>) -> Result<Option<Reply>, String> {
    let Some(count) = parts.count() else { return Ok(None) };
    let mut tensors = Vec::new();
    for _ in 0..count {
        match parts.array() {
            Some(tensor) => tensors.push(tensor.map_err(|problem| problem.to_string())?),
            None => return Ok(None),
        }
    }
    Ok(Some(Reply::Results(tensors)))
}

/// Exchanges requests for replies in a thread, so that the caller can stop waiting.
fn converse(mut stdin: ChildStdin, mut stdout: ChildStdout) -> (Sender<Vec<u8>>, Receiver<Answer>) {
    let (requests, asked) = channel::<Vec<u8>>();
    let (answers, replies) = channel();
    thread::spawn(move || {
        for request in asked {
            let reply = frame::write(&mut stdin, &request).and_then(|()| frame::read(&mut stdout));
            if answers.send(reply).is_err() {
                break;
            }
        }
    });
    (requests, replies)
}

/// Keeps the end of the standard error output.
fn listen(mut stderr: ChildStderr, said: Arc<Mutex<VecDeque<u8>>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = stderr.read(&mut buffer) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend(&buffer[..n]);
            let excess = said.len().saturating_sub(KEPT);
            said.drain(..excess);
        }
    })
}
