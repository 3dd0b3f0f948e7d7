//! What two processes tell each other on a new socket before they trust it.
//!
//! Both send who they are and what they are about to compute, with a random number; then both prove that they
//! know the secret by a keyed hash of what both said. Both know all that was said, so both refuse for the same
//! reason, and each can name it. The version comes first and unencoded: whatever else changes, versions can
//! be compared.

use super::secret::{Secret, hex, random};
use super::{ClusterError, Hosts};
use crate::wire::{self, Input};
use std::io::{self, Read, Write};

/// How a connection begins.
const MAGIC: &[u8; 8] = b"ijk-meet";

/// Longer greetings are no greetings.
const LONGEST: usize = 1 << 16;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// What timely sends.
    Data,
    /// Errors, blocks that are asked for, signs of life.
    Link,
}

/// What processes of a run agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Workers of each process.
    pub(crate) workers: usize,
    /// Each process's memory limit.
    pub(crate) memory: Option<u64>,
    /// The level of instructions that they compute with, on which the last bits of sums depend.
    pub(crate) simd: &'static str,
    /// The plan, as text that tells it from others.
    pub(crate) plan: String,
}

/// What a process says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) version: String,
    pub(super) byte_order: String,
    pub(super) process: usize,
    pub(super) processes: usize,
    /// A digest of the host list.
    pub(super) hosts: String,
    pub(super) purpose: Purpose,
    /// How many runs there were before this one.
    pub(super) run: usize,
    pub(super) workers: usize,
    pub(super) memory: String,
    pub(super) simd: String,
    /// A digest of the plan, and its beginning.
    pub(super) program: String,
    pub(super) plan: String,
    pub(super) nonce: String,
}

/// Most bytes of a plan that are told.
const SHOWN: usize = 1 << 13;

/// Why a greeting was not taken.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Whoever it is, it does not speak like a process of ijk.
    Stranger,
    /// The connection broke, or nothing came.
    Broken(io::Error),
    /// It has another secret, and says that it is this process.
    Secret(usize),
    /// It differs: in what, its value, this process's; and which process it is, if that could be read.
    Differs(Option<usize>, &'static str, String, String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl Hello {
    pub(super) fn new(
        hosts: &Hosts,
        process: usize,
        run: usize,
        terms: &Terms,
    ) -> Result<Self, ClusterError> {
        let shown = terms.plan.floor_char_boundary(SHOWN);
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").into(),
            byte_order: if cfg!(target_endian = "little") { "little" } else { "big" }.into(),
            process,
            processes: hosts.len(),
            hosts: digest(&hosts.to_string()),
            purpose: Purpose::Data,
            run,
            workers: terms.workers,
            memory: terms.memory.map_or("no limit".into(), |bytes| format!("{bytes} bytes")),
            simd: terms.simd.into(),
            program: digest(&terms.plan),
            plan: terms.plan[..shown].into(),
            nonce: hex(&random()?),
        })
    }

    fn encode(&self) -> Vec<u8> {
        let purpose = usize::from(self.purpose == Purpose::Link);
        let numbers = [self.process, self.processes, purpose, self.run, self.workers];
        let texts = [&self.version, &self.byte_order, &self.hosts, &self.memory, &self.program];
        let texts = texts.into_iter().chain([&self.simd, &self.plan, &self.nonce]);
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        texts.into_iter().try_for_each(|text| wire::text(&mut bytes, text)).unwrap_or_default();
        numbers.into_iter().try_for_each(|n| wire::number(&mut bytes, n)).unwrap_or_default();
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let mut text = || input.text().map(str::to_owned);
        let [version, byte_order, hosts] = [text()?, text()?, text()?];
        let [memory, program, simd, plan, nonce] = [text()?, text()?, text()?, text()?, text()?];
        let mut number = || input.number();
        let [process, processes, purpose] = [number()?, number()?, number()?];
        let [run, workers] = [number()?, number()?];
        let purpose = if purpose == 0 { Purpose::Data } else { Purpose::Link };
        Some(Self {
            version,
            byte_order,
            process,
            processes,
            hosts,
            purpose,
            run,
            workers,
            memory,
            simd,
            program,
            plan,
            nonce,
        })
    }

    /// In what another process differs from this one, its value and this one's.
    fn difference(&self, own: &Self) -> Option<(&'static str, String, String)> {
        let texts = [
            ("their byte order", &self.byte_order, &own.byte_order),
            ("their host lists (digest)", &self.hosts, &own.hosts),
            ("their memory limit", &self.memory, &own.memory),
            ("their level of instructions (IJK_LEVEL)", &self.simd, &own.simd),
        ];
        let numbers = [
            ("how many processes there are", self.processes, own.processes),
            ("their number of workers", self.workers, own.workers),
            ("how many runs they made before", self.run, own.run),
        ];
        let texts = texts.into_iter().map(|(what, l, r)| (what, l.clone(), r.clone()));
        let numbers = numbers.into_iter().map(|(what, l, r)| (what, l.to_string(), r.to_string()));
        let mut all = texts.chain(numbers);
        all.find(|(_, theirs, ours)| theirs != ours).or_else(|| self.other_program(own))
    }

    fn other_program(&self, own: &Self) -> Option<(&'static str, String, String)> {
        if self.program == own.program {
            return None;
        }
        let mut lines = self.plan.lines().zip(own.plan.lines());
        let shown = lines.find(|(theirs, ours)| theirs != ours);
        let quoted = |line: &str| format!("`{}`", line.trim());
        Some(match shown {
            Some((theirs, ours)) => ("what they compute", quoted(theirs), quoted(ours)),
            None => ("what they compute (digest)", self.program.clone(), own.program.clone()),
        })
    }
}

