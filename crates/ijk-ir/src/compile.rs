//! Checking and lowering of whole programs.

pub(crate) mod order;

use crate::codes;
use crate::core::{Pin, Program};
use crate::expand::{Component, Expander, Leaf};
use crate::infer::Infer;
use crate::instantiate::undetermined_name;
use crate::leaf::{self, ExtentNames};
use crate::limits::MAX_PORT_VISITS;
use crate::names;
use crate::scheme::Scheme;
use crate::sig::{self, Combine, LoopSite, Sig, Site};
use crate::signature::Signature;
use crate::sink::Sink;
use ijk_syntax::ast::{self, Combinator, NodeId, NodeKind};
use ijk_syntax::{Diagnostic, Severity, Span};
use order::Items;

/// Result of checking a program: diagnostics, and the value of each of its bindings.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// Errors and warnings, by place in the source.
    pub diagnostics: Vec<Diagnostic>,
    /// The program's value, lowered, where there is no error.
    pub program: Option<Program>,
    /// For each statement of the program the names of the bindings that it is in, from the outermost on, joined by
    /// dots: `mm.m`.
    pub paths: Vec<String>,
    checked: CheckedComponents,
}

/// The components of a program without its texts.
#[derive(Clone, Debug, Default)]
struct CheckedComponents {
    source: String,
    components: Vec<Component>,
    /// For each component, how many inputs it takes.
    arities: Vec<u32>,
    extent_names: Vec<String>,
    items: Vec<CheckedItem>,
}

#[derive(Clone, Debug)]
struct CheckedItem {
    name: Option<String>,
    root: u32,
    scheme: Option<Scheme>,
}

/// Checks a program and lowers its value.
///
/// Everything is checked, bindings that nothing uses included, and no error hides another one of a
/// different place. `source` is the text that spans point into; messages quote it. What the parser
/// reports already (an empty program, a name bound twice, functions with too many or too few
/// operands) is not reported again; there is no [`Compilation::program`] then.
///
/// ```
/// let source = "m: ik*kj~ijk; a: +ijk~ij; m.a";
/// let (tree, errors) = ijk_syntax::parse(source);
/// assert!(errors.is_empty());
/// let compiled = ijk_ir::compile(&tree, source);
/// let program = compiled.program.unwrap();
/// assert_eq!(program.statements.len(), 2);
/// let signature = ijk_ir::Signature::of(&program).to_string();
/// assert!(signature.starts_with("(T[2], T[2]) -> T[2] where T: bool int"));
/// ```
pub fn compile(program: &ast::Program, source: &str) -> Compilation {
    let mut sink = Sink::default();
    let items = Items::new(program, &mut sink);
    let mut compiler = Compiler::new(program, source, &items, sink);
    for &item in &items.order {
        compiler.item(item);
    }
    compiler.finish()
}

/// Parses a program, checks it and lowers its value: [`ijk_syntax::parse`], then [`compile`], with
/// the diagnostics of both.
///
/// ```
/// let compiled = ijk_ir::compile_source("ij~i");
/// assert!(compiled.has_errors());
/// let offer = compiled.diagnostics[0].hints[0].replacement.as_ref().unwrap();
/// assert_eq!(offer.1, "+ij~i");
/// ```
pub fn compile_source(source: &str) -> Compilation {
    let (tree, mut diagnostics) = ijk_syntax::parse(source);
    let mut compilation = compile(&tree, source);
    diagnostics.append(&mut compilation.diagnostics);
    diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
    compilation.diagnostics = diagnostics;
    if compilation.has_errors() {
        compilation.program = None;
    }
    compilation
}

impl Compilation {
    /// Returns true if the program has errors.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// The names of the bindings in source order, each with its signature where it has one.
    pub fn bindings(&self) -> impl Iterator<Item = (&str, Option<Signature>)> {
        self.checked.items.iter().filter_map(|item| {
            let name = item.name.as_deref()?;
            Some((name, item.scheme.as_ref().map(Scheme::signature)))
        })
    }

