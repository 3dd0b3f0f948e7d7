//! Messages between processes on their links.

use crate::Block;
use crate::progress::DONE;
use crate::run::failure::Report;
use crate::wire::{self, Decoder};
use std::io::Write;
use std::sync::Arc;

/// A message on a link.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    /// Heartbeat, with the sender's counters of work done.
    Heartbeat([u64; DONE]),
    /// A process failed.
    Failed(Report),
    /// Request for a block of a stage; the number identifies the answer.
    Request { number: usize, stage: usize, at: Vec<usize> },
    /// Answer: a block, unless it is missing.
    Answer { number: usize, block: Option<Arc<Block>> },
    /// The sender needs nothing more.
    Done,
}

impl Message {
    /// Returns true if the message fits in the buffer of a socket.
    pub(super) fn is_short(&self) -> bool {
        !matches!(self, Self::Answer { block: Some(_), .. })
    }

    /// Encoding of the message.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(wire::length(|out| self.write(out)));
        // Writing to memory cannot fail.
        self.write(&mut bytes).unwrap_or_default();
        bytes
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Self::Heartbeat(done) => {
                wire::number(out, 0)?;
                done.iter().try_for_each(|&n| out.write_all(&n.to_le_bytes()))
            }
            Self::Failed(Report { process, lost, reason }) => {
                [1, *process, usize::from(*lost)].iter().try_for_each(|&n| wire::number(out, n))?;
                wire::text(out, reason)
            }
            Self::Request { number, stage, at } => {
                [2, *number, *stage].iter().try_for_each(|&n| wire::number(out, n))?;
                wire::list(out, at)
            }
            Self::Answer { number, block } => {
                let present = usize::from(block.is_some());
                [3, *number, present].iter().try_for_each(|&n| wire::number(out, n))?;
                match block {
                    Some(block) => wire::block(out, block, &wire::whole(block.shape())),
                    None => Ok(()),
                }
            }
            Self::Done => wire::number(out, 4),
        }
    }

    /// Returns true if these bytes begin a request for a block.
    #[cfg(target_os = "linux")]
    pub(super) fn is_request(bytes: &[u8]) -> bool {
        Decoder(bytes).number() == Some(2)
    }

    /// Decodes a message.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = Decoder(bytes);
        let message = match input.number()? {
            0 => {
                let mut done = [0; DONE];
                for n in &mut done {
                    *n = u64::from_le_bytes(input.take()?);
                }
                Self::Heartbeat(done)
            }
            1 => {
                let (process, lost) = (input.number()?, input.number()? != 0);
                Self::Failed(Report { process, lost, reason: input.text()?.to_owned() })
            }
            2 => {
                Self::Request { number: input.number()?, stage: input.number()?, at: input.list()? }
            }
            3 => {
                let (number, present) = (input.number()?, input.number()? != 0);
                let block = if present { Some(Arc::new(input.block()?)) } else { None };
                Self::Answer { number, block }
            }
            4 => Self::Done,
            _ => return None,
        };
        input.0.is_empty().then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_tensor::Tensor;

    #[test]
    fn messages_come_back_from_their_bytes() {
        let block = Block::Numbers(Tensor::from_vec(vec![1.5f32, 2.5, 3.5], &[3]).unwrap());
        let report = Report { process: 2, lost: true, reason: "⊥ is gone".into() };
        for message in [
            Message::Heartbeat([1, 2, 3, 4, u64::MAX]),
            Message::Failed(report),
            Message::Request { number: 7, stage: 1, at: vec![3, 0] },
            Message::Answer { number: 7, block: Some(Arc::new(block)) },
            Message::Answer { number: 8, block: None },
            Message::Done,
        ] {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            for end in 0..bytes.len() {
                assert_eq!(Message::decode(&bytes[..end]), None);
            }
        }
        assert_eq!(Message::decode(&[9, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
