//! Options of writing arrays.

use super::error::ZarrError;
use crate::{Annotations, BigTensor, Type};
use ijk_types::{DType, Scalar};
use serde_json::json;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// Options of a Zarr array that is written. The default is no compression and a fill value of 0.
///
/// ```
/// use ijk_blocks::{Compression, ZarrOptions};
/// use ijk_types::Scalar;
/// let options = ZarrOptions::new().compression(Compression::Zstd(3)).fill(Scalar::F64(f64::NAN));
/// # let directory = tempfile::tempdir()?;
/// # let u = ijk_blocks::BigTensor::lit([1.0, f64::NAN], [2], [Some(1)])?;
/// let store = ijk_blocks::ZarrStore::create(directory.path().join("u.zarr"), u.ty(), &options)?;
/// u.write(std::sync::Arc::new(store))?;
/// # assert!(!directory.path().join("u.zarr/c/1").exists() && directory.path().join("u.zarr/c/0").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZarrOptions {
    pub(super) compression: Compression,
    fill: Option<Scalar>,
    fresh: bool,
    names: Option<Vec<Option<String>>>,
    attributes: Option<Arc<str>>,
    only_new: bool,
    command: Option<String>,
    /// Blocks that equal the fill value everywhere are written, too.
    pub(super) whole: bool,
}

/// Compression of chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all: numbers of computations seldom become much smaller.
    #[default]
    None,
    /// By Zstandard, at a level from 1 (fast) to 22 (small).
    Zstd(u8),
}

impl ZarrOptions {
    /// Not compressed, a fill value of 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the compression of chunks.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets the element of missing chunks; of the array's element type.
    #[must_use]
    pub fn fill(mut self, fill: Scalar) -> Self {
        self.fill = Some(fill);
        self
    }

    /// Removes an existing array, instead of continuing or refusing it.
    #[must_use]
    pub fn fresh(mut self, fresh: bool) -> Self {
        self.fresh = fresh;
        self
    }

    /// Names of the axes, `dimension_names` in Zarr, which xarray needs. The default is those of
    /// [`BigTensor::annotations`].
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, ZarrOptions, ZarrStore};
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("u.zarr");
    /// let u = BigTensor::lit([1.0, 2.0], [2], [None])?;
    /// let options = ZarrOptions::new().names([Some("time".into())]).attributes(r#"{"units": "m"}"#);
    /// ZarrStore::create(&path, u.ty(), &options)?;
    /// let found = BigTensor::open(&path)?.annotations();
    /// assert_eq!(found.names, [Some("time".to_string())]);
    /// assert_eq!(found.attributes.as_deref(), Some(r#"{"units": "m"}"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn names(mut self, names: impl Into<Vec<Option<String>>>) -> Self {
        self.names = Some(names.into());
        self
    }

    /// Attributes: the text of a JSON object, in which bare `NaN`, `Infinity` and `-Infinity` may stand, as Python
    /// writes them. Without it a copy of an array has those of the array.
    #[must_use]
    pub fn attributes(mut self, text: impl Into<Arc<str>>) -> Self {
        self.attributes = Some(text.into());
        self
    }

    /// With names and attributes of a tensor that is written to a path, where others are not given.
    #[must_use]
    pub fn annotated(&self, tensor: &BigTensor, path: impl AsRef<Path>) -> Self {
        let Annotations { names, attributes } = tensor.annotations();
        let names = super::location::named(path.as_ref(), tensor.dims(), names);
        let mut options = self.clone();
        options.names = options.names.or(names);
        options.attributes = options.attributes.or(attributes);
        options
    }

    /// The names of `rank` axes, if any has one.
    pub(super) fn axis_names(&self, rank: usize) -> Result<Option<&[Option<String>]>, ZarrError> {
        match &self.names {
            Some(names) if names.len() != rank => {
                let why = format!("{} names of axes are given, but there are {rank}", names.len());
                Err(ZarrError::Metadata(why))
            }
            Some(names) if names.iter().any(Option::is_some) => Ok(Some(names)),
            _ => Ok(None),
        }
    }

    /// The text of the attributes.
    pub(super) fn attributes_text(&self) -> &str {
        self.attributes.as_deref().unwrap_or("{}")
    }

    /// Refuses any existing file at the path, results of an earlier run of the same computation included.
    #[must_use]
    pub fn only_new(mut self, only_new: bool) -> Self {
        self.only_new = only_new;
        self
    }

    /// Sets the command that finishes the array if this run does not, for messages.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Writes blocks that equal the fill value everywhere, too: a missing block is then one that no run wrote.
    #[must_use]
    pub(super) fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Most bytes that writing a block of a tensor takes, beside the block.
    pub(super) fn writing(&self, ty: &Type) -> u64 {
        let chunk = crate::run::largest(ty);
        let is_ragged = ty
            .dims
            .iter()
            .zip(&ty.blocks)
            .any(|(&extent, block)| block.is_some_and(|block| extent % block.max(1) != 0));
        let padded = if is_ragged { chunk } else { 0 };
        let encoded = match self.compression {
            Compression::None => 0,
            Compression::Zstd(_) => chunk.saturating_add(chunk / 8).saturating_add(4096),
        };
        padded.saturating_add(encoded)
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    pub(super) fn is_only_new(&self) -> bool {
        self.only_new
    }

    pub(super) fn finished_by(&self) -> Option<String> {
        self.command.clone()
    }

    /// The fill value for elements of a type.
    pub(super) fn fill_of(&self, dtype: DType) -> Result<Scalar, ZarrError> {
        match self.fill {
            Some(fill) if fill.dtype() != dtype => {
                let why = format!("the fill value is of {}, the elements of {dtype}", fill.dtype());
                Err(ZarrError::Metadata(why))
            }
            Some(fill) => Ok(fill),
            None => Ok(Scalar::zero(dtype)),
        }
    }
}

impl Compression {
    /// The codec as metadata name it.
    pub(super) fn codec(self) -> Option<serde_json::Value> {
        let Self::Zstd(level) = self else { return None };
        let configuration = json!({ "level": level, "checksum": true });
        Some(json!({ "name": "zstd", "configuration": configuration }))
    }

    pub(super) fn encode(self, bytes: &[u8]) -> Result<Cow<'_, [u8]>, ZarrError> {
        let Self::Zstd(level) = self else { return Ok(Cow::Borrowed(bytes)) };
        let failed = |error: std::io::Error| ZarrError::codec("zstd", error);
        let mut compressor = zstd::bulk::Compressor::new(i32::from(level)).map_err(failed)?;
        compressor.include_checksum(true).map_err(failed)?;
        Ok(Cow::Owned(compressor.compress(bytes).map_err(failed)?))
    }
}
