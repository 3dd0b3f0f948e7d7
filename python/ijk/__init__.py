"""Index expressions: einsum of any number of arrays, and programs on arrays in one line.

>>> import numpy as np, ijk
>>> ijk.einsum("ij,jk->ik", np.eye(2), np.ones((2, 2)))
array([[1., 1.],
       [1., 1.]])
>>> softmax = ijk.i("(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij")
>>> softmax(np.zeros((1, 4)))
array([[0.25, 0.25, 0.25, 0.25]])
"""

from . import _positions  # Block tensors get their methods.
from ._arrays import tensordot, transpose
from ._einsum import einsum, einsum_path, fallbacks
from ._ijk import (
    BigTensor,
    Component,
    DTypeError,
    Einsum,
    Engine,
    Error,
    MemoryLimitError,
    Program,
    StoreError,
    __version__,
    contract,
)
from ._paths import PathError

__all__ = [
    "BigTensor",
    "Component",
    "DTypeError",
    "Einsum",
    "Engine",
    "Error",
    "MemoryLimitError",
    "PathError",
    "Program",
    "StoreError",
    "contract",
    "einsum",
    "einsum_path",
    "et",
    "fallbacks",
    "i",
    "tensordot",
    "transpose",
]


def i(source):
    """A program in i, as a function of arrays.

    Raises ijk.Error (a ValueError) with everything that is wrong with it, each with its place.

    >>> product = ijk.i("ik*kj~ijk . +ijk~ij")
    >>> (ijk.i("ik*kj~ijk") >> ijk.i("+ijk~ij"))(np.eye(2), np.ones((2, 3))).shape
    (2, 3)
    """
    return Component(source)


def et(source):
    """A program in Einsum Tuple, as a function of arrays by name that gives a dict of arrays.

    Raises ijk.Error (a ValueError) with everything that is wrong with it, each with its place, and warns of what is
    legal but seldom meant, such as an access that is never in bounds.

    >>> ijk.et("y[a] = x[a] * x[a]")(x=np.array([1.0, 2.0]))["y"]
    array([1., 4.])

    Block tensors among the arrays give block tensors, of which nothing is computed yet.

    >>> x = ijk.BigTensor(np.arange(6.0), [4])
    >>> ijk.et("y[a] = x[a] - x[a+1]")(x=x)["y"].collect()
    array([-1., -1., -1., -1., -1.])
    """
    return Program(source)
