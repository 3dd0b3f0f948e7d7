//! Blocks of k, whose steps one pass of microkernels takes.

use super::KC;
use super::bundle::{Bundle, Operand};
use super::problem::Problem;
use std::ops::Range;

/// A block of k: for each step, where it leads in either operand.
pub(crate) struct Steps {
    left: Vec<isize>,
    right: Vec<isize>,
    /// Whether the steps are neighbours in left, and in right.
    unit: [bool; 2],
    /// Whether the block adds to what the output holds, else replaces it.
    pub(crate) accumulate: bool,
    /// How many steps come before it in its round.
    pub(crate) before: usize,
}

impl Steps {
    fn new(problem: &Problem, steps: Range<usize>, before: usize, accumulate: bool) -> Self {
        let unit = |operand| problem.k.is_run(operand, steps.start, steps.len());
        Self {
            left: offsets(&problem.k, Operand::Left, &steps),
            right: offsets(&problem.k, Operand::Right, &steps),
            unit: [unit(Operand::Left), unit(Operand::Right)],
            accumulate,
            before,
        }
    }

    /// Number of steps.
    pub(crate) fn len(&self) -> usize {
        self.left.len()
    }

    /// For each step, its offset in an operand.
    pub(crate) fn offsets(&self, operand: Operand) -> &[isize] {
        if operand == Operand::Left { &self.left } else { &self.right }
    }

    /// Whether the steps are neighbours there.
    pub(crate) fn unit(&self, operand: Operand) -> bool {
        self.unit[usize::from(operand != Operand::Left)]
    }
}

/// The blocks of `ks`, in rounds of `most` steps, or of one block where that has more. The first
/// block replaces what the output holds, unless the problem accumulates.
pub(crate) fn rounds(
    problem: &Problem,
    ks: Range<usize>,
    most: usize,
) -> impl Iterator<Item = Vec<Steps>> {
    let block = even(ks.len(), KC, 1);
    let round = (most / block).max(1) * block;
    let first = ks.start;
    pieces(ks, round).map(move |round| {
        let start = round.start;
        let steps = |steps: Range<usize>| {
            let accumulate = problem.accumulate || steps.start > first;
            Steps::new(problem, steps.clone(), steps.start - start, accumulate)
        };
        pieces(round, block).map(steps).collect()
    })
}

/// All blocks of k, in one round.
pub(crate) fn one_round(problem: &Problem) -> Vec<Steps> {
    rounds(problem, 0..problem.k.len(), problem.k.len() + KC).flatten().collect()
}

/// The offsets of a range of a bundle's points.
pub(crate) fn offsets(bundle: &Bundle, operand: Operand, range: &Range<usize>) -> Vec<isize> {
    let mut out = vec![0; range.len()];
    bundle.offsets(operand, range.start, &mut out);
    out
}

/// Cuts a range into blocks of nearly equal length, at most `most` rounded up to a multiple of
/// `unit`, as all but the last are. An empty range is one empty block.
pub(crate) fn blocks(
    all: Range<usize>,
    most: usize,
    unit: usize,
) -> impl Iterator<Item = Range<usize>> {
    let length = even(all.len(), most, unit);
    pieces(all, length)
}

/// The length of such blocks.
fn even(len: usize, most: usize, unit: usize) -> usize {
    let count = len.div_ceil(most).max(1);
    len.div_ceil(count).next_multiple_of(unit).max(1)
}

/// Cuts a range into pieces of that length; the last may be shorter.
fn pieces(all: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let count = all.len().div_ceil(length).max(1);
    (0..count).map(move |n| {
        let start = all.start + n * length;
        start..(start + length).min(all.end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_a_range() {
        for len in 0..200 {
            for most in [1, 7, 32, 64] {
                let mut at = 5;
                for block in blocks(5..5 + len, most, 1) {
                    assert_eq!(block.start, at);
                    assert!(block.len() <= most);
                    at = block.end;
                }
                assert_eq!(at, 5 + len);
            }
        }
    }
}
