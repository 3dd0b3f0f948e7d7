"""Block tensors of arrays that are read where they are: memory maps, h5py, Zarr, dask."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import ijk
from ijk import BigTensor

A = np.arange(5000.0).reshape(100, 50)


def mapped(folder):
    array = np.memmap(folder / "a.bin", "f8", "w+", shape=A.shape)
    array[:] = A
    return array


def hdf5(folder):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    return h5py.File(folder / "a.h5", "w").create_dataset("group/a", data=A, chunks=(30, 20))


def zarr_array(folder, **how):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    return zarr.create_array(data=A, chunks=(30, 20), **how)


def dasks(folder):
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    return dask_array.from_array(A, chunks=(30, 20))


SOURCES = {
    "memmap": (mapped, (None, None)),
    "part of a memmap": (lambda folder: np.memmap.__getitem__(mapped(folder), slice(None)), (None, None)),
    "h5py": (hdf5, (30, 20)),
    "zarr": (lambda folder: zarr_array(folder, store=folder / "a.zarr"), (30, 20)),
    "zarr with shards": (lambda folder: zarr_array(folder, store=folder / "a.zarr", shards=(60, 40)), (60, 40)),
    "zarr 2": (lambda folder: zarr_array(folder, store=folder / "a.zarr", zarr_format=2), (30, 20)),
    "zarr in memory": (lambda folder: zarr_array(folder, store={}), (30, 20)),
    "zarr in a group": (lambda folder: zarr_array(folder, store=folder / "g.zarr", name="inner/a"), (30, 20)),
    "dask": (dasks, (30, 20)),
}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    make, blocks = SOURCES[request.param]
    return make(tmp_path), blocks


def test_blocks_are_chunks(source):
    array, blocks = source
    u = BigTensor(array)
    assert u.shape == A.shape and u.blocks == blocks and u.dtype == "f8"
    assert np.array_equal(u.collect(), A) and np.array_equal(u.collect(workers=2), A)
    other = BigTensor(array, [7, None])
    assert other.blocks == (7, None) and np.array_equal(other.collect(), A)
    assert np.array_equal(u[3:60:5, ::-1].collect(), A[3:60:5, ::-1])
    assert np.array_equal(BigTensor.einsum("ij,kj->ik", u, array).collect(), A @ A.T)
    assert np.array_equal(ijk.i("+ij~j")(u).collect(), A.sum(0))


def test_programs_take_them(source):
    array, _ = source
    for result in (
        ijk.i("+ij~j")(array),
        ijk.einsum("ij,i->j", array, np.ones(100)),
        ijk.et("y[j] = x[i,j]")(x=array)["y"],
    ):
        assert np.array_equal(np.asarray(result), A.sum(0))
    whole = BigTensor(A)
    for both in (ijk.i("ij+ij~ij")(whole, array), ijk.et("y[i,j] = x[i,j]\ny[i,j] += z[i,j]")(x=whole, z=array)["y"]):
        assert isinstance(both, BigTensor) and np.array_equal(both.collect(), 2 * A)
    assert np.array_equal((BigTensor(A, [30, 20]) + array).collect(), 2 * A)


def test_nothing_is_read_before_it_is_needed():
    read = []

    class Chunked:
        shape, chunks, dtype = (6, 4), (2, 4), np.dtype(">i4")

        def __getitem__(self, key):
            read.append(key)
            return np.arange(24, dtype=">i4").reshape(6, 4)[key]

    u = BigTensor(Chunked())
    double = u * 2
    assert not read and u.dtype == "i4"
    assert np.array_equal(double.collect(), 2 * np.arange(24).reshape(6, 4)) and len(read) == 3


def test_more_than_memory(tmp_path):
    array = np.memmap(tmp_path / "large.bin", "f4", "w+", shape=(4000, 1000))
    array[:] = np.arange(1000)
    u = BigTensor(array, [100, None])
    assert np.array_equal(u.sum(0).collect(memory_limit=4_000_000), 4000.0 * np.arange(1000))
    (u + 1).write(tmp_path / "more.zarr", memory_limit=4_000_000)
    assert np.array_equal(BigTensor.open(tmp_path / "more.zarr")[::999].collect()[:, 2], [3] * 5)


def test_changes_are_seen(tmp_path):
    array = mapped(tmp_path)
    u, copied = BigTensor(array), BigTensor(np.array(array))
    array[0, 0] = 77
    assert u[0, 0].collect() == 77 and copied[0, 0].collect() == 0


def test_chunks_of_other_sizes():
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    u = BigTensor(dask_array.from_array(A, chunks=((10, 60, 30), -1)))
    assert u.blocks == (60, None) and np.array_equal(u.collect(), A)
    sums = BigTensor(dask_array.from_array(A, chunks=30).sum(axis=1) * 2)
    assert np.array_equal(sums.collect(), 2 * A.sum(1))


def test_arrays_without_axes_or_elements(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    file = h5py.File(tmp_path / "c.h5", "w")
    assert BigTensor(file.create_dataset("one", data=3.0)).collect() == 3
    assert BigTensor(file.create_dataset("none", shape=(0, 4), dtype="f4")).sum(1).collect().shape == (0,)
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    x = dask_array.from_array(A, chunks=30)
    with pytest.raises(TypeError, match="has a shape that is not known"):
        BigTensor(x[x[:, 0] > 5])


def test_what_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    file = h5py.File(tmp_path / "b.h5", "w")
    with pytest.raises(ijk.DTypeError, match="an array is of (float128|longdouble)"):
        BigTensor(file.create_dataset("long", data=A.astype("g")))
    u = BigTensor(file.create_dataset("a", data=A, chunks=(30, 20)))
    file.close()
    with pytest.raises(ijk.StoreError, match=r"block .* of .*b.h5:/a: RuntimeError"):
        u.collect()

    class Masked:
        shape, chunks, dtype = (6,), (2,), np.dtype("f8")

        def __getitem__(self, key):
            return np.ma.array(np.arange(6.0), mask=np.arange(6) == 3)[key]

    with pytest.raises(ijk.StoreError, match="is a masked array, and the mask would be lost"):
        BigTensor(Masked()).collect()
    assert BigTensor(Masked())[:2].collect().tolist() == [0, 1]

    class Wrong(Masked):
        def __getitem__(self, key):
            return np.zeros(5)

    with pytest.raises(ijk.StoreError, match=r"shape \[5\] were read, not of f64 and \[2\]"):
        BigTensor(Wrong()).collect()


def test_unfinished_results_of_ijks_are_not_read(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    BigTensor(A, [30, 20]).write(tmp_path / "a.zarr")
    array = zarr.open_array(tmp_path / "a.zarr", mode="r")
    assert np.array_equal(BigTensor(array).collect(), A)
    killed = """
        import os, sys, threading, time
        import numpy as np, ijk
        def watch():
            while not os.path.exists(sys.argv[1] + "/c/9/0"):
                time.sleep(0.001)
            os.kill(os.getpid(), 9)
        threading.Thread(target=watch, daemon=True).start()
        u = ijk.BigTensor(np.ones((512, 64)), [8, None])
        (u @ u.T).write(sys.argv[1], workers=1)
    """
    path = str(tmp_path / "b.zarr")
    subprocess.run([sys.executable, "-c", textwrap.dedent(killed), path])
    with pytest.raises(ijk.StoreError, match="it is not finished"):
        BigTensor(zarr.open_array(path, mode="r"))


def test_writes_go_on(tmp_path):
    array = mapped(tmp_path)
    (BigTensor(array, [30, 20]) + 1).write(tmp_path / "b.zarr")
    (tmp_path / "b.zarr/c/1/1").unlink()
    again = np.memmap(tmp_path / "a.bin", "f8", "r", shape=A.shape)
    with pytest.warns(UserWarning, match="1 block was gone"):
        (BigTensor(again, [30, 20]) + 1).write(tmp_path / "b.zarr")
    with pytest.raises(ijk.StoreError, match="another computation"):
        (BigTensor(again[::-1], [30, 20]) + 1).write(tmp_path / "b.zarr")
    array[0, 0] = 5
    array.flush()
    os.utime(tmp_path / "a.bin", ns=(1, 1))
    with pytest.raises(ijk.StoreError, match="another computation"):
        (BigTensor(again, [30, 20]) + 1).write(tmp_path / "b.zarr")
