//! Statements of a pass as programs on windows: each by itself, and several as one where no window is in the way.

use super::view::PassInput;
use crate::core::{
    Array, ArrayId, Atom, Axis, IndexExpr, Init, Instance, LoopStep, PassCondition, Probe, Program,
    ScalarExpr, ScalarNode, Statement, TypeTerm, Update, UpdateInput, Window,
};
use ijk_types::{DType, Literal, Monoid, Reducer};

/// A statement over the axes that vary in a pass. Its arrays are numbered by `inputs`.
pub struct PassStatement {
    pub lowered: Statement,
    /// Extents of its domain.
    pub extents: Vec<u64>,
    /// Where it writes.
    pub window: Window,
    /// The extents of the array that it writes to.
    pub shape: Vec<u64>,
    pub dtype: DType,
    pub inputs: Vec<PassInput>,
    pub lookups: Vec<Window>,
    /// Positions of windows that are out of bounds in some pass, with the extents.
    pub bounds: Vec<(IndexExpr, u64)>,
    pub conditions: Vec<PassCondition>,
    /// Positions that must be in bounds at some point, where conditions do not tell.
    pub probe: Vec<(IndexExpr, u64)>,
    /// Former elements of the window take part.
    pub accumulates: bool,
}

/// The statements as steps of a pass.
pub fn updates(source: &str, statements: Vec<PassStatement>) -> Vec<LoopStep> {
    let mut steps = Vec::new();
    let mut rest = &statements[..];
    while !rest.is_empty() {
        let fits = |count: &usize| *count == 1 || update(source, &refer(&rest[..*count])).is_some();
        let count = (1..=rest.len()).take_while(fits).last().unwrap_or(1);
        let (section, behind) = rest.split_at(count);
        steps.extend(section_steps(source, section));
        rest = behind;
    }
    steps
}

fn refer(statements: &[PassStatement]) -> Vec<&PassStatement> {
    statements.iter().collect()
}

/// Steps of statements that can run as one: parts of those that run in the same passes, and all together.
fn section_steps(source: &str, section: &[PassStatement]) -> Vec<LoopStep> {
    let parts = section.chunk_by(|a, b| a.runs_with(b));
    let parts: Vec<LoopStep> = parts
        .filter_map(|part| update(source, &refer(part)))
        .map(|part| LoopStep::Update(Box::new(part)))
        .collect();
    if parts.len() < 2 {
        return parts;
    }
    match update(source, &refer(section)) {
        Some(all) => vec![LoopStep::Fused(Box::new(all), parts)],
        None => parts,
    }
}

impl PassStatement {
    /// Returns true if both run in the same passes.
    fn runs_with(&self, other: &Self) -> bool {
        let same = |a: &[(IndexExpr, u64)], b: &[(IndexExpr, u64)]| a.iter().all(|x| b.contains(x));
        let all = |a: &Self, b: &Self| {
            same(&a.bounds, &b.bounds) && a.conditions.iter().all(|x| b.conditions.contains(x))
        };
        all(self, other) && all(other, self)
    }
}

/// One update for statements in order; none where a window that one reads or writes shares elements with another
/// window that was written before.
pub fn update(source: &str, statements: &[&PassStatement]) -> Option<Update> {
    let [first, others @ ..] = statements else { return None };
    if others.iter().any(|s| !s.probe.is_empty() || s.lookups != first.lookups) {
        return None;
    }
    if !others.is_empty() && !first.probe.is_empty() {
        return None;
    }
    let mut builder = UpdateBuilder::new(source);
    for statement in statements {
        builder.add(statement)?;
    }
    if !others.is_empty() && builder.writes_over(&first.lookups) {
        return None;
    }
    let probe = probe(source, first);
    Some(builder.finish(first.lookups.clone(), probe))
}

/// A program as it grows.
struct UpdateBuilder {
    program: Program,
    instance: Instance,
    inputs: Vec<UpdateInput>,
    /// Windows that were written, with their last versions.
    written: Vec<(Window, ArrayId)>,
    conditions: Vec<PassCondition>,
}

impl UpdateBuilder {
    fn new(source: &str) -> Self {
        Self {
            program: Program { source: source.to_owned(), ..Program::default() },
            instance: Instance::default(),
            inputs: Vec::new(),
            written: Vec::new(),
            conditions: Vec::new(),
        }
    }

    fn add(&mut self, statement: &PassStatement) -> Option<()> {
        let inputs: Vec<ArrayId> =
            statement.inputs.iter().map(|input| self.read(input)).collect::<Option<_>>()?;
        let former = statement.accumulates.then(|| {
            let shape = statement.window.shape(&statement.shape);
            let source = UpdateInput::Window(statement.window.clone());
            self.read(&PassInput { source, dtype: statement.dtype, shape })
        });
        if self.is_in_the_way(&statement.window) {
            return None;
        }
        let mut lowered = renumbered(&statement.lowered, &inputs);
        if let Some(former) = former {
            lowered.init = Init::From(former?);
        }
        let out = self.array(statement.dtype, statement.window.shape(&statement.shape));
        lowered.out = out;
        self.program.statements.push(lowered);
        self.instance.extents.push(statement.extents.clone());
        self.written.retain(|(window, _)| *window != statement.window);
        self.written.push((statement.window.clone(), out));
        for condition in &statement.conditions {
            if !self.conditions.contains(condition) {
                self.conditions.push(condition.clone());
            }
        }
        Some(())
    }

