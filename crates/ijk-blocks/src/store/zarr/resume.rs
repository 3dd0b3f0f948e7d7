//! Results that are computed in several runs, where one ends early.

use super::archive::Archive;
use super::error::ZarrError;
use super::journal::{Journal, Records};
use super::location::resolved;
use super::manifest::{FILE, Manifest};
use super::metadata::{self, Layout};
use super::new_archive::{self, ArchivedResult};
use super::storage::{Files, Hold, METADATA, Writer};
use super::surroundings::Surroundings;
use super::verify::{Verified, Verifier};
use super::{StoreOptions, ZarrOptions, ZarrScratch, ZarrStore, of_place, of_store, place};
use crate::domain::Coordinates;
use crate::plan::{BlockPlan, From};
use crate::store::together;
use crate::{BigTensor, Error, Executor, StoreError, Type};
use ijk_cpu::RunError;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Chunks that are verified at a time where an array is far away.
const VERIFIED: usize = 8;

/// Blocks of earlier runs, and those that this one adds.
#[derive(Debug)]
pub(super) struct Earlier {
    /// Blocks that earlier runs finished, and that are as they left them.
    kept: Records,
    /// Number of further blocks that are recorded but missing or damaged.
    damaged: u64,
    /// Dropped before the lock: it records what is written last.
    pub(super) journal: Arc<Journal>,
    manifest: Option<Manifest>,
    metadata: Metadata,
    pub(super) lock: Box<dyn Hold>,
}

/// The metadata that a run wrote. If the directory was removed meanwhile, but not these, they are removed, too: without
/// a manifest they would be those of an array of fill values.
#[derive(Debug)]
struct Metadata {
    files: Files,
    text: String,
    /// The manifest has just been written, and nothing is left to check.
    is_complete: AtomicBool,
}

impl Metadata {
    fn new(files: &Files, text: String) -> Self {
        Self { files: files.clone(), text, is_complete: AtomicBool::new(false) }
    }
}

impl Drop for Metadata {
    fn drop(&mut self) {
        if self.files.is_far() && *self.is_complete.get_mut() {
            return;
        }
        let is_ours = || self.files.metadata().is_ok_and(|found| found == self.text.as_bytes());
        if matches!(Manifest::is_there(&self.files), Ok(false)) && is_ours() {
            let remove = |writer: &dyn Writer| writer.remove(&[METADATA.into()]);
            // A file that cannot be removed is absent, or no longer writable.
            self.files.writer().and_then(remove).unwrap_or_default();
        }
    }
}

impl Earlier {
    /// Returns true if some block is finished.
    pub(super) fn is_any(&self) -> bool {
        !self.kept.chunks.is_empty() || self.kept.empty.iter().next().is_some()
    }

    /// Returns true if a block is finished.
    pub(super) fn has(&self, number: u64) -> bool {
        self.kept.chunks.contains_key(&number) || self.kept.empty.contains(number)
    }
}

/// Outcome of saving a result of an [`Executor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Blocks of the result.
    pub blocks: usize,
    /// Those that this run computed; earlier ones computed the others.
    pub computed: usize,
    /// Those among them that an earlier run had computed, but whose chunks were gone or not as it wrote them.
    pub damaged: usize,
}

