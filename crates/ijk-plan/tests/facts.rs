//! Programs that are planned with what is known of arguments.

use crate::support::stage::staged;
use ijk_oracle::Value;
use ijk_plan::plan::Plan;
use ijk_plan::{Facts, Layout};
use ijk_types::{DType, Scalar};
use smallvec::smallvec;

/// Small whole numbers, or numbers that count.
fn argument(dtype: DType, shape: &[usize]) -> Value {
    let count: usize = shape.iter().product();
    let element = |n: usize| match dtype {
        DType::I32 => Scalar::I32(n as i32),
        DType::I64 => Scalar::I64(n as i64),
        _ => Scalar::F64(((n * 7 + n / 5) % 9) as f64 - 4.0),
    };
    Value { dtype, shape: shape.to_vec(), data: (0..count).map(element).collect() }
}

/// The plans of a program of one stage without facts and with those that integers count, found to compute what it says.
fn plans(source: &str, arguments: &[(&str, DType, &[usize])]) -> [Plan; 2] {
    let staged = staged(source, arguments, argument);
    let counting = staged.in_indices.iter().copied().collect();
    [Facts::default(), Facts { counting, ..Facts::default() }].map(|facts| {
        let layout = Layout { facts, ..Layout::contiguous(&staged.program, &staged.instance) };
        let plan = ijk_plan::plan(&staged.program, &staged.instance, &layout).unwrap();
        for (expected, found) in
            staged.expected.iter().zip(crate::support::run_plan(&plan, &staged.inputs))
        {
            assert_eq!(expected.data, found, "{source}\n{plan}");
        }
        plan
    })
}

const X: (&str, DType, &[usize]) = ("x", DType::F64, &[60, 64]);
const C: (&str, DType, &[usize]) = ("c", DType::I64, &[60]);
const W: (&str, DType, &[usize]) = ("w", DType::F64, &[64, 24]);

fn kernels(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|step| step.kernel().name()).collect()
}

#[test]
fn rows_by_numbers_that_count_are_rows() {
    let pairs = [
        ("y[z,o] = x[c[z],d] * w[d,o]\n\ny", "y[z,o] = x[z,d] * w[d,o]\n\ny"),
        ("y[z] =max x[c[z],d]\n\ny", "y[z] =max x[z,d]\n\ny"),
        ("y[z,o] = x[c[c[z]],d] * w[d,o]\n\ny", "y[z,o] = x[z,d] * w[d,o]\n\ny"),
    ];
    for (gathered, plain) in pairs {
        let [_, known] = plans(gathered, &[X, C, W][..if gathered.contains('w') { 3 } else { 2 }]);
        let [expected, _] = plans(plain, &[X, W][..if plain.contains('w') { 2 } else { 1 }]);
        assert_eq!(kernels(&known), kernels(&expected), "{gathered}\n{known}");
    }
}

/// Where the array of indices is shorter than the rows, or longer, points are skipped as before.
#[test]
fn bounds_are_those_of_the_array_of_indices() {
    for count in [2, 20, 60, 70] {
        let c = ("c", DType::I32, &[count][..]);
        plans("y[z,d] = x[c[z],d] * 2\n\ny", &[X, c]);
        plans("y[z,d] = x[c[z+1],d] * 2\n\ny\n\nDIMS(z) = 60", &[X, c]);
        plans("y[z] += x[c[z - 3] + 5,d]\n\ny\n\nDIMS(z) = 90", &[X, c]);
        plans("y[z,d] = x[2*c[z//2]+c[z%2],d]\n\ny\n\nDIMS(z) = 50", &[X, c]);
        plans("y[d,e] = x[d,e]\ny[c[z],e] += x[c[z]*c[z],e]\n\ny", &[X, c]);
    }
    plans("y[z,d] = x[c[z,:],d]\n\ny", &[X, ("c", DType::I64, &[60, 1])]);
}

#[test]
fn an_argument_is_read_in_place_of_one_that_is_the_same() {
    let source = "(id-jd~idj) | (id-jd~idj) . idj*idj~idj . +idj~ij";
    let shapes = [(DType::F64, &[40u64, 32][..]); 4];
    let program = ijk_ir::compile_source(source).program.unwrap();
    let instance = ijk_ir::instantiate(&program, &shapes).unwrap();
    let facts = Facts { same: smallvec![(2, 0), (3, 1)], ..Facts::default() };
    let layout = Layout { facts, ..Layout::contiguous(&program, &instance) };
    let plan = ijk_plan::plan(&program, &instance, &layout).unwrap();
    let data = |n: u64| (0..1280u64).map(move |x| Scalar::F64(((x * 7 + n) % 11) as f64));
    let [a, b] = [data(1), data(4)].map(|data| data.collect::<Vec<_>>());
    let inputs = [a.clone(), b.clone(), a, b];
    let expected = crate::support::run_program(&program, &instance, &inputs);
    assert_eq!(crate::support::run_plan(&plan, &inputs), expected, "{plan}");
    assert_eq!(kernels(&plan), ["contract-semiring"], "{plan}");
}
