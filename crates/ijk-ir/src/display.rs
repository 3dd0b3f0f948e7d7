//! Core IR as text.

use crate::core::{
    Access, ArrayId, Atom, Axis, IndexExpr, Init, Iteration, Pin, Program, ProgramItem, ScalarId,
    ScalarNode, Statement,
};
use crate::signature::{Signature, term_text};
use ijk_syntax::Function;
use ijk_types::{BinaryOp, Literal, Monoid, Order, Reducer, UnaryOp};
use std::fmt::{self, Write};

/// An index expression with the names of a domain's axes: `2i + k - 1`.
///
/// Axes that the domain lacks are written `?`.
pub fn index_text(e: &IndexExpr, domain: &[Axis]) -> String {
    index_text_by(e, &|n| domain.get(n).map_or("?", |axis| axis.name.as_str()))
}

/// An index expression with the names that `name` gives to axes.
pub fn index_text_by<'a>(e: &IndexExpr, name: &impl Fn(usize) -> &'a str) -> String {
    let mut text = String::new();
    for (coefficient, atom) in &e.terms {
        let sign = match (text.is_empty(), *coefficient < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        text.push_str(sign);
        if coefficient.unsigned_abs() != 1 {
            let _ = write!(text, "{}*", coefficient.unsigned_abs());
        }
        text.push_str(&atom_text(atom, name));
    }
    match (e.constant, text.is_empty()) {
        (0, false) => {}
        (n, true) => {
            let _ = write!(text, "{n}");
        }
        (n, false) => {
            let _ = write!(text, " {} {}", if n < 0 { '-' } else { '+' }, n.unsigned_abs());
        }
    }
    text
}

fn atom_text<'a>(atom: &Atom, name: &impl Fn(usize) -> &'a str) -> String {
    let (e, symbol, divisor) = match atom {
        Atom::Axis(axis) => return name(axis.0 as usize).to_string(),
        Atom::FloorDiv(e, divisor) => (e, '/', divisor),
        Atom::Mod(e, divisor) => (e, '%', divisor),
        Atom::Product(left, right) => {
            return format!("({})*({})", index_text_by(left, name), index_text_by(right, name));
        }
        Atom::Abs(e) => return format!("abs({})", index_text_by(e, name)),
        Atom::Max(left, right) => {
            return format!("max({}, {})", index_text_by(left, name), index_text_by(right, name));
        }
        Atom::Min(left, right) => {
            return format!("min({}, {})", index_text_by(left, name), index_text_by(right, name));
        }
        Atom::Element(access) => {
            let index: Vec<String> = access.index.iter().map(|e| index_text_by(e, name)).collect();
            return format!("array {}[{}]", access.array.0, index.join(", "));
        }
    };
    match e.as_axis() {
        Some(axis) => format!("({}{symbol}{divisor})", name(axis.0 as usize)),
        None => format!("(({}){symbol}{divisor})", index_text_by(e, name)),
    }
}

/// Spelling of a function of one operand.
pub fn unary_name(op: UnaryOp) -> String {
    match op {
        UnaryOp::Neg => "-".into(),
        UnaryOp::Recip => "/".into(),
        UnaryOp::Exp => "^".into(),
        UnaryOp::Ln => "$".into(),
        UnaryOp::Cast(t) => format!("@{t}"),
        other => format!("@{other:?}").to_lowercase(),
    }
}

/// Spelling of a function of two operands.
pub fn binary_name(op: BinaryOp) -> String {
    let function = match op {
        BinaryOp::Add => Function::Add,
        BinaryOp::Mul => Function::Mul,
        BinaryOp::Sub => Function::Sub,
        BinaryOp::Div => Function::Div,
        BinaryOp::Max => Function::Max,
        BinaryOp::Min => Function::Min,
        BinaryOp::Pow => Function::Pow,
        BinaryOp::Log => Function::Log,
        other => return format!("@{other:?}").to_lowercase(),
    };
    function.spelling().to_string()
}

