//! Handshake: both sides prove the secret before any message is trusted.
//!
//! Each side sends a random challenge and proves, by a keyed hash of both challenges, that it knows the secret. The
//! caller proves first, so that an unknown caller gets no proof to test secrets against. Only then do both send their
//! [`PeerInfo`] (identity and plan), under a key of this connection, and compare it. Both have the same data, so both
//! refuse for the same reason, and each can name it. The first bytes and the proofs are the same in all versions: a
//! peer that knows the secret learns the other's version.
//!
//! One deadline covers the whole handshake ([`Timed`]): a slow sender gains no time.

use super::peer_info::PeerInfo;
use super::secret::{Secret, random};
use crate::wire;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// First bytes of a connection.
const MAGIC: &[u8; 8] = b"ijk-meet";

/// Sent in place of a proof to a caller whose own proof is wrong.
const REFUSED: [u8; 32] = [0; 32];

/// Greatest size of a message of the handshake.
const LONGEST: usize = 1 << 16;

/// The side of a connection. Proofs of the two differ, so that none can be reflected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Caller,
    Called,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Caller => Self::Called,
            Self::Called => Self::Caller,
        }
    }

    fn name(self) -> &'static [u8] {
        match self {
            Self::Caller => b"caller",
            Self::Called => b"called",
        }
    }
}

/// Error of a handshake. Only [`Mismatch`](Self::Mismatch) comes from a peer that knows the secret.
#[derive(Debug)]
pub(super) enum HandshakeError {
    /// The peer does not follow the protocol.
    Protocol,
    /// The connection broke or timed out.
    Io(io::Error),
    /// The peer has another secret.
    Secret,
    /// The peer differs from this process: its number, if that could be read, the property, its value, and this
    /// process's.
    Mismatch(Option<usize>, &'static str, String, String),
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Proves the secret in both directions, then exchanges self-descriptions; returns the peer's.
pub(super) fn handshake(
    stream: &mut (impl Read + Write),
    own: &PeerInfo,
    secret: &Secret,
    side: Side,
) -> Result<PeerInfo, HandshakeError> {
    let mut sealed = Sealed { key: prove(stream, secret, side)?, side, stream };
    let heard = sealed.exchange(&own.encode())?;
    let other = compare(&heard, own)?;
    if other.program == own.program {
        return Ok(other);
    }
    // Both know by now that they differ, and send their plans for the message.
    let plan = sealed.exchange(own.plan.as_bytes())?;
    let (what, l, r) = other.other_program(&String::from_utf8_lossy(&plan), own);
    Err(HandshakeError::Mismatch(Some(other.process), what, l, r))
}

/// A connection whose sides have proved the secret, and its key.
struct Sealed<'a, S> {
    key: [u8; 32],
    side: Side,
    stream: &'a mut S,
}

impl<S: Read + Write> Sealed<'_, S> {
    /// Sends bytes with their keyed hash, and receives those of the peer.
    fn exchange(&mut self, said: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        frame(self.stream, said)?;
        self.stream.write_all(&seal(&self.key, self.side, said))?;
        let heard = read_frame(self.stream)?;
        let mut sealed = [0; 32];
        self.stream.read_exact(&mut sealed)?;
        // Comparing hashes takes constant time.
        let expected = seal(&self.key, self.side.other(), &heard);
        match blake3::Hash::from_bytes(expected) == blake3::Hash::from_bytes(sealed) {
            true => Ok(heard),
            false => Err(HandshakeError::Protocol),
        }
    }
}

/// Compares the peer's self-description with this process's.
fn compare(heard: &[u8], own: &PeerInfo) -> Result<PeerInfo, HandshakeError> {
    let other = PeerInfo::decode(heard);
    let version = PeerInfo::version(heard).ok_or(HandshakeError::Protocol)?;
    if version != own.version {
        let (theirs, ours) = (version.to_owned(), own.version.clone());
        let process = other.map(|other| other.process);
        return Err(HandshakeError::Mismatch(process, "their version of ijk", theirs, ours));
    }
    let other = other.ok_or(HandshakeError::Protocol)?;
    match other.difference(own) {
        Some((what, l, r)) => Err(HandshakeError::Mismatch(Some(other.process), what, l, r)),
        None => Ok(other),
    }
}

