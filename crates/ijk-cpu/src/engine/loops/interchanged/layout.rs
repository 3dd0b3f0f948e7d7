//! Blocks: the innermost axis of rows, the number of rows, and the elements that are packed.

use super::access::StreamDraft;
use super::draft::{Draft, Use};
use super::{Pack, PackReads, Stream};
use crate::copy::Copier;
use crate::engine::loops::address::MovingWindow;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{
    INTERCHANGED_PACK_BYTES, INTERCHANGED_PACK_ROWS, INTERCHANGED_PASSES, INTERCHANGED_REACH,
    INTERCHANGED_ROW_BYTES, INTERCHANGED_ROWS,
};
use smallvec::SmallVec;

/// Blocks of rows, and streams with their strides.
pub(super) struct BlockLayout {
    pub outer: SmallVec<[usize; 2]>,
    pub rows: usize,
    pub width: usize,
    pub depth: usize,
    pub streams: Vec<Stream>,
    /// For each stream that it is one element for all rows of a block.
    pub splats: Vec<bool>,
    pub packs: Vec<Pack>,
}

impl BlockLayout {
    /// Of all streams, for a loop with this coordinate.
    pub fn of(
        draft: &Draft<'_>,
        (coordinate, descending): (usize, bool),
        level: Level,
    ) -> Option<Self> {
        let mut extents = draft.rows.clone()?;
        let mut strides: Vec<SmallVec<[isize; 4]>> =
            draft.streams.iter().map(|stream| stream.strides.clone()).collect();
        merge(&mut extents, &mut strides);
        let sizes: Vec<isize> = draft.streams.iter().map(|s| s.dtype.size() as isize).collect();
        let inner = innermost(&extents, &strides, &sizes);
        let mut streams = Vec::new();
        for (stream, own) in draft.streams.iter().zip(&strides) {
            let outer = own.iter().enumerate().filter(|(axis, _)| Some(*axis) != inner);
            streams.push(Stream {
                window: MovingWindow::new(&stream.window, draft.arrays(), (coordinate + 1, 1))
                    .ok()?,
                offset: stream.offset,
                outer: outer.map(|(_, stride)| *stride).collect(),
                along: inner.map_or(stream.dtype.size() as isize, |axis| own[axis]),
                packed: None,
            });
        }
        let splat = |(own, stream): (&Stream, &StreamDraft)| own.along == 0 && !stream.written;
        let splats = streams.iter().zip(&draft.streams).map(splat).collect();
        let outer = extents.iter().enumerate().filter(|(axis, _)| Some(*axis) != inner);
        let mut layout = Self {
            outer: outer.map(|(_, extent)| *extent).collect(),
            rows: inner.map_or(1, |axis| extents[axis]),
            width: 0,
            depth: INTERCHANGED_PASSES,
            streams,
            splats,
            packs: Vec::new(),
        };
        layout.pack(draft, &sizes, level, (coordinate, descending))?;
        layout.place(draft);
        Some(layout)
    }

    /// Chooses the streams that are packed, and their packs.
    fn pack(
        &mut self,
        draft: &Draft<'_>,
        sizes: &[isize],
        level: Level,
        (coordinate, descending): (usize, bool),
    ) -> Option<()> {
        for (n, &size) in sizes.iter().enumerate() {
            let (stream, own) = (&draft.streams[n], &self.streams[n]);
            if own.along == size || self.splats[n] || own.packed.is_some() {
                continue;
            }
            let moves = stream.moves(coordinate);
            // All streams of its kind, with their distances in passes.
            let mut members: Vec<(usize, i64)> = Vec::new();
            for (m, other) in draft.streams.iter().enumerate() {
                let apart = stream.behind(other, coordinate);
                let apart = apart.map(|passes| if descending { -passes } else { passes });
                let apart = apart.filter(|n| n.unsigned_abs() <= INTERCHANGED_REACH as u64);
                let own = other.written && other.window.array == stream.window.array;
                match apart {
                    Some(apart) => members.push((m, apart)),
                    None if own => return None,
                    None => {}
                }
            }
            let least = members.iter().map(|(_, apart)| *apart).min()?;
            let greatest = members.iter().map(|(_, apart)| *apart).max()?;
            for (m, apart) in &members {
                self.streams[*m].packed = Some((self.packs.len(), (apart - least) as usize));
            }
            let first = members.iter().find(|(_, apart)| *apart == least)?.0;
            let pack = self.packs.len();
            let (reads, writes) = self.uses(draft, pack)?;
            if !moves && writes.is_some() {
                return None;
            }
            self.packs.push(Pack {
                first,
                at: 0,
                step: 0,
                size: size as usize,
                moves,
                reach: (greatest - least) as usize,
                copier: Copier::new(stream.dtype, level),
                reads,
                writes,
            });
        }
        Some(())
    }

