//! Features that runs must cover, derived from the defining tables if there are any.

use crate::generate::et::print::{along_name, function_name};
use ijk_syntax::Function;
use ijk_syntax::et::ast::IndexFunction;
use ijk_types::{DType, UnaryOp};

/// Features that runs of well-formed programs must cover.
pub fn expected_of_et() -> Vec<String> {
    let mut all: Vec<String> = lines(FEATURES);
    for t in DType::ALL {
        all.push(format!("result: {t}"));
        all.push(format!("operands: {t}"));
    }
    for op in ["+", "*", "max", "min", "and", "or", "logaddexp"] {
        for form in [format!("{op}="), format!("={op}")] {
            all.push(format!("assign: {form} first"));
            all.push(format!("assign: {form} again"));
        }
    }
    for function in Function::ALL {
        let operators = [Function::Add, Function::Mul, Function::Sub, Function::Div];
        if function.is_along() && *function != Function::Index {
            all.push(format!("along: {}", along_name(*function)));
        }
        if !operators.contains(function) && !function.is_along() {
            all.push(format!("function: {}", function_name(*function, function.operands().1)));
        }
    }
    all.push("function: EXP".into());
    let written = |op: &&UnaryOp| !matches!(op, UnaryOp::Recip);
    all.extend(UnaryOp::ALL.iter().filter(written).map(|op| format!("operator: {op:?}")));
    let written = |op: &&ijk_types::BinaryOp| !matches!(op, ijk_types::BinaryOp::Log);
    let binary = ijk_types::BinaryOp::ALL;
    all.extend(binary.iter().filter(written).map(|op| format!("operator: {op:?}")));
    for quantity in ["RANK", "DIMS"] {
        all.push(format!("constraint: {quantity} IN"));
        all.push(format!("constraint: {quantity} ="));
        for form in ["integer", "RANK", "min", "max", "+", "-", "*", "//", "//^", "%"] {
            all.push(format!("constraint: {quantity} = … {form}"));
        }
    }
    all.push("constraint: DIMS = … DIMS".into());
    for function in IndexFunction::ALL.map(IndexFunction::name) {
        all.push(format!("index: {function} of an element"));
        all.extend(["left", "right"].map(|place| format!("index: {function} in {place}")));
    }
    for row in ROWS {
        all.push(format!("index: row {row}"));
        all.push(format!("sized by: row {row}"));
    }
    for place in ["left", "right", "nested", "arithmetic", "FLAT"] {
        let nothing = if place == "nested" { "" } else { ":" };
        for form in [
            "eintup",
            "DIMS",
            "FLAT",
            "nested array",
            "difference",
            "sum",
            "product",
            ":",
            "a function",
        ] {
            if form != nothing && !(form == ":" && place != "nested") {
                all.push(format!("index: {form} in {place}"));
            }
        }
    }
    all
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Rows of the table of extents.
const ROWS: [&str; 18] = [
    "e + static",
    "e - static",
    "e * static",
    "e // static",
    "e //^ static",
    "e % static",
    "e + e",
    "e - e",
    "e * e",
    "static + e",
    "static - e",
    "static * e",
    "any static",
    "FLAT",
    "array[:]",
    "ABS",
    "MAX",
    "MIN",
];

/// Features that runs of programs with mistakes must cover.
pub fn expected_of_et_mistakes() -> Vec<String> {
    let codes = [ijk_ir::et::codes::ALL, ijk_ir::et::lower::codes::ALL, ijk_syntax::et::codes::ALL];
    let codes = codes.concat().into_iter().map(|code| code.name()).chain(OF_BOTH);
    let codes = codes.filter(|&code| ELSEWHERE.iter().all(|(other, _)| *other != code));
    let mut all: Vec<String> = codes.map(|code| format!("diagnostic: {code}")).collect();
    all.sort();
    all.dedup();
    all.push("outcome: RANDOM needs finite bounds, the lower less than the upper".into());
    all.extend(
        ["syntax error", "ill-formed", "unsolved", "refused", "value"]
            .map(|outcome| format!("outcome: {outcome}")),
    );
    all
}

/// Diagnostics of the grammars of both languages.
const OF_BOTH: [&str; 7] = [
    "more-errors",
    "not-closed",
    "not-whole",
    "number-range",
    "number-touched",
    "too-deep",
    "unexpected",
];

/// Diagnostics that no random program has, the reason, and where they are tested instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("argument-is-tuple", "told of names that arrays are given by: `tests/suite/et/check/bind.et`"),
    (
        "extents-of-data",
        "told of framework calls when they are made: `ijk-ir/src/et/extent/tests.rs`",
    ),
    ("too-many-points", "told of cases of verifications: `tests/suite/et/check/bind.et`"),
];

