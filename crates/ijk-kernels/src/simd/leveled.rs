//! Functions compiled once for each level, as function pointers.

/// Defines one `unsafe fn` for each SIMD level around an `#[inline(always)]` body, and a function that selects one by
/// level.
#[macro_export]
macro_rules! leveled {
    ($(#[$doc:meta])* $name:ident, $body:ident, [$($generics:tt)*], [$($use:tt)*],
     ($($arg:ident: $t:ty),*) -> $out:ty) => {
        $(#[$doc])*
        pub fn $name<$($generics)*>(level: $crate::simd::Level) -> unsafe fn($($t),*) -> $out {
            unsafe fn portable<$($generics)*>($($arg: $t),*) -> $out {
                // SAFETY: the caller guarantees the contract of the body.
                unsafe { $body::<$($use)*>($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn avx2<$($generics)*>($($arg: $t),*) -> $out {
                // SAFETY: the caller guarantees the contract of the body.
                unsafe { $body::<$($use)*>($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn avx512<$($generics)*>($($arg: $t),*) -> $out {
                // SAFETY: the caller guarantees the contract of the body.
                unsafe { $body::<$($use)*>($($arg),*) }
            }
            match level.kind() {
                $crate::simd::Kind::Portable => portable::<$($use)*>,
                // The baseline includes the instructions.
                #[cfg(target_arch = "aarch64")]
                $crate::simd::Kind::Neon => portable::<$($use)*>,
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Kind::Avx2 => avx2::<$($use)*>,
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Kind::Avx512 => avx512::<$($use)*>,
            }
        }
    };
}
pub use crate::leveled;
