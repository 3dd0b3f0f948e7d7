//! Permutations of many short axes, by tables of offsets.
//!
//! If both sides are contiguous along different axes, and all axes are short, a loop over two of them moves few
//! elements, and evicts partially written cache lines. Here the innermost axes of either side, as many of each as fill
//! a cache line, form a *block* of whole cache lines of both. One table has the offsets of the elements of a block,
//! another those of blocks.

use super::fence;
use super::shuffle::Shuffle;
use crate::table::offsets;
use ijk_kernels::lines::{AHEAD, LINE, prefetch_far};
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{
    PERMUTE_BLOCK_WORDS, PERMUTE_INNER_BLOCKS, PERMUTE_LEAST_WORDS, PERMUTE_NEAR_BYTES,
    PERMUTE_OUTER_BLOCKS,
};
use std::ops::Range;

/// Largest word in bytes: elements that are contiguous on both sides are moved as one.
const WIDEST: usize = 16;

/// One axis of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortAxis {
    /// Number of values.
    pub(crate) extent: usize,
    /// Stride of the destination in bytes.
    pub(crate) to: isize,
    /// Stride of the source in bytes.
    pub(crate) from: isize,
}

impl ShortAxis {
    /// Splits an axis whose extent is a multiple of `part`: the axis of parts, and the axis within a part.
    fn split(self, part: usize) -> (Self, Self) {
        let step = |step: isize| step.saturating_mul(part as isize);
        let outer =
            Self { extent: self.extent / part.max(1), to: step(self.to), from: step(self.from) };
        (outer, Self { extent: part, ..self })
    }
}

/// Tables to copy a box.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Bytes of a word.
    word: usize,
    /// Words of a block that are contiguous in the destination.
    run: usize,
    /// Offsets of these runs.
    runs: Vec<isize>,
    /// Offset in the source of each word of a block, run by run.
    from: Vec<isize>,
    /// Permutation of whole cache lines in registers, if the block consists of whole lines.
    shuffle: Option<Shuffle>,
    /// Cache lines to prefetch for a block, and prefetch distance in blocks.
    lines: Vec<isize>,
    ahead: usize,
    /// Offsets of blocks in destination and source, as sums of an outer and an inner table.
    outer: Vec<[isize; 2]>,
    inner: Vec<[isize; 2]>,
}

impl Places {
    /// The tables of a box of elements of `size` bytes; `None` if axes are too long for them.
    pub(crate) fn new(axes: &[ShortAxis], size: usize, level: Level) -> Option<Self> {
        let (word, axes) = widened(axes, size);
        let (mut block, mut blocks) = (Vec::new(), axes);
        choose(&mut block, &mut blocks, word, |axis| axis.to);
        choose(&mut block, &mut blocks, word, |axis| axis.from);
        enlarge(&mut block, &mut blocks);
        block.sort_by_key(|axis| std::cmp::Reverse(axis.to.unsigned_abs()));
        points(&block).filter(|&words| words <= PERMUTE_BLOCK_WORDS)?;
        // Blocks that are close to each other on both sides are adjacent in the order.
        let reach = |axis: &ShortAxis| axis.to.unsigned_abs().max(axis.from.unsigned_abs());
        blocks.sort_by_key(|axis| std::cmp::Reverse(reach(axis)));
        let first = (0..blocks.len())
            .find(|&at| points(&blocks[at..]).is_some_and(|n| n <= PERMUTE_INNER_BLOCKS));
        let total = points(&blocks)?;
        let (outer, inner) = blocks.split_at(first.unwrap_or(blocks.len()));
        points(outer).filter(|&n| n <= PERMUTE_OUTER_BLOCKS)?;
        let mut run = 1;
        let within = block.iter().rev().take_while(|axis| {
            let next = axis.to == (run * word) as isize;
            run *= if next { axis.extent } else { 1 };
            next
        });
        let within = block.len() - within.count();
        let both = |axes: &[ShortAxis]| offsets(axes.iter().map(|a| (a.extent, [a.to, a.from])));
        let one = |axes: &[ShortAxis], step: fn(&ShortAxis) -> isize| {
            offsets(axes.iter().map(|axis| (axis.extent, [step(axis)])))
                .into_iter()
                .flatten()
                .collect()
        };
        let runs: Vec<isize> = one(&block[..within], |axis| axis.to);
        let from: Vec<isize> = one(&block, |axis| axis.from);
        let bytes = from.len() * word;
        let lines =
            if total <= PERMUTE_NEAR_BYTES / bytes.max(1) { Vec::new() } else { lines_read(&from) };
        Some(Self {
            lines,
            ahead: AHEAD.div_ceil(bytes.max(1)),
            word,
            run: run.max(1),
            shuffle: Shuffle::new(word, &runs, &from, level),
            runs,
            from,
            outer: both(outer),
            inner: both(inner),
        })
    }

