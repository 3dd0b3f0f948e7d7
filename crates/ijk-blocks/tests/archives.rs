//! Results in zip archives: there as a whole, or not at all.
#![cfg(feature = "zarr")]

use ijk_blocks::{
    BigTensor, Compression, Executor, Function, Saved, Sink, Source, ZarrOptions, ZarrStore,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A matrix of 7 by 5 whose blocks do not end where it does; one of them is 0 everywhere.
fn matrix() -> BigTensor {
    let value = |n: usize| if n / 5 < 2 && n % 5 < 2 { 0.0 } else { n as f64 / 3.0 };
    BigTensor::lit((0..35).map(value), [7, 5], [Some(2), Some(2)]).unwrap()
}

/// A directory, and the path of an archive in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.zarr.zip");
    (directory, path)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn save(tensor: &BigTensor, path: &Path, options: &ZarrOptions) -> Result<Saved, String> {
    Executor::new().workers(3).save(tensor, path, options).map_err(|error| error.to_string())
}

#[test]
fn results_are_read_again() {
    let (directory, path) = place();
    let product = BigTensor::einsum("ik,jk->ij", &[&matrix(), &matrix()]).unwrap();
    for options in [
        ZarrOptions::new(),
        ZarrOptions::new().compression(Compression::Zstd(2)),
        ZarrOptions::new().shards([1, 2]),
    ] {
        let options = options.names([Some("y".into()), Some("x".into())]).attributes(r#"{"u": 1}"#);
        let saved = save(&product, &path, &options.clone().fresh(true)).unwrap();
        assert_eq!(saved, Saved { blocks: 16, computed: 16, damaged: 0 });
        assert_eq!(names(directory.path()), ["a.zarr.zip"]);
        let read = BigTensor::open(&path).unwrap();
        assert_eq!(read.collect().unwrap(), product.collect().unwrap());
        assert_eq!(read.annotations().names, [Some("y".to_owned()), Some("x".to_owned())]);
        assert_eq!(read.annotations().attributes.as_deref(), Some(r#"{"u": 1}"#));
        let again = save(&product, &path, &options).unwrap();
        assert_eq!(again, Saved { blocks: 16, computed: 0, damaged: 0 });
        // It is an argument like others.
        let double = (&read + &read).unwrap();
        let error = save(&double, &path, &options.fresh(true)).unwrap_err();
        assert!(error.contains("it is an input of the computation"), "{error}");
    }
}

#[test]
fn blocks_of_the_fill_value_are_no_members() {
    let (_directory, path) = place();
    save(&matrix(), &path, &ZarrOptions::new()).unwrap();
    let store = ZarrStore::open(&path).unwrap();
    assert_eq!(store.present().unwrap().unwrap().len(), 11);
    let nothing = BigTensor::zeros(ijk_types::DType::F64, [0, 3], [None, Some(2)]).unwrap();
    let path = path.with_file_name("empty.zip");
    save(&nothing, &path, &ZarrOptions::new()).unwrap();
    assert_eq!(BigTensor::open(&path).unwrap().dims(), [0, 3]);
    assert_eq!(save(&nothing, &path, &ZarrOptions::new()).unwrap().computed, 0);
}

#[test]
fn a_run_that_fails_leaves_what_was_there() {
    let (directory, path) = place();
    save(&matrix(), &path, &ZarrOptions::new()).unwrap();
    let before = fs::read(&path).unwrap();
    let failing = Function::closure(|x: f64| {
        assert!(x < 9.0, "no room");
        x
    });
    let failing = matrix().map(failing).unwrap();
    let error = save(&failing, &path, &ZarrOptions::new().fresh(true)).unwrap_err();
    assert!(error.contains("no room"), "{error}");
    assert_eq!(names(directory.path()), ["a.zarr.zip"]);
    assert_eq!(fs::read(&path).unwrap(), before);
    let new = path.with_file_name("new.zip");
    save(&failing, &new, &ZarrOptions::new()).unwrap_err();
    assert_eq!(names(directory.path()), ["a.zarr.zip"]);
}

#[test]
fn what_is_there_is_replaced_only_where_that_is_wanted() {
    let (directory, path) = place();
    let options = ZarrOptions::new();
    save(&matrix(), &path, &options).unwrap();
    let double = matrix().map("x + x").unwrap();
    let error = save(&double, &path, &options).unwrap_err();
    assert!(error.contains("a.zarr.zip: it holds another computation's result"), "{error}");
    let error = save(&matrix(), &path, &options.clone().only_new(true)).unwrap_err();
    assert!(error.contains("it exists already; to replace it, start afresh"), "{error}");
    let stored = options.clone().compression(Compression::Zstd(1));
    let error = save(&matrix(), &path, &stored).unwrap_err();
    assert!(error.contains("it is stored otherwise"), "{error}");
    save(&double, &path, &options.clone().fresh(true)).unwrap();
    assert_eq!(BigTensor::open(&path).unwrap().collect().unwrap(), double.collect().unwrap());
    // An archive of others.
    let other = path.with_file_name("other.zip");
    fs::write(&other, "no archive").unwrap();
    let error = save(&double, &other, &options).unwrap_err();
    assert!(error.contains("it is no archive that can be read"), "{error}");
    assert_eq!(fs::read(&other).unwrap(), b"no archive");
    // What a killed run left goes with the next one, but not what belongs to another archive.
    for name in [".a.zarr.zip-99-x.ijk-new", ".b.zarr.zip-99-x.ijk-new", ".a.zarr.zip-notes"] {
        fs::write(directory.path().join(name), "").unwrap();
    }
    save(&matrix(), &path, &options.fresh(true)).unwrap();
    let left = [".a.zarr.zip-notes", ".b.zarr.zip-99-x.ijk-new", "a.zarr.zip", "other.zip"];
    assert_eq!(names(directory.path()), left);
}

#[test]
fn damage_is_an_error_that_names_the_member() {
    let (_directory, path) = place();
    save(&matrix(), &path, &ZarrOptions::new()).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|name| name == b"c/1/1").unwrap() + 5;
    bytes[at + 3] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = save(&matrix(), &path, &ZarrOptions::new()).unwrap_err();
    assert!(error.contains("a.zarr.zip: c/1/1 is damaged (its checksum differs)"), "{error}");
    assert!(error.contains("to replace it, start afresh"), "{error}");
    save(&matrix(), &path, &ZarrOptions::new().fresh(true)).unwrap();
}

#[test]
fn one_run_writes_an_archive_at_a_time() {
    let (directory, path) = place();
    let options = ZarrOptions::new();
    let store = ZarrStore::create(&path, matrix().ty(), &options).unwrap();
    assert!(!path.exists());
    let error = ZarrStore::create(&path, matrix().ty(), &options).unwrap_err().to_string();
    let this = format!("another process ({}) is writing it", std::process::id());
    assert!(error.contains(&this), "{error}");
    drop(store);
    assert!(names(directory.path()).is_empty());
    let store = Arc::new(ZarrStore::create(&path, matrix().ty(), &options).unwrap());
    matrix().write(Arc::<ZarrStore>::clone(&store)).unwrap();
    // It is there before the store is dropped.
    assert_eq!(BigTensor::open(&path).unwrap().collect().unwrap(), matrix().collect().unwrap());
    Sink::finish(&*store).unwrap();
    drop(store);
    assert_eq!(names(directory.path()), ["a.zarr.zip"]);
    let error = ZarrStore::create(&path, matrix().ty(), &options).unwrap_err().to_string();
    assert!(error.contains("it exists already"), "{error}");
}

#[test]
fn archives_have_a_place_of_their_own() {
    let (directory, path) = place();
    let options = ZarrOptions::new();
    save(&matrix(), &path, &options).unwrap();
    let error = save(&matrix(), &path.join("t"), &options).unwrap_err();
    assert!(error.contains("arrays are not added to archives: name an archive"), "{error}");
    let error = save(&matrix(), &path.with_file_name("none.zip").join("t"), &options).unwrap_err();
    assert!(error.contains("none.zip/t: no such archive"), "{error}");
    let array = directory.path().join("a.zarr");
    save(&matrix(), &array, &options).unwrap();
    let error = save(&matrix(), &array.join("x.zip"), &options).unwrap_err();
    assert!(error.contains("it would be part of the Zarr array"), "{error}");
    // A directory may have such a name.
    let directory = directory.path().join("d.zip");
    fs::create_dir(&directory).unwrap();
    save(&matrix(), &directory, &options).unwrap();
    assert!(directory.join("zarr.json").exists() && !ZarrStore::is_archive(&directory));
}
