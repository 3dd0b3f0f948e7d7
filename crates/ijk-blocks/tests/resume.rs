//! Results that are computed in several runs, since something stopped the first.
#![cfg(feature = "zarr")]

use ijk_blocks::{
    BigTensor, Block, Compression, Executor, Function, MemoryStore, Saved, Sink, Source,
    StoreError, Type, Value, ZarrOptions, ZarrStore,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers whose sums are rounded; some blocks are 0 everywhere.
fn matrix(n: usize, block: usize) -> BigTensor {
    let value = |at: usize| match (at / n / block + at % n / block) % 3 {
        0 => 0.0,
        _ => (at * 7919 % 1000) as f32 / 7.0 - 60.0,
    };
    BigTensor::lit((0..n * n).map(value), [n, n], [Some(block), Some(block)]).unwrap()
}

/// All files but our own, with their bytes.
fn chunks(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut all, mut left) = (BTreeMap::new(), vec![directory.to_path_buf()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with(".ijk") => {}
                true => left.push(path),
                false => drop(all.insert(
                    path.strip_prefix(directory).unwrap().into(),
                    fs::read(&path).unwrap(),
                )),
            }
        }
    }
    all
}

/// A store that is full after some blocks.
#[derive(Debug)]
struct Full {
    store: ZarrStore,
    room: usize,
    written: AtomicUsize,
}

impl Sink for Full {
    fn ty(&self) -> &Type {
        Sink::ty(&self.store)
    }

    fn fill(&self) -> Option<Value> {
        Sink::fill(&self.store)
    }

    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError> {
        if self.written.fetch_add(1, Ordering::Relaxed) >= self.room {
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(StoreError::of_block("full.zarr", at, full));
        }
        self.store.write(at, block)
    }

    fn is_done(&self, at: &[usize]) -> bool {
        self.store.is_done(at)
    }
}

#[test]
fn a_full_store_is_continued_with_the_same_bits() {
    let directory = tempfile::tempdir().unwrap();
    let u = matrix(60, 8);
    let term = u.matmul(&u.map("x / 3").unwrap()).unwrap();
    let (once, twice) = (directory.path().join("once.zarr"), directory.path().join("twice.zarr"));
    let options = ZarrOptions::new();
    let saved = Executor::new().workers(1).save(&term, &once, &options).unwrap();
    assert_eq!(saved, Saved { blocks: 64, computed: 64, damaged: 0 });
    let mut left = 64;
    for (room, workers) in [(0, 2), (10, 1), (7, 2), (20, 3), (1, 4)] {
        let executor = Executor::new().workers(workers).memory_limit(20_000);
        let store = ZarrStore::resume(&twice, &term, &executor, &options).unwrap();
        let full = Full { store, room, written: AtomicUsize::new(0) };
        let error = executor.write(&term, Arc::new(full)).unwrap_err().to_string();
        assert!(error.contains(" of full.zarr: "), "{error}");
        left -= room;
    }
    let executor = Executor::new().workers(2);
    let saved = executor.save(&term, &twice, &options).unwrap();
    assert_eq!(saved, Saved { blocks: 64, computed: left, damaged: 0 });
    assert!(chunks(&once) == chunks(&twice));
    let saved = executor.save(&term, &twice, &options).unwrap();
    assert_eq!(saved, Saved { blocks: 64, computed: 0, damaged: 0 });
}

#[test]
fn blocks_without_a_chunk_are_not_computed_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("u.zarr");
    let u = BigTensor::zeros(ijk_types::DType::F64, [8, 8], [Some(2), Some(2)]).unwrap();
    let ones = BigTensor::lit(vec![1.0; 64], [8, 8], [Some(2), Some(2)]).unwrap();
    // Missing in the sum of products, and 0 everywhere in the difference.
    for (n, term) in [u.matmul(&ones).unwrap(), (&ones - &ones).unwrap()].into_iter().enumerate() {
        let path = path.with_extension(n.to_string());
        let executor = Executor::new().workers(n + 1);
        let store = ZarrStore::resume(&path, &term, &executor, &ZarrOptions::new()).unwrap();
        executor.write(&term, Arc::new(store)).unwrap();
        assert!(!path.join("c").exists());
        let saved = executor.save(&term, &path, &ZarrOptions::new()).unwrap();
        assert_eq!(saved, Saved { blocks: 16, computed: 0, damaged: 0 });
    }
}

