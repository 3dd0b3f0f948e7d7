"""Arrays of other libraries in, arrays of theirs out.

A call is an einsum, a program in i or a program in Einsum Tuple. It computes with NumPy's arrays; what other libraries
ask for besides, it tells them: the types of its results, the letters of axes, the product that it is. Each library has
a module, its *home*, with a function `carry` that makes a call with its arrays.
"""

import re
import sys
from importlib import import_module

import numpy as np

from . import _ijk
from ._arrays import asarray, plain

#: Homes, by the module of the library and its class of arrays; classes are looked for once the module is there.
HOMES = (
    ("torch", "Tensor", "_torch"),
    ("jax", "Array", "_jax"),
    ("dask.array", "Array", "_dask"),
    ("xarray", "DataArray", "_xarray"),
    ("xarray", "Dataset", "_datasets"),
    ("scipy.sparse", "sparray", "_sparse"),
    ("scipy.sparse", "spmatrix", "_sparse"),
)

_known = {}


def home_of(array):
    """The module that makes calls with an array of that kind, or None where it becomes one of NumPy's."""
    kind = type(array)
    try:
        return _known[kind]
    except KeyError:
        pass
    home = _home(array)
    if len(_known) >= 256:
        _known.clear()
    _known[kind] = home
    return home


def _home(array):
    if isinstance(array, (np.ndarray, np.generic, int, float, complex, list, tuple)):
        return None
    for library, name, home in HOMES:
        kind = getattr(sys.modules.get(library), name, None)
        if kind is not None and isinstance(array, kind):
            return import_module(f"ijk.{home}")
    if hasattr(array, "__array_namespace__"):
        return import_module("ijk._namespaces")
    return None


def made(call, arrays, out):
    """The results of a call: arrays of the library of which some of the arguments are, else NumPy's."""
    home = _common(call, arrays, out)
    if home is not None:
        return home.carry(call, arrays, out)
    return call.compute([asarray(array, name) for array, name in zip(arrays, call.names)], out)


def _common(call, arrays, out):
    """The home of all arguments that have one."""
    found = None
    for array, name in zip(arrays, call.names):
        home = home_of(array)
        if home is None:
            continue
        if found is not None and found[0] is not home:
            raise TypeError(
                f"{found[1]} is {found[0].KIND}, but {name} is {home.KIND}: convert one of them"
            )
        found = found or (home, name)
    for one in out if isinstance(out, tuple) else (out,):
        _check_out(found, home_of(one), one)
    return None if found is None else found[0]


def _check_out(found, home, out):
    """Raises TypeError where out is of another library than the arguments."""
    if out is None or home is (found and found[0]):
        return
    if found is not None and isinstance(out, np.ndarray) and getattr(found[0], "WRITES_NUMPYS", False):
        return
    theirs = "the arguments are NumPy arrays" if found is None else f"{found[1]} is {found[0].KIND}"
    kind = "a NumPy array" if isinstance(out, np.ndarray) else home.KIND if home else f"of {type(out)}"
    if home is None and not isinstance(out, np.ndarray):
        theirs += f", and out must be {'a NumPy array' if found is None else found[0].KIND}"
    raise TypeError(f"out is {kind}, but {theirs}: give an out of the same library, or none")


def mapped(results, function):
    """What a function makes of each result: of one, or of a tuple or dict of them."""
    if isinstance(results, dict):
        return {name: function(result) for name, result in results.items()}
    if isinstance(results, tuple):
        return tuple(function(result) for result in results)
    return function(results)


