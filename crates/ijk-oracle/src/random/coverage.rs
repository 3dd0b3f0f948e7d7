//! What random programs reached: productions, operators, semantic rules, diagnostics, kernels.

use super::{Case, Layout};
use crate::harness::{Agreement, Lowered};
use crate::surface::{Form, Leaf};
use ijk_ir::core::{ScalarNode, Statement, TypeTerm};
use ijk_syntax::ast::{
    Arith, ArithOp, Body, Combinator, Compound, Extent, IndexExpr, NodeKind, Number, Operand,
    Position, Program,
};
use ijk_syntax::{Diagnostic, Function};
use ijk_types::{DType, Reducer};
use std::collections::BTreeMap;
use std::fmt;

/// How often each feature was reached.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
}

impl Coverage {
    /// Counts a feature.
    pub fn count(&mut self, feature: impl Into<String>) {
        *self.counts.entry(feature.into()).or_default() += 1;
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: Self) {
        for (feature, count) in other.counts {
            *self.counts.entry(feature).or_default() += count;
        }
    }

    /// How often a feature was reached.
    pub fn of(&self, feature: &str) -> u64 {
        self.counts.get(feature).copied().unwrap_or(0)
    }

    /// Those of some features that were reached less often.
    pub fn below<'a>(
        &self,
        least: u64,
        features: impl IntoIterator<Item = &'a str>,
    ) -> Vec<String> {
        let rare = features.into_iter().filter(|feature| self.of(feature) < least);
        rare.map(|feature| format!("{feature}: {}", self.of(feature))).collect()
    }

    /// Counts what a case reached on which all evaluations agree.
    pub fn note(&mut self, case: &Case, agreement: &Agreement) {
        match agreement {
            Agreement::Syntax(_) => self.count("outcome: syntax error"),
            Agreement::IllFormed(error, diagnostics) => {
                self.count("outcome: ill-formed");
                self.count(format!("error: {}", variant(&format!("{error:?}"))));
                diagnostics.iter().for_each(|d| self.count(template(d)));
            }
            Agreement::NoValue(error) => self.count(format!("outcome: {error}")),
            Agreement::Value(evaluation, lowered) => {
                self.count("outcome: value");
                self.size(evaluation.most_points);
                self.program(&case.source);
                self.lowered(lowered);
                case.inputs.iter().for_each(|input| self.layout(&input.layout));
                let ranks = evaluation.outputs.iter().map(|o| o.shape.len().min(5));
                ranks.for_each(|rank| self.count(format!("result of rank {rank}")));
                self.count(format!("results: {}", evaluation.outputs.len().min(4)));
            }
        }
    }

    fn size(&mut self, points: usize) {
        self.count(match points {
            0 => "points: none",
            1..=256 => "points: at most 256",
            257..=10_000 => "points: at most 10000",
            _ => "points: more than 10000",
        });
    }

    fn layout(&mut self, layout: &Layout) {
        let ascending = layout.order.is_sorted();
        let feature = match layout.order.len() {
            0 | 1 => "one axis",
            _ if ascending => "C order",
            _ if layout.order.iter().rev().is_sorted() => "Fortran order",
            _ => "axes permuted",
        };
        self.count(format!("layout: {feature}"));
        for (name, has) in [
            ("gaps", layout.steps.iter().any(|s| s.abs() > 1)),
            ("reversed", layout.steps.iter().any(|s| *s < 0)),
            ("broadcast", layout.steps.contains(&0)),
        ] {
            if has {
                self.count(format!("layout: {name}"));
            }
        }
    }
}

/// The first word of an error's debug form.
fn variant(error: &str) -> &str {
    error.split(['(', ' ', '{']).next().unwrap_or(error)
}

/// A diagnostic without what differs from program to program: its first clause, names and numbers
/// left out, lists and types made one.
fn template(diagnostic: &Diagnostic) -> String {
    let clause = [": ", ", but", " but ", " (", " of shape", " ["]
        .iter()
        .fold(&diagnostic.message[..], |text, end| text.split(end).next().unwrap_or(text));
    let mut words: Vec<&str> = Vec::new();
    let mut in_quotes = false;
    for word in clause.split(' ') {
        let quotes = word.matches('`').count();
        let plain = word.trim_end_matches(',');
        let new = match plain {
            _ if quotes > 0 || in_quotes => "`…`",
            _ if DType::from_name(plain).is_some() => "T",
            _ if plain.parse::<i128>().is_ok() => "#",
            "are" => "is",
            "arguments" => "argument",
            "outputs" => "output",
            _ => plain,
        };
        in_quotes ^= quotes % 2 == 1;
        let listed = words.len() > 1 && words[words.len() - 1] == "and" && new == "`…`";
        match words.last() {
            Some(&last) if last == new && new == "`…`" => {}
            _ if listed && words[words.len() - 2] == "`…`" => drop(words.pop()),
            _ => words.push(new),
        }
    }
    format!("diagnostic: {}", words.join(" "))
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.iter().try_for_each(|(feature, count)| writeln!(f, "{count:>8}  {feature}"))
    }
}

// Productions and operators.

