//! Einsums and programs in i over blocks: random ones against the literal evaluators, and what cannot run in
//! blocks.

use crate::cutting::cut;
use crate::environment::number;
use ijk_blocks::{BigTensor, BlockPlan, Error, Executor, Problem, apply};
use ijk_oracle::random::{Case, EinsumCase};
use ijk_oracle::{Value, evaluate, evaluate_einsum};
use ijk_syntax::einsum::Subscripts;
use ijk_types::DType;

fn value(tensor: &BigTensor, executor: &Executor) -> Result<Value, Error> {
    let block = executor.collect(tensor)?;
    let tensor = block.as_numbers().expect("numbers");
    let data = tensor.view().iter_scalars().collect();
    Ok(Value { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), data })
}

#[test]
fn einsums_agree_with_the_literal_evaluator() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 800));
    let executors = [1, 2, 3].map(|workers| Executor::new().workers(workers));
    let mut fitting = 0;
    for seed in first..first + count {
        let case = EinsumCase::random(seed);
        let subscripts = Subscripts::parse(&case.subscripts).expect("subscripts");
        let values: Vec<Value> = case.inputs.iter().map(|input| input.value.clone()).collect();
        let tensors: Vec<BigTensor> = values.iter().map(|value| cut(value, seed)).collect();
        let operands: Vec<&BigTensor> = tensors.iter().collect();
        let built = BigTensor::einsum(&case.subscripts, &operands);
        let Some(expected) = evaluate_einsum(&subscripts, &values) else {
            assert!(built.is_err(), "{seed}: {case:?}");
            continue;
        };
        let tensor = built.unwrap_or_else(|error| panic!("{seed}: {error}"));
        let found = value(&tensor, &executors[seed as usize % 3]);
        let found = found.unwrap_or_else(|error| panic!("{seed}: {error}\n{tensor}"));
        let same = (&found.shape, &found.data) == (&expected.shape, &expected.data);
        assert!(same, "{seed}: {found:?}, not {expected:?}\n{tensor}\n{}", BlockPlan::new(&tensor));
        fitting += 1;
    }
    println!("{fitting} of {count} einsums fit");
    assert!(fitting * 2 > count || count < 100);
}

#[test]
fn programs_agree_with_the_literal_evaluator() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 3000));
    let executors = [1, 2, 3].map(|workers| Executor::new().workers(workers));
    let (mut computed, mut refused) = (0, 0);
    for seed in first..first + count {
        let case = Case::random(seed);
        let whole = |dtype: DType| dtype.is_integer() || dtype == DType::Bool;
        if !case.inputs.iter().all(|input| whole(input.value.dtype)) {
            continue;
        }
        let values: Vec<Value> = case.inputs.iter().map(|input| input.value.clone()).collect();
        if values.iter().any(|value| value.data.len() > 3000) {
            continue;
        }
        let (tree, errors) = ijk_syntax::parse(&case.source);
        let expected = if errors.is_empty() { evaluate(&tree, &values).ok() } else { None };
        let tensors: Vec<BigTensor> = values.iter().map(|value| cut(value, seed)).collect();
        let built = apply(&case.source, &tensors.iter().collect::<Vec<_>>());
        let Ok(results) = built else {
            // Orders are not computed over blocks.
            refused += usize::from(!has_order(&case.source));
            continue;
        };
        let Some(expected) = expected else { continue };
        for (tensor, expected) in results.iter().zip(&expected) {
            let found = value(tensor, &executors[seed as usize % 3]);
            let found =
                found.unwrap_or_else(|error| panic!("{seed}: {error}\n{}\n{tensor}", case.source));
            // Floats, which casts make, are summed in another order.
            let exact = whole(expected.dtype);
            let same = found.shape == expected.shape && (!exact || found.same(expected));
            assert!(same, "{seed}: {}\n{found:?}, not {expected:?}\n{tensor}", case.source);
        }
        computed += 1;
    }
    println!("{computed} programs computed, {refused} refused");
    assert!(computed > 5 * refused || count < 100, "{computed} computed, {refused} refused");
}

/// Returns true if a program sorts.
fn has_order(source: &str) -> bool {
    ["@sort", "@argsort", "@topk", "@argtopk"].iter().any(|name| source.contains(name))
}

#[test]
fn products_are_recognised_through_their_steps() {
    let u = BigTensor::zeros(DType::F32, [6, 4], [Some(2), Some(2)]).unwrap();
    let v = BigTensor::zeros(DType::F32, [4, 8], [Some(2), None]).unwrap();
    for program in ["ik*kj~ijk . +ijk~ij", "+(ik*kj)~ij"] {
        let product = &apply(program, &[&u, &v]).unwrap()[0];
        assert_eq!(product.ty().to_string(), "([6, 8], [2, ⊥], f32)");
        let plan = BlockPlan::new(product).to_string();
        assert_eq!(
            plan,
            "s0 = multiply memory, memory : ([6, 8], [2, ⊥], f32); 3 blocks of 2 panels"
        );
    }
    let plan = BlockPlan::new(&BigTensor::einsum("ik,kj->ij", &[&u, &v]).unwrap()).to_string();
    assert!(plan.starts_with("s0 = multiply"), "{plan}");
    let transposed = BigTensor::einsum("ij->ji", &[&u]).unwrap();
    let product = BigTensor::einsum("ki,kj->ij", &[&transposed, &v]).unwrap();
    assert_eq!(BlockPlan::new(&product).stages(), 1);
}

