//! Report of a measurement.

use super::measure::Times;
use super::{Memory, Work};
use crate::{json, output};
use ijk::Engine;
use ijk::probe::{self, Bound, Origin, Probed, Rates};
use serde_json::{Value, json};

/// Context of a measurement: the work, the engine, and the limits of the machine.
pub struct Setting<'a> {
    /// Engine of the runs.
    pub engine: &'a Engine,
    /// Work of a run.
    pub work: Work,
    /// Rates of the machine.
    pub probed: &'a Probed,
}

/// A measurement.
pub struct Report<'a> {
    /// Context of the measurement.
    pub setting: Setting<'a>,
    /// Memory of the results.
    pub memory: Memory,
    /// Durations of the runs.
    pub times: Times,
}

impl Work {
    /// Bytes read or written.
    fn bytes(self) -> u64 {
        self.read.saturating_add(self.written)
    }
}

impl Setting<'_> {
    /// Rates of the machine with the engine's number of threads.
    fn rates(&self) -> Rates {
        self.probed.probe.rates(self.engine.threads())
    }

    /// The least time of a run.
    fn bound(&self) -> Bound {
        let Work { dtype, read, written, .. } = self.work;
        let operations = self.work.operations.unwrap_or(0);
        self.rates().bound(&probe::Work { dtype, operations, read, written })
    }

    /// As JSON.
    pub fn as_json(&self) -> Value {
        let (work, rates, bound) = (self.work, self.rates(), self.bound());
        json!({
            "threads": self.engine.threads(),
            "simd": self.engine.simd(),
            "operations": work.operations,
            "bytes": work.bytes(),
            "bytes_read": work.read,
            "bytes_written": work.written,
            "probe": origin(&self.probed.origin),
            "peak_giga_operations_per_second": rates.peak(work.dtype).map(|rate| rate / 1e9),
            "read_gigabytes_per_second": rates.bandwidth(work.bytes()).read / 1e9,
            "copy_gigabytes_per_second": rates.bandwidth(work.bytes()).copy / 1e9,
            "bound": bound.limit(),
            "bound_seconds": bound.seconds(),
        })
    }
}

/// Origin of the probe, in a word.
fn origin(origin: &Origin) -> &'static str {
    match origin {
        Origin::Kept => "kept",
        Origin::Measured => "measured",
        Origin::Unkept(_) => "unkept",
        Origin::Typical => "typical",
    }
}

impl Report<'_> {
    /// Giga-units a second, by the median.
    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.times.median() / 1e9
    }

    /// Ratio of the least time to the median.
    fn fraction(&self) -> f64 {
        self.setting.bound().seconds() / self.times.median()
    }

    /// Report in a few lines.
    pub fn as_text(&self, arguments: &str) -> String {
        let Self { setting: Setting { engine, work, .. }, memory, times } = self;
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
             median {}, quartiles {} and {}, best {} of {}\n{rates}\n{}\n",
            engine.threads(),
            memory.name(),
            seconds(times.median()),
            seconds(times.quantile(0.25)),
            seconds(times.quantile(0.75)),
            seconds(times.best()),
            times.count(),
            self.roofline(),
        )
    }

    /// Fraction of the machine's limit, and the resource that bounds it.
    fn roofline(&self) -> String {
        let Setting { work, probed, .. } = &self.setting;
        let (rates, bound) = (self.setting.rates(), self.setting.bound());
        let by = match (bound.limit(), rates.peak(work.dtype)) {
            ("compute", Some(peak)) => format!("arithmetic, {:.1} G operations/s", peak / 1e9),
            _ => {
                let bandwidth = rates.bandwidth(work.bytes());
                let (read, copy) = (bandwidth.read / 1e9, bandwidth.copy / 1e9);
                format!("memory, {read:.1} GB/s read and {copy:.1} GB/s copied")
            }
        };
        let note = match &probed.origin {
            Origin::Kept | Origin::Measured => String::new(),
            Origin::Unkept(error) => format!("; the probe cannot be kept: {error}"),
            Origin::Typical => "; not measured, but usual".into(),
        };
        let least = output::seconds(bound.seconds());
        format!("{:.0} % of the bound, {least} by {by}{note}", 100.0 * self.fraction())
    }

    /// A JSON object on one line.
    pub fn as_json(&self) -> String {
        let mut object = self.setting.as_json();
        let (times, work) = (&self.times, self.setting.work);
        let more = json!({
            "outputs": self.memory.name(),
            "repetitions": times.count(),
            "median_seconds": times.median(),
            "best_seconds": times.best(),
            "first_quartile_seconds": times.quantile(0.25),
            "third_quartile_seconds": times.quantile(0.75),
            "giga_operations_per_second": work.operations.map(|n| self.rate(n)),
            "gigabytes_per_second": self.rate(work.bytes()),
            "fraction_of_bound": self.fraction(),
        });
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
        json::text(&object)
    }
}
