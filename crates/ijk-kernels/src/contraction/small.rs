//! Microkernel of small matrices: operands are read in place, with m in the lanes.

use crate::lines::prefetch_far;
use crate::simd::lane::Op;
use crate::simd::lane::{KernelSet, Lane, Semiring, kernel_set};
use crate::simd::{Kernel, Simd};
use std::ptr;

/// Arguments of a microkernel: rows and columns that are multiplied at a time, with strides in elements.
#[derive(Clone, Copy)]
pub struct SmallArgs<'a> {
    pub rows: usize,
    pub columns: usize,
    pub k: usize,
    pub left: (*const u8, isize),
    pub right: (*const u8, isize),
    /// Loaded from memory: the compiler would compute known offsets by a chain of additions, which takes longer than
    /// the products of a step.
    pub right_offsets: &'a [isize; COLUMNS],
    pub out: (*mut u8, isize),
    pub accumulate: bool,
    pub identity: *const u8,
    pub ahead: Option<&'a NextBatch>,
}

/// Memory to prefetch for the next batch: `bytes` of each operand, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct NextBatch {
    pub from: [*const u8; 2],
    pub bytes: [usize; 2],
    /// Bytes to prefetch at each step.
    pub step: usize,
}

impl NextBatch {
    /// Address of the next prefetch after `bytes` bytes, and bytes to prefetch at each step from there.
    #[inline(always)]
    pub fn after(&self, bytes: usize) -> (*const u8, usize) {
        let [left, right] = self.bytes;
        match bytes.checked_sub(left) {
            None => (self.from[0].wrapping_add(bytes), self.step),
            Some(bytes) if bytes < right => (self.from[1].wrapping_add(bytes), self.step),
            _ => (self.from[0], 0),
        }
    }
}

/// No lines to prefetch.
const NO_LINES: (*const u8, usize) = (ptr::null(), 0);

/// A compiled microkernel.
///
/// # Safety
/// The machine supports the kernel's level; all rows, columns and steps of the operands are readable, and those of the
/// output writable.
pub type SmallFn = unsafe fn(&SmallArgs);

/// The microkernels of a pair.
#[derive(Clone, Copy, Debug)]
pub struct SmallKernels {
    /// For one column.
    column: Option<SmallFn>,
    /// For several.
    columns: Option<SmallFn>,
    /// Most groups of rows that are multiplied at a time.
    pub groups: usize,
}

impl SmallKernels {
    /// Those of one kind of lane group and one pair.
    pub const fn of<L: Lane, P: Semiring<L>>() -> Self {
        let (column, columns) = (SmallTable::<L, P>::COLUMN, SmallTable::<L, P>::COLUMNS);
        Self { column, columns, groups: if several_groups::<L>() { MOST_GROUPS } else { 1 } }
    }

    /// The microkernel for a number of columns; `None` if the pair has none.
    pub fn for_columns(&self, n: usize) -> Option<SmallFn> {
        if n == 1 { self.column } else { self.columns }
    }
}

/// As constants, so that they are compiled for the pairs that have them alone.
struct SmallTable<L, P>(L, P);

impl<L: Lane, P: Semiring<L>> SmallTable<L, P> {
    const COLUMN: Option<SmallFn> = match kernel_set::<L, P>() {
        KernelSet::Full | KernelSet::Common => Some(one_column::<L, P>),
        KernelSet::Rare => None,
    };
    const COLUMNS: Option<SmallFn> = match kernel_set::<L, P>() {
        KernelSet::Full => Some(several_columns::<L, P>),
        _ => None,
    };
}

/// # Safety
/// As for [`SmallFn`]; there is one column.
unsafe fn one_column<L: Lane, P: Semiring<L>>(piece: &SmallArgs) {
    // SAFETY: the caller guarantees that the machine supports the level; the identity is an element.
    unsafe {
        let identity = piece.identity.cast::<L::Element>().read_unaligned();
        let product = SmallProduct { piece, identity, asked: 0 };
        L::Simd::assume().vectorize(ColumnKernel::<L, P>(product, std::marker::PhantomData));
    }
}

/// Multiplies as many groups of rows at a time as registers hold. Few have several sums each, since one would not hide the
/// latency of a step.
struct ColumnKernel<'a, L: Lane, P>(SmallProduct<'a, L>, std::marker::PhantomData<P>);

