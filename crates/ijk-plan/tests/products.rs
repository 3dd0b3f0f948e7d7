//! Products of many factors: they are multiplied two at a time, in a good order.

use crate::support::checked_source;
use crate::support::stage::planned;
use ijk_plan::plan::{Plan, Step};
use ijk_plan::{Layout, plan};
use ijk_types::DType::{self, F64, I64};
use std::time::{Duration, Instant};

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A chain of matrix products, `ab*bc~abc . abc*cd~abcd . +abcd~ad`: all of it is multiplied before
/// anything is summed.
fn chain(matrices: usize) -> String {
    let mut parts: Vec<String> = (2..=matrices)
        .map(|n| format!("{}*{}~{}", &LETTERS[..n], &LETTERS[n - 1..=n], &LETTERS[..=n]))
        .collect();
    let ends = [&LETTERS[..1], &LETTERS[matrices..=matrices]];
    parts.push(format!("+{}~{}", &LETTERS[..=matrices], ends.concat()));
    parts.join(" . ")
}

fn kernels(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|step: &Step| step.kernel().name()).collect()
}

fn square(dtype: DType, n: u64, count: usize) -> Vec<(DType, Vec<u64>)> {
    vec![(dtype, vec![n, n]); count]
}

fn strict(source: &str, arguments: &[(DType, Vec<u64>)]) -> Plan {
    let program = ijk_ir::compile_source(source).program.unwrap();
    let arguments: Vec<(DType, &[u64])> = arguments.iter().map(|(t, s)| (*t, &s[..])).collect();
    let instance = ijk_ir::instantiate(&program, &arguments).unwrap();
    let layout = Layout { strict: true, ..Layout::contiguous(&program, &instance) };
    plan(&program, &instance, &layout).unwrap()
}

fn checked(source: &str, arguments: &[(DType, Vec<u64>)]) -> Plan {
    let arguments: Vec<(DType, &[u64])> = arguments.iter().map(|(t, s)| (*t, &s[..])).collect();
    checked_source(source, &arguments)
}

#[test]
fn a_chain_is_a_row_of_contractions() {
    let plan = checked(&chain(4), &square(I64, 9, 4));
    assert_eq!(kernels(&plan), ["contract"; 3], "{plan}");
    let plan = checked(&chain(3), &square(F64, 20, 3));
    assert_eq!(kernels(&plan), ["contract"; 2], "{plan}");
}

#[test]
fn strict_plans_multiply_before_they_sum() {
    let source = chain(3);
    let plan = strict(&source, &square(F64, 8, 3));
    assert_eq!(kernels(&plan), ["map", "contract"], "{plan}");
    let plan = checked(&source, &square(F64, 8, 3));
    assert_eq!(kernels(&plan), ["contract"; 2], "{plan}");
    let plan = strict("+(ik*kj)~ij . ij/2~ij", &square(F64, 20, 2));
    assert_eq!(kernels(&plan), ["contract", "map"], "{plan}");
    let plan = strict("ik*kj~ijk . ijk/2~ijk . +ijk~ij", &square(F64, 20, 2));
    assert_eq!(kernels(&plan), ["reduce"], "{plan}");
}

/// A matrix product in which factors stand in every place.
#[test]
fn factors_of_the_result_come_behind() {
    let shapes: [(DType, &[u64]); 4] =
        [(F64, &[20, 30]), (F64, &[30, 40]), (F64, &[20]), (F64, &[40])];
    for (source, matrices) in [
        ("ik*kj~ijk . ijk/3~ijk . +ijk~ij", 2),
        ("ik*kj~ijk . 2*ijk~ijk . +ijk~ij", 2),
        ("2*ik~ik . ik*kj~ijk . 0-ijk~ijk . +ijk~ij", 2),
        ("ik*kj~ijk . -ijk~ijk . ijk*-3~ijk . +ijk~ij", 2),
        ("ik*kj~ijk . ijk*i~ijk . ijk*j~ijk . +ijk~ij", 4),
        ("ik*kj~ijk . ijk*i~ijk . ijk*j~ijk . -ijk~ijk . +ijk~ij", 4),
    ] {
        let plan = checked_source(source, &shapes[..matrices]);
        assert_eq!(kernels(&plan), ["contract", "map"], "{source}\n{plan}");
        // In place.
        assert_eq!(plan.arena, 0, "{source}\n{plan}");
    }
    let plan = checked_source("ik+kj~ijk . ijk-i~ijk . 3+ijk~ijk . >ijk~ij", &shapes[..3]);
    assert_eq!(kernels(&plan), ["contract-semiring", "map"], "{plan}");
    let plan = checked_source("ij/7~ij . +ij~i", &shapes[..1]);
    assert_eq!(kernels(&plan), ["reduce", "map"], "{plan}");
}

#[test]
fn factors_of_one_side_are_computed_once_for_each_of_its_elements() {
    let shapes: [(DType, &[u64]); 3] = [(F64, &[20, 30]), (F64, &[30, 40]), (F64, &[30])];
    let plan = checked_source("ik*kj~ijk . ijk*k~ijk . +ijk~ij", &shapes);
    assert_eq!(kernels(&plan), ["map", "contract"], "{plan}");
}

#[test]
fn small_matrices_come_first() {
    let shapes = [(30, 2), (2, 30), (30, 2), (2, 1)].map(|(m, n)| (I64, vec![m, n]));
    let plan = checked(&chain(4), &shapes);
    let most = plan.steps.iter().map(|step| step.cost(&plan.buffers).operations).max();
    assert!(most <= Some(4 * 60), "{plan}");
}

#[test]
fn others_still_read_a_product_that_they_share() {
    let source = "ab*bc~abc . (+abc~a & (abc*cd~abcd . +abcd~ad))";
    let plan = checked(source, &square(I64, 9, 3));
    assert_eq!(kernels(&plan), ["map", "reduce", "reduce", "contract"], "{plan}");
}

#[test]
fn dozens_of_factors_are_planned_at_once() {
    for (matrices, n) in [(12, 2), (51, 2), (15, 9)] {
        let compiled = ijk_ir::compile_source(&chain(matrices));
        let program = compiled.program.unwrap();
        let shapes = square(I64, n, matrices);
        let shapes: Vec<(DType, &[u64])> = shapes.iter().map(|(t, s)| (*t, &s[..])).collect();
        let instance = ijk_ir::instantiate(&program, &shapes).unwrap();
        let start = Instant::now();
        let plan = plan(&program, &instance, &Layout::contiguous(&program, &instance)).unwrap();
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        assert_eq!(plan.steps.len(), matrices - 1, "{plan}");
        let most = plan.steps.iter().map(|step| step.cost(&plan.buffers).operations).max();
        assert!(most <= Some(4 * n.pow(3)), "{plan}");
    }
    checked(&chain(12), &square(I64, 2, 12));
}

#[test]
fn equal_factors_are_one_array() {
    let x: (&str, DType, &[usize]) = ("x", F64, &[60, 20]);
    for (source, maps) in [
        ("m[d] = x[b,d]\ny[d,e] = (x[b,d] - m[d]) * (x[b,e] - m[e])", 1),
        ("y[d,e] = (x[b,d] - 1) * (x[b,e] - 1)", 1),
        ("y[d,e] = (x[b,d] - 1) * (x[b,e] - 2)", 2),
    ] {
        let plan = planned(source, &[x]);
        let found = kernels(&plan).iter().filter(|&&kernel| kernel == "map").count();
        assert_eq!(found, maps, "{source}\n{plan}");
    }
}
