//! Messages of workers to other processes.

use crate::run::part::Part;
use timely::Accountable;
use timely::communication::Push;
use timely::dataflow::channels::Message;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::progress::Stamp;

/// A part of an operand, for all workers of a process who need it.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    /// The one of them that receives it.
    pub(super) to: usize,
    /// The number among the round's needs.
    pub(super) need: usize,
    pub(super) part: Part,
}

/// Parcels that go together.
#[derive(Clone, Debug, Default)]
pub(super) struct Parcels(pub(super) Vec<Parcel>);

impl Accountable for Parcels {
    fn record_count(&self) -> i64 {
        self.0.len() as i64
    }
}

/// Hands each parcel to its worker.
pub(super) struct ByWorker;

impl Distributor<Parcels> for ByWorker {
    fn partition<T: Clone, P: Push<Message<T, Parcels>>>(
        &mut self,
        parcels: &mut Parcels,
        stamp: &Stamp<T>,
        workers: &mut [P],
    ) {
        for parcel in parcels.0.drain(..) {
            let to = parcel.to;
            Message::push_at(&mut Parcels(vec![parcel]), stamp.clone(), &mut workers[to]);
        }
    }

    fn flush<T: Clone, P: Push<Message<T, Parcels>>>(&mut self, _: &Stamp<T>, _: &mut [P]) {}
}
