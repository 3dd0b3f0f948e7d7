"""Block tensors as NumPy's users expect arrays: beside arrays, compared, indexed, transposed, summed.

Everything here is a term of the operations that tensors have: nothing is computed before it is asked for.
"""

import operator
from numbers import Number

import numpy as np

from . import _ijk
from ._arrays import common_type, converted, is_computed, plain
from ._ijk import BigTensor, Component

#: Names of element types in formulas.
NAMES = {
    "bool": "bool",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}
NAMES |= {"complex64": "c64", "complex128": "c128"}

_own_matmul, _own_max, _own_min = BigTensor.__matmul__, BigTensor.max, BigTensor.min


def _method(function):
    """Makes a function a method of block tensors."""
    function.__qualname__ = f"BigTensor.{function.__name__}"
    function.__module__ = "ijk"
    setattr(BigTensor, function.__name__, function)
    return function


def _letters(count):
    """As many letters, of which there are enough for any rank."""
    return [chr(0x4E00 + number) for number in range(count)]


def _text(letters):
    return "".join(letters) or "."


# Beside arrays.


def fitted(tensor, other, divided=False):
    """A tensor and an array, or what makes one, as tensors of one shape and type; None of what makes none.

    Raises DTypeError where whole numbers are divided, since tensors round down and arrays do not.
    """
    other = _operand(tensor, other)
    if other is None:
        return None
    try:
        shape = np.broadcast_shapes(tensor.shape, tuple(other.shape))
    except ValueError:
        raise _ijk.Error(
            f"a tensor of the shape {tensor.shape} and an array of the shape {other.shape} have no "
            "common shape: extents are equal, or 1, counted from the last"
        ) from None
    new = len(shape) - tensor.ndim
    axes = zip(tensor.blocks, tensor.shape, shape[new:])
    blocks = [None] * new + [block if extent == full else None for block, extent, full in axes]
    axes = list(zip(blocks, shape))[len(shape) - len(other.shape) :]
    own = [block if extent == full else None for (block, full), extent in zip(axes, other.shape)]
    other = BigTensor(other, own)
    both = _promoted(tensor, other), _promoted(other, tensor)
    if divided and both[0].dtype.kind in "bui":
        raise _ijk.DTypeError(
            f"a tensor of {tensor.dtype} and an array of {other.dtype} are divided: tensors round down, "
            "arrays do not; pass u.astype(float) for the quotients, or a tensor in place of the array"
        )
    return tuple(one if one.shape == shape else one.bc(shape, blocks) for one in both)


def _operand(tensor, other):
    """An array as one of NumPy's, of the type that both are computed in, or as it is where it is read by block."""
    if isinstance(tensor.dtype, str) or isinstance(other, (str, bytes)) or not _is_array(other):
        return None
    if hasattr(other, "chunks"):
        return other
    if isinstance(other, Number):
        return np.asarray(other, _common(tensor.dtype, other))
    array = plain(other, "the array")
    return converted(array, common_type(array.dtype, np.dtype(tensor.dtype))) if array.ndim else array


def _is_array(other):
    return isinstance(other, (Number, list, tuple)) or hasattr(other, "__array__") or hasattr(other, "__dlpack__")


def _common(dtype, other):
    types = np.dtype(dtype), getattr(other, "dtype", other)
    weak = not isinstance(types[1], np.dtype)
    common = np.result_type(*types) if weak else common_type(*types)
    if not is_computed(common):
        raise _ijk.DTypeError(f"elements of {dtype} and {other!r} meet in {common}, but ijk does not compute with that")
    return common


def _promoted(one, other):
    """A tensor in the type of both."""
    return one.astype(_common(one.dtype, other.dtype))


@_method
def __matmul__(self, other):
    """The product of the last axis of this and the first of the other, which may be an array."""
    if isinstance(other, BigTensor):
        return _own_matmul(self, other)
    array = _operand(self, other)
    if array is None or isinstance(other, Number):
        return NotImplemented
    array = BigTensor(array)
    return _own_matmul(_promoted(self, array), _promoted(array, self))


@_method
def __rmatmul__(self, other):
    """The product of the last axis of an array and the first of this."""
    array = _operand(self, other)
    if array is None or isinstance(other, Number):
        return NotImplemented
    array = BigTensor(array)
    return _own_matmul(_promoted(array, self), _promoted(self, array))


# Comparisons.


def _compared(name, word):
    def compare(self, other):
        if isinstance(other, BigTensor):
            return Component(_between(self, word, other))(self, other)
        if isinstance(other, Number):
            dtype = None if isinstance(self.dtype, str) else _common(self.dtype, other)
            if dtype is None:
                return NotImplemented
            letters = _text(_letters(self.ndim))
            number = BigTensor(np.asarray(other, dtype))
            return Component(f"{letters} @{word} .~{letters}")(self.astype(dtype), number)
        both = fitted(self, other)
        if both is None:
            return NotImplemented
        return Component(_between(both[0], word, both[1]))(*both)

    compare.__name__ = name
    compare.__doc__ = f"The elements that are {word} those of a tensor, an array or a number: a tensor of bool."
    return _method(compare)


def _between(one, word, other):
    if one.shape != other.shape:
        raise _ijk.Error(
            f"tensors of the shapes {one.shape} and {other.shape} are compared: repeat one by bc, or give an array"
        )
    letters = _text(_letters(one.ndim))
    return f"{letters} @{word} {letters}~{letters}"


for _word in ("lt", "le", "gt", "ge", "eq", "ne"):
    _compared(f"__{_word}__", _word)

