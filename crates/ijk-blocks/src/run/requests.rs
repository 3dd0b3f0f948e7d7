//! Blocks that are asked for before they are read, where sources are far away.

use super::read::Reader;
use crate::Error;
use crate::plan::{Expr, Leaf, Run, Stage};
use crate::store::{Incoming, Sink, Source};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The blocks of an array that were asked for and not read yet; as many times as they will be read.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<RequestedBlocks>);

/// By their places.
type RequestedBlocks = HashMap<Vec<usize>, VecDeque<Box<dyn Incoming>>>;

impl Requests {
    fn lock(&self) -> MutexGuard<'_, RequestedBlocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, at: Vec<usize>, incoming: Box<dyn Incoming>) {
        self.lock().entry(at).or_default().push_back(incoming);
    }

    /// A block that was asked for.
    pub(super) fn take(&self, at: &[usize]) -> Option<Box<dyn Incoming>> {
        let mut all = self.lock();
        let here = all.get_mut(at)?;
        let first = here.pop_front();
        if here.is_empty() {
            all.remove(at);
        }
        first
    }

    /// Returns true if a block is not on its way any more.
    fn is_there(&self, at: &[usize]) -> bool {
        self.lock().get(at).and_then(VecDeque::front).is_none_or(|incoming| incoming.is_there())
    }
}

impl Reader<'_> {
    /// Asks for the blocks of a region that is read soon. A region of several blocks is assembled from one at a time, since
    /// memory is counted so: it is read when it is needed.
    pub(crate) fn request(&self, expr: &Expr, ranges: &[Range<usize>]) -> Result<(), Error> {
        for (array, at) in self.alone(expr, ranges) {
            if !self.is_missing(array, &at)
                && let Some(incoming) = self.stores[array].request(&at)?
            {
                self.requests[array].put(at, incoming);
            }
        }
        Ok(())
    }

    /// Returns true if a region is read without waiting for what was asked for.
    pub(crate) fn is_there(&self, expr: &Expr, ranges: &[Range<usize>]) -> bool {
        self.alone(expr, ranges).all(|(array, at)| self.requests[array].is_there(&at))
    }

    /// Ends the transfers of a region that turns out to be of no use.
    pub(crate) fn forget(&self, expr: &Expr, ranges: &[Range<usize>]) {
        self.alone(expr, ranges).for_each(|(array, at)| drop(self.requests[array].take(&at)));
    }

    /// The arrays of an expression that are far away, where the region is in one block of them.
    fn alone<'b>(
        &'b self,
        expr: &'b Expr,
        ranges: &'b [Range<usize>],
    ) -> impl Iterator<Item = (usize, Vec<usize>)> + 'b {
        let is_far = |leaf: &&Leaf| self.stores[leaf.array].is_far();
        let block = |leaf: &Leaf| {
            let ty = &self.arrays[leaf.array].ty;
            let axes = leaf.axes.iter().enumerate();
            let at = axes.map(|(n, (axis, along))| {
                let runs = along.runs(ranges[*axis].clone(), ty.dims[n], ty.blocks[n]);
                <&[Run; 1]>::try_from(&runs[..]).ok().map(|[run]| run.block)
            });
            Some((leaf.array, at.collect::<Option<_>>()?))
        };
        expr.leaves().into_iter().filter(is_far).filter_map(block)
    }
}

/// Memory for what is on its way where stores are far away, beside that of a schedule. Without a limit that is so much.
const SPARE: u64 = 512 << 20;

/// Most panels that are asked for, and most blocks that are sent, before the first of them has arrived.
const MOST: u64 = 16;

/// Panels that are read ahead, and blocks that are sent while others are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ahead {
    /// Sources are far away.
    pub(super) is_far: bool,
    pub(super) panels: u64,
    pub(super) blocks: u64,
}

impl Ahead {
    /// As many as fit into spare bytes, or into an amount that hurts nobody; none where stores are near.
    pub(super) fn new<'a>(
        mut sources: impl Iterator<Item = &'a Arc<dyn Source>>,
        sink: &dyn Sink,
        spare: Option<f64>,
        [panel, block]: [f64; 2],
    ) -> Self {
        let (reads, sends) = (sources.any(|source| source.is_far()), sink.is_far());
        let spare = spare.unwrap_or(SPARE as f64);
        let share = if reads && sends { spare / 2.0 } else { spare };
        let fit = |is_far: bool, bytes: f64| match is_far {
            true => ((share / bytes.max(1.0)) as u64).min(MOST),
            false => 0,
        };
        Self { is_far: reads, panels: fit(reads, panel), blocks: fit(sends, block) }
    }
}

/// The sources that a stage reads.
pub(super) fn sources<'a>(
    stage: &'a Stage,
    sources: &'a [Arc<dyn Source>],
) -> impl Iterator<Item = &'a Arc<dyn Source>> {
    let leaves = stage.operands.iter().flat_map(|operand| operand.expr.leaves());
    leaves.map(|leaf| &sources[leaf.array])
}
