//! Which ranks satisfy a program: a search that assigns one group of equal ranks after another and
//! at once removes what can no longer be from the others.

use super::ShapeId;
use super::checked::Checked;
use super::system::{Expr, Limit, Total};
use crate::interval::Interval;
use ijk_syntax::et::ast::Quantity;
use std::collections::BTreeMap;

/// The greatest rank of an eintup.
pub const MAX_RANK: u32 = 9;
/// Ranks and operands that the search looks at between two solutions before it gives up.
const MAX_STEPS: u64 = 20_000_000;
/// Relations over more groups are only judged, not used to narrow each group.
const MAX_NARROWED: usize = 64;

/// Ranks of all eintups and places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranks {
    /// For each shape its rank.
    pub shapes: Vec<u32>,
    /// For each array the ranks of its places.
    pub places: Vec<Vec<u32>>,
}

/// Ranks that one group may still have, as bits.
type Domain = u16;
const ALL: Domain = (1 << (MAX_RANK + 1)) - 1;

/// Where a relation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
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
struct Relation {
    left: Vec<usize>,
    constant: i128,
    right: Right,
    /// The groups on both sides, each once.
    groups: Vec<usize>,
    /// How many ranks and operands judging it looks at.
    weight: u64,
    source: Source,
}

#[derive(Clone, Debug)]
enum Right {
    Total(Vec<usize>, i128),
    Expr(Expr),
    Within(i128, i128),
}

/// The ranks of groups and what they must satisfy.
#[derive(Clone, Debug)]
pub(super) struct Problem<'a> {
    checked: &'a Checked,
    domains: Vec<Domain>,
    relations: Vec<Relation>,
    /// For each group the relations that it is in.
    watching: Vec<Vec<usize>>,
}

impl<'a> Problem<'a> {
    /// What the program asks; groups that it does not constrain have rank 1, or any where `free`.
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

    /// Whether a limit only says that ranks are equal which are so anyway.
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
            let super::system::Counts::Shape(shape) = link.counts else { continue };
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

    /// Whether a link counts the extent of a place of the array.
    fn star(&self, link: &super::system::Link, array: usize) -> bool {
        use super::system::Counts;
        (0..self.checked.arrays[array].places).any(|place| match link.counts {
            Counts::Shape(shape) => self.checked.place_shape(array, place) == Some(shape),
            counts => counts == Counts::Place { array, place },
        })
    }

