//! Progress bar of a computation in blocks.

use super::outputs::bytes;
use crate::output;
use crate::progress::{Progress, Seen};
use ijk::blocks::Progress as Computed;
use std::sync::Arc;
use std::time::Instant;

/// Shows the progress, as long as this lives.
pub fn bar(of: &Arc<Computed>) -> Progress {
    let (of, start) = (Arc::clone(of), Instant::now());
    Progress::looked_at("computing", move || seen(&of, start.elapsed().as_secs_f64()))
}

fn seen(of: &Computed, seconds: f64) -> Seen {
    let counts = of.counts();
    let (done, all) = (counts.operations, counts.of_operations);
    let rate = done as f64 / seconds.max(1e-9);
    let left = match done {
        0 => String::new(),
        _ => format!(", {} left", output::seconds(all.saturating_sub(done) as f64 / rate)),
    };
    let note = format!(
        "{}/{} blocks, {:.1} GF/s, {} moved{left}",
        counts.blocks,
        counts.of_blocks,
        rate / 1e9,
        bytes(counts.shared)
    );
    Seen { done, of: all, note }
}
