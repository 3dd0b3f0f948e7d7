//! Guards of a core statement, interpreted.

use ijk_ir::core::{AxisId, IndexExpr, ScalarExpr, ScalarId, ScalarNode};
use ijk_oracle::{Value, interpret};
use ijk_types::{BinaryOp, DType, Scalar};

#[test]
fn a_guard_skips_points_and_their_faults() {
    let mut program = ijk_ir::compile_source("i/j~ij").program.unwrap();
    let instance = ijk_ir::instantiate(&program, &[(DType::I64, &[1]), (DType::I64, &[3])]);
    let instance = instance.unwrap();
    let column = IndexExpr::axis(AxisId(1));
    program.statements[0].guards = vec![(column.plus(&IndexExpr::constant(-1)).unwrap(), 2)];
    let array = |numbers: &[i64]| Value {
        dtype: DType::I64,
        shape: vec![numbers.len()],
        data: numbers.iter().map(|&n| Scalar::I64(n)).collect(),
    };
    let result = interpret(&program, &instance, &[array(&[6]), array(&[0, 2, 3])]).unwrap();
    assert_eq!(result[0].data, [0, 3, 2].map(Scalar::I64));
}

#[test]
fn a_skipped_access_comes_before_any_fault() {
    let mut program = ijk_ir::compile_source("i/i~i").program.unwrap();
    let instance = ijk_ir::instantiate(&program, &[(DType::I64, &[2]), (DType::I64, &[2])]);
    let mut instance = instance.unwrap();
    let statement = &mut program.statements[0];
    let ScalarNode::Access(mut third) = statement.value.nodes[0].clone() else { panic!() };
    third.index = vec![IndexExpr::constant(5)];
    let mut nodes = statement.value.nodes.clone();
    nodes.push(ScalarNode::Access(third));
    let (quotient, third) = (ScalarId(nodes.len() as u32 - 2), ScalarId(nodes.len() as u32 - 1));
    nodes.push(ScalarNode::Binary(BinaryOp::Add, quotient, third));
    statement.value = ScalarExpr { nodes };
    instance.extents[0] = vec![2];
    let zeros = Value { dtype: DType::I64, shape: vec![2], data: vec![Scalar::I64(0); 2] };
    let result = interpret(&program, &instance, &[zeros.clone(), zeros.clone()]).unwrap();
    assert_eq!(result[0], zeros);
}
