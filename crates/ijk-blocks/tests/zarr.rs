//! Zarr arrays: what zarr-python wrote, what we write, and what is wrong with others.
#![cfg(feature = "zarr")]

use ijk_blocks::{
    BigTensor, Block, Compression, ElementType, Error, Executor, Sink, Source, StoreError, Type,
    Value, ZarrOptions, ZarrStore,
};
use ijk_tensor::Tensor;
use ijk_types::{DType, Scalar};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// An array that `zarr/make.py` wrote.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zarr").join(name)
}

/// A copy of one, to be damaged.
fn copy(name: &str) -> TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy(&entry.path(), &target),
                false => drop(fs::copy(entry.path(), target).unwrap()),
            }
        }
    }
    let directory = tempfile::tempdir().unwrap();
    copy(&fixture(name), &directory.path().join("a.zarr"));
    directory
}

const FIXTURES: [&str; 18] = [
    "plain",
    "zstd",
    "gzip",
    "blosc",
    "crc32c",
    "stacked",
    "transpose",
    "big",
    "shards",
    "shards_start",
    "numcodecs_zstd",
    "numcodecs_blosc",
    "numcodecs_gzip",
    "numcodecs_zlib",
    "numcodecs_lz4",
    "numcodecs_shuffle",
    "numcodecs_stacked",
    "numcodecs_shards",
];

