//! Conversion between the elements and the bytes of a chunk.
//!
//! Input is not trusted: decoding takes no more memory than the elements of a chunk, and half as much again for buffers
//! between two codecs. So decompression (zstd, gzip, shards) is done here, up to the expected size, while the other
//! codecs are those of `zarrs`.

use super::compression::Compressor;
use super::error::ZarrError;
use super::shards::Shards;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;
use zarrs::array::{
    ArrayToArrayCodecTraits, ArrayToBytesCodecTraits, Codec, CodecOptions, DataType, FillValue,
};
use zarrs::metadata::v3::MetadataV3;

/// The elements of an array, as codecs take them.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) of: DataType,
    pub(super) fill: FillValue,
    /// Bytes of one.
    pub(super) size: usize,
}

/// The codecs of an array, in the order in which they encode.
#[derive(Clone, Debug)]
pub(super) struct Codecs {
    transposes: Vec<Arc<dyn ArrayToArrayCodecTraits>>,
    bytes: Bytes,
    compressors: Vec<Compressor>,
}

/// Encoding of elements as bytes.
#[derive(Clone, Debug)]
enum Bytes {
    /// One after another; whether they are as they are in memory.
    Plain { codec: Arc<dyn ArrayToBytesCodecTraits>, native: bool },
    /// Chunks in a chunk.
    Shards(Box<Shards>),
}

impl Codecs {
    /// Those that are read, compressors last. Names of `numcodecs` are those of zarr-python, which netCDF files
    /// and arrays of format 2 bring along.
    pub(super) const NAMES: [&str; 13] = [
        "transpose",
        "bytes",
        "sharding_indexed",
        "zstd",
        "blosc",
        "gzip",
        "crc32c",
        "numcodecs.zstd",
        "numcodecs.blosc",
        "numcodecs.gzip",
        "numcodecs.zlib",
        "numcodecs.lz4",
        "numcodecs.shuffle",
    ];

    /// The codecs of metadata, for chunks of a shape.
    pub(super) fn new(
        codecs: &[MetadataV3],
        shape: &[NonZeroU64],
        elements: &Elements,
    ) -> Result<Self, ZarrError> {
        let (mut transposes, mut bytes, mut compressors) = (Vec::new(), None, Vec::new());
        let mut inner = shape.to_vec();
        for metadata in codecs {
            match (metadata.name(), &bytes) {
                ("transpose", None) => {
                    let Codec::ArrayToArray(codec) = library(&ordered(metadata, inner.len()))?
                    else {
                        return Err(ZarrError::unknown_codec("transpose"));
                    };
                    let encoded =
                        codec.encoded_representation(&inner, &elements.of, &elements.fill);
                    inner = encoded.map_err(|error| ZarrError::codec("transpose", error))?.0;
                    transposes.push(codec);
                }
                ("bytes", None) => bytes = Some(plain(metadata, elements)?),
                ("sharding_indexed", None) => {
                    let shards = Shards::new(metadata, &inner, elements)?;
                    bytes = Some(Bytes::Shards(Box::new(shards)));
                }
                (name, Some(_)) if Self::NAMES[3..].contains(&name) => {
                    compressors.push(Compressor::new(metadata)?);
                }
                (name, _) if Self::NAMES.contains(&name) => {
                    let names: Vec<&str> = codecs.iter().map(MetadataV3::name).collect();
                    let message =
                        format!("codec `{name}` is out of order in [{}]", names.join(", "));
                    return Err(ZarrError::Metadata(message));
                }
                (name, _) => return Err(ZarrError::unknown_codec(name)),
            }
        }
        let missing = || ZarrError::Metadata("no codec makes bytes of elements".into());
        Ok(Self { transposes, bytes: bytes.ok_or_else(missing)?, compressors })
    }

    /// Returns true if a chunk's file equals its elements in memory.
    pub(super) fn is_raw(&self) -> bool {
        self.is_native() && self.compressors.is_empty()
    }

    /// Returns true if the compressed bytes are the elements in memory.
    fn is_native(&self) -> bool {
        self.transposes.is_empty() && matches!(self.bytes, Bytes::Plain { native: true, .. })
    }

