//! Zarr arrays, through the codecs of `zarrs`.

mod archive;
mod chunks_of_shards;
mod codecs;
mod compression;
mod directory;
mod document;
mod durable;
mod encoding;
mod error;
mod fill;
mod identity;
mod journal;
mod listing;
mod location;
mod lock;
mod lz4;
mod manifest;
mod metadata;
mod new_archive;
mod options;
mod payload;
mod place;
#[cfg(feature = "object-store")]
mod remote;
mod resume;
mod scratch;
mod shards;
mod spans;
mod storage;
mod surroundings;
mod transfer;
mod v2;
mod verify;

pub use options::{Compression, ZarrOptions};
pub use place::StoreOptions;
pub use resume::Saved;
pub use scratch::ZarrScratch;

use super::{Incoming, Outgoing, Sink, Source, together};
use crate::{Annotations, BigTensor, Block, Error, Executor, StoreError, Type, Value};
use chunks_of_shards::ChunksOfShards;
use error::ZarrError;
use ijk_tensor::Tensor;
use journal::Chunk;
use manifest::Manifest;
use metadata::Layout;
use new_archive::{ArchivedResult, NewArchive};
use payload::Payload;
use resume::Earlier;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use storage::{Files, METADATA};
use surroundings::Surroundings;

/// A Zarr array in a directory, a bucket of an object store, a zip archive or on a web server: a source, and a sink
/// where it can be written.
///
/// Its chunks are the blocks, and a chunk that is as long as an axis, or longer, is ⊥. A chunk that is not there
/// is the array's fill value everywhere; blocks that are so are not written. Elements are those of
/// [`DType`](ijk_types::DType). What `zarr` 3 of Python and others write is read if its codecs are of `bytes`,
/// `transpose`, `sharding_indexed`, `zstd`, `blosc`, `gzip`, `crc32c`, and of numcodecs `zstd`, `blosc`, `gzip`, `zlib`,
/// `lz4` and `shuffle`, and its grid is regular.
///
/// Paths are those of directories, of archives (`a.zarr.zip`) and places in them, and, with the feature `object-store`,
/// URLs: `s3://bucket/key`, and `https://host/path`, which is read. Arrays of format 2 are read, too.
///
/// In a directory a chunk's file is there whole or not at all: it is written under another name, in the subdirectory
/// `.ijk`, and then renamed. Chunks of a [result](ZarrStore::resume) are synced before that counts as complete; those of other
/// arrays are left to the operating system.
///
/// ```
/// use ijk_blocks::{BigTensor, ZarrOptions, ZarrStore};
/// use std::sync::Arc;
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("squares.zarr");
/// let u = BigTensor::lit((0..6).map(f64::from), [2, 3], [Some(1), Some(2)])?;
/// let squares = (&u * &u)?;
/// squares.write(Arc::new(ZarrStore::create(&path, squares.ty(), &ZarrOptions::new())?))?;
///
/// let read = BigTensor::open(&path)?;
/// assert_eq!(read.ty(), squares.ty());
/// assert_eq!(read.collect()?, squares.collect()?);
///
/// std::fs::write(path.join("c/1/0"), b"short")?;
/// let error = read.collect().unwrap_err().to_string();
/// assert!(error.starts_with("block [1, 0] of "));
/// assert!(error.ends_with("squares.zarr, file c/1/0: it is truncated: it has 5 bytes and should have 16"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ZarrStore {
    files: Files,
    layout: Arc<Layout>,
    /// Type as a sink; as a source, no block is as long as its axis.
    ty: Type,
    options: ZarrOptions,
    /// Of results that may be computed in several runs.
    earlier: Option<Earlier>,
    /// Of results in zip archives.
    archived: Option<ArchivedResult>,
}

