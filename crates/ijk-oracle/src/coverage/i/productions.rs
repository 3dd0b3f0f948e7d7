//! Productions of the grammar.

use super::Coverage;
use crate::reference::surface::Form;
use ijk_syntax::Function;
use ijk_syntax::ast::{
    Arith, ArithOp, Body, Combinator, Compound, Extent, IndexExpr, NodeKind, Number, Operand,
    Position, Program,
};

impl Coverage {
    pub(super) fn program(&mut self, source: &str) {
        let (program, _) = ijk_syntax::parse(source);
        let spellings =
            [(">>", "chain as `>>`"), (";", "`;`"), ("#", "comment"), ("\n ", "line break inside")];
        for (text, feature) in spellings {
            if source.contains(text) {
                self.count(format!("production: {feature}"));
            }
        }
        for item in &program.items {
            self.count(format!(
                "production: {}",
                if item.name.is_some() { "binding" } else { "bare" }
            ));
        }
        if program.items.iter().all(|item| item.name.is_some()) {
            self.count("production: last binding is the value");
        }
        for node in &program.nodes {
            self.node(&program, &node.kind, source);
        }
    }

    fn node(&mut self, program: &Program, kind: &NodeKind, source: &str) {
        let feature = match kind {
            NodeKind::Index(expr) => return self.expression(expr, source),
            NodeKind::Name(_) => "name",
            NodeKind::Identity => "identity",
            NodeKind::Swap(of) => match program.node(*of).kind {
                NodeKind::Combine { .. } => "swap of a group",
                _ => "swap",
            },
            NodeKind::Loop(head, _) => {
                if head.rows.is_some() {
                    self.count("production: rows of some inputs");
                }
                self.extent("a loop", head.passes.as_ref());
                head.form.name()
            }
            NodeKind::Combine { combinator, right, .. } => {
                if matches!(program.node(*right).kind, NodeKind::Combine { .. }) {
                    self.count("production: group on the right");
                }
                match combinator {
                    Combinator::Chain => "chain",
                    Combinator::Compose => "compose",
                    Combinator::Fanout => "fan-out",
                    Combinator::Pair => "pair",
                }
            }
            NodeKind::Error => "error",
        };
        self.count(format!("production: {feature}"));
    }

    fn expression(&mut self, expr: &IndexExpr, source: &str) {
        let body = match &expr.body {
            Body::Operand(_) => "operand".to_owned(),
            Body::Apply { operands, .. } => format!("function of {}", operands.len()),
        };
        let outer = if expr.outer.is_some() { "outer " } else { "" };
        self.count(format!("production: {outer}{body}"));
        self.functions(expr, source);
        expr.body.operands().into_iter().for_each(|operand| self.operand(operand, source));
        self.compound("output", &expr.output);
        if let Ok(form) = Form::of(expr) {
            self.rules(expr, &form);
        }
    }

    /// Positions and spellings of functions.
    fn functions(&mut self, expr: &IndexExpr, source: &str) {
        if let Some((function, symbol)) = expr.outer {
            let place = match &expr.body {
                Body::Operand(_) => "before an operand",
                Body::Apply { .. } => "around a function",
            };
            self.count(format!("function: {} {place}", function.spelling()));
            let called = source[symbol.end as usize..].trim_start().starts_with('(');
            if called && matches!(expr.body, Body::Operand(_)) {
                self.count("production: function called with one operand");
            }
        }
        expr.body.for_each_function(&mut |function, symbol, operands| {
            let (name, count) = (function.spelling(), operands.len());
            self.count(format!("function: {name} of {count}"));
            let between = symbol.start > operands[0].span().start;
            let how = match (between, count) {
                (true, _) if function.is_symbol() => "symbol between operands",
                (true, _) => "name between operands",
                (false, 1) => "function inside a function",
                (false, _) => "function called with commas",
            };
            self.count(format!("production: {how}"));
            self.nested(function, operands);
        });
    }

