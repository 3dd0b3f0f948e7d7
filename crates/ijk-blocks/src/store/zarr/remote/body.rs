//! Bytes of an object as they arrive.

use super::super::error::ZarrError;
use super::client::Client;
use bytes::{Buf, Bytes};
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::GetResult;
use std::collections::VecDeque;
use std::io::{self, Read};

/// Bytes that are received together, and the most that are in memory and not yet read.
const PIECE: usize = 1 << 20;

type Stream = BoxStream<'static, object_store::Result<Bytes>>;

/// A reader of an object: no more of it is in memory than a piece.
pub(super) struct Body {
    client: Client,
    /// None after its end.
    stream: Option<Stream>,
    received: VecDeque<Bytes>,
}

impl Body {
    pub(super) fn new(client: Client, found: GetResult) -> Self {
        Self { client, stream: Some(found.into_stream()), received: VecDeque::new() }
    }

    /// The same with all of it received, unless it is longer than `most`.
    pub(super) async fn received(
        client: Client,
        found: GetResult,
        most: u64,
    ) -> object_store::Result<Self> {
        let is_long = found.meta.size > most;
        let mut body = Self::new(client, found);
        if !is_long && let Some(stream) = body.stream.take() {
            body.received = stream.try_collect().await?;
        }
        Ok(body)
    }

    /// Receives the next piece.
    fn receive(&mut self) -> Result<(), ZarrError> {
        let Some(stream) = self.stream.take() else { return Ok(()) };
        let (piece, rest) = self.client.run(piece(stream))?;
        self.received.extend(piece.map_err(|error| self.client.error(&error))?);
        self.stream = rest;
        Ok(())
    }
}

/// The next piece of a stream, and what is left of it.
async fn piece(mut stream: Stream) -> (object_store::Result<Vec<Bytes>>, Option<Stream>) {
    let (mut received, mut count) = (Vec::new(), 0);
    while count < PIECE {
        match stream.next().await {
            Some(Ok(bytes)) => {
                count += bytes.len();
                received.push(bytes);
            }
            Some(Err(error)) => return (Err(error), None),
            None => return (Ok(received), None),
        }
    }
    (Ok(received), Some(stream))
}

impl Read for Body {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.received.is_empty() && self.stream.is_some() {
            self.receive().map_err(io::Error::other)?;
        }
        let Some(first) = self.received.front_mut() else { return Ok(0) };
        let count = first.len().min(out.len());
        first.copy_to_slice(&mut out[..count]);
        if first.is_empty() {
            self.received.pop_front();
        }
        Ok(count)
    }
}
