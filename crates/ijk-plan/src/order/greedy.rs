//! Greedy search: multiplies the most promising pair, repeatedly.

use super::logs::{exp2, log2};
use super::problem::Problem;
use super::stop::Stop;
use super::tree::Tree;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An index with more operands proposes a subset of their pairs only.
const MANY_HOLDERS: usize = 24;

/// Builds a tree greedily by the size of each product relative to its factors. `None` once the search is stopped.
pub(super) fn greedy(problem: &Problem, stop: &Stop<'_>) -> Option<Tree> {
    let mut pool = Pool::new(problem);
    loop {
        pool.propose_all();
        if pool.heap.is_empty() {
            break;
        }
        while let Some(pair) = pool.heap.pop() {
            if stop.is_set() {
                return None;
            }
            if pool.is_left(pair.p) && pool.is_left(pair.q) {
                let product = pool.multiply(pair.p, pair.q);
                pool.propose(product);
            }
        }
    }
    pool.multiply_apart();
    Some(Tree::new(problem.leaves.len(), pool.factors))
}

/// Nodes that remain to be multiplied.
struct Pool<'a> {
    problem: &'a Problem,
    /// By node: its indices, ascending; `None` once it is a factor.
    left: Vec<Option<Vec<u32>>>,
    /// By node: log₂ of its elements.
    sizes: Vec<f64>,
    /// By index: remaining nodes that have it, ascending.
    holders: Vec<Vec<u32>>,
    heap: BinaryHeap<Pair>,
    factors: Vec<[u32; 2]>,
}

/// A candidate pair; lower scores are better.
struct Pair {
    score: f64,
    p: u32,
    q: u32,
}

impl<'a> Pool<'a> {
    fn new(problem: &'a Problem) -> Self {
        let mut holders = vec![Vec::new(); problem.logs.len()];
        for (leaf, indices) in problem.leaves.iter().enumerate() {
            indices.iter().for_each(|&index| holders[index as usize].push(leaf as u32));
        }
        Self {
            problem,
            left: problem.leaves.iter().cloned().map(Some).collect(),
            sizes: problem.leaves.iter().map(|indices| problem.size(indices)).collect(),
            holders,
            heap: BinaryHeap::new(),
            factors: Vec::new(),
        }
    }

    fn is_left(&self, node: u32) -> bool {
        self.left[node as usize].is_some()
    }

    /// Proposes pairs of nodes that share a summed index.
    fn propose_all(&mut self) {
        let mut pairs = Vec::new();
        for index in (0..self.holders.len()).filter(|&index| !self.problem.open[index]) {
            let mut holders = self.holders[index].clone();
            let mut most = holders.len();
            if most > MANY_HOLDERS {
                let size = |node: &u32| self.sizes[*node as usize];
                holders.sort_by(|p, q| size(p).total_cmp(&size(q)).then(p.cmp(q)));
                most = MANY_HOLDERS / 4;
            }
            for (at, &p) in holders.iter().enumerate() {
                pairs.extend(holders[at + 1..].iter().take(most).map(|&q| (p.min(q), p.max(q))));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let heap: Vec<Pair> = pairs.into_iter().map(|(p, q)| self.pair(p, q)).collect();
        self.heap = heap.into();
    }

    /// Proposes a node with each node that shares a summed index.
    fn propose(&mut self, node: u32) {
        let indices = self.left[node as usize].as_deref().unwrap_or_default();
        let mut neighbours = Vec::new();
        for &index in indices.iter().filter(|&&index| !self.problem.open[index as usize]) {
            let holders = &self.holders[index as usize];
            neighbours.extend(holders.iter().take(MANY_HOLDERS).filter(|&&other| other != node));
        }
        neighbours.sort_unstable();
        neighbours.dedup();
        for other in neighbours {
            let pair = self.pair(other, node);
            self.heap.push(pair);
        }
    }

    fn pair(&self, p: u32, q: u32) -> Pair {
        let mut size = 0.0;
        self.each_of(p, q, |index, stays| {
            if stays {
                size += self.problem.logs[index as usize];
            }
        });
        let factors = exp2(self.sizes[p as usize]) + exp2(self.sizes[q as usize]);
        let gain = exp2(size) - factors;
        let score = if gain < 0.0 { -log2(1.0 - gain) } else { log2(1.0 + gain) };
        Pair { score, p, q }
    }

    /// Calls `each` with the indices of a product, and true for those that remain in it.
    fn each_of(&self, p: u32, q: u32, mut each: impl FnMut(u32, bool)) {
        let of = |node: u32| self.left[node as usize].as_deref().unwrap_or_default();
        let (mut x, mut y) = (of(p), of(q));
        let alone = |index: u32, holders: usize| {
            self.problem.open[index as usize] || self.holders[index as usize].len() > holders
        };
        loop {
            match (x, y) {
                ([a, rest @ ..], [b, others @ ..]) if a == b => {
                    each(*a, alone(*a, 2));
                    (x, y) = (rest, others);
                }
                ([a, rest @ ..], [b, ..]) if a < b => {
                    each(*a, alone(*a, 1));
                    x = rest;
                }
                ([a, rest @ ..], []) => {
                    each(*a, alone(*a, 1));
                    x = rest;
                }
                (_, [b, others @ ..]) => {
                    each(*b, alone(*b, 1));
                    y = others;
                }
                ([], []) => return,
            }
        }
    }

    /// Replaces two nodes by their product.
    fn multiply(&mut self, p: u32, q: u32) -> u32 {
        let node = self.left.len() as u32;
        let mut indices = Vec::new();
        self.each_of(p, q, |index, stays| {
            if stays {
                indices.push(index);
            }
        });
        for gone in [p, q] {
            for index in self.left[gone as usize].take().into_iter().flatten() {
                self.holders[index as usize].retain(|&holder| holder != gone);
            }
        }
        indices.iter().for_each(|&index| self.holders[index as usize].push(node));
        self.sizes.push(self.problem.size(&indices));
        self.left.push(Some(indices));
        self.factors.push([p, q]);
        node
    }

    /// Multiplies nodes that share no summed index, smallest first.
    fn multiply_apart(&mut self) {
        let nodes = (0..self.left.len() as u32).filter(|&node| self.is_left(node));
        let mut heap: BinaryHeap<Reverse<BySize>> =
            nodes.map(|node| Reverse(BySize { size: self.sizes[node as usize], node })).collect();
        while let (Some(Reverse(p)), Some(Reverse(q))) = (heap.pop(), heap.pop()) {
            let node = self.multiply(p.node.min(q.node), p.node.max(q.node));
            heap.push(Reverse(BySize { size: self.sizes[node as usize], node }));
        }
    }
}

/// A node ordered by its elements.
struct BySize {
    size: f64,
    node: u32,
}

impl Ord for BySize {
    fn cmp(&self, other: &Self) -> Ordering {
        self.size.total_cmp(&other.size).then(self.node.cmp(&other.node))
    }
}

impl Ord for Pair {
    /// The pair of the lowest score is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then((other.p, other.q).cmp(&(self.p, self.q)))
    }
}

macro_rules! ordered {
    ($($of:ty),*) => { $(
        impl PartialOrd for $of {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl PartialEq for $of {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }

        impl Eq for $of {}
    )* };
}

ordered!(Pair, BySize);