/// A number as programs write it.
pub fn literal_text(literal: Literal) -> String {
    match literal {
        Literal::Integer(n) => n.to_string(),
        Literal::Float(x) if x.is_nan() => "@nan".into(),
        Literal::Float(x) if x == f64::INFINITY => "@inf".into(),
        Literal::Float(x) if x == f64::NEG_INFINITY => "-@inf".into(),
        Literal::Float(x) => format!("{x:?}"),
    }
}

/// Spelling of a monoid.
pub fn monoid_name(monoid: Monoid) -> String {
    binary_name(monoid.op())
}

fn reducer_name(reducer: Reducer) -> String {
    match reducer {
        Reducer::Monoid(monoid) => monoid_name(monoid),
        Reducer::ArgMax => "@argmax".into(),
        Reducer::ArgMin => "@argmin".into(),
        Reducer::Order(Order { descending, positions }) => match (descending, positions) {
            (false, false) => "@sort".into(),
            (false, true) => "@argsort".into(),
            (true, false) => "@topk".into(),
            (true, true) => "@argtopk".into(),
        },
    }
}

/// The name of an array: `in0` for inputs, `t3` for others.
pub fn array_name(program: &Program, id: ArrayId) -> String {
    match program.inputs.iter().position(|input| *input == id) {
        Some(n) => format!("in{n}"),
        None => format!("t{}", id.0),
    }
}

impl fmt::Display for Program {
    /// The text form: the signature, one line for each statement, the results.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = names(self);
        writeln!(f, "program {}", Signature::of(self))?;
        let mut depth = 1;
        for item in self.items() {
            match item {
                ProgramItem::Statement(n) => {
                    let text = statement_text(self, &self.statements[n], &names);
                    writeln!(f, "{:1$}{text}", "", 2 * depth)?;
                }
                ProgramItem::Begin(n) => {
                    let text = loop_text(self, &self.loops[n], &names);
                    writeln!(f, "{:1$}{text}", "", 2 * depth)?;
                    depth += 1;
                }
                ProgramItem::End(n) => {
                    let text = next_text(&self.loops[n], &names);
                    writeln!(f, "{:1$}{text}", "", 2 * depth)?;
                    depth -= 1;
                }
            }
        }
        let outputs: Vec<&str> = self.outputs.iter().map(|id| name(&names, *id)).collect();
        write!(f, "  return {}", outputs.join(", "))
    }
}

fn names(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = (0..program.arrays.len()).map(|n| format!("t{n}")).collect();
    for (n, id) in program.inputs.iter().enumerate() {
        if let Some(name) = names.get_mut(id.0 as usize) {
            *name = format!("in{n}");
        }
    }
    names
}

fn name(names: &[String], id: ArrayId) -> &str {
    names.get(id.0 as usize).map_or("?", String::as_str)
}

/// The header of a loop: `loop 10 of in1 as t2: t3 from in0`.
fn loop_text(program: &Program, own: &Iteration, names: &[String]) -> String {
    let mut text = String::from(if own.all { "scan" } else { "loop" });
    text.push_str(if own.descending { " back" } else { "" });
    text.push_str(&match own.passes {
        Some(Pin::Number(n, _)) => format!(" {n}"),
        Some(Pin::Name(n, _)) => {
            let name = program.extent_names.get(n as usize).map_or("?", String::as_str);
            format!(" {name}")
        }
        None => String::new(),
    });
    for swept in &own.swept {
        let _ = write!(text, " of {} as {}", name(names, swept.of), name(names, swept.row));
    }
    let states = own.states.iter();
    let states =
        states.map(|s| format!("{} from {}", name(names, s.current), name(names, s.before)));
    let _ = write!(text, ": {}", states.collect::<Vec<_>>().join(", "));
    text
}