impl<L: Lane, P: Semiring<L>> Kernel for ColumnKernel<'_, L, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let product = self.0;
        let m = product.piece.rows;
        let mut row = 0;
        while row < m {
            let most = L::Simd::REGISTERS / L::REGISTERS / 2;
            // SAFETY: only `one_column` above constructs these, and its caller guarantees their contract; the rows are
            // there.
            let groups = unsafe {
                match (m - row).div_ceil(L::LANES).min(most) {
                    8.. => product.column::<P, 8, 1>(row),
                    4.. => product.column::<P, 4, 2>(row),
                    2.. => product.column::<P, 2, 4>(row),
                    _ => product.column::<P, 1, 4>(row),
                }
            };
            row += groups * L::LANES;
        }
    }
}

/// # Safety
/// As for [`SmallFn`].
unsafe fn several_columns<L: Lane, P: Semiring<L>>(piece: &SmallArgs) {
    // SAFETY: the caller guarantees that the machine supports the level; the identity is an element.
    unsafe {
        let identity = piece.identity.cast::<L::Element>().read_unaligned();
        let product = SmallProduct { piece, identity, asked: 0 };
        L::Simd::assume().vectorize(SmallKernel::<L, P>(product, std::marker::PhantomData));
    }
}

struct SmallKernel<'a, L: Lane, P>(SmallProduct<'a, L>, std::marker::PhantomData<P>);

/// State of a microkernel.
struct SmallProduct<'a, L: Lane> {
    piece: &'a SmallArgs<'a>,
    identity: L::Element,
    /// Bytes that have been prefetched.
    asked: usize,
}

impl<L: Lane, P: Semiring<L>> Kernel for SmallKernel<'_, L, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let mut product = self.0;
        let m = product.piece.rows;
        let mut row = 0;
        while row < m {
            let groups = groups_of::<L>(m - row);
            // SAFETY: only `several_columns` above constructs these, and its caller guarantees their contract; the rows
            // are there.
            unsafe {
                match groups {
                    3 => product.rows::<P, 3>(row),
                    2 => product.rows::<P, 2>(row),
                    _ => product.rows::<P, 1>(row),
                }
            }
            row += groups * L::LANES;
        }
    }
}

/// Number of groups of rows that are multiplied at a time. Each group shares the broadcasts, and one alone has too few
/// accumulators to hide the latency of FMA.
#[inline(always)]
fn groups_of<L: Lane>(rows: usize) -> usize {
    match rows.div_ceil(L::LANES) {
        2 | 4 if several_groups::<L>() => 2,
        3.. if several_groups::<L>() => MOST_GROUPS,
        _ => 1,
    }
}

/// Tells whether registers hold the sums of several groups.
const fn several_groups<L: Lane>() -> bool {
    L::Simd::REGISTERS / L::REGISTERS >= 32
}

/// Most groups of rows at a time.
pub const MOST_GROUPS: usize = 3;

/// Columns at a time.
pub const COLUMNS: usize = 8;

