"""Writes the arrays that tests/zarr.rs reads, with zarr-python 3: `pip install 'zarr>=3' && python make.py`.

All have the elements 1, 2, … 12 in shape (3, 4), in chunks of (2, 3), but for the last row of `missing`. With names only
those arrays are written: `python make.py numcodecs_zlib annotated`.
"""

import pathlib
import sys
import warnings

import numpy as np
import zarr
from zarr import codecs

try:
    from zarr.codecs import numcodecs as others
except ImportError:  # before 3.1.3
    from numcodecs import zarr3 as others

warnings.simplefilter("ignore")

HERE = pathlib.Path(__file__).parent
OTHERS = [codecs.BytesCodec(), others.Shuffle(elementsize=8), others.Zlib(level=9)]
CODECS = {
    "plain": [codecs.BytesCodec()],
    "zstd": [codecs.BytesCodec(), codecs.ZstdCodec(level=3, checksum=True)],
    "gzip": [codecs.BytesCodec(), codecs.GzipCodec(level=5)],
    "blosc": [codecs.BytesCodec(), codecs.BloscCodec(cname="lz4", typesize=8, shuffle="shuffle")],
    "crc32c": [codecs.BytesCodec(), codecs.Crc32cCodec()],
    "stacked": [codecs.BytesCodec(), codecs.GzipCodec(), codecs.ZstdCodec(), codecs.Crc32cCodec()],
    "transpose": [codecs.TransposeCodec(order=(1, 0)), codecs.BytesCodec(), codecs.ZstdCodec()],
    "big": [codecs.BytesCodec(endian="big")],
    "shards": [codecs.ShardingCodec(chunk_shape=(1, 3), codecs=[codecs.BytesCodec(), codecs.ZstdCodec()])],
    "shards_start": [
        codecs.ShardingCodec(chunk_shape=(2, 1), codecs=[codecs.BytesCodec()], index_location="start"),
    ],
    "numcodecs_zstd": [codecs.BytesCodec(), others.Zstd(level=3, checksum=True)],
    "numcodecs_blosc": [codecs.BytesCodec(), others.Blosc(cname="zstd", shuffle=1)],
    "numcodecs_gzip": [codecs.BytesCodec(), others.GZip(level=5)],
    "numcodecs_zlib": [codecs.BytesCodec(), others.Zlib(level=9)],
    "numcodecs_lz4": [codecs.BytesCodec(), others.LZ4()],
    "numcodecs_shuffle": [codecs.BytesCodec(), others.Shuffle(elementsize=8)],
    "numcodecs_stacked": OTHERS,
    "numcodecs_shards": [codecs.ShardingCodec(chunk_shape=(1, 3), codecs=OTHERS)],
}


def create(name, chain=(codecs.BytesCodec(),), **options):
    split = lambda kind: [codec for codec in chain if isinstance(codec, kind)]
    (serializer,) = split(zarr.abc.codec.ArrayBytesCodec)
    return zarr.create_array(
        HERE / name,
        shape=(3, 4),
        chunks=(2, 3),
        dtype=options.pop("dtype", "float64"),
        filters=split(zarr.abc.codec.ArrayArrayCodec),
        serializer=serializer,
        compressors=split(zarr.abc.codec.BytesBytesCodec),
        overwrite=True,
        **options,
    )


if __name__ == "__main__":
    values = np.arange(1, 13).reshape(3, 4)
    dotted = {"name": "v2", "separator": "."}
    annotations = {"dimension_names": ["time", "x"], "attributes": {"units": "m", "valid_max": np.nan}}
    arrays = {name: {"chain": chain} for name, chain in CODECS.items()}
    arrays |= {"dotted": {"chunk_key_encoding": dotted}, "missing": {"fill_value": np.nan}, "annotated": annotations}
    for name in sys.argv[1:] or arrays:
        rows = 2 if name == "missing" else 3
        create(name, **arrays[name])[:rows] = values[:rows]