impl ZarrStore {
    /// An array for a tensor that an executor computes: a new one, or that of an earlier run of the same
    /// computation, whose blocks are [done](crate::Sink::is_done).
    ///
    /// The same computation is: the same block plan of the same inputs, with the same instruction set and order of
    /// summation, whatever the number of threads, workers and processes. Inputs in memory are identified by their
    /// contents; Zarr arrays by their metadata and their chunks' sizes and modification times; closures and other
    /// sources by their names only. All that is kept in `.ijk` in the array's directory, and moves with it.
    ///
    /// A block is done if a journal in `.ijk` names it, and if its chunk has the recorded length and checksum: chunks
    /// are read for this, once. Other chunks are removed, and computed again. Chunks and journals are synced, so that a
    /// power failure loses little of an unfinished result, and nothing of a complete one.
    ///
    /// With [`ZarrOptions::fresh`] an array that is at the path is removed first. As long as this lives, no other
    /// process writes the array, nor another one at its path.
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
        let (path, options) = (path.as_ref(), &options.until(executor.stopped_by()));
        if new_archive::is_named(path) {
            let manifest = Manifest::new(tensor, executor.simd())?.of_run(executor, options);
            let archived = Self::archived(path, tensor, manifest, executor, options);
            return archived.map_err(|problem| of_place(path, problem));
        }
        let files = place::files(path, options.store())?;
        if reads(tensor, &files) {
            return Err(of_store(&files, ZarrError::IsInput));
        }
        let is_far = files.is_far();
        let look = || Surroundings::of(&files);
        let annotate = || options.annotated(tensor, path);
        let (manifest, (surroundings, options)) = together::both(
            is_far,
            || Manifest::new(tensor, executor.simd()),
            || together::both(is_far, look, annotate),
        );
        let manifest = manifest?.of_run(executor, &options);
        Self::continued(&files, surroundings, tensor.ty(), manifest, executor, &options)
            .map_err(|problem| of_store(&files, problem))
    }

    /// A result in an archive: an earlier run has completed it, or this one makes it anew.
    fn archived(
        path: &Path,
        tensor: &BigTensor,
        mut manifest: Manifest,
        executor: &Executor,
        options: &ZarrOptions,
    ) -> Result<Self, ZarrError> {
        if executor.processes().is_some() {
            return Err(ZarrError::ArchiveOfProcesses);
        }
        if reads(tensor, &Files::new(path)) {
            return Err(ZarrError::IsInput);
        }
        let options = options.annotated(tensor, path);
        if path.exists() && !options.is_fresh() && !options.is_only_new() {
            let archive = Archive::around(path)?.ok_or(ZarrError::NoArchive)?;
            let files = Files::at(archive.clone());
            let text = metadata::text(tensor.ty(), &options)?;
            let there = Manifest::read(&files)?.filter(|there| there.complete);
            let there = there.ok_or(ZarrError::Exists)?;
            if let Some(what) = manifest.difference(&there) {
                return Err(ZarrError::Other(what));
            }
            if !is_stored_alike(&files.metadata()?, &text) {
                return Err(ZarrError::stored_otherwise());
            }
            archive.verify(executor.stopped_by().map(|flag| &**flag))?;
            let layout = Layout::parse(text.as_bytes())?.into();
            let (ty, archived) = (tensor.ty().clone(), Some(ArchivedResult::Complete));
            return Ok(Self { files, layout, ty, options, earlier: None, archived });
        }
        // The archive has a name when it is complete.
        manifest.complete = true;
        Self::new_archive(path, tensor.ty(), &options, Some(&manifest))
    }

    fn continued(
        files: &Files,
        mut surroundings: Surroundings,
        ty: &Type,
        manifest: Manifest,
        executor: &Executor,
        options: &ZarrOptions,
    ) -> Result<Self, ZarrError> {
        let text = metadata::text(ty, options)?;
        let layout = Layout::parse(text.as_bytes())?;
        let writer = files.writer()?;
        surroundings.check()?;
        surroundings.make_groups()?;
        let mut lock = writer.lock()?;
        // Nothing is touched that is not ours.
        let mut there = found(files, &manifest, &text, options)?;
        if lock.enter()? {
            there = found(files, &manifest, &text, options)?;
        }
        writer.sweep()?;
        let blocks = Coordinates::count(&layout.ty.grid()) as u64;
        let (manifest, verified) = match there {
            PlaceBefore::Same(there) => {
                let verified = verified(files, &layout, executor)?;
                (again(files, manifest, there, &verified, blocks)?, verified)
            }
            other => {
                begin(files, &manifest, &text, matches!(other, PlaceBefore::Nothing))?;
                surroundings.consolidate(&text)?;
                (manifest, Verified::default())
            }
        };
        let journal = Arc::new(Journal::new(files, blocks).syncing(&[FILE, METADATA]));
        let (kept, damaged) = (verified.kept, verified.damaged);
        let metadata = Metadata::new(files, text);
        let (files, manifest) = (files.clone(), Some(manifest));
        let earlier = Earlier { kept, damaged, journal, manifest, metadata, lock };
        let (ty, options) = (ty.clone(), options.clone());
        let (layout, earlier) = (layout.into(), Some(earlier));
        Ok(Self { files, layout, ty, options, earlier, archived: None })
    }

    /// Lets the other processes of a run [join](Self::join): until all of them have ended, no other run begins.
    ///
    /// # Errors
    /// If another process took the array in between.
    pub fn share(mut self) -> Result<Self, StoreError> {
        let shared = self.earlier.as_mut().map_or(Ok(()), |earlier| earlier.lock.share());
        shared.map_err(|problem| of_store(&self.files, problem))?;
        Ok(self)
    }

    /// The array that another process made by [`resume`](Self::resume) and [shares](Self::share), to be written by this
    /// one, too. It reports no block as done: the other process determines these, since the files change meanwhile.
    ///
    /// # Errors
    /// If it is not there, of another type, or not shared.
    pub fn join(
        path: impl AsRef<Path>,
        ty: &Type,
        options: &ZarrOptions,
    ) -> Result<Self, StoreError> {
        let files = place::files(path.as_ref(), options.store())?;
        let joined = files.metadata().and_then(|found| {
            let text = metadata::text(ty, options)?;
            match is_stored_alike(&found, &text) {
                true => Ok((Layout::parse(text.as_bytes())?, text, files.writer()?.join()?)),
                false => Err(ZarrError::stored_otherwise()),
            }
        });
        let (layout, text, lock) = joined.map_err(|problem| of_store(&files, problem))?;
        let journal = Journal::new(&files, Coordinates::count(&layout.ty.grid()) as u64);
        let journal = Arc::new(journal);
        let (kept, damaged, manifest) = (Records::default(), 0, None);
        let metadata = Metadata::new(&files, text);
        let earlier = Earlier { kept, damaged, journal, manifest, metadata, lock };
        let (ty, options) = (ty.clone(), options.clone());
        let (layout, earlier) = (layout.into(), Some(earlier));
        Ok(Self { files, layout, ty, options, earlier, archived: None })
    }

    /// Removes what this process has begun to write of a result and not finished: for a process that ends without
    /// waiting for its run.
    ///
    /// # Errors
    /// If that fails; the next run removes it, too.
    pub fn abandon(path: impl AsRef<Path>) -> Result<(), StoreError> {
        let path = path.as_ref();
        if new_archive::is_named(path) {
            return new_archive::abandon(path).map_err(|problem| of_place(path, problem));
        }
        let files = place::files(path, &StoreOptions::new())?;
        let abandoned = files.writer().and_then(|writer| writer.abandon());
        abandoned.map_err(|problem| of_store(&files, problem))
    }

    /// Returns true if a result at a path is a zip archive: it has its name when it is complete, and a run that ends
    /// before leaves nothing to continue.
    pub fn is_archive(path: impl AsRef<Path>) -> bool {
        new_archive::is_named(path.as_ref())
    }

    /// Returns true if an earlier run completed the result.
    pub fn is_complete(&self) -> bool {
        if matches!(self.archived, Some(ArchivedResult::Complete)) {
            return true;
        }
        let manifest = self.earlier.as_ref().and_then(|earlier| earlier.manifest.as_ref());
        manifest.is_some_and(|manifest| manifest.complete)
    }

    /// Marks the result as complete, after checking that all blocks exist.
    ///
    /// # Errors
    /// If blocks are missing, since another process removed them; if the manifest cannot be written.
    pub fn complete(&self) -> Result<(), StoreError> {
        if let Some(ArchivedResult::New(archive)) = &self.archived {
            return archive.finish().map_err(|problem| of_store(&self.files, problem));
        }
        self.completed().map_err(|problem| of_store(&self.files, problem))
    }

    fn completed(&self) -> Result<(), ZarrError> {
        let Some(earlier) = &self.earlier else { return Ok(()) };
        let Some(mut manifest) = earlier.manifest.clone() else { return Ok(()) };
        earlier.journal.flush()?;
        let (files, grid) = (&self.files, self.layout.ty.grid());
        let is_far = files.is_far();
        let read = || Records::read(files);
        let list = || files.lengths("c", grid.len());
        let (is_in_place, (records, lengths)) = together::both(
            is_far,
            || earlier.lock.is_in_place(),
            || together::both(is_far, read, list),
        );
        if !is_in_place {
            let is_held = earlier.lock.is_held();
            return Err(if is_held { ZarrError::Removed } else { ZarrError::LostLock });
        }
        let (records, lengths) = (records?, lengths?);
        let is_there = |number: u64| match records.chunks.get(&number) {
            None => Ok(records.empty.contains(number)),
            Some(chunks) => {
                let key = self.key(&Coordinates::of(&grid, number as usize));
                let found = match &lengths {
                    Some(lengths) => lengths.get(&key).copied(),
                    None => files.length(&key)?,
                };
                Ok::<_, ZarrError>(chunks.iter().any(|chunk| Some(chunk.length) == found))
            }
        };
        let (blocks, mut missing) = (Coordinates::count(&grid) as u64, 0);
        for number in 0..blocks {
            missing += u64::from(!is_there(number)?);
        }
        if missing > 0 {
            return Err(ZarrError::Gone { missing });
        }
        manifest.complete = true;
        manifest.write_through(files)?;
        earlier.metadata.is_complete.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Number of recorded blocks that are missing or damaged.
    fn damaged(&self) -> usize {
        self.earlier.as_ref().map_or(0, |earlier| earlier.damaged as usize)
    }
}

