//! Contraction: `c = reduce over k of map(a, b)` for bundles of axes with any strides, optionally combined with the
//! previous contents of `c`.
//!
//! Packing reads the tensors through tables of offsets, so a transposed, broadcast or convolution-like operand needs no
//! copy of its own. Algorithms:
//!
//! * [`gemm`]: blocked loops around microkernels that keep a tile of the output in registers. With few columns, lhs is
//!   read in place; so are overlapping windows of an image ([`across`]).
//!   read in place; so are overlapping windows of an image ([`across`]). If the contiguous axes of lhs and output
//!   differ, a task computes its part of the output in scratch memory and moves it ([`stage`], [`join`]). If the
//!   contiguous axes of k differ between lhs and rhs, the shared operand is packed for many blocks at a time
//!   ([`steps::Tile`]), so that both are read by whole cache lines.
//! * [`thin`]: few rows and few columns of a long k, unpacked, with all sums in registers.
//! * [`small`]: matrices for which packing takes longer than the products, and few rows by columns with contiguous k,
//!   which are read once.
//! * Split-k for few outputs and long k: k is cut into fixed parts whose results are combined as a tree.
//!
//! # Order of combination
//!
//! It is a function of extents, strides, element type and level, not of the number of threads. k is cut into blocks of
//! nearly equal length and at [`SPLIT_K_STEPS`], never by thread; within a block steps follow each other, or lanes are combined
//! as a fixed tree. Blocks have [`KC`]/2 to 2·[`KC`] steps ([`shape::Blocking::block`]), so the error of an element that
//! sums K products is at most `(2·KC + 2·K/KC) · eps · Σ|ab|`.

mod across;
mod algebra;
mod block;
mod bundle;
mod dot;
mod gemm;
mod join;

mod need;
mod output;
mod pack;
mod packed;
mod panel;
mod problem;
mod rows;
mod scaled;
mod shape;
mod shared;
mod side;
mod small;
mod stage;
mod steps;
mod tasks;
mod thin;
mod tile;
mod units;

#[cfg(test)]
mod tests;

use crate::error::RunError;
use crate::probe::{Costs, Probe, Work};
use crate::scratch::{Need, Scratch};
use crate::threads::cut;
use crate::tuning::order::{SPLIT_K_OUTPUTS, SPLIT_K_PARTS, SPLIT_K_STEPS};
use crate::tuning::time::{BATCH_TASKS_PER_THREAD, BATCHES_PER_THREAD, CANCEL_NANOSECONDS};
use crate::{Level, ScratchPool, Workers};
use algebra::Algebra;
use block::PreparedBlock;
use bundle::{Bundle, Operand};
use dot::DotGemv;
use ijk_plan::plan::Contraction;
use ijk_types::DType;
use pack::Word;
use problem::{Problem, Tensors};
use small::SmallGemm;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use packed::{
    PackedSharedOperand, SharedArgument, SharedOperandGemm, SharedOperandPart,
};

/// Execution environment of a contraction.
pub(crate) struct Context<'a> {
    /// Instruction set.
    pub(crate) level: Level,
    /// Threads and cancellation.
    workers: &'a Workers,
    /// True if only the calling thread works.
    alone: bool,
    /// Scratch memory for panels.
    pub(crate) scratch: &'a ScratchPool,
    /// Bytes of an allocation that failed; 0 if none did.
    refused: &'a AtomicUsize,
}

impl<'a> Context<'a> {
    /// A context with these threads and this memory. The size of an allocation that fails is stored in `refused`.
    pub(crate) fn new(
        level: Level,
        workers: &'a Workers,
        scratch: &'a ScratchPool,
        refused: &'a AtomicUsize,
    ) -> Self {
        Self { level, workers, alone: false, scratch, refused }
    }

