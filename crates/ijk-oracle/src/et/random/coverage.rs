//! What random programs reached: productions, rows of the table of extents, rules, operators,
//! diagnostics.

use super::EtCase;
use super::print::function_name;
use crate::et::EtEvaluation;
use crate::et::harness::{EtAgreement, Solved};
#[cfg(test)]
use crate::et::harness::{compare, solve};
use crate::random::Coverage;
use ijk_ir::core::{ScalarNode, Statement as CoreStatement};
use ijk_ir::et::lower::Stage;
use ijk_syntax::ast::Number;
use ijk_syntax::et::ast::{
    Access, AssignOp, Bound, Index, IndexOp, Program, Quantity, Relation, Statement, Value, ValueOp,
};
use ijk_syntax::{Diagnostic, Function};
use ijk_types::{DType, UnaryOp};

/// Counts what a case reached on which all evaluations agree.
pub fn note(reached: &mut Coverage, case: &EtCase, agreement: &EtAgreement) {
    let mut notes = Notes { reached, tuples: Vec::new() };
    match agreement {
        EtAgreement::Syntax(diagnostics) => notes.wrong("syntax error", diagnostics),
        EtAgreement::IllFormed(diagnostics) => notes.wrong("ill-formed", diagnostics),
        EtAgreement::Unsolved(diagnostics) => notes.wrong("unsolved", diagnostics),
        EtAgreement::Refused(error, diagnostics) => {
            notes.wrong("refused", diagnostics);
            let text = format!("{error:?}");
            let variant = text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned();
            notes.count(format!("error: {variant}"));
        }
        EtAgreement::NoValue(error, solved) => {
            notes.count(format!("outcome: {error}"));
            notes.said(&solved.warnings);
            notes.operators(&solved.stages);
        }
        EtAgreement::Value(evaluation, solved) => {
            notes.count("outcome: value");
            notes.said(&solved.warnings);
            notes.value(case, evaluation, solved);
        }
    }
}

struct Notes<'a> {
    reached: &'a mut Coverage,
    /// Names of eintups.
    tuples: Vec<String>,
}

impl Notes<'_> {
    fn count(&mut self, feature: impl Into<String>) {
        self.reached.count(feature);
    }

    fn wrong(&mut self, outcome: &str, diagnostics: &[Diagnostic]) {
        self.count(format!("outcome: {outcome}"));
        self.said(diagnostics);
    }

    fn said(&mut self, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            match diagnostic.code {
                Some(code) => self.count(format!("diagnostic: {code}")),
                None => self.count("diagnostic without a code"),
            }
        }
    }

    fn value(&mut self, case: &EtCase, evaluation: &EtEvaluation, solved: &Solved) {
        self.tuples = solved.shapes.tuples.keys().cloned().collect();
        self.points(evaluation);
        self.shapes(solved);
        self.program(&solved.checked.program);
        self.text(&case.source);
        self.operators(&solved.stages);
        if solved.stages.len() > 1 {
            self.count("rule: an array sized by what another holds");
        }
        for (_, array) in evaluation.results() {
            self.count(format!("result: {}", array.dtype));
            self.count(format!("result of rank {}", array.shape.len().min(5)));
            if array.shape.contains(&0) {
                self.count("rule: an empty result");
            }
        }
        for name in case.bound.keys() {
            let drawn =
                solved.checked.program.statements.iter().any(|s| s.left.array.text == *name);
            self.count(if drawn { "rule: bound for RANDOM" } else { "rule: an input" });
        }
    }

    fn points(&mut self, evaluation: &EtEvaluation) {
        for &(points, skipped) in &evaluation.points {
            self.count(match points {
                0 => "points: none",
                1 => "points: one",
                2..=256 => "points: at most 256",
                257..=2500 => "points: at most 2500",
                _ => "points: more than 2500",
            });
            self.count(match skipped {
                0 => "rule: no point skipped",
                _ if skipped == points => "rule: every point skipped",
                _ => "rule: some points skipped",
            });
        }
    }

    fn shapes(&mut self, solved: &Solved) {
        let checked = &solved.checked;
        for (at, tuple) in checked.tuples.iter().enumerate() {
            let extents = &solved.shapes.tuples[&tuple.name];
            self.count(format!("rule: an eintup of rank {}", extents.len().min(4)));
            if extents.contains(&0) {
                self.count("rule: an extent of 0");
            }
            if extents.iter().any(|n| *n != extents[0]) {
                self.count("rule: extents that differ within an eintup");
            }
            if checked.tuples[..at].iter().any(|other| other.shape == tuple.shape) {
                self.count("rule: a shared shape");
            }
        }
    }

    fn text(&mut self, source: &str) {
        if source.contains('#') {
            self.count("production: comment");
        }
        let lines: Vec<&str> = source.lines().collect();
        let assigns = |line: &&str| line.contains("] =") || line.contains("]=");
        let blank = |w: &[&str]| w[1].is_empty() && assigns(&w[0]) && assigns(&w[2]);
        if lines.windows(3).any(blank) {
            self.count("production: blank line between statements");
        }
    }
}

