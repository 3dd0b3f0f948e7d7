//! Shards: chunks that hold smaller ones, with an index of where these are.

use super::codecs::{Codecs, Elements};
use super::compression::Compressor;
use super::error::ZarrError;
use super::storage::ByteRange;
use crate::domain::Coordinates;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::ops::Range;
use zarrs::array::{FillValue, data_type};
use zarrs::metadata::v3::MetadataV3;

/// The codec `sharding_indexed`.
#[derive(Clone, Debug)]
pub(super) struct Shards {
    inner: Vec<NonZeroU64>,
    codecs: Codecs,
    index: Codecs,
    /// Number of inner chunks along each axis.
    grid: Vec<usize>,
    /// Bytes of the encoded index.
    index_length: usize,
    at_start: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    chunk_shape: Vec<NonZeroU64>,
    codecs: Vec<MetadataV3>,
    index_codecs: Vec<MetadataV3>,
    #[serde(default)]
    index_location: Location,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Location {
    Start,
    #[default]
    End,
}

/// Offset and length of a missing inner chunk.
pub(super) const MISSING: u64 = u64::MAX;

/// Place and length of an inner chunk, in bytes.
const ENTRY: usize = size_of::<ShardEntry>();

/// Offset and length of an inner chunk.
pub(super) type ShardEntry = [u64; 2];

/// Greatest nesting depth of shards.
const NESTED: usize = 3;

impl Shards {
    pub(super) fn new(
        metadata: &MetadataV3,
        shape: &[NonZeroU64],
        elements: &Elements,
    ) -> Result<Self, ZarrError> {
        let wrong = |why: String| ZarrError::Metadata(format!("codec `sharding_indexed`: {why}"));
        let Configuration { chunk_shape, codecs, index_codecs, index_location } =
            metadata.to_typed_configuration().map_err(|error| wrong(error.to_string()))?;
        let fits = shape.len() == chunk_shape.len()
            && shape.iter().zip(&chunk_shape).all(|(n, inner)| n.get() % inner.get() == 0);
        if !fits {
            let why = format!("inner chunks of {chunk_shape:?} do not fill chunks of {shape:?}");
            return Err(wrong(why));
        }
        if depth(&codecs) >= NESTED {
            return Err(wrong(format!("more than {NESTED} are nested")));
        }
        let grid =
            shape.iter().zip(&chunk_shape).map(|(n, inner)| (n.get() / inner.get()) as usize);
        let grid: Vec<usize> = grid.collect();
        let chunks: usize = grid.iter().product();
        let index = Codecs::new(&index_codecs, &index_shape(&grid), &entries())?;
        let too_many = || wrong(format!("{chunks} inner chunks are too many"));
        let bytes = chunks.checked_mul(ENTRY).ok_or_else(too_many)?;
        let length = index.encoded_length(bytes);
        let length = length.ok_or_else(|| wrong("its index is compressed".into()))?;
        let codecs = Codecs::new(&codecs, &chunk_shape, elements)?;
        let (index_length, at_start) = (length as usize, index_location == Location::Start);
        Ok(Self { inner: chunk_shape, codecs, index, grid, index_length, at_start })
    }

    /// Upper bound of the size of a shard, given that of its elements: every chunk may be a little longer than its
    /// elements.
    pub(super) fn most(&self, elements: usize) -> usize {
        let chunks: usize = self.grid.iter().product();
        let each = Compressor::most(elements / chunks.max(1));
        each.saturating_mul(chunks).saturating_add(self.index_length)
    }

    pub(super) fn decode(
        &self,
        shard: &[u8],
        shape: &[NonZeroU64],
        elements: &Elements,
        out: &mut [u8],
    ) -> Result<(), ZarrError> {
        let entries = self.entries(shard)?;
        let length = out.len() / entries.len().max(1);
        let mut chunk = vec![0; length];
        for (number, &[place, bytes]) in entries.iter().enumerate() {
            if (place, bytes) == (MISSING, MISSING) {
                let fill = elements.fill.as_ne_bytes();
                chunk.chunks_exact_mut(elements.size).for_each(|x| x.copy_from_slice(fill));
            } else {
                let end = place.checked_add(bytes).and_then(|end| usize::try_from(end).ok());
                let encoded = end.and_then(|end| shard.get(place as usize..end));
                let encoded = encoded.ok_or_else(|| {
                    let within = format!("of a shard of {} bytes", shard.len());
                    let what = format!("inner chunk {number} is at byte {place}, {bytes} long, ");
                    ZarrError::codec("sharding_indexed", what + &within)
                })?;
                self.codecs.decode(encoded, &self.inner, elements, &mut chunk)?;
            }
            self.place(number, &chunk, shape, elements.size, out);
        }
        Ok(())
    }

    /// The shape of inner chunks.
    pub(super) fn inner(&self) -> &[NonZeroU64] {
        &self.inner
    }

    pub(super) fn inner_shape(&self) -> impl Iterator<Item = usize> {
        self.inner.iter().map(|n| n.get() as usize)
    }

    /// Number of inner chunks along each axis.
    pub(super) fn grid(&self) -> &[usize] {
        &self.grid
    }

    /// The codecs of inner chunks.
    pub(super) fn codecs(&self) -> &Codecs {
        &self.codecs
    }

