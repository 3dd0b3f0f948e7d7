//! Constraints: names looked up, ranges judged, duplicates and cycles found.

use super::super::codes;
use super::super::expr::Fault;
use super::super::extent::spelling;
use super::super::system::{Expr, Limit, RankNode, Rule, Tie, Total};
use super::super::{MAX_RANK, ShapeId};
use super::Symbols;
use super::names::{Kind, Names};
use crate::sink::Sink;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{Bound, Constraint, IndexOp, Program, Quantity, Relation};

/// Looks up constraints.
pub struct Constraints<'a> {
    program: &'a Program,
    names: &'a Names,
    found: &'a Symbols,
    sink: &'a mut Sink,
    pub rules: Vec<Rule>,
    pub rank_rules: Vec<Option<usize>>,
    pub dims_rules: Vec<Option<usize>>,
    pub ties: Vec<Tie>,
}

impl<'a> Constraints<'a> {
    /// Looks up all constraints of a program.
    pub fn collect(
        program: &'a Program,
        names: &'a Names,
        found: &'a Symbols,
        sink: &'a mut Sink,
    ) -> Self {
        let rules_of_shapes = || vec![None; found.shapes.shapes as usize];
        let mut all = Self {
            program,
            names,
            found,
            sink,
            rules: Vec::new(),
            rank_rules: rules_of_shapes(),
            dims_rules: rules_of_shapes(),
            ties: Vec::new(),
        };
        for (n, constraint) in program.constraints.iter().enumerate() {
            all.take(n, constraint);
        }
        all.cycles(Quantity::Rank);
        all.cycles(Quantity::Dims);
        all
    }

    fn take(&mut self, n: usize, constraint: &Constraint) {
        let Some(shape) = self.found.shape(&constraint.tuple.text) else { return };
        let quantity = constraint.quantity;
        let relation = match &constraint.relation {
            Relation::In(lo, hi) => self.range(constraint, *lo, *hi),
            Relation::Equals(bound) => {
                let expr = self.bound(bound, constraint, shape);
                let expr = expr.filter(|e| self.judge_constant(e, constraint, bound.span()));
                expr.map(Limit::Equals)
            }
        };
        let rules = match quantity {
            Quantity::Rank => &mut self.rank_rules,
            Quantity::Dims => &mut self.dims_rules,
        };
        let place = &mut rules[shape.0 as usize];
        if let Some(before) = place {
            let before = &self.program.constraints[self.rules[*before].constraint];
            self.sink.push(twice(constraint, before));
        } else if let Some(relation) = relation {
            *place = Some(self.rules.len());
            self.rules.push(Rule { quantity, shape, relation, constraint: n });
        }
    }

    fn range(
        &mut self,
        constraint: &Constraint,
        (lo, lo_span): (i64, Span),
        (hi, hi_span): (i64, Span),
    ) -> Option<Limit> {
        let what = text(constraint);
        let error = if lo > hi {
            let message = format!("`{what}` can be nothing: {lo} is more than {hi}");
            codes::EMPTY_RANGE.error(hi_span, message).with_related(lo_span, format!("{lo}"))
        } else if lo < 0 {
            let message = format!("`{what}` cannot be {lo}");
            codes::NEGATIVE_RANGE.error(lo_span, message).with_label("negative")
        } else if constraint.quantity == Quantity::Rank && hi > MAX_RANK.into() {
            let message = format!("`{what}` cannot be {hi}: ranks go up to {MAX_RANK}");
            codes::RANK_RANGE.error(hi_span, message)
        } else {
            return Some(Limit::In(lo, hi));
        };
        self.sink.push(error);
        None
    }

    fn judge_constant(&mut self, expr: &Expr, constraint: &Constraint, span: Span) -> bool {
        let what = text(constraint);
        let rank = constraint.quantity == Quantity::Rank;
        let error = match expr.eval(&|_, _| None) {
            Ok(value) if value < 0 => {
                let message = format!("`{what}` cannot be {value}");
                codes::NEGATIVE_RANGE.error(span, message).with_label("negative")
            }
            Ok(value) if rank && value > MAX_RANK.into() => {
                let message = format!("`{what}` cannot be {value}: ranks go up to {MAX_RANK}");
                codes::RANK_RANGE.error(span, message)
            }
            Ok(value) if value > i64::MAX.into() => {
                codes::CONSTRAINT_OVERFLOWS.error(span, format!("`{what}` cannot be {value}"))
            }
            Err(Fault::Overflow) => {
                let message = format!("the value of `{what}` is more than 128 bits hold");
                codes::CONSTRAINT_OVERFLOWS.error(span, message)
            }
            Ok(_) | Err(Fault::Unknown | Fault::Zero) => return true,
        };
        self.sink.push(error);
        false
    }

