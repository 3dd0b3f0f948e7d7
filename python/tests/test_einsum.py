"""ijk.einsum beside NumPy's."""

import itertools
import tracemalloc

import numpy as np
import opt_einsum
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


def test_numbers_and_lists_beside_arrays():
    matrix = array((3, 4), "f4")
    cases = [
        ("ij,->ij", matrix, 2.5),
        ("ij,,->ji", matrix, 2, 1j),
        ("ij,j->i", matrix, [1, 2, 3, 4]),
        ("ij,j->i", np.broadcast_to(matrix[:1], (5, 4)), [1.0, -2.0, True, 0]),
        ("i,i->", [1, 2], [3, 4]),
        (",->", True, True),
        ("ij,->", matrix, 10**30),
    ]
    for subscripts, *operands in cases:
        expected = np.asarray(np.einsum(subscripts, *operands))
        result = np.asarray(ijk.einsum(subscripts, *operands))
        assert result.dtype == expected.dtype and result.shape == expected.shape
        assert np.allclose(result.astype("c16"), expected.astype("c16"), rtol=1e-6)
    with pytest.raises(ijk.MemoryLimitError):
        ijk.einsum("ij,->ij", np.ones((64, 64), "f4"), 2.0, engine=ijk.Engine(memory_limit=8 * 64 * 64))


def test_half_precision():
    a = array((30, 40), "f2")
    before = sum(ijk.fallbacks.values())
    result = ijk.einsum("ij,kj->ik", a, a)
    assert result.dtype == np.float16
    assert np.array_equal(result, np.einsum("ij,kj->ik", a.astype("f4"), a.astype("f4")).astype("f2"))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    b = a.astype(ml_dtypes.bfloat16)
    result = ijk.einsum("ij,kj->ik", b, b)
    exact = np.einsum("ij,kj->ik", b.astype("f4"), b.astype("f4")).astype(b.dtype)
    assert result.dtype == b.dtype and np.array_equal(result, exact)
    assert ijk.einsum("ij,kj->ik", a, b).dtype == np.float32
    assert ijk.einsum("ij,kj->ik", b, a.astype("i4")).dtype == np.float64
    assert sum(ijk.fallbacks.values()) == before


