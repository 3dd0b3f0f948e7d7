//! Programs of the language's description: what kernels they become, and that those are right.

use crate::support::checked_source;
use DType::{Bool, F32, F64, I64};
use ijk_types::DType;

/// Program, arguments, kernels, number of temporaries.
type Case<'a> = (&'a str, &'a [(DType, &'a [u64])], &'a [&'a str], usize);

fn check(cases: &[Case]) {
    for (source, arguments, kernels, temporaries) in cases {
        let plan = checked_source(source, arguments);
        let found: Vec<_> = plan.steps.iter().map(|s| s.kernel().name()).collect();
        assert_eq!((&found[..], plan.temporaries()), (*kernels, *temporaries), "{source}\n{plan}");
    }
}

#[test]
fn products() {
    const A: (DType, &[u64]) = (F32, &[9, 8]);
    const B: (DType, &[u64]) = (F32, &[8, 10]);
    check(&[
        ("ik*kj~ijk . +ijk~ij", &[A, B], &["contract"], 0),
        ("mm: m.a\nm: ik*kj~ijk\na: +ijk~ij\nmm", &[A, B], &["contract"], 0),
        ("m: ik*kj~ijk; a: +ijk~ij; a << m", &[A, B], &["contract"], 0),
        ("+(ik*kj)~ij", &[A, B], &["contract"], 0),
        ("+(ik*kj)~ji", &[A, B], &["contract"], 0),
        ("<(ik+kj)~ij", &[A, B], &["contract-semiring"], 0),
        ("+(ik*kj)~ij . ij+j~ij", &[A, B, (F32, &[10])], &["contract", "map"], 1),
        ("+(ik*kj)~ij . ij+j~ij . ij>0~ij", &[A, B, (F32, &[10])], &["contract", "map"], 1),
        ("ij~ji . ik*kj~ijk . +ijk~ij", &[(F32, &[8, 9]), B], &["contract"], 0),
        ("+(ik*jk)~ij", &[A, A], &["contract"], 0),
        ("I & I . +(ik*jk)~ij", &[A], &["contract"], 0),
        ("+(ik*k)~i", &[(F32, &[40, 20]), (F32, &[20])], &["contract"], 0),
        ("+(i*i)~.", &[(F32, &[400]), (F32, &[400])], &["contract"], 0),
        ("+(i*i)~.", &[(I64, &[400]), (I64, &[400])], &["reduce"], 0),
        // Depthwise convolution: windows, though taps are contiguous in both.
        ("+(nc[h+r][w+s]*crs)~nchw", &[(F32, &[2, 8, 30, 30]), (F32, &[8, 3, 3])], &["reduce"], 0),
        ("+(bij*bj)~bi", &[(F32, &[3, 16, 32]), (F32, &[3, 32])], &["contract"], 0),
        ("+(bji*bj)~bi", &[(F32, &[3, 32, 16]), (F32, &[3, 32])], &["reduce"], 0),
        ("+(bij*bj)~bi", &[(F32, &[30, 4, 8]), (F32, &[30, 8])], &["reduce"], 0),
        ("i*j~ij", &[(F32, &[40]), (F32, &[30])], &["map"], 0),
        ("abcd*eb~abcde . +abcde~aecd", &[(F64, &[3, 4, 5, 6]), (F64, &[7, 4])], &["contract"], 0),
        ("+(bik*bkj)~bij", &[(I64, &[3, 9, 8]), (I64, &[3, 8, 10])], &["contract"], 0),
        ("ik*kj~ijk . +ijk~ij", &[(F32, &[3, 3]), (F32, &[3, 3])], &["reduce"], 0),
    ]);
}

