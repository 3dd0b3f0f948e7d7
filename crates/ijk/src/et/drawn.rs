//! Random arrays in place of declared inputs, on which verifications run.

use super::Program;
use crate::Error;
use ijk_ir::et::declared_type;
use ijk_syntax::ast::Number;
use ijk_syntax::et::ast::{Statement, Value, ValueFunction};
use ijk_syntax::{Function, Span};
use ijk_types::DType;

/// Integers are less than this, and not negative: they may be of any type, and stand in indices.
const INTEGERS: i64 = 10;

impl Program {
    /// The program with a random array for each input that it declares: integers in `[0, 10)` if its type or its use in
    /// indices wants these, true and false, or numbers in `[-1, 1)`. Complex inputs stay.
    ///
    /// # Errors
    /// As of [`parse`](Self::parse).
    ///
    /// ```
    /// let program = ijk::et("INPUT x[i]: F32\ny[i] = 2 * x[i]\n\ny\n\nDIMS(i) = 4")?;
    /// assert_eq!(program.with_drawn_inputs()?.run(())?["y"].shape(), [4]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn with_drawn_inputs(&self) -> Result<Self, Error> {
        let checked = self.checked();
        let mut tree = checked.program.clone();
        for statement in &mut tree.statements {
            let array = checked.array(&statement.left.array.text);
            let in_indices = array.is_some_and(|array| self.inner.in_indices.contains(&array));
            if statement.declared.is_some()
                && let Some(value) = drawn(statement, in_indices)
            {
                statement.value = value;
                statement.declared = None;
            }
        }
        Self::checked_from(self.source(), tree, Vec::new())
    }
}

/// A random value of the declared type.
fn drawn(statement: &Statement, in_indices: bool) -> Option<Value> {
    let span = statement.span;
    let default = if in_indices { DType::I64 } else { DType::F64 };
    let wanted = declared_type(statement).unwrap_or(default);
    let (value, of) = match wanted {
        DType::Bool => (random((0, 2), false, span), DType::I64),
        t if t.is_integer() => (random((0, INTEGERS), false, span), DType::I64),
        t if t.is_complex() => return None,
        _ => (random((-1, 1), true, span), DType::F64),
    };
    if wanted == of {
        return Some(value);
    }
    let spelling = format!("@{}", wanted.name());
    let cast = Function::ALL.iter().find(|function| function.spelling() == spelling)?;
    Some(Value::Call { function: ValueFunction(*cast), name: span, args: vec![value], span })
}

fn random((lo, hi): (i64, i64), float: bool, span: Span) -> Value {
    let bound = |n: i64| Box::new(Value::Number(Number::Integer(n), span));
    Value::Random { lo: bound(lo), hi: bound(hi), float, span }
}