#[test]
fn another_computation_does_not_continue_this() {
    let directory = tempfile::tempdir().unwrap();
    let (path, input) = (directory.path().join("out.zarr"), directory.path().join("in.zarr"));
    let executor = Executor::new();
    let save = |term: &BigTensor, options: &ZarrOptions| executor.save(term, &path, options);
    let refused = |term: &BigTensor| save(term, &ZarrOptions::new()).unwrap_err().to_string();
    executor.save(&matrix(8, 4), &input, &ZarrOptions::new()).unwrap();
    let u = BigTensor::open(&input).unwrap();
    let double = u.map("x + x").unwrap();
    save(&double, &ZarrOptions::new()).unwrap();
    let before = chunks(&path);
    let error = refused(&u.map("x * 2").unwrap());
    assert!(
        error.contains("out.zarr: it holds another computation's result: its program was\n"),
        "{error}"
    );
    assert!(
        error.contains("t1 = map(x + x, t0)") && error.contains("t1 = map(x * 2, t0)"),
        "{error}"
    );
    // The same computation, said otherwise.
    assert_eq!(save(&u.map("(x) + x").unwrap(), &ZarrOptions::new()).unwrap().computed, 0);
    let error = save(&double, &ZarrOptions::new().compression(Compression::Zstd(1))).unwrap_err();
    assert!(error.to_string().contains("it is stored otherwise: see zarr.json"), "{error}");
    fs::write(input.join("c/0/1"), fs::read(input.join("c/0/1")).unwrap()).unwrap();
    let error = refused(&double);
    assert!(
        error.contains("input 0, ") && error.contains("in.zarr, has changed: it was "),
        "{error}"
    );
    let (one, other) = (matrix(8, 4), matrix(8, 4).map("x + 1").unwrap().collect().unwrap());
    let other =
        BigTensor::from_tensor(other.as_numbers().unwrap().clone(), [Some(4), Some(4)]).unwrap();
    save(&one, &ZarrOptions::new().fresh(true)).unwrap();
    assert!(refused(&other).contains("input 0, lit(64 elements), has changed"));
    assert!(before != chunks(&path));
    let other_simd = fs::read_to_string(path.join(".ijk/manifest.json")).unwrap();
    let simd = format!("\"simd\": \"{}\"", executor.simd());
    fs::write(path.join(".ijk/manifest.json"), other_simd.replace(&simd, "\"simd\": \"sse9\""))
        .unwrap();
    assert!(refused(&one).contains("it was computed with sse9 instructions"));
    fs::write(path.join(".ijk/manifest.json"), "{").unwrap();
    assert!(refused(&one).contains(".ijk/manifest.json is not valid"));
}

#[test]
fn afresh_removes_an_array_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let u = matrix(8, 4);
    let fresh = ZarrOptions::new().fresh(true);
    let save = |options: &ZarrOptions| Executor::new().save(&u, &path, options);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    let error = save(&ZarrOptions::new()).unwrap_err().to_string();
    assert!(error.ends_with("it exists already; to replace it, start afresh"), "{error}");
    let error = save(&fresh).unwrap_err().to_string();
    assert!(error.ends_with("it is no Zarr array: it has no zarr.json"), "{error}");
    assert_eq!(fs::read(path.join("notes.txt")).unwrap(), b"mine");
    fs::remove_file(path.join("notes.txt")).unwrap();
    save(&ZarrOptions::new()).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    let expected = chunks(&path);
    assert_eq!(save(&fresh).unwrap().computed, 4);
    assert!(chunks(&path) == expected);
    let v = BigTensor::open(&path).unwrap();
    let error =
        Executor::new().save(&v.map("x + 1").unwrap(), &path, &fresh).unwrap_err().to_string();
    assert!(
        error.ends_with("it is an input of the computation whose result it should hold"),
        "{error}"
    );
    assert!(chunks(&path) == expected);
}

