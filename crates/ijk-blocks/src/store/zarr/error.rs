//! Errors of a Zarr array.

use super::codecs::Codecs;
use ijk_tensor::TensorError;
use ijk_types::DType;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a Zarr array or a chunk of it was not read or written.
#[derive(Debug, Error)]
pub(super) enum ZarrError {
    #[error("no such directory")]
    Missing,
    #[error("it is a file; a Zarr array is a directory")]
    File,
    #[error("it is no Zarr array: it has no zarr.json")]
    NoMetadata,
    #[error("it is no Zarr array: it has no zarr.json{}", names(arrays))]
    NoRoot { arrays: Vec<String> },
    #[cfg(feature = "object-store")]
    #[error("{0} are read, but not written: write to a directory, or to an object store")]
    ReadOnly(&'static str),
    #[error("it is no archive that can be read: {0}")]
    Archive(String),
    #[error("no such archive")]
    NoArchive,
    #[error(
        "arrays are not added to archives: name an archive that holds the result alone, such as result.zarr.zip, or a directory"
    )]
    ArchiveMember,
    #[error(
        "an archive is written by one process: write to a directory, and make an archive of that"
    )]
    ArchiveOfProcesses,
    #[error(
        "{key} is damaged ({why}), and archives are not continued: to replace it, start afresh"
    )]
    Damaged { key: String, why: String },
    #[error("{key} is not valid: {why}")]
    Old { key: &'static str, why: String },
    #[error(
        "its zarr.json is of format {0}, but those are of format 3; arrays of format 2 have a .zarray"
    )]
    Format(String),
    #[error("it is of format 2, which is read, but neither written nor replaced")]
    Version2,
    #[error("it is a group, no array{}", names(arrays))]
    Group { arrays: Vec<String> },
    #[cfg(not(feature = "object-store"))]
    #[error(
        "it is a URL of the scheme `{scheme}`, but only files and directories of this machine are read and written"
    )]
    Url { scheme: String },
    #[cfg(feature = "object-store")]
    #[error("URLs of `{scheme}` are not read; those of s3, http and https are")]
    Scheme { scheme: String },
    #[error("it would be part of the Zarr array {}: name a path beside it", array.display())]
    InArray { array: PathBuf },
    #[error("it would be in a Zarr group of format 2; only format 3 is written")]
    OldGroup,
    #[error("it exists already; to replace it, start afresh")]
    Exists,
    #[error("it holds another computation's result: {0}\nto replace it, start afresh")]
    Other(String),
    #[error("another process{} is writing it: run this again when that has ended", process(*.holder))]
    Locked { holder: Option<u32> },
    #[error("its directory was removed while it was written")]
    Removed,
    #[error(
        "another process took over writing it, since this one showed no sign of life: run this again when that has ended"
    )]
    LostLock,
    #[error(
        "{missing} of its blocks went away while it was written: the same command computes them again"
    )]
    Gone { missing: u64 },
    #[error(
        "it is not finished: {done} of {blocks} blocks are written; {} finishes it; to read what there is, open it as partial",
        command.as_deref().unwrap_or("the same computation")
    )]
    Unfinished { done: u64, blocks: u64, command: Option<String> },
    #[error("interrupted")]
    Interrupted,
    #[error("it is an input of the computation whose result it should hold")]
    IsInput,
    #[error(".ijk/manifest.json is not valid: {0}; to replace the array, start afresh")]
    Manifest(String),
    #[error("zarr.json is not valid: {0}")]
    Metadata(String),
    #[error("{key} has {found} bytes, but at most {most} are read")]
    LongMetadata { key: String, found: u64, most: u64 },
    #[error("elements of `{found}` are not supported; those that are: {}", element_types())]
    ElementType { found: String },
    #[error("fill value {value} of elements of {of} is not supported; allowed are {allowed}")]
    Fill { value: String, of: DType, allowed: String },
    #[error("elements of {0} cannot be stored as Zarr")]
    Lists(String),
    #[error("{what} `{name}` is not supported; {known}")]
    Unknown { what: &'static str, name: String, known: String },
    #[error("codec `{name}` is read, but results are not written with it")]
    Unwritten { name: String },
    #[error("chunks of shape {shape:?} of {of} have more bytes than memory can address")]
    ChunkSize { shape: Vec<u64>, of: DType },
    #[error("axis {axis} has {extent} elements, more than this machine can address")]
    Extent { axis: usize, extent: u64 },
    #[error("{0}")]
    Io(#[source] io::Error),
    #[error("{}", length(*.expected, *.found))]
    Length { expected: u64, found: u64 },
    #[error("it has {found} bytes, but its elements become {most} at most")]
    LongChunk { found: u64, most: u64 },
    #[error("{codec}: {why}")]
    Codec { codec: &'static str, why: String },
    #[error("the block has another type or shape than the array's")]
    Block,
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[cfg(feature = "object-store")]
    #[error(transparent)]
    Remote(#[from] super::remote::RemoteError),
}

/// An error of a reader of our own is what it was before.
impl From<io::Error> for ZarrError {
    fn from(error: io::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Io)
    }
}

impl ZarrError {
    /// The same computation's result with other chunks or codecs.
    pub(super) fn stored_otherwise() -> Self {
        Self::Other("it is stored otherwise: see zarr.json".into())
    }

    /// A codec that cannot decode what a chunk holds.
    pub(super) fn codec(codec: &'static str, why: impl ToString) -> Self {
        Self::Codec { codec, why: why.to_string() }
    }

    /// A file that cannot be made where a directory was.
    pub(super) fn of_writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Removed,
            _ => Self::Io(error),
        }
    }

    /// Returns true if a server did not do what it was asked for: nothing is known of the array then.
    pub(super) fn is_of_network(&self) -> bool {
        match self {
            #[cfg(feature = "object-store")]
            Self::Remote(_) | Self::Interrupted => true,
            _ => false,
        }
    }

    /// A codec that is not supported.
    pub(super) fn unknown_codec(name: &str) -> Self {
        let known = format!("those that are: {}", Codecs::NAMES.join(", "));
        Self::Unknown { what: "codec", name: name.into(), known }
    }
}

fn length(expected: u64, found: u64) -> String {
    let what = if found < expected { "it is truncated" } else { "it is too long" };
    format!("{what}: it has {found} bytes and should have {expected}")
}

fn process(number: Option<u32>) -> String {
    number.map_or(String::new(), |number| format!(" ({number})"))
}

fn names(arrays: &[String]) -> String {
    match arrays {
        [] => String::new(),
        [first, ..] => format!("; it holds {}: open one, such as {first}", arrays.join(", ")),
    }
}

fn element_types() -> String {
    let names = DType::ALL.map(super::metadata::zarr_name);
    names.join(", ")
}
