//! Options of writing arrays.

use super::StoreOptions;
use super::encoding::Encoding;
use super::error::ZarrError;
use crate::{Annotations, BigTensor, Type};
use ijk_types::{DType, Scalar};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    compression: Compression,
    fill: Option<Scalar>,
    fresh: bool,
    names: Option<Vec<Option<String>>>,
    attributes: Option<Arc<str>>,
    only_new: bool,
    command: Option<String>,
    store: StoreOptions,
    shards: Option<Vec<usize>>,
    /// The encoding of another array, instead of compression and shards.
    like: Option<Encoding>,
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

    /// Makes each chunk a shard of smaller ones of these extents, which readers can fetch one by one; they divide the
    /// blocks.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, Executor, ZarrOptions};
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("u.zarr");
    /// let u = BigTensor::lit((0..64).map(f64::from), [8, 8], [Some(4), Some(4)])?;
    /// Executor::new().save(&u, &path, &ZarrOptions::new().shards([2, 2]))?;
    /// assert_eq!(BigTensor::open(&path)?.collect()?, u.collect()?);
    /// assert_eq!(BigTensor::open(&path)?.ty(), u.ty());
    ///
    /// let uneven = ZarrOptions::new().shards([3, 2]).fresh(true);
    /// let error = Executor::new().save(&u, &path, &uneven).unwrap_err();
    /// assert!(error.to_string().contains("chunks of 3 do not divide blocks of 4 on axis 0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shards(mut self, inner: impl Into<Vec<usize>>) -> Self {
        self.shards = Some(inner.into());
        self
    }

    /// Stores a tensor as the first array that it is computed from and that has codecs: compressed alike, in shards of
    /// the same smaller chunks. Of a tensor of no such array it changes nothing.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, Compression, Executor, ZarrOptions};
    /// # let directory = tempfile::tempdir()?;
    /// let (a, b) = (directory.path().join("a.zarr"), directory.path().join("b.zarr"));
    /// let u = BigTensor::lit((0..64).map(f64::from), [8, 8], [Some(4), Some(4)])?;
    /// let options = ZarrOptions::new().shards([2, 2]).compression(Compression::Zstd(5));
    /// Executor::new().save(&u, &a, &options)?;
    /// let a = BigTensor::open(&a)?;
    /// let product = a.matmul(&a)?;
    /// Executor::new().save(&product, &b, &ZarrOptions::new().like_inputs(&product))?;
    /// let text = std::fs::read_to_string(b.join("zarr.json"))?;
    /// assert!(text.contains("sharding_indexed") && text.contains("zstd"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn like_inputs(mut self, tensor: &BigTensor) -> Self {
        let plan = crate::BlockPlan::new(tensor);
        let encodings = plan.arrays.iter().filter_map(|array| match &array.from {
            crate::plan::From::Source(source) => source.encoding(),
            crate::plan::From::Stage(_) => None,
        });
        let first = encodings.map(|text| Encoding::parse(&text)).next().flatten();
        self.like = first.or(self.like);
        self
    }

    /// The codecs of the metadata of an array of a type.
    pub(super) fn codecs(&self, ty: &Type, dtype: DType) -> Result<Vec<Value>, ZarrError> {
        match &self.like {
            Some(encoding) => encoding.codecs(ty, dtype),
            None => {
                let compression = self.compression.codec().into_iter().collect();
                Encoding { compression, shards: self.shards.clone() }.codecs(ty, dtype)
            }
        }
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
        let names = match super::place::files(path.as_ref(), &self.store) {
            Ok(files) => super::location::named(&files, tensor.dims(), names),
            // The error is reported when the place is opened.
            Err(_) => None,
        };
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

    /// Sets credentials, an endpoint and others for an array on an object store.
    #[must_use]
    pub fn at_store(mut self, store: StoreOptions) -> Self {
        self.store = store;
        self
    }

    /// The same, where a flag ends the waiting for a server.
    pub(super) fn until(&self, flag: Option<&Arc<AtomicBool>>) -> Self {
        Self { store: self.store.until(flag), ..self.clone() }
    }

    pub(super) fn store(&self) -> &StoreOptions {
        &self.store
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
        let is_like = self.like.as_ref().is_some_and(|like| !like.is_plain());
        let encoded = match self.compression {
            Compression::None if self.shards.is_none() && !is_like => 0,
            _ => chunk.saturating_add(chunk / 8).saturating_add(4096),
        };
        // Smaller chunks are made one by one.
        let is_cut = self.shards.is_some() || is_like;
        let cut = if is_cut { encoded } else { 0 };
        padded.saturating_add(encoded).saturating_add(cut)
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
}
