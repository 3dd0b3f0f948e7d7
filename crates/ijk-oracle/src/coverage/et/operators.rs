//! Operators by element type.

use super::Notes;
use ijk_ir::core::{ScalarNode, Statement as CoreStatement};
use ijk_ir::et::lower::Stage;
use ijk_types::{DType, UnaryOp};

impl Notes<'_> {
    pub(super) fn operators(&mut self, stages: &[Stage]) {
        for stage in stages {
            for statement in &stage.program.statements {
                self.core_statement(stage, statement);
            }
        }
    }

    fn core_statement(&mut self, stage: &Stage, statement: &CoreStatement) {
        let mut types: Vec<DType> = Vec::new();
        for node in &statement.value.nodes {
            let of = |id: &ijk_ir::core::ScalarId| types[id.0 as usize];
            let t = match node {
                ScalarNode::Access(access) => stage.instance.dtypes[access.array.0 as usize],
                ScalarNode::Const(_, t) | ScalarNode::Extent(_, t) => t.resolve(&[]),
                ScalarNode::Index(_) => DType::I64,
                ScalarNode::Unary(op, x) => {
                    self.count(format!("operator: {op:?}"));
                    if *op == UnaryOp::Cast(DType::F64) && of(x) == DType::I64 {
                        self.count("rule: INT becomes FLOAT");
                    }
                    op.result().of(of(x))
                }
                ScalarNode::Binary(op, x, _) => {
                    self.count(format!("operator: {op:?}"));
                    self.count(format!("operands: {}", of(x)));
                    op.result().of(of(x))
                }
                ScalarNode::Select(_, x, _) => {
                    self.count("operator: Where");
                    of(x)
                }
                ScalarNode::Random { lo, .. } => of(lo),
            };
            types.push(t);
        }
    }
}
