"""Zarr arrays, exchanged with zarr-python by the command `ijk`, which `IJK` names."""

import json
import os
import shutil
import subprocess
import warnings

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
from zarr import codecs  # noqa: E402

try:
    from zarr.codecs import numcodecs as others
except ImportError:  # before 3.1.3
    from numcodecs import zarr3 as others

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


@pytest.mark.parametrize("name", ["Zstd", "Blosc", "GZip", "Zlib", "LZ4", "Shuffle"])
def test_we_read_codecs_of_numcodecs(tmp_path, name):
    expected = np.repeat(values("float64"), 40, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = [getattr(others, name)()]
        array = zarr.create_array(
            tmp_path / "a.zarr", shape=expected.shape, chunks=(8, 300), dtype="float64", compressors=chain
        )
        array[:] = expected
    np.testing.assert_array_equal(copied(tmp_path), expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, [1, -np.inf], {"a": np.nan}, "NaN", 'a "NaN", \\'], ids=str)
def test_attributes_go_along_with_copies(tmp_path, value):
    attributes = {"value": value, "large": 10**30, "text": "ä, }"}
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=(6, 4), chunks=(2, 3), dtype="float64", dimension_names=["time", "x"],
        attributes=attributes,
    )  # fmt: skip
    array[:] = np.arange(24).reshape(6, 4)
    ijk("eval", "ij~ji", "a.zarr", "-o", "b.zarr", "--block", "3", "--compress", "zstd", directory=tmp_path)
    copy = zarr.open_array(tmp_path / "b.zarr", mode="r")
    np.testing.assert_array_equal(copy[:], array[:].T)
    assert copy.metadata.dimension_names == ("x", "time")
    assert repr(dict(copy.attrs)) == repr(attributes)
    # What zarr-python changes in the metadata leaves it the same result.
    zarr.open_array(tmp_path / "b.zarr", mode="r+").attrs["units"] = "m"
    ijk("eval", "ij~ji", "a.zarr", "-o", "b.zarr", "--block", "3", "--compress", "zstd", directory=tmp_path)


def test_results_join_a_group(tmp_path):
    group = zarr.create_group(tmp_path / "g.zarr")
    array = group.create_array("t", shape=(2, 3), chunks=(1, 3), dtype="float64", dimension_names=["time", "x"])
    array[:] = [[1, 2, 3], [4, 5, 6]]
    np.save(tmp_path / "long.npy", np.arange(7.0))
    for arguments in [("ij*2~ij", "g.zarr/t", "-o", "g.zarr/y"), ("+ij~j", "g.zarr/t", "-o", "g.zarr/sum"),
                      ("i~i", "long.npy", "-o", "g.zarr/i7"),
                      ("i*2~i", "g.zarr/sum", "-o", "g.zarr/sub/twice")]:  # fmt: skip
        ijk("eval", *arguments, directory=tmp_path)
    group = zarr.open_group(tmp_path / "g.zarr", mode="r")
    assert sorted(group.array_keys()) == ["i7", "sum", "t", "y"] and list(group["sub"].array_keys()) == ["twice"]
    np.testing.assert_array_equal(group["y"][:], 2 * array[:])
    xarray = pytest.importorskip("xarray")
    found = xarray.open_zarr(tmp_path / "g.zarr", consolidated=False)
    assert found["y"].dims == ("time", "x") and found["sum"].dims == ("x",)
    assert found.sizes == {"time": 2, "x": 3, "i": 7}


