"""Sparse arrays of SciPy's: einsums and programs of them, against NumPy's of the same made dense."""

import numpy as np
import pytest

import ijk

sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")

FORMATS = ["coo", "csr", "csc"]


def array(shape, dtype="f8", seed=0, density=0.3):
    random = np.random.default_rng(seed)
    values = random.integers(-3, 4, shape) if dtype != "?" else random.integers(0, 2, shape)
    return (values * (random.random(shape) < density)).astype(dtype)


def check(result, expected):
    dense = result.toarray() if sparse.issparse(result) else result
    assert np.shape(dense) == np.shape(expected) and dense.dtype == expected.dtype
    assert np.array_equal(dense, expected)


@pytest.mark.parametrize("dtype", ["?", "i4", "i8", "f4", "f8", "c8", "c16", "f2"])
@pytest.mark.parametrize("format", FORMATS)
def test_products_with_dense_arrays_are_dense(format, dtype):
    a, b, v = array((7, 5), dtype), array((5, 4), dtype, 1, 1), array(5, dtype, 2, 1)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        s = kind(a) if dtype != "f2" else kind(a.astype("f4"))
        s = s.asformat(format)
        if dtype == "f2":
            b, v = b.astype("f4"), v.astype("f4")
        want, row = np.einsum("ij,jk->ik", a.astype(s.dtype), b), np.einsum("ij,j->i", a.astype(s.dtype), v)
        for result in (ijk.einsum("ij,jk->ik", s, b), ijk.einsum(s, [0, 1], b, [1, 2]), ijk.tensordot(s, b, 1)):
            assert type(result) is np.ndarray
            check(result, want)
        check(ijk.einsum("ij,j->i", s, v), row)
        check(ijk.einsum("ij->", s), np.einsum("ij->", a.astype(s.dtype)))
        if dtype != "f2":
            check(ijk.i("+(ik*kj)~ij")(s, b), want)
            check(ijk.i("ik*kj~ijk . +ijk~ij")(s, b), want)
            check((~ijk.i("+(ik*kj)~ij"))(b, s), want)


def test_results_are_sparse_where_their_positions_are_those_of_sparse_arrays():
    a, b, v = array((7, 5)), array((5, 6), seed=1), array(5, seed=2, density=1)
    s, t = sparse.csr_array(a), sparse.csc_array(b)
    for subscripts, operands, is_sparse in (
        ("ij->ji", (s,), True),
        ("ij->i", (s,), False),
        ("ij,jk->ik", (s, t), True),
        ("ij,jk->ki", (s, t), True),
        ("ij,jk->i", (s, t), False),
        ("ij,j->ij", (s, v), True),
        ("ij,ij->ij", (s, array((7, 5), density=1)), True),
        ("ij,jk,k->ik", (s, t, np.ones(6)), True),
        ("ij,jk->ik", (s, b), False),
        ("ij,jk->ijk", (s, b), False),
        ("ij,kl->ijkl", (s, t), True),
        ("ij,ik,kj->ij", (s, array((7, 3), seed=4, density=1), array((3, 5), seed=5, density=1)), True),
        ("ij,jk,kl->il", (s, np.ones((5, 6)), sparse.coo_array(array((6, 3), seed=3))), False),
    ):
        result = ijk.einsum(subscripts, *operands)
        dense = [x.toarray() if sparse.issparse(x) else x for x in operands]
        assert sparse.issparse(result) == is_sparse, subscripts
        check(result, np.einsum(subscripts, *dense))
    assert ijk.einsum("ij,jk->ik", s, t).format == "csr" and ijk.einsum("jk,ij->ik", t, s).format == "csc"
    assert isinstance(ijk.einsum("ij,jk->ik", s, t), sparse.sparray)
    matrix = sparse.csr_matrix(a)
    assert isinstance(ijk.einsum("ij,kj->ik", matrix, matrix), sparse.spmatrix)


