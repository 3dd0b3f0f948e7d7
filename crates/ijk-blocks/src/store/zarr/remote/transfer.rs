//! Objects on their way, while the thread that needs them computes.

use super::super::error::ZarrError;
use super::super::storage::{Object, Recording, Requested, Upload};
use super::body::Body;
use super::client::{Background, Client};
use super::error::is_no_object;
use bytes::Bytes;
use object_store::path::Path as Location;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutOptions};
use std::fmt;
use std::sync::Arc;

/// Objects of more bytes are written in parts, since a request takes 5 GB at most, and each part is repeated alone.
const LARGE: usize = 512 << 20;
/// Bytes of such a part.
const PART: usize = 64 << 20;

/// Writes an object.
pub(super) async fn put(
    store: Arc<dyn ObjectStore>,
    at: Location,
    bytes: Bytes,
) -> object_store::Result<()> {
    if bytes.len() <= LARGE {
        return store.put_opts(&at, bytes.into(), PutOptions::default()).await.map(drop);
    }
    let mut upload = store.put_multipart(&at).await?;
    for start in (0..bytes.len()).step_by(PART) {
        let part = bytes.slice(start..bytes.len().min(start + PART));
        if let Err(error) = upload.put_part(part.into()).await {
            // Parts that stay behind cost, but are no object.
            upload.abort().await.unwrap_or_default();
            return Err(error);
        }
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
