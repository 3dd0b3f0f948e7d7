//! Reductions over windows: pooling, depthwise convolution and similar, of all sizes and layouts; and combination with
//! windows: transposed convolution.

use crate::programs::{check, engines};
use ijk_types::DType;

/// Programs, and shapes of their arguments.
const CASES: &[(&str, &[&[usize]])] = &[
    // Depthwise convolution, channels first and last, strided, dilated, of many taps.
    ("+(nc[h+r][w+s]*crs)~nchw", &[&[2, 5, 11, 10], &[5, 3, 3]]),
    ("+(nc[h+r][w+s]*crs)~nchw", &[&[1, 3, 9, 140], &[3, 2, 5]]),
    ("+(n[h+r][w+s]c*rsc)~nhwc", &[&[2, 9, 9, 37], &[3, 3, 37]]),
    ("+(nc[2*h+r][2*w+s]*crs)~nchw", &[&[2, 3, 21, 43], &[3, 3, 3]]),
    ("+(nc[h+2*r][w+3*s]*crs)~nchw", &[&[2, 3, 20, 50], &[3, 3, 3]]),
    ("+(c[h+r][w+s]*crs)~chw", &[&[2, 30, 40], &[2, 9, 11]]),
    ("+(crs*c[h+r][w+s])~chw", &[&[4, 3, 3], &[4, 12, 20]]),
    // Pooling, by operators and strides.
    (">nc[2*h+r{2}][2*w+s{2}]~nchw", &[&[2, 3, 12, 66]]),
    (">nc[2*h+r{3}][2*w+s{3}]~nchw", &[&[2, 3, 13, 67]]),
    ("<nc[2*h+r{3}][w+s{3}]~nchw", &[&[1, 3, 13, 36]]),
    ("+nc[3*h+r{3}][3*w+s{3}]~nchw", &[&[1, 3, 12, 36]]),
    ("+n[2*h+r{2}][2*w+s{2}]c~nhwc", &[&[1, 8, 10, 17]]),
    (">n[h+r{3}]~nh", &[&[7, 60]]),
    // Rows longer than a piece.
    (">[i+k{5}]~i", &[&[9000]]),
    ("+[2*i+k{4}]~i", &[&[20000]]),
    // The tropical semirings, and a transposed output.
    (">(n[h+r][w+s]+rs)~nhw", &[&[4, 9, 30], &[2, 3]]),
    ("<(n[h+r][w+s]+rs)~nwh", &[&[4, 9, 30], &[2, 3]]),
    // Windows of the output, of all layouts, small and large; outputs without points.
    ("+(nchw*cfrs)~nf[2*h+r][2*w+s]", &[&[2, 8, 9, 11], &[8, 5, 3, 3]]),
    ("+(nchw*cfrs)~nf[h+r][w+s]", &[&[2, 4, 9, 80], &[4, 2, 3, 5]]),
    ("+(nhwc*rsfc)~n[3*h+r][2*w+s]f", &[&[2, 7, 6, 5], &[2, 4, 9, 5]]),
    ("+nfrshw~nf[2*h+r][2*w+s]", &[&[2, 3, 2, 3, 9, 10]]),
    (">nhwfrs~nf[2*h+r][w+s]", &[&[2, 9, 10, 3, 2, 3]]),
    ("+ik~[i+k]", &[&[9000, 7]]),
    ("+ki~[i+2*k]", &[&[5, 9000]]),
    ("<hwrs~[h+r][w+s]", &[&[70, 90, 3, 3]]),
    ("+ijk~[i+j+k]", &[&[9, 40, 7]]),
    // Many windows with short rows, side by side: small matrices, in all layouts, and one of them for all others.
    ("+(bik*bkj)~bij", &[&[130, 3, 3], &[130, 3, 3]]),
    ("+(bik*bkj)~bij", &[&[64, 2, 2], &[64, 2, 2]]),
    ("+(bik*bkj)~bij", &[&[200, 5, 4], &[200, 4, 6]]),
    ("+(bik*bjk)~bij", &[&[150, 3, 3], &[150, 2, 3]]),
    ("+(bik*bkj)~bji", &[&[150, 3, 3], &[150, 3, 2]]),
    ("+(bik*bkj)~ijb", &[&[150, 3, 3], &[150, 3, 2]]),
    ("+(kib*bkj)~bij", &[&[3, 2, 150], &[150, 3, 2]]),
    ("+(ik*bkj)~bij", &[&[3, 4], &[150, 4, 2]]),
    ("+(bki*jk)~bij", &[&[150, 4, 2], &[3, 4]]),
    (">(bik+bkj)~bij", &[&[150, 3, 3], &[150, 3, 3]]),
    ("<bikj~bij", &[&[150, 3, 4, 2]]),
    ("+(b[i+k]*bk)~bi", &[&[150, 6], &[150, 3]]),
    ("+(b[i+k]*k)~bi", &[&[70, 6], &[3]]),
    // Few contiguous outputs of several rows.
    ("+nic~nc", &[&[5, 9, 70]]),
];

#[test]
fn windows_are_right_for_all_levels_and_threads() {
    for (source, shapes) in CASES {
        for t in [DType::F32, DType::F64, DType::I32, DType::I64] {
            check(source, shapes, t, &engines());
        }
    }
}
