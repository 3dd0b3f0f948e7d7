"""Sparse arrays and matrices of SciPy's in einsum and in programs: see ijk._patterns."""

import numpy as np
import scipy.sparse

from . import _ijk
from ._arrays import asarray, converted, native
from ._patterns import Pattern, dense, joined, pattern, projected, sampled, summed

KIND = "a sparse array of SciPy's"

#: A dense result may be written to NumPy's arrays.
WRITES_NUMPYS = True

#: Formats that are lists of elements, or compressed such.
FORMATS = ("coo", "csr", "csc")

#: Element types that are computed with in single precision.
HALVES = ("float16", "bfloat16")


def carry(call, arrays, out):
    """A call with sparse arrays and NumPy's, if it is a sum of products."""
    run = getattr(call, "sparse", None)
    if run is not None:
        return run(arrays)
    arrays = [
        taken(array, name) if scipy.sparse.issparse(array) else asarray(array, name)
        for array, name in zip(arrays, call.names)
    ]
    product = call.product(arrays)
    if product is None:
        at = next(n for n, array in enumerate(arrays) if scipy.sparse.issparse(array))
        raise TypeError(
            f"{call.names[at]} is {KIND}, but the program is no sum of products, to which zeros add "
            "nothing: pass x.toarray(), if there is room for it"
        )
    return _written(_Multiplied(product, arrays, call.engine).result(), out)


def taken(array, name):
    """The sparse array, if it is of a format whose elements lie in lists."""
    if array.format not in FORMATS:
        raise TypeError(
            f"{name} is a sparse array of format {array.format}, but coo, csr and csc are taken: "
            "pass x.tocsr()"
        )
    return array


def elements(array):
    """The positions along each axis, and the elements."""
    array = array.tocoo(copy=False)
    coords = getattr(array, "coords", None) or (array.row, array.col)
    return coords, array.data


class Product:
    """A sum of products of arrays.

    factors: for each the number of its array, and the index of each of its axes, or None where that has one element
        for all positions of an index.
    output: the index of each axis of the result, or None for an axis of one element.
    """

    def __init__(self, factors, output, extents, dtype):
        self.factors, self.output = factors, list(output)
        self.extents, self.dtype = extents, dtype