    fn groups_of(&self, array: usize) -> &'a [super::system::Group] {
        let first = self.checked.system.places[array] as usize;
        &self.checked.system.groups[first..first + self.checked.arrays[array].places]
    }

    /// Adds that the places of an array have so many axes together.
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

    /// Whether a shape has rank 1 only because nothing says otherwise.
    pub fn is_open(&self, shape: ShapeId) -> bool {
        let group = self.shape(shape);
        self.domains[group] == 1 << 1 && group != self.checked.system.one.0 as usize
    }

    fn shape(&self, shape: ShapeId) -> usize {
        self.checked.system.groups[shape.0 as usize].0 as usize
    }

    fn total(&self, total: &Total) -> (Vec<usize>, i128) {
        let group = |n: &super::system::Node| self.checked.system.groups[n.0 as usize].0 as usize;
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

    /// Whether the relation may hold where each group has a rank of its domain.
    fn possible(&self, relation: &Relation, domain: &impl Fn(usize) -> Domain) -> bool {
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

    /// The relation that no ranks satisfy, where that shows without a search.
    pub fn impossible(&self) -> Option<(Source, Vec<usize>)> {
        let mut state = State::new(self);
        let failed = state.propagate(self, (0..self.relations.len()).collect());
        let relation = self.relations.get(failed.err()?)?;
        Some((relation.source, relation.groups.clone()))
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

/// Domains during the search, and how to go back.
#[derive(Clone, Debug)]
struct State {
    domains: Vec<Domain>,
    /// Former domains.
    trail: Vec<(usize, Domain)>,
    steps: u64,
}

impl State {
    fn new(problem: &Problem<'_>) -> Self {
        Self { domains: problem.domains.clone(), trail: Vec::new(), steps: 0 }
    }

    fn set(&mut self, group: usize, domain: Domain) {
        self.trail.push((group, self.domains[group]));
        self.domains[group] = domain;
    }

    fn undo(&mut self, to: usize) {
        while self.trail.len() > to {
            let (group, domain) = self.trail.pop().expect("longer than `to`");
            self.domains[group] = domain;
        }
    }

    /// Narrows domains until nothing changes; the relation that cannot hold, if one cannot.
    fn propagate(&mut self, problem: &Problem<'_>, mut queue: Vec<usize>) -> Result<(), usize> {
        let mut queued = vec![false; problem.relations.len()];
        queue.iter().for_each(|n| queued[*n] = true);
        while let Some(n) = queue.pop() {
            queued[n] = false;
            let relation = &problem.relations[n];
            self.steps += relation.weight;
            if !problem.possible(relation, &|g| self.domains[g]) {
                return Err(n);
            }
            if relation.groups.len() > MAX_NARROWED {
                continue;
            }
            for &group in &relation.groups {
                let kept = self.kept(problem, relation, group);
                if kept == 0 {
                    return Err(n);
                }
                if kept != self.domains[group] {
                    self.set(group, kept);
                    for &other in &problem.watching[group] {
                        if !std::mem::replace(&mut queued[other], true) {
                            queue.push(other);
                        }
                    }
                }
            }
        }
        match self.domains.contains(&0) {
            true => Err(usize::MAX),
            false => Ok(()),
        }
    }

    /// The ranks of a group with which the relation may hold.
    fn kept(&mut self, problem: &Problem<'_>, relation: &Relation, group: usize) -> Domain {
        let before = self.domains[group];
        if before.is_power_of_two() {
            return before;
        }
        let mut kept = 0;
        for rank in 0..=MAX_RANK {
            let only = 1 << rank;
            if before & only != 0 {
                self.steps += relation.weight;
                let domain = |g: usize| if g == group { only } else { self.domains[g] };
                if problem.possible(relation, &domain) {
                    kept |= only;
                }
            }
        }
        kept
    }
}

/// A group that the search has assigned.
#[derive(Clone, Debug)]
struct Choice {
    group: usize,
    /// The ranks that are still to be tried.
    left: Domain,
    /// Where the trail stood before.
    trail: usize,
    /// Position in the order of groups.
    position: usize,
}

/// The combinations of ranks that satisfy a program, found as they are asked for: the ranks of
/// eintups that appear first change last, those that constraints define follow.
#[derive(Clone, Debug)]
pub struct RankCombinations<'a> {
    problem: Problem<'a>,
    state: State,
    order: Vec<usize>,
    choices: Vec<Choice>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Found,
    Done,
    GaveUp,
}

impl<'a> RankCombinations<'a> {
    fn new(problem: Problem<'a>) -> Self {
        let state = State::new(&problem);
        let order = order(&problem);
        Self { problem, state, order, choices: Vec::new(), phase: Phase::New }
    }

    /// Whether the search ended because it took too long.
    pub fn gave_up(&self) -> bool {
        self.phase == Phase::GaveUp
    }

    /// Assigns the groups that are left, from a position in the order on; whether that succeeds.
    fn descend(&mut self, mut position: usize) -> Phase {
        loop {
            while position < self.order.len()
                && self.state.domains[self.order[position]].is_power_of_two()
            {
                position += 1;
            }
            if position == self.order.len() {
                return Phase::Found;
            }
            let group = self.order[position];
            let (left, trail) = (self.state.domains[group], self.state.trail.len());
            self.choices.push(Choice { group, left, trail, position });
            match self.advance() {
                Some(next) => position = next,
                None => return if self.out_of_steps() { Phase::GaveUp } else { Phase::Done },
            }
        }
    }

    /// Tries the next rank of the last choice that has one; the position to go on from.
    fn advance(&mut self) -> Option<usize> {
        while let Some(choice) = self.choices.last_mut() {
            self.state.undo(choice.trail);
            if choice.left == 0 {
                self.choices.pop();
                continue;
            }
            if self.state.steps > MAX_STEPS {
                return None;
            }
            let only = choice.left & choice.left.wrapping_neg();
            choice.left &= !only;
            let (group, position) = (choice.group, choice.position);
            self.state.set(group, only);
            let watching = self.problem.watching[group].clone();
            if self.state.propagate(&self.problem, watching).is_ok() {
                return Some(position + 1);
            }
        }
        None
    }

    fn out_of_steps(&self) -> bool {
        self.state.steps > MAX_STEPS && !self.choices.is_empty()
    }

    fn ranks(&self) -> Ranks {
        let checked = self.problem.checked;
        let rank = |node: usize| {
            self.state.domains[checked.system.groups[node].0 as usize].trailing_zeros()
        };
        let places = |(array, first): (usize, &u32)| {
            (0..checked.arrays[array].places).map(|p| rank(*first as usize + p)).collect()
        };
        Ranks {
            shapes: (0..checked.shapes as usize).map(rank).collect(),
            places: checked.system.places.iter().enumerate().map(places).collect(),
        }
    }
}

impl Iterator for RankCombinations<'_> {
    type Item = Ranks;

    fn next(&mut self) -> Option<Ranks> {
        self.state.steps = 0;
        self.phase = match self.phase {
            Phase::New => {
                let all = (0..self.problem.relations.len()).collect();
                match self.state.propagate(&self.problem, all) {
                    Ok(()) => self.descend(0),
                    Err(_) => Phase::Done,
                }
            }
            Phase::Found => match self.advance() {
                Some(position) => self.descend(position),
                None if self.out_of_steps() => Phase::GaveUp,
                None => Phase::Done,
            },
            ended => ended,
        };
        (self.phase == Phase::Found).then(|| self.ranks())
    }
}

/// Groups in the order of their first appearance, those that a constraint defines after the rest.
fn order(problem: &Problem<'_>) -> Vec<usize> {
    let mut defined: BTreeMap<usize, ()> = BTreeMap::new();
    for relation in &problem.relations {
        if let (Right::Expr(_), [group]) = (&relation.right, &relation.left[..]) {
            defined.insert(*group, ());
        }
    }
    let mut order: Vec<usize> = (0..problem.domains.len()).collect();
    order.sort_by_key(|group| defined.contains_key(group));
    order
}

/// The combinations of ranks that satisfy the program, lazily. Eintups that no constraint is on
/// have rank 1, or any from 0 to [`MAX_RANK`] where `free`.
pub fn rank_combinations(checked: &Checked, free: bool) -> RankCombinations<'_> {
    Problem::new(checked, free).solutions()
}
