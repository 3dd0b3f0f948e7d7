//! Errors of arguments that do not fit.

use super::extents::{ExtentOrigin, NamedExtent};
use crate::codes;
use crate::core::{
    Access, ArrayId, Iteration, Pin, Program, ScalarId, ScalarNode, Statement, TypeTerm,
};
use crate::display::{binary_name, index_text, literal_text, monoid_name, unary_name};
use crate::interval::Interval;
use crate::text::{quote, slice};
use ijk_syntax::{Diagnostic, Span};
use ijk_types::{BinaryOp, DType, Literal, Reducer, TypeSet};

/// `argument 2`, `a row of argument 3`, `state 1`, or `` the result of `ij*i~ij` ``.
pub(super) fn array_text(program: &Program, id: ArrayId) -> String {
    if let Some(n) = program.inputs.iter().position(|input| *input == id) {
        return format!("argument {}", n + 1);
    }
    for own in &program.loops {
        if let Some(n) = own.states.iter().position(|state| state.current == id) {
            return format!("state {} of {}", n + 1, loop_text(program, own));
        }
        if let Some(swept) = own.swept.iter().find(|swept| swept.row == id) {
            return format!("a row of {}", array_text(program, swept.of));
        }
        if let Some(n) = own.states.iter().position(|state| state.result == id) {
            return format!("result {} of {}", n + 1, loop_text(program, own));
        }
    }
    let span = program.arrays[id.0 as usize].span.into();
    format!("the result of {}", quote(&program.source, span, "an expression"))
}

/// The loop as it stands in the source.
fn loop_text(program: &Program, own: &Iteration) -> String {
    quote(&program.source, own.span.into(), "the loop")
}

/// Numbers of passes that differ.
#[cold]
pub fn passes(
    program: &Program,
    own: &Iteration,
    first: &(u64, String),
    second: &(u64, String),
) -> Diagnostic {
    let message = format!(
        "{} has {} passes by {}, but {} by {}",
        loop_text(program, own),
        first.0,
        first.1,
        second.0,
        second.1
    );
    codes::LOOP_EXTENTS.error(own.span.into(), message)
}

/// A state whose next value has another shape.
#[cold]
pub fn state_shape(
    program: &Program,
    own: &Iteration,
    n: usize,
    (current, next): (&[u64], &[u64]),
) -> Diagnostic {
    let (before, after) = (own.states[n].current, own.states[n].next);
    let message = format!(
        "state {} of {} changes its shape: it is {}, and {} in the next pass",
        n + 1,
        loop_text(program, own),
        shape_text(current),
        shape_text(next)
    );
    let place = |id: ArrayId| program.arrays[id.0 as usize].span.into();
    codes::STATE_SHAPE
        .error(place(after), message)
        .with_label(format!("its next value: {}", shape_text(next)))
        .with_related(place(before), shape_text(current))
}

fn input_span(program: &Program, n: usize) -> Span {
    program.arrays[program.inputs[n].0 as usize].span.into()
}

/// The shape as programmers write it.
fn shape_text(shape: &[u64]) -> String {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("[{}]", extents.join(", "))
}

#[cold]
pub fn rank(program: &Program, n: usize, rank: u32, shape: &[u64]) -> Diagnostic {
    let span = input_span(program, n);
    let message = format!(
        "argument {} has rank {} (shape {}), but {} takes rank {rank}",
        n + 1,
        shape.len(),
        shape_text(shape),
        quote(&program.source, span, "the program")
    );
    codes::ARGUMENT_RANK.error(span, message).with_label(format!("rank {rank}"))
}

#[cold]
pub fn too_large(program: &Program, id: ArrayId, shape: &[u64]) -> Diagnostic {
    let what = array_text(program, id);
    let message = format!("{what} of shape {} is too large for memory", shape_text(shape));
    codes::ARRAY_TOO_LARGE.error(program.arrays[id.0 as usize].span.into(), message)
}

#[cold]
pub fn domain_too_large(statement: &Statement, extents: &[u64]) -> Diagnostic {
    let extents: Vec<String> = (statement.domain.iter().zip(extents))
        .map(|(axis, n)| format!("`{}` {n}", axis.name))
        .collect();
    let message = format!("the domain ({}) has too many points", extents.join(", "));
    codes::DOMAIN_TOO_LARGE.error(statement.span.into(), message)
}

#[cold]
pub fn wrong_type(program: &Program, n: usize, given: DType, wanted: DType) -> Diagnostic {
    let span = input_span(program, n);
    let message = format!("argument {} is {given}, but must be {wanted}", n + 1);
    let diagnostic = codes::ARGUMENT_TYPE.error(span, message).with_label(format!("{wanted}"));
    match (given, wanted) {
        (DType::C64 | DType::C128, _) => diagnostic,
        (_, t) if !t.is_complex() => diagnostic.with_hint(format!("cast it with `@{wanted}`")),
        _ => diagnostic,
    }
}

