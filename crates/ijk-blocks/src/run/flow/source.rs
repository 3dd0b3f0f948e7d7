//! Reads parts of operands for the workers that need them.

use super::message::{PartMessage, PartMessages};
use super::{LOOK, Quantum, StageState};
use crate::Error;
use crate::plan::{Need, Round};
use std::cell::Cell;
use std::collections::VecDeque;
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
            let horizon = least.get().saturating_add(reading.shared.window());
            while let Some(held) = capability.as_mut() {
                if reading.time >= horizon || reading.shared.failure.is_set() {
                    return;
                }
                match reading.next(horizon) {
                    Some(Ok(PartRead::Coming)) => return again.activate_after(LOOK),
                    Some(Ok(PartRead::Missing)) => {}
                    Some(Ok(PartRead::There(messages))) if messages.is_empty() => {}
                    Some(Ok(PartRead::There(messages))) => {
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
    /// The panels from this time on that are listed; their parts are asked for.
    panels: VecDeque<ListedPanel>,
    /// The last round that was listed.
    round: Rc<Round>,
}

/// A panel of a round.
struct ListedPanel {
    round: Rc<Round>,
    panel: usize,
    /// The only operand with parts for this panel, if there is one.
    alone: Option<usize>,
    /// Numbers of the round's needs that this worker reads for this panel, the next one last.
    left: Vec<usize>,
}

/// Outcome of reading a part.
enum PartRead {
    /// It was asked for, and is on its way.
    Coming,
    Missing,
    /// Messages for the other processes that need it.
    There(Vec<PartMessage>),
}

impl PartReader {
    fn new(shared: Arc<StageState>, place: usize) -> Self {
        Self { shared, place, time: 0, panels: VecDeque::new(), round: Rc::default() }
    }

    /// Appends the panels before `horizon` to the queue, and prefetches their parts.
    fn list(&mut self, horizon: u64) -> Result<(), Error> {
        let horizon = horizon.min(self.shared.job.schedule.times());
        while self.time + (self.panels.len() as u64) < horizon {
            let panel = self.listed(self.time + self.panels.len() as u64);
            for &number in panel.left.iter().rev() {
                self.request(&panel, number)?;
            }
            self.panels.push_back(panel);
        }
        Ok(())
    }

    fn listed(&mut self, time: u64) -> ListedPanel {
        let schedule = &self.shared.job.schedule;
        if schedule.ends(time).0 {
            self.round = Rc::new(schedule.round(time));
        }
        let round = Rc::clone(&self.round);
        let Some(panel) = schedule.panel(time) else {
            return ListedPanel { round, panel: 0, alone: None, left: Vec::new() };
        };
        let own = |&(n, need): &(usize, &Need)| {
            self.shared.reader(need, n, panel) == self.place
                && self.shared.may_be_there(need, panel)
        };
        let left = round.needs.iter().enumerate().filter(own).map(|(n, _)| n).rev().collect();
        let mut there = round.needs.iter().filter(|need| self.shared.may_be_there(need, panel));
        let first = there.next().map(|need| need.operand);
        let alone = first.filter(|&first| there.all(|need| need.operand == first));
        ListedPanel { round, panel, alone, left }
    }

    /// Asks for a part.
    fn request(&self, panel: &ListedPanel, number: usize) -> Result<(), Error> {
        let need = &panel.round.needs[number];
        let ranges = self.shared.stage().ranges(&need.at, panel.panel);
        if self.shared.stage().ends_before(need.operand, &ranges) {
            return Ok(());
        }
        self.shared.computer().request(need.operand, &ranges)
    }

    /// Goes on to the next time, if there is one.
    fn advance(&mut self) -> bool {
        self.time += 1;
        self.panels.pop_front();
        self.time < self.shared.job.schedule.times()
    }

    /// The next part of this time.
    fn next(&mut self, horizon: u64) -> Option<Result<PartRead, Error>> {
        if let Err(error) = self.list(horizon) {
            return Some(Err(error));
        }
        let number = self.panels.front_mut()?.left.pop()?;
        let read = self.read(number);
        if let (Ok(PartRead::Coming), Some(panel)) = (&read, self.panels.front_mut()) {
            panel.left.push(number);
        }
        Some(read)
    }

    fn read(&self, number: usize) -> Result<PartRead, Error> {
        let Some(ListedPanel { round, panel, alone, .. }) = self.panels.front() else {
            return Ok(PartRead::Missing);
        };
        let (need, panel) = (&round.needs[number], *panel);
        let StageState { job, cache: panel_cache, progress, .. } = &*self.shared;
        let ranges = self.shared.stage().ranges(&need.at, panel);
        if self.shared.stage().ends_before(need.operand, &ranges) {
            return Ok(PartRead::Missing);
        }
        let computer = self.shared.computer();
        if *alone == Some(need.operand) && computer.is_known_to_be_harmless(need.operand, &ranges) {
            computer.forget(need.operand, &ranges);
            return Ok(PartRead::Missing);
        }
        if !computer.is_there(need.operand, &ranges) {
            job.kernels.goes_on()?;
            return Ok(PartRead::Coming);
        }
        let Some(part) = computer.operand(need.operand, &ranges)? else {
            return Ok(PartRead::Missing);
        };
        let others = need.workers.iter().filter(|&&place| place != self.place).count();
        progress.shared(others * part.bytes());
        let own = job.schedule.process(self.place);
        let receivers = job.schedule.receivers(need, own, number + panel);
        progress.moved(receivers.len() * part.bytes());
        panel_cache.put(self.time, number, part.clone());
        let message =
            |place| PartMessage { to: job.subset.worker(place), need: number, part: part.clone() };
        Ok(PartRead::There(receivers.into_iter().map(message).collect()))
    }
}
