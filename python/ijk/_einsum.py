"""einsum as NumPy has it, computed by ijk."""

import itertools
from collections import Counter
from functools import lru_cache
from math import prod

import numpy as np

from . import _ijk, _interchange, _left_to_numpy, _paths
from ._arrays import COMPUTED, NUMBERS, TYPES, asarray, common_type, converted, copied_bytes, is_computed
from ._arrays import is_regular, native

_fast = _ijk.einsum

#: How often NumPy computed instead, by the reason: an element type, or "view".
fallbacks = Counter()


def einsum(*operands, out=None, dtype=None, order="K", casting="safe", optimize=True, engine=None):
    """The sum of products of arrays that subscripts describe, with numpy.einsum's meaning.

    einsum(subscripts, *operands), or einsum(op0, sublist0, op1, sublist1, ..., [sublist_out]).

    subscripts: text (or ASCII as bytes) such as "ij,jk->ik": letters of any script are indices, and so is
        every character from "À" on, as for opt_einsum; white space of ASCII means nothing; "..." stands for axes
        without names; without "->" the result has the indices that occur once, in alphabetical
        order. In lists, any hashable objects are indices, and Ellipsis is "...".
    operands: arrays of any layout, or objects with __dlpack__ or the array interface. Tensors of PyTorch,
        arrays of JAX, sparse arrays of SciPy, dask arrays, xarray's DataArrays and arrays of libraries with the
        Python array API give such in return; those of two libraries raise TypeError.
    out: an array to write the result to; where operands are tensors, a tensor.
    dtype: the type to compute with; else that is the common type of the operands and out.
    casting: which conversions are allowed, of operands (and out) to that type, and of the result to out's.
    order: the result's memory layout, "C" or "F"; "A" is "F" where all operands are.
    optimize: a path in opt_einsum's format, to be obeyed, or a function such as its optimizers, that finds
        one; () multiplies all at once. With True, False, None, or the name of a way to find a path,
        "greedy" say, ijk finds one.
    engine: an ijk.Engine with other threads, or a memory limit, which copies of operands in another type
        count against, too.

    float16 and bfloat16 are multiplied and added in float32, and the sums rounded. Element types that ijk does
    not compute with (objects, longdouble) are left to NumPy, two operands at a time, as is what is only another
    view of one operand; ijk.fallbacks counts both.

    Raises ijk.Error (a ValueError) where subscripts are wrong or shapes do not fit, TypeError where
    types do not, ijk.PathError (an ijk.Error and a RuntimeError) where optimize is no path of the
    operands, MemoryLimitError where the engine's limit is too low.

    >>> ijk.einsum("ij,jk,kl->il", np.eye(2), np.ones((2, 3)), np.ones((3, 2)))
    array([[3., 3.],
           [3., 3.]])
    """
    if out is None and dtype is None and order == "K" and casting == "safe":
        if len(operands) > 2 and type(operands[0]) is str and not callable(optimize):
            result = _quick(operands, optimize, engine)
            if result is None:
                arrays = _of_one_type(operands[1:], engine)
                if arrays is not None:
                    result = _quick((operands[0], *arrays), optimize, engine)
            if result is not None:
                return result if result.ndim else result[()]
    order, casting = _order(order), _casting(casting)
    subscripts, output, arrays = _subscripts(operands)
    if _has_others(arrays, out):
        call = _Call(subscripts, output, len(arrays), optimize, dtype, order, casting, engine)
        view = _masked_view(call, arrays[0]) if len(arrays) == 1 and out is None else None
        result = _interchange.made(call, arrays, out) if view is None else view
        if not isinstance(result, np.ndarray):
            return result
    else:
        einsum, arrays = _parsed_for(subscripts, output, arrays, optimize)
        result = _compute(einsum, arrays, out, dtype, order, casting, engine)
    return result if result.ndim or result is out else result[()]


def _quick(operands, optimize, engine):
    """The einsum of NumPy's arrays of one type that ijk computes with; None of others."""
    if (optimize is True or optimize is False) and operands[0].isascii():
        return _fast(*operands) if engine is None else _fast(*operands, engine=engine)
    einsum = _parsed(_text(operands[0]), None, _paths.requested(optimize))
    return einsum.fast(*operands[1:], engine=engine)


