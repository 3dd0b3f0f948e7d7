"""Calls in a process that has little memory left: each computes or raises MemoryError, and none ends the process."""

import os
import subprocess
import sys
import textwrap

import pytest

CODE = textwrap.dedent(
    """
    import sys
    import numpy as np, ijk, resource
    left, case = int(sys.argv[1]) << 20, sys.argv[2]
    a = np.ones((1024, 1024))
    cases = {
        "product": lambda: ijk.einsum("ij,jk->ik", a, a),
        "integers": lambda: ijk.einsum("ij,jk->ik", a.astype("i8"), a.astype("i8")),
        "softmax": lambda: ijk.i("(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij")(a),
        "permutation": lambda: ijk.i("abc~cba")(a.reshape(128, 64, 128)),
        "many threads": lambda: ijk.einsum("ij,jk->ik", a, a, engine=ijk.Engine(threads=64)),
        "gather": lambda: ijk.et("y[i[p],c]=x[p,c]")(x=a, i=np.arange(1024)[::-1].copy()),
        "scatter": lambda: ijk.et("y[i[p],c]+=x[p,c]")(x=a, i=np.arange(1024) // 2),
        "convolution": lambda: ijk.i("[i+k]*k~ik . +ik~i")(a.ravel(), np.ones(64)),
        "network": lambda: ijk.einsum("abc,cde,efg,gha->bdfh", *[np.ones((24, 24, 24))] * 4),
        "blocks": lambda: ijk.BigTensor.einsum(
            "ij,jk->ik", ijk.BigTensor(a, [256, 256]), ijk.BigTensor(a, [256, 256])
        ).collect(),
    }
    ijk.einsum("ij,jk->ik", a[:8, :8], a[:8, :8])
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + left,) * 2)
    try:
        cases[case]()
        print("computed")
    except MemoryError:
        print("refused")
    """
)

CASES = [
    "product",
    "integers",
    "softmax",
    "permutation",
    "many threads",
    "gather",
    "scatter",
    "convolution",
    "network",
    "blocks",
]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell what is taken")
@pytest.mark.parametrize("case", CASES)
def test_no_call_ends_the_process(case):
    for left in (1, 3, 8, 10, 14, 24, 60):
        done = subprocess.run([sys.executable, "-c", CODE, str(left), case], capture_output=True, text=True, timeout=300)
        told = done.stdout.strip()
        assert done.returncode == 0 and told in ("computed", "refused"), (left, done.returncode, done.stderr[-500:])