    /// Bytes of a block.
    pub(crate) fn block_bytes(&self) -> usize {
        self.from.len() * self.word
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.outer.len() * self.inner.len()
    }

    /// Copies some blocks.
    ///
    /// # Safety
    /// `to` and `from` have elements at all offsets of the box, initialised in the source; no other thread accesses
    /// those of the destination, and no element is on both sides.
    pub(crate) unsafe fn copy(&self, blocks: Range<usize>, to: *mut u8, from: *const u8) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.blocks_of_words::<false>(blocks, to, from) };
    }

    /// Copies some blocks with non-temporal stores, if runs are whole cache lines: for arrays out of cache that are not
    /// read soon.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    pub(crate) unsafe fn stream(&self, blocks: Range<usize>, to: *mut u8, from: *const u8) {
        let whole = |bytes: isize| bytes.unsigned_abs().is_multiple_of(LINE);
        let run = (self.run * self.word) as isize;
        let starts = self.runs.iter().chain(self.outer.iter().chain(&self.inner).map(|[to, _]| to));
        let lines = whole(run) && to.addr().is_multiple_of(LINE) && { starts }.all(|&at| whole(at));
        // SAFETY: guaranteed by the caller; `lines` implies that runs are whole cache lines.
        unsafe {
            match lines {
                true => self.blocks_of_words::<true>(blocks, to, from),
                false => self.blocks_of_words::<false>(blocks, to, from),
            }
        }
        fence();
    }

    /// # Safety
    /// As for [`copy`](Self::copy). With `LINES`, runs are whole cache lines.
    unsafe fn blocks_of_words<const LINES: bool>(
        &self,
        blocks: Range<usize>,
        to: *mut u8,
        from: *const u8,
    ) {
        let places = self.places(blocks.clone(), to, from);
        // SAFETY: guaranteed by the caller; words have that many bytes, and `PIECE` of them are 16 bytes.
        unsafe {
            if let Some(shuffle) = &self.shuffle {
                return shuffle.run::<LINES>(places);
            }
            match self.word {
                1 => self.words::<u8, 16, LINES>(blocks, to, from),
                2 => self.words::<u16, 8, LINES>(blocks, to, from),
                4 => self.words::<u32, 4, LINES>(blocks, to, from),
                8 => self.words::<u64, 2, LINES>(blocks, to, from),
                _ => self.words::<[u64; 2], 1, LINES>(blocks, to, from),
            }
        }
    }

    /// # Safety
    /// As for [`copy`](Self::copy), with the words of the box, of which `PIECE` are 16 bytes. With `LINES`, runs are
    /// whole cache lines.
    unsafe fn words<W: Copy, const PIECE: usize, const LINES: bool>(
        &self,
        blocks: Range<usize>,
        to: *mut u8,
        from: *const u8,
    ) {
        for (to, from) in self.places(blocks, to, from) {
            for (&start, places) in self.runs.iter().zip(self.from.chunks_exact(self.run)) {
                let to = to.wrapping_offset(start);
                // SAFETY: guaranteed by the caller.
                unsafe {
                    match LINES {
                        true => lines::<W, PIECE>(places, to, from),
                        false => run::<W>(places, to, from),
                    }
                }
            }
        }
    }

    /// Addresses of some blocks; prefetches later ones.
    #[inline(always)]
    fn places(
        &self,
        blocks: Range<usize>,
        to: *mut u8,
        from: *const u8,
    ) -> impl Iterator<Item = (*mut u8, *const u8)> {
        let ahead = (blocks.start + self.ahead).min(blocks.end)..blocks.end;
        let ahead = self.offsets(ahead).map(|[_, from]| from).chain(std::iter::repeat(0));
        self.offsets(blocks).zip(ahead).map(move |([a, b], later)| {
            for line in &self.lines {
                prefetch_far(from.wrapping_offset(later + line));
            }
            (to.wrapping_offset(a), from.wrapping_offset(b))
        })
    }

    /// Offsets of some blocks.
    #[inline(always)]
    fn offsets(&self, blocks: Range<usize>) -> impl Iterator<Item = [isize; 2]> {
        let count = self.inner.len().max(1);
        let (mut outer, mut inner) = (blocks.start / count, blocks.start % count);
        blocks.map(move |_| {
            let ([a, b], [c, d]) = (self.outer[outer], self.inner[inner]);
            inner += 1;
            if inner == count {
                (outer, inner) = (outer + 1, 0);
            }
            [a + c, b + d]
        })
    }
}

