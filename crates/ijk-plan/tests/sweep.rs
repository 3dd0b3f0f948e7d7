//! Statements that are fused into sweeps, and the memory that this saves.

use crate::support::Builder;
use ijk_plan::plan::{Plan, Step, Sweep};
use ijk_plan::{Kernel, Layout, plan};
use ijk_types::{BinaryOp, DType, Monoid};

const SOFTMAX: &str = "(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij";

/// The plan of a program in i, all arguments matrices of `f32`, where that many bytes stay near.
fn planned(source: &str, shapes: &[&[u64]], near: u64) -> Plan {
    let arguments: Vec<_> = shapes.iter().map(|&shape| (DType::F32, shape)).collect();
    crate::support::checked_source(source, &arguments);
    only_planned(source, &arguments, Some(near))
}

/// The same without running it.
fn only_planned(source: &str, arguments: &[(DType, &[u64])], near: Option<u64>) -> Plan {
    let program = ijk_ir::compile_source(source).program.expect("a program");
    let instance = ijk_ir::instantiate(&program, arguments).expect("it fits");
    let contiguous = Layout::contiguous(&program, &instance);
    let layout = Layout { near: near.unwrap_or(contiguous.near), ..contiguous };
    plan(&program, &instance, &layout).expect("small")
}

fn only_sweep(plan: &Plan) -> &Sweep {
    let [Step::Sweep(sweep)] = &plan.steps[..] else { panic!("{plan}") };
    sweep
}

/// Letter, extent and block of each axis.
fn axes(sweep: &Sweep) -> Vec<(&str, usize, usize)> {
    sweep.axes.iter().map(|a| (&a.name[..], a.extent, a.block)).collect()
}

#[test]
fn softmax_is_one_sweep_over_rows() {
    let plan = planned(SOFTMAX, &[&[40, 50]], 1000);
    let sweep = only_sweep(&plan);
    assert_eq!(axes(sweep), [("i", 40, 1)]);
    assert_eq!(sweep.body.steps.len(), 4);
    assert_eq!(plan.arena, 0);
    assert!(sweep.body.arena < 400, "{plan}");
    assert!(sweep.rest.is_none());
}

#[test]
fn blocks_are_even_and_the_last_may_be_short() {
    let plan = planned(SOFTMAX, &[&[41, 10]], 400);
    let sweep = only_sweep(&plan);
    assert_eq!(axes(sweep), [("i", 41, 3)]);
    assert_eq!(sweep.rest.as_ref().map(|rest| rest.buffers[0].shape.clone()), Some(vec![2, 10]));
}

#[test]
fn what_stays_near_does_not_sweep() {
    let plan = planned(SOFTMAX, &[&[40, 50]], 1 << 20);
    assert_eq!(plan.steps.len(), 4, "{plan}");
}

#[test]
fn slivers_of_rows_do_not_sweep() {
    let columns = "(I & >ij~j) . ^(ij-j)~ij . (I & +ij~j) . ij/j~ij";
    let plan = planned(columns, &[&[40, 50]], 1000);
    assert_eq!(plan.steps.len(), 4, "{plan}");
}

#[test]
fn rows_of_several_axes() {
    let softmax = "(I & >bij~bi) . ^(bij-bi)~bij . (I & +bij~bi) . bij/bi~bij";
    let sweep = |near| planned(softmax, &[&[3, 20, 8]], near);
    assert_eq!(axes(only_sweep(&sweep(500))), [("b", 3, 1), ("i", 20, 4)]);
}

#[test]
fn reductions_of_the_same_rows_are_one_sweep() {
    let plan = planned("(+ij~i | +ij~i) . i*i~i", &[&[30, 40], &[30, 40]], 1000);
    assert_eq!(plan.steps.len(), 3, "nothing is read twice: {plan}");
    let plan = planned("(+ij~i & >ij~i) . i*i~i", &[&[30, 40]], 1000);
    assert_eq!(only_sweep(&plan).axes.len(), 1);
}

#[test]
fn what_has_no_rows_in_common_does_not_sweep() {
    // Sums along both axes; the rows of one are the columns of the other.
    let plan = planned("(I & +ij~i) . ij/i~ji . (I & +ij~.) . ij/.~ij", &[&[40, 50]], 100);
    assert!(plan.steps.iter().any(|step| step.kernel() == Kernel::Reduce), "{plan}");
}

#[test]
fn statements_that_may_fail_do_not_sweep() {
    let program = ijk_ir::compile_source("(I & +ij~i) . ij/i~ij").program.expect("a program");
    let instance = ijk_ir::instantiate(&program, &[(DType::I32, &[40, 50])]).expect("it fits");
    let layout = Layout { near: 0, ..Layout::contiguous(&program, &instance) };
    let plan = plan(&program, &instance, &layout).expect("small");
    assert_eq!(plan.steps.len(), 2, "{plan}");
}

const ATTENTION: &str =
    "+(id*jd)~ij . (I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij . +(ij*jk)~ik";

#[test]
fn scores_of_attention_are_never_all_there() {
    let plan = planned(ATTENTION, &[&[640, 8], &[600, 8], &[600, 8]], 10_000);
    let sweep = only_sweep(&plan);
    assert_eq!(axes(sweep), [("i", 640, 32)]);
    let kernels: Vec<Kernel> = sweep.body.steps.iter().map(Step::kernel).collect();
    assert_eq!(kernels.first(), Some(&Kernel::Contract));
    // Not the weights, but what they give is divided by their sums.
    assert_eq!(kernels[kernels.len() - 2..], [Kernel::Contract, Kernel::Map]);
    assert!(plan.temporary_bytes() < 32 * 600 * 4 * 3, "{plan}");
}

