"""Cases, with an expression for each contestant."""

from dataclasses import dataclass, field
from typing import Callable

# An array: extents, and extents of its chunks.
Array = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass
class Case:
    """A computation on two arrays. `dask` has ways to write it, of which the fastest counts: functions of
    `dask.array` and of the two arrays."""

    name: str
    arrays: tuple[Array, Array]
    result: Array
    ijk: tuple[str, str]
    operations: float
    dask: dict[str, Callable] = field(default_factory=dict)


def matrix(rows, columns, block):
    """A matrix in square chunks, or smaller ones where it is smaller."""
    return (rows, columns), (min(block, rows), min(block, columns))


def product(rows, sum_, columns, block, name):
    """A product of matrices."""
    return Case(
        name,
        (matrix(rows, sum_, block), matrix(sum_, columns, block)),
        matrix(rows, columns, block),
        ("einsum", "ik,kj->ij"),
        2 * rows * sum_ * columns,
        {
            "matmul": lambda da, a, b: a @ b,
            "tensordot": lambda da, a, b: da.tensordot(a, b, axes=1),
            "einsum": lambda da, a, b: da.einsum("ik,kj->ij", a, b, optimize=True),
        },
    )


def outer(side, part, sum_, panel):
    """A contraction whose result is far larger than its arguments."""
    text = "aijkl,amnop->ijklmnop"
    shape = (sum_, side, side, side, side), (panel, part, part, side, part)
    extents, chunks = shape[0][1:], shape[1][1:]
    return Case(
        f"{text}, {side} each, a = {sum_}",
        (shape, shape),
        (extents * 2, chunks * 2),
        ("einsum", text),
        2 * sum_ * side**8,
        {
            "tensordot": lambda da, a, b: da.tensordot(a, b, axes=(0, 0)),
            "einsum": lambda da, a, b: da.einsum(text, a, b, optimize=True),
        },
    )


def batched(count, side, chunks):
    """Products of many matrices."""
    array = (count, side, side), chunks
    return Case(
        f"bik,bkj->bij, {count} × {side}²",
        (array, array),
        array,
        ("einsum", "bik,bkj->bij"),
        2 * count * side**3,
        {
            "matmul": lambda da, a, b: da.matmul(a, b),
            "einsum": lambda da, a, b: da.einsum("bik,bkj->bij", a, b, optimize=True),
        },
    )


def row_sums(side, block):
    """Row sums of a product that need not be stored."""
    square = matrix(side, side, block)
    return Case(
        f"row sums of a product, {side}²",
        (square, square),
        ((side,), (block,)),
        ("eval", "+(ik*kj)~i"),
        2 * side**3,
        {
            "matmul, sum": lambda da, a, b: (a @ b).sum(axis=1),
            "einsum": lambda da, a, b: da.einsum("ik,kj->i", a, b, optimize=True),
        },
    )


def max_plus(side, block):
    """The product of shortest and longest paths, which no library multiplies."""

    def pairs(_, a, b):
        return (a[:, :, None] + b[None, :, :]).max(axis=1)

    def thinner(da, a, b):
        rows = max(1, 2**24 // block**2)
        return pairs(da, a.rechunk((rows, block)), b).rechunk(block)

    square = matrix(side, side, block)
    return Case(
        f"(max, +) product, {side}²",
        (square, square),
        square,
        ("eval", ">(ik+kj)~ij"),
        2 * side**3,
        {"pairs": pairs, "thinner": thinner},
    )


def all_cases(scale):
    """All cases with smaller extents."""
    n, block = 8192 // scale, 1024 // scale
    return [
        product(n, n, n, block, f"product, {n}²"),
        *(product(n // 2, n * k, n // 2, block, f"product, {n // 2}² over {n * k}") for k in (1, 4)),
        outer(max(2, 12 // scale), max(1, 6 // scale), 64 // scale, max(1, 16 // scale)),
        batched(64 // scale, n // 8, (max(1, 8 // scale), block // 2, block // 2)),
        row_sums(n, block),
        max_plus(n // 4, block // 2),
    ]
