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

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use rustix::mm::{Advice, madvise};
    use std::mem::MaybeUninit;

    /// What most machines have. Where huge pages are larger, the kernel takes those that fit.
    const HUGE: usize = 2 << 20;

    pub fn advise(memory: &mut [MaybeUninit<u8>]) {
        let start = memory.as_ptr().align_offset(HUGE);
        let Some(inner) = memory.get_mut(start..) else { return };
        let bytes = inner.len() / HUGE * HUGE;
        if bytes == 0 {
            return;
        }
        // SAFETY: the range is of whole pages within memory that is borrowed exclusively; this
        // advice changes no contents and no access rights. Where the kernel does not take it, it
        // says so, and all stays as it was.
        let _ = unsafe { madvise(inner.as_mut_ptr().cast(), bytes, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