/// A place before a result is computed into it.
enum PlaceBefore {
    Nothing,
    /// Something that is replaced.
    Replaced,
    /// An earlier run of the same computation.
    Same(Manifest),
}

/// Looks at a place: an error if it holds what must not be replaced.
fn found(
    files: &Files,
    manifest: &Manifest,
    text: &str,
    options: &ZarrOptions,
) -> Result<PlaceBefore, ZarrError> {
    let (writer, is_far) = (files.writer()?, files.is_far());
    let replaced = |is_free: bool, has_manifest: bool| match is_free && !has_manifest {
        true => PlaceBefore::Nothing,
        false => PlaceBefore::Replaced,
    };
    if options.is_fresh() {
        let has_manifest = || Manifest::is_there(files);
        let (is_free, has_manifest) = together::both(is_far, || writer.is_free(), has_manifest);
        let is_free = is_free?;
        files.check_removable(is_free)?;
        return Ok(replaced(is_free, has_manifest?));
    }
    let (there, (is_free, metadata)) = together::both(
        is_far,
        || Manifest::read(files),
        || together::both(is_far, || writer.is_free(), || files.metadata()),
    );
    let (there, is_free) = (there?, is_free?);
    if (there.is_none() || options.is_only_new()) && !is_free {
        return Err(ZarrError::Exists);
    }
    if let Some(what) = there.as_ref().and_then(|there| manifest.difference(there)) {
        return Err(ZarrError::Other(what));
    }
    match (metadata, there) {
        (Err(problem), _) if problem.is_of_network() => Err(problem),
        // The run that should have written them ended before, or they are lost.
        (Err(_), there) => Ok(replaced(is_free, there.is_some())),
        (Ok(found), there) if found.iter().all(|&byte| byte == 0) => {
            Ok(replaced(is_free, there.is_some()))
        }
        (Ok(found), Some(there)) if is_stored_alike(&found, text) => Ok(PlaceBefore::Same(there)),
        (Ok(found), None) if is_stored_alike(&found, text) => Ok(PlaceBefore::Replaced),
        (Ok(_), _) => Err(ZarrError::stored_otherwise()),
    }
}

