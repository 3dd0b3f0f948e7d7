//! A framework call as a request to the child process.

use super::frame::Message;
use ijk_syntax::et::ast::{Call, CallArg, Index, IndexOp, Name};
use ijk_syntax::{Diagnostic, Span};
use ijk_tensor::{TensorView, file};

/// A request for the results of a call.
pub(super) fn request(
    call: &Call,
    outputs: usize,
    arrays: &[(&str, TensorView<'_>)],
    extents: &dyn Extents,
) -> Result<Message, CallError> {
    let mut message = Message::new(b'C');
    message.count(outputs).count(arrays.len());
    for (_, array) in arrays {
        message.array(array)?;
    }
    let names: Vec<_> = arrays.iter().map(|(name, _)| *name).collect();
    Encoder { message: &mut message, names: &names, extents }.call(call)?;
    Ok(message)
}

/// The extents that index expressions have in a case.
pub(super) trait Extents {
    /// `DIMS(of, …)`.
    fn dims(&self, of: &[Index]) -> Result<Vec<i64>, CallError>;
    /// `RANK(of, …)`.
    fn rank(&self, of: &[Index]) -> i64;
}

/// An error in the arguments of a call.
#[derive(Debug)]
pub(super) enum CallError {
    /// An argument without a value, and the reason.
    Argument(Span, String),
    /// An index expression without extents.
    Diagnostic(Box<Diagnostic>),
    /// An array that cannot be sent.
    Array(file::Problem),
}

impl From<file::Problem> for CallError {
    fn from(problem: file::Problem) -> Self {
        Self::Array(problem)
    }
}

/// The dotted paths of a call and of nested calls.
pub(super) fn paths(call: &Call) -> Vec<String> {
    let mut found = Vec::new();
    each(call, &mut |call| found.push(path(call)));
    found
}

/// Visits a call and nested calls.
pub(super) fn each<'a>(call: &'a Call, show: &mut impl FnMut(&'a Call)) {
    show(call);
    visit(call, &mut |arg| {
        if let CallArg::Call(inner) = arg {
            show(inner);
        }
    });
}

/// The arrays that a call takes, each once.
pub(super) fn arrays(call: &Call) -> Vec<&str> {
    let mut found = Vec::new();
    visit(call, &mut |arg| match arg {
        CallArg::Array(name) if !found.contains(&&*name.text) => found.push(&name.text),
        _ => {}
    });
    found
}

/// The dotted path of a call.
pub(super) fn path(call: &Call) -> String {
    let parts: Vec<_> = call.path.iter().map(|name| &*name.text).collect();
    parts.join(".")
}

/// Visits every argument and nested arguments.
fn visit<'a>(call: &'a Call, show: &mut impl FnMut(&'a CallArg)) {
    let mut rest: Vec<_> = call.args.iter().rev().map(|(_, arg)| arg).collect();
    while let Some(arg) = rest.pop() {
        show(arg);
        match arg {
            CallArg::Call(inner) => rest.extend(inner.args.iter().rev().map(|(_, arg)| arg)),
            CallArg::List(items, _) => rest.extend(items.iter().rev()),
            CallArg::Tensor(inner, _) => rest.push(inner),
            _ => {}
        }
    }
}

struct Encoder<'a> {
    message: &'a mut Message,
    names: &'a [&'a str],
    extents: &'a dyn Extents,
}

impl Encoder<'_> {
    fn call(&mut self, call: &Call) -> Result<(), CallError> {
        self.message.byte(b'c').text(&path(call)).count(call.args.len());
        for (keyword, arg) in &call.args {
            self.message.text(keyword.as_ref().map_or("", |name| &name.text));
            self.argument(arg)?;
        }
        Ok(())
    }

    fn argument(&mut self, arg: &CallArg) -> Result<(), CallError> {
        match arg {
            CallArg::Array(name) => {
                let Some(n) = self.names.iter().position(|other| *other == name.text) else {
                    let message = format!("the program has no array `{}`", name.text);
                    return Err(CallError::Argument(name.span, message));
                };
                self.message.byte(b'A').count(n);
            }
            CallArg::Literal(text, _) => {
                self.message.byte(b'L').text(text);
            }
            CallArg::Tensor(inner, _) => {
                self.message.byte(b'T');
                self.argument(inner)?;
            }
            CallArg::List(items, _) => {
                self.message.byte(b'l').count(items.len());
                items.iter().try_for_each(|item| self.argument(item))?;
            }
            CallArg::Call(call) => self.call(call)?,
            number => match self.number(number)? {
                Number::One(n) => {
                    self.message.byte(b'i').integer(n);
                }
                Number::Many(list) => {
                    self.message.byte(b'l').count(list.len());
                    for n in list {
                        self.message.byte(b'i').integer(n);
                    }
                }
            },
        }
        Ok(())
    }

    /// The value of an argument that Python need not compute.
    fn number(&self, arg: &CallArg) -> Result<Number, CallError> {
        match arg {
            CallArg::Integer(n, _) => Ok(Number::One(*n)),
            CallArg::Dims(of, _) => Ok(Number::Many(self.extents.dims(of)?)),
            CallArg::Rank(of, _) => Ok(Number::One(self.extents.rank(of))),
            CallArg::List(items, _) => {
                let one = |item| match self.number(item)? {
                    Number::One(n) => Ok(n),
                    Number::Many(_) => Err(refused(item, "a list of lists in arithmetic")),
                };
                Ok(Number::Many(items.iter().map(one).collect::<Result<_, _>>()?))
            }
            CallArg::Sum(terms, span) => {
                let terms = terms.iter().map(|(minus, term)| {
                    let op = if *minus { Operator::Sub } else { Operator::Add };
                    Ok((op, self.number(term)?))
                });
                fold(Number::One(0), terms, *span)
            }
            CallArg::Product(first, rest, span) => {
                let rest =
                    rest.iter().map(|(op, factor)| Ok((Operator::Of(*op), self.number(factor)?)));
                fold(self.number(first)?, rest, *span)
            }
            CallArg::Array(name) => Err(CallError::Diagnostic(Box::new(no_arithmetic(name)))),
            other => Err(refused(other, "not a number or a list of numbers")),
        }
    }
}

