//! Objects on their way, while the thread that needs them computes.

use super::super::error::ZarrError;
use super::super::storage::{Object, Recording, Requested, Upload};
use super::body::Body;
use super::client::{Background, Client};
use super::error::is_no_object;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path as Location;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutOptions};
use std::fmt;
use std::sync::Arc;

/// Objects of more bytes are written in parts, since a request takes 5 GB at most, and each part is repeated alone.
const LARGE: usize = 512 << 20;
/// Bytes of such a part.
const PART: usize = 64 << 20;
/// Most parts of an object that are on their way at a time.
const PARTS: usize = 4;

/// Writes an object.
pub(super) async fn put(
    store: Arc<dyn ObjectStore>,
    at: Location,
    bytes: Bytes,
) -> object_store::Result<()> {
    if bytes.len() <= LARGE {
        return store.put_opts(&at, bytes.into(), PutOptions::default()).await.map(drop);
    }
    put_parts(&*store, &at, &bytes, PART).await
}

/// Writes an object in parts of a size, several at a time: they share its bytes, and take no more memory.
async fn put_parts(
    store: &dyn ObjectStore,
    at: &Location,
    bytes: &Bytes,
    part: usize,
) -> object_store::Result<()> {
    let mut upload = store.put_multipart(at).await?;
    let ranges = (0..bytes.len()).step_by(part);
    let parts = ranges.map(|start| bytes.slice(start..bytes.len().min(start + part)));
    let sent: Vec<_> = parts.map(|part| upload.put_part(part.into())).collect();
    let sent = stream::iter(sent).buffer_unordered(PARTS).try_collect::<()>().await;
    if let Err(error) = sent {
        // Parts that stay behind cost, but are no object.
        upload.abort().await.unwrap_or_default();
        return Err(error);
    }
    upload.complete().await.map(drop)
}

/// An object that comes.
pub(super) struct Download {
    client: Client,
    coming: Background<object_store::Result<(Body, u64)>>,
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download").finish_non_exhaustive()
    }
}

impl Download {
    pub(super) fn start(client: &Client, at: Location, most: u64) -> Result<Self, ZarrError> {
        let (store, own) = (client.store(), client.clone());
        let coming = client.queue(async move {
            let found = store.get(&at).await?;
            let length = found.meta.size;
            Ok::<_, object_store::Error>((Body::received(own, found, most).await?, length))
        })?;
        Ok(Self { client: client.clone(), coming })
    }
}

impl Requested for Download {
    fn is_there(&self) -> bool {
        self.coming.is_over()
    }

    fn open(self: Box<Self>) -> Result<Option<Object>, ZarrError> {
        match self.coming.wait()? {
            Ok((body, length)) => Ok(Some((Box::new(body), length))),
            Err(error) if is_no_object(&error) => Ok(None),
            Err(error) => Err(self.client.error(&error)),
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.coming.abort();
    }
}

/// A chunk that is written, and recorded after that.
pub(super) struct BackgroundPut {
    /// None when it is over.
    going: Option<Background<Result<(), ZarrError>>>,
}

impl fmt::Debug for BackgroundPut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundPut").finish_non_exhaustive()
    }
}

impl BackgroundPut {
    pub(super) fn start(
        client: &Client,
        at: Location,
        bytes: Bytes,
        record: Recording,
    ) -> Result<Self, ZarrError> {
        let (store, own) = (client.store(), client.clone());
        let going = client.queue(async move {
            put(store, at, bytes).await.map_err(|error| own.error(&error))?;
            record()
        })?;
        Ok(Self { going: Some(going) })
    }

    fn wait(&mut self) -> Result<(), ZarrError> {
        self.going.take().map_or(Ok(()), |going| going.wait()?)
    }
}

impl Upload for BackgroundPut {
    fn is_over(&self) -> bool {
        self.going.as_ref().is_none_or(Background::is_over)
    }

    fn end(mut self: Box<Self>) -> Result<(), ZarrError> {
        self.wait()
    }
}

/// When a run ends early, finished blocks stay, and nothing is written any more when it has ended.
impl Drop for BackgroundPut {
    fn drop(&mut self) {
        self.wait().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    #[test]
    fn parts_are_put_together_in_their_order() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let at = Location::from("a");
        for length in [1, 99, 100, 1234] {
            let store = InMemory::new();
            let bytes = Bytes::from_iter((0..length).map(|n| (n % 251) as u8));
            let found = runtime.block_on(async {
                put_parts(&store, &at, &bytes, 100).await?;
                store.get(&at).await?.bytes().await
            });
            assert!(found.unwrap() == bytes, "{length}");
        }
    }
}