#[test]
fn one_process_writes_an_array_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let (u, executor, options) = (matrix(8, 4), Executor::new(), ZarrOptions::new());
    let store = ZarrStore::resume(&path, &u, &executor, &options).unwrap();
    for options in [&options, &ZarrOptions::new().fresh(true)] {
        let error = ZarrStore::resume(&path, &u, &executor, options).unwrap_err().to_string();
        assert!(error.contains("out.zarr: another process ("), "{error}");
        assert!(error.ends_with(") is writing it: run this again when that has ended"), "{error}");
    }
    // Unless it takes part.
    assert!(ZarrStore::join(&path, u.ty(), &options).is_err());
    let store = store.share().unwrap();
    let joined = ZarrStore::join(&path, u.ty(), &options).unwrap();
    joined.write(&[1, 1], MemoryStore::new(u.ty().clone()).read(&[1, 1]).unwrap()).unwrap();
    drop(store);
    // Until all participants have ended.
    assert!(ZarrStore::resume(&path, &u, &executor, &options).is_err());
    drop(joined);
    let store = ZarrStore::resume(&path, &u, &executor, &options).unwrap();
    assert!(store.is_done(&[1, 1]) && !store.is_done(&[0, 1]));
    let store = store.share().unwrap();
    let other = ZarrOptions::new().compression(Compression::Zstd(3));
    assert!(ZarrStore::join(&path, u.ty(), &other).is_err());
    drop(store);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no lock stays beside it");
}

#[test]
fn an_array_that_is_removed_while_it_is_written_is_not_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let (u, executor, options) = (matrix(24, 4), Executor::new().workers(1), ZarrOptions::new());
    let expected = u.collect().unwrap();
    // Before anything is written, while it is, and afterwards; all of it, or one row.
    for (room, gone) in [(0, ""), (7, ""), (7, "c/0"), (36, ""), (36, "c/1"), (36, "c/1/1")] {
        let store = ZarrStore::resume(&path, &u, &executor, &options.clone().fresh(true)).unwrap();
        let store = Arc::new(store);
        let removing =
            Removing { store: Arc::clone(&store), room, gone, written: AtomicUsize::new(0) };
        let written = executor.write(&u, Arc::new(removing));
        if room == 36 {
            fs::remove_file(path.join(gone))
                .or_else(|_| fs::remove_dir_all(path.join(gone)))
                .unwrap();
        }
        // No other run begins at that path meanwhile.
        assert!(ZarrStore::resume(&path, &u, &executor, &options).is_err(), "{room} {gone}");
        let completed = written.map_err(|error| error.to_string());
        let completed =
            completed.and_then(|()| store.complete().map_err(|error| error.to_string()));
        assert!(completed.is_err(), "{room} {gone}: complete without all blocks");
        drop(store);
        executor.save(&u, &path, &options).unwrap();
        assert_eq!(BigTensor::open(&path).unwrap().collect().unwrap(), expected);
    }
}

/// A store that another process removes after some blocks.
#[derive(Debug)]
struct Removing {
    store: Arc<ZarrStore>,
    room: usize,
    gone: &'static str,
    written: AtomicUsize,
}

impl Sink for Removing {
    fn ty(&self) -> &Type {
        Sink::ty(&*self.store)
    }

    fn fill(&self) -> Option<Value> {
        Sink::fill(&*self.store)
    }

    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError> {
        if self.written.fetch_add(1, Ordering::Relaxed) == self.room {
            fs::remove_dir_all(ZarrStore::path(&self.store).join(self.gone)).unwrap_or_default();
        }
        self.store.write(at, block)
    }
}

#[test]
fn metadata_do_not_stay_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let (u, executor) = (matrix(8, 4), Executor::new());
    let store = ZarrStore::resume(&path, &u, &executor, &ZarrOptions::new()).unwrap();
    fs::remove_dir_all(path.join(".ijk")).unwrap();
    assert!(executor.write(&u, Arc::new(store)).is_err());
    // Else it were an array of zeros.
    assert!(BigTensor::open(&path).is_err() && !path.join("zarr.json").exists());
    executor.save(&u, &path, &ZarrOptions::new()).unwrap();
    assert_eq!(BigTensor::open(&path).unwrap().collect().unwrap(), u.collect().unwrap());
}

#[test]
fn what_a_killed_writer_left_behind_is_swept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let u = matrix(8, 4);
    let executor = Executor::new();
    let store = ZarrStore::resume(&path, &u, &executor, &ZarrOptions::new()).unwrap();
    store.write(&[0, 0], None).unwrap();
    drop(store);
    fs::write(path.join(".ijk/writing-1234.tmp"), "half").unwrap();
    // A line that was cut off, and a chunk that the disk lost.
    for entry in fs::read_dir(path.join(".ijk")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|end| end == "log") {
            let text = fs::read_to_string(&file).unwrap();
            fs::write(&file, format!("{text}{}", &text[..text.len() / 2])).unwrap();
        }
    }
    fs::create_dir_all(path.join("c/0")).unwrap();
    fs::write(path.join("c/0/1"), "").unwrap();
    let store = ZarrStore::resume(&path, &u, &executor, &ZarrOptions::new()).unwrap();
    assert!(!path.join(".ijk/writing-1234.tmp").exists());
    let done = |i, j| store.is_done(&[i, j]);
    assert_eq!([done(0, 0), done(0, 1), done(1, 0), done(1, 1)], [true, false, false, false]);
}

