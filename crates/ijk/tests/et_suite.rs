//! Runs the cases of `tests/suite/et/run`.
//!
//! Comments of a case bind the arguments of its program: `# bind x = f64[2,2] 1 2 3 4` (elements in
//! row-major order), `# rank a = 2`, `# dims a = 2,3`, `# seed 7`. Expected are the results or
//! the errors. Expected numbers are worked out by hand, never by this engine: a change that leads to
//! other numbers is wrong.

use crate::cases::describe;
use ijk::et::Bindings;
use ijk::num_complex::{Complex32, Complex64};
use ijk::{DType, Error, Scalar, Tensor};
use ijk_oracle::Value;
use ijk_oracle::et::{Shapes, evaluate_et};
use ijk_types::Ordered;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Write;

/// Diagnostics without a case: the reason, and the test that covers them.
const ELSEWHERE: [(&str, &str); 3] = [
    ("index-nested", "takes a long program: `ijk-oracle/src/generate/et/mistakes.rs`"),
    ("unbound", "the solver finds it first: `ijk-ir/tests/et_check.rs`"),
    ("value-too-long", "takes a long program: `ijk-oracle/src/generate/et/mistakes.rs`"),
];
/// Errors that are found only when programs are lowered.
const OF_SOLVER: [&str; 1] = ["index-too-large"];

#[test]
fn run_cases() {
    let seen = RefCell::new(HashSet::new());
    crate::cases::check("et/run", |source| outcome(source, &mut seen.borrow_mut()));
    let codes = ijk_ir::et::lower::codes::ALL.iter().map(|code| code.name()).chain(OF_SOLVER);
    let unseen: Vec<&str> = codes.filter(|code| !seen.borrow().contains(code)).collect();
    assert_eq!(unseen, ELSEWHERE.map(|(code, _)| code), "codes without a case");
}

fn outcome(source: &str, seen: &mut HashSet<&'static str>) -> String {
    let mut lines = String::new();
    match run(source) {
        Ok(outputs) => {
            for (name, array) in outputs.iter() {
                let cells = array.view().iter_scalars().collect();
                let text = array_text(array.dtype(), array.shape(), cells);
                writeln!(lines, "# => {name} {text}").expect("text");
            }
            let literal = evaluated(source);
            if literal != lines {
                writeln!(lines, "# error evaluated literally:\n{literal}").expect("text");
            }
        }
        Err(Error::Program(report)) => {
            for diagnostic in report.diagnostics() {
                seen.extend(diagnostic.code.map(|code| code.name()));
                describe(source, diagnostic, &mut lines);
            }
        }
        Err(error) => writeln!(lines, "# error run: {error}").expect("text"),
    }
    lines
}

/// Results of the oracle, which follows the rules literally.
fn evaluated(source: &str) -> String {
    let program = ijk::et(source).expect("it has run");
    let arrays = arrays(source);
    let shapes = program.solve(&bindings(source, &arrays)).expect("it has run");
    let shapes = Shapes::of(program.checked(), shapes.solution());
    let value = |array: &Tensor| Value {
        dtype: array.dtype(),
        shape: array.shape().to_vec(),
        data: array.view().iter_scalars().collect(),
    };
    let bound = arrays.iter().map(|(name, array)| (name.to_string(), value(array))).collect();
    let seed = source.lines().find_map(|line| line.strip_prefix("# seed "));
    let seed = seed.map_or(0, |seed| seed.parse().expect("a seed"));
    let mut lines = String::new();
    match evaluate_et(&program.checked().program, &shapes, &bound, seed) {
        Ok(evaluation) => {
            for (name, array) in evaluation.results() {
                let cells = array.cells.iter().map(|cell| cell.value).collect();
                let text = array_text(array.dtype, &array.shape, cells);
                writeln!(lines, "# => {name} {text}").expect("text");
            }
        }
        Err(error) => writeln!(lines, "{error}").expect("text"),
    }
    lines
}

fn run(source: &str) -> Result<ijk::et::Outputs, Error> {
    let arrays = arrays(source);
    ijk::et(source)?.run(bindings(source, &arrays))
}

fn arrays(source: &str) -> Vec<(&str, Tensor)> {
    settings(source, "# bind ").map(|(name, text)| (name, array(text))).collect()
}

fn bindings<'a>(source: &str, arrays: &'a [(&str, Tensor)]) -> Bindings<'a> {
    let mut bindings = Bindings::new();
    for (name, array) in arrays {
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
    bindings
}

/// Names and values of the lines with a prefix.
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
        DType::U8 => Scalar::U8(text.parse().expect("an integer")),
        DType::U16 => Scalar::U16(text.parse().expect("an integer")),
        DType::U32 => Scalar::U32(text.parse().expect("an integer")),
        DType::U64 => Scalar::U64(text.parse().expect("an integer")),
        DType::I8 => Scalar::I8(text.parse().expect("an integer")),
        DType::I16 => Scalar::I16(text.parse().expect("an integer")),
        DType::F16 => Scalar::F16(float().to_f16()),
        DType::BF16 => Scalar::BF16(float().to_bf16()),
        DType::I32 => Scalar::I32(text.parse().expect("an integer")),
        DType::I64 => Scalar::I64(text.parse().expect("an integer")),
        DType::F32 => Scalar::F32(float() as f32),
        DType::F64 => Scalar::F64(float()),
        DType::C64 => Scalar::C64(text.parse::<Complex32>().expect("a complex number")),
        DType::C128 => Scalar::C128(text.parse::<Complex64>().expect("a complex number")),
    }
}

fn array_text(dtype: DType, shape: &[usize], elements: Vec<Scalar>) -> String {
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let mut text = format!("{dtype}[{}]", shape.join(","));
    for element in elements {
        let number = match element {
            Scalar::F16(_) | Scalar::BF16(_) => element.as_f64().to_string(),
            Scalar::F32(x) => x.to_string(),
            Scalar::F64(x) => x.to_string(),
            Scalar::C64(x) => x.to_string(),
            Scalar::C128(x) => x.to_string(),
            other => other.to_string(),
        };
        write!(text, " {number}").expect("text");
    }
    text
}
