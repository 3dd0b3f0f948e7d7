//! Intermediate results on disk.

use super::storage::{Files, OWN};
use super::{ZarrOptions, ZarrStore};
use crate::store::{Scratch, Sink, Source, Store};
use crate::{Block, StoreError, Type, Value};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Prefix of directories of intermediate results.
const PREFIX: &str = "scratch-";

/// A directory for intermediate results: Zarr arrays, not compressed, that are removed after their last use.
///
/// ```
/// use ijk_blocks::{BigTensor, Executor, ZarrScratch};
/// use std::sync::Arc;
/// let u = BigTensor::lit((0..64).map(f64::from), [8, 8], [Some(2), Some(2)])?;
/// let term = u.matmul(&u)?.matmul(&u)?;
/// let directory = tempfile::tempdir()?;
/// let scratch = Arc::new(ZarrScratch::new(directory.path()));
/// let small = Executor::new().memory_limit(1024).scratch(scratch);
/// assert_eq!(small.collect(&term)?, term.collect()?);
/// assert_eq!(std::fs::read_dir(directory.path())?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ZarrScratch {
    parent: PathBuf,
}

impl ZarrScratch {
    /// In a directory, which is made if it is not there.
    pub fn new(parent: impl AsRef<Path>) -> Self {
        Self { parent: parent.as_ref().into() }
    }

    /// Beside the chunks of a result in a directory; of one elsewhere in the system's directory for temporary files.
    pub(super) fn beside(result: &Files) -> Self {
        match result.directory() {
            Some(directory) => Self::new(directory.join(OWN)),
            None => Self::new(std::env::temp_dir()),
        }
    }

    fn make(&self) -> io::Result<TempDir> {
        fs::create_dir_all(&self.parent)?;
        tempfile::Builder::new().prefix(&own_prefix()).tempdir_in(&self.parent)
    }
}

/// Prefix of those of this process.
pub(super) fn own_prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

/// Returns true if a file name is that of an intermediate result.
pub(super) fn is_scratch(name: &str) -> bool {
    name.starts_with(PREFIX)
}

impl Scratch for ZarrScratch {
    fn store(&self, ty: &Type, fill: &Value) -> Result<Arc<dyn Store>, StoreError> {
        let place = || self.parent.display().to_string();
        let directory =
            self.make().map_err(|error| StoreError { place: place(), cause: error.into() })?;
        // Computed zeros differ from missing blocks, which products may skip.
        let options = match fill {
            Value::Number(fill) => ZarrOptions::new().fill(*fill).whole(),
            Value::List(_) => ZarrOptions::new(),
        };
        let store = ZarrStore::create(directory.path(), ty, &options)?;
        Ok(Arc::new(Temporary { store, _directory: directory }))
    }
}

/// An array that is removed when it is dropped.
#[derive(Debug)]
struct Temporary {
    store: ZarrStore,
    _directory: TempDir,
}

impl Source for Temporary {
    fn ty(&self) -> &Type {
        Source::ty(&self.store)
    }

    fn fill(&self) -> Value {
        Source::fill(&self.store)
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        self.store.read(at)
    }

    fn reading(&self) -> u64 {
        self.store.reading()
    }

    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        self.store.present()
    }

    fn name(&self) -> String {
        self.store.name()
    }
}

impl Sink for Temporary {
    fn ty(&self) -> &Type {
        Sink::ty(&self.store)
    }

    fn fill(&self) -> Option<Value> {
        Sink::fill(&self.store)
    }

    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError> {
        self.store.write(at, block)
    }

    fn writing(&self) -> u64 {
        self.store.writing()
    }

    fn may_be_done(&self) -> bool {
        false
    }
}
