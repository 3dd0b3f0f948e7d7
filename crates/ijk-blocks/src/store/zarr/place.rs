//! From a path or a URL to the place of an array.

use super::archive::Archive;
use super::error::ZarrError;
use super::of_place;
use super::storage::Files;
use crate::{StoreError, url_scheme};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options of a place of arrays: credentials and the endpoint of an object store, say.
///
/// Names are those of the environment variables that AWS documents, in lower case, with or without `aws_`:
/// `access_key_id`, `secret_access_key`, `session_token`, `region`, `endpoint_url`, `profile`, `skip_signature`,
/// `virtual_hosted_style_request`, … What is given here comes before the environment.
///
/// ```
/// use ijk_blocks::StoreOptions;
/// let options = StoreOptions::new().set("endpoint_url", "http://localhost:9000").set("region", "eu-west-1");
/// # drop(options);
/// ```
#[derive(Clone, Default)]
pub struct StoreOptions {
    entries: Vec<(String, String)>,
    /// Ends the waiting for a server.
    stop: Option<Arc<AtomicBool>>,
}

/// Settings are compared.
impl PartialEq for StoreOptions {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl StoreOptions {
    /// Whatever the environment says.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an option.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.entries.push((name.into(), value.into()));
        self
    }

    /// The same, where a flag ends the waiting for a server, if there is one.
    pub(super) fn until(&self, flag: Option<&Arc<AtomicBool>>) -> Self {
        let stop = flag.cloned().or_else(|| self.stop.clone());
        Self { entries: self.entries.clone(), stop }
    }

    /// The flag.
    #[cfg(feature = "object-store")]
    pub(super) fn stop(&self) -> Option<&Arc<AtomicBool>> {
        self.stop.as_ref()
    }

    /// Names and values, later ones last.
    #[cfg(feature = "object-store")]
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// Values may be secret.
impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.entries.iter().map(|(name, _)| name);
        f.debug_struct("StoreOptions").field("names", &names.collect::<Vec<_>>()).finish()
    }
}

/// The place at a path or URL.
pub(super) fn files(path: &Path, options: &StoreOptions) -> Result<Files, StoreError> {
    opened(path, options).map_err(|problem| of_place(path, problem))
}

fn opened(path: &Path, options: &StoreOptions) -> Result<Files, ZarrError> {
    match url_scheme(path) {
        None => Ok(Archive::around(path)?.map_or_else(|| Files::new(path), Files::at)),
        Some(scheme) => remote(path, scheme, options),
    }
}

#[cfg(feature = "object-store")]
fn remote(path: &Path, scheme: &str, options: &StoreOptions) -> Result<Files, ZarrError> {
    super::remote::open(path, scheme, options)
}

#[cfg(not(feature = "object-store"))]
fn remote(_: &Path, scheme: &str, _: &StoreOptions) -> Result<Files, ZarrError> {
    Err(ZarrError::Url { scheme: scheme.into() })
}
