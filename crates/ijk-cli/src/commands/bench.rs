//! `ijk bench`: how fast does a program run?

use crate::applied::Application;
use crate::args::Bench;
use crate::engine::engine;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{json, layout, memory, output};
use ijk::{DType, Error, Tensor, TensorError, TensorView, TensorViewMut};
use serde_json::json;
use std::time::{Duration, Instant};

/// Without `--reps`, repetitions go on for about so long.
const BUDGET: Duration = Duration::from_secs(1);
/// But there are at least so many, and at most [`MOST`].
const LEAST: usize = 3;
/// See [`LEAST`].
const MOST: usize = 100_000;

/// Runs a program on made-up arguments and prints times and rates.
///
/// # Errors
/// If the program is wrong, does not fit the shapes, or fails.
pub fn bench(args: &Bench) -> Result<(), Failure> {
    let application = Application::new(&args.applied)?;
    let engine = engine(args.threads)?;
    let fail = |error: Error| application.failure(error);
    let arguments = application.borrowed();
    let cost = engine.explain(&application.component, &arguments).map_err(fail)?.cost();
    let results = application.component.results(&arguments).map_err(fail)?;
    memory::check(&engine, &application.component, &arguments, fail)?;
    // The numbers are made as f64 and then converted.
    let made = arguments.iter().map(|(dtype, shape)| {
        memory::bytes(*dtype, shape).saturating_add(memory::bytes(DType::F64, shape))
    });
    memory::fits(made.fold(0, u64::saturating_add))?;
    let inputs: Result<Vec<_>, _> =
        arguments.iter().map(|(dtype, shape)| sample(*dtype, shape)).collect();
    let inputs = inputs?;
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let outputs: Result<Vec<_>, _> =
        results.iter().map(|(dtype, shape)| Tensor::zeros(*dtype, shape)).collect();
    let mut outputs = outputs?;
    let progress = Progress::steps("measuring", args.reps.map(|reps| reps as u64));
    let times = measure(args.reps, &progress, || {
        let mut outputs: Vec<TensorViewMut<'_>> =
            outputs.iter_mut().map(Tensor::view_mut).collect();
        engine.apply_into(&application.component, &views, &mut outputs)
    });
    drop(progress);
    let times = times.map_err(fail)?;
    let bytes = cost.read.saturating_add(cost.written);
    let measured = Measured { times, operations: cost.operations, bytes };
    output::print(&match args.applied.json {
        true => measured.as_json(engine.threads()),
        false => {
            let shapes: Vec<_> =
                arguments.iter().map(|(t, s)| format!("{t} {}", layout::shape(s))).collect();
            measured.as_text(&shapes.join(", "), engine.threads())
        }
    })
}

/// Times of repetitions in seconds, ascending. The first run plans and warms up, and is not counted.
fn measure<E>(
    reps: Option<usize>,
    progress: &Progress,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    run()?;
    let mut times = Vec::new();
    let begin = Instant::now();
    let enough = |done: usize| match reps {
        Some(reps) => done >= reps,
        None => done >= MOST || (done >= LEAST && begin.elapsed() >= BUDGET),
    };
    while !enough(times.len()) {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed().as_secs_f64());
        progress.at(times.len() as u64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// An array of numbers from 1/2 to 1 (integers: from 1 to 8; never 0, so that they divide).
fn sample(dtype: DType, shape: &[usize]) -> Result<Tensor, TensorError> {
    let mut reals = Tensor::zeros(DType::F64, shape)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let (from, scale) = if dtype.is_integer() { (1.0, 8.0) } else { (0.5, 0.5) };
    for x in reals.as_mut_slice::<f64>().unwrap_or_default() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *x = from + scale * (state >> 40) as f64 / f64::from(1 << 24);
    }
    if dtype == DType::F64 { Ok(reals) } else { reals.cast(dtype) }
}

struct Measured {
    /// Ascending, at least one.
    times: Vec<f64>,
    operations: u64,
    bytes: u64,
}

impl Measured {
    fn best(&self) -> f64 {
        self.times[0].max(1e-9)
    }

    fn median(&self) -> f64 {
        self.times[self.times.len() / 2]
    }

    fn as_text(&self, arguments: &str, threads: usize) -> String {
        let (best, median) = (output::seconds(self.best()), output::seconds(self.median()));
        let giga = |count: u64| count as f64 / self.best() / 1e9;
        format!(
            "{arguments}; threads: {threads}\nbest {best}, median {median} of {}\n\
             {:.2} G operations/s, {:.2} GB/s ({} operations, {} bytes)\n",
            self.times.len(),
            giga(self.operations),
            giga(self.bytes),
            self.operations,
            self.bytes,
        )
    }

    fn as_json(&self, threads: usize) -> String {
        json::text(&json!({
            "best_seconds": self.best(),
            "median_seconds": self.median(),
            "repetitions": self.times.len(),
            "operations": self.operations,
            "bytes": self.bytes,
            "threads": threads,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_in_range() {
        let reals = sample(DType::F32, &[1000]).unwrap();
        assert!(reals.as_slice::<f32>().unwrap().iter().all(|x| (0.5..=1.0).contains(x)));
        let integers = sample(DType::I64, &[1000]).unwrap();
        assert!(integers.as_slice::<i64>().unwrap().iter().all(|x| (1..=8).contains(x)));
    }

    #[test]
    fn repetitions() {
        let mut runs = 0;
        let progress = Progress::steps("testing", Some(5));
        let times = measure::<()>(Some(5), &progress, || {
            runs += 1;
            Ok(())
        });
        assert_eq!((times.unwrap().len(), runs), (5, 6));
        assert_eq!(measure(None, &progress, || Err("no")), Err("no"));
    }
}
