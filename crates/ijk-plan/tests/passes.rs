//! Effects of each pass on programs of the language; plans compute what the programs mean.

use crate::support::{Builder, binary};
use ijk_ir::core::{ScalarId, ScalarNode};
use ijk_plan::plan::{Plan, Role, Start, Step};
use ijk_plan::{Kernel, Layout, PlanError, plan};
use ijk_types::{BinaryOp::*, DType, Monoid, Reducer, UnaryOp};

fn kernels(plan: &Plan) -> Vec<Kernel> {
    plan.steps.iter().map(Step::kernel).collect()
}

fn product(dtype: DType, n: u64) -> Builder {
    let mut p = Builder::new(dtype, &[('i', n), ('j', n + 1), ('k', n + 2)]);
    let (a, b) = (p.input("ik"), p.input("kj"));
    let m = p.binary(Mul, (a, "ik"), (b, "kj"), "ijk");
    let out = p.reduce(Monoid::Add, (m, "ijk"), "ij");
    p.output(out);
    p
}

#[test]
fn a_chained_product_is_one_contraction() {
    for dtype in DType::ALL.into_iter().filter(|t| t.lanes() == *t) {
        let plan = product(dtype, 8).checked();
        let [Step::Contract(c)] = &plan.steps[..] else { panic!("{plan}") };
        let roles: Vec<Role> = c.axes.iter().map(|a| a.role).collect();
        assert_eq!(roles, [Role::M, Role::N, Role::K]);
        assert_eq!((plan.arena, plan.temporaries()), (0, 0));
    }
}

#[test]
fn a_small_product_is_one_sequential_nest() {
    let plan = product(DType::F32, 3).checked();
    let [Step::Nest(nest)] = &plan.steps[..] else { panic!("{plan}") };
    assert!(nest.sequential && nest.start == Start::Covered);
    assert_eq!(nest.axes.iter().map(|a| &a.name[..]).collect::<Vec<_>>(), ["i", "j", "k"]);
}

#[test]
fn five_letters_contract_without_temporaries() {
    let mut p = Builder::new(DType::F32, &[('a', 3), ('b', 4), ('c', 5), ('d', 2), ('e', 6)]);
    let (x, y) = (p.input("abcd"), p.input("eb"));
    let m = p.binary(Mul, (x, "abcd"), (y, "eb"), "abcde");
    let out = p.reduce(Monoid::Add, (m, "abcde"), "aecd");
    p.output(out);
    let plan = p.checked();
    let [Step::Contract(c)] = &plan.steps[..] else { panic!("{plan}") };
    assert_eq!((c.extent(Role::M), c.extent(Role::N), c.extent(Role::K)), (30, 6, 4));
    assert_eq!(plan.arena, 0);
}

#[test]
fn transposes_fold_into_accesses() {
    let mut p = Builder::new(DType::F64, &[('i', 8), ('j', 9), ('k', 10)]);
    let (a, b) = (p.input("ki"), p.input("jk"));
    let a = p.view((a, "ki"), "ik");
    let b = p.view((b, "jk"), "kj");
    let m = p.binary(Mul, (a, "ik"), (b, "kj"), "ijk");
    let s = p.reduce(Monoid::Add, (m, "ijk"), "ij");
    p.output(s);
    assert_eq!(kernels(&p.checked()), [Kernel::Contract]);
}

#[test]
fn a_transposed_output_is_a_copy() {
    let mut p = Builder::new(DType::I32, &[('i', 3), ('j', 4)]);
    let a = p.input("ij");
    let t = p.view((a, "ij"), "ji");
    p.output(t);
    p.output(a);
    p.output(t);
    assert_eq!(kernels(&p.checked()), [Kernel::Copy; 3]);
}

#[test]
fn elementwise_chains_fuse() {
    let mut p = Builder::new(DType::F32, &[('i', 30), ('j', 40)]);
    let (a, b) = (p.input("ij"), p.input("j"));
    let x = p.binary(Add, (a, "ij"), (b, "j"), "ij");
    let x = p.unary(UnaryOp::Tanh, (x, "ij"), "ji");
    let x = p.with_number(Mul, 2, (x, "ji"), "ij");
    let x = p.with_number(Max, 0, (x, "ij"), "ij");
    p.output(x);
    let plan = p.checked();
    assert_eq!((kernels(&plan), plan.arena), (vec![Kernel::Map], 0));
}

