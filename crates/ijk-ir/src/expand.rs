//! Expansion of a component expression into one program.

use crate::core::{
    Array, ArrayId, Init, Iteration, LoopState, Pin, Program, ScalarNode, Span as CoreSpan,
    Statement, Swept, TypeTerm,
};
use crate::infer::{Infer, TypeVar};
use crate::leaf::Why;
use crate::sig;
use crate::terms::TypeTerms;
use ijk_types::{DType, TypeSet};
use std::collections::HashMap;

/// A component expression, checked.
#[derive(Clone, Debug)]
pub enum Component {
    /// A program: an index expression's, or one composed at run time.
    Leaf(Leaf),
    /// `I`.
    Identity(CoreSpan),
    /// Another component, by its place.
    Alias(u32),
    /// The first two inputs change places.
    Swap(u32),
    /// The outputs of the first feed the second.
    Chain(u32, u32),
    /// Both take the same first inputs.
    Fanout(u32, u32),
    /// Side by side.
    Pair(u32, u32),
    /// The component once for each pass.
    Loop(u32, LoopShape),
    /// Something that is wrong.
    Error,
}

/// Inputs and passes of a loop.
#[derive(Clone, Copy, Debug)]
pub struct LoopShape {
    /// Number of states: outputs, and first inputs.
    pub states: u32,
    /// Number of inputs after the states of which each pass takes a row.
    pub swept: u32,
    /// True if the results are the states after every pass.
    pub all: bool,
    /// True if the last row comes first.
    pub descending: bool,
    /// Number of passes in braces, and the scope that its name is of.
    pub passes: Option<(Pin, u32)>,
    /// Its place.
    pub span: CoreSpan,
}

/// A program to be put into a greater one.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The program.
    pub program: Program,
    /// Scope that qualifies the names of its extents.
    pub scope: u32,
    /// Offset of its source in that of the greater program.
    pub offset: u32,
}

/// Number of inputs of each component.
pub type Arities<'a> = &'a dyn Fn(u32) -> usize;

/// An array while the program is being written.
struct Draft {
    rank: Option<u32>,
    element: TypeVar,
    span: CoreSpan,
}

/// Work to do: a component to expand, within the names that lead to it.
enum Task {
    Eval(u32, Vec<ArrayId>, Path),
    Then(u32, Vec<ArrayId>, Path),
    Beside(u32, Vec<ArrayId>, Path),
    Join,
    /// The end of a loop.
    Close(u32),
}

/// Names of bindings, each an occurrence in the one before: an index into [`Expander::paths`], 0 for none.
type Path = u32;

/// Writes programs.
pub struct Expander<'a> {
    components: &'a [Component],
    infer: Infer,
    drafts: Vec<Draft>,
    statements: Vec<Statement>,
    loops: Vec<Iteration>,
    /// The loops that statements are written in, outermost first.
    open: Vec<u32>,
    names: HashMap<(u32, u32), u32>,
    extent_names: Vec<String>,
    name_tables: &'a [&'a [String]],
    /// The names of components that have one.
    bound: HashMap<u32, &'a str>,
    /// Each with the path that it continues.
    paths: Vec<(Path, &'a str)>,
    /// For each statement how it is named.
    origins: Vec<Path>,
}

