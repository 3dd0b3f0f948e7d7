//! Checks given extents against the constraints.

use super::checked::{Checked, Solution};
use super::ranks::Ranks;
use super::space::{Kind, Space, failed, name_of, rule_span};
use super::{ShapeId, codes};
use crate::text::quote;
use ijk_syntax::Diagnostic;

/// The solution, unless given extents contradict a constraint.
pub fn solution(
    checked: &Checked,
    ranks: &Ranks,
    solution: Solution,
    given: &[Option<Vec<u64>>],
) -> Result<Solution, Vec<Diagnostic>> {
    let space = Space::new(checked, ranks);
    let mut errors = Vec::new();
    for (shape, dims) in given.iter().enumerate() {
        let shape = ShapeId(shape as u32);
        if let Some(dims) = dims {
            errors.extend(contradiction(&space, &solution, shape, dims));
        }
    }
    if errors.is_empty() { Ok(solution) } else { Err(errors) }
}

fn contradiction(
    space: &Space<'_>,
    solution: &Solution,
    shape: ShapeId,
    dims: &[u64],
) -> Option<Diagnostic> {
    let checked = space.checked;
    let (span, name) = (rule_span(checked, shape), name_of(checked, shape));
    let text = quote(&checked.source, span, "the constraint");
    let flag = format!("--dims {name}={}", super::overrides::list(dims));
    match space.kinds[shape.0 as usize] {
        Kind::In(lo, hi) => {
            let outside = dims.iter().find(|n| !(lo..=hi).contains(n))?;
            let message = format!("`{flag}` is outside of {text}");
            Some(codes::BINDING_CONFLICT.error(span, message).with_label(format!("not {outside}")))
        }
        Kind::Open => None,
        Kind::Counted(extent, link) => {
            let message = format!("`{flag}`, but it counts the {extent} components of something");
            let error = codes::BINDING_CONFLICT.error(link.span, message);
            (dims != [extent]).then_some(error)
        }
        Kind::Equals(expr) => {
            let of = |s: ShapeId, c: usize| solution.dims[s.0 as usize].get(c).copied();
            let component =
                (0..dims.len()).find(|c| space.defined(expr, *c, &of) != Ok(dims[*c].into()))?;
            let value = space.defined(expr, component, &of);
            let terms = space.terms(shape, component, &of);
            let Ok(value) = value else { return Some(failed(checked, shape, value, &terms)) };
            let at = match &terms[..] {
                [] => String::new(),
                terms => format!(" where {}", terms.join(", ")),
            };
            let message = format!("`{flag}`, but {text} gives {value}{at}");
            Some(codes::BINDING_CONFLICT.error(span, message).with_label(format!("{value}")))
        }
    }
}
