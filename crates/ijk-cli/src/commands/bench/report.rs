//! What is said of a measurement.

use super::measure::Times;
use super::{Memory, Work};
use crate::{json, output};
use ijk::Engine;
use serde_json::{Value, json};

/// A measurement.
pub struct Report<'a> {
    /// What it ran on.
    pub engine: &'a Engine,
    /// Where results went.
    pub memory: Memory,
    /// What a run does.
    pub work: Work,
    /// How long runs took.
    pub times: Times,
}

/// What a run does, and on what, as JSON.
pub fn work(engine: &Engine, work: Work) -> Value {
    json!({
        "threads": engine.threads(),
        "simd": engine.simd(),
        "operations": work.operations,
        "bytes": work.bytes(),
        "bytes_read": work.read,
        "bytes_written": work.written,
    })
}

impl Work {
    /// Bytes that are read or written.
    pub fn bytes(self) -> u64 {
        self.read.saturating_add(self.written)
    }
}

impl Report<'_> {
    /// In thousand millions a second, by the median.
    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.times.median() / 1e9
    }

    /// A few lines.
    pub fn as_text(&self, arguments: &str) -> String {
        let Self { engine, memory, work, times } = self;
        let seconds = output::seconds;
        let bytes = format!("{:.2} GB/s", self.rate(work.bytes()));
        let rates = match work.operations {
            Some(operations) => format!(
                "{:.2} G operations/s, {bytes} ({operations} operations, {} bytes)",
                self.rate(operations),
                work.bytes()
            ),
            None => format!("{bytes} ({} bytes)", work.bytes()),
        };
        format!(
            "{arguments}; threads: {}; results: {}\n\
             median {}, quartiles {} and {}, best {} of {}\n{rates}\n",
            engine.threads(),
            memory.name(),
            seconds(times.median()),
            seconds(times.quantile(0.25)),
            seconds(times.quantile(0.75)),
            seconds(times.best()),
            times.count(),
        )
    }

    /// A JSON object on one line.
    pub fn as_json(&self) -> String {
        let mut object = work(self.engine, self.work);
        let times = &self.times;
        let more = json!({
            "outputs": self.memory.name(),
            "repetitions": times.count(),
            "median_seconds": times.median(),
            "best_seconds": times.best(),
            "first_quartile_seconds": times.quantile(0.25),
            "third_quartile_seconds": times.quantile(0.75),
            "giga_operations_per_second": self.work.operations.map(|n| self.rate(n)),
            "gigabytes_per_second": self.rate(self.work.bytes()),
        });
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
        json::text(&object)
    }
}
