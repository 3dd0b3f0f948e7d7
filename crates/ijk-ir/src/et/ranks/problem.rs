//! The ranks of groups and the relations between them.

use super::MAX_RANK;
use super::search::{RankCombinations, State};
use crate::et::ShapeId;
use crate::et::checked::Checked;
use crate::et::system::{Expr, Limit, Total};
use crate::interval::Interval;
use ijk_syntax::et::ast::Quantity;

/// Ranks that one group may still have, as bits.
pub type Domain = u16;
const ALL: Domain = (1 << (MAX_RANK + 1)) - 1;

/// Where a relation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An equation of sums of the program.
    Sum(usize),
    /// A constraint on a rank.
    Rule(usize),
    /// The constraint on the extent that counts components.
    Link(usize),
    /// The number of axes of a bound array.
    Axes(usize),
}

/// A sum of ranks and what it is.
#[derive(Clone, Debug)]
pub struct Relation {
    pub left: Vec<usize>,
    constant: i128,
    pub right: Right,
    /// The groups on both sides, each once.
    pub groups: Vec<usize>,
    /// Cost of evaluating the relation: number of its ranks and operands.
    pub weight: u64,
    source: Source,
}

#[derive(Clone, Debug)]
pub enum Right {
    Total(Vec<usize>, i128),
    Expr(Expr),
    Within(i128, i128),
}

/// A relation that no ranks satisfy.
pub struct Impossible<'a> {
    pub source: Source,
    /// Its groups.
    pub groups: Vec<usize>,
    /// The other relations of these groups.
    pub others: Vec<Source>,
    /// The problem with the ranks that the others leave.
    pub problem: Problem<'a>,
}

/// The ranks of groups and what they must satisfy.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    pub checked: &'a Checked,
    pub domains: Vec<Domain>,
    pub relations: Vec<Relation>,
    /// For each group the relations that it is in.
    pub watching: Vec<Vec<usize>>,
}

impl<'a> Problem<'a> {
    /// Rank problem of a program; groups without constraint have rank 1, or any where `free`.
    pub fn new(checked: &'a Checked, free: bool) -> Self {
        let system = &checked.system;
        let default = if free { ALL } else { 1 << 1 };
        let mut problem = Self {
            checked,
            domains: vec![default; system.group_count as usize],
            relations: Vec::new(),
            watching: vec![Vec::new(); system.group_count as usize],
        };
        problem.rules();
        problem.sums();
        problem.links();
        if let Some(domain) = problem.domains.get_mut(system.one.0 as usize) {
            *domain = 1 << 1;
        }
        problem
    }

    fn rules(&mut self) {
        for (n, rule) in self.checked.system.rules.iter().enumerate() {
            let group = self.shape(rule.shape);
            if rule.quantity == Quantity::Rank && !self.says_nothing(group, &rule.relation) {
                self.domains[group] = ALL;
                self.limit(vec![group], 0, &rule.relation, Source::Rule(n));
            }
        }
    }

    /// Returns true if a limit equates ranks that are equal anyway.
    fn says_nothing(&self, group: usize, limit: &Limit) -> bool {
        matches!(limit, Limit::Equals(Expr::Of(_, shape)) if self.shape(*shape) == group)
    }

    fn limit(&mut self, left: Vec<usize>, constant: i128, limit: &Limit, source: Source) {
        let right = match limit {
            Limit::In(lo, hi) => Right::Within((*lo).into(), (*hi).into()),
            Limit::Equals(expr) => Right::Expr(expr.clone()),
        };
        self.relate(left, constant, right, source);
    }

    fn sums(&mut self) {
        for (n, tie) in self.checked.system.sums.iter().enumerate() {
            let ((left, constant), (right, more)) = (self.total(&tie.left), self.total(&tie.right));
            for side in [&tie.left, &tie.right] {
                self.derive(side);
            }
            self.relate(left, constant, Right::Total(right, more), Source::Sum(n));
        }
    }