impl<'a> Expander<'a> {
    /// For components, and the names that their scopes count extents in.
    pub fn new(components: &'a [Component], name_tables: &'a [&'a [String]]) -> Self {
        Self {
            components,
            infer: Infer::default(),
            drafts: Vec::new(),
            statements: Vec::new(),
            loops: Vec::new(),
            open: Vec::new(),
            names: HashMap::new(),
            extent_names: Vec::new(),
            name_tables,
            bound: HashMap::new(),
            paths: vec![(0, "")],
            origins: Vec::new(),
        }
    }

    /// The same, for components some of which have names.
    pub fn named(mut self, names: impl Iterator<Item = (u32, &'a str)>) -> Self {
        self.bound = names.collect();
        self
    }

    /// The program of a component, whose signature has been checked. `arity` gives the number of inputs of every
    /// component that is expanded.
    pub fn program(self, root: u32, source: &str, arity: Arities) -> Program {
        self.program_with_paths(root, source, arity).0
    }

    /// The program, and for each of its statements the names that lead to it, joined by dots: those of the bindings
    /// in which it is, from the outermost on.
    pub fn program_with_paths(
        mut self,
        root: u32,
        source: &str,
        arity: Arities,
    ) -> (Program, Vec<String>) {
        let inputs: Vec<ArrayId> = (0..arity(root)).map(|_| self.input()).collect();
        let path = self.within(0, root);
        let outputs = self.expand(root, inputs.clone(), path, arity);
        let paths = self.origins.iter().map(|&path| self.text(path)).collect();
        (self.finish(inputs, outputs, source), paths)
    }

    /// The path to a component.
    fn within(&mut self, path: Path, id: u32) -> Path {
        let Some(&name) = self.bound.get(&id) else { return path };
        self.paths.push((path, name));
        self.paths.len() as u32 - 1
    }

    fn text(&self, mut path: Path) -> String {
        let mut names = Vec::new();
        while path > 0 {
            let (before, name) = self.paths[path as usize];
            names.push(name);
            path = before;
        }
        names.reverse();
        names.join(".")
    }

    fn input(&mut self) -> ArrayId {
        let element = self.infer.element(TypeSet::ALL, Why::any(ijk_syntax::Span::default()));
        self.draft(Draft { rank: None, element, span: CoreSpan::default() })
    }

    fn draft(&mut self, draft: Draft) -> ArrayId {
        self.drafts.push(draft);
        ArrayId(self.drafts.len() as u32 - 1)
    }

    fn expand(
        &mut self,
        root: u32,
        inputs: Vec<ArrayId>,
        path: Path,
        arity: Arities,
    ) -> Vec<ArrayId> {
        let mut tasks = vec![Task::Eval(root, inputs, path)];
        let mut results: Vec<Vec<ArrayId>> = Vec::new();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Eval(id, inputs, path) => {
                    self.eval((id, path), inputs, arity, &mut tasks, &mut results);
                }
                Task::Then(id, leftover, path) => {
                    let mut inputs = results.pop().unwrap_or_default();
                    inputs.extend(leftover);
                    tasks.push(Task::Eval(id, inputs, path));
                }
                Task::Beside(id, inputs, path) => {
                    tasks.push(Task::Join);
                    tasks.push(Task::Eval(id, inputs, path));
                }
                Task::Join => {
                    let right = results.pop().unwrap_or_default();
                    results.last_mut().unwrap_or(&mut Vec::new()).extend(right);
                }
                Task::Close(at) => {
                    let next = results.pop().unwrap_or_default();
                    results.push(self.close(at, &next));
                }
            }
        }
        results.pop().unwrap_or_default()
    }

    fn eval(
        &mut self,
        (id, path): (u32, Path),
        mut inputs: Vec<ArrayId>,
        arity: Arities,
        tasks: &mut Vec<Task>,
        results: &mut Vec<Vec<ArrayId>>,
    ) {
        let components = self.components;
        match &components[id as usize] {
            Component::Leaf(leaf) => {
                results.push(self.apply(leaf, &inputs));
                self.origins.resize(self.statements.len(), path);
            }
            Component::Identity(span) => {
                self.pass(&inputs, *span);
                results.push(inputs);
            }
            Component::Error => results.push(Vec::new()),
            Component::Alias(of) => {
                let path = self.within(path, *of);
                tasks.push(Task::Eval(*of, inputs, path));
            }
            Component::Swap(of) => {
                inputs.swap(0, 1);
                tasks.push(Task::Eval(*of, inputs, path));
            }
            Component::Chain(left, right) => {
                let leftover = inputs.split_off(arity(*left));
                tasks.push(Task::Then(*right, leftover, path));
                tasks.push(Task::Eval(*left, inputs, path));
            }
            Component::Fanout(left, right) => {
                let shared = inputs[..arity(*right)].to_vec();
                inputs.truncate(arity(*left));
                tasks.push(Task::Beside(*right, shared, path));
                tasks.push(Task::Eval(*left, inputs, path));
            }
            Component::Pair(left, right) => {
                let rest = inputs.split_off(arity(*left));
                tasks.push(Task::Beside(*right, rest, path));
                tasks.push(Task::Eval(*left, inputs, path));
            }
            Component::Loop(of, shape) => {
                let (at, inputs) = self.begin(shape, inputs);
                tasks.push(Task::Close(at));
                tasks.push(Task::Eval(*of, inputs, path));
            }
        }
    }

