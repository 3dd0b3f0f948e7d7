//! Folds panels into the blocks that a worker owns, and delivers these.

use super::parcel::{ByWorker, Parcel, Parcels};
use super::{Quantum, Shared};
use crate::plan::Place;
use crate::run::part::Part;
use crate::{Block, Error};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;

/// The operator of a worker. Its output carries nothing: only how far it is.
pub(super) fn multiply<'scope>(
    parcels: Stream<'scope, u64, Parcels>,
    shared: Arc<Shared>,
) -> Stream<'scope, u64, Parcels> {
    let scope = parcels.scope();
    let mut builder = OperatorBuilder::new("multiply".into(), scope);
    let address = builder.operator_info().address;
    let again = scope.activator_for(Rc::clone(&address));
    let mut input = builder.new_input(parcels, DistributorPact(|_| ByWorker));
    let (_, stream) = builder.new_output::<Parcels>();
    let mut folding = Folding::new(shared, scope.index());
    builder.build(move |mut capabilities| {
        let mut capability = capabilities.pop();
        move |frontiers| {
            input.for_each(|stamp, parcels| {
                // Sources send at one time each.
                stamp.least().into_iter().for_each(|&time| folding.receive(time, parcels));
            });
            let quantum = Quantum::begin();
            while let Some(held) = capability.as_mut() {
                let waits = frontiers[0].less_equal(&folding.time);
                if waits || folding.shared.failure.is_set() {
                    return;
                }
                match folding.step() {
                    Err(error) => return folding.shared.failure.set(error),
                    Ok(Progress::Same) => {}
                    Ok(Progress::Next) => held.downgrade(&folding.time),
                    Ok(Progress::End) => capability = None,
                }
                if quantum.is_over() {
                    return again.activate();
                }
            }
        }
    });
    stream
}

/// What a step led to.
enum Progress {
    Same,
    Next,
    End,
}

/// What a worker has to fold.
struct Folding {
    shared: Arc<Shared>,
    worker: usize,
    time: u64,
    /// Blocks that this time's panel is still to be folded into.
    places: Vec<Place>,
    /// Parts by the time at which they are needed, by operand and line.
    parts: HashMap<u64, HashMap<(usize, usize), Part>>,
    /// Blocks of this round, as far as they are.
    blocks: HashMap<Vec<usize>, Arc<Block>>,
}

impl Folding {
    fn new(shared: Arc<Shared>, worker: usize) -> Self {
        let (parts, blocks) = (HashMap::new(), HashMap::new());
        let mut folding = Self { shared, worker, time: 0, places: Vec::new(), parts, blocks };
        folding.list();
        folding
    }

    fn list(&mut self) {
        let schedule = &self.shared.job.schedule;
        if self.time < schedule.times() {
            self.places = schedule.places(self.worker, self.time);
            self.places.reverse();
        }
    }

    fn receive(&mut self, time: u64, parcels: &mut Parcels) {
        let parts = self.parts.entry(time).or_default();
        for Parcel { operand, line, part, .. } in parcels.0.drain(..) {
            parts.insert((operand, line), part);
        }
    }

    /// Folds into one block, or goes to the next time.
    fn step(&mut self) -> Result<Progress, Error> {
        if let Some(place) = self.places.pop() {
            self.fold(&place)?;
            return Ok(Progress::Same);
        }
        self.parts.remove(&self.time);
        self.time += 1;
        self.list();
        match self.time < self.shared.job.schedule.times() {
            true => Ok(Progress::Next),
            false => Ok(Progress::End),
        }
    }

    /// Folds the time's panel into a block; the last one completes it.
    fn fold(&mut self, Place { at, lines }: &Place) -> Result<(), Error> {
        let (panel, is_last) = self.shared.job.schedule.panel(self.time);
        let mut block = self.blocks.remove(at);
        if let Some(panel) = panel {
            let parts = self.parts.get(&self.time);
            let part =
                |operand: usize| Some(parts?.get(&(operand, lines[operand.min(1)]))?.clone());
            let parts = (0..self.shared.stage().operands.len()).map(part).collect();
            let ranges = self.shared.stage().ranges(at, panel);
            block = self.shared.computer().add(block, parts, &ranges)?;
        }
        if is_last {
            return self.shared.deliver(at, block);
        }
        if let Some(block) = block {
            self.blocks.insert(at.clone(), block);
        }
        Ok(())
    }
}
