//! Programs as text: with only the necessary parentheses, and occasional comments and blank lines.

use crate::generate::Rng;
use ijk_syntax::Function;
use ijk_syntax::ast::Number;
use ijk_syntax::et::ast::{
    Access, Assign, AssignOp, Bound, Constraint, Index, IndexOp, Loop, Name, Program, Quantity,
    Relation, Value, ValueOp,
};
use std::fmt::Write;

/// The text of a program. With an `rng`, it has occasional comments and blank lines.
pub fn print_et(program: &Program, mut rng: Option<&mut Rng>) -> String {
    let mut text = String::new();
    for (at, statement) in program.statements.iter().enumerate() {
        decorate(&mut text, &mut rng);
        let mut depth = 0;
        for around in program.loops_around(at) {
            if around.body.start == at {
                writeln!(text, "{:depth$}{}", "", header(around)).expect("to a string");
            }
            depth += 2;
        }
        if let Some(declared) = &statement.declared {
            let element = declared.element.as_ref().map_or("", |name| &name.text);
            let colon = if element.is_empty() { "" } else { ": " };
            writeln!(text, "INPUT {}{colon}{element}", access(&statement.left))
                .expect("to a string");
            continue;
        }
        let (left, value) = (access(&statement.left), value(&statement.value, 0));
        let symbol = symbol(statement.assign);
        writeln!(text, "{:depth$}{left} {symbol} {value}", "").expect("to a string");
    }
    if let Some(call) = &program.call {
        writeln!(text, "\n{call}").expect("to a string");
    }
    if !program.outputs.is_empty() {
        let one_line = rng.as_mut().is_none_or(|rng| rng.chance(0.5));
        text.push('\n');
        let names: Vec<&str> = program.outputs.iter().map(|name| &name.text[..]).collect();
        text.push_str(&names.join(if one_line { ", " } else { "\n" }));
        text.push('\n');
    }
    if !program.constraints.is_empty() {
        text.push('\n');
    }
    for constraint in &program.constraints {
        decorate(&mut text, &mut rng);
        writeln!(text, "{}", one_constraint(constraint)).expect("to a string");
    }
    text
}

fn header(around: &Loop) -> String {
    let sign = if around.descending { "-" } else { "" };
    let until = around.until.as_ref().map(|condition| format!(" UNTIL {}", value(condition, 0)));
    format!("LOOP {sign}{}{}", around.tuple.text, until.unwrap_or_default())
}

fn decorate(text: &mut String, rng: &mut Option<&mut Rng>) {
    let Some(rng) = rng else { return };
    if rng.chance(0.05) {
        text.push_str("# a comment\n");
    }
    if rng.chance(0.05) && !text.is_empty() {
        text.push('\n');
    }
}

/// Spelling of an operator before or after `=`.
pub(crate) fn spelled(op: AssignOp) -> &'static str {
    match op {
        AssignOp::Add => "+",
        AssignOp::Mul => "*",
        AssignOp::Max => "max",
        AssignOp::LogAddExp => "logaddexp",
        AssignOp::Min => "min",
        AssignOp::And => "and",
        AssignOp::Or => "or",
    }
}

fn symbol(assign: Assign) -> String {
    let op = spelled(assign.op);
    match assign.accumulate {
        true => format!("{op}="),
        false if assign.op == AssignOp::Add => "=".to_owned(),
        false => format!("={op}"),
    }
}

fn access(access: &Access) -> String {
    format!("{}[{}]", access.array.text, list(&access.indices))
}

fn list(indices: &[Index]) -> String {
    indices.iter().map(|e| index(e, SUM)).collect::<Vec<_>>().join(", ")
}

/// Precedence required at the position of an expression: those of lower precedence are parenthesised.
type Level = u8;
const SUM: Level = 0;
const PRODUCT: Level = 1;
const ATOM: Level = 2;

fn parenthesised(text: String, own: Level, place: Level) -> String {
    if own < place { format!("({text})") } else { text }
}

fn terms<T>(terms: &[(bool, T)], print: impl Fn(&T, Level) -> String) -> String {
    let mut text = String::new();
    for (at, (negated, term)) in terms.iter().enumerate() {
        let sign = match (at, negated) {
            (0, true) => "-",
            (0, false) if terms.len() == 1 => "+",
            (0, false) => "",
            (_, true) => " - ",
            (_, false) => " + ",
        };
        text.push_str(sign);
        // A sign of its own binds tighter than a product, and is part of a following number.
        let signed = at == 0 && !sign.is_empty();
        let printed = print(term, if signed { ATOM } else { PRODUCT });
        let number = signed && printed.starts_with(|c: char| c.is_ascii_digit());
        text.push_str(&if number { format!("({printed})") } else { printed });
    }
    text
}

fn factors<T, O: Copy>(
    first: &T,
    rest: &[(O, T)],
    print: impl Fn(&T, Level) -> String,
    op: impl Fn(O) -> &'static str,
) -> String {
    let mut text = print(first, ATOM);
    for (o, factor) in rest {
        write!(text, " {} {}", op(*o), print(factor, ATOM)).expect("to a string");
    }
    text
}

