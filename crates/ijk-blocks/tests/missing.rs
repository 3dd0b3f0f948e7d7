//! Missing blocks: results equal those of the same tensors with all blocks stored, and the cost depends on the blocks
//! that exist.

use ijk_blocks::{
    BigTensor, Block, Error, Executor, MemoryStore, Sink, Source, StoreError, Type, Value,
};
use ijk_types::{DType, Scalar};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LOW: f64 = f64::NEG_INFINITY;
const HIGH: f64 = f64::INFINITY;

/// A tensor of blocks of which those are missing that are a fill value everywhere.
fn sparse(values: &[f64], dims: &[usize], block: usize, fill: f64) -> BigTensor {
    let whole = dense(values, dims, block);
    let blocks = Arc::new(MemoryStore::new(whole.ty().clone()));
    whole.write(Arc::<MemoryStore>::clone(&blocks)).unwrap();
    let stored = MemoryStore::with_fill(whole.ty().clone(), Scalar::F64(fill).into());
    for at in Source::present(&*blocks).unwrap().unwrap() {
        let block = blocks.read(&at).unwrap().unwrap();
        let numbers = block.as_numbers().unwrap().as_slice::<f64>().unwrap();
        if numbers.iter().any(|x| x.to_bits() != fill.to_bits()) {
            stored.write(&at, Some(block)).unwrap();
        }
    }
    BigTensor::from_source(stored).unwrap()
}

fn dense(values: &[f64], dims: &[usize], block: usize) -> BigTensor {
    BigTensor::lit(values.iter().copied(), dims, vec![Some(block); dims.len()]).unwrap()
}

/// Elements as text, in which all NaN are one.
fn shown(block: &Block) -> Vec<String> {
    block.values().iter().map(Value::to_string).collect()
}

/// Asserts that a term of tensors has the same value whether their blocks are stored or missing, for any number of
/// workers.
fn same(
    what: &str,
    fills: [f64; 2],
    values: [&[f64]; 2],
    term: impl Fn(&[BigTensor; 2]) -> BigTensor,
) {
    let side = if values[0].len() == 16 { vec![4, 4] } else { vec![values[0].len()] };
    let stored = term(&values.map(|values| dense(values, &side, 1)));
    let expected = shown(&Executor::new().workers(1).collect(&stored).unwrap());
    let missing = term(&[0, 1].map(|n| sparse(values[n], &side, 1, fills[n])));
    for workers in [1, 2, 3] {
        let found = shown(&Executor::new().workers(workers).collect(&missing).unwrap());
        // The sign of a sum of zeros is unspecified.
        let plain = |all: &[String]| -> Vec<String> {
            all.iter().map(|x| if x == "-0.0" { "0.0".into() } else { x.clone() }).collect()
        };
        assert_eq!(plain(&found), plain(&expected), "{what} of {values:?}, {workers} workers");
    }
}

#[test]
fn products_are_what_they_were_if_all_blocks_were_stored() {
    let special = [f64::NAN, HIGH, LOW, 1.0, -2.0, 0.0, -0.0, f64::MAX];
    for fill in [0.0, -0.0, 1.0, LOW, HIGH, f64::NAN] {
        for x in special {
            let mut left = [fill; 16];
            (left[1], left[6]) = (x, 3.0);
            let mut right = [fill; 16];
            (right[4], right[11], right[15]) = (2.0, x, -1.0);
            for by in [
                "sum(l * r)",
                "max(l + r)",
                "min(l + r)",
                "sum(l - r)",
                "max(l * r)",
                "product(l + r)",
            ] {
                same(by, [fill; 2], [&left, &right], |[u, v]| u.contract_by(v, 1, 0, by).unwrap());
            }
        }
    }
}