#[test]
fn arrays_of_zarr_python_are_read() {
    let expected: Vec<f64> = (1..=12).map(f64::from).collect();
    for name in FIXTURES.into_iter().chain(["dotted", "annotated"]) {
        let tensor = BigTensor::open(fixture(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(tensor.ty().to_string(), "([3, 4], [2, 3], f64)", "{name}");
        let all = tensor.collect().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(all.as_numbers().unwrap().as_slice::<f64>(), Some(&expected[..]), "{name}");
    }
}

#[test]
fn missing_chunks_are_the_fill_value() {
    let store = ZarrStore::open(fixture("missing")).unwrap();
    assert!(store.read(&[1, 0]).unwrap().is_none());
    let all = BigTensor::from_source(store).unwrap().collect().unwrap();
    let all = all.as_numbers().unwrap().as_slice::<f64>().unwrap().to_vec();
    assert_eq!(all[..8], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert!(all[8..].iter().all(|x| x.is_nan()));
}

/// Numbers that are not all the same, and not all fill values.
fn values(dtype: DType, shape: &[usize], seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let value = |n: usize| {
        let x = ((n * 31 + seed) % 11) as f64 - 3.0;
        if dtype == DType::Bool { f64::from(u8::from(x > 0.0)) } else { x }
    };
    let values = Tensor::from_vec((0..count).map(value).collect(), shape).unwrap();
    values.cast(dtype).unwrap()
}

#[test]
fn arrays_come_back_as_they_were_written() {
    let types: [(&[usize], &[Option<usize>]); 8] = [
        (&[], &[]),
        (&[7], &[None]),
        (&[7], &[Some(3)]),
        (&[4], &[Some(9)]),
        (&[5, 6], &[Some(2), None]),
        (&[0, 4], &[Some(2), Some(3)]),
        (&[3, 0], &[None, None]),
        (&[4, 3, 5], &[Some(2), Some(1), Some(4)]),
    ];
    let directory = tempfile::tempdir().unwrap();
    for (n, (dims, blocks)) in types.into_iter().enumerate() {
        for dtype in DType::ALL {
            for compression in [Compression::None, Compression::Zstd(1)] {
                let tensor = values(dtype, dims, n);
                let u = BigTensor::from_tensor(tensor.clone(), blocks).unwrap();
                let path = directory.path().join(format!("{n}-{dtype}-{compression:?}.zarr"));
                let options = ZarrOptions::new().compression(compression);
                let store = ZarrStore::create(&path, u.ty(), &options).unwrap();
                Executor::new().workers(2).write(&u, Arc::new(store)).unwrap();
                let read = BigTensor::open(&path).unwrap();
                assert_eq!(read.dims(), dims);
                assert_eq!(*read.collect().unwrap().as_numbers().unwrap(), tensor, "{path:?}");
            }
        }
    }
}

#[test]
fn blocks_as_long_as_an_axis_are_not_cut() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("u.zarr");
    let u = BigTensor::lit(0..12, [3, 4], [Some(5), Some(4)]).unwrap();
    u.write(Arc::new(ZarrStore::create(&path, u.ty(), &ZarrOptions::new()).unwrap())).unwrap();
    assert_eq!(BigTensor::open(&path).unwrap().ty().to_string(), "([3, 4], [⊥, ⊥], i32)");
}

#[test]
fn blocks_of_the_fill_value_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    for (name, fill, kept) in [("zero", 0.0, ["c/1"]), ("one", 1.0, ["c/0"])] {
        let path = directory.path().join(name);
        let u = BigTensor::lit([0.0, -0.0, 1.0, 1.0], [4], [Some(2)]).unwrap();
        let options = ZarrOptions::new().fill(Scalar::F64(fill));
        u.write(Arc::new(ZarrStore::create(&path, u.ty(), &options).unwrap())).unwrap();
        // Zeros of different signs are different numbers.
        let kept = if fill == 0.0 { vec!["c/0", kept[0]] } else { kept.to_vec() };
        let there = |chunk: &&str| path.join(chunk).exists();
        assert_eq!(["c/0", "c/1"].into_iter().filter(there).collect::<Vec<_>>(), kept);
        let back = BigTensor::open(&path).unwrap().collect().unwrap();
        let bits: Vec<u64> = back
            .as_numbers()
            .unwrap()
            .as_slice::<f64>()
            .unwrap()
            .iter()
            .map(|x| x.to_bits())
            .collect();
        assert_eq!(bits, [0.0, -0.0, 1.0, 1.0].map(f64::to_bits));
    }
}

/// Error of opening an array with changed metadata.
fn refused(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let directory = changed("shards", change);
    let opened = BigTensor::open(directory.path().join("a.zarr"));
    let error = opened.unwrap_err().to_string();
    let (place, message) = error.split_once("a.zarr: ").unwrap();
    assert!(place.starts_with('/'), "{error}");
    message.into()
}

#[test]
fn what_cannot_be_read_is_refused() {
    use serde_json::json;
    let cases: [(&str, serde_json::Value, &str); 18] = [
        ("/zarr_format", json!(2), "its zarr.json is of format 2, but those are of format 3"),
        ("/zarr_format", json!(4), "its zarr.json is of format 4"),
        ("/node_type", json!("group"), "it is a group, no array"),
        (
            "/data_type",
            json!("complex_bfloat16"),
            "elements of `complex_bfloat16` are not supported; those that are: bool, uint8",
        ),
        (
            "/data_type",
            json!({"name": "numpy.datetime64", "configuration": {}}),
            "elements of `numpy.datetime64`",
        ),
        (
            "/fill_value",
            json!("one"),
            "fill value \"one\" of elements of f64 is not supported; allowed are numbers, \"NaN\", ",
        ),
        ("/shape", json!([3]), "zarr.json is not valid: the array has 1 axes, but chunks have 2"),
        ("/shape", json!([3, -4]), "zarr.json is not valid: "),
        ("/shape", json!([3, u64::MAX]), "axis 1 has 18446744073709551615 elements"),
        (
            "/chunk_grid/name",
            json!("rectilinear"),
            "chunk grid `rectilinear` is not supported; only `regular` is",
        ),
        (
            "/chunk_grid/configuration/chunk_shape",
            json!([0, 3]),
            "zarr.json is not valid: chunk grid: ",
        ),
        (
            "/chunk_grid/configuration/chunk_shape",
            json!([1u64 << 60, 3]),
            "chunks of shape [1152921504606846976, 3] of f64 have more bytes than",
        ),
        (
            "/chunk_grid/configuration/chunk_shape",
            json!([2, 4]),
            "zarr.json is not valid: codec `sharding_indexed`: inner chunks of [1, 3] do not fill chunks of [2, 4]",
        ),
        (
            "/chunk_key_encoding/name",
            json!("suffix"),
            "chunk key encoding `suffix` is not supported; only `default` and `v2` are",
        ),
        ("/codecs", json!([]), "zarr.json is not valid: no codec makes bytes of elements"),
        (
            "/codecs/0/name",
            json!("pcodec"),
            "codec `pcodec` is not supported; those that are: transpose, bytes",
        ),
        (
            "/codecs/0/name",
            json!("zstd"),
            "zarr.json is not valid: codec `zstd` is out of order in [zstd]",
        ),
        (
            "/storage_transformers",
            json!([{"name": "indirect"}]),
            "storage transformer `indirect` is not supported",
        ),
    ];
    for (place, value, expected) in cases {
        let message = refused(|json| match json.pointer_mut(place) {
            Some(field) => *field = value,
            None => json[&place[1..]] = value,
        });
        assert!(message.starts_with(expected), "{place}: {message}");
    }
    let field = json!({"must_understand": true});
    let message = refused(|json| json["sparse"] = field);
    assert!(message.starts_with("field `sparse` is not supported"), "{message}");
}

/// An array whose metadata are changed.
fn changed(name: &str, change: impl FnOnce(&mut serde_json::Value)) -> TempDir {
    let directory = copy(name);
    let path = directory.path().join("a.zarr/zarr.json");
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut json);
    fs::write(&path, json.to_string()).unwrap();
    directory
}

