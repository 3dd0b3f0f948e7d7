"""Einsums of element types that ijk does not compute with, by NumPy, two operands at a time.

What a sum means is settled before: subscripts and shapes by ijk, the element type by the caller. NumPy gets
operands of that one type, with indices numbered anew in each step, as it knows 52 of them.
"""

from collections import Counter
from math import prod

import numpy as np

from . import _ijk
from ._arrays import converted, copied_bytes

_numpy_einsum = np.einsum

#: How many indices NumPy knows.
KNOWN = 52

#: Kinds of element types that NumPy multiplies and adds.
KINDS = "biufcO"


def product(einsum, arrays, dtype, fortran, out=None, limit=None):
    """The einsum in an element type: into out, or into a new array in the order of C or Fortran.

    limit: the most bytes that copies of operands, intermediates and the result may take together.
    """
    if dtype.kind not in KINDS:
        raise _ijk.DTypeError(f"arrays of {dtype} are not multiplied and added")
    shapes = [array.shape for array in arrays]
    extents, operands, steps = einsum.steps(shapes)
    shape = einsum.result_shape(shapes)
    if limit is not None:
        _check_memory(arrays, dtype, extents, steps, shape, limit)
    if out is None:
        out = np.empty(shape, dtype, "F" if fortran else "C")
    if any(0 in shape for shape in shapes):
        out[...] = 0
        return out
    tensors = [_indexed(array, axes) for array, axes in zip(arrays, operands)]
    for number, (factors, axes) in enumerate(steps):
        taken = [tensors[factor] for factor in factors]
        for factor in factors:
            tensors[factor] = None
        whole = out if number + 1 == len(steps) else np.empty([extents[i] for i in axes], dtype)
        result = _indexed(whole, axes)
        _multiply(taken, dtype, result)
        tensors.append(result)
    return out


def _indexed(array, axes):
    """An array without the axes that have no index, and the indices of the others."""
    kept = tuple(0 if index is None else slice(None) for index in axes)
    return array[(*kept, ...)], [index for index in axes if index is not None]


def _multiply(factors, dtype, result):
    """One step: NumPy converts nothing, so it sums in the element type."""
    numbers = {index: n for n, index in enumerate(dict.fromkeys(i for _, own in factors for i in own))}
    arguments = []
    for array, indices in factors:
        arguments += [converted(array, dtype), [numbers[index] for index in indices]]
    out, indices = result
    kept = [numbers[index] for index in indices]
    if len(factors) == 1 and len(kept) == len(numbers):
        # A view in NumPy, whose objects stay what they are, while sums make numbers of bools.
        out[...] = _numpy_einsum(*arguments, kept)
    else:
        _numpy_einsum(*arguments, kept, out=out, optimize=False)


def _check_memory(arrays, dtype, extents, steps, shape, limit):
    """Raises MemoryLimitError where what is there at once takes more bytes than the limit."""
    sizes = [copied_bytes(array, dtype) for array in arrays]
    held = most = 0
    for number, (factors, axes) in enumerate(steps):
        last = number + 1 == len(steps)
        sizes.append(dtype.itemsize * prod(shape if last else [extents[i] for i in axes]))
        # Copies of operands are made for their step; intermediates are there until theirs.
        held += sizes[-1] + sum(sizes[factor] for factor in factors if factor < len(arrays))
        most = max(most, held)
        held -= sum(sizes[factor] for factor in factors)
    if most > limit:
        raise _ijk.MemoryLimitError(
            f"the program needs {most} bytes ({sizes[-1]} for results, {most - sizes[-1]} for "
            f"temporaries) but the memory limit is {limit} bytes"
        )


def view(einsum, array):
    """The result where it is a view of the only operand, else None."""
    if not einsum.is_view(array.shape):
        return None
    (operand,), output = einsum.lists()
    if 0 < array.ndim <= KNOWN:
        return _numpy_einsum(array, operand, output)
    unnamed = array.ndim - sum(index is not ... for index in operand)
    operand, output = expanded(operand, unnamed), expanded(output, unnamed)
    times = Counter(operand)
    repeated = [index for index, count in times.items() if count > 1]
    if repeated:
        # Only these are indices to NumPy, which knows 52.
        alone = [axis for axis, index in enumerate(operand) if times[index] == 1]
        among = [axis for axis, index in enumerate(operand) if times[index] > 1]
        labels = [repeated.index(operand[axis]) for axis in among]
        moved = array.transpose(alone + among)
        array = _numpy_einsum(moved, [..., *labels], [..., *range(len(repeated))])
        operand = [operand[axis] for axis in alone] + repeated
    return array.transpose([operand.index(index) for index in output])


def expanded(indices, unnamed):
    """Indices with negative ones for the axes of `...`."""
    axes = []
    for index in indices:
        axes += range(-unnamed, 0) if index is ... else [index]
    return axes
