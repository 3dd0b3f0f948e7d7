//! Permutations of short and long axes.

use crate::programs::{check, engines};
use ijk_types::DType;

/// Programs, and the shapes of their argument.
const CASES: &[(&str, &[usize])] = &[
    ("abcdefghij~jihgfedcba", &[2, 3, 2, 2, 4, 2, 3, 2, 2, 2]),
    ("abcdefghij~bdfhjacegi", &[2, 3, 2, 2, 4, 2, 3, 2, 2, 2]),
    ("abcdefghij~efghijabcd", &[2, 3, 2, 2, 4, 2, 3, 2, 2, 2]),
    // Contiguous on both sides, a few elements and many.
    ("abcdef~cabdef", &[5, 3, 7, 2, 2, 2]),
    ("abcdef~acbdef", &[5, 3, 7, 2, 3, 3]),
    ("abcde~cabde", &[5, 3, 7, 4, 16]),
    // Pixels and channels.
    ("hwc~chw", &[37, 41, 3]),
    ("chw~hwc", &[3, 32, 48]),
    ("bcpqhw~bchpwq", &[2, 3, 2, 2, 14, 22]),
    ("bhpwqc~bhwpqc", &[2, 7, 2, 9, 2, 5]),
    // Squares and strips.
    ("ij~ji", &[70, 50]),
    ("ij~ji", &[1000, 3]),
    ("ij~ji", &[3, 1000]),
    // A part of an axis, reversed.
    ("abc[2*d{5}]~dcba", &[7, 3, 5, 10]),
    ("abc[4-d]~dcab", &[7, 3, 12, 5]),
];

#[test]
fn permutations_are_right_for_all_levels_and_threads() {
    for (source, shape) in CASES {
        for t in [DType::Bool, DType::F32, DType::F64, DType::C64, DType::C128] {
            check(source, &[shape], t, &engines());
        }
    }
}
