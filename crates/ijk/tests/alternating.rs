//! Rows of which loads have every second or third element, against plain loops.

use ijk::et::Bindings;
use ijk::ndarray::{Array2, Array3, ArrayView3, s};

/// Programs of `x[h,n,c]` with the channels that they read, and what they compute of them.
type Case = (&'static str, fn([f32; 4]) -> f32);
const CASES: [Case; 5] = [
    ("x[h,n,0] * 2 - x[h,n,1]", |x| x[0] * 2.0 - x[1]),
    ("x[h,n,1] - x[h,n,0] * 2", |x| x[1] - x[0] * 2.0),
    ("x[h,n,2] * 4 + x[h,n,0] - x[h,n,1] * 2", |x| x[2] * 4.0 + x[0] - x[1] * 2.0),
    ("x[h,n,2] * 4 + x[h,n,0]", |x| x[2] * 4.0 + x[0]),
    ("MAX(x[h,n,3] + x[h,n,1], x[h,n,0] - x[h,n,2])", |x| (x[3] + x[1]).max(x[0] - x[2])),
];

fn check(source: &str, function: fn([f32; 4]) -> f32, x: ArrayView3<'_, f32>) {
    let run = |source: String| ijk::et(&source).unwrap().run(Bindings::new().bind("x", x)).unwrap();
    let (rows, length, channels) = x.dim();
    let of = |h, n| {
        let mut all = [0.0; 4];
        all.iter_mut().zip(x.slice(s![h, n, ..])).for_each(|(to, &value)| *to = value);
        function(all)
    };
    let expected = Array2::from_shape_fn((rows, length), |(h, n)| of(h, n));
    let y = run(format!("y[h,n] = {source}\n\ny"));
    let expected: Vec<f32> = expected.into_iter().collect();
    assert_eq!(
        y["y"].as_slice(),
        Some(&expected[..]),
        "{source}, {rows} by {length} by {channels}"
    );
    let greatest = run(format!("y[h] =max {source}\n\ny"));
    let expected: Vec<f32> = { expected.chunks(length) }
        .map(|row| row.iter().copied().fold(f32::NEG_INFINITY, f32::max))
        .collect();
    assert_eq!(greatest["y"].as_slice(), Some(&expected[..]), "greatest of {source}");
}

#[test]
fn alternating_elements() {
    for (rows, length) in [(1, 2), (1, 15), (3, 64), (2, 4097), (70, 130), (1, 10_001)] {
        for channels in 2..=4 {
            let all = Array3::from_shape_fn((rows, length, channels), |(h, n, c)| {
                ((h * 37 + n * 11 + c * 5) % 61) as f32 / 4.0 - 7.0
            });
            for (source, function) in CASES {
                let reads = (0..4).filter(|c| source.contains(&format!("n,{c}]"))).max();
                if reads < Some(channels) {
                    check(source, function, all.view());
                    check(source, function, all.slice(s![.., ..;-1, ..]));
                    check(source, function, all.slice(s![.., 1.., ..]));
                }
            }
        }
    }
}
