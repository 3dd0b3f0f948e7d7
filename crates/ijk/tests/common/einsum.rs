//! Properties of all subscripts, with operands of any shapes and types. Shared with `fuzz/`.

use ijk::PlanError;
use ijk::{Diagnostic, Einsum, Engine, Error, Span, Tensor, TensorView};
use ijk_ir::einsum::{Product, symbolic};
use ijk_oracle::random::{Layout, Placed, Rng, View};
use ijk_oracle::{Value, evaluate_einsum, interpret};
use ijk_syntax::einsum::{Subscripts, Term};
use ijk_types::{C64, C128, DType, Scalar, UnaryOp, scalar};
use std::sync::LazyLock;

/// Upper bounds of points and operands, so that sums of small integers are exact.
const MOST_POINTS: usize = 2048;
const MOST_OPERANDS: usize = 6;

/// Engines without and with memory limits.
static ENGINES: LazyLock<[Engine; 4]> = LazyLock::new(|| {
    let builder = || Engine::builder().threads(1);
    let limited = [24, 100, 1000].map(|bytes| builder().memory_limit(bytes).build());
    let [small, medium, large] = limited;
    [builder().build(), small, medium, large]
});

/// Panics unless all properties hold for subscripts, with operands chosen by `bytes`. Returns true if
/// there was a value.
pub fn check(text: &str, bytes: &[u8]) -> bool {
    let Some(subscripts) = check_text(text) else { return false };
    let einsum = Einsum::new(text).expect("subscripts that were parsed");
    let mut choices = Choices(bytes);
    match operands(&subscripts, &mut choices) {
        Some(values) => check_values(&einsum, &subscripts, &values, &mut choices),
        None => false,
    }
}

/// The subscripts, if they are valid.
fn check_text(text: &str) -> Option<Subscripts> {
    let subscripts = match Subscripts::parse(text) {
        Ok(subscripts) => subscripts,
        Err(errors) => {
            assert!(!errors.is_empty() && errors.len() <= 8);
            check_diagnostics(text, &errors);
            return None;
        }
    };
    let all = || subscripts.operands.iter().chain([&subscripts.output]);
    for term in all() {
        check_span(text, term.span);
        term.indices.iter().for_each(|index| check_span(text, index.span));
    }
    let einsum = Einsum::new(text).expect("subscripts that were parsed");
    let written = Subscripts::parse(&einsum.to_string()).expect("subscripts that were printed");
    assert!(written.explicit);
    let (operands, output) = einsum.labels();
    let listed = Einsum::from_lists(&operands, Some(&output)).expect("subscripts as lists");
    let numbers = |terms: &[Term]| -> Vec<_> {
        let number = |term: &Term| term.indices.iter().map(|i| i.number).collect::<Vec<_>>();
        terms.iter().map(|t| (number(t), t.ellipsis.map(|e| e.at))).collect()
    };
    assert_eq!(numbers(&written.operands), numbers(&subscripts.operands));
    assert_eq!(numbers(&[written.output]), numbers(std::slice::from_ref(&subscripts.output)));
    assert_eq!(listed.labels(), (operands, output));
    let program = symbolic(&subscripts);
    if !program.statements.is_empty() {
        ijk_ir::verify(&program).expect("a program");
    }
    Some(subscripts)
}

fn check_diagnostics(source: &str, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        check_span(source, diagnostic.span);
        diagnostic.related.iter().for_each(|(span, _)| check_span(source, *span));
        let fixes = diagnostic.hints.iter().filter_map(|hint| hint.replacement.as_ref());
        fixes.for_each(|(span, _)| check_span(source, *span));
    }
    assert!(!ijk::render(source, "subscripts", diagnostics, false).is_empty());
}

fn check_span(source: &str, span: Span) {
    assert!(source.get(span.start as usize..span.end as usize).is_some(), "{span:?}");
}

/// Bytes as decisions; 0 after the last one.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn next(&mut self) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first)
    }

    fn pick<T: Copy, const N: usize>(&mut self, things: [T; N]) -> T {
        things[self.next() % N]
    }

    /// True occasionally.
    fn rarely(&mut self) -> bool {
        self.next() % 16 == 15
    }
}

/// Operands that mostly fit; `None` if there are too many.
fn operands(subscripts: &Subscripts, choices: &mut Choices) -> Option<Vec<Value>> {
    if subscripts.operands.len() > MOST_OPERANDS {
        return None;
    }
    let dtype = choices.pick(DType::ALL);
    let extents: Vec<usize> =
        subscripts.names.iter().map(|_| choices.pick([2, 1, 3, 0, 4])).collect();
    let unnamed: Vec<usize> = (0..choices.next() % 3).map(|_| choices.pick([2, 1, 3])).collect();
    let mut values = Vec::new();
    for term in &subscripts.operands {
        let mut shape: Vec<usize> =
            term.indices.iter().map(|index| extents[index.number as usize]).collect();
        if let Some(ellipsis) = term.ellipsis {
            let own = unnamed.len() - choices.next() % (unnamed.len() + 1);
            shape.splice(ellipsis.at..ellipsis.at, unnamed[..own].iter().copied());
        }
        if choices.rarely() {
            match choices.next() % 4 {
                0 => shape.push(2),
                1 => drop(shape.pop()),
                at => shape.iter_mut().skip(at - 2).take(1).for_each(|n| *n = choices.pick([1, 5])),
            }
        }
        let own = if choices.rarely() { choices.pick(DType::ALL) } else { dtype };
        let size = shape.iter().fold(1usize, |n, &extent| n.saturating_mul(extent.max(1)));
        if size > MOST_POINTS {
            return None;
        }
        values.push(value(own, &shape, choices.next()));
    }
    Some(values)
}