    /// Begins a loop; returns the inputs of a pass.
    fn begin(&mut self, shape: &LoopShape, inputs: Vec<ArrayId>) -> (u32, Vec<ArrayId>) {
        let (states, swept) = (shape.states as usize, shape.swept as usize);
        let mut pass = Vec::with_capacity(inputs.len());
        let (mut carried, mut rows) = (Vec::new(), Vec::new());
        for (n, id) in inputs.into_iter().enumerate() {
            if n >= states + swept {
                pass.push(id);
                continue;
            }
            let element = self.drafts[id.0 as usize].element;
            let own = self.draft(Draft { rank: None, element, span: CoreSpan::default() });
            pass.push(own);
            match n < states {
                true => {
                    carried.push(LoopState { before: id, current: own, next: own, result: own })
                }
                false => rows.push(Swept { of: id, row: own }),
            }
        }
        let passes = shape.passes.map(|(pin, scope)| self.pin_of(pin, scope, 0));
        let first = self.statements.len() as u32;
        let at = self.loops.len() as u32;
        self.loops.push(Iteration {
            body: (first, first),
            within: self.open.last().copied(),
            passes,
            states: carried,
            swept: rows,
            all: shape.all,
            descending: shape.descending,
            until: None,
            span: shape.span,
        });
        self.open.push(at);
        (at, pass)
    }

    /// Ends the innermost loop, whose passes give these, behind the states the condition that ends it; returns its
    /// results.
    fn close(&mut self, at: u32, next: &[ArrayId]) -> Vec<ArrayId> {
        self.open.pop();
        let mut own = self.loops[at as usize].clone();
        own.body.1 = self.statements.len() as u32;
        own.until = next.get(own.states.len()).copied();
        if let Some(condition) = own.until {
            let why = Why::any(ijk_syntax::Span::default());
            let bool = self.infer.element(TypeSet::only(DType::Bool), why);
            let draft = &mut self.drafts[condition.0 as usize];
            draft.rank.get_or_insert(0);
            // Checked before expansion: a condition is a bool.
            let _ = self.infer.unify_types(draft.element, bool);
        }
        for (state, next) in own.states.iter_mut().zip(next) {
            let element = self.drafts[state.before.0 as usize].element;
            // Checked before expansion: a state keeps its type.
            let _ = self.infer.unify_types(element, self.drafts[next.0 as usize].element);
            state.next = *next;
            state.result = self.draft(Draft { rank: None, element, span: own.span });
        }
        let results = own.states.iter().map(|state| state.result).collect();
        self.loops[at as usize] = own;
        results
    }

    /// Gives the arrays of loops the ranks that statements need, from loop to loop.
    fn settle_ranks(&mut self) {
        let loops = std::mem::take(&mut self.loops);
        loop {
            let mut changed = false;
            for own in loops.iter().chain(loops.iter().rev()) {
                let all = u32::from(own.all);
                for LoopState { before, current, next, result } in &own.states {
                    let same = [(*before, 0), (*current, 0), (*next, 0), (*result, all)];
                    changed |= self.describe(&same);
                }
                for Swept { of, row } in &own.swept {
                    changed |= self.describe(&[(*row, 0), (*of, 1)]);
                }
            }
            if !changed {
                break;
            }
        }
        self.loops = loops;
    }