#[test]
fn codecs_are_read_however_they_are_spelled() {
    use serde_json::json;
    let expected: Vec<f64> = (1..=12).map(f64::from).collect();
    let cases: [(&str, &str, serde_json::Value); 7] = [
        ("transpose", "/codecs/0/configuration/order", json!("F")),
        (
            "plain",
            "/codecs",
            json!([{"name": "transpose", "configuration": {"order": "C"}},
            {"name": "bytes", "configuration": {"endian": "little"}}]),
        ),
        ("crc32c", "/codecs/1", json!("crc32c")),
        ("gzip", "/codecs/1", json!("numcodecs.gzip")),
        ("numcodecs_blosc", "/codecs/1", json!("numcodecs.blosc")),
        ("zstd", "/codecs/1/name", json!("numcodecs.zstd")),
        ("plain", "/chunk_key_encoding", json!("default")),
    ];
    for (name, place, value) in cases {
        let directory = changed(name, |json| *json.pointer_mut(place).unwrap() = value);
        let tensor = BigTensor::open(directory.path().join("a.zarr"));
        let all = tensor.unwrap_or_else(|e| panic!("{name} {place}: {e}")).collect().unwrap();
        assert_eq!(all.as_numbers().unwrap().as_slice::<f64>(), Some(&expected[..]), "{name}");
    }
    // One byte has no order.
    let directory = tempfile::tempdir().unwrap();
    let u = BigTensor::lit([true, false, true], [3], [Some(2)]).unwrap();
    for (n, bytes) in [
        json!("bytes"),
        json!({"name": "bytes"}),
        json!({"name": "bytes", "configuration": {}}),
        json!({"name": "bytes", "configuration": {"endian": null}}),
        json!({"name": "bytes", "configuration": {"endian": "big"}}),
    ]
    .into_iter()
    .enumerate()
    {
        let path = directory.path().join(format!("{n}.zarr"));
        u.write(Arc::new(ZarrStore::create(&path, u.ty(), &ZarrOptions::new()).unwrap())).unwrap();
        let text = fs::read_to_string(path.join("zarr.json")).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json["codecs"][0] = bytes;
        fs::write(path.join("zarr.json"), json.to_string()).unwrap();
        let read = BigTensor::open(&path).unwrap_or_else(|error| panic!("{json}: {error}"));
        assert_eq!(read.collect().unwrap(), u.collect().unwrap());
    }
}

#[test]
fn fill_values_are_read_however_they_are_spelled() {
    use serde_json::json;
    let fill = |of: &str, value: serde_json::Value| {
        let directory = changed("plain", |json| {
            (json["data_type"], json["fill_value"]) = (of.into(), value);
        });
        let store = ZarrStore::open(directory.path().join("a.zarr")).unwrap();
        Source::fill(&store).as_number().unwrap()
    };
    for (of, value, expected) in [
        ("int32", json!(0.0), Scalar::I32(0)),
        ("int64", json!("7"), Scalar::I64(7)),
        ("bool", json!(1), Scalar::Bool(true)),
        ("float64", json!(null), Scalar::F64(0.0)),
        ("float32", json!("0x7fc00001"), Scalar::F32(f32::from_bits(0x7fc0_0001))),
        ("float64", json!("-Infinity"), Scalar::F64(f64::NEG_INFINITY)),
    ] {
        assert!(fill(of, value.clone()).same_bits(expected), "{of} {value}");
    }
    let said = refused(|json| (json["data_type"], json["fill_value"]) = ("bool".into(), json!(2)));
    assert_eq!(
        said,
        "fill value 2 of elements of bool is not supported; allowed are true, false, 0, 1 and null"
    );
    // A bare token, as Python writes it.
    let directory = copy("plain");
    let path = directory.path().join("a.zarr/zarr.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"fill_value\": 0.0", "\"fill_value\": -Infinity")).unwrap();
    let store = ZarrStore::open(directory.path().join("a.zarr")).unwrap();
    assert_eq!(Source::fill(&store), Value::number(f64::NEG_INFINITY));
}