/// Cache lines of the words at these offsets.
fn lines_read(places: &[isize]) -> Vec<isize> {
    let mut lines: Vec<isize> = places.to_vec();
    lines.sort_unstable();
    lines.dedup_by(|next, line| *next - *line < LINE as isize);
    lines
}

/// Gathers words to a contiguous run.
///
/// # Safety
/// `from` has words at these offsets, and `to` has room for them.
#[inline(always)]
unsafe fn run<W: Copy>(places: &[isize], to: *mut u8, from: *const u8) {
    for (n, &place) in places.iter().enumerate() {
        // SAFETY: guaranteed by the caller; words may be unaligned.
        unsafe {
            let word = from.wrapping_offset(place).cast::<W>().read_unaligned();
            to.cast::<W>().add(n).write_unaligned(word);
        }
    }
}

/// Gathers words to whole cache lines with non-temporal stores.
///
/// # Safety
/// `from` has words at these offsets, and `to` has room for them; they are whole cache lines, and `PIECE` of them are
/// 16 bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn lines<W: Copy, const PIECE: usize>(places: &[isize], to: *mut u8, from: *const u8) {
    use std::arch::x86_64::{__m128i, _mm_stream_si128};
    const { assert!(PIECE * size_of::<W>() == size_of::<__m128i>()) };
    for (n, places) in places.chunks_exact(PIECE).enumerate() {
        // SAFETY: guaranteed by the caller; a piece has the size of a store and is aligned to it.
        unsafe {
            let word = |n: usize| from.wrapping_offset(places[n]).cast::<W>().read_unaligned();
            let words: [W; PIECE] = std::array::from_fn(word);
            _mm_stream_si128(to.cast::<__m128i>().add(n), std::mem::transmute_copy(&words));
        }
    }
}

/// # Safety
/// As for [`run`].
#[cfg(any(not(target_arch = "x86_64"), miri))]
unsafe fn lines<W: Copy, const PIECE: usize>(places: &[isize], to: *mut u8, from: *const u8) {
    // SAFETY: guaranteed by the caller.
    unsafe { run::<W>(places, to, from) };
}

/// The same box in the widest words that are contiguous on both sides, and their size in bytes.
fn widened(axes: &[ShortAxis], size: usize) -> (usize, Vec<ShortAxis>) {
    let mut axes: Vec<ShortAxis> = axes.iter().copied().filter(|axis| axis.extent != 1).collect();
    let mut word = size;
    let whole = |word: usize, axis: &ShortAxis| {
        let bytes = word.saturating_mul(axis.extent);
        let neighbours = [axis.to, axis.from] == [word as isize; 2];
        neighbours && bytes.is_power_of_two() && bytes <= WIDEST
    };
    while let Some(at) = axes.iter().position(|axis| whole(word, axis)) {
        word *= axes.remove(at).extent;
    }
    (word, axes)
}

