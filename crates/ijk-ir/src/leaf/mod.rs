//! One index expression → a program of one statement.

mod arith;
mod elements;
mod extents;
pub mod functions;
mod letters;
mod order;
mod output;
mod value;

pub use elements::{LeafWhys, Verb, Why};
pub use functions::literal_types;
pub use letters::ExtentNames;

use crate::codes;
use crate::core::{
    Access, Array, ArrayId, AxisId, IndexExpr, Program, ScalarExpr, Statement, TypeTerm,
};
use crate::limits::MAX_RANK;
use crate::sink::Sink;
use arith::ArithLowering;
use elements::LeafTypes;
use ijk_syntax::ast::{self, Body, Compound, Operand, Position};
use ijk_syntax::{Function, Span};
use ijk_types::{DType, Literal, Reducer, TypeSet};
use letters::{LetterPlace, Letters};

/// An index expression as a program, and what determines its types.
#[derive(Clone, Debug)]
pub struct LoweredLeaf {
    /// Inputs are the index operands; the one output is what its one statement defines. Its
    /// `source` and `extent_names` are empty: names count in those of the whole text.
    pub program: Program,
    /// Causes of its types.
    pub whys: LeafWhys,
}

/// An operand, lowered.
enum Lowered {
    Access(Access),
    Number(Literal, Span),
    Extent(AxisId, Span),
}

/// The parts of an expression as it is meant: `(@tanh ij)` is `@tanh ij`.
struct Shape<'a> {
    outer: Option<(Function, Span)>,
    body: &'a Body,
    /// The indices and numbers of the body.
    operands: Vec<&'a Operand>,
}

impl<'a> Shape<'a> {
    fn of(expr: &'a ast::IndexExpr) -> Self {
        let operands = expr.body.operands();
        let (outer, body) = match (expr.outer, &expr.body) {
            (None, Body::Apply { function, symbol, operands }) if operands.len() == 1 => {
                (Some((*function, *symbol)), &operands[0])
            }
            (outer, body) => (outer, body),
        };
        Self { outer, body, operands }
    }

    /// The function that combines the operands last, below the outer one.
    fn inner(&self) -> Option<Function> {
        match self.body {
            Body::Operand(_) => None,
            Body::Apply { function, .. } => Some(*function),
        }
    }
}

/// Lowers an index expression. Where it returns one, inputs, outputs, ranks and types are usable
/// for checking the rest of the program even if errors were reported.
pub fn lower(
    expr: &ast::IndexExpr,
    source: &str,
    names: &mut ExtentNames,
    sink: &mut Sink,
) -> Option<LoweredLeaf> {
    let shape = Shape::of(expr);
    let arity_fits = check_arities(&shape, sink);
    if !shape.operands.iter().any(|o| matches!(o, Operand::Index(_))) {
        sink.reported_by_parser();
        return None;
    }
    let mut letters = Letters::new(names);
    let before = sink.errors();
    let (mut arrays, operands, out_index) = lower_indices(expr, &shape, source, &mut letters, sink);
    let errors = sink.errors();
    let reduce = match arity_fits {
        true => output::kind(expr, &shape, &letters, source, sink).flatten(),
        false => None,
    };
    if let Some(Reducer::Order(_)) = reduce {
        order::give_extent(&mut letters, sink);
    }
    if arity_fits && before == sink.errors() {
        output::check_kept(reduce, &out_index, &letters, sink);
    }
    let mut types = LeafTypes::new(source);
    let mut builder = value::LeafBuilder::new(&mut types, &operands, source, sink);
    let fits = arity_fits && errors == builder.sink.errors();
    let result = fits.then(|| {
        let value = builder.value(&shape, reduce.is_some());
        let (types, sink) = builder.types();
        output::reduced_type(reduce, &shape, value, types, sink)
    });
    let rank = Some(expr.output.positions.len() as u32);
    let (out, span) = (ArrayId(arrays.len() as u32), expr.span.into());
    arrays.push(Array { rank, dtype: TypeTerm::Var(0), span });
    let typed = result.map(|result| builder.finish(result)).filter(|_| !types.failed);
    let (value, set, whys) = match typed {
        Some((value, terms)) => {
            arrays.iter_mut().zip(&terms.arrays).for_each(|(array, term)| array.dtype = *term);
            (value, (terms.types, terms.same_real), terms.whys)
        }
        None => (ScalarExpr::default(), (vec![TypeSet::ALL], Vec::new()), any_types(&arrays)),
    };
    let init = output::init(reduce);
    let (domain, guards) = (letters.axes, Vec::new());
    let statement = Statement { out, domain, out_index, init, reduce, value, guards, span };
    Some(LoweredLeaf { program: program(arrays, statement, set), whys })
}

/// Causes after an error: none.
fn any_types(arrays: &[Array]) -> LeafWhys {
    let arrays: Vec<Why> = arrays.iter().map(|array| Why::any(array.span.into())).collect();
    LeafWhys { types: arrays[..1].to_vec(), arrays }
}

