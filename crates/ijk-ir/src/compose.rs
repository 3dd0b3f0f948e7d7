//! Combinators on lowered programs, at run time: the rules of language.md 1.2.
//!
//! The programs' texts are joined by a line break ([`joined_source`]); spans of results and of
//! errors point into that. Names in braces of the two stay apart.

use crate::core::{Array, ArrayId, Program, Span as CoreSpan, TypeTerm};
use crate::expand::{Component, Expander, Leaf};
use crate::infer::Infer;
use crate::sig::{Combine, Sig, Site, of_program};
use crate::sink::Sink;
use ijk_syntax::{Diagnostic, Span};
use ijk_types::TypeSet;

/// `I`: takes one array of any rank and type, and gives it.
pub fn identity() -> Program {
    let array = Array { rank: None, dtype: TypeTerm::Var(0), span: CoreSpan { start: 0, end: 1 } };
    Program {
        source: "I".into(),
        arrays: vec![array],
        inputs: vec![ArrayId(0)],
        outputs: vec![ArrayId(0)],
        types: vec![TypeSet::ALL],
        ..Program::default()
    }
}

/// `left . right`: the outputs of `left` feed the first inputs of `right`.
///
/// ```
/// use ijk_ir::{Signature, compile_source, compose};
/// let multiply = compile_source("ik*kj~ijk").program.unwrap();
/// let sum = compile_source("+ijk~ij").program.unwrap();
/// let product = compose::chain(&multiply, &sum).unwrap();
/// assert!(Signature::of(&product).to_string().starts_with("(T[2], T[2]) -> T[2]"));
/// assert!(compose::chain(&sum, &sum).is_err());
/// ```
///
/// # Errors
/// If arity, a rank or an element type does not fit, or the result is too large.
pub fn chain(left: &Program, right: &Program) -> Result<Program, Vec<Diagnostic>> {
    binary(left, right, |combine, l, r, site| combine.chain(l, r, site, true), Component::Chain)
}

/// `left & right`: both take the same first inputs.
///
/// # Errors
/// If a shared input's rank or element type does not fit, or the result is too large.
pub fn fanout(left: &Program, right: &Program) -> Result<Program, Vec<Diagnostic>> {
    binary(left, right, |combine, l, r, site| combine.fanout(l, r, site), Component::Fanout)
}

/// `left | right`: side by side.
///
/// # Errors
/// If the result is too large.
pub fn pair(left: &Program, right: &Program) -> Result<Program, Vec<Diagnostic>> {
    binary(left, right, |combine, l, r, site| combine.pair(l, r, site), Component::Pair)
}

/// `~of`: the first two inputs change places.
///
/// # Errors
/// If there is only one.
pub fn swap(of: &Program) -> Result<Program, Vec<Diagnostic>> {
    let mut run = Run::new(of.source.clone());
    let sig = of_program(&mut run.infer, of, 0, None);
    let swapped = run.combine().swap(sig, whole(&of.source, 0));
    let components = [leaf(of, 0, 0), Component::Swap(0)];
    run.finish(swapped, &components, &[of])
}

/// The text that spans of a combination point into.
pub fn joined_source(left: &Program, right: &Program) -> String {
    format!("{}\n{}", left.source, right.source)
}

type Rule = fn(&mut Combine, Sig, Sig, Site) -> Option<Sig>;

fn binary(
    left: &Program,
    right: &Program,
    rule: Rule,
    component: fn(u32, u32) -> Component,
) -> Result<Program, Vec<Diagnostic>> {
    let mut run = Run::new(joined_source(left, right));
    let symbol = whole(&left.source, 0).end;
    let offset = symbol.saturating_add(1);
    let l = of_program(&mut run.infer, left, 0, None);
    let r = of_program(&mut run.infer, right, offset, None);
    let site = Site {
        symbol: Span::new(symbol, offset),
        left: whole(&left.source, 0),
        right: whole(&right.source, offset),
        grouped: [true, true],
    };
    let sig = rule(&mut run.combine(), l, r, site);
    let components = [leaf(left, 0, 0), leaf(right, 1, offset), component(0, 1)];
    run.finish(sig, &components, &[left, right])
}