@pytest.mark.parametrize("seed", range(200))
def test_random_einsums(seed):
    random = np.random.default_rng(seed)
    extents = {letter: int(random.integers(seed % 5 != 0, 5)) for letter in "abcde"}
    count = int(random.integers(1, 5))
    inputs = ["".join(random.choice(list("abcde"), random.integers(1, 4))) for _ in range(count)]
    letters = sorted(set("".join(inputs)))
    output = "".join(random.permutation(letters)[: random.integers(0, min(len(letters), 3) + 1)])
    dense = [array([extents[n] for n in one], "i8", seed + n, 0.5) for n, one in enumerate(inputs)]
    operands = list(dense)
    for n in range(count):
        if n == 0 or random.integers(2):
            operands[n] = sparse.coo_array(dense[n])
    if random.integers(4) == 0:
        # A stored zero, and an element in two parts.
        one = operands[0]
        coords = tuple(np.concatenate([at, at[:1], at[:1]]) for at in one.coords)
        if one.nnz:
            operands[0] = sparse.coo_array((np.concatenate([one.data, [2, -2]]), coords), one.shape)
    subscripts = f"{','.join(inputs)}->{output}"
    check(ijk.einsum(subscripts, *operands), np.einsum(subscripts, *dense))
    check(ijk.einsum(subscripts, *operands, optimize=()), np.einsum(subscripts, *dense))


def test_other_subscripts():
    a = array((4, 4))
    s = sparse.coo_array(a)
    cube = array((2, 4, 3), seed=1, density=1)
    check(ijk.einsum("ii->i", s), np.einsum("ii->i", a))
    check(ijk.einsum("ii", s), np.einsum("ii", a))
    check(ijk.einsum("ij,...jk->...ik", s, cube), np.einsum("ij,...jk->...ik", a, cube))
    check(ijk.einsum("...,i->...i", s, np.ones(3)), np.einsum("...,i->...i", a, np.ones(3)))
    check(ijk.einsum("ij,jk->ik", s, np.ones((1, 3))), np.einsum("ij,jk->ik", a, np.ones((1, 3))))
    one = sparse.coo_array(a[:1])
    check(ijk.einsum("ij,ik->jk", one, array((5, 2), density=1)), np.einsum("ij,ik->jk", a[:1], array((5, 2), density=1)))
    empty = sparse.csr_array((3, 4))
    check(ijk.einsum("ij,jk->ik", empty, np.ones((4, 2))), np.zeros((3, 2)))
    check(ijk.einsum("ij,kj->ik", empty, empty), np.zeros((3, 3)))
    check(ijk.einsum("ij,j->i", sparse.csr_array((0, 4)), np.ones(4)), np.zeros(0))


def test_the_kind_of_result_does_not_depend_on_extents():
    s = sparse.coo_array(array((5, 4)))
    row = sparse.coo_array(array((1, 4)))
    for one in (s, row):
        for columns in (1, 2):
            for result in (
                ijk.einsum("ij,jk->ik", one, np.ones((4, columns))),
                ijk.i("+(ij*jk)~ik")(one, np.ones((4, columns))),
            ):
                assert type(result) is np.ndarray and result.shape == (one.shape[0], columns)
        for result in (ijk.einsum("ij,kj->ik", one, row), ijk.i("+(ij*kj)~ik")(one, row)):
            assert sparse.issparse(result) and result.shape == (one.shape[0], 1)
            assert np.array_equal(result.toarray(), one.toarray() @ row.toarray().T)


def test_nothing_of_the_size_of_the_dense_array_is_made():
    n = 1_000_000
    places = np.arange(n, dtype="i4")
    s = sparse.coo_array((np.full(n, 2.0), (places, places[::-1])), (n, n)).tocsr()
    v = np.arange(n, dtype="f8")
    assert np.array_equal(ijk.einsum("ij,j->i", s, v), 2 * v[::-1])
    product = ijk.einsum("ij,jk->ik", s, s)
    assert sparse.issparse(product) and product.nnz == n and np.array_equal(product.diagonal(), np.full(n, 4.0))
    assert ijk.i("+(ij*j)~i")(s, v)[0] == 2 * (n - 1)
    scaled = ijk.einsum("ij,j->ij", s, v)
    assert scaled.nnz == n and scaled[0, n - 1] == 2 * (n - 1)
    wide = sparse.coo_array(([3.0, 4.0], ([0, 2**40], [2**40, 5])), (2**41, 2**41))
    assert ijk.einsum("ij,ij->ij", wide, wide).data.tolist() == [9, 16]
    assert ijk.einsum("ij,jk->", wide, wide) == 12 and ijk.einsum("ij->", wide) == 7


def test_a_memory_limit_holds_for_pairs():
    s = sparse.coo_array(np.ones((200, 200)))
    with pytest.raises(ijk.MemoryLimitError, match="8000000 pairs of stored elements"):
        ijk.einsum("ij,jk->ik", s, s, engine=ijk.Engine(memory_limit=10**6))


