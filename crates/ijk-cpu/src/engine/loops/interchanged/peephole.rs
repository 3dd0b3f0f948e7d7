//! Saves copies of values to the elements where they are stored.

use super::{Call, PassOperand};

/// Removes copies that a later call of the pass overwrites, and lets kernels write to where their value is copied.
/// `meet` tells whether two streams may have elements in common in a pass.
pub(super) fn save_copies(calls: &mut Vec<Call>, meet: impl Fn(usize, usize) -> bool) {
    let mut at = 0;
    while at < calls.len() {
        let copy = match calls[at].to {
            PassOperand::Stream(to) if calls[at].copies => Some(to),
            _ => None,
        };
        match copy {
            Some(to)
                if is_overwritten(calls, at, to, &meet) || moves_back(calls, at, to, &meet) =>
            {
                calls.remove(at);
            }
            _ => at += 1,
        }
    }
}

/// Returns true if the elements of a copy are written again before they are read.
fn is_overwritten(
    calls: &[Call],
    at: usize,
    to: usize,
    meet: &impl Fn(usize, usize) -> bool,
) -> bool {
    for later in &calls[at + 1..] {
        if later.from.iter().any(|own| meets(*own, to, meet)) {
            return false;
        }
        if later.to == calls[at].to {
            return true;
        }
    }
    false
}

/// Lets the call that computes the value of a copy write it; returns true unless something else needs the value, or the
/// elements, before the copy.
fn moves_back(
    calls: &mut [Call],
    at: usize,
    to: usize,
    meet: &impl Fn(usize, usize) -> bool,
) -> bool {
    let from @ PassOperand::Value(_) = calls[at].from[0] else { return false };
    let made = calls[..at].iter().rposition(|call| call.to == from);
    let uses = calls.iter().filter(|call| call.from.contains(&from)).count();
    let Some(made) = made.filter(|_| uses == 1) else { return false };
    let touches = |call: &Call| call.from.iter().chain([&call.to]).any(|own| meets(*own, to, meet));
    if calls[made..at].iter().any(touches) {
        return false;
    }
    calls[made].to = PassOperand::Stream(to);
    true
}

/// Returns true if an operand may have elements in common with a stream.
fn meets(operand: PassOperand, stream: usize, meet: &impl Fn(usize, usize) -> bool) -> bool {
    matches!(operand, PassOperand::Stream(own) if meet(own, stream))
}
