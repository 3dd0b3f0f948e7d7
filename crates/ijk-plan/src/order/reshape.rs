//! Subtree reconfiguration: parts of a tree replaced by the optimal tree of the same factors.

use super::exact::{Exact, Shared};
use super::measured::Measured;
use super::stop::Stop;

/// Cost of an exact search, in candidates.
pub(super) fn candidates(factors: usize) -> u64 {
    3u64.saturating_pow(factors as u32) / 64 + 1
}

/// Improves a tree until no part of `most` factors can be improved, or the budget is spent; returns the number of
/// candidates.
pub(super) fn reshape(tree: &mut Measured, most: usize, budget: u64, stop: &Stop<'_>) -> u64 {
    let mut reshaper = Reshaper { exact: Exact::default(), most, spent: 0, stop };
    loop {
        let mut better = false;
        for node in tree.tree.downwards().into_iter().rev() {
            if reshaper.spent >= budget || stop.is_set() {
                return reshaper.spent;
            }
            better |= reshaper.part(tree, node);
        }
        if !better {
            return reshaper.spent;
        }
    }
}

/// Replaces a tree by the optimal one, unless numbers overflow.
pub(super) fn replace(tree: &mut Measured, stop: &Stop<'_>) {
    let most = tree.tree.leaves();
    let mut reshaper = Reshaper { exact: Exact::default(), most, spent: 0, stop };
    reshaper.part(tree, tree.tree.root);
}

struct Reshaper<'a> {
    exact: Exact,
    most: usize,
    spent: u64,
    stop: &'a Stop<'a>,
}

impl Reshaper<'_> {
    /// Replaces the part below a node if a better one exists; returns true if so.
    fn part(&mut self, tree: &mut Measured, root: u32) -> bool {
        let (products, frontier) = grow(tree, root, self.most);
        if frontier.len() < 3 {
            return false;
        }
        self.spent += candidates(frontier.len());
        let shared = shared(tree, root, &frontier);
        let inner = tree.weights.timed.then(|| inner(tree, root, &frontier));
        let limit = tree.weights.limit;
        let last = if root == tree.tree.root { f64::INFINITY } else { limit };
        let solved =
            self.exact.solve(frontier.len(), &shared, [limit, last], (inner.as_deref(), self.stop));
        let Some(least) = solved else { return false };
        let now: f64 = products.iter().map(|&product| *tree.cost_of(product)).sum();
        if least >= now * (1.0 - 1e-9) {
            return false;
        }
        self.rebuild(tree, &products, &frontier);
        true
    }

    /// Builds the optimal tree over the frontier from the nodes `products`, the first of which is its root.
    fn rebuild(&self, tree: &mut Measured, products: &[u32], frontier: &[u32]) {
        let mut free = products[1..].iter();
        let mut open = vec![(products[0], (1u32 << frontier.len()) - 1)];
        let mut made = Vec::new();
        // Top-down order: each node precedes its factors.
        while let Some((node, set)) = open.pop() {
            let parts = self.exact.parts(set).map(|part| {
                if part.is_power_of_two() {
                    return frontier[part.trailing_zeros() as usize];
                }
                let node = free.next().copied().unwrap_or(node);
                open.push((node, part));
                node
            });
            tree.tree.set_factors(node, parts);
            made.push(node);
        }
        tree.settle(&made);
    }
}

/// The most expensive products below a node, and the frontier of their other factors.
fn grow(tree: &mut Measured, root: u32, most: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut products, mut frontier) = (Vec::new(), vec![root]);
    while frontier.len() < most {
        let costs = frontier.iter().enumerate().filter_map(|(at, &node)| {
            tree.tree.factors(node)?;
            Some((at, *tree.cost_of(node)))
        });
        let costs: Vec<(usize, f64)> = costs.collect();
        let Some(&(at, _)) = costs.iter().max_by(|x, y| x.1.total_cmp(&y.1)) else { break };
        let node = frontier.swap_remove(at);
        products.push(node);
        frontier.extend(tree.tree.factors(node).into_iter().flatten());
    }
    (products, frontier)
}

/// Innermost index of each factor that is an operand.
fn inner(tree: &Measured, root: u32, frontier: &[u32]) -> Vec<Option<Shared>> {
    let inner = |&node: &u32| {
        let index = tree.weights.inner.get(node as usize).copied().flatten()?;
        let has = |node: u32| tree.bits(node)[index / 64] >> (index % 64) & 1;
        let holders = frontier.iter().enumerate();
        let holders = holders.fold(0, |set, (at, &node)| set | (has(node) as u32) << at);
        Some(Shared { holders, extent: tree.weights.extent(index), open: has(root) == 1 })
    };
    frontier.iter().map(inner).collect()
}

/// Indices of the factors of a product.
fn shared(tree: &Measured, root: u32, frontier: &[u32]) -> Vec<Shared> {
    let mut shared = Vec::new();
    let kept = tree.bits(root);
    for (w, &open) in kept.iter().enumerate() {
        let mut union = frontier.iter().fold(0, |union, &node| union | tree.bits(node)[w]);
        while union != 0 {
            let bit = union.trailing_zeros();
            union &= union - 1;
            let has = |node: u32| tree.bits(node)[w] >> bit & 1;
            let holders = frontier.iter().enumerate();
            let holders = holders.fold(0, |set, (at, &node)| set | (has(node) as u32) << at);
            let extent = tree.weights.extent(w * 64 + bit as usize);
            shared.push(Shared { holders, extent, open: open >> bit & 1 == 1 });
        }
    }
    shared
}