def test_programs_in_i():
    a, b = array((6, 5)), array((5, 4), seed=1, density=1)
    s = sparse.csr_array(a)
    check(ijk.i("+ij~j")(s), a.sum(0))
    check(ijk.i("ij~ji")(s), a.T)
    check(ijk.i("(ij*ij~ij) . +ij~.")(s, s), np.asarray((a * a).sum()))
    check((ijk.i("ik*kj~ijk . +ijk~ij") >> ijk.i("+ij~i"))(s, b), (a @ b).sum(1))
    for program in (
        "ij+1~ij", "^ij~ij", ">ij~i", "(I & +ij~i) . ij/i~ij", "ij+ij~ij . +ij~.", "ij~ij & +ij~i"
    ):
        arguments = [s] * ijk.i(program).arity
        with pytest.raises(TypeError, match=r"argument 1 is a sparse array of SciPy's, but the program is no sum"):
            ijk.i(program)(*arguments)
    with pytest.raises(ijk.Error, match="letter `k` is 5.*but 6"):
        ijk.i("+(ik*kj)~ij")(s, a)
    out = np.empty((6, 4))
    assert ijk.i("+(ik*kj)~ij")(s, b, out=out) is out and np.array_equal(out, a @ b)


def test_out_takes_dense_results():
    a, b = array((6, 5)), array((5, 4), seed=1, density=1)
    s, out = sparse.csr_array(a), np.empty((6, 4))
    assert ijk.einsum("ij,jk->ik", s, b, out=out) is out and np.array_equal(out, a @ b)
    for wrong, error, says in (
        (np.empty((4, 6)), ijk.Error, r"out has the shape \(4, 6\), but the result \(6, 4\)"),
        (np.empty((6, 4), "f4"), TypeError, "out is of float32, but the result of float64"),
        (s, TypeError, "out is a sparse array of SciPy's"),
    ):
        with pytest.raises(error, match=says):
            ijk.einsum("ij,jk->ik", s, b, out=wrong)
    with pytest.raises(TypeError, match="the result is sparse: leave out= away"):
        ijk.einsum("ij,kj->ik", s, s, out=np.empty((6, 6)))


def test_what_is_refused():
    s, b = sparse.csr_array(array((6, 6))), np.ones((6, 2))
    for format in ("lil", "dok", "dia", "bsr"):
        with pytest.raises(TypeError, match=rf"operand 1 is a sparse array of format {format}.*x.tocsr\(\)"):
            ijk.einsum("ij,jk->ik", s.asformat(format), b)
        with pytest.raises(TypeError, match=f"argument 1 is a sparse array of format {format}"):
            ijk.i("+(ij*jk)~ik")(s.asformat(format), b)
        with pytest.raises(TypeError, match=f"`x` is a sparse array of format {format}"):
            ijk.et("y[i,k] = x[i,j] * z[j,k]")(x=s.asformat(format), z=b)
    with pytest.raises(TypeError, match=r"an array is sparse, and is not made dense.*todense\(\)"):
        ijk.BigTensor(s)
    with pytest.raises(TypeError, match="an array is sparse"):
        ijk.i("+(ij*jk)~ik")(s, ijk.BigTensor(b))
    short = ijk.einsum("ij,jk->ik", s.astype("i2"), b.astype("i2"))
    assert short.dtype == np.int16 and np.array_equal(short, s.astype("i2") @ b.astype("i2"))
    with pytest.raises(ijk.DTypeError, match="operand 2 is of float64, which does not become float32"):
        ijk.einsum("ij,jk->ik", s.astype("f4"), b, dtype="f4")
    assert ijk.einsum("ij,jk->ik", s.astype("i2"), b.astype("i2"), dtype="f4").dtype == np.float32
    with pytest.raises(ijk.Error, match="operand"):
        ijk.einsum("ij,jk->ik", s, b.T)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(TypeError, match="operand 1 is a sparse array of SciPy's, but operand 2 is a tensor"):
        ijk.einsum("ij,jk->ik", s, torch.ones(6, 2))


def test_zeros_that_are_not_stored_leave_no_trace():
    s = sparse.csr_array(np.array([[1.0, 0.0]]))
    assert ijk.einsum("ij,j->i", s, np.array([2.0, np.inf])).tolist() == [2]