#[test]
fn softmax_keeps_one_temporary_matrix() {
    let mut p = Builder::new(DType::F64, &[('i', 20), ('j', 30)]);
    let x = p.input("ij");
    let m = p.reduce(Monoid::Max, (x, "ij"), "i");
    let d = p.binary(Sub, (x, "ij"), (m, "i"), "ij");
    let e = p.unary(UnaryOp::Exp, (d, "ij"), "ij");
    let s = p.reduce(Monoid::Add, (e, "ij"), "i");
    let out = p.binary(Div, (e, "ij"), (s, "i"), "ij");
    p.output(out);
    let plan = p.checked();
    use Kernel::{Map, Reduce};
    assert_eq!(kernels(&plan), [Reduce, Map, Reduce, Map]);
    assert_eq!(plan.temporaries(), 3);
}

#[test]
fn a_prologue_of_fewer_axes_is_evaluated_before() {
    let mut p = Builder::new(DType::F32, &[('i', 20), ('j', 30), ('k', 10)]);
    let (a, b) = (p.input("ik"), p.input("kj"));
    let a = p.unary(UnaryOp::Tanh, (a, "ik"), "ik");
    let m = p.binary(Mul, (a, "ik"), (b, "kj"), "ijk");
    let m = p.with_number(Mul, 3, (m, "ijk"), "ijk");
    let s = p.reduce(Monoid::Add, (m, "ijk"), "ij");
    p.output(s);
    use Kernel::{Contract, Map};
    // The scale comes behind.
    assert_eq!(kernels(&p.checked()), [Map, Contract, Map]);
}

#[test]
fn a_product_of_three_is_two_contractions() {
    let letters = [('i', 12), ('j', 13), ('k', 14), ('l', 15)];
    let mut p = Builder::new(DType::F64, &letters);
    let (a, b, c) = (p.input("ij"), p.input("jk"), p.input("kl"));
    let m = p.binary(Mul, (a, "ij"), (b, "jk"), "ijk");
    let m = p.binary(Mul, (m, "ijk"), (c, "kl"), "ijkl");
    let s = p.reduce(Monoid::Add, (m, "ijkl"), "il");
    p.output(s);
    let plan = p.checked();
    // The first product is not fused: each of its elements is used for every l.
    assert_eq!(kernels(&plan).last(), Some(&Kernel::Contract));
}

fn private_axis(dtype: DType, extents: [u64; 4]) -> Builder {
    let letters: Vec<_> = "ijkl".chars().zip(extents).collect();
    let mut p = Builder::new(dtype, &letters);
    let (a, b) = (p.input("ikl"), p.input("kj"));
    let s = p.fused(Monoid::Add, Mul, (a, "ikl"), (b, "kj"), "ij");
    p.output(s);
    p
}

#[test]
fn private_axes_are_reduced_first_where_that_pays() {
    for dtype in [DType::I64, DType::F64] {
        let pays = private_axis(dtype, [12, 13, 14, 15]).checked();
        assert_eq!(kernels(&pays), [Kernel::Reduce, Kernel::Contract]);
    }
    let direct = private_axis(DType::F64, [12, 4, 14, 15]).checked();
    assert_eq!(kernels(&direct), [Kernel::Contract]);
}

#[test]
fn other_semirings_contract() {
    let mut p = Builder::new(DType::F32, &[('i', 8), ('j', 9), ('k', 10)]);
    let (a, b) = (p.input("ik"), p.input("kj"));
    let s = p.fused(Monoid::Min, Add, (a, "ik"), (b, "kj"), "ji");
    p.output(s);
    assert_eq!(kernels(&p.checked()), [Kernel::ContractSemiring]);
}

#[test]
fn correlation_along_one_axis_is_a_nest_and_with_channels_a_contraction() {
    let letters = [('i', 50), ('k', 7), ('c', 3), ('o', 5), ('p', 56)];
    let mut p = Builder::new(DType::F32, &letters);
    let (a, b) = (p.input("p"), p.input("k"));
    let s = p.fused(Monoid::Add, Mul, (a, "[i+k]"), (b, "k"), "i");
    p.output(s);
    assert_eq!(kernels(&p.checked()), [Kernel::Reduce]);
    let mut p = Builder::new(DType::F32, &letters);
    let (a, b) = (p.input("pc"), p.input("kco"));
    let s = p.fused(Monoid::Add, Mul, (a, "[i+k]c"), (b, "kco"), "io");
    p.output(s);
    let plan = p.checked();
    assert_eq!((kernels(&plan), plan.arena), (vec![Kernel::Contract], 0));
}

