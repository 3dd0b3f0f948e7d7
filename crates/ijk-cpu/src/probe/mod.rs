//! Machine model: measured rates, and the lower bound of the time of work that follows from them.
//!
//! A probe selects among algorithms with equal results only; the order of summation must not depend on it.

mod bandwidth;
mod costs;
mod peak;
mod pool;
mod text;

pub(crate) use costs::Costs;

use crate::runtime::threads::Workers;
use ijk_kernels::simd::Level;
use ijk_types::DType;
use std::time::Instant;

/// Measured rates of a machine.
///
/// ```
/// use ijk_cpu::Level;
/// use ijk_cpu::probe::{Probe, Work};
/// use ijk_types::DType;
///
/// let probe = Probe::typical(Level::best(), 2);
/// let product = Work { dtype: DType::F32, operations: 2_000_000_000, read: 8_000_000, written: 4_000_000 };
/// let [one, two] = [1, 2].map(|threads| probe.rates(threads).bound(&product));
/// assert_eq!(one.limit(), "compute");
/// assert!(two.seconds() < one.seconds());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Number of threads of `all`.
    pub threads: usize,
    /// Rates of one thread.
    pub one: Rates,
    /// Rates of all threads.
    pub all: Rates,
    /// Seconds from the start of a parallel loop until another thread, which has just helped with a previous one, works
    /// on it.
    pub fork: f64,
}

/// Peak rates of some threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Operations per second by [type](TYPES); a fused multiply-add counts as two.
    pub peak: [f64; TYPES.len()],
    /// Bandwidth for arrays of growing size.
    pub bandwidth: [Bandwidth; FOOTPRINTS.len()],
}

/// Types whose arithmetic is measured. Complex types have a quarter of the rate of their parts, since a complex
/// operation counts as four real ones.
pub const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::I32, DType::I64];

/// Total size of arrays in bytes for which bandwidth is measured: from L2-resident to out of all caches.
pub const FOOTPRINTS: [usize; 5] = [256 << 10, 2 << 20, 16 << 20, 64 << 20, 256 << 20];

/// Memory bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// Bytes per second of a read.
    pub read: f64,
    /// Bytes per second, read and written, of a copy.
    pub copy: f64,
}

/// Lower bound of the operations and bytes of a computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Element type.
    pub dtype: DType,
    /// Scalar operations.
    pub operations: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

/// Lower bound of the time of work: its *roofline*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Seconds for the operations; `None` for bools, whose rate is not measured.
    pub compute: Option<f64>,
    /// Seconds to move the bytes.
    pub memory: f64,
}

impl Probe {
    /// Measures the machine with `threads` threads, in about a second. `None` if the arrays cannot be allocated.
    pub fn measure(level: Level, threads: usize) -> Option<Self> {
        let workers = Workers::new(threads);
        let threads = workers.threads();
        let one = rates(level, 1, [0.0; TYPES.len()])?;
        let hoped = one.peak.map(|rate| 0.9 * rate * threads as f64);
        let all = if threads == 1 { one.clone() } else { rates(level, threads, hoped)? };
        let fork = median(|| pool::wait_for_help(&workers));
        Some(Self { threads, one, all, fork })
    }

    /// Typical rates of a machine with `threads` threads and these instructions, without measurement.
    pub fn typical(level: Level, threads: usize) -> Self {
        let both = |rate: f64| Bandwidth { read: rate, copy: rate };
        let bandwidth = [100e9, 60e9, 30e9, 12e9, 12e9].map(both);
        let share = match level.name() {
            "avx512" => 1.0,
            "avx2" => 0.5,
            _ => 0.125,
        };
        let one =
            Rates { peak: [100e9, 50e9, 50e9, 15e9].map(|rate: f64| rate * share), bandwidth };
        let threads = threads.max(1);
        let mut all = one.clone();
        all.peak = all.peak.map(|rate| rate * threads as f64);
        for (bandwidth, footprint) in all.bandwidth.iter_mut().zip(FOOTPRINTS) {
            // A few threads saturate shared resources.
            let most = if footprint > FOOTPRINTS[2] { 4 } else { threads };
            *bandwidth = both(bandwidth.read * threads.min(most) as f64);
        }
        Self { threads, one, all, fork: 1e-6 }
    }

    /// Rates of some threads: those of one thread times their number, limited by the rates of all.
    pub fn rates(&self, threads: usize) -> Rates {
        let least = |one: f64, all: f64| (one * threads.max(1) as f64).min(all.max(one));
        let mut rates = self.one.clone();
        for (rate, all) in rates.peak.iter_mut().zip(self.all.peak) {
            *rate = least(*rate, all);
        }
        for (one, all) in rates.bandwidth.iter_mut().zip(self.all.bandwidth) {
            *one = Bandwidth { read: least(one.read, all.read), copy: least(one.copy, all.copy) };
        }
        rates
    }
}

