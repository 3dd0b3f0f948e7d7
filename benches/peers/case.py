"""The definition of a case."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass, field

ARGUMENTS = "xyzuvw"
# Extents up to this belong to the case (a filter, a number of heads): `--scale` does not change them.
SMALL = 16


@dataclass(frozen=True)
class Input:
    """An array: extents as expressions of the sizes' names, an element type, what it holds.

    `holds` is `signed` (-1 to 1), `positive` (1/2 to 1), `mask` (true three times of four, and first in every row) or
    `below NAME` (integers from 0 to that size).
    """

    shape: str
    dtype: str | None = None
    holds: str = "signed"


@dataclass(frozen=True)
class Case:
    """One computation, as each contestant writes it.

    `ijk` is a program in i, where INVERSE(NAME) stands for 1 over a size, or the name of a file of
    `programs/`. The others are Python expressions of
    the arguments x, y, z, …, of the sizes as `n.NAME`, and of `out` where they end in `_into`: those write
    into an array that exists. A peer without an expression is not in the race; one without `_into` has
    no way to reuse memory.
    """

    name: str
    group: str
    ijk: str
    sizes: dict[str, int]
    inputs: list[Input]
    operations: str
    numpy: str
    torch: str | None
    jax: str | None
    numpy_into: str | None = None
    torch_into: str | None = None
    dtype: str = "float32"
    # Counts for the geometric mean of contractions.
    contraction: bool = False
    # Further arguments of `ijk bench`, with sizes in braces.
    flags: tuple[str, ...] = ()
    # Names of the inputs and of the result, for programs in Einsum Tuple.
    names: tuple[str, ...] = ()
    result: str = "0"
    # Sizes that small versions do not change.
    fixed: frozenset[str] = field(default_factory=frozenset)
    # Least size of a small version; 0 if there is none.
    least: int = 2
    # The goal, on a machine described in `race.py`: ("peak", giga-operations a
    # second), ("read", milliseconds, by its bandwidth), ("seconds", seconds).
    goal: tuple[str, float] | None = None
    # Tolerance, relative to the greatest magnitude.
    tolerance: float | None = None

    def evaluate(self, expression: str) -> int:
        """The value of an expression of the sizes."""
        return int(eval(expression, {"__builtins__": {}}, dict(self.sizes)))

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of an input."""
        return tuple(self.evaluate(extent) for extent in self.inputs[number].shape.split())

    def dtype_of(self, number: int) -> str:
        """The element type of an input."""
        return self.inputs[number].dtype or self.dtype

    def is_tuples(self) -> bool:
        """True if the program is a file in Einsum Tuple."""
        return self.ijk.endswith(".et")

    def program(self) -> str:
        """The program in i."""
        inverse = lambda match: repr(1 / self.sizes[match[1]])
        return re.sub(r"INVERSE\((\w+)\)", inverse, self.ijk)

    def count(self) -> int:
        """Number of operations."""
        return self.evaluate(self.operations)

    def scaled(self, factor: float) -> Case:
        """The same with scaled extents."""
        if factor == 1:
            return self
        size = lambda n: n if n <= SMALL else max(SMALL, round(n * factor))
        sizes = {name: size(n) for name, n in self.sizes.items()}
        return dataclasses.replace(self, sizes=sizes, goal=None)

    def small(self, extent: int) -> Case:
        """The same with small extents."""
        sizes = {name: n if name in self.fixed else extent for name, n in self.sizes.items()}
        name = f"{self.name}, {extent}"
        other = dict(name=name, group="small", sizes=sizes, contraction=False, goal=None)
        return dataclasses.replace(self, **other)

    def numbers(self, number: int):
        """An input, the same in every run."""
        import numpy as np

        spec, shape, dtype = self.inputs[number], self.shape(number), self.dtype_of(number)
        random = np.random.default_rng(number + 1)
        count = math.prod(shape)
        if spec.holds.startswith("below "):
            most = self.sizes[spec.holds.removeprefix("below ")]
            return random.integers(0, most, shape, dtype)
        if spec.holds == "mask":
            mask = random.random(shape) < 0.75
            mask[..., 0] = True
            return mask
        flat = random.random(count, dtype)
        if spec.holds == "positive":
            flat = flat * 0.5 + 0.5
        else:
            flat = flat * 2 - 1
        return flat.astype(dtype, copy=False).reshape(shape)


def letters(sizes: str) -> dict[str, int]:
    """`a=1 b=2` as a table."""
    return {name: int(n) for name, n in (pair.split("=") for pair in sizes.split())}


def spaced(index: str) -> str:
    """Letters as a shape."""
    return " ".join(index)


def einsum(
    name: str, group: str, spec: str, sizes: dict[str, int], dtype: str = "float32", **more
) -> Case:
    """A product of two arrays, written `OUT-LEFT-RIGHT`, summed over what is not in OUT."""
    out, left, right = spec.split("-")
    call = f"'{left},{right}->{out}', x, y"
    points = "*".join(sorted(set(left + right)))
    options = dict(
        numpy=f"np.einsum({call}, optimize=True)",
        numpy_into=f"np.einsum({call}, optimize=True, out=out)",
        torch=f"torch.einsum({call})",
        jax=f"jnp.einsum({call})",
    )
    options.update(more)
    return Case(
        name=name,
        group=group,
        ijk=f"+({left}*{right})~{out}",
        sizes={k: n for k, n in sizes.items() if k in left + right},
        inputs=[Input(spaced(left)), Input(spaced(right))],
        operations=f"2*{points}",
        dtype=dtype,
        **options,
    )
