//! Permutations of words within blocks by whole registers.
//!
//! A cache line of the destination has words from a few lines of the source. These are loaded whole and merged one
//! after another, by an instruction that selects any words of two registers.

use ijk_kernels::lines::LINE;
#[cfg(target_arch = "x86_64")]
use ijk_kernels::simd::Kind;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::SHUFFLE_LINES;

/// Words of 4 bytes in a cache line.
const LANES: usize = LINE / 4;

/// Composition of the lines of a block.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    targets: Vec<Target>,
    joins: Vec<Join>,
    patterns: Vec<Pattern>,
}

/// A cache line of the destination.
#[derive(Clone, Copy, Debug)]
struct Target {
    to: isize,
    /// Offset of the first source line.
    first: isize,
    /// Number of further source lines.
    joins: usize,
}

/// Merges a source line into the accumulated words.
#[derive(Clone, Copy, Debug)]
struct Join {
    from: isize,
    pattern: usize,
}

/// For each word of a line, its index in the accumulated words followed by those of a source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
struct Pattern([u32; LANES]);

impl Shuffle {
    /// Moves words of `word` bytes, at the offsets `from` in a block, to contiguous runs at `runs`; `None` unless both
    /// sides consist of whole cache lines, each of few source lines, and the level has the instruction.
    pub(super) fn new(word: usize, runs: &[isize], from: &[isize], level: Level) -> Option<Self> {
        if !moves_lines(level) || !word.is_multiple_of(4) || runs.is_empty() {
            return None;
        }
        let parts = 0..(word / 4) as isize;
        let lanes: Vec<isize> =
            from.iter().flat_map(|&at| parts.clone().map(move |n| at + 4 * n)).collect();
        let run = lanes.len() / runs.len();
        if !run.is_multiple_of(LANES) {
            return None;
        }
        let lines = lines_of(&lanes)?;
        let mut shuffle = Self { targets: Vec::new(), joins: Vec::new(), patterns: Vec::new() };
        for (&start, lanes) in runs.iter().zip(lanes.chunks_exact(run)) {
            for (n, lanes) in lanes.chunks_exact(LANES).enumerate() {
                shuffle.push(start + (n * LINE) as isize, lanes, &lines);
            }
        }
        let joins = (SHUFFLE_LINES - 1) * shuffle.targets.len();
        (shuffle.joins.len() <= joins).then_some(shuffle)
    }

    /// Composes the line at `to` from words at the offsets `lanes`, each of which is in one of `lines`.
    fn push(&mut self, to: isize, lanes: &[isize], lines: &[isize]) {
        let line = |at: isize| lines[lines.partition_point(|&line| line <= at) - 1];
        let mut met: Vec<isize> = lanes.iter().map(|&at| line(at)).collect();
        met.sort_unstable();
        met.dedup();
        let first = met.remove(0);
        let whole = Pattern(std::array::from_fn(|lane| lane as u32));
        let start = Pattern(std::array::from_fn(|lane| match line(lanes[lane]) == first {
            true => ((lanes[lane] - first) / 4) as u32,
            false => lane as u32,
        }));
        // A line that is already in order needs no instruction.
        met.extend((met.is_empty() && start != whole).then_some(first));
        for (n, &from) in met.iter().enumerate() {
            let mut pattern = if n == 0 { start } else { whole };
            for (word, &at) in pattern.0.iter_mut().zip(lanes) {
                if from != first && line(at) == from {
                    *word = LANES as u32 + ((at - from) / 4) as u32;
                }
            }
            let pattern = self.pattern(pattern);
            self.joins.push(Join { from, pattern });
        }
        self.targets.push(Target { to, first, joins: met.len() });
    }

    /// Index of a pattern.
    fn pattern(&mut self, pattern: Pattern) -> usize {
        let known = self.patterns.iter().position(|p| *p == pattern);
        known.unwrap_or_else(|| {
            self.patterns.push(pattern);
            self.patterns.len() - 1
        })
    }

    /// Moves blocks at the given addresses. With `STREAM`, stores are non-temporal.
    ///
    /// # Safety
    /// Words exist at the offsets of a block on both sides, at multiples of a cache line with `STREAM`; the processor
    /// supports the level of `self`.
    #[inline(always)]
    pub(super) unsafe fn run<const STREAM: bool>(
        &self,
        blocks: impl Iterator<Item = (*mut u8, *const u8)>,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            x86::run::<STREAM>(self, blocks);
            #[cfg(not(all(target_arch = "x86_64", not(miri))))]
            self.word_by_word(blocks);
        }
    }

    /// Moves blocks without special instructions.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[cfg(any(test, not(all(target_arch = "x86_64", not(miri)))))]
    unsafe fn word_by_word(&self, blocks: impl Iterator<Item = (*mut u8, *const u8)>) {
        for (to, from) in blocks {
            // SAFETY: a line of the block.
            let read = |at: isize| unsafe {
                from.wrapping_offset(at).cast::<[u32; LANES]>().read_unaligned()
            };
            let mut joins = self.joins.iter();
            for target in &self.targets {
                let mut line = read(target.first);
                for join in joins.by_ref().take(target.joins) {
                    let both = [line, read(join.from)];
                    let word = |word: u32| both[word as usize / LANES][word as usize % LANES];
                    line = self.patterns[join.pattern].0.map(word);
                }
                // SAFETY: a line of the block.
                unsafe {
                    to.wrapping_offset(target.to).cast::<[u32; LANES]>().write_unaligned(line)
                };
            }
        }
    }
}

