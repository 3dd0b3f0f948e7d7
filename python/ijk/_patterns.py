"""Sparse arrays as lists of their elements, with a position along each index: joined, summed, multiplied.

Products with dense arrays run in Einsum Tuple: rows of the dense array are gathered at the positions, and the products
scattered over the result. Zeros that are not stored are not multiplied, so that infinities and NaN beside them leave no
trace.
"""

from functools import lru_cache

import numpy as np

from . import _ijk


class Pattern:
    """Elements, and their positions by index."""

    def __init__(self, positions, values):
        self.positions, self.values = positions, values

    def __len__(self):
        return len(self.values)

    def at(self, chosen):
        """Some elements, in an order."""
        positions = {index: at[chosen] for index, at in self.positions.items()}
        return Pattern(positions, self.values[chosen])


def pattern(coords, indices, values):
    """The elements of an array whose axes have these indices: on a diagonal, where an index is there twice."""
    positions, kept = {}, None
    for index, at in zip(indices, coords):
        if index not in positions:
            positions[index] = np.asarray(at)
        else:
            same = positions[index] == at
            kept = same if kept is None else kept & same
    whole = Pattern(positions, values)
    return whole if kept is None else whole.at(np.flatnonzero(kept))


def _keys(patterns, indices, extents):
    """For each pattern a number for each element, the same where the positions along all indices are."""
    keys = [np.zeros(len(one), np.int64) for one in patterns]
    most = 1
    for index in indices:
        if most > (1 << 62) // max(extents[index], 1):
            _, numbers = np.unique(np.concatenate(keys), return_inverse=True)
            most = int(numbers.max(initial=0)) + 1
            keys = np.split(numbers, np.cumsum([len(one) for one in patterns])[:-1])
        keys = [key * extents[index] + one.positions[index] for key, one in zip(keys, patterns)]
        most *= extents[index]
    return keys


def joined(one, other, extents, limit=None):
    """The products of elements at the same positions along the indices that both have.

    limit: the most bytes that they may take.
    """
    shared = [index for index in one.positions if index in other.positions]
    keys, others = _keys((one, other), shared, extents)
    order = np.argsort(others, kind="stable")
    others = others[order]
    first = np.searchsorted(others, keys, "left")
    counts = np.searchsorted(others, keys, "right") - first
    total = int(counts.sum())
    _check_memory(total, len({*one.positions, *other.positions}), one.values.itemsize, limit)
    left = np.repeat(np.arange(len(one)), counts)
    start = np.cumsum(counts) - counts
    right = order[np.arange(total) + np.repeat(first - start, counts)]
    one, other = one.at(left), other.at(right)
    return Pattern({**other.positions, **one.positions}, one.values * other.values)


def _check_memory(count, indices, itemsize, limit):
    needed = count * (8 * indices + 3 * itemsize)
    if limit is not None and needed > limit:
        raise _ijk.MemoryLimitError(
            f"the products of {count} pairs of stored elements need {needed} bytes, but the memory "
            f"limit is {limit} bytes"
        )


def projected(one, kept):
    """The elements with their positions along some indices: several may be at one place."""
    return Pattern({index: one.positions[index] for index in kept}, one.values)


def summed(one, kept, extents):
    """The pattern of some indices, summed over the others."""
    if set(one.positions) == set(kept):
        return one
    (keys,) = _keys((one,), kept, extents)
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(one):
        return projected(one, kept)
    flat = Pattern({0: numbers}, one.values)
    values = dense(flat, [], [0], {0: len(first)}, None)
    return Pattern({index: one.positions[index][first] for index in kept}, values)


def sampled(one, factors, engine):
    """The pattern with its elements multiplied by those of dense arrays, each with its indices, at the same places.

    Indices that only dense arrays have are summed over.
    """
    if not factors:
        return one
    text, bound = _product(one, factors)
    bound |= _positions(one, (index for _, indices in factors for index in indices))
    return Pattern(one.positions, _program(f"y[z] = {text}")(**bound, engine=engine)["y"])


def dense(one, factors, output, extents, engine):
    """The sum of products of a pattern and dense arrays, as an array of the output's indices."""
    text, bound = _product(one, factors)
    bound |= _positions(one, (index for _, indices in factors for index in indices))
    bound |= _positions(one, output)
    whole = ",".join(f"e{index}" for index in output)
    places = ",".join(_place(one, index) for index in output)
    zero = ZEROS.get(one.values.dtype.name, "0")
    program = _program(f"y[{whole}] = {zero}\ny[{places}] += {text}")
    dims = {f"e{index}": [extents[index]] for index in output}
    return program(**bound, dims=dims, engine=engine)["y"]


#: Numbers of the type of what is added to them, in Einsum Tuple; that of others is weak.
ZEROS = {"bool": "BOOL(0)"} | {
    f"{kind}{bits}": f"{letter}{bits}(0)"
    for kind, letter in (("int", "I"), ("uint", "U"))
    for bits in (8, 16, 32, 64)
}


def _place(one, index):
    return f"p{index}[z]" if index in one.positions else f"e{index}"


def _positions(one, indices):
    """The positions along those indices that the pattern has, by their names in programs."""
    return {f"p{index}": one.positions[index] for index in indices if index in one.positions}


def _product(one, factors):
    """The product at an element of the pattern as text, and its factors by name."""
    terms, bound = ["v[z]"], {"v": one.values}
    for number, (array, indices) in enumerate(factors):
        terms.append(f"d{number}[{','.join(_place(one, index) for index in indices)}]")
        bound[f"d{number}"] = array
    return " * ".join(terms), bound


#: Programs by their texts: each keeps its plans.
_program = lru_cache(maxsize=256)(_ijk.Program)
