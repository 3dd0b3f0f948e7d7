//! Letters whose extents can be derived, decided before any extent is known.

use super::Lowered;
use super::letters::Letters;
use crate::codes;
use crate::core::{Atom, AxisId, IndexExpr};
use crate::sink::Sink;

/// Reports letters that occur only inside brackets of operands and are not determined there.
pub fn check(operands: &[Lowered], letters: &Letters, sink: &mut Sink) {
    let mut known: Vec<bool> =
        letters.axes.iter().map(|a| !a.dims.is_empty() || !a.pins.is_empty()).collect();
    for (axis, uses) in letters.uses.iter().enumerate() {
        known[axis] |= !uses.in_operand;
    }
    let brackets = brackets(operands);
    while determine_round(&brackets, &mut known) {}
    for (axis, uses) in letters.uses.iter().enumerate() {
        if !known[axis] {
            let name = &letters.axes[axis].name;
            let message = format!("the extent of letter `{name}` is not determined");
            let text = format!("{name}{{n}}");
            sink.push(
                codes::BRACKETS_ONLY
                    .error(uses.first, message)
                    .with_label("occurs in brackets only")
                    .with_fix(format!("give its extent in braces: `{text}`"), uses.first, text),
            );
        }
    }
}

fn brackets(operands: &[Lowered]) -> Vec<&IndexExpr> {
    let accesses = operands.iter().filter_map(|operand| match operand {
        Lowered::Access(access) => Some(access),
        Lowered::Number(..) | Lowered::Extent(..) => None,
    });
    accesses.flat_map(|access| &access.index).collect()
}

fn determine_round(brackets: &[&IndexExpr], known: &mut [bool]) -> bool {
    let found: Vec<AxisId> = brackets.iter().filter_map(|e| determined(e, known)).collect();
    for axis in &found {
        known[axis.0 as usize] = true;
    }
    !found.is_empty()
}

/// The one unknown axis of a bracket, if its bounds limit it: it occurs once, under no remainder.
fn determined(e: &IndexExpr, known: &[bool]) -> Option<AxisId> {
    let mut unknown = None;
    let mut several = false;
    e.for_each_axis(&mut |axis| {
        if !known[axis.0 as usize] {
            several |= unknown.replace(axis).is_some();
        }
    });
    let axis = unknown.filter(|_| !several)?;
    reaches(e, axis).then_some(axis)
}

fn reaches(e: &IndexExpr, axis: AxisId) -> bool {
    e.terms.iter().any(|(_, atom)| match atom {
        Atom::Axis(own) => *own == axis,
        Atom::FloorDiv(inner, _) => reaches(inner, axis),
        Atom::Mod(..) | Atom::Product(..) | Atom::Element(_) => false,
        Atom::Abs(_) | Atom::Max(..) | Atom::Min(..) => false,
    })
}
