//! Programs that are planned with what is known of arguments.

mod support;

use ijk_ir::et::lower::{Lowering, Step};
use ijk_ir::et::{Overrides, check, infer};
use ijk_oracle::{Value, interpret};
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
    let (tree, _) = ijk_syntax::et::parse(source);
    let (checked, diagnostics) = check(source, tree);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let values: Vec<(usize, Value)> = arguments
        .iter()
        .map(|(name, t, shape)| (checked.array(name).unwrap(), argument(*t, shape)))
        .collect();
    let shape = |value: &Value| value.shape.iter().map(|&n| n as u64).collect::<Vec<_>>();
    let bound: Vec<(usize, Vec<u64>)> = values.iter().map(|(at, v)| (*at, shape(v))).collect();
    let solution = infer(&checked, &bound, &Overrides::default()).unwrap();
    let of = |at: usize| values.iter().find(|(other, _)| *other == at).map(|(_, value)| value);
    let described = |at: usize| of(at).map(|value| (value.dtype, shape(value)));
    let described: Vec<_> = (0..checked.arrays.len()).map(described).collect();
    let mut lowering = Lowering::new(&checked, &solution, &described, 0).unwrap();
    let Some(Step::Run(stage)) = lowering.step().unwrap() else { panic!("a stage") };
    let inputs: Vec<Value> = stage.inputs.iter().map(|&at| of(at).unwrap().clone()).collect();
    let expected = interpret(&stage.program, &stage.instance, &inputs).unwrap();
    let whole = |at: &usize| checked.in_indices().contains(&stage.inputs[*at]);
    let counting = (0..inputs.len()).filter(whole).map(|at| at as u32).collect();
    [Facts::default(), Facts { counting, ..Facts::default() }].map(|facts| {
        let layout = Layout { facts, ..Layout::contiguous(&stage.program, &stage.instance) };
        let plan = ijk_plan::plan(&stage.program, &stage.instance, &layout).unwrap();
        let data: Vec<_> = inputs.iter().map(|input| input.data.clone()).collect();
        for (expected, found) in expected.iter().zip(support::run_plan(&plan, &data)) {
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
    let expected = support::run_program(&program, &instance, &inputs);
    assert_eq!(support::run_plan(&plan, &inputs), expected, "{plan}");
    assert_eq!(kernels(&plan), ["contract-semiring"], "{plan}");
}
