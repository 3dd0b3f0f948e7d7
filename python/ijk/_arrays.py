"""Arrays of any kind as arrays that ijk computes with, and what other libraries ask of a backend."""

import numpy as np

from . import _ijk

#: Element types that ijk computes with, by NumPy's kind and size.
COMPUTED = frozenset(
    np.dtype(name) for name in ("?", "i4", "i8", "f4", "f8", "c8", "c16")
)


def asarray(array):
    """An array of NumPy's: without a copy where the object is one, or lends its memory."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array_interface__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def plain(array):
    """An array of a type that ijk computes with, of whole, aligned elements in native byte order."""
    array = asarray(array)
    dtype = array.dtype.newbyteorder("=")
    if dtype not in COMPUTED:
        raise _ijk.DTypeError(
            f"an array is of {array.dtype}, but ijk computes with bool, int32, int64, float32, "
            "float64, complex64 and complex128"
        )
    whole = all(stride % array.itemsize == 0 for stride in array.strides)
    if array.flags.aligned and array.dtype.isnative and whole:
        return array
    return np.array(array, dtype=dtype, order="C")


def transpose(array, axes=None):
    """The array with its axes in another order."""
    return np.transpose(array, axes)


def tensordot(a, b, axes=2):
    """The product of two arrays, summed over some axes of both: as numpy.tensordot gives it."""
    from ._einsum import einsum

    a, b = asarray(a), asarray(b)
    try:
        left, right = axes
    except TypeError:
        left, right = range(a.ndim - axes, a.ndim), range(axes)
    left = [left] if np.ndim(left) == 0 else list(left)
    right = [right] if np.ndim(right) == 0 else list(right)
    left = [axis % max(a.ndim, 1) for axis in left]
    right = [axis % max(b.ndim, 1) for axis in right]
    if len(left) != len(right) or any(a.shape[x] != b.shape[y] for x, y in zip(left, right)):
        raise ValueError("shape-mismatch for sum")
    first = list(range(a.ndim))
    second = list(range(a.ndim, a.ndim + b.ndim))
    for x, y in zip(left, right):
        second[y] = x
    kept = [x for x in first if x not in left]
    kept += [second[y] for y in range(b.ndim) if y not in right]
    return einsum(a, first, b, second, kept)
