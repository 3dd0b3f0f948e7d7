//! Matrices so small that packing by panels would take longer than the products: operands are read where
//! they lie, rows in the lanes, and nothing is allocated. Where rows are no neighbours in left, it is
//! transposed first.

#![allow(clippy::needless_range_loop, reason = "an index names the same register everywhere")]

use super::bundle::{Bundle, Operand};
use super::lane::{Class, Lane, Op, Pair};
use super::pack::Word;
use super::panel::Prepare;
use super::problem::{Problem, Tensors};
use super::{KC, dot};
use crate::Level;
use crate::copy::{Copier, Side};
use crate::simd::{Kernel, Simd};
use std::mem::MaybeUninit;

/// Matrices whose sides are as `m`, `n` and `k` say, with the steps between their elements, in
/// elements; rows are neighbours in left and out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Small {
    /// Rows.
    m: usize,
    /// Columns.
    n: usize,
    /// Steps.
    k: usize,
    /// From a step to the next in left.
    left_k: isize,
    /// From a step to the next in right.
    right_k: isize,
    /// From a column to the next in right.
    right_n: isize,
    /// From a column to the next in the output.
    out_n: isize,
    /// Whether to combine with what the output holds.
    accumulate: bool,
    /// How left comes to lie so, where it does not.
    moved: Option<Moved>,
}

/// What copies left, with the bytes from a step and from a row of it to the next.
#[derive(Clone, Copy, Debug)]
struct Moved {
    copier: Copier,
    from: [isize; 2],
}

/// A compiled microkernel: the matrices, left, right, the output and the identity.
///
/// # Safety
/// The machine has its level; the elements of all rows, columns and steps can be read, or written.
pub(crate) type SmallFn = unsafe fn(&Small, *const u8, *const u8, *mut u8, *const u8);

/// The microkernel of a pair; `None` where it has none.
pub(crate) const fn kernel<L: Lane, P: Pair<L>>() -> Option<SmallFn> {
    match P::CLASS {
        Class::Rich => Some(run::<L, P>),
        _ => None,
    }
}

/// Most bytes of each of the matrices: together they stay in the first cache.
const MOST_BYTES: usize = 8 << 10;

impl Small {
    /// The matrices of a problem, if they are small and lie so, or left can be made to.
    pub(crate) fn of(problem: &Problem, level: Level) -> Option<Self> {
        let Problem { algebra, m, n, k, accumulate, .. } = problem;
        let small = |a: &Bundle, b: &Bundle| a.len() * b.len() * algebra.size <= MOST_BYTES;
        let sides = [m, n, k].iter().all(|b| (1..=KC).contains(&b.len()));
        let suits = sides && small(m, k) && small(k, n) && small(m, n);
        let keeps = algebra.left == Prepare::Keep && algebra.right == Prepare::Keep;
        if !suits || !keeps || algebra.small.is_none() {
            return None;
        }
        let dense = |operand| m.step(operand).is_some_and(|step| step == 1 || m.len() == 1);
        dense(Operand::Out).then_some(())?;
        let left_k = k.step(Operand::Left)?;
        let small = Self {
            m: m.len(),
            n: n.len(),
            k: k.len(),
            left_k,
            right_k: k.step(Operand::Right)?,
            right_n: n.step(Operand::Right)?,
            out_n: n.step(Operand::Out)?,
            accumulate: *accumulate,
            moved: None,
        };
        if dense(Operand::Left) {
            return Some(small);
        }
        let copier = Copier::new(problem.dtype, level);
        let from = [left_k, m.step(Operand::Left)?].map(|n| n.wrapping_mul(algebra.size as isize));
        let moved = Some(Moved { copier, from });
        (!dot::suits(problem)).then_some(Self { left_k: m.len() as isize, moved, ..small })
    }

    /// Whether nothing is copied first.
    pub(crate) fn reads_in_place(&self) -> bool {
        self.moved.is_none()
    }

