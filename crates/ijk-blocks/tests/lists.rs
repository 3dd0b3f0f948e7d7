//! Elements that are lists, closures, and long terms.

use ijk_blocks::{Aggregation, BigTensor, ElementType, Error, Function, List, Value};
use ijk_types::{DType, Scalar};

fn i32s() -> ElementType {
    ElementType::array(DType::I32.into())
}

fn items(value: &Value) -> Vec<i64> {
    let number = |value: &Value| value.as_number().map_or(0, |x| x.as_f64() as i64);
    value.as_list().map_or(&[][..], List::items).iter().map(number).collect()
}

/// Lists 0, 0 1, 0 1 2, … of a matrix.
fn staircase(dims: [usize; 2], blocks: [Option<usize>; 2]) -> BigTensor {
    let lists = (0..dims[0] * dims[1]).map(|n| Value::list(0..n as i32));
    BigTensor::lit_values(lists, dims, blocks).unwrap()
}

fn lengths(tensor: &BigTensor) -> Vec<i64> {
    let length = |list: &Value| Value::number(items(list).len() as i64);
    let length = Function::of_values(i32s(), DType::I64.into(), length);
    let block = tensor.map(length).unwrap().collect().unwrap();
    block.as_numbers().unwrap().as_slice::<i64>().unwrap().to_vec()
}

#[test]
fn lists_are_selected_repeated_and_cut() {
    let u = staircase([2, 3], [Some(1), Some(2)]);
    assert_eq!(lengths(&u), [0, 1, 2, 3, 4, 5]);
    let part = u.select([vec![1].into(), vec![0, 2].into()]).unwrap();
    assert_eq!(lengths(&part), [3, 5]);
    let twice = part.bc([2, 4], [None, None]).unwrap();
    assert_eq!(lengths(&twice), [3, 5, 3, 5, 3, 5, 3, 5]);
    let whole = u.reblock([None, None]).unwrap().collect().unwrap();
    assert_eq!(whole.values(), u.collect().unwrap().values());
    assert_eq!(whole.element_type().to_string(), "array(i32)");
}

#[test]
fn lists_are_contracted() {
    let u = staircase([2, 3], [None, Some(2)]);
    // The number of elements of all unions.
    let unite = |l: &Value, r: &Value| Value::number(items(l).len().max(items(r).len()) as i64);
    let add = |x: &Value, y: &Value| {
        let sum = x.as_number().zip(y.as_number()).map(|(x, y)| x.as_f64() + y.as_f64());
        Value::number(sum.unwrap_or_default() as i64)
    };
    let by = Aggregation::of_values(i32s(), Value::number(0i64), add, unite);
    let sums = u.contract_by(&u, 1, 1, by).unwrap().collect().unwrap();
    assert_eq!(sums.as_numbers().unwrap().as_slice::<i64>(), Some(&[3, 12, 12, 12][..]));
}

