"""NumPy's own tests of einsum, with ijk.einsum in its place, each call compared with NumPy's result or error.

python numpys_own.py [pytest's options]: exits with 0 if all pass but those that want what ijk does otherwise.
"""

import copy
import sys

import numpy as np
from counted import run

import ijk

LEAST = 70

#: What wants other words for an error, a type that NumPy refuses elsewhere, no more than 52 indices, and a
#: layout that ijk does not promise.
OTHERWISE = {"test_einsum_errors", "test_einsum_0d_out", "test_subscript_range", "test_output_order"}

own = np.einsum
calls = 0

#: Kinds of errors that programs tell apart.
KINDS = (ValueError, TypeError, IndexError, KeyError, RuntimeError)


def compared(*operands, out=None, **options):
    """ijk's result, if it is NumPy's: shape, type and elements, or an error of the same kind of both."""
    global calls
    calls += 1
    expected, error = numpys(operands, out, options)
    given = {} if out is None else {"out": out}
    try:
        result = ijk.einsum(*operands, **given, **options)
    except Exception as raised:
        if error is None:
            raise AssertionError(f"NumPy gives a result, but ijk says: {raised}") from raised
        if not is_alike(raised, error):
            raise AssertionError(f"NumPy says {error!r}, but ijk {raised!r}") from raised
        raise
    if error is not None:
        raise AssertionError(f"NumPy says: {error!r}, but ijk gives a result")
    if isinstance(result, (np.ndarray, np.generic)):
        check(np.asarray(result), np.asarray(expected))
    else:
        # One object, which NumPy gives as such, in an array, or as a number of its own.
        assert np.shape(expected) == () and result == np.asarray(expected, object)[()]
    return result


def numpys(operands, out, options):
    """NumPy's result, or its error, on copies where it writes and of objects, which may change."""
    own_out = {} if out is None else {"out": out.copy() if isinstance(out, np.ndarray) else out}
    of_objects = [isinstance(x, np.ndarray) and x.dtype == object for x in operands]
    operands = [copy.deepcopy(x) if has else x for x, has in zip(operands, of_objects)]
    try:
        return own(*operands, **own_out, **options), None
    except Exception as error:
        return None, error


def is_alike(one, other):
    """Whether two errors are of one kind; errors of others' kinds, of one class."""
    kinds = [kind for kind in KINDS if isinstance(other, kind)] or [type(other)]
    return any(isinstance(one, kind) for kind in kinds)


def check(result, expected):
    """The same shape, type and elements, but for rounding."""
    assert result.shape == expected.shape and result.dtype == expected.dtype
    if result.dtype.kind in "fc":
        scale = float(np.abs(expected).max(initial=0))
        bound = 1000 * float(np.finfo(result.dtype).eps) * scale
        assert np.allclose(result, expected, rtol=0, atol=bound, equal_nan=True)
    else:
        assert np.array_equal(result, expected)


def main():
    np.einsum = compared
    count = run(["numpy._core.tests.test_einsum"], ["--tb=line", *sys.argv[1:]])
    count.tell("NumPy's")
    print(f"{calls} calls; NumPy computed {sum(ijk.fallbacks.values())} of them:", end=" ")
    print(", ".join(f"{n} {reason}" for reason, n in ijk.fallbacks.most_common()))
    names = {name.split("::")[-1].split("[")[0] for name in count.failed}
    sys.exit(count.passed < LEAST or not names <= OTHERWISE)


if __name__ == "__main__":
    main()