/// The program of one statement, all of whose other arrays are inputs.
fn program(
    arrays: Vec<Array>,
    statement: Statement,
    (types, same_real): (Vec<TypeSet>, Vec<(u32, u32)>),
) -> Program {
    Program {
        inputs: (0..statement.out.0).map(ArrayId).collect(),
        outputs: vec![statement.out],
        statements: vec![statement],
        types,
        same_real,
        arrays,
        ..Program::default()
    }
}

/// The arrays of the operands, the operands, and the output's index.
fn lower_indices(
    expr: &ast::IndexExpr,
    shape: &Shape,
    source: &str,
    letters: &mut Letters,
    sink: &mut Sink,
) -> (Vec<Array>, Vec<Lowered>, Vec<IndexExpr>) {
    let errors = sink.errors();
    let (arrays, mut operands) = lower_operands(&shape.operands, source, letters, sink);
    let out_index = lower_compound(&expr.output, None, source, letters, sink);
    for (operand, lowered) in shape.operands.iter().zip(&mut operands) {
        if let (Operand::Extent(letter, span), Lowered::Extent(axis, _)) = (operand, lowered) {
            *axis = letters.known(*letter, *span, sink);
        }
    }
    if sink.errors() == errors {
        extents::check(&operands, letters, sink);
    }
    (arrays, operands, out_index)
}

fn check_arities(shape: &Shape, sink: &mut Sink) -> bool {
    let outer = shape.outer.is_none_or(|(f, _)| check_arity(f, 1, sink));
    let mut inner = true;
    shape.body.for_each_function(&mut |f, span, operands| {
        let fits = check_arity(f, operands.len(), sink);
        inner &= fits && check_inner(f, operands.len(), span, sink);
    });
    outer && inner
}

fn check_arity(function: Function, given: usize, sink: &mut Sink) -> bool {
    let (least, most) = function.operands();
    let fits = (least..=most).contains(&given);
    if !fits {
        sink.reported_by_parser();
    }
    fits
}

fn check_inner(function: Function, given: usize, span: Span, sink: &mut Sink) -> bool {
    if given != 1 || functions::unary(function).is_some() {
        return true;
    }
    let name = function.spelling();
    let message = format!("`{name}` reduces, so it stands before the whole expression");
    sink.push(codes::REDUCER_INSIDE.error(span, message));
    false
}

fn lower_operands(
    operands: &[&Operand],
    source: &str,
    letters: &mut Letters,
    sink: &mut Sink,
) -> (Vec<Array>, Vec<Lowered>) {
    let mut arrays = Vec::new();
    let mut lowered = Vec::with_capacity(operands.len());
    for &operand in operands {
        lowered.push(match operand {
            Operand::Number(number, span) => Lowered::Number(literal(*number), *span),
            // Of a letter that is known once all indices have been read.
            Operand::Extent(_, span) => Lowered::Extent(AxisId(0), *span),
            Operand::Index(compound) => {
                let array = ArrayId(arrays.len() as u32);
                arrays.push(operand_array(compound));
                let index = lower_compound(compound, Some(array), source, letters, sink);
                Lowered::Access(Access { array, index, span: compound.span.into() })
            }
        });
    }
    (arrays, lowered)
}

fn literal(number: ast::Number) -> Literal {
    match number {
        ast::Number::Integer(n) => Literal::Integer(n),
        ast::Number::Float(x) => Literal::Float(x),
    }
}

fn operand_array(compound: &Compound) -> Array {
    let rank = Some(compound.positions.len() as u32);
    Array { rank, dtype: TypeTerm::Var(0), span: compound.span.into() }
}

/// The index expressions of a compound index; of an operand's, which array it indexes.
fn lower_compound(
    compound: &Compound,
    operand: Option<ArrayId>,
    source: &str,
    letters: &mut Letters,
    sink: &mut Sink,
) -> Vec<IndexExpr> {
    if compound.positions.len() > MAX_RANK {
        let rank = compound.positions.len();
        let message = format!("an index of {rank} positions: arrays have at most {MAX_RANK} axes");
        sink.push(codes::RANK_TOO_LARGE.error(compound.span, message));
    }
    let position = |(n, position): (usize, &Position)| match position {
        Position::Letter(letter) => {
            letters.place = match operand {
                Some(array) => LetterPlace::OperandAxis(array, n as u32),
                None => LetterPlace::Output,
            };
            IndexExpr::axis(letters.occurrence(letter, sink))
        }
        Position::Bracket(arith, span) => {
            letters.place = operand.map_or(LetterPlace::Output, |_| LetterPlace::OperandBracket);
            let mut lowering = ArithLowering { letters, sink, source };
            lowering.bracket(arith, *span).unwrap_or_default()
        }
    };
    compound.positions.iter().take(MAX_RANK).enumerate().map(position).collect()
}

/// Axis of a compound index that is a single letter.
fn lone_letter(access: &Access, letters_alone: bool) -> Option<AxisId> {
    match &access.index[..] {
        [e] if letters_alone => e.as_axis(),
        _ => None,
    }
}

/// The element type of positions.
const POSITION: DType = DType::I64;
