//! Reads parts of operands for the workers that need them.

use super::message::{PartMessage, PartMessages};
use super::{Quantum, StageState, WINDOW};
use crate::Error;
use crate::plan::{Need, Round};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::{Scope, Stream};
use timely::scheduling::activate::Activator;

/// The source of a worker, and its activator for when the window moves. `least` is the frontier.
pub(super) fn source<'scope>(
    scope: Scope<'scope, u64>,
    shared: Arc<StageState>,
    least: Rc<Cell<u64>>,
) -> (Stream<'scope, u64, PartMessages>, Activator) {
    let mut builder = OperatorBuilder::new("read".into(), scope);
    let address = builder.operator_info().address;
    let again = scope.activator_for(Rc::clone(&address));
    let (mut output, stream) = builder.new_output::<PartMessages>();
    let place = shared.job.subset.place(scope.index());
    let mut reading = PartReader::new(shared, place.unwrap_or_default());
    builder.build(move |mut capabilities| {
        let mut capability = capabilities.pop().filter(|_| place.is_some());
        move |_| {
            let quantum = Quantum::begin();
            let horizon = least.get().saturating_add(WINDOW);
            while let Some(held) = capability.as_mut() {
                if reading.time >= horizon || reading.shared.failure.is_set() {
                    return;
                }
                match reading.next() {
                    Some(Ok(messages)) if messages.is_empty() => {}
                    Some(Ok(messages)) => {
                        output.activate().give(&*held, &mut PartMessages(messages));
                    }
                    Some(Err(error)) => return reading.shared.failure.set(error),
                    None if reading.advance() => held.downgrade(&reading.time),
                    None => capability = None,
                }
                if quantum.is_over() {
                    return again.activate();
                }
            }
        }
    });
    (stream, scope.activator_for(address))
}

/// Parts that a worker still has to read.
struct PartReader {
    shared: Arc<StageState>,
    /// Position of the worker in the schedule.
    place: usize,
    time: u64,
    round: Round,
    /// The only operand with parts for this panel, if there is one.
    alone: Option<usize>,
    /// Numbers of the round's needs that this worker reads for this panel, the next one last.
    left: Vec<usize>,
}

impl PartReader {
    fn new(shared: Arc<StageState>, place: usize) -> Self {
        let (round, alone, left) = (Round::default(), None, Vec::new());
        let mut reading = Self { shared, place, time: 0, round, alone, left };
        reading.list();
        reading
    }

    fn list(&mut self) {
        let schedule = &self.shared.job.schedule;
        if self.time >= schedule.times() {
            return;
        }
        if schedule.ends(self.time).0 {
            self.round = schedule.round(self.time);
        }
        let Some(panel) = schedule.panel(self.time) else { return };
        let own = |&(n, need): &(usize, &Need)| {
            self.shared.reader(need, n, panel) == self.place
                && self.shared.may_be_there(need, panel)
        };
        self.left = self.round.needs.iter().enumerate().filter(own).map(|(n, _)| n).collect();
        self.left.reverse();
        let needs = self.round.needs.iter();
        let mut there = needs.filter(|need| self.shared.may_be_there(need, panel));
        let first = there.next().map(|need| need.operand);
        self.alone = first.filter(|&first| there.all(|need| need.operand == first));
    }

    /// Goes on to the next time, if there is one.
    fn advance(&mut self) -> bool {
        self.time += 1;
        self.list();
        self.time < self.shared.job.schedule.times()
    }

    /// The next part of this time, for each other process that needs it; no message if it is missing.
    fn next(&mut self) -> Option<Result<Vec<PartMessage>, Error>> {
        let need = self.left.pop()?;
        Some(self.read(need))
    }

    fn read(&self, number: usize) -> Result<Vec<PartMessage>, Error> {
        let need = &self.round.needs[number];
        let StageState { job, cache: panel_cache, progress, .. } = &*self.shared;
        let panel = job.schedule.panel(self.time).unwrap_or_default();
        let ranges = self.shared.stage().ranges(&need.at, panel);
        if self.shared.stage().ends_before(need.operand, &ranges) {
            return Ok(Vec::new());
        }
        let computer = self.shared.computer();
        if self.alone == Some(need.operand)
            && computer.is_known_to_be_harmless(need.operand, &ranges)
        {
            return Ok(Vec::new());
        }
        let Some(part) = computer.operand(need.operand, &ranges)? else {
            return Ok(Vec::new());
        };
        let others = need.workers.iter().filter(|&&place| place != self.place).count();
        progress.shared(others * part.bytes());
        let own = job.schedule.process(self.place);
        let receivers = job.schedule.receivers(need, own, number + panel);
        progress.moved(receivers.len() * part.bytes());
        panel_cache.put(self.time, number, part.clone());
        let message =
            |place| PartMessage { to: job.subset.worker(place), need: number, part: part.clone() };
        Ok(receivers.into_iter().map(message).collect())
    }
}
