//! Plans of prefix reductions.

use crate::support::Builder;
use ijk_ir::core::{ScalarId, ScalarNode};
use ijk_plan::Kernel;
use ijk_plan::plan::{Plan, Step};
use ijk_types::{BinaryOp::*, DType, Monoid, Reducer, UnaryOp};

fn kernels(plan: &Plan) -> Vec<Kernel> {
    plan.steps.iter().map(Step::kernel).collect()
}

fn builder() -> Builder {
    Builder::new(
        DType::F64,
        &[('r', 4), ('p', 30), ('k', 30), ('n', 40), ('f', 40), ('l', 30), ('q', 30)],
    )
}

/// Reads, with the output's index, and the kernels of the plan.
const READS: [(&str, &str, &[Kernel]); 11] = {
    use Kernel::{Fill, Reduce, Scan};
    [
        // All before, and all after.
        ("r[p+-1*k]", "rp", &[Scan]),
        ("[p+-1*k]r", "rp", &[Scan]),
        ("r[p+k]", "rp", &[Scan]),
        ("r[-1*p+k]", "rp", &[Scan]),
        // Without its own: the first is the identity.
        ("r[p+-1*k+-1]", "rp", &[Fill, Scan]),
        // Some more than its own: the last are all of it.
        ("r[p+-1*f+3]", "rp", &[Scan, Fill, Reduce, Reduce]),
        // Farther than what is read.
        ("r[n+-1*f]", "rn", &[Scan, Fill, Reduce, Reduce]),
        // Other reduced axes are summed first.
        ("r[p+-1*k]", "p", &[Reduce, Scan]),
        // Two at a time.
        ("r[p+-1*k][q+-1*l]", "rpq", &[Scan, Scan]),
        ("[p+-1*k][q+l]", "pq", &[Scan, Scan]),
        // The same for every row.
        ("[p+-1*k]", "pr", &[Scan]),
    ]
};

#[test]
fn prefixes_are_scans() {
    for (read, out, expected) in READS {
        let mut p = builder();
        let shape = |c: char| if c == 'r' { 4 } else { 30 };
        let letters = read.chars().filter(|c| "rpqn".contains(*c));
        let input = p.input_shape(letters.map(shape).collect());
        let sums = p.reduce(Monoid::Add, (input, read), out);
        p.output(sums);
        assert_eq!(kernels(&p.checked()), expected, "{read}~{out}");
    }
}

#[test]
fn what_is_scanned_is_evaluated_once() {
    let mut p = builder();
    let (x, y) = (p.input("rp"), p.input("p"));
    let sums = p.fused(Monoid::Max, Mul, (x, "r[p+-1*k]"), (y, "[p+-1*k]"), "rp");
    p.output(sums);
    let plan = p.checked();
    assert_eq!(kernels(&plan), [Kernel::Map, Kernel::Scan]);
    assert_eq!(plan.cost().operations, 2 * 4 * 30);
}

#[test]
fn windows_and_other_sums_are_no_scans() {
    // Fewer distances than positions; a weight of the distance.
    let mut p = Builder::new(DType::F64, &[('p', 40), ('k', 9), ('l', 40)]);
    let (x, w) = (p.input("p"), p.input("l"));
    let window = p.reduce(Monoid::Add, (x, "[p+-1*k]"), "p");
    let far = p.fused(Monoid::Add, Mul, (x, "[p+-1*l]"), (w, "l"), "p");
    [window, far].into_iter().for_each(|sums| p.output(sums));
    assert!(!kernels(&p.checked()).contains(&Kernel::Scan));
}

