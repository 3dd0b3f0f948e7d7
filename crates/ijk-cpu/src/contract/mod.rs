//! Contraction: `c = reduce over k of map(a, b)` for any bundles of axes with any strides; or the
//! same combined with what `c` holds.
//!
//! Packing goes straight from the tensors through offsets of the bundles' points, so a transposed,
//! broadcast or convolution-like operand costs no copy of its own. Three ways through:
//!
//! * [`gemm`]: blocked loops around microkernels that keep a tile of the output in registers;
//!   where there are few columns, rows are read where they lie instead of packed, and so are
//!   windows of an image that overlap ([`across`]).
//!   Where rows lie otherwise in the output than in left, a task computes its part in scratch memory
//!   and then moves it ([`stage`], [`join`]); where steps lie otherwise in left than in right, the shared
//!   operand is packed for many blocks at a time ([`steps::Tile`]), so that both are read by lines.
//! * [`dot`]: few columns and contiguous k, with k in the lanes.
//! * [`scaled`]: few columns and contiguous rows that come from memory.
//! * [`thin`]: few rows and few columns of long k, where they lie.
//! * [`small`]: matrices so small that packing would take longer, and few rows by columns whose steps are
//!   neighbours, which are read once.
//! * Few outputs and long k: k is cut into fixed parts whose results combine as a tree.
//!
//! # Order of combination
//!
//! It is a function of extents, strides, element type and level alone, not of the number of
//! threads: k is cut into blocks (evened out) and at [`PART`], never by thread; within a block one step follows another, or
//! lanes combine in a fixed tree. Blocks have half of [`KC`] steps to twice as many ([`shape::Shape::block`]), so an element
//! of a sum of K products is off by at most `(2·KC + 2·K/KC) · eps · Σ|ab|`.

mod across;
mod algebra;
mod block;
mod bundle;
mod dot;
mod gemm;
mod join;
pub(crate) mod lane;
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
use crate::{Level, ScratchPool, Workers};
use algebra::Algebra;
use block::Block;
use bundle::{Bundle, Operand};
use dot::Dots;
use ijk_plan::plan::Contraction;
use ijk_types::DType;
use pack::Word;
use problem::{Problem, Tensors};
use small::Small;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use packed::{Fixed, Packed, Part, Same};

/// Steps of k in a block.
pub(crate) const KC: usize = 256;

/// Steps of k in a part, where few outputs share a long k.
const PART: usize = 64 * KC;

/// Most elements of the output of a batch for which k is cut into parts.
const FEW_OUTPUTS: usize = 4096;

/// Most parts.
const PARTS: usize = 256;

/// Nanoseconds of small batches between two questions whether the run is to end.
const BRIEF: f64 = 1e6;

/// What a contraction runs on.
pub(crate) struct Context<'a> {
    /// Instructions.
    pub(crate) level: Level,
    /// Threads, and what may end the run.
    workers: &'a Workers,
    /// Whether only the caller's thread works.
    alone: bool,
    /// Memory for panels.
    pub(crate) scratch: &'a ScratchPool,
    /// Bytes that the allocator refused; 0 as long as it did not.
    refused: &'a AtomicUsize,
}

impl<'a> Context<'a> {
    /// Of these threads and this memory; `refused` becomes the bytes that the allocator refuses.
    pub(crate) fn new(
        level: Level,
        workers: &'a Workers,
        scratch: &'a ScratchPool,
        refused: &'a AtomicUsize,
    ) -> Self {
        Self { level, workers, alone: false, scratch, refused }
    }

    /// At least so many bytes, or `None` if the allocator refuses: then the contraction ends, and
    /// [`settle`](Self::settle) tells why.
    pub(crate) fn take(&self, bytes: usize) -> Option<Scratch<'a>> {
        let memory = self.scratch.try_take(bytes);
        if memory.is_none() {
            self.refused.fetch_max(bytes.max(1), Ordering::Relaxed);
        }
        memory
    }

    /// What became of a contraction.
    pub(crate) fn settle(&self) -> Result<(), RunError> {
        match self.refused.load(Ordering::Relaxed) {
            0 => Ok(()),
            bytes => Err(RunError::OutOfMemory(bytes)),
        }
    }

    /// Whether nobody needs the output any more.
    pub(crate) fn have_ended(&self) -> bool {
        self.refused.load(Ordering::Relaxed) != 0 || self.workers.have_ended()
    }

    /// Threads that work at a time.
    fn threads(&self) -> usize {
        if self.alone { 1 } else { self.workers.threads() }
    }

    /// Whether work that takes one thread so many nanoseconds is worth dividing.
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

    /// The same without threads.
    fn alone(&self) -> Context<'a> {
        Context { alone: true, ..*self }
    }
}