    /// The elements of a pack that are read before they are written, and where a pass writes.
    fn uses(&self, draft: &Draft<'_>, pack: usize) -> Option<(PackReads, Option<usize>)> {
        let at = |stream: usize| {
            self.streams[stream].packed.filter(|(own, _)| *own == pack).map(|(_, at)| at)
        };
        let mut writes = draft.uses.iter().filter_map(|own| match own {
            Use::Write(stream) => at(*stream),
            Use::Read(_) => None,
        });
        let Some(written) = writes.next() else { return Some((PackReads::All, None)) };
        if writes.any(|other| other != written) {
            return None;
        }
        let mut before = true;
        let mut reads = PackReads::First(0);
        for own in &draft.uses {
            match own {
                Use::Write(stream) => before &= at(*stream).is_none(),
                Use::Read(stream) => match at(*stream) {
                    Some(at) if at > written || (at == written && before) => {
                        reads = PackReads::All;
                    }
                    Some(at) if at < written && reads != PackReads::All => {
                        reads = PackReads::First(written);
                    }
                    _ => {}
                },
            }
        }
        Some((reads, Some(written)))
    }

    /// Chooses blocks, and gives packs their places.
    fn place(&mut self, draft: &Draft<'_>) {
        if self.packs.is_empty() {
            let all: usize = draft.streams.iter().map(|s| s.dtype.size()).sum();
            let most = (INTERCHANGED_ROW_BYTES / all.max(1)).next_multiple_of(INTERCHANGED_ROWS);
            let few = self.rows.div_ceil(4).next_multiple_of(INTERCHANGED_ROWS);
            self.width = self.rows.min(most.min(few));
            return;
        }
        self.width = self.rows.min(INTERCHANGED_PACK_ROWS);
        let step = |pack: &Pack| (self.width * pack.size).next_multiple_of(64);
        let steps: Vec<usize> = self.packs.iter().map(step).collect();
        let moving = self.packs.iter().zip(&steps).filter(|(pack, _)| pack.moves);
        let bytes: usize = moving.map(|(_, step)| step).sum();
        let depth = INTERCHANGED_PACK_BYTES / bytes.max(1);
        self.depth = depth.clamp(INTERCHANGED_REACH, INTERCHANGED_PASSES);
        let depth = self.depth;
        let mut at = 0;
        for (pack, step) in self.packs.iter_mut().zip(steps) {
            (pack.at, pack.step) = (at, step);
            at += pack.passes(depth) * step;
        }
    }

    /// Bytes of all packs.
    pub fn bytes(&self) -> usize {
        self.packs.iter().map(|pack| pack.passes(self.depth) * pack.step).sum()
    }
}

impl Pack {
    /// Passes whose elements it has, for `depth` passes of the loop.
    pub(super) fn passes(&self, depth: usize) -> usize {
        if self.moves { depth + self.reach } else { 1 }
    }
}

/// Merges axes that are nested contiguously in all streams.
fn merge(extents: &mut SmallVec<[usize; 4]>, strides: &mut [SmallVec<[isize; 4]>]) {
    for axis in (1..extents.len()).rev() {
        let fits = |own: &SmallVec<[isize; 4]>| {
            own[axis].checked_mul(extents[axis] as isize) == Some(own[axis - 1])
        };
        if strides.iter().all(fits) {
            extents[axis - 1] *= extents[axis];
            extents.remove(axis);
            for own in strides.iter_mut() {
                own.remove(axis - 1);
            }
        }
    }
}

/// The axis along which most streams are contiguous; the longest of these.
fn innermost(
    extents: &[usize],
    strides: &[SmallVec<[isize; 4]>],
    sizes: &[isize],
) -> Option<usize> {
    let adjacent =
        |axis: usize| strides.iter().zip(sizes).filter(|(own, size)| own[axis] == **size).count();
    (0..extents.len()).max_by_key(|&axis| (adjacent(axis), extents[axis]))
}