@pytest.mark.parametrize("dtype", "u1 u2 u4 u8 i1 i2 i4 i8".split())
def test_integers_wrap_in_their_own_type(dtype):
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    for n in (4, 40):
        a, b = (rng.integers(info.min, info.max, (n, n), dtype, endpoint=True) for _ in range(2))
        before = sum(ijk.fallbacks.values())
        result = ijk.einsum("ij,jk->ik", a, b)
        assert result.dtype == a.dtype and np.array_equal(result, np.einsum("ij,jk->ik", a, b))
        assert np.array_equal(ijk.i("ij>ji~ij")(a, b), np.maximum(a, b.T))
        assert np.array_equal(ijk.i(">ij~i")(a), a.max(1)) and np.array_equal(ijk.i("<ij~j")(a), a.min(0))
        assert np.array_equal(ijk.i("ij @lt ij~ij")(a, b), a < b)
        assert np.array_equal(ijk.i("@argmax ij~i")(a), a.argmax(1))
        safe = np.where(b == 0, np.array(3, dtype), b)
        assert np.array_equal(ijk.i("ij/ij~ij")(a, safe), a // safe)
        assert np.array_equal(ijk.i("ij @mod ij~ij")(a, safe), a % safe)
        assert sum(ijk.fallbacks.values()) == before


@pytest.mark.parametrize("left", ["i1", "u1", "i2"])
@pytest.mark.parametrize("right", ["i1", "u1", "i2"])
def test_products_of_narrow_integers_in_wide_ones(left, right):
    rng = np.random.default_rng(2)
    product = ijk.i("(@i32 ij~ij | @i32 ij~ij) . +(ik*kj)~ij")
    for m, k, n in ((17, 16, 19), (33, 700, 50), (250, 30, 520), (3, 5, 2)):
        a = rng.integers(np.iinfo(left).min, np.iinfo(left).max, (m, k), left, endpoint=True)
        b = rng.integers(np.iinfo(right).min, np.iinfo(right).max, (k, n), right, endpoint=True)
        exact = a.astype("i4") @ b.astype("i4")
        assert np.array_equal(product(a, b), exact)
        assert np.array_equal(product(np.asfortranarray(a), np.asfortranarray(b)), exact)


def test_other_types_are_numpys():
    before = sum(ijk.fallbacks.values())
    a = array((3, 4), "i2").astype(np.longdouble)
    assert np.array_equal(ijk.einsum("ij,kj", a, a), a @ a.T)
    assert sum(ijk.fallbacks.values()) == before + 1


def test_out_takes_part_in_the_type():
    cases = [
        ("i->", np.array([2**31 - 1] * 2, "i4"), "i8", 2**32 - 2),
        ("i->", np.ones(5, bool), "i8", 5),
        ("i,i->", np.ones(300, "u1"), "i8", 300),
        ("i->", np.full(3, 200, "u1"), "i2", 600),
        ("i,i->", np.full(300, 300, "f2"), "f4", 300**3),
    ]
    for subscripts, x, dtype, expected in cases:
        operands = [x] * (1 + subscripts.count(","))
        assert ijk.einsum(subscripts, *operands, out=np.zeros((), dtype)) == expected
    large = np.full(3, 1e30, "f4")
    assert np.isfinite(ijk.einsum("i,i->", large, large, out=np.zeros(())))


def test_casting_rules_are_numpys():
    x = np.ones(3)
    with pytest.raises(TypeError, match="the result is of float64, which does not become float32"):
        ijk.einsum("i->", x, out=np.zeros((), "f4"))
    assert ijk.einsum("i->", x, out=np.zeros((), "f4"), casting="same_kind") == 3
    assert ijk.einsum("i->", x, out=np.zeros((), "i4"), casting="unsafe") == 3
    with pytest.raises(TypeError, match="out is of float64, which does not become float32"):
        ijk.einsum("i->", x.astype("f4"), out=np.zeros(()), dtype="f4")
    for casting, error in [("bogus", ValueError), ("same_value", ValueError), (None, TypeError)]:
        with pytest.raises(error, match="casting must be"):
            ijk.einsum("i,i->", x, x, casting=casting)
    assert ijk.einsum("i,i->", x, x, casting=b"safe") == 3
    assert ijk.einsum("i,i->i", x.astype(">f8"), x.astype(">f8")).dtype.isnative


@pytest.mark.parametrize(
    "one, other, value",
    [("u1", "i2", 1), ("u1", "u4", 1), ("?", "i1", 1), ("i1", "i2", 1), ("f2", "g", 300)],
)
def test_types_are_promoted_before_they_are_summed(one, other, value):
    count = 100 if one == "?" else 300
    x = np.full((1, count), value, one)
    result = ijk.einsum("ij,i->", x, np.array([1], other))
    assert result == count * value and result.dtype == np.result_type(one, other)
    assert ijk.einsum("ij,i->", np.ones((1, 300), "u1"), np.ones(1, "u1"), dtype="u4") == 300


def test_orders():
    a, b = array((3, 4)), array((4, 5))
    for dtype in ("f8", "f2", "i2"):
        for order in ("C", "F", "A", "K", "f", b"C", None):
            x, y = a.astype(dtype), b.astype(dtype)
            number = ijk.einsum("ij,ij->", x, x, order=order)
            assert np.shape(number) == () and number == (a * a).sum()
            result = ijk.einsum("ij,jk->ik", x, y, order=order)
            assert np.array_equal(result, a @ b)
            assert result.flags["F_CONTIGUOUS" if order in ("F", "f") else "C_CONTIGUOUS"]
        x, y = np.asfortranarray(a.astype(dtype)), np.asfortranarray(b.astype(dtype))
        assert ijk.einsum("ij,jk->ik", x, y, order="A").flags.f_contiguous
    with pytest.raises(TypeError, match="order"):
        ijk.einsum("ij->", a, order=1)


def test_subscripts_as_bytes():
    a, b = array((3, 4)), array((4, 5))
    assert np.array_equal(ijk.einsum(b"ij, jk->ik", a, b), a @ b)
    assert ijk.einsum_path(b"ij,jk", a, b)[0] == ["einsum_path", (0, 1)]
    with pytest.raises(ijk.Error, match="ASCII"):
        ijk.einsum("é->".encode(), a)


def test_only_the_space_of_ascii_means_nothing():
    x = np.arange(6.0).reshape(2, 3)
    for number in (5620, 8052, 8092):  # Spaces of typography.
        s = opt_einsum.get_symbol(number)
        assert s.isspace()
        for dtype in ("f8", "i2"):
            y = x.astype(dtype)
            assert np.array_equal(ijk.einsum(f" {s} i -> i {s} ", y), x.T)
            assert np.array_equal(ijk.einsum(s + "...->...", y), x.sum(0))
            assert np.array_equal(ijk.einsum(f"{s}i,{s}j->ij", y, y), x.T @ x)
    half = opt_einsum.get_symbol(55156)
    with pytest.raises(UnicodeEncodeError):
        half.encode()
    for options in ({}, {"optimize": "greedy"}, {"engine": ijk.Engine(threads=1)}):
        assert np.array_equal(ijk.einsum(f"{half}i,i\uffff", x, x.T, **options), x @ x.T)
    for space in "\v\x85\xa0":
        with pytest.raises(ijk.Error, match="is not an index"):
            ijk.einsum(f"i{space}->i", np.ones(2))


def test_networks_of_more_indices_than_letters():
    count = 6000
    names = [opt_einsum.get_symbol(n) for n in range(count + 1)]
    subscripts = ",".join(a + b for a, b in itertools.pairwise(names))
    x = np.array([[1.0, 1.0], [0.0, 1.0]])
    result = ijk.einsum(f"{subscripts}->{names[0]}{names[-1]}", *[x] * count)
    assert np.array_equal(result, [[1, count], [0, 1]])


def test_more_indices_than_numpy_knows():
    names = [chr(0x4E00 + n) for n in range(64)]
    chain = ",".join(a + b for a, b in itertools.pairwise(names))
    for dtype in ("f8", "i2", "O", "g"):
        assert ijk.einsum(chain + "->", *[np.eye(2, dtype=dtype)] * 63) == 2
    for dtype in ("f8", "i2"):
        x = np.arange(6).astype(dtype).reshape((2, 3) + (1,) * 51)
        view = ijk.einsum("".join(names[:53]) + "->" + "".join(names[:53][::-1]), x)
        assert view.shape == x.shape[::-1] and np.shares_memory(view, x)
        assert np.array_equal(view, x.T)
        diagonal = ijk.einsum("".join(names[:54]) + names[0] + "->" + "".join(names[:54]), np.ones((1,) * 55))
        assert diagonal.shape == (1,) * 54


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
    for dtype in ("f8", "i2"):
        x, y = a.astype(dtype), b.astype(dtype)
        with pytest.raises(ijk.Error, match="out has the shape"):
            ijk.einsum("ij,jk->ik", x, y, out=np.zeros((2, 2), dtype))
        with pytest.raises(ValueError, match="out is read-only"):
            ijk.einsum("ij,jk->ik", x, y, out=np.broadcast_to(np.zeros((), dtype), (3, 5)))
        shared = np.lib.stride_tricks.as_strided(np.zeros(20, dtype), (3, 5), [x.itemsize] * 2)
        with pytest.raises(ijk.Error, match="elements of out share memory"):
            ijk.einsum("ij,jk->ik", x, y, out=shared)
        interleaved = np.lib.stride_tricks.as_strided(
            np.zeros(30, dtype), (3, 5), [2 * x.itemsize, 5 * x.itemsize]
        )
        assert np.array_equal(ijk.einsum("ij,jk->ik", x, y, out=interleaved), a @ b)
    with pytest.raises(TypeError):
        ijk.einsum("ij,jk->ik", a, b, out=[0])


def test_without_elements_in_place():
    for dtype in ("f8", "i2", "f2"):
        z = np.zeros((0, 3), dtype)
        assert ijk.einsum("ij,j->ij", z, np.ones(3, dtype), out=z) is z
        with pytest.raises(ijk.Error, match="out has the shape"):
            ijk.einsum("ij,j->ji", z, np.ones(3, dtype), out=z)
        total = np.ones(3, dtype)
        assert np.array_equal(ijk.einsum("ij,j->j", z, total, out=total), [0, 0, 0])


def test_a_sum_of_nothing_is_zero():
    for dtype in ("f4", "f8", "c16", "g", "f2"):
        x, none = np.array([np.inf, np.nan], dtype), np.zeros((0, 2), dtype)
        for optimize in (True, False, [(0, 1)], [(1,), (0, 1)], ()):
            assert np.array_equal(ijk.einsum("i,jk->i", x, none, optimize=optimize), [0, 0])
        result = ijk.einsum("i,jk,l,k->il", x, none, x, x)
        assert result.dtype == dtype and np.array_equal(result, np.zeros((2, 2)))
        assert ijk.einsum("i,j->ij", x, none[:, 0]).shape == (2, 0)
    tensor = ijk.BigTensor(np.array([np.inf]), [1])
    assert ijk.BigTensor.einsum("i,j->i", tensor, ijk.BigTensor(np.zeros(0), [1])).collect() == 0


def test_sums_of_nothing_in_programs():
    x, none = np.full(1000, np.inf), np.zeros(0)
    arrays = {"x": x, "z": none, "w": x}
    for text, expected in [("y[i] = x[i]*z[j]*w[k]", 0), ("y[i] =max x[i]+z[j]+w[k]", -np.inf)]:
        assert np.all(ijk.et(text)(**arrays)["y"] == expected)
        blocks = {name: ijk.BigTensor(array, [300]) for name, array in arrays.items()}
        assert np.all(ijk.et(text)(**blocks)["y"].collect() == expected)
    assert np.all(ijk.i("i*j~ij . ij*k~ijk . +ijk~i")(x, none, x) == 0)
    softmax = "(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij"
    result = ijk.i(softmax + " . +(ij*jk)~ik")(np.zeros((500, 0)), np.zeros((0, 64)))
    assert np.array_equal(result, np.zeros((500, 64)))


def test_views_are_written_through():
    for dtype in ("f8", "i2", "m8[s]", [("x", "f8")]):
        a = np.zeros((3, 2, 3), dtype)
        view = ijk.einsum("iji->ji", a)
        assert np.shares_memory(view, a) and view.flags.writeable
        view[:] = 1
        assert np.array_equal(a[0, :, 0], np.ones(2, dtype)) and a[0, 0, 1] == np.zeros((), dtype)
        assert np.shares_memory(ijk.einsum("i...->...i", a), a)
    with pytest.raises(TypeError, match="are not multiplied and added"):
        ijk.einsum("iji->", a)
    assert type(ijk.einsum("ij->ji", np.ones((1, 2)).view(np.matrix))) is np.ndarray


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


@pytest.mark.parametrize("dtype", ["f8", "i2", "O", "g"])
def test_paths(dtype):
    operands = [array(shape).astype(dtype) for shape in [(2, 9), (9, 9), (9, 30)]]
    path, text = ijk.einsum_path("ij,jk,kl->il", *operands)
    assert path == ["einsum_path", (0, 1), (0, 1)]
    assert "ij,jk->ki" in text  # What is summed next is outermost.
    expected = operands[0] @ operands[1] @ operands[2]
    names = ["auto", "auto-hq", "greedy", "optimal", "dp", "branch-all", "random-greedy", "DP"]
    optimizers = [opt_einsum.RandomGreedy(max_repeats=4), opt_einsum.DynamicProgramming()]
    paths = [path, [(1, 2), (0, 1)], ((0, 2), (0, 1)), [(0, 1, 2)], [[1], [0, 2], [1, 0]], [], ()]
    others = [True, False, None, np.True_, ("greedy", 1000)]
    for optimize in [*names, *optimizers, *paths, *others]:
        result = ijk.einsum("ij,jk,kl->il", *operands, optimize=optimize)
        assert np.array_equal(result, expected) and result.dtype == dtype
    last = array((30, 4)).astype(dtype)
    four = [(0, 1, 2, 3)], [(1, 3), (0, 1, 2)], [(0, 1, 3), (0, 1)]
    for optimize in four:
        result = ijk.einsum("ij,jk,kl,lm->im", *operands, last, optimize=optimize)
        assert np.array_equal(result, expected @ last)


@pytest.mark.parametrize("dtype", ["f8", "i2"])
@pytest.mark.parametrize(
    "optimize, text",
    [
        ([(0, 7)], "step 0 of the path takes operand 7, but only 3 are left"),
        ([(0, -1)], "step 0 of the path takes operand -1"),
        ([(0, 0), (0, 1)], "takes an operand twice"),
        ([(0, 1), ()], "step 1 of the path takes no operand"),
        ([(0, 1)], r"2 operands are left after the path, not one result: end it with the step \(0, 1\)"),
        (["einsum_path", (1,), (0, 1)], "2 operands are left"),
        (["einsum_path"], "has no step"),
        ([(0, 1), (0, 1), (0, 1)], "step 2 of the path takes operand 1, but only 1 is left"),
        ([0, 1], "a step is a tuple of positions"),
        ([(0, 1.5)], "a step is a tuple of positions"),
        ("bogus", "optimize='bogus' names no way to find a path"),
        (("bogus", 100), "names no way to find a path"),
        (["somewhere", (0, 1)], "a path begins with 'einsum_path'"),
        (lambda *_: [(0, 1)], "2 operands are left after the path"),
    ],
)
def test_paths_that_are_none(optimize, text, dtype):
    operands = [array((2, 2), dtype)] * 3
    for function in (ijk.einsum, ijk.einsum_path):
        with pytest.raises(ijk.PathError, match=text):
            function("ij,jk,kl->il", *operands, optimize=optimize)
    with pytest.raises(TypeError, match="optimize"):
        ijk.einsum("ij,jk,kl->il", *operands, optimize=1)


@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("i...->i", [(3, 3, 3)]),
        ("ij,jk", [(3, 4), (3, 4)]),
        ("i,i", [(2,), (3,)]),
        ("ii", [(1, 3)]),
        ("ij", [(3,)]),
        ("ij->k", [(3, 3)]),
        ("ij,jk", [(3, 3)]),
    ],
)
def test_all_types_are_refused_alike(subscripts, shapes):
    texts = set()
    for dtype in ("f8", "i2", "O", "g", "f2"):
        with pytest.raises(ijk.Error) as error:
            ijk.einsum(subscripts, *[np.ones(shape, dtype) for shape in shapes])
        texts.add(str(error.value))
    assert len(texts) == 1


