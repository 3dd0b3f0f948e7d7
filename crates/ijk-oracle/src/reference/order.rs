//! Places of values in a stable order, by counting.

use ijk_types::{BinaryOp, Scalar, scalar};

/// For each value the number of values before it in their order: the less, or the greater ones, and equal ones at
/// earlier positions; NaN comes last.
pub(crate) fn places(values: &[Scalar], descending: bool) -> Vec<usize> {
    let count = |n: usize| {
        let before = |m: &usize| {
            let (x, y) = (values[*m], values[n]);
            comes_before(x, y, descending) || (*m < n && !comes_before(y, x, descending))
        };
        (0..values.len()).filter(before).count()
    };
    (0..values.len()).map(count).collect()
}

/// Returns true if `x` comes before `y` wherever they are.
fn comes_before(x: Scalar, y: Scalar, descending: bool) -> bool {
    let holds = |op, x, y| scalar::binary(op, x, y) == Ok(Scalar::Bool(true));
    let nan = |x| holds(BinaryOp::Ne, x, x);
    let op = if descending { BinaryOp::Gt } else { BinaryOp::Lt };
    !nan(x) && (nan(y) || holds(op, x, y))
}
