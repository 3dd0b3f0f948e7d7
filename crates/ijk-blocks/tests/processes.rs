//! Several processes: the same results as one process, and no hang after any failure.
//!
//! Processes are children that run [`process`], the test that is none by itself; where nothing dies, threads
//! pose as processes, each with a cluster of its own.

mod common;
mod environment;
mod within;

use common::{build, compare};
use environment::number;
use ijk_blocks::cluster::{Cluster, Hosts, Secret};
use ijk_blocks::{
    Aggregation, BigTensor, Block, BlockPlan, Error, Executor, Function, Machines, MemoryStore,
    Progress, Scratch, Sink, Source, Store, StoreError, Type, Value,
};
use ijk_oracle::blocks::BlockCase;
use ijk_types::Scalar;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Secret of the processes of these tests.
const SECRET: &str = "correct horse battery staple";

/// Addresses that were free just now.
fn addresses(processes: usize) -> String {
    let bound = (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let bound: Vec<TcpListener> = bound.collect();
    let lines = bound.iter().map(|listener| format!("{}\n", listener.local_addr().unwrap()));
    lines.collect()
}

/// Runs several processes, which are threads here; each gets its number.
fn together<T: Send>(
    processes: usize,
    of: impl Fn(usize, Result<Cluster, Error>) -> T + Sync,
) -> Vec<T> {
    let hosts = Hosts::parse(&addresses(processes)).unwrap();
    apart((0..processes).map(|process| (hosts.clone(), process, SECRET)).collect(), of)
}

/// The same where not all are told the same.
fn apart<T: Send>(
    told: Vec<(Hosts, usize, &str)>,
    of: impl Fn(usize, Result<Cluster, Error>) -> T + Sync,
) -> Vec<T> {
    let started = Instant::now();
    let results = std::thread::scope(|scope| {
        let of = &of;
        let start = |(n, (hosts, process, secret)): (usize, (Hosts, usize, &'static str))| {
            scope.spawn(move || {
                let secret = Some(Secret::new(secret).unwrap());
                let cluster = Cluster::join(hosts, process, secret).map_err(Error::from);
                of(n, cluster.map(|cluster| cluster.wait(Duration::from_secs(20))))
            })
        };
        let told = told.into_iter().map(|(hosts, process, secret)| {
            let secret: &'static str = Box::leak(secret.to_owned().into_boxed_str());
            (hosts, process, secret)
        });
        let threads: Vec<_> = told.enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(started.elapsed() < PATIENCE);
    results
}

/// Numbers whose sums are rounded.
fn matrix(rows: usize, columns: usize, blocks: [usize; 2]) -> BigTensor {
    let values = (0..rows * columns).map(|n| (n * 7919 % 1000) as f32 / 7.0 - 60.0);
    BigTensor::lit(values, [rows, columns], blocks.map(Some)).unwrap()
}

fn bits(block: &Block) -> Vec<u32> {
    let numbers = block.as_numbers().unwrap().as_slice::<f32>().unwrap();
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// Products of products, in blocks that later stages read across.
fn chain() -> BigTensor {
    let (u, v) = (matrix(90, 130, [16, 32]), matrix(130, 70, [32, 24]));
    let product = u.map("x / 3").unwrap().matmul(&v).unwrap();
    let other = product.reblock([Some(20), Some(24)]).unwrap();
    let shifted = other.select([(1..90).into(), (..).into()]).unwrap();
    let chain = shifted.matmul(&matrix(70, 40, [24, 16])).unwrap();
    // A stage with fewer blocks than there are workers.
    let few = chain.contract(&chain, 0, 0).unwrap().reblock([None, None]).unwrap();
    // One whose folded axis is long.
    let long = matrix(40, 1200, [40, 8]).matmul(&matrix(1200, 40, [8, 40])).unwrap();
    let long = long.reblock([None, None]).unwrap();
    (&few.map("exp(x / 1e9)").unwrap() + &long).unwrap()
}

/// Where intermediate results go; how often it was asked for room, and whether there is some.
#[derive(Debug)]
struct Counted {
    asked: AtomicUsize,
    is_full: bool,
}

impl Scratch for Counted {
    fn store(&self, ty: &Type, fill: &Value) -> Result<Arc<dyn Store>, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match self.is_full {
            false => Ok(Arc::new(MemoryStore::with_fill(ty.clone(), fill.clone()))),
            true => Err(StoreError { place: "scratch".into(), cause: "no room".into() }),
        }
    }
}

fn counted(is_full: bool) -> Arc<Counted> {
    Arc::new(Counted { asked: AtomicUsize::new(0), is_full })
}

#[test]
fn results_have_the_same_bits_for_any_number_of_processes() {
    let expected = bits(&Executor::new().workers(1).collect(&chain()).unwrap());
    for (processes, workers, memory) in
        [(1, 2, None), (2, 1, None), (2, 2, Some(45_000)), (3, 1, None), (3, 2, Some(60_000))]
    {
        let results = together(processes, |process, cluster| {
            let scratch = counted(false);
            let mut executor = Executor::new().workers(workers).cluster(Arc::new(cluster.unwrap()));
            if let Some(memory) = memory {
                let scratch = Arc::<Counted>::clone(&scratch);
                executor = executor.memory_limit(memory).scratch(scratch);
            }
            // Several runs of one cluster.
            let first = executor.collect(&chain()).unwrap();
            let second = executor.collect(&chain()).unwrap();
            assert_eq!(first, second);
            // Of two runs; products, and what is folded in eight parts, shared by all processes.
            let large = memory.map_or(0, |memory| {
                let sizes = [90 * 70, 89 * 40, 40 * 40, 8 * 40 * 40, 40 * 40];
                sizes.iter().filter(|&&size| 4 * size > memory / 8 * processes as u64).count()
            });
            assert_eq!(scratch.asked.load(Ordering::Relaxed), 2 * large);
            if process == 0 { Some(bits(&first)) } else { first.shape().is_empty().then(Vec::new) }
        });
        let case = format!("{processes} processes of {workers} workers");
        assert_eq!(results[0].as_ref(), Some(&expected), "{case}");
        assert!(results[1..].iter().all(Option::is_none), "{case}: others got something");
    }
}

#[test]
fn blocks_are_written_where_they_are_computed() {
    let term = matrix(64, 48, [8, 8]).matmul(&matrix(48, 64, [8, 8])).unwrap();
    let progress = Arc::new(Progress::default());
    let stores = together(2, |process, cluster| {
        let store = Arc::new(MemoryStore::new(term.ty().clone()));
        let mut executor = Executor::new().workers(2).cluster(Arc::new(cluster.unwrap()));
        if process == 0 {
            executor = executor.observed(Arc::clone(&progress));
        }
        executor.write(&term, Arc::<MemoryStore>::clone(&store)).unwrap();
        store
    });
    assert_eq!(stores.iter().map(|store| store.blocks()).collect::<Vec<_>>(), [32, 32]);
    let counts = progress.counts();
    assert_eq!((counts.blocks, counts.of_blocks), (64, 64));
    assert_eq!((counts.operations, counts.of_operations), (2 * 64 * 48 * 64, 2 * 64 * 48 * 64));
    // Four workers in a square: each part goes to one other, those of one operand to one in the same process.
    assert_eq!((counts.shared, counts.moved), (2 * 64 * 48 * 4, 64 * 48 * 4));
    assert!(counts.sent >= counts.moved, "{counts:?}");
}

/// Numbers in blocks.
fn array(dims: &[usize], blocks: &[usize]) -> BigTensor {
    let values = (0..dims.iter().product::<usize>()).map(|n| (n * 7919 % 1000) as f32 / 7.0);
    BigTensor::lit(values, dims, blocks.iter().map(|&n| Some(n)).collect::<Vec<_>>()).unwrap()
}

#[test]
fn processes_move_what_simulations_say() {
    let einsum = |text, of: &[&BigTensor]| BigTensor::einsum(text, of).unwrap();
    let (u, v) = (array(&[50, 36], &[4, 8]), array(&[36, 41], &[8, 4]));
    let (batch, other) = (array(&[5, 18, 20], &[1, 4, 8]), array(&[5, 20, 14], &[1, 8, 4]));
    let sum = "i*j~ij . ij*ij~ij . +ij~i";
    let terms = [
        ("product", u.matmul(&v).unwrap()),
        ("batched product", einsum("bij,bjk->bik", &[&batch, &other])),
        ("sum", einsum("ij->j", &[&u])),
        ("sum of products", {
            let of = [&array(&[50], &[4]), &array(&[36], &[8]), &u];
            ijk_blocks::apply(sum, &of).unwrap().remove(0)
        }),
        ("few blocks", array(&[8, 36], &[4, 8]).matmul(&array(&[36, 4], &[8, 4])).unwrap()),
    ];
    for (name, term) in &terms {
        let mut moved = 0;
        for (processes, workers, memory) in
            [(2, 2, None), (2, 3, Some(4000)), (3, 2, None), (3, 3, Some(2000))]
        {
            let on = Machines { machines: processes, workers, memory, ..Machines::default() };
            let simulated = BlockPlan::new(term).simulate(&on).unwrap().stages.remove(0);
            let progress = Arc::new(Progress::default());
            together(processes, |process, cluster| {
                let cluster = Arc::new(cluster.unwrap());
                let mut executor = Executor::new().workers(workers).cluster(cluster);
                if let Some(memory) = memory {
                    executor = executor.memory_limit(memory);
                }
                if process == 0 {
                    executor = executor.observed(Arc::clone(&progress));
                }
                executor.write(term, Arc::new(MemoryStore::new(term.ty().clone()))).unwrap();
            });
            let counts = progress.counts();
            let said = (simulated.moved.mean * processes as f64).round() as u64;
            let case = format!("{name} on {processes} × {workers}: {counts:?}\n{simulated}");
            assert_eq!((counts.moved, counts.shared), (said, simulated.exchanged as u64), "{case}");
            moved += said;
        }
        assert_eq!(moved > 0, *name != "sum", "{name}: {moved} bytes");
    }
}

/// Zeros, of which a block cannot be read, or is read slowly.
#[derive(Debug)]
struct Odd {
    ty: Type,
    fails_at: Option<Vec<usize>>,
    pause: Duration,
}

fn odd(blocks: usize, fails_at: Option<Vec<usize>>, pause: u64) -> BigTensor {
    let side = [8 * blocks; 2];
    let ty = BigTensor::zeros(ijk_types::DType::F32, side, [Some(8), Some(8)]).unwrap();
    let (ty, pause) = (ty.ty().clone(), Duration::from_millis(pause));
    BigTensor::from_source(Odd { ty, fails_at, pause }).unwrap()
}

impl Source for Odd {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        if self.fails_at.as_deref() == Some(at) {
            return Err(StoreError::of_block("odd", at, "truncated"));
        }
        std::thread::sleep(self.pause);
        let value = (at[0] * 31 + at[1] * 17) as f32 / 7.0 - 3.0;
        let value = Value::Number(Scalar::F32(value));
        Ok(Some(Arc::new(Block::full(&value, &self.ty.block_shape(at)).unwrap())))
    }

    fn name(&self) -> String {
        "odd".into()
    }
}

#[test]
fn an_error_in_one_process_is_told_by_all() {
    // The block may be read in any process.
    for at in [[0, 0], [3, 1], [5, 6]] {
        let errors = together(3, |_, cluster| {
            let executor = Executor::new().workers(1).cluster(Arc::new(cluster.unwrap()));
            let term = odd(8, Some(at.to_vec()), 0).matmul(&odd(8, None, 0)).unwrap();
            executor.collect(&term).unwrap_err().to_string()
        });
        let text = format!("block {at:?} of odd: truncated");
        let own = errors.iter().filter(|error| **error == text).count();
        assert!(own >= 1, "{errors:?}");
        let named = |error: &&String| error.starts_with("process ") && error.ends_with(&text);
        assert_eq!(errors.iter().filter(named).count(), 3 - own, "{errors:?}");
    }
}

#[test]
fn a_scratch_without_room_is_told_by_all() {
    let errors = together(3, |process, cluster| {
        let executor = Executor::new().workers(1).cluster(Arc::new(cluster.unwrap()));
        let executor = executor.memory_limit(60_000).scratch(counted(process == 1));
        executor.collect(&chain()).unwrap_err().to_string()
    });
    assert_eq!(errors[1], "scratch: no room");
    for error in [&errors[0], &errors[2]] {
        assert!(error.starts_with("process 1 (127.0.0.1:"), "{error}");
        assert!(error.ends_with("scratch: no room"), "{error}");
    }
}

/// A sink that panics at a block, against its contract.
#[derive(Debug)]
struct Broken(Type, AtomicUsize);

impl Sink for Broken {
    fn ty(&self) -> &Type {
        &self.0
    }

    fn fill(&self) -> Option<Value> {
        None
    }

    fn write(&self, _: &[usize], _: Option<Arc<Block>>) -> Result<(), StoreError> {
        assert!(self.1.fetch_add(1, Ordering::Relaxed) < 3, "broken");
        Ok(())
    }
}

#[test]
fn a_panic_in_one_process_is_told_by_all() {
    let term = odd(8, None, 0).matmul(&odd(8, None, 0)).unwrap();
    let errors = together(3, |process, cluster| {
        let executor = Executor::new().workers(2).cluster(Arc::new(cluster.unwrap()));
        let sink: Arc<dyn Sink> = match process {
            1 => Arc::new(Broken(term.ty().clone(), AtomicUsize::new(0))),
            _ => Arc::new(MemoryStore::new(term.ty().clone())),
        };
        executor.write(&term, sink).unwrap_err().to_string()
    });
    assert_eq!(errors[1], "a worker ended early: broken");
    for error in [&errors[0], &errors[2]] {
        assert!(error.starts_with("process 1 (127.0.0.1:"), "{error}");
        assert!(error.ends_with("a worker ended early: broken"), "{error}");
    }
}

#[test]
fn closures_are_for_one_process() {
    let closure = matrix(8, 8, [4, 4]).map(Function::closure(|x: f32| x + 1.0)).unwrap();
    let by = Aggregation::closures(0.0, |x: f32, y| x + y, |x: f32, y: f32| x * y);
    let fold = matrix(8, 8, [4, 4]).contract_by(&matrix(8, 8, [4, 4]), 1, 0, by).unwrap();
    for term in [closure, fold] {
        let errors = together(2, |_, cluster| {
            let executor = Executor::new().cluster(Arc::new(cluster.unwrap()));
            executor.collect(&term).unwrap_err().to_string()
        });
        assert!(
            errors.iter().all(|e| e.contains("closures run in one process only")),
            "{errors:?}"
        );
    }
}

/// Messages of both of two processes that do not fit.
fn refusals(told: Vec<(Hosts, usize, &str)>, terms: [&str; 2]) -> Vec<String> {
    apart(told, |n, cluster| {
        let executor = Executor::new().workers(1).cluster(Arc::new(cluster?));
        executor.collect(&matrix(8, 8, [4, 4]).map(terms[n])?).map(drop)
    })
    .into_iter()
    .map(|result| result.unwrap_err().to_string())
    .collect()
}

#[test]
fn those_who_do_not_fit_are_refused_on_both_sides() {
    let list = addresses(2);
    let hosts = Hosts::parse(&list).unwrap();
    let names: Vec<String> =
        list.lines().enumerate().map(|(n, line)| format!("process {n} ({line})")).collect();
    let (first, second) = (&names[0], &names[1]);

    let told = || (0..2).map(|process| (hosts.clone(), process, SECRET)).collect::<Vec<_>>();
    let errors = refusals(told(), ["x + 1", "x + 2"]);
    let line = |n| format!("`s0 = copy lit(64 elements) + {n} : ([8, 8], [4, 4], f32); 4 blocks`");
    let (one, two) = (line(1), line(2));
    let differ = |who, other, theirs, ours| {
        format!("{who} and {other} differ in what they compute: {theirs} there, {ours} here")
    };
    assert_eq!(errors[0], differ(second, first, &two, &one));
    assert_eq!(errors[1], differ(first, second, &one, &two));

    let other = Hosts::parse(&format!("{list}127.0.0.1:9")).unwrap();
    let errors = refusals(vec![(hosts.clone(), 0, SECRET), (other, 1, SECRET)], ["x", "x"]);
    for error in errors {
        assert!(error.contains("differ in their host lists (digest): "), "{error}");
    }

    // The second one finds the address taken.
    let both = vec![(hosts.clone(), 1, SECRET), (hosts.clone(), 1, SECRET)];
    let errors = apart(both, |_, cluster| {
        let cluster = cluster?.wait(Duration::from_millis(300));
        std::thread::sleep(Duration::from_millis(100));
        cluster.meet().map_err(Error::from)
    });
    let mut errors: Vec<String> = errors.into_iter().map(|e| e.unwrap_err().to_string()).collect();
    errors.sort_by_key(|error| !error.contains("did not come"));
    assert!(errors[0].starts_with(&format!("{first} did not come within 0 s: ")), "{errors:?}");
    assert!(errors[1].starts_with(&format!("{second} cannot listen at its address: ")));
    assert!(errors[1].ends_with("is it running already, or another process with its number?"));
}

#[test]
fn who_has_another_secret_is_not_let_in_but_named() {
    let list = addresses(2);
    let hosts = Hosts::parse(&list).unwrap();
    let names: Vec<String> =
        list.lines().enumerate().map(|(n, line)| format!("process {n} ({line})")).collect();
    let (first, second) = (&names[0], &names[1]);
    let told = vec![(hosts.clone(), 0, SECRET), (hosts, 1, "staple battery horse")];
    let errors = apart(told, |_, cluster| {
        let cluster = cluster.unwrap().wait(Duration::from_millis(1500));
        cluster.meet().unwrap_err().to_string()
    });
    assert!(errors[0].starts_with(&format!("{second} did not come within 1 s: ")), "{errors:?}");
    assert!(errors[0].ends_with(&format!(": it has another secret than {first}")), "{errors:?}");
    let expected = format!("{first} did not come within 1 s: it has another secret than {second}");
    assert_eq!(errors[1], expected);
}

/// Processes that take no call by then are not waited for.
const NOW: Duration = Duration::from_secs(1);

/// Calls without the secret, and the resulting messages.
fn strangers(at: &str) -> Vec<TcpStream> {
    let text = b"9.9.9";
    let greeting = [&(text.len() as u64).to_le_bytes()[..], text, &[0; 3]].concat();
    let version = [b"ijk-meet", &(greeting.len() as u64).to_le_bytes()[..], &greeting].concat();
    let guess = [&b"ijk-meet"[..], &[5; 64], &version].concat();
    let said: [&[u8]; 6] =
        [b"", b"GET / HTTP/1.1\r\n\r\n", b"ijk-", &version, &guess, &[255; 5000]];
    let call = |said: &[u8]| {
        let mut stream = TcpStream::connect_timeout(&at.parse().unwrap(), NOW).ok()?;
        // It may have been hung up on.
        stream.write_all(said).unwrap_or_default();
        Some(stream)
    };
    said.into_iter().filter_map(call).collect()
}

#[test]
fn strangers_do_no_harm() {
    let expected = bits(&Executor::new().workers(1).collect(&chain()).unwrap());
    let list = addresses(3);
    let hosts = Hosts::parse(&list).unwrap();
    let over = AtomicBool::new(false);
    let results = std::thread::scope(|scope| {
        for at in list.lines() {
            let over = &over;
            scope.spawn(move || {
                // More than may greet at once; they stay, and some trickle on.
                let mut calls: Vec<TcpStream> = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    calls.extend(strangers(at));
                    let oldest = calls.len().saturating_sub(150);
                    calls.drain(..oldest);
                    for stream in &mut calls {
                        stream.write_all(&[0]).unwrap_or_default();
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
        std::thread::sleep(Duration::from_millis(100));
        let told = (0..3).map(|process| (hosts.clone(), process, SECRET)).collect();
        let results = apart(told, |process, cluster| {
            let executor = Executor::new().workers(1).cluster(Arc::new(cluster.unwrap()));
            // They go on calling while others compute, and before the next run.
            let first = executor.collect(&chain()).unwrap();
            let second = executor.collect(&chain()).unwrap();
            assert_eq!(first, second);
            (process == 0).then(|| bits(&first))
        });
        over.store(true, Ordering::Relaxed);
        results
    });
    assert_eq!(results[0].as_ref(), Some(&expected));
}

#[test]
fn many_processes_meet() {
    let (processes, term) = (24, matrix(8, 8, [4, 4]));
    let expected = bits(&Executor::new().workers(1).collect(&term).unwrap());
    let results = together(processes, |process, cluster| {
        let cluster = Arc::new(cluster.unwrap());
        cluster.meet().unwrap();
        let executor = Executor::with_threads(1).unwrap().workers(1).cluster(cluster);
        let found = executor.collect(&term).unwrap();
        (process == 0).then(|| bits(&found))
    });
    assert_eq!(results[0].as_ref(), Some(&expected));
}

#[test]
fn one_may_wait_for_ever() {
    for most in [Duration::MAX, Duration::from_secs(u64::MAX)] {
        together(2, |_, cluster| cluster.unwrap().wait(most).meet().unwrap());
    }
}

#[test]
fn nobody_listens_to_the_world_without_a_secret() {
    let error = Cluster::join(Hosts::parse("0.0.0.0:0").unwrap(), 0, None).unwrap_err();
    let text = "process 0 (0.0.0.0:0) would listen where other machines reach it without a secret";
    assert!(error.to_string().starts_with(text), "{error}");
    let error = Cluster::join(Hosts::parse("127.0.0.1:0").unwrap(), 1, None).unwrap_err();
    assert!(error.to_string().starts_with("there is no process 1"), "{error}");
}

/// A directory of blocks, each in a file that is there when it is whole.
#[derive(Debug)]
struct Folder(Type, PathBuf);

impl Folder {
    fn file(&self, at: &[usize]) -> PathBuf {
        self.1.join(format!("{}-{}", at[0], at[1]))
    }

    fn count(path: &Path) -> usize {
        let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| !name.to_string_lossy().ends_with("tmp")).count()
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        let [rows, columns] = self.0.grid()[..] else { unreachable!() };
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column]));
        places.map(|at| std::fs::read(self.file(&at)).unwrap()).collect()
    }
}

impl Sink for Folder {
    fn ty(&self) -> &Type {
        &self.0
    }

    fn fill(&self) -> Option<Value> {
        None
    }

    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError> {
        let bytes = block.unwrap();
        let bytes = bytes.as_numbers().unwrap().as_bytes();
        let (file, part) = (self.file(at), self.file(at).with_extension("tmp"));
        let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(part, file));
        written.map_err(|error| StoreError::of_block("folder", at, error))
    }
}

fn folder(path: &Path, ty: &Type) -> Folder {
    std::fs::create_dir_all(path).unwrap();
    Folder(ty.clone(), path.into())
}

/// Takes a while, block by block.
fn slow() -> BigTensor {
    let product = odd(8, None, 1).matmul(&odd(8, None, 1)).unwrap();
    product.matmul(&odd(8, None, 1)).unwrap()
}

/// Not a test: what the children of other tests do.
#[test]
fn process() {
    let Ok(case) = std::env::var("IJK_TEST_PROCESS") else { return };
    let words: Vec<&str> = case.split(' ').collect();
    match words[..] {
        ["random", processes] => random(processes.parse().unwrap()),
        ["write", path, process] => {
            let path = Path::new(path);
            let hosts = Hosts::read(&path.join("hosts")).unwrap();
            let cluster = Cluster::join(hosts, process.parse().unwrap(), None).unwrap();
            let executor = Executor::new().workers(1).cluster(Arc::new(cluster));
            // The finished blocks of a round are written together.
            let executor = executor.memory_limit(3000).scratch(counted(false));
            let term = slow();
            let sink = Arc::new(folder(&path.join("blocks"), term.ty()));
            if let Err(error) = executor.write(&term, sink) {
                std::fs::write(path.join(format!("error-{process}")), error.to_string()).unwrap();
                std::process::exit(1);
            }
        }
        #[cfg(feature = "zarr")]
        ["save", path, process] => {
            let path = Path::new(path);
            let hosts = Hosts::read(&path.join("hosts")).unwrap();
            let cluster = Cluster::join(hosts, process.parse().unwrap(), None).unwrap();
            let executor = Executor::new().workers(1).cluster(Arc::new(cluster)).memory_limit(3000);
            let saved =
                executor.save(&slow(), path.join("out.zarr"), &ijk_blocks::ZarrOptions::new());
            match saved {
                Ok(saved) => println!("computed {} of {}", saved.computed, saved.blocks),
                Err(error) => {
                    println!("{error}");
                    std::process::exit(1);
                }
            }
        }
        _ => panic!("{case}"),
    }
}

/// A child that does a case.
fn spawn(case: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process", "--nocapture"]).env("IJK_TEST_PROCESS", case);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns (succeeded, output) of a child.
fn ended(mut child: Child, by: Instant) -> (bool, String) {
    loop {
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            let said =
                [output.stdout, output.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
            return (output.status.success(), said.concat());
        }
        if Instant::now() > by {
            child.kill().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Random terms in processes that the first one starts.
fn random(processes: usize) {
    let cluster = Arc::new(Cluster::launch(processes).unwrap());
    let executors =
        [1, 2].map(|workers| Executor::new().workers(workers).cluster(Arc::clone(&cluster)));
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1500).div_ceil(10));
    let mut computed = 0;
    for seed in first..first + count {
        let case = BlockCase::random(seed);
        let tensor = build(&case.term, seed).unwrap();
        let executor = &executors[seed as usize % 2];
        let found = match seed % 5 {
            0 => within::within(executor, 1 << (seed % 12), &tensor),
            _ => executor.collect(&tensor),
        };
        if cluster.process() > 0 {
            continue;
        }
        match (case.term.evaluate(), found) {
            (Ok(expected), Ok(found)) => compare(seed, &case, &expected, &found),
            // Elements that the result does not need may have no value.
            (Err(_), _) => {}
            (expected, found) => panic!("{seed}: {found:?}, not {expected:?}\n{tensor}"),
        }
        computed += 1;
    }
    println!("{computed} terms computed");
}

#[test]
fn random_terms_agree_on_two_and_three_processes() {
    for processes in [2, 3] {
        let (well, said) =
            ended(spawn(&format!("random {processes}")), Instant::now() + 5 * PATIENCE);
        assert!(well && said.contains(" terms computed"), "{said}");
        println!("{processes} processes: {said}");
    }
}

#[test]
fn a_killed_process_stops_the_others_and_finished_blocks_stay() {
    let expected = {
        let (term, scratch) = (slow(), tempfile::tempdir().unwrap());
        let sink = Arc::new(folder(scratch.path(), term.ty()));
        Executor::new().workers(2).write(&term, Arc::<Folder>::clone(&sink)).unwrap();
        sink.bytes()
    };
    for (killed, blocks) in [(0, 5), (1, 1), (2, 20), (1, 40)] {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path();
        let list = addresses(3);
        std::fs::write(path.join("hosts"), &list).unwrap();
        let written = folder(&path.join("blocks"), slow().ty());
        let case = |process| format!("write {} {process}", path.display());
        let by = Instant::now() + PATIENCE;
        let mut children: Vec<Child> = (0..3).map(|process| spawn(&case(process))).collect();
        while Folder::count(&written.1) < blocks {
            assert!(Instant::now() < by, "nothing is written");
            std::thread::sleep(Duration::from_millis(1));
        }
        children[killed].kill().unwrap();
        let killed_at = Instant::now();
        for (process, child) in children.into_iter().enumerate() {
            let (well, said) = ended(child, by);
            if process == killed {
                continue;
            }
            assert!(!well && !said.contains("panicked"), "{said}");
            let error = std::fs::read_to_string(path.join(format!("error-{process}"))).unwrap();
            let address = list.lines().nth(killed).unwrap();
            let text = format!("process {killed} ({address}) is gone: ");
            assert!(error.starts_with(&text), "{error}");
        }
        assert!(killed_at.elapsed() < Duration::from_secs(10), "the others waited");
        assert!(Folder::count(&written.1) < expected.len(), "everything was written before");
        for (n, bytes) in expected.iter().enumerate() {
            if let Ok(found) = std::fs::read(written.file(&[n / 8, n % 8])) {
                assert!(found == *bytes, "block {n} is not whole");
            }
        }
        let again: Vec<Child> = (0..3).map(|process| spawn(&case(process))).collect();
        for child in again {
            let (well, said) = ended(child, by);
            assert!(well, "{said}");
        }
        assert!(written.bytes() == expected, "other bits");
    }
}

#[cfg(feature = "zarr")]
#[test]
fn what_a_killed_process_left_is_continued_by_another_number_of_processes() {
    let expected = Executor::new().collect(&slow()).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (path, by) = (scratch.path(), Instant::now() + PATIENCE);
    let out = path.join("out.zarr");
    let chunks = || -> usize {
        let Ok(rows) = std::fs::read_dir(out.join("c")) else { return 0 };
        rows.map(|row| std::fs::read_dir(row.unwrap().path()).unwrap().count()).sum()
    };
    let start = |processes: usize| -> Vec<Child> {
        std::fs::write(path.join("hosts"), addresses(processes)).unwrap();
        let case = |process| format!("save {} {process}", path.display());
        (0..processes).map(|process| spawn(&case(process))).collect()
    };
    let mut left = 64;
    for (processes, killed) in [(2, 0), (3, 2)] {
        let (mut children, before) = (start(processes), chunks());
        while chunks() < before + 10 {
            assert!(Instant::now() < by, "nothing is written");
            std::thread::sleep(Duration::from_millis(1));
        }
        children[killed].kill().unwrap();
        for (process, child) in children.into_iter().enumerate() {
            let (well, said) = ended(child, by);
            assert!(process == killed || (!well && said.contains("is gone: ")), "{said}");
        }
        left = 64 - chunks();
        assert!(left > 0, "everything was written before");
    }
    let said: Vec<_> = start(2).into_iter().map(|child| ended(child, by)).collect();
    assert!(said.iter().all(|(well, _)| *well), "{said:?}");
    assert!(said[0].1.contains(&format!("computed {left} of 64")), "{left}: {said:?}");
    assert_eq!(BigTensor::open(&out).unwrap().collect().unwrap(), expected);
    let said: Vec<_> = start(3).into_iter().map(|child| ended(child, by)).collect();
    assert!(said[0].1.contains("computed 0 of 64"), "{said:?}");
}
