//! Advice to the operating system on memory.

use std::mem::MaybeUninit;

/// Asks the operating system for huge pages in large memory, where it has such: fewer page faults when
/// fresh memory is first written, fewer misses of address translation later. The contents stay as
/// they are. Does nothing where the memory has no whole huge page, and on other systems than Linux.
///
/// ```
/// let mut memory = Vec::<u8>::with_capacity(16 << 20);
/// ijk_tensor::advise_huge_pages(memory.spare_capacity_mut());
/// ```
pub fn advise_huge_pages(memory: &mut [MaybeUninit<u8>]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    linux::advise(memory);
    #[cfg(any(not(target_os = "linux"), miri))]
    let _ = memory;
}

/// Lets the operating system reclaim the pages of large memory whose contents are not needed (`MADV_FREE`): until it
/// does, and from the next write on, the contents are unchanged. Returns true if it may reclaim any.
pub(crate) fn offer_pages(memory: &mut [MaybeUninit<u8>]) -> bool {
    #[cfg(all(target_os = "linux", not(miri)))]
    return linux::offer(memory);
    #[cfg(any(not(target_os = "linux"), miri))]
    {
        let _ = memory;
        false
    }
}

/// Bytes of memory of the machine, where the operating system reports them.
///
/// ```
/// assert!(ijk_tensor::memory_of_machine().is_none_or(|bytes| bytes > 1 << 20));
/// ```
pub fn memory_of_machine() -> Option<u64> {
    #[cfg(all(target_os = "linux", not(miri)))]
    return linux::memory();
    #[cfg(any(not(target_os = "linux"), miri))]
    None
}

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use rustix::mm::{Advice, madvise};
    use std::mem::MaybeUninit;

    /// Size of a huge page on most machines. Where huge pages are larger, the kernel takes those that fit.
    const HUGE: usize = 2 << 20;

    /// The part of memory that whole huge pages are.
    fn inner(memory: &mut [MaybeUninit<u8>]) -> Option<&mut [MaybeUninit<u8>]> {
        let start = memory.as_ptr().align_offset(HUGE);
        let inner = memory.get_mut(start..)?;
        let bytes = inner.len() / HUGE * HUGE;
        (bytes > 0).then(|| &mut inner[..bytes])
    }

    pub fn advise(memory: &mut [MaybeUninit<u8>]) {
        let Some(inner) = inner(memory) else { return };
        // SAFETY: the range is of whole pages within memory that is borrowed exclusively; this
        // advice changes no contents and no access rights. Where the kernel does not take it, it
        // says so, and all stays as it was.
        let _ = unsafe { madvise(inner.as_mut_ptr().cast(), inner.len(), Advice::LinuxHugepage) };
    }

    pub fn offer(memory: &mut [MaybeUninit<u8>]) -> bool {
        let Some(inner) = inner(memory) else { return false };
        // SAFETY: the range is of whole pages within memory that is borrowed exclusively and may hold
        // anything; this advice changes no access rights, and no contents from the next write on. Where
        // the kernel does not take it, all stays as it was.
        unsafe { madvise(inner.as_mut_ptr().cast(), inner.len(), Advice::LinuxFree) }.is_ok()
    }

    pub fn memory() -> Option<u64> {
        let info = rustix::system::sysinfo();
        // The types of the fields differ from one processor to another.
        #[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions)]
        let pages = u64::try_from(info.totalram).ok()?;
        pages.checked_mul(info.mem_unit.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offered_memory_holds_what_is_written_next() {
        let mut memory = vec![MaybeUninit::new(1u8); if cfg!(miri) { 64 } else { 5 << 20 }];
        assert_eq!(offer_pages(&mut memory), cfg!(all(target_os = "linux", not(miri))));
        assert!(!offer_pages(&mut memory[..64]));
        memory.fill(MaybeUninit::new(7));
        // SAFETY: all elements were just written.
        assert!(memory.iter().all(|byte| unsafe { byte.assume_init() } == 7));
    }

    #[test]
    fn contents_stay() {
        // An interpreter would take minutes for what is large enough.
        let most = if cfg!(miri) { 4096 } else { 5 << 20 };
        for bytes in [0, 1, 4096, (2 << 20) - 1, 5 << 20].into_iter().filter(|&n| n <= most) {
            let mut memory: Vec<MaybeUninit<u8>> =
                (0..bytes).map(|n| MaybeUninit::new(n as u8)).collect();
            advise_huge_pages(&mut memory);
            // SAFETY: all elements were initialised.
            let bytes = memory.iter().map(|byte| unsafe { byte.assume_init() });
            assert!(bytes.enumerate().all(|(n, byte)| byte == n as u8));
        }
    }
}
