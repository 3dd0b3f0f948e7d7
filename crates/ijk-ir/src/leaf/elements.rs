//! The element types of one index expression.

use crate::codes;
use crate::core::TypeTerm;
use crate::infer::{Infer, TypeConflict, TypeVar};
use crate::sink::Sink;
use crate::terms::TypeTerms;
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

/// Causes of the element types of an index expression.
#[derive(Clone, Debug, Default)]
pub struct LeafWhys {
    /// For each type variable.
    pub types: Vec<Why>,
    /// For each array.
    pub arrays: Vec<Why>,
}

/// Inference of the element types of one index expression: a variable for every operand and every value.
pub struct LeafTypes<'a> {
    infer: Infer,
    source: &'a str,
    /// True after an error: only the first is reported.
    pub failed: bool,
}

impl<'a> LeafTypes<'a> {
    /// No values yet.
    pub fn new(source: &'a str) -> Self {
        Self { infer: Infer::default(), source, failed: false }
    }

    /// A value of any type.
    pub fn any(&mut self, span: Span) -> TypeVar {
        self.infer.element(TypeSet::ALL, Why::any(span))
    }

    /// A value of one of some types.
    pub fn of(&mut self, why: Why) -> TypeVar {
        self.infer.element(why.set, why)
    }

    /// Makes the types of two values one.
    pub fn unify(&mut self, earlier: TypeVar, later: TypeVar, sink: &mut Sink) {
        if let Err(TypeConflict(earlier, later)) = self.infer.unify_types(earlier, later) {
            self.fail(later, earlier, sink);
        }
    }

    /// Keeps the types of a value that `why` allows.
    pub fn narrow(&mut self, value: TypeVar, why: Why, sink: &mut Sink) {
        let allowed = self.of(why);
        self.unify(value, allowed, sink);
    }

    /// The type of a function of values of one type that accepts and gives such types.
    pub fn apply(
        &mut self,
        function: Span,
        (accepts, result): (TypeSet, ResultType),
        operands: &[TypeVar],
        sink: &mut Sink,
    ) -> TypeVar {
        let first = operands[0];
        operands[1..].iter().for_each(|operand| self.unify(first, *operand, sink));
        self.narrow(first, Why { span: function, set: accepts, verb: Verb::Accepts }, sink);
        match result {
            ResultType::Same => first,
            ResultType::Fixed(t) => self.fixed(t, function),
            ResultType::Real => self.infer.real_of(first),
        }
    }

    /// The type that a function gives.
    pub fn fixed(&mut self, t: DType, function: Span) -> TypeVar {
        self.of(Why { span: function, set: TypeSet::only(t), verb: Verb::Gives })
    }

    /// Writes the types of the inputs, of `values` and of the result as terms.
    pub fn terms(
        &mut self,
        inputs: &[TypeVar],
        values: &[TypeVar],
        result: TypeVar,
    ) -> ElementTerms {
        let mut terms = TypeTerms::new(&mut self.infer, inputs.iter().copied());
        let known = terms.types.len();
        let values: Vec<TypeTerm> = values.iter().map(|v| terms.of(&mut self.infer, *v)).collect();
        let is_open = |term: &TypeTerm| matches!(term, TypeTerm::Var(v) if *v as usize >= known);
        let open = values.iter().position(is_open);
        let all = || inputs.iter().copied().chain([result]);
        let arrays: Vec<TypeTerm> = all().map(|v| terms.of(&mut self.infer, v)).collect();
        let any = Why::any(Span::default());
        let types = terms.types.iter().map(|set| Why { set: *set, ..any }).collect();
        let mut whys = LeafWhys { types, arrays: Vec::new() };
        for (v, term) in all().zip(&arrays) {
            let why = self.why(v);
            if let TypeTerm::Var(v) = term {
                whys.types[*v as usize] = why;
            }
            whys.arrays.push(why);
        }
        let TypeTerms { types, same_real, .. } = terms;
        ElementTerms { types, same_real, arrays, values, open, whys }
    }

    /// Cause of a value's types: where the type of its real part restricts them, the cause of that.
    fn why(&mut self, v: TypeVar) -> Why {
        let (set, why) = self.infer.types_of(v);
        let real = self.infer.known_real(v).map(|real| self.infer.types_of(real).1);
        match real {
            Some(real) if why.set != set && real.verb == Verb::Accepts => Why { set, ..real },
            _ => why,
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
}

/// The types of an index expression as terms of its program.
#[derive(Debug)]
pub struct ElementTerms {
    /// See [`crate::core::Program::types`].
    pub types: Vec<TypeSet>,
    /// See [`crate::core::Program::same_real`].
    pub same_real: Vec<(u32, u32)>,
    /// Of the inputs and the result.
    pub arrays: Vec<TypeTerm>,
    /// Of the other values.
    pub values: Vec<TypeTerm>,
    /// The first of these that no input determines.
    pub open: Option<usize>,
    /// Causes.
    pub whys: LeafWhys,
}
