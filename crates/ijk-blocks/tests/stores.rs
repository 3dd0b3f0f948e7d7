//! Zarr arrays in a bucket: what is read and written, and what happens where the server or the bucket fails.
#![cfg(feature = "object-store")]

use crate::bucket::{BUCKET, Bucket, Fault, Request};
use ijk_blocks::{
    BigTensor, Block, Compression, Error, Executor, Saved, Source, StoreOptions, ZarrOptions,
    ZarrStore,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The URL of a key.
fn url(key: &str) -> String {
    format!("s3://{BUCKET}/{key}")
}

fn options(bucket: &Bucket) -> ZarrOptions {
    ZarrOptions::new().at_store(bucket.options())
}

/// A matrix of 6 by 6 in blocks of 2 by 2.
fn matrix() -> BigTensor {
    BigTensor::lit((1..=36).map(f64::from), [6, 6], [Some(2), Some(2)]).unwrap()
}

fn save(bucket: &Bucket, tensor: &BigTensor, key: &str) -> Result<Saved, Error> {
    Executor::new().save(tensor, url(key), &options(bucket))
}

fn open(bucket: &Bucket, key: &str) -> Result<BigTensor, Error> {
    BigTensor::open_with(url(key), &bucket.options())
}

fn is_chunk(request: &Request, method: &str) -> bool {
    request.method == method && request.key.contains("/c/")
}

#[test]
fn products_are_computed_from_and_to_a_bucket() {
    let bucket = Bucket::start();
    let expected = matrix().matmul(&matrix()).unwrap().collect().unwrap();
    assert_eq!(
        save(&bucket, &matrix(), "data/a.zarr").unwrap(),
        Saved { blocks: 9, computed: 9, damaged: 0 }
    );
    let a = open(&bucket, "data/a.zarr").unwrap();
    assert_eq!(a.ty(), matrix().ty());
    let product = a.matmul(&a).unwrap();
    for workers in [1, 3] {
        let executor = Executor::new().workers(workers).memory_limit(100_000);
        let saved = executor.save(&product, url("c.zarr"), &options(&bucket).fresh(true)).unwrap();
        assert_eq!(saved.computed, 9);
        assert_eq!(open(&bucket, "c.zarr").unwrap().collect().unwrap(), expected);
    }
    let again = save(&bucket, &product, "c.zarr").unwrap();
    assert_eq!(again, Saved { blocks: 9, computed: 0, damaged: 0 });
    let keys = bucket.keys();
    assert!(!keys.iter().any(|key| key.ends_with("lock") || key.contains("clock")), "{keys:?}");
    assert!(keys.contains(&"c.zarr/c/2/2".to_owned()), "{keys:?}");
    // Another one in its place, but only where that is wanted.
    let error = save(&bucket, &a, "c.zarr").unwrap_err().to_string();
    assert!(
        error.starts_with("s3://bucket/c.zarr: it holds another computation's result"),
        "{error}"
    );
    let error = save(&bucket, &a, "data/a.zarr").unwrap_err().to_string();
    assert!(error.contains("it is an input of the computation"), "{error}");
    let error = save(&bucket, &matrix(), "data/a.zarr/c/x").unwrap_err().to_string();
    assert!(error.contains("part of the Zarr array s3://bucket/data/a.zarr"), "{error}");
}

#[test]
fn missing_chunks_are_not_asked_for() {
    let bucket = Bucket::start();
    let identity = BigTensor::lit(
        (0..36).map(|n| if n % 7 == 0 { 1.0 } else { 0.0 }),
        [6, 6],
        [Some(2), Some(2)],
    );
    save(&bucket, &identity.unwrap(), "i.zarr").unwrap();
    assert_eq!(bucket.keys().iter().filter(|key| key.contains("/c/")).count(), 3);
    let i = open(&bucket, "i.zarr").unwrap();
    bucket.requests();
    let product = i.matmul(&i).unwrap().collect().unwrap();
    let read = bucket.requests();
    let mut read = read.iter().filter(|request| is_chunk(request, "GET"));
    assert!(read.all(|request| bucket.get(&request.key).is_some()));
    assert_eq!(product, i.collect().unwrap());
    assert_eq!(i.collect().unwrap().shape(), [6, 6]);
}

#[test]
fn a_result_that_was_interrupted_continues() {
    let bucket = Bucket::start();
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    bucket.plan(move |request| {
        let is_refused = is_chunk(request, "PUT") && count.fetch_add(1, Ordering::Relaxed) >= 4;
        is_refused.then_some(Fault::Answer(403, "AccessDenied"))
    });
    let executor = Executor::new().workers(1);
    let save = || executor.save(&matrix(), url("a.zarr"), &options(&bucket));
    let error = save().unwrap_err().to_string();
    assert!(error.contains("s3://bucket/a.zarr, file c/"), "{error}");
    assert!(error.contains(": PUT http://127.0.0.1:"), "{error}");
    assert!(error.contains("403 Forbidden (AccessDenied: As the test wants it.)"), "{error}");
    assert!(error.contains("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{error}");
    let error = open(&bucket, "a.zarr").unwrap_err().to_string();
    assert!(error.contains("it is not finished: 4 of 9 blocks are written"), "{error}");
    bucket.plan(|_| None);
    let written = bucket.keys().into_iter().find(|key| key.contains("/c/")).unwrap();
    bucket.put(&written, b"damaged");
    assert_eq!(save().unwrap(), Saved { blocks: 9, computed: 6, damaged: 1 });
    assert_eq!(open(&bucket, "a.zarr").unwrap().collect().unwrap(), matrix().collect().unwrap());
}

#[test]
fn a_bucket_that_vanishes_is_no_missing_chunk() {
    let bucket = Bucket::start();
    save(&bucket, &matrix(), "a.zarr").unwrap();
    let a = open(&bucket, "a.zarr").unwrap();
    let count = AtomicUsize::new(0);
    bucket.plan(move |request| {
        let is_gone = is_chunk(request, "GET") && count.fetch_add(1, Ordering::Relaxed) >= 3;
        is_gone.then_some(Fault::Answer(404, "NoSuchBucket"))
    });
    let error = a.collect().unwrap_err().to_string();
    assert!(error.contains("of s3://bucket/a.zarr, file c/"), "{error}");
    assert!(error.contains("404 Not Found (NoSuchBucket: "), "{error}");
    assert!(error.contains("AWS_ENDPOINT_URL and AWS_REGION"), "{error}");
    let error = open(&bucket, "elsewhere.zarr").unwrap_err().to_string();
    assert_eq!(error, "s3://bucket/elsewhere.zarr: it is no Zarr array: it has no zarr.json");
}

#[test]
fn passing_failures_are_repeated() {
    let bucket = Bucket::start();
    let count = AtomicUsize::new(0);
    bucket.plan(move |_| {
        let is_slow = count.fetch_add(1, Ordering::Relaxed) % 4 == 1;
        is_slow.then_some(Fault::Answer(503, "SlowDown"))
    });
    save(&bucket, &matrix(), "a.zarr").unwrap();
    let count = AtomicUsize::new(0);
    bucket.plan(move |request| {
        let is_cut =
            is_chunk(request, "GET") && count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        is_cut.then_some(Fault::Cut(7))
    });
    let read = open(&bucket, "a.zarr").unwrap().collect().unwrap();
    assert_eq!(read, matrix().collect().unwrap());
}

#[test]
fn foreign_objects_are_named() {
    let bucket = Bucket::start();
    save(&bucket, &matrix(), "a.zarr").unwrap();
    bucket.put("a.zarr/c/0/0", b"a truncated chunk");
    let error = open(&bucket, "a.zarr").unwrap().collect().unwrap_err().to_string();
    assert_eq!(
        error,
        "block [0, 0] of s3://bucket/a.zarr, file c/0/0: it is truncated: it has 17 bytes and should have 32"
    );
    bucket.put("b.zarr/zarr.json", b"<html>");
    let error = open(&bucket, "b.zarr").unwrap_err().to_string();
    assert!(error.starts_with("s3://bucket/b.zarr: zarr.json is not valid: "), "{error}");
}

#[test]
fn wrong_settings_are_named() {
    let bucket = Bucket::start();
    let wrong = bucket.options().set("access_key_id", "wrong");
    let error = BigTensor::open_with(url("a.zarr"), &wrong).unwrap_err().to_string();
    assert!(error.contains("403 Forbidden (InvalidAccessKeyId"), "{error}");
    assert!(error.contains("set AWS_ACCESS_KEY_ID"), "{error}");
    let open = |path: &str, options: &StoreOptions| {
        BigTensor::open_with(path, options).unwrap_err().to_string()
    };
    let gone = bucket.options().set("endpoint_url", "http://127.0.0.1:1");
    let error = open("s3://bucket/a.zarr", &gone);
    assert!(error.contains("GET http://127.0.0.1:1/bucket/a.zarr/zarr.json failed: "), "{error}");
    assert!(error.contains("refused") && error.contains("set AWS_ENDPOINT_URL"), "{error}");
    let error = open("s3://bucket/a.zarr", &bucket.options().set("colour", "red"));
    assert!(error.contains("there is no option `colour` of object stores"), "{error}");
    let error = open("s3://bucket/a.zarr", &bucket.options().set("profile", "no such"));
    assert!(error.contains("there is no profile `no such`"), "{error}");
    let none = StoreOptions::new();
    for (path, said) in [
        ("gs://bucket/a.zarr", "URLs of `gs` are not read; those of s3, http and https are"),
        ("simplecache::s3://bucket/a", "URLs of `simplecache::s3` are not read"),
        ("s3://", "the URL names no bucket and no host"),
        ("https://host/a.zarr?token=1", "a URL with a query or a fragment"),
    ] {
        assert!(open(path, &none).contains(said), "{path}: {}", open(path, &none));
    }
    assert!(!format!("{:?}", bucket.options()).contains("sesame"));
}

#[test]
fn one_run_writes_at_a_time() {
    let bucket = Bucket::start();
    let executor = Executor::new();
    let resume = || ZarrStore::resume(url("a.zarr"), &matrix(), &executor, &options(&bucket));
    let first = resume().unwrap();
    let error = resume().unwrap_err().to_string();
    let this =
        format!("s3://bucket/a.zarr: another process ({}) is writing it", std::process::id());
    assert!(error.starts_with(&this), "{error}");
    drop(first);
    drop(resume().unwrap());
    // One that ended without a word, on this machine and on another.
    let machine = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let processes = std::fs::read_link("/proc/self/ns/pid");
    if let (Ok(machine), Ok(processes)) = (machine, processes) {
        let machine = format!("{} {}", machine.trim(), processes.display());
        let lease = |machine: &str| {
            format!(r#"{{"run": "x", "process": 4194305, "machine": "{machine}", "renewals": 3}}"#)
        };
        bucket.put("a.zarr/.ijk/lock", lease("another").as_bytes());
        assert!(resume().unwrap_err().to_string().contains("another process (4194305)"));
        bucket.put("a.zarr/.ijk/lock", lease(&machine).as_bytes());
        drop(resume().unwrap());
    }
    assert!(bucket.get("a.zarr/.ijk/lock").is_none());
}

#[test]
fn a_run_that_lost_its_lease_writes_nothing_more() {
    let bucket = Bucket::start();
    let executor = Executor::new();
    let store = ZarrStore::resume(url("a.zarr"), &matrix(), &executor, &options(&bucket)).unwrap();
    let store = Arc::new(store);
    matrix().write(Arc::<ZarrStore>::clone(&store)).unwrap();
    bucket.put("a.zarr/.ijk/lock", b"another's");
    let error = store.complete().unwrap_err().to_string();
    assert!(error.contains("another process took over writing it"), "{error}");
    drop(store);
    assert_eq!(*bucket.get("a.zarr/.ijk/lock").unwrap().bytes, b"another's");
    assert!(open(&bucket, "a.zarr").unwrap_err().to_string().contains("it is not finished"));
}

#[test]
fn silence_can_be_interrupted() {
    let bucket = Bucket::start();
    save(&bucket, &matrix(), "a.zarr").unwrap();
    let a = open(&bucket, "a.zarr").unwrap();
    bucket.plan(|request| is_chunk(request, "GET").then_some(Fault::Silence));
    is_interrupted(|executor| executor.collect(&a).unwrap_err().to_string());
}

/// Stops a run after a while, and checks that it ends soon with that error.
fn is_interrupted(run: impl FnOnce(Executor) -> String) {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        flag.store(true, Ordering::Relaxed);
    });
    let start = Instant::now();
    let error = run(Executor::new().stop(stop));
    assert!(error.ends_with("interrupted"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn results_become_members_of_groups() {
    let bucket = Bucket::start();
    let group = r#"{"zarr_format": 3, "node_type": "group", "attributes": {},
        "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {}}}"#;
    bucket.put("g.zarr/zarr.json", group.as_bytes());
    let named = options(&bucket).names([Some("y".into()), Some("x".into())]);
    Executor::new().save(&matrix(), url("g.zarr/t"), &named).unwrap();
    Executor::new().save(&matrix(), url("g.zarr/sub/deep/u"), &options(&bucket)).unwrap();
    for key in ["g.zarr/sub", "g.zarr/sub/deep"] {
        let text = bucket.get(&format!("{key}/zarr.json")).unwrap().bytes;
        assert!(String::from_utf8_lossy(&text).contains("\"group\""), "{key}");
    }
    let text = bucket.get("g.zarr/zarr.json").unwrap().bytes;
    let text = String::from_utf8_lossy(&text);
    for key in ["\"t\":", "\"sub\":", "\"sub/deep\":", "\"sub/deep/u\":"] {
        assert!(text.contains(key), "{text}");
    }
    let error = open(&bucket, "g.zarr").unwrap_err().to_string();
    assert!(
        error.ends_with(
            "it is a group, no array; it holds sub/deep/u, t: open one, such as sub/deep/u"
        ),
        "{error}"
    );
    let found = open(&bucket, "g.zarr/t").unwrap().annotations();
    assert_eq!(found.names, [Some("y".to_owned()), Some("x".to_owned())]);
}

#[test]
fn another_array_takes_the_place_of_one_that_is_replaced() {
    let bucket = Bucket::start();
    save(&bucket, &matrix(), "a.zarr").unwrap();
    bucket.put("a.zarr/notes.txt", b"not ours");
    let small = BigTensor::lit([1.0, 2.0], [2], [Some(1)]).unwrap();
    let fresh = options(&bucket).fresh(true);
    Executor::new().save(&small, url("a.zarr"), &fresh).unwrap();
    let chunks: Vec<_> = bucket.keys().into_iter().filter(|key| key.contains("/c/")).collect();
    assert_eq!(chunks, ["a.zarr/c/0", "a.zarr/c/1"]);
    assert!(bucket.get("a.zarr/notes.txt").is_some());
    let Block::Numbers(found) = open(&bucket, "a.zarr").unwrap().collect().unwrap() else {
        panic!()
    };
    assert_eq!(found.as_slice::<f64>().unwrap(), [1.0, 2.0]);
    bucket.put("other/data", b"x");
    let error = Executor::new().save(&small, url("other"), &fresh).unwrap_err().to_string();
    assert!(error.contains("it has no zarr.json"), "{error}");
    assert!(bucket.get("other/data").is_some());
}

#[test]
fn changes_of_inputs_are_noticed() {
    let bucket = Bucket::start();
    save(&bucket, &matrix(), "a.zarr").unwrap();
    let store = |bucket: &Bucket| ZarrStore::open_with(url("a.zarr"), &bucket.options()).unwrap();
    let before = store(&bucket).identity().unwrap();
    assert!(before.starts_with("9 objects of 288 bytes, "), "{before}");
    let bytes = bucket.get("a.zarr/c/0/0").unwrap().bytes;
    bucket.put("a.zarr/c/0/0", &bytes);
    assert_ne!(store(&bucket).identity().unwrap(), before);
}

#[test]
fn blocks_are_on_their_way_while_others_are_computed() {
    let bucket = Bucket::start();
    save(&bucket, &matrix(), "a.zarr").unwrap();
    let a = open(&bucket, "a.zarr").unwrap();
    let product = a.matmul(&a).unwrap();
    let expected = matrix().matmul(&matrix()).unwrap().collect().unwrap();
    for workers in [1, 2, 4] {
        for method in ["GET", "PUT"] {
            bucket.plan(move |request| is_chunk(request, method).then_some(Fault::Late(30)));
            let executor = Executor::new().workers(workers).memory_limit(100_000);
            let to = options(&bucket).fresh(true);
            executor.save(&product, url("c.zarr"), &to).unwrap();
            let most = bucket.most_late();
            assert!(most > 4, "{workers} workers, {method}: {most} at a time");
            bucket.plan(|_| None);
            assert_eq!(open(&bucket, "c.zarr").unwrap().collect().unwrap(), expected);
        }
    }
}

#[test]
fn nothing_is_on_its_way_that_does_not_fit() {
    let bucket = Bucket::start();
    save(&bucket, &matrix(), "a.zarr").unwrap();
    let a = open(&bucket, "a.zarr").unwrap();
    let product = a.matmul(&a).unwrap();
    let to = options(&bucket).fresh(true);
    let save = |limit: u64| {
        let executor = Executor::new().workers(1).memory_limit(limit);
        executor.save(&product, url("c.zarr"), &to)
    };
    let error = save(1).unwrap_err();
    let Error::Memory { least, .. } = error else { panic!("{error}") };
    for (method, together) in [("GET", 2), ("PUT", 1)] {
        bucket.plan(move |request| is_chunk(request, method).then_some(Fault::Late(5)));
        save(least).unwrap();
        assert!(bucket.most_late() <= together, "{method}");
    }
}

#[test]
fn a_bucket_that_vanishes_leaves_a_result_that_continues() {
    let bucket = Bucket::start();
    save(&bucket, &matrix(), "a.zarr").unwrap();
    let a = open(&bucket, "a.zarr").unwrap();
    let product = a.matmul(&a).unwrap();
    let count = AtomicUsize::new(0);
    bucket.plan(move |request| {
        let is_first = !is_chunk(request, "PUT") || count.fetch_add(1, Ordering::Relaxed) < 3;
        let is_of_result = request.method != "GET" && request.key.starts_with("c.zarr/c/");
        (is_of_result && !is_first).then_some(Fault::Answer(404, "NoSuchBucket"))
    });
    let error = save(&bucket, &product, "c.zarr").unwrap_err().to_string();
    assert!(error.contains("of s3://bucket/c.zarr, file c/"), "{error}");
    assert!(error.contains("404 Not Found (NoSuchBucket: "), "{error}");
    let written = bucket.keys().iter().filter(|key| key.starts_with("c.zarr/c/")).count();
    assert_eq!(written, 3);
    let error = open(&bucket, "c.zarr").unwrap_err().to_string();
    assert!(error.contains("it is not finished: 3 of 9 blocks are written"), "{error}");
    bucket.plan(|_| None);
    let saved = save(&bucket, &product, "c.zarr").unwrap();
    assert_eq!(saved, Saved { blocks: 9, computed: 6, damaged: 0 });
    let expected = matrix().matmul(&matrix()).unwrap().collect().unwrap();
    assert_eq!(open(&bucket, "c.zarr").unwrap().collect().unwrap(), expected);
}

#[test]
fn silence_while_blocks_are_sent_can_be_interrupted() {
    let bucket = Bucket::start();
    bucket.plan(|request| is_chunk(request, "PUT").then_some(Fault::Silence));
    is_interrupted(|executor| {
        let saved = executor.save(&matrix(), url("a.zarr"), &options(&bucket));
        saved.unwrap_err().to_string()
    });
    bucket.plan(|_| None);
    let saved = save(&bucket, &matrix(), "a.zarr").unwrap();
    assert_eq!((saved.blocks, saved.computed), (9, 9));
}

#[test]
fn compressed_blocks_and_those_at_the_ends_of_axes_come_as_they_are() {
    let bucket = Bucket::start();
    let numbers = (0..35).map(|n| f64::from(n % 11) / 3.0);
    let ragged = BigTensor::lit(numbers, [7, 5], [Some(3), Some(2)]).unwrap();
    for compression in [Compression::None, Compression::Zstd(1)] {
        let to = options(&bucket).compression(compression).fresh(true);
        let executor = Executor::new().workers(2).memory_limit(100_000);
        executor.save(&ragged, url("r.zarr"), &to).unwrap();
        let read = open(&bucket, "r.zarr").unwrap();
        assert_eq!(executor.collect(&read).unwrap(), ragged.collect().unwrap());
        let sum = (&read + &read).unwrap();
        executor.save(&sum, url("s.zarr"), &to).unwrap();
        let expected = (&ragged + &ragged).unwrap().collect().unwrap();
        assert_eq!(open(&bucket, "s.zarr").unwrap().collect().unwrap(), expected);
    }
    bucket.put("s.zarr/c/1/1", b"no chunk");
    let error = open(&bucket, "s.zarr").unwrap().collect().unwrap_err().to_string();
    assert!(error.starts_with("block [1, 1] of s3://bucket/s.zarr, file c/1/1: zstd: "), "{error}");
}

#[test]
fn metadata_are_asked_for_at_a_time() {
    let bucket = Bucket::start();
    let names: Vec<String> = (0..6).map(|n| format!("in/deep/{n}.zarr")).collect();
    for name in &names {
        save(&bucket, &matrix(), name).unwrap();
    }
    let late = |request: &Request| (!request.key.contains("/c/")).then_some(Fault::Late(20));
    let sum = || {
        let all: Vec<_> = names.iter().map(|name| open(&bucket, name).unwrap()).collect();
        bucket.plan(late);
        bucket.rounds();
        all.iter().skip(1).fold(all[0].clone(), |sum, next| (&sum + next).unwrap())
    };
    let expected = matrix().map("6 * x").unwrap().collect().unwrap();
    let to = options(&bucket);
    let executor = Executor::new().workers(2).memory_limit(1_000_000);
    // Whatever the number of arguments, and of places above the result.
    let all = sum();
    let count = AtomicUsize::new(0);
    bucket.plan(move |request| {
        let is_refused = is_chunk(request, "PUT") && count.fetch_add(1, Ordering::Relaxed) >= 5;
        if is_refused { Some(Fault::Answer(403, "AccessDenied")) } else { late(request) }
    });
    executor.save(&all, url("out/a/b/c.zarr"), &to).unwrap_err();
    let rounds = bucket.rounds();
    assert!(rounds <= 12, "a run that fails: {rounds} rounds");
    let all = sum();
    let saved = executor.save(&all, url("out/a/b/c.zarr"), &to).unwrap();
    let rounds = bucket.rounds();
    assert!(saved.computed < 9 && rounds <= 15, "one that continues it: {rounds} rounds");
    bucket.plan(|_| None);
    assert_eq!(open(&bucket, "out/a/b/c.zarr").unwrap().collect().unwrap(), expected);
    let all = sum();
    executor.save(&all, url("out/a/b/d.zarr"), &to).unwrap();
    let rounds = bucket.rounds();
    assert!(rounds <= 14, "a run: {rounds} rounds");
}
