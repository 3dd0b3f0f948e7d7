"""What an installed package must do; the argument is its version."""

import subprocess
import sys

import numpy as np

import ijk

assert ijk.__version__ == sys.argv[1], ijk.__version__
told = subprocess.run([sys.executable, "-m", "ijk", "--version"], capture_output=True, text=True)
assert told.stdout == f"ijk {sys.argv[1]}\n", told

a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
assert np.array_equal(ijk.einsum("ij,jk->ik", a, b), a @ b)
assert np.array_equal(ijk.i("ik*kj~ijk . +ijk~ij")(a, b), a @ b)
assert np.array_equal(ijk.et("y[p,q] = x[q,p]")(x=a)["y"], a.T)
assert np.array_equal(ijk.BigTensor(a, [1, None]).collect(), a)
try:
    ijk.i("ij~i")
except ijk.Error as error:
    assert "`j`" in str(error), error
else:
    raise AssertionError("a wrong program was accepted")