def test_a_result_is_seen_in_consolidated_metadata(tmp_path):
    group = zarr.create_group(tmp_path / "g.zarr", attributes={"a": np.nan})
    group.create_array("t", shape=(4,), chunks=(2,), dtype="float64")[:] = [1, 2, 3, 4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(tmp_path / "g.zarr")
        for _ in range(2):
            ijk("eval", "i*2~i", "g.zarr/t", "-o", "g.zarr/y", directory=tmp_path)
        group = zarr.open_consolidated(tmp_path / "g.zarr")
    assert sorted(group.array_keys()) == ["t", "y"] and np.isnan(group.attrs["a"])
    np.testing.assert_array_equal(group["y"][:], [2, 4, 6, 8])


@pytest.mark.parametrize(
    "dtype, fill, expected",
    [("int32", "0.0", 0), ("int64", '"7"', 7), ("bool", "1", True), ("float64", "null", 0), ("float32", "NaN", np.nan),
     ("float64", '"0x7ff0000000000000"', np.inf)],
)  # fmt: skip
def test_we_read_fill_values_of_others(tmp_path, dtype, fill, expected):
    zarr.create_array(tmp_path / "a.zarr", shape=(2, 2), chunks=(2, 2), dtype=dtype)
    path = tmp_path / "a.zarr" / "zarr.json"
    metadata = json.loads(path.read_text())
    metadata["fill_value"] = "HERE"
    path.write_text(json.dumps(metadata).replace('"HERE"', fill))
    np.testing.assert_array_equal(copied(tmp_path), np.full((2, 2), expected, dtype))


def test_urls_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3))
    result = subprocess.run([IJK, "eval", "i~i", "a.npy", "-o", "s3://b/o.zarr"], cwd=tmp_path, capture_output=True)
    assert result.returncode == 1 and b"scheme `s3`" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_chunks_that_do_not_fit_are_recut(tmp_path):
    left, right = values("float64", (40, 30)), values("float64", (30, 50))
    for name, array, chunks in [("a", left, (16, 7)), ("b", right, (9, 16))]:
        blocks = zarr.create_array(tmp_path / f"{name}.zarr", shape=array.shape, chunks=chunks, dtype="float64")
        blocks[:] = array
    said = ijk("einsum", "ik,kj->ij", "a.zarr", "b.zarr", "-o", "c.zarr", directory=tmp_path).stderr
    assert "is re-cut from chunks of " in said
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "c.zarr", mode="r")[:], left @ right)
    ijk("eval", "ij~ij", "a.zarr", "--block", "3", "-o", "d.zarr", directory=tmp_path)
    assert zarr.open_array(tmp_path / "d.zarr", mode="r").chunks == (3, 3)


def test_a_product_of_both(tmp_path):
    left, right = values("float64", (40, 30)), values("float64", (30, 50))
    for name, array in [("a", left), ("b", right)]:
        blocks = zarr.create_array(tmp_path / f"{name}.zarr", shape=array.shape, chunks=(16, 16), dtype="float64")
        blocks[:] = array
    ijk("einsum", "ik,kj->ij", "a.zarr", "b.zarr", "-o", "c.zarr", "--workers", "2", directory=tmp_path)
    array = zarr.open_array(tmp_path / "c.zarr", mode="r")
    assert array.chunks == (16, 16)
    np.testing.assert_array_equal(array[:], left @ right)


@pytest.mark.parametrize("fill", [0.0, 1.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_values_do_not_depend_on_which_chunks_are_stored(tmp_path, fill, workers):
    """NumPy's values, whether chunks that are the fill value are there, of products, sums and longest paths."""
    special = np.array([[np.nan, np.inf, 2.0], [-np.inf, -1.0, 0.0], [5.0, fill, np.nan]])
    other = np.full((3, 3), fill)
    other[2, 1] = 3.0
    with np.errstate(all="ignore"):
        expected = {
            "ij*ij~ij": special * other,
            "ij+ij~ij": special + other,
            "ij/ij~ij": special / other,
            "+(ik*kj)~ij": (special[:, :, None] * other[None]).sum(1),
            ">(ik+kj)~ij": (special[:, :, None] + other[None]).max(1),
            "+(ij*ij)~i": (special * other).sum(1),
        }
    for kept in [True, False]:
        for name, array in [("a", special), ("b", other)]:
            blocks = zarr.create_array(
                tmp_path / f"{name}{kept}.zarr",
                shape=(3, 3),
                chunks=(1, 1),
                dtype="float64",
                fill_value=fill,
                config={"write_empty_chunks": kept},
            )
            blocks[:] = array
    for program, values in expected.items():
        for kept in [True, False]:
            arguments = [f"a{kept}.zarr", f"b{kept}.zarr", "-o", "c.npy", "--workers", workers]
            ijk("eval", program, *arguments, directory=tmp_path)
            np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), values, err_msg=f"{program} {kept}")


@pytest.mark.parametrize("separator", ["/", "."])
def test_chunks_that_are_there_are_found(tmp_path, separator):
    array = zarr.create_array(
        tmp_path / "a.zarr",
        shape=(200, 200),
        chunks=(4, 4),
        dtype="float64",
        chunk_key_encoding={"name": "default", "separator": separator},
    )
    array[40:44, 160:164] = 3.0
    array[160:164, 40:44] = np.inf
    ijk("einsum", "ij,jk->ik", "a.zarr", "a.zarr", "-o", "c.zarr", directory=tmp_path)
    with np.errstate(all="ignore"):
        expected = array[:] @ array[:]
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "c.zarr", mode="r")[:], expected)
