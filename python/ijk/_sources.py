"""Arrays that block tensors read where they are, block by block: files, and what dask computes.

An array of that kind has a shape, an element type and chunks, and gives a part where it is indexed by slices; and so
is numpy.memmap, without chunks. Blocks are its chunks, unless others are asked for, and each is read as often as it is
needed.
"""

import os
import uuid

import numpy as np

from . import _ijk
from ._arrays import TYPES, asarray, converted, is_computed, native


def opened(array, blocks):
    """A block tensor of an array that is read when it is needed, or None where it is copied."""
    if hasattr(array, "dims") and hasattr(array, "variable"):
        # A DataArray of xarray's: of what dask computes the dask array.
        return opened(array.data, blocks) if array.chunks is not None else None
    is_mapped = isinstance(array, np.memmap) and array._mmap is not None
    if not is_mapped and not all(hasattr(array, name) for name in ("chunks", "shape", "dtype", "__getitem__")):
        return None
    zarr = _native_zarr(array)
    if zarr is not None:
        return zarr if blocks is None else zarr.reblock(blocks)
    if any(not isinstance(extent, (int, np.integer)) for extent in array.shape):
        raise TypeError(f"{_name(array)} has a shape that is not known: call x.compute_chunk_sizes() before")
    dtype = _type(array)
    chunks = None if is_mapped else getattr(array, "shards", None) or array.chunks
    blocks = _blocks(array, chunks) if blocks is None else blocks
    name = _name(array)
    # NumPy's part of a map is the map's.
    part = array.view(np.ndarray) if is_mapped else array

    def read(first, last):
        return converted(asarray(part[tuple(map(slice, first, last))], name), dtype)

    named, source = (name, _identity(array)), _Pickled(array)
    return _ijk.BigTensor._reading(read, array.shape, blocks, dtype.name, named, source)


class _Pickled:
    """An array, which pickle finds where it is: in its file, if it lies in one."""

    def __init__(self, array):
        self.array = array

    def __reduce__(self):
        array, file = self.array, _file(self.array)
        if isinstance(array, np.memmap) and file is not None:
            first, offset = _places(array)
            return _mapped, (os.path.abspath(file), first, offset, array.shape, array.strides, array.dtype)
        if type(array).__module__.partition(".")[0] == "h5py" and file is not None:
            return _dataset, (os.path.abspath(file), array.name)
        # Other libraries know how: the array itself is what comes back.
        return _itself, (array,)


def _mapped(file, first, offset, shape, strides, dtype):
    """A part of a map of a file, from a byte of the file on."""
    bytes_of_file = np.memmap(file, np.uint8, "r", offset=first)
    array = np.ndarray.__new__(np.memmap, shape, dtype, bytes_of_file, offset, strides)
    for name in ("_mmap", "filename", "offset", "mode"):
        setattr(array, name, getattr(bytes_of_file, name))
    return array


def _dataset(file, name):
    """A dataset of a file of h5py's."""
    import h5py

    return h5py.File(file, "r")[name]


def _itself(array):
    return array


def _places(array):
    """The byte of the file that a map begins with, and that of the map which an array begins with."""
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return getattr(base, "offset", 0), start


def _type(array):
    """The element type that is computed with."""
    dtype = np.dtype(array.dtype)
    if not is_computed(dtype):
        raise _ijk.DTypeError(f"an array is of {dtype}, but ijk computes with {TYPES}")
    return native(dtype)


def _blocks(array, chunks):
    """For each axis the elements of a block: those of its largest chunk, or None where there is one chunk."""
    if chunks is None:
        return [None] * len(array.shape)
    largest = [max(sizes, default=1) if isinstance(sizes, tuple) else sizes for sizes in chunks]
    return [None if size >= extent else int(size) for size, extent in zip(largest, array.shape)]


def _native_zarr(array):
    """The tensor of a whole Zarr V3 array in a directory, which is read without Python; None of others."""
    root = getattr(getattr(array, "store", None), "root", None)
    if root is None or getattr(getattr(array, "metadata", None), "zarr_format", None) != 3:
        return None
    try:
        tensor = _ijk.BigTensor.open(os.path.join(root, *filter(None, [array.path])))
    except _ijk.StoreError as error:
        if "not finished" in str(error):
            raise
        return None  # It has a codec, say, that zarr-python knows.
    return tensor if tensor.shape == array.shape and tensor.dtype == array.dtype else None


def _name(array):
    """Name in messages and in printed terms."""
    for name in (_file(array), getattr(array, "store_path", None), getattr(array, "name", None)):
        if name:
            inner = getattr(array, "name", None) if name == _file(array) else None
            return f"{name}:{inner}" if inner else str(name)
    return type(array).__name__


def _file(array):
    """The file that an array lies in, if it is one."""
    file = getattr(array, "filename", None) or getattr(getattr(array, "file", None), "filename", None)
    return None if file is None else os.fspath(file)


def _identity(array):
    """A text that tells an array from others, and from itself before it changed.

    Of what is known in this process alone it is another one each time: a write of it is not continued by a later one.
    """
    parts = [type(array).__module__, _name(array), tuple(array.shape), str(array.dtype)]
    file = _file(array)
    if file is not None and os.path.exists(file):
        status = os.stat(file)
        parts += [status.st_mtime_ns, status.st_size, getattr(array, "offset", 0)]
        if isinstance(array, np.memmap):
            parts += [array.strides, _places(array)[1]]
    elif type(array).__module__.partition(".")[0] != "dask" and "://" not in _name(array).replace("memory://", ""):
        parts.append(uuid.uuid4().hex)
    return repr(parts)