# Programs in Einsum Tuple.


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        "y[i,j] = s[i,k] * b[k,j]",
        "y[i,j] = b[k,j] * s[i,k]",
        "y[j,i] = 2 * s[i,k] * EXP(b[k,j] / 9) / 3",
        "y[i,j] = -2 * s[i,k] * b[k,j] * 1e-3",
        "y[i,k] = s[i,k]",
        "y[] = s[i,k]",
        "y[i] += s[i,k]\ny[i] += c[i]\ny[i] += 2 * s[i,k]",
        "y[i] = c[i]\ny[i] += s[i,k]",
        "y[k] = s[i,k]\ny[k] += s[i,k] * c[i]\nx[i] = y[k] * s[i,k]",
        "y[2*i,j] = s[i,k] * b[k,j]",
        "y[i] = s[i,k] * b[k+1,j]",
        "y[i] = s[i,k] *\n    b[k,  # one to the right\n      j]",
        "a[k,j] = b[k,j] + 1\ny[i,j] = s[i,k] * a[k,j]\n\nnp.matmul(s, a)\n\ny",
        "y[i,m] = s[i,k] * s[m,k]",
        "y[i] = s[i,k] * s[i,k]",
        "y[i,j] = s[i,k] * b[idx[k],j]",
        "y[i,j] = s[i,k] * b[k,j] / SQRT(DIMS(j))\n\ny\n\nDIMS(i) = 6\nDIMS(j) IN [1,9]",
    ],
)
def test_programs_in_einsum_tuple(text, format):
    a, b, c = array((6, 5)), array((5, 4), seed=1, density=1), array(6, seed=2, density=1)
    arrays = {"b": b, "c": c, "idx": np.array([4, 0, 9, 2, 2])}
    program = ijk.et(text)
    arrays = {name: x for name, x in arrays.items() if f"input {name}[" in program.signature}
    results = program(s=sparse.coo_array(a).asformat(format), **arrays)
    expected = program(s=a, **arrays)
    assert list(results) == list(expected)
    for name, result in results.items():
        assert result.dtype == expected[name].dtype and result.shape == expected[name].shape
        assert np.allclose(result, expected[name])


def test_programs_that_are_no_sums_of_products():
    s, b = sparse.csr_array(array((6, 5))), np.ones((5, 4))
    for text, says in (
        ("y[i,j] = s[i,k] * b[k,j] + 1", "does not have it as a factor of all"),
        ("y[i,k] = s[i,k] + 1", "does not have it as a factor"),
        ("y[i,k] = EXP(s[i,k])", "does not have it as a factor"),
        ("y[i] =max s[i,k]", "is no sum"),
        ("y[i] *= s[i,k]", "is no sum"),
        ("y[i,k] = 2 / s[i,k]", "does not have it as a factor"),
        ("y[i,k] = s[i,k] * i", "values of its indices"),
        ("y[i,k] = s[i+1,k]", "index of one number for each"),
        ("y[i] = s[i,k] * b[DIMS(k)-1-k,j]", "DIMS of its indices"),
        ("y[p] = s[p]", "index of one number for each"),
        ("y[i,k] = s[i,k] * b[k,j] // 2", "rounds"),
        ("y[k] = b[k,j]\ny[k] = y[k] * s[i,k]", "reads what it assigns"),
    ):
        program = ijk.et(text)
        arrays = {"b": b} if "input b[" in program.signature else {}
        with pytest.raises(TypeError, match=f"`s` is a sparse array of SciPy's, but `.*` .*{says}.*toarray"):
            program(s=s, **arrays)
    with pytest.raises(ijk.Error, match="`i`"):
        ijk.et("y[i] = s[i,k]")(s=s, dims={"i": [7]})
    with pytest.raises(ijk.Error):
        ijk.et("y[i,j] = s[i,k] * b[k,j]")(s=s, b=np.ones((4, 4)))
    assert ijk.et("y[i] = s[i,k]")(s=s, engine=ijk.Engine(1), dims={"i": [6]})["y"].shape == (6,)


def test_programs_warn_of_what_they_say_alone(recwarn):
    s = sparse.random(6, 5, 0.5, format="csr")
    ijk.et("y[i,j] = s[i,k] * b[k,j]\n\ny")(s=s, b=np.ones((5, 4)))
    assert not recwarn.list
