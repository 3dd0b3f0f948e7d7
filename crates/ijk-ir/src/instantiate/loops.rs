//! Shapes of the states, rows and results of loops.

use super::extents::{Attempt, NamedExtent, Resource, Solver, UNKNOWN};
use super::{bounds, messages};
use crate::core::{ArrayId, Iteration, LoopState, Pin, Swept};

impl Solver<'_> {
    /// The shapes of states and rows in a pass, as far as they are known: a state has the shape that it has before.
    pub(super) fn begin_loop(&mut self, own: &Iteration) -> Attempt {
        let errors = self.errors.len();
        let mut waits = Vec::new();
        for LoopState { before, current, .. } in &own.states {
            self.pass_on(*before, *current, 0, &mut waits);
        }
        for Swept { of, row } in &own.swept {
            self.pass_on(*of, *row, 1, &mut waits);
        }
        self.count_passes(own);
        match (self.errors.len() > errors, waits.is_empty()) {
            (true, _) => Attempt::Failed,
            (_, true) => Attempt::Solved,
            (_, false) => Attempt::Waits(waits),
        }
    }

    /// Checks that states keep their shapes; the results have these, with an axis of passes if all are kept.
    pub(super) fn end_loop(&mut self, at: usize, own: &Iteration) -> Attempt {
        let errors = self.errors.len();
        let passes = self.count_passes(own);
        let mut waits = Vec::new();
        match passes {
            Some(passes) => self.passes[at] = passes,
            None => {
                waits.extend(own.swept.iter().map(|swept| Resource::Array(swept.of)));
                if let Some(Pin::Name(name, _)) = own.passes {
                    waits.push(Resource::Name(name));
                }
            }
        }
        for (n, state) in own.states.iter().enumerate() {
            self.result(own, state, passes);
            let known = |id: ArrayId| self.shape(id).filter(|shape| !shape.contains(&UNKNOWN));
            match (known(state.current), known(state.next)) {
                (Some(current), Some(next)) if current == next => {}
                (Some(current), Some(next)) => {
                    let shapes = (current, next);
                    self.errors.push(messages::state_shape(self.program, own, n, shapes));
                }
                _ => waits.extend([state.current, state.next].map(Resource::Array)),
            }
        }
        match (self.errors.len() > errors, waits.is_empty()) {
            (true, _) => Attempt::Failed,
            (_, true) => Attempt::Solved,
            (_, false) => Attempt::Waits(waits),
        }
    }

    /// The shape of a state behind a loop, as far as it is known.
    fn result(&mut self, own: &Iteration, state: &LoopState, passes: Option<u64>) {
        let Some(shape) = self.shape(state.current) else { return };
        let first = own.all.then_some(passes.unwrap_or(UNKNOWN));
        let shape: Vec<u64> = first.into_iter().chain(shape.iter().copied()).collect();
        let at = state.result.0 as usize;
        if self.shapes[at].as_ref() == Some(&shape) {
            return;
        }
        let known = !shape.contains(&UNKNOWN);
        if known && bounds::bytes(self.dtypes[at], &shape).is_none() {
            self.errors.push(messages::too_large(self.program, state.result, &shape));
        }
        self.shapes[at] = Some(shape);
        self.wake(Resource::Array(state.result));
    }

    /// Gives an array the shape of another, without its first axes; waits for what is not known.
    fn pass_on(&mut self, from: ArrayId, to: ArrayId, skipped: usize, waits: &mut Vec<Resource>) {
        let shape = self.shape(from).and_then(|shape| shape.get(skipped..)).map(<[u64]>::to_vec);
        if shape.as_ref().is_none_or(|shape| shape.contains(&UNKNOWN)) {
            waits.push(Resource::Array(from));
        }
        let known = &mut self.shapes[to.0 as usize];
        if shape.is_some() && *known != shape {
            *known = shape;
            self.wake(Resource::Array(to));
        }
    }

    /// The number of passes, if it is known. Braces and all swept arrays must agree.
    fn count_passes(&mut self, own: &Iteration) -> Option<u64> {
        let mut known: Vec<(u64, String)> = Vec::new();
        for Swept { of, .. } in &own.swept {
            let extent = self.shape(*of).and_then(|shape| shape.first().copied());
            if let Some(extent) = extent.filter(|extent| *extent != UNKNOWN) {
                known.push((
                    extent,
                    format!("axis 0 of {}", messages::array_text(self.program, *of)),
                ));
            }
        }
        match own.passes {
            Some(Pin::Number(passes, _)) => known.push((passes, "its braces".into())),
            Some(Pin::Name(name, place)) => match self.names[name as usize] {
                Some(named) => {
                    let text = &self.program.extent_names[name as usize];
                    known.push((named.extent, format!("the extent `{text}`")));
                }
                None => {
                    if let Some((extent, _)) = known.first() {
                        self.names[name as usize] = Some(NamedExtent { extent: *extent, place });
                        self.wake(Resource::Name(name));
                    }
                }
            },
            None => {}
        }
        let first = known.first()?;
        if let Some(other) = known.iter().find(|other| other.0 != first.0) {
            self.errors.push(messages::passes(self.program, own, first, other));
        }
        Some(first.0)
    }
}
