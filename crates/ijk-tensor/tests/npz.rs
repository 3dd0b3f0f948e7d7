//! `.npz` archives: stored and packed, damaged and deceptive ones.
#![cfg(feature = "npz")]

use ijk_tensor::file::npz::{self, Archive};
use ijk_tensor::{Tensor, TensorView};
use ndarray::array;
use proptest::prelude::*;
use std::io::Cursor;

fn sample(packed: bool) -> Vec<u8> {
    let (x, y) = (array![[1.0f64, 2.0], [3.0, 4.0]], array![true, false]);
    let arrays = [("x", TensorView::from_array(&x)), ("weights/y", TensorView::from_array(&y))];
    let mut bytes = Cursor::new(Vec::new());
    npz::encode(&mut bytes, &arrays, packed).unwrap();
    bytes.into_inner()
}

/// Reads every array; whatever is wrong is an error.
fn read_all(bytes: &[u8]) -> Result<Vec<Tensor>, String> {
    let mut archive = Archive::new(Cursor::new(bytes), "a.npz").map_err(|e| e.to_string())?;
    let names = archive.names();
    names.iter().map(|name| archive.read(name).map_err(|e| e.to_string())).collect()
}

#[test]
fn round_trip() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npz");
    for packed in [false, true] {
        let x = array![1i32, 2, 3];
        let y = array![[2.0f32]];
        let arrays = [("x", TensorView::from_array(&x)), ("y", TensorView::from_array(&y))];
        npz::write(&path, &arrays, packed).unwrap();
        let expected = vec![
            ("x".to_string(), Tensor::from_array(x.clone())),
            ("y".to_string(), Tensor::from_array(y.clone())),
        ];
        assert_eq!(npz::read(&path).unwrap(), expected);
    }
    let message = Archive::open(&path).unwrap().read("z").unwrap_err().to_string();
    assert!(message.ends_with("a.npz: has no array `z`; it has `x`, `y`"), "{message}");
}

#[test]
fn names() {
    let x = array![1i32];
    let view = TensorView::from_array(&x);
    for arrays in [vec![("x", view.clone()), ("x", view.clone())], vec![("", view.clone())]] {
        assert!(npz::encode(Cursor::new(Vec::new()), &arrays, false).is_err());
    }
    let archive = Archive::new(Cursor::new(sample(true)), "a.npz").unwrap();
    assert_eq!(archive.names(), ["x", "weights/y"]);
}

/// Compressed bytes of a member.
fn raw(bytes: &[u8], name: &str) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let index = archive.index_for_name(name).unwrap();
    let mut member = archive.by_index_raw(index).unwrap();
    let mut packed = Vec::new();
    std::io::Read::read_to_end(&mut member, &mut packed).unwrap();
    packed
}

#[test]
fn members_are_put_into_an_archive() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npz");
    let (x, y) = (array![7i32, 8], array![[1.5f32]]);
    let new = [("weights/y", TensorView::from_array(&x)), ("z", TensorView::from_array(&y))];
    for packed in [false, true] {
        let old = sample(!packed);
        std::fs::write(&path, &old).unwrap();
        npz::update(&path, &new, packed).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(raw(&bytes, "x.npy"), raw(&old, "x.npy"));
        let arrays = npz::read(&path).unwrap();
        let names: Vec<&str> = arrays.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(names, ["x", "weights/y", "z"]);
        assert_eq!(arrays[1].1, Tensor::from_array(x.clone()));
        assert_eq!(arrays[2].1, Tensor::from_array(y.clone()));
        // Members that are not arrays are kept, and so is the comment.
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.set_raw_comment(b"mine".as_slice().into()).unwrap();
        zip.start_file("notes.txt", zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, b"no array").unwrap();
        let mixed = zip.finish().unwrap().into_inner();
        std::fs::write(&path, &mixed).unwrap();
        npz::update(&path, &new[..1], packed).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(raw(&bytes, "notes.txt"), raw(&mixed, "notes.txt"));
        assert_eq!(zip::ZipArchive::new(Cursor::new(&bytes)).unwrap().comment(), b"mine");
        std::fs::remove_file(&path).unwrap();
        npz::update(&path, &new, packed).unwrap();
        assert_eq!(npz::read(&path).unwrap().len(), 2);
    }
}

#[test]
fn what_is_no_archive_is_not_updated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npz");
    let x = array![7i32, 8];
    let view = TensorView::from_array(&x);
    let whole = sample(true);
    for bytes in [&b""[..], b"\x93NUMPY", &whole[..whole.len() - 9], &whole[..whole.len() / 2]] {
        std::fs::write(&path, bytes).unwrap();
        assert!(npz::update(&path, &[("y", view.clone())], true).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    std::fs::write(&path, &whole).unwrap();
    for arrays in [vec![("y", view.clone()), ("y", view.clone())], vec![("", view.clone())]] {
        assert!(npz::update(&path, &arrays, true).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
    let names = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, 1, "temporary files are left");
}

#[test]
fn an_array_larger_than_its_packed_bytes() {
    let zeros = Tensor::zeros(ijk_types::DType::F64, &[1 << 20]).unwrap();
    let mut bytes = Cursor::new(Vec::new());
    npz::encode(&mut bytes, &[("z", zeros.view())], true).unwrap();
    assert!(bytes.get_ref().len() < 20_000);
    assert_eq!(read_all(bytes.get_ref()).unwrap(), [zeros]);
}

#[test]
fn not_an_archive() {
    assert!(read_all(b"").unwrap_err().starts_with("a.npz: not a readable .npz archive"));
    assert!(read_all(b"\x93NUMPY").is_err());
    let bytes = sample(false);
    assert!(read_all(&bytes[..bytes.len() / 2]).is_err());
}

/// Replaces every occurrence of a little-endian number.
fn replace(bytes: &mut [u8], from: u32, to: u32) {
    let (from, to) = (from.to_le_bytes(), to.to_le_bytes());
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == from {
            bytes[at..at + 4].copy_from_slice(&to);
        }
    }
}

#[test]
fn sizes_that_lie() {
    // 32 bytes of data after a header of 128.
    let mut huge = sample(false);
    replace(&mut huge, 160, 0xf000_0000);
    assert!(read_all(&huge).is_err());
    let mut short = sample(true);
    replace(&mut short, 160, 159);
    assert!(read_all(&short).unwrap_err().contains("a.npz:x: truncated"));
    let mut damaged = sample(false);
    let at = damaged.windows(8).position(|x| x == 3.0f64.to_le_bytes()).unwrap();
    damaged[at] ^= 1;
    assert!(read_all(&damaged).unwrap_err().contains("a.npz:x"), "the check sum");
}

proptest! {
    #[test]
    fn damaged_archives_never_panic(
        packed: bool,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = sample(packed);
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_all(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = read_all(&bytes);
    }
}