impl<L: Lane> SmallProduct<'_, L> {
    /// Multiplies `G` groups of rows by the one column, in `U` sums for each; the last group may be partial. Returns `G`.
    ///
    /// # Safety
    /// As for [`SmallFn`]; the rows are there.
    #[inline(always)]
    unsafe fn column<P: Semiring<L>, const G: usize, const U: usize>(&self, row: usize) -> usize {
        let SmallArgs { rows, k, left: (left, left_k), right: (right, right_k), .. } = *self.piece;
        let last = (rows - row - (G - 1) * L::LANES).min(L::LANES);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let simd = L::Simd::assume();
            let mut sums = [[L::splat(simd, self.identity); G]; U];
            let mut left = left.cast::<L::Element>().add(row);
            let mut right = right.cast::<L::Element>();
            for _ in 0..k / U {
                for u in 0..U {
                    add_step::<L, P, G>(&mut sums[u], left, right.read(), last);
                    (left, right) = (left.wrapping_offset(left_k), right.wrapping_offset(right_k));
                }
            }
            for _ in 0..k % U {
                add_step::<L, P, G>(&mut sums[0], left, right.read(), last);
                (left, right) = (left.wrapping_offset(left_k), right.wrapping_offset(right_k));
            }
            for u in 1..U {
                for g in 0..G {
                    sums[0][g] = P::Combine::apply(sums[0][g], sums[u][g]);
                }
            }
            let out = self.piece.out.0.cast::<L::Element>().add(row);
            for g in 0..G {
                let (to, mut sum) = (out.add(g * L::LANES), sums[0][g]);
                let count = if g + 1 < G { L::LANES } else { last };
                if self.piece.accumulate {
                    sum = P::Combine::apply(L::read_partial(to, count), sum);
                }
                if count == L::LANES { sum.write(to) } else { sum.write_partial(to, count) }
            }
        }
        G
    }

    /// Multiplies `G` groups of rows by all columns; the last group may be partial.
    ///
    /// # Safety
    /// As for [`SmallFn`]; the rows are there.
    #[inline(always)]
    unsafe fn rows<P: Semiring<L>, const G: usize>(&mut self, row: usize) {
        let n = self.piece.columns;
        let mut column = 0;
        // SAFETY: guaranteed by the caller.
        unsafe {
            while column + COLUMNS <= n {
                match self.piece.ahead {
                    Some(ahead) => {
                        let lines = ahead.after(self.asked);
                        self.asked += self.piece.k * ahead.step;
                        self.columns::<P, G, COLUMNS, true>(row, column, lines);
                    }
                    None => self.columns::<P, G, COLUMNS, false>(row, column, NO_LINES),
                }
                column += COLUMNS;
            }
            if column + COLUMNS / 2 <= n {
                self.columns::<P, G, { COLUMNS / 2 }, false>(row, column, NO_LINES);
                column += COLUMNS / 2;
            }
            for c in column..n {
                self.columns::<P, G, 1, false>(row, c, NO_LINES);
            }
        }
    }

    /// Multiplies `G` groups of rows by `C` columns, and prefetches from `line` on, `further` bytes more at each step.
    ///
    /// # Safety
    /// As for [`rows`](Self::rows); the columns are there.
    #[inline(always)]
    unsafe fn columns<P: Semiring<L>, const G: usize, const C: usize, const AHEAD: bool>(
        &self,
        row: usize,
        column: usize,
        (mut line, further): (*const u8, usize),
    ) {
        let SmallArgs { k, left, right, right_offsets, out, accumulate, .. } = *self.piece;
        let ((out, out_n), (left, left_k), (right, right_k)) = (out, left, right);
        let last = (self.piece.rows - row - (G - 1) * L::LANES).min(L::LANES);
        let whole = last == L::LANES;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let simd = L::Simd::assume();
            let mut sums = [[L::splat(simd, self.identity); G]; C];
            let mut left = left.cast::<L::Element>().add(row);
            let mut right = right.cast::<L::Element>().offset(column as isize * right_offsets[1]);
            for _ in 0..k {
                if AHEAD {
                    prefetch_far(line);
                    line = line.wrapping_add(further);
                }
                let mut groups = [L::splat(simd, self.identity); G];
                for g in 0..G {
                    let from = left.add(g * L::LANES);
                    let all = whole || g + 1 < G;
                    groups[g] = if all { L::read(from) } else { L::read_partial(from, last) };
                }
                for c in 0..C {
                    let offset = if c == 0 { 0 } else { right_offsets[c] };
                    let factor = L::splat(simd, right.offset(offset).read());
                    for g in 0..G {
                        sums[c][g] = P::step(sums[c][g], groups[g], factor);
                    }
                }
                (left, right) = (left.wrapping_offset(left_k), right.wrapping_offset(right_k));
            }
            for c in 0..C {
                let to = out.cast::<L::Element>().add(row).offset((column + c) as isize * out_n);
                for g in 0..G {
                    let (to, mut sum) = (to.add(g * L::LANES), sums[c][g]);
                    let rows = if g + 1 < G { L::LANES } else { last };
                    if accumulate {
                        sum = P::Combine::apply(L::read_partial(to, rows), sum);
                    }
                    if rows == L::LANES { sum.write(to) } else { sum.write_partial(to, rows) }
                }
            }
        }
    }
}

/// Combines `G` groups of a row of lhs, the last with `last` elements, with a factor. A function, since a closure may be
/// compiled separately, without the instructions of the level.
///
/// # Safety
/// The elements are readable.
#[inline(always)]
unsafe fn add_step<L: Lane, P: Semiring<L>, const G: usize>(
    sums: &mut [L; G],
    left: *const L::Element,
    factor: L::Element,
    last: usize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let factor = L::splat(L::Simd::assume(), factor);
        for g in 0..G {
            let from = left.add(g * L::LANES);
            let all = last == L::LANES || g + 1 < G;
            let group = if all { L::read(from) } else { L::read_partial(from, last) };
            sums[g] = P::step(sums[g], group, factor);
        }
    }
}
