//! State that survives `fork` in a process of several threads.
//!
//! A forked child has one thread and a copy of the parent's memory: a mutex that another thread held stays locked, and
//! its data may be inconsistent. So state of a process is replaced as a whole in its child; state that cannot be reused
//! is leaked.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// Forks between the first process and this one. An atomic static, since the kernel copies it to the
/// child with all memory, and the handler that counts has no argument.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Generation of the process: differs between a parent and its forked children. State of another generation belongs to
/// a parent, whose other threads do not exist here.
///
/// ```
/// let before = ijk_tensor::fork::generation();
/// assert_eq!(ijk_tensor::fork::generation(), before);
/// ```
#[inline]
pub fn generation() -> usize {
    FORKS.load(Ordering::Relaxed)
}

/// Sees to it that forks are counted from now on.
fn count_forks() {
    #[cfg(all(unix, not(miri)))]
    unix::count_forks();
}

#[cfg(all(unix, not(miri)))]
mod unix {
    use super::FORKS;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Set once the handler is registered. Threads that find it unset at the same time register it each: a fork then
    /// counts twice, which tells processes apart as well.
    static REGISTERED: AtomicBool = AtomicBool::new(false);

    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_forks() {
        if !REGISTERED.load(Ordering::Acquire) {
            // SAFETY: the handler adds to an atomic number, which a child may do at any time. Where it
            // is refused for lack of memory, it is tried again with the next state.
            let refused = unsafe { libc::pthread_atfork(None, None, Some(count)) };
            REGISTERED.store(refused == 0, Ordering::Release);
        }
    }
}

/// A value that each process has for itself: a forked child makes its own when it first asks.
pub struct PerProcess<T> {
    current: AtomicPtr<Owned<T>>,
    /// Shared by threads as what a `OnceLock` holds.
    owns: PhantomData<OnceLock<T>>,
}

struct Owned<T> {
    generation: usize,
    value: T,
}

impl<T> PerProcess<T> {
    /// The value of this process.
    pub fn new(value: T) -> Self {
        count_forks();
        let owned = Box::into_raw(Box::new(Owned { generation: generation(), value }));
        Self { current: AtomicPtr::new(owned), owns: PhantomData }
    }

    /// The value of this process; in a forked child that has none yet, what `renew` makes of the
    /// parent's. That one is never dropped: threads that are not here may have been at work on it, and
    /// the present one may have been when it forked.
    #[inline]
    pub fn get(&self, renew: impl FnOnce(&T) -> T) -> &T {
        let owned = self.current.load(Ordering::Acquire);
        // SAFETY: it points to what `new` or `renewed` made, which lives as long as this.
        let owned = unsafe { &*owned };
        match owned.generation == generation() {
            true => &owned.value,
            false => self.renewed(owned, renew),
        }
    }

    #[cold]
    fn renewed(&self, old: &Owned<T>, renew: impl FnOnce(&T) -> T) -> &T {
        let (old, value) = (ptr::from_ref(old).cast_mut(), renew(&old.value));
        let new = Box::into_raw(Box::new(Owned { generation: generation(), value }));
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let shared = match self.current.compare_exchange(old, new, order.0, order.1) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                first
            }
        };
        // SAFETY: as in `get`; another thread of this process can only have put a new one there.
        unsafe { &(*shared).value }
    }

    /// The value, if this process has made it.
    pub fn own(&self) -> Option<&T> {
        // SAFETY: as in `get`.
        let owned = unsafe { &*self.current.load(Ordering::Acquire) };
        (owned.generation == generation()).then_some(&owned.value)
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        if self.own().is_some() {
            // SAFETY: made by `Box::into_raw`; nobody refers to it any more.
            drop(unsafe { Box::from_raw(*self.current.get_mut()) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PerProcess").field(&self.own()).finish()
    }
}

/// A mutex that a forked child can lock whatever the parent's threads were doing. Poisoning is ignored.
///
/// The child takes over what the mutex guards; where another thread of the parent held the lock, it
/// begins with `empty` instead.
///
/// ```
/// let plans = ijk_tensor::fork::ForkMutex::new(Vec::new);
/// plans.lock().push(1);
/// assert_eq!(*plans.lock(), [1]);
/// ```
pub struct ForkMutex<T> {
    inner: PerProcess<Mutex<T>>,
    empty: fn() -> T,
}

impl<T> ForkMutex<T> {
    /// A mutex around what `empty` gives.
    pub fn new(empty: fn() -> T) -> Self {
        Self { inner: PerProcess::new(Mutex::new(empty())), empty }
    }

    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let mutex = self.inner.get(|parents| Mutex::new(self.take_over(parents)));
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_over(&self, parents: &Mutex<T>) -> T {
        let empty = (self.empty)();
        match parents.try_lock() {
            Ok(mut held) => std::mem::replace(&mut *held, empty),
            Err(TryLockError::Poisoned(held)) => std::mem::replace(&mut *held.into_inner(), empty),
            Err(TryLockError::WouldBlock) => empty,
        }
    }
}

impl<T: Default> Default for ForkMutex<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug> fmt::Debug for ForkMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForkMutex").field(&*self.lock()).finish()
    }
}

