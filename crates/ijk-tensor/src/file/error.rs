//! Errors of reading and writing files of arrays.

use crate::TensorError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that cannot be read or written, and why.
#[derive(Debug, Error)]
#[error("{}: {problem}", name(path, member.as_deref()))]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The array within it, in an archive.
    pub member: Option<String>,
    /// Cause of the error.
    #[source]
    pub problem: Problem,
}

/// Cause of an error. Offsets are bytes from the beginning of the file (of the member, in an archive).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system refuses.
    #[error("cannot {action}: {}", io_text(source))]
    Io {
        /// `read`, `write` and so on.
        action: &'static str,
        /// Its reason.
        source: io::Error,
    },
    /// A directory stands where a file is expected.
    #[error("is a directory, not a file")]
    Directory,
    /// The first bytes are not those of the format.
    #[error("not a .npy file: {} (byte 0)", magic_text(found))]
    Magic {
        /// Bytes found instead.
        found: String,
    },
    /// A version of the format that does not exist yet.
    #[error(
        "version {major}.{minor} of the .npy format (byte 6) is not known: 1.0, 2.0 and 3.0 are"
    )]
    Version {
        /// Byte 6.
        major: u8,
        /// Byte 7.
        minor: u8,
    },
    /// The header is not a Python dictionary of the expected entries.
    #[error("bad .npy header: {message} (byte {offset})")]
    Header {
        /// Where.
        offset: u64,
        /// Violation in words.
        message: String,
    },
    /// More axes than the format is used for.
    #[error("{0} axes: a .npy file holds arrays of at most 64")]
    Rank(usize),
    /// Elements of a type that programs do not have.
    #[error(
        "elements of type {descr} are not supported; {types} are{hint}", types = ijk_types::DType::ALL.map(|t| t.name()).join(", ")
    )]
    Dtype {
        /// The type, as NumPy describes it.
        descr: String,
        /// Remedy.
        hint: String,
    },
    /// The data ends early.
    #[error(
        "truncated: {expected} bytes of data are announced but {found} follow (file ends at byte {offset})"
    )]
    Truncated {
        /// Bytes that shape and type ask for.
        expected: u64,
        /// Bytes there are.
        found: u64,
        /// Where the file ends.
        offset: u64,
    },
    /// The header ends early.
    #[error("truncated: the file ends at byte {offset}, within {part}")]
    Short {
        /// Where the file ends.
        offset: u64,
        /// Name of the truncated part.
        part: &'static str,
    },
    /// The data goes on after the last element.
    #[error("the data should end at byte {offset} but goes on")]
    Overlong {
        /// Where it should end.
        offset: u64,
    },
    /// The array cannot be held.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The archive is damaged, or of an unknown kind.
    #[error("not a readable .npz archive: {0}")]
    Archive(String),
    /// The archive has no such member.
    #[error("has no array `{name}`; it has {present}")]
    NoMember {
        /// The requested name.
        name: String,
        /// Those there are.
        present: String,
    },
    /// The archive cannot hold two arrays of one name, or such a name.
    #[error("`{0}` cannot name an array of an archive, or names two")]
    MemberName(String),
    /// A member claims to unpack to more than its packed bytes can.
    #[error("{packed} packed bytes cannot unpack to the {claimed} that the archive claims")]
    Inflated {
        /// Bytes in the archive.
        packed: u64,
        /// Bytes claimed.
        claimed: u64,
    },
}

impl Problem {
    /// For `map_err`: the operating system's reason for an action's failure.
    pub(crate) fn io(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// In which file.
    pub fn in_file(self, path: &Path) -> FileError {
        FileError { path: path.into(), member: None, problem: self }
    }

    /// In which member of which archive.
    #[cfg(feature = "npz")]
    pub(crate) fn in_member(self, path: &Path, member: &str) -> FileError {
        FileError { path: path.into(), member: Some(member.into()), problem: self }
    }
}

fn name(path: &Path, member: Option<&str>) -> String {
    match member {
        Some(member) => format!("{}:{member}", path.display()),
        None if path.as_os_str().is_empty() => "\"\"".into(),
        None => path.display().to_string(),
    }
}

fn magic_text(found: &str) -> String {
    match found {
        "" => "it is empty".into(),
        _ => format!("it starts with {found:?} instead of \"\\x93NUMPY\""),
    }
}

/// The reason without Rust's `(os error 2)`.
fn io_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
