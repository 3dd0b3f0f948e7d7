//! Measured memory bandwidth.

use super::Bandwidth;
use super::pool::best;
use ijk_kernels::simd::{Kernel, Level, Simd};
use ijk_tensor::advise_huge_pages;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::Mutex;

/// Fewest bytes of a measurement: small arrays are passed over repeatedly, so that the start does not count.
const LEAST: usize = 16 << 20;

/// Number of timed calls, and number if they take long.
const CALLS: [usize; 2] = [20, 4];

/// Bandwidth for arrays of `footprint` bytes in total over all threads; `None` if they cannot be allocated.
pub fn measure(level: Level, threads: usize, footprint: usize) -> Option<Bandwidth> {
    let length = (footprint / size_of::<u64>() / threads).max(2);
    let blocks = (0..threads).map(|_| zeros(length).map(Mutex::new));
    let blocks: Vec<_> = blocks.collect::<Option<_>>()?;
    let bytes = length * size_of::<u64>() * threads;
    let passes = LEAST.div_ceil(bytes);
    let calls = CALLS[usize::from(bytes > LEAST)];
    let rate = |calls, body: fn(Level, &mut [u64])| {
        let seconds = best(calls, threads, |n| {
            let mut block = blocks[n].lock().unwrap_or_else(|e| e.into_inner());
            (0..passes).for_each(|_| body(level, black_box(&mut block)));
        });
        (bytes * passes) as f64 / seconds
    };
    // First touch: pages are allocated where they are first written.
    rate(1, |_, block| block.fill(1));
    Some(Bandwidth { read: rate(calls, read), copy: rate(calls, copy) })
}

fn read(level: Level, block: &mut [u64]) {
    black_box(level.run(Sum(block)));
}

fn copy(_: Level, block: &mut [u64]) {
    let (from, to) = block.split_at_mut(block.len() / 2);
    to[..from.len()].copy_from_slice(from);
}

/// Zeros, in huge pages as for tensors, which the system allocates on first use.
fn zeros(length: usize) -> Option<Vec<u64>> {
    let mut there = Vec::<u64>::new();
    there.try_reserve_exact(length).ok()?;
    drop(there);
    let mut zeros = vec![0; length];
    // SAFETY: any bytes are valid, and the advice writes none.
    advise_huge_pages(unsafe { zeros.align_to_mut::<MaybeUninit<u8>>().1 });
    Some(zeros)
}

/// Kernel that reads all elements.
struct Sum<'a>(&'a [u64]);

impl Kernel for Sum<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u64 {
        self.0.iter().fold(0, |sum, &x| sum.wrapping_add(x))
    }
}
