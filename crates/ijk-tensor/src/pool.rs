//! Memory of dropped tensors, kept for new ones.

use crate::fork::ForkMutex;
use crate::pages::{advise_huge_pages, offer_pages};
use crate::reserve;
use std::alloc::{self, Layout};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, MutexGuard, Weak};

/// Least size of a buffer that the pool keeps. The allocator recycles smaller ones well; larger ones it returns to the
/// system, and then every page costs a fault at the next write.
const LEAST: usize = 64 << 10;

/// Greatest number of buffers that are kept: each is examined at every allocation.
const MOST: usize = 64;

/// A buffer is reused for a tensor of `n` bytes if it has at most `n + n / WASTE` bytes.
const WASTE: usize = 8;

/// Keeps the memory of large tensors that are dropped, for new ones: writing fresh pages costs many
/// times what writing pages costs that were written before.
///
/// Only memory of [`UninitTensor::new_in`](crate::UninitTensor::new_in) comes back to it, unless an
/// array of ndarray took it over. Tensors outlive a pool; then they free their memory.
///
/// ```
/// use ijk_tensor::{TensorPool, UninitTensor};
/// use ijk_types::DType;
/// let pool = TensorPool::new(64 << 20);
/// let mut tensor = UninitTensor::new_in(&pool, DType::F32, &[1000, 1000])?;
/// let first = tensor.view_mut().as_mut_ptr();
/// drop(tensor);
/// assert!(pool.bytes() >= 4_000_000);
/// let mut again = UninitTensor::new_in(&pool, DType::I32, &[1_000_000])?;
/// assert_eq!(again.view_mut().as_mut_ptr(), first);
/// assert_eq!(pool.bytes(), 0);
/// # Ok::<(), ijk_tensor::TensorError>(())
/// ```
#[derive(Debug)]
pub struct TensorPool {
    kept: Arc<PoolState>,
}

/// Buffers of the pool; tensors hold a weak reference, by which their memory returns.
#[derive(Debug)]
pub(crate) struct PoolState {
    /// Bytes at most, and bytes besides whose pages the operating system may take.
    own: usize,
    lent: usize,
    /// The longest kept first.
    blocks: ForkMutex<Vec<PooledBuffer>>,
}

/// A buffer that is kept for reuse.
#[derive(Debug)]
struct PooledBuffer {
    block: Allocation,
    /// The operating system may reclaim the pages.
    lent: bool,
}

impl PooledBuffer {
    fn bytes(&self) -> usize {
        self.block.layout.size()
    }
}

/// The pool that memory returns to, if any.
pub(crate) type PoolRef = Weak<PoolState>;

impl TensorPool {
    /// A pool that keeps at most `most` bytes, and evicts the oldest buffers first.
    pub fn new(most: usize) -> Self {
        Self::lending(most, 0)
    }

    /// A pool that keeps `own` bytes, and up to `lent` more whose pages the operating system may reclaim (`MADV_FREE`).
    /// On systems without that, it keeps `own` bytes only.
    ///
    /// ```
    /// let pool = ijk_tensor::TensorPool::lending(256 << 20, 2 << 30);
    /// assert_eq!(pool.bytes(), 0);
    /// ```
    pub fn lending(own: usize, lent: usize) -> Self {
        Self { kept: Arc::new(PoolState { own, lent, blocks: ForkMutex::default() }) }
    }

    /// Bytes that are kept now.
    pub fn bytes(&self) -> usize {
        total(&self.kept.blocks())
    }

    /// Frees what is kept.
    pub fn clear(&self) {
        let blocks = std::mem::take(&mut *self.kept.blocks());
        drop(blocks);
    }

    /// The pool, for memory of a size that it keeps.
    pub(crate) fn owner_of(&self, bytes: usize) -> PoolRef {
        if (LEAST..=self.kept.most()).contains(&bytes) {
            Arc::downgrade(&self.kept)
        } else {
            PoolRef::new()
        }
    }

    /// A kept buffer for `needed`, with the same alignment and a multiple of `size` bytes, the size of an element.
    pub(crate) fn reuse(&self, needed: Layout, size: usize) -> Option<Allocation> {
        if needed.size() < LEAST {
            return None;
        }
        let most = needed.size() + needed.size() / WASTE;
        let fits = |held: &PooledBuffer| {
            let bytes = held.bytes();
            let fits = (needed.size()..=most).contains(&bytes) && bytes.is_multiple_of(size);
            fits && held.block.layout.align() == needed.align()
        };
        let mut blocks = self.kept.blocks();
        let found = blocks.iter().enumerate().filter(|(_, held)| fits(held));
        // Of equals the last: it may still be in a cache.
        let (at, _) = found.rev().min_by_key(|(_, held)| held.bytes())?;
        Some(blocks.remove(at).block)
    }
}

