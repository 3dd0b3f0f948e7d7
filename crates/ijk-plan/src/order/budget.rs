//! Budget of a search.

use super::stop::Stop;
use super::{Effort, Options};
use std::time::{Duration, Instant};

/// Remaining budget of a search, in candidates.
pub(super) struct Budget<'a> {
    effort: Effort,
    clock: Option<(Instant, Duration)>,
    operands: u64,
    spent: u64,
    stop: &'a Stop<'a>,
}

/// Budget of an effort, relative to the cost of the contraction.
struct Share {
    /// Multiplications of the contraction per candidate.
    multiplications: f64,
    /// Least and greatest number of candidates per operand.
    least: u64,
    most: u64,
}

/// A candidate costs about as much as `multiplications` of large matrices, so the search takes no longer than the
/// contraction, above the least budget, beyond which orders of graphical models improve little.
const NORMAL: Share = Share { multiplications: 2048.0, least: 288, most: 1 << 13 };
/// Seconds of search for hundreds of operands.
const HIGH: Share = Share { multiplications: 4.0, least: 1 << 15, most: 1 << 16 };

/// Budget until the rate of candidates is known.
const UNKNOWN_RATE: u64 = 1000;

impl<'a> Budget<'a> {
    pub(super) fn new(options: &Options, operands: usize, stop: &'a Stop<'a>) -> Self {
        Self {
            effort: options.effort,
            clock: options.time.map(|time| (Instant::now(), time)),
            operands: operands as u64,
            spent: 0,
            stop,
        }
    }

    pub(super) fn spend(&mut self, candidates: u64) {
        self.spent = self.spent.saturating_add(candidates);
    }

    /// The stop flag.
    pub(super) fn stop(&self) -> &'a Stop<'a> {
        self.stop
    }

    /// Remaining candidates, if the best tree takes `multiplications`.
    pub(super) fn left(&self, multiplications: f64) -> u64 {
        if self.stop.is_set() {
            return 0;
        }
        if let Some((start, time)) = self.clock {
            return self.left_until(start.elapsed(), time);
        }
        let of = |share: Share| {
            let worth = (multiplications / share.multiplications) as u64;
            let operand = |candidates: u64| self.operands.saturating_mul(candidates);
            worth.clamp(operand(share.least), operand(share.most))
        };
        let all = match self.effort {
            Effort::Greedy => 0,
            Effort::Normal => of(NORMAL),
            Effort::High => of(HIGH),
            Effort::Steps(steps) => steps,
        };
        all.saturating_sub(self.spent)
    }

    fn left_until(&self, elapsed: Duration, time: Duration) -> u64 {
        let left = time.saturating_sub(elapsed).as_secs_f64();
        if self.spent < UNKNOWN_RATE && left > 0.0 {
            return UNKNOWN_RATE;
        }
        (self.spent as f64 * left / elapsed.as_secs_f64().max(1e-9)) as u64
    }
}
