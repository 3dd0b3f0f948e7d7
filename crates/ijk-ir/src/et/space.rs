//! Extents that ranks leave to be chosen, and those that follow from the chosen ones.

use super::checked::{Checked, Solution};
use super::codes;
use super::expr::Fault;
use super::extent::Extents;
use super::ranks::Ranks;
use super::system::{CountedQuantity, Expr, Limit, Link, RankNode, Total};
use super::{Origin, ShapeId};
use crate::text::quote;
use ijk_syntax::et::ast::Quantity;
use ijk_syntax::{Diagnostic, Span};

/// Terms whose values one message names at most.
const MAX_TERMS: usize = 8;

/// Origin of the extents of a shape.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// The only extent is the number of components that something has.
    Counted(u64, &'a Link),
    /// Any of the range.
    In(u64, u64),
    /// Value of an expression.
    Equals(&'a Expr),
    /// Anything.
    Open,
}

/// The shapes of a program for given ranks.
pub struct Space<'a> {
    pub checked: &'a Checked,
    pub ranks: &'a Ranks,
    pub kinds: Vec<Kind<'a>>,
    /// Shapes, those that constraints define after the ones that they are defined by.
    pub order: Vec<ShapeId>,
}

impl Ranks {
    /// The rank of a sum of nodes.
    pub(super) fn total(&self, checked: &Checked, total: &Total) -> u32 {
        total.nodes.iter().fold(total.constant, |sum, n| sum + self.node(checked, *n))
    }

    fn node(&self, checked: &Checked, node: RankNode) -> u32 {
        let n = node.0 as usize;
        if let Some(rank) = self.shapes.get(n) {
            return *rank;
        }
        if n == self.shapes.len() {
            return 1;
        }
        let after = checked.system.places.partition_point(|first| *first as usize <= n);
        let array = after - 1;
        self.places[array][n - checked.system.places[array] as usize]
    }
}

impl<'a> Space<'a> {
    pub fn new(checked: &'a Checked, ranks: &'a Ranks) -> Self {
        let shapes = checked.shapes as usize;
        let mut kinds: Vec<Kind<'a>> = (0..shapes).map(|s| kind(checked, s)).collect();
        for link in &checked.system.links {
            let CountedQuantity::Shape(shape) = link.counts else { continue };
            let s = shape.0 as usize;
            if link.strict && !matches!(kinds[s], Kind::Equals(_)) || matches!(kinds[s], Kind::Open)
            {
                kinds[s] = Kind::Counted(ranks.total(checked, &link.rank).into(), link);
            }
        }
        let order = order(&kinds);
        Self { checked, ranks, kinds, order }
    }

    pub fn rank(&self, shape: ShapeId) -> usize {
        self.ranks.shapes[shape.0 as usize] as usize
    }

    /// One component of a defined extent, where `of` gives the extents that it is defined by.
    pub fn defined(
        &self,
        expr: &Expr,
        component: usize,
        of: &impl Fn(ShapeId, usize) -> Option<u64>,
    ) -> Result<i128, Fault> {
        expr.eval(&|quantity, shape| match quantity {
            Quantity::Rank => Some(self.rank(shape) as i128),
            Quantity::Dims => of(shape, component).map(i128::from),
        })
    }

    /// All extents, where `choose` gives those that are not defined by others.
    ///
    /// # Errors
    /// Where a constraint gives no extent.
    pub fn extents(
        &self,
        choose: &impl Fn(ShapeId, usize) -> u64,
    ) -> Result<Vec<Vec<u64>>, Box<Failure<'a>>> {
        let mut dims: Vec<Vec<u64>> = vec![Vec::new(); self.kinds.len()];
        for &shape in &self.order {
            let component = |c: usize| match self.kinds[shape.0 as usize] {
                Kind::Counted(extent, _) => Ok(extent),
                Kind::In(..) | Kind::Open => Ok(choose(shape, c)),
                Kind::Equals(expr) => {
                    let value = self.defined(expr, c, &|s, c| dims[s.0 as usize].get(c).copied());
                    let extent = value.as_ref().ok().and_then(|v| u64::try_from(*v).ok());
                    let extent = extent.filter(|e| i64::try_from(*e).is_ok());
                    extent.ok_or_else(|| Box::new(Failure::new(self, shape, c, value, &dims)))
                }
            };
            let extents = (0..self.rank(shape)).map(component).collect::<Result<_, _>>()?;
            dims[shape.0 as usize] = extents;
        }
        Ok(dims)
    }

    /// The solution that consists of these extents, unless a `:` counts something else.
    pub fn solution(&self, dims: Vec<Vec<u64>>) -> Result<Solution, Vec<Diagnostic>> {
        let solution = Solution { dims, places: self.ranks.places.clone() };
        let errors: Vec<_> = self
            .checked
            .system
            .links
            .iter()
            .filter_map(|l| self.miscounted(l, &solution))
            .collect();
        if errors.is_empty() { Ok(solution) } else { Err(errors) }
    }

    fn miscounted(&self, link: &Link, solution: &Solution) -> Option<Diagnostic> {
        let rank = self.ranks.total(self.checked, &link.rank);
        let extent = match link.counts {
            CountedQuantity::Shape(shape) => solution.dims[shape.0 as usize].first().copied()?,
            CountedQuantity::Place { array, place } => {
                if self.checked.arrays[array].origin == Origin::Input {
                    return None;
                }
                let index = self.checked.system.sizing[array].indices.get(place)?;
                let extents = Extents::new(self.checked, solution);
                extents.dims(index, 1).ok()??.first().copied()?
            }
        };
        (link.strict && extent != u64::from(rank)).then(|| star_extent(link.span, extent, rank))
    }
}

