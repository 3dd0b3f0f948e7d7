//! Surface trees as source text, in any of the equivalent spellings.

use super::Rng;
use ijk_syntax::Function;
use ijk_syntax::ast::{
    Arith, ArithOp, Body, Combinator, Compound, Extent, IndexExpr, Item, Letter, LoopHead, NodeId,
    NodeKind, Number, Operand, Position, Program,
};
use std::fmt::Write;

/// The source of a program. With a generator, spelled at random; without one, plainly.
pub fn print(program: &Program, rng: Option<&mut Rng>) -> String {
    let mut printer = Printer { program, rng, out: String::new() };
    for (at, item) in program.items.iter().enumerate() {
        if at > 0 {
            printer.separate(item);
        }
        printer.item(item);
    }
    printer.out.push('\n');
    printer.out
}

/// Returns true if the text begins with a number, which a sign before it would join.
fn starts_with_number(body: &Body) -> bool {
    match body {
        Body::Operand(operand) => matches!(operand, Operand::Number(..)),
        Body::Apply { operands, .. } => operands.len() == 2 && starts_with_number(&operands[0]),
    }
}

struct Printer<'a> {
    program: &'a Program,
    rng: Option<&'a mut Rng>,
    out: String,
}

/// Precedence of a combinator; higher binds tighter.
fn level(kind: &NodeKind) -> u8 {
    match kind {
        NodeKind::Combine { combinator: Combinator::Chain | Combinator::Compose, .. } => 0,
        NodeKind::Combine { combinator: Combinator::Pair, .. } => 1,
        NodeKind::Combine { combinator: Combinator::Fanout, .. } => 2,
        _ => 3,
    }
}

