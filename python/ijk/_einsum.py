"""einsum as NumPy has it, computed by ijk."""

from collections import Counter
from functools import lru_cache

import numpy as np

from . import _ijk
from ._arrays import COMPUTED, asarray, plain

_numpy_einsum = np.einsum
_fast = _ijk.einsum

#: How often NumPy computed instead, by the reason: an element type, or "view".
fallbacks = Counter()


def einsum(*operands, out=None, dtype=None, order="K", casting="safe", optimize=True, engine=None):
    """The sum of products of arrays that subscripts describe, with numpy.einsum's meaning.

    einsum(subscripts, *operands), or einsum(op0, sublist0, op1, sublist1, ..., [sublist_out]).

    subscripts: text such as "ij,jk->ik": letters of any script are indices, "..." stands for axes
        without names; without "->" the result has the indices that occur once, in alphabetical
        order. In lists, any hashable objects are indices, and Ellipsis is "...".
    operands: arrays of any layout, or objects with __dlpack__ or the array interface.
    out: an array to write the result to.
    dtype, casting: the type to compute with, and which conversions to it are allowed.
    order: the result's memory layout, "C" or "F"; "A" is "F" where all operands are.
    optimize: a path in opt_einsum's format, to be obeyed; any other value means that ijk finds one.
    engine: an ijk.Engine with other threads, or a memory limit.

    float16 and bfloat16 are computed in float32. Element types that ijk does not compute with are left
    to NumPy, as is what is only another view of one operand; ijk.fallbacks counts both.

    Raises ijk.Error (a ValueError) where subscripts are wrong or shapes do not fit, TypeError where
    types do not.

    >>> ijk.einsum("ij,jk,kl->il", np.eye(2), np.ones((2, 3)), np.ones((3, 2)))
    array([[3., 3.],
           [3., 3.]])
    """
    if out is None and dtype is None and order == "K":
        if len(operands) > 2 and type(operands[0]) is str:
            if engine is None and _is_flag(optimize):
                result = _fast(*operands)
            else:
                result = _parsed(operands[0], None, _path(optimize)).fast(*operands[1:], engine=engine)
            if result is not None:
                return result if result.ndim else result[()]
    einsum, arrays = _arguments(operands, _path(optimize))
    return _compute(einsum, arrays, out, dtype, order, casting, optimize, engine)


def einsum_path(*operands, optimize=True, einsum_call=False):
    """In which order einsum would multiply the operands: a path in opt_einsum's format, and a text.

    >>> path, text = ijk.einsum_path("ij,jk,kl->il", np.ones((2, 9)), np.ones((9, 9)), np.ones((9, 3)))
    >>> path
    ['einsum_path', (0, 1), (0, 1)]
    """
    einsum, arrays = _arguments(operands, _path(optimize))
    steps, _, _, _, text = einsum.path([array.shape for array in arrays])
    return ["einsum_path", *steps], text


def _is_flag(optimize):
    return optimize is True or optimize is False or optimize is None or type(optimize) is str


def _path(optimize):
    """The path that is to be obeyed, if any."""
    if _is_flag(optimize):
        return None
    if type(optimize) is tuple and set(map(type, optimize)) == {tuple}:
        return optimize
    steps = list(optimize)
    if steps and isinstance(steps[0], str):
        if steps[0] != "einsum_path" or not all(isinstance(s, (tuple, list)) for s in steps[1:]):
            return None
        steps = steps[1:]
    return tuple(tuple(step) for step in steps)


