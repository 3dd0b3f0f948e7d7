//! SIMD levels, selected at run time and outside of loops.
//!
//! A kernel is a value that implements [`Kernel`]; [`Level::run`] compiles its body once for each
//! level, with that level's instructions enabled, so that plain loops in it vectorise and the
//! [`Vector`] types of the level turn into single instructions. For both, everything the body
//! calls must be `#[inline(always)]`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod choice;
pub mod lane;
mod leveled;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod vector;

pub use choice::{LEVEL_VARIABLE, LevelError};
pub use leveled::leveled;
pub use portable::Portable;
pub use vector::{Bits, Float, Number, Vector};
pub(crate) use vector::{Extremes, FloatElements, IntegerElements};

/// An instruction set that this machine supports. No other values can be constructed, so a `Level` proves that its
/// instructions may be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(Kind);

/// Instruction set of a [`Level`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The baseline of the architecture.
    Portable,
    /// `avx2` and `fma`.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `avx512f`, `bw`, `dq`, `vl`, and those of [`Avx2`](Self::Avx2).
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON, the baseline of aarch64, by its own intrinsics.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The widest level of this machine.
    pub fn best() -> Self {
        Self::available().pop().expect("the portable level always exists")
    }

    /// Every level of this machine, widest last.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(avx2::Avx2::detect().map(|_| Self(Kind::Avx2)));
            levels.extend(avx512::Avx512::detect().map(|_| Self(Kind::Avx512)));
        }
        #[cfg(target_arch = "aarch64")]
        levels.push(Self(Kind::Neon));
        levels
    }

    /// `portable`, `avx2`, `avx512` or `neon`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
        }
    }

    /// Instruction set, for tables of functions compiled for each.
    #[doc(hidden)]
    pub fn kind(self) -> Kind {
        self.0
    }

    /// Runs a kernel compiled for this level.
    #[doc(hidden)]
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Kind::Portable => Portable.vectorize(kernel),
            // SAFETY: a level of that kind exists only if the instructions were detected.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2::Avx2::assume() }.vectorize(kernel),
            // SAFETY: a level of that kind exists only if the instructions were detected.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { avx512::Avx512::assume() }.vectorize(kernel),
            // SAFETY: every processor of this architecture has the instructions.
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => unsafe { neon::Neon::assume() }.vectorize(kernel),
        }
    }
}

/// A computation that is compiled once for each level.
pub trait Kernel {
    /// Type of the result.
    type Output;
    /// The computation; must be `#[inline(always)]`.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// A level as a type. A value of it proves that the machine supports the level's instructions.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Vector of `f32`.
    type F32: Float<Element = f32, Simd = Self>;
    /// Vector of `f64`.
    type F64: Float<Element = f64, Simd = Self>;
    /// Vector of `i32`.
    type I32: Number<Element = i32, Simd = Self>;
    /// Vector of `i64`.
    type I64: Number<Element = i64, Simd = Self>;
    /// Vector of bytes, for `bool`.
    type U8: Bits<Element = u8, Simd = Self>;
    /// Number of vector registers of the level.
    const REGISTERS: usize;
    /// True if fused multiply-add is one instruction.
    const FUSED: bool;
    /// True if the level has special kernels beside the general ones. The portable level has them only where it is the
    /// one that processors use.
    const SPECIAL_KERNELS: bool;
    /// The level, without detection.
    ///
    /// # Safety
    /// The machine supports the level.
    unsafe fn assume() -> Self;
    /// Runs the kernel with the level's instructions enabled.
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output;
}

#[cfg(test)]
mod tests;
