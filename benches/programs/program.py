"""Programs and their data."""

from __future__ import annotations

import dataclasses
import zlib
from dataclasses import dataclass, field

import numpy as np

from peers.case import SMALL, letters

# Libraries besides ijk, in the order of the tables.
PEERS = ("numpy", "torch", "jax", "scipy", "numba", "keops", "tblis", "sesum")


@dataclass(frozen=True)
class Program:
    """One computation, as the users of each library write it.

    `sizes` is `a=1 b=2`. `inputs` are calls of the methods of `Data` by name, whose extents are expressions of the sizes.
    Of `et`, `i` and `einsum` one says what ijk computes: the result of a program in Einsum Tuple is `y`, and those of i and of
    einsum take the inputs in their order. `{NAME}` in a program stands for a size. The other spellings are Python expressions
    of the inputs, and of the sizes as `n.NAME`. NumPy's is evaluated in double precision, too, for comparison.

    `before` are expressions by name that are evaluated once, in the order in which they stand, for what a library keeps from one
    call to another (a sparse matrix); a name is seen by the library that stands before it: `scipy.A`. What stands before
    no library, as `views`, is seen by all.
    """

    name: str
    sizes: str
    inputs: dict[str, str]
    numpy: str
    torch: str | None = None
    jax: str | None = None
    scipy: str | None = None
    numba: str | None = None
    keops: str | None = None
    tblis: str | None = None
    sesum: str | None = None
    et: str | None = None
    i: str | None = None
    einsum: str | None = None
    # The call of ijk, if its arguments are not all inputs: an expression of the program `f`.
    call: str | None = None
    before: dict[str, str] = field(default_factory=dict)
    # Tolerance, relative to the greatest magnitude.
    tolerance: float = 1e-4
    # Sizes that `--sizes` does not change.
    fixed: frozenset[str] = frozenset()
    # A factor of `--sizes`, for the report.
    factor: float = 1
    group: str = ""

    def extents(self) -> dict[str, int]:
        """The sizes as a table."""
        return letters(self.sizes) if self.sizes else {}

    def front(self) -> str:
        """The language of the program."""
        return next(name for name in ("et", "i", "einsum") if getattr(self, name))

    def source(self) -> str:
        """The program, with its sizes in it."""
        text = getattr(self, self.front())
        for name, extent in self.extents().items():
            text = text.replace("{" + name + "}", str(extent))
        if self.front() == "et" and "\n\n" not in text:
            text = f"{text.strip()}\n\ny\n"
        return text

    def title(self) -> str:
        """The name, and the factor of the sizes if there is one."""
        return self.name if self.factor == 1 else f"{self.name} × {self.factor:g}"

    def scaled(self, factor: float) -> Program:
        """The same with scaled extents; short ones stay."""
        size = lambda n: n if n <= SMALL else max(SMALL, round(n * factor / SMALL) * SMALL)
        pairs = self.extents().items()
        sizes = " ".join(f"{k}={n if k in self.fixed else size(n)}" for k, n in pairs)
        return dataclasses.replace(self, sizes=sizes, factor=factor)

    def data(self) -> dict[str, np.ndarray]:
        """The inputs, the same in every run."""
        return {name: self.input(name, how) for name, how in self.inputs.items()}

    def input(self, name: str, how: str) -> np.ndarray:
        """One of them."""
        data = Data(zlib.crc32(name.encode()))
        names = {word: getattr(data, word) for word in dir(data) if not word.startswith("_")}
        return eval(how, {"__builtins__": {}}, names | self.extents())


class Data:
    """Random arrays."""

    def __init__(self, seed: int):
        self._random = np.random.default_rng(seed)

    def signed(self, *shape: int):
        """From -1 to 1."""
        return self._random.random(shape, np.float32) * 2 - 1

    def positive(self, *shape: int):
        """From 1/2 to 1."""
        return self._random.random(shape, np.float32) / 2 + np.float32(0.5)

    def bytes(self, *shape: int):
        """Of images."""
        return self._random.integers(0, 256, shape, np.uint8)

    def shares(self, *shape: int):
        """Positive, with the sum 1 in each row."""
        numbers = self.positive(*shape)
        return numbers / numbers.sum(axis=-1, keepdims=True)

    def angles(self, *shape: int):
        """From -10 to 10."""
        return self._random.random(shape, np.float32) * 20 - 10

    def signs(self, *shape: int):
        """-1 or 1."""
        return np.where(self._random.random(shape) < 0.5, -1, 1).astype(np.float32)

    def mask(self, *shape: int):
        """True with probability 3/4, and always first in a row."""
        mask = self._random.random(shape) < 0.75
        mask[..., 0] = True
        return mask

    def below(self, most: int, *shape: int):
        """Integers."""
        return self._random.integers(0, most, shape, np.int64)

    def sorted_below(self, most: int, *shape: int):
        """Sorted integers."""
        return np.sort(self.below(most, *shape))

    def whole(self, most: int, *shape: int):
        """32-bit integers of both signs."""
        return self._random.integers(-most, most, shape, np.int32)

    def inside(self, most: int, *shape: int):
        """Real positions from 0 to the last of an axis."""
        return self._random.random(shape, np.float32) * np.float32(most - 1.001)
