//! Loops of a checked program as text.

use super::checked::Checked;
use super::walk::{self, Event, Standing};
use crate::text::slice;
use ijk_syntax::et::ast::{Loop, Statement};
use std::fmt::{self, Formatter};

/// A line for each loop and each array that it assigns.
///
/// ```text
/// loops
///   LOOP t: a pass for each value of t, increasing
///     h[t,d]: a part in each pass
///     s[k]: carried from pass to pass
/// ```
pub(super) fn write(checked: &Checked, f: &mut Formatter<'_>) -> fmt::Result {
    let loops = &checked.program.loops;
    if loops.is_empty() {
        return Ok(());
    }
    writeln!(f, "loops")?;
    for (n, own) in loops.iter().enumerate() {
        let around = loops[..n].iter().filter(|l| is_inside(own, l)).count();
        let (indent, name) = (2 + 2 * around, &own.tuple.text);
        let (sign, order) = match own.descending {
            true => ("-", "decreasing"),
            false => ("", "increasing"),
        };
        write!(f, "{:indent$}LOOP {sign}{name}: a pass for each value of {name}, {order}", "")?;
        match &own.until {
            Some(condition) => {
                let text = slice(&checked.source, condition.span());
                writeln!(f, "; ends after one in which {text} is true")?;
            }
            None => writeln!(f)?,
        }
        write_arrays(checked, own, indent + 2, f)?;
    }
    Ok(())
}

fn is_inside(own: &Loop, other: &Loop) -> bool {
    other.body.start <= own.body.start && own.body.end <= other.body.end
}

/// The arrays that a loop assigns, by the first statement that does.
fn write_arrays(
    checked: &Checked,
    own: &Loop,
    indent: usize,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let mut seen: Vec<&str> = Vec::new();
    let statements = checked.program.statements.get(own.body.clone()).unwrap_or_default();
    for statement in statements {
        let name = &statement.left.array.text[..];
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let parts = statements.iter().filter(|s| s.left.array.text == name);
        let moves = parts.clone().any(|s| is_part(s, &own.tuple.text));
        let what = if moves { "a part in each pass" } else { "carried from pass to pass" };
        writeln!(f, "{:indent$}{}: {what}", "", slice(&checked.source, statement.left.span))?;
    }
    Ok(())
}

/// Returns true if a place on the left depends on an eintup.
fn is_part(statement: &Statement, tuple: &str) -> bool {
    let mut found = false;
    for index in &statement.left.indices {
        walk::index(index, Standing::Index, &mut |event| {
            if let Event::Name(name, Standing::Index) = event {
                found |= name.text == tuple;
            }
        });
    }
    found
}
