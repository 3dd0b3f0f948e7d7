//! Plans of magnitudes and extremes in indices: boxes in which indices are affine, and copies with repeated borders.

use crate::support::stage::planned;
use ijk_plan::Kernel;
use ijk_plan::plan::{Node, Plan, Step};
use ijk_types::DType;

/// Number of steps that compute offsets for more than a few points.
fn gathers(plan: &Plan) -> usize {
    let computes = |step: &&Step| match step {
        Step::Nest(nest) => {
            let gathers = nest.body.iter().any(|node| matches!(node, Node::Gather { .. }));
            (gathers || nest.store.offset.is_some()) && nest.points() > 256
        }
        _ => false,
    };
    plan.steps.iter().filter(computes).count()
}

/// Number of steps of a kernel.
fn of(plan: &Plan, kernel: Kernel) -> usize {
    plan.steps.iter().filter(|step| step.kernel() == kernel).count()
}

const ROW: (&str, DType, &[usize]) = ("x", DType::F64, &[900]);
const IMAGE: (&str, DType, &[usize]) = ("x", DType::F64, &[40, 60]);

#[test]
fn maps_are_cut_where_an_end_is_reached() {
    for (source, x, boxes) in [
        ("y[i] = x[MIN(i + 1, DIMS(i) - 1)] - x[MAX(i - 1, 0)]", ROW, 3),
        ("y[i] = x[ABS(i - 3)]\n\nDIMS(i) = 900", ROW, 2),
        ("y[i] = x[DIMS(i) - 1 - ABS(DIMS(i) - 1 - ABS(i - 3))]\n\nDIMS(i) = 900", ROW, 2),
        ("y[i] = x[MIN(i, 899)]\n\nDIMS(i) = 1000", ROW, 2),
        ("y[i] = x[MIN(ABS(i - 4), 2 * 899 - ABS(i - 4))]\n\nDIMS(i) = 950", ROW, 3),
        ("y[i,j] = x[MAX(i - 1, 0), MIN(j + 2, DIMS(j) - 1)]", IMAGE, 4),
        // An end that is never reached is no end.
        ("y[i] = x[MIN(MAX(i, 0), 5000)]\n\nDIMS(i) = 900", ROW, 1),
        // The same in what is written, where each element is written once.
        ("y[ABS(899 - i)] = x[i]", ROW, 1),
    ] {
        let plan = planned(source, &[x]);
        assert_eq!((gathers(&plan), plan.steps.len()), (0, boxes), "{source}\n{plan}");
        assert_eq!(plan.arena, 0, "{plan}");
    }
}

#[test]
fn windows_read_repeated_borders_from_copies() {
    let source = "y[i,j] = w[d,e] * x[MIN(MAX(i + d - 1, 0), DIMS(i) - 1), MIN(MAX(j + e - 1, 0), DIMS(j) - 1)]";
    let plan = planned(source, &[("w", DType::F64, &[3, 3]), IMAGE]);
    assert_eq!((gathers(&plan), of(&plan, Kernel::Fill)), (0, 0), "{plan}");
    let elements = plan.arena / DType::F64.size();
    assert!(elements < 40 * 60 / 2, "only borders are copied: {plan}");
}

#[test]
fn clamped_convolutions_are_contractions_of_one_copy() {
    let source = "y[i,j,o] = w[d,e,c,o] * x[MIN(MAX(i + d - 1, 0), DIMS(i) - 1), MIN(MAX(j + e - 1, 0), DIMS(j) - 1), c]";
    let arguments = [("w", DType::F64, &[3, 3, 4, 16][..]), ("x", DType::F64, &[20, 24, 4][..])];
    let plan = planned(source, &arguments);
    assert_eq!((gathers(&plan), of(&plan, Kernel::Contract)), (0, 1), "{plan}");
}

#[test]
fn symmetric_matrices_read_a_reflected_copy() {
    let source = "y[i,j] = x[ABS(i - j)]\n\nDIMS(i) = 200\nDIMS(j) = 200";
    let plan = planned(source, &[ROW]);
    assert_eq!(gathers(&plan), 0, "{plan}");
    assert!(plan.arena <= 500 * DType::F64.size(), "{plan}");
}

#[test]
fn elements_within_bounds_are_rows_at_computed_places() {
    let (x, c) = (("x", DType::F64, &[40, 64][..]), ("c", DType::I64, &[60][..]));
    let plan = planned("y[z,d] = x[MIN(MAX(c[z], 0), 39),d]", &[x, c]);
    let [Step::Nest(nest)] = &plan.steps[..] else { panic!("{plan}") };
    assert!(nest.body.iter().any(|node| matches!(node, Node::Gather { .. })), "{plan}");
}