/// Damages of a chunk: removed, truncated or replaced.
const DAMAGES: [fn(&Path); 7] = [
    |chunk| fs::remove_file(chunk).unwrap(),
    |chunk| fs::write(chunk, "").unwrap(),
    |chunk| {
        let half = fs::metadata(chunk).unwrap().len() / 2;
        fs::File::options().write(true).open(chunk).unwrap().set_len(half).unwrap();
    },
    |chunk| fs::write(chunk, vec![0; fs::metadata(chunk).unwrap().len() as usize]).unwrap(),
    |chunk| fs::write(chunk, [&fs::read(chunk).unwrap()[..], b"more"].concat()).unwrap(),
    |chunk| {
        let mut bytes = fs::read(chunk).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(chunk, bytes).unwrap();
    },
    |chunk| {
        fs::remove_file(chunk).unwrap();
        fs::create_dir(chunk).unwrap();
        fs::write(chunk.join("0"), "what is this?").unwrap();
    },
];

#[test]
fn damaged_chunks_are_computed_again() {
    let directory = tempfile::tempdir().unwrap();
    let u = matrix(24, 4);
    let term = (&u + &u).unwrap();
    let expected = term.collect().unwrap();
    for (name, compression) in [("raw", Compression::None), ("zstd", Compression::Zstd(3))] {
        let (path, options) =
            (directory.path().join(name), ZarrOptions::new().compression(compression));
        let save = |workers| Executor::new().workers(workers).save(&term, &path, &options).unwrap();
        assert_eq!(save(2).computed, 36);
        let whole = chunks(&path);
        for (n, damage) in DAMAGES.into_iter().enumerate() {
            for is_complete in [true, false] {
                let manifest = path.join(".ijk/manifest.json");
                let text = fs::read_to_string(&manifest).unwrap();
                fs::write(
                    &manifest,
                    text.replace("\"complete\": true", &format!("\"complete\": {is_complete}")),
                )
                .unwrap();
                damage(&path.join("c/0/1"));
                damage(&path.join("c/4/3"));
                assert_eq!(
                    save(n % 3 + 1),
                    Saved { blocks: 36, computed: 2, damaged: 2 },
                    "{name} {n}"
                );
                assert!(chunks(&path) == whole, "{name} {n}");
            }
        }
        // A chunk where none belongs.
        fs::create_dir_all(path.join("c/0")).unwrap();
        fs::write(path.join("c/0/0"), fs::read(path.join("c/0/1")).unwrap()).unwrap();
        assert_eq!(save(1), Saved { blocks: 36, computed: 1, damaged: 1 });
        // Journals that are lost, and metadata.
        for entry in fs::read_dir(path.join(".ijk")).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|end| end == "log") {
                fs::write(file, "").unwrap();
            }
        }
        assert_eq!(save(1), Saved { blocks: 36, computed: 36, damaged: 0 });
        fs::write(path.join("zarr.json"), "").unwrap();
        assert_eq!(save(1), Saved { blocks: 36, computed: 36, damaged: 0 });
        assert!(chunks(&path) == whole);
        assert_eq!(BigTensor::open(&path).unwrap().collect().unwrap(), expected);
    }
}

#[test]
fn a_run_that_ended_early_is_read_only_as_partial() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let (u, options) = (matrix(24, 4), ZarrOptions::new().command("`the command`"));
    let executor = Executor::new().workers(1);
    let store = ZarrStore::resume(&path, &u, &executor, &options).unwrap();
    let full = Full { store, room: 20, written: AtomicUsize::new(0) };
    executor.write(&u, Arc::new(full)).unwrap_err();
    let error = BigTensor::open(&path).unwrap_err().to_string();
    let text = "out.zarr: it is not finished: 20 of 36 blocks are written; `the command` finishes it; \
                to read what there is, open it as partial";
    assert!(error.ends_with(text), "{error}");
    let partial = BigTensor::from_source(ZarrStore::open_partial(&path).unwrap()).unwrap();
    assert_ne!(partial.collect().unwrap(), u.collect().unwrap());
    let new = ZarrOptions::new().only_new(true);
    let error = executor.save(&u, &path, &new).unwrap_err().to_string();
    assert!(error.ends_with("it exists already; to replace it, start afresh"), "{error}");
    assert_eq!(executor.save(&u, &path, &options).unwrap().computed, 16);
    assert_eq!(BigTensor::open(&path).unwrap().collect().unwrap(), u.collect().unwrap());
    // Chunks that others remove from what is finished are the fill value, as everywhere.
    fs::remove_dir_all(path.join("c")).unwrap();
    assert!(BigTensor::open(&path).unwrap().collect().is_ok());
}