#[test]
fn diagonals() {
    let mut p = Builder::new(DType::I64, &[('i', 5), ('j', 5)]);
    let a = p.input("ij");
    let d = p.view((a, "ii"), "i");
    let e = p.view((d, "i"), "ii");
    let t = p.reduce(Monoid::Add, (a, "ii"), ".");
    [d, e, t].into_iter().for_each(|x| p.output(x));
    let plan = p.checked();
    assert_eq!(kernels(&plan), [Kernel::Copy, Kernel::Fill, Kernel::Copy, Kernel::Reduce]);
}

#[test]
fn splits_and_merges_of_axes_are_strides() {
    let letters = [('i', 5), ('j', 4), ('p', 20), ('h', 5), ('w', 4)];
    let mut p = Builder::new(DType::F32, &letters);
    let a = p.input("ij");
    let merged = p.view((a, "ij"), "[4*i+j]");
    let split = p.view((merged, "[4*h+w]"), "wh");
    let doubled = p.with_number(Mul, 2, (merged, "p"), "p");
    let pooled = p.reduce(Monoid::Max, (doubled, "p"), "[p/4]");
    let digits = p.view((merged, "p"), "[p%4][p/4]");
    [split, pooled, digits].into_iter().for_each(|x| p.output(x));
    let plan = p.checked();
    let gathers = plan.choices().filter(|c| c.contains("gather") || c.contains("computed"));
    assert_eq!((gathers.count(), plan.arena), (0, 0), "{plan}");
}

#[test]
fn uneven_divisions_are_computed() {
    let mut p = Builder::new(DType::F32, &[('p', 23), ('i', 6), ('j', 4)]);
    let a = p.input("p");
    let pooled = p.reduce(Monoid::Max, (a, "p"), "[p/4]");
    let spread = p.statement(&[(pooled, "[p/4]")], |_| {}, "p", None);
    let digits = p.view((spread, "p"), "[p%4][p/4]");
    [pooled, spread, digits].into_iter().for_each(|x| p.output(x));
    let plan = p.checked();
    assert!(plan.choices().any(|c| c.contains("gather")), "{plan}");
    assert!(plan.choices().any(|c| c.contains("computed-store existing")), "{plan}");
}

#[test]
fn scatters_collide() {
    let mut p = Builder::new(DType::F64, &[('i', 25), ('j', 24)]);
    let (a, b) = (p.input("i"), p.input("j"));
    let s = p.fused(Monoid::Add, Mul, (a, "i"), (b, "j"), "[i+j]");
    p.output(s);
    let plan = p.checked();
    assert_eq!(kernels(&plan), [Kernel::Fill, Kernel::Scatter]);
}

#[test]
fn strided_outputs_start_filled() {
    let mut p = Builder::new(DType::F64, &[('i', 9), ('j', 8), ('k', 7)]);
    let (a, b) = (p.input("ik"), p.input("kj"));
    let s = p.fused(Monoid::Add, Mul, (a, "ik"), (b, "kj"), "[2*i]j");
    p.output(s);
    assert_eq!(kernels(&p.checked()), [Kernel::Fill, Kernel::Contract]);
}

#[test]
fn positions_of_extremes() {
    let mut p = Builder::new(DType::F64, &[('i', 9), ('j', 80)]);
    let a = p.input("ij");
    let plain = p.statement(&[(a, "ij")], |_| {}, "i", Some(Reducer::ArgMax));
    let spread = p.statement(&[(a, "ij")], |_| {}, "[2*i]", Some(Reducer::ArgMin));
    [plain, spread].into_iter().for_each(|x| p.output(x));
    let plan = p.checked();
    use Kernel::{Arg, Copy, Fill};
    assert_eq!(kernels(&plan), [Arg, Arg, Fill, Copy]);
}

#[test]
fn empty_domains_fill() {
    let mut p = Builder::new(DType::F64, &[('i', 9), ('k', 0)]);
    let a = p.input("ik");
    let m = p.reduce(Monoid::Max, (a, "ik"), "i");
    let n = p.unary(UnaryOp::Neg, (m, "i"), "i");
    [n, m, a].into_iter().for_each(|x| p.output(x));
    assert_eq!(kernels(&p.checked()), [Kernel::Fill; 2]);
}

