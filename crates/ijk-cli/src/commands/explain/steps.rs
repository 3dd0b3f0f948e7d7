//! The engine's choices for a step as JSON.

use ijk::probe::Bound;
use ijk::{BlockSize, Reason, StepExplanation};
use serde_json::{Map, Value, json};

/// A step; times are in microseconds on one thread.
pub fn json(step: &StepExplanation) -> Value {
    let extents = step.extents.iter().map(|&(name, extent)| (name.to_owned(), json!(extent)));
    json!({
        "step": step.step,
        "kernel": step.kernel,
        "algorithm": step.algorithm,
        "threads": step.threads,
        "extents": Value::Object(extents.collect::<Map<_, _>>()),
        "blocking": step.blocking.iter().map(block).collect::<Vec<_>>(),
        "reasons": step.reasons.iter().map(reason).collect::<Vec<_>>(),
        "microseconds": step.nanoseconds / 1e3,
        "bound": step.bound.map(bound),
    })
}

fn block(block: &BlockSize) -> Value {
    let resident = block.resident.as_ref();
    json!({
        "name": block.name,
        "size": block.size,
        "unit": block.unit,
        "data": resident.map(|resident| resident.data),
        "bytes": resident.map(|resident| resident.bytes),
        "memory": resident.map(|resident| resident.memory),
    })
}

fn reason(reason: &Reason) -> Value {
    let threshold = reason.threshold;
    json!({
        "text": reason.text,
        "threshold": threshold.map(|threshold| threshold.name),
        "value": threshold.map(|threshold| threshold.value),
        "limit": threshold.map(|threshold| threshold.limit),
    })
}

fn bound(bound: Bound) -> Value {
    json!({
        "microseconds": bound.seconds() * 1e6,
        "limit": bound.limit(),
        "compute_microseconds": bound.compute.map(|seconds| seconds * 1e6),
        "memory_microseconds": bound.memory * 1e6,
    })
}
