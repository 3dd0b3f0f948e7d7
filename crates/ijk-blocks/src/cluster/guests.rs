//! Connections on which greetings are under way.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many callers may be greeting at once; the oldest makes room for the next.
pub(super) const MOST: usize = 64;

/// Connections whose handshake is in progress. Shutting one down ends the thread that reads it.
#[derive(Debug, Default)]
pub(super) struct Greetings(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// By number, so the oldest first; and whether the other side called.
    streams: BTreeMap<u64, (Arc<TcpStream>, bool)>,
    closed: bool,
}

/// A connection that [`Greetings`] knows.
#[derive(Debug)]
pub(super) struct Ticket(u64);

impl Greetings {
    /// A connection that this process opened; `None` if there are to be no more.
    pub(super) fn call(&self, stream: &Arc<TcpStream>) -> Option<Ticket> {
        self.add(stream, false)
    }

    /// A connection that somebody else opened, for which the oldest of too many makes room.
    pub(super) fn admit(&self, stream: &Arc<TcpStream>) -> Option<Ticket> {
        let mut open = self.open();
        let guests = open.streams.iter().filter(|(_, (_, is_guest))| *is_guest);
        let guests: Vec<u64> = guests.map(|(&n, _)| n).collect();
        if guests.len() >= MOST
            && let Some((oldest, _)) = open.streams.remove(&guests[0])
        {
            shut(&oldest);
        }
        drop(open);
        self.add(stream, true)
    }

    /// Takes a connection out; false if it was shut.
    pub(super) fn done(&self, ticket: Ticket) -> bool {
        self.open().streams.remove(&ticket.0).is_some()
    }

    /// Shuts all of them, and those that come.
    pub(super) fn close(&self) {
        let mut open = self.open();
        open.closed = true;
        std::mem::take(&mut open.streams).values().for_each(|(stream, _)| shut(stream));
    }

    fn add(&self, stream: &Arc<TcpStream>, is_guest: bool) -> Option<Ticket> {
        let mut open = self.open();
        if open.closed {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.streams.insert(number, (Arc::clone(stream), is_guest));
        Some(Ticket(number))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shut(stream: &TcpStream) {
    // It may be broken already.
    stream.shutdown(Shutdown::Both).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn the_oldest_caller_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (greetings, mut ends) = (Greetings::default(), Vec::new());
        let mut connect = || {
            let stream = Arc::new(TcpStream::connect(address).unwrap());
            ends.push(listener.accept().unwrap().0);
            stream
        };
        let own = connect();
        let called = greetings.call(&own).unwrap();
        let streams: Vec<_> = (0..MOST + 2).map(|_| connect()).collect();
        let tickets: Vec<_> =
            streams.iter().map(|stream| greetings.admit(stream).unwrap()).collect();
        let kept: Vec<bool> = tickets.into_iter().map(|ticket| greetings.done(ticket)).collect();
        assert_eq!(kept.iter().position(|&kept| kept), Some(2));
        assert!(kept[2..].iter().all(|&kept| kept) && greetings.done(called));
        assert_eq!(ends[1].read(&mut [0]).unwrap(), 0, "the first caller waits");
        greetings.close();
        assert!(greetings.call(&own).is_none());
    }
}
