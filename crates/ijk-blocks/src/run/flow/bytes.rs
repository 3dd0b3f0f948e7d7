//! Parcels as bytes, for workers of other processes: only the elements of a part travel, not the block that it
//! is part of.

use super::parcel::{Parcel, Parcels};
use crate::run::part::Part;
use crate::wire::{self, Input};
use std::io::{Result, Write};
use timely::bytes::arc::Bytes;
use timely::dataflow::channels::ContainerBytes;

impl ContainerBytes for Parcels {
    fn from_bytes(bytes: Bytes) -> Self {
        // A process of the same version wrote them.
        read(&mut Input(&bytes)).expect("a whole message")
    }

    fn length_in_bytes(&self) -> usize {
        wire::length(|out| write(self, out))
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        write(self, writer).expect("the buffer has the length that was asked for");
    }
}

fn write(parcels: &Parcels, out: &mut impl Write) -> Result<()> {
    wire::number(out, parcels.0.len())?;
    for Parcel { to, need, part } in &parcels.0 {
        let doubtful = usize::from(part.is_doubtful());
        [*to, *need, doubtful].into_iter().try_for_each(|n| wire::number(out, n))?;
        wire::list(out, &part.axes)?;
        let (block, window) = part.stored();
        wire::block(out, block, window)?;
    }
    Ok(())
}

fn read(input: &mut Input) -> Option<Parcels> {
    let count = input.number()?;
    let mut parcel = || {
        let [to, need, doubtful] = [input.number()?, input.number()?, input.number()?];
        let axes = input.list()?;
        let part = Part::whole(input.block()?, axes);
        Some(Parcel { to, need, part: if doubtful != 0 { part.doubted() } else { part } })
    };
    let parcels: Option<Vec<Parcel>> = (0..count).map(|_| parcel()).collect();
    Some(Parcels(parcels?))
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
        let parcel = Parcel { to: 3, need: 7, part };
        let parcels = Parcels(vec![parcel.clone(), parcel.clone()]);
        let mut bytes = Vec::new();
        parcels.into_bytes(&mut bytes);
        assert_eq!(bytes.len(), parcels.length_in_bytes());
        assert_eq!(bytes.len() % 8, 0);
        let read = Parcels::from_bytes(timely::bytes::arc::BytesMut::from(bytes).freeze());
        for other in &read.0 {
            assert_eq!((other.to, other.need), (3, 7));
            assert_eq!(other.part.axes, [2, 0]);
            assert_eq!(*other.part.dense().unwrap(), *parcel.part.dense().unwrap());
        }
        assert_eq!(read.0.len(), 2);
    }
}
