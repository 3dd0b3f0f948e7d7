//! `.npy` files: what is written is read, and whatever is wrong is said with its place.

use ijk_tensor::file::npy;
use ijk_tensor::{Tensor, TensorView};
use ijk_types::{C64, C128, DType, Element, Scalar, UnaryOp, scalar};
use ndarray::{Array, Array2, ShapeBuilder, array, s};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// A file with that header and data; `length` of the header is as it should be.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn header(descr: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
}

/// Result of a reader, which must not depend on it knowing the length.
fn decode(bytes: &[u8]) -> Result<Tensor, String> {
    let sized = npy::decode(bytes, Some(bytes.len() as u64)).map_err(|e| e.to_string());
    let unsized_ = npy::decode(bytes, None).map_err(|e| e.to_string());
    assert_eq!(sized.is_ok(), unsized_.is_ok(), "{sized:?} {unsized_:?}");
    sized
}

fn refuse(bytes: &[u8]) -> String {
    decode(bytes).expect_err("should be refused")
}

/// A finite or infinite number of every type, so that equality can compare.
fn tensors() -> impl Strategy<Value = Tensor> {
    let shapes = prop::collection::vec(0usize..4, 0..5);
    (shapes, prop::sample::select(&DType::ALL[..]), any::<i64>()).prop_map(
        |(shape, dtype, seed)| {
            let count = shape.iter().product::<usize>() as i64;
            let value = |n: i64| seed.wrapping_mul(n.wrapping_mul(2_654_435_761) | 1);
            let scalar = |x: i64| match dtype {
                DType::Bool => Scalar::Bool(x & 1 == 1),
                DType::I32 => Scalar::I32(x as i32),
                DType::I64 => Scalar::I64(x),
                DType::F32 => Scalar::F32(x as f32),
                DType::F64 => Scalar::F64(x as f64),
                DType::C64 => Scalar::C64(C64::new(x as f32, -1.5)),
                DType::C128 => Scalar::C128(C128::new(0.5, x as f64)),
                _ => scalar::unary(UnaryOp::Cast(dtype), Scalar::I64(x)).unwrap(),
            };
            Tensor::from_scalars(dtype, &shape, (0..count).map(value).map(scalar)).unwrap()
        },
    )
}