    /// At least `bytes` bytes, or `None` if allocation fails: the contraction then stops, and [`settle`](Self::settle)
    /// returns the error.
    pub(crate) fn take(&self, bytes: usize) -> Option<Scratch<'a>> {
        let memory = self.scratch.try_take(bytes);
        if memory.is_none() {
            self.refused.fetch_max(bytes.max(1), Ordering::Relaxed);
        }
        memory
    }

    /// Result of a contraction: an error if an allocation failed.
    pub(crate) fn settle(&self) -> Result<(), RunError> {
        match self.refused.load(Ordering::Relaxed) {
            0 => Ok(()),
            bytes => Err(RunError::OutOfMemory(bytes)),
        }
    }

    /// Returns true if the run was cancelled or has failed.
    pub(crate) fn have_ended(&self) -> bool {
        self.refused.load(Ordering::Relaxed) != 0 || self.workers.have_ended()
    }

    /// Number of threads that work in parallel.
    fn threads(&self) -> usize {
        if self.alone { 1 } else { self.workers.threads() }
    }

    /// Returns true if work of `nanoseconds` on one thread is worth dividing among threads.
    fn are_worth(&self, nanoseconds: f64) -> bool {
        !self.alone && self.workers.are_worth(nanoseconds)
    }

    /// [`Workers::parallel_for`], or a plain loop.
    fn parallel_for(&self, tasks: usize, body: impl Fn(usize) + Sync) {
        match self.alone {
            false => self.workers.parallel_for(tasks, self.until_refused(body)),
            true => self.plain(tasks, body),
        }
    }

    /// [`Workers::parallel_in_order`], or a plain loop.
    fn parallel_in_order(&self, tasks: usize, body: impl Fn(usize) + Sync) {
        match self.alone {
            false => self.workers.parallel_in_order(tasks, self.until_refused(body)),
            true => self.plain(tasks, body),
        }
    }

    fn plain(&self, tasks: usize, body: impl Fn(usize)) {
        (0..tasks).take_while(|_| !self.have_ended()).for_each(body);
    }

    fn until_refused(&self, body: impl Fn(usize) + Sync) -> impl Fn(usize) + Sync {
        move |task| {
            if self.refused.load(Ordering::Relaxed) == 0 {
                body(task);
            }
        }
    }

    /// The same context without other threads.
    fn alone(&self) -> Context<'a> {
        Context { alone: true, ..*self }
    }
}

/// Evaluates an expression with `$W` bound to the word of the size of an element.
macro_rules! for_word {
    ($size:expr, $W:ident => $body:expr) => {
        match $size {
            1 => for_word!(@ $W, u8, $body),
            4 => for_word!(@ $W, u32, $body),
            8 => for_word!(@ $W, u64, $body),
            _ => for_word!(@ $W, [u64; 2], $body),
        }
    };
    (@ $W:ident, $word:ty, $body:expr) => {{
        type $W = $word;
        $body
    }};
}
use for_word;

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
    way: Algorithm,
    /// Estimated nanoseconds on one thread.
    cost: f64,
}

/// Algorithm of a batch.
#[derive(Clone, Debug)]
enum Algorithm {
    /// One call of a microkernel for all of it, or for each of several parts.
    SmallGemm(SmallGemm),
    /// gemv, by one call of a microkernel.
    DotGemv(DotGemv),
    /// Blocked loops, dot products, axpy, … selected by [`steps()`]; with a [`PreparedBlock`], one block on one thread.
    Large(Option<Box<PreparedBlock>>),
}