impl ZarrStore {
    /// Opens an array to be read.
    ///
    /// # Errors
    /// If there is none, it is of a kind that is not supported, or the result of a computation that is not finished;
    /// chunks are not looked at.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, &StoreOptions::new())
    }

    /// The same with credentials, an endpoint and others for an object store.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Self, StoreError> {
        let files = place::files(path.as_ref(), options)?;
        let read = || Manifest::read(&files);
        let (store, manifest) = together::both(files.is_far(), || Self::read(&files), read);
        let store = store?;
        manifest
            .and_then(|manifest| resume::check_finished(&files, &store.layout, manifest))
            .map_err(|problem| of_store(&files, problem))?;
        Ok(store)
    }

    /// Opens an array to be read, though it may be a result that is not finished: blocks that are not written yet
    /// are its fill value.
    ///
    /// # Errors
    /// If there is none, or it is of a kind that is not supported; chunks are not looked at.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, Executor, ZarrOptions, ZarrStore};
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("ones.zarr");
    /// let ones = BigTensor::lit([1.0; 6], [6], [Some(2)])?;
    /// drop(ZarrStore::resume(&path, &ones, &Executor::new(), &ZarrOptions::new())?); // nothing is written
    /// let error = ZarrStore::open(&path).unwrap_err().to_string();
    /// assert!(error.contains("it is not finished: 0 of 3 blocks are written"));
    /// let partial = BigTensor::from_source(ZarrStore::open_partial(&path)?)?;
    /// assert_eq!(partial.collect()?, (&ones - &ones)?.collect()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_partial(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_partial_with(path, &StoreOptions::new())
    }

    /// The same with credentials, an endpoint and others for an object store.
    ///
    /// # Errors
    /// As for [`open_partial`](Self::open_partial).
    pub fn open_partial_with(
        path: impl AsRef<Path>,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        Self::read(&place::files(path.as_ref(), options)?)
    }

    /// The array at a place.
    fn read(files: &Files) -> Result<Self, StoreError> {
        let opened = files.description().and_then(|text| Layout::parse(&text));
        let layout = opened.map_err(|problem| {
            let problem = match problem {
                ZarrError::Group { .. } => ZarrError::Group { arrays: location::arrays_in(files) },
                problem => problem,
            };
            of_store(files, problem)
        })?;
        Ok(Self::reading(files.clone(), layout.into()))
    }

    /// An array that is read.
    fn reading(files: Files, layout: Arc<Layout>) -> Self {
        let (ty, options) = (layout.ty.clone(), ZarrOptions::new());
        Self { files, layout, ty, options, earlier: None, archived: None }
    }

    /// Makes an array without chunks, to be written: the blocks of the type are its chunks. One in an archive is there
    /// when all blocks are.
    ///
    /// # Errors
    /// If something is at the path already, elements are lists, or the directory cannot be made.
    pub fn create(
        path: impl AsRef<Path>,
        ty: &Type,
        options: &ZarrOptions,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if new_archive::is_named(path) {
            let created = Self::new_archive(path, ty, options, None);
            return created.map_err(|problem| of_place(path, problem));
        }
        let files = place::files(path, options.store())?;
        let created = Self::make(&files, ty, options);
        let layout = created.map_err(|problem| of_store(&files, problem))?;
        let (ty, options) = (ty.clone(), options.clone());
        Ok(Self { files, layout: layout.into(), ty, options, earlier: None, archived: None })
    }

    /// An array in an archive of its own, with a manifest where it is a result.
    fn new_archive(
        path: &Path,
        ty: &Type,
        options: &ZarrOptions,
        manifest: Option<&Manifest>,
    ) -> Result<Self, ZarrError> {
        let text = metadata::text(ty, options)?;
        let layout = Layout::parse(text.as_bytes())?;
        let files = Files::new(path);
        if let Some(array) = Surroundings::of(&files).enclosing_array() {
            return Err(ZarrError::InArray { array: array.path().into() });
        }
        let archive = NewArchive::begin(path)?;
        if path.exists() && !options.is_fresh() {
            return Err(ZarrError::Exists);
        }
        archive.add(METADATA, text.as_bytes())?;
        if let Some(manifest) = manifest {
            archive.add(manifest::FILE, manifest.text()?.as_bytes())?;
        }
        let (ty, options, archived) =
            (ty.clone(), options.clone(), ArchivedResult::New(archive.into()));
        let (layout, archived) = (layout.into(), Some(archived));
        Ok(Self { files, layout, ty, options, earlier: None, archived })
    }

    fn make(files: &Files, ty: &Type, options: &ZarrOptions) -> Result<Layout, ZarrError> {
        let text = metadata::text(ty, options)?;
        let layout = Layout::parse(text.as_bytes())?;
        let writer = files.writer()?;
        let mut surroundings = Surroundings::of(files);
        surroundings.check()?;
        if !writer.is_free()? {
            return Err(ZarrError::Exists);
        }
        surroundings.make_groups()?;
        writer.prepare()?;
        writer.write(METADATA, text.as_bytes())?;
        surroundings.consolidate(&text)?;
        Ok(layout)
    }

    /// Returns true if a path is, or would be, that of a member of a Zarr group: the nearest existing directory above
    /// it is one. Missing directories between become groups when an array is made at the path.
    pub fn is_in_group(path: impl AsRef<Path>) -> bool {
        place::files(path.as_ref(), &StoreOptions::new())
            .is_ok_and(|files| Surroundings::of(&files).is_in_group())
    }

    /// The Zarr array in whose directory a path is, links and `..` followed, if there is one.
    pub fn enclosing(path: impl AsRef<Path>) -> Option<PathBuf> {
        let files = place::files(path.as_ref(), &StoreOptions::new()).ok()?;
        Some(Surroundings::of(&files).enclosing_array()?.path().to_path_buf())
    }

    /// The array's directory, or its URL.
    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// The path of a block's chunk from the array's directory: `c/0/3`.
    pub fn key(&self, at: &[usize]) -> String {
        self.layout.key(at)
    }

    fn of_block(&self, at: &[usize], problem: ZarrError) -> StoreError {
        of_chunk(self.files.path(), &self.key(at), at, problem)
    }

    /// Takes blocks that are the fill value everywhere, by their numbers: there are no chunks.
    fn omit(&self, numbers: Range<u64>) -> Result<(), ZarrError> {
        match &self.earlier {
            Some(earlier) => earlier.journal.add_empty(numbers),
            None => Ok(()),
        }
    }

    fn omit_one(&self, at: &[usize]) -> Result<(), ZarrError> {
        let number = self.number(at);
        self.omit(number..number + 1)
    }

    /// The number of a block, the last axis fastest.
    fn number(&self, at: &[usize]) -> u64 {
        let axes = at.iter().zip(self.layout.ty.grid());
        axes.fold(0, |number, (&at, blocks)| number * blocks as u64 + at as u64)
    }

    /// The payload of a block, unless the fill value is all there is of it.
    fn payload(&self, at: &[usize], block: Arc<Block>) -> Result<Option<Payload>, ZarrError> {
        let shape = self.ty.block_shape(at);
        let numbers = block
            .as_numbers()
            .filter(|tensor| tensor.shape() == shape && self.ty.element == tensor.dtype().into());
        let numbers = numbers.ok_or(ZarrError::Block)?;
        let fill = self.layout.elements.fill.as_ne_bytes();
        let is_fill = |element: &[u8]| element == fill;
        if !self.options.whole && numbers.as_bytes().chunks_exact(fill.len()).all(is_fill) {
            return Ok(None);
        }
        let chunk = self.layout.chunk_shape();
        let payload = match shape == chunk {
            true => Payload::Block(block),
            false => {
                let mut padded = Tensor::full(self.layout.fill, &chunk)?;
                let window: Vec<_> = shape.iter().map(|&extent| 0..extent).collect();
                padded.view_mut().part(&window).assign(&numbers.view());
                Payload::Padded(padded)
            }
        };
        payload.encoded(&self.layout).map(Some)
    }

    /// Writes a block, unless the fill value is all there is of it.
    fn put(&self, at: &[usize], block: Arc<Block>) -> Result<(), ZarrError> {
        let Some(payload) = self.payload(at, block)? else { return self.omit_one(at) };
        if let Some(ArchivedResult::New(archive)) = &self.archived {
            return archive.add(&self.layout.key(at), payload.as_ref());
        }
        let (key, writer) = (self.layout.key(at), self.files.writer()?);
        let Some(Earlier { journal, .. }) = self.held()? else {
            return writer.write_chunk(&key, payload, &mut || Ok(()));
        };
        let (chunk, number) = (Chunk::of(payload.as_ref()), self.number(at));
        writer.write_chunk(&key, payload, &mut || journal.record(number, &chunk))?;
        journal.add(key, &chunk)
    }

    /// Blocks of earlier runs, if no other run has taken the array over.
    fn held(&self) -> Result<Option<&Earlier>, ZarrError> {
        match &self.earlier {
            Some(earlier) if !earlier.lock.is_held() => Err(ZarrError::LostLock),
            earlier => Ok(earlier.as_ref()),
        }
    }
}

