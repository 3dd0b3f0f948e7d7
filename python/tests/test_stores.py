"""Zarr arrays where data is: in a bucket (of moto's server on this machine), on a web server, in archives, of format 2.

Arrays are written by zarr-python into a directory and copied from there, and results are copied back to be read, so
that both sides see the bytes that others see.
"""

import functools
import http.server
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
import zipfile

import ijk
import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
try:
    import boto3
    from moto.server import ThreadedMotoServer
except ImportError:
    ThreadedMotoServer = None

BUCKET = "data-of-tests"
bucket_only = pytest.mark.skipif(ThreadedMotoServer is None, reason="moto with its server is not installed")
IJK = os.environ.get("IJK") or shutil.which("ijk")


def values(shape, dtype="float64"):
    return (np.arange(np.prod(shape)).reshape(shape) * 7 % 11 - 4).astype(dtype)


class Bucket:
    """A bucket, and the options that lead to it."""

    def __init__(self, port):
        self.endpoint = f"http://127.0.0.1:{port}"
        self.options = {
            "key": "testing",
            "secret": "testing",
            "client_kwargs": {"endpoint_url": self.endpoint, "region_name": "us-east-1"},
        }
        self.client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            region_name="us-east-1",
        )

    def url(self, key):
        return f"s3://{BUCKET}/{key}"

    def keys(self, prefix=""):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def upload(self, directory, key):
        for path in directory.rglob("*"):
            if path.is_file():
                name = f"{key}/{path.relative_to(directory).as_posix()}"
                self.client.put_object(Bucket=BUCKET, Key=name, Body=path.read_bytes())

    def download(self, key, directory):
        for name in self.keys(f"{key}/"):
            path = directory / name[len(key) + 1 :]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.client.get_object(Bucket=BUCKET, Key=name)["Body"].read())
        return directory

    def environment(self):
        return {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
        }


@pytest.fixture(scope="module")
def server():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def bucket(server):
    bucket = Bucket(server.get_host_and_port()[1])
    bucket.client.create_bucket(Bucket=BUCKET)
    yield bucket
    for key in bucket.keys():
        bucket.client.delete_object(Bucket=BUCKET, Key=key)
    bucket.client.delete_bucket(Bucket=BUCKET)


