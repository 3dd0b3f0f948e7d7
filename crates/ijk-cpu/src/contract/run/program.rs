//! Contractions prepared for execution, independent of the addresses of their tensors.

use super::axpy::axpy;
use super::blocked;
use super::context::Context;
use super::dot::{dot, dot_batches};
use super::split_k::split_k;
use super::thin::thin;
use crate::Level;
use crate::contract::canonical::algebra_of;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::select::algorithm::{Algorithm, splits_k};
use crate::contract::select::explain::explain;
use crate::contract::select::orient::orient;
use crate::contract::select::scratch::need;
use crate::error::RunError;
use crate::explain::KernelChoice;
use crate::probe::{Costs, Probe, Work};
use crate::runtime::scratch::Need;
use crate::runtime::threads::cut;
use ijk_kernels::contraction::word::{ElementWord, for_word};
use ijk_kernels::tuning::time::{BATCH_TASKS_PER_THREAD, BATCHES_PER_THREAD, CANCEL_NANOSECONDS};
use ijk_plan::plan::Contraction;
use ijk_types::DType;
use std::ops::Range;

/// Executes a contraction; `a`, `b` and `c` point to the elements at its origin.
///
/// # Errors
/// If scratch memory cannot be allocated; the output may then be partly written.
///
/// # Panics
/// If [`Contraction::supports`] does not hold.
///
/// # Safety
/// `a` and `b` are readable, and `c` is writable, at every point of the axes, in elements of the task's type; different
/// points of the output's axes are different elements of `c`, which no other thread accesses during the call.
pub(crate) unsafe fn contract(
    task: &Contraction,
    a: *const u8,
    b: *const u8,
    c: *mut u8,
    context: &Context,
) -> Result<(), RunError> {
    let costs = Costs::new(&Probe::typical(context.level, 1));
    let prepared = ContractProgram::new(task, context.level, &costs);
    let prepared = prepared.expect("plans contract only what Contraction::supports");
    // SAFETY: guaranteed by the caller.
    unsafe { prepared.run(a, b, c, context) };
    context.settle()
}

/// A contraction prepared for execution, independent of the addresses of its tensors.
#[derive(Clone, Debug)]
pub(crate) struct ContractProgram {
    /// The contraction.
    pub(crate) task: Contraction,
    /// Instruction set for which it is prepared.
    pub(crate) level: Level,
    /// Canonical form, without addresses.
    problem: Problem,
    /// Algorithm of its batches.
    algorithm: Algorithm,
    /// Estimated nanoseconds on one thread.
    cost: f64,
}

impl ContractProgram {
    /// Prepares a contraction; `None` if it has no microkernels (see [`Contraction::supports`]).
    pub(crate) fn new(task: &Contraction, level: Level, costs: &Costs) -> Option<Self> {
        let algebra = algebra_of(level, task)?;
        let (problem, algorithm) = Algorithm::of(orient(task, algebra), level);
        let cost = costs.nanoseconds(&work(&problem, task.dtype));
        Some(Self { task: task.clone(), level, problem, algorithm, cost })
    }

    /// Name of its algorithm.
    pub(crate) fn name(&self) -> &'static str {
        self.algorithm.name()
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    /// The same at typical rates. It may decide between algorithms that sum in different orders, which rates that were
    /// measured may not.
    pub(crate) fn typical_cost(&self) -> f64 {
        let costs = Costs::new(&Probe::typical(self.level, 1));
        costs.nanoseconds(&work(&self.problem, self.task.dtype))
    }

    /// Its algorithm and blocking, with reasons, for `threads` threads.
    pub(crate) fn explain(&self, threads: usize) -> KernelChoice {
        explain(&self.problem, &self.algorithm, self.level, threads)
    }

    /// Upper bound of its scratch memory.
    pub(crate) fn need(&self) -> Need {
        need(&self.problem, &self.algorithm)
    }

    /// Returns true if each batch is one call of a microkernel on unpacked operands.
    pub(crate) fn is_settled(&self) -> bool {
        match &self.algorithm {
            Algorithm::Small(small) => small.is_settled(),
            Algorithm::DotGemv(_) => true,
            _ => false,
        }
    }

    /// Executes it. [`Context::settle`] returns an error if that failed.
    ///
    /// # Safety
    /// As for [`contract`].
    pub(crate) unsafe fn run(&self, a: *const u8, b: *const u8, c: *mut u8, context: &Context) {
        let tensors = TensorPointers::new(a, b, c);
        let tensors = if self.problem.swapped { tensors.swapped() } else { tensors };
        let alone = context.alone();
        let context = if context.are_worth(self.cost) { context } else { &alone };
        // SAFETY: the words have the size of an element; the caller guarantees the rest.
        unsafe { for_word!(self.problem.algebra.size, W => self.batches::<W>(tensors, context)) }
    }

