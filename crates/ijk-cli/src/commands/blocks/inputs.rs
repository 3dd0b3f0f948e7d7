//! Arguments in blocks.

use crate::args::How;
use crate::commands::apply::load;
use crate::failure::{Failure, of_blocks};
use crate::files::Place;
use ijk::{BigTensor, DType};

/// Places of arguments that have numbers for names, with what messages call them.
pub fn numbered(places: &[Place]) -> Vec<(String, Place)> {
    let named = places.iter().enumerate();
    named.map(|(n, place)| (format!("argument {}", n + 1), place.clone())).collect()
}

/// The arguments, of which nothing is read yet that is a Zarr array.
///
/// # Errors
/// If one is not there, or not what it should be.
pub fn open(places: &[(String, Place)], how: &How) -> Result<Vec<BigTensor>, Failure> {
    let keep = how.memory.map_or(KEPT, |bytes| bytes / SHARE) / places.len().max(1) as u64;
    let argument = |(n, (name, place)): (usize, &(String, Place))| {
        let blocks = how.zarr.block.get(n).or(how.zarr.block.last());
        let of = |rank: usize| match blocks {
            None => Ok(None),
            Some(blocks) => {
                let blocks = blocks.of(rank);
                blocks.map(Some).map_err(|why| Failure::wrong(format!("{name}: {why}")))
            }
        };
        if place.is_zarr() {
            let tensor = zarr(place, how.zarr.partial)?.recut_to_fit(keep);
            let tensor = match of(tensor.dims().len())? {
                Some(blocks) => tensor.reblock(blocks).map_err(of_blocks)?,
                None => tensor,
            };
            return converted(tensor, how.dtype);
        }
        let array = load(place, how.dtype)?;
        let blocks = of(array.rank())?.unwrap_or_else(|| vec![None; array.rank()]);
        let tensor = BigTensor::from_tensor(array, blocks).map_err(of_blocks)?;
        Ok(tensor.recut_to_fit(keep))
    };
    places.iter().enumerate().map(argument).collect()
}

/// Bytes of stored chunks that are kept while arguments are re-cut, of all together, where no limit is given.
const KEPT: u64 = 256 << 20;

/// The part of a limit that they may take. It comes on top of what the limit counts.
const SHARE: u64 = 16;

/// The shapes of arguments.
///
/// # Errors
/// As for [`open`].
pub fn shapes(places: &[Place], how: &How) -> Result<Vec<Vec<usize>>, Failure> {
    let all = open(&numbered(places), how)?;
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

/// A tensor with the element type asked for.
fn converted(tensor: BigTensor, to: Option<DType>) -> Result<BigTensor, Failure> {
    match to {
        Some(dtype) if tensor.element_type().number() != Some(dtype) => {
            tensor.map(format!("{dtype}(x)").as_str()).map_err(of_blocks)
        }
        _ => Ok(tensor),
    }
}
