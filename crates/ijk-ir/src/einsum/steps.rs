//! Steps of a path: factors, summed axes, and result.

use super::layout::{Ends, intermediate};
use super::{Product, distinct};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multiplication {
    /// Factors: operands by their number, and results of earlier steps, whose numbers follow those of the operands.
    pub factors: Vec<usize>,
    /// The index of each axis of its result.
    pub axes: Vec<Option<u32>>,
    /// All indices: those of the result first, then those that are summed over.
    pub domain: Vec<u32>,
    /// Number of axes that the result keeps.
    pub kept: usize,
}

impl Product {
    /// The steps that compute the product along a path.
    ///
    /// Where some index has no value, that is one step, which sums the operand that has the index: every
    /// element of the result is a sum of nothing, and 0 whatever the other factors are. Along the path such a
    /// sum could be a factor, of infinity.
    ///
    /// # Panics
    /// If a step names a position twice, or one that there is not.
    ///
    /// ```
    /// use ijk_ir::einsum::Product;
    /// use ijk_syntax::einsum::Subscripts;
    /// let subscripts = Subscripts::parse("i,j->i").unwrap();
    /// let product = Product::new(&subscripts, &[&[3], &[0]]).unwrap();
    /// let steps = product.steps(&[vec![1], vec![0, 1]]);
    /// assert_eq!((steps.len(), &steps[0].factors[..]), (1, &[1][..]));
    /// ```
    pub fn steps(&self, path: &[Vec<usize>]) -> Vec<Multiplication> {
        match self.empty_operand() {
            Some(operand) => vec![self.sum_of_nothing(operand)],
            None => self.multiplications(path),
        }
    }

    /// The product of one operand, which has an index without a value, over all indices that it has.
    fn sum_of_nothing(&self, operand: usize) -> Multiplication {
        let axes = self.result.clone();
        let mut domain = distinct(&axes);
        let kept = domain.len();
        domain.extend(
            self.indices(operand).into_iter().filter(|index| !axes.contains(&Some(*index))),
        );
        Multiplication { factors: vec![operand], axes, domain, kept }
    }

    /// The steps of a path: each takes the tensors at its positions out of the list, and appends their
    /// product, summed over what nothing else has. What remains in the end is multiplied at once.
    ///
    /// # Panics
    /// If a step names a position twice, or one that there is not.
    pub fn multiplications(&self, path: &[Vec<usize>]) -> Vec<Multiplication> {
        let mut sequence = Sequence::new(self, path);
        for step in path {
            sequence.step(step);
        }
        if sequence.list.len() != 1 || path.is_empty() {
            sequence.step(&(0..sequence.list.len()).collect::<Vec<_>>());
        }
        sequence.steps
    }

    /// The index of each axis of an operand, or of the result of one of these steps.
    pub fn axes<'a>(&'a self, steps: &'a [Multiplication], number: usize) -> &'a [Option<u32>] {
        match number.checked_sub(self.operands.len()) {
            None => &self.operands[number],
            Some(step) => &steps[step].axes,
        }
    }
}

struct Sequence<'a> {
    product: &'a Product,
    ends: Ends,
    /// Operands and results of steps that are to be multiplied, by their numbers.
    list: Vec<usize>,
    /// For each index, how many of the list have it, the result counted.
    users: Vec<u32>,
    /// Scratch: whether an index is among those of the step.
    met: Vec<bool>,
    steps: Vec<Multiplication>,
}

impl<'a> Sequence<'a> {
    fn new(product: &'a Product, path: &[Vec<usize>]) -> Self {
        let mut users = vec![0; product.extents.len()];
        let all = product.operands.iter().chain([&product.result]);
        all.for_each(|axes| distinct(axes).into_iter().for_each(|i| users[i as usize] += 1));
        Self {
            product,
            ends: Ends::new(product, path),
            list: (0..product.operands.len()).collect(),
            users,
            met: vec![false; product.extents.len()],
            steps: Vec::with_capacity(path.len() + 1),
        }
    }

    fn step(&mut self, positions: &[usize]) {
        let last = positions.len() == self.list.len();
        let factors: Vec<usize> = positions.iter().map(|&at| self.list[at]).collect();
        let mut sorted = positions.to_vec();
        sorted.sort_unstable();
        sorted.iter().rev().for_each(|&at| _ = self.list.remove(at));
        let mut indices: Vec<u32> = Vec::new();
        for &factor in &factors {
            for index in distinct(self.product.axes(&self.steps, factor)) {
                self.users[index as usize] -= 1;
                if !std::mem::replace(&mut self.met[index as usize], true) {
                    indices.push(index);
                }
            }
        }
        indices.iter().for_each(|&index| self.met[index as usize] = false);
        let (kept, summed): (Vec<u32>, Vec<u32>) =
            indices.into_iter().partition(|&index| self.users[index as usize] > 0);
        let axes = if last { self.product.result.clone() } else { self.arrange(&kept, &factors) };
        let mut domain = distinct(&axes);
        domain.iter().for_each(|&index| self.users[index as usize] += 1);
        let kept = domain.len();
        domain.extend(summed);
        self.list.push(self.product.operands.len() + self.steps.len());
        self.steps.push(Multiplication { factors, axes, domain, kept });
    }

    /// The axes of the product of some factors.
    fn arrange(&self, kept: &[u32], factors: &[usize]) -> Vec<Option<u32>> {
        let of = |&factor: &usize| self.product.axes(&self.steps, factor);
        let factors: Vec<&[Option<u32>]> = factors.iter().map(of).collect();
        let others = self.list.iter().map(of);
        let axes = intermediate(kept, &factors, others, &self.product.extents, &self.ends);
        axes.into_iter().map(Some).collect()
    }
}