class _Multiplied:
    """A sum of products, some factors of which are sparse."""

    def __init__(self, product, arrays, engine):
        self.engine, self.limit = engine, None if engine is None else engine.memory_limit
        self.product, self.extents = product, product.extents
        self.dtype = np.dtype(np.float32) if product.dtype.name in HALVES else product.dtype
        self.output = self._indices(product.output)
        self.sparse = [array for array in arrays if scipy.sparse.issparse(array)]
        self.patterns, self.arrays, self.sparse_indices = [], [], []
        for number, axes in product.factors:
            if scipy.sparse.issparse(arrays[number]):
                self.sparse_indices.append({index for index in axes if index is not None})
            self._take(arrays[number], axes)

    def _indices(self, axes):
        """The indices of axes that have more than one element, or none."""
        return [index for index in axes if index is not None and self.extents[index] != 1]

    def _take(self, array, axes):
        axes = [index if index is not None and self.extents[index] != 1 else None for index in axes]
        indices = self._indices(axes)
        if scipy.sparse.issparse(array):
            coords, values = elements(array)
            coords = [at for at, index in zip(coords, axes) if index is not None]
            self.patterns.append(pattern(coords, indices, converted(values, self.dtype)))
        else:
            array = array[tuple(0 if index is None else slice(None) for index in axes)]
            self.arrays.append((converted(array, self.dtype), indices))

    def result(self):
        """The result: sparse where its positions are those of sparse arrays, and it has two axes or more."""
        is_sparse = len(self.product.output) >= 2 and (not self.arrays or self._is_covered())
        self._join()
        if not self.arrays:
            while len(self.patterns) > 1:
                two = self.patterns.pop(), self.patterns.pop()
                self.patterns.append(joined(*two, self.extents, self.limit))
        if len(self.patterns) == 1 and (is_sparse or len(self.arrays) <= 1):
            (one,) = self.patterns
            result = self._product(one, self.arrays, self.output, is_sparse)
        else:
            result = self._along_a_path()
        return self._sparse(result) if is_sparse else self._dense(result)

    def _is_covered(self):
        """Whether sparse factors that share indices have all those of the result."""
        groups = []
        for indices in self.sparse_indices:
            shared = [group for group in groups if group & indices]
            groups = [group for group in groups if not group & indices] + [indices.union(*shared)]
        wanted = {index for index in self.product.output if index is not None}
        return any(wanted <= group for group in groups)

    def _join(self):
        """Joins sparse factors that share an index, and sums over what nothing else has."""
        patterns, self.patterns = self.patterns, []
        while patterns:
            one = patterns.pop(0)
            at = next((n for n, other in enumerate(patterns) if one.positions.keys() & other.positions), None)
            if at is None:
                self.patterns.append(one)
                continue
            both = joined(one, patterns.pop(at), self.extents, self.limit)
            patterns.insert(0, self._summed(both, patterns))
        self.patterns = [self._summed(one, []) for one in self.patterns]

    def _summed(self, one, others):
        wanted = {*self.output, *(index for _, indices in self.arrays for index in indices)}
        wanted.update(index for other in others for index in other.positions)
        kept = [index for index in one.positions if index in wanted]
        # SciPy sums what is at one place in the end; rows of dense arrays are multiplied before.
        return summed(one, kept, self.extents) if self.arrays or others else projected(one, kept)

    def _product(self, one, arrays, output, is_sparse):
        """The product of a pattern and dense arrays: a pattern of the output's indices, or an array."""
        if not is_sparse:
            return dense(one, arrays, output, self.extents, self.engine)
        return projected(sampled(one, arrays, self.engine), output)

    def _along_a_path(self):
        """Products of two factors at a time, in the order that is cheap for dense ones."""
        factors = [(one, list(one.positions)) for one in self.patterns] + self.arrays
        lists = [indices for _, indices in factors]
        shapes = [[self.extents[index] for index in indices] for indices in lists]
        steps = _ijk.Einsum(lists, self.output).steps(shapes)
        numbers = _numbered(lists, steps[1])
        for chosen, axes in steps[2]:
            taken = [factors[number] for number in chosen]
            axes = [numbers[axis] for axis in axes]
            factors.append((self._step(taken, axes), axes))
        return factors[-1][0]

    def _step(self, factors, output):
        patterns = [one for one, _ in factors if isinstance(one, Pattern)]
        arrays = [factor for factor in factors if not isinstance(factor[0], Pattern)]
        if not patterns:
            arguments = [part for factor in arrays for part in factor]
            einsum = _ijk.Einsum([indices for _, indices in arrays], output)
            return einsum(*arguments[::2], engine=self.engine)
        one = patterns[0]
        for other in patterns[1:]:
            one = joined(one, other, self.extents, self.limit)
        return self._product(one, arrays, output, set(output) <= set(one.positions))

    def _dense(self, result):
        if isinstance(result, Pattern):
            result = dense(result, [], self.output, self.extents, self.engine)
        result = np.asarray(result).reshape(self._shape())
        return result if result.dtype == self.product.dtype else result.astype(self.product.dtype)

    def _shape(self):
        return [1 if index is None else self.extents[index] for index in self.product.output]

    def _sparse(self, result):
        """A sparse array of the kind and, of two axes, the format of the first."""
        if not isinstance(result, Pattern):
            at = result.nonzero()
            result = Pattern(dict(zip(self.output, at)), result[at])
        nowhere = np.zeros(len(result), np.int32)
        coords = [result.positions.get(index, nowhere) for index in self.product.output]
        first, values = self.sparse[0], result.values.astype(self.product.dtype, copy=False)
        is_matrix = len(coords) == 2 and not any(isinstance(x, scipy.sparse.sparray) for x in self.sparse)
        kind = scipy.sparse.coo_matrix if is_matrix else scipy.sparse.coo_array
        made = kind((values, tuple(coords)), self._shape())
        if len(coords) == 2 and (first.format != "coo" or made.shape[0] <= made.nnz):
            return made.tocsr().asformat(first.format)
        made.sum_duplicates()
        return made


def _numbered(lists, operands):
    """Indices by the numbers that steps have for them."""
    return {
        axis: index
        for indices, axes in zip(lists, operands)
        for index, axis in zip(indices, axes)
        if axis is not None
    }


def _written(result, out):
    """The result, in out if that is given."""
    if scipy.sparse.issparse(out):
        raise TypeError(f"out is {KIND}, which is not written to: give a NumPy array, or none")
    if out is None:
        return result if scipy.sparse.issparse(result) or result.ndim else result[()]
    if scipy.sparse.issparse(result):
        raise TypeError("out is a NumPy array, but the result is sparse: leave out= away")
    if out.shape != result.shape:
        raise _ijk.Error(f"out has the shape {out.shape}, but the result {result.shape}")
    _ijk.check_out(out)
    if native(out.dtype) != result.dtype:
        raise _ijk.DTypeError(f"out is of {out.dtype}, but the result of {result.dtype}")
    np.copyto(out, result)
    return out
