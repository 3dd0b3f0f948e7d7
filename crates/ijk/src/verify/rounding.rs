//! Bounds of the rounding error between two faithful evaluations of a program.
//!
//! For every array of floats that a program computes, a second array holds a bound of its rounding
//! error, in units of the machine epsilon and to first order. The statements that compute these arrays
//! are themselves in Einsum Tuple, next to those of the program, so that the bound follows every gather
//! and every sum of the program:
//!
//! | value | bound |
//! |---|---|
//! | an input `x` | `|x|` (a framework may round it to its own type) |
//! | `a + b` | `E(a) + E(b) + |a| + |b|` |
//! | `a * b` | `|a| E(b) + |b| E(a) + |a * b|` |
//! | `a / b` | `(E(a) + |a / b| E(b)) / |b| + |a / b|` |
//! | `f(a)` | `|f'(a)| E(a)` and a few `|f(a)|` |
//! | a sum of n values `v` | the sum of `E(v) + n |v|`, in whatever order |
//!
//! So the bound of a result is the operation count times epsilon times the sum of the magnitudes that
//! enter it. Both evaluations are assumed to be on the same side of jumps (`FLOOR`, `//`, comparisons).

use super::kinds::{Kind, Kinds};
use ijk_syntax::Function as F;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{
    Access, Along, Assign, AssignOp, Index, Name, Number, Program, Statement, Value, ValueFunction,
    ValueOp,
};
use std::collections::{BTreeMap, BTreeSet};

/// A program with the statements that bound its rounding, and the name of each output's bound
/// (`None` where the output is exact).
pub(super) fn bounded(
    program: &Program,
    outputs: &[&str],
    terms: &dyn Fn(&Statement) -> f64,
) -> (Program, Vec<Option<String>>) {
    let mut builder = Builder::new(program);
    for statement in &program.statements {
        builder.statement(statement, terms(statement));
    }
    let bounds: Vec<_> = outputs.iter().map(|name| builder.bounds.get(*name).cloned()).collect();
    let names = bounds.iter().flatten().map(|text| name(text)).collect();
    let program = Program {
        statements: builder.statements,
        loops: Vec::new(),
        call: None,
        outputs: names,
        constraints: program.constraints.clone(),
    };
    (program, bounds)
}

struct Builder {
    statements: Vec<Statement>,
    /// For each array that is not exact, the array of its bounds.
    bounds: BTreeMap<String, String>,
    kinds: Kinds,
    taken: BTreeSet<String>,
}

impl Builder {
    fn new(program: &Program) -> Self {
        let taken = program.statements.iter().map(|s| s.left.array.text.clone()).collect();
        let (statements, bounds) = (Vec::new(), BTreeMap::new());
        Self { statements, bounds, kinds: Kinds::default(), taken }
    }

    /// Appends a statement and those that bound its rounding error.
    fn statement(&mut self, statement: &Statement, terms: f64) {
        let array = &statement.left.array.text;
        let kind = self.kinds.after(statement);
        if kind != Kind::Float {
            self.bounds.remove(array);
            self.statements.push(statement.clone());
        } else if statement.assign.op == AssignOp::Mul {
            self.product_statement(statement, terms);
        } else {
            self.sum_statement(statement, terms);
        }
        self.kinds.assign(array, kind);
    }

    /// Bounds of a sum: errors add up for a sum, the greatest counts for a maximum. Bounds are computed before the
    /// statement, from the values that it reads.
    fn sum_statement(&mut self, statement: &Statement, terms: f64) {
        let (v, assign, array) = (&statement.value, statement.assign, &statement.left.array.text);
        let old = self.kinds.of(array).filter(|_| assign.accumulate);
        let error = self.error(v).unwrap_or(zero());
        let (op, value) = match (assign.op, old) {
            (AssignOp::Add, None) => {
                (AssignOp::Add, sum([error, mul(constant(terms), magnitude(v))]))
            }
            (AssignOp::Add, Some(_)) => {
                let own = abs(Value::Element(statement.left.clone()));
                (AssignOp::Add, sum([error, mul(constant(terms), magnitude(v)), own]))
            }
            (AssignOp::LogAddExp, _) => {
                (AssignOp::Max, sum([error, magnitude(v), constant(terms)]))
            }
            _ => (AssignOp::Max, sum([error, magnitude(v)])),
        };
        let accumulate = old.is_some() && self.bounds.contains_key(array);
        let bound = self.bound_of(array);
        self.push(statement, &bound, Assign { op, accumulate }, value);
        self.statements.push(statement.clone());
    }

