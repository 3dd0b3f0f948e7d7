//! Loads of a body: addresses of their elements in a tile, and the number of these.

use super::{Body, Operand};
use crate::copy::Copier;
use crate::error::Fault;
use crate::nest::geometry::Axis;
use crate::nest::lower::place;
use crate::nest::program::{LoadMode, LoadSpec, OUT, Over, Place, Slot};
use ijk_kernels::lines::AHEAD;
use ijk_kernels::tuning::time::{
    CHAIN_CALL_ROW, CHAIN_LONG_ROW, KERNEL_CALL_ROW, LOADED_POINT, LOADS_PREFETCH_BYTES,
    PACKED_POINT, SPLIT_ELEMENTS, SPLIT_LEAST,
};

impl Body<'_> {
    pub(super) fn load(&mut self, n: usize) -> Result<Operand, Fault> {
        let dtype = self.lowering.nest.loads[n].dtype;
        let probe = self.load_spec(n, OUT, LoadMode::Direct);
        let over = self.spread_of(&probe.place, dtype.size());
        if let Some(slot) = self.load_slots[n] {
            return Ok(Operand { slot, dtype, over });
        }
        let inner = &probe.place.inner[..];
        let direct = match over {
            Over::One | Over::Apart(_) => true,
            Over::Rows => self.geometry.is_dense(&inner[..inner.len() - 1], dtype.size()),
            Over::Columns => true,
            _ => self.geometry.is_dense(inner, dtype.size()),
        };
        let slot = if direct { self.slot(0)? } else { self.register(dtype, over)? };
        let copier = || Copier::new(dtype, self.lowering.level);
        let (mode, nanoseconds) = match (direct, over) {
            (true, _) => (LoadMode::Direct, LOADED_POINT * dtype.size() as f64 / 4.0),
            (_, Over::Rows) => (LoadMode::PackRows(copier()), 0.0),
            _ => (LoadMode::Pack(copier()), PACKED_POINT),
        };
        self.finished.nanoseconds += nanoseconds;
        let stays = !direct && self.stays(&probe.place);
        self.finished.loads.push(LoadSpec { slot, mode, stays, ..probe });
        self.load_slots[n] = Some(slot);
        Ok(Operand { slot, dtype, over })
    }

    /// Extent of a load in a tile: fewer elements than points only if rows are long enough for a kernel call each.
    fn spread_of(&self, place: &Place, size: usize) -> Over {
        let row = self.geometry.inner.last().map_or(1, |&a| self.geometry.loops[a].tile);
        let still = |strides: &[isize]| strides.iter().all(|&s| s == 0);
        match place.inner.split_last() {
            _ if still(&place.inner) => Over::One,
            _ if row < self.shortest_row() => Over::Points,
            _ if self.geometry.is_dense(&place.inner, size) => Over::Points,
            Some((0, _)) => Over::Rows,
            Some((&step, outer)) if !outer.is_empty() && still(outer) && step == size as isize => {
                // Copies of the row for a whole tile, which are made once, leave no short calls.
                if row < CHAIN_LONG_ROW && self.stays(place) { Over::Points } else { Over::Columns }
            }
            Some((&step, &[apart])) if step == size as isize => Over::Apart(apart),
            _ => Over::Points,
        }
    }

    /// Least elements of rows that are read where they are stored: a chain takes several rows in one call.
    fn shortest_row(&self) -> usize {
        if self.lowering.has_links_only() { CHAIN_CALL_ROW } else { KERNEL_CALL_ROW }
    }

    pub(super) fn load_spec(&self, n: usize, slot: Slot, mode: LoadMode) -> LoadSpec {
        let base = self.lowering.nest.loads[n].base;
        let place = place(self.lowering, self.geometry, base, |axis: &Axis| axis.loads[n]);
        let size = self.lowering.nest.loads[n].dtype.size();
        LoadSpec { place, slot, mode, size, stays: false }
    }

    /// Lets loads whose elements lie side by side be packed by one copy: these follow each other in the list.
    pub(super) fn split_loads(&mut self) {
        let loads = &mut self.finished.loads;
        let mut first = 0;
        while first < loads.len() {
            let parts = alternating(&mut loads[first..]);
            if let (true, LoadMode::Pack(copier)) = (parts > 1, loads[first].mode) {
                loads[first].mode = LoadMode::Split(copier, parts);
                for load in &mut loads[first + 1..first + parts] {
                    load.mode = LoadMode::Beside(copier);
                }
            }
            first += parts;
        }
    }

    /// Returns true if an access is at the same elements in all tiles, which the nest does not write.
    fn stays(&self, place: &Place) -> bool {
        let loops = self.geometry.loops.iter().zip(&place.strides);
        let mut moving = loops.filter(|(each, _)| each.tile < each.axis.extent);
        place.buffer != self.lowering.nest.store.base.buffer.0 as usize
            && moving.all(|(_, &stride)| stride == 0)
    }

    /// Returns true if the arrays of all loads together are out of cache.
    pub(super) fn loads_memory(&self) -> bool {
        let loads = &self.lowering.nest.loads;
        // An array is read once, whatever the number of loads.
        let is_first =
            |&n: &usize| loads[..n].iter().all(|l| l.base.buffer != loads[n].base.buffer);
        let bytes = |n: usize| self.read(n).1.saturating_mul(loads[n].dtype.size());
        let firsts = (0..loads.len()).filter(is_first);
        firsts.map(bytes).fold(0, usize::saturating_add) >= LOADS_PREFETCH_BYTES
    }

    /// Prefetch distance of an operand from memory; 0 if it is not read there. Hardware prefetches within a page only,
    /// and tiles of several operands cross pages often. What follows an array with large gaps is not read.
    pub(super) fn prefetch_distance(&self, slot: Slot) -> usize {
        let is_dense = |n: usize| {
            let (elements, span) = self.read(n);
            span / 2 <= elements
        };
        let is_direct =
            |load: &LoadSpec| load.slot == slot && matches!(load.mode, LoadMode::Direct);
        let load = self.load_slots.iter().position(|&own| own == Some(slot));
        let in_memory = self.finished.loads.iter().any(is_direct);
        if in_memory && load.is_some_and(is_dense) { AHEAD } else { 0 }
    }

    /// Number of elements that a load reads, and of those from the first to the last of them in memory.
    fn read(&self, n: usize) -> (usize, usize) {
        let axes = self.geometry.loops.iter().map(|each| (each.axis.extent, each.axis.loads[n]));
        axes.filter(|&(_, stride)| stride != 0).fold(
            (1, 1),
            |(elements, span), (extent, stride)| {
                let reach = stride.unsigned_abs().saturating_mul(extent - 1);
                (extent.saturating_mul(elements), reach.saturating_add(span))
            },
        )
    }
}

