//! Peak arithmetic: chains of multiplications and additions in registers, enough of them to hide their latency.

use super::pool::best;
use ijk_kernels::simd::{Kernel, Level, Number, Simd, Vector};
use ijk_types::DType;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

/// Independent chains: more than two units of four cycles latency need, and few enough for 16 registers.
const CHAINS: usize = 12;

/// Steps of each chain in a task: less than a millisecond, so that some tasks are not interrupted on a busy machine.
const STEPS: usize = 100_000;

/// Number of times all chains are timed.
const CALLS: usize = 30;

/// Number of measurements if other programs keep processors busy, and the pause between them.
const TRIES: usize = 6;
const WHILE: Duration = Duration::from_millis(15);

/// Operations per second of `threads` threads for one of [`super::TYPES`]; measures again if they are fewer than
/// `hoped`.
pub fn measure(level: Level, threads: usize, dtype: DType, hoped: f64) -> f64 {
    let mut most = measure_once(level, threads, dtype);
    for _ in 1..TRIES {
        if most >= hoped {
            break;
        }
        thread::sleep(WHILE);
        most = most.max(measure_once(level, threads, dtype));
    }
    most
}

fn measure_once(level: Level, threads: usize, dtype: DType) -> f64 {
    let lanes = level.run(PeakLanes(dtype));
    let seconds = best(CALLS, threads, |_| match dtype {
        DType::F32 => level.run(Chains { from: 0.5_f32, factor: 0.5, term: 0.25 }),
        DType::F64 => level.run(Chains { from: 0.5_f64, factor: 0.5, term: 0.25 }),
        DType::I32 => level.run(Chains { from: 1_i32, factor: 3, term: 1 }),
        _ => level.run(Chains { from: 1_i64, factor: 3, term: 1 }),
    });
    2.0 * (STEPS * CHAINS * lanes * threads) as f64 / seconds
}

/// Number of lanes of a register for a type.
struct PeakLanes(DType);

impl Kernel for PeakLanes {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        match self.0 {
            DType::F32 => S::F32::LANES,
            DType::F64 => S::F64::LANES,
            DType::I32 => S::I32::LANES,
            _ => S::I64::LANES,
        }
    }
}

/// The chains of a task.
struct Chains<T> {
    from: T,
    factor: T,
    term: T,
}

macro_rules! kernel {
    ($($t:ty, $vector:ident;)*) => {$(
        impl Kernel for Chains<$t> {
            type Output = ();

            #[inline(always)]
            fn run<S: Simd>(self, simd: S) {
                // Hides from the compiler that all chains are equal.
                let starts = black_box([self.from; CHAINS]);
                let (factor, term) = (black_box(self.factor), black_box(self.term));
                let (factor, term) = (S::$vector::splat(simd, factor), S::$vector::splat(simd, term));
                let mut chains = [factor; CHAINS];
                for n in 0..CHAINS {
                    chains[n] = S::$vector::splat(simd, starts[n]);
                }
                black_box(follow(chains, factor, term));
            }
        }
    )*};
}

kernel! {
    f32, F32;
    f64, F64;
    i32, I32;
    i64, I64;
}

#[inline(always)]
fn follow<V: Number>(mut chains: [V; CHAINS], factor: V, term: V) -> [V; CHAINS] {
    for _ in 0..STEPS {
        for chain in &mut chains {
            *chain = chain.mul_add(factor, term);
        }
    }
    chains
}
