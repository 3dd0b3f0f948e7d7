//! Combinators on lowered programs, at run time: the rules of docs/language/i.md, section 4.
//!
//! A combination is checked at once, on the signatures of its parts, and keeps the parts. Statements are written on
//! demand, all of them in one pass. So a program composed of n others costs n steps, whatever the order of composition.
//!
//! The programs' texts are joined by line breaks; spans of results and of errors point into that. Names in
//! braces of the parts stay apart.

use crate::core::{Array, ArrayId, Pin, Program, Span as CoreSpan, TypeTerm};
use crate::expand::{Component, Expander, Leaf, LoopShape};
use crate::infer::Infer;
use crate::scheme::Scheme;
use crate::sig::{Combine, LoopSite, Site, of_program};
use crate::signature::Signature;
use crate::sink::Sink;
use ijk_syntax::ast::LoopForm;
use ijk_syntax::{Diagnostic, Span};
use ijk_types::TypeSet;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A program put together of others. Cheap to clone.
///
/// ```
/// use ijk_ir::compile_source;
/// use ijk_ir::compose::Composed;
/// let program = |source| Composed::from(compile_source(source).program.unwrap());
/// let (multiply, sum) = (program("ik*kj~ijk"), program("+ijk~ij"));
/// let product = multiply.chain(&sum).unwrap();
/// assert!(product.signature().to_string().starts_with("(T[2], T[2]) -> T[2]"));
/// assert_eq!(product.program().statements.len(), 2);
/// assert!(sum.chain(&sum).is_err());
/// ```
#[derive(Clone)]
pub struct Composed {
    node: Arc<ComposeNode>,
}

struct ComposeNode {
    form: Form,
    parts: Vec<Arc<ComposeNode>>,
    scheme: Scheme,
    /// Bytes of the source.
    length: u32,
    /// The program of a leaf.
    program: Option<Program>,
    /// Warnings of a leaf.
    warnings: Vec<Diagnostic>,
    /// For each statement of a leaf the names of the bindings that it is in.
    paths: Vec<String>,
}

/// Structure of a program: a leaf, or a composition of parts.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A single program.
    Leaf,
    Swap,
    Chain,
    Fanout,
    Pair,
    Loop(LoopShape),
}

/// A loop over a program: see [`Composed::looped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopChoice {
    /// The combinator.
    pub form: LoopForm,
    /// Number of passes; none if the swept inputs have it.
    pub passes: Option<u64>,
    /// Number of inputs after the states of which each pass takes a row; none for all of them.
    pub rows: Option<usize>,
}

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

impl From<Program> for Composed {
    fn from(program: Program) -> Self {
        Self::new(program, Vec::new(), Vec::new())
    }
}

type Combined = Result<Composed, Vec<Diagnostic>>;

impl Composed {
    /// A program that is there, with what is suspicious in it, and for each of its statements the names of the
    /// bindings that it is in.
    pub fn new(program: Program, warnings: Vec<Diagnostic>, paths: Vec<String>) -> Self {
        let mut infer = Infer::default();
        let sig = of_program(&mut infer, &program, 0, None);
        let scheme = Scheme::close(&mut infer, &sig);
        let length = u32::try_from(program.source.len()).unwrap_or(u32::MAX);
        let node = ComposeNode {
            form: Form::Leaf,
            parts: Vec::new(),
            scheme,
            length,
            program: Some(program),
            warnings,
            paths,
        };
        Self { node: Arc::new(node) }
    }

    /// `self . next`: the outputs of this feed the first inputs of `next`.
    ///
    /// # Errors
    /// If arity, a rank or an element type does not fit, or the result is too large.
    pub fn chain(&self, next: &Self) -> Combined {
        self.combined(next, Form::Chain)
    }

    /// `self & other`: both take the same first inputs.
    ///
    /// # Errors
    /// If a shared input's rank or element type does not fit, or the result is too large.
    pub fn fanout(&self, other: &Self) -> Combined {
        self.combined(other, Form::Fanout)
    }

    /// `self | other`: side by side.
    ///
    /// # Errors
    /// If the result is too large.
    pub fn pair(&self, other: &Self) -> Combined {
        self.combined(other, Form::Pair)
    }

    /// `~self`: the first two inputs change places.
    ///
    /// # Errors
    /// If there is only one.
    pub fn swap(&self) -> Combined {
        let (mut infer, mut sink) = (Infer::default(), Sink::default());
        let sig = self.node.scheme.instantiate_at(&mut infer, 0);
        let mut combine = Combine { infer: &mut infer, sink: &mut sink, source: "" };
        match combine.swap(sig, Span::new(0, self.node.length)) {
            Some(sig) => Ok(self.node(Form::Swap, None, Scheme::close(&mut infer, &sig))),
            None => Err(sink.finish()),
        }
    }