// Productions.

impl Notes<'_> {
    fn program(&mut self, program: &Program) {
        let outputs = if program.outputs.is_empty() { "no outputs" } else { "outputs" };
        self.count(format!("production: {outputs}"));
        self.count(format!("production: {} statements", program.statements.len().min(4)));
        let mut known: Vec<(&str, usize)> = Vec::new();
        for (at, statement) in program.statements.iter().enumerate() {
            let name = &statement.left.array.text[..];
            let first = !known.iter().any(|(other, _)| *other == name);
            self.statement(statement, first);
            known.push((name, at));
        }
        for constraint in &program.constraints {
            let quantity = match constraint.quantity {
                Quantity::Rank => "RANK",
                Quantity::Dims => "DIMS",
            };
            match &constraint.relation {
                Relation::In(..) => self.count(format!("constraint: {quantity} IN")),
                Relation::Equals(bound) => {
                    self.count(format!("constraint: {quantity} ="));
                    self.bound(quantity, bound);
                }
            }
        }
    }

    fn bound(&mut self, quantity: &str, bound: &Bound) {
        let mut both = |x: &Bound, y: &Bound| {
            self.bound(quantity, x);
            self.bound(quantity, y);
        };
        let form = match bound {
            Bound::Integer(..) => "integer",
            Bound::Of(Quantity::Rank, ..) => "RANK",
            Bound::Of(Quantity::Dims, ..) => "DIMS",
            Bound::Min(x, y, _) => {
                both(x, y);
                "min"
            }
            Bound::Max(x, y, _) => {
                both(x, y);
                "max"
            }
            Bound::Sum(terms, _) => {
                terms.iter().for_each(|(_, term)| self.bound(quantity, term));
                if terms.iter().any(|term| term.0) { "-" } else { "+" }
            }
            Bound::Product(first, rest, _) => {
                self.bound(quantity, first);
                for (op, factor) in rest {
                    self.count(format!("constraint: {quantity} = … {}", symbol(*op)));
                    self.bound(quantity, factor);
                }
                return;
            }
        };
        self.count(format!("constraint: {quantity} = … {form}"));
    }

    fn statement(&mut self, statement: &Statement, first: bool) {
        let op = match statement.assign.op {
            AssignOp::Add => "+",
            AssignOp::Mul => "*",
            AssignOp::Max => "max",
            AssignOp::Min => "min",
            AssignOp::And => "and",
            AssignOp::Or => "or",
        };
        let form = if statement.assign.accumulate { format!("{op}=") } else { format!("={op}") };
        let when = if first { "first" } else { "again" };
        self.count(format!("assign: {form} {when}"));
        if statement.left.indices.is_empty() {
            self.count("rule: an array of rank 0");
        }
        for e in &statement.left.indices {
            self.index("left", e);
            if first {
                self.row("sized by", e);
            }
            if has_nested(e) {
                self.count("rule: scatter");
            }
        }
        let name = statement.left.array.text.clone();
        let whole = matches!(statement.value, Value::Random { .. });
        self.of_value(&statement.value, &name);
        self.variables(statement);
        if !whole && super::super::terms::sites(&statement.value) > 0 {
            self.count("rule: RANDOM within an expression");
        }
    }

    fn variables(&mut self, statement: &Statement) {
        let tuples = self.tuples.clone();
        let is_tuple = |name: &str| tuples.iter().any(|tuple| tuple == name);
        let all = super::super::variables::variables(statement, &is_tuple);
        let nothing = Value::Number(Number::Integer(0), statement.span);
        let left = Statement { value: nothing, ..statement.clone() };
        let left = super::super::variables::variables(&left, &is_tuple);
        let bare = Statement {
            left: Access { indices: Vec::new(), ..statement.left.clone() },
            ..statement.clone()
        };
        let right = super::super::variables::variables(&bare, &is_tuple);
        if all.is_empty() {
            self.count("rule: no variables");
        }
        if left.iter().any(|name| !right.contains(name)) {
            self.count("rule: broadcast");
        }
        if right.iter().any(|name| !left.contains(name)) {
            self.count("rule: marginalised");
        }
    }

    fn index(&mut self, place: &str, e: &Index) {
        let form = match e {
            Index::Integer(..) => "integer",
            Index::Tuple(_) => "eintup",
            Index::Dims(list, _) if list.len() > 1 => "DIMS of several",
            Index::Dims(..) => "DIMS",
            Index::Rank(..) => "RANK",
            Index::Star(_) => ":",
            Index::Flat(list, _) => {
                list.iter().for_each(|e| self.index("FLAT", e));
                "FLAT"
            }
            Index::Array(access) => {
                self.nested(place, access);
                "nested array"
            }
            Index::Sum(terms, _) => {
                terms.iter().for_each(|(_, term)| self.index("arithmetic", term));
                match &terms[..] {
                    [(true, _)] => "-e",
                    [(false, _)] => "+e",
                    _ if terms.iter().any(|term| term.0) => "difference",
                    _ => "sum",
                }
            }
            Index::Product(first, rest, _) => {
                self.index("arithmetic", first);
                for (op, factor) in rest {
                    self.index("arithmetic", factor);
                    self.count(format!("index: {}", symbol(*op)));
                    let negative = match factor {
                        Index::Integer(n, _) => *n < 0,
                        Index::Sum(terms, _) => matches!(terms[..], [(true, _)]),
                        _ => false,
                    };
                    if *op != IndexOp::Mul && negative {
                        self.count(format!("index: {} negative", symbol(*op)));
                    }
                }
                "product"
            }
        };
        self.count(format!("index: {form} in {place}"));
        if place != "arithmetic" {
            self.row("index", e);
        }
    }

    fn nested(&mut self, place: &str, access: &Access) {
        let last = access.indices.len().saturating_sub(1);
        let star = access.indices.iter().position(|e| matches!(e, Index::Star(_)));
        self.count(match star {
            None => "rule: nested without `:`",
            Some(_) if last == 0 => "rule: `:` alone",
            Some(0) => "rule: `:` first",
            Some(at) if at == last => "rule: `:` last",
            Some(_) => "rule: `:` in the middle",
        });
        if place == "nested" {
            self.count("rule: nested in each other");
        }
        access.indices.iter().for_each(|e| self.index("nested", e));
    }

    /// The row of the table of extents.
    fn row(&mut self, use_: &str, e: &Index) {
        let kind = |e: &Index| if is_static(e) { "static" } else { "e" };
        let row = match e {
            _ if is_static(e) => "any static".to_owned(),
            Index::Flat(..) => "FLAT".to_owned(),
            Index::Array(access) if access.indices.iter().any(|e| matches!(e, Index::Star(_))) => {
                "array[:]".to_owned()
            }
            Index::Sum(terms, _) => match &terms[..] {
                [(false, left), (minus, right)] => {
                    let sign = if *minus { "-" } else { "+" };
                    format!("{} {sign} {}", kind(left), kind(right))
                }
                _ => return,
            },
            Index::Product(left, rest, _) => match &rest[..] {
                [(op, right)] => format!("{} {} {}", kind(left), symbol(*op), kind(right)),
                _ => return,
            },
            _ => return,
        };
        self.count(format!("{use_}: row {row}"));
    }

    fn of_value(&mut self, value: &Value, left: &str) {
        let form = match value {
            Value::Number(Number::Integer(_), _) => "integer",
            Value::Number(Number::Float(x), _) if x.is_nan() => "NAN",
            Value::Number(Number::Float(f64::INFINITY), _) => "INF",
            Value::Number(Number::Float(std::f64::consts::PI), _) => "PI",
            Value::Number(Number::Float(_), _) => "fraction",
            Value::Element(access) => {
                access.indices.iter().for_each(|e| self.index("right", e));
                if access.indices.iter().any(has_nested) {
                    self.count("rule: gather");
                }
                if access.array.text == left {
                    self.count("rule: its own former version");
                }
                if self.tuples.contains(&access.array.text) { "component" } else { "element" }
            }
            Value::Tuple(_) => "position",
            Value::Dims { coord: None, .. } => "DIMS",
            Value::Dims { of, coord: Some(_), .. } if of.len() > 1 => "DIMS of several",
            Value::Dims { coord: Some(_), .. } => "DIMS with coordinate",
            Value::Rank(..) => "RANK",
            Value::Random { lo, hi, float, .. } => {
                self.of_value(lo, left);
                self.of_value(hi, left);
                if *float { "RANDOM FLOAT" } else { "RANDOM INT" }
            }
            Value::Call { function, args, .. } => {
                self.count(format!("function: {}", function_name(function.0, args.len())));
                args.iter().for_each(|arg| self.of_value(arg, left));
                "function"
            }
            Value::Sum(terms, _) => {
                terms.iter().for_each(|(_, term)| self.of_value(term, left));
                match &terms[..] {
                    [(true, _), ..] => "unary -",
                    _ if terms.iter().any(|term| term.0) => "-",
                    _ => "+",
                }
            }
            Value::Product(first, rest, _) => {
                self.of_value(first, left);
                for (op, factor) in rest {
                    self.of_value(factor, left);
                    self.count(match op {
                        ValueOp::Mul => "value: *",
                        ValueOp::Div => "value: /",
                        ValueOp::FloorDiv => "value: //",
                    });
                }
                return;
            }
        };
        self.count(format!("value: {form}"));
    }
}

