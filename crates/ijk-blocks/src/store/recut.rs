//! Blocks of other extents than those that are stored.

use super::Source;
use crate::domain::Coordinates;
use crate::types::{block_count, block_range};
use crate::{Annotations, Block, ElementType, StoreError, Type, Value};
use ijk_tensor::Tensor;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A source in other blocks than it is stored in. Stored blocks that are divided between several of these are cached,
/// least recently used out first, so that they are not read again and again.
#[derive(Debug)]
pub(crate) struct Recut {
    source: Arc<dyn Source>,
    ty: Type,
    /// Limit of the cached bytes.
    keep: u64,
    kept: Mutex<BlockCache>,
}

/// A stored block, once it is read; `None` in it where it is missing.
type Slot = Arc<Mutex<Option<Option<Arc<Block>>>>>;

#[derive(Debug, Default)]
struct BlockCache {
    blocks: HashMap<Vec<usize>, Entry>,
    /// Positions by the time of last use.
    order: BTreeMap<u64, Vec<usize>>,
    bytes: u64,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    slot: Slot,
    bytes: u64,
    /// Time of last use.
    used: u64,
}

/// Greatest number of existing blocks that are listed.
const LISTED: usize = 1 << 22;

/// Greatest number of cached blocks, however small they are.
const MOST: usize = 1 << 16;

impl Recut {
    /// A source in the blocks of a type, if stored blocks are cut apart; where blocks consist of whole stored ones each
    /// of these is read once.
    pub(crate) fn new(source: &Arc<dyn Source>, ty: &Type, keep: u64) -> Option<Self> {
        let parts = parts(source, &ty.blocks);
        let source = parts.as_ref().unwrap_or(source);
        // Only files are re-cut: arrays in memory are cheap to read in any blocks.
        let is_file = source.path().is_some() && source.ty().element.number().is_some();
        let axes = axes(source.ty(), &ty.blocks);
        let is_cut = axes.iter().any(|axis| axis.is_cut());
        // Blocks of a whole number of parts cut nothing apart, but are not those of the source.
        (is_file && (is_cut || parts.is_some())).then(|| Self {
            source: Arc::clone(source),
            ty: ty.clone(),
            keep,
            kept: Mutex::default(),
        })
    }