impl PoolState {
    fn blocks(&self) -> MutexGuard<'_, Vec<PooledBuffer>> {
        self.blocks.lock()
    }

    /// Bytes at most, of either kind.
    fn most(&self) -> usize {
        self.own.saturating_add(self.lent)
    }

    /// Keeps memory, or frees it where it is too large.
    pub fn give(&self, block: Allocation) {
        self.put(PooledBuffer { block, lent: false });
        if self.lent == 0 {
            return;
        }
        // Talking to the system takes time: others need not wait for it.
        for PooledBuffer { mut block, .. } in self.surplus() {
            if offer_pages(block.memory()) {
                self.put(PooledBuffer { block, lent: true });
            }
        }
    }

    /// Takes out what is beyond the bytes kept as they are: of what is not lent yet, the longest kept.
    fn surplus(&self) -> Vec<PooledBuffer> {
        let mut blocks = self.blocks();
        let own = blocks.iter().filter(|held| !held.lent).map(PooledBuffer::bytes).sum::<usize>();
        let mut surplus = own.saturating_sub(self.own);
        let goes = |held: &mut PooledBuffer| {
            let goes = !held.lent && surplus > 0;
            surplus = if goes { surplus.saturating_sub(held.bytes()) } else { surplus };
            goes
        };
        blocks.extract_if(.., goes).collect()
    }

    /// Adds memory, what is lent before what is not. What there is no room for then is freed, the longest kept
    /// first.
    fn put(&self, held: PooledBuffer) {
        if held.bytes() > self.most() {
            return;
        }
        let mut blocks = self.blocks();
        let mut left = total(&blocks).saturating_add(held.bytes()).saturating_sub(self.most());
        let mut gone = 0;
        while (left > 0 && gone < blocks.len()) || blocks.len() - gone >= MOST {
            left = left.saturating_sub(blocks[gone].bytes());
            gone += 1;
        }
        let gone: Vec<PooledBuffer> = blocks.drain(..gone).collect();
        let lent = blocks.iter().take_while(|other| other.lent).count();
        let at = if held.lent { lent } else { blocks.len() };
        blocks.insert(at, held);
        drop(blocks);
        // Unmapping takes time: others need not wait for it.
        drop(gone);
    }
}

fn total(blocks: &[PooledBuffer]) -> usize {
    blocks.iter().map(PooledBuffer::bytes).sum()
}

/// Memory from the global allocator.
#[derive(Debug)]
pub(crate) struct Allocation {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block is plain memory that it alone owns.
unsafe impl Send for Allocation {}

impl Allocation {
    /// Memory of that layout, whose size is not 0; `None` if the allocator refuses.
    pub fn allocate(layout: Layout, zeroed: bool) -> Option<Self> {
        assert!(layout.size() > 0);
        if !reserve::allows(layout.size()) {
            return None;
        }
        // SAFETY: the size is not 0.
        let start =
            unsafe { if zeroed { alloc::alloc_zeroed(layout) } else { alloc::alloc(layout) } };
        let mut block = Self { start: NonNull::new(start)?, layout };
        advise_huge_pages(block.memory());
        Some(block)
    }

    /// All of it.
    fn memory(&mut self) -> &mut [MaybeUninit<u8>] {
        let start = self.start.as_ptr().cast();
        // SAFETY: so many bytes were allocated, and they are this block's alone.
        unsafe { std::slice::from_raw_parts_mut(start, self.layout.size()) }
    }

    /// The owner of memory.
    ///
    /// # Safety
    /// `start` was allocated by the global allocator with `layout`, whose size is not 0, and has no other owner.
    pub unsafe fn from_raw(start: NonNull<u8>, layout: Layout) -> Self {
        Self { start, layout }
    }

    /// The memory, which is the caller's now.
    pub fn into_raw(self) -> (NonNull<u8>, Layout) {
        let this = std::mem::ManuallyDrop::new(self);
        (this.start, this.layout)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and owned by this block alone.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tensor, UninitTensor};
    use ijk_types::DType::{self, Bool, C64, F32, F64, I64};

    const MB: usize = 1 << 20;

    /// A tensor of ones.
    fn made(pool: &TensorPool, dtype: DType, bytes: usize) -> Tensor {
        let len = bytes / dtype.size();
        let mut memory = UninitTensor::new_in(pool, dtype, &[len]).unwrap();
        // SAFETY: so many bytes are the tensor's; all of them 1 are elements of any type.
        unsafe {
            memory.view_mut().as_mut_ptr().write_bytes(1, len * dtype.size());
            memory.assume_init()
        }
    }

