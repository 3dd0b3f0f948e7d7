//! Codecs from bytes to bytes, whose output is bounded by the expected size.

use super::codecs::{check_length, copied, library, options};
use super::error::ZarrError;
use super::lz4;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Decompress, FlushDecompress, Status};
use serde_json::Value;
use std::io::{Read, Write};
use std::sync::Arc;
use zarrs::array::codec::{blosc_decompress_bytes, blosc_validate};
use zarrs::array::{BytesRepresentation, BytesToBytesCodecTraits, Codec};
use zarrs::metadata::v3::MetadataV3;

#[derive(Clone, Debug)]
pub(super) enum Compressor {
    Zstd {
        level: i32,
        checksum: bool,
    },
    Gzip {
        level: u32,
    },
    Zlib,
    /// None where the options are those of numcodecs, which are read alike.
    Blosc(Option<Arc<dyn BytesToBytesCodecTraits>>),
    Lz4,
    /// Shuffle: the first bytes of all elements of that size, then the second ones, and so on.
    Shuffle(usize),
    /// A checksum of four bytes at an end.
    Crc32c(Arc<dyn BytesToBytesCodecTraits>),
}

/// Bytes of a checksum.
const CHECKSUM: usize = 4;

impl Compressor {
    pub(super) fn new(metadata: &MetadataV3) -> Result<Self, ZarrError> {
        match metadata.name() {
            "zstd" | "numcodecs.zstd" => Ok(Self::Zstd {
                level: number(metadata, "level", 0) as i32,
                checksum: option(metadata, "checksum").and_then(Value::as_bool).unwrap_or(false),
            }),
            "gzip" | "numcodecs.gzip" => {
                Ok(Self::Gzip { level: number(metadata, "level", 5).clamp(0, 9) as u32 })
            }
            "blosc" | "numcodecs.blosc" => match library(metadata) {
                Ok(Codec::BytesToBytes(codec)) => Ok(Self::Blosc(Some(codec))),
                _ => Ok(Self::Blosc(None)),
            },
            "numcodecs.zlib" => Ok(Self::Zlib),
            "numcodecs.lz4" => Ok(Self::Lz4),
            "numcodecs.shuffle" => Ok(Self::Shuffle(element_size(metadata)?)),
            "crc32c" => match library(metadata)? {
                Codec::BytesToBytes(codec) => Ok(Self::Crc32c(codec)),
                _ => Err(ZarrError::unknown_codec("crc32c")),
            },
            name => Err(ZarrError::unknown_codec(name)),
        }
    }

    /// Upper bound of the encoded size, over all codecs.
    pub(super) fn most(bytes: usize) -> usize {
        bytes.saturating_add(bytes / 8).saturating_add(4096)
    }

    /// Encoded size, where that does not depend on the contents.
    pub(super) fn encoded_length(&self, bytes: u64) -> Option<u64> {
        match self {
            Self::Crc32c(_) => bytes.checked_add(CHECKSUM as u64),
            Self::Shuffle(_) => Some(bytes),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Zstd { .. } => "zstd",
            Self::Gzip { .. } => "gzip",
            Self::Zlib => "numcodecs.zlib",
            Self::Blosc(_) => "blosc",
            Self::Lz4 => "numcodecs.lz4",
            Self::Shuffle(_) => "numcodecs.shuffle",
            Self::Crc32c(_) => "crc32c",
        }
    }

    /// Decodes at most `most` bytes.
    pub(super) fn decode(&self, encoded: &[u8], most: usize) -> Result<Vec<u8>, ZarrError> {
        let failed = |error: std::io::Error| ZarrError::codec(self.name(), error);
        match self {
            Self::Zstd { .. } => {
                let decoder = zstd::stream::read::Decoder::new(encoded).map_err(failed)?;
                self.read(decoder, most)
            }
            Self::Gzip { .. } => self.read(GzDecoder::new(encoded), most),
            Self::Zlib => zlib(encoded, most).map_err(|why| ZarrError::codec(self.name(), why)),
            Self::Blosc(_) => blosc(encoded, |found| found <= most),
            Self::Lz4 => {
                lz4::decode(encoded, most).map_err(|why| ZarrError::codec(self.name(), why))
            }
            Self::Shuffle(size) => {
                if encoded.len() > most {
                    let why =
                        format!("it has {} bytes, but at most {most} are expected", encoded.len());
                    return Err(ZarrError::codec(self.name(), why));
                }
                let mut decoded = vec![0; encoded.len()];
                unshuffle(encoded, *size, &mut decoded)?;
                Ok(decoded)
            }
            Self::Crc32c(codec) => {
                let representation = BytesRepresentation::UnboundedSize;
                let decoded = codec.decode(encoded.into(), &representation, &options());
                decoded.map(Into::into).map_err(|error| ZarrError::codec(self.name(), error))
            }
        }
    }

