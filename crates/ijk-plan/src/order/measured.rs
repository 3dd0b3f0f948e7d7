//! A tree with the indices and costs of its products.

use super::problem::Problem;
use super::time::PairProduct;
use super::tree::Tree;

/// A tree, and the indices, elements and cost of each node.
#[derive(Clone)]
pub(super) struct Measured<'a> {
    pub(super) weights: &'a Weights,
    pub(super) tree: Tree,
    /// By node: bit set of its indices.
    bits: Vec<u64>,
    /// By product: its cost.
    pub(super) costs: Vec<f64>,
}

/// Data that all trees of a problem share.
pub(super) struct Weights {
    /// Words of a bit set of indices.
    pub(super) words: usize,
    /// By index: its extent.
    extents: Vec<f64>,
    /// By word: powers of the common extent of its indices, if they have the same.
    powers: Vec<Option<[f64; 65]>>,
    /// Bit sets of the leaves.
    leaves: Vec<u64>,
    /// Bit set of the output.
    output: Vec<u64>,
    /// Limit of a product's elements.
    pub(super) limit: f64,
    /// By leaf: its innermost index, if known.
    pub(super) inner: Vec<Option<usize>>,
    /// True if costs are estimated times.
    pub(super) timed: bool,
}

/// Costs are clamped to this, so that sums of a few stay finite.
const MAX_COST: f64 = 1e300;

impl Weights {
    pub(super) fn new(problem: &Problem, limit: Option<u64>) -> Self {
        let words = problem.extents.len().div_ceil(64).max(1);
        let mut leaves = vec![0; words * problem.leaves.len()];
        for (leaf, indices) in problem.leaves.iter().enumerate() {
            indices.iter().for_each(|&index| set(&mut leaves[leaf * words..], index as usize));
        }
        let mut output = vec![0; words];
        let open = problem.open.iter().enumerate().filter(|(_, open)| **open);
        open.for_each(|(index, _)| set(&mut output, index));
        let mut powers: Vec<_> = problem.extents.chunks(64).map(powers).collect();
        powers.resize(words, None);
        let limit = limit.map_or(f64::INFINITY, |most| most as f64);
        let extents = problem.extents.clone();
        let inner = problem.inner.clone();
        Self { words, extents, powers, leaves, output, limit, inner, timed: false }
    }

    /// Selects costs by estimated time.
    pub(super) fn timed(self, timed: bool) -> Self {
        Self { timed, ..self }
    }

    /// Elements of a set of indices, given by its words.
    pub(super) fn elements(&self, words: impl Iterator<Item = u64>) -> f64 {
        let mut elements = 1.0;
        for ((at, mut word), powers) in words.enumerate().zip(&self.powers) {
            if let Some(powers) = powers {
                elements *= powers[word.count_ones() as usize];
                continue;
            }
            while word != 0 {
                elements *= self.extents[at * 64 + word.trailing_zeros() as usize];
                word &= word - 1;
            }
        }
        elements
    }

    /// Cost of a product, multiplied by the ratio by which its elements exceed the limit.
    pub(super) fn cost(&self, points: f64, elements: f64) -> f64 {
        (points * (elements / self.limit).max(1.0)).min(MAX_COST)
    }

    pub(super) fn extent(&self, index: usize) -> f64 {
        self.extents[index]
    }
}

/// Powers of the extent, if all are equal.
fn powers(extents: &[f64]) -> Option<[f64; 65]> {
    let extent = extents[0];
    let mut powers = [1.0; 65];
    (1..65).for_each(|k| powers[k] = powers[k - 1] * extent);
    (extent == extents[extents.len() - 1]).then_some(powers)
}

fn set(words: &mut [u64], index: usize) {
    words[index / 64] |= 1 << (index % 64);
}

impl<'a> Measured<'a> {
    pub(super) fn new(weights: &'a Weights, tree: Tree) -> Self {
        let nodes = tree.nodes();
        let mut measured = Self {
            weights,
            bits: vec![0; nodes * weights.words],
            costs: vec![0.0; nodes - tree.leaves()],
            tree,
        };
        measured.measure();
        measured
    }

