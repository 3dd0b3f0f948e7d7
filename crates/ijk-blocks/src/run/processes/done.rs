//! Finished blocks of an earlier run: process 0 finds them, and sends them to the others before any process writes.

use super::{Destination, RunContext};
use crate::Error;
use crate::cluster::{ClusterError, Peer};
use crate::domain::Coordinates;
use crate::plan::{Done, Stage};
use crate::wire::{self, Decoder};
use std::io::{self, Read, Write};

/// Finished blocks, found by process 0.
pub(super) fn found(context: &RunContext, destination: &Destination) -> Done {
    match (context.plan.stages.last(), destination) {
        (Some(last), Destination::Sink(sink)) if context.cluster.process() == 0 => {
            Done::new(last, &**sink)
        }
        _ => Done::default(),
    }
}

/// Finished blocks that process 0 found, in all processes.
pub(super) fn agree(
    context: &RunContext,
    found: Done,
    peers: &[Option<Peer>],
) -> Result<Done, Error> {
    let Some(last) = context.plan.stages.last() else { return Ok(found) };
    if let Some(Some(first)) = peers.first() {
        let received = receive(&mut &first.link, last);
        return Ok(received.map_err(ClusterError::Connections)?);
    }
    let message = encode(last, &found);
    for peer in peers.iter().flatten() {
        (&peer.link).write_all(&message).map_err(ClusterError::Connections)?;
    }
    Ok(found)
}

/// Encodes alternating runs of finished and unfinished blocks by their ends, with the number of ends first.
fn encode(stage: &Stage, done: &Done) -> Vec<u8> {
    let grid = stage.out.grid();
    let mut ends = Vec::new();
    // Most often there is none, and the scan is skipped.
    let blocks = if done.is_empty() { 0 } else { stage.blocks() };
    for number in 0..blocks {
        let inside = ends.len() % 2 == 1;
        if done.has(&Coordinates::of(&grid, number)) != inside {
            ends.push(number);
        }
    }
    if ends.len() % 2 == 1 {
        ends.push(blocks);
    }
    let mut bytes = Vec::new();
    // Writing to memory cannot fail.
    wire::list(&mut bytes, &ends).unwrap_or_default();
    bytes
}

fn receive(link: &mut impl Read, stage: &Stage) -> io::Result<Done> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "process 0 is not understood");
    let mut number = || {
        let mut bytes = [0; 8];
        link.read_exact(&mut bytes)?;
        Decoder(&bytes).number().ok_or_else(wrong)
    };
    let (count, grid, blocks) = (number()?, stage.out.grid(), stage.blocks());
    let mut done = Vec::new();
    for _ in 0..count / 2 {
        let (start, end) = (number()?, number()?);
        if end > blocks {
            return Err(wrong());
        }
        done.extend((start..end).map(|number| Coordinates::of(&grid, number)));
    }
    Ok(done.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BigTensor, BlockPlan};

    #[test]
    fn what_is_done_comes_back_from_its_bytes() {
        let zeros = BigTensor::zeros(ijk_types::DType::F32, [6, 5], [Some(2), Some(2)]).unwrap();
        let stage = BlockPlan::new(&zeros).stages.pop().unwrap();
        for numbers in [vec![], vec![0], vec![8], vec![1, 2, 3, 7], (0..9).collect()] {
            let places = numbers.iter().map(|&n| vec![n / 3, n % 3]);
            let done: Done = places.clone().collect();
            let bytes = encode(&stage, &done);
            let received = receive(&mut &bytes[..], &stage).unwrap();
            assert_eq!(received.len(), numbers.len());
            assert!(places.clone().all(|at| received.has(&at)));
            assert!(receive(&mut &bytes[..bytes.len() - 1], &stage).is_err());
        }
        let absurd: Vec<u8> = [2u64, 0, 1 << 40].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert!(receive(&mut &absurd[..], &stage).is_err());
    }
}
