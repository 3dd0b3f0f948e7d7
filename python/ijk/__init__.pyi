from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from ._ijk import BigTensor as BigTensor
from ._ijk import Component as Component
from ._ijk import DTypeError as DTypeError
from ._ijk import Einsum as Einsum
from ._ijk import Engine as Engine
from ._ijk import Error as Error
from ._ijk import MemoryLimitError as MemoryLimitError
from ._ijk import Program as Program
from ._ijk import StoreError as StoreError
from ._ijk import __version__ as __version__
from ._ijk import contract as contract

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

class PathError(Error, RuntimeError): ...

fallbacks: Counter[str]

def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: Literal["K", "C", "F", "A"] = "K",
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "safe",
    optimize: bool | str | Sequence[Any] = True,
    engine: Engine | None = None,
) -> Any: ...
def einsum_path(
    *operands: Any, optimize: bool | str | Sequence[Any] = True, einsum_call: bool = False
) -> tuple[list[Any], str]: ...
def tensordot(a: Any, b: Any, axes: int | Sequence[Any] = 2) -> Any: ...
def transpose(array: Any, axes: Sequence[int] | None = None) -> Any: ...
def i(source: str) -> Component: ...
def et(source: str) -> Program: ...