    /// The shards, if a chunk is one and nothing else.
    pub(super) fn shards(&self) -> Option<&Shards> {
        match &self.bytes {
            Bytes::Shards(shards) if self.transposes.is_empty() && self.compressors.is_empty() => {
                Some(shards)
            }
            _ => None,
        }
    }

    /// Bytes of a chunk's file, where that does not depend on its elements.
    pub(super) fn encoded_length(&self, elements: usize) -> Option<u64> {
        let Bytes::Plain { .. } = self.bytes else { return None };
        self.compressors.iter().try_fold(elements as u64, |n, codec| codec.encoded_length(n))
    }

    /// Most bytes of a chunk's file, given those of its elements.
    pub(super) fn most(&self, elements: usize) -> usize {
        self.compressors.iter().fold(self.uncompressed(elements), |n, _| Compressor::most(n))
    }

    /// Most bytes of buffers that it takes to decode a chunk, beside its elements.
    pub(super) fn buffers(&self, elements: usize) -> u64 {
        let encoded = if self.is_raw() { 0 } else { self.most(elements) };
        let plain = if self.is_native() { 0 } else { self.uncompressed(elements) };
        encoded.saturating_add(plain) as u64
    }

    /// Most bytes of a chunk before it is compressed.
    fn uncompressed(&self, elements: usize) -> usize {
        match &self.bytes {
            Bytes::Plain { .. } => elements,
            // Writers may leave gaps, where chunks were that have moved.
            Bytes::Shards(shards) => shards.most(elements).saturating_mul(2),
        }
    }

    /// Writes the elements of a chunk of a shape: as many bytes as they have.
    pub(super) fn decode(
        &self,
        encoded: &[u8],
        shape: &[NonZeroU64],
        elements: &Elements,
        out: &mut [u8],
    ) -> Result<(), ZarrError> {
        let Some((first, rest)) = self.compressors.split_first() else {
            return self.elements(encoded, shape, elements, out);
        };
        // Size limit of each codec's output: that of its input, without compression.
        let plain = self.uncompressed(out.len());
        let mut encoded = Cow::Borrowed(encoded);
        for (number, codec) in rest.iter().enumerate().rev() {
            let most = (0..=number).fold(plain, |n, _| Compressor::most(n));
            encoded = Cow::Owned(codec.decode(&encoded, most)?);
        }
        if self.is_native() {
            return first.decode_into(&encoded, out);
        }
        let decoded = first.decode(&encoded, plain)?;
        self.elements(&decoded, shape, elements, out)
    }

    /// The bytes that are stored of the elements of a chunk, as they are in memory: without a copy if they are these.
    pub(super) fn encode<'a>(
        &self,
        chunk: &'a [u8],
        shape: &[NonZeroU64],
        elements: &Elements,
    ) -> Result<Cow<'a, [u8]>, ZarrError> {
        if !self.transposes.is_empty() {
            return Err(ZarrError::Unwritten { name: "transpose".into() });
        }
        let mut bytes = match &self.bytes {
            Bytes::Plain { native: true, .. } => Cow::Borrowed(chunk),
            Bytes::Plain { codec, .. } => {
                let (of, fill) = (&elements.of, &elements.fill);
                let encoded = codec.encode(chunk.into(), shape, of, fill, &options());
                let encoded = encoded.map_err(|error| ZarrError::codec("bytes", error))?;
                Cow::Owned(encoded.into_owned())
            }
            Bytes::Shards(shards) => Cow::Owned(shards.encode(chunk, shape, elements)?),
        };
        for codec in &self.compressors {
            bytes = Cow::Owned(codec.encode(&bytes)?);
        }
        Ok(bytes)
    }

    /// Elements of bytes that are not compressed.
    fn elements(
        &self,
        bytes: &[u8],
        shape: &[NonZeroU64],
        elements: &Elements,
        out: &mut [u8],
    ) -> Result<(), ZarrError> {
        if self.transposes.is_empty() {
            return self.bytes.decode(bytes, shape, elements, out);
        }
        let (of, fill) = (&elements.of, &elements.fill);
        let (mut shapes, mut inner) = (Vec::new(), shape.to_vec());
        for codec in &self.transposes {
            let encoded = codec.encoded_representation(&inner, of, fill).map_err(transposing)?.0;
            shapes.push(std::mem::replace(&mut inner, encoded));
        }
        let mut stored = vec![0; out.len()];
        self.bytes.decode(bytes, &inner, elements, &mut stored)?;
        for (codec, shape) in self.transposes.iter().zip(&shapes).rev() {
            let decoded = codec.decode(stored.into(), shape, of, fill, &options());
            stored = decoded
                .and_then(|bytes| Ok(bytes.into_fixed()?.into_owned()))
                .map_err(transposing)?;
        }
        copied(&stored, out)
    }
}

