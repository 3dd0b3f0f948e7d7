"""Block tensors indexed as NumPy's arrays are."""

import operator

import numpy as np

from ._ijk import Component
from ._tensors import _letters, _method, _text


@_method
def __getitem__(self, key):
    """A part: numbers, slices, ..., None, and of one axis a list of ascending positions or of truth values."""
    keys = _expanded(key if isinstance(key, tuple) else (key,), self.ndim)
    chosen, dropped, reversed_, lists, axis = [], [], [], [], 0
    for place, key in enumerate(keys):
        if key is None:
            continue
        positions, is_number, is_list = _positions(key, axis, self.shape[axis])
        chosen.append(positions[::-1] if _descends(positions) else positions)
        reversed_ += [axis] if _descends(positions) else []
        dropped += [axis] if is_number else []
        lists += [(place, is_list)] if is_list or is_number else []
        axis += 1
    _check_lists(lists)
    part = self.select(*chosen) if chosen and not all(map(_is_all, chosen, self.shape)) else self
    return _shaped(_reversed(part, reversed_), keys, dropped)


def _is_all(positions, extent):
    return isinstance(positions, slice) and positions == slice(0, extent, 1)


def _expanded(keys, rank):
    """A key for each axis, and None for each new one."""
    if sum(key is Ellipsis for key in keys) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    missing = rank - sum(key is not None and key is not Ellipsis for key in keys)
    if missing < 0:
        raise IndexError(f"too many indices: the tensor has {rank} axes, but {rank - missing} were indexed")
    at = next((n for n, key in enumerate(keys) if key is Ellipsis), len(keys))
    return [*keys[:at], *[slice(None)] * missing, *keys[at + 1 :]]


def _positions(key, axis, extent):
    """Positions of an axis, as a slice or a list; whether the axis is dropped, and whether it is a list."""
    if isinstance(key, slice):
        start, stop, step = key.indices(extent)
        count = len(range(start, stop, step))
        if step > 0:
            return slice(start, start + count * step if step > 1 else start + count, step), False, False
        return list(range(start, stop, step)), False, False
    if hasattr(key, "__index__") and not isinstance(key, (bool, np.bool_)) and np.ndim(key) == 0:
        position = operator.index(key)
        if not -extent <= position < extent:
            raise IndexError(f"index {position} is out of bounds for axis {axis} with size {extent}")
        return [position % extent], True, False
    return _listed(key, axis, extent), False, True


def _listed(key, axis, extent):
    """Positions in a list, or where a list of truth values is true."""
    array = np.asarray(key)
    if array.ndim != 1 or array.dtype.kind not in "biu" and array.size:
        raise IndexError(
            f"axis {axis} is indexed by an array of {array.dtype} and shape {array.shape}: numbers, slices, ..., None "
            "and, for one axis, a list of positions or of truth values are taken"
        )
    if array.dtype == bool:
        if len(array) != extent:
            raise IndexError(f"axis {axis} has {extent} elements, but {len(array)} truth values index it")
        return np.flatnonzero(array).tolist()
    positions = [int(position) for position in array]
    for position in positions:
        if not -extent <= position < extent:
            raise IndexError(f"index {position} is out of bounds for axis {axis} with size {extent}")
    return [position % extent for position in positions]


def _descends(positions):
    return isinstance(positions, list) and len(positions) > 1 and positions[0] > positions[-1]


def _check_lists(lists):
    """Raises IndexError where NumPy takes lists of positions together, which select does not."""
    if sum(is_list for _, is_list in lists) > 1:
        raise IndexError(
            "two lists of positions, which NumPy takes in pairs: index twice, u[p][:, q], for all combinations"
        )
    places = [place for place, _ in lists]
    apart = any(later - earlier > 1 for earlier, later in zip(places, places[1:]))
    if apart and any(is_list for _, is_list in lists):
        raise IndexError("a list of positions and a number with axes between them: index twice, u[0][:, p]")


def _reversed(tensor, axes):
    """The tensor with some axes in reverse."""
    if not axes:
        return tensor
    letters = _letters(tensor.ndim)
    read = [
        f"[{extent - 1}-{letter}{{{extent}}}]" if axis in axes else letter
        for axis, (letter, extent) in enumerate(zip(letters, tensor.shape))
    ]
    return Component(f"{_text(read)}~{_text(letters)}")(tensor)


def _shaped(tensor, keys, dropped):
    """The tensor without axes of which one position was taken, and with new ones."""
    if not dropped and not any(key is None for key in keys):
        return tensor
    letters = _letters(len(keys))
    axis, taken, kept = 0, [], []
    for key, letter in zip(keys, letters):
        if key is None:
            kept.append(letter)
            continue
        taken.append("[0]" if axis in dropped else letter)
        kept += [] if axis in dropped else [letter]
        axis += 1
    return Component(f"{_text(taken)}~{_text(kept)}")(tensor)
