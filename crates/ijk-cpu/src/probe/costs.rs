//! Estimated times of work: they determine the division among threads, never the order of summation.

use super::{Bound, Probe, Rates, Work};
use ijk_kernels::tuning::time::{ABOVE_BOUND, HAND_OFF, HAND_OFFS};

/// Estimated times on one thread.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    one: Rates,
    worth: f64,
}

impl Costs {
    /// Estimates for the machine of a probe.
    pub(crate) fn new(probe: &Probe) -> Self {
        let [least, most] = HAND_OFF;
        let hand_off = probe.fork.max(least).min(most);
        Self { one: probe.one.clone(), worth: HAND_OFFS * hand_off * 1e9 }
    }

    /// Nanoseconds of work from which another thread pays.
    pub(crate) fn worth_threads(&self) -> f64 {
        self.worth
    }

    /// Lower bound of the time of work on one thread.
    pub(crate) fn bound(&self, work: &Work) -> Bound {
        self.one.bound(work)
    }

    /// Estimated nanoseconds of work.
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