def _arguments(operands, path):
    """What to compute, and the arrays as NumPy's."""
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], operands[1:]
        if not arrays:
            raise ValueError("at least one operand is needed after the subscripts")
        einsum = _parsed(subscripts, None, path)
        if len(arrays) != einsum.arity:
            einsum.path([() for _ in arrays])  # Says what is wrong.
    else:
        output = list(operands[-1]) if len(operands) % 2 else None
        pairs = operands[: len(operands) // 2 * 2]
        arrays, lists = pairs[::2], [list(labels) for labels in pairs[1::2]]
        if not lists:
            raise ValueError("einsum of lists takes an array and a list of its indices, in turn")
        number = _numbers(lists + ([output] if output is not None else []))
        lists = tuple(tuple(number(label) for label in labels) for labels in lists)
        output = None if output is None else tuple(number(label) for label in output)
        einsum = _parsed(lists, output, path)
    return einsum, [asarray(array) for array in arrays]


@lru_cache(maxsize=512)
def _parsed(subscripts, output, path):
    """The einsum, which keeps its plans: what was asked for before is the same."""
    return _ijk.Einsum(subscripts, output, path)


def _numbers(lists):
    """A function that gives each index its number, in the order of the indices if they have one."""
    labels = {label for labels in lists for label in labels if label is not Ellipsis}
    try:
        numbers = {label: label.__index__() for label in labels}
    except AttributeError:
        try:
            ordered = sorted(labels)
        except TypeError:
            ordered = sorted(labels, key=lambda label: (type(label).__name__, repr(label)))
        numbers = {label: number for number, label in enumerate(ordered)}
    if any(number < 0 for number in numbers.values()):
        raise ValueError("indices are numbers from 0 on")
    return lambda label: label if label is Ellipsis else numbers[label]


def _compute(einsum, arrays, out, dtype, order, casting, optimize, engine):
    if order not in ("K", "k", "C", "c", "F", "f", "A", "a"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    wanted = np.dtype(dtype) if dtype is not None else np.result_type(*arrays)
    _check_casts(arrays, wanted, casting)
    if out is not None:
        _ijk.check_out(out)
        if not np.can_cast(wanted, out.dtype, casting):
            raise TypeError(
                f"the result is of {wanted}, which does not become {out.dtype} "
                f"according to the rule '{casting}'"
            )
    computed = _computed(wanted)
    if computed is None:
        fallbacks[str(wanted)] += 1
        how = {"out": out, "dtype": dtype, "order": order, "casting": casting}
        return _in_numpy(einsum, arrays, optimize=optimize, **how)
    if len(arrays) == 1 and out is None and dtype is None and order == "K":
        view = _view(einsum, arrays[0])
        if view is not None:
            fallbacks["view"] += 1
            return view
    ready = [plain(array if array.dtype == computed else array.astype(computed)) for array in arrays]
    if out is not None:
        return _into(einsum, ready, wanted, out, engine)
    result = einsum(*ready, engine=engine)
    if computed != wanted:
        result = result.astype(wanted)
    fortran = order in ("F", "f") or (
        order in ("A", "a") and all(array.flags.f_contiguous for array in arrays)
    )
    result = np.asfortranarray(result) if fortran else result
    return result if result.ndim else result[()]


def _computed(dtype):
    """The type in which ijk computes with elements of a type, if it does."""
    native = dtype.newbyteorder("=")
    if native in COMPUTED:
        return native
    return np.dtype(np.float32) if dtype.name in ("float16", "bfloat16") else None


def _check_casts(arrays, wanted, casting):
    for n, array in enumerate(arrays):
        if not np.can_cast(array.dtype, wanted, casting):
            raise TypeError(
                f"operand {n + 1} is of {array.dtype}, which does not become {wanted} "
                f"according to the rule '{casting}'"
            )


def _into(einsum, arrays, wanted, out, engine):
    """Computes into an array: directly, where its elements are of the type."""
    if out.dtype == arrays[0].dtype:
        return einsum(*arrays, out=out, engine=engine)
    result = einsum(*arrays, engine=engine)
    if result.shape != out.shape:
        raise ValueError(f"out has the shape {out.shape}, but the result {result.shape}")
    np.copyto(out, result.astype(wanted, copy=False), casting="unsafe")
    return out


def _view(einsum, array):
    """The result, where it is a view of the only operand."""
    if not einsum.is_view(array.shape):
        return None
    return _numpy_einsum(*_numpy_arguments(einsum, [array]))


def _in_numpy(einsum, arrays, **how):
    return _numpy_einsum(*_numpy_arguments(einsum, arrays), **how)


def _numpy_arguments(einsum, arrays):
    """The arguments for NumPy, as lists: indices are numbers in order."""
    operands, output = einsum.lists()
    arguments = [x for pair in zip(arrays, operands) for x in pair]
    return [*arguments, output]
