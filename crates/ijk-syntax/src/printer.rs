//! From surface trees back to program text.

use crate::Function;
use crate::ast::{
    Arith, ArithOp, Body, Combinator, Compound, Extent, IndexExpr, Item, Letter, LoopHead, NodeId,
    NodeKind, Number, Operand, Position, Program,
};
use crate::parser::precedence;
use std::fmt::{self, Display, Formatter, Write};

/// The program's text: one item a line. It parses back to the same tree, if the tree could come
/// from a text: letters, names and numbers that can be written, operands before their users, no
/// [`NodeKind::Error`] (printed as `<error>`), one-operand functions without an `outer` there.
impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (n, item) in self.items.iter().enumerate() {
            text.clear();
            write_item(self, item, &mut text)?;
            if n > 0 {
                f.write_str(if continues(&text) { ";\n" } else { "\n" })?;
            }
            f.write_str(&text)?;
        }
        if self.items.is_empty() { Ok(()) } else { f.write_char('\n') }
    }
}

/// Returns true if an item that starts like this would be read as the rest of the one before.
fn continues(item: &str) -> bool {
    item.starts_with(|c| "~+-*/><^$@.".contains(c))
}

fn write_item(program: &Program, item: &Item, out: &mut String) -> fmt::Result {
    if let Some(name) = &item.name {
        write!(out, "{}: ", name.text)?;
    }
    write_component(program, item.value, out)
}

/// Output that is still to be written.
enum Piece {
    /// A component, in parentheses if it binds less tightly than this.
    Node(NodeId, u8),
    Text(&'static str),
    /// The number of inputs that a loop takes rows of, and the end of its parentheses.
    Rows(u64),
}

/// Precedence that the operand of `~` must have at least.
const ATOM: u8 = 4;

/// Writes a component without recursion: chains may be millions long.
fn write_component(program: &Program, root: NodeId, out: &mut String) -> fmt::Result {
    let mut pieces = vec![Piece::Node(root, 0)];
    while let Some(piece) = pieces.pop() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Rows(rows) => write!(out, ", {rows})")?,
            Piece::Node(id, least) => write_node(program, id, least, &mut pieces, out)?,
        }
    }
    Ok(())
}

/// Writes a node, or leaves its parts on the stack.
fn write_node(
    program: &Program,
    id: NodeId,
    least: u8,
    pieces: &mut Vec<Piece>,
    out: &mut String,
) -> fmt::Result {
    match &program.node(id).kind {
        NodeKind::Index(expr) => write!(out, "{expr}")?,
        NodeKind::Name(name) => out.push_str(name),
        NodeKind::Identity => out.push('I'),
        NodeKind::Error => out.push_str("<error>"),
        NodeKind::Swap(inner) => {
            out.push('~');
            pieces.push(Piece::Node(*inner, ATOM));
        }
        NodeKind::Loop(head, of) => write_loop(head, *of, pieces, out)?,
        &NodeKind::Combine { combinator, left, right, .. } => {
            let own = precedence(combinator);
            let (open, close) = if own < least { ("(", ")") } else { ("", "") };
            out.push_str(open);
            pieces.extend([
                Piece::Text(close),
                Piece::Node(right, own + 1),
                Piece::Text(symbol(combinator)),
                Piece::Node(left, own),
            ]);
        }
    }
    Ok(())
}

/// Writes what stands before a loop's component, and leaves the rest on the stack.
fn write_loop(
    head: &LoopHead,
    of: NodeId,
    pieces: &mut Vec<Piece>,
    out: &mut String,
) -> fmt::Result {
    write!(out, "@{}", head.form.name())?;
    if let Some(passes) = &head.passes {
        write!(out, "{{{passes}}}")?;
    }
    match head.rows {
        Some((rows, _)) => {
            out.push('(');
            pieces.extend([Piece::Rows(rows), Piece::Node(of, 0)]);
        }
        None => {
            out.push(' ');
            pieces.push(Piece::Node(of, ATOM));
        }
    }
    Ok(())
}

fn symbol(combinator: Combinator) -> &'static str {
    match combinator {
        Combinator::Chain => " . ",
        Combinator::Compose => " << ",
        Combinator::Fanout => " & ",
        Combinator::Pair => " | ",
    }
}

impl Display for IndexExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.outer, &self.body) {
            (None, body) => write_body(f, body)?,
            (Some((function, _)), Body::Operand(operand)) => write_prefix(f, *function, operand)?,
            (Some((function, _)), body) => write!(f, "{}({body})", function.spelling())?,
        }
        write!(f, "~{}", self.output)
    }
}

/// The scalar expression as it stands in parentheses.
impl Display for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_scalar(f, self, 0)
    }
}

/// Writes a body that has no function around it: its operands are single or in parentheses.
fn write_body(f: &mut Formatter<'_>, body: &Body) -> fmt::Result {
    let single = |f: &mut Formatter<'_>, operand: &Body| match operand {
        Body::Operand(operand) => operand.fmt(f),
        operand => write!(f, "({operand})"),
    };
    match body {
        Body::Apply { function, operands, .. } if operands.len() == 2 => {
            single(f, &operands[0])?;
            write_infix(f, *function)?;
            single(f, &operands[1])
        }
        Body::Apply { operands, .. } if operands.len() == 1 => write!(f, "({body})"),
        body => body.fmt(f),
    }
}