    /// `@repeat{n} self`, `@fold self` or `@scan self`: the program once for each pass, its outputs the next values of
    /// its first inputs.
    ///
    /// # Errors
    /// If an output does not fit its input, or nothing determines the number of passes.
    pub fn looped(&self, choice: LoopChoice) -> Combined {
        let checked = |source: &str| {
            let (mut infer, mut sink) = (Infer::default(), Sink::default());
            let sig = self.node.scheme.instantiate_at(&mut infer, 0);
            let of = Span::new(0, self.node.length);
            let passes = choice.passes.map(|passes| Pin::Number(passes, of.into()));
            let rows = choice.rows.map(|rows| (rows as u64, of));
            let site = LoopSite { form: choice.form, symbol: of, of, whole: of, passes, rows };
            let mut combine = Combine { infer: &mut infer, sink: &mut sink, source };
            match combine.looped(sig, &site) {
                Some((sig, shape)) => Ok((Scheme::close(&mut infer, &sig), shape)),
                None => Err(sink.finish()),
            }
        };
        let source = || leaves(&self.node).map(|leaf| leaf.source()).collect::<Vec<_>>().join("\n");
        let (scheme, shape) = checked("").or_else(|_| checked(&source()))?;
        Ok(self.node(Form::Loop(shape), None, scheme))
    }

    fn combined(&self, other: &Self, form: Form) -> Combined {
        let symbol = self.node.length;
        let offset = symbol.saturating_add(1);
        let site = Site {
            symbol: Span::new(symbol, offset),
            left: Span::new(0, symbol),
            right: Span::new(offset, offset.saturating_add(other.node.length)),
            grouped: [true, true],
        };
        let mut infer = Infer::default();
        let mut checked = |source: &str| {
            infer.clear();
            let mut sink = Sink::default();
            let left = self.node.scheme.instantiate_at(&mut infer, 0);
            let right = other.node.scheme.instantiate_at(&mut infer, offset);
            let mut combine = Combine { infer: &mut infer, sink: &mut sink, source };
            let sig = match form {
                Form::Fanout => combine.fanout(left, right, site),
                Form::Pair => combine.pair(left, right, site),
                Form::Chain | Form::Swap | Form::Leaf | Form::Loop(_) => {
                    combine.chain(left, right, site, true)
                }
            };
            match sig {
                Some(sig) => Ok(Scheme::close(&mut infer, &sig)),
                None => Err(sink.finish()),
            }
        };
        // The text is joined for messages only.
        match checked("").or_else(|_| checked(&self.joined_source(other))) {
            Ok(scheme) => Ok(self.node(form, Some(other), scheme)),
            Err(diagnostics) => Err(diagnostics),
        }
    }

    fn node(&self, form: Form, other: Option<&Self>, scheme: Scheme) -> Self {
        let parts: Vec<_> = std::iter::once(self).chain(other).map(|c| c.node.clone()).collect();
        let rest = other.map_or(0, |other| other.node.length.saturating_add(1));
        let length = self.node.length.saturating_add(rest);
        let (program, warnings, paths) = Default::default();
        Self {
            node: Arc::new(ComposeNode { form, parts, scheme, length, program, warnings, paths }),
        }
    }

    /// The text that spans of a combination of the two point into.
    pub fn joined_source(&self, other: &Self) -> String {
        let all = leaves(&self.node).chain(leaves(&other.node));
        all.map(|leaf| leaf.source()).collect::<Vec<_>>().join("\n")
    }

    /// Number of inputs.
    pub fn arity(&self) -> usize {
        self.node.scheme.arity()
    }

    /// Ranks and element types of its inputs and outputs.
    pub fn signature(&self) -> Signature {
        self.node.scheme.signature()
    }

    /// Warnings of its parts; spans are of its own text.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut offset = 0u32;
        let mut all = Vec::new();
        for leaf in leaves(&self.node) {
            all.extend(leaf.warnings.iter().map(|warning| warning.clone().shifted(offset)));
            offset = offset.saturating_add(leaf.length).saturating_add(1);
        }
        all
    }

    /// For each statement the names of the bindings that it is in: those of its parts, from left to right.
    pub fn paths(&self) -> Vec<String> {
        leaves(&self.node).flat_map(|leaf| leaf.paths.iter().cloned()).collect()
    }

    /// The program, if it is not put together.
    pub fn leaf(&self) -> Option<&Program> {
        self.node.program.as_ref()
    }

    /// The program; of one that is put together, the statements are written now.
    pub fn program(&self) -> Cow<'_, Program> {
        match self.leaf() {
            Some(program) => Cow::Borrowed(program),
            None => Cow::Owned(self.node.expand()),
        }
    }
}

