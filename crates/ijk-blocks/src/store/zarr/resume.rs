//! Results that are computed in several runs, where one ends early.

use super::files::Files;
use super::location::{self, resolved};
use super::manifest::{Lock, Manifest};
use super::metadata::{self, Layout};
use super::missing::{self, Log};
use super::problem::Problem;
use super::{ZarrOptions, ZarrScratch, ZarrStore, of_store};
use crate::plan::{BlockPlan, Coordinates, From};
use crate::{BigTensor, Error, Executor, StoreError, Type};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// What is known of earlier runs.
#[derive(Debug)]
pub(super) struct Earlier {
    /// Whether there was one.
    pub(super) is_any: bool,
    /// Finished blocks without a chunk.
    pub(super) missing: HashSet<Vec<usize>>,
    pub(super) log: Log,
    manifest: Option<Manifest>,
    _lock: Option<Lock>,
}

/// What became of the result of an [`Executor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Blocks of the result.
    pub blocks: usize,
    /// Those that this run computed; earlier ones computed the others.
    pub computed: usize,
}

impl ZarrStore {
    /// An array for a tensor that an executor computes: a new one, or that of an earlier run of the same
    /// computation, whose blocks are [done](crate::Sink::is_done).
    ///
    /// The same computation is: the same block plan of the same inputs, with instructions of the same level and
    /// in the same order, whatever the number of threads, workers and processes. Inputs are the same by their
    /// contents in memory; as Zarr arrays, by their metadata and their chunks' sizes and times of change.
    /// Closures and other sources are told apart by their names only. All that is kept in `.ijk` in the array's
    /// directory, and moves with it.
    ///
    /// With [`ZarrOptions::fresh`] an array that is at the path is removed first.
    ///
    /// # Errors
    /// If something else is at the path, another process writes the array, it is one of the inputs, or the
    /// directory cannot be written.
    pub fn resume(
        path: impl AsRef<Path>,
        tensor: &BigTensor,
        executor: &Executor,
        options: &ZarrOptions,
    ) -> Result<Self, StoreError> {
        let files = Files::new(path.as_ref());
        if reads(tensor, path.as_ref()) {
            return Err(of_store(&files, Problem::IsInput));
        }
        let manifest = Manifest::new(tensor, executor.simd())?;
        let options = options.annotated(tensor, path.as_ref());
        Self::continued(files.clone(), tensor.ty(), manifest, &options)
            .map_err(|problem| of_store(&files, problem))
    }

    fn continued(
        files: Files,
        ty: &Type,
        manifest: Manifest,
        options: &ZarrOptions,
    ) -> Result<Self, Problem> {
        let text = metadata::text(ty, options)?;
        let layout = Layout::parse(text.as_bytes())?;
        location::check_place(files.root())?;
        if options.is_fresh() {
            files.remove()?;
        }
        let there = Manifest::read(&files)?;
        if there.is_none() && !options.is_fresh() && !files.is_free() {
            return Err(Problem::Exists);
        }
        if let Some(what) = there.as_ref().and_then(|there| manifest.difference(there)) {
            return Err(Problem::Other(what));
        }
        location::make_groups(files.root())?;
        let lock = Some(Lock::new(&files)?);
        files.sweep()?;
        let is_any = there.is_some();
        let manifest = there.unwrap_or(manifest);
        match files.metadata() {
            Ok(found) if !metadata::are_same(&found, text.as_bytes()) => {
                return Err(Problem::Other("it is stored otherwise: see zarr.json".into()));
            }
            Ok(_) => {}
            // The run that should have written them ended before.
            Err(_) => {
                manifest.write(&files)?;
                files.write("zarr.json", text.as_bytes())?;
            }
        }
        let missing = missing::read(&files)?;
        let earlier =
            Earlier { is_any, missing, log: Log::default(), manifest: Some(manifest), _lock: lock };
        let (ty, options) = (ty.clone(), options.clone());
        Ok(Self { files, layout, ty, options, earlier: Some(earlier) })
    }

    /// The array that another process made by [`resume`](Self::resume), to be written by this one, too. No block
    /// of it is said to be done: which are is for that process to tell, since what is there changes.
    ///
    /// # Errors
    /// If it is not there, or of another type.
    pub fn join(
        path: impl AsRef<Path>,
        ty: &Type,
        options: &ZarrOptions,
    ) -> Result<Self, StoreError> {
        let files = Files::new(path.as_ref());
        let joined = files.metadata().and_then(|found| {
            let text = metadata::text(ty, options)?;
            match metadata::are_same(&found, text.as_bytes()) {
                true => Layout::parse(text.as_bytes()),
                false => Err(Problem::Other("it is stored otherwise: see zarr.json".into())),
            }
        });
        let layout = joined.map_err(|problem| of_store(&files, problem))?;
        let (missing, log) = (HashSet::new(), Log::default());
        let earlier = Earlier { is_any: false, missing, log, manifest: None, _lock: None };
        let (ty, options) = (ty.clone(), options.clone());
        Ok(Self { files, layout, ty, options, earlier: Some(earlier) })
    }

