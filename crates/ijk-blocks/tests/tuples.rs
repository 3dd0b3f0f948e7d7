//! Statements of Einsum Tuple over blocks: random ones against the interpreter of the core IR, and what cannot
//! run in blocks.

use crate::cutting::cut;
use crate::environment::number;
use ijk_blocks::{BigTensor, Executor, apply, apply_instance};
use ijk_oracle::et::harness;
use ijk_oracle::et::random::EtCase;
use ijk_oracle::{Value, interpret};
use ijk_tensor::Tensor;
use ijk_types::{DType, Scalar};

/// Returns true if elements agree up to the order in which floats are summed; and up to the rounding of narrow floats, if
/// a program has such, which reductions leave out.
fn is_near(found: &Tensor, expected: &Value, is_narrow: bool) -> bool {
    let near = |(l, r): (Scalar, &Scalar)| match expected.dtype {
        of if of.is_float() => {
            let coarse = if of.size() == 2 || is_narrow { 3e-2 } else { 1e-4 };
            let (l, r) = (l.as_f64(), r.as_f64());
            l == r
                || l.is_nan() && r.is_nan()
                || (l - r).abs() <= coarse * l.abs().max(r.abs()).max(1.0)
        }
        DType::C64 | DType::C128 => true,
        _ => l == *r,
    };
    found.dtype() == expected.dtype
        && found.shape() == expected.shape
        && found.view().iter_scalars().zip(&expected.data).all(near)
}

#[test]
fn random_statements_agree_with_the_interpreter() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_PROGRAMS", 1500));
    let executors = [1, 2, 3].map(|workers| Executor::new().workers(workers));
    let (mut computed, mut refused) = (0, 0);
    for seed in first..first + count {
        let case = EtCase::random(seed);
        let (program, _) = ijk_syntax::et::parse(&case.source);
        let (Some(checked), _) = ijk_ir::et::check(&case.source, program) else { continue };
        // Loops run on whole arrays.
        if !checked.program.loops.is_empty() {
            continue;
        }
        let Ok(solution) = harness::solve(&case, &checked, 4000) else { continue };
        let bound = case.values();
        let Ok((_, stages)) = harness::run_lowered(&checked, &solution, &bound, case.seed) else {
            continue;
        };
        let mut versions: Vec<Option<Value>> =
            checked.arrays.iter().map(|array| bound.get(&array.name).cloned()).collect();
        for stage in stages {
            let read = stage.inputs.iter().map(|&at| versions[at].clone().unwrap());
            let inputs: Vec<Value> = read.collect();
            let half = |value: &Value| value.dtype.is_float() && value.dtype.size() == 2;
            let is_narrow = inputs.iter().any(half) || case.source.contains("F16(");
            let expected = interpret(&stage.program, &stage.instance, &inputs).unwrap();
            let tensors: Vec<BigTensor> = inputs.iter().map(|value| cut(value, seed)).collect();
            let tensors: Vec<&BigTensor> = tensors.iter().collect();
            match apply_instance(&stage.program, &stage.instance, &tensors) {
                Err(error) => {
                    refused += 1;
                    let text = error.to_string();
                    let known = ["cannot run in blocks", "has blocks of"];
                    assert!(known.iter().any(|known| text.contains(known)), "{seed}: {text}");
                }
                Ok(built) => {
                    for (tensor, expected) in built.iter().zip(&expected) {
                        let found = executors[seed as usize % 3].collect(tensor);
                        let found =
                            found.unwrap_or_else(|e| panic!("{seed}: {e}\n{}", case.source));
                        let found = found.as_numbers().unwrap();
                        let same = is_near(found, expected, is_narrow);
                        assert!(
                            same,
                            "{seed}: {}\n{found:?}, not {expected:?}\n{tensor}",
                            case.source
                        );
                    }
                    computed += 1;
                }
            }
            for (&at, value) in stage.outputs.iter().zip(expected) {
                versions[at] = Some(value);
            }
        }
    }
    println!("{computed} stages computed, {refused} refused");
    // Blocks are random: those of an index differ, or positions are from an array along an axis that is cut.
    assert!(computed > 4 * refused || count < 100, "{computed} computed, {refused} refused");
}

fn ramp(dims: &[usize], blocks: &[Option<usize>]) -> BigTensor {
    let count: usize = dims.iter().product();
    BigTensor::lit((0..count).map(|n| n as i64), dims, blocks).unwrap()
}

fn numbers(tensor: &BigTensor) -> Vec<i64> {
    let found = tensor.collect().unwrap();
    found.as_numbers().unwrap().as_slice::<i64>().unwrap().to_vec()
}