    fn address(tensor: &Tensor) -> usize {
        tensor.view().as_ptr() as usize
    }

    #[test]
    #[cfg_attr(miri, ignore = "an interpreter's allocator gives other sizes")]
    fn memory_is_used_again_where_it_fits() {
        let pool = TensorPool::new(64 * MB);
        for (first, then, again) in [
            (F32, F32, true),
            (F32, C64, true),
            (F64, I64, true),
            (Bool, Bool, true),
            (F32, F64, false),
            (Bool, F32, false),
        ] {
            let old = made(&pool, first, 4 * MB);
            let at = address(&old);
            drop(old);
            assert!(pool.bytes() >= 4 * MB);
            let new = made(&pool, then, 4 * MB - 4096);
            assert_eq!(address(&new) == at && pool.bytes() == 0, again, "{first} {then}");
            assert_eq!(address(&new) % 64, 0);
            drop(new);
            pool.clear();
        }
        drop(made(&pool, F32, 4 * MB));
        let others = [2 * MB, 5 * MB].map(|other| made(&pool, F32, other));
        assert!((4 * MB..5 * MB).contains(&pool.bytes()));
        drop(others);
    }

    #[test]
    fn arrays_of_ndarray_keep_what_they_took() {
        let pool = TensorPool::new(64 * MB);
        drop(made(&pool, I64, 4 * MB));
        let tensor = made(&pool, I64, 4 * MB);
        let at = address(&tensor);
        let array: ndarray::Array1<i64> = tensor.into_array().unwrap();
        assert_eq!(array.as_ptr() as usize, at);
        assert!(array.iter().all(|&x| x == 0x0101_0101_0101_0101));
        drop(array);
        assert_eq!(pool.bytes(), 0);
    }

    #[test]
    fn a_pool_is_bounded_and_forgets_the_oldest() {
        let pool = TensorPool::new(10 * MB);
        let tensors: Vec<_> = [2, 3, 4].map(|n| made(&pool, F32, n * MB)).into();
        let newest = address(&tensors[2]);
        drop(tensors);
        assert!(pool.bytes() > 9 * MB && pool.bytes() <= 10 * MB);
        drop(made(&pool, F32, 5 * MB));
        assert!(pool.bytes() > 9 * MB && pool.bytes() <= 10 * MB, "{}", pool.bytes());
        assert_eq!(address(&made(&pool, F32, 4 * MB)), newest);
        let many: Vec<_> = (0..2 * MOST).map(|_| made(&pool, F32, MB / 16)).collect();
        drop(many);
        assert!(pool.kept.blocks().len() == MOST);
        drop(made(&pool, F32, 11 * MB));
        drop(made(&pool, F32, 1000));
        assert!(pool.bytes() <= 10 * MB);
        drop(made(&TensorPool::new(0), F32, 4 * MB));
    }

    #[test]
    #[cfg_attr(miri, ignore = "an interpreter lends nothing")]
    fn what_is_lent_is_used_again() {
        let pool = TensorPool::lending(8 * MB, 32 * MB);
        let state = || -> Vec<bool> { pool.kept.blocks().iter().map(|held| held.lent).collect() };
        let tensors: Vec<_> = [5, 6, 7].map(|n| made(&pool, F32, n * MB)).into();
        let addresses: Vec<_> = tensors.iter().map(address).collect();
        drop(tensors);
        if cfg!(not(target_os = "linux")) {
            return assert!(pool.bytes() <= 8 * MB);
        }
        assert_eq!(state(), [true, true, false]);
        let again = made(&pool, F32, 5 * MB);
        assert!(addresses.contains(&address(&again)));
        drop(again);
        // Too large for what is kept as it is, and for everything.
        let (large, larger) = (made(&pool, F32, 24 * MB), made(&pool, F32, 41 * MB));
        let at = address(&large);
        drop((large, larger));
        assert!(pool.bytes() <= 40 * MB && state().contains(&true));
        assert_eq!(address(&made(&pool, F32, 24 * MB)), at);
    }

    #[test]
    fn tensors_outlive_their_pool() {
        let pool = TensorPool::new(64 * MB);
        let tensor = made(&pool, F32, 4 * MB);
        drop(pool);
        assert_eq!(tensor.get(&[7]), ijk_types::Scalar::F32(f32::from_bits(0x0101_0101)));
        std::thread::spawn(move || drop(tensor)).join().unwrap();
    }

    #[test]
    fn threads_share_a_pool() {
        let pool = TensorPool::new(16 * MB);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| drop(made(&pool, F32, 2 * MB))));
            }
        });
        assert!(pool.bytes() <= 16 * MB);
    }
}
