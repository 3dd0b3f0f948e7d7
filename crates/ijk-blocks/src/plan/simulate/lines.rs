//! Needs of the rows, or the columns, of blocks of a round.

use super::super::schedule::Schedule;
use super::super::stage::Stage;
use crate::Error;
use crate::domain::{Coordinates, StageAxis};
use std::collections::{BTreeSet, HashMap};

/// Set of the axes of a stage at their last block where that is shorter: a bit for each. The extents of all other
/// blocks are equal. Where an axis is folded in parts, the bit of their axis is that of the last part, which may have
/// fewer panels; one bit more is that of the panels that it lacks, and only there do these and the folded axis's last
/// block count.
pub(super) type Ends = u128;

/// Parts of an operand, or blocks of the output, that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NeedGroup {
    /// The rows, or columns, of the grid of all workers that need each.
    pub(super) workers: Vec<usize>,
    pub(super) ends: Ends,
    /// Number of parts or blocks in the group.
    pub(super) count: u64,
}

/// For each operand, and last for the output, the needs of the lines of a round.
pub(super) type Needs = Vec<Vec<NeedGroup>>;

/// Greatest number of lines that are visited.
const MOST: usize = 1 << 24;

/// Needs of the rounds along a side of the schedule (rows, or columns), with the number of rounds that have them.
pub(super) fn rounds(
    stage: &Stage,
    schedule: &Schedule,
    side: usize,
) -> Result<Vec<(Needs, u64)>, Error> {
    let (axes, grid) = (&schedule.axes[side], &schedule.grids[side]);
    let lines = Coordinates::count(grid);
    if lines > MOST {
        return Err(Error::TooManyBlocks { blocks: lines, most: MOST });
    }
    let whole: Vec<usize> = (0..stage.kept()).collect();
    let reads = schedule.reads.iter().chain([&whole]);
    let reads: Vec<Vec<usize>> = reads
        .map(|reads| (0..axes.len()).filter(|&n| reads.contains(&axes[n])).collect())
        .collect();
    let ends: Vec<Option<usize>> = axes.iter().map(|&axis| shorter(stage, axis)).collect();
    let mut rounds: HashMap<Needs, u64> = HashMap::new();
    let mut start = 0;
    while start < lines {
        let end = start.saturating_add(schedule.tile[side]).min(lines);
        let mut parts: Vec<HashMap<usize, (BTreeSet<usize>, Ends)>> =
            vec![HashMap::new(); reads.len()];
        for line in start..end {
            let at = Coordinates::of(grid, line);
            for (reads, parts) in reads.iter().zip(&mut parts) {
                let key = reads.iter().fold(0, |key, &n| key * grid[n] + at[n]);
                let part = parts.entry(key).or_insert_with(|| {
                    let bit = |&&n: &&usize| ends[n] == Some(at[n]);
                    let bits = reads.iter().filter(bit).map(|&n| end_bit(axes[n]));
                    (BTreeSet::new(), bits.fold(0, |all, bit| all | bit))
                });
                part.0.insert(schedule.grid.line(side, line));
            }
        }
        let needs = parts.into_iter().map(|parts| grouped(parts.into_values())).collect();
        *rounds.entry(needs).or_default() += 1;
        start = end;
    }
    let mut rounds: Vec<(Needs, u64)> = rounds.into_iter().collect();
    rounds.sort_unstable();
    Ok(rounds)
}

/// Groups parts by the workers that need them and by their extents.
fn grouped(parts: impl Iterator<Item = (BTreeSet<usize>, Ends)>) -> Vec<NeedGroup> {
    let mut counts: HashMap<(Vec<usize>, Ends), u64> = HashMap::new();
    for (workers, ends) in parts {
        *counts.entry((workers.into_iter().collect(), ends)).or_default() += 1;
    }
    let group = |((workers, ends), count)| NeedGroup { workers, ends, count };
    let mut groups: Vec<NeedGroup> = counts.into_iter().map(group).collect();
    groups.sort_unstable();
    groups
}

/// Kinds of panels by the axes of which they have the last block, with the number of each.
pub(super) fn panels(stage: &Stage) -> Vec<(Ends, u64)> {
    let mut kinds = vec![(0, 1)];
    for (n, axis) in stage.axes.iter().enumerate().skip(stage.kept()) {
        let last = u64::from(shorter(stage, n).is_some());
        let (others, missing) = match stage.split.filter(|_| n == stage.kept()) {
            Some(each) => {
                let of_last = last_part(axis, each);
                (of_last as u64 - last, (each - of_last) as u64)
            }
            None => (axis.blocks() as u64 - last, 0),
        };
        let with = |&(ends, count): &(Ends, u64)| {
            [
                (ends, count * others),
                (ends | end_bit(n), count * last),
                (ends | end_bit(stage.axes.len()), count * missing),
            ]
        };
        kinds = kinds.iter().flat_map(with).filter(|&(_, count)| count > 0).collect();
    }
    kinds
}

/// The elements along an axis of a block.
pub(super) fn extent(stage: &Stage, axis: usize, ends: Ends) -> usize {
    let of = &stage.axes[axis];
    let has = |axis: usize| ends & end_bit(axis) != 0;
    let in_parts = stage.parts().filter(|_| axis == stage.kept());
    let counts = in_parts.is_none_or(has);
    if counts && in_parts.is_some() && has(stage.axes.len()) {
        return 0;
    }
    of.range(if counts && has(axis) { of.blocks().saturating_sub(1) } else { 0 }).len()
}

/// Number of blocks of an axis in the last of its parts.
fn last_part(axis: &StageAxis, each: usize) -> usize {
    axis.blocks() - (axis.blocks() - 1) / each * each
}

/// The last block of an axis, where it is shorter than the others; the last part, where it may have fewer blocks.
fn shorter(stage: &Stage, axis: usize) -> Option<usize> {
    let of = &stage.axes[axis];
    let last = of.blocks().checked_sub(1)?;
    if stage.parts() == Some(axis) {
        return Some(last);
    }
    (of.range(last).len() < of.range(0).len()).then_some(last)
}

/// Axes beyond the number of bits count as whole.
fn end_bit(axis: usize) -> Ends {
    u32::try_from(axis).ok().and_then(|axis| 1u128.checked_shl(axis)).unwrap_or(0)
}
