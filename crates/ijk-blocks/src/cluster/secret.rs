//! What the processes of a cluster know and others do not.

use super::{ClusterError, text_of};
use std::fmt;
use std::path::Path;

/// A secret that processes prove to each other they share, without sending it: see
/// [`Cluster`](super::Cluster#trust).
///
/// ```
/// use ijk_blocks::cluster::Secret;
/// assert_eq!(format!("{:?}", Secret::new("correct horse")?), "Secret(…)");
/// assert!(Secret::new(" \n").is_err());
/// # Ok::<(), ijk_blocks::cluster::ClusterError>(())
/// ```
#[derive(Clone)]
pub struct Secret {
    key: [u8; 32],
}

/// What keys are derived for; another protocol has another name here.
const CONTEXT: &str = "ijk 2026 processes of a cluster meet";

impl Secret {
    /// A secret of some text; space around it does not count.
    ///
    /// # Errors
    /// If there is no text.
    pub fn new(text: &str) -> Result<Self, ClusterError> {
        match text.trim() {
            "" => Err(ClusterError::EmptySecret),
            text => Ok(Self { key: blake3::derive_key(CONTEXT, text.as_bytes()) }),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// If it cannot be read, or is empty.
    pub fn read(path: &Path) -> Result<Self, ClusterError> {
        let text = text_of("secret", path)?;
        Self::new(&text)
    }

    /// The value of the environment variable `IJK_SECRET`, if there is one.
    ///
    /// # Errors
    /// If it is empty.
    pub fn from_env() -> Result<Option<Self>, ClusterError> {
        std::env::var("IJK_SECRET").ok().map(|text| Self::new(&text)).transpose()
    }

    /// That of processes on one machine who have not been given any.
    pub(super) fn none() -> Self {
        Self { key: blake3::derive_key(CONTEXT, b"") }
    }

    /// What only somebody who knows the secret can say of a message.
    pub(super) fn proof(&self, message: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(&self.key, message).as_bytes()
    }

    /// Whether it is what somebody who knows the secret says; in constant time.
    pub(super) fn accepts(&self, message: &[u8], proof: [u8; 32]) -> bool {
        blake3::keyed_hash(&self.key, message) == blake3::Hash::from_bytes(proof)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Bytes that nobody can guess.
pub(super) fn random() -> Result<[u8; 32], ClusterError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|cause| ClusterError::Random(cause.to_string()))?;
    Ok(bytes)
}

/// A secret for one run, as text.
pub(super) fn generated() -> Result<String, ClusterError> {
    Ok(hex(&random()?))
}

/// Bytes as text.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