    /// The block at a place of the grid of stored ones.
    fn stored(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        let bytes = block_bytes(self.source.ty(), at);
        if bytes > self.keep {
            return self.read_stored(at);
        }
        let slot = self.lock().slot(at, bytes, self.keep);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(block) => Ok(block.clone()),
            None => {
                let block = self.read_stored(at)?;
                *slot = Some(block.clone());
                Ok(block)
            }
        }
    }

    fn read_stored(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        let block = self.source.read(at)?;
        let (ty, shape) = (self.source.ty(), self.source.ty().block_shape(at));
        match block {
            Some(block) if block.shape() != shape || block.element_type() != ty.element => {
                let cause = "it has another type or shape than it should have";
                Err(StoreError::of_block(&self.name(), at, cause))
            }
            block => Ok(block),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BlockCache> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlockCache {
    /// The cache slot of a block; evicts the least recently used ones.
    fn slot(&mut self, at: &[usize], bytes: u64, most: u64) -> Slot {
        self.clock += 1;
        let now = self.clock;
        if let Some(Entry { slot, used, .. }) = self.blocks.get_mut(at) {
            self.order.remove(used);
            *used = now;
            self.order.insert(now, at.to_vec());
            return Arc::clone(slot);
        }
        while self.bytes + bytes > most || self.blocks.len() >= MOST {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            let gone = self.blocks.remove(&oldest).map_or(0, |entry| entry.bytes);
            self.bytes = self.bytes.saturating_sub(gone);
        }
        let slot = Slot::default();
        self.blocks.insert(at.to_vec(), Entry { slot: Arc::clone(&slot), bytes, used: now });
        self.order.insert(now, at.to_vec());
        self.bytes += bytes;
        slot
    }
}

impl Source for Recut {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn fill(&self) -> Value {
        self.source.fill()
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        let stored = self.source.ty();
        let axes = at.iter().enumerate().map(|(axis, &at)| {
            let range = block_range(self.ty.dims[axis], self.ty.blocks[axis], at);
            pieces(range, stored.dims[axis], stored.blocks[axis])
        });
        let axes: Vec<Vec<Piece>> = axes.collect();
        let counts: Vec<usize> = axes.iter().map(Vec::len).collect();
        let shape = self.ty.block_shape(at);
        let failed = |error| StoreError::of_block(&self.name(), at, error);
        let mut all: Option<Tensor> = None;
        for place in Coordinates::all(&counts) {
            let here: Vec<&Piece> = place.iter().zip(&axes).map(|(&n, axis)| &axis[n]).collect();
            let from: Vec<usize> = here.iter().map(|piece| piece.stored).collect();
            let Some(block) = self.stored(&from)? else { continue };
            if counts.iter().all(|&count| count == 1) && block.shape() == shape {
                return Ok(Some(block));
            }
            let Some(numbers) = block.as_numbers() else { continue };
            if all.is_none() {
                let Some(fill) = self.fill().as_number() else { continue };
                all = Some(Tensor::full(fill, &shape).map_err(failed)?);
            }
            let Some(all) = &mut all else { continue };
            let (to, within): (Vec<_>, Vec<_>) =
                here.iter().map(|piece| (piece.at.clone(), piece.within.clone())).unzip();
            all.view_mut().part(&to).assign(&numbers.view().part(&within));
        }
        Ok(all.map(|all| Arc::new(Block::Numbers(all))))
    }

    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        let Some(stored) = self.source.present()? else { return Ok(None) };
        let mut all: HashSet<Vec<usize>> = HashSet::new();
        for at in stored {
            let ty = self.source.ty();
            let axes = at.iter().enumerate().map(|(axis, &at)| {
                let own = block_range(ty.dims[axis], ty.blocks[axis], at);
                let of = pieces(own, self.ty.dims[axis], self.ty.blocks[axis]);
                of.iter().map(|piece| piece.stored).collect()
            });
            let axes: Vec<Vec<usize>> = axes.collect();
            let counts: Vec<usize> = axes.iter().map(Vec::len).collect();
            if Coordinates::count(&counts).saturating_add(all.len()) > LISTED {
                return Ok(None);
            }
            let block = |n: Vec<usize>| n.iter().zip(&axes).map(|(&n, axis)| axis[n]).collect();
            all.extend(Coordinates::all(&counts).map(block));
        }
        Ok(Some(all.into_iter().collect()))
    }

    fn reading(&self) -> u64 {
        self.source.reading().saturating_add(crate::run::largest(&self.ty))
    }

    fn name(&self) -> String {
        self.source.name()
    }

    fn identity(&self) -> Result<String, StoreError> {
        self.source.identity()
    }

    fn path(&self) -> Option<&Path> {
        self.source.path()
    }

    fn annotations(&self) -> Annotations {
        self.source.annotations()
    }

    fn until(&self, flag: &Arc<AtomicBool>) -> Option<Arc<dyn Source>> {
        let source = self.source.until(flag)?;
        let (ty, keep, kept) = (self.ty.clone(), self.keep, Mutex::default());
        Some(Arc::new(Self { source, ty, keep, kept }))
    }

    fn encoding(&self) -> Option<Arc<str>> {
        self.source.encoding()
    }
}

/// A part of a block along an axis, within one stored block.
struct Piece {
    stored: usize,
    within: Range<usize>,
    /// Where it is in the block.
    at: Range<usize>,
}

fn pieces(range: Range<usize>, extent: usize, block: Option<usize>) -> Vec<Piece> {
    let size = block.unwrap_or(extent).max(1);
    if range.is_empty() {
        return Vec::new();
    }
    let piece = |stored: usize| {
        let own = block_range(extent, block, stored);
        let (start, end) = (own.start.max(range.start), own.end.min(range.end));
        let (within, at) =
            (start - own.start..end - own.start, start - range.start..end - range.start);
        Piece { stored, within, at }
    };
    (range.start / size..=(range.end - 1) / size).map(piece).collect()
}

/// Estimated cost of reading a stored array in other blocks. Bytes are those of elements; compressed chunks have fewer.
#[derive(Clone, Debug, PartialEq)]
pub struct RecutCost {
    /// The array.
    pub name: String,
    /// The blocks that it is stored in.
    pub from: Vec<Option<usize>>,
    /// The blocks that it is read in.
    pub to: Vec<Option<usize>>,
    /// Bytes of all elements.
    pub stored: u64,
    /// Bytes read when blocks are visited once, in order.
    pub read: u64,
    /// Greatest number of cached bytes meanwhile.
    pub kept: u64,
}

impl RecutCost {
    pub(crate) fn new(source: &Arc<dyn Source>, to: &[Option<usize>], keep: u64) -> Self {
        let parts = parts(source, to);
        let source = parts.as_ref().unwrap_or(source);
        let (ty, axes) = (source.ty(), axes(source.ty(), to));
        let stored = ty.len().map_or(u64::MAX, |n| (n as u64).saturating_mul(size(ty)));
        let block = block_bytes(ty, &vec![0; ty.rank()]);
        let (mut read, mut kept) = (stored as f64, 0u64);
        for (n, axis) in axes.iter().enumerate().filter(|(_, axis)| axis.is_cut()) {
            // Stored blocks that the next block along this axis shares with this one, kept across all blocks between
            // them.
            let at_once = axes[..=n].iter().map(Axis::at_once);
            let between = axes[n + 1..].iter().map(|axis| axis.stored_blocks() as u64);
            let band = at_once.chain(between).fold(block, u64::saturating_mul);
            if band <= keep {
                kept = kept.max(band);
            } else {
                read *= axis.pairs() as f64 / axis.stored_blocks().max(1) as f64;
                kept = keep;
            }
        }
        let (name, from, to) = (source.name(), ty.blocks.clone(), to.to_vec());
        Self { name, from, to, stored, read: read as u64, kept: kept.min(stored) }
    }
}

/// The parts of the blocks of a source, where these are cut apart, and the source has such.
fn parts(source: &Arc<dyn Source>, to: &[Option<usize>]) -> Option<Arc<dyn Source>> {
    let is_cut = axes(source.ty(), to).iter().any(Axis::is_cut);
    if is_cut { source.parts() } else { None }
}

/// An axis that is stored in some blocks and read in others.
struct Axis {
    extent: usize,
    stored: usize,
    read: usize,
}

fn axes(stored: &Type, read: &[Option<usize>]) -> Vec<Axis> {
    let axis = |((&extent, &stored), &read): ((&usize, &Option<usize>), &Option<usize>)| {
        let length = |block: Option<usize>| block.unwrap_or(extent).min(extent).max(1);
        Axis { extent, stored: length(stored), read: length(read) }
    };
    stored.dims.iter().zip(&stored.blocks).zip(read).map(axis).collect()
}

impl Axis {
    /// Returns true if a stored block is divided between several of the others.
    fn is_cut(&self) -> bool {
        self.read < self.extent && !self.read.is_multiple_of(self.stored)
    }

    fn stored_blocks(&self) -> usize {
        block_count(self.extent, Some(self.stored))
    }

    /// Stored blocks that a block and the next one have parts of, at most.
    fn at_once(&self) -> u64 {
        let most = self.read.div_ceil(self.stored).saturating_add(1);
        most.min(self.stored_blocks()) as u64
    }

    /// Number of pairs of a block and a stored block that overlap: the number of ends of either.
    fn pairs(&self) -> usize {
        let Some(last) = self.extent.checked_sub(1) else { return 0 };
        let both = last / common_multiple(self.stored, self.read);
        let all = self.stored_blocks().saturating_add(block_count(self.extent, Some(self.read)));
        all.saturating_sub(1 + both)
    }
}

/// The least common multiple of lengths, or more than any axis has.
pub(crate) fn common_multiple(l: usize, r: usize) -> usize {
    let (mut a, mut b) = (l, r);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (l / a.max(1)).saturating_mul(r)
}

fn size(ty: &Type) -> u64 {
    match ty.element {
        ElementType::Number(dtype) => dtype.size() as u64,
        ElementType::Array(_) => size_of::<Value>() as u64,
    }
}

/// Bytes of the block at a place.
pub(crate) fn block_bytes(ty: &Type, at: &[usize]) -> u64 {
    ty.block_shape(at).iter().fold(size(ty), |bytes, &n| bytes.saturating_mul(n as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BigTensor, MemoryStore, Sink};
    use ijk_types::DType;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Blocks in memory that count reads, and that appear to be files.
    #[derive(Debug)]
    struct Counted(MemoryStore, AtomicUsize);

    impl Source for Counted {
        fn ty(&self) -> &Type {
            Source::ty(&self.0)
        }

        fn fill(&self) -> Value {
            Source::fill(&self.0)
        }

        fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
            Ok(Some(Coordinates::all(&Source::ty(self).grid()).skip(1).collect()))
        }

        fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read(at)
        }

        fn name(&self) -> String {
            "counted".into()
        }

        fn path(&self) -> Option<&Path> {
            Some(Path::new("counted"))
        }
    }

    /// A matrix of 12 by 10 in blocks, of which some are missing.
    fn counted(blocks: [usize; 2]) -> (Arc<Counted>, BigTensor) {
        let blocks = blocks.map(Some);
        let u = BigTensor::lit((0..120).map(f64::from), [12, 10], blocks).unwrap();
        let store = MemoryStore::with_fill(u.ty().clone(), Value::number(-1.0));
        let whole = u.collect().unwrap();
        for at in Coordinates::all(&u.ty().grid()).skip(1) {
            let ranges: Vec<_> =
                (0..2).map(|n| block_range(u.dims()[n], blocks[n], at[n])).collect();
            let part = whole.as_numbers().unwrap().view().part(&ranges).to_tensor().unwrap();
            store.write(&at, Some(Arc::new(Block::Numbers(part)))).unwrap();
        }
        let counted = Arc::new(Counted(store, AtomicUsize::new(0)));
        let tensor = BigTensor::from_source(Arc::clone(&counted)).unwrap();
        (counted, tensor)
    }

    #[test]
    fn elements_are_the_same_and_stored_blocks_are_read_once_if_they_are_kept() {
        for (stored, read) in [
            ([2, 3], [3, 2]),
            ([5, 4], [2, 10]),
            ([12, 10], [1, 1]),
            ([1, 1], [5, 7]),
            ([4, 5], [8, 10]),
        ] {
            for keep in [0, 100, 1 << 20] {
                let (counted, tensor) = counted(stored);
                let expected = tensor.collect().unwrap();
                let source: Arc<dyn Source> = Arc::<Counted>::clone(&counted);
                let ty = tensor.reblock(read.map(Some)).unwrap().ty().clone();
                let cost = RecutCost::new(&source, &ty.blocks, keep);
                let Some(recut) = Recut::new(&source, &ty, keep) else {
                    assert_eq!(cost.read, cost.stored);
                    continue;
                };
                let mut present = recut.present().unwrap().unwrap();
                present.sort();
                let is_there = |at: &Vec<usize>| recut.read(at).unwrap().is_some();
                let grid = ty.grid();
                let there: Vec<Vec<usize>> = Coordinates::all(&grid).filter(is_there).collect();
                assert_eq!(present, there, "{stored:?} {read:?}");
                let recut =
                    BigTensor::from_source(Recut::new(&source, &ty, keep).unwrap()).unwrap();
                counted.1.store(0, Ordering::Relaxed);
                let found = crate::Executor::new().workers(1).collect(&recut).unwrap();
                assert_eq!(found, expected, "{stored:?} {read:?} {keep}");
                let (reads, grid) = (counted.1.load(Ordering::Relaxed), tensor.ty().grid());
                // Missing blocks are not read: their number is random.
                if keep > 1000 {
                    let all = Coordinates::count(&grid);
                    assert!((all - 1..=all).contains(&reads), "{stored:?} {read:?}: {reads}");
                    assert_eq!(cost.read, cost.stored);
                }
                if keep == 0 {
                    let axes = axes(tensor.ty(), &ty.blocks);
                    let pairs = axes.iter().map(Axis::pairs).product::<usize>();
                    // Missing blocks are not read: if the only block is missing, nothing is.
                    let least = if Coordinates::count(&grid) > 1 { pairs / 2 } else { 0 };
                    assert!((least..=pairs).contains(&reads), "{stored:?} {read:?}: {reads}");
                    assert!(cost.read > cost.stored && cost.kept == 0);
                }
            }
        }
    }

    #[test]
    fn costs_of_huge_grids_are_told_at_once() {
        let ty = Type::new([1 << 40, 1 << 20], [Some(3), Some(1)], DType::F32);
        let source: Arc<dyn Source> = Arc::new(MemoryStore::new(ty));
        let cost = RecutCost::new(&source, &[Some(2), Some(1)], 1 << 10);
        let ratio = cost.read as f64 / cost.stored as f64;
        assert!((1.99..2.01).contains(&ratio), "{cost:?}");
        assert_eq!(common_multiple(4, 6), 12);
        assert_eq!(common_multiple(usize::MAX, usize::MAX - 1), usize::MAX);
    }
}
