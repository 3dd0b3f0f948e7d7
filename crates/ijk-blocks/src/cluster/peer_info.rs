//! Self-descriptions that the processes of a run exchange once they have proved the secret (see
//! [`handshake`](super::handshake)), and the properties in which they must agree.

use super::secret::{hex, random};
use super::{ClusterError, Hosts};
use crate::wire::{self, Decoder};

/// Purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Dataflow of timely.
    Data,
    /// Errors, requests for blocks, heartbeats.
    Link,
}

/// Properties in which the processes of a run must agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Workers of each process.
    pub(crate) workers: usize,
    /// Each process's memory limit.
    pub(crate) memory: Option<u64>,
    /// Instruction set, on which the last bits of sums depend.
    pub(crate) simd: &'static str,
    /// The plan, as text that identifies it.
    pub(crate) plan: String,
}

/// Self-description of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerInfo {
    pub(super) version: String,
    pub(super) byte_order: String,
    pub(super) process: usize,
    pub(super) processes: usize,
    /// A digest of the host list.
    pub(super) hosts: String,
    pub(super) purpose: Purpose,
    /// Number of earlier runs.
    pub(super) run: usize,
    pub(super) workers: usize,
    pub(super) memory: String,
    pub(super) simd: String,
    /// A digest of the plan.
    pub(super) program: String,
    /// The beginning of the plan, which is sent only where digests differ.
    pub(super) plan: String,
    /// Unique identity of this process in this run.
    pub(super) instance: String,
}

/// Greatest number of bytes of a plan that are sent.
const SHOWN: usize = 1 << 13;

impl PeerInfo {
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
            instance: hex(&random()?),
        })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let purpose = usize::from(self.purpose == Purpose::Link);
        let numbers = [self.process, self.processes, purpose, self.run, self.workers];
        let texts = [&self.version, &self.byte_order, &self.hosts, &self.memory, &self.program];
        let texts = texts.into_iter().chain([&self.simd, &self.instance]);
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        texts.into_iter().try_for_each(|text| wire::text(&mut bytes, text)).unwrap_or_default();
        numbers.into_iter().try_for_each(|n| wire::number(&mut bytes, n)).unwrap_or_default();
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = Decoder(bytes);
        let mut text = || input.text().map(str::to_owned);
        let [version, byte_order, hosts] = [text()?, text()?, text()?];
        let [memory, program, simd, instance] = [text()?, text()?, text()?, text()?];
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
            plan: String::new(),
            instance,
        })
    }

    /// The first property in which a peer differs from this process, with its value and this one's.
    pub(super) fn difference(&self, own: &Self) -> Option<(&'static str, String, String)> {
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
        all.find(|(_, theirs, ours)| theirs != ours)
    }

    /// The version, which every version sends first.
    pub(super) fn version(bytes: &[u8]) -> Option<&str> {
        Decoder(bytes).text()
    }

    /// The first line in which the plan of a peer, whose beginning is `plan`, differs from this one's.
    pub(super) fn other_program(&self, plan: &str, own: &Self) -> (&'static str, String, String) {
        let mut lines = plan.lines().zip(own.plan.lines());
        let shown = lines.find(|(theirs, ours)| theirs != ours);
        let quoted = |line: &str| format!("`{}`", line.trim());
        match shown {
            Some((theirs, ours)) => ("what they compute", quoted(theirs), quoted(ours)),
            None => ("what they compute (digest)", self.program.clone(), own.program.clone()),
        }
    }
}

fn digest(text: &str) -> String {
    hex(&blake3::hash(text.as_bytes()).as_bytes()[..8])
}