#[test]
fn weights_of_the_position_stand_behind_the_scan() {
    let mut p = Builder::new(DType::F64, &[('r', 4), ('p', 40), ('l', 40)]);
    let (x, w) = (p.input("rp"), p.input("p"));
    let sums = p.fused(Monoid::Add, Mul, (x, "r[p+-1*l]"), (w, "p"), "rp");
    let least = p.fused(Monoid::Min, Sub, (x, "r[p+-1*l]"), (w, "p"), "rp");
    [sums, least].into_iter().for_each(|array| p.output(array));
    assert_eq!(kernels(&p.checked()), [Kernel::Scan, Kernel::Map, Kernel::Scan, Kernel::Map]);
    // Not so for what wraps, or may be lost.
    let mut p = Builder::new(DType::I64, &[('p', 40), ('l', 40)]);
    let (x, w) = (p.input("p"), p.input("p"));
    let least = p.fused(Monoid::Min, Add, (x, "[p+-1*l]"), (w, "p"), "p");
    p.output(least);
    assert!(!kernels(&p.checked()).contains(&Kernel::Scan));
}

#[test]
fn exponentials_are_scanned_relative_to_levels() {
    let program = |own: bool| {
        let mut p = Builder::new(DType::F64, &[('r', 4), ('p', 40), ('l', 40)]);
        let (x, m) = (p.input("rp"), p.input("rp"));
        let most = p.reduce(Monoid::Max, (x, "r[p+-1*l]"), "rp");
        let level = if own { most } else { m };
        let exponential = |nodes: &mut Vec<_>| {
            nodes.push(crate::support::binary(Sub, 0, 1));
            nodes.push(ScalarNode::Unary(UnaryOp::Exp, ScalarId(2)));
        };
        let reduce = Some(Reducer::Monoid(Monoid::Add));
        let sum = p.statement(&[(x, "r[p+-1*l]"), (level, "rp")], exponential, "rp", reduce);
        [most, sum].into_iter().for_each(|array| p.output(array));
        p.checked()
    };
    use Kernel::{Map, Scan};
    assert_eq!(kernels(&program(true)), [Scan, Map, Scan], "{}", program(true));
    assert_eq!(kernels(&program(false)), [Scan, Scan, Map, Scan, Map], "{}", program(false));
}

#[test]
fn a_few_points_keep_their_order() {
    let mut p = Builder::new(DType::F64, &[('p', 16), ('k', 16)]);
    let x = p.input("p");
    let sums = p.reduce(Monoid::Add, (x, "[p+-1*k]"), "p");
    p.output(sums);
    assert!(matches!(&p.checked().steps[..], [Step::Nest(nest)] if nest.sequential));
}

#[test]
fn rows_of_scans_are_swept() {
    let mut p = Builder::new(DType::F32, &[('r', 600), ('p', 600), ('k', 600)]);
    let x = p.input("rp");
    let x = p.with_number(Mul, 3, (x, "rp"), "rp");
    let sums = p.reduce(Monoid::Add, (x, "r[p+-1*k]"), "rp");
    let most = p.reduce(Monoid::Max, (sums, "rp"), "r");
    let out = p.binary(Sub, (sums, "rp"), (most, "r"), "rp");
    p.output(out);
    let plan = p.plan();
    let [Step::Sweep(sweep)] = &plan.steps[..] else { panic!("{plan}") };
    assert!(kernels(&sweep.body).contains(&Kernel::Scan), "{plan}");
    assert_eq!(sweep.axes.len(), 1);
}

#[test]
fn log_sums_are_scanned_relative_to_running_maxima() {
    let mut p = builder();
    let x = p.input("rp");
    let sums = p.reduce(Monoid::LogAddExp, (x, "r[p+-1*k]"), "rp");
    p.output(sums);
    let kernels = kernels(&p.checked());
    assert_eq!(kernels.iter().filter(|kernel| **kernel == Kernel::Scan).count(), 2);
    assert!(!kernels.contains(&Kernel::Reduce));
}

#[test]
fn log_sums_are_maxima_and_sums() {
    let mut p = builder();
    let x = p.input("rn");
    let rows = p.reduce(Monoid::LogAddExp, (x, "rn"), "r");
    let scattered = p.reduce(Monoid::LogAddExp, (x, "rn"), "[r+n]");
    [rows, scattered].into_iter().for_each(|sums| p.output(sums));
    let kernels = kernels(&p.checked());
    assert!(kernels.contains(&Kernel::Reduce) && !kernels.contains(&Kernel::Scan));
}