fn transposing(error: zarrs::array::CodecError) -> ZarrError {
    ZarrError::codec("transpose", error)
}

impl Bytes {
    fn decode(
        &self,
        bytes: &[u8],
        shape: &[NonZeroU64],
        elements: &Elements,
        out: &mut [u8],
    ) -> Result<(), ZarrError> {
        match self {
            Self::Shards(shards) => shards.decode(bytes, shape, elements, out),
            Self::Plain { native: true, .. } => copied(bytes, out),
            Self::Plain { codec, .. } => {
                check_length(out.len(), bytes.len())?;
                let (of, fill) = (&elements.of, &elements.fill);
                let decoded = codec.decode(bytes.into(), shape, of, fill, &options());
                let decoded = decoded.and_then(|bytes| Ok(bytes.into_fixed()?));
                copied(&decoded.map_err(|error| ZarrError::codec("bytes", error))?, out)
            }
        }
    }
}

/// Copies what should be as long.
pub(super) fn copied(bytes: &[u8], out: &mut [u8]) -> Result<(), ZarrError> {
    check_length(out.len(), bytes.len())?;
    out.copy_from_slice(bytes);
    Ok(())
}

pub(super) fn check_length(expected: usize, found: usize) -> Result<(), ZarrError> {
    match expected == found {
        true => Ok(()),
        false => Err(ZarrError::Length { expected: expected as u64, found: found as u64 }),
    }
}

/// A codec of the library.
pub(super) fn library(metadata: &MetadataV3) -> Result<Codec, ZarrError> {
    Codec::from_metadata(metadata).map_err(|error| ZarrError::Metadata(error.to_string()))
}

/// The order of a transpose as positions: `"C"` are the axes as they are, `"F"` the same from the last to the first.
fn ordered(metadata: &MetadataV3, rank: usize) -> Cow<'_, MetadataV3> {
    let order = metadata.configuration().and_then(|options| options.get("order")?.as_str());
    let axes: Vec<usize> = match order {
        Some("C") => (0..rank).collect(),
        Some("F") => (0..rank).rev().collect(),
        _ => return Cow::Borrowed(metadata),
    };
    let options = serde_json::Map::from_iter([("order".into(), axes.into())]);
    Cow::Owned(MetadataV3::new_with_configuration(metadata.name(), options))
}

fn plain(metadata: &MetadataV3, elements: &Elements) -> Result<Bytes, ZarrError> {
    let endian = metadata.configuration().and_then(|options| options.get("endian")?.as_str());
    // One byte has no order, whatever the metadata say.
    let own = MetadataV3::new("bytes");
    let metadata = if endian.is_none() { &own } else { metadata };
    let Codec::ArrayToBytes(codec) = library(metadata)? else {
        return Err(ZarrError::unknown_codec(metadata.name()));
    };
    let own = if cfg!(target_endian = "little") { "little" } else { "big" };
    if endian.is_none() && elements.size > 1 {
        return Err(ZarrError::Metadata("codec `bytes` does not say `endian`".into()));
    }
    Ok(Bytes::Plain { codec, native: endian.is_none_or(|endian| endian == own) })
}

/// Workers have a thread each, and codecs that.
pub(super) fn options() -> CodecOptions {
    CodecOptions::default().with_concurrent_target(1)
}
