//! A loop of a program as a loop over arrays that change in place.
//!
//! A state is an array. A pass runs the statements of the body as updates: those before a loop in it, and last those that
//! give the next states. That last update reads all before it writes any, so states may change places. What one update
//! computes and another reads is an array of the loop's own.

use super::end_of;
use super::part::PartBuilder;
use crate::core::{
    ArrayId, AxisId, IndexExpr, Init, Instance, Iteration, Loop, LoopArray, LoopAxis, LoopProgram,
    LoopState, LoopStep, Program, ProgramItem, ScalarNode, Update, UpdateInput, Window,
};
use crate::et::{LoopStage, Stage};

/// A loop as it is built.
pub struct LoopBuilder<'a> {
    program: &'a Program,
    instance: &'a Instance,
    arrays: Vec<LoopArray>,
    /// For each of the arrays which one of the program it is; none for the loop's own.
    outer: Vec<Option<usize>>,
    /// For each array of the program where its elements are in a pass.
    windows: Vec<Option<Window>>,
    /// For each array of the program the last statement that reads it; the greatest number if a loop does.
    last: Vec<usize>,
}

impl<'a> LoopBuilder<'a> {
    pub fn new(program: &'a Program, instance: &'a Instance) -> Self {
        let windows = vec![None; program.arrays.len()];
        let last = last_reads(program);
        Self { program, instance, arrays: Vec::new(), outer: Vec::new(), windows, last }
    }

    /// The outermost loop, with the items of its body.
    pub fn outermost(&mut self, at: usize, body: &[ProgramItem]) -> Loop {
        let own = &self.program.loops[at];
        for state in own.states.iter().filter(|state| !is_constant(state)) {
            let array = self.outside(state.current, true);
            self.windows[state.current.0 as usize] = Some(self.whole(array));
        }
        let results = self.results(own, |builder, result| builder.outside(result, true));
        self.passes(at, 0, body, &results)
    }

    /// Arrays that are given to others before the first pass of the outermost loop, and after the last.
    pub fn handed_over(&self, at: usize) -> [Vec<(usize, usize)>; 2] {
        let own = &self.program.loops[at];
        let changing = own.states.iter().filter(|state| !is_constant(state));
        let begins = changing.map(|s| (s.before.0 as usize, s.current.0 as usize)).collect();
        let kept = |state: &LoopState| match is_constant(state) {
            true => (state.before.0 as usize, state.result.0 as usize),
            false => (state.current.0 as usize, state.result.0 as usize),
        };
        let ends = own.states.iter().filter(|_| !own.all).map(kept).collect();
        [begins, ends]
    }

    pub fn finish(self, root: Loop) -> LoopStage {
        let source = self.program.source.clone();
        let program = LoopProgram { source, arrays: self.arrays, root };
        LoopStage { program, arrays: self.outer, kept: Vec::new() }
    }

    /// For each state the array of its values after all passes, if these are the result.
    fn results(
        &mut self,
        own: &Iteration,
        mut make: impl FnMut(&mut Self, ArrayId) -> usize,
    ) -> Vec<Option<usize>> {
        let states = own.states.iter();
        states.map(|state| own.all.then(|| make(self, state.result))).collect()
    }

    /// A loop whose states have their arrays, nested in loops of `around` axes in total.
    fn passes(
        &mut self,
        at: usize,
        around: usize,
        body: &[ProgramItem],
        results: &[Option<usize>],
    ) -> Loop {
        let own = &self.program.loops[at];
        for state in own.states.iter().filter(|state| is_constant(state)) {
            self.windows[state.current.0 as usize] = Some(self.window(state.before));
        }
        let pass = IndexExpr::axis(AxisId(around as u32));
        for swept in &own.swept {
            let mut window = self.window(swept.of);
            if let Some(first) = window.fixed.iter_mut().find(|fixed| fixed.is_none()) {
                *first = Some(pass.clone());
            }
            self.windows[swept.row.0 as usize] = Some(window);
        }
        let (mut steps, last) = self.steps(around + 1, body);
        let mut outputs = Vec::new();
        for (state, result) in own.states.iter().zip(results) {
            if !is_constant(state) {
                outputs.push((state.next, self.window(state.current)));
            }
            if let Some(array) = *result {
                let mut window = self.whole(array);
                window.fixed[0] = Some(pass.clone());
                outputs.push((state.next, window));
            }
        }
        let until = own.until.map(|condition| {
            let array = self.own(condition);
            outputs.push((condition, self.whole(array)));
            array
        });
        steps.extend(self.update(&last, outputs));
        let axes = vec![LoopAxis { name: "pass".into(), extent: self.instance.passes[at] }];
        Loop { axes, descending: own.descending, steps, until, span: own.span }
    }

