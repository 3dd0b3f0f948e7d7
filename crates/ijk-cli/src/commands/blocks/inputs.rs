//! Arguments in blocks.

use super::failure;
use crate::args::How;
use crate::commands::apply::load;
use crate::failure::Failure;
use crate::files::Place;
use ijk::{BigTensor, DType};

/// The arguments, of which nothing is read yet that is a Zarr array.
///
/// # Errors
/// If one is not there, or not what it should be.
pub fn open(places: &[Place], how: &How) -> Result<Vec<BigTensor>, Failure> {
    let mut cut = 0;
    let argument = |(n, place): (usize, &Place)| {
        if place.is_zarr() {
            return converted(zarr(place)?, how.dtype);
        }
        let blocks = how.zarr.block.get(cut).or(how.zarr.block.last());
        cut += 1;
        let array = load(place, how.dtype)?;
        let blocks = match blocks {
            None => vec![None; array.rank()],
            Some(blocks) => blocks
                .of(array.rank())
                .map_err(|why| Failure::wrong(format!("argument {}: {why}", n + 1)))?,
        };
        BigTensor::from_tensor(array, blocks).map_err(failure)
    };
    places.iter().enumerate().map(argument).collect()
}

/// The shapes of arguments.
///
/// # Errors
/// As for [`open`].
pub fn shapes(places: &[Place], how: &How) -> Result<Vec<Vec<usize>>, Failure> {
    let all = open(places, how)?;
    Ok(all.iter().map(|tensor| tensor.dims().to_vec()).collect())
}

#[cfg(feature = "zarr")]
fn zarr(place: &Place) -> Result<BigTensor, Failure> {
    BigTensor::open(&place.path).map_err(failure)
}

#[cfg(not(feature = "zarr"))]
fn zarr(_: &Place) -> Result<BigTensor, Failure> {
    Err(Failure::Environment("this `ijk` was built without Zarr".into()))
}

/// A tensor with the element type asked for.
fn converted(tensor: BigTensor, to: Option<DType>) -> Result<BigTensor, Failure> {
    match to {
        Some(dtype) if tensor.element_type().number() != Some(dtype) => {
            tensor.map(format!("{dtype}(x)").as_str()).map_err(failure)
        }
        _ => Ok(tensor),
    }
}
