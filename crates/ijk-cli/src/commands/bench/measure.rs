//! Times of interleaved runs.

use crate::progress::Progress;
use std::time::{Duration, Instant};

/// Duration of measuring each contestant, where the number of repetitions is not given.
const BUDGET: Duration = Duration::from_secs(1);
/// Least number of repetitions; the greatest is [`MOST`].
const LEAST: usize = 3;
/// See [`LEAST`].
const MOST: usize = 100_000;
/// Runs shorter than this are timed several at a time, so that reading the clock does not count.
const SHORT: f64 = 20e-6;

/// Least duration of a long run. A first run that takes longer, planning included, is not repeated for warming up.
const LONG: f64 = 0.5;

/// Times in seconds, ascending, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Times(Vec<f64>);

impl Times {
    fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// Number of measured times.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The least time.
    pub fn best(&self) -> f64 {
        self.quantile(0.0)
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The quantile: `part` of the times are below it.
    pub fn quantile(&self, part: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * part).round() as usize].max(1e-9)
    }
}

/// Times of contestants, which run in turn in every round. The first run of each plans and warms up, and the second
/// determines the number of runs of a repetition; neither is counted.
pub fn in_turn<E>(
    contestants: usize,
    reps: Option<usize>,
    progress: &Progress,
    mut run: impl FnMut(usize) -> Result<(), E>,
) -> Result<Vec<Times>, E> {
    let mut batches = Vec::new();
    for n in 0..contestants {
        batches.push(batch(|| run(n))?);
    }
    let begin = Instant::now();
    let budget = BUDGET * contestants.max(1) as u32;
    let enough = |done: usize| match reps {
        Some(reps) => done >= reps,
        None => done >= MOST || (done >= LEAST && begin.elapsed() >= budget),
    };
    let mut times = vec![Vec::new(); contestants];
    let mut done = 0;
    while !enough(done) {
        for (n, times) in times.iter_mut().enumerate() {
            times.push(repeat(batches[n], || run(n))?);
        }
        done += 1;
        progress.at(done as u64);
    }
    Ok(times.into_iter().map(Times::new).collect())
}

/// Times of one contestant, measured for `seconds` seconds.
pub fn during<E>(
    seconds: f64,
    batch: usize,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Times, E> {
    let begin = Instant::now();
    let mut times = vec![repeat(batch, &mut run)?];
    while begin.elapsed().as_secs_f64() < seconds && times.len() < MOST {
        times.push(repeat(batch, &mut run)?);
    }
    Ok(Times::new(times))
}

/// Number of runs of a repetition, found after one run for warming up.
pub fn batch<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<usize, E> {
    if repeat(1, &mut run)? > LONG {
        return Ok(1);
    }
    let time = repeat(1, run)?;
    Ok((SHORT / time.max(1e-9)).ceil().clamp(1.0, 10_000.0) as usize)
}

/// Seconds of a run, as the mean of `count` runs.
fn repeat<E>(batch: usize, mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let start = Instant::now();
    for _ in 0..batch {
        run()?;
    }
    Ok(start.elapsed().as_secs_f64() / batch as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn quantiles() {
        let times = Times::new(vec![3.0, 1.0, 2.0, 5.0, 4.0]);
        assert_eq!((times.best(), times.median(), times.count()), (1.0, 3.0, 5));
        assert_eq!((times.quantile(0.25), times.quantile(0.75)), (2.0, 4.0));
        assert_eq!(Times::new(vec![0.0]).median(), 1e-9);
    }

    #[test]
    fn contestants_take_turns() {
        let mut order = Vec::new();
        let progress = Progress::steps("testing", Some(3));
        let times = in_turn::<()>(2, Some(3), &progress, |n| {
            order.push(n);
            sleep(Duration::from_micros(50));
            Ok(())
        });
        assert_eq!(times.unwrap().iter().map(Times::count).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(order, [0, 0, 1, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(in_turn(1, None, &progress, |_| Err("no")), Err("no"));
    }

    #[test]
    fn short_runs_are_timed_together() {
        assert!(batch::<()>(|| Ok(())).unwrap() > 1);
        let slow = batch::<()>(|| {
            sleep(Duration::from_millis(1));
            Ok(())
        });
        assert_eq!(slow, Ok(1));
        let mut runs = 0;
        let times = during::<()>(0.0, 7, || {
            runs += 1;
            Ok(())
        });
        assert_eq!((times.unwrap().count(), runs), (1, 7));
    }
}
