//! Programs on arrays of small integers, compared with the core interpreter.

use ijk_cpu::{Engine, Level};
use ijk_oracle::random::{Layout as Places, Placed, View, ViewMut};
use ijk_oracle::{Value, interpret};
use ijk_plan::{Layout, plan};
use ijk_types::{C64, C128, DType, Scalar};

/// Engines of all levels, with 1, 2 and 7 threads.
pub fn engines() -> Vec<Engine> {
    let build = |level| [1, 2, 7].map(|n| Engine::builder().level(level).threads(n).build());
    Level::available().into_iter().flat_map(build).collect()
}

fn values(t: DType, shape: &[usize], seed: u64) -> Value {
    let mut state = seed;
    let number = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = (state >> 40) as i64 % 7 - 3;
        match t {
            DType::F32 => Scalar::F32(x as f32),
            DType::F64 => Scalar::F64(x as f64),
            DType::I32 => Scalar::I32(x as i32),
            DType::Bool => Scalar::Bool(x > 0),
            DType::C64 => Scalar::C64(C64::new(x as f32, -x as f32)),
            DType::C128 => Scalar::C128(C128::new(x as f64, 2.0 * x as f64)),
            _ => Scalar::I64(x),
        }
    };
    let data = (0..shape.iter().product::<usize>()).map(number).collect();
    Value { dtype: t, shape: shape.to_vec(), data }
}

/// Runs a program on arguments of a type and of those shapes, and compares results bitwise.
pub fn check(source: &str, shapes: &[&[usize]], t: DType, engines: &[Engine]) {
    let program = ijk_ir::compile_source(source).program.expect(source);
    let wide: Vec<Vec<u64>> =
        shapes.iter().map(|s| s.iter().map(|&n| n as u64).collect()).collect();
    let arguments: Vec<_> = wide.iter().map(|shape| (t, &shape[..])).collect();
    let instance = ijk_ir::instantiate(&program, &arguments).expect(source);
    let inputs: Vec<Value> =
        shapes.iter().enumerate().map(|(n, s)| values(t, s, n as u64)).collect();
    let expected = interpret(&program, &instance, &inputs).expect(source);
    let plan = plan(&program, &instance, &Layout::contiguous(&program, &instance)).unwrap();
    let place = |value: &Value| Placed::value(value, &Places::contiguous(value.shape.len()));
    let placed: Vec<Placed> = inputs.iter().map(place).collect();
    for engine in engines {
        let views: Vec<View> = placed.iter().map(Placed::view).collect();
        let views: Vec<_> = views.iter().map(View::tensor).collect();
        let zero = Value::full(t, &expected[0].shape, Scalar::zero(t));
        let mut found = place(&zero);
        let mut view: ViewMut = found.view_mut();
        engine.run(&plan, &views, &mut [view.tensor()]).unwrap();
        drop(view);
        let same = |(x, y): (&Scalar, &Scalar)| ijk_oracle::same_bits(*x, *y);
        let found = found.to_value();
        let equal = expected[0].data.iter().zip(&found.data).all(same);
        assert!(equal, "{source} of {t} at {:?}", engine.level());
    }
}