/// Proves the secret and verifies the peer's proof; returns a key of this connection.
fn prove(
    stream: &mut (impl Read + Write),
    secret: &Secret,
    side: Side,
) -> Result<[u8; 32], HandshakeError> {
    let challenge = random().map_err(|error| io::Error::other(error.to_string()))?;
    let opening = [&MAGIC[..], &challenge].concat();
    let both = match side {
        Side::Caller => {
            stream.write_all(&opening)?;
            [challenge, challenged(stream)?].concat()
        }
        Side::Called => {
            let callers = challenged(stream)?;
            stream.write_all(&opening)?;
            [callers, challenge].concat()
        }
    };
    let message = |of: &[u8]| [of, b" ", &both[..]].concat();
    if side == Side::Caller {
        stream.write_all(&secret.proof(&message(side.name())))?;
    }
    let mut proof = [0; 32];
    stream.read_exact(&mut proof)?;
    if !secret.accepts(&message(side.other().name()), proof) {
        if side == Side::Called {
            // Lets the caller report the reason; a closed connection would reveal as much.
            stream.write_all(&REFUSED)?;
        }
        return Err(HandshakeError::Secret);
    }
    if side == Side::Called {
        stream.write_all(&secret.proof(&message(side.name())))?;
    }
    Ok(secret.proof(&message(b"connection")))
}

/// Reads the peer's first bytes; returns its challenge.
fn challenged(stream: &mut impl Read) -> Result<[u8; 32], HandshakeError> {
    let mut magic = [0; 8];
    stream.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(HandshakeError::Protocol);
    }
    let mut challenge = [0; 32];
    stream.read_exact(&mut challenge)?;
    Ok(challenge)
}

/// Keyed hash of bytes that only this side of the connection can produce.
fn seal(key: &[u8; 32], side: Side, bytes: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    *hasher.update(side.name()).update(bytes).finalize().as_bytes()
}

/// Writes bytes with their length before them.
pub(super) fn frame(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut all = Vec::with_capacity(bytes.len() + 8);
    wire::number(&mut all, bytes.len())?;
    all.extend_from_slice(bytes);
    stream.write_all(&all)
}

/// Reads such bytes; the length is limited.
pub(super) fn read_frame(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(io::Error::new(ErrorKind::InvalidData, "it says too much"));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A connection with one deadline for all that is read and written.
pub(super) struct Timed<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl<'a> Timed<'a> {
    pub(super) fn new(stream: &'a TcpStream, most: Duration) -> Self {
        let now = Instant::now();
        Self { stream, deadline: now.checked_add(most).unwrap_or(now + Duration::from_secs(3600)) }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes).map_err(timed_out)
    }
}

