"""NumPy's own tests of einsum, with ijk.einsum in its place, each call compared with NumPy's result.

python numpys_own.py [pytest's options]: exits with 0 if at least 70 of the tests pass.
"""

import sys

import numpy as np
from counted import run

import ijk

LEAST = 70

own = np.einsum
calls = 0


def compared(*operands, out=None, **options):
    """ijk's result, if it is NumPy's: shape, type and elements, or an error of both."""
    global calls
    calls += 1
    copy = out.copy() if isinstance(out, np.ndarray) else out
    given = {} if out is None else {"out": out}
    try:
        expected = own(*operands, **({} if out is None else {"out": copy}), **options)
    except (ValueError, TypeError) as error:
        ijk.einsum(*operands, **given, **options)
        raise AssertionError(f"NumPy says: {error}") from error
    result = ijk.einsum(*operands, **given, **options)
    check(np.asarray(result), np.asarray(expected))
    return result


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
    sys.exit(count.passed < LEAST)


if __name__ == "__main__":
    main()