@pytest.fixture
def web(tmp_path):
    """A directory that a web server of this machine gives to everybody, and its address."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    handler.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield tmp_path, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def written(path, array, chunks, **options):
    zarr.create_array(path, shape=array.shape, chunks=chunks, dtype=array.dtype, **options)[:] = array
    return path


@bucket_only
def test_a_product_from_and_to_a_bucket(bucket, tmp_path):
    left, right = values((40, 30)), values((30, 50))
    for name, array in [("a", left), ("b", right)]:
        bucket.upload(written(tmp_path / name, array, (16, 16)), f"in/{name}.zarr")
    a, b = (ijk.BigTensor.open(bucket.url(f"in/{name}.zarr"), storage_options=bucket.options) for name in "ab")
    # The address goes along with the options, not the blocks.
    pickled = pickle.dumps(a)
    assert len(pickled) < 1000
    np.testing.assert_array_equal(pickle.loads(pickled).collect(), left)
    for _ in range(2):
        (a @ b).write(bucket.url("out/c.zarr"), memory_limit=1 << 20, storage_options=bucket.options)
    found = zarr.open_array(bucket.download("out/c.zarr", tmp_path / "c"), mode="r")
    assert found.chunks == (16, 16)
    np.testing.assert_array_equal(found[:], left @ right)
    assert not [key for key in bucket.keys("out/") if "lock" in key]
    with pytest.raises(ijk.StoreError, match="it holds another computation's result"):
        a.write(bucket.url("out/c.zarr"), storage_options=bucket.options)
    a.write(bucket.url("out/c.zarr"), overwrite=True, storage_options=bucket.options)
    np.testing.assert_array_equal(
        ijk.BigTensor.open(bucket.url("out/c.zarr"), storage_options=bucket.options).collect(), left
    )


@bucket_only
def test_the_environment_and_profiles(bucket, tmp_path, monkeypatch):
    bucket.upload(written(tmp_path / "a", values((5, 4)), (2, 2)), "a.zarr")
    for name, value in bucket.environment().items():
        monkeypatch.setenv(name, value)
    np.testing.assert_array_equal(ijk.BigTensor.open(bucket.url("a.zarr")).collect(), values((5, 4)))
    for name in bucket.environment():
        monkeypatch.delenv(name)
    credentials = tmp_path / "credentials"
    credentials.write_text(
        f"[lab]\naws_access_key_id = x\naws_secret_access_key = y\nendpoint_url = {bucket.endpoint}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_PROFILE", "lab")
    np.testing.assert_array_equal(ijk.BigTensor.open(bucket.url("a.zarr")).collect(), values((5, 4)))


@bucket_only
def test_what_is_wrong_is_named(bucket, tmp_path):
    def refused(key, message, **options):
        with pytest.raises(ijk.StoreError, match=message):
            ijk.BigTensor.open(key, storage_options=bucket.options | options).collect()

    bucket.upload(written(tmp_path / "a", values((5, 4)), (2, 2)), "a.zarr")
    bucket.client.put_object(Bucket=BUCKET, Key="a.zarr/c/1/1", Body=b"short")
    refused(bucket.url("a.zarr"), "a.zarr, file c/1/1: zstd: ")
    refused(bucket.url("none.zarr"), "it has no zarr.json")
    refused("s3://no-such-bucket/a.zarr", "404 Not Found .NoSuchBucket: .*AWS_ENDPOINT_URL and AWS_REGION")
    refused(bucket.url("a.zarr"), "set AWS_ENDPOINT_URL", client_kwargs={"endpoint_url": "http://127.0.0.1:1"})
    refused(bucket.url("a.zarr"), "there is no option `colour`", colour="red")
    with pytest.raises(TypeError, match="storage_options"):
        ijk.BigTensor.open(bucket.url("a.zarr"), storage_options={"key": {}})


KILLED = """
import ijk, os, signal, sys, threading, time
options = eval(sys.argv[2])
u = ijk.BigTensor.open(sys.argv[1] + "a.zarr", storage_options=options)
def kill():
    time.sleep(float(sys.argv[3]))
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=kill).start()
(u @ u).write(sys.argv[1] + "c.zarr", workers=1, storage_options=options)
"""


@bucket_only
def test_a_run_that_is_killed_continues(bucket, tmp_path):
    array = values((60, 60))
    bucket.upload(written(tmp_path / "a", array, (6, 6)), "a.zarr")
    for seconds in [1.5, 2.5]:
        subprocess.run([sys.executable, "-c", KILLED, bucket.url(""), repr(bucket.options), str(seconds)])
    u = ijk.BigTensor.open(bucket.url("a.zarr"), storage_options=bucket.options)
    (u @ u).write(bucket.url("c.zarr"), storage_options=bucket.options)
    found = zarr.open_array(bucket.download("c.zarr", tmp_path / "c"), mode="r")
    np.testing.assert_array_equal(found[:], array @ array)


FORKED = """
import ijk, os, sys
import numpy as np
url, options = sys.argv[1], eval(sys.argv[2])
u = ijk.BigTensor.open(url + "a.zarr", storage_options=options)
whole = u.collect()
children = []
for n in range(3):
    child = os.fork()
    if child == 0:
        same = np.array_equal(u.collect(), whole)
        (u @ u).write(f"{url}c{n}.zarr", storage_options=options)
        os._exit(0 if same else 1)
    children.append(child)