    /// Bit set of a node's indices.
    pub(super) fn bits(&self, node: u32) -> &[u64] {
        let words = self.weights.words;
        &self.bits[node as usize * words..][..words]
    }

    pub(super) fn bits_mut(&mut self, node: u32) -> &mut [u64] {
        let words = self.weights.words;
        &mut self.bits[node as usize * words..][..words]
    }

    pub(super) fn cost_of(&mut self, product: u32) -> &mut f64 {
        let leaves = self.tree.leaves();
        &mut self.costs[product as usize - leaves]
    }

    /// Cost of all products.
    pub(super) fn total(&self) -> f64 {
        self.costs.iter().sum()
    }

    /// Computes all indices and costs.
    fn measure(&mut self) {
        let root = self.tree.root;
        let made = self.tree.downwards();
        self.bits[..self.weights.leaves.len()].copy_from_slice(&self.weights.leaves);
        if !made.is_empty() {
            let weights = self.weights;
            self.bits_mut(root).copy_from_slice(&weights.output);
        }
        self.settle(&made);
    }

    /// Computes indices and costs of a connected set of products, listed top-down; those of the first are known.
    ///
    /// Bottom-up, a product has the indices of its factors. Top-down, it keeps those that its sibling or its parent
    /// has, too.
    pub(super) fn settle(&mut self, made: &[u32]) {
        let words = self.weights.words;
        for &node in made.iter().skip(1).rev() {
            let Some([p, q]) = self.tree.factors(node) else { continue };
            for w in 0..words {
                let union = self.bits(p)[w] | self.bits(q)[w];
                self.bits_mut(node)[w] = union;
            }
        }
        for &node in made {
            let Some([p, q]) = self.tree.factors(node) else { continue };
            for w in 0..words {
                let (x, y, kept) = (self.bits(p)[w], self.bits(q)[w], self.bits(node)[w]);
                self.bits_mut(p)[w] = x & (y | kept);
                self.bits_mut(q)[w] = y & (x | kept);
            }
            self.remeasure(node);
        }
    }

    /// Elements of a product for the limit: 0 if there is none, or for the output.
    pub(super) fn elements(&self, node: u32) -> f64 {
        if node == self.tree.root || self.weights.limit == f64::INFINITY {
            return 0.0;
        }
        self.size(node)
    }

    /// Elements of a node.
    fn size(&self, node: u32) -> f64 {
        self.weights.elements(self.bits(node).iter().copied())
    }

    /// Points of a product of two nodes.
    pub(super) fn points(&self, [p, q]: [u32; 2]) -> f64 {
        self.weights.elements(self.bits(p).iter().zip(self.bits(q)).map(|(x, y)| x | y))
    }

    /// A pairwise product, with the innermost index of each factor.
    fn step(&self, node: u32, factors: [u32; 2], inner: [Option<usize>; 2]) -> PairProduct {
        let ends = |index: usize| self.bits(node)[index / 64] >> (index % 64) & 1 == 0;
        PairProduct {
            points: self.points(factors),
            factors: factors.map(|factor| self.size(factor)),
            product: self.size(node),
            along: inner.map(|index| index.is_some_and(ends)),
        }
    }

    /// Innermost index of a node, if known.
    fn inner(&self, node: u32) -> Option<usize> {
        let Some(factors) = self.tree.factors(node) else {
            return self.weights.inner[node as usize];
        };
        let inner = factors.map(|factor| self.inner(factor));
        inner[self.step(node, factors, inner).lies_as()?]
    }

    /// Computes the cost of a product from the indices of its factors.
    fn remeasure(&mut self, node: u32) {
        let Some(factors) = self.tree.factors(node) else { return };
        let points = match self.weights.timed {
            true => self.step(node, factors, factors.map(|factor| self.inner(factor))).time(),
            false => self.points(factors),
        };
        let elements = self.elements(node);
        *self.cost_of(node) = self.weights.cost(points, elements);
    }
}
