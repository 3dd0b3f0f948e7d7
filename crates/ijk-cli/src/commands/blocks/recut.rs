//! Cost of reading arguments in blocks other than those they are stored in.

use super::outputs::bytes;
use crate::output;
use ijk::BigTensor;
use ijk::blocks::RecutCost;

/// Prints the cost, in a line for each argument.
pub fn print(results: &[BigTensor]) {
    let mut summary: Vec<RecutCost> = Vec::new();
    for cost in results.iter().flat_map(BigTensor::recuts) {
        if !summary.contains(&cost) {
            output::message(&line(&cost));
            summary.push(cost);
        }
    }
}

fn line(cost: &RecutCost) -> String {
    let RecutCost { name, from, to, stored, read, kept } = cost;
    let again = match read > stored {
        true => format!(" for {}, as chunks are read again,", bytes(*stored)),
        false => " and".into(),
    };
    let kept = if *kept == 0 { "nothing".into() } else { bytes(*kept) };
    let (from, to, read) = (shown(from), shown(to), bytes(*read));
    format!(
        "{name} is re-cut from chunks of {from} to {to}: a pass reads {read}{again} keeps {kept}, and writes nothing"
    )
}

/// Blocks in the form of `--block`.
fn shown(blocks: &[Option<usize>]) -> String {
    let shown = blocks.iter().map(|block| block.map_or(".".into(), |n| n.to_string()));
    shown.collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let (from, to) = (vec![Some(2), None], vec![Some(3), Some(4)]);
        let name = "a.zarr".into();
        let cost = RecutCost { name, from, to, stored: 1000, read: 1000, kept: 96 };
        assert_eq!(
            line(&cost),
            "a.zarr is re-cut from chunks of 2x. to 3x4: a pass reads 1.0 kB and keeps 96 bytes, and writes nothing"
        );
        let cost = RecutCost { read: 2000, kept: 0, ..cost };
        assert_eq!(
            line(&cost),
            "a.zarr is re-cut from chunks of 2x. to 3x4: a pass reads 2.0 kB for 1.0 kB, as chunks are read again, \
             keeps nothing, and writes nothing"
        );
    }
}