#[test]
fn names_and_attributes_go_along() {
    let tensor = BigTensor::open(fixture("annotated")).unwrap();
    let annotations = tensor.annotations();
    assert_eq!(annotations.names, ["time", "x"].map(|name| Some(name.to_owned())));
    let attributes = annotations.attributes.clone().unwrap();
    assert!(attributes.contains("NaN") && attributes.contains("\"units\": \"m\""), "{attributes}");
    let names =
        |tensor: &BigTensor| tensor.annotations().names.into_iter().flatten().collect::<Vec<_>>();
    let copy = tensor.reblock([Some(1), None]).unwrap();
    assert_eq!(copy.annotations(), annotations);
    let part = tensor.select([(0..2).into(), (..).into()]).unwrap();
    assert_eq!(part.annotations(), annotations);
    let doubled = tensor.map("2 * x").unwrap();
    assert_eq!((names(&doubled), doubled.annotations().attributes), (names(&tensor), None));
    let other = BigTensor::lit(vec![1.0; 12], [3, 4], [Some(2), Some(3)]).unwrap();
    assert_eq!(names(&(&tensor + &other).unwrap()), ["time", "x"]);
    assert_eq!(names(&tensor.contract(&other, 1, 1).unwrap()), ["time"]);
    let repeated = tensor.bc([2, 3, 8], [None, Some(2), Some(3)]).unwrap();
    assert_eq!(repeated.annotations().names, [None, Some("time".into()), None]);
    assert!(other.annotations().names.is_empty());
    // They are written, and read again.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.zarr");
    Executor::new().save(&copy, &path, &ZarrOptions::new()).unwrap();
    assert_eq!(BigTensor::open(&path).unwrap().annotations(), annotations);
    let path = directory.path().join("s.zarr");
    let own = ZarrOptions::new().names([None, Some("y".into())]).attributes("{\"a\": Infinity}");
    Executor::new().save(&copy, &path, &own).unwrap();
    let read = BigTensor::open(&path).unwrap().annotations();
    assert_eq!(
        (&read.names[..], &*read.attributes.unwrap()),
        (&[None, Some("y".into())][..], "{\"a\": Infinity}")
    );
    for wrong in ["", "[]", "{", "{\"a\": nan}"] {
        let options = ZarrOptions::new().attributes(wrong);
        let path = directory.path().join("wrong.zarr");
        let error = Executor::new().save(&copy, &path, &options).unwrap_err().to_string();
        assert!(error.contains("attributes: ") && !path.exists(), "{error}");
    }
    let options = ZarrOptions::new().names([None]);
    let error = ZarrStore::create(directory.path().join("w"), copy.ty(), &options).unwrap_err();
    assert!(error.to_string().ends_with("1 names of axes are given, but there are 2"), "{error}");
}

