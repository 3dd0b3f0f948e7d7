//! Estimated times of instructions.

use crate::nest::kernel;
use ijk_types::{BinaryOp, DType, UnaryOp};

/// Approximate nanoseconds for a point of arrays in cache, to estimate whether threads are worth waking.
pub(super) const STORE: f64 = 0.06;
pub(in crate::nest) const LOAD: f64 = 0.05;
pub(super) const PACK: f64 = 0.4;
pub(in crate::nest) const CHEAP: f64 = 0.02;
pub(super) const GATHER: f64 = 1.0;
pub(super) const DEAR: f64 = 0.2;
const DEAREST: f64 = 2.0;

pub(in crate::nest) fn unary_cost(op: UnaryOp) -> f64 {
    use UnaryOp::*;
    match op {
        Neg | Abs | Sign | Floor | Ceil | Round | Not | Conj | Re | Im | Cast(_) => CHEAP,
        _ => DEAR,
    }
}

pub(in crate::nest) fn binary_cost(op: BinaryOp, t: DType) -> f64 {
    if kernel::is_dear(op, t) { DEAREST } else { CHEAP }
}