/// Integers from -2 to 2.
fn value(dtype: DType, shape: &[usize], seed: usize) -> Value {
    let mut rng = Rng::new(seed as u64);
    let mut real = || rng.below(5) as i32 - 2;
    let mut element = || match dtype {
        DType::Bool => Scalar::Bool(real() > 0),
        DType::I32 => Scalar::I32(real()),
        DType::I64 => Scalar::I64(real().into()),
        DType::F32 => Scalar::F32(real() as f32),
        DType::F64 => Scalar::F64(real().into()),
        DType::C64 => Scalar::C64(C64::new(real() as f32, real() as f32)),
        DType::C128 => Scalar::C128(C128::new(real().into(), real().into())),
        _ => scalar::unary(UnaryOp::Cast(dtype), Scalar::I32(real())).expect("a cast"),
    };
    let data = (0..shape.iter().product()).map(|_| element()).collect();
    Value { dtype, shape: shape.to_vec(), data }
}

/// Compares evaluations, if there are not too many points; true if there was a value.
fn check_values(
    einsum: &Einsum,
    subscripts: &Subscripts,
    values: &[Value],
    choices: &mut Choices,
) -> bool {
    let shapes: Vec<Vec<u64>> =
        values.iter().map(|value| value.shape.iter().map(|&n| n as u64).collect()).collect();
    let shapes: Vec<&[u64]> = shapes.iter().map(Vec::as_slice).collect();
    let product = Product::new(subscripts, &shapes);
    match &product {
        Err(errors) => check_diagnostics(&subscripts.source, errors),
        Ok(product) if points(product) > MOST_POINTS => return false,
        Ok(_) => {}
    }
    let one_type = values.iter().all(|value| value.dtype == values[0].dtype);
    let expected = evaluate_einsum(subscripts, values).filter(|_| one_type);
    assert_eq!(product.is_ok() && one_type, expected.is_some(), "{:?}", product.err());
    let mut rng = Rng::new(choices.next() as u64);
    let layouts = values.iter().map(|value| Layout::random_apart(&mut rng, value.shape.len()));
    let placed: Vec<Placed> =
        values.iter().zip(layouts).map(|(v, l)| Placed::value(v, &l)).collect();
    let views: Vec<View> = placed.iter().map(Placed::view).collect();
    let views: Vec<TensorView<'_>> = views.iter().map(View::tensor).collect();
    let path = path(choices, values.len());
    let (Some(expected), Ok(product)) = (expected, product) else {
        check_refused(ENGINES[0].apply_einsum(einsum, &views));
        check_refused(ENGINES[0].apply_einsum(&einsum.with_path(path.steps), &views));
        return false;
    };
    let (program, instance) =
        product.lower(expected.dtype, if path.fits { &path.steps } else { &[] });
    let lowered = interpret(&program, &instance, values).expect("a value");
    assert!(equal(&lowered[0], &expected), "lowered");
    check_symbolic(subscripts, values, &expected);
    for engine in &*ENGINES {
        match engine.apply_einsum(einsum, &views) {
            Err(Error::Plan(PlanError::MemoryLimit { limit, .. })) => {
                assert_eq!(Some(limit), engine.memory_limit());
            }
            result => assert!(equal(&tensor_value(&result.expect("a value")), &expected)),
        }
    }
    match ENGINES[0].apply_einsum(&einsum.with_path(path.steps), &views) {
        Ok(result) => assert!(equal(&tensor_value(&result), &expected), "along the path"),
        Err(error) => assert!(!path.fits && !error.to_string().is_empty(), "{error}"),
    }
    true
}

/// Points of all indices without those of extent 0.
fn points(product: &Product) -> usize {
    product.extents.iter().fold(1, |n, &extent| n.saturating_mul(extent.max(1) as usize))
}

fn check_refused(result: Result<Tensor, Error>) {
    assert!(!result.expect_err("operands do not fit").to_string().is_empty());
}

/// The program for any shapes has the same value, if it accepts operands of these shapes.
fn check_symbolic(subscripts: &Subscripts, values: &[Value], expected: &Value) {
    let program = symbolic(subscripts);
    let shapes: Vec<Vec<u64>> =
        values.iter().map(|value| value.shape.iter().map(|&n| n as u64).collect()).collect();
    let arguments: Vec<_> = values.iter().zip(&shapes).map(|(v, s)| (v.dtype, &s[..])).collect();
    if program.statements.is_empty() {
        return;
    }
    if let Ok(instance) = ijk_ir::instantiate(&program, &arguments) {
        let results = interpret(&program, &instance, values).expect("a value");
        assert!(equal(&results[0], expected), "symbolic");
    }
}

fn tensor_value(tensor: &Tensor) -> Value {
    let data = tensor.view().iter_scalars().collect();
    Value { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), data }
}

/// Equality of numbers; zeros of either sign are equal.
fn equal(left: &Value, right: &Value) -> bool {
    left.dtype == right.dtype && left.shape == right.shape && left.data == right.data
}

struct Path {
    steps: Vec<Vec<usize>>,
    fits: bool,
}

/// A path for a number of operands, mostly valid.
fn path(choices: &mut Choices, mut left: usize) -> Path {
    let (mut steps, mut fits) = (Vec::new(), true);
    for _ in 0..choices.next() % 8 {
        let mut step: Vec<usize> = (0..1 + choices.next() % 3).map(|_| choices.next()).collect();
        if choices.rarely() {
            fits = false;
        } else {
            step.iter_mut().for_each(|position| *position %= left);
            step.sort_unstable();
            step.dedup();
            left = left + 1 - step.len();
        }
        steps.push(step);
    }
    Path { steps, fits }
}