/// Moves the innermost axes of a side to a block, until they fill a cache line there.
fn choose(
    block: &mut Vec<ShortAxis>,
    others: &mut Vec<ShortAxis>,
    word: usize,
    step: fn(&ShortAxis) -> isize,
) {
    let distance = |axis: &ShortAxis| step(axis).unsigned_abs();
    // Axes already in the block fill a part of the line.
    let mut there: Vec<ShortAxis> = block.clone();
    there.sort_by_key(distance);
    others.sort_by_key(distance);
    let (mut bytes, mut there, mut at) = (word, there.into_iter().peekable(), 0);
    while bytes < LINE {
        let Some(&axis) = others.get(at) else { return };
        if let Some(inner) = there.next_if(|inner| distance(inner) < distance(&axis)) {
            bytes = bytes.saturating_mul(if distance(&inner) > 0 { inner.extent } else { 1 });
        } else if distance(&axis) == 0 {
            at += 1;
        } else {
            let part = part(axis.extent, LINE.div_ceil(bytes));
            bytes = bytes.saturating_mul(part);
            others.remove(at);
            let (outer, inner) = axis.split(part);
            block.push(inner);
            if outer.extent > 1 {
                others.insert(at, outer);
            }
        }
    }
}

/// Moves axes to a block of few words, the innermost of the destination first.
fn enlarge(block: &mut Vec<ShortAxis>, others: &mut Vec<ShortAxis>) {
    others.sort_by_key(|axis| axis.to.unsigned_abs());
    while !others.is_empty() && points(block).is_some_and(|words| words < PERMUTE_LEAST_WORDS) {
        let (axis, words) = (others.remove(0), points(block).unwrap_or(1));
        let part = part(axis.extent, PERMUTE_LEAST_WORDS.div_ceil(words.max(1)));
        let (outer, inner) = axis.split(part);
        others.extend((outer.extent > 1).then_some(outer));
        block.push(inner);
        others.sort_by_key(|axis| axis.to.unsigned_abs());
    }
}

/// Length of the parts into which an axis is split, at least `least`; the whole axis, if it cannot be split.
pub(crate) fn part(extent: usize, least: usize) -> usize {
    let fits = |part: &usize| extent.is_multiple_of(*part);
    (least..extent.min(4 * least)).find(fits).unwrap_or(extent)
}

/// The axes of the same box, outermost in the destination first, with those that are nested contiguously on both sides merged.
pub(crate) fn merged(axes: Vec<ShortAxis>) -> Vec<ShortAxis> {
    let mut axes: Vec<ShortAxis> = axes.into_iter().filter(|axis| axis.extent != 1).collect();
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.to.unsigned_abs()));
    let mut merged: Vec<ShortAxis> = Vec::with_capacity(axes.len());
    for axis in axes {
        let whole = |step: isize| step.checked_mul(axis.extent as isize);
        match merged.last_mut() {
            Some(outer)
                if [whole(axis.to), whole(axis.from)] == [Some(outer.to), Some(outer.from)] =>
            {
                *outer = ShortAxis { extent: outer.extent * axis.extent, ..axis };
            }
            _ => merged.push(axis),
        }
    }
    merged
}

