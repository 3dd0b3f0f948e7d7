//! Packing of operands in panels of groups.

use super::kernel::Format;

/// An operand: its first element, and the offsets in bytes of its rows (or columns) and steps.
#[derive(Clone, Copy)]
pub(super) struct PanelSource<'a> {
    pub ptr: *const u8,
    pub rows: &'a [isize],
    pub steps: &'a [isize],
    /// Bytes of an element.
    pub size: usize,
    /// Elements are sign-extended from this many bits, where a group has wider ones.
    pub signed: bool,
    /// Bits of each element that are inverted: the sign of bytes, which adds 128.
    pub flip: u8,
}

/// Packs rows in panels of `width`; rows and steps beyond the last are 0.
///
/// # Safety
/// Every row at every step is an element; `to` has room for all groups of all panels.
pub(super) unsafe fn pack(format: Format, source: &PanelSource<'_>, width: usize, to: *mut u32) {
    let groups = source.steps.len().div_ceil(format.steps());
    for (panel, rows) in source.rows.chunks(width).enumerate() {
        let part = PanelSource { rows, ..*source };
        // SAFETY: guaranteed by the caller.
        unsafe {
            let to = to.add(panel * groups * width);
            match (format, source.size) {
                (Format::Bytes, _) => panel_of::<4>(&part, width, to),
                (_, 1) => extended(&part, width, to),
                _ => panel_of::<2>(&part, width, to),
            }
        }
    }
}

/// Returns true if offsets ascend by `step`.
fn ascend(offsets: &[isize], step: usize) -> bool {
    offsets.windows(2).all(|pair| pair[1] - pair[0] == step as isize)
}

/// Packs a panel of `N` elements in a group, each of `4 / N` bytes.
///
/// # Safety
/// As for [`pack`], for one panel.
unsafe fn panel_of<const N: usize>(source: &PanelSource<'_>, width: usize, to: *mut u32) {
    let size = 4 / N;
    let flip = if size == 1 { u32::from_ne_bytes([source.flip; 4]) } else { 0 };
    let whole = source.steps.len() / N;
    let (along, across) = (ascend(source.steps, size), ascend(source.rows, size));
    let full = source.rows.len() == width;
    for group in 0..source.steps.len().div_ceil(N) {
        let steps = &source.steps[group * N..source.steps.len().min((group + 1) * N)];
        // SAFETY: guaranteed by the caller.
        unsafe {
            let to = to.add(group * width);
            match (group < whole, along, across && full) {
                (true, true, _) => {
                    let from = source.ptr.wrapping_offset(steps[0]);
                    for (n, &row) in source.rows.iter().enumerate() {
                        let joined = from.wrapping_offset(row).cast::<u32>().read_unaligned();
                        to.add(n).write(joined ^ flip);
                    }
                }
                (true, _, true) => {
                    let first = source.ptr.wrapping_offset(source.rows[0]);
                    let rows: [*const u8; N] =
                        std::array::from_fn(|n| first.wrapping_offset(steps[n]));
                    interleave::<N>(rows, width, flip, to);
                }
                _ => {
                    for (n, &row) in source.rows.iter().enumerate() {
                        let from = source.ptr.wrapping_offset(row);
                        let element = |n: usize| element(from.wrapping_offset(steps[n]), size);
                        let each = (0..steps.len()).map(|n| {
                            let bits = (element(n) ^ flip) & (u32::MAX >> (32 - 8 * size));
                            bits << (8 * size * n)
                        });
                        to.add(n).write(each.fold(0, |group, bits| group | bits));
                    }
                }
            }
            (source.rows.len()..width).for_each(|n| to.add(n).write(0));
        }
    }
}

/// Joins `N` rows of contiguous elements, `width` each, in groups.
///
/// # Safety
/// Each row has `width` elements, `to` as many groups.
#[inline(always)]
unsafe fn interleave<const N: usize>(rows: [*const u8; N], width: usize, flip: u32, to: *mut u32) {
    let size = 4 / N;
    for n in 0..width {
        let mut group = 0;
        for (at, row) in rows.iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            let bits = unsafe { element(row.add(n * size), size) };
            group |= bits << (8 * size * at);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { to.add(n).write(group ^ flip) };
    }
}

/// The bits of an element of one or two bytes.
///
/// # Safety
/// It is readable.
#[inline(always)]
unsafe fn element(from: *const u8, size: usize) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match size {
            1 => from.read().into(),
            _ => from.cast::<u16>().read_unaligned().into(),
        }
    }
}

/// Packs a panel of bytes as pairs of `i16`.
///
/// # Safety
/// As for [`pack`], for one panel.
unsafe fn extended(source: &PanelSource<'_>, width: usize, to: *mut u32) {
    let wide = |byte: u8| match source.signed {
        true => byte as i8 as i16 as u16,
        false => byte.into(),
    };
    for (group, steps) in source.steps.chunks(2).enumerate() {
        for n in 0..width {
            let mut joined = 0;
            if let Some(&row) = source.rows.get(n) {
                for (at, &step) in steps.iter().enumerate() {
                    // SAFETY: guaranteed by the caller.
                    let byte = unsafe { source.ptr.wrapping_offset(row + step).read() };
                    joined |= u32::from(wide(byte)) << (16 * at);
                }
            }
            // SAFETY: guaranteed by the caller.
            unsafe { to.add(group * width + n).write(joined) };
        }
    }
}

/// Sums of the bytes of each row of a panel: of the left operand unsigned, of the right signed.
///
/// # Safety
/// The panel has `groups * width` groups.
pub(super) unsafe fn sums(panel: *const u32, groups: usize, signed: bool, sums: &mut [i32]) {
    let width = sums.len();
    sums.fill(0);
    for group in 0..groups {
        for (n, sum) in sums.iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            let bytes = unsafe { panel.add(group * width + n).read() }.to_ne_bytes();
            let each = bytes.map(|x| if signed { i32::from(x as i8) } else { i32::from(x) });
            *sum += each.iter().sum::<i32>();
        }
    }
}