#[test]
fn windows_reach_into_neighbouring_blocks() {
    let u = BigTensor::lit(0..20i64, [20], [Some(6)]).unwrap();
    let taps = BigTensor::lit([1i64, 10, 100], [3], [None]).unwrap();
    let sums = &apply("+([2*i+k]*k)~i", &[&u, &taps]).unwrap()[0];
    for workers in [1, 2] {
        let block = Executor::new().workers(workers).collect(sums).unwrap();
        let expected: Vec<i64> =
            (0..9).map(|i| (2 * i) + 10 * (2 * i + 1) + 100 * (2 * i + 2)).collect();
        assert_eq!(block.as_numbers().unwrap().as_slice::<i64>(), Some(&expected[..]));
    }
}

#[test]
fn what_cannot_run_in_blocks_says_why() {
    let u = BigTensor::zeros(DType::F64, [6, 4], [Some(2), Some(2)]).unwrap();
    let v = BigTensor::zeros(DType::F64, [4], [Some(3)]).unwrap();
    let refused = |program: &str, operands: &[&BigTensor]| {
        apply(program, operands).expect_err("refused").to_string()
    };
    let text = refused("ij*j~ij", &[&u, &v]);
    assert!(
        text.starts_with(
            "i(ij*j~ij): index `j` has blocks of 2 on axis 1 of u but of 3 on axis 0 of v"
        ),
        "{text}"
    );
    assert!(text.ends_with("hint: reblock(v, [2]) has blocks that fit"), "{text}");
    let text = refused("@argmax ij~i", &[&u]);
    assert!(text.contains("needs all values at once, but axis 1 of u has blocks of 2"), "{text}");
    assert!(text.ends_with("hint: reblock(u, [2, ⊥]) has blocks that fit"), "{text}");
    assert!(refused("ij~i", &[&u]).contains("`j`"));
    assert!(refused("i~i", &[&u]).contains("rank") || refused("i~i", &[&u]).contains("axes"));
    let w = BigTensor::zeros(DType::F32, [4], [Some(2)]).unwrap();
    let error = BigTensor::einsum("ij,j->i", &[&u, &w]).unwrap_err();
    assert!(
        matches!(error.type_error().map(|e| &e.problem), Some(Problem::Types { .. })),
        "{error}"
    );
    let error = BigTensor::einsum("ij,j->", &[&u, &v]).unwrap_err().to_string();
    assert!(
        error.contains("index `j` has blocks of 2 on axis 1 of u but of 3 on axis 0 of v"),
        "{error}"
    );
    assert!(BigTensor::einsum("ij,jk->ik", &[&u]).unwrap_err().to_string().contains("operand"));
}

/// A tensor of integers as floats of a type, in blocks.
fn narrow(
    of: DType,
    dims: &[usize],
    blocks: &[Option<usize>],
    at: impl Fn(usize) -> i64,
) -> BigTensor {
    let count: usize = dims.iter().product();
    let wide = BigTensor::lit((0..count).map(at), dims, blocks).unwrap();
    wide.map(format!("{of}(x)").as_str()).unwrap()
}

fn as_integers(tensor: &BigTensor, workers: usize) -> Vec<f64> {
    let found = Executor::new().workers(workers).collect(tensor).unwrap();
    found.as_numbers().unwrap().view().iter_scalars().map(|x| x.as_f64()).collect()
}

/// Sums of f16 and bf16 are rounded once, however many panels and parts they have: in their own type, a sum of ones
/// would end at 2048 and 256.
#[test]
fn narrow_sums_are_rounded_once() {
    for (of, most) in [(DType::F16, 4000), (DType::BF16, 4096)] {
        for block in [Some(7), Some(40), Some(100_000), None] {
            let ones = narrow(of, &[3, most], &[None, block], |_| 1);
            let sum = &apply("+ij~i", &[&ones]).unwrap()[0];
            assert_eq!(sum.element_type().number(), Some(of));
            let product = BigTensor::einsum("ij,kj->ik", &[&ones, &ones]).unwrap();
            let both = ones.contract(&ones, 1, 1).unwrap();
            for workers in [1, 3] {
                assert_eq!(as_integers(sum, workers), [most as f64; 3], "{of} {block:?}");
                assert_eq!(as_integers(&product, workers), [most as f64; 9], "{of} {block:?}");
                assert_eq!(as_integers(&both, workers), [most as f64; 9], "{of} {block:?}");
            }
        }
    }
}

/// Intermediates of an einsum are not rounded: 2049 is no f16, but its half is near one.
#[test]
fn narrow_einsums_round_their_result() {
    let u = narrow(DType::F16, &[1, 2049], &[None, Some(100)], |_| 1);
    let v = narrow(DType::F16, &[2049, 1], &[Some(100), None], |_| 1);
    let w = narrow(DType::F16, &[1, 2], &[None, Some(1)], |n| [1, -1][n]);
    let x = narrow(DType::F16, &[2, 1], &[Some(1), None], |n| [2, 1][n]);
    let found = BigTensor::einsum("ij,jk,kl,lm->im", &[&u, &v, &w, &x]).unwrap();
    assert_eq!(found.element_type().number(), Some(DType::F16));
    // To even.
    assert_eq!(as_integers(&found, 2), [2048.0]);
    let three = BigTensor::einsum(
        "ij,jk,kl->il",
        &[&u, &v, &narrow(DType::F16, &[1, 1], &[None, None], |_| 3)],
    );
    // 6147 lies between 6144 and 6148; 3 times the rounded 2048 would be 6144.
    assert_eq!(as_integers(&three.unwrap(), 2), [6148.0]);
}
