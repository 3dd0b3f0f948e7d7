//! The search: depth first, narrowing what is left after each choice.

use super::problem::{Domain, Problem, Relation, Right};
use super::{MAX_RANK, Ranks};
use std::collections::BTreeSet;

/// Ranks and operands that the search looks at between two solutions before it gives up.
const MAX_STEPS: u64 = 20_000_000;
/// Relations over more groups are only judged, not used to narrow each group.
const MAX_NARROWED: usize = 64;

/// Domains during the search, and how to go back.
#[derive(Clone, Debug)]
pub struct State {
    pub domains: Vec<Domain>,
    /// Former domains.
    trail: Vec<(usize, Domain)>,
    steps: u64,
}

impl State {
    pub fn new(problem: &Problem<'_>) -> Self {
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
    pub fn propagate(&mut self, problem: &Problem<'_>, mut queue: Vec<usize>) -> Result<(), usize> {
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

/// The combinations of ranks that satisfy a program, found lazily: the ranks of eintups that appear first change last,
/// those that constraints define follow.
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
    pub(super) fn new(problem: Problem<'a>) -> Self {
        let state = State::new(&problem);
        let order = order(&problem);
        Self { problem, state, order, choices: Vec::new(), phase: Phase::New }
    }

    /// Returns true if the search exceeded its limit.
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
    let mut defined: BTreeSet<usize> = BTreeSet::new();
    for relation in &problem.relations {
        if let (Right::Expr(_), [group]) = (&relation.right, &relation.left[..]) {
            defined.insert(*group);
        }
    }
    let mut order: Vec<usize> = (0..problem.domains.len()).collect();
    order.sort_by_key(|group| defined.contains(group));
    order
}
