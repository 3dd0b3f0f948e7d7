//! The chunks in shards, each read by itself: ranges of bytes of an object.

use super::codecs::Codecs;
use super::error::ZarrError;
use super::metadata::Layout;
use super::shards::{MISSING, ShardEntry, Shards};
use super::storage::{ByteRange, Files};
use super::{listing, of_store};
use crate::domain::Coordinates;
use crate::store::Source;
use crate::types::block_count;
use crate::{Annotations, Block, StoreError, Type, Value};
use ijk_tensor::Tensor;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of indices that are kept, at most.
const KEPT: usize = 16 << 20;

/// Most chunks that are listed.
const LISTED: usize = 1 << 22;

/// Index of a shard; none where the shard is missing.
type ShardIndex = Option<Arc<Vec<ShardEntry>>>;

/// An array in shards, in blocks that are the chunks in these.
#[derive(Debug)]
pub(super) struct ChunksOfShards {
    files: Files,
    layout: Layout,
    ty: Type,
    /// Indices of shards, by the positions of these.
    indices: Mutex<HashMap<Vec<usize>, ShardIndex>>,
}

impl ChunksOfShards {
    /// Of an array whose chunks are shards and nothing else.
    pub(super) fn new(files: &Files, layout: &Layout) -> Option<Self> {
        let shards = layout.codecs.shards()?;
        let block = |(&extent, inner): (&usize, usize)| (inner < extent).then_some(inner);
        let blocks: Vec<_> = layout.ty.dims.iter().zip(shards.inner_shape()).map(block).collect();
        let ty = Type::new(layout.ty.dims.clone(), blocks, layout.dtype);
        let (files, layout, indices) = (files.clone(), layout.clone(), Mutex::default());
        Some(Self { files, layout, ty, indices })
    }

    /// The shards, which `new` has seen.
    fn shards(&self) -> Result<(&Shards, &Codecs), ZarrError> {
        let shards = self.layout.codecs.shards();
        let shards = shards.ok_or_else(|| ZarrError::unknown_codec("sharding_indexed"))?;
        Ok((shards, shards.codecs()))
    }

    /// The index of a shard, if that is there.
    fn index(&self, shard: &[usize]) -> Result<ShardIndex, ZarrError> {
        let lock = || self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = lock().get(shard) {
            return Ok(index.clone());
        }
        let (shards, _) = self.shards()?;
        let bytes = self.files.part(&self.layout.key(shard), shards.index_part())?;
        let index = bytes.map(|bytes| shards.index(&bytes).map(Arc::new)).transpose()?;
        let mut kept = lock();
        // Those of the shards that are read next are read again, seldom enough.
        if kept.len().saturating_mul(shards.index_bytes()) > KEPT {
            kept.clear();
        }
        kept.insert(shard.to_vec(), index.clone());
        Ok(index)
    }

    fn block(&self, at: &[usize]) -> Result<Option<Block>, ZarrError> {
        let (shards, codecs) = self.shards()?;
        let grid = shards.grid();
        let shard: Vec<usize> = at.iter().zip(grid).map(|(at, count)| at / count).collect();
        let Some(index) = self.index(&shard)? else { return Ok(None) };
        let number = at.iter().zip(grid).fold(0, |n, (at, count)| n * count + at % count);
        let [place, length] = index[number];
        if (place, length) == (MISSING, MISSING) {
            return Ok(None);
        }
        let (shape, dtype) = (shards.inner_shape().collect::<Vec<_>>(), self.layout.dtype);
        let most = codecs.most(shape.iter().product::<usize>() * dtype.size()) as u64;
        if length > most {
            return Err(ZarrError::LongChunk { found: length, most });
        }
        let part = ByteRange::At(place, length as usize);
        let encoded = self.files.part(&self.layout.key(&shard), part)?.unwrap_or_default();
        if encoded.len() as u64 != length {
            return Err(ZarrError::Length { expected: length, found: encoded.len() as u64 });
        }
        let whole = Tensor::from_bytes(dtype, &shape, |bytes| {
            codecs.decode(&encoded, shards.inner(), &self.layout.elements, bytes)
        })?;
        let block = self.ty.block_shape(at);
        if shape == block {
            return Ok(Some(Block::Numbers(whole)));
        }
        let window: Vec<_> = block.iter().map(|&extent| 0..extent).collect();
        Ok(Some(Block::Numbers(whole.view().part(&window).to_tensor()?)))
    }

    /// The positions of all chunks of the shards that are there.
    fn listed(&self) -> Result<Option<Vec<Vec<usize>>>, ZarrError> {
        let Some(there) = listing::chunks(&self.files, &self.layout)? else { return Ok(None) };
        let (shards, _) = self.shards()?;
        let grid = shards.grid();
        if there.len().saturating_mul(Coordinates::count(grid)) > LISTED {
            return Ok(None);
        }
        let last: Vec<usize> =
            self.ty.dims.iter().zip(&self.ty.blocks).map(|(&n, &b)| block_count(n, b)).collect();
        let mut all = Vec::new();
        for shard in there {
            let chunks = Coordinates::all(grid).map(|within| {
                let axes = shard.iter().zip(grid).zip(within);
                axes.map(|((shard, count), within)| shard * count + within).collect::<Vec<_>>()
            });
            all.extend(chunks.filter(|at| at.iter().zip(&last).all(|(at, last)| at < last)));
        }
        Ok(Some(all))
    }
}

impl Source for ChunksOfShards {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn fill(&self) -> Value {
        Value::Number(self.layout.fill)
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        let block = self.block(at).map_err(|problem| {
            StoreError::of_block(&format!("{}, in shards", self.files.name()), at, problem)
        })?;
        Ok(block.map(Arc::new))
    }

    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        self.listed().map_err(|problem| of_store(&self.files, problem))
    }

    fn reading(&self) -> u64 {
        let chunk = crate::run::largest(&self.ty);
        let buffers = self.shards().map_or(0, |(_, codecs)| {
            codecs.buffers(chunk as usize).max(codecs.most(chunk as usize) as u64)
        });
        chunk.saturating_mul(2).saturating_add(buffers)
    }

    fn name(&self) -> String {
        self.files.name()
    }

    fn identity(&self) -> Result<String, StoreError> {
        self.files.identity().map_err(|problem| of_store(&self.files, problem))
    }

    fn path(&self) -> Option<&Path> {
        Some(self.files.path())
    }

    fn annotations(&self) -> Annotations {
        self.layout.annotations.clone()
    }

    fn until(&self, flag: &Arc<AtomicBool>) -> Option<Arc<dyn Source>> {
        Some(Arc::new(Self::new(&self.files.until(Some(flag))?, &self.layout)?))
    }

    fn encoding(&self) -> Option<Arc<str>> {
        Some(self.layout.encoding.text()?.into())
    }
}