fn leaf(program: &Program, scope: u32, offset: u32) -> Component {
    Component::Leaf(Leaf { program: program.clone(), scope, offset })
}

fn whole(source: &str, offset: u32) -> Span {
    let length = u32::try_from(source.len()).unwrap_or(u32::MAX);
    Span::new(offset, offset.saturating_add(length))
}

struct Run {
    source: String,
    infer: Infer,
    sink: Sink,
}

impl Run {
    fn new(source: String) -> Self {
        Self { source, infer: Infer::default(), sink: Sink::default() }
    }

    fn combine(&mut self) -> Combine<'_> {
        Combine { infer: &mut self.infer, sink: &mut self.sink, source: &self.source }
    }

    /// Expands the last component, whose signature has been checked.
    fn finish(
        self,
        sig: Option<Sig>,
        components: &[Component],
        programs: &[&Program],
    ) -> Result<Program, Vec<Diagnostic>> {
        let Some(sig) = sig else { return Err(self.sink.finish()) };
        let tables: Vec<&[String]> = programs.iter().map(|p| &p.extent_names[..]).collect();
        let arity = |id: u32| match programs.get(id as usize) {
            Some(program) => program.inputs.len(),
            None => sig.inputs.len(),
        };
        let root = components.len() as u32 - 1;
        Ok(Expander::new(components, &tables).program(root, &self.source, &arity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Signature, compile_source};

    fn program(source: &str) -> Program {
        compile_source(source).program.unwrap()
    }

    /// Statements without the places they come from.
    fn shown(program: &Program) -> String {
        program.to_string()
    }

    #[test]
    fn combinators_agree_with_those_of_the_language() {
        let (m, a) = (program("ik*kj~ijk"), program("+ijk~ij"));
        let pairs = [
            (chain(&m, &a).unwrap(), "ik*kj~ijk . +ijk~ij"),
            (fanout(&a, &m.clone()).unwrap_or_default(), ""),
            (pair(&m, &a).unwrap(), "ik*kj~ijk | +ijk~ij"),
            (swap(&m).unwrap(), "~(ik*kj~ijk)"),
            (fanout(&identity(), &program("+i~.")).unwrap(), "I & +i~."),
            (chain(&identity(), &identity()).unwrap(), "I . I"),
        ];
        for (composed, source) in pairs {
            if !source.is_empty() {
                assert_eq!(shown(&composed), shown(&program(source)), "{source}");
                assert_eq!(Signature::of(&composed), Signature::of(&program(source)), "{source}");
            }
        }
    }

    #[test]
    fn errors_quote_both_programs() {
        let (two, one) = (program("I & I"), program("+i~."));
        let errors = chain(&two, &one).unwrap_err();
        assert_eq!(errors[0].message, "the left gives 2 outputs, but the right takes only 1 input");
        let errors = fanout(&program("ik*kj~ijk"), &program("+ijk~ij")).unwrap_err();
        assert!(
            errors[0].message.starts_with("ranks differ: `ik` has rank 2, but `ijk` has rank 3")
        );
        assert_eq!(errors[0].span, Span::new(11, 14));
        assert!(swap(&one).is_err());
    }

    #[test]
    fn names_of_two_programs_stay_apart() {
        let one = program("i{n}~i");
        let both = pair(&one, &one).unwrap();
        assert_eq!(both.extent_names, ["n", "n"]);
        let shapes: [(ijk_types::DType, &[u64]); 2] =
            [(ijk_types::DType::F32, &[2]), (ijk_types::DType::F32, &[3])];
        assert!(crate::instantiate(&both, &shapes).is_ok());
        let same = program("f: i{n}~i; f | f");
        assert!(crate::instantiate(&same, &shapes).is_err());
    }

    #[test]
    fn doubling_stops_at_the_limit() {
        let mut f = program("-i~i");
        let error = loop {
            match chain(&f, &f) {
                Ok(next) if next.statements.len() < 3000 => f = next,
                Ok(_) => break None,
                Err(errors) => break Some(errors),
            }
        };
        assert!(error.is_none());
    }
}