fn symbol(op: IndexOp) -> &'static str {
    match op {
        IndexOp::Mul => "*",
        IndexOp::FloorDiv => "//",
        IndexOp::CeilDiv => "//^",
        IndexOp::Mod => "%",
    }
}

fn is_static(e: &Index) -> bool {
    match e {
        Index::Integer(..) | Index::Dims(..) | Index::Rank(..) => true,
        Index::Tuple(_) | Index::Flat(..) | Index::Array(_) | Index::Star(_) => false,
        Index::Sum(terms, _) => terms.iter().all(|(_, term)| is_static(term)),
        Index::Product(first, rest, _) => {
            is_static(first) && rest.iter().all(|(_, e)| is_static(e))
        }
    }
}

fn has_nested(e: &Index) -> bool {
    match e {
        Index::Array(_) => true,
        Index::Flat(list, _) => list.iter().any(has_nested),
        Index::Sum(terms, _) => terms.iter().any(|(_, term)| has_nested(term)),
        Index::Product(first, rest, _) => {
            has_nested(first) || rest.iter().any(|(_, e)| has_nested(e))
        }
        _ => false,
    }
}

// Operators by element type.

impl Notes<'_> {
    fn operators(&mut self, stages: &[Stage]) {
        for stage in stages {
            for statement in &stage.program.statements {
                self.core_statement(stage, statement);
            }
        }
    }

    fn core_statement(&mut self, stage: &Stage, statement: &CoreStatement) {
        let mut types: Vec<DType> = Vec::new();
        for node in &statement.value.nodes {
            let of = |id: &ijk_ir::core::ScalarId| types[id.0 as usize];
            let t = match node {
                ScalarNode::Access(access) => stage.instance.dtypes[access.array.0 as usize],
                ScalarNode::Const(_, t) => t.resolve(&[]),
                ScalarNode::Index(_) => DType::I64,
                ScalarNode::Unary(op, x) => {
                    self.count(format!("operator: {op:?}"));
                    op.result().of(of(x))
                }
                ScalarNode::Binary(op, x, _) => {
                    self.count(format!("operator: {op:?}"));
                    self.count(format!("operands: {}", of(x)));
                    op.result().of(of(x))
                }
                ScalarNode::Select(_, x, _) => {
                    self.count("operator: Where");
                    of(x)
                }
                ScalarNode::Random { lo, .. } => of(lo),
            };
            types.push(t);
        }
    }
}

