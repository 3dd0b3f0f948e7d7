//! From surface trees back to program text.

use super::ast::{
    Access, Assign, AssignOp, Bound, Call, CallArg, Constraint, Declared, Index, IndexOp, Loop,
    Program, Quantity, Relation, Statement, Value, ValueOp,
};
use super::tree::{Form, Tree};
use super::words;
use crate::ast::{Name, Number};
use std::fmt::{self, Display, Formatter};

/// The program's text: one item a line, an empty line between sections. It parses back to the same
/// tree, if the tree could come from a text.
impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        for (at, statement) in self.statements.iter().enumerate() {
            let mut depth = 0;
            for around in self.loops_around(at) {
                if around.body.start == at {
                    writeln!(f, "{:depth$}{around}", "")?;
                }
                depth += 4;
            }
            writeln!(f, "{:depth$}{statement}", "")?;
            gap = "\n";
        }
        if let Some(call) = &self.call {
            writeln!(f, "{gap}{call}")?;
            gap = "\n";
        }
        if !self.outputs.is_empty() {
            write!(f, "{gap}")?;
            write_list(f, &self.outputs)?;
            writeln!(f)?;
            gap = "\n";
        }
        for constraint in &self.constraints {
            writeln!(f, "{gap}{constraint}")?;
            gap = "";
        }
        Ok(())
    }
}

/// Things as a list, with commas.
fn write_list(f: &mut Formatter<'_>, items: &[impl Display]) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(n, item)| {
        f.write_str(if n == 0 { "" } else { ", " })?;
        item.fmt(f)
    })
}

/// `word(item, …)`.
fn write_call(f: &mut Formatter<'_>, word: &str, items: &[impl Display]) -> fmt::Result {
    write!(f, "{word}(")?;
    write_list(f, items)?;
    f.write_str(")")
}

/// The header.
impl Display for Loop {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.descending { "-" } else { "" };
        write!(f, "LOOP {sign}{}", self.tuple)?;
        self.until.iter().try_for_each(|condition| write!(f, " UNTIL {condition}"))
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.declared {
            None => write!(f, "{} {} {}", self.left, self.assign, self.value),
            Some(Declared { element: None }) => write!(f, "INPUT {}", self.left),
            Some(Declared { element: Some(name) }) => {
                write!(f, "INPUT {}: {}", self.left, name.text)
            }
        }
    }
}

impl Display for Assign {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.op, self.accumulate) {
            (AssignOp::Add, false) => "=",
            (AssignOp::Add, true) => "+=",
            (AssignOp::Mul, false) => "=*",
            (AssignOp::Mul, true) => "*=",
            (AssignOp::Max, false) => "=max",
            (AssignOp::Max, true) => "max=",
            (AssignOp::Min, false) => "=min",
            (AssignOp::Min, true) => "min=",
            (AssignOp::And, false) => "=and",
            (AssignOp::And, true) => "and=",
            (AssignOp::Or, false) => "=or",
            (AssignOp::Or, true) => "or=",
            (AssignOp::LogAddExp, false) => "=logaddexp",
            (AssignOp::LogAddExp, true) => "logaddexp=",
        })
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.array)?;
        write_list(f, &self.indices)?;
        f.write_str("]")
    }
}

impl Display for IndexOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mul => "*",
            Self::FloorDiv => "//",
            Self::CeilDiv => "//^",
            Self::Mod => "%",
        })
    }
}

impl Display for ValueOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mul => "*",
            Self::Div => "/",
            Self::FloorDiv => "//",
        })
    }
}

/// A tree whose leaves can be written.
trait Written: Tree {
    /// Writes what is neither a sum nor a product.
    fn write_leaf(&self, f: &mut Formatter<'_>) -> fmt::Result;

    /// Returns true for a number without a sign. A sign before it would be read as part of the number.
    fn is_unsigned_number(&self) -> bool;
}

fn write_tree<T: Written<Op: Display>>(f: &mut Formatter<'_>, tree: &T) -> fmt::Result {
    match tree.form() {
        Form::Other => tree.write_leaf(f),
        Form::Sum([(negated, term)]) => write_signed(f, *negated, term),
        Form::Sum(terms) => terms.iter().enumerate().try_for_each(|(n, (negated, term))| {
            match (n, negated) {
                (0, true) => return write_signed(f, true, term),
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            let inner = matches!(term.form(), Form::Sum([_, _, ..]));
            write_in(f, term, inner)
        }),
        Form::Product(first, factors) => {
            write_in(f, first, !is_factor(first))?;
            factors.iter().try_for_each(|(op, factor)| {
                write!(f, " {op} ")?;
                write_in(f, factor, !is_factor(factor))
            })
        }
    }
}

/// `-term` or `+term`.
fn write_signed<T: Written<Op: Display>>(
    f: &mut Formatter<'_>,
    negated: bool,
    term: &T,
) -> fmt::Result {
    f.write_str(if negated { "-" } else { "+" })?;
    write_in(f, term, !is_factor(term) || term.is_unsigned_number())
}

fn write_in<T: Written<Op: Display>>(
    f: &mut Formatter<'_>,
    tree: &T,
    parentheses: bool,
) -> fmt::Result {
    f.write_str(if parentheses { "(" } else { "" })?;
    write_tree(f, tree)?;
    f.write_str(if parentheses { ")" } else { "" })
}

/// Returns true if the tree needs no parentheses in a product or behind a sign.
fn is_factor<T: Tree>(tree: &T) -> bool {
    matches!(tree.form(), Form::Other | Form::Sum([_]))
}

macro_rules! display_trees {
    ($($tree:ident),*) => {$(
        impl Display for $tree {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                write_tree(f, self)
            }
        }
    )*};
}

display_trees!(Index, Value, Bound, CallArg);

impl Written for Index {
    fn write_leaf(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value, _) => value.fmt(f),
            Self::Tuple(name) => name.fmt(f),
            Self::Dims(of, _) => write_call(f, "DIMS", of),
            Self::Rank(of, _) => write_call(f, "RANK", of),
            Self::Flat(of, _) => write_call(f, "FLAT", of),
            Self::Call(function, of, _) => write_call(f, function.name(), of),
            Self::Array(access) => access.fmt(f),
            Self::Star(_) => f.write_str(":"),
            Self::Sum(..) | Self::Product(..) => Ok(()),
        }
    }

    fn is_unsigned_number(&self) -> bool {
        matches!(self, Self::Integer(0.., _))
    }
}