#[test]
fn values_of_indices_are_those_of_the_whole_axis() {
    let u = ramp(&[7], &[Some(3)]);
    let index = &apply("@index i~i", &[&u]).unwrap()[0];
    assert_eq!(numbers(index), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(index.ty().blocks, [Some(3)]);
}

#[test]
fn positions_may_be_quotients_and_remainders() {
    let u = ramp(&[6], &[Some(4)]);
    let twice = &apply("[i/2]~i{12}", &[&u]).unwrap()[0];
    assert_eq!(numbers(twice), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    let around = &apply("[i%6]~i{9}", &[&u]).unwrap()[0];
    assert_eq!(numbers(around), [0, 1, 2, 3, 4, 5, 0, 1, 2]);
}

/// The result, which must not depend on the number of workers.
fn with_workers(tensor: &BigTensor) -> Tensor {
    let found = [1, 2, 3].map(|workers| {
        let found = Executor::new().workers(workers).collect(tensor).unwrap();
        found.as_numbers().unwrap().clone()
    });
    assert!(found.iter().all(|other| *other == found[0]), "{tensor}");
    found[0].clone()
}

#[test]
fn results_may_be_written_at_computed_positions() {
    let u = ramp(&[7], &[Some(3)]);
    let whole = |program: &str, expected: &[i64], block: Option<usize>| {
        let written = &apply(program, &[&u]).unwrap()[0];
        assert_eq!(with_workers(written).as_slice::<i64>(), Some(expected), "{program}");
        assert_eq!(written.ty().blocks, [block], "{program}");
    };
    // Cut as the axis that moves along it.
    whole("i~[2*i]", &[0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6], Some(6));
    whole("i~[6-i]", &[6, 5, 4, 3, 2, 1, 0], Some(3));
    whole("+(i)~[i%2]", &[12, 9], None);
    whole("+(i)~[i/2]", &[1, 5, 9, 6], Some(3));
    whole("+(i)~[i+k{3}]", &[0, 1, 3, 6, 9, 12, 15, 11, 6], Some(3));
    let square = ramp(&[4, 4], &[Some(3), Some(3)]);
    let diagonals = &apply("+(ij)~[i+j]", &[&square]).unwrap()[0];
    assert_eq!(numbers(diagonals), [0, 5, 15, 30, 30, 25, 15]);
    let diagonal = &apply("i~ii", &[&u]).unwrap()[0];
    let expected: Vec<i64> = (0..49).map(|n| if n % 8 == 0 { n / 8 } else { 0 }).collect();
    assert_eq!(with_workers(diagonal).as_slice::<i64>(), Some(&expected[..]));
}

/// The results of a program in Einsum Tuple, with these arrays bound in this order.
fn tuples(source: &str, bound: &[(&str, &BigTensor)], dims: &[(&str, &[u64])]) -> Vec<BigTensor> {
    let (program, _) = ijk_syntax::et::parse(source);
    let checked = ijk_ir::et::check(source, program).0.unwrap();
    let at = |name: &str| checked.arrays.iter().position(|array| array.name == name).unwrap();
    let shape = |tensor: &BigTensor| tensor.dims().iter().map(|&n| n as u64).collect::<Vec<_>>();
    let shapes: Vec<_> = bound.iter().map(|(name, tensor)| (at(name), shape(tensor))).collect();
    let dims = dims.iter().map(|(name, dims)| ((*name).to_owned(), dims.to_vec())).collect();
    let overrides = ijk_ir::et::Overrides { dims, ..Default::default() };
    let solution = ijk_ir::et::infer(&checked, &shapes, &overrides).unwrap();
    let mut described = vec![None; checked.arrays.len()];
    for (name, tensor) in bound {
        described[at(name)] = Some((tensor.element_type().number().unwrap(), shape(tensor)));
    }
    let mut lowering = ijk_ir::et::Lowering::new(&checked, &solution, &described, 5).unwrap();
    let step = lowering.step().unwrap();
    let Some(ijk_ir::et::Step::Run(stage)) = step else { panic!("{step:?}") };
    let named = |&array: &usize| bound.iter().find(|(name, _)| at(name) == array).unwrap().1;
    let inputs: Vec<&BigTensor> = stage.inputs.iter().map(named).collect();
    apply_instance(&stage.program, &stage.instance, &inputs).unwrap()
}

#[test]
fn sums_scatter_to_positions_from_an_array() {
    let values = ramp(&[8], &[Some(3)]);
    let groups = BigTensor::lit([1i64, 0, 4, 1, -1, 2, 1, 9], [8], [Some(3)]).unwrap();
    let before = BigTensor::lit([100i64; 5], [5], [Some(2)]).unwrap();
    let source = "total[g] = start[g]\ntotal[group[a]] += value[a]";
    let bound = [("start", &before), ("group", &groups), ("value", &values)];
    let total = &tuples(source, &bound, &[])[0];
    assert_eq!(with_workers(total).as_slice::<i64>(), Some(&[101, 109, 105, 100, 102][..]));
    assert_eq!(total.ty().blocks, [Some(2)], "cut as it was");
}

#[test]
fn random_numbers_are_those_of_the_whole_array() {
    let source = "y[a,b] = x[a] * RANDOM(0, 10, INT)\nz[a] = x[a] + RANDOM(1, 2, FLOAT)";
    let dims: &[(&str, &[u64])] = &[("b", &[4])];
    let whole = tuples(source, &[("x", &ramp(&[7], &[None]))], dims);
    let cut = tuples(source, &[("x", &ramp(&[7], &[Some(3)]))], dims);
    for (whole, cut) in whole.iter().zip(&cut) {
        assert_eq!(cut.ty().blocks[0], Some(3));
        assert_eq!(with_workers(whole), with_workers(cut));
    }
    let drawn = with_workers(&cut[0]);
    let row = &drawn.as_slice::<i64>().unwrap()[24..];
    assert!(row.iter().any(|number| *number != row[0]), "{row:?}");
    let empty = "y[a] = x[a] * RANDOM(2, 2, INT)";
    let empty = &tuples(empty, &[("x", &ramp(&[7], &[Some(3)]))], &[])[0];
    assert!(empty.collect().unwrap_err().to_string().contains("RANDOM needs"));
}

#[test]
fn products_go_on_from_what_was_there() {
    let (x, k) = (ramp(&[7], &[Some(3)]), ramp(&[3], &[None]));
    let y = &tuples("y[a] = x[a] + 1\ny[a] *= x[a+b] + k[b]", &[("x", &x), ("k", &k)], &[])[0];
    let expected = |a: i64| {
        let terms = (0..3).filter(|b| a + b < 7).map(|b| a + 2 * b);
        (a + 1) * terms.product::<i64>()
    };
    let expected: Vec<i64> = (0..7).map(expected).collect();
    assert_eq!(with_workers(y).as_slice::<i64>(), Some(&expected[..]));
}

#[test]
fn gathers_need_a_whole_axis() {
    let rows = BigTensor::lit([2i64, 0, 1, 2], [4], [Some(3)]).unwrap();
    let case = EtCase {
        source: "y[a,b] = x[idx[a],b]".into(),
        bound: Default::default(),
        dims: Default::default(),
        ranks: Default::default(),
        seed: 0,
    };
    let (program, _) = ijk_syntax::et::parse(&case.source);
    let checked = ijk_ir::et::check(&case.source, program).0.unwrap();
    let at = |name: &str| checked.arrays.iter().position(|array| array.name == name).unwrap();
    let shapes = [(at("x"), vec![3, 5]), (at("idx"), vec![4])];
    let solution = ijk_ir::et::infer(&checked, &shapes, &Default::default()).unwrap();
    let mut described = vec![None; checked.arrays.len()];
    shapes.into_iter().for_each(|(at, shape)| described[at] = Some((DType::I64, shape)));
    let mut lowering = ijk_ir::et::Lowering::new(&checked, &solution, &described, 0).unwrap();
    let mut step = lowering.step().unwrap();
    if let Some(ijk_ir::et::Step::Tell(wanted)) = step {
        lowering.tell(wanted, &[Some((0, 2))]);
        step = lowering.step().unwrap();
    }
    let Some(ijk_ir::et::Step::Run(stage)) = step else { panic!("{step:?}") };
    let built = |x: &BigTensor| {
        let input = |&array: &usize| if array == at("x") { x.clone() } else { rows.clone() };
        let inputs: Vec<BigTensor> = stage.inputs.iter().map(input).collect();
        let inputs: Vec<&BigTensor> = inputs.iter().collect();
        apply_instance(&stage.program, &stage.instance, &inputs)
    };
    let found = &built(&ramp(&[3, 5], &[None, Some(2)])).unwrap()[0];
    let row = |n: i64| (5 * n..5 * n + 5).collect::<Vec<i64>>();
    assert_eq!(numbers(found), [row(2), row(0), row(1), row(2)].concat());
    assert_eq!(found.ty().blocks, [Some(3), Some(2)]);
    let error = built(&ramp(&[3, 5], &[Some(2), None])).unwrap_err().to_string();
    assert!(error.contains("is read at positions from an array, but has blocks of 2"), "{error}");
    assert!(error.contains("hint: reblock("), "{error}");
}
