//! Encoding of messages for workers of other processes: the elements of a part are sent, not the block that it is a
//! view of.

use super::message::{PartMessage, PartMessages};
use crate::run::part::Part;
use crate::wire::{self, Decoder};
use std::io::{Result, Write};
use timely::bytes::arc::Bytes;
use timely::dataflow::channels::ContainerBytes;

impl ContainerBytes for PartMessages {
    fn from_bytes(bytes: Bytes) -> Self {
        // The sender has the same version.
        read(&mut Decoder(&bytes)).expect("a whole message")
    }

    fn length_in_bytes(&self) -> usize {
        wire::length(|out| write(self, out))
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        write(self, writer).expect("the buffer has the length that was asked for");
    }
}

fn write(messages: &PartMessages, out: &mut impl Write) -> Result<()> {
    wire::number(out, messages.0.len())?;
    for PartMessage { to, need, part } in &messages.0 {
        let doubtful = usize::from(part.is_doubtful());
        [*to, *need, doubtful].into_iter().try_for_each(|n| wire::number(out, n))?;
        wire::list(out, &part.axes)?;
        let (block, window) = part.stored();
        wire::block(out, block, window)?;
    }
    Ok(())
}

fn read(input: &mut Decoder) -> Option<PartMessages> {
    let count = input.number()?;
    let mut message = || {
        let [to, need, doubtful] = [input.number()?, input.number()?, input.number()?];
        let axes = input.list()?;
        let part = Part::whole(input.block()?, axes);
        Some(PartMessage { to, need, part: if doubtful != 0 { part.doubted() } else { part } })
    };
    let messages: Option<Vec<PartMessage>> = (0..count).map(|_| message()).collect();
    Some(PartMessages(messages?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Block;
    use ijk_tensor::Tensor;
    use ijk_types::DType;
    use std::sync::Arc;

    #[test]
    fn parcels_come_back_from_their_bytes() {
        let block = Arc::new(Block::Numbers(Tensor::zeros(DType::F32, &[3, 5]).unwrap()));
        let part = Part::new(block, vec![1..3, 2..5], vec![2, 0]);
        let message = PartMessage { to: 3, need: 7, part };
        let messages = PartMessages(vec![message.clone(), message.clone()]);
        let mut bytes = Vec::new();
        messages.into_bytes(&mut bytes);
        assert_eq!(bytes.len(), messages.length_in_bytes());
        assert_eq!(bytes.len() % 8, 0);
        let read = PartMessages::from_bytes(timely::bytes::arc::BytesMut::from(bytes).freeze());
        for other in &read.0 {
            assert_eq!((other.to, other.need), (3, 7));
            assert_eq!(other.part.axes, [2, 0]);
            assert_eq!(*other.part.dense().unwrap(), *message.part.dense().unwrap());
        }
        assert_eq!(read.0.len(), 2);
    }
}
