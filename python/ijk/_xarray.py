"""DataArrays of xarray's in, DataArrays out: indices are dimensions, and coordinates are kept.

An index runs along one dimension: wherever a letter stands, its axis has the same name and the same coordinate. Arrays
without names take part, and have those that their letters have elsewhere.
"""

import xarray

from . import _ijk
from ._interchange import made

KIND = "a DataArray of xarray's"


def carry(call, arrays, out):
    """A call with DataArrays, and NumPy's beside them."""
    if out is not None:
        raise TypeError("out is given, but DataArrays are made anew: leave out= away, or pass x.data")
    order = getattr(call, "order_by_name", None)
    if order is not None:
        arrays = [order(n, x) if isinstance(x, xarray.DataArray) else x for n, x in enumerate(arrays)]
    data = [x.data if isinstance(x, xarray.DataArray) else x for x in arrays]
    axes = call.axes(data)
    dimensions = _Dimensions(call, arrays, axes.arguments)
    results = made(call, data, None)
    if isinstance(results, dict):
        return {key: dimensions.named(x, *axes.of(key, x.ndim)) for key, x in results.items()}
    if isinstance(results, tuple):
        return tuple(dimensions.named(x, *axes.of(n, x.ndim)) for n, x in enumerate(results))
    return dimensions.named(results, *axes.of(0, results.ndim))


class _Dimensions:
    """The dimension of each index, and what DataArrays have along it."""

    def __init__(self, call, arrays, arguments):
        self.given = []
        self.names = {}
        for array, name, indices in zip(arrays, call.names, arguments):
            if not isinstance(array, xarray.DataArray):
                continue
            self.given.append((array, name, indices))
            for axis, (dimension, index) in enumerate(zip(array.dims, indices)):
                if index is not None:
                    self._bind(index, dimension, f"axis {axis} of {name}")
        self._check_coordinates()

    def _bind(self, index, dimension, where):
        known, elsewhere = self.names.setdefault(index, (dimension, where))
        if known != dimension:
            raise _ijk.Error(
                f"one index runs along {elsewhere}, which is the dimension {known!r}, and along {where}, "
                f"which is {dimension!r}: transpose one, or rename it, x.rename({{{dimension!r}: {known!r}}})"
            )

    def _check_coordinates(self):
        """Raises an error where positions along an index have different coordinates."""
        seen = {}
        for array, name, indices in self.given:
            for dimension, index in zip(array.dims, indices):
                labels = array.indexes.get(dimension)
                if labels is None or index is None:
                    continue
                other, whose = seen.setdefault(index, (labels, name))
                if len(other) == len(labels) and not other.equals(labels):
                    raise _ijk.Error(
                        f"the coordinates along {dimension!r} of {name} are not those of {whose}: "
                        'align them before, xarray.align(x, y, join="inner")'
                    )

    def named(self, result, indices, letters):
        """A result as a DataArray."""
        dimensions = self._of(indices, letters)
        extents = dict(zip(dimensions, result.shape))
        kept = [self._kept(array, own, dict(zip(indices, dimensions)), extents) for array, _, own in self.given]
        merged = xarray.merge(kept, join="exact", compat="minimal", combine_attrs="drop_conflicts")
        names = {array.name for array, _, _ in self.given}
        name = names.pop() if len(names) == 1 else None
        return xarray.DataArray(result, coords=merged.coords, dims=dimensions, name=name)

    def _of(self, indices, letters):
        """The dimensions of a result; of an index that has none its letter, or a number."""
        dimensions = []
        for axis, (index, letter) in enumerate(zip(indices, letters)):
            taken = {*dimensions, *(self.names[i][0] for i in indices if i in self.names)}
            free = letter if letter and letter not in taken else f"dim_{axis}"
            dimensions.append(self.names[index][0] if index in self.names else free)
        for dimension in dimensions:
            if dimensions.count(dimension) > 1:
                raise _ijk.Error(
                    f"the result has the dimension {dimension!r} twice: rename it in one of the arguments, "
                    f"x.rename({{{dimension!r}: ...}})"
                )
        return dimensions

    def _kept(self, array, own, dimensions, extents):
        """The coordinates of an argument that a result has."""
        kept = {
            dimension
            for dimension, index in zip(array.dims, own)
            if dimensions.get(index) == dimension and array.sizes[dimension] == extents[dimension]
        }
        lost = [name for name, at in array.coords.items() if not kept.issuperset(at.dims)]
        return array.coords.to_dataset().drop_vars(lost)
