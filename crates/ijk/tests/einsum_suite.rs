//! Runs the cases of `tests/suite/einsum`: subscripts, on operands whose elements count from 1 on
//! (truth values alternate, the first is false).

use ijk::{DType, Einsum, Error, Tensor, TensorView};
use std::fmt::Write;

#[test]
fn einsums() {
    crate::cases::check("einsum", outcome);
}

fn outcome(program: &str) -> String {
    let mut lines = String::new();
    let (given, subscripts): (Vec<&str>, Vec<&str>) =
        program.lines().partition(|line| line.starts_with("# given "));
    let subscripts = subscripts.concat();
    let operands: Vec<Tensor> =
        given.iter().flat_map(|line| line["# given ".len()..].split(' ')).map(operand).collect();
    let views: Vec<TensorView<'_>> = operands.iter().map(Tensor::view).collect();
    match Einsum::new(&subscripts).and_then(|einsum| einsum.apply(&views)) {
        Ok(result) => {
            let elements: Vec<String> =
                result.view().iter_scalars().map(|x| x.to_string()).collect();
            let (dtype, shape) = (result.dtype(), result.shape());
            writeln!(lines, "# => {dtype}{shape:?}: {}", elements.join(" ")).unwrap();
        }
        Err(Error::Program(report)) => {
            for diagnostic in report.diagnostics() {
                crate::cases::describe(report.source(), diagnostic, &mut lines);
            }
        }
        Err(other) => writeln!(lines, "# error {other}").unwrap(),
    }
    lines
}

/// `f64[2,3]`.
fn operand(text: &str) -> Tensor {
    let (dtype, extents) = text.trim_end_matches(']').split_once('[').expect("a shape");
    let dtype = DType::ALL.into_iter().find(|known| known.to_string() == dtype);
    let dtype = dtype.expect("an element type");
    let extents = extents.split(',').filter(|extent| !extent.is_empty());
    let shape: Vec<usize> = extents.map(|extent| extent.parse().expect("an extent")).collect();
    let count = shape.iter().product::<usize>() as i64;
    let elements = (0..count).map(|n| if dtype == DType::Bool { n % 2 } else { n + 1 }).collect();
    Tensor::from_vec::<i64>(elements, &shape).and_then(|x| x.cast(dtype)).expect("a tensor")
}