impl Rates {
    /// Operations per second for a type, if measured.
    pub fn peak(&self, dtype: DType) -> Option<f64> {
        let (part, factor) = match dtype {
            DType::C64 => (DType::F32, 0.25),
            DType::C128 => (DType::F64, 0.25),
            other => (other, 1.0),
        };
        let at = TYPES.iter().position(|&t| t == part)?;
        Some(self.peak[at] * factor)
    }

    /// Bandwidth for arrays of `bytes` bytes in total: that of the next smaller measured size.
    pub fn bandwidth(&self, bytes: u64) -> Bandwidth {
        let at = FOOTPRINTS.iter().rposition(|&footprint| footprint as u64 <= bytes);
        self.bandwidth[at.unwrap_or(0)]
    }

    /// Lower bound of the time of work.
    pub fn bound(&self, work: &Work) -> Bound {
        let compute = self.peak(work.dtype).map(|rate| work.operations as f64 / rate);
        let Bandwidth { read, copy } = self.bandwidth(work.read.saturating_add(work.written));
        let copied = work.read.min(work.written);
        // Bytes that are written without being read cost as much as in a copy.
        let written = (work.written - copied) as f64 / copy;
        let memory = 2.0 * copied as f64 / copy + (work.read - copied) as f64 / read + written;
        Bound { compute, memory }
    }
}

impl Bound {
    /// The longer of both times.
    pub fn seconds(&self) -> f64 {
        self.compute.unwrap_or(0.0).max(self.memory)
    }

    /// `compute` or `memory`: the longer of both.
    pub fn limit(&self) -> &'static str {
        if self.compute.is_some_and(|compute| compute > self.memory) { "compute" } else { "memory" }
    }
}

/// Rates of `threads` threads; peaks below `hoped` are measured again.
fn rates(level: Level, threads: usize, hoped: [f64; TYPES.len()]) -> Option<Rates> {
    let mut bandwidth = [Bandwidth { read: 0.0, copy: 0.0 }; FOOTPRINTS.len()];
    for (found, footprint) in bandwidth.iter_mut().zip(FOOTPRINTS) {
        *found = bandwidth::measure(level, threads, footprint)?;
    }
    let mut peak = [0.0; TYPES.len()];
    for ((found, dtype), hoped) in peak.iter_mut().zip(TYPES).zip(hoped) {
        *found = peak::measure(level, threads, dtype, hoped);
    }
    Some(Rates { peak, bandwidth })
}

/// The median time of many calls.
fn median(mut call: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..CALLS).map(|_| time(&mut call)).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2].max(1e-9)
}

/// Number of times a short call is timed.
const CALLS: usize = 100;

fn time(call: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        for level in Level::available() {
            let probe = Probe::measure(level, 2).unwrap();
            assert_eq!(probe.threads, 2);
            for rates in [&probe.one, &probe.all] {
                assert!(rates.peak.iter().all(|&rate| rate > 1e6 && rate < 1e15), "{rates:?}");
                let of = |b: &Bandwidth| [b.read, b.copy];
                let rates = rates.bandwidth.iter().flat_map(of).collect::<Vec<_>>();
                assert!(rates.iter().all(|&rate| rate > 1e6 && rate < 1e15), "{rates:?}");
            }
            assert!(probe.fork > 0.0 && probe.fork < 1.0);
            assert_eq!(Probe::parse(&probe.to_text("here"), "here"), Some(probe));
        }
    }

    #[test]
    fn rates_of_some_threads() {
        let mut probe = Probe::typical(Level::best(), 8);
        assert_eq!(probe.rates(1), probe.one);
        assert_eq!(probe.rates(8).peak, probe.all.peak);
        assert_eq!(probe.rates(100), probe.all);
        assert_eq!(probe.rates(2).bandwidth[4].read, 2.0 * probe.one.bandwidth[4].read);
        // As if noise had made several threads slower than one.
        probe.all.peak[0] = 1.0;
        assert_eq!(probe.rates(2).peak[0], probe.one.peak[0]);
    }

    #[test]
    fn bounds() {
        let rates = Probe::typical(Level::best(), 1).one;
        let work = |dtype, operations, read, written| Work { dtype, operations, read, written };
        let sum = rates.bound(&work(DType::F32, 1_000_000, 400_000_000, 4));
        assert_eq!(sum.limit(), "memory");
        assert!((sum.seconds() * rates.bandwidth[4].read / 4e8 - 1.0).abs() < 1e-3);
        let logic = rates.bound(&work(DType::Bool, u64::MAX, 1, 1));
        assert_eq!((logic.compute, logic.limit()), (None, "memory"));
        let complex = rates.bound(&work(DType::C128, 1_000_000_000, 0, 0));
        assert_eq!(complex.compute, Some(4e9 / rates.peak[1]));
        let most = rates.bound(&work(DType::I64, u64::MAX, u64::MAX, u64::MAX));
        assert!(most.seconds().is_finite());
        assert_eq!(rates.bandwidth(0), rates.bandwidth[0]);
        assert_eq!(rates.bandwidth(3 << 20), rates.bandwidth[1]);
    }
}