#[test]
fn views_and_maps() {
    const A: (DType, &[u64]) = (F64, &[20, 24]);
    check(&[
        ("ij~ji", &[A], &["copy"], 0),
        ("ij~ji . ij~ji", &[A], &["copy"], 0),
        ("i~ij", &[(F64, &[300])], &["copy"], 0),
        ("i~ij{10}", &[(F64, &[30])], &["copy"], 0),
        ("ii~i", &[(F64, &[30, 30])], &["copy"], 0),
        ("i~ii", &[(F64, &[30])], &["fill", "copy"], 0),
        ("[2*i]~i", &[(F64, &[30])], &["copy"], 0),
        ("[8*h+w{8}]c~hwc", &[(F64, &[40, 3])], &["copy"], 0),
        ("ij~[4*i+j{4}]", &[(F64, &[30, 4])], &["copy"], 0),
        ("ij~[4*i+j{4}] . [4*i+j{4}]~ji", &[(F64, &[30, 4])], &["copy"], 0),
        ("ij>0~ij", &[A], &["map"], 0),
        ("-ij~ij . ^ij~ij . 2*ij~ij . ij+1~ij", &[A], &["map"], 0),
        ("@where(ij,ij,ij)~ij", &[(Bool, &[9, 8]), (F32, &[9, 8]), (F32, &[9, 8])], &["map"], 0),
        ("@index i~i", &[(F64, &[30])], &["map"], 0),
        ("@f32 ij~ij . ij+1~ij", &[A], &["map"], 0),
    ]);
}

#[test]
fn reductions() {
    const A: (DType, &[u64]) = (F64, &[20, 24]);
    check(&[
        ("+ij~i", &[A], &["reduce"], 0),
        (">ij~j", &[A], &["reduce"], 0),
        ("+ii~.", &[(F64, &[30, 30])], &["reduce"], 0),
        ("@argmax ij~i", &[A], &["arg"], 0),
        ("+i~.", &[(F64, &[0])], &["fill"], 0),
        ("[i+k]*k~ik . +ik~i", &[(F64, &[100]), (F64, &[7])], &["reduce"], 0),
        ("[i+k]*k~ik . +ik~i", &[(F64, &[100]), (F64, &[20])], &["contract"], 0),
        ("k*[i+k]~ik . +ik~i", &[(F64, &[20]), (F64, &[100])], &["contract"], 0),
        ("+(i*j)~[i+j]", &[(F64, &[30]), (F64, &[20])], &["fill", "scatter"], 0),
        (">i~[i/4]", &[(F64, &[40])], &["reduce"], 0),
        ("(I & +i~.) . i/.~i", &[(F64, &[300])], &["reduce", "map"], 1),
        (
            "m: >ij~i; e: (I & m) . ij-i~ij . ^ij~ij; e . (I & +ij~i) . ij/i~ij",
            &[A],
            &["reduce", "map", "reduce", "map"],
            3,
        ),
        ("+(b[i+k]c*kco)~bio", &[(F32, &[2, 12, 3]), (F32, &[5, 3, 4])], &["contract"], 0),
        // Distances: differences are squared, or made positive, on their way.
        (
            "ik-jk~ijk . ijk^2~ijk . +ijk~ij",
            &[(F64, &[9, 8]), (F64, &[10, 8])],
            &["contract-semiring"],
            0,
        ),
    ]);
}

#[test]
fn a_network_of_two_layers() {
    let source = "layer: +(ik*kj)~ij . ij+j~ij . ij>0~ij; layer . layer";
    let shapes: [&[u64]; 5] = [&[20, 12], &[12, 16], &[16], &[16, 10], &[10]];
    let arguments = shapes.map(|shape| (F32, shape));
    check(&[(source, &arguments, &["contract", "map", "contract", "map"], 2)]);
}

#[test]
fn attention() {
    let source = "scores: +(qd*kd)~qk
        softmax: (I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij
        scores . softmax . +(qk*kd)~qd";
    let arguments: [(DType, &[u64]); 3] = [(F64, &[12, 8]), (F64, &[14, 8]), (F64, &[14, 9])];
    let plan = checked_source(source, &arguments);
    let kernels: Vec<_> = plan.steps.iter().map(|s| s.kernel().name()).collect();
    assert_eq!(kernels, ["contract", "reduce", "map", "reduce", "contract", "map"]);
    // Scores and probabilities: two matrices, two columns; the arena keeps fewer at a time.
    let matrix = 12 * 14 * 8;
    assert!(plan.arena < 3 * matrix, "{plan}");
}

#[test]
fn what_is_filled_first_is_computed_elsewhere() {
    // Only the diagonal is written; the rest is zero.
    let source = "(I & +ij~i) . ij-i~ij . (I & +ij~j) . ij*j~ij . 2*ii~ii . (I & +ij~j) . ij-j~ij";
    let plan = checked_source(source, &[(F64, &[20, 20])]);
    assert!(plan.arena >= 2 * 20 * 20 * 8, "{plan}");
}