/// What runs of well-formed programs must reach.
pub fn expected_of_et() -> Vec<String> {
    let mut all: Vec<String> = lines(FEATURES);
    for t in DType::ALL {
        all.push(format!("result: {t}"));
        all.push(format!("operands: {t}"));
    }
    for op in ["+", "*", "max", "min", "and", "or"] {
        for form in [format!("{op}="), format!("={op}")] {
            all.push(format!("assign: {form} first"));
            all.push(format!("assign: {form} again"));
        }
    }
    for function in Function::ALL {
        let operators = [Function::Add, Function::Mul, Function::Sub, Function::Div];
        let positions = [Function::Index, Function::ArgMax, Function::ArgMin];
        if !operators.contains(function) && !positions.contains(function) {
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
    for row in ROWS {
        all.push(format!("index: row {row}"));
        all.push(format!("sized by: row {row}"));
    }
    for place in ["left", "right", "nested", "arithmetic", "FLAT"] {
        let nothing = if place == "nested" { "" } else { ":" };
        for form in ["eintup", "DIMS", "FLAT", "nested array", "difference", "sum", "product", ":"]
        {
            let rare = matches!(
                (place, form),
                ("nested", "DIMS" | "FLAT") | ("FLAT", "DIMS" | "nested array")
            );
            if form != nothing && !rare && !(form == ":" && place != "nested") {
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
const ROWS: [&str; 15] = [
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
];

/// What runs of programs with mistakes must reach.
pub fn expected_of_et_mistakes() -> Vec<String> {
    let codes = [ijk_ir::et::codes::ALL, ijk_ir::et::lower::codes::ALL, ijk_syntax::et::codes::ALL];
    let codes = codes.concat().into_iter().map(|code| code.name()).chain(OF_BOTH);
    let codes = codes.filter(|&code| ELSEWHERE.iter().all(|(other, _)| *other != code));
    let mut all: Vec<String> = codes.map(|code| format!("diagnostic: {code}")).collect();
    all.sort();
    all.dedup();
    all.extend(
        ["syntax error", "ill-formed", "unsolved", "refused", "value"]
            .map(|outcome| format!("outcome: {outcome}")),
    );
    all
}

/// What the grammars of both languages complain of.
const OF_BOTH: [&str; 7] = [
    "more-errors",
    "not-closed",
    "not-whole",
    "number-range",
    "number-touched",
    "too-deep",
    "unexpected",
];

/// Diagnostics that no text of a random program has, and why, and where they are tested instead.
const ELSEWHERE: &[(&str, &str)] = &[(
    "extents-of-data",
    "told of framework calls, which these have none of: `ijk-ir/src/et/extent/tests.rs`",
)];

/// The codes of everything that is said of a case, each once.
#[cfg(test)]
pub(super) fn codes(case: &EtCase) -> Vec<&'static str> {
    let agreement = compare(case, &mut |case, checked| solve(case, checked, 40_000), &mut []);
    let said = match agreement {
        Ok(
            EtAgreement::Syntax(said)
            | EtAgreement::IllFormed(said)
            | EtAgreement::Unsolved(said)
            | EtAgreement::Refused(_, said),
        ) => said,
        Ok(EtAgreement::NoValue(_, solved) | EtAgreement::Value(_, solved)) => solved.warnings,
        Err(_) => return vec!["disagreement"],
    };
    said.iter().filter_map(|d| d.code).map(|code| code.name()).collect()
}

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
    production: outputs
    production: no outputs
    production: comment
    production: blank line between statements
    index: integer in right
    index: RANK in arithmetic
    index: integer in arithmetic
    index: -e in right
    index: *
    index: //
    index: //^
    index: %
    index: // negative
    index: //^ negative
    index: % negative
    result of rank 0
    result of rank 1
    result of rank 2
    result of rank 3
    result of rank 4
    result of rank 5
    rule: a shared shape
    rule: an array of rank 0
    rule: an array sized by what another holds
    rule: an eintup of rank 0
    rule: an eintup of rank 1
    rule: an eintup of rank 2
    rule: an eintup of rank 3
    rule: an empty result
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
    rule: nested without `:`
    rule: no point skipped
    rule: no variables
    rule: RANDOM within an expression
    rule: scatter
    rule: some points skipped
    rule: `:` alone
    rule: `:` first
    rule: `:` in the middle
    rule: `:` last
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