    /// Encodes all bytes.
    pub(super) fn encode(&self, bytes: &[u8]) -> Result<Vec<u8>, ZarrError> {
        let failed = |error: std::io::Error| ZarrError::codec(self.name(), error);
        let by = |codec: &Arc<dyn BytesToBytesCodecTraits>| {
            let encoded = codec.encode(bytes.into(), &options());
            encoded.map(Into::into).map_err(|error| ZarrError::codec(self.name(), error))
        };
        match self {
            Self::Zstd { level, checksum } => {
                let mut compressor = zstd::bulk::Compressor::new(*level).map_err(failed)?;
                compressor.include_checksum(*checksum).map_err(failed)?;
                compressor.compress(bytes).map_err(failed)
            }
            Self::Gzip { level } => {
                let level = flate2::Compression::new(*level);
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).map_err(failed)?;
                encoder.finish().map_err(failed)
            }
            Self::Blosc(Some(codec)) | Self::Crc32c(codec) => by(codec),
            _ => Err(ZarrError::Unwritten { name: self.name().into() }),
        }
    }

    fn read(&self, decoder: impl Read, most: usize) -> Result<Vec<u8>, ZarrError> {
        let mut decoded = Vec::new();
        let limit = (most as u64).saturating_add(1);
        let read = decoder.take(limit).read_to_end(&mut decoded);
        read.map_err(|error| ZarrError::codec(self.name(), error))?;
        match decoded.len() <= most {
            true => Ok(decoded),
            false => {
                let why = format!("it inflates to more than {most} bytes");
                Err(ZarrError::codec(self.name(), why))
            }
        }
    }

    /// Decodes bytes that fill the output.
    pub(super) fn decode_into(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), ZarrError> {
        let failed = |error: std::io::Error| ZarrError::codec(self.name(), error);
        match self {
            Self::Zstd { .. } => {
                let count = zstd::bulk::decompress_to_buffer(encoded, out).map_err(failed)?;
                check_length(out.len(), count)
            }
            Self::Gzip { .. } => {
                let mut decoder = GzDecoder::new(encoded);
                let count = fill(&mut decoder, out).map_err(failed)?;
                // The end is where the checksum is.
                let more = fill(&mut decoder, &mut [0]).map_err(failed)?;
                check_length(out.len(), count + more)
            }
            Self::Blosc(_) => copied(&blosc(encoded, |found| found == out.len())?, out),
            Self::Shuffle(size) => {
                check_length(out.len(), encoded.len())?;
                unshuffle(encoded, *size, out)
            }
            Self::Crc32c(_) | Self::Lz4 | Self::Zlib => {
                copied(&self.decode(encoded, out.len())?, out)
            }
        }
    }
}

/// Inflates at most `most` bytes. The library's reader would take a truncated input for its end.
fn zlib(encoded: &[u8], most: usize) -> Result<Vec<u8>, String> {
    /// More room at a time.
    const ROOM: usize = 1 << 16;
    let (mut state, mut out) = (Decompress::new(true), Vec::new());
    loop {
        // One byte more than allowed shows that it is too long.
        out.reserve((most.saturating_add(1) - out.len()).min(ROOM.max(out.len())));
        let before = (state.total_in(), state.total_out());
        let rest = encoded.get(state.total_in() as usize..).unwrap_or_default();
        let status = state.decompress_vec(rest, &mut out, FlushDecompress::None);
        let status = status.map_err(|error| error.to_string())?;
        if out.len() > most {
            return Err(format!("it inflates to more than {most} bytes"));
        }
        if status == Status::StreamEnd {
            return Ok(out);
        }
        if (state.total_in(), state.total_out()) == before {
            return Err("it is truncated".into());
        }
    }
}

/// An option of a codec.
fn option<'a>(metadata: &'a MetadataV3, name: &str) -> Option<&'a Value> {
    metadata.configuration()?.get(name)
}

/// An option that is a whole number.
fn number(metadata: &MetadataV3, name: &str, default: i64) -> i64 {
    option(metadata, name).and_then(Value::as_i64).unwrap_or(default)
}

/// Element size of shuffled bytes; the default of numcodecs is 4.
fn element_size(metadata: &MetadataV3) -> Result<usize, ZarrError> {
    let size = metadata.configuration().and_then(|options| options.get("elementsize"));
    let Some(size) = size else { return Ok(4) };
    let number = size.as_u64().and_then(|size| usize::try_from(size).ok());
    number.ok_or_else(|| {
        let why =
            format!("codec `numcodecs.shuffle`: elementsize {size} is no whole number of bytes");
        ZarrError::Metadata(why)
    })
}

/// Undoes a shuffle.
fn unshuffle(shuffled: &[u8], size: usize, out: &mut [u8]) -> Result<(), ZarrError> {
    if size <= 1 {
        return copied(shuffled, out);
    }
    if !shuffled.len().is_multiple_of(size) {
        let why = format!("{} bytes are no elements of {size} bytes", shuffled.len());
        return Err(ZarrError::codec("numcodecs.shuffle", why));
    }
    let count = shuffled.len() / size;
    for (place, bytes) in shuffled.chunks_exact(count.max(1)).enumerate() {
        for (element, &byte) in out.chunks_exact_mut(size).zip(bytes) {
            element[place] = byte;
        }
    }
    Ok(())
}

/// Reads until the output is full or the input ends.
fn fill(reader: &mut impl Read, out: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < out.len() {
        match reader.read(&mut out[count..])? {
            0 => break,
            n => count += n,
        }
    }
    Ok(count)
}

/// Decompresses input whose header announces the wanted number of bytes.
fn blosc(encoded: &[u8], wanted: impl FnOnce(usize) -> bool) -> Result<Vec<u8>, ZarrError> {
    let corrupt = || ZarrError::codec("blosc", "its header is corrupt");
    // The validation reads the header of 16 bytes whether it is there or not.
    let length = (encoded.len() >= 16).then(|| blosc_validate(encoded)).flatten();
    let length = length.ok_or_else(corrupt)?;
    if !wanted(length) {
        let why = format!("it becomes {length} bytes, which is not what is expected");
        return Err(ZarrError::codec("blosc", why));
    }
    if length == 0 {
        return Ok(Vec::new());
    }
    blosc_decompress_bytes(encoded, length, 1).map_err(|error| ZarrError::codec("blosc", error))
}
