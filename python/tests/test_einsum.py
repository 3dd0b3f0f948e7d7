"""ijk.einsum beside NumPy's."""

import numpy as np
import pytest

import ijk

TYPES = ["?", "i4", "i8", "f4", "f8", "c8", "c16"]


def array(shape, dtype="f8", seed=0):
    random = np.random.default_rng(seed)
    values = random.integers(-4, 5, shape) if dtype != "?" else random.integers(0, 2, shape)
    return np.asarray(values).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("ij->", [(3, 4)]),
        ("ii->i", [(4, 4)]),
        ("...i,...i->...", [(2, 3, 4), (3, 4)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("ij,jk", [(3, 1), (4, 5)]),
        ("ij,ij,ij->j", [(3, 4), (3, 4), (3, 4)]),
        ("i,i", [(0,), (0,)]),
    ],
)
def test_as_numpy(subscripts, shapes, dtype):
    operands = [array(shape, dtype, n) for n, shape in enumerate(shapes)]
    result, expected = ijk.einsum(subscripts, *operands), np.einsum(subscripts, *operands)
    assert np.shape(result) == np.shape(expected) and result.dtype == expected.dtype
    assert np.array_equal(result, expected)


def test_layouts():
    a = array((6, 8))
    for view in (a[::2, ::-1], a.T[::-1], a[:, ::3], np.broadcast_to(a[0], (5, 8))):
        expected = np.einsum("ij,kj->ik", view, view)
        assert np.array_equal(ijk.einsum("ij,kj->ik", view, view), expected)


def test_mixed_types_are_promoted():
    a, b = array((3, 4), "i4"), array((4, 5), "f4")
    result = ijk.einsum("ij,jk", a, b)
    assert result.dtype == np.einsum("ij,jk", a, b).dtype == np.float64
    with pytest.raises(TypeError, match="'safe'"):
        ijk.einsum("ij,jk", a, b, dtype="i4")
    assert ijk.einsum("ij,jk", a, b, dtype="f4", casting="unsafe").dtype == np.float32


def test_half_precision():
    a = array((30, 40), "f2")
    result = ijk.einsum("ij,kj->ik", a, a)
    assert result.dtype == np.float16
    assert np.array_equal(result, np.einsum("ij,kj->ik", a.astype("f4"), a.astype("f4")))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    b = a.astype(ml_dtypes.bfloat16)
    assert ijk.einsum("ij,kj->ik", b, b).dtype == b.dtype


def test_other_types_are_numpys():
    before = sum(ijk.fallbacks.values())
    a = array((3, 4), "i2")
    assert np.array_equal(ijk.einsum("ij,kj", a, a), a @ a.T)
    assert sum(ijk.fallbacks.values()) == before + 1


def test_lists():
    a, b = array((3, 4)), array((4, 5))
    assert np.array_equal(ijk.einsum(a, [0, 1], b, [1, 2]), a @ b)
    assert np.array_equal(ijk.einsum(a, ["x", "y"], b, ["y", "z"], ["z", "x"]), (a @ b).T)
    assert np.array_equal(ijk.einsum(a, [..., 700], b, [700, 900], [..., 900]), a @ b)


def test_many_operands_and_indices():
    operands, lists = [], []
    for n in range(100):
        operands.append(array((2, 2), "i8", n) % 3)
        lists.append([n, n + 1])
    expected = np.linalg.multi_dot([x.astype(object) for x in operands]).astype("i8")
    arguments = [x for pair in zip(operands, lists) for x in pair]
    assert np.array_equal(ijk.einsum(*arguments, [0, 100]), expected)


def test_out():
    a, b = array((3, 4)), array((4, 5))
    out = np.zeros((5, 3))
    assert ijk.einsum("ij,jk->ki", a, b, out=out) is out
    assert np.array_equal(out, (a @ b).T)
    strided = np.zeros((3, 10))[:, ::2]
    ijk.einsum("ij,jk->ik", a, b, out=strided)
    assert np.array_equal(strided, a @ b)
    square = array((4, 4))
    expected = square @ square
    ijk.einsum("ij,jk->ik", square, square, out=square)
    assert np.array_equal(square, expected)
    with pytest.raises(ValueError, match="shape"):
        ijk.einsum("ij,jk->ik", a, b, out=np.zeros((2, 2)))
    with pytest.raises(TypeError):
        ijk.einsum("ij,jk->ik", a, b, out=[0])


def test_views_are_written_through():
    a = np.zeros((3, 3))
    ijk.einsum("ii->i", a)[:] = 1
    assert np.array_equal(a, np.eye(3))


def test_dlpack():
    class Lent:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    a = array((3, 4))
    assert np.array_equal(ijk.einsum("ij->ji", Lent(a)), a.T)
    assert np.array_equal(ijk.einsum("ij,kj", [[1, 2]], [[3, 4]]), [[11]])


def test_errors_say_what_is_wrong():
    a = array((3, 4))
    with pytest.raises(ijk.Error, match="index `j` is 4 on axis 1 of operand 1 but 3 on axis 0"):
        ijk.einsum("ij,jk", a, a)
    with pytest.raises(ValueError, match="index `z` of the output occurs in no operand"):
        ijk.einsum("ij->z", a)
    with pytest.raises(ValueError, match="2 operands, but 1 is given"):
        ijk.einsum("ij,jk", a)
    with pytest.raises(ValueError, match="order"):
        ijk.einsum("ij->ji", a, order="W")


def test_paths():
    operands = [array(shape) for shape in [(2, 9), (9, 9), (9, 3)]]
    path, text = ijk.einsum_path("ij,jk,kl->il", *operands)
    assert path == ["einsum_path", (0, 1), (0, 1)]
    assert "ij,jk->ki" in text  # What is summed next is outermost.
    expected = np.einsum("ij,jk,kl->il", *operands)
    for given in (path, [(1, 2), (0, 1)], [(0, 2), (0, 1)], []):
        assert np.array_equal(ijk.einsum("ij,jk,kl->il", *operands, optimize=given), expected)
    with pytest.raises(ValueError, match="step 0"):
        ijk.einsum("ij,jk,kl->il", *operands, optimize=[(0, 7)])


def test_memory_limits():
    engine = ijk.Engine(threads=1, memory_limit=40_000)
    chain = [array((50, 50), seed=n) for n in range(3)]
    expected = np.einsum("ij,jk,kl->i", *chain)
    assert np.array_equal(ijk.einsum("ij,jk,kl->i", *chain, engine=engine), expected)
    with pytest.raises(ijk.MemoryLimitError, match="memory limit"):
        ijk.einsum("ij,kl->ijkl", *chain[:2], engine=engine)
