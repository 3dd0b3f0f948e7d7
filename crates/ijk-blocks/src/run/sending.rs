//! Blocks that are on their way to a sink.

use crate::Error;
use crate::progress::Progress;
use crate::store::Outgoing;

/// Blocks whose sink has not stored them yet.
#[derive(Debug, Default)]
pub(super) struct Sending(Vec<Box<dyn Outgoing>>);

impl Sending {
    /// Number of blocks that are on their way.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a block; one that is stored already counts as computed at once.
    pub(super) fn add(&mut self, outgoing: Option<Box<dyn Outgoing>>, progress: &Progress) {
        match outgoing {
            Some(outgoing) => self.0.push(outgoing),
            None => progress.computed(),
        }
    }

    /// Removes those that have arrived.
    pub(super) fn collect(&mut self, progress: &Progress) -> Result<(), Error> {
        let (over, going) =
            std::mem::take(&mut self.0).into_iter().partition(|sent| sent.is_over());
        self.0 = going;
        let over: Vec<Box<dyn Outgoing>> = over;
        for sent in over {
            sent.end()?;
            progress.computed();
        }
        Ok(())
    }

    /// Waits until at most `most` blocks are in flight.
    pub(super) fn shrink(&mut self, most: usize, progress: &Progress) -> Result<(), Error> {
        self.collect(progress)?;
        while self.0.len() > most {
            self.0.remove(0).end()?;
            progress.computed();
        }
        Ok(())
    }
}
