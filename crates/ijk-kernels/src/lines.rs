//! Cache lines: copies of few elements, prefetch, and the order of non-temporal stores.

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Prefetch distance in bytes for data that one loop reads once: the hardware prefetches only within a page, and too
/// little on a busy machine.
pub const AHEAD: usize = 4096;

/// Copies a few elements, by pieces that may overlap.
///
/// # Safety
/// `from` and `to` have `count` elements, and do not overlap.
#[inline(always)]
pub unsafe fn copy<W: Copy>(from: *const W, to: *mut W, count: usize) {
    // SAFETY: pieces are within the elements.
    unsafe {
        match count {
            // A loop over pieces would compile to a call.
            65.. => std::ptr::copy_nonoverlapping(from, to, count),
            33.. => {
                for at in [0, 16, count - 32, count - 16] {
                    piece::<W, 16>(from.add(at), to.add(at));
                }
            }
            16.. => {
                for at in [0, count - 16] {
                    piece::<W, 16>(from.add(at), to.add(at));
                }
            }
            8.. => {
                piece::<W, 8>(from, to);
                piece::<W, 8>(from.add(count - 8), to.add(count - 8));
            }
            _ => (0..count).for_each(|n| to.add(n).write(from.add(n).read())),
        }
    }
}

/// Copies `N` elements at once.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
pub unsafe fn piece<W: Copy, const N: usize>(from: *const W, to: *mut W) {
    // SAFETY: guaranteed by the caller.
    unsafe { to.cast::<[W; N]>().write_unaligned(from.cast::<[W; N]>().read_unaligned()) };
}

/// Prefetches a line to L1, if the level has the instruction.
#[inline(always)]
pub fn prefetch(line: *const u8) {
    ask::<false>(line);
}

/// Prefetches the lines of `bytes` bytes to L1.
#[inline(always)]
pub fn prefetch_all(first: *const u8, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|at| prefetch(first.wrapping_add(at)));
}

/// Prefetches the lines of `bytes` bytes to L2.
#[inline(always)]
pub fn prefetch_all_far(first: *const u8, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|at| prefetch_far(first.wrapping_add(at)));
}

/// Prefetches a line that is needed later to L2: it evicts none from L1, and uses none of its few outstanding misses.
#[inline(always)]
pub fn prefetch_far(line: *const u8) {
    ask::<true>(line);
}

/// Prefetches a line to L1, or to L2 if `FAR`.
#[inline(always)]
fn ask<const FAR: bool>(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is harmless.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match FAR {
            true => _mm_prefetch::<_MM_HINT_T1>(line.cast()),
            false => _mm_prefetch::<_MM_HINT_T0>(line.cast()),
        }
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch of any address is harmless; the instruction changes only caches.
    unsafe {
        use std::arch::asm;
        match FAR {
            true => asm!("prfm pldl2keep, [{}]", in(reg) line, options(nostack, preserves_flags)),
            false => asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, preserves_flags)),
        }
    };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

/// Orders previous non-temporal stores before later writes, for other threads.
pub fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction is part of the architecture's baseline.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