/// Any chunks of two matrices give their product, and are re-cut where they do not fit.
#[test]
fn arrays_in_any_chunks_fit_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = |n: usize| directory.path().join(format!("{n}.zarr"));
    let whole = BigTensor::from_tensor(values(DType::I64, &[7, 7], 3), [None, None]).unwrap();
    for n in 1..=7 {
        let u = whole.reblock([Some(n), Some(8 - n)]).unwrap();
        let compression = if n % 2 == 0 { Compression::None } else { Compression::Zstd(1) };
        let options = ZarrOptions::new().compression(compression);
        Executor::new().save(&u, path(n), &options).unwrap();
    }
    let expected = BigTensor::einsum("ij,jk->ik", &[&whole, &whole]).unwrap().collect().unwrap();
    for l in 1..=7 {
        for r in 1..=7 {
            for keep in [0, 200, 1 << 20] {
                let open = |n| BigTensor::open(path(n)).unwrap().recut_to_fit(keep);
                let (u, v) = (open(l), open(r));
                let product = BigTensor::einsum("ij,jk->ik", &[&u, &v]).unwrap();
                let executor = Executor::new().workers(1 + l % 2);
                assert_eq!(executor.collect(&product).unwrap(), expected, "{l} {r} {keep}");
                let program = "ik*kj~ijk . +ijk~ij";
                let product = ijk_blocks::apply(program, &[&u, &v]).unwrap().remove(0);
                assert_eq!(executor.collect(&product).unwrap(), expected, "{l} {r} {keep}");
                let fits = u.ty().blocks[1] == v.ty().blocks[0]
                    || u.ty().blocks[1].is_none()
                    || v.ty().blocks[0].is_none();
                assert_eq!(product.recuts().is_empty(), fits, "{l} {r}");
                for cost in product.recuts() {
                    assert!(cost.read >= cost.stored && cost.kept <= keep.max(200), "{cost:?}");
                }
            }
        }
    }
    // Without leave blocks have to fit.
    let (u, v) = (BigTensor::open(path(2)).unwrap(), BigTensor::open(path(4)).unwrap());
    let error = BigTensor::einsum("ij,jk->ik", &[&u, &v]).unwrap_err().to_string();
    assert!(error.contains("hint: reblock(v, [6, 4]) has blocks that fit"), "{error}");
}

#[test]
fn huge_grids_are_opened_at_once() {
    let directory = changed("plain", |json| {
        json["shape"] = serde_json::json!([1u64 << 40, 1u64 << 20]);
        json["chunk_grid"]["configuration"]["chunk_shape"] = serde_json::json!([1, 1]);
    });
    let path = directory.path().join("a.zarr");
    let tensor = BigTensor::open(&path).unwrap().recut_to_fit(1 << 20);
    assert_eq!(tensor.ty().grid(), [1 << 40, 1 << 20]);
    let product =
        BigTensor::einsum("ij,kj->ik", &[&tensor, &tensor.reblock([Some(3), Some(2)]).unwrap()]);
    let cost = &product.unwrap().recuts()[0];
    assert_eq!((cost.stored, cost.read), (1 << 63, 1 << 63));
    let error = tensor.collect().unwrap_err().to_string();
    assert!(error.contains("at most 4294967296 are collected"), "{error}");
}

#[test]
fn what_is_no_array_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str| BigTensor::open(directory.path().join(name)).unwrap_err().to_string();
    assert!(open("none.zarr").ends_with("none.zarr: no such directory"));
    fs::write(directory.path().join("file.zarr"), "").unwrap();
    assert!(open("file.zarr").ends_with("it is a file; a Zarr array is a directory"));
    fs::create_dir_all(directory.path().join("group.zarr/inner")).unwrap();
    assert!(open("group.zarr").ends_with("it is no Zarr array: it has no zarr.json"));
    fs::copy(fixture("plain/zarr.json"), directory.path().join("group.zarr/inner/zarr.json"))
        .unwrap();
    let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    fs::write(directory.path().join("group.zarr/zarr.json"), group).unwrap();
    let message = "it is a group, no array; it holds inner: open one, such as inner";
    assert!(open("group.zarr").ends_with(message));
    fs::create_dir_all(directory.path().join("old.zarr")).unwrap();
    fs::write(directory.path().join("old.zarr/.zarray"), "{}").unwrap();
    assert!(open("old.zarr").ends_with(".zarray is not valid: missing field `zarr_format`"));
    fs::write(directory.path().join("group.zarr/zarr.json"), "{").unwrap();
    assert!(open("group.zarr").contains("zarr.json is not valid: EOF"));
}

