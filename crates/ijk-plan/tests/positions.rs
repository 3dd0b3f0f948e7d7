//! Choices by a position: boxes without a condition.

use crate::support::{Builder, binary};
use ijk_ir::core::{AxisId, IndexExpr, ScalarId, ScalarNode, TypeTerm};
use ijk_plan::Kernel;
use ijk_plan::plan::{Node, Plan, Step};
use ijk_types::BinaryOp::{self, *};
use ijk_types::{DType, Literal};

/// The plan of `y[i,c] = WHERE(factor * c op number, a[i] * b[i], b[i])`.
fn planned(op: BinaryOp, factor: i64, number: i64, extent: u64) -> Plan {
    let mut p = Builder::new(DType::F64, &[('i', 2000), ('c', extent)]);
    let (a, b) = (p.input("i"), p.input("i"));
    let build = |n: &mut Vec<ScalarNode>| {
        let mut index = IndexExpr::axis(AxisId(1));
        index.terms[0].0 = factor;
        n.push(ScalarNode::Index(index));
        n.push(ScalarNode::Const(Literal::Integer(number), TypeTerm::Fixed(DType::I64)));
        n.push(binary(op, 2, 3));
        n.push(binary(Mul, 0, 1));
        n.push(ScalarNode::Select(ScalarId(4), ScalarId(5), ScalarId(1)));
    };
    let y = p.statement(&[(a, "i"), (b, "i")], build, "ic", None);
    p.output(y);
    p.checked()
}

fn selects(plan: &Plan) -> bool {
    plan.steps.iter().any(|step| match step {
        Step::Nest(nest) => nest.body.iter().any(|node| matches!(node, Node::Select(..))),
        _ => false,
    })
}

#[test]
fn each_side_of_a_position_is_a_box() {
    for (op, factor, number, extent, boxes) in [
        (Eq, 1, 0, 4, 2),
        (Eq, 1, 3, 4, 2),
        (Eq, 1, 2, 4, 3),
        (Ne, -1, -1, 4, 3),
        (Lt, 1, 3, 5, 2),
        (Le, 1, 3, 5, 2),
        (Gt, 2, 3, 5, 2),
        (Ge, -3, -7, 5, 2),
        (Lt, -2, -5, 5, 2),
        // The same everywhere.
        (Eq, 2, 3, 4, 1),
        (Lt, 1, 9, 4, 1),
        (Ge, 1, 5, 5, 1),
    ] {
        let plan = planned(op, factor, number, extent);
        assert!(!selects(&plan), "{op:?} {factor} {number}\n{plan}");
        let moves = [Kernel::Copy, Kernel::Map];
        let steps = plan.steps.iter().filter(|step| moves.contains(&step.kernel())).count();
        assert_eq!(steps, boxes, "{op:?} {factor} {number}\n{plan}");
    }
}
