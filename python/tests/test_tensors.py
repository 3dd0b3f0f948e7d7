"""Block tensors as NumPy's users expect arrays: beside arrays, compared, indexed, reduced."""

import operator

import numpy as np
import pytest

import ijk
from ijk import BigTensor

A = np.arange(24.0).reshape(4, 6) - 7
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def tensor(array, *blocks):
    return BigTensor(array, list(blocks) or [2, 4])


def check(found, expected):
    assert isinstance(found, BigTensor)
    found, expected = found.collect(), np.asarray(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert np.array_equal(found, expected, equal_nan=expected.dtype.kind in "fc")


@pytest.mark.parametrize("function", OPERATORS + COMPARISONS)
@pytest.mark.parametrize(
    "other",
    [
        A[::-1], A[0], A[:, :1], np.ones((3, 1, 6)), np.float32(2), np.array(3.0), A.astype("f4"), A.astype("i4"),
        A.tolist(), A[0].tolist(), A.astype(">f8"), np.broadcast_to(A[0], (2, 4, 6)), True, 2,
    ],
    ids=str,
)
def test_arrays_beside_tensors(function, other):
    with np.errstate(all="ignore"):
        expected, swapped = function(A, other), function(other, A)
        if isinstance(other, np.float32) or other is True:
            expected = expected.astype(function(A, A).dtype)
        check(function(tensor(A), other), expected)
        check(function(other, tensor(A)), swapped)


def test_types_meet_as_numpys_do():
    for mine in ("i4", "i8", "f4", "f8", "c8"):
        for other in ("?", "i4", "i8", "f4", "f8", "c8", "c16"):
            x, y = A.astype(mine), (A > 2).astype(other)
            check(tensor(x) + y, x + y)
            if np.result_type(x, y).kind in "bi":
                with pytest.raises(ijk.DTypeError, match="tensors round down, arrays do not"):
                    y / tensor(x)
            check(y * tensor(x), y * x)
    check(tensor(A) + 1j, A + 1j)
    check(tensor(A) < np.inf, A < np.inf)
    check(tensor(A.astype("i8")) == 2.5, A == 2.5)
    with pytest.raises(ijk.DTypeError, match="the array is of (float128|longdouble)"):
        tensor(A) + A.astype("g")
    with pytest.raises(TypeError, match="u has elements of f64 but v of f32"):
        tensor(A) + tensor(A.astype("f4"))


def test_blocks_stay():
    u = tensor(A)
    assert (u + A).blocks == (A[0] + u).blocks == (u < A).blocks == (2, 4)
    assert (u + np.ones((3, 1, 1))).blocks == (None, 2, 4)


def test_what_is_no_array():
    u = tensor(A)
    for other in ("one", None, {}, object()):
        with pytest.raises(TypeError, match="unsupported operand"):
            u + other
    assert (u == None) is False and (u != "x") is True  # noqa: E711
    with pytest.raises(ijk.Error, match=r"tensor of the shape \(4, 6\) and an array of the shape \(5,\)"):
        u < np.ones(5)
    with pytest.raises(TypeError, match="the array is a masked array"):
        u + np.ma.array(A, mask=A > 0)
    with pytest.raises(ijk.Error, match="shapes"):
        u < tensor(A[0], 4)
    assert hash(u) == hash(u) and {u: 1}[u] == 1


def test_truth():
    u = tensor(A)
    with pytest.raises(ValueError, match="of 24 elements is not determined"):
        bool(u == u)
    assert (u == u).all() and not (u > 99).any() and not bool(tensor(np.zeros(1), None))
    assert len(u) == 4 and u.size == 24
    with pytest.raises(TypeError, match="no length"):
        len(u.sum())


KEYS = [
    0, -1, (0, 1), slice(1, 3), (slice(None, None, 2), ...), (..., -2), (None, 0), (slice(None), None, 3), [1, 3],
    np.array([True, False, True, False]), (slice(None, None, -1), slice(4, None, -2)), (..., None), ([3, 1],),
    (0, [1, 2]), ([0, 1], -1), slice(5, 9), [], (slice(None), [5, 4, 0]), np.int64(2), slice(3, 3), ...,
    (slice(1, None, 2), slice(0, 6, 4)), (slice(-3, -1), slice(-1, None)), (None, None), ([-1],), slice(None, None, -3),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices(key):
    check(tensor(A)[key], A[key])
    nan = A.astype("f4")
    nan[::2] = -0.0
    nan[1] = np.nan
    found = tensor(nan, 3, None)[key].collect()
    assert found.tobytes() == np.ascontiguousarray(nan[key]).tobytes()


@pytest.mark.parametrize("seed", range(80))
def test_random_indices(seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 6, random.integers(1, 4)))
    x = random.integers(-9, 9, shape)
    keys = []
    for extent in shape[: random.integers(0, len(shape) + 1)]:
        start, stop = random.integers(-extent, extent + 1, 2)
        keys.append([slice(start, stop, int(random.choice([-2, -1, 1, 2]))), int(random.integers(-extent, extent)), slice(None)][random.integers(3)])
        if random.integers(4) == 0:
            keys.append(None)
    check(tensor(x, *[int(n) for n in random.integers(1, 4, len(shape))])[tuple(keys)], x[tuple(keys)])


def test_wrong_indices():
    u = tensor(A)
    for key, says in (
        (4, "index 4 is out of bounds for axis 0 with size 4"),
        ((0, -7), "index -7 is out of bounds for axis 1 with size 6"),
        (([0, 9],), "index 9 is out of bounds for axis 0"),
        ((0, 0, 0), "too many indices: the tensor has 2 axes, but 3"),
        ((..., ...), "single ellipsis"),
        (([0], [1]), "two lists of positions"),
        (([0, 1], None, 0), "index twice"),
        ("x", "axis 0 is indexed by an array of <U1"),
        (1.5, "axis 0 is indexed by an array of float64"),
        ([[0]], r"shape \(1, 1\)"),
        (True, "array of bool"),
        (np.array([True]), "axis 0 has 4 elements, but 1 truth values"),
    ):
        with pytest.raises(IndexError, match=says):
            u[key]
    with pytest.raises(ijk.Error, match="do not ascend"):
        u[[0, 2, 1]]
    assert [row.collect().tolist() for row in u] == A.tolist()


def test_a_part_reads_its_blocks_only():
    read = []

    class Rows:
        shape, chunks, dtype = (100, 3), (10, 3), np.dtype("f8")

        def __getitem__(self, key):
            read.append(key[0].start)
            return np.ones((key[0].stop - key[0].start, 3))

    u = BigTensor(Rows())
    assert u[25].collect().tolist() == [1, 1, 1] and u[31:49, 0].sum().collect() == 18
    assert set(read) == {20, 30, 40}


def test_shapes_and_types():
    u = tensor(A)
    check(u.T, A.T)
    check(u.transpose(1, 0), A.T)
    check(np.transpose(u), A.T)
    x = np.arange(24).reshape(2, 3, 4)
    v = BigTensor(x, [1, 2, 3])
    check(v.transpose(-1, 0, 1), x.transpose(2, 0, 1))
    check(v.transpose((1, 0, 2)), x.transpose(1, 0, 2))
    check(v.T, x.T)
    check(u.astype("i4"), A.astype("i4"))
    check(u.astype(bool), A.astype(bool))
    check(abs(u), abs(A))
    check(u**2, A**2)
    for axes in ((0,), (0, 0), (0, 1, 2)):
        with pytest.raises(ValueError):
            u.transpose(*axes)
    with pytest.raises(ijk.DTypeError, match="float128|longdouble"):
        u.astype("g")


@pytest.mark.parametrize("dtype", ["?", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (1,)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(dtype, axis, keepdims):
    x = (A % 5).astype(dtype)
    u = tensor(x)
    how = {"axis": axis, "keepdims": keepdims}
    check(u.sum(**how), x.sum(**how))
    check(u.any(**how), x.any(**how))
    check(u.all(**how), x.all(**how))
    check(u.max(**how), x.max(**how))
    check(u.min(**how), x.min(**how))
    if dtype != "f4":
        check(u.prod(**how), x.prod(**how))
    mean = u.mean(**how).collect()
    assert mean.dtype == x.mean(**how).dtype and np.allclose(mean, x.mean(**how))
    for function in (np.sum, np.mean, np.max, np.min, np.any, np.all):
        result = function(u, **how)
        assert isinstance(result, BigTensor) and np.allclose(result.collect(), function(x, **how))
    check(u.sum(dtype="f8"), x.sum(dtype="f8"))


def test_other_reductions():
    u = tensor(A)
    check(u.max(0), np.maximum(A, 0))
    check(u.min(A[0]), np.minimum(A, A[0]))
    check((u > 3).sum(), (A > 3).sum())
    check(u + np.ma.array(A), 2 * A)
    assert np.isnan(BigTensor(np.zeros(0)).mean().collect())
    with pytest.raises(ValueError, match="of no elements"):
        BigTensor(np.zeros((0, 3))).max(axis=0)
    with pytest.raises(TypeError, match="no out"):
        u.sum(out=np.zeros(()))
    with pytest.raises(TypeError, match="pass one of them"):
        u.max(0, axis=0)
    with pytest.raises(IndexError, match="axis 2"):
        u.sum(2)
    with pytest.raises(ValueError, match="twice"):
        u.sum((0, -2))


def test_products_with_arrays():
    b = np.arange(18.0).reshape(6, 3)
    check(tensor(A) @ b, A @ b)
    check(b.T @ tensor(A).T, b.T @ A.T)
    check(tensor(A.astype("f4")) @ b, A @ b)
    check(tensor(A) @ b[:, 0], A @ b[:, 0])
    with pytest.raises(TypeError, match="unsupported operand"):
        tensor(A) @ 2
