"""Arrays of any kind as arrays that ijk computes with, and what other libraries ask of a backend."""

import operator
import sys

import numpy as np

from . import _ijk

#: Element types of NumPy's that ijk computes with; bfloat16, of the package ml_dtypes, is another.
COMPUTED = frozenset(
    np.dtype(name) for name in "? u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8 c8 c16".split()
)

#: What errors say of them.
TYPES = "bool, integers of 8 to 64 bits, float16, bfloat16, float32, float64, complex64 and complex128"


def is_computed(dtype):
    """Whether ijk computes with elements of a type, in either byte order."""
    return native(dtype) in COMPUTED or dtype.name == "bfloat16"


def common_type(*types):
    """The type that NumPy promotes element types to; bfloat16, which it does not know, as float16 is."""
    if not COMPUTED.issuperset(types) and any(dtype.name == "bfloat16" for dtype in types):
        names = {native(dtype).name for dtype in types}
        if len(names) > 1 and all(is_computed(dtype) for dtype in types):
            return np.dtype(_ijk.promoted(sorted(names)))
    return np.result_type(*types)

#: Python's numbers, which have no mask.
NUMBERS = frozenset((bool, int, float, complex))


def asarray(array, name="an array"):
    """An array of NumPy's: without a copy where the object is one, or lends its memory.

    name is what errors call it.
    """
    if isinstance(array, np.ndarray):
        if type(array) is np.ndarray:
            return array
        return unmasked(array, name).view(np.ndarray)
    if isinstance(array, (list, tuple)):
        return _listed(array, name)
    if hasattr(array, "todense"):
        raise TypeError(
            f"{name} is sparse, and is not made dense without a word: pass x.todense(), if there is room "
            "for it, or to einsum and programs a sparse array of SciPy's"
        )
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array_interface__"):
        return _lent(array, name)
    # Files give masked arrays where elements are missing.
    made = np.asanyarray(array)
    return made if type(made) is np.ndarray else unmasked(made, name).view(np.ndarray)


def number(value, name):
    """A plain number as an array of rank 0 of a type, which must hold it if it is one of integers."""
    if name == "bfloat16":
        import ml_dtypes

        return np.asarray(value, dtype=ml_dtypes.bfloat16)
    return np.asarray(value, dtype=name)


def _listed(items, name):
    """An array of what is in nested lists."""
    # Without the module there is no masked array.
    if "numpy.ma" in sys.modules and _holds_masks(items):
        raise TypeError(
            f"{name} holds a masked array, and its mask would be lost: pass x.filled(0), which leaves "
            "masked elements out of sums, or x.data to ignore the mask, in its place"
        )
    return np.asarray(items)


def _holds_masks(items, depth=64):
    """Whether some array in nested lists has masked elements."""
    if NUMBERS.issuperset(map(type, items)):
        return False
    for item in items:
        if isinstance(item, np.ma.MaskedArray):
            if np.ma.is_masked(item):
                return True
        elif isinstance(item, (list, tuple)) and depth and _holds_masks(item, depth - 1):
            return True
    return False


def unmasked(array, name):
    """The array; raises TypeError where some of its elements are masked."""
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            raise TypeError(
                f"{name} is a masked array, and the mask would be lost: pass x.filled(0), which leaves "
                "masked elements out of sums, or x.data to ignore the mask"
            )
        return array.data
    return array


def _lent(array, name):
    """An array in memory that an object lends by DLPack."""
    from ._interchange import home_of

    taken = getattr(home_of(array), "taken", None)
    if taken is not None:
        return taken(array, name)
    kind, number = array.__dlpack_device__()
    if int(kind) != 1:
        raise TypeError(
            f"{name} is on the device {number} of DLPack's kind {int(kind)}, but ijk computes in main "
            "memory: copy it there"
        )
    try:
        return np.from_dlpack(array)
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(f"{name} lends no memory: {error}") from error


