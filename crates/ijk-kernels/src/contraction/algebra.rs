//! Microkernels for a pair of map and reduction on an element type.

use crate::Level;
use crate::contraction::gemv::GemvKernelSet;
use crate::contraction::microkernel::MicrokernelSet;
use crate::contraction::panel::{Flags, Prepare, Split};
use crate::contraction::small::SmallKernels;
use crate::simd::lane::{
    Complex, ComposedSemiring, Lane, MulAdd, RareSemiring, Real, Semiring, SumSemiring,
};
use crate::simd::{Bits, Float, Kernel, Number, Simd, lane};
use ijk_types::{BinaryOp, DType, Monoid, Then};

/// The microkernels of a pair, and the preparation of operands that they require.
#[derive(Clone, Copy, Debug)]
pub struct Algebra {
    /// Bytes of an element.
    pub size: usize,
    /// Elements in a group of rows.
    pub lanes: usize,
    /// Identity of the reduction, the initial value of accumulators: the first `size` bytes.
    pub identity: Identity,
    /// Microkernels that are correct for every value.
    pub tiles: MicrokernelSet,
    /// Faster microkernels, correct for panels for which [`nan_free`](Self::nan_free) returns true.
    pub fast: MicrokernelSet,
    /// Returns true if two panels with these flags may use `fast`.
    pub nan_free: fn(Flags, Flags) -> bool,
    /// True if `nan_free` depends on its arguments, so that panels have to be scanned for special values.
    pub guarded: bool,
    /// Microkernels of gemv: dot products and axpy.
    pub rows: GemvKernelSet,
    /// Microkernels for small unpacked matrices.
    pub small: SmallKernels,
    /// Transformation of the elements of lhs while packing.
    pub left: Prepare,
    /// Transformation of the elements of rhs while packing.
    pub right: Prepare,
    /// Layout of packed complex panels.
    pub split: Split,
    /// True if lhs and rhs may be exchanged (after their transformations).
    pub commutative: bool,
    /// True if exchanged elements of lhs and rhs have the same value, bit for bit.
    pub symmetric: bool,
}

/// An element of any type, aligned for all of them.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Identity(pub [u8; 16]);

impl Algebra {
    /// The microkernels of a level that reduce functions of `map`; `None` if it has none.
    pub fn find(
        level: Level,
        dtype: DType,
        (map, then): (BinaryOp, Option<Then>),
        reduce: Monoid,
    ) -> Option<Algebra> {
        level.run(FindAlgebra { dtype, map, then, reduce })
    }

    /// Exchanges lhs and rhs.
    pub fn swap(&mut self) {
        std::mem::swap(&mut self.left, &mut self.right);
    }
}

struct FindAlgebra {
    dtype: DType,
    map: BinaryOp,
    then: Option<Then>,
    reduce: Monoid,
}

impl Kernel for FindAlgebra {
    type Output = Option<Algebra>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Option<Algebra> {
        let Self { dtype, map, then, reduce } = self;
        if let Some(then) = then {
            return match dtype {
                DType::F32 => {
                    distance::<S::F32>((map, then), reduce, [0., f32::NEG_INFINITY, f32::INFINITY])
                }
                DType::F64 => {
                    distance::<S::F64>((map, then), reduce, [0., f64::NEG_INFINITY, f64::INFINITY])
                }
                _ => None,
            };
        }
        match dtype {
            DType::Bool => bits::<S::U8>(map, reduce),
            DType::I32 => integer::<S::I32>(map, reduce, [0, 1, i32::MIN, i32::MAX]),
            DType::I64 => integer::<S::I64>(map, reduce, [0, 1, i64::MIN, i64::MAX]),
            DType::F32 => float::<S::F32>(map, reduce, [0., 1., f32::NEG_INFINITY, f32::INFINITY]),
            DType::F64 => float::<S::F64>(map, reduce, [0., 1., f64::NEG_INFINITY, f64::INFINITY]),
            DType::C64 => complex::<S::F32>(map, reduce, [0., 1.]),
            DType::C128 => complex::<S::F64>(map, reduce, [0., 1.]),
            _ => None,
        }
    }
}

/// An algebra whose one set of microkernels is correct for every value.
fn plain<L: Lane, P: Semiring<L>>(identity: L::Element) -> Algebra {
    let tiles = MicrokernelSet::of::<L, P>();
    Algebra {
        size: size_of::<L::Element>(),
        lanes: L::LANES,
        identity: bytes(identity),
        tiles,
        fast: tiles,
        nan_free: |_, _| true,
        guarded: false,
        rows: GemvKernelSet::of::<L, P>(),
        small: SmallKernels::of::<L, P>(),
        left: Prepare::Keep,
        right: Prepare::Keep,
        split: Split::None,
        commutative: true,
        symmetric: false,
    }
}

/// The bytes of an element.
fn bytes<T: Copy>(value: T) -> Identity {
    let mut out = Identity([0; 16]);
    assert!(size_of::<T>() <= 16);
    // SAFETY: the value has no padding and is no larger than the array.
    unsafe {
        let from = (&raw const value).cast::<u8>();
        std::ptr::copy_nonoverlapping(from, out.0.as_mut_ptr(), size_of::<T>());
    }
    out
}