    /// A rank that others determine has no default.
    fn derive(&mut self, total: &Total) {
        if let Some(node) = total.single() {
            self.domains[self.checked.system.groups[node.0 as usize].0 as usize] = ALL;
        }
    }

    fn links(&mut self) {
        for (n, link) in self.checked.system.links.iter().enumerate() {
            let crate::et::system::CountedQuantity::Shape(shape) = link.counts else { continue };
            let rules = &self.checked.system.dims_rules;
            let Some(rule) = rules[shape.0 as usize].filter(|_| link.strict) else { continue };
            let limit = &self.checked.system.rules[rule].relation;
            if matches!(limit, Limit::Equals(expr) if !expr.dims().is_empty()) {
                continue;
            }
            let (left, constant) = self.total(&link.rank);
            self.derive(&link.rank);
            self.limit(left, constant, limit, Source::Link(n));
        }
    }

    /// Lets bound arrays decide ranks that a `:` counts: such a rank has no default where the array
    /// it indexes or the array of the `:` is bound.
    pub fn count(&mut self, bound: &[(usize, Vec<u64>)]) {
        let system = &self.checked.system;
        for link in system.links.iter().filter(|link| link.strict) {
            let (left, _) = self.total(&link.rank);
            let indexed = bound.iter().any(|(array, _)| {
                self.groups_of(*array).iter().any(|group| left.contains(&(group.0 as usize)))
            });
            let counted = bound.iter().any(|(array, _)| self.star(link, *array));
            if (counted || indexed) && left != [system.one.0 as usize] {
                self.derive(&link.rank);
            }
        }
    }

    /// Lets arrays decide ranks that are 1 only by default, and numbers of components: the ranges of extents do not
    /// hold for bound arrays.
    pub fn yield_to(&mut self, arrays: &[usize]) {
        for &array in arrays {
            for group in self.groups_of(array) {
                let group = group.0 as usize;
                if self.domains[group] == 1 << 1 && group != self.checked.system.one.0 as usize {
                    self.domains[group] = ALL;
                }
            }
        }
        for relation in self.relations.iter_mut().filter(|_| !arrays.is_empty()) {
            if let (Source::Link(_), Right::Within(..)) = (relation.source, &relation.right) {
                relation.right = Right::Within(0, MAX_RANK.into());
            }
        }
    }

    /// Returns true if a link counts the extent of a place of the array.
    fn star(&self, link: &crate::et::system::Link, array: usize) -> bool {
        use crate::et::system::CountedQuantity;
        (0..self.checked.arrays[array].places).any(|place| match link.counts {
            CountedQuantity::Shape(shape) => self.checked.place_shape(array, place) == Some(shape),
            counts => counts == CountedQuantity::Place { array, place },
        })
    }

