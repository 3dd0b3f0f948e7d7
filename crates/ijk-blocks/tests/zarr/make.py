"""Writes the arrays that tests/zarr.rs reads, with zarr-python 3: `pip install 'zarr>=3' && python make.py`.

All have the elements 1, 2, … 12 in shape (3, 4), in chunks of (2, 3), but for the last row of `missing`.
"""

import pathlib

import numpy as np
import zarr
from zarr import codecs

HERE = pathlib.Path(__file__).parent
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
    for name, chain in CODECS.items():
        create(name, chain)[:] = values
    dotted = {"name": "v2", "separator": "."}
    create("dotted", chunk_key_encoding=dotted)[:] = values
    create("missing", fill_value=np.nan)[:2] = values[:2]
