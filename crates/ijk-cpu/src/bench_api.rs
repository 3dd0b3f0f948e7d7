//! Kernels without a plan, for benchmarks. Not part of the public interface.

use crate::contract::{Context, contract};
use crate::{Level, ScratchPool, Workers};
use ijk_plan::plan::{Contraction, ContractionAxis};
use ijk_tensor::dtype_of;
use ijk_types::Element;
use std::sync::atomic::AtomicUsize;

/// Execution environment of contractions.
#[derive(Debug)]
pub struct Machine {
    /// Instruction set.
    pub level: Level,
    workers: Workers,
    scratch: ScratchPool,
}

impl Machine {
    /// `threads` threads at the widest level.
    pub fn new(threads: usize) -> Self {
        let workers = Workers::new(threads);
        Self { level: Level::best(), workers, scratch: ScratchPool::new() }
    }

    /// Executes a contraction whose origins are the slices' starts plus the bases' offsets.
    ///
    /// # Panics
    /// If an axis exceeds a slice, the type differs, the pair is not supported, or scratch memory cannot be allocated.
    pub fn contract<T: Element>(&self, task: &Contraction, a: &[T], b: &[T], c: &mut [T]) {
        assert_eq!(task.dtype, dtype_of::<T>());
        let a = origin(a, task.a.offset, &task.axes, |x| x.a);
        let b = origin(b, task.b.offset, &task.axes, |x| x.b);
        let c = origin(c, task.c.offset, &task.axes, |x| x.c).cast_mut();
        let refused = AtomicUsize::new(0);
        let context = Context::new(self.level, &self.workers, &self.scratch, &refused);
        // SAFETY: `origin` checks that every point is within its slice; `c` is borrowed exclusively. Benchmarks use
        // strides that keep its elements distinct.
        let done = unsafe { contract(task, a.cast(), b.cast(), c.cast(), &context) };
        done.expect("memory for panels");
    }
}

/// Address of the origin of the axes.
fn origin<T>(
    elements: &[T],
    offset: isize,
    axes: &[ContractionAxis],
    stride: fn(&ContractionAxis) -> isize,
) -> *const T {
    let far = |a: &ContractionAxis| stride(a) * (a.extent as isize - 1).max(0);
    let least: isize = axes.iter().map(far).filter(|&x| x < 0).sum();
    let most: isize = axes.iter().map(far).filter(|&x| x > 0).sum();
    let empty = axes.iter().any(|a| a.extent == 0);
    assert!(empty || offset + least >= 0 && offset + most < elements.len() as isize);
    elements.as_ptr().wrapping_offset(offset)
}
