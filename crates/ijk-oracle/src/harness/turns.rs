//! Selection among several ways of running a program.

use std::ops::Range;

/// Number of programs from which a run is a full one: each program is run in every way.
const FULL: u64 = 10_000;

/// Number of programs up to which each is run in every way, since they are run again for inspection.
const FEW: u64 = 10;

/// The ways, out of `ways`, in which the program of a seed is run: all of them in a full run of `programs` and if there
/// are few, otherwise in turn.
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
