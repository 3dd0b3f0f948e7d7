//! Masked sweeps: columns that blocks skip.

use crate::support::{Builder, binary};
use ijk_ir::core::{AxisId, IndexExpr, ScalarId, ScalarNode, TypeTerm};
use ijk_plan::plan::{Narrow, Plan, Step};
use ijk_plan::{Layout, plan};
use ijk_types::BinaryOp::{self, *};
use ijk_types::{DType, Literal, Monoid, Scalar, UnaryOp};

/// Queries and keys of a program, and what a mask compares.
const ROWS: u64 = 64;
const COLUMNS: u64 = 96;

/// A mask: `left op right` of affine expressions of `i` and `j`.
#[derive(Clone, Copy)]
struct Mask {
    op: BinaryOp,
    /// Factors of `i` and `j`, and a constant, on the left; 0 is on the right.
    terms: [i64; 3],
    /// True if scores are kept where it holds.
    keeps: bool,
}

fn index([i, j, constant]: [i64; 3]) -> IndexExpr {
    let axes = [(i, 0), (j, 1)].into_iter().filter(|(factor, _)| *factor != 0);
    let mut e = IndexExpr::constant(constant);
    for (factor, axis) in axes {
        e.terms.push((factor, IndexExpr::axis(AxisId(axis)).terms[0].1.clone()));
    }
    e
}

/// Attention under a mask, of scores that are masked by `-inf`, or by 0.
fn attention(mask: Mask, infinite: bool, keeps_scores: bool) -> Builder {
    let letters = [('i', ROWS), ('j', COLUMNS), ('f', 3), ('g', 5)];
    let mut p = Builder::new(DType::F64, &letters);
    let (q, k, v) = (p.input("if"), p.input("jf"), p.input("jg"));
    let scores = p.fused(Monoid::Add, Mul, (q, "if"), (k, "jf"), "ij");
    let build = |n: &mut Vec<ScalarNode>| {
        n.push(ScalarNode::Index(index(mask.terms)));
        n.push(ScalarNode::Const(Literal::Integer(0), TypeTerm::Fixed(DType::I64)));
        n.push(binary(mask.op, 1, 2));
        n.push(ScalarNode::Const(Literal::Integer(0), TypeTerm::Var(0)));
        let least = if infinite { UnaryOp::Ln } else { UnaryOp::Neg };
        n.push(ScalarNode::Unary(least, ScalarId(4)));
        let (own, other) = if mask.keeps { (0, 5) } else { (5, 0) };
        n.push(ScalarNode::Select(ScalarId(3), ScalarId(own), ScalarId(other)));
    };
    let masked = p.statement(&[(scores, "ij")], build, "ij", None);
    let most = p.reduce(Monoid::Max, (masked, "ij"), "i");
    let less = p.binary(Sub, (masked, "ij"), (most, "i"), "ij");
    let weights = p.unary(UnaryOp::Exp, (less, "ij"), "ij");
    let sums = p.reduce(Monoid::Add, (weights, "ij"), "i");
    let shares = p.binary(Div, (weights, "ij"), (sums, "i"), "ij");
    let out = p.fused(Monoid::Add, Mul, (shares, "ij"), (v, "jg"), "ig");
    p.output(out);
    if keeps_scores {
        p.output(masked);
    }
    p
}

/// The plan where little stays near, and its narrow bodies.
fn planned(p: &Builder, strict: bool) -> (Plan, Option<Narrow>) {
    let contiguous = Layout::contiguous(&p.program, &p.instance);
    let layout = Layout { near: 2000, strict, ..contiguous };
    let plan = plan(&p.program, &p.instance, &layout).expect("small");
    let narrow = plan.steps.iter().find_map(|step| match step {
        Step::Sweep(sweep) => sweep.narrow.clone(),
        _ => None,
    });
    (plan, narrow)
}

const CAUSAL: Mask = Mask { op: Le, terms: [-1, 1, 0], keeps: true };

#[test]
fn masks_leave_out_what_is_the_identity() {
    let masks = [
        CAUSAL,
        Mask { op: Gt, keeps: false, ..CAUSAL },
        Mask { op: Ge, terms: [1, -1, 0], keeps: true },
        Mask { op: Lt, terms: [-1, 1, 9], keeps: true },
        Mask { op: Ge, terms: [-1, 1, 0], keeps: true },
        Mask { op: Le, terms: [-2, 3, -7], keeps: true },
        Mask { op: Lt, terms: [0, 1, -20], keeps: true },
        Mask { op: Eq, terms: [-1, 1, -3], keeps: true },
        Mask { op: Ne, terms: [-1, 1, -3], keeps: false },
    ];
    for mask in masks {
        let p = attention(mask, true, false);
        p.checked();
        let (plan, narrow) = planned(&p, false);
        let narrow = narrow.unwrap_or_else(|| panic!("{:?} {:?}: {plan}", mask.op, mask.terms));
        assert!(narrow.of_blocks.iter().flatten().count() > 0, "{plan}");
        // The factors of zero weights, and the maxima.
        assert_eq!((narrow.finite_inputs.len(), narrow.finite_outputs.len()), (1, 1), "{plan}");
    }
}

#[test]
fn other_masks_and_strict_plans_leave_nothing_out() {
    // Scores that are not -inf count; so do such that somebody else needs, and conditions that any value may meet.
    let any = Mask { op: Ne, ..CAUSAL };
    let cases = [(CAUSAL, false, false, false), (CAUSAL, true, true, false)];
    let more = [(any, true, false, false), (CAUSAL, true, false, true)];
    for (mask, infinite, keeps_scores, strict) in cases.into_iter().chain(more) {
        let p = attention(mask, infinite, keeps_scores);
        p.checked();
        let (plan, narrow) = planned(&p, strict);
        assert!(narrow.is_none(), "{plan}");
    }
}

#[test]
fn what_is_not_finite_is_computed_as_written() {
    let p = attention(CAUSAL, true, false);
    let (plan, narrow) = planned(&p, false);
    assert!(narrow.is_some());
    let inputs = |special: [Option<f64>; 3]| {
        let shapes = [(ROWS, 3), (COLUMNS, 3), (COLUMNS, 5)];
        let array = |((rows, row), special): ((u64, u64), Option<f64>)| {
            let number = |n: u64| Scalar::F64((n * 7 % 11) as f64 / 4.0 - 1.0);
            let mut all: Vec<Scalar> = (0..rows * row).map(number).collect();
            let middle = all.len() / 2;
            special.into_iter().for_each(|x| all[middle] = Scalar::F64(x));
            all
        };
        shapes.into_iter().zip(special).map(array).collect::<Vec<_>>()
    };
    for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for at in 0..3 {
            let inputs = inputs([0, 1, 2].map(|n| (n == at).then_some(special)));
            let expected = crate::support::run_program(&p.program, &p.instance, &inputs);
            let found = crate::support::run_plan(&plan, &inputs);
            let nan = |all: &Vec<Scalar>| {
                all.iter().map(|x| matches!(x, Scalar::F64(x) if x.is_nan())).collect::<Vec<_>>()
            };
            assert_eq!(nan(&expected[0]), nan(&found[0]), "{special} in {at}");
        }
    }
}
