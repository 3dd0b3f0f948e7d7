//! Binary trees of products over operands.

/// A binary tree. Nodes below the number of leaves are leaves; the others are products.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    leaves: usize,
    /// By product: the nodes of its factors.
    factors: Vec<[u32; 2]>,
    pub(super) root: u32,
}

impl Tree {
    /// Creates a tree of products, each after its factors; the last is the root.
    pub(super) fn new(leaves: usize, factors: Vec<[u32; 2]>) -> Self {
        let root = (leaves + factors.len() - 1) as u32;
        Self { leaves, factors, root }
    }

    pub(super) fn leaves(&self) -> usize {
        self.leaves
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.leaves + self.factors.len()
    }

    /// Factors of a node, if it is a product.
    pub(super) fn factors(&self, node: u32) -> Option<[u32; 2]> {
        (node as usize).checked_sub(self.leaves).map(|product| self.factors[product])
    }

    pub(super) fn set_factors(&mut self, node: u32, factors: [u32; 2]) {
        self.factors[node as usize - self.leaves] = factors;
    }

    /// All products top-down: each before its factors.
    pub(super) fn downwards(&self) -> Vec<u32> {
        let mut products = Vec::from_iter(self.factors(self.root).map(|_| self.root));
        let mut at = 0;
        while at < products.len() {
            let factors = self.factors(products[at]).into_iter().flatten();
            products.extend(factors.filter(|&factor| self.factors(factor).is_some()));
            at += 1;
        }
        products
    }
}