    /// Executes all batches: in parallel if they are many or small, otherwise one after another.
    ///
    /// # Safety
    /// As for [`contract`].
    unsafe fn batches<W: ElementWord>(&self, tensors: TensorPointers, context: &Context) {
        let count = self.problem.batch.len();
        if count == 0 || self.problem.outputs() == 0 {
            return;
        }
        let small = !context.are_worth(self.cost / count as f64);
        // Threads that divide the rows of axpy read short runs.
        let least = if matches!(self.algorithm, Algorithm::Axpy) { 1 } else { BATCHES_PER_THREAD };
        let many = count >= least * context.threads();
        // SAFETY: guaranteed by the caller; batches differ in elements of the output.
        let each = |n: usize, context: &Context| unsafe { self.batch::<W>(tensors, n, context) };
        // SAFETY: guaranteed by the caller; batches differ in elements of the output.
        let some = |range, context: &Context| unsafe { self.some::<W>(tensors, range, context) };
        let one_call = matches!(&self.algorithm, Algorithm::Small(small) if small.is_one_call());
        if context.threads() == 1 && (count > 1 || one_call) {
            some(0..count, context);
        } else if count == 1 || !(small || many) {
            context.plain(count, |n| each(n, context));
        } else {
            let tasks = count.min(BATCH_TASKS_PER_THREAD * context.threads());
            context.parallel_for(tasks, |task| {
                let alone = context.alone();
                some(cut(count, task, tasks)..cut(count, task + 1, tasks), &alone);
            });
        }
    }

    /// Executes a range of batches on this thread.
    ///
    /// # Safety
    /// As for [`contract`].
    unsafe fn some<W: ElementWord>(
        &self,
        tensors: TensorPointers,
        range: Range<usize>,
        context: &Context,
    ) {
        let each = self.cost / self.problem.batch.len() as f64;
        let brief = ((CANCEL_NANOSECONDS / each) as usize).max(1);
        let starts = range.clone().step_by(brief);
        for start in starts.take_while(|_| !context.have_ended()) {
            let brief = start..start.saturating_add(brief).min(range.end);
            // SAFETY: guaranteed by the caller.
            unsafe {
                if matches!(self.algorithm, Algorithm::DotGemv(_)) && self.problem.outputs() == 1 {
                    dot_batches::<W>(&self.problem, tensors, brief);
                    continue;
                }
                if let Algorithm::Small(small) = &self.algorithm
                    && small.run_batches::<W>(&self.problem, tensors, brief.clone())
                {
                    continue;
                }
                brief.for_each(|n| self.batch::<W>(tensors, n, context));
            }
        }
    }

    /// Executes one batch.
    ///
    /// # Safety
    /// As for [`contract`].
    unsafe fn batch<W: ElementWord>(&self, tensors: TensorPointers, n: usize, context: &Context) {
        let batch = &self.problem.batch;
        let at = |n: usize| tensors.at::<W>(batch, n);
        let prefetches = match &self.algorithm {
            Algorithm::Small(small) => small.prefetches(),
            Algorithm::DotGemv(_) => false,
            _ => true,
        };
        let next = (prefetches && n + 1 < batch.len()).then(|| at(n + 1));
        let next = next.map(|next| [next.left, next.right]);
        let tensors = TensorPointers { next, ..at(n) };
        // SAFETY: guaranteed by the caller.
        unsafe { self.one::<W>(tensors, context) };
    }

    /// Executes the batch at `tensors`.
    ///
    /// # Safety
    /// As for [`contract`].
    unsafe fn one<W: ElementWord>(&self, tensors: TensorPointers, context: &Context) {
        let problem = &self.problem;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &self.algorithm {
                Algorithm::Small(small) => small.run::<W>(problem, tensors, context),
                Algorithm::DotGemv(gemv) => gemv.run::<W>(problem, tensors),
                Algorithm::Blocked(Some(block)) if context.threads() == 1 => {
                    blocked::block::<W>(problem, tensors, block, context);
                }
                algorithm if splits_k(problem) => {
                    let steps = |problem: &Problem, tensors, ks, context: &Context| {
                        loops::<W>(algorithm, problem, tensors, ks, context);
                    };
                    split_k::<W>(problem, tensors, context, steps);
                }
                algorithm => {
                    loops::<W>(algorithm, problem, tensors, 0..problem.k.len(), context);
                }
            }
        }
    }
}

/// Executes some steps of k with the loops of an algorithm.
///
/// # Safety
/// As for [`contract`].
unsafe fn loops<W: ElementWord>(
    algorithm: &Algorithm,
    problem: &Problem,
    tensors: TensorPointers,
    ks: Range<usize>,
    context: &Context,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match algorithm {
            Algorithm::Dot => dot::<W>(problem, tensors, ks, context),
            Algorithm::Thin => thin::<W>(problem, tensors, ks),
            Algorithm::Axpy => axpy::<W>(problem, tensors, ks, context),
            _ => blocked::gemm::<W>(problem, tensors, ks, context),
        }
    }
}

/// Lower bound of a problem's operations and memory traffic.
fn work(problem: &Problem, dtype: DType) -> Work {
    let [batch, m, n, k] =
        [&problem.batch, &problem.m, &problem.n, &problem.k].map(|b| b.len() as u64);
    let bytes =
        |elements: u64| elements.saturating_mul(batch).saturating_mul(problem.algebra.size as u64);
    let read = bytes(m.saturating_mul(k).saturating_add(k.saturating_mul(n)));
    let written = bytes(m.saturating_mul(n));
    // Bools take about as long as the measured integers.
    let dtype = if dtype == DType::Bool { DType::I32 } else { dtype };
    Work { dtype, operations: (2.0 * problem.points()) as u64, read, written }
}