    /// Where the index is.
    pub(super) fn index_part(&self) -> ByteRange {
        match self.at_start {
            true => ByteRange::At(0, self.index_length),
            false => ByteRange::Last(self.index_length),
        }
    }

    /// Bytes of an index in memory.
    pub(super) fn index_bytes(&self) -> usize {
        self.grid.iter().product::<usize>().saturating_mul(ENTRY)
    }

    /// Place and length of every inner chunk.
    fn entries(&self, shard: &[u8]) -> Result<Vec<ShardEntry>, ZarrError> {
        let Some(rest) = shard.len().checked_sub(self.index_length) else {
            let why =
                format!("its index has {} bytes, the shard {}", self.index_length, shard.len());
            return Err(ZarrError::codec("sharding_indexed", why));
        };
        self.index(if self.at_start { &shard[..self.index_length] } else { &shard[rest..] })
    }

    /// Place and length of every inner chunk, of an encoded index.
    pub(super) fn index(&self, encoded: &[u8]) -> Result<Vec<ShardEntry>, ZarrError> {
        let chunks: usize = self.grid.iter().product();
        let mut bytes = vec![0; chunks * ENTRY];
        self.index.decode(encoded, &index_shape(&self.grid), &entries(), &mut bytes)?;
        let number = |bytes: &[u8]| bytes.try_into().map_or(MISSING, u64::from_ne_bytes);
        let entry = |entry: &[u8]| [number(&entry[..8]), number(&entry[8..])];
        Ok(bytes.chunks_exact(ENTRY).map(entry).collect())
    }

    /// Copies an inner chunk to its place among the others, row by row.
    fn place(
        &self,
        number: usize,
        chunk: &[u8],
        shape: &[NonZeroU64],
        size: usize,
        out: &mut [u8],
    ) {
        self.rows(number, shape, |place, row| {
            let (start, length) = (row.start * size, row.len() * size);
            out[place * size..][..length].copy_from_slice(&chunk[start..][..length]);
        });
    }

    /// Visits the rows of an inner chunk: the place of each among the elements of the shard, and in the chunk.
    fn rows(
        &self,
        number: usize,
        shape: &[NonZeroU64],
        mut visit: impl FnMut(usize, Range<usize>),
    ) {
        let at = Coordinates::of(&self.grid, number);
        let inner: Vec<usize> = self.inner_shape().collect();
        let Some((&row, outer)) = inner.split_last() else { return visit(0, 0..1) };
        for n in 0..outer.iter().product() {
            let mut point = Coordinates::of(outer, n);
            point.push(0);
            let axes = point.iter().zip(&at).zip(&inner).zip(shape);
            let place = axes.fold(0, |place, (((&point, &at), &inner), extent)| {
                place * extent.get() as usize + at * inner + point
            });
            visit(place, n * row..(n + 1) * row);
        }
    }

    /// A shard of the elements of a chunk: inner chunks one after another, but those that are the fill value
    /// everywhere, and the index.
    pub(super) fn encode(
        &self,
        whole: &[u8],
        shape: &[NonZeroU64],
        elements: &Elements,
    ) -> Result<Vec<u8>, ZarrError> {
        let chunks: usize = self.grid.iter().product();
        let (size, fill) = (elements.size, elements.fill.as_ne_bytes());
        let start = if self.at_start { self.index_length } else { 0 };
        let (mut shard, mut index) = (vec![0; start], Vec::with_capacity(chunks * ENTRY));
        let mut chunk = vec![0; whole.len() / chunks.max(1)];
        for number in 0..chunks {
            self.rows(number, shape, |place, row| {
                let (start, length) = (row.start * size, row.len() * size);
                chunk[start..][..length].copy_from_slice(&whole[place * size..][..length]);
            });
            let entry = if chunk.chunks_exact(size).all(|element| element == fill) {
                [MISSING, MISSING]
            } else {
                let encoded = self.codecs.encode(&chunk, &self.inner, elements)?;
                let entry = [shard.len() as u64, encoded.len() as u64];
                shard.extend_from_slice(&encoded);
                entry
            };
            index.extend(entry.into_iter().flat_map(u64::to_ne_bytes));
        }
        let index = self.index.encode(&index, &index_shape(&self.grid), &entries())?;
        match self.at_start {
            true => shard[..start].copy_from_slice(&index),
            false => shard.extend_from_slice(&index),
        }
        Ok(shard)
    }
}

/// The elements of an index.
fn entries() -> Elements {
    Elements { of: data_type::uint64(), fill: FillValue::from(MISSING), size: 8 }
}

/// The shape of the index: two numbers for each chunk.
fn index_shape(grid: &[usize]) -> Vec<NonZeroU64> {
    let extents = grid.iter().copied().chain([2]);
    extents.filter_map(|n| NonZeroU64::new(n as u64)).collect()
}

/// Nesting depth of shards.
fn depth(codecs: &[MetadataV3]) -> usize {
    let (mut depth, mut codecs) = (0, codecs.to_vec());
    while let Some(shards) = codecs.iter().find(|codec| codec.name() == "sharding_indexed") {
        depth += 1;
        match shards.to_typed_configuration::<Configuration>() {
            Ok(inner) if depth < NESTED => codecs = inner.codecs,
            _ => break,
        }
    }
    depth
}