/// `bool`: every map is a bitwise operation after a negation of one operand.
fn bits<V: Bits<Element = u8>>(map: BinaryOp, reduce: Monoid) -> Option<Algebra> {
    use Prepare::{Flip, Keep};
    use lane::{And, Or, Xor};
    let any = matches!(reduce, Monoid::Add | Monoid::Max | Monoid::Or);
    macro_rules! with {
        ($map:ident, $left:ident, $right:ident) => {{
            let algebra = match any {
                true => plain::<Real<V>, ComposedSemiring<$map, Or, Or>>(0),
                false => plain::<Real<V>, ComposedSemiring<$map, And, And>>(1),
            };
            let symmetric = ($left, $right) == (Keep, Keep);
            Some(Algebra { left: $left, right: $right, symmetric, ..algebra })
        }};
    }
    match map {
        BinaryOp::Mul | BinaryOp::Min | BinaryOp::And => with!(And, Keep, Keep),
        BinaryOp::Add | BinaryOp::Max | BinaryOp::Or => with!(Or, Keep, Keep),
        BinaryOp::Ne => with!(Xor, Keep, Keep),
        BinaryOp::Eq => with!(Xor, Flip, Keep),
        BinaryOp::Lt => with!(And, Flip, Keep),
        BinaryOp::Le => with!(Or, Flip, Keep),
        BinaryOp::Gt => with!(And, Keep, Flip),
        BinaryOp::Ge => with!(Or, Keep, Flip),
        _ => None,
    }
}

/// Chooses among identities `[0, 1, least, greatest]`.
fn identity<T: Copy>(reduce: Monoid, values: [T; 4]) -> T {
    match reduce {
        Monoid::Add | Monoid::Or => values[0],
        Monoid::Mul | Monoid::And => values[1],
        Monoid::Max | Monoid::LogAddExp => values[2],
        Monoid::Min => values[3],
    }
}

fn integer<V: Number>(
    map: BinaryOp,
    reduce: Monoid,
    identities: [V::Element; 4],
) -> Option<Algebra> {
    use lane::{Add, Max, Min, Mul};
    let start = identity(reduce, identities);
    let right = if map == BinaryOp::Sub { Prepare::Negate } else { Prepare::Keep };
    macro_rules! with {
        ($map:ident) => {
            match reduce {
                Monoid::Add => plain::<Real<V>, RareSemiring<$map, Add>>(start),
                Monoid::Mul => plain::<Real<V>, RareSemiring<$map, Mul>>(start),
                Monoid::Max => plain::<Real<V>, ComposedSemiring<$map, Max, Max>>(start),
                Monoid::Min => plain::<Real<V>, ComposedSemiring<$map, Min, Min>>(start),
                Monoid::And | Monoid::Or | Monoid::LogAddExp => return None,
            }
        };
    }
    let algebra = match (map, reduce) {
        (BinaryOp::Mul, Monoid::Add) => plain::<Real<V>, ComposedSemiring<Mul, Add, Add>>(start),
        (BinaryOp::Add | BinaryOp::Sub, _) => with!(Add),
        (BinaryOp::Mul, _) => with!(Mul),
        (BinaryOp::Max, _) => with!(Max),
        (BinaryOp::Min, _) => with!(Min),
        _ => return None,
    };
    Some(Algebra { right, symmetric: map != BinaryOp::Sub, ..algebra })
}

fn float<V: Float>(map: BinaryOp, reduce: Monoid, identities: [V::Element; 4]) -> Option<Algebra> {
    use lane::{Add, Div, Max, MaxNan, Min, MinNan, Mul};
    let start = identity(reduce, identities);
    macro_rules! rare {
        ($map:ident) => {
            match reduce {
                Monoid::Add => plain::<Real<V>, RareSemiring<$map, Add>>(start),
                Monoid::Mul => plain::<Real<V>, RareSemiring<$map, Mul>>(start),
                Monoid::Max => plain::<Real<V>, RareSemiring<$map, MaxNan>>(start),
                Monoid::Min => plain::<Real<V>, RareSemiring<$map, MinNan>>(start),
                Monoid::And | Monoid::Or | Monoid::LogAddExp => return None,
            }
        };
    }
    // Maps and reductions that propagate NaN, and their faster forms that do not.
    macro_rules! guarded {
        ($map:ident, $reduce:ident, $fast_map:ident, $fast:ident) => {
            guarded::<
                V,
                ComposedSemiring<$map, $reduce, $reduce>,
                ComposedSemiring<$fast_map, $fast, $reduce>,
            >(start)
        };
    }
    let algebra = match (map, reduce) {
        (BinaryOp::Mul, Monoid::Add) => plain::<Real<V>, MulAdd>(start),
        (BinaryOp::Add | BinaryOp::Sub, Monoid::Max) => {
            guarded::<V, SumSemiring<MaxNan, MaxNan>, SumSemiring<Max, MaxNan>>(start)
        }
        (BinaryOp::Add | BinaryOp::Sub, Monoid::Min) => {
            guarded::<V, SumSemiring<MinNan, MinNan>, SumSemiring<Min, MinNan>>(start)
        }
        (BinaryOp::Mul, Monoid::Max) => guarded!(Mul, MaxNan, Mul, Max),
        (BinaryOp::Mul, Monoid::Min) => guarded!(Mul, MinNan, Mul, Min),
        (BinaryOp::Max, Monoid::Min) => guarded!(MaxNan, MinNan, Max, Min),
        (BinaryOp::Min, Monoid::Max) => guarded!(MinNan, MaxNan, Min, Max),
        (BinaryOp::Add | BinaryOp::Sub, _) => rare!(Add),
        (BinaryOp::Mul, _) => rare!(Mul),
        (BinaryOp::Max, _) => rare!(MaxNan),
        (BinaryOp::Min, _) => rare!(MinNan),
        (BinaryOp::Div, _) => rare!(Div),
        _ => return None,
    };
    Some(Algebra {
        nan_free: nan_free(map),
        right: if map == BinaryOp::Sub { Prepare::Negate } else { Prepare::Keep },
        commutative: map != BinaryOp::Div,
        symmetric: matches!(map, BinaryOp::Mul | BinaryOp::Add),
        ..algebra
    })
}

