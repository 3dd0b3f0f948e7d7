//! Contents of one accumulator of a microkernel: a vector of reals, or two vectors of complex parts.

use super::{Bits, Float, Number, Simd, Vector};

/// A group of elements that a microkernel treats as one value.
pub trait Lane: Copy {
    /// Element type of the tensor.
    type Element: Copy;
    /// Instruction set.
    type Simd: Simd;
    /// Elements in the group.
    const LANES: usize;
    /// Vector registers of a group.
    const REGISTERS: usize;

    /// Broadcasts an element to all lanes.
    fn splat(simd: Self::Simd, value: Self::Element) -> Self;

    /// Reads a group of a packed panel.
    ///
    /// # Safety
    /// As for [`Vector::load`].
    unsafe fn load(packed: *const Self::Element) -> Self;

    /// Reads contiguous elements of a tensor.
    ///
    /// # Safety
    /// As for [`Vector::load`].
    unsafe fn read(from: *const Self::Element) -> Self;

    /// Writes contiguous elements of a tensor.
    ///
    /// # Safety
    /// As for [`Vector::store`].
    unsafe fn write(self, to: *mut Self::Element);

    /// Reads the first `count` ≤ [`LANES`](Self::LANES) contiguous elements of a tensor.
    ///
    /// # Safety
    /// As for [`Vector::load_partial`].
    unsafe fn read_partial(from: *const Self::Element, count: usize) -> Self;

    /// Writes the first `count` ≤ [`LANES`](Self::LANES) contiguous elements of a tensor.
    ///
    /// # Safety
    /// As for [`Vector::store_partial`].
    unsafe fn write_partial(self, to: *mut Self::Element, count: usize);
}

/// One vector.
#[derive(Clone, Copy)]
pub struct Real<V>(pub V);

impl<V: Vector> Lane for Real<V> {
    type Element = V::Element;
    type Simd = V::Simd;
    const LANES: usize = V::LANES;
    const REGISTERS: usize = 1;

    #[inline(always)]
    fn splat(simd: V::Simd, value: V::Element) -> Self {
        Self(V::splat(simd, value))
    }
    #[inline(always)]
    unsafe fn load(packed: *const V::Element) -> Self {
        // SAFETY: the caller has the same obligations.
        Self(unsafe { V::load(packed) })
    }
    #[inline(always)]
    unsafe fn read(from: *const V::Element) -> Self {
        // SAFETY: the caller has the same obligations.
        Self(unsafe { V::load(from) })
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut V::Element) {
        // SAFETY: the caller has the same obligations.
        unsafe { self.0.store(to) }
    }
    #[inline(always)]
    unsafe fn read_partial(from: *const V::Element, count: usize) -> Self {
        // SAFETY: the caller has the same obligations.
        Self(unsafe { V::load_partial(from, count) })
    }
    #[inline(always)]
    unsafe fn write_partial(self, to: *mut V::Element, count: usize) {
        // SAFETY: the caller has the same obligations.
        unsafe { self.0.store_partial(to, count) }
    }
}

/// A vector of real parts and one of imaginary parts. A packed group has its real parts before its imaginary parts.
#[derive(Clone, Copy)]
pub struct Complex<V> {
    re: V,
    im: V,
}

impl<V: Float> Lane for Complex<V> {
    type Element = [V::Element; 2];
    type Simd = V::Simd;
    const LANES: usize = V::LANES;
    const REGISTERS: usize = 2;

    #[inline(always)]
    fn splat(simd: V::Simd, [re, im]: [V::Element; 2]) -> Self {
        Self { re: V::splat(simd, re), im: V::splat(simd, im) }
    }
    #[inline(always)]
    unsafe fn load(packed: *const [V::Element; 2]) -> Self {
        let parts = packed.cast::<V::Element>();
        // SAFETY: LANES elements are two vectors of parts.
        unsafe { Self { re: V::load(parts), im: V::load(parts.add(V::LANES)) } }
    }
    #[inline(always)]
    unsafe fn read(from: *const [V::Element; 2]) -> Self {
        // SAFETY: as for `load`.
        let Self { re, im } = unsafe { Self::load(from) };
        let (re, im) = re.deinterleave(im);
        Self { re, im }
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut [V::Element; 2]) {
        let (low, high) = self.re.interleave(self.im);
        let parts = to.cast::<V::Element>();
        // SAFETY: LANES elements are two vectors of parts.
        unsafe {
            low.store(parts);
            high.store(parts.add(V::LANES));
        }
    }
    #[inline(always)]
    unsafe fn read_partial(from: *const [V::Element; 2], count: usize) -> Self {
        let (parts, (low, high)) = (from.cast::<V::Element>(), halves::<V>(count));
        // SAFETY: `count` elements are `low + high` parts; where `high` is not 0, `low` is LANES.
        let (re, im) = unsafe {
            (V::load_partial(parts, low), V::load_partial(parts.wrapping_add(low), high))
        };
        let (re, im) = re.deinterleave(im);
        Self { re, im }
    }
    #[inline(always)]
    unsafe fn write_partial(self, to: *mut [V::Element; 2], count: usize) {
        let (parts, (low, high)) = (to.cast::<V::Element>(), halves::<V>(count));
        let (first, second) = self.re.interleave(self.im);
        // SAFETY: `count` elements are `low + high` parts; where `high` is not 0, `low` is LANES.
        unsafe {
            first.store_partial(parts, low);
            second.store_partial(parts.wrapping_add(low), high);
        }
    }
}

