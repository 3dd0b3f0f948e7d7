"""Dask arrays in, dask arrays out: the call is one task, made when its result is computed."""

import math

import dask
import dask.array

from ._arrays import asarray
from ._interchange import Outline

KIND = "a dask array"


def carry(call, arrays, out):
    """A call with dask arrays, and NumPy's beside them: what does not fit is told at once, the rest is done later."""
    if out is not None:
        raise TypeError("out is given, but dask arrays are computed later: leave out= away")
    for array, name in zip(arrays, call.names):
        if any(math.isnan(extent) for extent in getattr(array, "shape", ())):
            raise TypeError(f"{name} has a shape that is not known: call x.compute_chunk_sizes() before")
    outlines = call.results([array if hasattr(array, "dtype") else asarray(array) for array in arrays])
    found = dask.delayed(call.compute)(arrays)
    if isinstance(outlines, Outline):
        return _array(found, outlines)
    keys = outlines if isinstance(outlines, dict) else range(len(outlines))
    made = {key: _array(found[key], outlines[key]) for key in keys}
    return made if isinstance(outlines, dict) else tuple(made.values())


def _array(found, outline):
    return dask.array.from_delayed(found, outline.shape, outline.dtype)
