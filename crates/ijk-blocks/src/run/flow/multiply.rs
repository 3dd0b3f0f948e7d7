//! Receives parts from other processes, folds panels into the blocks that a worker owns, and delivers these.

use super::message::{ByWorker, PartMessage, PartMessages};
use super::{LOOK, Quantum, StageState};
use crate::plan::{Need, Place};
use crate::run::sending::Sending;
use crate::{Block, Error};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;

/// The operator of a worker. Its output is empty, and only its frontier is observed.
pub(super) fn multiply<'scope>(
    messages: Stream<'scope, u64, PartMessages>,
    shared: Arc<StageState>,
) -> Stream<'scope, u64, PartMessages> {
    let scope = messages.scope();
    let mut builder = OperatorBuilder::new("multiply".into(), scope);
    let address = builder.operator_info().address;
    let again = scope.activator_for(Rc::clone(&address));
    let mut input = builder.new_input(messages, DistributorPact(|_| ByWorker));
    let (_, stream) = builder.new_output::<PartMessages>();
    let place = shared.job.subset.place(scope.index());
    let mut folder = BlockFolder::new(shared, place.unwrap_or_default());
    builder.build(move |mut capabilities| {
        let mut capability = capabilities.pop().filter(|_| place.is_some());
        move |frontiers| {
            input.for_each(|stamp, messages| {
                // Sources send at one time each.
                stamp.least().into_iter().for_each(|&time| folder.receive(time, messages));
            });
            let quantum = Quantum::begin();
            while let Some(held) = capability.as_mut() {
                let waits = frontiers[0].less_equal(&folder.time);
                if waits || folder.shared.failure.is_set() {
                    return;
                }
                match folder.step() {
                    Err(error) => return folder.shared.failure.set(error),
                    Ok(FoldStep::Same) => {}
                    Ok(FoldStep::Wait) => return again.activate_after(LOOK),
                    Ok(FoldStep::Next) => held.downgrade(&folder.time),
                    Ok(FoldStep::End) => capability = None,
                }
                if quantum.is_over() {
                    return again.activate();
                }
            }
        }
    });
    stream
}

/// Outcome of a step.
enum FoldStep {
    Same,
    /// Blocks have to be stored first.
    Wait,
    Next,
    End,
}

/// Work of a worker: the blocks of a round and their panels.
struct BlockFolder {
    shared: Arc<StageState>,
    /// Position of the worker in the schedule.
    place: usize,
    time: u64,
    /// This round's blocks.
    places: Vec<Place>,
    /// Sparse only: for each of the round's needs, the numbers of the blocks that are computed from it.
    users: Option<Vec<(Need, Vec<usize>)>>,
    /// The numbers of blocks to which this time's panel may add something.
    now: Vec<usize>,
    /// Number of blocks of `now` that have been folded.
    done: usize,
    /// Number of blocks of the round that have been delivered.
    delivered: usize,
    /// Operations of the round so far.
    operations: u64,
    /// Blocks of this round, as computed so far.
    blocks: HashMap<Vec<usize>, Arc<Block>>,
    /// Blocks of this round and of those before that are on their way.
    sending: Sending,
    /// Most blocks in memory: those of the largest round, and some more on their way.
    room: usize,
}

impl BlockFolder {
    fn new(shared: Arc<StageState>, place: usize) -> Self {
        let (places, blocks) = (Vec::new(), HashMap::new());
        let (users, now) = (None, Vec::new());
        let (time, done, delivered, operations) = (0, 0, 0, 0);
        let (sending, room) = (Sending::default(), 0);
        let mut folder = Self {
            shared,
            place,
            time,
            places,
            users,
            now,
            done,
            delivered,
            operations,
            blocks,
            sending,
            room,
        };
        folder.list();
        folder
    }