/// A time limit of a socket that is reached: some systems say that it would block.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hosts;
    use super::super::peer_info::Terms;
    use super::*;
    use std::net::TcpListener;

    const SECRET: &str = "correct horse battery";

    fn info(process: usize) -> PeerInfo {
        let hosts = Hosts::parse("a:1\nb:2").unwrap();
        let plan = "s0 = copy a\ns1 = multiply".into();
        PeerInfo::new(&hosts, process, 3, &Terms { workers: 2, memory: None, simd: "avx2", plan })
            .unwrap()
    }

    /// Results of both sides of a handshake.
    fn both(
        caller: (PeerInfo, &str),
        called: (PeerInfo, &str),
    ) -> (Result<PeerInfo, HandshakeError>, Result<PeerInfo, HandshakeError>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let secret = |text: &str| Secret::new(text).unwrap();
        std::thread::scope(|scope| {
            let call = scope.spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                handshake(&mut stream, &caller.0, &secret(caller.1), Side::Caller)
            });
            let mut stream = listener.accept().unwrap().0;
            let called = handshake(&mut stream, &called.0, &secret(called.1), Side::Called);
            (call.join().unwrap(), called)
        })
    }

    #[test]
    fn those_who_agree_meet() {
        let (l, r) = both((info(1), SECRET), (info(0), &format!(" {SECRET}\n")));
        assert_eq!((l.unwrap().process, r.unwrap().process), (0, 1));
    }

    #[test]
    fn another_secret_is_noticed_on_both_sides_before_anything_else() {
        let mut other = info(1);
        other.version = "9.9.9".into();
        let (l, r) = both((other, SECRET), (info(0), "battery staple horse"));
        assert!(matches!((l, r), (Err(HandshakeError::Secret), Err(HandshakeError::Secret))));
    }

    #[test]
    fn differences_are_told_with_both_values_on_both_sides() {
        type Change = fn(&mut PeerInfo);
        let changes: [(&str, Change, &str); 6] = [
            ("their version of ijk", |h| h.version = "9.9.9".into(), "9.9.9"),
            ("their host lists (digest)", |h| h.hosts = "00".into(), "00"),
            ("how many processes there are", |h| h.processes = 7, "7"),
            ("their number of workers", |h| h.workers = 5, "5"),
            ("how many runs they made before", |h| h.run = 4, "4"),
            (
                "what they compute",
                |h| {
                    h.plan = "s0 = copy b\ns1 = multiply".into();
                    h.program = "1".into();
                },
                "`s0 = copy b`",
            ),
        ];
        for (expected, change, value) in changes {
            let mut other = info(1);
            change(&mut other);
            let (l, r) = both((other, SECRET), (info(0), SECRET));
            let Err(HandshakeError::Mismatch(_, what, theirs, ours)) = r else {
                panic!("{expected}")
            };
            assert_eq!((what, &theirs[..]), (expected, value));
            let Err(HandshakeError::Mismatch(_, what, there, here)) = l else {
                panic!("{expected}")
            };
            assert_eq!((what, there, here), (expected, ours, theirs));
        }
    }

    /// A peer that sends fixed bytes, and records those that it receives.
    struct Noise<'a>(&'a [u8], Vec<u8>);

    impl Read for Noise<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.0.read(bytes)
        }
    }

    impl Write for Noise<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn noise_is_no_greeting_and_gets_no_proof() {
        let opening = [&MAGIC[..], &[7; 32]].concat();
        let guess = [&opening[..], &[1; 32]].concat();
        for noise in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"ijk-meet\xff\xff", b"", &opening, &guess] {
            let secret = Secret::new(SECRET).unwrap();
            let mut stream = Noise(noise, Vec::new());
            let met = handshake(&mut stream, &info(0), &secret, Side::Called);
            assert!(matches!(
                met,
                Err(HandshakeError::Protocol | HandshakeError::Io(_) | HandshakeError::Secret)
            ));
            // No more than a challenge, and that the proof is none.
            let said = &stream.1;
            assert!(said.len() <= 40 || said[40..] == REFUSED, "{said:?}");
        }
    }

    #[test]
    fn what_one_side_says_proves_nothing_when_it_is_sent_back() {
        let secret = Secret::new(SECRET).unwrap();
        let mut first = Noise(&[], Vec::new());
        assert!(handshake(&mut first, &info(0), &secret, Side::Caller).is_err());
        // The caller's own opening, and a proof of it in its own words.
        let opening = first.1;
        let proof = secret.proof(&[b"caller ", &opening[8..], &opening[8..]].concat());
        let mut echo = Noise(&[&opening[..], &proof[..]].concat(), Vec::new());
        assert!(matches!(
            handshake(&mut echo, &info(0), &secret, Side::Caller),
            Err(HandshakeError::Secret)
        ));
    }

    #[test]
    fn bytes_that_trickle_in_win_no_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = listener.accept().unwrap().0;
        let trickle = std::thread::spawn(move || {
            while slow.write_all(b"i").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let secret = Secret::new(SECRET).unwrap();
        let mut bytes = [0; 1 << 20];
        let mut timed = Timed::new(&stream, Duration::from_millis(100));
        assert_eq!(timed.read_exact(&mut bytes).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(handshake(&mut timed, &info(0), &secret, Side::Called).is_err());
        drop(stream);
        trickle.join().unwrap();
    }
}