/// Error about a `:` on an axis that does not have one position for each component.
pub fn star_extent(span: Span, extent: u64, rank: u32) -> Diagnostic {
    let message = format!(
        "the axis of `:` has extent {extent}, but the place that it indexes has rank {rank}"
    );
    codes::STAR_EXTENT.error(span, message).with_label(format!("{extent}"))
}

fn kind(checked: &Checked, shape: usize) -> Kind<'_> {
    let rule = checked.system.dims_rules[shape].map(|n| &checked.system.rules[n].relation);
    match rule {
        None => Kind::Open,
        Some(Limit::In(lo, hi)) => Kind::In((*lo).max(0) as u64, (*hi).max(0) as u64),
        Some(Limit::Equals(expr)) => Kind::Equals(expr),
    }
}

fn order(kinds: &[Kind<'_>]) -> Vec<ShapeId> {
    let mut order = Vec::with_capacity(kinds.len());
    let mut seen = vec![false; kinds.len()];
    for start in 0..kinds.len() {
        let mut path = vec![(start, false)];
        while let Some((shape, expanded)) = path.pop() {
            if expanded {
                order.push(ShapeId(shape as u32));
            } else if !std::mem::replace(&mut seen[shape], true) {
                path.push((shape, true));
                if let Kind::Equals(expr) = kinds[shape] {
                    path.extend(expr.dims().iter().rev().map(|s| (s.0 as usize, false)));
                }
            }
        }
    }
    order
}

/// A constraint that gives no extent.
#[derive(Clone, Debug)]
pub struct Failure<'a> {
    checked: &'a Checked,
    shape: ShapeId,
    value: Result<i128, Fault>,
    /// The quantities of the expression with their values.
    terms: Vec<String>,
}

impl<'a> Failure<'a> {
    fn new(
        space: &Space<'a>,
        shape: ShapeId,
        component: usize,
        value: Result<i128, Fault>,
        dims: &[Vec<u64>],
    ) -> Self {
        let of = |s: ShapeId, c: usize| dims[s.0 as usize].get(c).copied();
        Self { checked: space.checked, shape, value, terms: space.terms(shape, component, &of) }
    }

    /// The error.
    pub fn diagnostic(&self) -> Diagnostic {
        failed(self.checked, self.shape, self.value, &self.terms)
    }
}

impl Space<'_> {
    /// The quantities of the expression that defines a shape, with their values.
    pub fn terms(
        &self,
        shape: ShapeId,
        component: usize,
        of: &impl Fn(ShapeId, usize) -> Option<u64>,
    ) -> Vec<String> {
        let Kind::Equals(expr) = self.kinds[shape.0 as usize] else { return Vec::new() };
        let name = |s: ShapeId| name_of(self.checked, s);
        let dims = expr.dims().into_iter().filter_map(|s| {
            let extent = of(s, component)?;
            Some(format!("DIMS({}) is {extent}", name(s)))
        });
        let ranks = expr.shapes(Quantity::Rank).into_iter();
        let ranks = ranks.map(|s| format!("RANK({}) is {}", name(s), self.rank(s)));
        dims.chain(ranks).take(MAX_TERMS).collect()
    }
}

/// The name of the first eintup of a shape.
pub fn name_of(checked: &Checked, shape: ShapeId) -> &str {
    checked.tuples.iter().find(|t| t.shape == shape).map_or("", |t| &t.name)
}

/// Where the constraint on the extents of a shape stands.
pub fn rule_span(checked: &Checked, shape: ShapeId) -> Span {
    let rule = checked.system.dims_rules[shape.0 as usize];
    rule.map_or(Span::default(), |n| {
        checked.program.constraints[checked.system.rules[n].constraint].span
    })
}

/// Error about a constraint that has no extent.
pub fn failed(
    checked: &Checked,
    shape: ShapeId,
    value: Result<i128, Fault>,
    terms: &[String],
) -> Diagnostic {
    let span = rule_span(checked, shape);
    let text = quote(&checked.source, span, "the constraint");
    let at = if terms.is_empty() { String::new() } else { format!(" where {}", terms.join(", ")) };
    match value {
        Ok(value) if value < 0 => codes::NEGATIVE_EXTENT
            .error(span, format!("{text} gives {value}{at}"))
            .with_label(format!("{value}")),
        Ok(value) => codes::CONSTRAINT_OVERFLOWS.error(span, format!("{text} gives {value}{at}")),
        Err(Fault::Zero) => codes::ZERO_DIVISOR.error(span, format!("{text} divides by 0{at}")),
        Err(_) => codes::CONSTRAINT_OVERFLOWS
            .error(span, format!("{text} gives more than 128 bits hold{at}")),
    }
}
