"""Block tensors: terms, types, results beside NumPy's, Zarr arrays, errors and interrupts."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ijk
from ijk import BigTensor


def tensor(*shape, blocks=None, dtype="f8"):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    return array, BigTensor(array, blocks)


def test_types_and_terms():
    _, u = tensor(4, 6, blocks=[2, None])
    assert u.shape == (4, 6) and u.blocks == (2, None) and u.ndim == 2 and u.dtype == np.float64
    assert repr(u) == "BigTensor([4, 6], [2, ⊥], f64)"
    product = ijk.contract(u, u, 1, 1)
    assert str(product).splitlines() == [
        "t0 = lit(24 elements) : ([4, 6], [2, ⊥], f64)",
        "t1 = contract(t0, t0, 1, 1, sum(l * r)) : ([4, 4], [2, 2], f64)",
    ]
    assert "multiply" in product.plan()


def test_operators():
    a, u = tensor(4, 6, blocks=[2, 4])
    b, v = tensor(6, 3, blocks=[4, None])
    assert np.array_equal((u @ v).collect(), a @ b)
    assert np.array_equal((u + u * 2 - 1).collect(), a + a * 2 - 1)
    assert np.array_equal((1 - u / 4).collect(), 1 - a / 4)
    assert np.array_equal((-u).max(-3).min(u).collect(), np.minimum(np.maximum(-a, -3), a))
    assert np.array_equal((np.float64(2) * u).collect(), 2 * a)
    assert np.array_equal(np.asarray(u.map("x + 1")), a + 1)
    assert np.array_equal(u.map(ijk.i("@sqrt .~.")).collect(), np.sqrt(a))
    assert np.array_equal(u.reblock([3, 3]).collect(), a)
    assert np.array_equal(u.select(slice(1, 3), [0, 5]).collect(), a[1:3][:, [0, 5]])
    assert np.array_equal(u.select(None, slice(0, None, 2)).collect(), a[:, ::2])
    assert np.array_equal(u.bc([2, 8, 6], [1, 2, 4]).collect(), np.tile(a, (2, 2, 1)))


def test_contractions():
    a, u = tensor(4, 6, blocks=[2, 4])
    b, v = tensor(6, 3, blocks=[4, None])
    outer = a[:, :, None] + b[None]
    assert np.array_equal(ijk.contract(u, v, 1, 0, "max(l + r)").collect(), outer.max(axis=1))
    assert np.array_equal(ijk.contract(u, v, 1, 0, ijk.i(">(i+i)~.")).collect(), outer.max(axis=1))
    assert np.array_equal(u.contract(v, 1, 0, "sum(l * r)").collect(), a @ b)
    assert np.array_equal(ijk.contract(u, b, 1, 0).collect(), a @ b)
    squares = BigTensor.einsum("ij,kj,kl->il", u, u, a)
    assert np.allclose(squares.collect(), np.einsum("ij,kj,kl->il", a, a, a))
    assert squares.blocks == (2, None)


def test_components_take_block_tensors():
    a, u = tensor(5, 6, blocks=[2, 4])
    softmax = ijk.i("(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij")
    result = softmax(u)
    assert isinstance(result, BigTensor) and result.blocks == (2, 4)
    assert np.allclose(result.collect(), softmax(a))
    total, least = (ijk.i("+ij~j") & ijk.i("<ij~j"))(u)
    assert np.array_equal(total.collect(), a.sum(axis=0))
    assert np.array_equal(least.collect(), a.min(axis=0))
    shifted = ijk.i("ij+j~ij")(u, a[0])
    assert np.array_equal(shifted.collect(), a + a[0])
    with pytest.raises(TypeError, match="no out"):
        softmax(u, out=a)


def test_plain_numbers_take_the_type_of_block_tensors():
    a, u = tensor(5, 6, blocks=[2, 4])
    a, u = a.astype(np.float32), u.map("f32(x)")
    scaled = ijk.i("ij*.~ij")
    for number in (2, 2.5, np.float32(2)):
        result = scaled(u, number)
        assert result.dtype == np.float32 and np.array_equal(result.collect(), scaled(a, number))
    with pytest.raises((TypeError, ValueError, ijk.Error), match="0.5"):
        scaled(u.map("i32(x)"), 0.5)
    program = ijk.et("y[i,j] = scale[] * x[i,j]")
    for number in (2, 2.5):
        result = program(x=u, scale=number)["y"]
        assert result.dtype == np.float32
        assert np.array_equal(result.collect(), program(x=a, scale=number)["y"])
        assert np.array_equal(pickle.loads(pickle.dumps(result)).collect(), result.collect())
    with pytest.raises(ijk.Error, match="nobody"):
        program(x=u, scale=2, nobody=1)


def test_tuple_programs_take_block_tensors():
    a, u = tensor(7, 6, blocks=[2, 4])
    mm = ijk.et("c[i,j] = a[i,k] * b[k,j]\ntotal[] = c[i,j]\n\nc, total")
    results = mm(a=u, b=a.T.copy())
    assert list(results) == ["c", "total"] and isinstance(results["c"], BigTensor)
    assert results["c"].blocks == (2, None)
    assert np.array_equal(results["c"].collect(workers=2), a @ a.T)
    assert results["total"].collect() == (a @ a.T).sum()
    shifted = ijk.et("y[r,c] = x[r+s,c]")(x=u, dims={"r": [5], "s": [3]})["y"]
    assert np.array_equal(shifted.collect(), a[:5] + a[1:6] + a[2:7])
    scattered = ijk.et("y[2*r] = x[r,c]")(x=u)["y"]
    assert np.array_equal(scattered.collect()[::2], a.sum(axis=1))
    noise = ijk.et("y[r,c] = x[r,c] + RANDOM(0, 1, FLOAT)")
    assert np.array_equal(noise(x=u, seed=3)["y"].collect(), noise(x=a, seed=3)["y"])
    with pytest.raises(ijk.Error, match="index `k` has blocks of 4 on axis 1 of a but of 3 on axis 0 of b") as error:
        mm(a=u, b=u.reblock([3, 3]).select(slice(0, 6), None))
    assert "program:1:1" in str(error.value)
    with pytest.raises(ijk.Error, match="nobody"):
        mm(a=u, b=a, nobody=a)
    with pytest.raises(TypeError, match="no engine"):
        mm(a=u, b=a, engine=ijk.Engine(1))


def test_lists():
    u = BigTensor.lit([[1, 2], [], [3]], [3], [None])
    assert repr(u) == "BigTensor([3], [⊥], array(i64))" and u.dtype == "array(i64)"
    assert u.collect().tolist() == [[1, 2], [], [3]]
    nested = BigTensor.lit([[[True], []], []], [2], [1])
    assert nested.dtype == "array(array(bool))" and nested.collect().tolist() == [[[True], []], []]
    empty = BigTensor.lit([[], []], [2], [None], dtype="array(f32)")
    assert empty.dtype == "array(f32)"
    mixed = BigTensor.lit([[1], [2.5]], [2], [None], dtype="array(f64)")
    assert mixed.collect().tolist() == [[1.0], [2.5]]
    pairs = ijk.contract([[1, 2], [3, 4]], [5, 6], 1, 0, "collect(l * r)")
    assert pairs.collect().tolist() == [[5, 12], [15, 24]]
    assert BigTensor.lit([1, 2, 3, 4], [2, 2], [None, 1]).collect().tolist() == [[1, 2], [3, 4]]


def test_literals_have_one_type():
    def refused(*arguments):
        with pytest.raises(TypeError) as error:
            BigTensor.lit(*arguments)
        return str(error.value)

    mixed = refused([1, 2.5], [2], [None])
    assert "element [0], 1, is i64, but element [1], 2.5, is f64" in mixed
    assert 'say dtype="f64"' in mixed
    assert "element [0], True, is bool, but element [1], 2, is i64" in refused([True, 2], [2], [None])
    assert "element [0], 1, is i64, but element [2], 2j, is c128" in refused([1, 2, 2j], [3], [None])
    assert "element [0][0], 1, is i64, but element [0][1], 2.5, is f64" in refused([[1, 2.5]], [1], [None])
    assert "is array(i64), but element [2], [2.5], is array(f64)" in refused([[], [1], [2.5]], [3], [None])
    assert "element [0], 1, is i64, but element [1], [1], is array(i64)" in refused([1, [1]], [2], [None])
    assert "element [1], 2.5, is no i64" in refused([1, 2.5], [2], [None], "i64")
    assert "element [0], [1], is no f64: it is a list" in refused([[1]], [1], [None], "f64")
    assert "element [1], 2, is no array(i64): it is no list" in refused([[1], 2], [2], [None], "array(i64)")
    with pytest.raises(ValueError, match=r"element \[0\]: 4294967296 is beyond the numbers of i32"):
        BigTensor.lit([2**32], [1], [None], "i32")
    assert "element [0]" in refused(["a"], [1], [None])
    assert "no element tells the type" in refused([], [0], [None])
    endless = []
    endless.append(endless)
    assert "nest deeper than 64" in refused([endless], [1], [None])
    assert "nest deeper than 64" in refused([[]], [1], [None], "array(" * 100_000 + "i64" + ")" * 100_000)

    assert BigTensor.lit([1, 2.5], [2], [None], "f64").collect().tolist() == [1.0, 2.5]
    assert BigTensor.lit([np.int64(1), 2], [2], [None]).dtype == "i8"
    assert BigTensor.lit([np.float32(1), np.float32(2)], [2], [None]).dtype == "f4"
    assert BigTensor.lit(np.array([1, 2], "i4"), [2], [None]).dtype == "i4"
    assert BigTensor.lit([True, False], [2], [1]).collect().tolist() == [True, False]
    empty = BigTensor.lit([], [0, 3], [None, 2], "f64")
    assert repr(empty) == "BigTensor([0, 3], [⊥, 2], f64)" and empty.collect().shape == (0, 3)
    lists = BigTensor.lit([], [0], [None], "array(array(i32))")
    assert lists.dtype == "array(array(i32))" and lists.collect().tolist() == []


def test_maps_to_another_type():
    x = np.array([[-1.5, 0.0, 0.5], [1.0, 2.0, 3.5]])
    u = BigTensor(x, [1, 2])
    for text, expected in [
        ("x > 0.5", x > 0.5),
        ("x >= 0.5", x >= 0.5),
        ("x == 2", x == 2),
        ("x != 2", x != 2),
        ("0 < x and x <= 2", (x > 0) & (x <= 2)),
        ("x < 0 or not x < 3", (x < 0) | (x >= 3)),
        ("i64(x)", x.astype("i8")),
        ("f32(x)", x.astype("f4")),
        ("bool(x)", x != 0),
        ("where(x > 0, x, 0)", np.where(x > 0, x, 0)),
        ("i64(x > 0) + 1", (x > 0).astype("i8") + 1),
    ]:
        found = u.map(text)
        assert found.blocks == u.blocks
        np.testing.assert_array_equal(found.collect(), expected, text)
        assert found.dtype == expected.dtype, text
    with pytest.raises(ijk.Error, match="comparisons do not chain"):
        u.map("0 < x < 1")


def test_maps_of_lists():
    rows = [[1.0, 2.0], [], [3.0]]
    u = BigTensor.lit(rows, [3], [2], "array(f64)")
    for text, of in [
        ("sum(x)", sum),
        ("len(x)", len),
        ("x + 1", lambda x: [y + 1 for y in x]),
        ("x > 1.5", lambda x: [y > 1.5 for y in x]),
        ("any(x > 1.5)", lambda x: any(y > 1.5 for y in x)),
        ("all(x > 1.5)", lambda x: all(y > 1.5 for y in x)),
        ("max(x)", lambda x: max(x, default=-np.inf)),
        ("len(x) > 1", lambda x: len(x) > 1),
        ("2 * x - x", list),
        ("x", list),
    ]:
        assert u.map(text).collect().tolist() == [of(row) for row in rows], text
    assert (u + 1).collect().tolist() == [[2.0, 3.0], [], [4.0]]
    assert u.map("sum(x)").dtype == "f8" and u.map("len(x)").dtype == "i8"
    with pytest.raises(TypeError, match="folds a list, but its operand is f64"):
        BigTensor(np.ones(2)).map("sum(x)")
    with pytest.raises(ijk.Error, match="of an empty list"):
        u.map("argmax(x)").collect()


def test_contractions_of_lists_and_conditions():
    u = BigTensor(np.array([[True, False], [True, True]]), [1, None])
    v = BigTensor(np.array([[False, True], [True, True]]))
    np.testing.assert_array_equal(u.contract(v, 1, 0, "any(l and r)").collect(), u.__array__() @ v.__array__())
    np.testing.assert_array_equal(
        u.contract(v, 1, 0, "sum(i64(l and r))").collect(),
        u.__array__().astype("i8") @ v.__array__().astype("i8"),
    )
    x, y = np.arange(6).reshape(2, 3), np.array([[0, 4], [1, 9], [5, 5]])
    near = ijk.contract(BigTensor(x, [1, 2]), BigTensor(y), 1, 0, "any(l == r)").collect()
    assert near.tolist() == [[(x[i] == y[:, j]).any() for j in range(2)] for i in range(2)]

    left = BigTensor.lit([[1, 2], [3], [], [4, 5]], [2, 2], [1, None])
    right = BigTensor.lit([[1, 1], [2]], [2], [None])
    assert left.contract(right, 1, 0, "sum(len(l) * len(r))").collect().tolist() == [5, 2]
    kept = left.contract(right, 1, 0, "collect(l)").collect().tolist()
    assert kept == [[[1, 2], [3]], [[], [4, 5]]]
    same = BigTensor.lit([[1, 2], [3]], [2], [None])
    assert same.contract(right, 0, 0, "sum(sum(l * r))").collect() == 9
    with pytest.raises(ijk.Error, match="lists of"):
        left.contract(right, 1, 0, "sum(sum(l * r))").collect()
    with pytest.raises(TypeError, match="takes numbers"):
        left.contract(right, 1, 0)


def conditions():
    numbers = st.sampled_from(["x", "2", "0.5", "(x - 1)", "x * x", "-x"])
    compared = st.builds("{} {} {}".format, numbers, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers)
    joined = lambda inner: st.one_of(
        st.builds("not {}".format, inner),
        st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("({})".format, inner),
    )
    return st.recursive(compared, joined, max_leaves=6)


@settings(max_examples=60, deadline=None)
@given(conditions())
def test_conditions_mean_what_they_mean_in_python(text):
    if "x" not in text:
        return
    values = [-1.0, 0.0, 0.5, 1.0, 2.0]
    found = BigTensor(np.array(values), [2]).map(text).collect()
    assert found.tolist() == [eval(text, {}, {"x": x}) for x in values], text


def test_errors_say_what_the_library_says():
    _, u = tensor(4, 6, blocks=[2, 4])
    with pytest.raises(ijk.Error, match=r"hint: reblock\(v, \[2, 4\]\) has blocks that fit"):
        u + u.reblock([2, 3])
    with pytest.raises(ValueError, match="axis 1 of u has 6 elements but axis 0 of v has 4"):
        u @ u
    with pytest.raises(TypeError, match="u has elements of f64 but v of f32"):
        u + tensor(4, 6, blocks=[2, 4], dtype="f4")[1]
    with pytest.raises(TypeError, match="`sqrt` does not take i32"):
        tensor(3, dtype="i4")[1].map("sqrt(x)")
    with pytest.raises(ijk.Error, match=r"\^"):
        u.map("x +")
    with pytest.raises(ijk.Error, match="the elements are `l` and `r`"):
        ijk.contract(u, u, 1, 1, "sum(l * x)")
    with pytest.raises(ijk.MemoryLimitError, match="at most 10 are collected"):
        u.collect(limit=10)
    with pytest.raises(ZeroDivisionError):
        x = tensor(3, dtype="i4")[1]
        (x / x).collect()
    with pytest.raises(TypeError):
        u + "one"
    with pytest.raises(ijk.Error, match=r"of the shape \(4, 6\) and an array of the shape \(4,\) have no common"):
        u + np.ones(4)
    with pytest.raises(TypeError, match="float64"):
        BigTensor(np.zeros(3, "g"))
    with pytest.raises(TypeError, match="no element tells the type"):
        BigTensor.lit([[], []], [2], [None])
    with pytest.raises(ijk.Error, match="needs all values at once, but axis 0 of u has blocks of 2"):
        ijk.i("@argmax i~.")(tensor(4, blocks=[2])[1])
    with pytest.raises(ValueError, match="workers"):
        u.collect(workers=0)


def test_zarr_arrays(tmp_path):
    a, u = tensor(50, 70, blocks=[16, 32])
    u.write(tmp_path / "a.zarr")
    u.write(str(tmp_path / "b.zarr"), compression=3)
    for name in ("a.zarr", "b.zarr"):
        opened = BigTensor.open(tmp_path / name)
        assert repr(opened) == "BigTensor([50, 70], [16, 32], f64)"
        assert np.array_equal(opened.collect(), a)
    square = ijk.contract(opened, opened, 0, 0)
    square.write(tmp_path / "c.zarr", memory_limit=30_000, workers=2)
    assert np.allclose(BigTensor.open(tmp_path / "c.zarr").collect(), a.T @ a)
    with pytest.raises(ijk.StoreError):
        BigTensor.open(tmp_path / "none.zarr")
    with pytest.raises(ValueError, match="1 to 22"):
        u.write(tmp_path / "d.zarr", compression=40)


def test_writes_resume_or_overwrite_or_refuse(tmp_path):
    path = tmp_path / "a.zarr"
    a, u = tensor(50, 70, blocks=[16, 32])
    u.write(path)
    u.write(path)
    with pytest.raises(ijk.StoreError, match="it exists already; to replace it, pass overwrite=True"):
        u.write(path, resume=False)
    other = u + 1
    with pytest.raises(ijk.StoreError, match="another computation's result(.|\n)*pass overwrite=True"):
        other.write(path)
    other.write(path, overwrite=True)
    assert np.array_equal(BigTensor.open(path).collect(), a + 1)
    u.write(path, resume=False, overwrite=True)
    (path / "c/1/1").write_bytes(b"")
    (path / "c/2/0").unlink()
    with pytest.warns(UserWarning, match="2 blocks were gone or damaged, and computed again"):
        u.write(path)
    assert np.array_equal(BigTensor.open(path).collect(), a)


def test_unfinished_writes_are_not_read(tmp_path):
    path = tmp_path / "a.zarr"
    code = """
        import os, sys, threading, time
        import numpy as np
        import ijk
        u = ijk.BigTensor(np.ones((512, 64)), [8, None])
        def watch():
            while not os.path.exists(sys.argv[1] + "/c/9/0"):
                time.sleep(0.001)
            os.kill(os.getpid(), 9)
        if len(sys.argv) == 3:
            threading.Thread(target=watch, daemon=True).start()
        (u @ ijk.BigTensor(np.ones((64, 512)), [None, 8])).write(sys.argv[1], workers=1)
    """
    run = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    assert subprocess.run([*run, "kill"]).returncode == -signal.SIGKILL
    expected = "it is not finished: .* of 4096 blocks are written; the same BigTensor.write finishes it"
    with pytest.raises(ijk.StoreError, match=expected) as raised:
        BigTensor.open(path)
    assert str(raised.value).endswith("to read what there is, pass partial=True to BigTensor.open")
    partial = BigTensor.open(path, partial=True).select(slice(0, 8), None).collect()
    assert partial.shape == (8, 512) and partial[0, 0] in (0, 64)


@st.composite
def terms(draw):
    """A term, and what NumPy computes for it."""
    extents = {n: draw(st.integers(0, 5)) for n in "ijk"}
    blocks = {n: draw(st.one_of(st.none(), st.integers(1, 4))) for n in "ijk"}
    dtype = draw(st.sampled_from(["i4", "i8", "f4", "f8"]))
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))

    def leaf(axes):
        array = random.integers(-4, 5, [extents[n] for n in axes]).astype(dtype)
        return array, BigTensor(array, [blocks[n] for n in axes])

    def grow(axes, depth):
        kind = draw(st.integers(0, 7)) if depth else 0
        if kind == 0:
            return leaf(axes)
        x, u = grow(axes, depth - 1)
        if kind == 1:
            return x * 2 + 1, u.map("x * 2 + 1")
        if kind == 2:
            return x + 3, u + 3
        if kind == 3:
            y, v = grow(axes, depth - 1)
            return x - y, u - v
        if kind == 4:
            y, v = grow(axes, depth - 1)
            return np.maximum(x, y), u.max(v)
        if kind == 5:
            i, k, j = axes[0], "ijk"[draw(st.integers(0, 2))], axes[1]
            (x, u), (y, v) = grow(i + k, depth - 1), grow(k + j, depth - 1)
            return x @ y, u @ v
        if kind == 6:
            x, u = grow(axes[::-1], depth - 1)
            return x.T, ijk.i("ij~ji")(u)
        (x, u), (y, v) = grow(axes, depth - 1), leaf(axes[1])
        return x + y, u + v.bc(list(x.shape), list(u.blocks))

    return grow("ij", 3)


@settings(max_examples=150, deadline=None)
@given(terms(), st.integers(1, 3))
def test_random_terms_agree_with_numpy(term, workers):
    expected, built = term
    found = built.collect(workers=workers)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    # Whole numbers, small enough to be exact in every type.
    assert np.array_equal(found, expected) or np.abs(expected).max() > 1 << 20


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="signals")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_a_computation(workers):
    script = textwrap.dedent(
        f"""
        import numpy as np, ijk, signal, threading, os
        u = ijk.BigTensor(np.ones((6000, 6000), "f4"), [200, 200])
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            for _ in range(1000):
                (u @ u).collect(workers={workers})
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "interrupted", run.stderr


def test_values_do_not_depend_on_where_blocks_are():
    x, y = np.array([np.nan, 1.0, np.inf, -2.0]), np.array([0.0, 0.0, 0.0, 3.0])
    with np.errstate(all="ignore"):
        expected = x * y
    u, v = BigTensor(x, [1]), BigTensor(y, [1])
    assert np.array_equal(BigTensor.einsum("i,i->i", u, v).collect(), expected, equal_nan=True)
    assert np.array_equal(ijk.einsum("i,i->i", u, v), expected, equal_nan=True)
    # Nothing is missing: nothing is skipped.
    product = BigTensor.einsum("i,i->", u, v)
    assert np.isnan(product.collect()) and np.isnan(product.collect(assume_finite=True))


def test_a_memory_limit_counts_the_result():
    _, u = tensor(64, 64, blocks=[8, 8])
    with pytest.raises(ijk.MemoryLimitError, match="raise memory_limit"):
        (u @ u).collect(memory_limit=64 * 64 * 8)
    least = 64 * 64 * 8 + 8 * 8 * 8
    assert (u @ u).collect(memory_limit=least).shape == (64, 64)