#[test]
fn long_chains_stay_bounded() {
    let mut p = Builder::new(DType::F64, &[('i', 3)]);
    let mut x = p.input("i");
    for _ in 0..1000 {
        x = p.with_number(Sub, 1, (x, "i"), "i");
    }
    p.output(x);
    let plan = p.checked();
    let largest = plan.steps.iter().map(|s| match s {
        Step::Nest(nest) => nest.body.len(),
        _ => 0,
    });
    assert!(largest.max() <= Some(64) && plan.steps.len() < 40);
    assert_eq!(plan.arena, 64);
}

#[test]
fn integer_division_can_fail() {
    let mut p = Builder::new(DType::I32, &[('i', 3)]);
    let a = p.input("i");
    let x = p.statement(
        &[(a, "i")],
        |n| {
            use ijk_ir::core::{ScalarNode, TypeTerm};
            n.push(ScalarNode::Const(ijk_types::Literal::Integer(2), TypeTerm::Var(0)));
            n.push(crate::support::binary(Div, 0, 1));
        },
        "i",
        None,
    );
    p.output(x);
    assert!(!p.checked().is_fallible());
    let y = p.with_number(Div, 6, (a, "i"), "i");
    p.output(y);
    assert!(p.plan().is_fallible());
}

#[test]
fn memory_limits_are_kept() {
    let p = product(DType::F32, 8);
    let mut layout = Layout::contiguous(&p.program, &p.instance);
    layout.memory_limit = Some(8 * 9 * 4);
    assert!(plan(&p.program, &p.instance, &layout).is_ok());
    layout.memory_limit = Some(8 * 9 * 4 - 1);
    let needed = PlanError::MemoryLimit { needed: 288, results: 288, temporaries: 0, limit: 287 };
    assert_eq!(plan(&p.program, &p.instance, &layout), Err(needed));
}

#[test]
fn arrays_beyond_any_address_are_errors() {
    let mut p = Builder::new(DType::F32, &[('i', 1)]);
    let a = p.input_shape(vec![1 << 40, 1 << 40]);
    p.output(a);
    let result = plan(&p.program, &p.instance, &Layout::contiguous(&p.program, &p.instance));
    assert!(matches!(result, Err(PlanError::TooLarge { .. })));
}

#[test]
fn planning_a_small_program_is_cheap() {
    let p = product(DType::F32, 3);
    let layout = Layout::contiguous(&p.program, &p.instance);
    let start = std::time::Instant::now();
    for _ in 0..100 {
        plan(&p.program, &p.instance, &layout).unwrap();
    }
    let elapsed = start.elapsed();
    println!("{elapsed:?} for 100 plans");
    assert!(elapsed.as_millis() < 100, "{elapsed:?} for 100 plans");
}

#[test]
fn what_is_scattered_is_reduced_before() {
    let letters = [('n', 2), ('c', 8), ('f', 6), ('h', 7), ('r', 3), ('w', 9), ('s', 3)];
    let mut p = Builder::new(DType::F32, &letters);
    let (x, filters) = (p.input("nchw"), p.input("cfrs"));
    let out = p.fused(Monoid::Add, Mul, (x, "nchw"), (filters, "cfrs"), "nf[2*h+r][2*w+s]");
    p.output(out);
    let plan = p.checked();
    assert_eq!(kernels(&plan), [Kernel::Contract, Kernel::Fill, Kernel::Scatter]);
    // The scatter adds rows as they lie.
    let [_, _, Step::Nest(nest)] = &plan.steps[..] else { panic!("{plan}") };
    let row = nest.axes.iter().position(|axis| axis.name == "w").unwrap();
    assert_eq!((nest.loads[0].strides[row], nest.store.strides[row]), (1, 2));
    assert_eq!(nest.points(), 2 * 6 * 7 * 9 * 9);
}

#[test]
fn little_memory_scatters_at_once() {
    let letters = [('i', 300), ('k', 100), ('c', 8)];
    let mut p = Builder::new(DType::F32, &letters);
    let x = p.input("ikc");
    let out = p.reduce(Monoid::Max, (x, "ikc"), "[i+k]");
    p.output(out);
    let (program, instance) = (&p.program, &p.instance);
    let with = |limit| {
        let layout = Layout { memory_limit: limit, ..Layout::contiguous(program, instance) };
        plan(program, instance, &layout).map(|plan| kernels(&plan))
    };
    use Kernel::{Fill, Reduce, Scatter};
    assert_eq!(with(None), Ok(vec![Reduce, Fill, Scatter]));
    assert_eq!(with(Some(10_000)), Ok(vec![Fill, Scatter]));
}

