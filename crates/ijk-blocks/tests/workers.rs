//! Workers: the same bits for any number of them, memory that the window bounds, and no hang when one fails.

use ijk_blocks::{
    Aggregation, BigTensor, Block, BlockPlan, Error, Executor, Function, MemoryStore, Sink, Source,
    StoreError, Type, Value,
};
use ijk_types::{DType, Scalar};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers whose sums are rounded.
fn matrix(rows: usize, columns: usize, blocks: [usize; 2]) -> BigTensor {
    let values = (0..rows * columns).map(|n| (n * 7919 % 1000) as f32 / 7.0 - 60.0);
    BigTensor::lit(values, [rows, columns], blocks.map(Some)).unwrap()
}

fn bits(block: &Block) -> Vec<u32> {
    let numbers = block.as_numbers().unwrap().as_slice::<f32>().unwrap();
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn results_have_the_same_bits_for_any_number_of_workers() {
    let (u, v) = (matrix(90, 130, [16, 32]), matrix(130, 70, [32, 24]));
    let product = u.map("x / 3").unwrap().matmul(&v).unwrap();
    let chain = product.matmul(&matrix(70, 40, [24, 16])).unwrap();
    let term = chain.map("exp(x / 1e9)").unwrap();
    let expected = bits(&Executor::new().workers(1).collect(&term).unwrap());
    for workers in [2, 3, 4, 6] {
        let executor = Executor::new().workers(workers);
        assert_eq!(bits(&executor.collect(&term).unwrap()), expected, "{workers} workers");
        let small = crate::within::within(&executor, 5000, &term).unwrap();
        assert_eq!(bits(&small), expected, "{workers} workers, 5 kB or the least that does");
    }
}

/// Long axes are folded in parts, which do not depend on the workers.
#[test]
fn parts_of_long_axes_have_the_same_bits_for_any_number_of_workers() {
    let (u, v) = (matrix(20, 411, [8, 8]), matrix(411, 10, [8, 10]));
    let norms = |u: &BigTensor| BigTensor::einsum("ik,ik->i", &[u, u]).unwrap();
    let whole = u.reblock([None, None]).unwrap();
    for (term, other) in [
        (u.matmul(&v).unwrap(), whole.matmul(&v.reblock([None, None]).unwrap()).unwrap()),
        (norms(&u), norms(&whole)),
        (
            u.contract_by(&v, 1, 0, "max(l + r)").unwrap(),
            whole.contract_by(&v, 1, 0, "max(l + r)").unwrap(),
        ),
        (
            u.contract_by(&v, 1, 0, "logaddexp(l + r)").unwrap(),
            whole.contract_by(&v, 1, 0, "logaddexp(l + r)").unwrap(),
        ),
    ] {
        let plan = BlockPlan::new(&term).to_string();
        assert_eq!(plan.lines().count(), 2, "{plan}");
        let expected = Executor::new().workers(1).collect(&term).unwrap();
        for workers in [2, 3, 5, 8] {
            let executor = Executor::new().workers(workers);
            assert_eq!(bits(&executor.collect(&term).unwrap()), bits(&expected), "{workers}");
            let small = crate::within::within(&executor, 3000, &term).unwrap();
            assert_eq!(bits(&small), bits(&expected), "{workers}, 3 kB or the least that does");
        }
        // A sum in another order.
        let other = Executor::new().collect(&other).unwrap();
        let of =
            |block: &Block| -> Vec<f32> { bits(block).into_iter().map(f32::from_bits).collect() };
        let most = of(&other).iter().fold(1.0f32, |most, x| most.max(x.abs()));
        for (x, y) in of(&expected).into_iter().zip(of(&other)) {
            assert!((x - y).abs() <= 1e-4 * most, "{x} {y}");
        }
    }
}

/// A matrix of ones that counts how many bytes of its blocks are alive.
#[derive(Debug)]
struct Ones {
    ty: Type,
    alive: Arc<Alive>,
    fails_at: Option<Vec<usize>>,
}

#[derive(Debug, Default)]
struct Alive {
    now: AtomicUsize,
    most: AtomicUsize,
    blocks: std::sync::Mutex<Vec<std::sync::Weak<Block>>>,
}

impl Alive {
    fn add(&self, block: &Arc<Block>) {
        let mut blocks = self.blocks.lock().unwrap();
        blocks.retain(|block| block.strong_count() > 0);
        blocks.push(Arc::downgrade(block));
        self.now.store(blocks.len(), Ordering::Relaxed);
        self.most.fetch_max(blocks.len(), Ordering::Relaxed);
    }
}

impl Source for Ones {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        if self.fails_at.as_deref() == Some(at) {
            return Err(StoreError::of_block("ones", at, "truncated"));
        }
        let one = Value::Number(Scalar::F32(1.0));
        let block = Arc::new(Block::full(&one, &self.ty.block_shape(at)).unwrap());
        self.alive.add(&block);
        Ok(Some(block))
    }

    fn name(&self) -> String {
        "ones".into()
    }
}