/// Number of parts, of `2 * count` in all, in the first and in the second of two vectors.
#[inline(always)]
fn halves<V: Vector>(count: usize) -> (usize, usize) {
    let parts = 2 * count;
    (parts.min(V::LANES), parts.saturating_sub(V::LANES))
}

/// A function of two groups, element by element.
pub trait Op<L: Lane> {
    /// The function.
    fn apply(left: L, right: L) -> L;
}

/// Declares operators and implements them for vectors of numbers.
macro_rules! operators {
    ($($name:ident: $bound:ident = $method:ident, $doc:literal;)*) => {
        $(#[doc = $doc]
        pub struct $name;

        impl<V: $bound> Op<Real<V>> for $name {
            #[inline(always)]
            fn apply(left: Real<V>, right: Real<V>) -> Real<V> {
                Real(left.0.$method(right.0))
            }
        })*
    };
}

operators! {
    Add: Number = add, "Sum.";
    Mul: Number = mul, "Product.";
    Max: Number = max, "Maximum, where no operand is NaN.";
    Min: Number = min, "Minimum, where no operand is NaN.";
    MaxNan: Float = max_nan, "Maximum that keeps NaN.";
    MinNan: Float = min_nan, "Minimum that keeps NaN.";
    Div: Float = div, "Quotient.";
    And: Bits = and, "Bitwise and.";
    Or: Bits = or, "Bitwise or.";
    Xor: Bits = xor, "Bitwise exclusive or.";
}

impl<V: Float> Op<Complex<V>> for Add {
    #[inline(always)]
    fn apply(x: Complex<V>, y: Complex<V>) -> Complex<V> {
        Complex { re: x.re.add(y.re), im: x.im.add(y.im) }
    }
}

impl<V: Float> Op<Complex<V>> for Mul {
    #[inline(always)]
    fn apply(x: Complex<V>, y: Complex<V>) -> Complex<V> {
        Complex { re: x.re.mul(y.re).sub(x.im.mul(y.im)), im: x.re.mul(y.im).add(x.im.mul(y.re)) }
    }
}

/// Step of a microkernel, and combination of blocks of k.
pub trait Semiring<L: Lane> {
    /// `reduce(x, y)`; propagates NaN even if `step` need not.
    type Combine: Op<L>;
    /// Number of microkernels of the pair.
    const KERNELS: KernelSet;
    /// `reduce(sum, map(left, right))`.
    fn step(sum: L, left: L, right: L) -> L;

    /// Value for the argument `unit` of [`step_by`](Self::step_by), kept in a register.
    #[inline(always)]
    fn unit(_: L::Simd, identity: L) -> L {
        identity
    }

    /// Same as [`step`](Self::step), for pairs that are faster with a loop-invariant value.
    #[inline(always)]
    fn step_by(_unit: L, sum: L, left: L, right: L) -> L {
        Self::step(sum, left, right)
    }

    /// Combines each lane of the lower half with its counterpart in the upper half: results of `left` in the even
    /// lanes, of `right` in the odd ones.
    #[inline(always)]
    fn halve(left: L, right: L) -> L {
        let mut lanes = std::mem::MaybeUninit::<[[u8; MAX_GROUP]; 4]>::uninit();
        let first = lanes.as_mut_ptr().cast::<L::Element>();
        let (from, low) = (first, first.wrapping_add(2 * L::LANES));
        let high = low.wrapping_add(L::LANES);
        // SAFETY: no group is larger than MAX_GROUP bytes; every lane that is read was written.
        unsafe {
            left.write(from);
            right.write(from.add(L::LANES));
            for lane in 0..L::LANES {
                let at = from.add(lane % 2 * L::LANES + lane / 2);
                low.add(lane).write(at.read());
                high.add(lane).write(at.add(L::LANES / 2).read());
            }
            Self::Combine::apply(L::read(low), L::read(high))
        }
    }
}

/// Size in bytes of the largest group: two registers of AVX-512.
const MAX_GROUP: usize = 128;

/// Number of microkernels of a pair: each costs compile time and size of the binary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KernelSet {
    /// Sums of products: every shape of tile. A step with two zeros leaves the sum unchanged.
    Full,
    /// Other common semirings: full panels and narrow ones.
    Common,
    /// Rare semirings: one small tile.
    Rare,
}