#[cold]
pub fn types_differ(program: &Program, a: (usize, DType), b: (usize, DType)) -> Diagnostic {
    let message = format!(
        "argument {} is {} but argument {} is {}: i never converts element types",
        a.0 + 1,
        a.1,
        b.0 + 1,
        b.1
    );
    let diagnostic = codes::TYPES_DIFFER
        .error(input_span(program, b.0), message)
        .with_label(format!("{}", b.1))
        .with_related(input_span(program, a.0), format!("{}", a.1));
    match a.1.is_complex() || b.1.is_complex() {
        true => diagnostic,
        false => diagnostic.with_hint(cast_hint(program, a, b)),
    }
}

/// Names the casts of two arguments that lose nothing, if there are any.
fn cast_hint(program: &Program, a: (usize, DType), b: (usize, DType)) -> String {
    let common = a.1.promoted(b.1);
    if !(is_held(a.1, common) && is_held(b.1, common)) {
        return format!("no type holds both; a cast such as `@{common}` may round");
    }
    let others = [a, b].into_iter().filter(|(_, t)| *t != common);
    let casts = others.map(|(n, _)| {
        let operand = slice(&program.source, input_span(program, n));
        format!("`@{common} {operand}`")
    });
    format!("{} loses nothing", casts.collect::<Vec<_>>().join(" with "))
}

/// Returns true if a type has every value of another.
fn is_held(t: DType, by: DType) -> bool {
    let digits = match by {
        DType::BF16 => 8,
        DType::F16 => 11,
        DType::F32 => 24,
        DType::F64 => 53,
        _ => 64,
    };
    let bits = 8 * t.size() as u32 - u32::from(t.is_integer() && !t.is_unsigned());
    !t.is_integer() || bits <= digits
}

