//! Estimated time of a product of two tensors, in multiplications of large matrices.
//!
//! The rates are constants, since orders must be the same on every machine. They are checked against measurements by
//! `cargo bench -p ijk-benches --bench orders`.

/// Lanes of a vector register: fewer rows or columns leave some idle.
const LANES: f64 = 16.0;
/// Multiplications in the time of reading an element; writing takes twice as long.
const READ: f64 = 8.0;
const WRITTEN: f64 = 2.0 * READ;
/// Multiplications in the time of packing an element that is used few times.
const PACKED: f64 = 48.0;
/// Up to `COLUMNS` columns are multiplied in place, as dot products of at least `MIN_STEPS` steps.
const COLUMNS: f64 = 3.0;
const MIN_STEPS: f64 = 8.0;
/// Up to `STEPS` steps of k are read in place. Beyond, products of up to `OUTPUTS` elements, which are not divided
/// among threads, are packed.
const STEPS: f64 = 1023.0;
const OUTPUTS: f64 = 4096.0;
/// Multiplications in the time of starting a row or column of registers.
const BEGUN: f64 = 4.0;
/// Least side for which a product has another layout than its factors.
const MIN_TRANSPOSED_SIDE: f64 = 32.0;
/// m·n·k of a batched product whose overhead equals its computation.
const BATCH_OVERHEAD: f64 = 512.0;
/// Greatest product of all extents for which quotients of sizes are exact enough.
const MAX_POINTS: f64 = 1e90;

/// A product of two tensors.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairProduct {
    /// Product of the extents of all its indices.
    pub(super) points: f64,
    /// Elements of its factors.
    pub(super) factors: [f64; 2],
    /// Elements of the product.
    pub(super) product: f64,
    /// For each factor, true if its innermost index is summed.
    pub(super) along: [bool; 2],
}

impl PairProduct {
    /// The factor whose innermost index is also innermost in the product, if known; `ijk_ir::einsum` lays
    /// intermediates out so.
    pub(super) fn lies_as(&self) -> Option<usize> {
        let [a, b] = self.factors;
        let longer = usize::from(b > a);
        let few = (self.points / a).min(self.points / b) < MIN_TRANSPOSED_SIDE;
        (few && !self.along[longer]).then_some(longer)
    }

    /// Estimated time, in multiplications of large matrices.
    pub(super) fn time(&self) -> f64 {
        let (points, [a, b], c) = (self.points, self.factors, self.product);
        if !(1.0..MAX_POINTS).contains(&points) {
            return points;
        }
        let (m, n, k) = (points / b, points / a, points / c);
        let short = m.min(n);
        let moved = READ * (a + b) + WRITTEN * c;
        // Matrix-vector and outer products are bound by memory.
        if short < 2.0 || k < 2.0 {
            return points + moved;
        }
        let small = 1.0 + BATCH_OVERHEAD / (m * n * k);
        if short >= LANES {
            let few = m * n <= OUTPUTS && k > STEPS;
            return points * small + moved + if few { PACKED * (a + b) } else { 0.0 };
        }
        // The longer side fills the lanes, unless it has to be packed for that.
        let along = self.along[usize::from(b > a)];
        let dots = short <= COLUMNS && k >= MIN_STEPS;
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
        PairProduct { points, factors, product, along: [false; 2] }.time()
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
        let step =
            PairProduct { points: 5e5, factors: [1e5, 5e3], product: 5e2, along: [false; 2] };
        let few =
            PairProduct { points: 2e5, factors: [1e5, 2e3], product: 2e2, along: [true, false] };
        let packed = PairProduct { along: [true, false], ..step };
        assert!(packed.time() > 3.0 * step.time());
        assert!(few.time() < step.time());
        assert_eq!(PairProduct { along: [false, true], ..step }.time(), step.time());
    }

    #[test]
    fn numbers_beyond_all_sizes_stay_comparable() {
        assert!(time(1e200, [1e300; 2], f64::INFINITY) < time(1e250, [1.0; 2], 1.0));
        assert_eq!(time(0.0, [0.0; 2], 0.0), 0.0);
    }
}
