"""Arrays of libraries with the Python array API: theirs in, theirs out."""

import numpy as np

from ._arrays import asarray
from ._interchange import mapped

KIND = "an array of another library"


def carry(call, arrays, out):
    """A call with arrays of one library, and NumPy's beside them: the results are of that library."""
    if out is not None:
        raise TypeError("out is given, but arrays of NumPy's and of PyTorch's only are written to")
    spaces = [(_namespace(array), name) for array, name in zip(arrays, call.names)]
    spaces = [(space, name) for space, name in spaces if space is not None]
    (space, first), *others = spaces
    for other, name in others:
        if other is not space:
            raise TypeError(
                f"{first} is an array of {space.__name__}, but {name} of {other.__name__}: convert one of them"
            )
    given = [asarray(array, name) for array, name in zip(arrays, call.names)]
    return mapped(call.compute(given), lambda result: space.asarray(np.asarray(result)))


def _namespace(array):
    if isinstance(array, (np.ndarray, np.generic)) or not hasattr(array, "__array_namespace__"):
        return None
    return array.__array_namespace__()
