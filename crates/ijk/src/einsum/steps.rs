//! The pairwise products of an einsum, for callers that compute them without an engine.

use super::Einsum;
use super::planned::order;
use crate::{Engine, Error};
use ijk_ir::einsum::Product;
use ijk_plan::order::Path;

/// Pairwise products of an einsum.
///
/// Indices are numbered from 0. An axis that is broadcast, or has extent 1 in all operands, has none.
#[derive(Clone, Debug)]
pub struct EinsumSteps {
    /// The extent of each index.
    pub extents: Vec<u64>,
    /// The index of each axis of each operand.
    pub operands: Vec<Vec<Option<u32>>>,
    /// Products in order; the last one is the result.
    pub steps: Vec<EinsumStep>,
}

/// A product of one or two factors, summed over the indices that its result lacks.
#[derive(Clone, Debug)]
pub struct EinsumStep {
    /// Factors: operands by their number, and results of earlier steps, numbered after the operands.
    pub factors: Vec<usize>,
    /// The index of each axis of its result.
    pub axes: Vec<Option<u32>>,
}

impl Einsum {
    /// The products along the given or found path, with at most two factors each: steps of a given path with more
    /// are divided.
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum()).
    ///
    /// ```
    /// let steps = ijk::Einsum::new("ij,jk,kl->il")?.steps(&[&[2, 3], &[3, 4], &[1, 5]])?;
    /// assert_eq!(steps.operands[2], [None, Some(3)]);
    /// assert_eq!(steps.steps.last().unwrap().axes, [Some(0), Some(3)]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn steps(&self, shapes: &[&[usize]]) -> Result<EinsumSteps, Error> {
        Engine::global().einsum_steps(self, shapes)
    }

    fn steps_on(&self, engine: &Engine, shapes: &[&[usize]]) -> Result<EinsumSteps, Error> {
        let product = self.product_of(shapes.iter().copied())?;
        let path = order(engine, self, &product, None)?.path;
        let steps = product.steps(&pairs(&path, product.operands.len())).into_iter();
        let steps = steps.map(|step| EinsumStep { factors: step.factors, axes: step.axes });
        let steps = steps.collect();
        let Product { extents, operands, .. } = product;
        Ok(EinsumSteps { extents, operands, steps })
    }
}

impl Engine {
    /// The products of an einsum for operands of these shapes, as [`Einsum::steps`] finds them; the engine's
    /// [`interrupt`](crate::EngineBuilder::interrupt) may end the search.
    ///
    /// # Errors
    /// As for [`Einsum::steps`], and [`RunError::Interrupted`](crate::RunError::Interrupted).
    pub fn einsum_steps(&self, einsum: &Einsum, shapes: &[&[usize]]) -> Result<EinsumSteps, Error> {
        einsum.steps_on(self, shapes)
    }
}

/// The path with steps of more than two operands divided: the first two operands are multiplied, then the next two
/// of the remaining operands and products, and so on.
fn pairs(path: &Path, mut left: usize) -> Vec<Vec<usize>> {
    let mut steps = Vec::new();
    for step in &path.0 {
        let mut step = step.clone();
        while step.len() > 2 {
            steps.push(step[..2].to_vec());
            left -= 1;
            // Both stood before the others; their product is the last of the list.
            step = step[2..].iter().map(|at| at - 2).chain([left - 1]).collect();
        }
        left = left + 1 - step.len();
        steps.push(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_many_are_divided() {
        type Steps = &'static [&'static [usize]];
        let cases: [(Steps, usize, Steps); 4] = [
            (&[&[0, 1]], 2, &[&[0, 1]]),
            (&[&[0, 1, 2]], 3, &[&[0, 1], &[0, 1]]),
            (&[&[1, 2, 4], &[0, 1, 2]], 5, &[&[1, 2], &[2, 3], &[0, 1], &[0, 1]]),
            (&[&[0, 1, 2, 3]], 4, &[&[0, 1], &[0, 1], &[0, 1]]),
        ];
        for (path, left, expected) in cases {
            let path = Path(path.iter().map(|step| step.to_vec()).collect());
            assert_eq!(pairs(&path, left), expected, "{path:?}");
        }
    }
}
