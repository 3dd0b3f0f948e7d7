//! Orders along an axis.

use crate::support::checked_source;
use DType::{BF16, F32, I32, U8};
use ijk_plan::plan::{Plan, Step};
use ijk_types::DType;

fn kernels(plan: &Plan) -> Vec<&'static str> {
    plan.steps.iter().map(|step| step.kernel().name()).collect()
}

#[test]
fn elements_are_ordered_where_they_are() {
    let sources =
        ["@sort ij~ik", "@argsort ij~ik", "@topk ij~ik{3}", "@argtopk ij~ki", "@sort ij~kj"];
    for source in sources {
        for dtype in [F32, I32, U8, BF16] {
            let plan = checked_source(source, &[(dtype, &[7, 40])]);
            assert_eq!((kernels(&plan), plan.temporaries()), (vec!["sort"], 0), "{plan}");
        }
    }
}

#[test]
fn other_values_are_computed_before() {
    let plan = checked_source("@sort (ij*ij)~ik", &[(F32, &[7, 40]), (F32, &[7, 40])]);
    assert_eq!(kernels(&plan), ["map", "sort"], "{plan}");
    let plan = checked_source("@topk [3*i+j{3}]~ik", &[(F32, &[60])]);
    assert_eq!(kernels(&plan), ["sort"], "{plan}");
    let plan = checked_source("@argsort b[8*h+w{8}]~bhk", &[(I32, &[3, 64])]);
    assert_eq!(kernels(&plan), ["sort"], "{plan}");
}

#[test]
fn an_order_stays_one_in_a_chain() {
    let arguments: &[(DType, &[u64])] = &[(F32, &[60, 70])];
    for source in [
        "^ij~ij . @sort ij~ik . ij-1~ij",
        "@sort ij~ik . @topk ij~kj",
        "@sort ij~ik . +ij~i",
        "ij~ji . @sort ij~ik . ij~ji",
    ] {
        let plan = checked_source(source, arguments);
        let text = format!("{plan}");
        assert!(text.contains("sort"), "{plan}");
    }
    let plan = checked_source("@sort ij~ik", &[(F32, &[1, 1])]);
    assert!(plan.steps.iter().any(|step| matches!(step, Step::Sort(_))));
    checked_source("@sort ij~ik", &[(F32, &[3, 0])]);
    checked_source("@sort ij~ik", &[(F32, &[0, 3])]);
    checked_source("@topk ij~ik{0}", &[(F32, &[2, 3])]);
}