    /// Functions of functions, and those that only precedence groups.
    fn nested(&mut self, function: Function, operands: &[Body]) {
        let (left, right) = function.operand_precedences();
        for (place, operand) in operands.iter().enumerate() {
            let Body::Apply { function: inner, operands: of, .. } = operand else { continue };
            let least = if place == 0 { left } else { right };
            let feature = match (operands.len(), of.len()) {
                (2, 2) if inner.precedence() >= least => "a function that binds tighter",
                (2, 2) => "a function in parentheses",
                (2, 1) => "a function before one operand of another",
                (1, 2) => "a function before one between",
                (3, _) => "a function as an argument",
                _ => "a function before another",
            };
            self.count(format!("production: {feature}"));
        }
    }

    fn operand(&mut self, operand: &Operand, source: &str) {
        if let Operand::Number(_, span) = operand {
            self.spelling(&source[span.start as usize..span.end as usize]);
        }
        let number = match operand {
            Operand::Index(compound) => return self.compound("operand", compound),
            Operand::Extent(..) => return self.count("production: extent of a letter"),
            Operand::Number(Number::Integer(..0), _) => "negative integer",
            Operand::Number(Number::Integer(_), _) => "integer",
            Operand::Number(Number::Float(x), _) if x.is_nan() => "@nan",
            Operand::Number(Number::Float(f64::INFINITY | f64::NEG_INFINITY), _) => "@inf",
            Operand::Number(Number::Float(std::f64::consts::PI), _) => "@pi",
            Operand::Number(Number::Float(std::f64::consts::E), _) => "@e",
            Operand::Number(Number::Float(_), _) => "fraction",
        };
        self.count(format!("production: literal {number}"));
    }

    fn spelling(&mut self, number: &str) {
        let digits = number.trim_start_matches(['+', '-']);
        for (feature, holds) in [
            ("exponent", !digits.starts_with('@') && digits.contains('e')),
            ("plus before a literal", number.starts_with('+')),
            ("sign before a constant", number.starts_with("-@")),
        ] {
            if holds {
                self.count(format!("production: {feature}"));
            }
        }
    }

    fn compound(&mut self, place: &str, compound: &Compound) {
        self.count(format!("production: {place} of rank {}", compound.positions.len().min(6)));
        for position in &compound.positions {
            match position {
                Position::Letter(letter) => self.extent(place, letter.extent.as_ref()),
                Position::Bracket(arith, _) => {
                    self.count(format!("production: bracket in {place}"));
                    self.arith(place, arith);
                }
            }
        }
    }

    fn extent(&mut self, place: &str, extent: Option<&Extent>) {
        match extent {
            None => {}
            Some(Extent::Number(..)) => self.count(format!("production: {{10}} in {place}")),
            Some(Extent::Name(_)) => self.count(format!("production: {{n}} in {place}")),
        }
    }

    fn arith(&mut self, place: &str, arith: &Arith) {
        match arith {
            Arith::Integer(..) => self.count("production: integer in brackets"),
            Arith::Letter(letter) => {
                self.count("production: letter in brackets");
                self.extent("brackets", letter.extent.as_ref());
            }
            Arith::Sum(terms, _) => {
                if terms[0].0 {
                    self.count("production: minus before a sum");
                }
                let negated = terms.iter().any(|term| term.0);
                self.count(format!("production: {}", if negated { "difference" } else { "sum" }));
                terms.iter().for_each(|(_, term)| self.arith(place, term));
            }
            Arith::Product(first, rest, _) => {
                self.arith(place, first);
                for (op, factor) in rest {
                    self.count(match op {
                        ArithOp::Mul => "production: * in brackets".to_owned(),
                        ArithOp::Div => format!("production: / in brackets in {place}"),
                        ArithOp::Mod => format!("production: % in brackets in {place}"),
                    });
                    self.arith(place, factor);
                }
            }
        }
    }
}
