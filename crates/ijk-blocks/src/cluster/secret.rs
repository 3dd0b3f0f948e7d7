//! Shared secret of the processes of a cluster.

use super::{ClusterError, text_of};
use std::env::VarError;
use std::fmt;
use std::path::Path;

/// A secret that processes prove to each other they share, without sending it: see
/// [`Cluster`](super::Cluster#trust).
///
/// ```
/// use ijk_blocks::cluster::Secret;
/// assert_eq!(format!("{:?}", Secret::new("correct horse battery staple")?), "Secret(…)");
/// // Whoever sees two processes meet could try all secrets that are so short.
/// assert!(Secret::new("horse").is_err());
/// # Ok::<(), ijk_blocks::cluster::ClusterError>(())
/// ```
#[derive(Clone)]
pub struct Secret {
    key: [u8; 32],
}

/// Context of key derivation; another protocol uses another name.
const CONTEXT: &str = "ijk 2026 processes of a cluster meet";

impl Secret {
    /// The fewest bytes of a secret.
    pub const LEAST: usize = 16;

    /// A secret of some text; space around it does not count.
    ///
    /// # Errors
    /// If the text has fewer than [`LEAST`](Self::LEAST) bytes.
    pub fn new(text: &str) -> Result<Self, ClusterError> {
        let (text, least) = (text.trim(), Self::LEAST);
        match text.len() {
            bytes if bytes < least => Err(ClusterError::ShortSecret { bytes, least }),
            _ => Ok(Self { key: blake3::derive_key(CONTEXT, text.as_bytes()) }),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// If it cannot be read, or is too short.
    pub fn read(path: &Path) -> Result<Self, ClusterError> {
        let text = text_of("secret", path)?;
        Self::new(&text)
    }

    /// Exposure of a file that holds a secret to other users, as a sentence; `None` if only its owner has access, or
    /// the system cannot tell.
    pub fn exposure(path: &Path) -> Option<String> {
        let mode = mode(path)? & 0o777;
        let others = match mode & 0o077 {
            0 => return None,
            others if others & 0o044 != 0 => "read",
            _ => "change",
        };
        Some(format!(
            "others can {others} the secret in {path} (mode {mode:03o}): `chmod 600 {path}` keeps it yours",
            path = path.display()
        ))
    }

    /// The value of the environment variable `IJK_SECRET`, if there is one.
    ///
    /// # Errors
    /// If it is too short, or no text.
    pub fn from_env() -> Result<Option<Self>, ClusterError> {
        match std::env::var("IJK_SECRET") {
            Ok(text) => Self::new(&text).map(Some),
            Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(_)) => Err(ClusterError::SecretText),
        }
    }

    /// The secret of the processes of one machine that were given none.
    pub(super) fn none() -> Self {
        Self { key: blake3::derive_key(CONTEXT, b"") }
    }

    /// Proof that the sender of a message knows the secret.
    pub(super) fn proof(&self, message: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(&self.key, message).as_bytes()
    }

    /// Checks such a proof, in constant time.
    pub(super) fn accepts(&self, message: &[u8], proof: [u8; 32]) -> bool {
        blake3::keyed_hash(&self.key, message) == blake3::Hash::from_bytes(proof)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The permissions of a file.
#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(std::fs::metadata(path).ok()?.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}

/// Cryptographically random bytes.
pub(super) fn random() -> Result<[u8; 32], ClusterError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|cause| ClusterError::Random(cause.to_string()))?;
    Ok(bytes)
}

/// A secret for one run, as text.
pub(super) fn generated() -> Result<String, ClusterError> {
    Ok(hex(&random()?))
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_secrets_are_refused() {
        for text in ["", " \n", "secret", "  123456789012345  "] {
            let error = Secret::new(text).unwrap_err().to_string();
            assert!(error.contains(&format!("has {} bytes", text.trim().len())), "{error}");
        }
        assert!(Secret::new(" 1234567890123456\n").is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn files_that_others_can_read_are_told() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, said) in
            [(0o600, None), (0o400, None), (0o644, Some("read")), (0o620, Some("change"))]
        {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(file.path(), permissions).unwrap();
            let found = Secret::exposure(file.path());
            assert_eq!(found.is_some(), said.is_some(), "{mode:o}");
            assert!(
                said.is_none_or(|said| found.unwrap().starts_with(&format!("others can {said} ")))
            );
        }
        assert_eq!(Secret::exposure(Path::new("no/such/file")), None);
    }
}