impl Printer<'_> {
    fn chance(&mut self, probability: f64) -> bool {
        self.rng.as_mut().is_some_and(|rng| rng.chance(probability))
    }

    fn space(&mut self, probability: f64) {
        if self.chance(probability) {
            self.out.push(' ');
        }
    }

    /// Separator of two items. An item that starts with a sign could continue the previous one.
    fn separate(&mut self, next: &Item) {
        let sign = next.name.is_none();
        if sign || self.chance(0.2) {
            self.out.push(';');
        }
        if self.chance(0.1) {
            self.out.push_str(" # the next one");
        }
        self.out.push('\n');
    }

    fn item(&mut self, item: &Item) {
        if let Some(name) = &item.name {
            self.out.push_str(&name.text);
            self.space(0.1);
            self.out.push_str(": ");
        }
        self.node(item.value, 0);
    }

    fn node(&mut self, id: NodeId, least: u8) {
        let node = self.program.node(id);
        let parentheses = level(&node.kind) < least || self.chance(0.05);
        if parentheses {
            self.out.push('(');
        }
        match &node.kind {
            NodeKind::Index(expr) => self.expression(expr),
            NodeKind::Name(name) => self.out.push_str(name),
            NodeKind::Identity => self.out.push('I'),
            NodeKind::Swap(f) => {
                self.out.push('~');
                self.node(*f, 3);
            }
            NodeKind::Loop(head, of) => self.looped(head, *of),
            NodeKind::Combine { combinator, left, right, .. } => {
                self.node(*left, level(&node.kind));
                self.combinator(*combinator);
                self.node(*right, level(&node.kind) + 1);
            }
            NodeKind::Error => self.out.push('?'),
        }
        if parentheses {
            self.out.push(')');
        }
    }

    fn looped(&mut self, head: &LoopHead, of: NodeId) {
        write!(self.out, "@{}", head.form.name()).expect("a string takes all");
        match &head.passes {
            Some(Extent::Number(n, _)) => write!(self.out, "{{{n}}}"),
            Some(Extent::Name(name)) => write!(self.out, "{{{}}}", name.text),
            None => Ok(()),
        }
        .expect("a string takes all");
        let Some((rows, _)) = head.rows else {
            self.out.push(' ');
            return self.node(of, 3);
        };
        self.space(0.1);
        self.out.push('(');
        self.node(of, 0);
        self.space(0.2);
        write!(self.out, ",{rows})").expect("a string takes all");
    }

    fn combinator(&mut self, combinator: Combinator) {
        let symbol = match combinator {
            Combinator::Chain if self.chance(0.3) => ">>",
            Combinator::Chain => ".",
            Combinator::Compose => "<<",
            Combinator::Fanout => "&",
            Combinator::Pair => "|",
        };
        let before = if self.chance(0.03) { "\n  " } else { " " };
        write!(self.out, "{before}{symbol} ").expect("a string takes all");
    }

    fn expression(&mut self, expr: &IndexExpr) {
        match (&expr.outer, &expr.body) {
            (None, body) => self.body(body),
            (Some((function, _)), Body::Operand(operand)) => self.prefix(*function, operand),
            (Some((function, _)), body) => {
                self.out.push_str(function.spelling());
                self.space(0.05);
                self.out.push('(');
                self.scalar(body, 0);
                self.out.push(')');
            }
        }
        self.space(0.1);
        self.out.push('~');
        self.space(0.1);
        self.compound(&expr.output);
    }

    /// `+ij`, `@tanh ij`, `@tanh(ij)`.
    fn prefix(&mut self, function: Function, operand: &Operand) {
        self.out.push_str(function.spelling());
        let parentheses = !function.is_symbol() && self.chance(0.3);
        if parentheses {
            self.out.push('(');
        } else if !function.is_symbol() {
            self.out.push(' ');
        }
        self.operand(operand);
        if parentheses {
            self.out.push(')');
        }
    }

    /// A body without a function around it.
    fn body(&mut self, body: &Body) {
        let Body::Apply { function, operands, .. } = body else {
            return self.single(body);
        };
        match &operands[..] {
            [left, right] if function.is_symbol() || self.chance(0.6) => {
                if self.chance(0.1) {
                    return self.enclosed(body);
                }
                self.single(left);
                self.between(*function);
                self.sign_of_number(right);
                self.single(right);
            }
            [_] => self.enclosed(body),
            _ => self.call(*function, operands),
        }
    }

    /// An operand, or parentheses.
    fn single(&mut self, body: &Body) {
        match body {
            Body::Operand(operand) => self.operand(operand),
            body => self.enclosed(body),
        }
    }

    fn enclosed(&mut self, body: &Body) {
        self.out.push('(');
        self.scalar(body, 0);
        self.out.push(')');
    }

    /// A scalar expression in parentheses, with others around it if it binds less tightly than `least`.
    fn scalar(&mut self, body: &Body, least: u8) {
        let (function, operands) = match body {
            Body::Operand(operand) if self.chance(0.02) => {
                self.out.push('(');
                self.operand(operand);
                return self.out.push(')');
            }
            Body::Operand(operand) => return self.operand(operand),
            Body::Apply { function, operands, .. } => (*function, operands),
        };
        let (left, right) = function.operand_precedences();
        match &operands[..] {
            [Body::Operand(operand)] if !function.is_symbol() => self.prefix(function, operand),
            [_, _] if !function.is_symbol() && self.chance(0.4) => self.call(function, operands),
            [_] | [_, _] if function.is_symbol() && self.chance(0.05) => self.enclosed(body),
            [_] if !function.is_symbol() => self.call(function, operands),
            [_] | [_, _] if function.precedence() < least => self.enclosed(body),
            [operand] if starts_with_number(operand) => {
                self.out.push_str(function.spelling());
                self.enclosed(operand);
            }
            [operand] => {
                self.out.push_str(function.spelling());
                self.scalar(operand, right);
            }
            [first, second] => {
                self.scalar(first, left);
                self.between(function);
                self.sign_of_number(second);
                self.scalar(second, right);
            }
            _ => self.call(function, operands),
        }
    }

    /// The spelling of a function between operands.
    fn between(&mut self, function: Function) {
        let loose = !function.is_symbol() || self.chance(0.15);
        let gap = if loose { " " } else { "" };
        write!(self.out, "{gap}{}{gap}", function.spelling()).expect("a string takes all");
    }

    /// Sometimes a plus before a positive number.
    fn sign_of_number(&mut self, body: &Body) {
        let positive = match body {
            Body::Operand(Operand::Number(Number::Integer(n), _)) => *n >= 0,
            Body::Operand(Operand::Number(Number::Float(x), _)) => *x >= 0.0,
            _ => false,
        };
        if positive && self.chance(0.05) {
            self.out.push('+');
        }
    }

    fn call(&mut self, function: Function, operands: &[Body]) {
        self.out.push_str(function.spelling());
        for (at, operand) in operands.iter().enumerate() {
            self.out.push(if at == 0 { '(' } else { ',' });
            self.space(if at == 0 { 0.05 } else { 0.3 });
            self.scalar(operand, 0);
        }
        self.out.push(')');
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Index(compound) => self.compound(compound),
            Operand::Number(number, _) => self.number(*number),
            Operand::Extent(letter, _) => self.out.extend(['{', *letter, '}']),
        }
    }

    fn number(&mut self, number: Number) {
        let text = match number {
            Number::Integer(n) => n.to_string(),
            Number::Float(x) if x.is_nan() => "@nan".into(),
            Number::Float(f64::INFINITY) => "@inf".into(),
            Number::Float(f64::NEG_INFINITY) => "-@inf".into(),
            Number::Float(std::f64::consts::PI) => "@pi".into(),
            Number::Float(std::f64::consts::E) => "@e".into(),
            Number::Float(x) => format!("{x:?}"),
        };
        self.out.push_str(&text);
    }

    fn compound(&mut self, compound: &Compound) {
        if compound.positions.is_empty() {
            self.out.push('.');
        }
        for position in &compound.positions {
            match position {
                Position::Letter(letter) => self.letter(letter),
                Position::Bracket(arith, _) => {
                    self.out.push('[');
                    self.arith(arith);
                    self.out.push(']');
                }
            }
        }
    }

    fn letter(&mut self, letter: &Letter) {
        self.out.push(letter.name);
        match &letter.extent {
            None => Ok(()),
            Some(Extent::Number(n, _)) => write!(self.out, "{{{n}}}"),
            Some(Extent::Name(name)) => write!(self.out, "{{{}}}", name.text),
        }
        .expect("a string takes all");
    }

    fn arith(&mut self, arith: &Arith) {
        match arith {
            Arith::Integer(n, _) => write!(self.out, "{n}").expect("a string takes all"),
            Arith::Letter(letter) => self.letter(letter),
            Arith::Sum(terms, _) => {
                for (at, (negated, term)) in terms.iter().enumerate() {
                    self.sign(at == 0, *negated);
                    self.part(term, matches!(term, Arith::Sum(..)));
                }
            }
            Arith::Product(first, rest, _) => {
                self.part(first, matches!(**first, Arith::Sum(..) | Arith::Product(..)));
                for (op, factor) in rest {
                    self.out.push(match op {
                        ArithOp::Mul => '*',
                        ArithOp::Div => '/',
                        ArithOp::Mod => '%',
                    });
                    self.part(factor, matches!(factor, Arith::Sum(..) | Arith::Product(..)));
                }
            }
        }
    }

    fn sign(&mut self, first: bool, negated: bool) {
        self.space(0.05);
        match (first, negated) {
            (_, true) => self.out.push('-'),
            (false, false) => self.out.push('+'),
            (true, false) => {}
        }
        self.space(0.05);
    }

    fn part(&mut self, arith: &Arith, parentheses: bool) {
        if parentheses {
            self.out.push('(');
        }
        self.arith(arith);
        if parentheses {
            self.out.push(')');
        }
    }
}
