//! Einsums that were parsed before.

use super::Einsum;
use crate::Error;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// So many texts are kept.
const MOST: usize = 512;

/// Einsums by their text.
#[derive(Default)]
pub(crate) struct Recent {
    texts: Mutex<HashMap<String, Einsum>>,
}

impl Recent {
    /// The einsum of a text.
    pub(crate) fn einsum(&self, text: &str) -> Result<Einsum, Error> {
        let lock = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(einsum) = lock().get(text) {
            return Ok(einsum.clone());
        }
        let einsum = Einsum::new(text)?;
        let mut texts = lock();
        if texts.len() >= MOST {
            texts.clear();
        }
        texts.insert(text.into(), einsum.clone());
        Ok(einsum)
    }
}

impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recent")
    }
}