fn digest(text: &str) -> String {
    hex(&blake3::hash(text.as_bytes()).as_bytes()[..8])
}

/// Who opened the connection: their proofs differ, so that none can be sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Caller,
    Called,
}

/// Exchanges greetings and proofs on a new connection; what the other one said.
pub(super) fn greet(
    stream: &mut (impl Read + Write),
    own: &Hello,
    secret: &Secret,
    side: Side,
) -> Result<Hello, Trouble> {
    let said = own.encode();
    stream.write_all(MAGIC)?;
    frame(stream, &said)?;
    let mut magic = [0; 8];
    stream.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(Trouble::Stranger);
    }
    let heard = read_frame(stream)?;
    let other = Hello::decode(&heard);
    // The version stands first, also in greetings of other versions.
    let version = Input(&heard).text().ok_or(Trouble::Stranger)?;
    if version != own.version {
        let (theirs, ours) = (version.to_owned(), own.version.clone());
        let process = other.map(|other| other.process);
        return Err(Trouble::Differs(process, "their version of ijk", theirs, ours));
    }
    let other = other.ok_or(Trouble::Stranger)?;
    if !prove(stream, secret, side, (&said, &heard))? {
        return Err(Trouble::Secret(other.process));
    }
    match other.difference(own) {
        Some((what, l, r)) => Err(Trouble::Differs(Some(other.process), what, l, r)),
        None => Ok(other),
    }
}

/// Shows that this process knows the secret, and sees whether the other one does.
fn prove(
    stream: &mut (impl Read + Write),
    secret: &Secret,
    side: Side,
    (said, heard): (&[u8], &[u8]),
) -> io::Result<bool> {
    let digest = |bytes: &[u8]| *blake3::hash(bytes).as_bytes();
    let (caller, called) = match side {
        Side::Caller => (digest(said), digest(heard)),
        Side::Called => (digest(heard), digest(said)),
    };
    let message = |of: Side| {
        let role: &[u8] = if of == Side::Caller { b"caller" } else { b"called" };
        [role, &caller, &called].concat()
    };
    let others = if side == Side::Caller { Side::Called } else { Side::Caller };
    stream.write_all(&secret.proof(&message(side)))?;
    let mut proof = [0; 32];
    stream.read_exact(&mut proof)?;
    Ok(secret.accepts(&message(others), proof))
}

/// Writes bytes after their number.
pub(super) fn frame(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut all = Vec::with_capacity(bytes.len() + 8);
    wire::number(&mut all, bytes.len())?;
    all.extend_from_slice(bytes);
    stream.write_all(&all)
}

/// Reads them; nobody has reason to send many.
pub(super) fn read_frame(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it says too much"));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn hello(process: usize) -> Hello {
        let hosts = Hosts::parse("a:1\nb:2").unwrap();
        let plan = "s0 = copy a\ns1 = multiply".into();
        Hello::new(&hosts, process, 3, &Terms { workers: 2, memory: None, simd: "avx2", plan })
            .unwrap()
    }

    /// What both say of each other.
    fn meet(
        caller: (Hello, &str),
        called: (Hello, &str),
    ) -> (Result<Hello, Trouble>, Result<Hello, Trouble>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let secret = |text: &str| Secret::new(text).unwrap();
        std::thread::scope(|scope| {
            let call = scope.spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                greet(&mut stream, &caller.0, &secret(caller.1), Side::Caller)
            });
            let mut stream = listener.accept().unwrap().0;
            let called = greet(&mut stream, &called.0, &secret(called.1), Side::Called);
            (call.join().unwrap(), called)
        })
    }

    #[test]
    fn those_who_agree_meet() {
        let (l, r) = meet((hello(1), "s"), (hello(0), " s\n"));
        assert_eq!((l.unwrap().process, r.unwrap().process), (0, 1));
    }

    #[test]
    fn another_secret_is_noticed_on_both_sides() {
        let (l, r) = meet((hello(1), "s"), (hello(0), "t"));
        assert!(matches!((l, r), (Err(Trouble::Secret(_)), Err(Trouble::Secret(_)))));
    }

    #[test]
    fn differences_are_told_with_both_values_on_both_sides() {
        type Change = fn(&mut Hello);
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
            let mut other = hello(1);
            change(&mut other);
            let (l, r) = meet((other, "s"), (hello(0), "s"));
            let Err(Trouble::Differs(_, what, theirs, ours)) = r else { panic!("{expected}") };
            assert_eq!((what, &theirs[..]), (expected, value));
            let Err(Trouble::Differs(_, what, there, here)) = l else { panic!("{expected}") };
            assert_eq!((what, there, here), (expected, ours, theirs));
        }
    }

    #[test]
    fn noise_is_no_greeting() {
        for noise in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            b"ijk-meet\xff\xff\xff\xff\xff\xff\xff\xff",
            b"ijk-meet\x03\0\0\0\0\0\0\0abc",
            b"",
        ] {
            struct Noise<'a>(&'a [u8]);
            impl Read for Noise<'_> {
                fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                    self.0.read(bytes)
                }
            }
            impl Write for Noise<'_> {
                fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                    Ok(bytes.len())
                }
                fn flush(&mut self) -> io::Result<()> {
                    Ok(())
                }
            }
            let secret = Secret::new("s").unwrap();
            let met = greet(&mut Noise(noise), &hello(0), &secret, Side::Called);
            assert!(matches!(met, Err(Trouble::Stranger | Trouble::Broken(_))));
        }
    }
}