/// A lazily initialised value, without a lock: threads that initialise it at the same time each make one, and the first
/// is kept. So no child waits for a thread of its parent.
///
/// ```
/// use ijk_tensor::fork::RaceCell;
/// static GREETING: RaceCell<String> = RaceCell::new();
/// assert_eq!(GREETING.get_or_init(|| "hello".into()), "hello");
/// assert_eq!(GREETING.get_or_init(|| "again".into()), "hello");
/// ```
pub struct RaceCell<T> {
    value: AtomicPtr<T>,
    owns: PhantomData<OnceLock<T>>,
}

impl<T> RaceCell<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { value: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// The value, made now if there is none.
    #[inline]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        // SAFETY: it is null, or points to what `init` made, which lives as long as this.
        match unsafe { self.value.load(Ordering::Acquire).as_ref() } {
            Some(value) => value,
            None => self.init(make()),
        }
    }

    #[cold]
    fn init(&self, value: T) -> &T {
        let new = Box::into_raw(Box::new(value));
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let shared = match self.value.compare_exchange(ptr::null_mut(), new, order.0, order.1) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                first
            }
        };
        // SAFETY: as in `get_or_init`.
        unsafe { &*shared }
    }
}

impl<T> Default for RaceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for RaceCell<T> {
    fn drop(&mut self) {
        let value = *self.value.get_mut();
        if !value.is_null() {
            // SAFETY: made by `Box::into_raw`; nobody refers to it any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for RaceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: as in `get_or_init`.
        let value = unsafe { self.value.load(Ordering::Acquire).as_ref() };
        f.debug_tuple("RaceCell").field(&value).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn one_value_wins() {
        let cell = RaceCell::new();
        let count = Arc::new(());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| cell.get_or_init(|| Arc::clone(&count)));
            }
        });
        assert_eq!(Arc::strong_count(&count), 2);
        drop(cell);
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn state_goes_with_its_owner() {
        let count = Arc::new(());
        let own = PerProcess::new(Arc::clone(&count));
        assert!(own.own().is_some());
        assert_eq!(Arc::strong_count(own.get(Arc::clone)), 2);
        drop(own);
        assert_eq!(Arc::strong_count(&count), 1);
    }

    /// Runs `child` in a forked child that exits with what it gives.
    #[cfg(all(unix, not(miri)))]
    fn in_child(child: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child allocates, which the C library allows, asks what was made for it, and exits
        // without running what the parent registered.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
                libc::_exit(i32::from(!result.unwrap_or(false)));
            }
            let mut status = 0;
            assert!(pid > 0 && libc::waitpid(pid, &mut status, 0) == pid);
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }

    #[test]
    #[cfg(all(unix, not(miri)))]
    fn a_child_takes_over_what_nobody_held() {
        let mutex = ForkMutex::new(Vec::new);
        mutex.lock().push(7);
        let before = generation();
        assert!(in_child(|| generation() != before && *mutex.lock() == [7]));
        assert_eq!((generation(), &mutex.lock()[..]), (before, &[7][..]));
        // The present thread holds the lock, which is as bad for the child as another one that does.
        let held = mutex.lock();
        assert!(in_child(|| mutex.lock().is_empty()));
        drop(held);
    }

    #[test]
    #[cfg(all(unix, not(miri)))]
    fn a_child_has_values_of_its_own() {
        let value = PerProcess::new(1);
        assert!(in_child(|| value.own().is_none() && *value.get(|old| old + 1) == 2));
        assert_eq!(value.own(), Some(&1));
    }
}