#[test]
fn text_folds_and_maps_lists() {
    let u = staircase([2, 3], [Some(1), Some(2)]);
    let numbers = |tensor: &BigTensor| {
        let block = tensor.collect().unwrap();
        block.as_numbers().unwrap().view().iter_scalars().map(|x| x.as_f64()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&u.map("len(x)").unwrap()), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(numbers(&u.map("sum(x)").unwrap()), [0.0, 0.0, 1.0, 3.0, 6.0, 10.0]);
    let one = u.map("x + 1").unwrap();
    assert_eq!(one.ty(), u.ty());
    assert_eq!(numbers(&one.map("sum(x)").unwrap()), [0.0, 1.0, 3.0, 6.0, 10.0, 15.0]);
    let v = u.select([vec![1].into(), ijk_blocks::Positions::All]).unwrap();
    let pairs = u.contract_by(&v, 1, 1, "sum(len(l) * len(r))").unwrap();
    assert_eq!(pairs.ty().to_string(), "([2, 1], [1, 1], i64)");
    assert_eq!(numbers(&pairs), [14.0, 50.0]);
    let v = v.reblock([None, None]).unwrap();
    let whole = u.reblock([Some(1), None]).unwrap();
    let kept = whole.contract_by(&v, 1, 1, "collect(l)").unwrap();
    assert_eq!(kept.ty().to_string(), "([2, 1], [1, ⊥], array(array(i32)))");
    let longest = whole.contract_by(&v, 1, 1, "argmax(len(l))").unwrap();
    assert_eq!(numbers(&longest), [2.0, 2.0]);
    let refused = |by: &str| u.contract_by(&u, 1, 1, by).unwrap_err().to_string();
    assert!(refused("sum(l * r)").contains("takes numbers, such as `sum(len(l) * len(r))`"));
    assert!(u.map("sqrt(x)").unwrap_err().to_string().contains("`sqrt`"));
    let apart = u.contract_by(&u, 1, 1, "sum(sum(l * r))").unwrap().collect().unwrap_err();
    assert!(apart.to_string().contains("lists of"), "{apart}");
}

#[test]
fn fibres_are_collected() {
    let u = BigTensor::lit([1, 2, 3, 4, 5, 6], [2, 3], [Some(1), None]).unwrap();
    let v = BigTensor::lit([10, 20, 30], [3], [None]).unwrap();
    let pairs = u.contract_by(&v, 1, 0, "collect(l + r)").unwrap();
    let lists: Vec<_> = pairs.collect().unwrap().values().iter().map(items).collect();
    assert_eq!(lists, [[11, 22, 33], [14, 25, 36]]);
    let median = |values: &[Value]| values[values.len() / 2].clone();
    let of = |l: &Value, _: &Value| l.clone();
    let by = Aggregation::whole(DType::I32.into(), DType::I32.into(), of, median);
    let medians = u.contract_by(&v, 1, 0, by).unwrap().collect().unwrap();
    assert_eq!(medians.as_numbers().unwrap().as_slice::<i32>(), Some(&[2, 5][..]));
}

#[test]
fn closures_that_break_their_word_or_panic_are_errors() {
    let u = BigTensor::lit([1, 2], [2], [Some(1)]).unwrap();
    let liar = Function::of_values(DType::I32.into(), DType::F64.into(), Value::clone);
    let error = u.map(liar).unwrap().collect().unwrap_err();
    assert!(error.to_string().ends_with("gave i32, but it promises f64"), "{error}");
    let panics = Function::closure(|x: i32| if x > 1 { panic!("too much") } else { x });
    match u.map(panics).unwrap().collect() {
        Err(Error::Panic { message, .. }) => assert_eq!(message, "too much"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn long_and_repeated_terms_are_no_trouble() {
    let mut sum = BigTensor::lit([1i64], [1], [None]).unwrap();
    for _ in 0..62 {
        sum = (&sum + &sum).unwrap();
    }
    let block = sum.collect().unwrap();
    assert_eq!(block.values(), [Value::Number(Scalar::I64(1 << 62))]);
    let mut chain = BigTensor::lit([0i64], [1], [None]).unwrap();
    for _ in 0..20_000 {
        chain = chain.map("x + 1").unwrap();
    }
    assert_eq!(chain.collect().unwrap().values(), [Value::Number(Scalar::I64(20_000))]);
    assert_eq!(chain.to_string().lines().count(), 20_001);
    for _ in 0..200_000 {
        chain = chain.reblock([None]).unwrap();
    }
    drop(chain);
}

#[test]
fn missing_blocks_cost_nothing() {
    use ijk_blocks::{Block, MemoryStore, Sink, Source, StoreError, Type};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A matrix of blocks on the diagonal that counts how often they are read.
    #[derive(Debug)]
    struct Band(MemoryStore, Arc<AtomicUsize>);
    impl Source for Band {
        fn ty(&self) -> &Type {
            Source::ty(&self.0)
        }
        fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
            let block = self.0.read(at)?;
            self.1.fetch_add(usize::from(block.is_some()), Ordering::Relaxed);
            Ok(block)
        }
        fn name(&self) -> String {
            "band".into()
        }
    }

    let zeros = BigTensor::zeros(DType::F64, [64, 64], [Some(8), Some(8)]).unwrap();
    let store = MemoryStore::new(zeros.ty().clone());
    for at in 0..8 {
        let ones = Block::full(&Value::number(1.0), &[8, 8]).unwrap();
        store.write(&[at, at], Some(Arc::new(ones))).unwrap();
    }
    let reads = Arc::new(AtomicUsize::new(0));
    let band = BigTensor::from_source(Band(store, Arc::clone(&reads))).unwrap();
    let square = band.map("3 * x").unwrap().matmul(&band).unwrap();
    let sink = Arc::new(MemoryStore::new(square.ty().clone()));
    square.write(Arc::<MemoryStore>::clone(&sink)).unwrap();
    assert_eq!(sink.blocks(), 8);
    assert_eq!(sink.read(&[3, 3]).unwrap().unwrap().values()[0], Value::number(24.0));
    assert!(reads.load(Ordering::Relaxed) <= 8 * 16, "{reads:?}");
}
