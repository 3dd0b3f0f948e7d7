//! Results larger than the caches, which are written by non-temporal stores.

use ijk::ndarray::{Array1, Array2, Array4, Axis, s};
use ijk::{Engine, Level, Program, Tensor, TensorView, TensorViewMut, i};

/// Rows and columns of results of 16 MiB and more, whose rows are, and are not, whole cache lines; the
/// rows of one are mapped to the same cache sets.
const SHAPES: [[usize; 2]; 3] = [[2048, 2112], [2051, 2099], [1024, 1024]];

fn engines() -> impl Iterator<Item = Engine> {
    let of = |level| [1, 2, 7].map(|n| Engine::builder().level(level).threads(n).build());
    Level::available().into_iter().flat_map(of)
}

/// Applies a program on every engine, to new memory and to every second row of an array.
fn check(program: &str, inputs: &[TensorView<'_>], expected: &Array2<f32>) {
    let program: Program = i(program).unwrap();
    let [rows, columns] = [expected.nrows(), expected.ncols()];
    for engine in engines() {
        let found: Vec<Tensor> = engine.apply(&program, inputs).unwrap();
        let found: Array2<f32> = found.into_iter().next().unwrap().into_array().unwrap();
        assert!(found == expected, "{} threads", engine.threads());
        let mut apart = Array2::<f32>::zeros((2 * rows, columns + 3));
        let mut part = apart.slice_mut(s![..;2, 1..=columns]);
        let view = TensorViewMut::from_array(&mut part);
        engine.apply_into(&program, inputs, &mut [view]).unwrap();
        assert!(part == expected, "{} threads, apart", engine.threads());
        assert!(apart.slice(s![1..;2, ..]).iter().all(|&x| x == 0.0));
        let mut reversed = Array2::<f32>::zeros((rows, columns));
        let mut part = reversed.slice_mut(s![..;-1, ..]);
        let view = TensorViewMut::from_array(&mut part);
        engine.apply_into(&program, inputs, &mut [view]).unwrap();
        assert!(part == expected, "{} threads, reversed", engine.threads());
    }
}

#[test]
fn sums_of_rows_columns_and_transposes() {
    for [rows, columns] in SHAPES {
        let x = Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 7 + j * 3) % 1000) as f32);
        let t = Array2::from_shape_fn((columns, rows), |(i, j)| ((i * 5 + j) % 777) as f32);
        let row = Array1::from_shape_fn(columns, |j| j as f32);
        let column = Array1::from_shape_fn(rows, |i| i as f32);
        let views = [TensorView::from_array(&x), TensorView::from_array(&row)];
        check("ij+j~ij", &views, &(&x + &row));
        let views = [TensorView::from_array(&x), TensorView::from_array(&column)];
        check("ij+i~ij", &views, &(&x + &column.view().insert_axis(Axis(1))));
        let views = [TensorView::from_array(&x), TensorView::from_array(&t)];
        check("ij+ji~ij", &views, &(&x + &t.t()));
        check("ij~ji", &[TensorView::from_array(&t)], &t.t().to_owned());
        check("ij~ij", &[TensorView::from_array(&x)], &x);
    }
}

#[test]
fn permutations() {
    let x = Array4::from_shape_fn((40, 37, 36, 96), |(a, b, c, d)| {
        (((a * 37 + b) * 36 + c) * 96 + d) as f32
    });
    let program = i("abcd~dbca").unwrap();
    let expected = x.view().permuted_axes([3, 1, 2, 0]);
    for engine in engines() {
        let found = engine.apply(&program, &[TensorView::from_array(&x)][..]).unwrap();
        let found: Array4<f32> = found.into_iter().next().unwrap().into_array().unwrap();
        assert!(found == expected);
    }
}

/// Strided operands are copied first: the result is that of a given copy.
#[test]
fn contractions_of_rows_that_lie_apart() {
    let x = Array4::from_shape_fn((25, 16, 20, 16), |(a, e, b, f)| {
        (((a * 16 + e) * 20 + b) * 16 + f) as i32 % 101
    });
    let y = Array4::from_shape_fn((16, 16, 16, 40), |(f, d, e, c)| {
        (((f * 16 + d) * 16 + e) * 40 + c) as i32 % 103
    });
    let near = y.view().permuted_axes([0, 2, 3, 1]).as_standard_layout().into_owned();
    let [apart, plain] = ["+(aebf*fdec)~abcd", "+(aebf*fecd)~abcd"].map(|s| i(s).unwrap());
    for engine in engines() {
        let apply = |program: &Program, y: &Array4<i32>| {
            let inputs = [TensorView::from_array(&x), TensorView::from_array(y)];
            let found = engine.apply(program, &inputs[..]).unwrap();
            found.into_iter().next().unwrap().into_array::<i32, ndarray::Ix4>().unwrap()
        };
        assert!(apply(&apart, &y) == apply(&plain, &near), "{} threads", engine.threads());
    }
}

/// Adds rows of updates at positions, in order; positions outside of the table are skipped.
fn added(table: &Array2<f32>, rows: &Array1<i64>, updates: &Array2<f32>) -> Array2<f32> {
    let mut result = table.clone();
    for (&row, update) in rows.iter().zip(updates.rows()) {
        if (0..table.nrows() as i64).contains(&row) {
            let mut to = result.row_mut(row as usize);
            to += &update;
        }
    }
    result
}

#[test]
fn rows_added_to_a_large_table() {
    let program = "result[e,s] = table[e,s]\nresult[rows[p] - 3,s] += updates[p,s]\n\nresult";
    let program = ijk::et(program).unwrap();
    // Rows for two regions of the table; more of them than are sorted at a time; few of them.
    for (places, width, count) in [(9_000, 100, 20_000), (80_000, 9, 300_000), (9_000, 100, 300)] {
        let number = |n: usize| (n * 7919 % 1009) as f32 * 0.37 - 150.0;
        let table = Array2::from_shape_fn((places, width), |(e, s)| number(e * width + s));
        let updates = Array2::from_shape_fn((count, width), |(p, s)| number(p * 31 + s * 17 + 5));
        // Many positions are equal, and some are outside of the table.
        let place = |p: usize| (p * 48_271 % 65_537 * [1, 7, 7][p % 3] % (places + 6)) as i64;
        let rows = Array1::from_shape_fn(count, place);
        let expected = added(&table, &rows.mapv(|row| row - 3), &updates);
        for engine in engines() {
            let bindings = ijk::et::Bindings::new();
            let bindings = bindings.bind("table", &table).bind("rows", &rows);
            let bindings = bindings.bind("updates", &updates);
            let result = program.run_on(&engine, bindings).unwrap();
            assert_eq!(result["result"].shape(), [places, width]);
            let found: &[f32] = result["result"].as_slice().unwrap();
            let same = expected.iter().zip(found).all(|(x, y)| x.to_bits() == y.to_bits());
            assert!(same, "{count} rows, {} threads", engine.threads());
        }
    }
}
