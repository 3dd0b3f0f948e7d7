//! Import of core programs: extents and element types are filled in.

use super::expr::extract;
use super::{ArrayInfo, Axis, Expr, ExprNode, Graph, Stmt};
use crate::PlanError;
use ijk_ir::core::{self, Access, AxisId, IndexExpr, Instance, Program, ScalarNode};
use ijk_types::{DType, Literal, Reducer, UnaryOp};
use std::collections::{BTreeMap, BTreeSet};

impl Graph {
    pub(crate) fn new(
        program: &Program,
        instance: &Instance,
        strict: bool,
    ) -> Result<Self, PlanError> {
        let arrays = instance
            .dtypes
            .iter()
            .zip(&instance.shapes)
            .map(|(&dtype, shape)| ArrayInfo { dtype, shape: shape.clone() })
            .collect();
        let mut graph = Self {
            arrays,
            inputs: program.inputs.clone(),
            outputs: program.outputs.clone(),
            fallible: Vec::new(),
            partial: BTreeSet::new(),
            numbers: BTreeSet::new(),
            statements: Vec::with_capacity(program.statements.len()),
            strict,
            strides: BTreeMap::new(),
        };
        let variables = type_variables(program, instance);
        for (statement, extents) in program.statements.iter().zip(&instance.extents) {
            let stmt = graph.statement(statement, extents, &variables)?;
            graph.statements.push(stmt);
        }
        Ok(graph)
    }

    fn statement(
        &self,
        statement: &core::Statement,
        extents: &[u64],
        variables: &[DType],
    ) -> Result<Stmt, PlanError> {
        if extents.contains(&0) {
            let core::Statement { out, init, reduce, span, .. } = *statement;
            return Ok(self.initial(out, init, reduce, span));
        }
        let axes = statement.domain.iter().zip(extents);
        Ok(Stmt {
            out: statement.out,
            axes: axes.map(|(a, &extent)| Axis { name: a.name.clone(), extent }).collect(),
            out_index: statement.out_index.iter().map(IndexExpr::without_spans).collect(),
            init: statement.init,
            reduce: statement.reduce,
            single: false,
            value: self.import(&statement.value, extents, variables)?,
            guards: statement
                .guards
                .iter()
                .map(|(e, extent)| (e.without_spans(), *extent))
                .collect(),
            scan: match statement.reduce {
                Some(Reducer::Order(_)) => Some(AxisId(extents.len() as u32 - 1)),
                _ => None,
            },
            span: statement.span,
        })
    }

    /// The expression with element types filled in, without casts to the type that a value has.
    fn import(
        &self,
        value: &core::ScalarExpr,
        extents: &[u64],
        variables: &[DType],
    ) -> Result<Expr, PlanError> {
        let count = value.nodes.len();
        let (mut nodes, mut types) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut places: Vec<u32> = Vec::with_capacity(count);
        for node in &value.nodes {
            let node =
                imported(node, extents, variables)?.map_children(|child| places[child as usize]);
            if let ExprNode::Unary(UnaryOp::Cast(to), x) = node
                && types[x as usize] == to
            {
                places.push(x);
                continue;
            }
            types.push(self.node_type(&node, &types));
            nodes.push(node);
            places.push(nodes.len() as u32 - 1);
        }
        let root = places.last().copied().unwrap_or(0);
        if root as usize + 1 == nodes.len() {
            Ok(Expr { nodes })
        } else {
            Ok(extract(&nodes, root))
        }
    }
}

/// Element types of the program's type variables, taken from its arrays.
fn type_variables(program: &Program, instance: &Instance) -> Vec<DType> {
    let mut variables = vec![DType::F64; program.types.len()];
    for (array, &dtype) in program.arrays.iter().zip(&instance.dtypes) {
        if let core::TypeTerm::Var(v) = array.dtype {
            variables[v as usize] = dtype;
        }
    }
    variables
}

fn imported(
    node: &ScalarNode,
    extents: &[u64],
    variables: &[DType],
) -> Result<ExprNode, PlanError> {
    Ok(match node {
        ScalarNode::Access(Access { array, index, .. }) => {
            ExprNode::Access(*array, index.iter().map(IndexExpr::without_spans).collect())
        }
        ScalarNode::Const(literal, t) => ExprNode::Const(literal.to_scalar(t.resolve(variables))?),
        ScalarNode::Extent(axis, t) => {
            let extent = Literal::Integer(extents[axis.0 as usize] as i64);
            ExprNode::Const(extent.to_scalar(t.resolve(variables))?)
        }
        ScalarNode::Index(e) => ExprNode::Index(e.without_spans()),
        ScalarNode::Unary(op, x) => ExprNode::Unary(*op, x.0),
        ScalarNode::Binary(op, x, y) => ExprNode::Binary(*op, x.0, y.0),
        ScalarNode::Select(c, x, y) => ExprNode::Select(c.0, x.0, y.0),
        ScalarNode::Random { key, counter, lo, hi } => {
            ExprNode::Random { key: *key, counter: counter.clone(), lo: lo.0, hi: hi.0 }
        }
    })
}
