//! Which product is of which two: a binary tree over the operands.

/// A binary tree. Nodes below the number of leaves are leaves; the others are products.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    leaves: usize,
    /// By product: its factors, nodes.
    pub(super) factors: Vec<[u32; 2]>,
    pub(super) root: u32,
}

impl Tree {
    /// A tree of products, each of nodes before it; the last is the root.
    pub(super) fn new(leaves: usize, factors: Vec<[u32; 2]>) -> Self {
        let root = (leaves + factors.len() - 1) as u32;
        Self { leaves, factors, root }
    }

    /// The factors of a node, if it is a product.
    pub(super) fn factors(&self, node: u32) -> Option<[u32; 2]> {
        (node as usize).checked_sub(self.leaves).map(|product| self.factors[product])
    }

    /// All nodes, those before others of which they are factors.
    pub(super) fn upwards(&self) -> Vec<u32> {
        let mut nodes = vec![self.root];
        let mut at = 0;
        while at < nodes.len() {
            nodes.extend(self.factors(nodes[at]).into_iter().flatten());
            at += 1;
        }
        nodes.reverse();
        nodes
    }
}
