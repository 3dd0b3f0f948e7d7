//! Estimated times of instructions.

use ijk_kernels::tile;
use ijk_kernels::tuning::time::{CHEAP_FUNCTION, SLOW_FUNCTION, SLOWEST_FUNCTION};
use ijk_types::{BinaryOp, DType, UnaryOp};

pub(in crate::nest) fn unary_cost(op: UnaryOp) -> f64 {
    use UnaryOp::*;
    match op {
        Neg | Abs | Sign | Floor | Ceil | Round | Not | Conj | Re | Im | Cast(_) => CHEAP_FUNCTION,
        _ => SLOW_FUNCTION,
    }
}

pub(in crate::nest) fn binary_cost(op: BinaryOp, t: DType) -> f64 {
    if tile::is_dear(op, t) { SLOWEST_FUNCTION } else { CHEAP_FUNCTION }
}