/// Evaluates an expression with `$W` the word that has the size of an element.
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
/// If there is no memory for panels; the output may then be partly written.
///
/// # Panics
/// If [`Contraction::supports`] does not hold.
///
/// # Safety
/// From there, `a` and `b` may be read and `c` written at every point of the axes, in elements of
/// the task's type; different points of the output's axes are different elements of `c`, which
/// nobody else uses meanwhile.
pub(crate) unsafe fn contract(
    task: &Contraction,
    a: *const u8,
    b: *const u8,
    c: *mut u8,
    context: &Context,
) -> Result<(), RunError> {
    let costs = Costs::new(&Probe::typical(context.level, 1));
    let prepared = Prepared::new(task, context.level, &costs);
    let prepared = prepared.expect("plans contract only what Contraction::supports");
    // SAFETY: the caller's promise.
    unsafe { prepared.run(a, b, c, context) };
    context.settle()
}

/// A contraction of which all is settled but where its tensors are.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The contraction.
    pub(crate) task: Contraction,
    /// The level that it is prepared for.
    pub(crate) level: Level,
    /// Its tensors are nowhere.
    problem: Problem,
    /// How its batches are computed.
    way: Way,
    /// About how many nanoseconds it takes on one thread.
    cost: f64,
}

/// How a batch is computed.
#[derive(Clone, Debug)]
enum Way {
    /// By one call for all of it, or for each of some parts.
    Small(Small),
    /// Likewise, a matrix by a vector.
    Dots(Dots),
    /// Part by part, unless it is one block and one thread's.
    Large(Option<Box<Block>>),
}