fn write_infix(f: &mut Formatter<'_>, function: Function) -> fmt::Result {
    let space = if function.is_symbol() { "" } else { " " };
    write!(f, "{space}{}{space}", function.spelling())
}

/// Writes a scalar expression, in parentheses if it binds less tightly than `least`.
fn write_scalar(f: &mut Formatter<'_>, body: &Body, least: u8) -> fmt::Result {
    let (function, operands) = match body {
        Body::Operand(operand) => return operand.fmt(f),
        Body::Apply { function, operands, .. } => (*function, operands),
    };
    let (left, right) = function.operand_precedences();
    match &operands[..] {
        [operand] if !function.is_symbol() => write_call_of_one(f, function, operand),
        [_] | [_, _] if function.precedence() < least => write!(f, "({body})"),
        [Body::Operand(operand)] => write_prefix(f, function, operand),
        [operand] if starts_with_number(operand) => {
            write!(f, "{}({operand})", function.spelling())
        }
        [operand] => {
            f.write_str(function.spelling())?;
            write_scalar(f, operand, right)
        }
        [first, second] => {
            write_scalar(f, first, left)?;
            write_infix(f, function)?;
            write_scalar(f, second, right)
        }
        operands => {
            write!(f, "{}(", function.spelling())?;
            for (n, operand) in operands.iter().enumerate() {
                write!(f, "{}{operand}", if n == 0 { "" } else { "," })?;
            }
            f.write_str(")")
        }
    }
}

/// Returns true if the text begins with a number, which a sign before it would join.
fn starts_with_number(body: &Body) -> bool {
    match body {
        Body::Operand(operand) => matches!(operand, Operand::Number(..)),
        Body::Apply { operands, .. } => operands.len() == 2 && starts_with_number(&operands[0]),
    }
}

/// `@tanh i`, `@tanh(i+j)`.
fn write_call_of_one(f: &mut Formatter<'_>, function: Function, operand: &Body) -> fmt::Result {
    match operand {
        Body::Operand(operand) => write_prefix(f, function, operand),
        operand => write!(f, "{}({operand})", function.spelling()),
    }
}

/// `function operand`; in parentheses where the two would read as a signed number.
fn write_prefix(f: &mut Formatter<'_>, function: Function, operand: &Operand) -> fmt::Result {
    match (function.is_symbol(), operand) {
        (true, Operand::Number(..)) => write!(f, "{}({operand})", function.spelling()),
        (true, _) => write!(f, "{}{operand}", function.spelling()),
        (false, _) => write!(f, "{} {operand}", function.spelling()),
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(compound) => compound.fmt(f),
            Self::Number(number, _) => number.fmt(f),
            Self::Extent(letter, _) => write!(f, "{{{letter}}}"),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Integer(n) => write!(f, "{n}"),
            Self::Float(x) if x.is_nan() => f.write_str("@nan"),
            Self::Float(x) if x.is_infinite() => {
                f.write_str(if x > 0.0 { "@inf" } else { "-@inf" })
            }
            // The shortest text that reads back as the same number.
            Self::Float(x) => write!(f, "{x:?}"),
        }
    }
}

impl Display for Compound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.positions.is_empty() {
            return f.write_str(".");
        }
        self.positions.iter().try_for_each(|position| position.fmt(f))
    }
}

impl Display for Position {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Letter(letter) => letter.fmt(f),
            Self::Bracket(arith, _) => write!(f, "[{arith}]"),
        }
    }
}

impl Display for Letter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.extent {
            None => write!(f, "{}", self.name),
            Some(extent) => write!(f, "{}{{{extent}}}", self.name),
        }
    }
}

impl Display for Extent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n, _) => write!(f, "{n}"),
            Self::Name(name) => f.write_str(&name.text),
        }
    }
}

impl Display for Arith {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n, _) => write!(f, "{n}"),
            Self::Letter(letter) => letter.fmt(f),
            Self::Sum(terms, _) => terms.iter().enumerate().try_for_each(|(n, (negated, term))| {
                f.write_str(if *negated {
                    "-"
                } else if n > 0 {
                    "+"
                } else {
                    ""
                })?;
                write_arith(f, term, matches!(term, Self::Sum(..)))
            }),
            Self::Product(first, factors, _) => {
                write_arith(f, first, first.is_compound())?;
                factors.iter().try_for_each(|(op, factor)| {
                    f.write_char(op.symbol())?;
                    write_arith(f, factor, factor.is_compound())
                })
            }
        }
    }
}

fn write_arith(f: &mut Formatter<'_>, arith: &Arith, parentheses: bool) -> fmt::Result {
    match parentheses {
        true => write!(f, "({arith})"),
        false => arith.fmt(f),
    }
}

impl Arith {
    /// Returns true if the index needs parentheses as a factor.
    fn is_compound(&self) -> bool {
        matches!(self, Self::Sum(..) | Self::Product(..))
    }
}

impl ArithOp {
    /// Spelling in programs.
    pub const fn symbol(self) -> char {
        match self {
            Self::Mul => '*',
            Self::Div => '/',
            Self::Mod => '%',
        }
    }
}