/// Error of a chunk of an array.
fn of_chunk(path: &Path, key: &str, at: &[usize], problem: ZarrError) -> StoreError {
    StoreError::of_block(&format!("{}, file {key}", path.display()), at, problem)
}

/// Error of an array as a whole.
fn of_store(files: &Files, problem: ZarrError) -> StoreError {
    of_place(files.path(), problem)
}

fn of_place(path: &Path, problem: ZarrError) -> StoreError {
    StoreError { place: path.display().to_string(), cause: problem.into() }
}

impl Source for ZarrStore {
    fn ty(&self) -> &Type {
        &self.layout.ty
    }

    fn fill(&self) -> Value {
        Value::Number(self.layout.fill)
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        let block = self
            .files
            .open(&self.layout.key(at))
            .and_then(|object| object.map(|object| self.layout.block(at, object)).transpose());
        Ok(block.map_err(|problem| self.of_block(at, problem))?.map(Arc::new))
    }

    fn request(&self, at: &[usize]) -> Result<Option<Box<dyn Incoming>>, StoreError> {
        let coming = transfer::request(&self.files, &self.layout, at);
        coming.map_err(|problem| self.of_block(at, problem))
    }

    fn is_far(&self) -> bool {
        self.files.is_far()
    }

    fn reading(&self) -> u64 {
        let Layout { ty, codecs, .. } = &*self.layout;
        let chunk = self.layout.bytes();
        // Chunks are truncated at the array's end.
        let cut = if self.layout.is_ragged() { crate::run::largest(ty) } else { 0 };
        chunk.saturating_add(cut.max(codecs.buffers(chunk as usize)))
    }

    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        let chunks = listing::chunks(&self.files, &self.layout);
        chunks.map_err(|problem| of_store(&self.files, problem))
    }

    fn name(&self) -> String {
        self.files.name()
    }

    fn identity(&self) -> Result<String, StoreError> {
        self.files.identity().map_err(|problem| of_store(&self.files, problem))
    }

    fn path(&self) -> Option<&Path> {
        Some(self.files.path())
    }

    fn annotations(&self) -> Annotations {
        self.layout.annotations.clone()
    }

    fn until(&self, flag: &Arc<AtomicBool>) -> Option<Arc<dyn Source>> {
        let files = self.files.until(Some(flag))?;
        Some(Arc::new(Self::reading(files, Arc::clone(&self.layout))))
    }

    fn encoding(&self) -> Option<Arc<str>> {
        Some(self.layout.encoding.text()?.into())
    }

    fn parts(&self) -> Option<Arc<dyn Source>> {
        Some(Arc::new(ChunksOfShards::new(&self.files, &self.layout)?))
    }
}

