//! Reductions over windows: pooling, depthwise convolution and the like, of all sizes and layouts;
//! and what windows are added to: transposed convolution.

use ijk_cpu::{Engine, Level};
use ijk_oracle::random::{Layout as Places, Placed, View, ViewMut};
use ijk_oracle::{Value, interpret};
use ijk_plan::{Layout, plan};
use ijk_types::{DType, Scalar};

/// Programs, and shapes of their arguments.
const CASES: &[(&str, &[&[usize]])] = &[
    // Depthwise convolution, channels first and last, strided, dilated, of many taps.
    ("+(nc[h+r][w+s]*crs)~nchw", &[&[2, 5, 11, 10], &[5, 3, 3]]),
    ("+(nc[h+r][w+s]*crs)~nchw", &[&[1, 3, 9, 140], &[3, 2, 5]]),
    ("+(n[h+r][w+s]c*rsc)~nhwc", &[&[2, 9, 9, 37], &[3, 3, 37]]),
    ("+(nc[2*h+r][2*w+s]*crs)~nchw", &[&[2, 3, 21, 43], &[3, 3, 3]]),
    ("+(nc[h+2*r][w+3*s]*crs)~nchw", &[&[2, 3, 20, 50], &[3, 3, 3]]),
    ("+(c[h+r][w+s]*crs)~chw", &[&[2, 30, 40], &[2, 9, 11]]),
    ("+(crs*c[h+r][w+s])~chw", &[&[4, 3, 3], &[4, 12, 20]]),
    // Pooling, by operators and strides.
    (">nc[2*h+r{2}][2*w+s{2}]~nchw", &[&[2, 3, 12, 66]]),
    (">nc[2*h+r{3}][2*w+s{3}]~nchw", &[&[2, 3, 13, 67]]),
    ("<nc[2*h+r{3}][w+s{3}]~nchw", &[&[1, 3, 13, 36]]),
    ("+nc[3*h+r{3}][3*w+s{3}]~nchw", &[&[1, 3, 12, 36]]),
    ("+n[2*h+r{2}][2*w+s{2}]c~nhwc", &[&[1, 8, 10, 17]]),
    (">n[h+r{3}]~nh", &[&[7, 60]]),
    // Rows longer than are computed at a time.
    (">[i+k{5}]~i", &[&[9000]]),
    ("+[2*i+k{4}]~i", &[&[20000]]),
    // The tropical semirings, and a transposed output.
    (">(n[h+r][w+s]+rs)~nhw", &[&[4, 9, 30], &[2, 3]]),
    ("<(n[h+r][w+s]+rs)~nwh", &[&[4, 9, 30], &[2, 3]]),
    // Windows of the output, of all layouts, small and large; elements that nothing reaches.
    ("+(nchw*cfrs)~nf[2*h+r][2*w+s]", &[&[2, 8, 9, 11], &[8, 5, 3, 3]]),
    ("+(nchw*cfrs)~nf[h+r][w+s]", &[&[2, 4, 9, 80], &[4, 2, 3, 5]]),
    ("+(nhwc*rsfc)~n[3*h+r][2*w+s]f", &[&[2, 7, 6, 5], &[2, 4, 9, 5]]),
    ("+nfrshw~nf[2*h+r][2*w+s]", &[&[2, 3, 2, 3, 9, 10]]),
    (">nhwfrs~nf[2*h+r][w+s]", &[&[2, 9, 10, 3, 2, 3]]),
    ("+ik~[i+k]", &[&[9000, 7]]),
    ("+ki~[i+2*k]", &[&[5, 9000]]),
    ("<hwrs~[h+r][w+s]", &[&[70, 90, 3, 3]]),
    ("+ijk~[i+j+k]", &[&[9, 40, 7]]),
    // Few neighbours of several rows.
    ("+nic~nc", &[&[5, 9, 70]]),
];

fn values(t: DType, shape: &[usize], seed: u64) -> Value {
    let mut state = seed;
    let number = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = (state >> 40) as i64 % 7 - 3;
        match t {
            DType::F32 => Scalar::F32(x as f32),
            DType::F64 => Scalar::F64(x as f64),
            DType::I32 => Scalar::I32(x as i32),
            _ => Scalar::I64(x),
        }
    };
    let data = (0..shape.iter().product::<usize>()).map(number).collect();
    Value { dtype: t, shape: shape.to_vec(), data }
}

#[test]
fn windows_are_right_for_all_levels_and_threads() {
    let build = |level| [1, 2, 7].map(|n| Engine::builder().level(level).threads(n).build());
    let engines: Vec<Engine> = Level::available().into_iter().flat_map(build).collect();
    for (source, shapes) in CASES {
        for t in [DType::F32, DType::F64, DType::I32, DType::I64] {
            let program = ijk_ir::compile_source(source).program.expect(source);
            let wide: Vec<Vec<u64>> =
                shapes.iter().map(|s| s.iter().map(|&n| n as u64).collect()).collect();
            let arguments: Vec<_> = wide.iter().map(|shape| (t, &shape[..])).collect();
            let instance = ijk_ir::instantiate(&program, &arguments).expect(source);
            let inputs: Vec<Value> =
                shapes.iter().enumerate().map(|(n, s)| values(t, s, n as u64)).collect();
            let expected = interpret(&program, &instance, &inputs).expect(source);
            let plan = plan(&program, &instance, &Layout::contiguous(&program, &instance)).unwrap();
            let place =
                |value: &Value| Placed::value(value, &Places::contiguous(value.shape.len()));
            let placed: Vec<Placed> = inputs.iter().map(place).collect();
            for engine in &engines {
                let views: Vec<View> = placed.iter().map(Placed::view).collect();
                let views: Vec<_> = views.iter().map(View::tensor).collect();
                let zero = Value::full(t, &expected[0].shape, Scalar::zero(t));
                let mut found = place(&zero);
                let mut view: ViewMut = found.view_mut();
                engine.run(&plan, &views, &mut [view.tensor()]).unwrap();
                drop(view);
                let same = |(x, y): (&Scalar, &Scalar)| ijk_oracle::same_bits(*x, *y);
                let found = found.to_value();
                assert!(
                    expected[0].data.iter().zip(&found.data).all(same),
                    "{source} of {t} at {:?}",
                    engine.level()
                );
            }
        }
    }
}