#[test]
fn arrays_that_cannot_be_made_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let create = |name: &str, ty: &Type, options: &ZarrOptions| {
        ZarrStore::create(directory.path().join(name), ty, options).unwrap_err().to_string()
    };
    let u = BigTensor::lit([1.0], [1], [None]).unwrap();
    fs::create_dir(directory.path().join("there")).unwrap();
    fs::write(directory.path().join("there/file"), "mine").unwrap();
    assert!(
        create("there", u.ty(), &ZarrOptions::new())
            .ends_with("there: it exists already; to replace it, start afresh")
    );
    assert_eq!(fs::read(directory.path().join("there/file")).unwrap(), b"mine");
    let integer = ZarrOptions::new().fill(Scalar::I32(1));
    let message = create("new", u.ty(), &integer);
    assert!(message.ends_with("the fill value is of i32, the elements of f64"), "{message}");
    let lists = Type { element: ElementType::array(DType::F64.into()), ..u.ty().clone() };
    let message = create("new", &lists, &ZarrOptions::new());
    assert!(message.ends_with("elements of array(f64) cannot be stored as Zarr"), "{message}");
    assert!(!directory.path().join("new").exists());
}

/// Every chunk that is cut or changed anywhere is found out, where there is anything to find it out by, and
/// said to be what it is.
#[test]
fn damaged_chunks_are_named() {
    for name in FIXTURES {
        let directory = copy(name);
        let path = directory.path().join("a.zarr");
        let chunk = path.join("c/0/1");
        let whole = fs::read(&chunk).unwrap();
        let store = ZarrStore::open(&path).unwrap();
        let check = |what: &str, bytes: &[u8], found_out: bool| {
            fs::write(&chunk, bytes).unwrap();
            match store.read(&[0, 1]) {
                Ok(_) => assert!(!found_out, "{name}: {what}"),
                Err(error) => {
                    let error = error.to_string();
                    let place = error.find("a.zarr, file c/0/1: ");
                    assert!(error.starts_with("block [0, 1] of ") && place.is_some(), "{error}");
                }
            }
        };
        for length in 0..whole.len() {
            check(&format!("cut at {length}"), &whole[..length], true);
        }
        let is_sized = ["plain", "crc32c", "big", "numcodecs_shuffle"].contains(&name);
        check("longer", &[&whole[..], &[0]].concat(), is_sized);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            for mask in [1, 0x80, 0xff] {
                bytes[at] ^= mask;
                let is_summed = ["crc32c", "stacked"].contains(&name);
                check(&format!("byte {at} ^ {mask}"), &bytes, is_summed);
                bytes[at] ^= mask;
            }
        }
    }
}

#[test]
fn what_inflates_too_far_is_refused() {
    let bomb = zstd::bulk::compress(&vec![0; 1 << 26], 19).unwrap();
    let directory = copy("zstd");
    let path = directory.path().join("a.zarr");
    fs::write(path.join("c/0/0"), &bomb).unwrap();
    let read = || ZarrStore::open(&path).unwrap().read(&[0, 0]).unwrap_err().to_string();
    assert!(read().contains("file c/0/0: zstd: "), "{}", read());
    // Chunks larger than any compressor makes them are not read into memory.
    let file = fs::File::create(path.join("c/0/0")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert!(
        read().ends_with("it has 1099511627776 bytes, but its elements become 4150 at most"),
        "{}",
        read()
    );
    // Twice compressed.
    let directory = copy("stacked");
    let path = directory.path().join("a.zarr");
    let mut json = fs::read_to_string(path.join("zarr.json")).unwrap();
    let crc32c = json.find("crc32c").unwrap();
    json.replace_range(crc32c..crc32c + 6, "zstd");
    fs::write(path.join("zarr.json"), json).unwrap();
    fs::write(path.join("c/0/0"), zstd::bulk::compress(&bomb, 19).unwrap()).unwrap();
    let error = ZarrStore::open(&path).unwrap().read(&[0, 0]).unwrap_err().to_string();
    assert!(error.contains("zstd: it inflates to more than"), "{error}");
}

#[test]
fn any_byte_but_0_is_true() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("u.zarr");
    let u = BigTensor::lit([true, false, true], [3], [None]).unwrap();
    u.write(Arc::new(ZarrStore::create(&path, u.ty(), &ZarrOptions::new()).unwrap())).unwrap();
    fs::write(path.join("c/0"), [1, 0, 2]).unwrap();
    let Block::Numbers(read) = BigTensor::open(&path).unwrap().collect().unwrap() else { panic!() };
    assert_eq!(read.as_bytes(), [1, 0, 1]);
}