    /// The value of a binding, lowered; `None` where there is no such binding or it is wrong.
    pub fn binding(&self, name: &str) -> Option<Program> {
        let named = |item: &&CheckedItem| item.name.as_deref() == Some(name);
        let item = self.checked.items.iter().find(named)?;
        self.checked.lower(item).map(|(program, _)| program)
    }
}

impl CheckedComponents {
    fn lower(&self, item: &CheckedItem) -> Option<(Program, Vec<String>)> {
        item.scheme.as_ref()?;
        let tables = [&self.extent_names[..]];
        let named = self.items.iter().filter_map(|item| Some((item.root, item.name.as_deref()?)));
        let expander = Expander::new(&self.components, &tables).named(named);
        let arity = |id: u32| self.arities[id as usize] as usize;
        Some(expander.program_with_paths(item.root, &self.source, &arity))
    }
}

struct Compiler<'a> {
    ast: &'a ast::Program,
    source: &'a str,
    items: &'a Items<'a>,
    sink: Sink,
    infer: Infer,
    names: ExtentNames,
    components: Vec<Component>,
    arities: Vec<u32>,
    schemes: Vec<Option<Scheme>>,
    port_visits: u64,
}

impl<'a> Compiler<'a> {
    fn new(ast: &'a ast::Program, source: &'a str, items: &'a Items<'a>, sink: Sink) -> Self {
        Self {
            ast,
            source,
            items,
            sink,
            infer: Infer::default(),
            names: ExtentNames::default(),
            components: vec![Component::Error; ast.nodes.len()],
            arities: vec![0; ast.nodes.len()],
            schemes: vec![None; ast.items.len()],
            port_visits: 0,
        }
    }

    /// Checks an item whose names are all of checked items.
    fn item(&mut self, item: usize) {
        self.infer.clear();
        let mut sigs: Vec<Option<Sig>> = Vec::new();
        for &id in &self.items.nodes[item] {
            let (component, sig) = self.node(id, &mut sigs);
            self.components[id.0 as usize] = component;
            self.arities[id.0 as usize] = sig.as_ref().map_or(0, |s| s.inputs.len() as u32);
            sigs.push(sig);
        }
        let sig = sigs.pop().flatten();
        self.schemes[item] = sig.map(|sig| Scheme::close(&mut self.infer, &sig));
    }

    /// Checks a node; `sigs` is a stack of the signatures of nodes before it in post-order.
    fn node(&mut self, id: NodeId, sigs: &mut Vec<Option<Sig>>) -> (Component, Option<Sig>) {
        let ast = self.ast;
        let node = ast.node(id);
        match &node.kind {
            NodeKind::Error => (Component::Error, None),
            NodeKind::Identity => {
                let sig = Sig::identity(&mut self.infer, node.span);
                (Component::Identity(node.span.into()), Some(sig))
            }
            NodeKind::Index(expr) => self.index(expr),
            NodeKind::Name(name) => self.name(name, node.span),
            NodeKind::Swap(of) => {
                let sig = sigs.pop().flatten();
                let sig = sig.and_then(|sig| self.combine().swap(sig, node.span));
                (Component::Swap(of.0), sig)
            }
            NodeKind::Loop(head, of) => {
                let looped = sigs.pop().flatten().and_then(|sig| {
                    let site = self.loop_site(head, *of, node.span);
                    self.combine().looped(sig, &site)
                });
                match looped {
                    Some((sig, shape)) => (Component::Loop(of.0, shape), Some(sig)),
                    None => (Component::Error, None),
                }
            }
            NodeKind::Combine { combinator, left, right, symbol } => {
                let (r, l) = (sigs.pop().flatten(), sigs.pop().flatten());
                let sig = l.zip(r).and_then(|(l, r)| {
                    let grouped = [*left, *right].map(|id| is_group(&ast.node(id).kind));
                    let (left, right) = (ast.node(*left).span, ast.node(*right).span);
                    let site = Site { symbol: *symbol, left, right, grouped };
                    self.combinator(*combinator, l, r, site)
                });
                (component(*combinator, left.0, right.0), sig)
            }
        }
    }