    /// Gives arrays, whose ranks differ by known numbers, the rank and the place that one of them has. Returns true if
    /// that was new for one.
    fn describe(&mut self, arrays: &[(ArrayId, u32)]) -> bool {
        let draft = |id: &ArrayId| &self.drafts[id.0 as usize];
        let known = arrays.iter().find_map(|(id, more)| {
            let own = draft(id);
            Some((own.rank?.checked_sub(*more)?, own.span))
        });
        let Some((rank, span)) = known else { return false };
        let mut changed = false;
        for (id, more) in arrays {
            let draft = &mut self.drafts[id.0 as usize];
            changed |= draft.rank.is_none();
            draft.rank.get_or_insert(rank + more);
            if draft.span == CoreSpan::default() {
                draft.span = span;
            }
        }
        changed
    }

    /// Notes where inputs that nothing else describes come from.
    fn pass(&mut self, inputs: &[ArrayId], span: CoreSpan) {
        for id in inputs {
            let draft = &mut self.drafts[id.0 as usize];
            if draft.span == CoreSpan::default() {
                draft.span = span;
            }
        }
    }

    /// Puts a program's statements in, with its inputs standing for `inputs`.
    fn apply(&mut self, leaf: &Leaf, inputs: &[ArrayId]) -> Vec<ArrayId> {
        let whys =
            leaf.program.types.iter().map(|set| (*set, Why::any(ijk_syntax::Span::default())));
        let types: Vec<TypeVar> = whys.map(|(set, why)| self.infer.element(set, why)).collect();
        sig::link_reals(&mut self.infer, &leaf.program, &types);
        let mut map: Vec<Option<ArrayId>> = vec![None; leaf.program.arrays.len()];
        for (own, given) in leaf.program.inputs.iter().zip(inputs) {
            map[own.0 as usize] = Some(*given);
        }
        let ids: Vec<ArrayId> = (leaf.program.arrays.iter().zip(map))
            .map(|(array, given)| self.array(array, given, leaf.offset, &types))
            .collect();
        self.copy_loops(leaf, &ids);
        for statement in &leaf.program.statements {
            let copy = self.statement(statement, leaf, &ids, &types);
            self.statements.push(copy);
        }
        leaf.program.outputs.iter().map(|id| ids[id.0 as usize]).collect()
    }

    /// Puts a program's loops in, before its statements.
    fn copy_loops(&mut self, leaf: &Leaf, ids: &[ArrayId]) {
        let (first, before) = (self.statements.len() as u32, self.loops.len() as u32);
        let around = self.open.last().copied();
        let renamed = |id: ArrayId| ids[id.0 as usize];
        for own in &leaf.program.loops {
            let passes = own.passes.map(|pin| self.pin(pin, leaf));
            let state = |s: &LoopState| LoopState {
                before: renamed(s.before),
                current: renamed(s.current),
                next: renamed(s.next),
                result: renamed(s.result),
            };
            let swept = |s: &Swept| Swept { of: renamed(s.of), row: renamed(s.row) };
            self.loops.push(Iteration {
                body: (own.body.0 + first, own.body.1 + first),
                within: own.within.map_or(around, |at| Some(at + before)),
                passes,
                states: own.states.iter().map(state).collect(),
                swept: own.swept.iter().map(swept).collect(),
                all: own.all,
                descending: own.descending,
                until: own.until.map(renamed),
                span: own.span.shifted(leaf.offset),
            });
        }
    }

