//! Plans of quotients and remainders in indices: boxes in which indices are affine.

use crate::support::checked_source;
use ijk_plan::Kernel;
use ijk_plan::plan::{Node, Plan, Step};
use ijk_types::DType;

fn planned(source: &str, shapes: &[&[u64]]) -> Plan {
    let arguments: Vec<(DType, &[u64])> = shapes.iter().map(|&shape| (DType::F32, shape)).collect();
    checked_source(source, &arguments)
}

/// Number of steps of each kind; only steps of a few points may compute offsets.
fn boxes(plan: &Plan) -> (usize, usize, usize) {
    let computes = |step: &Step| match step {
        Step::Nest(nest) => {
            let gathers = nest.body.iter().any(|node| matches!(node, Node::Gather { .. }));
            (gathers || nest.store.offset.is_some()) && nest.points() > 256
        }
        _ => false,
    };
    assert!(!plan.steps.iter().any(computes), "{plan}");
    let count = |wanted: &[Kernel]| {
        plan.steps.iter().filter(|step| wanted.contains(&step.kernel())).count()
    };
    let fills = count(&[Kernel::Fill]);
    let moves = count(&[Kernel::Copy, Kernel::Map]);
    assert_eq!(fills + moves + count(&[Kernel::Reduce, Kernel::Contract]), plan.steps.len());
    (fills, moves, plan.steps.len() - fills - moves)
}

#[test]
fn maps_are_cut_where_quotients_change() {
    let square: &[u64] = &[40, 30];
    for (source, shapes, expected) in [
        ("[(i{40}+3)%40][(j{30}+5)%30]~ij", &[square][..], 4),
        // Shifts beyond the extent, backwards; more and fewer positions than the period.
        ("[(i{40}+83)%40]j~ij", &[square], 2),
        ("[(79-i{40})%40]j~ij", &[square], 1),
        ("[(78-i{40})%40]j~ij", &[square], 2),
        ("[(i{47}+3)%40]j~ij", &[square], 2),
        ("[(i{20}+3)%40]j~ij", &[square], 1),
        // Neighbours on both sides, of one array.
        ("[(i{40}+1)%40]j-[(i+39)%40]j~ij", &[square, square], 3),
        // Whole periods are an axis of their own, a head and a tail are left.
        ("[i{403}%4]~i", &[&[4]], 2),
        ("[(i{402}+1)%4]~i", &[&[4]], 3),
        ("[i{401}/2]~i", &[&[201]], 2),
        ("[i{43}/6][j{19}/5]*[i%6][j%5]~ij", &[&[8, 4], &[6, 5]], 4),
        // The same in what is written.
        ("ij~[(i+3)%40][(j+5)%30]", &[square], 4),
    ] {
        let plan = planned(source, shapes);
        assert_eq!(boxes(&plan), (0, expected, 0), "{source}\n{plan}");
        assert_eq!(plan.arena, 0, "{plan}");
    }
}

#[test]
fn circular_convolutions_read_borders_from_copies() {
    let image: &[u64] = &[64, 48];
    let plan = planned("+([(i{64}+k{3}+63)%64][(j{48}+l{3}+47)%48]*kl)~ij", &[image, &[3, 3]]);
    let (fills, _, reductions) = boxes(&plan);
    assert_eq!((fills, reductions), (0, 5), "{plan}");
    // No more than rows and columns at the borders are copied.
    let elements = |n: usize| n / DType::F32.size();
    assert!(elements(plan.arena) < 64 * 48 / 2, "{plan}");
}

#[test]
fn circular_products_are_contractions_of_one_copy() {
    let plan = planned("+([(i{90}-k{90}+90)%90]*kj)~ij", &[&[90], &[90, 70]]);
    let (fills, _, reductions) = boxes(&plan);
    assert_eq!((fills, reductions), (0, 1), "{plan}");
    assert!(matches!(plan.steps.last(), Some(Step::Contract(_))), "{plan}");
}

#[test]
fn what_is_reduced_may_be_cut_too() {
    let plan = planned("+([(i{600}+7)%600]j*i)~j", &[&[600, 50], &[600]]);
    let (fills, moves, _) = boxes(&plan);
    assert_eq!((fills, moves), (0, 0), "{plan}");
}

#[test]
fn few_points_stay_in_one_nest() {
    let plan = planned("[(i{16}+3)%16]~i", &[&[16]]);
    let [Step::Nest(nest)] = &plan.steps[..] else { panic!("{plan}") };
    assert!(nest.body.iter().any(|node| matches!(node, Node::Gather { .. })));
}

#[test]
fn quotients_that_change_too_often_stay() {
    // Five values of a quotient for each of many positions of both axes.
    let plan = planned("[(i{300}*7+j{300}*11)%13]~ij", &[&[13]]);
    assert!(plan.steps.len() <= 128, "{plan}");
}
