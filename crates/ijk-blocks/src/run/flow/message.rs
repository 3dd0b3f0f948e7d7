//! Messages of workers to other processes.

use crate::run::part::Part;
use timely::Accountable;
use timely::communication::Push;
use timely::dataflow::channels::Message;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::progress::Stamp;

/// A part of an operand, for all workers of a process that need it.
#[derive(Clone, Debug)]
pub(super) struct PartMessage {
    /// The worker that receives it.
    pub(super) to: usize,
    /// Number of the part among the round's needs.
    pub(super) need: usize,
    pub(super) part: Part,
}

/// Container of messages.
#[derive(Clone, Debug, Default)]
pub(super) struct PartMessages(pub(super) Vec<PartMessage>);

impl Accountable for PartMessages {
    fn record_count(&self) -> i64 {
        self.0.len() as i64
    }
}

/// Routes each message to its worker.
pub(super) struct ByWorker;

impl Distributor<PartMessages> for ByWorker {
    fn partition<T: Clone, P: Push<Message<T, PartMessages>>>(
        &mut self,
        messages: &mut PartMessages,
        stamp: &Stamp<T>,
        workers: &mut [P],
    ) {
        for message in messages.0.drain(..) {
            let to = message.to;
            Message::push_at(&mut PartMessages(vec![message]), stamp.clone(), &mut workers[to]);
        }
    }

    fn flush<T: Clone, P: Push<Message<T, PartMessages>>>(&mut self, _: &Stamp<T>, _: &mut [P]) {}
}
