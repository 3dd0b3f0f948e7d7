//! Blocks of k, and rounds of blocks.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::columns::point_offsets;
use crate::contract::canonical::problem::Problem;
use crate::contract::canonical::ranges::{cut_at, pieces};
use crate::contract::select::blocking::Blocking;
use ijk_kernels::tuning::order::KC;
use std::ops::Range;

/// A block of k: for each step, its offset in both operands.
#[derive(Clone, Debug)]
pub(crate) struct KBlock {
    left: Vec<isize>,
    right: Vec<isize>,
    /// Contiguous steps in lhs and in rhs.
    segments: [Vec<Segment>; 2],
    /// True if the block accumulates to the output, false if it overwrites it.
    pub(crate) accumulate: bool,
    /// Number of steps before it in its round.
    pub(crate) before: usize,
    /// KBlock of the packed panels, and those among them before this block; more than the block's own if it is part of
    /// what was packed.
    pub(crate) pitch: usize,
    pub(crate) skipped: usize,
}

impl KBlock {
    fn new(problem: &Problem, steps: Range<usize>, before: usize, accumulate: bool) -> Self {
        let segments = |operand| segments(&problem.k, operand, &steps);
        Self {
            left: point_offsets(&problem.k, TensorId::Left, &steps),
            right: point_offsets(&problem.k, TensorId::Right, &steps),
            segments: [segments(TensorId::Left), segments(TensorId::Right)],
            accumulate,
            before,
            pitch: steps.len(),
            skipped: 0,
        }
    }

    /// Number of steps.
    pub(crate) fn len(&self) -> usize {
        self.left.len()
    }

    /// The offset of each step in an operand.
    pub(crate) fn offsets(&self, operand: TensorId) -> &[isize] {
        if operand == TensorId::Left { &self.left } else { &self.right }
    }

    /// Contiguous steps in an operand: empty, or every step is in one of the segments.
    pub(crate) fn segments(&self, operand: TensorId) -> &[Segment] {
        &self.segments[usize::from(operand != TensorId::Left)]
    }
}

/// KBlock of a block that are contiguous in an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    first: usize,
    /// Distance between them in steps of the block.
    pub(crate) distance: usize,
    /// Number of steps.
    pub(crate) count: usize,
}

impl Segment {
    /// Index in the block of the segment's step `n`.
    pub(crate) fn step(&self, n: usize) -> usize {
        self.first + n * self.distance
    }
}

/// Segments of some points of k in an operand, along the axis of stride 1. If that is not the innermost, `steps` must
/// have whole values of it.
fn segments(k: &Bundle, operand: TensorId, steps: &Range<usize>) -> Vec<Segment> {
    let Some(axis) = k.unit(operand).filter(|_| !steps.is_empty()) else { return Vec::new() };
    let count = k.axes()[axis].extent;
    let distance: usize = k.axes()[axis + 1..].iter().map(|a| a.extent).product();
    if distance == 1 {
        let pieces = cut_at(steps, count);
        let segment =
            |p: Range<usize>| Segment { first: p.start - steps.start, distance, count: p.len() };
        return pieces.map(segment).collect();
    }
    let pieces: Vec<_> = cut_at(steps, distance.saturating_mul(count)).collect();
    if pieces.iter().any(|p| !p.start.is_multiple_of(distance) || !p.len().is_multiple_of(distance))
    {
        return Vec::new();
    }
    let each = |piece: Range<usize>| {
        let (first, count) = (piece.start - steps.start, piece.len() / distance);
        (first..first + distance).map(move |first| Segment { first, distance, count })
    };
    pieces.into_iter().flat_map(each).collect()
}

/// Blocks of k whose panels of the shared operand are packed at the same time.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// The blocks.
    pub(crate) blocks: Vec<KBlock>,
    /// All steps of the round, if they are packed as a whole.
    pub(crate) whole: Option<KBlock>,
}

impl Round {
    pub(crate) fn new(
        problem: &Problem,
        all: Range<usize>,
        block: usize,
        first: usize,
        tiled: bool,
    ) -> Self {
        let steps = |steps: Range<usize>| {
            let accumulate = problem.accumulate || steps.start > first;
            KBlock::new(problem, steps.clone(), steps.start - all.start, accumulate)
        };
        let blocks = pieces(all.clone(), block).map(steps).collect();
        Self { blocks, whole: tiled.then(|| steps(all.clone())) }
    }

    /// The part of a packed round for a problem that has only the steps `ks`, and the index of its first block. `None`
    /// if the blocks are not packed one by one.
    pub(crate) fn part(&self, problem: &Problem, ks: Range<usize>) -> Option<(Self, usize)> {
        if self.whole.is_some() {
            return None;
        }
        let meets = |block: &&KBlock| {
            block.before < ks.end && block.before + block.len() > ks.start && block.len() > 0
        };
        let first = self.blocks.iter().position(|block| meets(&block))?;
        let part = |block: &KBlock| {
            let (start, end) =
                (block.before.max(ks.start), (block.before + block.len()).min(ks.end));
            let accumulate = problem.accumulate || start > ks.start;
            let own = start - ks.start..end - ks.start;
            let (pitch, skipped) = (block.len(), start - block.before);
            KBlock { pitch, skipped, ..KBlock::new(problem, own, block.before, accumulate) }
        };
        let blocks = self.blocks.iter().filter(meets).map(part).collect();
        Some((Self { blocks, whole: None }, first))
    }

    /// All steps, if the round is packed as a whole.
    pub(crate) fn whole(&self) -> Option<&KBlock> {
        self.whole.as_ref()
    }

    /// Units in which the shared operand is packed: the whole round if only that has whole cache lines, otherwise
    /// blocks.
    pub(crate) fn packs(&self) -> &[KBlock] {
        self.whole.as_ref().map_or(&self.blocks, std::slice::from_ref)
    }
}

/// The blocks of `ks`, in rounds of at most `most` steps or of one longer block. The first block overwrites the output,
/// unless the problem accumulates.
pub(crate) fn rounds(
    problem: &Problem,
    blocking: Blocking,
    ks: Range<usize>,
    most: usize,
) -> impl Iterator<Item = Round> {
    let first = ks.start;
    let tiled = problem.tile.and_then(|tile| tile.rounds(&ks, most));
    let whole = tiled.is_some();
    let block = blocking.block(ks.len());
    let ranges = tiled.unwrap_or_else(|| pieces(ks, (most / block).max(1) * block).collect());
    ranges.into_iter().map(move |range| {
        let block = if whole { blocking.block(range.len()) } else { block };
        Round::new(problem, range, block, first, whole)
    })
}

/// All blocks of k, in one round.
pub(crate) fn one_round(problem: &Problem, blocking: Blocking) -> Option<Round> {
    rounds(problem, blocking, 0..problem.k.len(), problem.k.len() + KC).next()
}