#[test]
fn elements_are_what_they_were_if_all_blocks_were_stored() {
    let values = [f64::NAN, HIGH, LOW, 1.0, -2.0, 0.0, -0.0, f64::MAX];
    for fill in [0.0, -0.0, 1.0, LOW, HIGH, f64::NAN] {
        let nothing = [fill; 8];
        for (name, term) in [
            ("u + v", (|u, v| (u + v).unwrap()) as fn(&BigTensor, &BigTensor) -> BigTensor),
            ("u - v", |u, v| (u - v).unwrap()),
            ("v * u", |u, v| (v * u).unwrap()),
            ("u / v", |u, v| (u / v).unwrap()),
            ("max(u, v)", |u, v| u.max(v).unwrap()),
            ("select", |u, v| (u * v).unwrap().select([vec![0, 1, 2, 5].into()]).unwrap()),
            ("bc", |u, v| (u * v).unwrap().bc([16], [None]).unwrap()),
            ("reblock", |u, v| (u * v).unwrap().reblock([Some(3)]).unwrap()),
            ("sum", |u, v| BigTensor::einsum("i,i->", &[u, v]).unwrap()),
            ("einsum", |u, v| BigTensor::einsum("i,i->i", &[u, v]).unwrap()),
            ("outer", |u, v| BigTensor::einsum("i,j->ij", &[u, v]).unwrap()),
            ("program", |u, v| ijk_blocks::apply("i*i~i . i+i~i", &[u, v, u]).unwrap().remove(0)),
            ("fused", |u, v| (&(u * v).unwrap() * &v.map("2 * x").unwrap()).unwrap()),
        ] {
            same(name, [fill; 2], [&nothing, &values], |[u, v]| term(u, v));
        }
    }
}

#[test]
fn zeros_of_elements_have_the_sign_that_they_have_where_all_is_stored() {
    let u = sparse(&[0.0, 5.0], &[2], 1, 0.0);
    let v = dense(&[-3.0, 1.0], &[2], 1);
    let quotient = (&dense(&[1.0; 2], &[2], 1) / &(&u * &v).unwrap()).unwrap();
    for workers in [1, 2] {
        let found = Executor::new().workers(workers).collect(&quotient).unwrap();
        assert_eq!(found.as_numbers().unwrap().as_slice::<f64>(), Some(&[LOW, 0.2][..]));
    }
}

#[test]
fn what_is_assumed_to_be_finite_is_skipped() {
    let u = sparse(&[0.0, 5.0], &[2], 1, 0.0);
    let v = dense(&[f64::NAN, 1.0], &[2], 1);
    let product = BigTensor::einsum("i,i->", &[&u, &v]).unwrap();
    for (finite, expected) in [(false, "nan"), (true, "5.0")] {
        let executor = Executor::new().assume_finite(finite);
        assert_eq!(shown(&executor.collect(&product).unwrap()), [expected]);
    }
}

/// Ones along the diagonal of a matrix of blocks, which count how often they are read.
#[derive(Debug)]
struct Diagonal {
    ty: Type,
    reads: Arc<AtomicUsize>,
}

impl Source for Diagonal {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let one = || Block::full(&Value::number(1.0), &self.ty.block_shape(at)).unwrap();
        Ok((at[0] == at[1]).then(|| Arc::new(one())))
    }

    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        Ok(Some((0..self.ty.dims[0] / 2).map(|n| vec![n, n]).collect()))
    }

    fn name(&self) -> String {
        "diagonal".into()
    }
}

fn diagonal(blocks: usize) -> (BigTensor, Arc<AtomicUsize>) {
    let side = [2 * blocks; 2];
    let ty = BigTensor::zeros(DType::F64, side, [Some(2); 2]).unwrap().ty().clone();
    let reads = Arc::new(AtomicUsize::new(0));
    let source = Diagonal { ty, reads: Arc::clone(&reads) };
    (BigTensor::from_source(source).unwrap(), reads)
}

#[test]
fn only_blocks_that_are_there_are_read_and_no_more_often_with_one_worker() {
    let blocks = 60;
    for workers in [1, 2, 3] {
        let (u, reads) = diagonal(blocks);
        let product = u.matmul(&u.map("2 * x").unwrap()).unwrap();
        let store = Arc::new(MemoryStore::new(product.ty().clone()));
        let executor = Executor::new().workers(workers);
        executor.write(&product, Arc::<MemoryStore>::clone(&store)).unwrap();
        assert_eq!(store.blocks(), blocks);
        let found = store.read(&[7, 7]).unwrap().unwrap();
        assert_eq!(shown(&found), ["4.0"; 4]);
        let reads = reads.load(Ordering::Relaxed);
        assert!(reads <= 4 * blocks, "{reads} reads by {workers} workers");
    }
}

/// A sink that counts blocks, those left out among them.
#[derive(Debug)]
struct Counted {
    ty: Type,
    written: AtomicUsize,
    left_out: AtomicUsize,
}

impl Sink for Counted {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn fill(&self) -> Option<Value> {
        Some(Value::number(0.0))
    }

