//! Arguments in blocks.

use crate::args::RunOptions;
use crate::commands::apply::load;
use crate::failure::{Failure, of_blocks};
use crate::files::Place;
use ijk::{BigTensor, DType};

/// Places of arguments that are named by numbers, with their names in messages.
pub fn numbered(places: &[Place]) -> Vec<(String, Place)> {
    let named = places.iter().enumerate();
    named.map(|(n, place)| (format!("argument {}", n + 1), place.clone())).collect()
}

/// Opens the arguments; elements of Zarr arrays are not read yet.
///
/// # Errors
/// If one does not exist, or does not fit.
pub fn open(places: &[(String, Place)], options: &RunOptions) -> Result<Vec<BigTensor>, Failure> {
    let keep = options.memory.map_or(KEPT, |bytes| bytes / SHARE) / places.len().max(1) as u64;
    let mut far = far(places, options.zarr.partial).into_iter();
    let argument = |(n, (name, place)): (usize, &(String, Place))| {
        let blocks = options.zarr.block.get(n).or(options.zarr.block.last());
        let of = |rank: usize| match blocks {
            None => Ok(None),
            Some(blocks) => {
                let blocks = blocks.of(rank);
                blocks.map(Some).map_err(|why| Failure::wrong(format!("{name}: {why}")))
            }
        };
        if place.is_zarr() {
            let opened = if place.is_url() { far.next() } else { None };
            let opened = opened.unwrap_or_else(|| zarr(place, options.zarr.partial));
            let tensor = opened?.recut_to_fit(keep);
            let tensor = match of(tensor.dims().len())? {
                Some(blocks) => tensor.reblock(blocks).map_err(of_blocks)?,
                None => tensor,
            };
            return converted(tensor, options.dtype);
        }
        let array = load(place, options.dtype)?;
        let blocks = of(array.rank())?.unwrap_or_else(|| vec![None; array.rank()]);
        let tensor = BigTensor::from_tensor(array, blocks).map_err(of_blocks)?;
        Ok(tensor.recut_to_fit(keep))
    };
    places.iter().enumerate().map(argument).collect()
}

/// The arrays at URLs, in their order: servers are asked for all of them at a time.
fn far<'a>(places: &'a [(String, Place)], partial: bool) -> Vec<Result<BigTensor, Failure>> {
    std::thread::scope(|scope| {
        let urls = places.iter().filter(|(_, place)| place.is_url());
        let open = |(_, place): &'a (String, Place)| scope.spawn(move || zarr(place, partial));
        let threads: Vec<_> = urls.map(open).collect();
        threads.into_iter().map_while(|thread| thread.join().ok()).collect()
    })
}

/// Limit of the bytes of stored chunks that are cached for re-cutting, of all arguments together, where no memory limit
/// is given.
const KEPT: u64 = 256 << 20;

/// Fraction of the memory limit for that cache, which comes on top of the limit.
const SHARE: u64 = 16;

/// The shapes of arguments.
///
/// # Errors
/// As for [`open`].
pub fn shapes(places: &[Place], options: &RunOptions) -> Result<Vec<Vec<usize>>, Failure> {
    let all = open(&numbered(places), options)?;
    Ok(all.iter().map(|tensor| tensor.dims().to_vec()).collect())
}

#[cfg(feature = "zarr")]
fn zarr(place: &Place, partial: bool) -> Result<BigTensor, Failure> {
    let opened = match partial {
        true => ijk::blocks::ZarrStore::open_partial(&place.path)
            .map_err(Into::into)
            .and_then(BigTensor::from_source),
        false => BigTensor::open(&place.path),
    };
    opened.map_err(|error| of_blocks(error).offering("open it as partial", "add --partial"))
}

#[cfg(not(feature = "zarr"))]
fn zarr(_: &Place, _: bool) -> Result<BigTensor, Failure> {
    Err(Failure::Environment("this `ijk` was built without Zarr".into()))
}

/// A tensor with the requested element type.
fn converted(tensor: BigTensor, to: Option<DType>) -> Result<BigTensor, Failure> {
    match to {
        Some(dtype) if tensor.element_type().number() != Some(dtype) => {
            tensor.map(format!("{dtype}(x)").as_str()).map_err(of_blocks)
        }
        _ => Ok(tensor),
    }
}