impl Written for Value {
    fn write_leaf(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number, _) => write_number(f, *number),
            Self::Element(access) => access.fmt(f),
            Self::Tuple(name) => name.fmt(f),
            Self::Dims { of, coord, .. } => {
                write_call(f, "DIMS", of)?;
                coord.iter().try_for_each(|coord| write!(f, "[{coord}]"))
            }
            Self::Rank(of, _) => write_call(f, "RANK", of),
            Self::Random { lo, hi, float, .. } => {
                write!(f, "RANDOM({lo}, {hi}, {})", if *float { "FLOAT" } else { "INT" })
            }
            Self::Call { function, args, .. } => {
                write_call(f, &words::spelling(*function, args.len()), args)
            }
            Self::Along(along) => {
                let name = words::along_name(along.function);
                write!(f, "{name}({}, {}", along.of, along.tuple)?;
                along.place.iter().try_for_each(|place| write!(f, ", {place}"))?;
                f.write_str(")")
            }
            Self::Sum(..) | Self::Product(..) => Ok(()),
        }
    }

    fn is_unsigned_number(&self) -> bool {
        match self {
            Self::Number(Number::Integer(value), _) => *value >= 0,
            Self::Number(Number::Float(value), _) => {
                value.is_sign_positive() && constant_name(*value).is_none()
            }
            _ => false,
        }
    }
}

/// The name of a constant.
fn constant_name(value: f64) -> Option<&'static str> {
    let is = |c: f64| c.to_bits() == value.to_bits();
    words::CONSTANTS.iter().find(|(_, c)| is(*c)).map(|(name, _)| *name)
}

fn write_number(f: &mut Formatter<'_>, number: Number) -> fmt::Result {
    match number {
        Number::Integer(value) => value.fmt(f),
        Number::Float(value) => match constant_name(value) {
            Some(name) => f.write_str(name),
            None if value.is_nan() => f.write_str("NAN"),
            None if value.is_infinite() => f.write_str("-INF"),
            // The shortest text that reads back as the same number.
            None => write!(f, "{value:?}"),
        },
    }
}

impl Written for Bound {
    fn write_leaf(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value, _) => value.fmt(f),
            Self::Of(quantity, name, _) => write!(f, "{quantity}({name})"),
            Self::Min(a, b, _) => write!(f, "min({a}, {b})"),
            Self::Max(a, b, _) => write!(f, "max({a}, {b})"),
            Self::Sum(..) | Self::Product(..) => Ok(()),
        }
    }

    fn is_unsigned_number(&self) -> bool {
        matches!(self, Self::Integer(0.., _))
    }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rank => "RANK",
            Self::Dims => "DIMS",
        })
    }
}

impl Display for Constraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}) ", self.quantity, self.tuple)?;
        match &self.relation {
            Relation::In((lo, _), (hi, _)) => write!(f, "IN [{lo}, {hi}]"),
            Relation::Equals(bound) => write!(f, "= {bound}"),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (n, name) in self.path.iter().enumerate() {
            write!(f, "{}{name}", if n == 0 { "" } else { "." })?;
        }
        f.write_str("(")?;
        for (n, (keyword, arg)) in self.args.iter().enumerate() {
            f.write_str(if n == 0 { "" } else { ", " })?;
            keyword.iter().try_for_each(|keyword| write!(f, "{keyword}="))?;
            arg.fmt(f)?;
        }
        f.write_str(")")
    }
}

impl Written for CallArg {
    fn write_leaf(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(name) => name.fmt(f),
            Self::Integer(value, _) => value.fmt(f),
            Self::Dims(of, _) => write_call(f, "DIMS", of),
            Self::Rank(of, _) => write_call(f, "RANK", of),
            Self::Literal(text, _) => write!(f, "L({text})"),
            Self::Tensor(of, _) => write!(f, "TENSOR({of})"),
            Self::List(items, _) => {
                f.write_str("[")?;
                write_list(f, items)?;
                f.write_str("]")
            }
            Self::Call(call) => call.fmt(f),
            Self::Sum(..) | Self::Product(..) => Ok(()),
        }
    }

    fn is_unsigned_number(&self) -> bool {
        matches!(self, Self::Integer(0.., _))
    }
}