/// Number of points of axes; `None` on overflow.
fn points(axes: &[ShortAxis]) -> Option<usize> {
    axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.extent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Line([u8; LINE]);

    /// Copies a dense box of those extents to one whose axes are in another order, and compares.
    fn check(extents: &[usize], order: &[usize], size: usize) {
        let steps = |order: &[usize]| {
            let mut steps = vec![0; extents.len()];
            let mut step = size as isize;
            for &axis in order.iter().rev() {
                steps[axis] = step;
                step *= extents[axis] as isize;
            }
            steps
        };
        let (from, to) = (steps(&(0..extents.len()).collect::<Vec<_>>()), steps(order));
        let axes: Vec<ShortAxis> = (0..extents.len())
            .map(|n| ShortAxis { extent: extents[n], to: to[n], from: from[n] })
            .collect();
        let count: usize = extents.iter().product();
        let source: Vec<u8> = (0..count * size).map(|n| (n % 251) as u8).collect();
        let mut target = vec![0u8; count * size];
        let places = Places::new(&axes, size, Level::best()).expect("short axes");
        // SAFETY: both have all elements of the box.
        unsafe { places.copy(0..places.blocks(), target.as_mut_ptr(), source.as_ptr()) };
        let mut lines = vec![Line([0; LINE]); (count * size).div_ceil(LINE)];
        // SAFETY: both have all elements of the box, and the destination is aligned to cache lines.
        unsafe { places.stream(0..places.blocks(), lines.as_mut_ptr().cast(), source.as_ptr()) };
        let streamed: Vec<u8> = lines.iter().flat_map(|line| line.0).collect();
        assert_eq!(streamed[..count * size], target[..]);
        for point in 0..count {
            let (mut rest, mut a, mut b) = (point, 0, 0);
            for n in (0..extents.len()).rev() {
                let at = (rest % extents[n]) as isize;
                (rest, a, b) = (rest / extents[n], a + at * from[n], b + at * to[n]);
            }
            let (a, b) = (a as usize, b as usize);
            assert_eq!(source[a..a + size], target[b..b + size], "{extents:?} {order:?} {size}");
        }
    }

    #[test]
    fn all_words_in_several_orders() {
        for size in [1, 4, 8, 16] {
            check(&[], &[], size);
            check(&[5], &[0], size);
            check(&[2, 3, 4], &[2, 1, 0], size);
            check(&[2, 3, 4, 2], &[1, 0, 2, 3], size);
            check(&[2, 0, 3], &[2, 1, 0], size);
            check(&[2, 3, 2, 4, 2, 2, 3, 2, 2, 4], &[9, 3, 5, 1, 0, 8, 7, 2, 4, 6], size);
            check(&[2, 3, 2, 4, 2, 2, 3, 2, 2, 4], &[4, 3, 5, 1, 0, 2, 7, 6, 8, 9], size);
            check(&[2, 48, 3, 2, 96], &[1, 4, 0, 2, 3], size);
            check(&[2; 13], &[12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0], size);
        }
    }

    #[test]
    fn more_blocks_than_the_inner_table_has() {
        check(&[2; 17], &[16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 16);
    }

    #[test]
    fn lines_are_whole_on_both_sides() {
        // Sixteen axes of extent 2, reversed: four of them fill a cache line of floats on either side.
        let axes: Vec<ShortAxis> =
            (0..16).map(|n| ShortAxis { extent: 2, to: 4 << n, from: 4 << (15 - n) }).collect();
        let places = Places::new(&axes, 4, Level::best()).unwrap();
        assert_eq!((places.run, places.runs.len(), places.blocks()), (16, 16, 256));
    }

    #[test]
    fn neighbours_on_both_sides_are_one_word() {
        let axes = [(2, 4, 4), (2, 8, 8), (3, 48, 16), (3, 16, 48)];
        let axes = axes.map(|(extent, to, from)| ShortAxis { extent, to, from });
        let places = Places::new(&axes, 4, Level::best()).unwrap();
        assert_eq!((places.word, places.run), (16, 9));
    }

    #[test]
    fn long_axes_are_cut_or_have_no_tables() {
        let plane = |extent: usize| {
            let far = 4 * extent as isize;
            [(4, far), (far, 4)].map(|(to, from)| ShortAxis { extent, to, from })
        };
        assert!(Places::new(&plane(1009), 4, Level::best()).is_none());
        // Unless parts of them fill cache lines.
        let places = Places::new(&plane(1000), 4, Level::best()).unwrap();
        assert_eq!((places.run, places.runs.len()), (20, 20));
    }

    #[test]
    fn nested_axes_merge() {
        let axes = |axes: &[(usize, isize, isize)]| -> Vec<ShortAxis> {
            axes.iter().map(|&(extent, to, from)| ShortAxis { extent, to, from }).collect()
        };
        let box_of = axes(&[(3, 4, 4), (5, 12, 12), (1, 7, 7), (2, 60, 120)]);
        assert_eq!(merged(box_of), axes(&[(2, 60, 120), (15, 4, 4)]));
    }
}
