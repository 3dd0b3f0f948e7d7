//! Search for ranks that satisfy a program: assigns one group of equal ranks after another, and prunes the domains of
//! the others after each assignment.

mod problem;
mod search;

use super::checked::Checked;
pub(super) use problem::{Impossible, Problem, Source};
pub use search::RankCombinations;

/// The greatest rank of an eintup.
pub const MAX_RANK: u32 = 9;

/// Ranks of all eintups and places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranks {
    /// For each shape its rank.
    pub shapes: Vec<u32>,
    /// For each array the ranks of its places.
    pub places: Vec<Vec<u32>>,
}

/// The combinations of ranks that satisfy the program, lazily. Eintups that no constraint is on
/// have rank 1, or any from 0 to [`MAX_RANK`] where `free`.
pub fn rank_combinations(checked: &Checked, free: bool) -> RankCombinations<'_> {
    Problem::new(checked, free).solutions()
}
