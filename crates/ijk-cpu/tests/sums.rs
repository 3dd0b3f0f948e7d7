//! Sums along rows: of elements, of squares, and of squares of differences.

use crate::programs::{check, engines};
use ijk_types::DType;

/// Programs, and shapes of their arguments. Subtracted values are small, so that sums are exact.
const CASES: &[(&str, &[&[usize]])] = &[
    ("(I & >ij~i) . ij-i~ij . (I & I) . +(ij*ij)~i", &[&[5, 700]]),
    ("(I & >ij~i) . ij-i~ij . (I & I) . +(ij*ij)~i", &[&[130, 4096]]),
    ("(I & >ij~i) . ij-i~ij . (I & I) . +(ij*ij)~i", &[&[3, 20000]]),
    ("ij-i~ij . (I & I) . +(ij*ij)~i", &[&[70, 257], &[70]]),
    ("kij-ik~ijk . (I & I) . +(ijk*ijk)~ji", &[&[300, 6, 5], &[6, 300]]),
    ("ijk-ji~ijk . (I & I) . +(ijk*ijk)~ji", &[&[6, 5, 300], &[5, 6]]),
    ("ijk-i~ijk . (I & I) . +(ijk*ijk)~ij", &[&[6, 5, 300], &[6]]),
    ("+ij~i", &[&[9, 700]]),
    ("+ij~i", &[&[3, 20000]]),
    ("+kij~ji", &[&[4, 5, 300]]),
    ("+ijk~ik", &[&[7, 300, 3]]),
    // Rows of which threads fold parts.
    ("+i~.", &[&[131_077]]),
    (">ij~i", &[&[3, 140_001]]),
    ("(I & I) . +(ij*ij)~i", &[&[2, 132_000]]),
    ("i-.~i . (I & I) . +(i*i)~.", &[&[300_001], &[]]),
    ("ijk-ji~ijk . (I & I) . +(ijk*ijk)~ji", &[&[2, 3, 131_073], &[3, 2]]),
    ("ij-ij~ij . @abs ij~ij . +ij~i", &[&[2, 150_000], &[2, 150_000]]),
];

#[test]
fn sums_are_right_for_all_levels_and_threads() {
    for (source, shapes) in CASES {
        for t in [DType::F32, DType::F64, DType::I32] {
            check(source, shapes, t, &engines());
        }
    }
}