#[test]
fn rows_that_lie_apart_are_copied() {
    let kernels_of = |operand: &str, limit| {
        let letters = [('a', 25), ('b', 20), ('c', 3), ('d', 5), ('e', 8), ('f', 8)];
        let mut p = Builder::new(DType::F32, &letters);
        let (x, y) = (p.input("aebf"), p.input(operand));
        let out = p.fused(Monoid::Add, Mul, (x, "aebf"), (y, operand), "abcd");
        p.output(out);
        p.checked();
        let layout = Layout::contiguous(&p.program, &p.instance);
        let layout = Layout { near: 100, memory_limit: limit, ..layout };
        let plan = plan(&p.program, &p.instance, &layout).unwrap();
        (kernels(&plan), plan.temporary_bytes())
    };
    use Kernel::{Contract, Copy};
    let bytes = 3 * 5 * 64 * 4;
    for apart in ["fdec", "dfce", "fedc", "edfc"] {
        assert_eq!(kernels_of(apart, None), (vec![Copy, Contract], bytes), "{apart}");
    }
    // Neighbours of the output are neighbours, or are read along the steps.
    for fine in ["fecd", "cfed", "dcef", "cdfe"] {
        assert_eq!(kernels_of(fine, None), (vec![Contract], 0), "{fine}");
    }
    let results = 25 * 20 * 3 * 5 * 4;
    assert_eq!(kernels_of("fdec", Some(results)), (vec![Contract], 0));
}

/// Points of each step of a program in i that is no contraction, for f64 or another type.
fn around_contractions(dtype: DType, source: &str, shapes: &[&[u64]]) -> Vec<u64> {
    let arguments: Vec<_> = shapes.iter().map(|&shape| (dtype, shape)).collect();
    let plan = crate::support::checked_source(source, &arguments);
    let points = |step: &Step| match step {
        Step::Nest(nest) => Some(nest.axes.iter().map(|axis| axis.extent as u64).product()),
        _ => None,
    };
    assert!(plan.steps.iter().any(|step| matches!(step, Step::Contract(_))), "{plan}");
    plan.steps.iter().filter_map(points).collect()
}

#[test]
fn powers_of_two_multiply_the_smaller_operand_of_a_contraction() {
    let of = |source: &str| around_contractions(DType::F32, source, &[&[30, 4], &[40, 4]]);
    let (left, right, out) = (30 * 4, 40 * 4, 30 * 40);
    for source in ["ij*0.5~ij", "0.5*ij~ij", "ij/4~ij", "ij*-8~ij"] {
        assert_eq!(of(&format!("+(ik*jk)~ij . {source}")), [left], "{source}");
    }
    // Rows of the result are rows of the other one.
    assert_eq!(of("+(ik*jk)~ji . ij*0.5~ij"), [right]);
    assert_eq!(of("+(ik*jk)~ij . ij*0.5~ji"), [right]);
    // Constants that round, or may leave nothing of an operand or too much; another operator; some elements.
    for source in [
        "ij*0.1~ij",
        "ij/3~ij",
        "ij/134217728~ij",
        "ij*134217728~ij",
        "ij+0.5~ij",
        "0.5/ij~ij",
        "ij*0.5~[2*i]j",
    ] {
        assert_ne!(of(&format!("+(ik*jk)~ij . {source}")), [left], "{source}");
    }
    // Something else needs the contraction as it is, or it is no sum of products.
    assert_eq!(of("+(ik*jk)~ij . (I & ij*0.5~ij) . ij*ij~ij").len(), 1);
    assert_eq!(of("+(ik*jk)~ij . (I & ij*0.5~ij) . ij*ij~ij"), [out]);
    assert_eq!(of(">(ik+jk)~ij . ij*0.5~ij"), [out]);
    // Integers wrap, and an operand as large as the result saves nothing.
    let integers = around_contractions(DType::I32, "+(ik*jk)~ij . ij*2~ij", &[&[30, 4], &[40, 4]]);
    assert_eq!(integers, [out]);
    let square =
        around_contractions(DType::F64, "+(ik*kj)~ij . ij*0.5~ij", &[&[20, 20], &[20, 20]]);
    assert_eq!(square, [20 * 20]);
}