    /// Computes one batch.
    ///
    /// # Safety
    /// As for [`super::gemm::gemm`], of the problem that these are the matrices of.
    pub(crate) unsafe fn run<W: Word>(&self, problem: &Problem, tensors: Tensors) {
        let identity = problem.algebra.identity.0.as_ptr();
        let Tensors { mut left, right, out } = tensors;
        let mut memory = MaybeUninit::<[Line; MOST_BYTES / size_of::<Line>()]>::uninit();
        let Some(kernel) = problem.algebra.small else { return };
        // SAFETY: the caller's promise; left has at most so many bytes.
        unsafe {
            if let Some(Moved { copier, from }) = &self.moved {
                let to = memory.as_mut_ptr().cast::<u8>();
                let size = problem.algebra.size as isize;
                let dense = [self.m as isize * size, size];
                let side = Side { ptr: left, strides: from };
                copier.copy(&[self.k, self.m], Side { ptr: to, strides: &dense }, side);
                left = to.cast_const();
            }
            kernel(self, left, right, out, identity);
        }
    }
}

/// What a copy of left is aligned to.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "memory")] [u8; 64]);

/// # Safety
/// As for [`SmallFn`].
unsafe fn run<L: Lane, P: Pair<L>>(
    small: &Small,
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    identity: *const u8,
) {
    let (left, right, out) = (left.cast(), right.cast(), out.cast());
    // SAFETY: the caller says that the machine has the level; the identity is an element.
    unsafe {
        let identity = identity.cast::<L::Element>().read_unaligned();
        let product = Product { small, left, right, out, identity };
        L::Simd::assume().vectorize(Run::<L, P>(product, std::marker::PhantomData));
    }
}

struct Run<'a, L: Lane, P>(Product<'a, L>, std::marker::PhantomData<P>);

/// What a microkernel works on.
struct Product<'a, L: Lane> {
    small: &'a Small,
    left: *const L::Element,
    right: *const L::Element,
    out: *mut L::Element,
    identity: L::Element,
}

impl<L: Lane, P: Pair<L>> Kernel for Run<'_, L, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let product = self.0;
        let Small { m, n, .. } = *product.small;
        for row in (0..m).step_by(L::LANES) {
            let rows = L::LANES.min(m - row);
            let mut column = 0;
            // SAFETY: `run` above is the one place that makes these, and its caller promised what
            // they ask; the rows and columns are there.
            unsafe {
                while column + COLUMNS <= n {
                    product.columns::<P, COLUMNS>(row, rows, column);
                    column += COLUMNS;
                }
                if column + COLUMNS / 2 <= n {
                    product.columns::<P, { COLUMNS / 2 }>(row, rows, column);
                    column += COLUMNS / 2;
                }
                (column..n).for_each(|column| product.columns::<P, 1>(row, rows, column));
            }
        }
    }
}

/// Columns at a time.
const COLUMNS: usize = 8;

impl<L: Lane> Product<'_, L> {
    /// Some columns of one group of rows.
    ///
    /// # Safety
    /// As for [`SmallFn`]; they are there.
    #[inline(always)]
    unsafe fn columns<P: Pair<L>, const C: usize>(&self, row: usize, rows: usize, column: usize) {
        let Small { k, left_k, right_k, right_n, out_n, accumulate, .. } = *self.small;
        let whole = rows == L::LANES;
        // SAFETY: the caller's promise.
        unsafe {
            let simd = L::Simd::assume();
            let mut sums = [L::splat(simd, self.identity); C];
            let (mut left, mut right) =
                (self.left.add(row), self.right.offset(column as isize * right_n));
            for _ in 0..k {
                let rows = if whole { L::read(left) } else { L::read_partial(left, rows) };
                for c in 0..C {
                    let factor = right.offset(c as isize * right_n).read();
                    sums[c] = P::step(sums[c], rows, L::splat(simd, factor));
                }
                (left, right) = (left.wrapping_offset(left_k), right.wrapping_offset(right_k));
            }
            for c in 0..C {
                let to = self.out.add(row).offset((column + c) as isize * out_n);
                let mut sum = sums[c];
                if accumulate {
                    sum = P::Combine::apply(L::read_partial(to, rows), sum);
                }
                if whole { sum.write(to) } else { sum.write_partial(to, rows) }
            }
        }
    }
}