(u @ u).write(url + "c.zarr", storage_options=options)
sys.exit(sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


@bucket_only
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forked_children_read_and_write_a_bucket(bucket, tmp_path):
    array = values((30, 30))
    bucket.upload(written(tmp_path / "a", array, (6, 6)), "a.zarr")
    arguments = [bucket.url(""), repr(bucket.options)]
    done = subprocess.run(
        [sys.executable, "-c", FORKED, *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for name in ["c", "c0", "c1", "c2"]:
        found = zarr.open_array(bucket.download(f"{name}.zarr", tmp_path / name), mode="r")
        np.testing.assert_array_equal(found[:], array @ array)


@bucket_only
def test_results_join_groups_that_xarray_opens(bucket, tmp_path):
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset({"t": (("time", "x"), values((6, 4)), {"units": "K"})}, {"x": values(4)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.to_zarr(tmp_path / "g", zarr_format=3, consolidated=True)
    bucket.upload(tmp_path / "g", "g.zarr")
    t = ijk.BigTensor.open(bucket.url("g.zarr/t"), storage_options=bucket.options)
    (t + t).write(bucket.url("g.zarr/twice"), storage_options=bucket.options)
    t.write(bucket.url("g.zarr/copy"), storage_options=bucket.options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = xarray.open_zarr(bucket.download("g.zarr", tmp_path / "found"), consolidated=True)
    assert found["twice"].dims == found["copy"].dims == ("time", "x")
    assert found["copy"].attrs == {"units": "K"}
    np.testing.assert_array_equal(found["twice"], 2 * data["t"])


@bucket_only
@pytest.mark.skipif(IJK is None, reason="IJK does not name the command `ijk`")
def test_the_command(bucket, tmp_path):
    array = values((20, 20))
    bucket.upload(written(tmp_path / "a", array, (8, 8)), "a.zarr")
    environment = os.environ | bucket.environment()

    def run(*arguments):
        return subprocess.run([IJK, *arguments], env=environment, capture_output=True, text=True, cwd=tmp_path)

    done = run("einsum", "ik,kj->ij", bucket.url("a.zarr"), bucket.url("a.zarr"), "-o", bucket.url("c.zarr"))
    if "this build" in done.stderr or "scheme" in done.stderr:
        pytest.skip("the command is built without object stores")
    assert done.returncode == 0, done.stderr
    done = run("eval", "ij~ij", bucket.url("c.zarr"), "-o", "c.npy")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), array @ array)


def test_arrays_on_web_servers_are_read(web):
    directory, address = web
    array = values((23, 17))
    written(directory / "a b.zarr", array, (8, 5))
    written(directory / "s.zarr", array, (4, 4), shards=(8, 8))
    for name in ["a%20b.zarr", "s.zarr"]:
        found = ijk.BigTensor.open(f"{address}/{name}")
        np.testing.assert_array_equal(found.collect(), array)
        np.testing.assert_array_equal((found.T @ found).collect(), array.T @ array)
    np.testing.assert_array_equal(ijk.BigTensor.open(f"{address}/s.zarr").reblock([4, 4]).collect(), array)
    with pytest.raises(ijk.StoreError, match="it has no zarr.json"):
        ijk.BigTensor.open(f"{address}/none.zarr")
    with pytest.raises(ijk.StoreError, match="web servers are read, but not written"):
        found.write(f"{address}/out.zarr")
    (directory / "s.zarr/c/1/1").write_bytes(b"short")
    with pytest.raises(ijk.StoreError, match="s.zarr, file c/1/1: "):
        ijk.BigTensor.open(f"{address}/s.zarr").collect()


CODECS = {
    "none": None,
    "zlib": {"id": "zlib", "level": 1},
    "gzip": {"id": "gzip", "level": 1},
    "zstd": {"id": "zstd", "level": 1},
    "lz4": {"id": "lz4"},
    "blosc": {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 1},
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dtype", ["|b1", "<i4", ">i8", ">f4", "<f8", "<c8", ">c16"])
@pytest.mark.parametrize("order, separator", [("C", "."), ("F", "/")])
def test_format_2(tmp_path, codec, dtype, order, separator):
    numcodecs = pytest.importorskip("numcodecs")
    array = values((9, 7)).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = zarr.create_array(
            tmp_path / "a.zarr",
            shape=array.shape,
            chunks=(4, 3),
            dtype=dtype,
            order=order,
            zarr_format=2,
            compressors=CODECS[codec] and numcodecs.get_codec(CODECS[codec]),
            chunk_key_encoding={"name": "v2", "separator": separator},
            attributes={"units": "m", "_ARRAY_DIMENSIONS": ["y", "x"]},
        )
        made[:] = array
    found = ijk.BigTensor.open(tmp_path / "a.zarr")
    np.testing.assert_array_equal(found.collect(), array)
    found.write(tmp_path / "b.zarr")
    copy = zarr.open_array(tmp_path / "b.zarr", mode="r")
    assert copy.metadata.dimension_names == ("y", "x") and dict(copy.attrs) == {"units": "m"}
    np.testing.assert_array_equal(copy[:], array)


def test_format_2_in_groups_with_missing_chunks(tmp_path):
    xarray = pytest.importorskip("xarray")
    array = values((6, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xarray.Dataset({"t": (("time", "x"), array)}).to_zarr(tmp_path / "g", zarr_format=2)
        zarr.create_array(tmp_path / "g/e", shape=(4, 4), chunks=(2, 2), dtype="f8", zarr_format=2, fill_value=np.nan)
    np.testing.assert_array_equal(ijk.BigTensor.open(tmp_path / "g/t").collect(), array)
    assert np.isnan(ijk.BigTensor.open(tmp_path / "g/e").collect()).all()
    with pytest.raises(ijk.StoreError, match="it is a group, no array; it holds e, t"):
        ijk.BigTensor.open(tmp_path / "g")
    with pytest.raises(ijk.StoreError, match="in a Zarr group of format 2"):
        ijk.BigTensor(array).write(tmp_path / "g/new")
    metadata = json.loads((tmp_path / "g/t/.zarray").read_text())
    metadata["compressor"] = {"id": "bz2", "level": 1}
    (tmp_path / "g/t/.zarray").write_text(json.dumps(metadata))
    with pytest.raises(ijk.StoreError, match="codec of format 2 `bz2` is not supported; those that are: blosc, gzip"):
        ijk.BigTensor.open(tmp_path / "g/t")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_are_read(tmp_path, compression):
    array = values((23, 17))
    store = zarr.storage.ZipStore(tmp_path / "a.zarr.zip", mode="w", compression=compression)
    with store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.create_group(store)
        for name, options in [("t", {}), ("deep/s", {"shards": (8, 8)})]:
            group.create_array(name, shape=array.shape, chunks=(4, 4), dtype="float64", **options)[:] = array
    for name in ["t", "deep/s"]:
        found = ijk.BigTensor.open(tmp_path / "a.zarr.zip" / name)
        np.testing.assert_array_equal(found.collect(), array)
        np.testing.assert_array_equal(found.reblock([4, 8]).collect(), array)
    with pytest.raises(ijk.StoreError, match="it is a group, no array; it holds deep/s, t"):
        ijk.BigTensor.open(tmp_path / "a.zarr.zip")
    with pytest.raises(ijk.StoreError, match="arrays are not added to archives"):
        found.write(tmp_path / "a.zarr.zip" / "new")
    with pytest.raises(ijk.StoreError, match="no such archive"):
        ijk.BigTensor.open(tmp_path / "new.zarr.zip")
    (tmp_path / "b.zarr.zip").write_bytes((tmp_path / "a.zarr.zip").read_bytes()[:-40])
    with pytest.raises(ijk.StoreError, match="it is no archive that can be read"):
        ijk.BigTensor.open(tmp_path / "b.zarr.zip/t")
    damaged = bytearray((tmp_path / "a.zarr.zip").read_bytes())
    damaged[len(damaged) // 3] ^= 1
    (tmp_path / "c.zarr.zip").write_bytes(damaged)
    try:
        for name in ["t", "deep/s"]:
            found = ijk.BigTensor.open(tmp_path / "c.zarr.zip" / name).collect()
            np.testing.assert_array_equal(found, array)
    except ijk.StoreError as error:
        assert "c.zarr.zip" in str(error)


@pytest.mark.parametrize("options", [{}, {"compression": 3}, {"compression": 1, "shards": [4, 8]}])
def test_archives_are_written(tmp_path, options):
    array = values((40, 30))
    u = ijk.BigTensor(array, [8, 8])
    path = tmp_path / "a.zarr.zip"
    for _ in range(2):
        (u @ u.T).write(path, **options)
    assert os.listdir(tmp_path) == ["a.zarr.zip"]
    with zarr.storage.ZipStore(path, mode="r") as store:
        found = zarr.open_array(store, mode="r")
        assert found.chunks == ((4, 8) if "shards" in options else (8, 8))
        np.testing.assert_array_equal(found[:], array @ array.T)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    with pytest.raises(ijk.StoreError, match="(?s)another computation's result.*pass overwrite=True"):
        u.write(path, **options)
    u.write(path, overwrite=True, **options)
    np.testing.assert_array_equal(ijk.BigTensor.open(path).collect(), array)


@pytest.mark.parametrize("codec", ["zstd", "gzip", "blosc", "crc32c"])
@pytest.mark.parametrize("shards", [None, (8, 8)])
def test_results_are_stored_like_their_inputs(tmp_path, codec, shards):
    codecs = {
        "zstd": zarr.codecs.ZstdCodec(level=3),
        "gzip": zarr.codecs.GzipCodec(level=2),
        "blosc": zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle"),
        "crc32c": zarr.codecs.Crc32cCodec(),
    }
    array = np.repeat(values((24, 8)), 3, axis=1)
    written(tmp_path / "a.zarr", array, (4, 4) if shards else (8, 8), shards=shards, compressors=[codecs[codec]])
    found = ijk.BigTensor.open(tmp_path / "a.zarr")
    (found + found).write(tmp_path / "b.zarr", compression="same")
    result = zarr.open_array(tmp_path / "b.zarr", mode="r")
    source = zarr.open_array(tmp_path / "a.zarr", mode="r")
    assert (result.chunks, result.shards) == (source.chunks, source.shards)
    assert [type(codec) for codec in result.compressors] == [type(codec) for codec in source.compressors]
    np.testing.assert_array_equal(result[:], 2 * array)
    (found + found).write(tmp_path / "c.zarr", compression=3, shards=[2, 4])
    result = zarr.open_array(tmp_path / "c.zarr", mode="r")
    assert (result.chunks, result.shards) == ((2, 4), (8, 8))
    np.testing.assert_array_equal(result[:], 2 * array)
    with pytest.raises(ijk.StoreError, match="chunks of 3 do not divide blocks of 8 on axis 1"):
        found.write(tmp_path / "d.zarr", shards=[2, 3])