#[test]
fn products_skip_missing_chunks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("band.zarr");
    let ones = BigTensor::lit(vec![1.0; 64 * 64], [64, 64], [Some(8), Some(8)]).unwrap();
    let store = ZarrStore::create(&path, ones.ty(), &ZarrOptions::new()).unwrap();
    for n in 0..8 {
        let block = Block::Numbers(Tensor::full(Scalar::F64(1.0), &[8, 8]).unwrap());
        store.write(&[n, n], Some(Arc::new(block))).unwrap();
    }
    let band = BigTensor::open(&path).unwrap();
    let out = directory.path().join("square.zarr");
    let square = band.matmul(&band).unwrap();
    square
        .write(Arc::new(ZarrStore::create(&out, square.ty(), &ZarrOptions::new()).unwrap()))
        .unwrap();
    let rows = fs::read_dir(out.join("c")).unwrap();
    let chunks: usize = rows.map(|row| fs::read_dir(row.unwrap().path()).unwrap().count()).sum();
    assert_eq!(chunks, 8);
    let all = BigTensor::open(&out).unwrap().collect().unwrap();
    assert_eq!(
        all.as_numbers().unwrap().as_slice::<f64>().unwrap().iter().sum::<f64>(),
        8.0 * 512.0
    );
}

/// The type of a store must describe its contents to every reader.
#[test]
fn sources_and_errors_have_names() -> Result<(), Error> {
    let tensor = BigTensor::open(fixture("plain"))?;
    assert!(tensor.to_string().ends_with("zarr/plain : ([3, 4], [2, 3], f64)"));
    assert_eq!(tensor.fill(), Some(Value::number(0.0)));
    let error: StoreError = ZarrStore::open("nowhere.zarr").unwrap_err();
    assert_eq!(error.to_string(), "nowhere.zarr: no such directory");
    Ok(())
}

#[test]
fn chunks_in_shards_are_read_by_themselves() {
    for name in ["shards", "shards_start", "numcodecs_shards"] {
        let whole = BigTensor::open(fixture(name)).unwrap();
        let expected = whole.collect().unwrap();
        let rank = whole.dims().len();
        for block in [1, 2, 3] {
            let small = whole.reblock(vec![Some(block); rank]).unwrap();
            assert_eq!(small.collect().unwrap(), expected, "{name} {block}");
        }
        let directory = copy(name);
        let path = directory.path().join("a.zarr");
        let small = BigTensor::open(&path).unwrap().reblock(vec![Some(1); rank]).unwrap();
        let chunk = path.join("c").join(vec!["0"; rank].join("/"));
        fs::write(&chunk, "short").unwrap();
        let error = small.collect().unwrap_err().to_string();
        assert!(error.contains("a.zarr, in shards: "), "{error}");
        fs::remove_file(&chunk).unwrap();
        small.collect().unwrap();
    }
}

#[test]
fn results_are_encoded_as_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let u =
        BigTensor::lit((0..60).map(|n| f64::from(n % 9 / 3)), [6, 10], [Some(4), Some(6)]).unwrap();
    let all = [
        ZarrOptions::new().shards([2, 3]),
        ZarrOptions::new().shards([4, 6]).compression(Compression::Zstd(3)),
        ZarrOptions::new().shards([1, 1]).fill(Scalar::F64(1.0)),
    ];
    for (n, options) in all.iter().enumerate() {
        let path = directory.path().join(format!("{n}.zarr"));
        Executor::new().save(&u, &path, options).unwrap();
        let read = BigTensor::open(&path).unwrap();
        assert_eq!((read.ty(), read.collect().unwrap()), (u.ty(), u.collect().unwrap()), "{n}");
        let again = directory.path().join(format!("{n} again.zarr"));
        let like = options.clone().like_inputs(&read);
        Executor::new().save(&read, &again, &like).unwrap();
        let text = |path: &Path| fs::read_to_string(path.join("zarr.json")).unwrap();
        assert_eq!(text(&again), text(&path), "{n}");
        assert_eq!(fs::read(again.join("c/0/0")).unwrap(), fs::read(path.join("c/0/0")).unwrap());
    }
    let error =
        Executor::new().save(&u, directory.path().join("x"), &ZarrOptions::new().shards([2]));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the array has 2 axes, but chunks in shards have 1"), "{error}");
    assert!(!directory.path().join("x").exists());
}
