//! Explanations of plans: for each executable step the kernel, the algorithm, the blocking, and the sizes and thresholds
//! that decided.
//!
//! An explanation is derived from a plan that is compiled for it: programs that are executed keep nothing for it.
//!
//! * `KernelChoice` is the part that a step (`steps::ExecutableStep::explain`) knows of itself,
//! * `explainer` adds the times, the threads, and the thresholds of the other candidates of the
//!   tables (`steps::select`),
//! * `rejected` has these thresholds.

mod display;
mod explainer;
mod rejected;

pub use explainer::Explainer;

use crate::probe::Bound;
use ijk_kernels::tuning::cache::{L1, L2, L3};

/// Choices of the engine for one executable step. Displays as a few lines, with the most important
/// reasons.
///
/// A step of a plan has one, none if its domain is empty, or several if its output is initialised first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepExplanation {
    /// Number of the step in the plan: `2`, or `2.1` for the first step of a block of sweep 2. Results that no step
    /// writes are initialised after the last step, with the next number.
    pub step: String,
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Variant of the kernel.
    pub algorithm: &'static str,
    /// Extents that the kernel works on, by name; axes that are nested contiguously count as one.
    pub extents: Vec<(&'static str, u64)>,
    /// Blocks, tiles and panels.
    pub blocking: Vec<BlockSize>,
    /// Reasons for the algorithm and the blocking, the most important first.
    pub reasons: Vec<Reason>,
    /// Estimated nanoseconds on one thread, by which work is divided among threads; in a sweep, of one block.
    pub nanoseconds: f64,
    /// Lower bound of the time on one thread, by operations and bytes; `None` for the initialisation of an output.
    pub bound: Option<Bound>,
    /// Number of threads that execute it.
    pub threads: usize,
}

/// Size of a block of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockSize {
    /// Its symbol: `mr`, `kc`, `tile`.
    pub name: &'static str,
    /// Its size.
    pub size: u64,
    /// Unit of the size.
    pub unit: &'static str,
    /// The data whose place in memory follows from the size.
    pub resident: Option<Resident>,
}

/// Data that stays in one level of memory while it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resident {
    /// The data: `lhs panel`.
    pub data: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// `registers`, `L1`, `L2`, `L3` or `memory`, by the nominal sizes of caches.
    pub memory: &'static str,
}

/// A reason for a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reason {
    /// The reason in words.
    pub text: String,
    /// The threshold that decided, if it is a number.
    pub threshold: Option<Threshold>,
}

/// A value, and the limit that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Threshold {
    /// The constant of the engine's source that the limit is, or is derived from.
    pub name: &'static str,
    /// The value.
    pub value: u64,
    /// The limit.
    pub limit: u64,
}

/// The part of an explanation that a step knows of itself.
#[derive(Clone, Debug)]
pub(crate) struct KernelChoice {
    pub(crate) algorithm: &'static str,
    pub(crate) extents: Vec<(&'static str, u64)>,
    pub(crate) blocking: Vec<BlockSize>,
    pub(crate) reasons: Vec<Reason>,
}

impl KernelChoice {
    /// A choice of an algorithm.
    pub(crate) fn new(algorithm: &'static str) -> Self {
        let (extents, blocking, reasons) = (Vec::new(), Vec::new(), Vec::new());
        Self { algorithm, extents, blocking, reasons }
    }

    /// The same with an extent.
    pub(crate) fn extent(mut self, name: &'static str, extent: usize) -> Self {
        self.extents.push((name, extent as u64));
        self
    }

    /// The same with the size of a block.
    pub(crate) fn block(mut self, name: &'static str, size: usize, unit: &'static str) -> Self {
        self.blocking.push(BlockSize { name, size: size as u64, unit, resident: None });
        self
    }

    /// The same with data of that many bytes, which the last block determines.
    pub(crate) fn holding(self, data: &'static str, bytes: usize) -> Self {
        self.holding_in(data, bytes, level_of(bytes))
    }

    /// The same for data in a given level of memory.
    pub(crate) fn holding_in(
        mut self,
        data: &'static str,
        bytes: usize,
        memory: &'static str,
    ) -> Self {
        let resident = Resident { data, bytes: bytes as u64, memory };
        if let Some(block) = self.blocking.last_mut() {
            block.resident = Some(resident);
        }
        self
    }

    /// The same with a reason.
    pub(crate) fn because(mut self, reason: impl Into<Option<Reason>>) -> Self {
        self.reasons.extend(reason.into());
        self
    }
}

impl Reason {
    /// A reason without a threshold.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), threshold: None }
    }

    /// A time that is too short to be divided among threads.
    pub(crate) fn brief((nanoseconds, worth): (f64, f64)) -> Self {
        let (time, least) = (display::Time(nanoseconds), display::Time(worth));
        let text = format!("{time} is below {least}, from which another thread pays");
        let (value, limit) = (nanoseconds as u64, worth as u64);
        Self { text, threshold: Some(Threshold { name: "HAND_OFFS", value, limit }) }
    }

    /// A comparison of a quantity with a [`limit`], and what follows from it.
    pub(crate) fn compared(
        (what, value): (&str, usize),
        relation: Relation,
        limit: (&'static str, usize),
        then: &str,
    ) -> Self {
        let text = format!("{what} = {value} is {} {}", relation.words(), limit.1);
        Self::of(text, (value, limit), then)
    }

    /// The same for a size in bytes.
    pub(crate) fn sized(
        (what, value): (&str, usize),
        relation: Relation,
        limit: (&'static str, usize),
        then: &str,
    ) -> Self {
        let (size, most) = (display::Size(value as u64), display::Size(limit.1 as u64));
        Self::of(format!("{what} takes {size}, {} {most}", relation.words()), (value, limit), then)
    }

    fn of(
        mut text: String,
        (value, (name, limit)): (usize, (&'static str, usize)),
        then: &str,
    ) -> Self {
        if !then.is_empty() {
            text.push_str(": ");
            text.push_str(then);
        }
        let threshold = Some(Threshold { name, value: value as u64, limit: limit as u64 });
        Self { text, threshold }
    }
}

/// Relation of a value to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Below,
    AtMost,
    AtLeast,
    Above,
}

impl Relation {
    /// The relation of a value to a limit that is included in the lower range.
    pub(crate) fn to_most(value: usize, limit: usize) -> Self {
        if value <= limit { Self::AtMost } else { Self::Above }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Below => "below",
            Self::AtMost => "at most",
            Self::AtLeast => "at least",
            Self::Above => "above",
        }
    }
}

/// A constant of [`tuning`](ijk_kernels::tuning) with its name.
macro_rules! limit {
    ($limit:ident) => {
        (stringify!($limit), $limit as usize)
    };
}

pub(crate) use limit;

/// The smallest level of memory in which that many bytes fit.
pub(crate) fn level_of(bytes: usize) -> &'static str {
    match bytes {
        _ if bytes <= L1 => "L1",
        _ if bytes <= L2 => "L2",
        _ if bytes <= L3 => "L3",
        _ => "memory",
    }
}
