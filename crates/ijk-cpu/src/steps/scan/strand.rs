//! Units of a scan: a row, or adjacent rows.

use super::ScanRowAxis;
use ijk_kernels::tuning::order::{SCAN_BLOCK, SCAN_CHUNK_BYTES, STRAND_BYTES, STRAND_LEAST_BYTES};
use smallvec::SmallVec;

/// Layout of the values of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrandLayout {
    /// Those of one row are contiguous, in ascending order of addresses, in both arrays.
    Up,
    /// Contiguous in descending order of addresses.
    Down,
    /// Rows are contiguous to each other.
    Across,
    /// Neither: values are packed.
    Packed,
}

/// The rows of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strand {
    pub way: StrandLayout,
    /// Number of adjacent rows, in strands of `width`; 1 except for [`StrandLayout::Across`].
    pub extent: usize,
    /// Rows of a strand; the last strand has fewer.
    pub width: usize,
}

/// Values that are packed at a time.
pub(super) const PACKED: usize = 8 * SCAN_BLOCK;

impl Strand {
    /// The strand for rows whose values have the strides `steps` in bytes; removes the axis of adjacent rows from
    /// `rows`.
    pub fn choose(
        rows: &mut SmallVec<[ScanRowAxis; 4]>,
        steps: (isize, isize),
        size: usize,
    ) -> Self {
        let unit = size as isize;
        let way = match steps {
            _ if steps == (unit, unit) => StrandLayout::Up,
            _ if steps == (-unit, -unit) => StrandLayout::Down,
            _ => StrandLayout::Packed,
        };
        let wide = |row: &ScanRowAxis| {
            row.from == unit && row.to == unit && row.extent * size >= STRAND_LEAST_BYTES
        };
        if way == StrandLayout::Packed
            && let Some(at) = rows.iter().position(wide)
        {
            let extent = rows.remove(at).extent;
            return Self {
                way: StrandLayout::Across,
                extent,
                width: extent.min(STRAND_BYTES / size),
            };
        }
        Self { way, extent: 1, width: 1 }
    }

    /// Number of adjacent strands.
    pub fn pieces(&self) -> usize {
        self.extent.div_ceil(self.width)
    }

    /// Values of a row in a chunk: whole blocks, as many as may be added sequentially.
    pub fn chunk(&self, size: usize) -> usize {
        if self.way == StrandLayout::Across {
            SCAN_BLOCK
        } else {
            SCAN_CHUNK_BYTES / size / SCAN_BLOCK * SCAN_BLOCK
        }
    }
}