/// The end of a loop: `next t5, giving t6`.
fn next_text(own: &Iteration, names: &[String]) -> String {
    let states = own.states.iter();
    let next: Vec<&str> = states.clone().map(|state| name(names, state.next)).collect();
    let results: Vec<&str> = states.map(|state| name(names, state.result)).collect();
    let until = own.until.map_or(String::new(), |id| format!(", until {}", name(names, id)));
    format!("next {}, giving {}{until}", next.join(", "), results.join(", "))
}

fn statement_text(program: &Program, statement: &Statement, names: &[String]) -> String {
    let mut text = String::new();
    let domain: Vec<String> = statement.domain.iter().map(|a| axis_text(program, a)).collect();
    let index: Vec<String> =
        statement.out_index.iter().map(|e| index_text(e, &statement.domain)).collect();
    let out = statement.out;
    let term = program.arrays.get(out.0 as usize).map_or("?".into(), |a| term_text(a.dtype));
    let _ = write!(text, "for {}{}: ", domain.join(" "), guards_text(statement));
    let _ = write!(text, "{}[{}]: {term} ", name(names, out), index.join(", "));
    match statement.init {
        Init::Zero => {}
        Init::Identity(monoid) => {
            let _ = write!(text, "from identity({}) ", monoid_name(monoid));
        }
        Init::From(id) => {
            let _ = write!(text, "from {} ", name(names, id));
        }
    }
    match statement.reduce {
        None => text.push_str("= "),
        Some(reducer) => {
            let _ = write!(text, "{}= ", reducer_name(reducer));
        }
    }
    text.push_str(&value_text(statement, names));
    text
}

/// The conditions on points: ` where 0 <= i - 1 < 4`.
fn guards_text(statement: &Statement) -> String {
    let mut text = String::new();
    for (n, (e, extent)) in statement.guards.iter().enumerate() {
        let joint = if n == 0 { " where" } else { "," };
        let _ = write!(text, "{joint} 0 <= {} < {extent}", index_text(e, &statement.domain));
    }
    text
}

fn axis_text(program: &Program, axis: &Axis) -> String {
    let mut text = axis.name.clone();
    for pin in &axis.pins {
        let _ = match pin {
            Pin::Number(n, _) => write!(text, "{{{n}}}"),
            Pin::Name(n, _) => {
                let name = program.extent_names.get(*n as usize).map_or("?", String::as_str);
                write!(text, "{{{name}}}")
            }
        };
    }
    text
}

/// Longest value written out; the rest is elided.
const MAX_VALUE: usize = 400;

fn value_text(statement: &Statement, names: &[String]) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(statement.value.nodes.len());
    for node in &statement.value.nodes {
        let operand = |id: &ScalarId| texts.get(id.0 as usize).map_or("?", String::as_str);
        let text = match node {
            ScalarNode::Access(access) => access_text(access, &statement.domain, names),
            ScalarNode::Const(literal, _) => literal_text(*literal),
            ScalarNode::Extent(axis, _) => {
                let name = statement.domain.get(axis.0 as usize).map_or("?", |axis| &axis.name);
                format!("{{{name}}}")
            }
            ScalarNode::Index(e) => format!("index({})", index_text(e, &statement.domain)),
            ScalarNode::Unary(op, x) => format!("{}({})", unary_name(*op), operand(x)),
            ScalarNode::Binary(op, x, y) => {
                format!("({} {} {})", operand(x), binary_name(*op), operand(y))
            }
            ScalarNode::Select(c, x, y) => {
                format!("@where({}, {}, {})", operand(c), operand(x), operand(y))
            }
            ScalarNode::Random { lo, hi, .. } => {
                format!("random({}, {})", operand(lo), operand(hi))
            }
        };
        texts.push(if text.len() > MAX_VALUE { "…".into() } else { text });
    }
    texts.pop().unwrap_or_default()
}

fn access_text(access: &Access, domain: &[Axis], names: &[String]) -> String {
    let index: Vec<String> = access.index.iter().map(|e| index_text(e, domain)).collect();
    format!("{}[{}]", name(names, access.array), index.join(", "))
}
