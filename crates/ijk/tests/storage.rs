//! Values do not depend on how operands are stored: gaps between rows, rows in reverse, other orders of axes.

use ijk::et::Bindings;
use ndarray::{Array1, Array2, ArrayView2, s};

/// Programs of `x[b,d]`, `z[b,d]`, `m[b]` and `c[d]`.
const PROGRAMS: [&str; 10] = [
    "y[b,d] = MAX(x[b,d], 0)\n\ny",
    "y[b,d] = (x[b,d] - m[b]) * c[d] / 3\n\ny",
    "y[b,d] = EXP(x[b,d] - z[b,d])\n\ny",
    "y[b,d] = WHERE(GT(x[b,d], z[b,d]), x[b,d] * 2, z[b,d])\n\ny",
    "y[d,b] = x[b,d] * 2 - z[b,d]\n\ny",
    "y[b] = WHERE(GE(x[b,d], 0), x[b,d], 0)\n\ny",
    "y[b] = POW(x[b,d] - m[b], 2)\n\ny",
    "y[d] = ABS(x[b,d] - z[b,d])\n\ny",
    "y[b] = x[b,d] * z[b,d]\n\ny",
    "y[] =max x[b,d] - c[d]\n\ny",
];

/// Quarters in a small range, of which sums and squares are exact.
fn value(i: usize, j: usize) -> f32 {
    ((i * 37 + j * 11) % 61) as f32 / 4.0 - 7.0
}

/// The elements of an array in other places of memory: calls `each` with its name and the view.
fn stored(array: &Array2<f32>, mut each: impl FnMut(&str, ArrayView2<'_, f32>)) {
    let (rows, columns) = array.dim();
    let mut wide = Array2::from_elem((rows, columns + 3), f32::NAN);
    wide.slice_mut(s![.., ..columns]).assign(array);
    each("gaps", wide.slice(s![.., ..columns]));
    let mut tall = Array2::from_elem((2 * rows, columns), f32::NAN);
    tall.slice_mut(s![..;2, ..]).assign(array);
    each("every second row", tall.slice(s![..;2, ..]));
    let turned = array.slice(s![.., ..;-1]).as_standard_layout().into_owned();
    each("rows in reverse", turned.slice(s![.., ..;-1]));
    let upwards = array.slice(s![..;-1, ..]).as_standard_layout().into_owned();
    each("columns in reverse", upwards.slice(s![..;-1, ..]));
    let across = array.t().as_standard_layout().into_owned();
    each("transposed", across.t());
    let mut apart = Array2::from_elem((rows, 3 * columns), f32::NAN);
    apart.slice_mut(s![.., ..;3]).assign(array);
    each("every third column", apart.slice(s![.., ..;3]));
}

#[test]
fn values_do_not_depend_on_storage() {
    for (rows, columns) in [(5, 300), (90, 70), (40, 129), (300, 17), (1, 1025)] {
        let x = Array2::from_shape_fn((rows, columns), |(i, j)| value(i, j));
        let z = Array2::from_shape_fn((rows, columns), |(i, j)| value(j, i + 3));
        let m = Array1::from_shape_fn(rows, |i| value(i, 1));
        let c = Array1::from_shape_fn(columns, |j| value(j, 2));
        for source in PROGRAMS {
            let program = ijk::et(source).unwrap();
            let run = |x: ArrayView2<'_, f32>| {
                let mut bindings = Bindings::new().bind("x", x);
                if source.contains("z[") {
                    bindings = bindings.bind("z", &z);
                }
                if source.contains("m[") {
                    bindings = bindings.bind("m", &m);
                }
                if source.contains("c[") {
                    bindings = bindings.bind("c", &c);
                }
                program.run(bindings).unwrap()
            };
            let expected = run(x.view());
            stored(&x, |how, x| {
                assert_eq!(
                    run(x)["y"].as_slice::<f32>(),
                    expected["y"].as_slice::<f32>(),
                    "{source} of x with {how}"
                );
            });
        }
    }
}