proptest! {
    #[test]
    fn round_trip(tensor in tensors()) {
        let mut bytes = Vec::new();
        npy::encode(&mut bytes, &tensor.view()).unwrap();
        prop_assert_eq!(decode(&bytes).unwrap(), tensor);
        for end in 0..bytes.len() {
            prop_assert!(refuse(&bytes[..end]).len() > 10);
        }
        bytes.push(0);
        prop_assert!(refuse(&bytes).contains("goes on"));
    }

    #[test]
    fn damaged_files_never_panic(
        tensor in tensors(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = Vec::new();
        npy::encode(&mut bytes, &tensor.view()).unwrap();
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = decode(&bytes);
    }

    #[test]
    fn any_header_never_panics(text in "[{}()\\[\\]':, 0-9Ldescrshapfontd_<>|TrueFalse\n\\\\-]{0,80}") {
        let _ = decode(&file(&text, &[0; 64]));
    }
}

#[test]
fn any_layout_is_written_in_c_order() {
    let x = Array::from_iter(0..24).into_shape_with_order((2, 3, 4)).unwrap();
    let x = x.slice(s![..;-1, .., ..;2]).permuted_axes([2, 0, 1]);
    let mut bytes = Vec::new();
    npy::encode(&mut bytes, &TensorView::from_array(&x)).unwrap();
    assert_eq!(decode(&bytes).unwrap().into_array::<i32, _>().unwrap(), x);
}

/// The bytes of numbers in both orders, and the arrays they are.
fn both_orders<T: Element>(code: &str, expected: [T; 2], little: &[u8], number: usize) {
    let expected = Tensor::from_vec(expected.to_vec(), &[2]).unwrap();
    let big: Vec<_> = little.chunks(number).flat_map(|x| x.iter().rev().copied()).collect();
    for (order, data) in [('<', little), ('>', &big)] {
        let bytes = file(&header(&format!("'{order}{code}'"), false, "(2,)"), data);
        assert_eq!(decode(&bytes).unwrap(), expected, "{order}{code}");
    }
}

#[test]
fn byte_orders() {
    both_orders("i4", [1i32, -2], &[1i32, -2].map(i32::to_le_bytes).concat(), 4);
    both_orders("i8", [1i64, -2], &[1i64, -2].map(i64::to_le_bytes).concat(), 8);
    both_orders("f4", [1.5f32, -2.0], &[1.5f32, -2.0].map(f32::to_le_bytes).concat(), 4);
    both_orders("f8", [1.5f64, -2.0], &[1.5f64, -2.0].map(f64::to_le_bytes).concat(), 8);
    let c64 = [C64::new(1.0, 2.0), C64::new(3.0, 4.0)];
    both_orders("c8", c64, &[1f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat(), 4);
    let c128 = [C128::new(1.0, 2.0), C128::new(3.0, 4.0)];
    both_orders("c16", c128, &[1f64, 2.0, 3.0, 4.0].map(f64::to_le_bytes).concat(), 8);
    for order in ["|", "<", ">", "="] {
        let bytes = file(&header(&format!("'{order}b1'"), false, "(2,)"), &[1, 0]);
        let expected = Tensor::from_vec(vec![true, false], &[2]).unwrap();
        assert_eq!(decode(&bytes).unwrap(), expected);
    }
}

#[test]
fn fortran_order() {
    let x = array![[[1i32, 2, 3, 4], [5, 6, 7, 8]], [[9, 10, 11, 12], [13, 14, 15, 16]]];
    let mut columns = ndarray::Array3::zeros((2, 2, 4).f());
    columns.assign(&x);
    let data: Vec<u8> =
        columns.as_slice_memory_order().unwrap().iter().flat_map(|x| x.to_le_bytes()).collect();
    let bytes = file(&header("'<i4'", true, "(2, 2, 4)"), &data);
    assert_eq!(decode(&bytes).unwrap(), Tensor::from_array(x));
}

#[test]
fn versions() {
    let text = header("'<i4'", false, "()");
    for (version, size) in [(1, 2), (2, 4), (3, 4)] {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        bytes.extend(&(text.len() as u32).to_le_bytes()[..size]);
        bytes.extend(text.as_bytes());
        bytes.extend(7i32.to_le_bytes());
        assert_eq!(decode(&bytes).unwrap().get(&[]), Scalar::I32(7));
    }
    assert!(refuse(b"\x93NUMPY\x04\x00\x00\x00").contains("version 4.0"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let wrong = |header: &str| refuse(&file(header, &[]));
    for (bytes, message) in [
        (&b""[..], "not a .npy file: it is empty (byte 0)"),
        (b"PK\x03\x04", "not a .npy file: it starts with \"PK\\\\x03\\\\x04\""),
        (b"1,2,3\n4,5,6\n", "not a .npy file"),
        (b"\x93NUMPY", "file ends at byte 6, within the version"),
        (b"\x93NUMPY\x01\x00\x05", "file ends at byte 9, within the header's length"),
        (b"\x93NUMPY\x01\x00\x05\x00{}", "file ends at byte 12, within the header"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "length of 4294967295 bytes"),
    ] {
        assert!(refuse(bytes).contains(message), "{}", refuse(bytes));
    }
    assert!(wrong("{'descr' '<f4'}").contains("expected `:`, found `'` (byte 19)"));
    assert!(wrong("(1, 2)").contains("not a dictionary"));
    assert!(wrong("{'descr': '<f4', 'fortran_order': False}").contains("no entry 'shape'"));
    assert!(wrong(&header("'<f4'", false, "(-1,)")).contains("extent -1"));
    assert!(wrong(&header("'<f4'", false, "(1.5,)")).contains("expected `)`, found `.`"));
    assert!(wrong(&header("'<f4'", false, "7")).contains("not a tuple"));
    assert!(wrong(&header("'<f4'", false, "('a',)")).contains("other than integers"));
    assert!(wrong(&"(".repeat(60_000)).contains("nested too deeply"));
    assert!(wrong(&header("'<f16'", false, "(2,)")).contains("astype(np.float64)"));
    assert!(wrong(&header("[('a', '<f4')]", false, "(2,)")).contains("records"));
    let short = refuse(&file(&header("'<f8'", false, "(2,)"), &[0; 12]));
    assert!(short.contains("16 bytes of data are announced but 12 follow"), "{short}");
}

#[test]
fn any_byte_but_0_is_true() {
    let bytes = file(&header("'|b1'", false, "(4,)"), &[0, 1, 2, 255]);
    for length in [None, Some(bytes.len() as u64)] {
        let tensor = npy::decode(&bytes[..], length).unwrap();
        assert_eq!(tensor.as_slice::<bool>(), Some(&[false, true, true, true][..]));
        assert_eq!(tensor.as_bytes(), [0, 1, 1, 1]);
    }
}

#[test]
fn absurd_claims_allocate_nothing() {
    for shape in ["(1125899906842624,)", "(4294967296, 65536)"] {
        assert!(refuse(&file(&header("'<f8'", false, shape), &[0; 8])).contains("truncated"));
    }
    for shape in
        ["(9223372036854775807,)", "(4294967296, 4294967296, 0)", "(99999999999999999999,)"]
    {
        let message = refuse(&file(&header("'<f8'", false, shape), &[0; 8]));
        assert!(message.contains("too large") || message.contains("64 bits"), "{message}");
    }
}

#[test]
fn files_are_named_in_errors() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("absent.npy");
    let message = npy::read(&path).unwrap_err().to_string();
    assert_eq!(message, format!("{}: cannot read: no such file or directory", path.display()));
    let message = npy::read(directory.path()).unwrap_err().to_string();
    assert!(message.ends_with("is a directory, not a file"), "{message}");
}

fn listing(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn outputs_appear_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.npy");
    let x = array![1.0f32, 2.0];
    fs::write(&path, "old").unwrap();

    drop(npy::stage(&path, &TensorView::from_array(&x)).unwrap());
    assert_eq!(
        (fs::read(&path).unwrap(), listing(directory.path())),
        (b"old".to_vec(), vec!["x.npy".into()])
    );

    let number = [0u8; 1];
    // A view of more than can be copied fails after the header is written.
    let wide = ndarray::aview1(&number);
    let wide = wide.mapv(|_| 1.0f64);
    let wide = wide.broadcast(1 << 52).unwrap();
    assert!(npy::write(&path, &TensorView::from_array(&wide)).is_err());
    assert_eq!(
        (fs::read(&path).unwrap(), listing(directory.path())),
        (b"old".to_vec(), vec!["x.npy".into()])
    );

    npy::write(&path, &TensorView::from_array(&x)).unwrap();
    assert_eq!(npy::read(&path).unwrap(), Tensor::from_array(x.clone()));
    assert_eq!(listing(directory.path()), ["x.npy"]);

    let into = npy::write(directory.path(), &TensorView::from_array(&x)).unwrap_err();
    assert!(into.to_string().ends_with("is a directory, not a file"));
    let nowhere = directory.path().join("none/x.npy");
    let message = npy::write(&nowhere, &TensorView::from_array(&x)).unwrap_err().to_string();
    assert!(message.contains("cannot write: no such file or directory"), "{message}");
}

#[cfg(unix)]
#[test]
fn permissions_links_and_devices() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (directory.path().join("x.npy"), directory.path().join("link.npy"));
    let x = array![true];
    let view = TensorView::from_array(&x);
    npy::write(&path, &view).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::write(directory.path().join("plain"), "").unwrap();
    assert_eq!(mode(&path), mode(&directory.path().join("plain")), "that of any new file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("x.npy", &link).unwrap();
    npy::write(&link, &view).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "the link stays");
    assert_eq!(mode(&path), 0o640, "that of the old file");
    npy::write("/dev/null", &view).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_large_array_is_read_into_aligned_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.npy");
    let x = Array2::from_shape_fn((300, 700), |(i, j)| (i * 1000 + j) as f32);
    npy::write(&path, &TensorView::from_array(&x)).unwrap();
    let back = npy::read(&path).unwrap();
    assert_eq!(back.view().as_ptr() as usize % 64, 0);
    assert_eq!(back.into_array::<f32, _>().unwrap(), x);
}
