"""Forks among threads that compute: `python python/tests/soak_forks.py [FORKS]` in the environment of the package.

Every child computes in the engine it inherited; none may wait for what threads of its parent held.
"""

import os
import signal
import sys
import threading
import time
import warnings

import numpy as np

import ijk

# What a child may take, some thousand times what it needs.
PATIENCE = 60


def compute(large, small):
    """One call of each kind: shared panels, plans that are kept, memory of results that returns, programs, tuples."""
    ijk.einsum("ij,jk->ik", large, large)
    ijk.einsum("ij,jk->ik", small, small)
    ijk.einsum("ij,kj->ijk", small, small)
    ijk.i("(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij")(large)
    ijk.et("y[i[p],c] = x[p,c]")(x=large, i=np.arange(len(large))[::-1].copy())


def ends(child):
    """Whether a child ends well in time; else it is killed."""
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def forks(count, threads=3):
    """Forks so many times while threads compute; gives how many children failed or hung."""
    warnings.simplefilter("ignore", DeprecationWarning)
    large, small = np.random.rand(200, 200), np.random.rand(40, 40)
    expected = ijk.einsum("ij,jk->ik", large, large)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            compute(large, small)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    bad = 0
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                compute(large, small)
                os._exit(not np.array_equal(ijk.einsum("ij,jk->ik", large, large), expected))
            bad += not ends(child)
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    return bad


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    bad = forks(count)
    print(f"{count} forks among threads: {bad} children failed or hung")
    sys.exit(bad > 0)