/// Returns true if the `zarr.json` of an array describes the same chunks as a text.
fn is_stored_alike(found: &[u8], text: &str) -> bool {
    metadata::are_same(found, text.as_bytes())
}

/// Makes an array without chunks, in place of an existing one. If this ends early, no remaining file passes for a block
/// of this computation or for a result.
fn begin(
    files: &Files,
    manifest: &Manifest,
    text: &str,
    is_nothing_there: bool,
) -> Result<(), ZarrError> {
    let writer = files.writer()?;
    if is_nothing_there {
        // Nothing is lost but a beginning: all of it is synced with the first blocks.
        manifest.write(files)?;
        return writer.write(METADATA, text.as_bytes());
    }
    Records::remove(files)?;
    manifest.write_through(files)?;
    writer.clear()?;
    writer.write_through(METADATA, text.as_bytes())
}

/// The blocks that an earlier run finished.
fn verified(files: &Files, layout: &Layout, executor: &Executor) -> Result<Verified, ZarrError> {
    let stop = executor.stopped_by().map(|flag| &**flag);
    let threads = executor.threads();
    let threads = if files.is_far() { threads.max(VERIFIED) } else { threads };
    Verifier { files, layout, threads, stop }.verify()
}

/// Prepares an array for what is left to compute, and gives its manifest.
fn again(
    files: &Files,
    manifest: Manifest,
    there: Manifest,
    verified: &Verified,
    blocks: u64,
) -> Result<Manifest, ZarrError> {
    let is_whole = verified.kept.count(blocks) == blocks;
    let complete = there.complete && is_whole;
    let mut manifest = if is_whole { there.clone() } else { manifest };
    manifest.complete = complete;
    if !is_whole && manifest != there {
        manifest.write_through(files)?;
    }
    if verified.damaged > 0 || verified.kept.journals > 1 {
        verified.kept.replace(files)?;
    }
    verified.clear(files)?;
    Ok(manifest)
}