impl ContractProgram {
    /// Prepares a contraction; `None` if it has no microkernels (see [`Contraction::supports`]).
    pub(crate) fn new(task: &Contraction, level: Level, costs: &Costs) -> Option<Self> {
        let algebra = Algebra::find(level, task)?;
        let problem = Problem::new(task, algebra, Tensors::nowhere());
        // A row by a column has k in the lanes; [`small`] would fill one lane with the row.
        let one = if problem.outputs() == 1 { DotGemv::of(&problem) } else { None };
        let (problem, way) = if let Some(dots) = one {
            (problem, Algorithm::DotGemv(dots))
        } else if let Some(small) = SmallGemm::of(&problem, level) {
            (problem, Algorithm::SmallGemm(small))
        } else if let Some(dots) = DotGemv::of(&problem) {
            (problem, Algorithm::DotGemv(dots))
        } else {
            let problem = problem.in_units();
            let block = PreparedBlock::of(&problem, level);
            (problem, Algorithm::Large(block.map(Box::new)))
        };
        let cost = costs.nanoseconds(&work(&problem, task.dtype));
        Some(Self { task: task.clone(), level, problem, way, cost })
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    /// Upper bound of its scratch memory.
    pub(crate) fn need(&self) -> Need {
        match &self.way {
            Algorithm::SmallGemm(_) | Algorithm::DotGemv(_) => Need::default(),
            Algorithm::Large(_) => need::need(&self.problem),
        }
    }

    /// Returns true if each batch is one call of a microkernel on unpacked operands.
    pub(crate) fn is_settled(&self) -> bool {
        match &self.way {
            Algorithm::SmallGemm(small) => small.reads_in_place(),
            Algorithm::DotGemv(_) => true,
            Algorithm::Large(_) => false,
        }
    }

    /// Executes it. [`Context::settle`] returns an error if that failed.
    ///
    /// # Safety
    /// As for [`contract`].
    pub(crate) unsafe fn run(&self, a: *const u8, b: *const u8, c: *mut u8, context: &Context) {
        let tensors = Tensors::new(a, b, c);
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
    unsafe fn batches<W: Word>(&self, tensors: Tensors, context: &Context) {
        let count = self.problem.batch.len();
        if count == 0 || self.problem.outputs() == 0 {
            return;
        }
        let small = !context.are_worth(self.cost / count as f64);
        let many = count >= BATCHES_PER_THREAD * context.threads();
        // SAFETY: guaranteed by the caller; batches differ in elements of the output.
        let each = |n: usize, context: &Context| unsafe { self.batch::<W>(tensors, n, context) };
        // SAFETY: guaranteed by the caller; batches differ in elements of the output.
        let some = |range, context: &Context| unsafe { self.some::<W>(tensors, range, context) };
        if count == 1 || !(small || many) {
            context.plain(count, |n| each(n, context));
        } else if context.threads() == 1 {
            some(0..count, context);
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
    unsafe fn some<W: Word>(&self, tensors: Tensors, range: Range<usize>, context: &Context) {
        let each = self.cost / self.problem.batch.len() as f64;
        let brief = ((CANCEL_NANOSECONDS / each) as usize).max(1);
        let starts = range.clone().step_by(brief);
        for start in starts.take_while(|_| !context.have_ended()) {
            let brief = start..start.saturating_add(brief).min(range.end);
            // SAFETY: guaranteed by the caller.
            unsafe {
                if matches!(self.way, Algorithm::DotGemv(_)) && self.problem.outputs() == 1 {
                    dot::batches::<W>(&self.problem, tensors, brief);
                    continue;
                }
                if let Algorithm::SmallGemm(small) = &self.way
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
    unsafe fn batch<W: Word>(&self, tensors: Tensors, n: usize, context: &Context) {
        let batch = &self.problem.batch;
        let at = |n: usize| tensors.at::<W>(batch, n);
        let looks_ahead = match &self.way {
            Algorithm::SmallGemm(small) => small.looks_ahead(),
            Algorithm::DotGemv(_) => false,
            Algorithm::Large(_) => true,
        };
        let next = (looks_ahead && n + 1 < batch.len()).then(|| at(n + 1));
        let next = next.map(|next| [next.left, next.right]);
        let tensors = Tensors { next, ..at(n) };
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &self.way {
                Algorithm::SmallGemm(small) => small.run::<W>(&self.problem, tensors, context),
                Algorithm::DotGemv(dots) => dots.run::<W>(&self.problem, tensors),
                Algorithm::Large(block) => match block {
                    Some(block) if context.threads() == 1 => {
                        gemm::block::<W>(&self.problem, tensors, block, context);
                    }
                    _ => large::<W>(&self.problem, tensors, context),
                },
            }
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

/// Executes one batch that is not small.
///
/// # Safety
/// As for [`contract`].
unsafe fn large<W: Word>(problem: &Problem, tensors: Tensors, context: &Context) {
    let k = problem.k.len();
    // SAFETY: guaranteed by the caller.
    unsafe {
        if problem.outputs() <= SPLIT_K_OUTPUTS && k >= 2 * SPLIT_K_STEPS {
            split_k::<W>(problem, tensors, k, context);
        } else {
            steps::<W>(problem, tensors, 0..k, context);
        }
    }
}

/// Executes some steps of k with the algorithm that applies.
///
/// # Safety
/// As for [`contract`].
unsafe fn steps<W: Word>(problem: &Problem, tensors: Tensors, ks: Range<usize>, context: &Context) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if dot::suits(problem) {
            dot::dot::<W>(problem, tensors, ks, context);
        } else if thin::suits(problem) {
            thin::thin::<W>(problem, tensors, ks);
        } else if scaled::suits(problem) {
            scaled::scaled::<W>(problem, tensors, ks, context);
        } else {
            gemm::gemm::<W>(problem, tensors, ks, context);
        }
    }
}

/// Split-k: computes parts of k in parallel, and combines them as a tree.
///
/// # Safety
/// As for [`contract`].
unsafe fn split_k<W: Word>(problem: &Problem, tensors: Tensors, k: usize, context: &Context) {
    let length = k.div_ceil(SPLIT_K_PARTS).next_multiple_of(SPLIT_K_STEPS);
    let length = length.next_multiple_of(problem.tile.map_or(1, |tile| tile.unit().clamp(1, k)));
    let (parts, outputs) = (k.div_ceil(length), problem.outputs());
    let Some(scratch) = context.take(parts * outputs * size_of::<W>()) else { return };
    let dense = Problem { accumulate: false, ..problem.dense(problem.m.len()) };
    let sums = Tensors { out: scratch.as_ptr(), ..tensors };
    context.parallel_for(parts, |part| {
        let ks = part * length..((part + 1) * length).min(k);
        // SAFETY: each part has its own place in the scratch memory.
        unsafe {
            let out = { sums }.out.cast::<W>().add(part * outputs).cast();
            steps::<W>(&dense, Tensors { out, ..sums }, ks, &context.alone());
        }
    });
    if context.have_ended() {
        return;
    }
    let at = |part: usize| sums.out.cast::<W>().wrapping_add(part * outputs);
    let mut distance = 1;
    while distance < parts {
        for part in (0..parts - distance).step_by(2 * distance) {
            // SAFETY: all parts are computed.
            unsafe {
                let (x, y) = (at(part), at(part + distance).cast_const());
                (problem.algebra.rows.combine)(x.cast(), y.cast(), outputs);
            }
        }
        distance *= 2;
    }
    // SAFETY: the first part holds the result.
    unsafe { scatter_output::<W>(problem, tensors, at(0)) };
}

/// Scatters contiguous columns to the output.
///
/// # Safety
/// As for [`contract`]; `from` holds one batch of the output.
unsafe fn scatter_output<W: Word>(problem: &Problem, tensors: Tensors, from: *const W) {
    let offsets = |bundle: &Bundle| {
        let mut out = vec![0; bundle.len()];
        bundle.offsets(Operand::Out, 0, &mut out);
        out
    };
    let (rows, columns) = (offsets(&problem.m), offsets(&problem.n));
    let all = columns.iter().flat_map(|c| rows.iter().map(move |r| r + c));
    for (n, offset) in all.enumerate() {
        // SAFETY: the output has this element.
        unsafe {
            let out = tensors.out.cast::<W>().offset(offset);
            match problem.accumulate {
                true => (problem.algebra.rows.combine)(out.cast(), from.add(n).cast(), 1),
                false => out.write(from.add(n).read()),
            }
        }
    }
}