/// Returns true if a level has the instruction.
fn moves_lines(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    return level.kind() == Kind::Avx512;
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        false
    }
}

/// Offsets of the cache lines that words at these offsets form; `None` if they form none.
fn lines_of(lanes: &[isize]) -> Option<Vec<isize>> {
    let mut lanes = lanes.to_vec();
    lanes.sort_unstable();
    let line = |lanes: &[isize]| {
        let neighbours = lanes.windows(2).all(|pair| pair[1] - pair[0] == 4);
        neighbours.then_some(lanes[0])
    };
    lanes.chunks(LANES).map(|lanes| line(lanes).filter(|_| lanes.len() == LANES)).collect()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use super::Shuffle;
    use std::arch::x86_64::*;

    /// # Safety
    /// As for [`Shuffle::run`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn run<const STREAM: bool>(
        shuffle: &Shuffle,
        blocks: impl Iterator<Item = (*mut u8, *const u8)>,
    ) {
        for (to, from) in blocks {
            // SAFETY: a line of the block, which is read whole.
            let read = |at: isize| unsafe { _mm512_loadu_si512(from.wrapping_offset(at).cast()) };
            let mut joins = shuffle.joins.iter();
            for target in &shuffle.targets {
                let mut line = read(target.first);
                for join in joins.by_ref().take(target.joins) {
                    let words = &shuffle.patterns[join.pattern].0;
                    // SAFETY: a pattern has the words of a line, and is aligned to lines.
                    let words = unsafe { _mm512_load_si512(words.as_ptr().cast()) };
                    line = _mm512_permutex2var_epi32(line, words, read(join.from));
                }
                let to = to.wrapping_offset(target.to);
                // SAFETY: a line of the block, which is written whole, aligned to lines if it is streamed.
                unsafe {
                    match STREAM {
                        true => _mm512_stream_si512(to.cast(), line),
                        false => _mm512_storeu_si512(to.cast(), line),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_planes_are_three_lines_of_each_other() {
        // Three interleaved planes, or back.
        let places = |n: isize| (n % 16 * 3 + n / 16) * 4;
        let from: Vec<isize> = (0..48).map(places).collect();
        let Some(shuffle) = Shuffle::new(4, &[0, 640, 1280], &from, Level::best()) else { return };
        assert_eq!((shuffle.targets.len(), shuffle.joins.len()), (3, 6));
        let source: Vec<u32> = (0..48).collect();
        let [mut fast, mut plain] = [[0u32; 336]; 2];
        let block =
            |to: &mut [u32; 336]| std::iter::once((to.as_mut_ptr().cast(), source.as_ptr().cast()));
        // SAFETY: 48 words on each side, of which the last run is from byte 1280 to 1344.
        unsafe {
            shuffle.run::<false>(block(&mut fast));
            shuffle.word_by_word(block(&mut plain));
        }
        assert_eq!(fast, plain);
        for (n, &at) in from.iter().enumerate() {
            assert_eq!(fast[n / 16 * 160 + n % 16], source[at as usize / 4]);
        }
    }

    #[test]
    fn whole_lines_in_order_need_no_join() {
        let dense: Vec<isize> = (0..8).map(|n| 16 * n).collect();
        let Some(shuffle) = Shuffle::new(16, &[512], &dense, Level::best()) else { return };
        assert_eq!((shuffle.targets.len(), shuffle.joins.len()), (2, 0));
        let reversed: Vec<isize> = (0..16).map(|n| 60 - 4 * n).collect();
        let shuffle = Shuffle::new(4, &[0], &reversed, Level::best()).expect("whole lines");
        assert_eq!((shuffle.targets.len(), shuffle.joins.len()), (1, 1));
        let (source, mut target): (Vec<u32>, _) = ((0..16).collect(), [0u32; 16]);
        let block = std::iter::once((target.as_mut_ptr().cast(), source.as_ptr().cast()));
        // SAFETY: a line on each side.
        unsafe { shuffle.run::<false>(block) };
        assert!((0..16).all(|n| target[n] == 15 - n as u32), "{target:?}");
    }

    #[test]
    fn what_is_not_whole_lines_is_left() {
        let dense = |count: isize| (0..count).map(|n| 4 * n).collect::<Vec<isize>>();
        assert!(Shuffle::new(4, &[0], &dense(24), Level::best()).is_none(), "a line and a half");
        assert!(Shuffle::new(1, &[0], &dense(64), Level::best()).is_none(), "bytes");
        let apart: Vec<isize> = (0..16).map(|n| 8 * n).collect();
        assert!(Shuffle::new(4, &[0], &apart, Level::best()).is_none(), "gaps");
        let same = [0; 16];
        assert!(Shuffle::new(4, &[0], &same, Level::best()).is_none(), "one word");
    }
}