#[cold]
pub fn type_not_accepted(program: &Program, n: usize, t: DType, variable: u32) -> Diagnostic {
    let set = program.types[variable as usize];
    let culprit = program.statements.iter().find_map(|s| rejected_by(program, s, variable, t));
    let whole = t.is_integer() || t == DType::Bool;
    let fits =
        [DType::F32, DType::F64].into_iter().find(|by| is_held(t, *by)).unwrap_or(DType::F64);
    let cast = (whole && set.contains(fits) && set.is_subset(TypeSet::INEXACT)).then(|| {
        let operand = slice(&program.source, input_span(program, n));
        format!("cast it: `@{fits} {operand}`")
    });
    let error = match culprit {
        Some((what, span)) => {
            let message = format!("argument {} is {t}, but {what}", n + 1);
            codes::TYPE_REJECTED
                .error(span, message)
                .with_related(input_span(program, n), format!("{t}"))
        }
        None => {
            let message = format!("argument {} is {t}, but must be one of {set}", n + 1);
            codes::TYPE_OUTSIDE.error(input_span(program, n), message)
        }
    };
    match cast {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// The operator or literal of a statement for which a variable's being `t` is impossible.
fn rejected_by(
    program: &Program,
    statement: &Statement,
    variable: u32,
    t: DType,
) -> Option<(String, Span)> {
    let resolve = |term: TypeTerm| match term {
        TypeTerm::Var(v) if v == variable => Some(t),
        TypeTerm::RealOf(v) if v == variable => Some(t.real()),
        TypeTerm::Fixed(t) => Some(t),
        _ => None,
    };
    let mut types: Vec<Option<DType>> = Vec::new();
    for (n, node) in statement.value.nodes.iter().enumerate() {
        let of = |id: &ScalarId| types[id.0 as usize];
        let known = match node {
            ScalarNode::Access(access) => resolve(program.arrays[access.array.0 as usize].dtype),
            ScalarNode::Const(_, term) | ScalarNode::Extent(_, term) => resolve(*term),
            ScalarNode::Index(_) => Some(DType::I64),
            ScalarNode::Unary(op, x) => of(x).map(|t| op.result().of(t)),
            ScalarNode::Binary(op, x, y) => of(x).or(of(y)).map(|t| op.result().of(t)),
            ScalarNode::Select(_, x, y) | ScalarNode::Random { lo: x, hi: y, .. } => {
                of(x).or(of(y))
            }
        };
        if let Some(what) = rejection(&statement.value.nodes, n, &types, known) {
            return Some((what, statement.span.into()));
        }
        types.push(known);
    }
    let Some(Reducer::Monoid(monoid)) = statement.reduce else { return None };
    let set = monoid.op().accepts();
    let value = types.last().copied().flatten()?;
    let what = format!("`{}` accepts {set}", monoid_name(monoid));
    (!set.contains(value)).then(|| (what, statement.span.into()))
}

/// An extent that its element type cannot hold.
#[cold]
pub fn extent_value(statement: &Statement, axis: usize, extent: u64, t: DType) -> Diagnostic {
    let name = &statement.domain[axis].name;
    let message = format!("the extent of letter `{name}` is {extent}, which is no value of {t}");
    let hint = "cast what it is combined with to a wider type, such as `@f64`";
    codes::EXTENT_VALUE.error(statement.span.into(), message).with_hint(hint)
}

/// Why a node cannot have operands of these types.
fn rejection(
    nodes: &[ScalarNode],
    n: usize,
    types: &[Option<DType>],
    own: Option<DType>,
) -> Option<String> {
    let of = |id: &ScalarId| types[id.0 as usize];
    match &nodes[n] {
        ScalarNode::Const(literal, _) => {
            let t = own.filter(|t| !crate::leaf::literal_types(*literal).contains(*t))?;
            Some(format!("`{}` is no value of {t}", literal_text(*literal)))
        }
        ScalarNode::Unary(op, x) => {
            of(x).filter(|t| !op.accepts().contains(*t))?;
            Some(format!("`{}` accepts {}", unary_name(*op), op.accepts()))
        }
        ScalarNode::Binary(op, x, y) => {
            let t = of(x).or(of(y))?;
            if !op.accepts().contains(t) {
                return Some(format!("`{}` accepts {}", binary_name(*op), op.accepts()));
            }
            let power = &nodes[y.0 as usize];
            let negative = matches!(power, ScalarNode::Const(Literal::Integer(..0), _));
            let rejected = *op == BinaryOp::Pow && t.is_integer() && negative;
            rejected.then(|| "a negative power of an integer is no integer".to_string())
        }
        _ => None,
    }
}

/// A letter with two extents.
pub struct Conflict<'a> {
    /// The letter.
    pub letter: &'a str,
    /// An extent and where it comes from.
    pub first: (u64, ExtentOrigin),
    /// Another one.
    pub second: (u64, ExtentOrigin),
    /// Extents of names in braces.
    pub names: &'a [Option<NamedExtent>],
}

impl Conflict<'_> {
    #[cold]
    pub fn diagnostic(&self, program: &Program) -> Diagnostic {
        let (first, second) = (self.first, self.second);
        let message = format!(
            "letter `{}` is {} {} but {} {}",
            self.letter,
            first.0,
            place(program, first.1),
            second.0,
            place(program, second.1)
        );
        let mut diagnostic = codes::LETTER_CONFLICT
            .error(span(second.1), message)
            .with_label(format!("{}", second.0))
            .with_related(span(first.1), format!("{}", first.0));
        for origin in [first.1, second.1] {
            if let ExtentOrigin::Pin(Pin::Name(name, own)) = origin
                && let Some(named) = self.names[name as usize]
                && named.place != own
            {
                let label =
                    format!("`{}` is {} here", program.extent_names[name as usize], named.extent);
                diagnostic = diagnostic.with_related(named.place.into(), label);
            }
        }
        diagnostic
    }
}

fn place(program: &Program, origin: ExtentOrigin) -> String {
    match origin {
        ExtentOrigin::Dim(dim) => {
            format!("on axis {} of {}", dim.axis, array_text(program, dim.array))
        }
        ExtentOrigin::Pin(Pin::Number(..)) => "in braces".into(),
        ExtentOrigin::Pin(Pin::Name(name, _)) => {
            format!("as `{}`", program.extent_names[name as usize])
        }
    }
}

fn span(origin: ExtentOrigin) -> Span {
    match origin {
        ExtentOrigin::Dim(dim) => dim.span.into(),
        ExtentOrigin::Pin(Pin::Number(_, span) | Pin::Name(_, span)) => span.into(),
    }
}

#[cold]
pub fn undetermined(statement: &Statement, axis: usize) -> Diagnostic {
    let name = &statement.domain[axis].name;
    let message = format!("the extent of letter `{name}` is not determined");
    codes::UNDETERMINED
        .error(statement.span.into(), message)
        .with_hint(format!("give its extent in braces: `{name}{{n}}`"))
}

#[cold]
pub fn unsolved(span: crate::core::Span) -> Diagnostic {
    let message = "the extents of this expression's letters are not determined";
    codes::UNSOLVED.error(span.into(), message)
}

#[cold]
pub fn unsolved_name(program: &Program, name: u32) -> Diagnostic {
    let axes = program.statements.iter().flat_map(|s| &s.domain);
    let passes = program.loops.iter().filter_map(|own| own.passes.as_ref());
    let place = axes.flat_map(|axis| &axis.pins).chain(passes).find_map(|pin| match pin {
        Pin::Name(n, span) if *n == name => Some(*span),
        _ => None,
    });
    undetermined_name(program, name, place.unwrap_or_default().into())
}