impl Sink for ZarrStore {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn fill(&self) -> Option<Value> {
        Some(Value::Number(self.layout.fill))
    }

    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError> {
        let written = match block {
            Some(block) => self.put(at, block),
            None => self.omit_one(at),
        };
        written.map_err(|problem| self.of_block(at, problem))
    }

    fn send(
        &self,
        at: &[usize],
        block: Option<Arc<Block>>,
    ) -> Result<Option<Box<dyn Outgoing>>, StoreError> {
        let Some(block) = block else { return Sink::write(self, at, None).map(|()| None) };
        self.send_block(at, block).map_err(|problem| self.of_block(at, problem))
    }

    fn is_far(&self) -> bool {
        self.files.is_far()
    }

    fn leave_out(&self, numbers: Range<usize>) -> Result<(), StoreError> {
        let numbers = numbers.start as u64..numbers.end as u64;
        self.omit(numbers).map_err(|problem| of_store(&self.files, problem))
    }

    fn writing(&self) -> u64 {
        self.options.writing(&self.ty)
    }

    fn may_be_done(&self) -> bool {
        self.earlier.as_ref().is_some_and(Earlier::is_any)
    }

    fn is_done(&self, at: &[usize]) -> bool {
        self.earlier.as_ref().is_some_and(|earlier| earlier.has(self.number(at)))
    }

    fn finish(&self) -> Result<(), StoreError> {
        let finished = match (&self.earlier, &self.archived) {
            (Some(earlier), _) => earlier.journal.flush(),
            (None, Some(ArchivedResult::New(archive))) => archive.finish(),
            (None, _) => Ok(()),
        };
        finished.map_err(|problem| of_store(&self.files, problem))
    }
}

impl Executor {
    /// The tensor of a Zarr array, as [`BigTensor::open_with`] opens it; the executor's [flag](Self::stop) ends the
    /// waiting for a server.
    ///
    /// # Errors
    /// As for [`BigTensor::open`].
    pub fn open(&self, path: impl AsRef<Path>, options: &StoreOptions) -> Result<BigTensor, Error> {
        BigTensor::open_with(path, &options.until(self.stopped_by()))
    }

    /// The same of an array that may be a result that is not finished.
    ///
    /// # Errors
    /// As for [`ZarrStore::open_partial`].
    pub fn open_partial(
        &self,
        path: impl AsRef<Path>,
        options: &StoreOptions,
    ) -> Result<BigTensor, Error> {
        let options = options.until(self.stopped_by());
        BigTensor::from_source(ZarrStore::open_partial_with(path, &options)?)
    }
}

impl BigTensor {
    /// The tensor of a Zarr array: see [`ZarrStore`].
    ///
    /// # Errors
    /// If there is none at the path, it is of a kind that is not supported, or a result that is not finished:
    /// [`ZarrStore::open_partial`] opens that.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_source(ZarrStore::open(path)?)
    }

    /// The same with credentials, an endpoint and others for an object store.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Self, Error> {
        Self::from_source(ZarrStore::open_with(path, options)?)
    }
}