/// Checks by the manifest of an array that it is no result, or a finished one.
pub(super) fn check_finished(
    files: &Files,
    layout: &Layout,
    manifest: Option<Manifest>,
) -> Result<(), ZarrError> {
    let Some(Manifest { complete: false, command, .. }) = manifest else { return Ok(()) };
    let blocks = Coordinates::count(&layout.ty.grid()) as u64;
    Err(ZarrError::Unfinished { done: Records::read(files)?.count(blocks), blocks, command })
}

/// Returns true if a tensor reads the array at a place, or one beneath it.
fn reads(tensor: &BigTensor, files: &Files) -> bool {
    // A URL is the same text for the same place.
    let resolved = |path: &Path| match crate::url_scheme(path) {
        Some(_) => path.to_path_buf(),
        None => resolved(path),
    };
    let path = resolved(files.path());
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
    /// assert_eq!(saved, Saved { blocks: 4, computed: 4, damaged: 0 });
    ///
    /// std::fs::write(path.join("c/1/0"), "")?; // as a loss of power does that nobody is prepared for
    /// let saved = executor.save(&square, &path, &ZarrOptions::new())?;
    /// assert_eq!(saved, Saved { blocks: 4, computed: 1, damaged: 1 });
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
        // Before there is a directory.
        self.check_save(tensor, options)?;
        let options = &options.until(self.stopped_by());
        let store = Arc::new(self.opened(tensor, path.as_ref(), options)?);
        let (blocks, damaged) = (Coordinates::count(&tensor.ty().grid()), store.damaged());
        if store.is_complete() && self.processes().is_none() {
            return Ok(Saved { blocks, computed: 0, damaged });
        }
        let scratch = match &store.archived {
            Some(_) => ZarrScratch::new(std::env::temp_dir()),
            None => ZarrScratch::beside(&store.files),
        };
        let executor = self.clone().scratch_or(Arc::new(scratch));
        let before = executor.complete(tensor, Arc::<ZarrStore>::clone(&store))?;
        store.complete()?;
        Ok(Saved { blocks, computed: blocks - before, damaged })
    }

    /// Checks that a tensor can be [saved](Self::save) within the memory limit; nothing is computed or written.
    ///
    /// # Errors
    /// [`Error::Memory`] where it cannot.
    pub fn check_save(&self, tensor: &BigTensor, options: &ZarrOptions) -> Result<(), Error> {
        let beside = std::env::temp_dir();
        let executor = self.clone().scratch_or(Arc::new(ZarrScratch::new(beside)));
        executor.check_write(tensor, options.writing(tensor.ty()))
    }

    /// The array, which the first of several processes makes, or finds.
    fn opened(
        &self,
        tensor: &BigTensor,
        path: &Path,
        options: &ZarrOptions,
    ) -> Result<ZarrStore, Error> {
        let resume = || match ZarrStore::resume(path, tensor, self, options) {
            Err(error) if is_interruption(&error) => Err(RunError::Interrupted.into()),
            resumed => resumed.map_err(Error::from),
        };
        match self.processes() {
            None => resume(),
            Some(cluster) if cluster.process() == 0 => {
                let shared = resume().and_then(|store| Ok(store.share()?));
                cluster.agree(shared, Error::to_string)
            }
            Some(cluster) => {
                cluster.agree(Ok(()), Error::to_string)?;
                Ok(ZarrStore::join(path, tensor.ty(), options)?)
            }
        }
    }
}

fn is_interruption(error: &StoreError) -> bool {
    matches!(error.cause.downcast_ref(), Some(ZarrError::Interrupted))
}