fn ones(
    rows: usize,
    columns: usize,
    alive: &Arc<Alive>,
    fails_at: Option<Vec<usize>>,
) -> BigTensor {
    let ty =
        BigTensor::zeros(DType::F32, [rows, columns], [Some(8), Some(8)]).unwrap().ty().clone();
    BigTensor::from_source(Ones { ty, alive: Arc::clone(alive), fails_at }).unwrap()
}

#[test]
fn memory_does_not_grow_with_the_folded_axis() {
    let peak = |k: usize| {
        let alive = Arc::new(Alive::default());
        let (u, v) = (ones(32, k, &alive, None), ones(k, 32, &alive, None));
        let product = u.matmul(&v).unwrap();
        let block = Executor::new().workers(4).collect(&product).unwrap();
        assert!(bits(&block).iter().all(|&x| x == (k as f32).to_bits()));
        alive.most.load(Ordering::Relaxed)
    };
    let (short, long) = (peak(64), peak(1024));
    // Two panels of four blocks each, of both operands, and what is read for the next.
    assert!(short <= 24 && long <= 24, "{short} blocks, {long} blocks");
}

#[test]
fn a_worker_that_fails_ends_the_others() {
    let alive = Arc::new(Alive::default());
    for workers in [2, 3, 4] {
        let u = ones(64, 128, &alive, Some(vec![3, 7]));
        let product = u.matmul(&ones(128, 64, &alive, None)).unwrap();
        let error = Executor::new().workers(workers).collect(&product).unwrap_err();
        assert_eq!(error.to_string(), "block [3, 7] of ones: truncated");

        let seen = Arc::new(AtomicUsize::new(0));
        let panics = Function::closure(move |x: f32| {
            assert!(seen.fetch_add(1, Ordering::Relaxed) < 3000, "enough");
            x
        });
        let u = ones(64, 128, &alive, None).map(panics).unwrap();
        let product = u.matmul(&ones(128, 64, &alive, None)).unwrap();
        match Executor::new().workers(workers).collect(&product) {
            Err(Error::Panic { message, .. }) => assert_eq!(message, "enough"),
            other => panic!("{other:?}"),
        }
    }
}

/// A store that is full after some blocks.
#[derive(Debug)]
struct Full(MemoryStore, AtomicUsize);

impl Sink for Full {
    fn ty(&self) -> &Type {
        Sink::ty(&self.0)
    }

    fn fill(&self) -> Option<Value> {
        Sink::fill(&self.0)
    }

    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError> {
        if self.1.fetch_add(1, Ordering::Relaxed) >= 5 {
            return Err(StoreError::of_block("full", at, "no space left"));
        }
        self.0.write(at, block)
    }
}

/// A sink that panics, against its contract.
#[derive(Debug)]
struct Broken(Type);

impl Sink for Broken {
    fn ty(&self) -> &Type {
        &self.0
    }

    fn fill(&self) -> Option<Value> {
        None
    }

    fn write(&self, _: &[usize], _: Option<Arc<Block>>) -> Result<(), StoreError> {
        panic!("broken");
    }
}

#[test]
fn sinks_that_fail_or_panic_are_errors() {
    let alive = Arc::new(Alive::default());
    let product = ones(64, 16, &alive, None).matmul(&ones(16, 64, &alive, None)).unwrap();
    let full = Arc::new(Full(MemoryStore::new(product.ty().clone()), AtomicUsize::new(0)));
    let executor = Executor::new().workers(3);
    let error = executor.write(&product, Arc::<Full>::clone(&full)).unwrap_err();
    assert!(error.to_string().ends_with("of full: no space left"), "{error}");
    assert_eq!(full.0.blocks(), 5);
    let broken = Arc::new(Broken(product.ty().clone()));
    let error = executor.write(&product, broken).unwrap_err();
    assert!(matches!(error, Error::Worker(_)), "{error}");
    let other = Arc::new(MemoryStore::new(ones(8, 8, &alive, None).ty().clone()));
    let error = executor.write(&product, other).unwrap_err();
    assert!(error.to_string().contains("it is to be written as ([8, 8], [8, 8], f32)"), "{error}");
}

#[test]
fn closures_and_lists_have_workers_too() {
    let alive = Arc::new(Alive::default());
    let u = ones(40, 40, &alive, None);
    let by = Aggregation::closures(0.0, |x: f32, y| x + y, |x: f32, y: f32| x * y);
    let product = u.contract_by(&u, 1, 0, by).unwrap();
    let block = Executor::new().workers(3).collect(&product).unwrap();
    assert!(bits(&block).iter().all(|&x| x == 40f32.to_bits()));
    let whole = u.reblock([Some(8), None]).unwrap();
    let lists = whole.contract_by(&whole, 1, 1, "collect(l + r)").unwrap();
    let block = Executor::new().workers(3).collect(&lists).unwrap();
    assert!(
        block.values().iter().all(|list| list.as_list().is_some_and(|l| l.items().len() == 40))
    );
}