    fn bound(&mut self, bound: &Bound, of: &Constraint, shape: ShapeId) -> Option<Expr> {
        Some(match bound {
            Bound::Integer(value, _) => Expr::Integer(*value),
            Bound::Of(quantity, name, span) => {
                let term = self.found.shape(&name.text)?;
                self.judge_term(*quantity, name, *span, of);
                if *quantity == Quantity::Dims && of.quantity == Quantity::Dims && term != shape {
                    let why =
                        format!("`DIMS({})` and `{}` are in one constraint", name.text, text(of));
                    let (left, right) = (Total::of(RankNode(shape.0)), Total::of(RankNode(term.0)));
                    self.ties.push(Tie { left, right, span: *span, why });
                }
                Expr::Of(*quantity, term)
            }
            Bound::Min(a, b, _) => {
                let (a, b) = (self.bound(a, of, shape), self.bound(b, of, shape));
                Expr::Min(Box::new(a?), Box::new(b?))
            }
            Bound::Max(a, b, _) => {
                let (a, b) = (self.bound(a, of, shape), self.bound(b, of, shape));
                Expr::Max(Box::new(a?), Box::new(b?))
            }
            Bound::Sum(terms, _) => {
                let term =
                    |(negated, t): &(bool, Bound)| Some((*negated, self.bound(t, of, shape)?));
                Expr::Sum(terms.iter().map(term).collect::<Option<_>>()?)
            }
            Bound::Product(first, rest, _) => {
                let first = self.bound(first, of, shape)?;
                let factors = rest.iter().map(|(op, f)| self.factor(*op, f, of, shape));
                let rest = factors.collect::<Option<_>>()?;
                Expr::Product(Box::new(first), rest)
            }
        })
    }

    fn factor(
        &mut self,
        op: IndexOp,
        factor: &Bound,
        of: &Constraint,
        shape: ShapeId,
    ) -> Option<(IndexOp, Expr)> {
        let expr = self.bound(factor, of, shape)?;
        if op != IndexOp::Mul && expr.constant() == Some(0) {
            let message = format!("the right operand of `{}` is 0", spelling(op));
            self.sink.push(codes::ZERO_DIVISOR.error(factor.span(), message));
            return None;
        }
        Some((op, expr))
    }

    fn judge_term(
        &mut self,
        quantity: Quantity,
        name: &ijk_syntax::et::ast::Name,
        span: Span,
        of: &Constraint,
    ) {
        if quantity == Quantity::Dims && of.quantity == Quantity::Rank {
            let message = format!("`{}` is a rank, which extents do not decide", text(of));
            let error = codes::DIMS_IN_RANK.error(span, message).with_label("extents").with_fix(
                "the rank is",
                span,
                format!("RANK({})", name.text),
            );
            self.sink.push(error);
        }
        let known = self.names.get(&name.text);
        if known.is_some_and(|u| u.is_lonely()) {
            let message = format!("nothing else mentions the eintup `{}`", name.text);
            let error = codes::UNKNOWN_TUPLE.error(name.span, message);
            self.sink.push(self.names.offer(Kind::Tuple, &name.text, name.span, error));
        }
    }

    /// Complains of quantities that are defined by themselves.
    fn cycles(&mut self, quantity: Quantity) {
        let rules = match quantity {
            Quantity::Rank => &self.rank_rules,
            Quantity::Dims => &self.dims_rules,
        };
        let next = |shape: usize| -> Vec<usize> {
            match rules[shape].map(|r| &self.rules[r].relation) {
                Some(Limit::Equals(expr)) => {
                    expr.shapes(quantity).into_iter().map(|s| s.0 as usize).collect()
                }
                _ => Vec::new(),
            }
        };
        let found = super::cycle::cycles(rules.len(), next);
        for cycle in found {
            let rules: Vec<usize> = cycle.iter().filter_map(|shape| rules[*shape]).collect();
            let spans: Vec<&Constraint> = rules
                .iter()
                .map(|r| &self.program.constraints[self.rules[*r].constraint])
                .collect();
            self.sink.push(cyclic(&spans));
        }
    }
}

/// `RANK(a)`.
fn text(constraint: &Constraint) -> String {
    let function = match constraint.quantity {
        Quantity::Rank => "RANK",
        Quantity::Dims => "DIMS",
    };
    format!("{function}({})", constraint.tuple.text)
}

fn twice(constraint: &Constraint, before: &Constraint) -> ijk_syntax::Diagnostic {
    let (this, that) = (text(constraint), text(before));
    let message = if this == that {
        format!("two constraints on `{this}`")
    } else {
        format!("`{this}` and `{that}` are constrained, but their eintups share one shape")
    };
    codes::CONSTRAINT_TWICE
        .error(constraint.span, message)
        .with_label("the second")
        .with_related(before.span, "the first")
}

fn cyclic(constraints: &[&Constraint]) -> ijk_syntax::Diagnostic {
    let (last, rest) = constraints.split_last().expect("a cycle has a constraint");
    let message = format!("`{}` is defined by itself", text(last));
    let error = codes::CONSTRAINT_CYCLE.error(last.span, message).with_label("closes the cycle");
    rest.iter().fold(error, |e, c| e.with_related(c.span, format!("gives `{}`", text(c))))
}
