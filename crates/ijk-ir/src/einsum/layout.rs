//! Order of the axes of intermediate results. A path fixes the products, not the layout of their results.
//!
//! Axes that are summed first are outermost, axes that are kept longest innermost. Then the m axes of a step are
//! contiguous and in the same order in an operand and in the product, and so are the n axes: they fill vector lanes
//! without a transposition, and the k axes are strides between such runs.

use super::{Product, distinct};

/// When indices are summed over.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    /// For each index, the last step that reads it; those of the result come after all steps, in their
    /// order there.
    of: Vec<usize>,
}

/// Length of a run that fills the lanes of most element types.
const RUN: u64 = 16;

/// Sides from which on a step is a product of matrices, which the kernels pack.
const LARGE: u64 = 32;

impl Ends {
    /// Those of a product along a path.
    pub(super) fn new(product: &Product, path: &[Vec<usize>]) -> Self {
        let mut users = vec![0u32; product.extents.len()];
        let mut left: Vec<Vec<u32>> =
            (0..product.operands.len()).map(|operand| product.indices(operand)).collect();
        let result = distinct(&product.result);
        left.iter().chain([&result]).flatten().for_each(|&index| users[index as usize] += 1);
        // Operands that no step takes are multiplied by the last one.
        let mut of = vec![path.len(); product.extents.len()];
        for (at, step) in path.iter().enumerate() {
            let mut sorted = step.clone();
            sorted.sort_unstable();
            let mut kept = Vec::new();
            for &position in sorted.iter().rev() {
                for index in left.remove(position) {
                    users[index as usize] -= 1;
                    of[index as usize] = at;
                    if !kept.contains(&index) {
                        kept.push(index);
                    }
                }
            }
            kept.retain(|&index| users[index as usize] > 0);
            kept.iter().for_each(|&index| users[index as usize] += 1);
            left.push(kept);
        }
        for (n, index) in result.into_iter().enumerate() {
            of[index as usize] = path.len() + 1 + n;
        }
        Self { of }
    }
}

/// The order of the axes `kept` of the product of some factors, while `others` are still to be multiplied.
pub(super) fn intermediate<'a>(
    kept: &[u32],
    factors: &[&[Option<u32>]],
    mut others: impl Iterator<Item = &'a [Option<u32>]>,
    extents: &[u64],
    ends: &Ends,
) -> Vec<u32> {
    let points = |indices: &[u32]| {
        indices.iter().fold(1u64, |n, &index| n.saturating_mul(extents[index as usize]))
    };
    let mut sorted = kept.to_vec();
    sorted.sort_by_key(|&index| (ends.of[index as usize], index));
    let of: Vec<Vec<u32>> = factors.iter().map(|axes| distinct(axes)).collect();
    if let Some(whole) = scaled(&of, kept) {
        return whole.to_vec();
    }
    let inner = match &of[..] {
        [a, b] => {
            let own = |x: &[u32], y: &[u32]| -> Vec<u32> {
                x.iter().copied().filter(|i| kept.contains(i) && !y.contains(i)).collect()
            };
            let (mut own_a, mut own_b) = (own(a, b), own(b, a));
            if points(&own_a).min(points(&own_b)) >= LARGE {
                // A matrix: axes that are kept longest are among the rows, unless another factor has the same axes. Contiguous
                // rows and columns keep their order; packing brings others into the order of the next step.
                for (own, lie) in [(&mut own_a, a), (&mut own_b, b)] {
                    if lie.last().is_some_and(|index| !own.contains(index)) {
                        own.sort_by_key(|&index| ends.of[index as usize]);
                    }
                }
                let all = |axes: &&[Option<u32>]| kept.iter().all(|&i| axes.contains(&Some(i)));
                let neighbour = others.find(all).and_then(|axes| {
                    axes.iter().rev().flatten().copied().find(|index| kept.contains(index))
                });
                let innermost = neighbour.or(sorted.last().copied());
                match innermost.is_some_and(|index| own_a.contains(&index)) {
                    true => [own_b, own_a].concat(),
                    false => [own_a, own_b].concat(),
                }
            } else {
                run(if points(a) >= points(b) { a } else { b }, kept, extents)
            }
        }
        _ => Vec::new(),
    };
    sorted.retain(|index| !inner.contains(index));
    sorted.extend(inner);
    sorted
}