    /// Whether an earlier run completed the result: there is nothing to do.
    pub fn is_complete(&self) -> bool {
        let manifest = self.earlier.as_ref().and_then(|earlier| earlier.manifest.as_ref());
        manifest.is_some_and(|manifest| manifest.complete)
    }

    /// Says that all blocks are there.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn complete(&self) -> Result<(), StoreError> {
        let manifest = self.earlier.as_ref().and_then(|earlier| earlier.manifest.clone());
        let Some(mut manifest) = manifest else { return Ok(()) };
        manifest.complete = true;
        manifest.write(&self.files).map_err(|problem| of_store(&self.files, problem))
    }
}

/// Whether a tensor is computed from what is at a path, or beneath it.
fn reads(tensor: &BigTensor, path: &Path) -> bool {
    let path = resolved(path);
    BlockPlan::new(tensor).arrays.iter().any(|array| match &array.from {
        From::Source(source) => {
            source.path().is_some_and(|source| resolved(source).starts_with(&path))
        }
        From::Stage(_) => false,
    })
}

impl Executor {
    /// Computes a tensor into a Zarr array, or what an earlier run left of it: see [`ZarrStore::resume`]. With a
    /// memory limit, intermediate results go to `.ijk` in its directory, unless there is another
    /// [scratch](Self::scratch).
    ///
    /// Of several processes, the first one makes the array, and knows what an earlier run left; all reach it by
    /// the same path. Of intermediate results, each keeps there what it computes.
    ///
    /// # Errors
    /// Whatever fails; blocks that were written stay, and the next run continues from there.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, Executor, Saved, ZarrOptions};
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("square.zarr");
    /// let u = BigTensor::lit((0..16).map(f64::from), [4, 4], [Some(2), Some(2)])?;
    /// let square = u.matmul(&u)?;
    /// let executor = Executor::new();
    /// let saved = executor.save(&square, &path, &ZarrOptions::new())?;
    /// assert_eq!(saved, Saved { blocks: 4, computed: 4 });
    ///
    /// std::fs::remove_file(path.join("c/1/0"))?; // as if the run had ended before
    /// # let text = std::fs::read_to_string(path.join(".ijk/manifest.json"))?;
    /// # std::fs::write(path.join(".ijk/manifest.json"), text.replace("true", "false"))?;
    /// let saved = executor.save(&square, &path, &ZarrOptions::new())?;
    /// assert_eq!(saved, Saved { blocks: 4, computed: 1 });
    ///
    /// let error = executor.save(&(&u + &u)?, &path, &ZarrOptions::new()).unwrap_err();
    /// assert!(error.to_string().contains("it holds another computation's result: its program was"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(
        &self,
        tensor: &BigTensor,
        path: impl AsRef<Path>,
        options: &ZarrOptions,
    ) -> Result<Saved, Error> {
        let store = Arc::new(self.opened(tensor, path.as_ref(), options)?);
        let blocks = Coordinates::count(&tensor.ty().grid());
        if store.is_complete() && self.processes().is_none() {
            return Ok(Saved { blocks, computed: 0 });
        }
        let executor = self.clone().scratch_or(Arc::new(ZarrScratch::beside(store.path())));
        let before = executor.complete(tensor, Arc::<ZarrStore>::clone(&store))?;
        store.complete()?;
        Ok(Saved { blocks, computed: blocks - before })
    }

    /// The array, which the first of several processes makes, or finds.
    fn opened(
        &self,
        tensor: &BigTensor,
        path: &Path,
        options: &ZarrOptions,
    ) -> Result<ZarrStore, Error> {
        let resume = || ZarrStore::resume(path, tensor, self, options).map_err(Error::from);
        match self.processes() {
            None => resume(),
            Some(cluster) if cluster.process() == 0 => cluster.agree(resume(), Error::to_string),
            Some(cluster) => {
                cluster.agree(Ok(()), Error::to_string)?;
                Ok(ZarrStore::join(path, tensor.ty(), options)?)
            }
        }
    }
}
