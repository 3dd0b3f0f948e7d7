//! Products of tensors cut into blocks, on two workers, beside the same product of whole arrays on an engine of
//! two threads: `cargo bench -p ijk-benches --bench blocks`, perhaps with `-- 4096` for smaller matrices.
//!
//! Each line gives the best time of both and the ratio of their rates.

use ijk::blocks::{BigTensor, Executor, MemoryStore};
use ijk::{Component, Engine, Tensor};
use ijk_benches::{numbers, race, report};
use std::hint::black_box;
use std::sync::Arc;

/// Elements along each side of a block.
const BLOCK: usize = 1024;

const CASES: [(&str, &str, &str); 2] =
    [("product", "+(ik*kj)~ij", "sum(l * r)"), ("longest paths", ">(ik+kj)~ij", "max(l + r)")];

fn main() {
    let n = std::env::args().filter_map(|text| text.parse().ok()).next().unwrap_or(8192);
    let engine = Engine::builder().threads(2).build();
    let cpu = ijk_cpu::Engine::builder().threads(2).build();
    let executor = Executor::on(Arc::new(cpu)).workers(2);
    let matrix = || Tensor::from_vec(numbers(n * n), &[n, n]).expect("memory");
    let (a, b) = (matrix(), matrix());
    let stored = |tensor: &Tensor| {
        let view = tensor.view().to_tensor().expect("memory");
        let whole = BigTensor::from_tensor(view, [Some(BLOCK), Some(BLOCK)]).expect("a type");
        let store = Arc::new(MemoryStore::new(whole.ty().clone()));
        executor.write(&whole, Arc::<MemoryStore>::clone(&store)).expect("memory");
        BigTensor::from_source(store).expect("a type")
    };
    let (u, v) = (stored(&a), stored(&b));
    for (name, program, aggregation) in CASES {
        let whole: Component = ijk::i(program).expect("a program");
        let blocks = u.contract_by(&v, 1, 0, aggregation).expect("a type");
        let in_blocks = || {
            let store = Arc::new(MemoryStore::new(blocks.ty().clone()));
            executor.write(&blocks, Arc::<MemoryStore>::clone(&store)).expect("memory");
            drop(black_box(store));
        };
        let at_once = || {
            drop(black_box(engine.apply(&whole, &[a.view(), b.view()]).expect("it runs")));
        };
        let operations = 2.0 * (n as f64).powi(3);
        let times = race(if n > 4096 { 2 } else { 5 }, in_blocks, at_once);
        report(&format!("{name}, {n}² in blocks of {BLOCK}²"), operations, times, "whole arrays");
    }
}