    fn groups_of(&self, array: usize) -> &'a [crate::et::system::Group] {
        let first = self.checked.system.places[array] as usize;
        &self.checked.system.groups[first..first + self.checked.arrays[array].places]
    }

    /// Adds that the places of an array have `axes` axes together.
    pub fn bind(&mut self, array: usize, axes: usize) {
        let first = self.checked.system.places[array] as usize;
        let places = self.checked.arrays[array].places;
        let groups = &self.checked.system.groups[first..first + places];
        let left = groups.iter().map(|g| g.0 as usize).collect();
        let axes = axes as i128;
        self.relate(left, 0, Right::Within(axes, axes), Source::Axes(array));
    }

    /// Fixes the rank of a shape, whatever its default.
    pub fn fix(&mut self, shape: ShapeId, rank: u32) {
        let group = self.shape(shape);
        let only = if rank <= MAX_RANK { 1 << rank } else { 0 };
        let open = self.is_open(shape);
        self.domains[group] = if open { only } else { self.domains[group] & only };
    }

    /// Returns true if a shape has rank 1 only by default.
    pub fn is_open(&self, shape: ShapeId) -> bool {
        let group = self.shape(shape);
        self.domains[group] == 1 << 1 && group != self.checked.system.one.0 as usize
    }

    fn shape(&self, shape: ShapeId) -> usize {
        self.checked.system.groups[shape.0 as usize].0 as usize
    }

    fn total(&self, total: &Total) -> (Vec<usize>, i128) {
        let group =
            |n: &crate::et::system::RankNode| self.checked.system.groups[n.0 as usize].0 as usize;
        (total.nodes.iter().map(group).collect(), total.constant.into())
    }

    fn relate(&mut self, left: Vec<usize>, constant: i128, right: Right, source: Source) {
        let mut groups = left.clone();
        match &right {
            Right::Total(nodes, _) => groups.extend(nodes),
            Right::Expr(expr) => expr.for_each(&mut |_, shape| groups.push(self.shape(shape))),
            Right::Within(..) => {}
        }
        groups.sort_unstable();
        groups.dedup();
        for group in &groups {
            self.watching[*group].push(self.relations.len());
        }
        let more = match &right {
            Right::Total(nodes, _) => nodes.len(),
            Right::Expr(expr) => expr.size(),
            Right::Within(..) => 1,
        };
        let weight = (left.len() + more) as u64;
        self.relations.push(Relation { left, constant, right, groups, weight, source });
    }

    /// Returns true if the relation may hold for ranks within the domains of the groups.
    pub fn possible(&self, relation: &Relation, domain: &impl Fn(usize) -> Domain) -> bool {
        let hull = |group: usize| {
            let bits = domain(group);
            let greatest = i128::from(Domain::BITS - 1 - bits.leading_zeros().min(15));
            Interval { least: bits.trailing_zeros().into(), greatest }
        };
        let sum = |groups: &[usize], constant: i128| {
            let start = Interval::point(constant);
            groups.iter().fold(start, |sum, g| sum.plus(hull(*g)))
        };
        let left = sum(&relation.left, relation.constant);
        let right = match &relation.right {
            Right::Total(groups, constant) => sum(groups, *constant),
            Right::Within(least, greatest) => Interval { least: *least, greatest: *greatest },
            Right::Expr(expr) => match expr.range(&|_, shape| hull(self.shape(shape))) {
                Some(range) => range,
                None => return false,
            },
        };
        left.least <= right.greatest && right.least <= left.greatest
    }

    /// The ranks that a group may still have, for messages.
    pub fn domain(&self, shape: ShapeId) -> Vec<u32> {
        let domain = self.domains[self.shape(shape)];
        (0..=MAX_RANK).filter(|r| domain & (1 << r) != 0).collect()
    }

    /// A contradiction that is visible without a search.
    pub fn impossible(&self) -> Option<Impossible<'a>> {
        let mut state = State::new(self);
        let failed = state.propagate(self, (0..self.relations.len()).collect()).err()?;
        let relation = self.relations.get(failed)?;
        let mut others: Vec<usize> =
            relation.groups.iter().flat_map(|g| self.watching[*g].iter().copied()).collect();
        others.sort_unstable();
        others.dedup();
        let others = others.into_iter().filter(|n| *n != failed);
        Some(Impossible {
            source: relation.source,
            groups: relation.groups.clone(),
            others: others.map(|n| self.relations[n].source).collect(),
            problem: Self { domains: state.domains, ..self.clone() },
        })
    }

    /// The program.
    pub fn checked(&self) -> &'a Checked {
        self.checked
    }

    /// The same without ranks that no relation by itself allows.
    pub fn narrowed(mut self) -> Self {
        let mut state = State::new(&self);
        if state.propagate(&self, (0..self.relations.len()).collect()).is_ok() {
            self.domains = state.domains;
        }
        self
    }

    /// The sources of all relations.
    pub fn sources(&self) -> impl Iterator<Item = Source> {
        self.relations.iter().map(|r| r.source)
    }

    pub fn solutions(self) -> RankCombinations<'a> {
        RankCombinations::new(self)
    }
}