def _of_one_type(operands, engine):
    """NumPy's arrays and Python's numbers as arrays of their common type, if ijk computes with it.

    None where there are others, or copies count against a limit.
    """
    if engine is not None and engine.memory_limit is not None:
        return None
    arrays = []
    for operand in operands:
        if type(operand) is not np.ndarray:
            items = operand if type(operand) is list else [operand]
            if not NUMBERS.issuperset(map(type, items)):
                return None
            operand = np.asarray(operand)
        arrays.append(operand)
    dtype = common_type(*(array.dtype for array in arrays))
    if dtype not in COMPUTED:
        return None
    return [array if array.dtype == dtype else converted(array, dtype) for array in arrays]


def einsum_path(*operands, optimize=True, einsum_call=False):
    """In which order einsum would multiply the operands: a path in opt_einsum's format, and a text.

    >>> path, text = ijk.einsum_path("ij,jk,kl->il", np.ones((2, 9)), np.ones((9, 9)), np.ones((9, 3)))
    >>> path
    ['einsum_path', (0, 1), (0, 1)]
    """
    subscripts, output, arrays = _subscripts(operands)
    arrays = [array if hasattr(array, "shape") else asarray(array) for array in arrays]
    einsum, arrays = _parsed_for(subscripts, output, arrays, optimize)
    steps, _, _, _, text = einsum.path([tuple(array.shape) for array in arrays])
    return ["einsum_path", *steps], text


