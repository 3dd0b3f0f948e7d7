//! Panels and microkernels against plain sums.

use super::kernel::{COLUMNS, Format, ROWS, Tile, TileStart, kernels};
use super::pack::PanelSource;
use ijk_kernels::simd::Level;

/// Packs both operands and multiplies them; returns the sums of the first rows and columns.
fn product(
    wanted: Format,
    level: Level,
    [left, right]: [&[u8]; 2],
    [rows, columns, steps]: [usize; 3],
    size: usize,
) -> (Format, Tile) {
    let (format, kernels) = kernels(wanted, level);
    let groups = steps.div_ceil(format.steps());
    let (mut a, mut b) = (vec![1u32; groups * ROWS], vec![1u32; groups * COLUMNS]);
    let list = |count: usize, step: usize| (0..count).map(|n| (n * step * size) as isize).collect();
    let (by_row, by_step): (Vec<isize>, Vec<isize>) = (list(rows, steps), list(steps, 1));
    let (by_column, down): (Vec<isize>, Vec<isize>) = (list(columns, 1), list(steps, columns));
    let source = |ptr, rows, steps| PanelSource { ptr, rows, steps, size, signed: true, flip: 0 };
    let mut tile = [[0; COLUMNS]; ROWS];
    let start = TileStart { rows: &[0; ROWS], columns: &[0; COLUMNS] };
    // SAFETY: the vectors have room for the panels; offsets are within the operands.
    unsafe {
        (kernels.pack_rows)(format, &source(left.as_ptr(), &by_row, &by_step), a.as_mut_ptr());
        (kernels.pack_columns)(format, &source(right.as_ptr(), &by_column, &down), b.as_mut_ptr());
        (kernels.multiply)(groups, a.as_ptr(), b.as_ptr(), start, &mut tile);
    }
    (format, tile)
}

#[test]
fn bytes_are_multiplied_exactly() {
    for level in Level::available() {
        for [rows, columns, steps] in [[12, 32, 8], [3, 32, 7], [12, 5, 1], [11, 31, 33]] {
            let left: Vec<u8> = (0..rows * steps).map(|n| (n * 37 % 128) as u8).collect();
            let right: Vec<u8> = (0..columns * steps).map(|n| (n * 91) as u8).collect();
            let extents = [rows, columns, steps];
            let (_, tile) = product(Format::Bytes, level, [&left, &right], extents, 1);
            for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                let term = |k: usize| {
                    i32::from(left[i * steps + k] as i8) * i32::from(right[k * columns + j] as i8)
                };
                assert_eq!(tile[i][j] as i32, (0..steps).map(term).sum::<i32>(), "{level:?}");
            }
        }
    }
}

#[test]
fn halves_are_multiplied_in_single_precision() {
    use ijk_types::bf16;
    for level in Level::available() {
        let [rows, columns, steps] = [5, 32, 9];
        let of = |count: usize, scale: f32| -> Vec<bf16> {
            (0..count).map(|n| bf16::from_f32((n % 13) as f32 * scale - 3.0)).collect()
        };
        let (left, right) = (of(rows * steps, 0.5), of(columns * steps, 0.25));
        let bytes = |all: &[bf16]| all.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
        let (a, b) = (bytes(&left), bytes(&right));
        let (_, tile) = product(Format::Halves, level, [&a, &b], [rows, columns, steps], 2);
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            let term =
                |k: usize| f32::from(left[i * steps + k]) * f32::from(right[k * columns + j]);
            let sum: f32 = (0..steps).map(term).sum();
            assert_eq!(f32::from_bits(tile[i][j]), sum, "small integers and quarters are exact");
        }
    }
}
