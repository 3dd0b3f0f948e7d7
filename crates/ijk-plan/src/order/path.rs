//! A tree as steps over a list of operands.

use super::Path;
use super::problem::Problem;
use super::tree::Tree;

/// The steps of a tree.
///
/// Operands with private summed indices come first. Then each product follows its factors, the factor with more
/// products first: its intermediates are freed before the other begins.
pub(super) fn path(problem: &Problem, tree: &Tree) -> Path {
    let mut list = List::new(problem.leaves.len());
    let summed = |leaf: &u32| problem.summed[*leaf as usize];
    for leaf in (0..problem.leaves.len() as u32).filter(summed) {
        list.take(&[leaf], leaf);
    }
    for (product, factors) in products(tree) {
        list.take(&factors, product);
    }
    if list.steps.is_empty() {
        list.take(&[tree.root], tree.root);
    }
    Path(list.steps)
}

/// The products of a tree, each after its factors, depth first.
fn products(tree: &Tree) -> Vec<(u32, [u32; 2])> {
    let mut below = vec![0u32; tree.nodes()];
    for &node in tree.downwards().iter().rev() {
        if let Some([p, q]) = tree.factors(node) {
            below[node as usize] = 1 + below[p as usize] + below[q as usize];
        }
    }
    // In reverse: the factor with fewer products is closer to the end.
    let (mut order, mut open) = (Vec::new(), vec![tree.root]);
    while let Some(node) = open.pop() {
        if let Some([p, q]) = tree.factors(node) {
            order.push((node, [p, q]));
            let heavier_first = below[p as usize] >= below[q as usize];
            open.extend(if heavier_first { [p, q] } else { [q, p] });
        }
    }
    order.reverse();
    order
}

/// The operand list to which the positions of a path refer.
struct List {
    /// By node: time of appending.
    time: Vec<usize>,
    /// Times of appending of the operands in the list, ascending.
    left: Vec<usize>,
    now: usize,
    steps: Vec<Vec<usize>>,
}

impl List {
    fn new(leaves: usize) -> Self {
        let mut time: Vec<usize> = (0..leaves).collect();
        time.resize(2 * leaves, 0);
        Self { time, left: (0..leaves).collect(), now: leaves, steps: Vec::new() }
    }

    /// Removes nodes from the list and appends their product.
    fn take(&mut self, nodes: &[u32], result: u32) {
        let position = |node: &u32| self.left.partition_point(|&t| t < self.time[*node as usize]);
        let mut step: Vec<usize> = nodes.iter().map(position).collect();
        step.sort_unstable();
        for &position in step.iter().rev() {
            self.left.remove(position);
        }
        self.time[result as usize] = self.now;
        self.left.push(self.now);
        self.now += 1;
        self.steps.push(step);
    }
}
