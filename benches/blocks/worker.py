"""One run of Dask in a process of its own: `python -m blocks.worker CASE WAY SCALE THREADS A B OUT`.

It prints the seconds of the run, without those in which Python loads its libraries.
"""

import resource
import sys
import time

import dask
import dask.array as da

from .cases import all_cases
from .data import create

# Memory limit of a run, so that the machine stays usable.
LIMIT = 16 << 30


def main():
    number, way, scale, threads, first, second, out = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    case = all_cases(int(scale))[int(number)]
    with dask.config.set(scheduler="threads", num_workers=int(threads)):
        start = time.perf_counter()
        result = case.dask[way](da, da.from_zarr(first), da.from_zarr(second))
        extents, chunks = case.result
        result.rechunk(chunks).store(create(out, extents, chunks), lock=False)
        print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
