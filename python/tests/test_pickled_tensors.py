"""Block tensors: pickled as addresses, as blocks in memory, and as the calls that made them of these."""

import multiprocessing
import os
import pickle

import numpy as np
import pytest

import ijk

X = np.arange(12.0).reshape(3, 4)


def again(tensor, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(tensor, protocol))


def check(tensor):
    """The same type, the same term, and the same elements."""
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        same = again(tensor, protocol)
        assert repr(same) == repr(tensor) and str(same) == str(tensor)
        np.testing.assert_array_equal(same.collect(), tensor.collect())
    assert str(again(same)) == str(tensor)


def test_blocks_in_memory():
    u = ijk.BigTensor(X, [2, None])
    check(u)
    assert again(u).blocks == (2, None)
    for dtype in ("bool", "uint8", "int64", "float16", "float32", "complex64", "complex128"):
        check(ijk.BigTensor(X.astype(dtype), [1, 3]))
    odd = ijk.BigTensor(np.array([np.nan, -0.0, np.inf]))
    assert again(odd).collect().tobytes() == odd.collect().tobytes()
    check(ijk.BigTensor(np.float64(3.5)))
    check(ijk.BigTensor(np.empty((0, 3))))


def test_lists():
    for lists in ([[1, 2], [], [3]], [[[1.5], []], [], [[2.5, 3.5]]]):
        u = ijk.BigTensor.lit(lists, [3], [2])
        same = again(u)
        assert same.dtype == u.dtype and list(same.collect()) == list(u.collect()) == lists
    sums = ijk.BigTensor.lit([[1, 2], [], [3]], [3], [None]).map("sum(x)")
    check(sums)


def terms():
    u, v = ijk.BigTensor(X, [2, 2]), ijk.BigTensor(X + 1, [2, 2])
    square = ijk.BigTensor(X @ X.T, [2, None])
    several = ijk.i("ij~ji & +ij~i")(u)
    named = ijk.et("y[p] = x[p,q]\n\nz[q,p] = x[p,q]")(x=u)
    copied = ijk.et("y[p] = x[p]")
    return {
        "operators": (u + v) * u - v / (u + 1),
        "numbers": 2 - u / 3 + (1.5 * -u),
        "extremes": u.max(v).min(7).max(axis=0),
        "arrays": X + u * X[0] - X[:, :1],
        "products": u @ ijk.BigTensor(X.T, [2, 2]) + square,
        "arrays in products": (X.T @ u) @ X.T,
        "repeated": u.bc((6, 4), (2, 2)),
        "selected": u.select(slice(0, 2), [0, 3]).select(None, slice(0, 1)),
        "mapped": u.map("sqrt(x) + 1").map("x * x"),
        "by a component": u.map(ijk.i(".+1~.")),
        "reblocked": u.reblock([None, 1]),
        "contracted": ijk.contract(u, v, 1, 1, "max(l + r)"),
        "contracted by a component": u.contract(v, 1, 1, ijk.i("+(i*i)~.")),
        "einsum": ijk.BigTensor.einsum("ij,kj->ik", u, X),
        "several results": several[0] @ several[1].einsum("i,i->i", several[1], several[1]),
        "tuples": named["z"] @ named["y"],
        "extents": copied(x=ijk.BigTensor(X[0]), dims={"p": 4})["y"],
        "like arrays": (u.T[1:3].sum(axis=1) > np.array([9.0, 20.0])).astype(np.float32),
    }


@pytest.mark.parametrize("name", terms())
def test_terms(name):
    check(terms()[name])


def test_shared_parts_are_pickled_once():
    u = ijk.BigTensor(np.arange(10_000.0))
    one = len(pickle.dumps(u))
    for _ in range(40):
        u = u + u
    assert len(pickle.dumps(u)) < one + 4000
    assert again(u).collect()[1] == 2.0**40
    deep = ijk.BigTensor(X)
    for _ in range(5000):
        deep = deep + 1
    assert again(deep).collect()[0, 0] == 5000


def test_addresses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    big = ijk.BigTensor(np.arange(100_000.0), [1000])
    big.write("a.zarr")
    stored = ijk.BigTensor.open("a.zarr")
    text = pickle.dumps(stored * 2)
    assert len(text) < 1000
    os.mkdir("elsewhere")
    monkeypatch.chdir("elsewhere")
    assert pickle.loads(text).collect()[7] == 14
    (tmp_path / "a.zarr").rename(tmp_path / "b.zarr")
    with pytest.raises(ijk.StoreError, match="a.zarr: no such directory"):
        pickle.loads(text)


def test_a_copy_that_is_written_continues_the_result(tmp_path):
    u = ijk.BigTensor(X, [1, 2])
    (u * 2).write(tmp_path / "a.zarr")
    stored = ijk.BigTensor.open(tmp_path / "a.zarr") + u
    stored.write(tmp_path / "b.zarr")
    again(stored).write(tmp_path / "b.zarr")
    with pytest.raises(ijk.StoreError, match="another computation"):
        again(stored + 1).write(tmp_path / "b.zarr")


def test_files_of_other_libraries(tmp_path):
    file = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float64, (30, 40))
    file[:] = np.arange(1200.0).reshape(30, 40)
    file.flush()
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    for part in (mapped, mapped[3:, ::2], mapped.T[::-1, 5:]):
        u = ijk.BigTensor(part, [8, None])
        assert len(pickle.dumps(u)) < 1500
        np.testing.assert_array_equal(again(u).collect(), part)
        u.write(tmp_path / "m.zarr", overwrite=True)
        again(u).write(tmp_path / "m.zarr")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["group/x"] = X
    with h5py.File(tmp_path / "a.h5") as file:
        u = ijk.BigTensor(file["group/x"], [2, 2])
        text = pickle.dumps(u)
    np.testing.assert_array_equal(pickle.loads(text).collect(), X)


def test_arrays_of_dask():
    dask = pytest.importorskip("dask.array")
    check(ijk.BigTensor(dask.from_array(X, chunks=(2, 2)) + 1) * 2)


def collected(tensor):
    return tensor.collect()


def test_pools(tmp_path):
    u = ijk.BigTensor(X, [1, 2])
    u.write(tmp_path / "a.zarr")
    tensors = [u, *(ijk.BigTensor.open(tmp_path / "a.zarr") + n for n in range(3))]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(collected, tensors)
    for expected, array in zip(tensors, found, strict=True):
        np.testing.assert_array_equal(array, expected.collect())
