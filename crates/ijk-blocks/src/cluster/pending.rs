//! Connections whose handshake is in progress.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Greatest number of incoming handshakes; the oldest is shut down for the next.
pub(super) const MOST: usize = 64;

/// Connections whose handshake is in progress. Shutting one down ends the thread that reads it.
#[derive(Debug, Default)]
pub(super) struct PendingHandshakes(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// By number, so the oldest first; the flag marks incoming connections.
    streams: BTreeMap<u64, (Arc<TcpStream>, bool)>,
    closed: bool,
}

/// Registration of a connection.
#[derive(Debug)]
pub(super) struct Ticket(u64);

impl PendingHandshakes {
    /// Registers an outgoing connection; `None` after [`close`](Self::close).
    pub(super) fn call(&self, stream: &Arc<TcpStream>) -> Option<Ticket> {
        self.add(stream, false)
    }

    /// Registers an incoming connection; shuts the oldest one down if there are too many.
    pub(super) fn admit(&self, stream: &Arc<TcpStream>) -> Option<Ticket> {
        let mut open = self.open();
        let incoming = open.streams.iter().filter(|(_, (_, is_incoming))| *is_incoming);
        let incoming: Vec<u64> = incoming.map(|(&n, _)| n).collect();
        if incoming.len() >= MOST
            && let Some((oldest, _)) = open.streams.remove(&incoming[0])
        {
            shut(&oldest);
        }
        drop(open);
        self.add(stream, true)
    }

    /// Removes a connection; false if it was shut down.
    pub(super) fn done(&self, ticket: Ticket) -> bool {
        self.open().streams.remove(&ticket.0).is_some()
    }

    /// Shuts all of them down, and refuses later ones.
    pub(super) fn close(&self) {
        let mut open = self.open();
        open.closed = true;
        std::mem::take(&mut open.streams).values().for_each(|(stream, _)| shut(stream));
    }

    fn add(&self, stream: &Arc<TcpStream>, is_incoming: bool) -> Option<Ticket> {
        let mut open = self.open();
        if open.closed {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.streams.insert(number, (Arc::clone(stream), is_incoming));
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
        let (pending, mut ends) = (PendingHandshakes::default(), Vec::new());
        let mut connect = || {
            let stream = Arc::new(TcpStream::connect(address).unwrap());
            ends.push(listener.accept().unwrap().0);
            stream
        };
        let own = connect();
        let called = pending.call(&own).unwrap();
        let streams: Vec<_> = (0..MOST + 2).map(|_| connect()).collect();
        let tickets: Vec<_> = streams.iter().map(|stream| pending.admit(stream).unwrap()).collect();
        let kept: Vec<bool> = tickets.into_iter().map(|ticket| pending.done(ticket)).collect();
        assert_eq!(kept.iter().position(|&kept| kept), Some(2));
        assert!(kept[2..].iter().all(|&kept| kept) && pending.done(called));
        assert_eq!(ends[1].read(&mut [0]).unwrap(), 0, "the first caller waits");
        pending.close();
        assert!(pending.call(&own).is_none());
    }
}