def _order(order):
    """The layout of the result: one of C, F, A and K."""
    if order is None:
        return "K"
    given = order.decode("latin-1") if isinstance(order, bytes) else order
    if not isinstance(given, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if given.upper() not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return given.upper()


def _casting(casting):
    """The rule by which types are converted."""
    given = casting.decode("latin-1") if isinstance(casting, bytes) else casting
    if not isinstance(given, str):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    if given not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(
            f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe' (got {casting!r})"
        )
    return given


def _parsed_for(subscripts, output, arrays, optimize):
    """The einsum of so many arrays, whose shapes count where a function finds the path; and the arrays."""
    path = _paths.requested(optimize)
    einsum = _parsed(subscripts, output, None if callable(path) else path)
    if len(arrays) != einsum.arity:
        einsum.path([() for _ in arrays])  # Says what is wrong.
    if callable(path):
        all_at_once = _parsed(subscripts, output, ())
        found = _paths.found(path, all_at_once, [tuple(array.shape) for array in arrays])
        einsum = _parsed(subscripts, output, found)
    return einsum, arrays


def _has_others(arrays, out):
    """Whether some of the arrays, or out, may be of another library."""
    for array in arrays:
        if type(array) is not np.ndarray:
            return True
    return out is not None and type(out) is not np.ndarray


def _masked_view(call, array):
    """The view of a masked array, with its mask, where the einsum is a view of it; else None."""
    if not np.ma.isMaskedArray(array) or call.dtype is not None or call.order != "K":
        return None
    einsum = call.einsum([array])
    data = _left_to_numpy.view(einsum, array.data)
    if data is None or array.mask is np.ma.nomask:
        return data
    return np.ma.array(data, mask=_left_to_numpy.view(einsum, array.mask), copy=False)


def _factors(einsum, arrays):
    """Factors, indices of the result, and extents of the sum of products of arrays whose shapes are known.

    Indices are numbered. An axis of one element, where its index has more elsewhere, has none: None.
    """
    shapes = [tuple(array.shape) for array in arrays]
    einsum.result_shape(shapes)  # Says what is wrong.
    operands, output = einsum.lists()
    unnamed = [len(shape) - sum(label is not ... for label in own) for own, shape in zip(operands, shapes)]
    own = [_left_to_numpy.expanded(labels, count) for labels, count in zip(operands, unnamed)]
    output = _left_to_numpy.expanded(output, max(unnamed, default=0))
    numbers = {label: number for number, label in enumerate(dict.fromkeys(itertools.chain(*own, output)))}
    extents = dict.fromkeys(numbers.values(), 1)
    for labels, shape in zip(own, shapes):
        for label, extent in zip(labels, shape):
            extents[numbers[label]] = extent if extents[numbers[label]] == 1 else extents[numbers[label]]
    factors = [
        [numbers[label] if extents[numbers[label]] == extent else None for label, extent in zip(labels, shape)]
        for labels, shape in zip(own, shapes)
    ]
    return list(enumerate(factors)), [numbers[label] for label in output], extents


class _Call:
    """A call of einsum with some arrays of other libraries: see ijk._interchange."""

    #: Elements of half precision are computed with in single precision.
    halves = True

    def __init__(self, subscripts, output, count, optimize, dtype, order, casting, engine):
        self.subscripts, self.output, self.optimize = subscripts, output, optimize
        self.dtype, self.order, self.casting, self.engine = dtype, order, casting, engine
        self.names = [f"operand {number + 1}" for number in range(count)]

    def of(self, dtype):
        """The same call with another element type."""
        options = self.optimize, dtype, self.order, self.casting, self.engine
        return _Call(self.subscripts, self.output, len(self.names), *options)

    def einsum(self, arrays):
        """The einsum of arrays, of which the shapes are known."""
        return _parsed_for(self.subscripts, self.output, arrays, self.optimize)[0]

    def compute(self, arrays, out=None):
        einsum = self.einsum(arrays)
        return _compute(einsum, arrays, out, self.dtype, self.order, self.casting, self.engine)

    def axes(self, arrays):
        """Indices of the axes of arrays and of the result; an axis that is one element for all has one of its own."""
        factors, output, _ = _factors(self.einsum(arrays), arrays)
        alone = itertools.count(-1, -1)
        own = [[next(alone) if n is None else n for n in indices] for indices in (*dict(factors).values(), output)]
        return _interchange.Axes(own[:-1], own[-1:])

    def product(self, arrays):
        """The sum of products, in an element type that ijk computes with."""
        from ._sparse import Product

        factors, output, extents = _factors(self.einsum(arrays), arrays)
        dtype = self.results(arrays).dtype
        for array, name in zip(arrays, self.names):
            _check_cast(name, array.dtype, dtype, self.casting)
        if _computed(dtype) is None:
            raise _ijk.DTypeError(
                f"sparse operands and others are multiplied in {dtype}, but ijk computes with {TYPES}: "
                "pass dtype='float64', say"
            )
        return Product(factors, output, extents, dtype)

    def results(self, arrays):
        """The type and shape of the result for arrays of which only these are known."""
        einsum = self.einsum(arrays)
        dtype = self.dtype
        if dtype is None:
            dtype = common_type(*(np.dtype(array.dtype) for array in arrays))
        shape = einsum.result_shape([tuple(array.shape) for array in arrays])
        return _interchange.Outline(native(np.dtype(dtype)), shape)


def _subscripts(operands):
    """The subscripts as text, or as lists of numbers; the output's list, if any; and the operands."""
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    subscripts, *arrays = operands
    if isinstance(subscripts, (str, bytes)):
        if not arrays:
            raise ValueError("at least one operand is needed after the subscripts")
        return _text(subscripts), None, arrays
    output = list(operands[-1]) if len(operands) % 2 else None
    pairs = operands[: len(operands) // 2 * 2]
    arrays, lists = pairs[::2], [list(labels) for labels in pairs[1::2]]
    if not lists:
        raise ValueError("einsum of lists takes an array and a list of its indices, in turn")
    number = _numbers(lists + ([output] if output is not None else []))
    lists = tuple(tuple(number(label) for label in labels) for labels in lists)
    output = None if output is None else tuple(number(label) for label in output)
    return lists, output, arrays


def _text(subscripts):
    """Subscripts as text that Rust knows."""
    if isinstance(subscripts, bytes):
        try:
            return subscripts.decode("ascii")
        except UnicodeDecodeError:
            text = f"subscripts as bytes are ASCII, but are {subscripts!r}: pass a str"
            raise _ijk.Error(text) from None
    try:
        subscripts.encode()
    except UnicodeEncodeError:
        # opt_einsum's symbols have halves of pairs of UTF-16 among them: all get other names, in order.
        names = sorted(name for name in set(subscripts) if name >= "\xc0")
        table = {ord(name): 0xC0 + n if n < 0xD740 else 0x8C0 + n for n, name in enumerate(names)}
        return subscripts.translate(table)
    return str(subscripts)


def _parse(subscripts, output, path):
    """The einsum, which keeps its plans: what was asked for before is the same."""
    einsum = _ijk.Einsum(subscripts, output, None)
    if path is None:
        return einsum
    _paths.check(path, einsum.arity)
    return _ijk.Einsum(subscripts, output, path)


_parsed = lru_cache(maxsize=512)(_parse)


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
    if any(number >= 1 << 63 for number in numbers.values()):
        numbers = {label: number for number, label in enumerate(sorted(numbers, key=numbers.get))}
    return lambda label: label if label is Ellipsis else numbers[label]


def _compute(einsum, arrays, out, dtype, order, casting, engine):
    if out is None and dtype is None and order == "K":
        view = _left_to_numpy.view(einsum, arrays[0]) if len(arrays) == 1 else None
        if view is not None:
            fallbacks["view"] += 1
            return view
        result = einsum.fast(*arrays, engine=engine)
        if result is not None:
            return result
    job = _Job(einsum, arrays, engine)
    try:
        wanted = job.wanted = _type(arrays, out, dtype, casting)
    except TypeError:
        job.shape()  # What is wrong with subscripts and shapes is told first.
        raise
    computed = _computed(wanted)
    compute = _by_numpy if computed is None else _by_ijk
    if computed is None:
        fallbacks[str(wanted)] += 1
    job.computed = wanted if computed is None else computed
    job.fortran = order == "F" or (order == "A" and all(x.flags.f_contiguous for x in arrays))
    return compute(job, None) if out is None else _into(out, compute, job)


class _Job:
    """An einsum of arrays, in the element type that is wanted, by way of one that is computed with."""

    def __init__(self, einsum, arrays, engine):
        self.einsum, self.arrays, self.engine = einsum, arrays, engine
        self.limit = None if engine is None else engine.memory_limit
        self.wanted = self.computed = None
        self.fortran = False

    def shape(self):
        """The shape of the result."""
        return tuple(self.einsum.result_shape([array.shape for array in self.arrays]))

    def elements(self):
        """How many elements the result has."""
        return prod(self.shape())


def _type(arrays, out, dtype, casting):
    """The type to compute with, if operands become it and it becomes that of out, which may be None."""
    types = [array.dtype for array in arrays]
    if out is not None:
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out must be an array, not {type(out).__name__}")
        types.append(out.dtype)
    wanted = native(np.dtype(dtype) if dtype is not None else common_type(*types))
    for number, array in enumerate(arrays):
        _check_cast(f"operand {number + 1}", array.dtype, wanted, casting)
    if out is not None:
        _check_cast("the result", wanted, out.dtype, casting)
        # As in NumPy, which may read out.
        _check_cast("out", out.dtype, wanted, casting)
    return wanted


def _check_cast(what, given, wanted, casting):
    if given is not wanted and not np.can_cast(given, wanted, casting):
        raise _ijk.DTypeError(
            f"{what} is of {given}, which does not become {wanted} according to the rule '{casting}'"
        )


def _check_out(shape, out):
    if shape != out.shape:
        raise _ijk.Error(f"out has the shape {out.shape}, but the result {shape}")
    _ijk.check_out(out)


def _computed(dtype):
    """The type in which ijk computes with elements of a type, if it does."""
    return dtype if is_computed(dtype) else None


def _into(out, compute, job):
    """Computes into an array: directly, where its elements are of the type and no operand has them."""
    _check_out(job.shape(), out)
    if out.size == 0:
        return out
    direct = out.dtype == job.computed and job.computed == job.wanted and is_regular(out)
    # The engine looks for operands that share memory itself.
    apart = compute is _by_ijk or not any(np.may_share_memory(out, array) for array in job.arrays)
    if direct and apart:
        return compute(job, out)
    np.copyto(out, compute(job, None), casting="unsafe")
    return out


def _by_ijk(job, out):
    """The result, computed by an engine."""
    einsum = job.einsum if job.limit is None else _beside_copies(job)
    ready = [converted(array, job.computed) for array in job.arrays]
    if out is None and job.fortran and job.elements() > 0:
        out = np.zeros(job.shape(), job.computed, order="F")
    result = einsum(*ready, out=out, engine=job.engine)
    return result if job.computed == job.wanted else result.astype(job.wanted)


def _beside_copies(job):
    """The einsum with what is copied before and after it counted against the memory limit.

    Raises MemoryLimitError, before anything is copied, where there is no room for the result.
    """
    copies = sum(copied_bytes(array, job.computed) for array in job.arrays)
    if job.computed != job.wanted:
        copies += job.elements() * job.wanted.itemsize
    einsum = job.einsum if copies == 0 else job.einsum.beside(copies)
    if copies + job.elements() * job.computed.itemsize > job.limit:
        # Operands that take no memory, in place of the copies.
        element = np.zeros((), job.computed)
        einsum(*(np.broadcast_to(element, array.shape) for array in job.arrays), engine=job.engine)
    return einsum


def _by_numpy(job, out):
    """The result, computed by NumPy."""
    return _left_to_numpy.product(
        job.einsum, job.arrays, job.wanted, job.fortran, out=out, limit=job.limit
    )
