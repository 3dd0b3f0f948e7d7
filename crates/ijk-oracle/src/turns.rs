//! Which of several ways of running a program has its turn.

use std::ops::Range;

/// From so many programs on a run is a full one: each is run in every way.
const FULL: u64 = 10_000;

/// Up to so many programs are run to look at them again: each in every way.
const FEW: u64 = 10;

/// The ways, of so many, in which the program of a seed is run: all in a full run of `programs`
/// and where there are few, else one after another.
///
/// ```
/// use ijk_oracle::turns;
/// assert_eq!(turns(7, 100_000, 3), 0..3);
/// assert_eq!(turns(7, 1, 3), 0..3);
/// let each: Vec<_> = (0..12).map(|seed| turns(seed, 1500, 3).start).collect();
/// assert_eq!(each, [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0]);
/// ```
pub fn turns(seed: u64, programs: u64, ways: usize) -> Range<usize> {
    if !(FEW + 1..FULL).contains(&programs) || ways == 0 {
        return 0..ways;
    }
    // Other settings of a test change with each seed, in threes.
    let turn = (seed / 3 % ways as u64) as usize;
    turn..turn + 1
}
