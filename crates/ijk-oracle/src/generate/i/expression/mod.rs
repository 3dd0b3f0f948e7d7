//! Random index expressions for given arguments.

mod body;
mod brackets;
mod letters;
mod nested;
mod operands;
mod output;

pub(super) use body::accepts;

use super::Rng;
use super::build::{apply, compound, expression};
pub(crate) use crate::reference::surface::Array;
use crate::reference::surface::{Form, Names, Signature, first_signature, map_type, pointwise};
use ijk_syntax::Function;
use ijk_syntax::ast::{Body, IndexExpr, Operand};
use ijk_types::DType;

/// State that all expressions of a program share.
#[derive(Clone, Debug)]
pub(crate) struct ProgramScope {
    /// Names in braces with known extents.
    pub names: Names,
    /// Names that an output uses before an array determines them.
    pub wanted: Names,
    /// Most points of a domain.
    pub most_points: usize,
}

/// A well-formed expression with its input and output arrays.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub expression: IndexExpr,
    pub inputs: Vec<Array>,
    pub output: Array,
}

/// A random expression with `inputs` inputs, the first of which are given.
pub(crate) fn draft(
    rng: &mut Rng,
    scope: &mut ProgramScope,
    given: &[Array],
    inputs: usize,
) -> Option<Draft> {
    (0..12)
        .find_map(|_| Drafter::new(rng, scope, &given[..given.len().min(inputs)], inputs).draft())
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// Alone at an axis, or in braces: the extent is known.
    Known(usize),
    /// Brackets determine it.
    Bracketed,
}

struct Drafter<'a> {
    rng: &'a mut Rng,
    scope: &'a mut ProgramScope,
    given: &'a [Array],
    inputs: usize,
    letters: Vec<(char, Source)>,
    /// Names to which this draft gives extents.
    names: Names,
    wanted: Names,
}

impl<'a> Drafter<'a> {
    fn new(
        rng: &'a mut Rng,
        scope: &'a mut ProgramScope,
        given: &'a [Array],
        inputs: usize,
    ) -> Self {
        let (names, wanted) = (scope.names.clone(), scope.wanted.clone());
        Self { rng, scope, given, inputs, letters: Vec::new(), names, wanted }
    }

    fn draft(mut self) -> Option<Draft> {
        if self.rng.chance(0.25) {
            return self.nested_draft();
        }
        let (types, body) = self.shape_of_body()?;
        let (operands, inputs) = self.operands(&types);
        let (function, operands) = body.fill(operands);
        let value = value_type(function, &types, &operands)?;
        let operands: Vec<Body> = operands.into_iter().map(Body::Operand).collect();
        let body = match function {
            Some(function) => apply(function, operands),
            None => operands.into_iter().next()?,
        };
        self.with_output(function, value, body, inputs)
    }

    /// A draft whose body nests functions.
    fn nested_draft(mut self) -> Option<Draft> {
        let types = self.types_of_nested();
        let (operands, inputs) = self.operands(&types);
        let leaves = operands.into_iter().map(Body::Operand).zip(types).collect();
        let (body, value) = self.nested(leaves)?;
        let function = match &body {
            Body::Apply { function, .. } => Some(*function),
            Body::Operand(_) => None,
        };
        self.with_output(function, value, body, inputs)
    }

    /// Adds a function around a body, and the output.
    fn with_output(
        mut self,
        function: Option<Function>,
        value: DType,
        body: Body,
        inputs: Vec<Array>,
    ) -> Option<Draft> {
        let (outer, output) = self.outer_and_output(function, value, &body)?;
        let (outer, body) = normal(outer, body);
        let expression = expression(outer, body, compound(output));
        self.finish(expression, inputs)
    }

    /// Checks the draft and determines its output.
    fn finish(self, expression: IndexExpr, inputs: Vec<Array>) -> Option<Draft> {
        let form = Form::of(&expression).ok()?;
        let mut names = self.names.clone();
        names.extend(self.wanted.clone());
        let Signature { dtype, shape, domain, .. } =
            first_signature(&form, &inputs, &mut names).ok()?;
        let most = self.scope.most_points;
        let fits = |extents: &[usize]| {
            let product = extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
            product.is_some_and(|points| points <= most)
        };
        // An empty domain may still have large arguments.
        if !fits(&domain) || !fits(&shape) || inputs.iter().any(|(_, shape)| !fits(shape)) {
            return None;
        }
        self.scope.names = self.names;
        self.scope.wanted = self.wanted;
        Some(Draft { expression, inputs, output: (dtype, shape) })
    }
}

/// The element type of the body.
fn value_type(function: Option<Function>, types: &[DType], operands: &[Operand]) -> Option<DType> {
    match function {
        None => Some(types[0]),
        Some(Function::Index) => Some(DType::I64),
        Some(Function::Where) => {
            let condition = matches!(operands[0], Operand::Index(_));
            Some(types[usize::from(condition)])
        }
        Some(function) => {
            let all = vec![types[0]; operands.len()];
            map_type(pointwise(function, operands.len())?, &all).ok()
        }
    }
}

/// The tree that the parser returns: a function of one operand with no other function before it is outside.
fn normal(outer: Option<Function>, body: Body) -> (Option<Function>, Body) {
    match (outer, body) {
        (None, Body::Apply { function, mut operands, .. }) if operands.len() == 1 => {
            (Some(function), operands.remove(0))
        }
        other => other,
    }
}
