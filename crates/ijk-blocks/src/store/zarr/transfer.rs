//! Blocks of arrays that are far away, on their way.

use super::error::ZarrError;
use super::journal::Chunk;
use super::metadata::Layout;
use super::resume::Earlier;
use super::storage::{Files, Object, Recording, Requested, Upload};
use super::{ZarrStore, of_chunk};
use crate::{Block, Incoming, Outgoing, StoreError};
use ijk_tensor::Tensor;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

impl Layout {
    /// The block of a chunk's object.
    pub(super) fn block(
        &self,
        at: &[usize],
        (mut object, found): Object,
    ) -> Result<Block, ZarrError> {
        let Self { dtype, chunk, elements, codecs, .. } = self;
        let shape = self.chunk_shape();
        let count = shape.iter().product::<usize>() * dtype.size();
        // Before memory is taken for it.
        if let Some(expected) = codecs.encoded_length(count).filter(|&expected| expected != found) {
            return Err(ZarrError::Length { expected, found });
        }
        let most = codecs.most(count) as u64;
        if found > most {
            return Err(ZarrError::LongChunk { found, most });
        }
        let whole = Tensor::from_bytes(*dtype, &shape, |bytes| {
            if codecs.is_raw() {
                return Ok(object.read_exact(bytes)?);
            }
            let mut encoded = Vec::new();
            object.read_to_end(&mut encoded)?;
            codecs.decode(&encoded, chunk, elements, bytes)
        });
        let (whole, block) = (whole?, self.ty.block_shape(at));
        if shape == block {
            return Ok(Block::Numbers(whole));
        }
        // Elements beyond the array's end are not part of it.
        let window: Vec<_> = block.iter().map(|&extent| 0..extent).collect();
        Ok(Block::Numbers(whole.view().part(&window).to_tensor()?))
    }
}

/// A chunk that was asked for.
#[derive(Debug)]
struct ComingChunk {
    path: PathBuf,
    at: Vec<usize>,
    layout: Arc<Layout>,
    object: Box<dyn Requested>,
}

/// Asks for the chunk of a block, where a place is far away. It comes as it is stored, and takes no more memory than the
/// block: a longer one is read as it is needed.
pub(super) fn request(
    files: &Files,
    layout: &Arc<Layout>,
    at: &[usize],
) -> Result<Option<Box<dyn Incoming>>, ZarrError> {
    let block = crate::run::largest(&layout.ty);
    // Codecs add a little to what they cannot compress.
    let most = block.saturating_add(block / 64 + 1024);
    let Some(object) = files.request(&layout.key(at), most)? else { return Ok(None) };
    let (path, layout) = (files.path().to_path_buf(), Arc::clone(layout));
    Ok(Some(Box::new(ComingChunk { path, at: at.to_vec(), layout, object })))
}

impl Incoming for ComingChunk {
    fn is_there(&self) -> bool {
        self.object.is_there()
    }

    fn block(self: Box<Self>) -> Result<Option<Arc<Block>>, StoreError> {
        let Self { path, at, layout, object } = *self;
        let block = object
            .open()
            .and_then(|object| object.map(|object| layout.block(&at, object)).transpose());
        let of_chunk = |problem| of_chunk(&path, &layout.key(&at), &at, problem);
        Ok(block.map_err(of_chunk)?.map(Arc::new))
    }
}

/// A chunk that is being written.
#[derive(Debug)]
struct GoingChunk {
    path: PathBuf,
    key: String,
    at: Vec<usize>,
    upload: Box<dyn Upload>,
}

impl Outgoing for GoingChunk {
    fn is_over(&self) -> bool {
        self.upload.is_over()
    }

    fn end(self: Box<Self>) -> Result<(), StoreError> {
        let Self { path, key, at, upload } = *self;
        upload.end().map_err(|problem| of_chunk(&path, &key, &at, problem))
    }
}

impl ZarrStore {
    /// Begins to write a block; nothing is left to wait for where the place is near, or the fill value is all there is.
    pub(super) fn send_block(
        &self,
        at: &[usize],
        block: Arc<Block>,
    ) -> Result<Option<Box<dyn Outgoing>>, ZarrError> {
        if !self.files.is_far() {
            return self.put(at, block).map(|()| None);
        }
        let Some(payload) = self.payload(at, block)? else {
            return self.omit_one(at).map(|()| None);
        };
        let key = self.layout.key(at);
        let record: Recording = match self.held()? {
            None => Box::new(|| Ok(())),
            Some(Earlier { journal, .. }) => {
                let (chunk, number) = (Chunk::of(payload.as_ref()), self.number(at));
                let (journal, key) = (Arc::clone(journal), key.clone());
                Box::new(move || {
                    journal.record(number, &chunk)?;
                    journal.add(key, &chunk)
                })
            }
        };
        let upload = self.files.writer()?.send_chunk(&key, payload, record)?;
        let (path, at) = (self.files.path().to_path_buf(), at.to_vec());
        Ok(upload.map(|upload| Box::new(GoingChunk { path, key, at, upload }) as _))
    }
}
