//! Runs the cases of `tests/suite/et/run`.
//!
//! Comments of a case say what its program is run on: `# bind x = f64[2,2] 1 2 3 4` (elements in
//! row-major order), `# rank a = 2`, `# dims a = 2,3`, `# seed 7`. Expected are the results, or what
//! is wrong. The expected numbers are worked out by hand, never by this engine: where a change gives
//! others, the change is wrong.

#[path = "../../../tests/suite/cases.rs"]
mod cases;

use cases::describe;
use ijk::et::Bindings;
use ijk::num_complex::{Complex32, Complex64};
use ijk::{DType, Error, Scalar, Tensor};
use std::fmt::Write;

#[test]
fn run_cases() {
    cases::check("et/run", outcome);
}

fn outcome(source: &str) -> String {
    let mut lines = String::new();
    match run(source) {
        Ok(outputs) => {
            for (name, array) in outputs.iter() {
                writeln!(lines, "# => {name} {}", array_text(array)).expect("text");
            }
        }
        Err(Error::Program(report)) => {
            report.diagnostics().iter().for_each(|d| describe(source, d, &mut lines));
        }
        Err(error) => writeln!(lines, "# error run: {error}").expect("text"),
    }
    lines
}

fn run(source: &str) -> Result<ijk::et::Outputs, Error> {
    let program = ijk::et(source)?;
    let arrays: Vec<(&str, Tensor)> =
        settings(source, "# bind ").map(|(name, text)| (name, array(text))).collect();
    let mut bindings = Bindings::new();
    for (name, array) in &arrays {
        bindings = bindings.bind(*name, array);
    }
    for (name, rank) in settings(source, "# rank ") {
        bindings = bindings.rank(name, rank.parse().expect("a rank"));
    }
    for (name, dims) in settings(source, "# dims ") {
        let dims: Vec<u64> = dims.split(',').map(|n| n.parse().expect("an extent")).collect();
        bindings = bindings.dims(name, dims);
    }
    for seed in source.lines().filter_map(|line| line.strip_prefix("# seed ")) {
        bindings = bindings.seed(seed.parse().expect("a seed"));
    }
    program.run(bindings)
}

/// Names and values of the lines that start so.
fn settings<'a>(source: &'a str, start: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let lines = source.lines().filter_map(move |line| line.strip_prefix(start));
    lines.map(|line| line.split_once(" = ").expect("`name = value`"))
}

/// `f64[2,2] 1 2 3 4`.
fn array(text: &str) -> Tensor {
    let (head, numbers) = text.split_once(']').expect("a type and a shape");
    let (dtype, shape) = head.split_once('[').expect("a type and a shape");
    let dtype = DType::from_name(dtype).expect("an element type");
    let shape: Vec<usize> =
        shape.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().expect("an extent")).collect();
    let elements = numbers.split_whitespace().map(|number| scalar(dtype, number));
    let elements: Vec<Scalar> = elements.collect();
    assert_eq!(elements.len(), shape.iter().product::<usize>(), "{text}");
    Tensor::from_scalars(dtype, &shape, elements).expect("an array")
}

fn scalar(dtype: DType, text: &str) -> Scalar {
    let float = || text.parse::<f64>().expect("a number");
    match dtype {
        DType::Bool => Scalar::Bool(text == "true"),
        DType::I32 => Scalar::I32(text.parse().expect("an integer")),
        DType::I64 => Scalar::I64(text.parse().expect("an integer")),
        DType::F32 => Scalar::F32(float() as f32),
        DType::F64 => Scalar::F64(float()),
        DType::C64 => Scalar::C64(text.parse::<Complex32>().expect("a complex number")),
        DType::C128 => Scalar::C128(text.parse::<Complex64>().expect("a complex number")),
    }
}

fn array_text(array: &Tensor) -> String {
    let shape: Vec<String> = array.shape().iter().map(usize::to_string).collect();
    let mut text = format!("{}[{}]", array.dtype(), shape.join(","));
    for element in array.view().iter_scalars() {
        let number = match element {
            Scalar::Bool(x) => x.to_string(),
            Scalar::I32(x) => x.to_string(),
            Scalar::I64(x) => x.to_string(),
            Scalar::F32(x) => x.to_string(),
            Scalar::F64(x) => x.to_string(),
            Scalar::C64(x) => x.to_string(),
            Scalar::C128(x) => x.to_string(),
        };
        write!(text, " {number}").expect("text");
    }
    text
}