    fn array(
        &mut self,
        array: &Array,
        given: Option<ArrayId>,
        offset: u32,
        types: &[TypeVar],
    ) -> ArrayId {
        let element = sig::element(&mut self.infer, array.dtype, types, None, Default::default());
        let span = array.span.shifted(offset);
        let Some(id) = given else {
            return self.draft(Draft { rank: array.rank, element, span });
        };
        // Checked before expansion: ranks and types fit.
        let _ = self.infer.unify_types(self.drafts[id.0 as usize].element, element);
        let draft = &mut self.drafts[id.0 as usize];
        if draft.rank.is_none() && array.rank.is_some() {
            draft.rank = array.rank;
            draft.span = span;
        }
        id
    }

    fn statement(
        &mut self,
        statement: &Statement,
        leaf: &Leaf,
        ids: &[ArrayId],
        types: &[TypeVar],
    ) -> Statement {
        let mut copy = statement.clone();
        let renamed = |id: ArrayId| ids[id.0 as usize];
        copy.out = renamed(copy.out);
        copy.span = copy.span.shifted(leaf.offset);
        if let Init::From(id) = &mut copy.init {
            *id = renamed(*id);
        }
        for axis in &mut copy.domain {
            for dim in &mut axis.dims {
                dim.array = renamed(dim.array);
                dim.span = dim.span.shifted(leaf.offset);
            }
            for pin in &mut axis.pins {
                *pin = self.pin(*pin, leaf);
            }
        }
        for node in &mut copy.value.nodes {
            self.node(node, leaf, ids, types);
        }
        copy
    }

    fn node(&mut self, node: &mut ScalarNode, leaf: &Leaf, ids: &[ArrayId], types: &[TypeVar]) {
        match node {
            ScalarNode::Access(access) => {
                access.array = ids[access.array.0 as usize];
                access.span = access.span.shifted(leaf.offset);
            }
            ScalarNode::Const(_, term) | ScalarNode::Extent(_, term)
                if !matches!(term, TypeTerm::Fixed(_)) =>
            {
                let v = sig::element(&mut self.infer, *term, types, None, Default::default());
                *term = TypeTerm::Var(v.0);
            }
            _ => {}
        }
    }

    fn pin(&mut self, pin: Pin, leaf: &Leaf) -> Pin {
        self.pin_of(pin, leaf.scope, leaf.offset)
    }

    fn pin_of(&mut self, pin: Pin, scope: u32, offset: u32) -> Pin {
        match pin {
            Pin::Number(n, span) => Pin::Number(n, span.shifted(offset)),
            Pin::Name(name, span) => {
                let key = (scope, name);
                let next = self.extent_names.len() as u32;
                let id = *self.names.entry(key).or_insert(next);
                if id == next {
                    let text = &self.name_tables[scope as usize][name as usize];
                    self.extent_names.push(text.clone());
                }
                Pin::Name(id, span.shifted(offset))
            }
        }
    }

    fn finish(mut self, inputs: Vec<ArrayId>, outputs: Vec<ArrayId>, source: &str) -> Program {
        self.settle_ranks();
        let elements = inputs.iter().map(|id| self.drafts[id.0 as usize].element);
        let elements: Vec<TypeVar> = elements.collect();
        let mut terms = TypeTerms::new(&mut self.infer, elements.into_iter());
        let arrays = (self.drafts.iter())
            .map(|draft| Array {
                rank: draft.rank,
                dtype: terms.of(&mut self.infer, draft.element),
                span: draft.span,
            })
            .collect();
        for statement in &mut self.statements {
            for node in &mut statement.value.nodes {
                if let ScalarNode::Const(_, term) | ScalarNode::Extent(_, term) = node
                    && let TypeTerm::Var(v) = *term
                {
                    *term = terms.of(&mut self.infer, TypeVar(v));
                }
            }
        }
        Program {
            source: source.to_string(),
            arrays,
            inputs,
            outputs,
            statements: self.statements,
            extent_names: self.extent_names,
            types: terms.types,
            same_real: terms.same_real,
            loops: self.loops,
        }
    }
}