#[test]
fn blocks_of_attention_are_larger_where_there_is_room() {
    let rows = |length, near| {
        let shapes: [&[u64]; 3] = [&[length, 8], &[600, 8], &[600, 8]];
        let plan = only_planned(ATTENTION, &shapes.map(|shape| (DType::F32, shape)), Some(near));
        only_sweep(&plan).axes[0].block
    };
    assert_eq!([10_000, 30_000, 60_000, 200_000].map(|near| rows(8192, near)), [32, 32, 64, 81]);
    assert_eq!([4096, 8192].map(|length| rows(length, 60_000)), [32, 64]);
}

#[test]
fn few_short_batches_are_blocks() {
    let scores = "+(bif*bjf)~bij . (I & >bij~bi) . bij-bi~bij";
    let blocks = |batches: u64, length: u64| {
        let shape: &[u64] = &[batches, length, 32];
        let plan = only_planned(scores, &[(DType::F32, shape); 2], Some(100_000));
        only_sweep(&plan).axes.iter().map(|axis| axis.block as u64).collect::<Vec<_>>()
    };
    assert_eq!(blocks(4, 128), [1, 128]);
    // Threads share fewer batches, and longer ones.
    assert!([blocks(3, 128), blocks(4, 512)].iter().all(|blocks| blocks[1] < 100));
}

#[test]
fn blocks_of_a_variance_are_no_larger_than_what_stays_near() {
    let mean = "mean: +ij~i . i/8~i\n(I & mean) . ij-i~ij";
    let source = format!("{mean} . (I & I) . +(ij*ij)~i");
    let (shape, near): (&[u64], u64) = (&[4096, 128], 32_000);
    let plan = only_planned(&source, &[(DType::F32, shape)], Some(near));
    let block = only_sweep(&plan).axes[0].block as u64;
    assert!((near / 2..=near).contains(&(block * 128 * 4)), "{plan}");
}

#[test]
fn attention_over_long_sequences_needs_no_more_than_its_arguments() {
    let source = include_str!("../../../examples/attention.ijk");
    for length in [4096, 65_536] {
        let shape: &[u64] = &[length, 64];
        let plan = only_planned(source, &[(DType::F32, shape); 3], None);
        let argument = length * 64 * 4;
        assert!(plan.temporary_bytes() <= argument, "{plan}");
    }
}

#[test]
fn contractions_that_take_longer_than_memory_do_not_sweep() {
    let chain = "+(ij*jk)~ik . (I & >ik~i) . ik-i~ik";
    let plan = planned(chain, &[&[20, 2000], &[2000, 20]], 1000);
    assert_eq!(plan.steps[0].kernel(), Kernel::Contract, "{plan}");
    assert!(plan.steps.iter().any(|step| step.kernel() == Kernel::Sweep), "{plan}");
}

#[test]
fn sweeps_keep_to_memory_limits() {
    let source = "+(ij*jk)~ik . (I & >ik~i) . ik-i~ik";
    let arguments: [(DType, &[u64]); 2] = [(DType::F32, &[200, 2000]), (DType::F32, &[2000, 20])];
    let program = ijk_ir::compile_source(source).program.expect("a program");
    let instance = ijk_ir::instantiate(&program, &arguments).expect("it fits");
    let (result, block) = (200 * 20 * 4, 32 * 20 * 4 + 32 * 4);
    let planned = |limit| {
        let layout = Layout::contiguous(&program, &instance);
        plan(&program, &instance, &Layout { memory_limit: Some(limit), ..layout })
    };
    let ample = planned(2 * result + 1000).expect("ample");
    assert_eq!(ample.steps[0].kernel(), Kernel::Contract, "{ample}");
    let scarce = planned(result + block).expect("a block");
    assert_eq!(axes(only_sweep(&scarce)).len(), 1);
    let error = planned(result).expect_err("not even a block");
    let needed = result + scarce.temporary_bytes();
    assert!(error.to_string().contains(&needed.to_string()), "{error}");
}

#[test]
fn a_sweep_is_shown_with_its_steps() {
    let text = planned(SOFTMAX, &[&[40, 50]], 1000).to_string();
    assert!(text.contains("sweep") && text.contains("rows(i=40 by 1)"), "{text}");
    assert!(text.contains("\n1.4") && text.contains("result 1 [40, 50]"), "{text}");
}

#[test]
fn a_statement_of_another_array_joins_what_it_meets_later() {
    let mut p = Builder::new(DType::F64, &[('b', 300), ('d', 50)]);
    let (x, g) = (p.input("bd"), p.input("bd"));
    let most = p.reduce(Monoid::Max, (x, "bd"), "b");
    let sums = p.reduce(Monoid::Add, (g, "bd"), "b");
    let halves = p.with_number(BinaryOp::Mul, 3, (sums, "b"), "b");
    let less = p.binary(BinaryOp::Sub, (x, "bd"), (most, "b"), "bd");
    let y = p.binary(BinaryOp::Mul, (less, "bd"), (halves, "b"), "bd");
    p.output(y);
    p.checked();
    let layout = Layout { near: 20_000, ..Layout::contiguous(&p.program, &p.instance) };
    let plan = plan(&p.program, &p.instance, &layout).expect("small");
    assert!(matches!(plan.steps[..], [Step::Sweep(_)]), "{plan}");
}
