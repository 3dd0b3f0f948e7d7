//! The element types of one index expression.

use crate::codes;
use crate::sink::Sink;
use crate::text::{quote, slice};
use ijk_syntax::Span;
use ijk_types::{DType, ResultType, TypeSet};

/// Why a type is in a set: what narrowed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// The function's symbol, the literal, or the operand.
    pub span: Span,
    /// Types that remain allowed.
    pub set: TypeSet,
    /// Relation of the cause to the types, as a verb.
    pub verb: Verb,
}

/// Relation of a cause to an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It takes operands of the types.
    Accepts,
    /// Its result has the type.
    Gives,
    /// A literal that has a value in the types.
    Fits,
}

impl Why {
    /// Nothing: an operand of any type.
    pub fn any(span: Span) -> Self {
        Self { span, set: TypeSet::ALL, verb: Verb::Accepts }
    }

    /// `` `@tanh` accepts f32, f64``.
    pub fn describe(&self, source: &str) -> String {
        let verb = match self.verb {
            Verb::Accepts => "accepts",
            Verb::Gives => "gives",
            Verb::Fits => "can be",
        };
        format!("{} {verb} {}", quote(source, self.span, "it"), self.set)
    }
}

/// The type of a value, relative to the expression's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// The operands'.
    Operand,
    /// The real part of the operands' type.
    Real,
    /// Known; the function that gives it.
    Fixed(DType, Span),
}

/// Allowed types of the operands, and the cause.
pub struct OperandElements<'a> {
    /// The types left.
    pub set: TypeSet,
    /// Cause of the last restriction.
    pub why: Why,
    source: &'a str,
    failed: bool,
}

impl<'a> OperandElements<'a> {
    /// Operands of any type.
    pub fn new(source: &'a str, span: Span) -> Self {
        Self { set: TypeSet::ALL, why: Why::any(span), source, failed: false }
    }

    /// Keeps the types that `why` allows.
    pub fn narrow(&mut self, why: Why, sink: &mut Sink) {
        let left = self.set.intersect(why.set);
        if left == self.set || self.failed {
            return;
        }
        if left.is_empty() {
            let earlier = self.why;
            return self.fail(why, earlier, sink);
        }
        self.set = left;
        self.why = why;
    }

    /// Applies a function that accepts and gives such types to a value.
    pub fn apply(
        &mut self,
        function: Span,
        accepts: TypeSet,
        result: ResultType,
        value: ValueType,
        sink: &mut Sink,
    ) -> ValueType {
        let why = Why { span: function, set: accepts, verb: Verb::Accepts };
        match value {
            ValueType::Operand => self.narrow(why, sink),
            ValueType::Real => {
                let set = TypeSet::ALL.filter(|t| accepts.contains(t.real()));
                self.narrow(Why { set, ..why }, sink);
            }
            ValueType::Fixed(t, giver) if !accepts.contains(t) => {
                self.fail(why, Why { span: giver, set: TypeSet::only(t), verb: Verb::Gives }, sink);
            }
            ValueType::Fixed(..) => {}
        }
        match (result, value) {
            (ResultType::Same, _) => value,
            (ResultType::Fixed(t), _) => ValueType::Fixed(t, function),
            (ResultType::Real, ValueType::Fixed(t, _)) => ValueType::Fixed(t.real(), function),
            (ResultType::Real, _) => ValueType::Real,
        }
    }

    fn fail(&mut self, why: Why, earlier: Why, sink: &mut Sink) {
        if std::mem::replace(&mut self.failed, true) {
            return;
        }
        let message = format!(
            "no element type fits: {}, but {}",
            why.describe(self.source),
            earlier.describe(self.source)
        );
        let label = format!("{} only", why.set);
        let related =
            earlier.describe(self.source).replace(slice(self.source, earlier.span), "this");
        let related = related.replace('`', "");
        sink.push(
            codes::NO_TYPE
                .error(why.span, message)
                .with_label(label)
                .with_related(earlier.span, related),
        );
    }

    /// The types left; every type after an error, so that it is reported once.
    pub fn finish(self) -> (TypeSet, Why) {
        if self.failed { (TypeSet::ALL, Why::any(self.why.span)) } else { (self.set, self.why) }
    }
}