    fn list(&mut self) {
        let shared = Arc::clone(&self.shared);
        let schedule = &shared.job.schedule;
        self.done = 0;
        if self.time >= schedule.times() {
            return;
        }
        if schedule.ends(self.time).0 {
            let mut round = schedule.round(self.time);
            self.places = round.places.swap_remove(self.place);
            (self.delivered, self.operations) = (0, 0);
            let workers = schedule.workers().max(1) as u64;
            let more = (shared.job.ahead.blocks / workers) as usize;
            self.room = self.room.max(self.places.len() + more);
            self.users = shared.job.sparse.is_some().then(|| users(round.needs, &self.places));
            self.now = (0..self.places.len()).collect();
        }
        if let (Some(users), Some(panel)) = (&self.users, schedule.panel(self.time)) {
            let here = users.iter().filter(|(need, _)| shared.is_there(need, panel));
            self.now = here.flat_map(|(_, users)| users).copied().collect();
            self.now.sort_unstable();
            self.now.dedup();
        }
    }

    fn receive(&self, time: u64, messages: &mut PartMessages) {
        for PartMessage { need, part, .. } in messages.0.drain(..) {
            self.shared.cache.put(time, need, part);
        }
    }

    /// Folds into one block, or delivers one, or goes on to the next time.
    fn step(&mut self) -> Result<FoldStep, Error> {
        if let Some(&number) = self.now.get(self.done) {
            if !self.has_room(number)? {
                return Ok(FoldStep::Wait);
            }
            self.done += 1;
            self.fold(number)?;
            return Ok(FoldStep::Same);
        }
        if self.shared.job.schedule.ends(self.time).1 && self.delivered < self.places.len() {
            if !self.has_room(self.delivered)? {
                return Ok(FoldStep::Wait);
            }
            self.delivered += 1;
            self.deliver(self.delivered - 1)?;
            return Ok(FoldStep::Same);
        }
        if self.time + 1 >= self.shared.job.schedule.times() {
            self.sending.collect(&self.shared.progress)?;
            if self.sending.len() > 0 {
                self.shared.job.kernels.goes_on()?;
                return Ok(FoldStep::Wait);
            }
        }
        self.shared.cache.leave(self.time);
        self.time += 1;
        self.list();
        match self.time < self.shared.job.schedule.times() {
            true => Ok(FoldStep::Next),
            false => Ok(FoldStep::End),
        }
    }

    /// Returns true if there is memory for a block of the round: until those before are stored, they take some.
    fn has_room(&mut self, number: usize) -> Result<bool, Error> {
        self.sending.collect(&self.shared.progress)?;
        let is_new = !self.blocks.contains_key(&self.places[number].at);
        let is_full = self.sending.len() > 0 && self.sending.len() + self.blocks.len() >= self.room;
        self.shared.job.kernels.goes_on()?;
        Ok(!(is_new && is_full))
    }

    /// Folds the time's panel into a block.
    fn fold(&mut self, number: usize) -> Result<(), Error> {
        let Some(panel) = self.shared.job.schedule.panel(self.time) else { return Ok(()) };
        let Place { at, needs } = &self.places[number];
        let block = self.blocks.remove(at);
        let part = |&need: &usize| self.shared.cache.get(self.time, need);
        let ranges = self.shared.stage().ranges(at, panel);
        let parts = needs.iter().map(part).collect();
        if let Some(block) = self.shared.computer().add(block, parts, &ranges)? {
            self.blocks.insert(at.clone(), block);
        }
        let operations = self.shared.stage().operations_at(&ranges);
        self.shared.progress.operated(operations);
        self.operations += operations;
        Ok(())
    }

    /// Delivers a block of the round, all of whose panels are folded.
    fn deliver(&mut self, number: usize) -> Result<(), Error> {
        let at = &self.places[number].at;
        let sent = self.shared.send(at, self.blocks.remove(at))?;
        self.sending.add(sent, &self.shared.progress);
        if self.users.is_some() && self.delivered == self.places.len() {
            // Skipped panels count as done.
            let all = self.places.iter().map(|place| self.shared.stage().operations(&place.at));
            let all = all.fold(0u64, u64::saturating_add);
            self.shared.progress.operated(all.saturating_sub(self.operations));
        }
        Ok(())
    }
}

/// For each need, the numbers of blocks that are computed from it.
fn users(needs: Vec<Need>, places: &[Place]) -> Vec<(Need, Vec<usize>)> {
    let mut users: Vec<(Need, Vec<usize>)> =
        needs.into_iter().map(|need| (need, Vec::new())).collect();
    for (number, place) in places.iter().enumerate() {
        place.needs.iter().for_each(|&need| users[need].1.push(number));
    }
    users.retain(|(_, users)| !users.is_empty());
    users
}
