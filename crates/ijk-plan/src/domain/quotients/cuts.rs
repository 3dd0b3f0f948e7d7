//! Cuts of a domain between which a quotient is constant.

use super::Division;
use crate::domain::bounds::{Interval, narrow};
use crate::domain::peel::slice;
use crate::domain::split::{drop_unit_axes, split_axis};
use crate::graph::Stmt;
use ijk_ir::core::Atom;

/// Up to this number of runs of one quotient, an axis is cut into them; beyond, it is split if possible.
const MAX_RUNS_CUT: usize = 3;
/// Greatest number of runs that an axis is cut into.
const MAX_RUNS: usize = 16;

/// Cuts or splits an axis so that a division has fewer distinct quotients in each part; `None` if no axis helps.
pub(super) fn parts(stmt: &Stmt, division: &Division) -> Option<Vec<Stmt>> {
    let mut all = Slope::all(stmt, division);
    all.sort_by_key(|slope| std::cmp::Reverse(slope.extent));
    let cut = |slope: &Slope, ranges: Vec<Interval>| {
        let part = |range| slice(stmt, slope.axis, range).map(narrow);
        let parts: Vec<_> = ranges.into_iter().map(part).collect::<Option<_>>()?;
        Some(parts.into_iter().flatten().map(drop_unit_axes).collect())
    };
    let few = all.iter().find_map(|slope| Some((slope, slope.few_runs()?)));
    if let Some((slope, runs)) = few {
        return cut(slope, runs);
    }
    if let Some(parts) = all.iter().find_map(|slope| slope.split(stmt)) {
        return Some(parts);
    }
    let (slope, runs) =
        all.iter().find_map(|slope| Some((slope, slope.runs(MAX_RUNS, division.read)?)))?;
    cut(slope, runs)
}

/// A dividend as a function of one of its axes.
struct Slope {
    axis: usize,
    extent: i128,
    /// Increment per step of the axis,
    step: i128,
    /// and the range of the sum of all other terms.
    low: i128,
    high: i128,
    d: i128,
}

impl Slope {
    fn all(stmt: &Stmt, division: &Division) -> Vec<Self> {
        let extents = stmt.extents();
        let (least, greatest) = crate::graph::index::range(&division.dividend, &extents);
        let of = |(step, atom): &(i64, Atom)| {
            let Atom::Axis(axis) = atom else { return None };
            let axis = axis.0 as usize;
            let (step, extent) = (i128::from(*step), i128::from(extents[axis]));
            let own = step.saturating_mul(extent - 1);
            let (low, high) =
                (least.saturating_sub(own.min(0)), greatest.saturating_sub(own.max(0)));
            Some(Self { axis, extent, step, low, high, d: division.d.into() })
        };
        division.dividend.terms.iter().filter_map(of).filter(|slope| slope.extent > 1).collect()
    }

    /// The quotient at a value of the axis, if it is the same for all values of the other terms.
    fn quotient(&self, x: i128) -> Option<i128> {
        let own = self.step.saturating_mul(x);
        let low = own.saturating_add(self.low).div_euclid(self.d);
        let high = own.saturating_add(self.high).div_euclid(self.d);
        (low == high).then_some(low)
    }

    /// The last value of the axis with the quotient `q`.
    fn last(&self, q: i128) -> i128 {
        let last = match self.step > 0 {
            true => {
                let end = self.d.saturating_mul(q + 1).saturating_sub(1);
                end.saturating_sub(self.high).div_euclid(self.step)
            }
            false => self.low.saturating_sub(self.d.saturating_mul(q)).div_euclid(-self.step),
        };
        last.min(self.extent - 1)
    }

    /// Runs of values with one quotient. The values between them, whose quotient depends on other terms, are single
    /// runs, or one run if `merge` is set. `None` if there are more than `most`, or only one.
    fn runs(&self, most: usize, merge: bool) -> Option<Vec<Interval>> {
        let mut runs: Vec<Interval> = Vec::new();
        let (mut x, mut open) = (0, false);
        while x < self.extent {
            match self.quotient(x) {
                Some(q) => {
                    let last = self.last(q).max(x);
                    runs.push((x, last));
                    (x, open) = (last + 1, false);
                }
                None => {
                    let next = if merge { self.settled_from(x) } else { x + 1 };
                    match runs.last_mut() {
                        Some(run) if open && merge => run.1 = next - 1,
                        _ => runs.push((x, next - 1)),
                    }
                    (x, open) = (next, true);
                }
            }
            if runs.len() > most {
                return None;
            }
        }
        (runs.len() > 1).then_some(runs)
    }

    /// The first value after `x` at which the quotient may be fixed again, given that it is not at `x`.
    fn settled_from(&self, x: i128) -> i128 {
        if self.high.saturating_sub(self.low) >= self.d {
            return self.extent;
        }
        let q = self.step.saturating_mul(x).saturating_add(self.low).div_euclid(self.d);
        // The quotient is fixed once both ends of the range are in the same period.
        let next_period = self.d.saturating_mul(q + 1);
        let next = match self.step > 0 {
            true => {
                let to_go = next_period.saturating_sub(self.low);
                to_go.saturating_add(self.step - 1).div_euclid(self.step)
            }
            false => self.high.saturating_sub(next_period).div_euclid(-self.step) + 1,
        };
        next.clamp(x + 1, self.extent)
    }

    /// The runs, if there are few.
    fn few_runs(&self) -> Option<Vec<Interval>> {
        self.runs(MAX_RUNS_CUT, true)
    }

    /// Splits the axis by the period, over whole periods, with a head and a tail.
    fn split(&self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let period = self.d / gcd(self.d, self.step.abs());
        let first = self.first_period(period);
        let count = (self.extent - first) / period;
        if period < 2 || count < 2 {
            return None;
        }
        let end = first + count * period;
        let body = slice(stmt, self.axis, (first, end - 1))?;
        let mut parts = vec![split_axis(&body, self.axis, u64::try_from(period).ok()?)?];
        for (from, to) in [(0, first - 1), (end, self.extent - 1)] {
            if from <= to {
                parts.push(drop_unit_axes(slice(stmt, self.axis, (from, to))?));
            }
        }
        Some(parts.into_iter().filter_map(narrow).collect())
    }

    /// The first value from which on each period has one quotient, or 0.
    fn first_period(&self, period: i128) -> i128 {
        let whole = |x: i128| self.quotient(x).is_some_and(|q| self.last(q) >= x + period - 1);
        let Some(q) = self.quotient(0) else { return 0 };
        let next = self.last(q) + 1;
        match whole(0) {
            false if next + period <= self.extent && whole(next) => next,
            _ => 0,
        }
    }
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