    /// The error of a product is its growth when every factor grows by its error: to first order, the
    /// difference quotient at a small step.
    fn product_statement(&mut self, statement: &Statement, terms: f64) {
        let (v, array) = (&statement.value, &statement.left.array.text);
        let own = || abs(Value::Element(statement.left.clone()));
        let plain = Assign { op: AssignOp::Add, accumulate: false };
        let reach = self.fresh(&format!("{array}_reach"));
        let accumulate = statement.assign.accumulate && self.kinds.of(array).is_some();
        if accumulate {
            let old = self.bounds.get(array).map(|bound| element(bound, &statement.left));
            let old = old.map_or(zero(), |error| mul(constant(STEP), error));
            self.push(statement, &reach, plain, sum([own(), old]));
        }
        let error = sum([self.error(v).unwrap_or(zero()), mul(constant(terms), magnitude(v))]);
        let factor = sum([magnitude(v), mul(constant(STEP), error)]);
        self.push(statement, &reach, Assign { op: AssignOp::Mul, accumulate }, factor);
        self.statements.push(statement.clone());
        let bound = self.bound_of(array);
        let growth =
            Value::Sum(vec![(false, element(&reach, &statement.left)), (true, own())], NOWHERE);
        self.push(statement, &bound, plain, div(growth, constant(STEP)));
    }

    /// Appends a statement for the same elements of another array.
    fn push(&mut self, like: &Statement, array: &str, assign: Assign, value: Value) {
        let left = Access { array: name(array), ..like.left.clone() };
        self.statements.push(Statement { left, assign, value, ..like.clone() });
    }

    /// The name of an array's bounds.
    fn bound_of(&mut self, array: &str) -> String {
        if let Some(name) = self.bounds.get(array) {
            return name.clone();
        }
        let name = self.fresh(&format!("{array}_rounding"));
        self.bounds.insert(array.into(), name.clone());
        name
    }