#[test]
fn afresh_leaves_nothing_that_could_be_taken_for_the_result() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let (u, executor) = (matrix(24, 4), Executor::new().workers(1));
    let double = (&u + &u).unwrap();
    for compression in [Compression::None, Compression::Zstd(1)] {
        executor.save(&u, &path, &ZarrOptions::new().fresh(true)).unwrap();
        // It ends before anything is written.
        let options = ZarrOptions::new().compression(compression);
        let store =
            ZarrStore::resume(&path, &double, &executor, &options.clone().fresh(true)).unwrap();
        drop(store);
        assert!(BigTensor::open(&path).is_err() && !path.join("c").exists());
        let saved = executor.save(&double, &path, &options).unwrap();
        assert_eq!(saved, Saved { blocks: 36, computed: 36, damaged: 0 });
    }
    // It ends when the manifest is written and chunks of another result are still there.
    let (other, text) = (directory.path().join("other.zarr"), path.join(".ijk/manifest.json"));
    executor.save(&u, &other, &ZarrOptions::new()).unwrap();
    let manifest =
        fs::read_to_string(&text).unwrap().replace("\"complete\": true", "\"complete\": false");
    fs::write(other.join(".ijk/manifest.json"), manifest).unwrap();
    for entry in fs::read_dir(other.join(".ijk")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|end| end == "log") {
            fs::remove_file(file).unwrap();
        }
    }
    assert!(BigTensor::open(&other).is_err());
    executor.save(&double, &other, &ZarrOptions::new()).unwrap();
    assert_eq!(BigTensor::open(&other).unwrap().collect().unwrap(), double.collect().unwrap());
}

#[test]
fn a_panic_in_a_closure_leaves_blocks_that_the_next_run_keeps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let u = BigTensor::lit((0..64).map(f64::from), [64], [Some(4)]).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, fails) = (Arc::clone(&calls), Arc::new(AtomicUsize::new(1)));
    let failing = Arc::clone(&fails);
    let term = u.map(Function::closure(move |x: f64| {
        counted.fetch_add(1, Ordering::Relaxed);
        assert!(x < 40.0 || failing.load(Ordering::Relaxed) == 0, "no more");
        x + 1.0
    }));
    let term = term.unwrap();
    let executor = Executor::new().workers(1);
    let error = executor.save(&term, &path, &ZarrOptions::new()).unwrap_err().to_string();
    assert!(error.contains("panicked: no more"), "{error}");
    fails.store(0, Ordering::Relaxed);
    let before = calls.load(Ordering::Relaxed);
    let saved = executor.save(&term, &path, &ZarrOptions::new()).unwrap();
    assert_eq!(saved, Saved { blocks: 16, computed: 6, damaged: 0 });
    assert_eq!(calls.load(Ordering::Relaxed) - before, 24);
}

#[test]
fn intermediate_results_need_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.zarr");
    let u = matrix(60, 8);
    // Products with what is missing, and a fold whose fill is not 0.
    let longest = u.contract_by(&u, 1, 0, "max(l + r)").unwrap();
    let term = longest.matmul(&u.matmul(&u).unwrap()).unwrap();
    let expected = Executor::new().collect(&term).unwrap();
    for workers in [1, 2] {
        let executor = Executor::new().workers(workers).memory_limit(10_000);
        let saved = executor.save(&term, &path, &ZarrOptions::new().fresh(true)).unwrap();
        assert_eq!(saved.computed, 64);
        assert!(BigTensor::open(&path).unwrap().collect().unwrap() == expected);
        let left = fs::read_dir(path.join(".ijk")).unwrap();
        let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.into_iter().all(|name| !name.starts_with("scratch-")));
    }
    fs::create_dir_all(path.join(".ijk/scratch-of-a-killed-run/c")).unwrap();
    drop(ZarrStore::resume(&path, &term, &Executor::new(), &ZarrOptions::new()).unwrap());
    assert!(!path.join(".ijk/scratch-of-a-killed-run").exists());
}