    fn write(&self, _: &[usize], _: Option<Arc<Block>>) -> Result<(), StoreError> {
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn leave_out(&self, numbers: std::ops::Range<usize>) -> Result<(), StoreError> {
        self.left_out.fetch_add(numbers.len(), Ordering::Relaxed);
        Ok(())
    }

    fn may_be_done(&self) -> bool {
        false
    }
}

#[test]
fn every_block_is_written_or_left_out() {
    let (u, _) = diagonal(40);
    for term in
        [u.matmul(&u).unwrap(), (&u + &u).unwrap(), BigTensor::einsum("ij->i", &[&u]).unwrap()]
    {
        for workers in [1, 2] {
            let ty = term.ty().clone();
            let blocks = ty.grid_len();
            let (written, left_out) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let sink = Arc::new(Counted { ty, written, left_out });
            let executor = Executor::new().workers(workers);
            executor.write(&term, Arc::<Counted>::clone(&sink)).unwrap();
            let all = [&sink.written, &sink.left_out].map(|n| n.load(Ordering::Relaxed));
            assert_eq!(all[0] + all[1], blocks, "{all:?}");
        }
    }
}

trait GridLen {
    fn grid_len(&self) -> usize;
}

impl GridLen for Type {
    fn grid_len(&self) -> usize {
        let axes = self.dims.iter().zip(&self.blocks);
        axes.map(|(&extent, block)| extent.div_ceil(block.unwrap_or(extent).max(1))).product()
    }
}

#[test]
fn grids_of_very_many_missing_blocks_are_answered_at_once() {
    // 2⁴⁰ blocks.
    let side = 1 << 21;
    let nothing = BigTensor::zeros(DType::F64, [side; 2], [Some(2); 2]).unwrap();
    let ones = BigTensor::lit(vec![1.0; side], [side], [None]).unwrap();
    for workers in [1, 2] {
        let executor = Executor::new().workers(workers);
        let written = |term: &BigTensor| {
            let fill = term.fill().unwrap();
            let store = Arc::new(MemoryStore::with_fill(term.ty().clone(), fill));
            executor.write(term, Arc::<MemoryStore>::clone(&store)).map(|()| store.blocks())
        };
        assert_eq!(written(&nothing.matmul(&nothing).unwrap()).unwrap(), 0);
        assert_eq!(written(&nothing.map("x + 1").unwrap()).unwrap(), 0);
        assert_eq!(written(&(&nothing - &nothing).unwrap()).unwrap(), 0);
        assert_eq!(written(&nothing.matmul(&ones).unwrap()).unwrap(), 0);
        assert_eq!(written(&BigTensor::einsum("ij->j", &[&nothing]).unwrap()).unwrap(), 0);
        // Sums of what is not there and not 0 have to be computed.
        let error =
            written(&nothing.map("x + 1").unwrap().matmul(&nothing).unwrap().map("x").unwrap());
        assert!(error.is_ok_and(|blocks| blocks == 0));
        let error =
            written(&BigTensor::einsum("ij->i", &[&nothing.map("x + 1").unwrap()]).unwrap());
        assert!(matches!(error, Err(Error::Endless { .. })), "{error:?}");
    }
}

#[test]
fn the_least_memory_that_is_named_does() {
    let (u, _) = diagonal(20);
    let values: Vec<f64> = (0..1600).map(|n| f64::from(n % 7)).collect();
    let v = dense(&values, &[40, 40], 4);
    for term in [
        u.reblock([Some(4); 2]).unwrap().matmul(&v).unwrap(),
        (&v + &v.map("2 * x").unwrap()).unwrap(),
        v.matmul(&v).unwrap().matmul(&v).unwrap(),
        ijk_blocks::apply("[i+k{3}]~ik . +ik~i", &[&dense(&values, &[1600], 9)]).unwrap().remove(0),
    ] {
        let expected = Executor::new().workers(1).collect(&term).unwrap();
        for workers in [1, 2, 4] {
            let executor = Executor::new().workers(workers);
            assert!(matches!(
                executor.clone().memory_limit(1).collect(&term),
                Err(Error::Memory { least, limit: 1 }) if least > 1
            ));
            assert_eq!(crate::within::within(&executor, 1, &term).unwrap(), expected);
            assert_eq!(crate::within::within(&executor, 1 << 16, &term).unwrap(), expected);
        }
    }
}
