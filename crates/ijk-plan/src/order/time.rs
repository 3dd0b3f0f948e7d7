//! How long a product of two tensors takes, beside the multiplications of large matrices.
//!
//! Fixed numbers, as orders must be the same on every machine. They are checked against measurements by
//! `cargo bench -p ijk-benches --bench orders`.

/// Elements of a register: a matrix with fewer rows or columns leaves some idle.
const LANES: f64 = 16.0;
/// Multiplications in the time in which an element is read; it is written in twice the time.
const READ: f64 = 8.0;
const WRITTEN: f64 = 2.0 * READ;
/// The same of an element that is packed for few others to be multiplied with.
const PACKED: f64 = 48.0;
/// So many columns are multiplied where they lie, with at least so many steps in the lanes.
const COLUMNS: f64 = 3.0;
const LEAST_STEPS: f64 = 8.0;
/// Of the steps of a sum so many are taken where operands lie; of fewer outputs than so many, which are not
/// divided among threads, all others are packed.
const STEPS: f64 = 1023.0;
const OUTPUTS: f64 = 4096.0;
/// Multiplications in the time in which a row or a column of a register begins.
const BEGUN: f64 = 4.0;
/// Sides from which on a product lies otherwise than its factors.
const LARGE: f64 = 32.0;
/// Sides of matrices in a batch, all three multiplied, which take as long to begin with as to compute.
const SMALL: f64 = 512.0;
/// Extents of all indices, multiplied, beyond which sizes are not told apart by their quotients.
const MOST: f64 = 1e90;

/// A product of two tensors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The extents of all its indices, multiplied.
    pub(super) points: f64,
    /// The elements of its factors.
    pub(super) factors: [f64; 2],
    /// Its own elements.
    pub(super) product: f64,
    /// For each factor, whether neighbours in memory are summed.
    pub(super) along: [bool; 2],
}

impl Step {
    /// The factor whose innermost index the product has innermost, too, if it is known: as
    /// `ijk_ir::einsum` lays intermediates out.
    pub(super) fn lies_as(&self) -> Option<usize> {
        let [a, b] = self.factors;
        let longer = usize::from(b > a);
        let few = (self.points / a).min(self.points / b) < LARGE;
        (few && !self.along[longer]).then_some(longer)
    }

    /// The time it takes, in multiplications of large matrices.
    pub(super) fn time(&self) -> f64 {
        let (points, [a, b], c) = (self.points, self.factors, self.product);
        if !(1.0..MOST).contains(&points) {
            return points;
        }
        let (m, n, k) = (points / b, points / a, points / c);
        let short = m.min(n);
        let moved = READ * (a + b) + WRITTEN * c;
        // Rows times a column, and elements by elements, take as long as they are read.
        if short < 2.0 || k < 2.0 {
            return points + moved;
        }
        let small = 1.0 + SMALL / (m * n * k);
        if short >= LANES {
            let few = m * n <= OUTPUTS && k > STEPS;
            return points * small + moved + if few { PACKED * (a + b) } else { 0.0 };
        }
        // Lanes are filled by the longer side, unless that has to be packed to lie so.
        let along = self.along[usize::from(b > a)];
        let dots = short <= COLUMNS && k >= LEAST_STEPS;
        if along && !dots || !along && k > STEPS {
            return points * small * (LANES / short) + PACKED * a.max(b) + moved;
        }
        points * small * (1.0 + BEGUN / short) + moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(points: f64, factors: [f64; 2], product: f64) -> f64 {
        Step { points, factors, product, along: [false; 2] }.time()
    }

    #[test]
    fn large_matrices_are_counted_by_multiplications() {
        let n = 4096.0;
        let cube = n * n * n;
        assert!(time(cube, [n * n; 2], n * n) < 1.01 * cube);
    }

    #[test]
    fn what_is_written_counts() {
        assert!(time(1e6, [1e3, 1e3], 1e6) > 1.5 * time(1e6, [1e6, 1e3], 1e3));
    }

    #[test]
    fn few_columns_want_neighbours_to_be_rows() {
        let step = Step { points: 5e5, factors: [1e5, 5e3], product: 5e2, along: [false; 2] };
        let few = Step { points: 2e5, factors: [1e5, 2e3], product: 2e2, along: [true, false] };
        let packed = Step { along: [true, false], ..step };
        assert!(packed.time() > 3.0 * step.time());
        assert!(few.time() < step.time());
        assert_eq!(Step { along: [false, true], ..step }.time(), step.time());
    }

    #[test]
    fn numbers_beyond_all_sizes_stay_comparable() {
        assert!(time(1e200, [1e300; 2], f64::INFINITY) < time(1e250, [1.0; 2], 1.0));
        assert_eq!(time(0.0, [0.0; 2], 0.0), 0.0);
    }
}
