//! What work is expected to take: decides what is divided among threads, never how it is computed.

use super::{Probe, Rates, Work};

/// Kernels take about so many times as long as the [bound](Rates::bound) of their work.
const ABOVE_BOUND: f64 = 1.5;

/// Work is worth another thread if it takes so many times as long as it takes that thread to come:
/// what is estimated is uncertain, and caches have to follow.
const HAND_OFFS: f64 = 4.0;

/// The times, in seconds, that another thread is believed to take to come: longer ones were measured
/// while the machine was busy, and a kept probe would leave threads idle ever after.
const HAND_OFF: [f64; 2] = [2e-6, 10e-6];

/// Expected times on one thread.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    one: Rates,
    worth: f64,
}

impl Costs {
    /// Those of the machine that was probed.
    pub(crate) fn new(probe: &Probe) -> Self {
        let [least, most] = HAND_OFF;
        let hand_off = probe.fork.max(least).min(most);
        Self { one: probe.one.clone(), worth: HAND_OFFS * hand_off * 1e9 }
    }

    /// Nanoseconds from which on work is worth another thread.
    pub(crate) fn worth_threads(&self) -> f64 {
        self.worth
    }

    /// Nanoseconds that work takes, about.
    pub(crate) fn nanoseconds(&self, work: &Work) -> f64 {
        ABOVE_BOUND * self.one.bound(work).seconds() * 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use ijk_types::DType;

    #[test]
    fn faster_machines_divide_larger_work() {
        let product = |n: u64| {
            let (operations, written) = (2 * n * n * n, 4 * n * n);
            Work { dtype: DType::F32, operations, read: 2 * written, written }
        };
        let mut probe = Probe::typical(Level::best(), 2);
        let usual = Costs::new(&probe);
        probe.one.peak[0] *= 10.0;
        let fast = Costs::new(&probe);
        assert!(fast.nanoseconds(&product(256)) < usual.nanoseconds(&product(256)));
        assert!(usual.nanoseconds(&product(16)) < usual.worth_threads());
        assert!(usual.nanoseconds(&product(1024)) > usual.worth_threads());
    }

    #[test]
    fn hand_offs_are_believed_within_reason() {
        let worth = |fork| {
            let probe = Probe { fork, ..Probe::typical(Level::best(), 2) };
            Costs::new(&probe).worth_threads()
        };
        assert!(worth(8e-6) > worth(4e-6));
        assert_eq!(worth(1e-3), worth(1.0));
        assert_eq!(worth(0.0), worth(1e-9));
    }
}