impl Coverage {
    fn program(&mut self, source: &str) {
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
            self.node(&program, &node.kind);
        }
    }

    fn node(&mut self, program: &Program, kind: &NodeKind) {
        let feature = match kind {
            NodeKind::Index(expr) => return self.expression(expr),
            NodeKind::Name(_) => "name",
            NodeKind::Identity => "identity",
            NodeKind::Swap(_) => "swap",
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

    fn expression(&mut self, expr: &IndexExpr) {
        let body = match &expr.body {
            Body::Operand(_) => "operand".to_owned(),
            Body::Apply { operands, .. } => format!("function of {}", operands.len()),
        };
        let outer = if expr.outer.is_some() { "outer " } else { "" };
        self.count(format!("production: {outer}{body}"));
        expr.body.operands().iter().for_each(|operand| self.operand(operand));
        self.compound("output", &expr.output);
        if let Ok(form) = Form::of(expr) {
            self.rules(&form);
        }
    }

    fn operand(&mut self, operand: &Operand) {
        let number = match operand {
            Operand::Index(compound) => return self.compound("operand", compound),
            Operand::Number(Number::Integer(..0), _) => "negative integer",
            Operand::Number(Number::Integer(_), _) => "integer",
            Operand::Number(Number::Float(x), _) if x.is_nan() => "@nan",
            Operand::Number(Number::Float(f64::INFINITY), _) => "@inf",
            Operand::Number(Number::Float(std::f64::consts::PI), _) => "@pi",
            Operand::Number(Number::Float(std::f64::consts::E), _) => "@e",
            Operand::Number(Number::Float(_), _) => "fraction",
        };
        self.count(format!("production: literal {number}"));
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

// Semantic rules.

impl Coverage {
    fn rules(&mut self, form: &Form) {
        let plain = |e: &crate::surface::Affine| e.lone_letter();
        let repeats = |letters: &[char]| {
            letters.iter().enumerate().any(|(at, letter)| letters[..at].contains(letter))
        };
        for leaf in &form.operands {
            let Leaf::Index(index) = leaf else { continue };
            if repeats(&index.iter().filter_map(plain).collect::<Vec<_>>()) {
                self.count("rule: diagonal");
            }
        }
        if repeats(&form.output.iter().filter_map(plain).collect::<Vec<_>>()) {
            self.count("rule: embedding on the diagonal");
        }
        let scatters = form.output.iter().any(|e| e.letters().len() > 1);
        let divides = form.output.iter().any(|e| e.divides());
        let kind = if form.reduce.is_some() { "reduction" } else { "map" };
        for (name, holds) in [
            ("two letters in an output's bracket", scatters),
            ("division in an output's bracket", divides),
        ] {
            if holds {
                self.count(format!("rule: {kind} with {name}"));
            }
        }
        self.letters(form);
        self.count(format!("rule: {} letters dropped", form.dropped().len().min(3)));
    }

    fn letters(&mut self, form: &Form) {
        for (at, &letter) in form.letters.iter().enumerate() {
            let pinned = form.pins.iter().any(|pin| pin.0 == letter);
            let stands_alone = form.plain.iter().any(|p| p.2 == letter);
            let feature = match (at < form.operand_letters, pinned, stands_alone) {
                (false, true, _) => "broadcast along a new letter",
                (false, false, _) => "unsqueeze",
                (true, false, false) => "extent inferred from brackets",
                (true, true, false) => "extent of a bracket's letter in braces",
                (true, _, true) => continue,
            };
            self.count(format!("rule: {feature}"));
        }
    }
}

// Operators by element type.

impl Coverage {
    fn lowered(&mut self, lowered: &Lowered) {
        for (statement, extents) in lowered.program.statements.iter().zip(&lowered.instance.extents)
        {
            self.statement(lowered, statement);
            if extents.contains(&0) {
                self.count("rule: empty domain");
            }
            if extents.contains(&1) {
                self.count("rule: extent 1");
            }
            let empty = lowered.instance.shapes[statement.out.0 as usize].contains(&0);
            if extents.contains(&0) && !empty && statement.reduce.is_some() {
                self.count("rule: identity of an empty reduction");
            }
        }
    }

    fn statement(&mut self, lowered: &Lowered, statement: &Statement) {
        let mut types: Vec<DType> = Vec::new();
        for node in &statement.value.nodes {
            let of = |id: &ijk_ir::core::ScalarId| types[id.0 as usize];
            let t = match node {
                ScalarNode::Access(access) => lowered.instance.dtypes[access.array.0 as usize],
                ScalarNode::Const(_, t) => resolve(lowered, *t),
                ScalarNode::Index(_) => DType::I64,
                ScalarNode::Unary(op, x) => {
                    self.count(format!("operator: {op:?} {}", of(x)));
                    op.result().of(of(x))
                }
                ScalarNode::Binary(op, x, _) => {
                    self.count(format!("operator: {op:?} {}", of(x)));
                    op.result().of(of(x))
                }
                ScalarNode::Select(_, x, _) => {
                    self.count(format!("operator: Where {}", of(x)));
                    of(x)
                }
                ScalarNode::Random { lo, .. } => of(lo),
            };
            types.push(t);
        }
        let last = *types.last().expect("a statement has a value");
        match statement.reduce {
            None if statement.value.nodes.len() == 1 => {
                self.count(format!("operator: no-op {last}"))
            }
            None => {}
            Some(Reducer::Monoid(monoid)) => self.count(format!("reducer: {monoid:?} {last}")),
            Some(arg) => self.count(format!("reducer: {arg:?} {last}")),
        }
    }
}

fn resolve(lowered: &Lowered, t: TypeTerm) -> DType {
    let known = |wanted: TypeTerm| {
        let at = lowered.program.arrays.iter().position(|a| a.dtype == wanted);
        at.map(|at| lowered.instance.dtypes[at])
    };
    match t {
        TypeTerm::Fixed(t) => t,
        TypeTerm::Var(_) => known(t).unwrap_or(DType::F64),
        TypeTerm::RealOf(v) => known(TypeTerm::Var(v)).map_or(DType::F64, DType::real),
    }
}

/// What programs with mistakes must reach.
pub fn expected_of_mistakes() -> Vec<&'static str> {
    MISTAKES.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

const MISTAKES: &str = "
    outcome: ill-formed
    outcome: syntax error
    outcome: value
    error: Arity
    error: Bounds
    error: Collision
    error: Cycle
    error: Dropped
    error: EmptyArg
    error: Extents
    error: Literal
    error: Misplaced
    error: Mixed
    error: NegativeOutput
    error: NotAffine
    error: Rank
    error: Type
    error: Unbound
    error: Undetermined
    diagnostic: `…` gives positions along exactly one dropped letter; none is dropped
    diagnostic: `…` gives positions along exactly one dropped letter; `…` is dropped
    diagnostic: `…` is defined by itself
    diagnostic: `…` is dropped from the output
    diagnostic: `…` swaps the first two inputs
    diagnostic: `…` takes a letter not the value of a function
    diagnostic: `…` takes an operand of exactly one letter not `…`
    diagnostic: a number in this index does not fit in # bits
    diagnostic: a product of letters is not affine in `…`
    diagnostic: a remainder by #
    diagnostic: argument # has rank #
    diagnostic: argument # is T
    diagnostic: division by #
    diagnostic: division by a letter is not affine in `…`
    diagnostic: index `…` ranges from # to #
    diagnostic: letter `…` has extent #
    diagnostic: letter `…` is # and # at once
    diagnostic: letter `…` is # on axis # of argument #
    diagnostic: letter `…` is # on axis # of the result of `…`
    diagnostic: no element type fits
    diagnostic: nothing determines the extent `…`
    diagnostic: output index `…` on axis # reaches #
    diagnostic: points
    diagnostic: ranks differ
    diagnostic: the element type is open
    diagnostic: the extent of letter `…` is not determined
    diagnostic: the left gives # output
    diagnostic: the output of `…` must tell its points apart
    diagnostic: the program takes # argument
    diagnostic: the right gives # output
    diagnostic: unknown name `…`
";

/// What every run must reach.
pub fn expected() -> Vec<String> {
    let mut all: Vec<String> =
        FEATURES.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect();
    let spelled = |f: &Function| f.operands();
    debug_assert!(Function::ALL.iter().all(|f| spelled(f).1 <= 3));
    for op in ijk_types::UnaryOp::ALL {
        all.extend(op.accepts().iter().map(|t| format!("operator: {op:?} {t}")));
    }
    for op in ijk_types::BinaryOp::ALL {
        all.extend(op.accepts().iter().map(|t| format!("operator: {op:?} {t}")));
    }
    for monoid in ijk_types::Monoid::ALL {
        all.extend(monoid.op().accepts().iter().map(|t| format!("reducer: {monoid:?} {t}")));
    }
    for t in DType::ALL {
        all.push(format!("operator: Where {t}"));
        all.push(format!("operator: no-op {t}"));
        if !t.is_complex() {
            all.push(format!("reducer: ArgMax {t}"));
            all.push(format!("reducer: ArgMin {t}"));
        }
    }
    all
}

const FEATURES: &str = "
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
    points: none
    points: at most 256
    points: at most 10000
    points: more than 10000
    production: % in brackets in operand
    production: % in brackets in output
    production: * in brackets
    production: / in brackets in operand
    production: / in brackets in output
    production: `;`
    production: bare
    production: binding
    production: bracket in operand
    production: bracket in output
    production: chain
    production: chain as `>>`
    production: comment
    production: compose
    production: difference
    production: fan-out
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
    production: name
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
    production: sum
    production: swap
    production: {10} in brackets
    production: {10} in operand
    production: {10} in output
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
    rule: broadcast along a new letter
    rule: diagonal
    rule: embedding on the diagonal
    rule: empty domain
    rule: extent 1
    rule: extent inferred from brackets
    rule: extent of a bracket's letter in braces
    rule: identity of an empty reduction
    rule: map with division in an output's bracket
    rule: map with two letters in an output's bracket
    rule: reduction with division in an output's bracket
    rule: reduction with two letters in an output's bracket
    rule: unsqueeze
";