fn index_op(op: IndexOp) -> &'static str {
    match op {
        IndexOp::Mul => "*",
        IndexOp::FloorDiv => "//",
        IndexOp::CeilDiv => "//^",
        IndexOp::Mod => "%",
    }
}

pub(crate) fn index(e: &Index, place: Level) -> String {
    match e {
        Index::Integer(n, _) => n.to_string(),
        Index::Tuple(name) => name.text.clone(),
        Index::Dims(of, _) => format!("DIMS({})", list(of)),
        Index::Rank(of, _) => format!("RANK({})", list(of)),
        Index::Flat(of, _) => format!("FLAT({})", list(of)),
        Index::Call(function, of, _) => format!("{}({})", function.name(), list(of)),
        Index::Array(nested) => access(nested),
        Index::Star(_) => ":".to_owned(),
        Index::Sum(list, _) => parenthesised(terms(list, index), SUM, place),
        Index::Product(first, rest, _) => {
            parenthesised(factors(first.as_ref(), rest, index, index_op), PRODUCT, place)
        }
    }
}

fn value_op(op: ValueOp) -> &'static str {
    match op {
        ValueOp::Mul => "*",
        ValueOp::Div => "/",
        ValueOp::FloorDiv => "//",
    }
}

fn value(v: &Value, place: Level) -> String {
    match v {
        Value::Number(n, _) => number(*n),
        Value::Element(element) => access(element),
        Value::Tuple(name) => name.text.clone(),
        Value::Dims { of, coord: None, .. } => format!("DIMS({})", list(of)),
        Value::Dims { of, coord: Some(coord), .. } => {
            format!("DIMS({})[{}]", list(of), index(coord, SUM))
        }
        Value::Rank(of, _) => format!("RANK({})", list(of)),
        Value::Random { lo, hi, float, .. } => {
            let kind = if *float { "FLOAT" } else { "INT" };
            format!("RANDOM({}, {}, {kind})", value(lo, SUM), value(hi, SUM))
        }
        Value::Call { function, args, .. } => {
            let spelled: Vec<String> = args.iter().map(|arg| value(arg, SUM)).collect();
            format!("{}({})", function_name(function.0, args.len()), spelled.join(", "))
        }
        Value::Along(along) => {
            let end =
                along.place.iter().map(|e| format!(", {}", index(e, SUM))).collect::<String>();
            let name = along_name(along.function);
            format!("{name}({}, {}{end})", value(&along.of, SUM), along.tuple.text)
        }
        Value::Sum(list, _) => parenthesised(terms(list, value), SUM, place),
        Value::Product(first, rest, _) => {
            parenthesised(factors(first.as_ref(), rest, value, value_op), PRODUCT, place)
        }
    }
}

fn number(n: Number) -> String {
    match n {
        Number::Integer(n) => n.to_string(),
        Number::Float(x) if x.is_nan() => "NAN".to_owned(),
        Number::Float(f64::INFINITY) => "INF".to_owned(),
        Number::Float(std::f64::consts::PI) => "PI".to_owned(),
        Number::Float(x) => format!("{x:?}"),
    }
}

/// The name of a function in capitals.
pub(crate) fn function_name(function: Function, operands: usize) -> String {
    let name = match (function, operands) {
        (Function::Pow, 1) => "EXP",
        (Function::Pow, _) => "POW",
        (Function::Log, _) => "LOG",
        (Function::Max, _) => "MAX",
        (Function::Min, _) => "MIN",
        _ => function.spelling(),
    };
    name.trim_start_matches('@').to_uppercase()
}

/// The name of a function of all values along an eintup.
pub(crate) fn along_name(function: Function) -> String {
    function_name(function, 1)
}

fn quantity(quantity: Quantity, tuple: &Name) -> String {
    let word = if quantity == Quantity::Rank { "RANK" } else { "DIMS" };
    format!("{word}({})", tuple.text)
}

fn one_constraint(constraint: &Constraint) -> String {
    let left = quantity(constraint.quantity, &constraint.tuple);
    match &constraint.relation {
        Relation::In((lo, _), (hi, _)) => format!("{left} IN [{lo}, {hi}]"),
        Relation::Equals(right) => format!("{left} = {}", bound(right, SUM)),
    }
}

fn bound(b: &Bound, place: Level) -> String {
    match b {
        Bound::Integer(n, _) => n.to_string(),
        Bound::Of(what, tuple, _) => quantity(*what, tuple),
        Bound::Min(x, y, _) => format!("min({}, {})", bound(x, SUM), bound(y, SUM)),
        Bound::Max(x, y, _) => format!("max({}, {})", bound(x, SUM), bound(y, SUM)),
        Bound::Sum(list, _) => parenthesised(terms(list, bound), SUM, place),
        Bound::Product(first, rest, _) => {
            parenthesised(factors(first.as_ref(), rest, bound, index_op), PRODUCT, place)
        }
    }
}