def test_memory_limits():
    engine = ijk.Engine(threads=1, memory_limit=40_000)
    chain = [array((50, 50), seed=n) for n in range(3)]
    expected = np.einsum("ij,jk,kl->i", *chain)
    assert np.array_equal(ijk.einsum("ij,jk,kl->i", *chain, engine=engine), expected)
    with pytest.raises(ijk.MemoryLimitError, match="memory limit"):
        ijk.einsum("ij,kl->ijkl", *chain[:2], engine=engine)


def within(engine, *operands, **options):
    """The result, or the least limit that would do; not more is allocated than the limit."""
    tracemalloc.start()
    try:
        return ijk.einsum(*operands, engine=engine, **options), None
    except ijk.MemoryLimitError as error:
        return None, int(str(error).split("needs ")[1].split()[0])
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= engine.memory_limit + 100_000


@pytest.mark.parametrize(
    "types, options",
    [
        (("u1", "u1"), {}),
        (("g", "g"), {}),
        (("i2", "u1"), {}),
        (("f4", "f8"), {}),
        (("f2", "f2"), {}),
        (("f8", ">f8"), {"order": "F"}),
        (("f8", "f8"), {"order": "F"}),
        pytest.param(
            ("i2", "i2"),
            {"order": "F"},
            marks=pytest.mark.xfail(reason="packed operands of narrow products are not counted by the planner", strict=True),
        ),
        (("f4", "f4"), {"out": np.zeros((300, 300))}),
        (("i2", "i2"), {"dtype": "g"}),
    ],
)
def test_conversions_and_what_numpy_computes_count_against_the_limit(types, options):
    operands = [np.ones((300, 300), dtype) for dtype in types]
    expected = np.full((300, 300), 300.0)
    result, least = within(ijk.Engine(threads=1, memory_limit=50_000), "ij,jk->ik", *operands, **options)
    assert result is None and least >= 300 * 300
    result, _ = within(ijk.Engine(threads=1, memory_limit=least), "ij,jk->ik", *operands, **options)
    assert np.array_equal(result, expected.astype(result.dtype))
    result, same = within(ijk.Engine(threads=1, memory_limit=least - 1), "ij,jk->ik", *operands, **options)
    assert result is None and same == least