/// The microkernels of a pair at a level.
pub const fn kernel_set<L: Lane, P: Semiring<L>>() -> KernelSet {
    match L::Simd::SPECIAL_KERNELS {
        true => P::KERNELS,
        false => KernelSet::Rare,
    }
}

/// Any map `M`, any reduction `R`, and the reduction `C` that combines blocks of k.
pub struct ComposedSemiring<M, R, C>(M, R, C);

impl<L: Lane, M: Op<L>, R: Op<L>, C: Op<L>> Semiring<L> for ComposedSemiring<M, R, C> {
    type Combine = C;
    const KERNELS: KernelSet = KernelSet::Common;

    #[inline(always)]
    fn step(sum: L, left: L, right: L) -> L {
        R::apply(sum, M::apply(left, right))
    }
}

/// Reductions `R` of sums. With hardware fused multiply-add, a sum is computed as `left * 1 + right`, which is exact:
/// on some processors additions and min/max share execution units, but FMA has units of its own, so that both run in
/// parallel.
pub struct SumSemiring<R, C>(R, C);

impl<V: Float, R: Op<Real<V>>, C: Op<Real<V>>> Semiring<Real<V>> for SumSemiring<R, C> {
    type Combine = C;
    const KERNELS: KernelSet = KernelSet::Common;

    #[inline(always)]
    fn step(sum: Real<V>, left: Real<V>, right: Real<V>) -> Real<V> {
        R::apply(sum, Real(left.0.add(right.0)))
    }
    #[inline(always)]
    fn unit(simd: V::Simd, _: Real<V>) -> Real<V> {
        Real(V::unit(simd))
    }
    #[inline(always)]
    fn step_by(unit: Real<V>, sum: Real<V>, left: Real<V>, right: Real<V>) -> Real<V> {
        match V::Simd::FUSED {
            true => R::apply(sum, Real(left.0.mul_add(unit.0, right.0))),
            false => Self::step(sum, left, right),
        }
    }
}

/// [`ComposedSemiring`] with [`KernelSet::Rare`].
pub struct RareSemiring<M, R>(M, R);

impl<L: Lane, M: Op<L>, R: Op<L>> Semiring<L> for RareSemiring<M, R> {
    type Combine = R;
    const KERNELS: KernelSet = KernelSet::Rare;

    #[inline(always)]
    fn step(sum: L, left: L, right: L) -> L {
        R::apply(sum, M::apply(left, right))
    }
}

/// Square of a sum.
pub struct SquareSum;

impl<V: Float> Op<Real<V>> for SquareSum {
    #[inline(always)]
    fn apply(left: Real<V>, right: Real<V>) -> Real<V> {
        let sum = left.0.add(right.0);
        Real(sum.mul(sum))
    }
}

/// Absolute value of a sum.
pub struct AbsSum;

impl<V: Float> Op<Real<V>> for AbsSum {
    #[inline(always)]
    fn apply(left: Real<V>, right: Real<V>) -> Real<V> {
        Real(left.0.add(right.0).abs())
    }
}

/// Squares a sum and adds it, fused if the level has FMA.
pub struct SquareAdd;

impl<V: Float> Semiring<Real<V>> for SquareAdd {
    type Combine = Add;
    const KERNELS: KernelSet = KernelSet::Common;

    #[inline(always)]
    fn step(sum: Real<V>, left: Real<V>, right: Real<V>) -> Real<V> {
        let joined = left.0.add(right.0);
        Real(joined.mul_add(joined, sum.0))
    }
}

/// Multiplies and adds, fused if the level has FMA.
pub struct MulAdd;

impl<V: Float> Semiring<Real<V>> for MulAdd {
    type Combine = Add;
    const KERNELS: KernelSet = KernelSet::Full;

    #[inline(always)]
    fn step(sum: Real<V>, left: Real<V>, right: Real<V>) -> Real<V> {
        Real(left.0.mul_add(right.0, sum.0))
    }

    #[inline(always)]
    fn halve(left: Real<V>, right: Real<V>) -> Real<V> {
        let (low, high) = left.0.interleave(right.0);
        Real(low.add(high))
    }
}

impl<V: Float> Semiring<Complex<V>> for MulAdd {
    type Combine = Add;
    const KERNELS: KernelSet = KernelSet::Full;

    #[inline(always)]
    fn step(sum: Complex<V>, left: Complex<V>, right: Complex<V>) -> Complex<V> {
        let re = left.re.mul_add(right.re, sum.re);
        let im = left.re.mul_add(right.im, sum.im);
        Complex { re: left.im.neg_mul_add(right.im, re), im: left.im.mul_add(right.re, im) }
    }

    #[inline(always)]
    fn halve(left: Complex<V>, right: Complex<V>) -> Complex<V> {
        let (re, re_high) = left.re.interleave(right.re);
        let (im, im_high) = left.im.interleave(right.im);
        Complex { re: re.add(re_high), im: im.add(im_high) }
    }
}
