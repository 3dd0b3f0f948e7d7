"""Random einsums of all element types beside NumPy's: values, types, and kinds of errors."""

import warnings

import numpy as np
import opt_einsum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ijk

#: Types that ijk computes with, and types that are left to NumPy.
TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16", "G", "O"]
CASTING = ["safe", "safe", "same_kind", "unsafe", "no", "equiv"]
KINDS = (ValueError, TypeError, IndexError, OverflowError)


def values(draw, shape, dtype):
    """Small whole numbers, so that sums of all types are exact or wrap."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    low = 0 if np.dtype(dtype).kind in "bu" else -3
    array = random.integers(low, 4 if dtype != "?" else 2, shape).astype(dtype)
    match draw(st.sampled_from(["C", "F", "reversed", "swapped", "once"])):
        case "F":
            array = np.asfortranarray(array)
        case "reversed" if array.ndim:
            array = array[::-1]
        case "swapped" if dtype != "?":
            array = array.astype(array.dtype.newbyteorder())
        case "once" if array.ndim and array.shape[0]:
            array = np.broadcast_to(array[:1], array.shape)
    return array


@st.composite
def einsums(draw):
    """Subscripts, and operands that mostly fit."""
    letters = "ijk"
    extents = {letter: draw(st.sampled_from([0, 1, 2, 3])) for letter in letters}
    unnamed = draw(st.lists(st.sampled_from([1, 2]), max_size=2))
    terms, operands = [], []
    for _ in range(draw(st.integers(1, 3))):
        term = draw(st.text(letters, max_size=3))
        # Not so where NumPy gives the diagonal of no elements and one: it reads what it does not have.
        once = [term.count(letter) == 1 or extents[letter] > 0 for letter in term]
        shape = [extents[letter] for letter in term]
        shape = [1 if may and draw(st.integers(0, 15)) == 0 else n for may, n in zip(once, shape)]
        if draw(st.integers(0, 4)) == 0:
            term, shape = "..." + term, unnamed[draw(st.integers(0, len(unnamed))) :] + shape
        terms.append(term)
        operands.append(values(draw, shape, draw(st.sampled_from(TYPES))))
    subscripts = ",".join(terms)
    used = sorted(set(subscripts) - set(",."))
    if draw(st.booleans()):
        output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        dots = "..." in subscripts and draw(st.integers(0, 9)) > 0
        subscripts += "->" + "..." * dots + "".join(output)
    return subscripts, operands


def outcome(function, *arguments, **options):
    """The result, or the kind of error."""
    try:
        return np.asarray(function(*arguments, **options))
    except KINDS as error:
        return next(kind for kind in KINDS if isinstance(error, kind))


def same(one, other):
    if isinstance(one, type) or isinstance(other, type):
        return one is other
    types = [array.dtype.newbyteorder("=") for array in (one, other)]
    return one.shape == other.shape and types[0] == types[1] and np.array_equal(one, other)


@settings(max_examples=300, deadline=None)
@given(einsums(), st.data())
def test_types_as_in_numpy(case, data):
    subscripts, operands = case
    options = {}
    if data.draw(st.booleans()):
        options["dtype"] = data.draw(st.sampled_from(TYPES))
    native = all(operand.dtype.isnative for operand in operands)
    options["casting"] = data.draw(st.sampled_from(CASTING if native else CASTING[:4]))
    options["order"] = data.draw(st.sampled_from("KCFA"))
    shape = outcome(np.einsum, subscripts, *operands)
    shape = () if isinstance(shape, type) else shape.shape
    outs = [{}, {}]
    if data.draw(st.booleans()):
        dtype = data.draw(st.sampled_from(TYPES))
        outs = [{"out": np.zeros(shape, dtype)}, {"out": np.zeros(shape, dtype)}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimize = data.draw(st.sampled_from([True, False, "greedy", ()]))
        result = outcome(ijk.einsum, subscripts, *operands, optimize=optimize, **options, **outs[0])
        if len(operands) == 1 and not outs[0] and "dtype" in options:
            # NumPy ignores the type where the result is a view.
            dtype = np.dtype(options.pop("dtype"))
            if not np.can_cast(operands[0].dtype, dtype, options["casting"]):
                assert result is TypeError or isinstance(outcome(np.einsum, subscripts, *operands), type)
                return
            converted = outcome(operands[0].astype, dtype)
            if isinstance(converted, type):
                assert result is converted or isinstance(outcome(np.einsum, subscripts, *operands), type)
                return
            operands = [converted]
        expected = outcome(np.einsum, subscripts, *operands, **options, **outs[1])
    assert same(result, expected), (subscripts, operands, options, outs, result, expected)


@settings(max_examples=300, deadline=None)
@given(einsums(), st.sampled_from(["i2", "u8", "g", "O", "?"]), st.data())
def test_all_types_answer_alike(case, dtype, data):
    """Types that are left to NumPy have the results, and the texts of errors, of f8."""
    subscripts, operands = case
    operands = [np.abs(operand.astype("c16").real) for operand in operands]
    path, left = [], len(operands)
    while left > 1 and data.draw(st.integers(0, 9)):
        step = data.draw(st.lists(st.integers(0, left - 1), min_size=1, max_size=3, unique=True))
        path, left = [*path, tuple(step)], left + 1 - len(step)
    if dtype == "?":
        operands = [operand > 0 for operand in operands]
    results = []
    for converted in (operands, [operand.astype(dtype) for operand in operands]):
        try:
            results.append(np.asarray(ijk.einsum(subscripts, *converted, optimize=path)).astype("f8"))
        except ijk.Error as error:
            results.append(str(error))
    one, other = results
    assert type(one) is type(other) and np.array_equal(one, other), (subscripts, path, one, other)


@settings(max_examples=300, deadline=None)
@given(einsums(), st.integers(0, 300), st.data())
def test_memory_limits_hold_or_say_what_would_do(case, limit, data):
    """Under any limit the result is the same, or the error says a limit under which it is."""
    subscripts, operands = case
    options = {"dtype": data.draw(st.sampled_from(TYPES)), "casting": "unsafe"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(ijk.einsum, subscripts, *operands, **options)
        if isinstance(expected, type):
            return
        try:
            engine = ijk.Engine(threads=1, memory_limit=limit)
            result = ijk.einsum(subscripts, *operands, engine=engine, **options)
        except ijk.MemoryLimitError as error:
            least = int(str(error).split("needs ")[1].split()[0])
            assert least > limit
            engine = ijk.Engine(threads=1, memory_limit=least)
            result = ijk.einsum(subscripts, *operands, engine=engine, **options)
        assert same(np.asarray(result, expected.dtype), expected)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 0x10FFFF - 2188), min_size=1, max_size=4, unique=True), st.data())
def test_all_symbols_of_opt_einsum(numbers, data):
    """Indices are those of opt_einsum, spaces of typography among them; only the space of ASCII is none."""
    symbols = [opt_einsum.get_symbol(number) for number in numbers]
    shape = [data.draw(st.sampled_from([1, 2, 3])) for _ in symbols]
    output = data.draw(st.permutations(symbols))[: data.draw(st.integers(0, len(symbols)))]
    order = sorted(symbols)
    x = values(data.draw, shape, data.draw(st.sampled_from(["i8", "i2"])))
    lists = [order.index(symbol) for symbol in symbols], [order.index(symbol) for symbol in output]
    spaced = data.draw(st.sampled_from(["", " ", "  "])).join(symbols)
    expected = np.einsum(x, lists[0], lists[1])
    assert np.array_equal(ijk.einsum(f"{spaced} -> {' '.join(output)}", x), expected)
    rest = len(shape) - 1
    expected = np.einsum(x, [0, ...], [...])
    assert np.array_equal(ijk.einsum(symbols[0] + "...->...", x), expected), rest


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(1, 3), max_size=3),
    st.lists(st.integers(1, 3), max_size=3),
    st.one_of(
        st.integers(-2, 4),
        st.tuples(st.integers(-4, 4), st.integers(-4, 4)),
        st.tuples(
            st.lists(st.integers(-4, 4), max_size=3),
            st.lists(st.integers(-4, 4), max_size=3),
        ),
    ),
)
def test_tensordot_as_in_numpy(left, right, axes):
    a, b = np.arange(np.prod(left, dtype=int)), np.arange(np.prod(right, dtype=int))
    a, b = a.reshape(left), b.reshape(right)
    result, expected = (outcome(f, a, b, axes) for f in (ijk.tensordot, np.tensordot))
    if isinstance(expected, type):
        # Which of several mistakes is told is nobody's promise.
        assert isinstance(result, type), (left, right, axes)
        with pytest.raises((ValueError, IndexError)):
            ijk.tensordot(a, b, axes)
    else:
        assert same(result, expected), (left, right, axes)