class Outline:
    """The element type and the shape of a result."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = np.dtype(dtype), tuple(shape)


class Axes:
    """Indices of the axes of arguments and of results, and letters of the latter: arguments in order, results by key."""

    def __init__(self, arguments, results, letters=None):
        self.arguments, self.results, self.letters = arguments, results, letters

    def of(self, key, count):
        """The indices and the letters of a result of so many axes."""
        indices = list(self.results[key])
        if len(indices) != count:
            return [None] * count, [""] * count
        return indices, self.letters[key] if self.letters else [""] * count


class ComponentCall:
    """A call of a program in i."""

    #: Elements of half precision are not computed with.
    halves = False

    def __init__(self, component, count, engine):
        self.component, self.engine = component, engine
        self.names = [f"argument {number + 1}" for number in range(count)]

    def compute(self, arrays, out=None):
        arrays = [plain(array, name) for array, name in zip(arrays, self.names)]
        return self.component._apply(*arrays, out=out, engine=self.engine)

    def results(self, arrays):
        """Types and shapes of the results for arrays of which only these are known: as many as compute gives."""
        named = [(np.dtype(array.dtype).name, tuple(array.shape)) for array in arrays]
        results = [Outline(name, shape) for name, shape in self.component.results(named)]
        return results[0] if len(results) == 1 else tuple(results)

    def axes(self, arrays):
        """Axes of arrays and of results: those along which one letter runs have one index."""
        return Axes(*self.component.axes([len(np.shape(array)) for array in arrays]))

    def product(self, arrays):
        """The sum of products that the program is, or None."""
        from ._sparse import Product

        result = self.results(arrays)  # Says what is wrong.
        found = self.component.product()
        if found is None:
            return None
        factors, output = found
        extents = {}
        for number, indices in factors:
            extents.update(zip(indices, arrays[number].shape))
        return Product(factors, output, extents, result.dtype)


class ProgramCall:
    """A call of a program in Einsum Tuple: its arrays are in the order of the names."""

    halves = False

    def __init__(self, program, keys, options):
        self.program, self.keys, self.options = program, keys, options
        self.names = [f"`{key}`" for key in keys]

    def compute(self, arrays, out=None):
        arrays = [plain(array, name) for array, name in zip(arrays, self.names)]
        return self.program._apply(dict(zip(self.keys, arrays)), **self.options)

    def sparse(self, arrays):
        """The results for arrays of which some are sparse."""
        from ._sparse_programs import run

        return run(self, arrays)

    def axes(self, arrays):
        """Axes of arrays and of results: tuples of the program are indices, where they stand by themselves."""
        places = _places(self.program.signature)
        given = [_one_each(places.get(key, []), array) for key, array in zip(self.keys, arrays)]
        return Axes(given, places, {key: [name or "" for name in names] for key, names in places.items()})

    def order_by_name(self, number, array):
        """An array with named dimensions, in the order in which the program names them."""
        key = self.keys[number]
        names = _one_each(_places(self.program.signature).get(key, []), array)
        same = None not in names and set(names) & set(array.dims)
        if same and set(names) != set(array.dims):
            raise _ijk.Error(
                f"`{key}` has the dimensions {', '.join(map(str, array.dims))}, but the program indexes it "
                f"by {', '.join(names)}: rename its dimensions to all of these, or to none"
            )
        return array.transpose(*names) if same else array

    def results(self, arrays):
        """Types and shapes of the results, by name: of a run on ones, since elements may decide extents."""
        ones = [np.broadcast_to(np.ones((), array.dtype), array.shape) for array in arrays]
        found = self.compute(ones)
        return {name: Outline(result.dtype, result.shape) for name, result in found.items()}


def _places(signature):
    """For each array of a program its places: names of tuples, or None for what is more than a name."""
    found = {}
    for line in signature.splitlines():
        name, places = re.fullmatch(r"(?:input|input or random|output) (\w+)\[(.*)\]", line).groups()
        depth, texts = 0, [""] if places else []
        for letter in places:
            depth += (letter in "([") - (letter in ")]")
            if letter == "," and depth == 0:
                texts.append("")
            else:
                texts[-1] += letter
        found[name] = [text.strip() if text.strip().isidentifier() else None for text in texts]
    return found


def inputs(program):
    """The names of the arrays that a program reads."""
    found = (re.match(r"input (?:or random )?(\w+)\[", line) for line in program.signature.splitlines())
    return [line[1] for line in found if line]


def _one_each(places, array):
    """The places, if each is one axis of the array; None for each axis else."""
    rank = len(array.shape)
    return places if len(places) == rank else [None] * rank


def apply(component, arguments, out=None, engine=None):
    """A program in i of any arrays."""
    return made(ComponentCall(component, len(arguments), engine), list(arguments), out)


def run(program, arrays, options):
    """A program in Einsum Tuple of any arrays by name."""
    return made(ProgramCall(program, list(arrays), options), list(arrays.values()), None)


def run_named(program, named, arrays, options):
    """A program in Einsum Tuple of the variables of a Dataset, and of other arrays by name."""
    home = home_of(named)
    if home is None or not hasattr(home, "run_named"):
        raise TypeError(f"arrays are given by name, in a dict or a Dataset of xarray's, not in {type(named)}")
    return home.run_named(program, named, arrays or {}, options)
