"""ijk and its peers as functions without arguments."""

from __future__ import annotations

import functools
import importlib
import os
import types
from importlib import metadata

import numpy as np

from .program import PEERS, Program


class Absent(Exception):
    """A library is not installed, or has no spelling of a program."""


class Numpy:
    """NumPy, and libraries on its arrays."""

    name = "numpy"

    def __init__(self, threads: int):
        self.names = {"np": np}
        self.version = np.__version__

    def load(self, array):
        """An array in the type of the library."""
        return array

    def spelling(self, program: Program):
        """An expression."""
        return getattr(program, self.name)

    def ready(self, program: Program, data: dict):
        """A function that runs it."""
        expression = self.spelling(program)
        if expression is None:
            raise Absent("no spelling")
        names = self.names | {name: self.load(array) for name, array in data.items()}
        return compiled(expression, prepared(self.name, program, names))

    def array(self, result):
        """The result as NumPy's."""
        return np.asarray(result)


class Torch(Numpy):
    """PyTorch, without gradients."""

    name = "torch"

    def __init__(self, threads: int):
        torch = importlib.import_module("torch")
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        torch.autograd.grad_mode.set_grad_enabled(False)
        self.names = {"torch": torch, "F": importlib.import_module("torch.nn.functional")}
        self.version = torch.__version__

    def load(self, array):
        return self.names["torch"].from_numpy(array)

    def array(self, result):
        return result.contiguous().numpy()


class Jax(Numpy):
    """JAX on the processor, compiled."""

    name = "jax"

    def __init__(self, threads: int):
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.names = {"jax": self.jax, "jnp": importlib.import_module("jax.numpy")}
        self.version = self.jax.__version__

    def ready(self, program: Program, data: dict):
        expression = self.spelling(program)
        if expression is None:
            raise Absent("no spelling")
        names = prepared(self.name, program, dict(self.names))
        run = self.jax.jit(eval(f"lambda {', '.join(data)}: {expression}", names))
        values = [self.names["jnp"].asarray(array) for array in data.values()]
        return lambda: run(*values).block_until_ready()


class Scipy(Numpy):
    """SciPy: sparse matrices, images, signals, special functions."""

    name = "scipy"

    def __init__(self, threads: int):
        parts = ("sparse", "ndimage", "special", "signal", "spatial.distance", "fft")
        self.names = {"np": np}
        for part in parts:
            self.names[part.split(".")[-1]] = importlib.import_module(f"scipy.{part}")
        self.names["scipy"] = importlib.import_module("scipy")
        self.version = self.names["scipy"].__version__


class Numba(Numpy):
    """Loops that Numba compiles, on one thread as they are written."""

    name = "numba"

    def __init__(self, threads: int):
        self.names = {"np": np, "jitted": importlib.import_module(".jitted", __package__)}
        self.version = importlib.import_module("numba").__version__


class Keops(Numpy):
    """PyKeOps: reductions of arrays that are not stored."""

    name = "keops"

    def __init__(self, threads: int):
        module = importlib.import_module("pykeops.numpy")
        self.names = {"np": np, "Lazy": module.LazyTensor}
        self.version = importlib.import_module("pykeops").__version__


class Tblis(Numpy):
    """TBLIS: contractions without copies, by subscripts of einsum."""

    name = "tblis"

    def __init__(self, threads: int):
        module = importlib.import_module("pytblis")
        module.set_num_threads(threads)
        self.names = {"np": np, "einsum": module.einsum}
        self.version = metadata.version("pytblis")

    def spelling(self, program: Program):
        if program.tblis or not program.einsum or program.call:
            return program.tblis
        return f"einsum({program.einsum!r}, {', '.join(program.inputs)})"


class Sesum(Tblis):
    """sesum, by subscripts of einsum."""

    name = "sesum"

    def __init__(self, threads: int):
        module = importlib.import_module("sesum")
        self.names = {"np": np, "einsum": module.sesum}
        self.version = metadata.version("sesum")

    def spelling(self, program: Program):
        if program.sesum or not program.einsum or program.call:
            return program.sesum
        return f"einsum({program.einsum!r}, {', '.join(program.inputs)})"


class Ijk(Numpy):
    """ijk as a Python package."""

    name = "ijk"

    def __init__(self, threads: int):
        self.ijk = importlib.import_module("ijk")
        self.engine = self.ijk.Engine(threads=threads)
        self.version = self.ijk.__version__

    def ready(self, program: Program, data: dict):
        source, engine, arrays = program.source(), self.engine, list(data.values())
        if program.front() == "einsum":
            f = functools.partial(self.ijk.einsum, source)
        else:
            f = getattr(self.ijk, program.front())(source)
        if program.call:
            return compiled(program.call, prepared(self.name, program, {"np": np, "f": f} | data))
        if program.front() != "et":
            return lambda: f(*arrays, engine=engine)
        return lambda: f(**data, engine=engine)["y"]


CONTESTANTS = {c.name: c for c in (Ijk, Numpy, Torch, Jax, Scipy, Numba, Keops, Tblis, Sesum)}
assert list(CONTESTANTS) == ["ijk", *PEERS]


def contestants(names: list[str], threads: int) -> tuple[list[Numpy], dict[str, str]]:
    """The available contestants, and why others are not available."""
    # Idle threads must not spin: they would take cores from the next contestant.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    found, missing = [], {}
    for name in names:
        try:
            found.append(CONTESTANTS[name](threads))
        except ImportError as error:
            missing[name] = str(error)
    return found, missing


def prepared(who: str, program: Program, names: dict) -> dict:
    """The names in scope of a spelling: functions, inputs, sizes, prepared values."""
    from . import functions

    names = {**vars(functions), **names, "n": types.SimpleNamespace(**program.extents())}
    for name, expression in program.before.items():
        owner, _, own = name.rpartition(".")
        if owner in ("", who):
            names[own] = eval(expression, names)
    return names


def compiled(expression: str, names: dict):
    """A function without arguments."""
    return eval(f"lambda: {expression}", names)
