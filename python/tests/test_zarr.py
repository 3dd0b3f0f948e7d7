"""Zarr arrays, exchanged with zarr-python by the command `ijk`, which `IJK` names."""

import os
import shutil
import subprocess

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
from zarr import codecs  # noqa: E402

IJK = os.environ.get("IJK") or shutil.which("ijk")
pytestmark = pytest.mark.skipif(IJK is None, reason="IJK does not name the command `ijk`")

DTYPES = ["bool", "int32", "int64", "float32", "float64", "complex64", "complex128"]
COMPRESSORS = {
    "none": [],
    "zstd": [codecs.ZstdCodec(level=5)],
    "gzip": [codecs.GzipCodec(level=5)],
    "crc32c": [codecs.Crc32cCodec()],
    "lz4": [codecs.BloscCodec(cname="lz4", shuffle="shuffle")],
    "blosc zstd": [codecs.BloscCodec(cname="zstd", shuffle="bitshuffle")],
    "blosclz": [codecs.BloscCodec(cname="blosclz", shuffle="noshuffle")],
    "stacked": [codecs.GzipCodec(), codecs.ZstdCodec(), codecs.Crc32cCodec()],
}


def ijk(*arguments, directory):
    return subprocess.run([IJK, *arguments], cwd=directory, check=True, capture_output=True, text=True)


def values(dtype, shape=(23, 17)):
    numbers = np.arange(np.prod(shape)).reshape(shape) * 7 % 11 - 4
    return (numbers > 0) if dtype == "bool" else numbers.astype(dtype)


def copied(directory):
    """What ijk reads of `a.zarr`."""
    ijk("eval", "ij~ij", "a.zarr", "-o", "a.npy", directory=directory)
    return np.load(directory / "a.npy")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compress", ["none", "zstd", "zstd:9"])
def test_zarr_reads_ours(tmp_path, dtype, compress):
    expected = values(dtype)
    np.save(tmp_path / "a.npy", expected)
    options = ["--block", "8x5", "--compress", compress]
    ijk("eval", "ij~ij", "a.npy", "-o", "a.zarr", *options, directory=tmp_path)
    array = zarr.open_array(tmp_path / "a.zarr", mode="r")
    assert (array.dtype, array.chunks) == (expected.dtype, (8, 5))
    np.testing.assert_array_equal(array[:], expected)


def test_zarr_reads_what_has_no_chunks(tmp_path):
    expected = np.zeros((20, 20))
    expected[5:8, 5:8] = 3
    np.save(tmp_path / "a.npy", expected)
    ijk("eval", "ij~ij", "a.npy", "-o", "a.zarr", "--block", "4", directory=tmp_path)
    array = zarr.open_array(tmp_path / "a.zarr", mode="r")
    assert array.nchunks_initialized == 1
    np.testing.assert_array_equal(array[:], expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compressor", COMPRESSORS)
def test_we_read_what_zarr_wrote(tmp_path, dtype, compressor):
    expected = values(dtype)
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=expected.shape, chunks=(8, 5), dtype=dtype, compressors=COMPRESSORS[compressor]
    )
    array[:] = expected
    np.testing.assert_array_equal(copied(tmp_path), expected)


@pytest.mark.parametrize(
    "options",
    [
        {"shards": (8, 12), "chunks": (4, 6)},
        {"filters": [codecs.TransposeCodec(order=(1, 0))], "chunks": (8, 5)},
        {"serializer": codecs.BytesCodec(endian="big"), "chunks": (8, 5)},
        {"chunk_key_encoding": {"name": "v2", "separator": "."}, "chunks": (8, 5)},
        {"chunk_key_encoding": {"name": "default", "separator": "."}, "chunks": (30, 30)},
        {"fill_value": np.nan, "chunks": (8, 5)},
        {"fill_value": -np.inf, "chunks": (8, 5)},
    ],
    ids=str,
)
def test_we_read_other_layouts(tmp_path, options):
    array = zarr.create_array(tmp_path / "a.zarr", shape=(23, 17), dtype="float64", **options)
    array[3:9, 2:7] = values("float64", (6, 5))
    np.testing.assert_array_equal(copied(tmp_path), array[:])


def test_a_product_of_both(tmp_path):
    left, right = values("float64", (40, 30)), values("float64", (30, 50))
    for name, array in [("a", left), ("b", right)]:
        blocks = zarr.create_array(tmp_path / f"{name}.zarr", shape=array.shape, chunks=(16, 16), dtype="float64")
        blocks[:] = array
    ijk("einsum", "ik,kj->ij", "a.zarr", "b.zarr", "-o", "c.zarr", "--workers", "2", directory=tmp_path)
    array = zarr.open_array(tmp_path / "c.zarr", mode="r")
    assert array.chunks == (16, 16)
    np.testing.assert_array_equal(array[:], left @ right)
