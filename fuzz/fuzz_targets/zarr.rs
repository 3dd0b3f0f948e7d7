//! Any metadata and any chunk, a byte of 0 between them, as a Zarr array: opened or refused, read or refused,
//! and a block that is read is written and read again with the same bits.

#![no_main]

use ijk_blocks::{Compression, Sink, Source, ZarrOptions, ZarrStore};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::LazyLock;

/// Larger chunks only take longer.
const MOST: u64 = 1 << 16;

static DIRECTORY: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a directory")
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some(end) = input.iter().position(|&byte| byte == 0) else { return };
    let (metadata, chunk) = (&input[..end], &input[end + 1..]);
    let directory = DIRECTORY.path().join("a.zarr");
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join("zarr.json"), metadata).expect("a file");
    let Ok(store) = ZarrStore::open(&directory) else { return };
    let ty = Source::ty(&store).clone();
    if elements(metadata).is_none_or(|count| count > MOST) || ty.grid().contains(&0) {
        return;
    }
    let at = vec![0; ty.rank()];
    let path = directory.join(store.key(&at));
    fs::create_dir_all(path.parent().expect("in the directory")).expect("a directory");
    fs::write(&path, chunk).expect("a file");
    let read = store.read(&at);
    fs::remove_file(&path).expect("a file");
    let Ok(Some(block)) = read else { return };
    assert_eq!(block.shape(), ty.block_shape(&at));
    let compression = if input.len() % 2 == 0 { Compression::None } else { Compression::Zstd(1) };
    let own = DIRECTORY.path().join("b.zarr");
    let options = ZarrOptions::new().compression(compression);
    let options = match Source::fill(&store).as_number() {
        Some(fill) => options.fill(fill),
        None => options,
    };
    let copy = ZarrStore::create(&own, &ty, &options).expect("a new array");
    copy.write(&at, Some(Arc::clone(&block))).expect("memory is written");
    let copy = ZarrStore::open(&own).expect("what is written is read");
    let back = copy.read(&at).expect("what is written is read");
    let bits = |block: &ijk_blocks::Block| block.as_numbers().map(|x| x.as_bytes().to_vec());
    match back {
        Some(back) => assert_eq!(bits(&back), bits(&block)),
        None => assert!(block.as_numbers().is_some_and(|block| {
            block.view().iter_scalars().all(|x| Some(x).zip(Source::fill(&copy).as_number()).is_some_and(|(x, fill)| x.same_bits(fill)))
        })),
    }
    fs::remove_dir_all(&own).expect("a directory");
});

/// How many elements a chunk has.
fn elements(metadata: &[u8]) -> Option<u64> {
    let metadata: serde_json::Value = serde_json::from_slice(metadata).ok()?;
    let shape = metadata.pointer("/chunk_grid/configuration/chunk_shape")?.as_array()?;
    shape.iter().try_fold(1u64, |count, extent| count.checked_mul(extent.as_u64()?))
}