    /// Returns true if another window was written that shares elements with this one.
    fn is_in_the_way(&self, window: &Window) -> bool {
        self.written.iter().any(|(own, _)| own != window && own.may_overlap(window))
    }

    fn writes_over(&self, windows: &[Window]) -> bool {
        windows.iter().any(|window| self.written.iter().any(|(own, _)| own.may_overlap(window)))
    }

    /// The array that holds what a statement reads.
    fn read(&mut self, input: &PassInput) -> Option<ArrayId> {
        if let UpdateInput::Window(window) = &input.source {
            if let Some((_, version)) = self.written.iter().find(|(own, _)| own == window) {
                return Some(*version);
            }
            if self.is_in_the_way(window) {
                return None;
            }
        }
        if let Some(at) = self.inputs.iter().position(|own| *own == input.source) {
            return Some(self.program.inputs[at]);
        }
        let id = self.array(input.dtype, input.shape.clone());
        self.program.inputs.push(id);
        self.inputs.push(input.source.clone());
        Some(id)
    }

    fn array(&mut self, dtype: DType, shape: Vec<u64>) -> ArrayId {
        add_array(&mut self.program, &mut self.instance, dtype, shape)
    }

    fn finish(self, lookups: Vec<Window>, probe: Option<Probe>) -> Update {
        let Self { mut program, instance, inputs, written, conditions } = self;
        program.outputs = written.iter().map(|(_, version)| *version).collect();
        let outputs = written.into_iter().map(|(window, _)| window).collect();
        Update { program, instance, lookups, inputs, outputs, conditions, probe }
    }
}

fn add_array(
    program: &mut Program,
    instance: &mut Instance,
    dtype: DType,
    shape: Vec<u64>,
) -> ArrayId {
    let (rank, dtype_term) = (Some(shape.len() as u32), TypeTerm::Fixed(dtype));
    let span = crate::core::Span::default();
    program.arrays.push(Array { rank, dtype: dtype_term, span });
    instance.dtypes.push(dtype);
    instance.shapes.push(shape);
    ArrayId(program.arrays.len() as u32 - 1)
}

/// The program that tells whether a statement has a point with all positions in bounds.
fn probe(source: &str, of: &PassStatement) -> Option<Probe> {
    if of.probe.is_empty() {
        return None;
    }
    let mut program = Program { source: source.to_owned(), ..Program::default() };
    let mut instance = Instance::default();
    let mut inputs = Vec::new();
    for input in &of.inputs {
        let id = add_array(&mut program, &mut instance, input.dtype, input.shape.clone());
        program.inputs.push(id);
        inputs.push(input.source.clone());
    }
    let out = add_array(&mut program, &mut instance, DType::Bool, Vec::new());
    let yes = ScalarNode::Const(Literal::Integer(1), TypeTerm::Fixed(DType::I64));
    let cast = ijk_types::UnaryOp::Cast(DType::Bool);
    let nodes = vec![yes, ScalarNode::Unary(cast, crate::core::ScalarId(0))];
    program.statements.push(Statement {
        out,
        domain: of.lowered.domain.iter().map(|axis| Axis { ..axis.clone() }).collect(),
        out_index: Vec::new(),
        init: Init::Identity(Monoid::Or),
        reduce: Some(Reducer::Monoid(Monoid::Or)),
        value: ScalarExpr { nodes },
        guards: of.probe.clone(),
        span: of.lowered.span,
    });
    instance.extents.push(of.extents.clone());
    program.outputs.push(out);
    Some(Probe { program, instance, inputs })
}

/// The statement with other numbers for its arrays.
fn renumbered(statement: &Statement, arrays: &[ArrayId]) -> Statement {
    let mut done = statement.clone();
    done.out_index.iter_mut().for_each(|e| renumber(e, arrays));
    done.guards.iter_mut().for_each(|(e, _)| renumber(e, arrays));
    for node in &mut done.value.nodes {
        match node {
            ScalarNode::Access(access) => {
                access.array = arrays[access.array.0 as usize];
                access.index.iter_mut().for_each(|e| renumber(e, arrays));
            }
            ScalarNode::Index(e) | ScalarNode::Random { counter: e, .. } => renumber(e, arrays),
            _ => {}
        }
    }
    done
}

fn renumber(e: &mut IndexExpr, arrays: &[ArrayId]) {
    for (_, atom) in e.terms.iter_mut() {
        match atom {
            Atom::Axis(_) => {}
            Atom::FloorDiv(e, _) | Atom::Mod(e, _) | Atom::Abs(e) => renumber(e, arrays),
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                renumber(left, arrays);
                renumber(right, arrays);
            }
            Atom::Element(access) => {
                access.array = arrays[access.array.0 as usize];
                access.index.iter_mut().for_each(|e| renumber(e, arrays));
            }
        }
    }
}
