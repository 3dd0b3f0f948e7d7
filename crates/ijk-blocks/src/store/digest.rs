//! Digests of contents, the same on every machine and in every version.

use std::hash::Hasher;
use twox_hash::XxHash64;

/// 64-bit hash of the parts added. It is not cryptographic.
pub(crate) struct Digest(XxHash64);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(XxHash64::with_seed(0))
    }

    /// Adds a part, with its length: `ab`, `c` differs from `a`, `bc`.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
        self.0.write(&(bytes.len() as u64).to_le_bytes());
    }

    /// The digest as text.
    pub(crate) fn finish(self) -> String {
        format!("{:016x}", self.0.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[&[u8]]) -> String {
        let mut digest = Digest::new();
        parts.iter().for_each(|part| digest.add(part));
        digest.finish()
    }

    #[test]
    fn ends_of_parts_count() {
        let parts: [&[&[u8]]; 5] = [&[], &[b""], &[b"ab", b"c"], &[b"a", b"bc"], &[b"abc"]];
        let digests: std::collections::HashSet<String> = parts.into_iter().map(of).collect();
        assert_eq!(digests.len(), 5);
    }

    #[test]
    fn digests_stay_what_they_are() {
        assert_eq!(of(&[b"what was written must be known again"]), "ec088145d24ade91");
    }
}
