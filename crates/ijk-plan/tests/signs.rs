//! Signs that nobody sees, numbers that go with extremes, and types that values already have.

use crate::support::checked_source;
use ijk_plan::plan::{Node, Plan, Step};
use ijk_types::DType::{self, F32, F64, I64};
use ijk_types::{BinaryOp, UnaryOp};

fn kernels(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|step: &Step| step.kernel().name()).collect()
}

fn plans(source: &str, shapes: &[&[u64]]) -> Vec<Plan> {
    let plan_of = |dtype: DType| {
        let arguments: Vec<(DType, &[u64])> = shapes.iter().map(|&s| (dtype, s)).collect();
        checked_source(source, &arguments)
    };
    [F32, F64].map(plan_of).into()
}

#[test]
fn a_type_that_a_value_has_is_no_step() {
    let shapes = [(F32, &[20u64, 30][..]), (F32, &[30, 40])];
    for source in [
        "ik*kj~ikj . @f32 ikj~ikj . +ikj~ij",
        "@f32 ik~ik . @f32 ik~ik . ik*kj~ikj . @f32 ikj~ikj . -ikj~ikj . -ikj~ikj . +ikj~ij",
    ] {
        let plan = checked_source(source, &shapes);
        assert_eq!(kernels(&plan), ["contract"], "{source}\n{plan}");
    }
}

#[test]
fn distances_are_contractions_however_differences_are_turned() {
    for source in [
        "(ik-jk~ijk) . @abs ijk~ijk . +ijk~ij",
        "-jk~jk . ik+jk~ijk . @abs ijk~ijk . +ijk~ij",
        "jk-ik~ijk . -ijk~ijk . @abs ijk~ijk . +ijk~ij",
        "jk-ik~ijk . 0-ijk~ijk . @abs ijk~ijk . >ijk~ij",
        "-ik~ik . ik-jk~ijk . @abs ijk~ijk . ijk+0~ijk . +ijk~ij",
        "jk-ik~ijk . -ijk~ijk . ijk^2~ijk . +ijk~ij",
        "ik-jk~ijk . 0-ijk~ijk . ijk^2~ijk . ijk+0~ijk . +ijk~ij",
        "ik-0~ik . ik/1~ik . 0+ik~ik . ik-jk~ijk . ijk^2~ijk . <ijk~ij",
        "0-ik~ik . -ik~ik . 0-ik~ik . ik+jk~ijk . ijk^2~ijk . +ijk~ij",
    ] {
        for plan in plans(source, &[&[20, 30], &[40, 30]]) {
            assert_eq!(kernels(&plan), ["contract-semiring"], "{source}\n{plan}");
        }
    }
}

#[test]
fn the_greater_of_a_value_and_its_opposite_is_its_magnitude() {
    for source in [
        "I | (-i~i) . i>i~i . +i~.",
        "(ij-j~ij) | (j-ij~ij) . ij>ij~ij . +ij~.",
        "(ij-j~ij) | (j-ij~ij) . ij<ij~ij . +ij~.",
    ] {
        let of = |shapes: &[&[u64]]| plans(source, shapes);
        let all = if source.starts_with('I') { of(&[&[600], &[600]]) } else { continue };
        assert!(all.iter().all(|plan| plan.steps.len() == 1), "{source}\n{}", all[0]);
    }
}

/// Numbers and signs come behind, and neighbours of other axes stay.
#[test]
fn extremes_are_taken_of_what_is_stored() {
    for (source, expected) in [
        ("ij*2~ij . >ij~i", &["reduce", "map"][..]),
        ("ij/-3~ij . >ij~i", &["reduce", "map"]),
        ("-ij~ij . ij*2~ij . ij*0.5~ij . 1-ij~ij . <ij~i", &["reduce", "map"]),
        ("-ij~ij . -ij~ij . <ij~i", &["reduce"]),
        ("-ij~ij . <ij~i . -i~i", &["reduce"]),
        ("ij>0~ij . ij<6~ij . >ij~i", &["reduce", "map"]),
        ("@floor ij~ij . @round ij~ij . >ij~i", &["reduce", "map"]),
        ("ij*2~ij . ij/2~ij . >ij~i", &["reduce"]),
        ("4*ij~ij . ij*0.25~ij . ij*-1~ij . <ij~i . -i~i", &["reduce"]),
        // The square falls and rises.
        ("ij*ij~ij . >ij~i", &["reduce"]),
    ] {
        let count = source.matches("ij*ij").count() + 1;
        for plan in plans(source, &vec![&[20u64, 30][..]; count]) {
            assert_eq!(kernels(&plan), expected, "{source}\n{plan}");
            let Step::Nest(first) = &plan.steps[0] else { panic!("{plan}") };
            assert!(count == 2 || matches!(first.body[..], [Node::Load(0)]), "{plan}");
        }
    }
    // Integers wrap.
    let plan = checked_source("ij*2~ij . >ij~i", &[(I64, &[20, 30])]);
    assert!(!kernels(&plan).contains(&"map"), "{plan}");
}

#[test]
fn what_shows_a_zero_keeps_its_sign() {
    let negated = |plan: &Plan| {
        let nodes = plan.steps.iter().flat_map(|step| match step {
            Step::Nest(nest) => nest.body.clone(),
            _ => Vec::new(),
        });
        nodes.fold((0, 0), |(signs, sums), node| match node {
            Node::Unary(UnaryOp::Neg, _) => (signs + 1, sums),
            Node::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => (signs, sums + 1),
            _ => (signs, sums),
        })
    };
    for (source, expected) in [
        ("ij-j~ij . -ij~ij", (1, 1)),
        ("0-ij~ij . ij*j~ij", (0, 1)),
        ("ij+0~ij . /ij~ij", (0, 1)),
        ("0-ij~ij . ij+1~ij", (0, 1)),
        ("-ij~ij . -ij~ij . ij-j~ij", (0, 1)),
    ] {
        let mut shapes: Vec<&[u64]> = vec![&[20, 30]];
        shapes.extend(source.contains("ij*j").then_some(&[30u64][..]));
        shapes.extend(source.contains("ij-j").then_some(&[30u64][..]));
        for plan in plans(source, &shapes) {
            assert_eq!(negated(&plan), expected, "{source}\n{plan}");
        }
    }
}
