//! Products of tensors cut into blocks, on two workers, beside the same product of whole arrays on an engine of
//! two threads: `cargo bench -p ijk-benches --bench blocks`, perhaps with `-- 4096` for smaller matrices. The
//! workers are threads of one process, then of two processes that are connected by sockets, then threads that
//! read Zarr arrays and write one within 512 MB.
//!
//! Each line has the best time of both and the ratio of their rates.

use ijk::blocks::cluster::Cluster;
use ijk::blocks::{BigTensor, Executor, MemoryStore, ZarrOptions};
use ijk::{Engine, Program, Tensor};
use ijk_benches::{numbers, race, report};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

/// Elements along each side of a block.
const BLOCK: usize = 1024;
/// Memory limit, in bytes, of products of arrays on disk.
const MEMORY: u64 = 512_000_000;

const CASES: [(&str, &str, &str); 2] =
    [("product", "+(ik*kj)~ij", "sum(l * r)"), ("longest paths", ">(ik+kj)~ij", "max(l + r)")];

fn main() {
    let n = std::env::args().filter_map(|text| text.parse().ok()).next().unwrap_or(8192);
    let rounds = if n > 4096 { 2 } else { 5 };
    // The second process runs the same code, and does not return from this call.
    let cluster = Arc::new(Cluster::launch(2).expect("another process"));
    let (a, b) = (matrix(n), matrix(n));
    let threads = |threads| Arc::new(ijk_cpu::Engine::builder().threads(threads).build());
    let one = Executor::on(threads(2)).workers(2);
    let (u, v) = (stored(&one, &a), stored(&one, &b));
    let two = Executor::on(threads(1)).workers(1).cluster(Arc::clone(&cluster));
    let products = CASES.map(|(_, _, by)| u.contract_by(&v, 1, 0, by).expect("a type"));
    if cluster.process() > 0 {
        // It computes its part of the product as often as the first one the whole.
        products.iter().for_each(|blocks| (0..rounds).for_each(|_| compute(&two, blocks)));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (name, tensor) in [("a", &u), ("b", &v)] {
        one.save(tensor, folder.path().join(name), &ZarrOptions::new()).expect("a disk");
    }
    let disk = Executor::on(threads(2)).workers(2).memory_limit(MEMORY);
    let engine = Engine::builder().threads(2).build();
    for ((name, program, by), blocks) in CASES.into_iter().zip(&products) {
        let whole: Program = ijk::i(program).expect("a program");
        let run = |how: &str, ours: &dyn Fn()| {
            let at_once = || {
                drop(black_box(engine.apply(&whole, &[a.view(), b.view()]).expect("it runs")));
            };
            let operations = 2.0 * (n as f64).powi(3);
            let times = race(rounds, ours, at_once);
            let case = format!("{name}, {n}² in blocks of {BLOCK}², {how}");
            report(&case, operations, times, "whole arrays");
        };
        run("two threads", &|| compute(&one, blocks));
        run("two processes", &|| compute(&two, blocks));
        run("from and to disk", &|| save(&disk, by, folder.path()));
    }
}

fn matrix(n: usize) -> Tensor {
    Tensor::from_vec(numbers(n * n), &[n, n]).expect("memory")
}

fn stored(executor: &Executor, tensor: &Tensor) -> BigTensor {
    let view = tensor.view().to_tensor().expect("memory");
    let whole = BigTensor::from_tensor(view, [Some(BLOCK), Some(BLOCK)]).expect("a type");
    let store = Arc::new(MemoryStore::new(whole.ty().clone()));
    executor.write(&whole, Arc::<MemoryStore>::clone(&store)).expect("memory");
    BigTensor::from_source(store).expect("a type")
}

fn compute(executor: &Executor, blocks: &BigTensor) {
    let store = Arc::new(MemoryStore::new(blocks.ty().clone()));
    executor.write(blocks, Arc::<MemoryStore>::clone(&store)).expect("memory");
    drop(black_box(store));
}

/// From arrays in a folder to another one in it.
fn save(executor: &Executor, by: &str, folder: &Path) {
    let [a, b] = ["a", "b"].map(|name| BigTensor::open(folder.join(name)).expect("an array"));
    let blocks = a.contract_by(&b, 1, 0, by).expect("a type");
    let options = ZarrOptions::new().fresh(true);
    executor.save(&blocks, folder.join("product"), &options).expect("a disk");
}
