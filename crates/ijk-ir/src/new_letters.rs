//! Letters that only an output has, and that no braces give an extent.

use crate::codes;
use crate::core::{AxisId, Program, ScalarNode, Statement};
use crate::text::slice;
use ijk_syntax::{Diagnostic, Span};

/// Warnings of letters that only an output has (i.md 1.6). Their extent is 1, which is meant in a program that is
/// written for shapes, and often a slip in one that is typed for an array at hand.
///
/// ```
/// let program = ijk_ir::compile_source("i~ik").program.unwrap();
/// assert_eq!(ijk_ir::new_letters(&program)[0].message, "only the output has the letter `k`: its extent is 1");
/// ```
pub fn new_letters(program: &Program) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for statement in &program.statements {
        for (n, axis) in statement.domain.iter().enumerate() {
            let known = !axis.dims.is_empty() || !axis.pins.is_empty();
            if !known && !is_read(statement, AxisId(n as u32)) {
                let message =
                    format!("only the output has the letter `{}`: its extent is 1", axis.name);
                let hint =
                    format!("give it another extent in braces, such as `{}{{3}}`", axis.name);
                let at = place(program, statement, &axis.name);
                warnings.push(codes::NEW_LETTER.warning(at, message).with_hint(hint));
            }
        }
    }
    warnings
}

fn is_read(statement: &Statement, axis: AxisId) -> bool {
    statement.value.nodes.iter().any(|node| match node {
        ScalarNode::Access(access) => access.index.iter().any(|e| e.mentions(axis)),
        ScalarNode::Index(e) => e.mentions(axis),
        _ => false,
    })
}

/// Place of a letter in the output of a statement.
fn place(program: &Program, statement: &Statement, letter: &str) -> Span {
    let whole: Span = statement.span.into();
    let text = slice(&program.source, whole);
    let output = text.rfind('~').unwrap_or(0);
    match text[output..].find(letter) {
        Some(offset) => {
            let start = whole.start + (output + offset) as u32;
            Span::new(start, start + letter.len() as u32)
        }
        None => whole,
    }
}