/// An extent name that stands on no letter of known extent.
#[cold]
pub fn undetermined_name(program: &Program, name: u32, span: Span) -> Diagnostic {
    let text = &program.extent_names[name as usize];
    codes::UNDETERMINED_NAME
        .error(span, format!("nothing determines the extent `{text}`"))
        .with_hint("a name in braces takes its extent from a letter that also indexes an argument")
}

#[cold]
pub fn out_of_bounds(
    program: &Program,
    statement: &Statement,
    access: &Access,
    axis: usize,
    range: Interval,
    extent: u64,
) -> Diagnostic {
    let index = index_text(&access.index[axis], &statement.domain);
    let message = format!(
        "index `{index}` ranges from {} to {}, but axis {axis} of {} has extent {extent}",
        range.least,
        range.greatest,
        array_text(program, access.array)
    );
    codes::OUT_OF_BOUNDS.error(access.span.into(), message).with_label("out of bounds")
}

#[cold]
pub fn negative_output(statement: &Statement, axis: usize, range: Interval) -> Diagnostic {
    let index = index_text(&statement.out_index[axis], &statement.domain);
    let message = format!(
        "output index `{index}` on axis {axis} reaches {}: it must not be negative",
        range.least
    );
    codes::NEGATIVE_OUTPUT.error(statement.span.into(), message)
}

#[cold]
pub fn huge_output(statement: &Statement, axis: usize, range: Interval) -> Diagnostic {
    let index = index_text(&statement.out_index[axis], &statement.domain);
    let message =
        format!("output index `{index}` on axis {axis} reaches {}: too large", range.greatest);
    codes::HUGE_OUTPUT.error(statement.span.into(), message)
}

#[cold]
pub fn empty_position(statement: &Statement, axis: usize) -> Diagnostic {
    let name = &statement.domain[axis].name;
    let which = match statement.reduce {
        Some(Reducer::ArgMin) => "least",
        _ => "greatest",
    };
    let message = format!("letter `{name}` has extent 0: no position is that of the {which} value");
    codes::EMPTY_POSITION.error(statement.span.into(), message)
}

/// An order with more places than values.
#[cold]
pub fn order_places(statement: &Statement, axis: usize, extents: &[u64]) -> Diagnostic {
    let (values, places) = (&statement.domain[axis], extents.len() - 1);
    let (of, at) = (&values.name, &statement.domain[places].name);
    let (most, count) = (extents[axis], extents[places]);
    let message = format!(
        "letter `{at}` counts {count} places of an order of the {most} values along `{of}`"
    );
    let place = |axis: &crate::core::Axis| {
        let pin = axis.pins.iter().map(|pin| match pin {
            Pin::Number(_, span) | Pin::Name(_, span) => *span,
        });
        pin.chain(axis.dims.iter().map(|dim| dim.span)).next()
    };
    let span = place(&statement.domain[places]).unwrap_or(statement.span);
    let error = codes::ORDER_PLACES.error(span.into(), message).with_label(count.to_string());
    match place(values) {
        Some(span) => error.with_related(span.into(), most.to_string()),
        None => error,
    }
}

#[cold]
pub fn stores_meet(program: &Program, statement: &Statement, a: &[i64], b: &[i64]) -> Diagnostic {
    let names: Vec<&str> = statement.domain.iter().map(|axis| axis.name.as_str()).collect();
    let at: Vec<String> = statement.out_index.iter().map(|e| e.eval(b).to_string()).collect();
    let message = format!(
        "points ({}) = ({}) and ({}) fall on one output element, ({})",
        names.join(", "),
        numbers(a),
        numbers(b),
        at.join(", ")
    );
    offer_fold(program, statement, codes::STORES_MEET.error(statement.span.into(), message))
}

#[cold]
pub fn stores_untold(program: &Program, statement: &Statement) -> Diagnostic {
    let message = "it cannot be told whether points fall on distinct output elements";
    offer_fold(program, statement, codes::STORES_UNTOLD.error(statement.span.into(), message))
}

fn offer_fold(program: &Program, statement: &Statement, diagnostic: Diagnostic) -> Diagnostic {
    let text = crate::text::slice(&program.source, statement.span.into());
    match text.rsplit_once('~') {
        Some((body, output)) if body.len() <= 80 => {
            let fix = format!("+({})~{output}", body.trim());
            diagnostic.with_hint(format!("to sum such points, write `{fix}`"))
        }
        _ => diagnostic.with_hint("to sum such points, write `+(…)~…`"),
    }
}

fn numbers(point: &[i64]) -> String {
    let texts: Vec<String> = point.iter().map(i64::to_string).collect();
    texts.join(", ")
}
