"""Arrays in Zarr stores, and whether two of them are the same."""

import itertools

import numpy as np
import zarr


def create(path, shape, chunks):
    """An array of 32-bit floats that is not compressed."""
    return zarr.create_array(
        str(path), shape=shape, chunks=chunks, dtype="float32", compressors=None, overwrite=True
    )


def places(shape, chunks):
    """The regions of the chunks."""
    return itertools.product(
        *(
            [slice(start, min(start + part, extent)) for start in range(0, extent, part)]
            for extent, part in zip(shape, chunks)
        )
    )


def random(path, shape, chunks, seed):
    """Writes numbers between -1 and 1, the same in every run."""
    array, numbers = create(path, shape, chunks), np.random.default_rng(seed)
    for place in places(shape, chunks):
        extents = [part.stop - part.start for part in place]
        array[place] = numbers.random(extents, dtype="float32") * 2 - 1


def difference(one, other):
    """The greatest difference of two arrays, as a part of the greatest magnitude of the first; more than
    any if shapes differ."""
    one, other = zarr.open_array(str(one), mode="r"), zarr.open_array(str(other), mode="r")
    if one.shape != other.shape:
        return float("inf")
    largest = apart = 0.0
    for place in places(one.shape, one.chunks):
        ours, theirs = one[place], other[place]
        largest = max(largest, float(np.abs(ours).max()))
        apart = max(apart, float(np.abs(ours - theirs).max()))
    return apart / largest if largest else apart
