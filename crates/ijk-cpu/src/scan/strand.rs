//! What is scanned at a time: a row, or rows side by side.

use super::Row;
use crate::nest::BLOCK;
use smallvec::SmallVec;

/// How the values of a strand lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Those of one row are neighbours, from low to high addresses, in both arrays.
    Up,
    /// From high to low.
    Down,
    /// Rows are neighbours.
    Across,
    /// Neither: values go through packed memory.
    Packed,
}

/// The rows of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strand {
    pub way: Way,
    /// All rows that are side by side, in strands of `width`; 1 but for [`Way::Across`].
    pub extent: usize,
    /// Rows of a strand; the last has fewer.
    pub width: usize,
}

/// Bytes of values side by side that are worth it, and that a strand has.
const NARROW: usize = 64;
const WIDE: usize = 2048;

/// Values that are packed at a time.
pub(super) const PACKED: usize = 8 * BLOCK;

/// Bytes of values that a chunk of a row has.
const CHUNK: usize = 1 << 16;

impl Strand {
    /// The strand for rows whose values are so many bytes apart in both arrays; takes the axis that
    /// it goes across from the others.
    pub fn choose(rows: &mut SmallVec<[Row; 4]>, steps: (isize, isize), size: usize) -> Self {
        let unit = size as isize;
        let way = match steps {
            _ if steps == (unit, unit) => Way::Up,
            _ if steps == (-unit, -unit) => Way::Down,
            _ => Way::Packed,
        };
        let wide = |row: &Row| row.from == unit && row.to == unit && row.extent * size >= NARROW;
        if way == Way::Packed
            && let Some(at) = rows.iter().position(wide)
        {
            let extent = rows.remove(at).extent;
            return Self { way: Way::Across, extent, width: extent.min(WIDE / size) };
        }
        Self { way, extent: 1, width: 1 }
    }

    /// How many strands there are side by side.
    pub fn pieces(&self) -> usize {
        self.extent.div_ceil(self.width)
    }

    /// Values of a row in a chunk: whole blocks, and no more one after another than a sum may have.
    pub fn chunk(&self, size: usize) -> usize {
        if self.way == Way::Across { BLOCK } else { CHUNK / size / BLOCK * BLOCK }
    }
}
