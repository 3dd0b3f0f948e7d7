//! Receives parts from other processes, folds panels into the blocks that a worker owns, and delivers these.

use super::parcel::{ByWorker, Parcel, Parcels};
use super::{Quantum, Shared};
use crate::plan::Place;
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
    let place = shared.job.crew.place(scope.index());
    let mut folding = Folding::new(shared, place.unwrap_or_default());
    builder.build(move |mut capabilities| {
        let mut capability = capabilities.pop().filter(|_| place.is_some());
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
    /// The place of the worker in the schedule.
    place: usize,
    time: u64,
    /// This round's blocks.
    places: Vec<Place>,
    /// How many of them have this time's panel.
    done: usize,
    /// Blocks of this round, as far as they are.
    blocks: HashMap<Vec<usize>, Arc<Block>>,
}

impl Folding {
    fn new(shared: Arc<Shared>, place: usize) -> Self {
        let (places, blocks) = (Vec::new(), HashMap::new());
        let mut folding = Self { shared, place, time: 0, places, done: 0, blocks };
        folding.list();
        folding
    }

    fn list(&mut self) {
        let schedule = &self.shared.job.schedule;
        self.done = 0;
        if self.time < schedule.times() && schedule.ends(self.time).0 {
            self.places = schedule.round(self.time).places.swap_remove(self.place);
        }
    }

    fn receive(&self, time: u64, parcels: &mut Parcels) {
        for Parcel { need, part, .. } in parcels.0.drain(..) {
            self.shared.shelf.put(time, need, part);
        }
    }

    /// Folds into one block, or goes to the next time.
    fn step(&mut self) -> Result<Progress, Error> {
        if let Some(place) = self.places.get(self.done).cloned() {
            self.done += 1;
            self.fold(&place)?;
            return Ok(Progress::Same);
        }
        self.shared.shelf.leave(self.time);
        self.time += 1;
        self.list();
        match self.time < self.shared.job.schedule.times() {
            true => Ok(Progress::Next),
            false => Ok(Progress::End),
        }
    }

    /// Folds the time's panel into a block; the last one completes it.
    fn fold(&mut self, Place { at, needs }: &Place) -> Result<(), Error> {
        let schedule = &self.shared.job.schedule;
        let mut block = self.blocks.remove(at);
        if let Some(panel) = schedule.panel(self.time) {
            let part = |&need: &usize| self.shared.shelf.get(self.time, need);
            let ranges = self.shared.stage().ranges(at, panel);
            let parts = needs.iter().map(part).collect();
            block = self.shared.computer().add(block, parts, &ranges)?;
            self.shared.progress.operated(self.shared.stage().operations_at(&ranges));
        }
        if schedule.ends(self.time).1 {
            return self.shared.deliver(at, block);
        }
        if let Some(block) = block {
            self.blocks.insert(at.clone(), block);
        }
        Ok(())
    }
}
