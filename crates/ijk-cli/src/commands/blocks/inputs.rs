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
    let mut cut = 0;
    let argument = |(name, place): &(String, Place)| {
        if place.is_zarr() {
            return converted(zarr(place)?, how.dtype);
        }
        let blocks = how.zarr.block.get(cut).or(how.zarr.block.last());
        cut += 1;
        let array = load(place, how.dtype)?;
        let blocks = match blocks {
            None => vec![None; array.rank()],
            Some(blocks) => {
                blocks.of(array.rank()).map_err(|why| Failure::wrong(format!("{name}: {why}")))?
            }
        };
        BigTensor::from_tensor(array, blocks).map_err(of_blocks)
    };
    places.iter().map(argument).collect()
}

/// The shapes of arguments.
///
/// # Errors
/// As for [`open`].
pub fn shapes(places: &[Place], how: &How) -> Result<Vec<Vec<usize>>, Failure> {
    let all = open(&numbered(places), how)?;
    Ok(all.iter().map(|tensor| tensor.dims().to_vec()).collect())
}

#[cfg(feature = "zarr")]
fn zarr(place: &Place) -> Result<BigTensor, Failure> {
    BigTensor::open(&place.path).map_err(of_blocks)
}

#[cfg(not(feature = "zarr"))]
fn zarr(_: &Place) -> Result<BigTensor, Failure> {
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