    /// The steps of items, and the statements behind the last loop among them.
    fn steps(&mut self, around: usize, items: &[ProgramItem]) -> (Vec<LoopStep>, Vec<usize>) {
        let (mut steps, mut run) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let Some(item) = items.get(at) {
            match *item {
                ProgramItem::Statement(n) => run.push(n),
                ProgramItem::Begin(inner) => {
                    let end = end_of(items, inner);
                    steps.extend(self.stored(&std::mem::take(&mut run)));
                    steps.extend(self.inner(inner, around, &items[at + 1..end]));
                    at = end;
                }
                ProgramItem::End(_) => {}
            }
            at += 1;
        }
        (steps, run)
    }

    /// An update of statements whose arrays later ones read.
    fn stored(&mut self, statements: &[usize]) -> Option<LoopStep> {
        let end = statements.last().copied()?;
        let mut outputs = Vec::new();
        for out in statements.iter().map(|&n| self.program.statements[n].out) {
            if self.last[out.0 as usize] > end {
                let array = self.own(out);
                outputs.push((out, self.whole(array)));
            }
        }
        let update = self.update(statements, outputs.clone());
        for (out, window) in outputs {
            self.windows[out.0 as usize] = Some(window);
        }
        update
    }

    /// A loop in a loop: its states start anew in each pass.
    fn inner(&mut self, at: usize, around: usize, body: &[ProgramItem]) -> Vec<LoopStep> {
        let own = &self.program.loops[at];
        let mut starts = Vec::new();
        for state in own.states.iter().filter(|state| !is_constant(state)) {
            let array = self.own(state.current);
            let window = self.whole(array);
            starts.push((state.before, window.clone()));
            self.windows[state.current.0 as usize] = Some(window);
        }
        let mut steps: Vec<LoopStep> = self.update(&[], starts).into_iter().collect();
        let results = self.results(own, |builder, result| builder.own(result));
        let inner = self.passes(at, around, body, &results);
        steps.push(LoopStep::Loop(inner));
        for (state, result) in own.states.iter().zip(results) {
            let window = match result {
                Some(array) => self.whole(array),
                None => self.window(state.current),
            };
            self.windows[state.result.0 as usize] = Some(window);
        }
        steps
    }

    /// An update that runs statements and writes arrays to windows; none if it writes nothing.
    fn update(
        &mut self,
        statements: &[usize],
        outputs: Vec<(ArrayId, Window)>,
    ) -> Option<LoopStep> {
        if outputs.is_empty() {
            return None;
        }
        let part = PartBuilder::of(self.program, self.instance, statements);
        let (values, outputs): (Vec<ArrayId>, Vec<Window>) = outputs.into_iter().unzip();
        let Stage { program, instance, inputs, .. } = part.finish(&values);
        let window = |at: &usize| UpdateInput::Window(self.window(ArrayId(*at as u32)));
        let inputs = inputs.iter().map(window).collect();
        let (lookups, conditions, probe) = (Vec::new(), Vec::new(), None);
        let update = Update { program, instance, lookups, inputs, outputs, conditions, probe };
        Some(LoopStep::Update(Box::new(update)))
    }

    /// Where the elements of an array are; one from outside of the loop is whole.
    fn window(&mut self, id: ArrayId) -> Window {
        if let Some(window) = &self.windows[id.0 as usize] {
            return window.clone();
        }
        let array = self.outside(id, false);
        let window = self.whole(array);
        self.windows[id.0 as usize] = Some(window.clone());
        window
    }

    fn whole(&self, array: usize) -> Window {
        Window::whole(array, self.arrays[array].shape.len())
    }

    /// An array that the loop shares with the rest of the program.
    fn outside(&mut self, id: ArrayId, changes: bool) -> usize {
        self.outer.push(Some(id.0 as usize));
        self.array(id, changes, false)
    }

    /// An array of the loop's own.
    fn own(&mut self, id: ArrayId) -> usize {
        self.outer.push(None);
        self.array(id, true, true)
    }

    fn array(&mut self, id: ArrayId, changes: bool, local: bool) -> usize {
        let at = id.0 as usize;
        let (dtype, shape) = (self.instance.dtypes[at], self.instance.shapes[at].clone());
        self.arrays.push(LoopArray { dtype, shape, changes, local });
        self.arrays.len() - 1
    }
}

/// For each array the last statement that reads it; the greatest number if a loop does.
fn last_reads(program: &Program) -> Vec<usize> {
    let mut last = vec![0; program.arrays.len()];
    for (n, statement) in program.statements.iter().enumerate() {
        let mut note = |id: ArrayId| last[id.0 as usize] = n;
        for node in &statement.value.nodes {
            if let ScalarNode::Access(access) = node {
                note(access.array);
            }
        }
        if let Init::From(id) = statement.init {
            note(id);
        }
    }
    for own in &program.loops {
        let states = own.states.iter().flat_map(|state| [state.before, state.next]);
        let states = states.chain(own.until);
        for id in states.chain(own.swept.iter().map(|swept| swept.of)) {
            last[id.0 as usize] = usize::MAX;
        }
    }
    last
}

/// Returns true for a state that no pass changes.
fn is_constant(state: &LoopState) -> bool {
    state.next == state.current
}