/// Brings loads to the beginning of a list whose elements lie side by side in memory, as those of pairs or of small
/// matrices do, in the order of their addresses; returns their number, or 1 if too few are side by side for one copy.
fn alternating(loads: &mut [LoadSpec]) -> usize {
    let LoadSpec { place, size, stays, mode, .. } = loads[0].clone();
    let step = size as isize;
    let apart = place.inner.last().map_or(0, |stride| stride / step);
    let (LoadMode::Pack(_), 2..=SPLIT_ELEMENTS) = (mode, apart) else { return 1 };
    let at = |loads: &[LoadSpec], offset: isize| {
        loads.iter().position(|load| {
            let other = &load.place;
            matches!(load.mode, LoadMode::Pack(_))
                && (load.size, load.stays, other.offset) == (size, stays, offset)
                && (other.buffer, &other.inner, &other.strides)
                    == (place.buffer, &place.inner, &place.strides)
        })
    };
    let mut start = place.offset;
    while at(loads, start - step).is_some() {
        start -= step;
    }
    let mut parts = 0;
    while parts < apart as usize
        && let Some(own) = at(&loads[parts..], start + parts as isize * step)
    {
        loads.swap(parts, parts + own);
        parts += 1;
    }
    // Fewer are packed by shuffles only if nothing lies between them.
    if parts >= SPLIT_LEAST || parts as isize == apart { parts } else { 1 }
}