/// Programs without parts that a node is made of, from left to right.
fn leaves(root: &Arc<ComposeNode>) -> impl Iterator<Item = &Arc<ComposeNode>> {
    let mut ahead = vec![root];
    std::iter::from_fn(move || {
        loop {
            let node = ahead.pop()?;
            if matches!(node.form, Form::Leaf) {
                return Some(node);
            }
            ahead.extend(node.parts.iter().rev());
        }
    })
}

/// A step of visiting a tree in post-order.
enum Visit<'a> {
    Enter(&'a ComposeNode),
    Leave(&'a ComposeNode),
}

impl ComposeNode {
    /// The text of a leaf.
    fn source(&self) -> &str {
        self.program.as_ref().map_or("", |program| &program.source)
    }

    /// Writes the statements of all parts.
    fn expand(&self) -> Program {
        let mut flat = Flat::default();
        let mut ahead = vec![Visit::Enter(self)];
        while let Some(visit) = ahead.pop() {
            match visit {
                Visit::Enter(node) if matches!(node.form, Form::Leaf) => flat.leaf(node),
                Visit::Enter(node) => {
                    ahead.push(Visit::Leave(node));
                    ahead.extend(node.parts.iter().rev().map(|part| Visit::Enter(part)));
                }
                Visit::Leave(node) => flat.combine(node),
            }
        }
        let arity = |id: u32| flat.arities[id as usize];
        let root = flat.components.len() as u32 - 1;
        let tables: Vec<&[String]> = flat.tables.iter().map(|table| &table[..]).collect();
        Expander::new(&flat.components, &tables).program(root, &flat.source, &arity)
    }
}

/// A tree as a component expression in post-order.
#[derive(Default)]
struct Flat<'a> {
    source: String,
    components: Vec<Component>,
    arities: Vec<usize>,
    /// The names in braces of each leaf.
    tables: Vec<&'a [String]>,
    /// Roots of the parts that wait for what combines them.
    roots: Vec<u32>,
}

impl<'a> Flat<'a> {
    fn leaf(&mut self, node: &'a ComposeNode) {
        let Some(program) = &node.program else { return };
        if !self.tables.is_empty() {
            self.source.push('\n');
        }
        let offset = u32::try_from(self.source.len()).unwrap_or(u32::MAX);
        self.source.push_str(node.source());
        let scope = self.tables.len() as u32;
        self.tables.push(&program.extent_names);
        self.push(Component::Leaf(Leaf { program: program.clone(), scope, offset }), node);
    }

    fn combine(&mut self, node: &ComposeNode) {
        let mut part = || self.roots.pop().unwrap_or_default();
        let component = match node.form {
            Form::Leaf => return,
            Form::Swap => Component::Swap(part()),
            Form::Loop(shape) => {
                let end = u32::try_from(self.source.len()).unwrap_or(u32::MAX);
                let span = CoreSpan { start: end.saturating_sub(node.length), end };
                Component::Loop(part(), LoopShape { span, ..shape })
            }
            form => {
                let (right, left) = (part(), part());
                match form {
                    Form::Fanout => Component::Fanout(left, right),
                    Form::Pair => Component::Pair(left, right),
                    _ => Component::Chain(left, right),
                }
            }
        };
        self.push(component, node);
    }

    fn push(&mut self, component: Component, node: &ComposeNode) {
        self.roots.push(self.components.len() as u32);
        self.components.push(component);
        self.arities.push(node.scheme.arity());
    }
}

/// The signature; iterative, since parts may be deeply nested.
impl fmt::Debug for Composed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Composed({})", self.signature())
    }
}

/// Parts are dropped iteratively, since they may be deeply nested.
impl Drop for ComposeNode {
    fn drop(&mut self) {
        let mut ahead = std::mem::take(&mut self.parts);
        while let Some(part) = ahead.pop() {
            if let Some(mut node) = Arc::into_inner(part) {
                ahead.append(&mut node.parts);
            }
        }
    }
}

/// `left . right`: see [`Composed::chain`].
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
    written(of(left).chain(&of(right)))
}

/// `left & right`: see [`Composed::fanout`].
///
/// # Errors
/// If a shared input's rank or element type does not fit, or the result is too large.
pub fn fanout(left: &Program, right: &Program) -> Result<Program, Vec<Diagnostic>> {
    written(of(left).fanout(&of(right)))
}

/// `left | right`: see [`Composed::pair`].
///
/// # Errors
/// If the result is too large.
pub fn pair(left: &Program, right: &Program) -> Result<Program, Vec<Diagnostic>> {
    written(of(left).pair(&of(right)))
}

/// `~of`: see [`Composed::swap`].
///
/// # Errors
/// If there is only one.
pub fn swap(program: &Program) -> Result<Program, Vec<Diagnostic>> {
    written(of(program).swap())
}

fn of(program: &Program) -> Composed {
    program.clone().into()
}

fn written(combined: Combined) -> Result<Program, Vec<Diagnostic>> {
    Ok(combined?.program().into_owned())
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