    fn loop_site(&mut self, head: &ast::LoopHead, of: NodeId, whole: Span) -> LoopSite {
        let passes = head.passes.as_ref().map(|extent| match extent {
            ast::Extent::Number(n, span) => Pin::Number(*n, (*span).into()),
            ast::Extent::Name(name) => Pin::Name(self.names.id(&name.text), name.span.into()),
        });
        let (form, symbol, rows) = (head.form, head.symbol, head.rows);
        LoopSite { form, symbol, of: self.ast.node(of).span, whole, passes, rows }
    }

    fn combine(&mut self) -> Combine<'_> {
        Combine { infer: &mut self.infer, sink: &mut self.sink, source: self.source }
    }

    fn combinator(&mut self, combinator: Combinator, l: Sig, r: Sig, site: Site) -> Option<Sig> {
        match combinator {
            Combinator::Chain => self.combine().chain(l, r, site, true),
            Combinator::Compose => {
                let turned = Site { left: site.right, right: site.left, ..site };
                self.combine().chain(r, l, turned, false)
            }
            Combinator::Fanout => self.combine().fanout(l, r, site),
            Combinator::Pair => self.combine().pair(l, r, site),
        }
    }

    fn index(&mut self, expr: &ast::IndexExpr) -> (Component, Option<Sig>) {
        let lowered = leaf::lower(expr, self.source, &mut self.names, &mut self.sink);
        let Some(leaf::LoweredLeaf { program, whys }) = lowered else {
            return (Component::Error, None);
        };
        let sig = sig::of_program(&mut self.infer, &program, 0, Some(&whys));
        (Component::Leaf(Leaf { program, scope: 0, offset: 0 }), Some(sig))
    }

    fn name(&mut self, name: &str, span: Span) -> (Component, Option<Sig>) {
        let Some(item) = self.items.find(name) else {
            return (Component::Error, None);
        };
        let Some(scheme) = &self.schemes[item] else {
            return (Component::Error, None);
        };
        self.port_visits += scheme.weight();
        if self.port_visits > MAX_PORT_VISITS {
            if self.port_visits - scheme.weight() <= MAX_PORT_VISITS {
                let message = "the program is too large: its names have too many inputs in all";
                self.sink.push(codes::NAMES_TOO_LARGE.error(span, message));
            }
            return (Component::Error, None);
        }
        let mut sig = scheme.instantiate(&mut self.infer);
        sig.visits = sig.visits.saturating_add(1);
        (Component::Alias(self.ast.items[item].value.0), Some(sig))
    }

    fn finish(mut self) -> Compilation {
        let errors = self.sink.errors();
        let names = self.ast.items.iter().map(|item| item.name.as_ref().map(|n| n.text.clone()));
        let items = (names.zip(&self.ast.items).zip(self.schemes))
            .map(|((name, item), scheme)| CheckedItem { name, root: item.value.0, scheme })
            .collect();
        let checked = CheckedComponents {
            source: self.source.to_string(),
            components: self.components,
            arities: self.arities,
            extent_names: self.names.names,
            items,
        };
        let value = self.items.value.filter(|_| errors == 0);
        let lowered = value.and_then(|item| checked.lower(&checked.items[item]));
        let (mut program, paths) = lowered.unzip();
        if let Some(lowered) = &program {
            for (name, span) in names::undetermined(lowered) {
                self.sink.push(undetermined_name(lowered, name, span.into()));
            }
        }
        program = program.filter(|_| self.sink.errors() == 0);
        let paths = paths.unwrap_or_default();
        Compilation { diagnostics: self.sink.finish(), program, paths, checked }
    }
}

fn is_group(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Combine { .. })
}

fn component(combinator: Combinator, left: u32, right: u32) -> Component {
    match combinator {
        Combinator::Chain => Component::Chain(left, right),
        Combinator::Compose => Component::Chain(right, left),
        Combinator::Fanout => Component::Fanout(left, right),
        Combinator::Pair => Component::Pair(left, right),
    }
}
