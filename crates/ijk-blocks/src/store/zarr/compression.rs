//! Codecs from bytes to bytes, which give no more than is expected.

use super::codecs::{check_length, copied, library, options};
use super::problem::Problem;
use flate2::read::GzDecoder;
use std::io::Read;
use std::sync::Arc;
use zarrs::array::codec::{blosc_decompress_bytes, blosc_validate};
use zarrs::array::{BytesRepresentation, BytesToBytesCodecTraits, Codec};
use zarrs::metadata::v3::MetadataV3;

#[derive(Clone, Debug)]
pub(super) enum Compressor {
    Zstd,
    Gzip,
    Blosc,
    /// A checksum of four bytes at an end.
    Crc32c(Arc<dyn BytesToBytesCodecTraits>),
}

/// Bytes of a checksum.
const CHECKSUM: usize = 4;

impl Compressor {
    pub(super) fn new(metadata: &MetadataV3) -> Result<Self, Problem> {
        match metadata.name() {
            "zstd" => Ok(Self::Zstd),
            "gzip" => Ok(Self::Gzip),
            "blosc" => Ok(Self::Blosc),
            "crc32c" => match library(metadata)? {
                Codec::BytesToBytes(codec) => Ok(Self::Crc32c(codec)),
                _ => Err(Problem::unknown_codec("crc32c")),
            },
            name => Err(Problem::unknown_codec(name)),
        }
    }

    /// Most bytes that any codec makes of so many.
    pub(super) fn most(bytes: usize) -> usize {
        bytes.saturating_add(bytes / 8).saturating_add(4096)
    }

    /// The bytes that it makes of so many, where that does not depend on what they are.
    pub(super) fn encoded_length(&self, bytes: u64) -> Option<u64> {
        match self {
            Self::Crc32c(_) => bytes.checked_add(CHECKSUM as u64),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Blosc => "blosc",
            Self::Crc32c(_) => "crc32c",
        }
    }

    /// Decodes bytes that become so many at most.
    pub(super) fn decode(&self, encoded: &[u8], most: usize) -> Result<Vec<u8>, Problem> {
        let failed = |error: std::io::Error| Problem::codec(self.name(), error);
        match self {
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::new(encoded).map_err(failed)?;
                self.read(decoder, most)
            }
            Self::Gzip => self.read(GzDecoder::new(encoded), most),
            Self::Blosc => blosc(encoded, |found| found <= most),
            Self::Crc32c(codec) => {
                let representation = BytesRepresentation::UnboundedSize;
                let decoded = codec.decode(encoded.into(), &representation, &options());
                decoded.map(Into::into).map_err(|error| Problem::codec(self.name(), error))
            }
        }
    }

    fn read(&self, decoder: impl Read, most: usize) -> Result<Vec<u8>, Problem> {
        let mut decoded = Vec::new();
        let limit = (most as u64).saturating_add(1);
        let read = decoder.take(limit).read_to_end(&mut decoded);
        read.map_err(|error| Problem::codec(self.name(), error))?;
        match decoded.len() <= most {
            true => Ok(decoded),
            false => {
                let why = format!("it inflates to more than {most} bytes");
                Err(Problem::codec(self.name(), why))
            }
        }
    }

    /// Decodes bytes that become as many as there is room for.
    pub(super) fn decode_into(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), Problem> {
        let failed = |error: std::io::Error| Problem::codec(self.name(), error);
        match self {
            Self::Zstd => {
                let count = zstd::bulk::decompress_to_buffer(encoded, out).map_err(failed)?;
                check_length(out.len(), count)
            }
            Self::Gzip => {
                let mut decoder = GzDecoder::new(encoded);
                let count = fill(&mut decoder, out).map_err(failed)?;
                // The end is where the checksum is.
                let more = fill(&mut decoder, &mut [0]).map_err(failed)?;
                check_length(out.len(), count + more)
            }
            Self::Blosc => copied(&blosc(encoded, |found| found == out.len())?, out),
            Self::Crc32c(_) => copied(&self.decode(encoded, out.len())?, out),
        }
    }
}

/// Reads until there is no room or nothing left.
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

/// Decompresses what says that it becomes as many bytes as are wanted.
fn blosc(encoded: &[u8], wanted: impl FnOnce(usize) -> bool) -> Result<Vec<u8>, Problem> {
    let corrupt = || Problem::codec("blosc", "its header is corrupt");
    // The validation reads the header of 16 bytes whether it is there or not.
    let length = (encoded.len() >= 16).then(|| blosc_validate(encoded)).flatten();
    let length = length.ok_or_else(corrupt)?;
    if !wanted(length) {
        let why = format!("it becomes {length} bytes, which is not what is expected");
        return Err(Problem::codec("blosc", why));
    }
    if length == 0 {
        return Ok(Vec::new());
    }
    blosc_decompress_bytes(encoded, length, 1).map_err(|error| Problem::codec("blosc", error))
}