impl Prepared {
    /// Prepares a contraction; `None` where there are no microkernels for it
    /// (see [`Contraction::supports`]).
    pub(crate) fn new(task: &Contraction, level: Level, costs: &Costs) -> Option<Self> {
        let algebra = Algebra::find(level, task)?;
        let problem = Problem::new(task, algebra, Tensors::nowhere());
        // A row by a column fills lanes with steps; small matrices would fill one with the row.
        let one = if problem.outputs() == 1 { Dots::of(&problem) } else { None };
        let (problem, way) = if let Some(dots) = one {
            (problem, Way::Dots(dots))
        } else if let Some(small) = Small::of(&problem, level) {
            (problem, Way::Small(small))
        } else if let Some(dots) = Dots::of(&problem) {
            (problem, Way::Dots(dots))
        } else {
            let problem = problem.in_units();
            let block = Block::of(&problem, level);
            (problem, Way::Large(block.map(Box::new)))
        };
        let cost = costs.nanoseconds(&work(&problem, task.dtype));
        Some(Self { task: task.clone(), level, problem, way, cost })
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    /// Scratch memory that it takes at most.
    pub(crate) fn need(&self) -> Need {
        match &self.way {
            Way::Small(_) | Way::Dots(_) => Need::default(),
            Way::Large(_) => need::need(&self.problem),
        }
    }

    /// Whether each batch is one call of a kernel, on operands where they lie.
    pub(crate) fn is_settled(&self) -> bool {
        match &self.way {
            Way::Small(small) => small.reads_in_place(),
            Way::Dots(_) => true,
            Way::Large(_) => false,
        }
    }

    /// Executes it, unless the context [tells](Context::settle) otherwise.
    ///
    /// # Safety
    /// As for [`contract`].
    pub(crate) unsafe fn run(&self, a: *const u8, b: *const u8, c: *mut u8, context: &Context) {
        let tensors = Tensors::new(a, b, c);
        let tensors = if self.problem.swapped { tensors.swapped() } else { tensors };
        let alone = context.alone();
        let context = if context.are_worth(self.cost) { context } else { &alone };
        // SAFETY: the words have the size of an element; the rest is the caller's promise.
        unsafe { for_word!(self.problem.algebra.size, W => self.batches::<W>(tensors, context)) }
    }

    /// All batches: side by side where they are many or small, else one after another.
    ///
    /// # Safety
    /// As for [`contract`].
    unsafe fn batches<W: Word>(&self, tensors: Tensors, context: &Context) {
        let count = self.problem.batch.len();
        if count == 0 || self.problem.outputs() == 0 {
            return;
        }
        let small = !context.are_worth(self.cost / count as f64);
        let many = count >= 4 * context.threads();
        // SAFETY: the caller's promise; batches differ in elements of the output.
        let each = |n: usize, context: &Context| unsafe { self.batch::<W>(tensors, n, context) };
        // SAFETY: as above.
        let some = |range, context: &Context| unsafe { self.some::<W>(tensors, range, context) };
        if count == 1 || !(small || many) {
            context.plain(count, |n| each(n, context));
        } else if context.threads() == 1 {
            some(0..count, context);
        } else {
            let tasks = count.min(64 * context.threads());
            context.parallel_for(tasks, |task| {
                let alone = context.alone();
                some(cut(count, task, tasks)..cut(count, task + 1, tasks), &alone);
            });
        }
    }

    /// Some batches, on this thread.
    ///
    /// # Safety
    /// As for [`contract`].
    unsafe fn some<W: Word>(&self, tensors: Tensors, range: Range<usize>, context: &Context) {
        let each = self.cost / self.problem.batch.len() as f64;
        let brief = ((BRIEF / each) as usize).max(1);
        let starts = range.clone().step_by(brief);
        for start in starts.take_while(|_| !context.have_ended()) {
            let brief = start..start.saturating_add(brief).min(range.end);
            // SAFETY: the caller's promise.
            unsafe {
                if matches!(self.way, Way::Dots(_)) && self.problem.outputs() == 1 {
                    dot::batches::<W>(&self.problem, tensors, brief);
                    continue;
                }
                if let Way::Small(small) = &self.way
                    && small.run_batches::<W>(&self.problem, tensors, brief.clone())
                {
                    continue;
                }
                brief.for_each(|n| self.batch::<W>(tensors, n, context));
            }
        }
    }

    /// One batch.
    ///
    /// # Safety
    /// As for [`contract`].
    unsafe fn batch<W: Word>(&self, tensors: Tensors, n: usize, context: &Context) {
        let batch = &self.problem.batch;
        let at = |n: usize| tensors.at::<W>(batch, n);
        let looks_ahead = match &self.way {
            Way::Small(small) => small.looks_ahead(),
            Way::Dots(_) => false,
            Way::Large(_) => true,
        };
        let next = (looks_ahead && n + 1 < batch.len()).then(|| at(n + 1));
        let next = next.map(|next| [next.left, next.right]);
        let tensors = Tensors { next, ..at(n) };
        // SAFETY: the caller's promise.
        unsafe {
            match &self.way {
                Way::Small(small) => small.run::<W>(&self.problem, tensors, context),
                Way::Dots(dots) => dots.run::<W>(&self.problem, tensors),
                Way::Large(block) => match block {
                    Some(block) if context.threads() == 1 => {
                        gemm::block::<W>(&self.problem, tensors, block, context);
                    }
                    _ => large::<W>(&self.problem, tensors, context),
                },
            }
        }
    }
}

/// What a problem has to do at least.
fn work(problem: &Problem, dtype: DType) -> Work {
    let [batch, m, n, k] =
        [&problem.batch, &problem.m, &problem.n, &problem.k].map(|b| b.len() as u64);
    let bytes =
        |elements: u64| elements.saturating_mul(batch).saturating_mul(problem.algebra.size as u64);
    let read = bytes(m.saturating_mul(k).saturating_add(k.saturating_mul(n)));
    let written = bytes(m.saturating_mul(n));
    // Truth values take about as long as the integers that are measured.
    let dtype = if dtype == DType::Bool { DType::I32 } else { dtype };
    Work { dtype, operations: (2.0 * problem.points()) as u64, read, written }
}

/// One batch that is not small.
///
/// # Safety
/// As for [`contract`].
unsafe fn large<W: Word>(problem: &Problem, tensors: Tensors, context: &Context) {
    let k = problem.k.len();
    // SAFETY: the caller's promise.
    unsafe {
        if problem.outputs() <= FEW_OUTPUTS && k >= 2 * PART {
            in_parts::<W>(problem, tensors, k, context);
        } else {
            steps::<W>(problem, tensors, 0..k, context);
        }
    }
}

/// Some steps of k, by the way that suits.
///
/// # Safety
/// As for [`contract`].
unsafe fn steps<W: Word>(problem: &Problem, tensors: Tensors, ks: Range<usize>, context: &Context) {
    // SAFETY: the caller's promise.
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

/// Cuts k into parts, computes them side by side, and combines them as a tree.
///
/// # Safety
/// As for [`contract`].
unsafe fn in_parts<W: Word>(problem: &Problem, tensors: Tensors, k: usize, context: &Context) {
    let length = k.div_ceil(PARTS).next_multiple_of(PART);
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
    unsafe { undensely::<W>(problem, tensors, at(0)) };
}

/// Writes columns of contiguous rows to the output.
///
/// # Safety
/// As for [`contract`]; `from` holds one batch of the output.
unsafe fn undensely<W: Word>(problem: &Problem, tensors: Tensors, from: *const W) {
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
