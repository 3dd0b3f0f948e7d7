//! Functions and aggregations written in i.

use crate::formula::{Fold, Formula, FormulaNode};
use crate::{Function, TextError};
use ijk_ir::compile_source;
use ijk_ir::core::{Access, ArrayId, AxisId, Init, Program, ScalarNode, Statement};
use ijk_syntax::{Diagnostic, Severity, Span};
use ijk_types::{Monoid, Reducer};
use std::collections::HashMap;

/// The function of an i expression of one array of rank 0.
pub(crate) fn function(text: &str) -> Result<Function, TextError> {
    function_of(&compile(text)?)
}

/// The function of one element that a program is.
pub(crate) fn function_of(program: &Program) -> Result<Function, TextError> {
    let text = &program.source;
    let refuse = |span, message: &str| {
        let error = Diagnostic::error(span, message);
        TextError::new(text, error.with_hint("`@sqrt .~.`, say: `.` is the index of one element"))
    };
    let whole = Span::new(0, text.len() as u32);
    if ports(program) != Some((vec![0], 0)) {
        return Err(refuse(whole, "a function takes one array of rank 0 and gives one"));
    }
    let mut inliner = Inliner::new(program);
    for statement in &program.statements {
        if statement.reduce.is_some() || inliner.statement(statement, &[]).is_none() {
            return Err(refuse(span(statement), "this is no function of one element"));
        }
    }
    let formula = inliner.formula(program.outputs[0]);
    formula.map(Function::from).ok_or_else(|| refuse(whole, "this is no function of one element"))
}

/// The aggregation of an i expression of two arrays of rank 1: `+(i*i)~.`.
pub(crate) fn aggregation(text: &str) -> Result<(Fold, Formula), TextError> {
    aggregation_of(&compile(text)?)
}

/// The aggregation that a program is.
pub(crate) fn aggregation_of(program: &Program) -> Result<(Fold, Formula), TextError> {
    let text = &program.source;
    let refuse = |span, message: &str| {
        let error = Diagnostic::error(span, message);
        TextError::new(text, error.with_hint("two fibres, combined and folded: `+(i*i)~.`"))
    };
    let whole = Span::new(0, text.len() as u32);
    if ports(program) != Some((vec![1, 1], 0)) {
        return Err(refuse(
            whole,
            "an aggregation takes two arrays of rank 1 and gives one number",
        ));
    }
    let mut inliner = Inliner::new(program);
    let Some((last, before)) = program.statements.split_last() else {
        return Err(refuse(whole, "nothing folds the fibres"));
    };
    for statement in before {
        if statement.reduce.is_some() || inliner.statement(statement, &[AxisId(0)]).is_none() {
            return Err(refuse(span(statement), "only the last expression may fold"));
        }
    }
    let Some(reducer) = last.reduce else {
        return Err(refuse(
            span(last),
            "the last expression does not fold; `map` what comes after",
        ));
    };
    let starts = match reducer {
        Reducer::Monoid(monoid) => last.init == Init::Identity(monoid),
        Reducer::ArgMax | Reducer::ArgMin => true,
        Reducer::Order(_) => false,
    };
    let formula = inliner.statement(last, &[]).and_then(|()| inliner.formula(last.out));
    match formula.filter(|_| starts && program.outputs == [last.out]) {
        Some(formula) => Ok((Fold::Reduce(reducer), formula)),
        None => Err(refuse(span(last), "this is no fold of what pairs of elements give")),
    }
}

/// The aggregation of a binary operator and a monoid, such as the sum of products.
pub(crate) fn semiring(plus: Monoid, times: ijk_types::BinaryOp) -> (Fold, Formula) {
    let pair = Formula::binary(times, Formula::variable(0), Formula::variable(1));
    (Fold::Reduce(Reducer::Monoid(plus)), pair)
}

fn compile(text: &str) -> Result<Program, TextError> {
    let compiled = compile_source(text);
    let wrong = compiled.diagnostics.iter().any(|d| d.severity == Severity::Error);
    match compiled.program {
        Some(program) if !wrong => Ok(program),
        _ => Err(TextError::all(text, compiled.diagnostics)),
    }
}

/// The ranks of the inputs of a program without loops, and of its output.
fn ports(program: &Program) -> Option<(Vec<u32>, u32)> {
    if !program.loops.is_empty() {
        return None;
    }
    let rank = |id: &ArrayId| program.arrays[id.0 as usize].rank;
    let [output] = &program.outputs[..] else { return None };
    Some((program.inputs.iter().map(rank).collect::<Option<_>>()?, rank(output)?))
}

fn span(statement: &Statement) -> Span {
    Span::new(statement.span.start, statement.span.end)
}

/// Combines statements into one formula.
struct Inliner {
    nodes: Vec<FormulaNode>,
    /// For each array, the node of its element at the point.
    arrays: HashMap<ArrayId, u32>,
}

impl Inliner {
    fn new(program: &Program) -> Self {
        let nodes = (0..program.inputs.len()).map(FormulaNode::Variable).collect();
        let arrays = program.inputs.iter().zip(0..).map(|(&id, n)| (id, n)).collect();
        Self { nodes, arrays }
    }

    /// Appends the value of a statement at each point, if it reads elements at that point only, and its output has
    /// these axes.
    fn statement(&mut self, statement: &Statement, out: &[AxisId]) -> Option<()> {
        let axes: Vec<AxisId> = statement.out_index.iter().map_while(|e| e.as_axis()).collect();
        if axes != out || statement.out_index.len() != out.len() || !statement.guards.is_empty() {
            return None;
        }
        let mut places: Vec<u32> = Vec::with_capacity(statement.value.nodes.len());
        for node in &statement.value.nodes {
            let at = |n: ijk_ir::core::ScalarId| places[n.0 as usize];
            let node = match node {
                ScalarNode::Access(access) => {
                    places.push(self.element(access)?);
                    continue;
                }
                ScalarNode::Const(literal, _) => FormulaNode::Number(*literal),
                ScalarNode::Unary(op, x) => FormulaNode::Unary(*op, at(*x)),
                ScalarNode::Binary(op, x, y) => FormulaNode::Binary(*op, at(*x), at(*y)),
                ScalarNode::Select(c, x, y) => FormulaNode::Select(at(*c), at(*x), at(*y)),
                ScalarNode::Index(_) | ScalarNode::Extent(..) | ScalarNode::Random { .. } => {
                    return None;
                }
            };
            places.push(self.nodes.len() as u32);
            self.nodes.push(node);
        }
        self.arrays.insert(statement.out, *places.last()?);
        Some(())
    }

    /// The node of an element at the point.
    fn element(&self, access: &Access) -> Option<u32> {
        let own = access.index.iter().all(|e| e.as_axis() == Some(AxisId(0)));
        self.arrays.get(&access.array).copied().filter(|_| own)
    }

    fn formula(self, of: ArrayId) -> Option<Formula> {
        let value = *self.arrays.get(&of)? as usize;
        let mut nodes = self.nodes;
        nodes.truncate(value + 1);
        Some(Formula { nodes }.pruned())
    }
}
