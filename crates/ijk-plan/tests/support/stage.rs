//! Programs in Einsum Tuple that are one stage, with the results that the oracle gives.

use ijk_ir::core::{Instance, Program};
use ijk_ir::et::lower::{Lowering, Step};
use ijk_ir::et::{Overrides, check, infer};
use ijk_oracle::{Value, interpret};
use ijk_plan::Layout;
use ijk_plan::plan::Plan;
use ijk_types::{DType, Scalar};

/// A lowered program with its inputs.
pub struct Staged {
    pub program: Program,
    pub instance: Instance,
    pub inputs: Vec<Vec<Scalar>>,
    /// Positions of the inputs whose elements stand in indices.
    pub in_indices: Vec<u32>,
    pub expected: Vec<Value>,
}

/// Lowers a program for arguments of some types and shapes, made by `argument`.
pub fn staged(
    source: &str,
    arguments: &[(&str, DType, &[usize])],
    argument: impl Fn(DType, &[usize]) -> Value,
) -> Staged {
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
    let nested = checked.in_indices();
    let in_indices = (0..inputs.len()).filter(|&at| nested.contains(&stage.inputs[at]));
    Staged {
        in_indices: in_indices.map(|at| at as u32).collect(),
        inputs: inputs.into_iter().map(|input| input.data).collect(),
        program: stage.program.clone(),
        instance: stage.instance.clone(),
        expected,
    }
}

/// An argument: small whole numbers, or places some of which are out of range.
pub fn argument(dtype: DType, shape: &[usize]) -> Value {
    let count: usize = shape.iter().product();
    let number = |n: usize| (n * 7 + n / 5 + n / 11) as i64;
    let element = |n: usize| match dtype {
        DType::I64 => Scalar::I64(number(n) % 44 - 2),
        _ => Scalar::F64((number(n) % 9 - 4) as f64),
    };
    Value { dtype, shape: shape.to_vec(), data: (0..count).map(element).collect() }
}

/// The plan of a program, which computes what the program says.
pub fn planned(source: &str, arguments: &[(&str, DType, &[usize])]) -> Plan {
    let staged = staged(source, arguments, argument);
    let layout = Layout::contiguous(&staged.program, &staged.instance);
    let plan = ijk_plan::plan(&staged.program, &staged.instance, &layout).unwrap();
    let found = super::run_plan(&plan, &staged.inputs);
    for (expected, found) in staged.expected.iter().zip(found) {
        assert_eq!(expected.data, found, "{source}\n{plan}");
    }
    plan
}