    /// A name that no array has.
    fn fresh(&mut self, wish: &str) -> String {
        let mut name = wish.to_string();
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    /// The bound of a value at a point; `None` where it is exact.
    fn error(&self, v: &Value) -> Option<Value> {
        if self.kinds.value(v) != Kind::Float {
            return None;
        }
        match v {
            Value::Number(..) | Value::Random { .. } => Some(magnitude(v)),
            Value::Element(access) => Some(element(self.bounds.get(&access.array.text)?, access)),
            Value::Tuple(_) | Value::Dims { .. } | Value::Rank(..) => None,
            Value::Sum(terms, _) => {
                let errors = terms.iter().filter_map(|(_, term)| self.error(term));
                let count = constant(terms.len().saturating_sub(1) as f64);
                let values = sum(terms.iter().map(|(_, term)| magnitude(term)));
                Some(sum(errors.chain([mul(count, values)])))
            }
            Value::Product(first, rest, _) => Some(self.product(first, rest)),
            Value::Call { function, args, .. } => Some(self.function(function.0, args, v)),
            // At each place, an order of values moves by no more than the bound of all of them.
            Value::Along(along) => {
                let of = self.error(&along.of)?;
                let most = Along { function: F::TopK, of, place: Some(FIRST), ..(**along).clone() };
                Some(Value::Along(Box::new(most)))
            }
        }
    }

    fn product(&self, first: &Value, rest: &[(ValueOp, Value)]) -> Value {
        let mut value = replayed(first);
        let mut error = self.error(first).unwrap_or(zero());
        for (op, factor) in rest {
            let (b, of_b) = (replayed(factor), self.error(factor).unwrap_or(zero()));
            let next = binary(value.clone(), *op, b.clone());
            error = match op {
                ValueOp::Mul => sum([mul(error, abs(b)), mul(abs(value), of_b), abs(next.clone())]),
                _ => {
                    let of_a = sum([error, mul(abs(next.clone()), of_b)]);
                    sum([div(of_a, abs(b)), abs(next.clone())])
                }
            };
            value = next;
        }
        error
    }

    fn function(&self, function: F, args: &[Value], whole: &Value) -> Value {
        let errors: Vec<_> = args.iter().map(|arg| self.error(arg).unwrap_or(zero())).collect();
        let a = || replayed(&args[0]);
        let (result, first) = (magnitude(whole), errors[0].clone());
        // Each of two results of a function may be wrong by a few units in the last place.
        let few = mul(constant(4.0), result.clone());
        let one = || constant(1.0);
        let first = match function {
            F::Pow if args.len() == 1 => mul(result, first),
            F::Log if args.len() == 1 => div(first, abs(a())),
            F::Pow => {
                let base = div(mul(magnitude(&args[1]), first), magnitude(&args[0]));
                let exponent = mul(abs(call(F::Log, [abs(a())])), errors[1].clone());
                mul(result, sum([base, exponent]))
            }
            F::Sqrt => div(first, sum([result, constant(1e-150)])),
            F::Tan => mul(first, sum([one(), mul(result.clone(), result)])),
            F::Sinh | F::Cosh => mul(first, call(F::Cosh, [a()])),
            F::Erf | F::Gelu => mul(constant(1.13), sum([first, magnitude(&args[0])])),
            F::Log1p => div(first, abs(sum([one(), a()]))),
            F::Expm1 => mul(first, sum([one(), result])),
            F::Mod => {
                let turns = call(F::Abs, [call(F::Floor, [div(a(), replayed(&args[1]))])]);
                sum([first, mul(turns, errors[1].clone())])
            }
            F::Where => {
                let [_, yes, no] = &errors[..] else { return result };
                return call(F::Where, [replayed(&args[0]), yes.clone(), no.clone()]);
            }
            F::Sin | F::Cos => sum([first, magnitude(&args[0])]),
            F::LogAddExp => sum([sum(errors), magnitude(&args[0]), magnitude(&args[1]), one()]),
            F::Atan2 => {
                let length = call(F::Hypot, args.iter().map(replayed));
                div(sum(errors), sum([length, constant(1e-150)]))
            }
            // Selections, and functions whose slope is at most 1.
            _ => sum(errors),
        };
        sum([first, few])
    }
}

/// The value with random draws, which would draw anew, replaced by their greatest magnitudes.
fn replayed(v: &Value) -> Value {
    let again = |(other, v): &(bool, Value)| (*other, replayed(v));
    match v {
        Value::Random { lo, hi, .. } => sum([magnitude(lo), magnitude(hi)]),
        Value::Call { function, name, args, span } => Value::Call {
            function: *function,
            name: *name,
            args: args.iter().map(replayed).collect(),
            span: *span,
        },
        Value::Along(along) => {
            let of = replayed(&along.of);
            Value::Along(Box::new(Along { of, ..(**along).clone() }))
        }
        Value::Sum(terms, span) => Value::Sum(terms.iter().map(again).collect(), *span),
        Value::Product(first, rest, span) => {
            let rest = rest.iter().map(|(op, factor)| (*op, replayed(factor))).collect();
            Value::Product(Box::new(replayed(first)), rest, *span)
        }
        other => other.clone(),
    }
}

fn magnitude(v: &Value) -> Value {
    match v {
        Value::Number(Number::Integer(n), _) => constant(n.unsigned_abs() as f64),
        Value::Number(Number::Float(x), _) => constant(x.abs()),
        _ => abs(replayed(v)),
    }
}

/// Step of the difference quotient: large against rounding, small against terms of second order.
const STEP: f64 = 1e-3;
/// The first place of an order.
const FIRST: Index = Index::Integer(0, NOWHERE);
const NOWHERE: Span = Span { start: 0, end: 0 };

fn name(text: &str) -> Name {
    Name { text: text.into(), span: NOWHERE }
}

/// The same element of another array.
fn element(array: &str, like: &Access) -> Value {
    Value::Element(Access { array: name(array), ..like.clone() })
}

fn constant(x: f64) -> Value {
    Value::Number(Number::Float(x), NOWHERE)
}

fn zero() -> Value {
    constant(0.0)
}

fn is_zero(v: &Value) -> bool {
    matches!(v, Value::Number(Number::Float(x), _) if *x == 0.0)
}

fn call(function: F, args: impl IntoIterator<Item = Value>) -> Value {
    let args = args.into_iter().collect();
    Value::Call { function: ValueFunction(function), name: NOWHERE, args, span: NOWHERE }
}

/// `|v|` as f64, which other types, `bool` among them, convert to.
fn abs(v: Value) -> Value {
    call(F::Abs, [call(F::CastF64, [v])])
}

fn sum(terms: impl IntoIterator<Item = Value>) -> Value {
    let mut terms: Vec<_> = terms.into_iter().filter(|v| !is_zero(v)).collect();
    match terms.len() {
        0 => zero(),
        1 => terms.swap_remove(0),
        _ => Value::Sum(terms.into_iter().map(|v| (false, v)).collect(), NOWHERE),
    }
}

fn binary(a: Value, op: ValueOp, b: Value) -> Value {
    Value::Product(Box::new(a), vec![(op, b)], NOWHERE)
}

fn mul(a: Value, b: Value) -> Value {
    if is_zero(&a) || is_zero(&b) { zero() } else { binary(a, ValueOp::Mul, b) }
}

fn div(a: Value, b: Value) -> Value {
    if is_zero(&a) { zero() } else { binary(a, ValueOp::Div, b) }
}

/// The greatest number of points of a statement that contribute to one element: the product of the extents of
/// all variables that are not an index of their own on the left.
pub(super) fn terms(statement: &Statement, extents: &dyn Fn(&str) -> Option<f64>) -> f64 {
    let mut variables = BTreeSet::new();
    statement.left.indices.iter().for_each(|index| tuples(index, &mut variables));
    used(&statement.value, &mut variables);
    for index in &statement.left.indices {
        if let Index::Tuple(name) = index {
            variables.remove(&name.text);
        }
    }
    variables.iter().filter_map(|name| extents(name)).product::<f64>().max(1.0)
}

/// The eintups of an index expression that are variables.
fn tuples(index: &Index, found: &mut BTreeSet<String>) {
    match index {
        Index::Tuple(name) => drop(found.insert(name.text.clone())),
        Index::Flat(parts, _) | Index::Call(_, parts, _) => {
            parts.iter().for_each(|part| tuples(part, found));
        }
        Index::Array(access) => {
            found.insert(access.array.text.clone());
            access.indices.iter().for_each(|index| tuples(index, found));
        }
        Index::Sum(terms, _) => terms.iter().for_each(|(_, term)| tuples(term, found)),
        Index::Product(first, rest, _) => {
            tuples(first, found);
            rest.iter().for_each(|(_, factor)| tuples(factor, found));
        }
        Index::Integer(..) | Index::Dims(..) | Index::Rank(..) | Index::Star(_) => {}
    }
}

/// The eintups of a value that are variables; names of arrays among them have no extents.
fn used(v: &Value, found: &mut BTreeSet<String>) {
    match v {
        Value::Number(..) | Value::Rank(..) => {}
        Value::Element(access) => {
            found.insert(access.array.text.clone());
            access.indices.iter().for_each(|index| tuples(index, found));
        }
        Value::Tuple(name) => drop(found.insert(name.text.clone())),
        Value::Dims { coord, .. } => coord.iter().for_each(|index| tuples(index, found)),
        Value::Random { lo, hi, .. } => [lo, hi].into_iter().for_each(|v| used(v, found)),
        Value::Call { args, .. } => args.iter().for_each(|arg| used(arg, found)),
        Value::Along(along) => {
            let mut inner = BTreeSet::new();
            used(&along.of, &mut inner);
            inner.remove(&along.tuple.text);
            found.extend(inner);
            along.place().iter().for_each(|index| tuples(index, found));
        }
        Value::Sum(terms, _) => terms.iter().for_each(|(_, term)| used(term, found)),
        Value::Product(first, rest, _) => {
            used(first, found);
            rest.iter().for_each(|(_, factor)| used(factor, found));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded_text(source: &str) -> (Vec<String>, Vec<Option<String>>) {
        let (program, diagnostics) = ijk_syntax::et::parse(source);
        assert!(diagnostics.is_empty());
        let outputs: Vec<String> = program.outputs.iter().map(|n| n.text.clone()).collect();
        let outputs: Vec<&str> = outputs.iter().map(|name| &name[..]).collect();
        let (bounded, names) = bounded(&program, &outputs, &|s| {
            terms(s, &|name| ["i", "k"].contains(&name).then_some(3.0))
        });
        let text = bounded.to_string();
        assert!(ijk_syntax::et::parse(&text).1.is_empty(), "{text}");
        (text.lines().map(str::to_string).collect(), names)
    }

    #[test]
    fn sums_of_products() {
        let (lines, names) = bounded_text(
            "a[i,k] = RANDOM(0, 1, FLOAT)\nb[k] = RANDOM(0, 9, INT)\nc[i] = a[i,k] * b[k]\n\nc",
        );
        assert_eq!(names, [Some("c_rounding".to_string())]);
        assert!(lines[0].starts_with("a_rounding[i, k] = "));
        assert_eq!(lines[2], "b[k] = RANDOM(0, 9, INT)");
        assert_eq!(
            lines[3],
            "c_rounding[i] = (a_rounding[i, k] * ABS(F64(b[k])) + ABS(F64(a[i, k] * b[k]))) \
             + 3.0 * ABS(F64(a[i, k] * b[k]))"
        );
    }

    #[test]
    fn what_is_exact_has_no_bound() {
        let (lines, names) = bounded_text("a[i] = RANDOM(0, 9, INT)\nb[] = 2 * a[i]\n\nb");
        assert_eq!((lines.len(), names), (2, vec![None]));
        let (_, names) = bounded_text("a[i] = RANDOM(0, 9, FLOAT)\nb[i] = LT(a[i], 3)\n\nb");
        assert_eq!(names, [None]);
    }

    #[test]
    fn bounds_draw_nothing() {
        let (lines, _) = bounded_text("a[i] = 2.0 * EXP(RANDOM(-1, 3, FLOAT))\n\na");
        let text = lines.join("\n");
        assert_eq!(text.matches("RANDOM").count(), 1, "{text}");
    }

    #[test]
    fn names_of_bounds_are_free() {
        let (_, names) = bounded_text("x[i] = RANDOM(0, 1, FLOAT)\nx_rounding[i] = x[i]\n\nx");
        assert_eq!(names, [Some("x_rounding_".to_string())]);
    }

    #[test]
    fn products_over_points() {
        let (lines, _) = bounded_text("x[i] = RANDOM(1, 2, FLOAT)\ny[] =* x[i]\n\ny");
        assert!(lines[2].starts_with("y_reach[] =* ABS(F64(x[i]))"), "{lines:?}");
        assert_eq!(lines[3], "y[] =* x[i]");
        assert!(lines[4].starts_with("y_rounding[] = (y_reach[] - ABS(F64(y[]))) / "));
    }

    #[test]
    fn only_what_stands_alone_on_the_left_separates_points() {
        let terms_of = |source: &str| {
            let program = ijk_syntax::et::parse(source).0;
            terms(&program.statements[0], &|name| ["a", "b", "c"].contains(&name).then_some(10.0))
        };
        assert_eq!(terms_of("out[a] = x[a,b] * y[b+c]"), 100.0);
        assert_eq!(terms_of("out[a+b] = x[a]"), 100.0);
        assert_eq!(terms_of("out[idx[a,:]] += DIMS(b)[c]"), 100.0);
        assert_eq!(terms_of("out[a] = 1"), 1.0);
    }
}