#[cold]
fn no_arithmetic(array: &Name) -> Diagnostic {
    let message =
        format!("`{}` is an array: operators of a call are for integers and lists", array.text);
    Diagnostic::error(array.span, message).with_hint(
        "assign the result to an array in a statement, or call a function: `np.add(x, y)`",
    )
}

#[cold]
fn refused(arg: &CallArg, what: &str) -> CallError {
    CallError::Argument(arg.span(), format!("this is {what}"))
}

/// An integer, which broadcasts, or a list.
#[derive(Clone, Debug, PartialEq)]
enum Number {
    One(i64),
    Many(Vec<i64>),
}

#[derive(Clone, Copy)]
enum Operator {
    Add,
    Sub,
    Of(IndexOp),
}

impl Operator {
    /// The value; `None` beyond 64 bits and for division by 0.
    fn apply(self, a: i64, b: i64) -> Option<i64> {
        let floor = |a: i64, b: i64| {
            let quotient = a.checked_div(b)?;
            Some(quotient - i64::from(a.checked_rem(b)? != 0 && (a < 0) != (b < 0)))
        };
        match self {
            Self::Add => a.checked_add(b),
            Self::Sub => a.checked_sub(b),
            Self::Of(IndexOp::Mul) => a.checked_mul(b),
            Self::Of(IndexOp::FloorDiv) => floor(a, b),
            Self::Of(IndexOp::CeilDiv) => floor(a.checked_neg()?, b)?.checked_neg(),
            Self::Of(IndexOp::Mod) => a.checked_sub(b.checked_mul(floor(a, b)?)?),
        }
    }
}

fn fold(
    start: Number,
    rest: impl Iterator<Item = Result<(Operator, Number), CallError>>,
    span: Span,
) -> Result<Number, CallError> {
    let mut value = start;
    for step in rest {
        let (op, operand) = step?;
        value = combine(op, &value, &operand).map_err(|why| CallError::Argument(span, why))?;
    }
    Ok(value)
}

fn combine(op: Operator, a: &Number, b: &Number) -> Result<Number, String> {
    let apply = |a: i64, b: i64| {
        op.apply(a, b).ok_or_else(|| format!("no 64-bit value for operands {a} and {b}"))
    };
    match (a, b) {
        (Number::One(a), Number::One(b)) => Ok(Number::One(apply(*a, *b)?)),
        (Number::One(a), Number::Many(b)) => many(b.iter().map(|&b| apply(*a, b))),
        (Number::Many(a), Number::One(b)) => many(a.iter().map(|&a| apply(a, *b))),
        (Number::Many(a), Number::Many(b)) if a.len() == b.len() => {
            many(a.iter().zip(b).map(|(&a, &b)| apply(a, b)))
        }
        (Number::Many(a), Number::Many(b)) => {
            Err(format!("lists of {} and of {} numbers", a.len(), b.len()))
        }
    }
}

fn many(values: impl Iterator<Item = Result<i64, String>>) -> Result<Number, String> {
    Ok(Number::Many(values.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_componentwise() {
        let list = |n: &[i64]| Number::Many(n.to_vec());
        let apply = |op, a: Number, b: Number| combine(op, &a, &b);
        assert_eq!(apply(Operator::Sub, list(&[5, 7]), Number::One(2)), Ok(list(&[3, 5])));
        let ceil = Operator::Of(IndexOp::CeilDiv);
        assert_eq!(apply(ceil, list(&[7, -7]), list(&[2, 2])), Ok(list(&[4, -3])));
        let floor = Operator::Of(IndexOp::FloorDiv);
        assert_eq!(apply(floor, Number::One(7), Number::One(-2)), Ok(Number::One(-4)));
        let modulo = Operator::Of(IndexOp::Mod);
        assert_eq!(apply(modulo, Number::One(7), Number::One(-2)), Ok(Number::One(-1)));
        assert!(apply(floor, Number::One(7), Number::One(0)).is_err());
        assert!(apply(floor, Number::One(i64::MIN), Number::One(-1)).is_err());
        assert!(apply(Operator::Add, list(&[1]), list(&[1, 2])).is_err());
    }
}
