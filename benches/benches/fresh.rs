//! Allocation of results: `cargo bench -p ijk-benches --bench fresh`.
//!
//! `ij+1~ij` of 4096² `f32`, 64 MB, with outputs in several kinds of memory, interleaved:
//!
//! * *loop into a new `Vec`*: Rust without ijk, on one thread;
//! * *ordinary pages*: into an array that ndarray allocates;
//! * *taken by ndarray*: a result that becomes an array of ndarray, which frees it, so that nothing
//!   returns to the pool: new memory in huge pages;
//! * *dropped*: a result whose memory returns to the pool of the engine;
//! * *reused*: into the same memory each time, the lower bound.
//!
//! Ordinary pages cost a page fault for each 4 kB, huge pages one for each 2 MB; in both the operating
//! system zeroes the memory. Memory of the pool costs neither, so *dropped* should be as fast as
//! *reused*. docs/performance/runtime.md has figures.
//!
//! Arguments: repetitions (31), rows and columns (4096).

use ijk::ndarray::Array2;
use ijk::{Engine, Program, TensorView, TensorViewMut};
use ijk_benches::numbers;
use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let repetitions = arguments.next().unwrap_or(31).max(1);
    let n = arguments.next().unwrap_or(4096).max(1);
    let input = numbers(n * n);
    let program = ijk::i("ij+1~ij").expect("a program");
    for threads in [1, 2] {
        println!("{threads} thread(s)");
        let engine = Engine::builder().threads(threads).build();
        race(&engine, &program, &input, n, repetitions);
    }
}

/// A name and a run.
type Way<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Prints the median time of each way, interleaved.
fn race(engine: &Engine, program: &Program, input: &[f32], n: usize, repetitions: usize) {
    let view = || [TensorView::from_slice(input, &[n, n]).expect("it fits")];
    let fresh = || engine.apply(program, &view()[..]).expect("it runs").swap_remove(0);
    let mut reused = Array2::<f32>::zeros((n, n));
    let mut ways: [Way<'_>; 5] = [
        (
            "loop into a new Vec",
            Box::new(|| drop(black_box(input.iter().map(|x| x + 1.0).collect::<Vec<f32>>()))),
        ),
        (
            "ordinary pages",
            Box::new(|| {
                let mut out = Array2::<f32>::uninit((n, n));
                let into = &mut [TensorViewMut::from_uninit_array(&mut out)];
                engine.apply_into(program, &view()[..], into).expect("it runs");
                black_box(out);
            }),
        ),
        (
            "taken by ndarray",
            Box::new(|| drop(black_box(fresh().into_array::<f32, ijk::ndarray::Ix2>()))),
        ),
        ("dropped", Box::new(|| drop(black_box(fresh())))),
        (
            "reused",
            Box::new(|| {
                let into = &mut [TensorViewMut::from_array(&mut reused)];
                engine.apply_into(program, &view()[..], into).expect("it runs");
            }),
        ),
    ];
    let mut times = vec![Vec::new(); ways.len()];
    for round in 0..=repetitions {
        for ((name, run), times) in ways.iter_mut().zip(&mut times) {
            // An empty pool, so that the other ways allocate new memory.
            if *name != "dropped" {
                engine.release_memory();
            } else {
                run();
            }
            let start = Instant::now();
            run();
            if round > 0 {
                times.push(start.elapsed());
            }
        }
    }
    let medians: Vec<Duration> = times.iter_mut().map(|times| median(times)).collect();
    for ((name, _), time) in ways.iter().zip(&medians) {
        let bytes = (2 * n * n * size_of::<f32>()) as f64;
        println!(
            "  {name:<22} {time:>9.1?}  {:>5.1} GB/s   {:.2} times ordinary pages",
            bytes / time.as_secs_f64() / 1e9,
            medians[1].as_secs_f64() / time.as_secs_f64()
        );
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
