//! Files go to NumPy and come back. Skipped where there is none; see `docs/TESTING.md`.

use ijk_tensor::Tensor;
use ijk_tensor::file::{npy, npz};
use ijk_types::{C64, C128, DType, Scalar, UnaryOp, scalar};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An interpreter that has NumPy.
fn python() -> Option<PathBuf> {
    let interpreter = match std::env::var_os("IJK_PYTHON") {
        // Tests run in the directory of their crate; the variable is relative to the workspace.
        Some(path) => Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path),
        None => "python3".into(),
    };
    let works = Command::new(&interpreter).args(["-c", "import numpy"]).output();
    if works.is_ok_and(|output| output.status.success()) {
        return Some(interpreter);
    }
    eprintln!("skipped: {} has no NumPy", interpreter.display());
    None
}

/// The value that NumPy will compute alike: row-major position, wrapped small.
fn sample(dtype: DType, shape: &[usize]) -> Tensor {
    let count = shape.iter().product::<usize>() as i32;
    let scalar = |n: i32| match dtype {
        DType::Bool => Scalar::Bool(n % 3 == 0),
        DType::I32 => Scalar::I32(n - 2),
        DType::I64 => Scalar::I64(i64::from(n) - 2),
        DType::F32 => Scalar::F32(n as f32 - 2.0),
        DType::F64 => Scalar::F64(f64::from(n) - 2.0),
        DType::C64 => Scalar::C64(C64::new(n as f32 - 2.0, 1.0)),
        DType::C128 => Scalar::C128(C128::new(f64::from(n) - 2.0, 1.0)),
        _ => scalar::unary(UnaryOp::Cast(dtype), Scalar::I32(n - 2)).unwrap(),
    };
    Tensor::from_scalars(dtype, shape, (0..count).map(scalar)).unwrap()
}

const SHAPES: [&[usize]; 5] = [&[], &[3], &[0, 2], &[2, 3], &[2, 1, 4]];

const CHECK: &str = r#"
import sys, numpy as np
names = dict(bool='bool', u8='uint8', u16='uint16', u32='uint32', u64='uint64', i8='int8', i16='int16', f16='float16')
names |= dict(i32='int32', i64='int64', f32='float32', f64='float64', c64='complex64', c128='complex128')
for name, dtype in names.items():
    for number, shape in enumerate([(), (3,), (0, 2), (2, 3), (2, 1, 4)]):
        count = np.arange(int(np.prod(shape, dtype=int)))
        x = count % 3 == 0 if name == 'bool' else count - 2 + (1j if name[0] == 'c' else 0)
        x = x.reshape(shape).astype(dtype)
        ours = np.load(f'{name}{number}.npy')
        assert ours.dtype == x.dtype and ours.shape == x.shape and (ours == x).all(), (name, shape)
        np.save(f'{name}{number}-c.npy', x)
        np.save(f'{name}{number}-f.npy', np.asfortranarray(x) if shape else x)
        np.save(f'{name}{number}-big.npy', x.astype(x.dtype.newbyteorder('>')))
        np.savez(f'{name}{number}-stored.npz', first=x, second=x)
        np.savez_compressed(f'{name}{number}-packed.npz', x)
with np.load('ours.npz') as z:
    assert z.files == ['a', 'b'] and z['a'].shape == (2, 3) and z['b'].dtype == np.complex64
np.save('small.npy', np.zeros(3, np.longdouble))
np.save('record.npy', np.zeros(3, [('x', 'f4')]))
np.save('text.npy', np.array(['a', 'bc']))
np.save('object.npy', np.array([None]), allow_pickle=True)
"#;

#[test]
fn files_to_numpy_and_back() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    // NumPy has no `bf16`.
    for dtype in DType::ALL.into_iter().filter(|&t| t != DType::BF16) {
        for (number, shape) in SHAPES.iter().enumerate() {
            let tensor = sample(dtype, shape);
            npy::write(path(&format!("{dtype}{number}.npy")), &tensor.view()).unwrap();
        }
    }
    let (a, b) = (sample(DType::F64, &[2, 3]), sample(DType::C64, &[3]));
    npz::write(path("ours.npz"), &[("a", a.view()), ("b", b.view())], true).unwrap();

    let run = Command::new(python).args(["-c", CHECK]).current_dir(&directory).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));

    // NumPy has no `bf16`.
    for dtype in DType::ALL.into_iter().filter(|&t| t != DType::BF16) {
        for (number, shape) in SHAPES.iter().enumerate() {
            let expected = sample(dtype, shape);
            for kind in ["c", "f", "big"] {
                let back = npy::read(path(&format!("{dtype}{number}-{kind}.npy"))).unwrap();
                assert_eq!(back, expected, "{dtype} {shape:?} {kind}");
            }
            let stored = npz::read(path(&format!("{dtype}{number}-stored.npz"))).unwrap();
            assert_eq!(stored[1], ("second".to_string(), expected.clone()));
            let packed = npz::read(path(&format!("{dtype}{number}-packed.npz"))).unwrap();
            assert_eq!(packed, [("arr_0".to_string(), expected)]);
        }
    }
    for (name, reason) in [
        ("small.npy", "astype(np.float64)"),
        ("record.npy", "records"),
        ("text.npy", "text"),
        ("object.npy", "Python objects"),
    ] {
        let message = npy::read(path(name)).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}