#: As those of PyTorch and of JAX, tensors are found in dicts by what they are, not by their elements.
BigTensor.__hash__ = object.__hash__


@_method
def __bool__(self):
    """The truth of the only element, which is computed."""
    if self.size != 1:
        raise ValueError(
            f"the truth of a tensor of {self.size} elements is not determined: use .any() or .all(), and collect it"
        )
    return bool(self.collect())


# Shape.


@_method
def __len__(self):
    """The extent of the first axis."""
    if not self.ndim:
        raise TypeError("a tensor without axes has no length")
    return self.shape[0]


BigTensor.size = property(lambda self: int(np.prod(self.shape, dtype=object)), doc="How many elements there are.")
BigTensor.T = property(lambda self: self.transpose(), doc="The tensor with its axes in reverse order.")


@_method
def transpose(self, *axes):
    """The tensor with its axes in another order: reversed, if none is given."""
    axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes
    order = _axes(axes, self.ndim) if axes else range(self.ndim)[::-1]
    if sorted(order) != list(range(self.ndim)):
        raise ValueError(f"axes are {tuple(axes)}, but each of the {self.ndim} axes is named once")
    letters = _letters(self.ndim)
    return Component(f"{_text(letters)}~{_text([letters[axis] for axis in order])}")(self)


@_method
def astype(self, dtype):
    """The tensor with elements of another type, of those that ijk computes with."""
    dtype = np.dtype(dtype)
    if dtype.name not in NAMES:
        raise _ijk.DTypeError(f"ijk does not compute with elements of {dtype}")
    return self if self.dtype == dtype else self.map(f"{NAMES[dtype.name]}(x)")


def _axes(axes, rank):
    axes = [operator.index(axis) for axis in (axes if np.iterable(axes) else (axes,))]
    for axis in axes:
        if not -rank <= axis < rank:
            raise np.exceptions.AxisError(axis, rank)
    axes = [axis % rank for axis in axes]
    if len(set(axes)) < len(axes):
        raise ValueError(f"an axis is named twice: {tuple(axes)}")
    return axes


# Reductions.


def _reduced(tensor, reducer, axis, keepdims, out):
    if out is not None:
        raise TypeError("out is given, but a tensor is computed when it is collected or written: no out")
    axes = range(tensor.ndim) if axis is None else _axes(axis, tensor.ndim)
    if not len(axes):
        return tensor
    letters = _letters(tensor.ndim)
    kept = [letter for number, letter in enumerate(letters) if number not in axes]
    reduced = Component(f"{reducer}{_text(letters)}~{_text(kept)}")(tensor)
    return Component(f"{_text(kept)}~{_text(letters)}")(reduced) if keepdims else reduced


def _counted(tensor, dtype):
    """A tensor in the type in which NumPy sums its elements."""
    own = np.dtype(tensor.dtype)
    wide = {"b": np.dtype(np.int64), "i": np.dtype(np.int64), "u": np.dtype(np.uint64)}.get(own.kind, own)
    return tensor.astype(dtype or wide)


@_method
def sum(self, axis=None, dtype=None, out=None, keepdims=False):
    """The sum along axes, or of all: of bool how many are true, of integers in 64 bits."""
    return _reduced(_counted(self, dtype), "+", axis, keepdims, out)


@_method
def prod(self, axis=None, dtype=None, out=None, keepdims=False):
    """The product along axes, or of all."""
    return _reduced(_counted(self, dtype), "*", axis, keepdims, out)


@_method
def mean(self, axis=None, dtype=None, out=None, keepdims=False):
    """The mean along axes, or of all: in float64, of elements that are no fractions."""
    whole = np.dtype(self.dtype).kind in "bui"
    summands = self.astype(dtype or (np.float64 if whole else self.dtype))
    axes = range(self.ndim) if axis is None else _axes(axis, self.ndim)
    count = int(np.prod([self.shape[n] for n in axes], dtype=object))
    return _reduced(summands, "+", axis, keepdims, out) / count


@_method
def any(self, axis=None, out=None, keepdims=False):
    """Whether some element along axes is not 0."""
    return _reduced(self.astype(np.bool_), "+", axis, keepdims, out)


@_method
def all(self, axis=None, out=None, keepdims=False):
    """Whether all elements along axes are not 0."""
    return _reduced(self.astype(np.bool_), "*", axis, keepdims, out)


@_method
def max(self, other=None, *, axis=None, out=None, keepdims=False):
    """The greater element of each two: of another tensor, an array or a number; of none, the greatest along axes."""
    return _extreme(self, _own_max, ">", other, axis, out, keepdims)


@_method
def min(self, other=None, *, axis=None, out=None, keepdims=False):
    """The lesser element of each two: of another tensor, an array or a number; of none, the least along axes."""
    return _extreme(self, _own_min, "<", other, axis, out, keepdims)


def _extreme(tensor, own, reducer, other, axis, out, keepdims):
    if other is not None:
        if axis is not None:
            raise TypeError("both another tensor and an axis are given: pass one of them")
        return own(tensor, other)
    axes = range(tensor.ndim) if axis is None else _axes(axis, tensor.ndim)
    if 0 in [tensor.shape[n] for n in axes]:
        raise ValueError("of no elements none is the greatest or the least")
    return _reduced(tensor, reducer, axis, keepdims, out)


@_method
def __abs__(self):
    """The absolute value of each element."""
    return self.map("abs(x)")


@_method
def __pow__(self, power):
    """A power of each element: a number."""
    return self.map(f"x ** {power!r}") if isinstance(power, (int, float)) else NotImplemented