def native(dtype):
    """The element type in the machine's byte order."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def is_regular(array):
    """Whether elements are aligned, in the machine's byte order, and whole elements apart."""
    whole = all(stride % array.itemsize == 0 for stride in array.strides)
    return whole and array.flags.aligned and array.dtype.isnative


def converted(array, dtype):
    """The array with elements of a type, a copy only where it has to be; what is broadcast is copied once."""
    if array.dtype == dtype and is_regular(array):
        return array
    if 0 not in array.strides:
        return array.astype(dtype)
    once = array[_once(array)].astype(dtype)
    return once if once.shape == array.shape else np.broadcast_to(once, array.shape)


def copied_bytes(array, dtype):
    """How many bytes `converted` copies."""
    if array.dtype == dtype and is_regular(array):
        return 0
    return dtype.itemsize * array[_once(array)].size


def _once(array):
    """The index of one element of each axis along which all are the same one in memory."""
    axes = zip(array.shape, array.strides)
    return (*(slice(0, 1) if n > 1 and stride == 0 else slice(None) for n, stride in axes), ...)


def plain(array, name="an array"):
    """An array of a type that ijk computes with, of whole, aligned elements in native byte order.

    name is what errors call it.
    """
    array = asarray(array, name)
    dtype = native(array.dtype)
    if not is_computed(dtype):
        raise _ijk.DTypeError(f"{name} is of {array.dtype}, but ijk computes with {TYPES}")
    return array if is_regular(array) else np.array(array, dtype=dtype, order="C")


def transpose(array, axes=None):
    """The array with its axes in another order."""
    from ._interchange import home_of

    if home_of(array) is None:
        return np.transpose(array, axes)
    from ._einsum import einsum

    axes = range(array.ndim)[::-1] if axes is None else _axes(axes, array.ndim, "the array")
    return einsum(array, list(range(array.ndim)), list(axes))


def tensordot(a, b, axes=2):
    """The product of two arrays, summed over some axes of both: as numpy.tensordot gives it.

    axes: how many axes, the last of a and the first of b; or the axes of a and the axes of b, in pairs.

    Raises AxisError (a ValueError and an IndexError) for an axis that there is not, ValueError where one is
    named twice or extents differ.
    """
    from ._einsum import einsum

    a = a if hasattr(a, "shape") else asarray(a, "operand 1")
    b = b if hasattr(b, "shape") else asarray(b, "operand 2")
    left, right = _summed(axes)
    left, right = _axes(left, a.ndim, "a"), _axes(right, b.ndim, "b")
    if len(left) != len(right):
        raise ValueError(
            f"shape-mismatch for sum: axes names {len(left)} of a, but {len(right)} of b"
        )
    for x, y in zip(left, right):
        if a.shape[x] != b.shape[y]:
            raise ValueError(
                f"shape-mismatch for sum: axis {x} of a has {a.shape[x]} elements, "
                f"but axis {y} of b has {b.shape[y]}"
            )
    first = list(range(a.ndim))
    second = list(range(a.ndim, a.ndim + b.ndim))
    for x, y in zip(left, right):
        second[y] = x
    kept = [x for x in first if x not in left]
    kept += [second[y] for y in range(b.ndim) if y not in right]
    return einsum(a, first, b, second, kept)


def _summed(axes):
    """The axes of both arrays, as they are given."""
    try:
        left, right = axes
    except TypeError:
        count = operator.index(axes)
        return range(-count, 0), range(count)
    return tuple([x] if np.ndim(x) == 0 else x for x in (left, right))


def _axes(axes, rank, name):
    """The axes as numbers from 0 on."""
    axes = [operator.index(axis) for axis in axes]
    for axis in axes:
        if not -rank <= axis < rank:
            has = "no axes" if rank == 0 else f"axes 0 to {rank - 1}"
            raise np.exceptions.AxisError(f"axes names axis {axis} of {name}, which has {has}")
    axes = [axis % rank for axis in axes]
    if len(set(axes)) < len(axes):
        raise ValueError(f"axes names an axis of {name} twice: {axes}")
    return axes
