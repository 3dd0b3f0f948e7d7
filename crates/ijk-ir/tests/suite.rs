//! Runs the cases of `tests/suite/check`.
//!
//! Perhaps with a line `# given f32[2,3] f32[3]`, the types and shapes of arguments. Expected are
//! the program's signature and the types and shapes of its results, or each diagnostic with its
//! place.

use crate::cases::describe;
use ijk_ir::{Signature, compile_source, instantiate};
use ijk_types::DType;
use std::fmt::Write;

#[test]
fn check_cases() {
    crate::cases::check("check", outcome);
}

/// Diagnostics of a program and its arguments.
fn outcome(source: &str) -> String {
    let compiled = compile_source(source);
    let mut lines = String::new();
    if let Some(program) = &compiled.program {
        writeln!(lines, "# => {}", Signature::of(program)).expect("text");
        for given in source.lines().filter_map(|l| l.strip_prefix("# given")) {
            let arguments: Vec<(DType, Vec<u64>)> =
                given.replace(", ", ",").split_whitespace().map(argument).collect();
            let slices: Vec<(DType, &[u64])> =
                arguments.iter().map(|(t, s)| (*t, &s[..])).collect();
            match instantiate(program, &slices) {
                Ok(instance) => {
                    let of = |id: &ijk_ir::core::ArrayId| {
                        let n = id.0 as usize;
                        format!("{}{:?}", instance.dtypes[n], instance.shapes[n])
                    };
                    let results: Vec<String> = program.outputs.iter().map(of).collect();
                    writeln!(lines, "# => {}", results.join(", ")).expect("text");
                }
                Err(errors) => errors.iter().for_each(|e| describe(source, e, &mut lines)),
            }
        }
    }
    compiled.diagnostics.iter().for_each(|d| describe(source, d, &mut lines));
    lines
}

/// `f32[2,3]`.
fn argument(text: &str) -> (DType, Vec<u64>) {
    let (dtype, shape) = text.split_once('[').expect("a type and a shape");
    let extents = shape.trim_end_matches(']').split(',').filter(|n| !n.is_empty());
    let shape = extents.map(|n| n.parse().expect("an extent")).collect();
    (DType::from_name(dtype).expect("an element type"), shape)
}