#[test]
fn what_is_summed_last_lies_outermost_in_an_intermediate() {
    // The batch of the first product is what the second one sums over.
    let mut p = Builder::new(DType::F32, &[('t', 70), ('e', 3), ('h', 36), ('o', 34)]);
    let [g, x, w] = ["te", "teh", "eho"].map(|letters| p.input(letters));
    let scaled = p.binary(Mul, (g, "te"), (w, "eho"), "teho");
    let y = p.fused(Monoid::Add, Mul, (scaled, "teho"), (x, "teh"), "to");
    p.output(y);
    let plan = p.checked();
    let contractions = plan.steps.iter().filter_map(|step| match step {
        Step::Contract(contraction) => Some(contraction),
        _ => None,
    });
    let batches: Vec<_> = contractions.flat_map(|c| &c.axes).collect();
    assert!(!batches.is_empty(), "{plan}");
    assert!(batches.iter().all(|a| a.role != Role::Batch || a.c != 1), "{plan}");
}

#[test]
fn blocks_of_a_sweep_are_no_slivers_of_a_contraction() {
    let mut p = Builder::new(DType::F32, &[('i', 64), ('j', 100), ('k', 90), ('r', 32)]);
    let [x, b, c] = ["ijk", "jr", "kr"].map(|letters| p.input(letters));
    let outer = p.binary(Mul, (b, "jr"), (c, "kr"), "jkr");
    let outer = p.unary(UnaryOp::Abs, (outer, "jkr"), "jkr");
    let y = p.fused(Monoid::Add, Mul, (x, "ijk"), (outer, "jkr"), "ir");
    p.output(y);
    let plan = p.plan();
    assert!(!plan.steps.iter().any(|step| matches!(step, Step::Sweep(_))), "{plan}");
}

#[test]
fn sums_of_weights_divide_what_the_weights_give() {
    let of = |softmax: &str, last: &str| {
        let source = format!("{softmax} . {last}");
        around_contractions(DType::F64, &source, &[&[12, 40], &[40, 5]])
    };
    let softmax = "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij";
    let (all, out) = (12 * 40, 12 * 5);
    assert_eq!(of(softmax, "+(ij*je)~ie"), [all, all, all, out]);
    assert_eq!(of(softmax, "+(ij*je)~ei"), [all, all, all, out]);
    // Whatever divides rows of the result.
    for other in [
        "^ij~ij . (I & +ij~i) . ij/i~ij",
        "(I & >ij~.) . ij-.~ij . ^ij~ij . (I & +ij~i) . ij/i~ij",
        "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & >ij~i) . ij/i~ij",
    ] {
        assert_eq!(of(other, "+(ij*je)~ie").last(), Some(&out), "{other}");
    }
    // Rows of the weights are not those of the result.
    let columns = "(I & >ij~j) . ij-j~ij . ^ij~ij . (I & +ij~j) . ij/j~ij";
    assert_eq!(of(columns, "+(ij*je)~ie").last(), Some(&(40 * 5)));
    // The result is no smaller than the weights.
    let wide = format!("{softmax} . +(ij*je)~ie");
    let wide = around_contractions(DType::F64, &wide, &[&[12, 40], &[40, 45]]);
    assert_eq!(wide.last(), Some(&all));
}

#[test]
fn the_sums_of_square_rows_and_columns_are_told_apart() {
    // Rows and columns are as long: only the letters tell that these sums are not those of the rows.
    let columns = "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~j) . ij/i~ij . +(ij*je)~ie";
    let points = around_contractions(DType::F64, columns, &[&[30, 30], &[30, 3]]);
    assert_eq!(points.last(), Some(&90));
    let across = "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/j~ij . +(ij*je)~ie";
    let points = around_contractions(DType::F64, across, &[&[30, 30], &[30, 3]]);
    assert_eq!(points.last(), Some(&90));
}

#[test]
fn functions_of_few_axes_are_evaluated_before() {
    let letters = [('b', 40), ('k', 30), ('t', 50)];
    let mut p = Builder::new(DType::F64, &letters);
    let (x, k, t) = (p.input("bt"), p.input("k"), p.input("t"));
    let build = |n: &mut Vec<ScalarNode>| {
        n.push(binary(Mul, 1, 2));
        n.push(ScalarNode::Unary(UnaryOp::Cos, ScalarId(3)));
        n.push(binary(Mul, 0, 4));
    };
    let out = p.statement(&[(x, "bt"), (k, "k"), (t, "t")], build, "bkt", None);
    p.output(out);
    let plan = p.checked();
    assert_eq!(kernels(&plan), [Kernel::Map; 2], "{plan}");
    assert_eq!(plan.steps[0].cost(&plan.buffers).written, 30 * 50 * 8, "{plan}");
}
