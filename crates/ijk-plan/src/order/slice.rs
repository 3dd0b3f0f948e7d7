//! Slicing: indices become outer loops, so that intermediates fit a limit.

use super::Network;
use super::logs::log2;
use super::measured::{Measured, Weights};
use super::problem::Problem;
use super::search::Search;
use super::stop::Stop;
use super::tree::Tree;

/// Share of the remaining budget that is spent on the tree after each slice.
const SHARE: f64 = 0.125;
/// Rounds of improving the tree under all slices, after each of which fewer may be needed.
const ROUNDS: u32 = 3;
/// log₂ of the excess above which several indices are sliced at once.
const MIN_EXCESS: f64 = 32.0;
/// With more slices, redundant ones are not searched for.
const MAX_PRUNED: usize = 200;

/// Chooses indices to slice until no product but the output exceeds `limit` elements, and improves the tree for them.
pub(super) fn slice(
    network: &Network,
    mut tree: Tree,
    limit: u64,
    search: &mut Search<'_>,
) -> (Tree, Vec<u32>) {
    let (stop, mut sliced) = (search.stop(), Vec::new());
    let mut improve = |tree: Tree, sliced: &[u32], share: f64| {
        let problem = Problem::new(network, sliced);
        let weights = Weights::new(&problem, Some(limit));
        search.improve(Measured::new(&weights, tree), share, slices(network, sliced)).tree
    };
    loop {
        tree = improve(tree, &sliced, SHARE);
        let more = next(network, &tree, limit, &sliced);
        if more.is_empty() || stop.is_set() {
            break;
        }
        sliced.extend(more);
    }
    let mut best: Option<(f64, Tree, Vec<u32>)> = None;
    for round in 0..=ROUNDS {
        choose(network, &tree, limit, &mut sliced, stop);
        let cost = unlimited(network, &tree, &sliced);
        if best.as_ref().is_none_or(|best| cost < best.0) {
            best = Some((cost, tree.clone(), sliced.clone()));
        }
        if round < ROUNDS {
            tree = improve(tree, &sliced, 1.0 / f64::from(ROUNDS - round));
        }
    }
    best.map_or((tree, sliced), |(_, tree, sliced)| (tree, sliced))
}

/// Tells whether no product but the output exceeds `limit` elements.
pub(super) fn fits(problem: &Problem, tree: &Measured, limit: u64) -> bool {
    largest(problem, tree, limit).is_none()
}

/// Multiplications of a tree over all slices.
fn unlimited(network: &Network, tree: &Tree, sliced: &[u32]) -> f64 {
    let problem = Problem::new(network, sliced);
    let of_one = Measured::new(&Weights::new(&problem, None), tree.clone()).total();
    of_one * slices(network, sliced)
}

/// Number of slices.
fn slices(network: &Network, sliced: &[u32]) -> f64 {
    sliced.iter().map(|&index| network.extents[index as usize] as f64).product()
}

/// Drops redundant slices, and adds missing ones.
fn choose(network: &Network, tree: &Tree, limit: u64, sliced: &mut Vec<u32>, stop: &Stop<'_>) {
    loop {
        let more = next(network, tree, limit, sliced);
        if more.is_empty() || stop.is_set() {
            break;
        }
        sliced.extend(more);
    }
    let mut at = 0;
    while at < sliced.len() && sliced.len() < MAX_PRUNED && !stop.is_set() {
        let index = sliced.remove(at);
        let problem = Problem::new(network, sliced);
        let weights = Weights::new(&problem, Some(limit));
        if !fits(&problem, &Measured::new(&weights, tree.clone()), limit) {
            sliced.insert(at, index);
            at += 1;
        }
    }
}

/// Indices to slice next, if some product does not fit: the cheapest of the largest product, and further ones if the
/// excess is large.
fn next(network: &Network, tree: &Tree, limit: u64, sliced: &[u32]) -> Vec<u32> {
    let problem = Problem::new(network, sliced);
    let weights = Weights::new(&problem, Some(limit));
    let measured = Measured::new(&weights, tree.clone());
    let Some(node) = largest(&problem, &measured, limit) else { return Vec::new() };
    let size: f64 = indices(&measured, node).iter().map(|&index| problem.logs[index]).sum();
    let mut excess = size - log2(limit as f64) - MIN_EXCESS;
    let enough = excess / 2.0;
    let mut next = Vec::new();
    for member in ranked(network, &problem, &measured, node) {
        excess -= log2(network.extents[member as usize] as f64);
        next.push(member);
        if excess <= enough.max(0.0) {
            break;
        }
    }
    next
}

/// The largest node above the limit: a product, or an operand that is stored again because its private indices are
/// summed.
fn largest(problem: &Problem, tree: &Measured, limit: u64) -> Option<u32> {
    let leaves = 0..problem.leaves.len() as u32;
    let stored = leaves.filter(|&leaf| problem.summed[leaf as usize]);
    let nodes = stored.chain(tree.tree.downwards()).map(|node| (tree.elements(node), node));
    let large = nodes.filter(|(elements, _)| *elements > limit as f64);
    large.max_by(|x, y| x.0.total_cmp(&y.0).then(y.1.cmp(&x.1))).map(|(_, node)| node)
}

/// Indices of a node.
fn indices(tree: &Measured, node: u32) -> Vec<usize> {
    let has = |index: &usize| has(tree, node, *index);
    (0..64 * tree.weights.words).filter(has).collect()
}

fn has(tree: &Measured, node: u32, index: usize) -> bool {
    tree.bits(node)[index / 64] >> (index % 64) & 1 == 1
}

/// Data of a product that slicing changes.
struct SlicedProduct {
    node: u32,
    factors: [u32; 2],
    points: f64,
    elements: f64,
}

impl SlicedProduct {
    fn new(tree: &Measured, node: u32) -> Self {
        let factors = tree.tree.factors(node).unwrap_or([node; 2]);
        Self { node, factors, points: tree.points(factors), elements: tree.elements(node) }
    }

    /// Cost after an index of extent `extent` is sliced.
    fn cost(&self, tree: &Measured, index: usize, extent: f64) -> f64 {
        let less = |has: bool| if has { extent } else { 1.0 };
        let points = self.factors.iter().any(|&factor| has(tree, factor, index));
        let elements = has(tree, self.node, index);
        tree.weights.cost(self.points / less(points), self.elements / less(elements))
    }
}

/// Indices of a node by the cost of the tree after slicing them, where products above the limit cost more.
fn ranked(network: &Network, problem: &Problem, tree: &Measured, node: u32) -> Vec<u32> {
    let products = tree.tree.downwards().into_iter().map(|node| SlicedProduct::new(tree, node));
    let products: Vec<SlicedProduct> = products.collect();
    let mut ranked = Vec::new();
    for index in indices(tree, node) {
        let mut members = problem.members[index].clone();
        members.sort_by_key(|&member| (network.extents[member as usize], member));
        members.dedup_by_key(|member| network.extents[*member as usize]);
        for member in members {
            let extent = network.extents[member as usize] as f64;
            let costs = products.iter().map(|product| product.cost(tree, index, extent));
            ranked.push((costs.sum::<f64>() * extent, member));
        }
    }
    ranked.sort_by(|x, y| x.0.total_cmp(&y.0));
    ranked.into_iter().map(|(_, member)| member).collect()
}
