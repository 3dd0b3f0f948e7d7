//! Lines of memory: few elements moved at a time, and lines asked for ahead of time.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// How many bytes further on to ask for what one loop reads once: hardware foresees lines of a page alone,
/// and on a busy machine too few of them (3.0 for 3.4 ms where two threads read 134 MB).
pub(crate) const AHEAD: usize = 4096;

/// Copies a few elements, by pieces that may overlap.
///
/// # Safety
/// `from` and `to` have so many elements, and do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy<W: Copy>(from: *const W, to: *mut W, count: usize) {
    // SAFETY: pieces begin and end within the elements.
    unsafe {
        match count {
            // A loop over pieces would become a call.
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
pub(crate) unsafe fn piece<W: Copy, const N: usize>(from: *const W, to: *mut W) {
    // SAFETY: guaranteed by the caller.
    unsafe { to.cast::<[W; N]>().write_unaligned(from.cast::<[W; N]>().read_unaligned()) };
}

/// Brings a line near, if it can be.
#[inline(always)]
pub(crate) fn prefetch(line: *const u8) {
    ask::<false>(line);
}

/// Brings the lines of so many bytes near.
#[inline(always)]
pub(crate) fn prefetch_all(first: *const u8, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|at| prefetch(first.wrapping_add(at)));
}

/// The same from memory.
#[inline(always)]
pub(crate) fn prefetch_all_far(first: *const u8, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|at| prefetch_far(first.wrapping_add(at)));
}

/// Brings a line that is needed later: it does not drive others out of the first cache, and waits for
/// none of the few that this one can ask for at a time.
#[inline(always)]
pub(crate) fn prefetch_far(line: *const u8) {
    ask::<true>(line);
}

/// Asks for a line, to the first cache or, `FAR` from there, to the second.
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
    // SAFETY: as above; the instruction changes nothing but caches.
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
