//! Features that runs must cover, derived from the defining tables if there are any.

use super::KINDS;
use ijk_syntax::Function;
use ijk_types::{BinaryOp, DType};

/// Features that programs with mistakes must cover: every kind of error and every diagnostic.
pub fn expected_of_mistakes() -> Vec<String> {
    let outcomes = ["ill-formed", "syntax error", "value", "beyond a limit, or unused"];
    let outcomes = outcomes.iter().map(|outcome| format!("outcome: {outcome}"));
    let kinds = KINDS.iter().map(|kind| format!("error: {kind}"));
    let codes = ijk_syntax::codes::ALL.iter().chain(ijk_ir::codes::ALL);
    let codes = codes.map(|code| code.name()).filter(|&code| ELSEWHERE.iter().all(|e| e.0 != code));
    outcomes.chain(kinds).chain(codes.map(|code| format!("diagnostic: {code}"))).collect()
}

/// Diagnostics that no random program has, the reason, and where they are tested instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("too-long", "takes a text of 4 GiB; its only test is the comparison of lengths in `parse`"),
    ("too-many-expressions", "takes megabytes: `ijk-syntax/tests/limits.rs`"),
    (
        "new-letter",
        "of `ijk eval` alone: the doc test of `ijk_ir::new_letters`, `ijk-cli/tests/cli.rs`",
    ),
    ("extent-too-large", "the grammar refuses the number: trees made by hand only"),
    ("unsolved", "names without extents are told first: a guard of the solver"),
    ("undetermined", "told as `brackets-only` when the program is compiled: a guard of the solver"),
];

/// Features that every run must cover.
pub fn expected() -> Vec<String> {
    let mut all: Vec<String> =
        FEATURES.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect();
    all.extend(Function::ALL.iter().flat_map(|&function| functions(function)));
    for op in ijk_types::UnaryOp::ALL {
        all.extend(op.accepts().iter().map(|t| format!("operator: {op:?} {t}")));
    }
    // i has no floored quotient of values.
    for op in ijk_types::BinaryOp::ALL.into_iter().filter(|op| *op != BinaryOp::FloorDiv) {
        all.extend(op.accepts().iter().map(|t| format!("operator: {op:?} {t}")));
    }
    for monoid in ijk_types::Monoid::ALL {
        all.extend(monoid.op().accepts().iter().map(|t| format!("reducer: {monoid:?} {t}")));
    }
    for t in DType::ALL {
        all.push(format!("operator: Where {t}"));
        all.push(format!("operator: no-op {t}"));
        if t != DType::Bool {
            all.push(format!("operator: extent {t}"));
        }
        if !t.is_complex() {
            all.push(format!("reducer: ArgMax {t}"));
            all.push(format!("reducer: ArgMin {t}"));
            for name in ["Sort", "ArgSort", "TopK", "ArgTopK"] {
                all.push(format!("reducer: {name} {t}"));
            }
        }
    }
    all
}

/// Allowed positions of a function.
fn functions(function: Function) -> Vec<String> {
    let name = function.spelling();
    let (least, most) = function.operands();
    let mut all = Vec::new();
    if least == 1 {
        all.push(format!("function: {name} before an operand"));
        if function != Function::Index {
            all.push(format!("function: {name} around a function"));
        }
    }
    if most > 1 {
        all.push(format!("function: {name} of {most}"));
    }
    all
}

const FEATURES: &str = "
    data: -0.0
    data: -infinity
    data: NaN
    data: infinity
    data: the greatest integer
    data: the least integer
    layout: C order
    layout: Fortran order
    layout: axes permuted
    layout: broadcast
    layout: gaps
    layout: one axis
    layout: reversed
    outcome: an integer to a negative power
    outcome: integer division by zero
    outcome: value
    points: at most 10000
    points: at most 256
    points: more than 10000
    points: none
    production: % in brackets in operand
    production: % in brackets in output
    production: * in brackets
    production: / in brackets in operand
    production: / in brackets in output
    production: `;`
    production: bare
    production: a function as an argument
    production: a function before another
    production: a function before one between
    production: a function before one operand of another
    production: a function in parentheses
    production: a function that binds tighter
    production: binding
    production: bracket in operand
    production: bracket in output
    production: chain
    production: chain as `>>`
    production: comment
    production: compose
    production: difference
    production: exponent
    production: extent of a letter
    production: extent of a letter of the output
    production: fan-out
    production: fold
    production: function called with commas
    production: function called with one operand
    production: function inside a function
    production: function of 2
    production: function of 3
    production: group on the right
    production: identity
    production: integer in brackets
    production: last binding is the value
    production: letter in brackets
    production: line break inside
    production: literal @e
    production: literal @inf
    production: literal @nan
    production: literal @pi
    production: literal fraction
    production: literal integer
    production: literal negative integer
    production: minus before a sum
    production: name
    production: name between operands
    production: operand
    production: operand of rank 0
    production: operand of rank 1
    production: operand of rank 2
    production: operand of rank 3
    production: operand of rank 4
    production: operand of rank 5
    production: outer function of 1
    production: outer function of 2
    production: outer function of 3
    production: outer operand
    production: output of rank 0
    production: output of rank 1
    production: output of rank 2
    production: output of rank 3
    production: output of rank 4
    production: output of rank 5
    production: output of rank 6
    production: pair
    production: plus before a literal
    production: repeat
    production: foldback
    production: scanback
    production: until
    production: rows of some inputs
    production: scan
    production: sign before a constant
    production: sum
    production: swap
    production: swap of a group
    production: symbol between operands
    production: {10} in a loop
    production: {10} in brackets
    production: {10} in operand
    production: {10} in output
    production: {n} in a loop
    production: {n} in brackets
    production: {n} in operand
    production: {n} in output
    result of rank 0
    result of rank 1
    result of rank 2
    result of rank 3
    result of rank 4
    result of rank 5
    results: 1
    results: 2
    results: 3
    results: 4
    rule: 0 letters dropped
    rule: 1 letters dropped
    rule: 2 letters dropped
    rule: 3 letters dropped
    rule: a bracket limits a divided letter
    rule: a bracket limits a negative letter
    rule: a name used before it is bound
    rule: a name used twice
    rule: an outer function maps a function
    rule: an outer function maps an operand
    rule: an outer function maps from its identity a function
    rule: an outer function maps from its identity an operand
    rule: an outer function reduces a function
    rule: an outer function reduces an operand
    rule: broadcast along a new letter
    rule: chain with inputs left over
    rule: compose with inputs left over
    rule: diagonal
    rule: elements that no point reaches are 0
    rule: elements that no point reaches are the identity
    rule: embedding on the diagonal
    rule: empty domain
    rule: extent 1
    rule: extent inferred from brackets
    rule: extent of a bracket's letter in braces
    rule: extents inferred in rounds
    rule: fan-out of different arities
    rule: identity of an empty reduction
    rule: map with division in an output's bracket
    rule: map with two letters in an output's bracket
    rule: one extent name in several expressions
    rule: operands of several types
    rule: pair of several inputs
    rule: reduction with division in an output's bracket
    rule: reduction with two letters in an output's bracket
    rule: several brackets limit a letter
    rule: several outputs feed
    rule: swap of several inputs
    rule: three indices or more
    rule: unsqueeze
";