const FEATURES: &str = "
    outcome: value
    outcome: integer division by zero
    points: none
    points: one
    points: at most 256
    points: at most 2500
    points: more than 2500
    production: 1 statements
    production: 2 statements
    production: 3 statements
    production: 4 statements
    production: INPUT
    production: INPUT with a type
    production: outputs
    production: no outputs
    production: comment
    production: framework call
    production: outputs on lines
    production: outputs with commas
    production: blank line between statements
    loop: increasing
    loop: decreasing
    loop: outermost
    loop: in a loop
    loop: UNTIL
    loop: a slice for each pass
    loop: state, or computed positions
    loop: a recurrence
    loop of rows
    loop of rows: decreasing
    loop of rows: many
    loop of rows: packed
    loop of rows: in place
    loop of rows: state
    loop of rows: the pass before
    loop of rows: passes further apart
    index: integer in right
    index: RANK in arithmetic
    index: integer in arithmetic
    index: -e in right
    index: *
    index: //
    index: //^
    index: %
    index: // of a difference
    index: //^ of a difference
    index: % of a difference
    index: a function of a function
    index: nested array in DIMS
    index: RANK in left
    index: RANK in right
    index: integer in left
    index: RANK of several in arithmetic
    index: // negative
    index: //^ negative
    index: % negative
    result of rank 0
    result of rank 1
    result of rank 2
    result of rank 3
    result of rank 4
    result of rank 5
    rule: INT becomes FLOAT
    rule: RANDOM in bounds of RANDOM
    rule: DIMS in bounds of RANDOM
    rule: bounds of RANDOM differ by point
    rule: `:` of 0 components
    rule: `:` of 1 components
    rule: `:` of 2 components
    rule: `:` of 3 components
    rule: a constraint before one that it uses
    rule: a default rank of 1
    rule: a later value is padded
    rule: a later value is trimmed
    rule: a default rank that yields to a bound array
    rule: a rank decided by a bound array
    rule: bound extents outside of a range
    rule: a shared shape
    rule: an eintup of rank 9
    rule: an extent clamped at 0
    rule: an index reads the former version
    rule: an integer with several components
    rule: batched gather
    rule: batched scatter
    rule: extents given with the program
    rule: extents that nothing says
    rule: only inside DIMS or RANK
    rule: points of a scatter apart
    rule: points of a scatter meet
    rule: ranks equal at one place
    rule: ranks equal in one constraint
    rule: ranks equal in one index expression
    rule: ranks given with the program
    rule: an array of rank 0
    rule: an array sized by what another holds
    rule: an eintup of rank 0
    rule: an eintup of rank 1
    rule: an eintup of rank 2
    rule: an eintup of rank 3
    rule: an element that makes no difference
    rule: an empty result
    rule: an extent in bounds of arithmetic
    rule: an extent in bounds of shifts
    rule: an extent of 0
    rule: an input
    rule: bound for RANDOM
    rule: broadcast
    rule: every point skipped
    rule: extents that differ within an eintup
    rule: gather
    rule: its own former version
    rule: marginalised
    rule: nested in each other
    rule: nested without `:` in left
    rule: nested without `:` in right
    rule: no point skipped
    rule: no variables
    rule: RANDOM within an expression
    rule: scatter
    rule: some points skipped
    rule: `:` alone in left
    rule: `:` alone in right
    rule: `:` first in left
    rule: `:` first in right
    rule: `:` in the middle in left
    rule: `:` in the middle in right
    rule: `:` last in left
    rule: `:` last in right
    value: *
    value: +
    value: -
    value: /
    value: //
    value: component
    value: DIMS
    value: DIMS of several
    value: DIMS with coordinate
    value: element
    value: fraction
    value: INF
    value: integer
    value: NAN
    value: PI
    value: position
    value: RANDOM FLOAT
    value: RANDOM INT
    value: RANK
    value: unary -
";
