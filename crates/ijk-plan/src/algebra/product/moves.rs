//! Order of multiplication of a product's factors, and its cost.

use super::NEST_COST;
use crate::graph::axes::{Axes, union};
use crate::order::{Measure, Network, Options, Order, order};
use crate::select::profit::worth_contracting;
use ijk_ir::einsum::Product;

/// A step of pairwise multiplication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Move {
    /// Reduces the private axes of a factor.
    Reduce(usize),
    /// Multiplies two factors (lower position first) and reduces axes that nothing else needs; the product replaces
    /// the first.
    Join(usize, usize),
}

/// A step, and the axes of its result in the memory order that suits later steps best.
#[derive(Clone, Debug)]
pub(super) struct PlacedMove {
    pub(super) step: Move,
    pub(super) axes: Vec<u32>,
}

/// Axes of the factors that remain at some step.
pub(super) struct Remaining<'a> {
    extents: &'a [u64],
    pub(super) sets: Vec<Axes>,
    /// By axis: number of factors that have it, plus 1 if the output has it.
    holders: Vec<usize>,
}

impl<'a> Remaining<'a> {
    pub(super) fn new(extents: &'a [u64], sets: Vec<Axes>, kept: &[u32]) -> Self {
        let mut holders = vec![0; extents.len()];
        for &axis in sets.iter().flatten().chain(kept) {
            holders[axis as usize] += 1;
        }
        Self { extents, sets, holders }
    }

    /// Axes of the product of some factors, and those of them that something else needs.
    pub(super) fn product(&self, factors: &[usize]) -> [Axes; 2] {
        let all = factors.iter().fold(Axes::new(), |all, &at| union(&all, &self.sets[at]));
        let own = |axis: &u32| factors.iter().filter(|&&at| self.sets[at].contains(axis)).count();
        let needed = |axis: &&u32| self.holders[**axis as usize] > own(axis);
        let rest = all.iter().filter(needed).copied().collect();
        [all, rest]
    }

    /// Applies a step.
    pub(super) fn apply(&mut self, step: Move) {
        let (at, gone, rest) = match step {
            Move::Reduce(at) => (at, None, self.product(&[at])[1].clone()),
            Move::Join(p, q) => (p, Some(q), self.product(&[p, q])[1].clone()),
        };
        let old = std::mem::replace(&mut self.sets[at], rest);
        let old = [old, gone.map_or_else(Axes::new, |gone| self.sets.remove(gone))];
        old.iter().flatten().for_each(|&axis| self.holders[axis as usize] -= 1);
        self.sets[at].iter().for_each(|&axis| self.holders[axis as usize] += 1);
    }

    pub(super) fn points(&self, axes: &[u32]) -> u64 {
        axes.iter().fold(1, |n, &axis| n.saturating_mul(self.extents[axis as usize]))
    }

    /// Cost of a step, in points of contractions.
    fn cost(&self, step: Move) -> u64 {
        match step {
            Move::Reduce(at) => self.points(&self.sets[at]).saturating_mul(NEST_COST),
            Move::Join(p, q) => {
                let [all, _] = self.product(&[p, q]);
                let points = self.points(&all);
                if self.is_contraction(p, q) { points } else { points.saturating_mul(NEST_COST) }
            }
        }
    }

    /// Tells whether the product of two factors is worth a contraction.
    pub(super) fn is_contraction(&self, p: usize, q: usize) -> bool {
        let [batch, m, n, k] = self.sides(p, q);
        worth_contracting(batch, m, n, k)
    }

    /// Points of the axes of both factors, of either, and of the reduced ones.
    pub(super) fn sides(&self, p: usize, q: usize) -> [u64; 4] {
        let [all, rest] = self.product(&[p, q]);
        let of = |p_has: bool, q_has: bool| {
            let own = |axis: &&u32| {
                self.sets[p].contains(axis) == p_has && self.sets[q].contains(axis) == q_has
            };
            self.points(&rest.iter().filter(own).copied().collect::<Axes>())
        };
        let reduced: Axes = all.iter().filter(|axis| !rest.contains(axis)).copied().collect();
        [of(true, true), of(true, false), of(false, true), self.points(&reduced)]
    }
}

/// A good order in which factors are joined down to two; `lie` gives the memory order of the axes of each factor.
pub(super) fn moves(left: &Remaining, lie: &[Vec<u32>], kept: &[u32]) -> Vec<PlacedMove> {
    let held = |axis: &&u32| left.sets.iter().any(|set| set.contains(axis));
    let network = Network {
        operands: lie.to_vec(),
        output: kept.iter().filter(held).copied().collect(),
        extents: left.extents.to_vec(),
    };
    let options = Options { measure: Measure::Time, ..Options::default() };
    let Ok(Order { path, .. }) = order(&network, &options) else { return Vec::new() };
    let axes = layouts(&network, lie, &path.0);
    // Positions of factors in the path's operand list, and in `left`.
    let mut list: Vec<usize> = (0..left.sets.len()).collect();
    let mut ours = list.clone();
    let mut moves = Vec::with_capacity(path.0.len());
    for (step, axes) in path.0.into_iter().zip(axes) {
        let mut places: Vec<usize> = Vec::with_capacity(2);
        for &position in step.iter().rev() {
            let factor = list.remove(position);
            places.extend(ours.iter().position(|&other| other == factor));
        }
        places.sort_unstable();
        match places[..] {
            [at] => moves.push(PlacedMove { step: Move::Reduce(at), axes }),
            [p, q] => {
                moves.push(PlacedMove { step: Move::Join(p, q), axes });
                ours.remove(q);
            }
            _ => return Vec::new(),
        }
        list.push(ours[places[0]]);
    }
    // The last join is the statement that remains.
    if matches!(moves.last(), Some(PlacedMove { step: Move::Join(..), .. })) {
        moves.pop();
    }
    moves
}

/// Axis order of the result of each step, as along the path of an einsum.
fn layouts(network: &Network, lie: &[Vec<u32>], path: &[Vec<usize>]) -> Vec<Vec<u32>> {
    let some = |axes: &Vec<u32>| axes.iter().copied().map(Some).collect();
    let product = Product {
        source: String::new(),
        extents: network.extents.clone(),
        names: Vec::new(),
        operands: lie.iter().map(some).collect(),
        result: some(&network.output),
        shapes: Vec::new(),
    };
    let steps = product.multiplications(path);
    steps.into_iter().map(|step| step.axes.into_iter().flatten().collect()).collect()
}

/// Cost of all steps, and of the remaining product of two factors.
pub(super) fn total(mut left: Remaining, moves: &[PlacedMove]) -> u64 {
    let mut cost = 0u64;
    for &PlacedMove { step, .. } in moves {
        cost = cost.saturating_add(left.cost(step));
        left.apply(step);
    }
    let last = if left.sets.len() == 2 { left.cost(Move::Join(0, 1)) } else { 0 };
    cost.saturating_add(last)
}