def test_what_is_broadcast_is_converted_once():
    engine = ijk.Engine(threads=1, memory_limit=100_000)
    x = np.broadcast_to(np.float32(2), (1000, 1000))
    result, _ = within(engine, "ij,j->i", x, np.ones(1000))
    assert np.array_equal(result, np.full(1000, 2000.0))


def test_tensordot():
    a, b = array((2, 3, 4)), array((4, 3, 5))
    for axes in (1, 0, -1, ([1], [1]), ([-1, 1], [0, 1]), (2, 0), ([], []), np.array([[2], [0]])):
        assert np.array_equal(ijk.tensordot(a, b, axes), np.tensordot(a, b, axes))
    wrong = {
        "axis 5 of a, which has axes 0 to 2": ([5], [0]),
        "axis -4 of b, which has axes 0 to 2": ([0], [-4]),
        "an axis of a twice": ([1, 1], [1, 1]),
        "an axis of b twice": ([1, 2], [1, -2]),
        "names 2 of a, but 1 of b": ([1, 2], [1]),
        "axis 0 of a has 2 elements, but axis 1 of b has 3": ([0], [1]),
    }
    for text, axes in wrong.items():
        with pytest.raises(ValueError, match=text):
            ijk.tensordot(a, b, axes)
    with pytest.raises(IndexError, match="which has no axes"):
        ijk.tensordot(1.0, b, ([0], [0]))
    with pytest.raises(TypeError):
        ijk.tensordot(a, b, ([1.0], [1]))


@pytest.mark.parametrize("subscripts", ["...", "ij", "ij->ji", "ii->i", "ij->", "ij->j", "ij,ij->ij"])
def test_bools_as_objects_stay_bools_where_nothing_is_summed(subscripts):
    x = np.array([[True, False], [True, True]])
    operands = [x] * (1 + subscripts.count(","))
    result = ijk.einsum(subscripts, *operands, dtype="O")
    expected = np.einsum(subscripts, *[operand.astype("O") for operand in operands])
    assert repr(np.asarray(result).tolist()) == repr(np.asarray(expected).tolist())