/// Functions of differences (or sums).
fn distance<V: Float>(
    (map, then): (BinaryOp, Then),
    reduce: Monoid,
    [zero, least, greatest]: [V::Element; 3],
) -> Option<Algebra> {
    use lane::{AbsSum, Add, MaxNan, MinNan, SquareAdd, SquareSum};
    let algebra = match (then, reduce) {
        (Then::Square, Monoid::Add) => plain::<Real<V>, SquareAdd>(zero),
        (Then::Square, Monoid::Max) => plain::<Real<V>, RareSemiring<SquareSum, MaxNan>>(least),
        (Then::Square, Monoid::Min) => plain::<Real<V>, RareSemiring<SquareSum, MinNan>>(greatest),
        (Then::Abs, Monoid::Add) => plain::<Real<V>, ComposedSemiring<AbsSum, Add, Add>>(zero),
        (Then::Abs, Monoid::Max) => {
            plain::<Real<V>, ComposedSemiring<AbsSum, MaxNan, MaxNan>>(least)
        }
        (Then::Abs, Monoid::Min) => plain::<Real<V>, RareSemiring<AbsSum, MinNan>>(greatest),
        (_, Monoid::Mul | Monoid::And | Monoid::Or | Monoid::LogAddExp) => return None,
    };
    let right = match map {
        BinaryOp::Sub => Prepare::Negate,
        BinaryOp::Add => Prepare::Keep,
        _ => return None,
    };
    // Signs of differences do not matter.
    Some(Algebra { right, symmetric: true, ..algebra })
}

/// Microkernels of `P`, which propagates NaN, and of `F`, which need not.
fn guarded<V: Float, P: Semiring<Real<V>>, F: Semiring<Real<V>>>(start: V::Element) -> Algebra {
    let fast = MicrokernelSet::of::<Real<V>, F>();
    Algebra { fast, guarded: true, ..plain::<Real<V>, P>(start) }
}

/// Predicate: a map yields no NaN on two panels with these flags.
fn nan_free(map: BinaryOp) -> fn(Flags, Flags) -> bool {
    match map {
        BinaryOp::Max | BinaryOp::Min => |x, y| !x.union(y).contains(Flags::NAN),
        BinaryOp::Add | BinaryOp::Sub => |x, y| {
            let all = x.union(y);
            let opposed = all.contains(Flags::POSITIVE) && all.contains(Flags::NEGATIVE);
            !all.contains(Flags::NAN) && !opposed
        },
        BinaryOp::Mul => |x, y| x.union(y) == Flags::NONE,
        _ => |_, _| false,
    }
}

fn complex<V: Float>(
    map: BinaryOp,
    reduce: Monoid,
    [zero, one]: [V::Element; 2],
) -> Option<Algebra> {
    use lane::{Add, Mul};
    type C<V> = Complex<V>;
    let algebra = match (map, reduce) {
        (BinaryOp::Mul, Monoid::Add) => plain::<C<V>, MulAdd>([zero, zero]),
        (BinaryOp::Mul, Monoid::Mul) => plain::<C<V>, RareSemiring<Mul, Mul>>([one, zero]),
        (BinaryOp::Add | BinaryOp::Sub, Monoid::Add) => {
            plain::<C<V>, RareSemiring<Add, Add>>([zero, zero])
        }
        (BinaryOp::Add | BinaryOp::Sub, Monoid::Mul) => {
            plain::<C<V>, RareSemiring<Add, Mul>>([one, zero])
        }
        _ => return None,
    };
    let right = if map == BinaryOp::Sub { Prepare::Negate } else { Prepare::Keep };
    Some(Algebra { right, split: Split::of(algebra.size), ..algebra })
}