/// The axes of the factor that the other one scales, element by element: nothing is gained where they lie otherwise, and
/// what a later step sums over stays together.
fn scaled<'f>(factors: &'f [Vec<u32>], kept: &[u32]) -> Option<&'f [u32]> {
    let [a, b] = factors else { return None };
    let (whole, part) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let all = |axes: &[u32], of: &[u32]| axes.iter().all(|axis| of.contains(axis));
    (all(part, whole) && all(whole, kept)).then_some(&whole[..])
}

/// The innermost axes of an operand, as many as fill the lanes; none, where one of these is not kept.
fn run(operand: &[u32], kept: &[u32], extents: &[u64]) -> Vec<u32> {
    let (mut elements, mut inner) = (1, Vec::new());
    for &index in operand.iter().rev() {
        if elements >= RUN {
            break;
        }
        if !kept.contains(&index) {
            return Vec::new();
        }
        elements *= extents[index as usize];
        inner.insert(0, index);
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_syntax::einsum::Subscripts;

    fn product(text: &str, shapes: &[&[u64]]) -> Product {
        Product::new(&Subscripts::parse(text).unwrap(), shapes).unwrap()
    }

    fn none() -> std::iter::Empty<&'static [Option<u32>]> {
        std::iter::empty()
    }

    #[test]
    fn a_matrix_lies_as_the_one_it_is_multiplied_with() {
        let (extents, ends) = ([64, 64, 64], Ends { of: vec![0, 2, 1] });
        let factors: [&[Option<u32>]; 2] = [&[Some(1), Some(0)], &[Some(0), Some(2)]];
        let arranged = |others: &[&[Option<u32>]]| {
            intermediate(&[1, 2], &factors, others.iter().copied(), &extents, &ends)
        };
        assert_eq!(arranged(&[&[Some(1)]]), [2, 1]);
        assert_eq!(arranged(&[&[Some(1)], &[Some(1), Some(2)]]), [1, 2]);
    }

    #[test]
    fn what_is_summed_first_ends_first() {
        let product = product("ab,bc,cd,ax->dx", &[&[2, 3], &[3, 4], &[4, 5], &[2, 6]]);
        let ends = Ends::new(&product, &[vec![0, 1], vec![1, 2], vec![0, 1]]);
        // Indices are numbered in the order of their names.
        let of = |name: &str| ends.of[product.names.iter().position(|n| n == name).unwrap()];
        assert_eq!(["b", "a", "c", "d", "x"].map(of), [0, 1, 2, 4, 5]);
    }

    #[test]
    fn lanes_keep_what_fills_them() {
        let ends = Ends { of: vec![0, 1, 2, 3] };
        let extents = [4, 4, 16, 3];
        // The small operand's own axis stays longest, yet the run of the large one is innermost.
        let factors: [&[Option<u32>]; 2] = [&[Some(0), Some(1), Some(2)], &[Some(0), Some(3)]];
        assert_eq!(intermediate(&[1, 2, 3], &factors, none(), &extents, &ends), [1, 3, 2]);
        // Rows that are no neighbours in their operand take the order in which they end.
        let (extents, ends) = ([64, 64, 4, 64], Ends { of: vec![0, 2, 1, 1] });
        let factors: [&[Option<u32>]; 2] = [&[Some(1), Some(2), Some(0)], &[Some(0), Some(3)]];
        assert_eq!(intermediate(&[1, 2, 3], &factors, none(), &extents, &ends), [3, 2, 1]);
        let (extents, ends) = ([4, 4, 16, 3], Ends { of: vec![0, 1, 2, 3] });
        // A scaled operand keeps its layout.
        let factors: [&[Option<u32>]; 2] = [&[Some(2), Some(0), Some(1)], &[Some(0)]];
        assert_eq!(intermediate(&[0, 1, 2], &factors, none(), &extents, &ends), [2, 0, 1]);
        // Where the run ends there, everything is in order.
        let factors: [&[Option<u32>]; 2] = [&[Some(1), Some(2), Some(0)], &[Some(0), Some(3)]];
        assert_eq!(intermediate(&[1, 2, 3], &factors, none(), &extents, &ends), [1, 2, 3]);
    }
}
