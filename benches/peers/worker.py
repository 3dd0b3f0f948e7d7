"""A peer in a process of its own: `python -m peers.worker numpy|torch|jax THREADS`.

It reads a JSON object a line and answers each with one: `load` a case and its arrays, `run` it for a
while, write its `result`. Its standard output is for these answers alone.
"""

from __future__ import annotations

import json
import os
import sys
import types

from . import clock
from .case import ARGUMENTS, Case


class Numpy:
    """NumPy."""

    def __init__(self, _threads: int):
        import numpy

        self.version = numpy.__version__
        self.names = {"np": numpy}

    def load(self, array):
        return array

    def functions(self, case: Case, arguments: dict, names: dict):
        """Functions that run a case with new memory and with reused memory, and one for its result."""
        run = compiled(case.numpy, names | arguments)
        into, out = None, None
        if case.numpy_into:
            out = self.new_like(run())
            into = compiled(case.numpy_into, names | arguments | {"out": out})
        return run, into

    def new_like(self, result):
        np = self.names["np"]
        return np.empty(np.shape(result), result.dtype)

    def array(self, result):
        return result


class Torch(Numpy):
    """PyTorch, without gradients."""

    def __init__(self, threads: int):
        import torch
        import torch.nn.functional as F

        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        torch.autograd.grad_mode.set_grad_enabled(False)
        self.version = torch.__version__
        self.names = {"torch": torch, "F": F}

    def load(self, array):
        return self.names["torch"].from_numpy(array)

    def functions(self, case: Case, arguments: dict, names: dict):
        run = compiled(case.torch, names | arguments)
        into = None
        if case.torch_into:
            out = self.new_like(run())
            into = compiled(case.torch_into, names | arguments | {"out": out})
        return run, into

    def new_like(self, result):
        return self.names["torch"].empty(result.shape, dtype=result.dtype)

    def array(self, result):
        return result.contiguous().numpy()


class Jax(Numpy):
    """JAX on the processor, compiled; a donated array for reused memory."""

    def __init__(self, _threads: int):
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        self.version = jax.__version__
        self.names = {"jax": jax, "jnp": jnp}

    def load(self, array):
        return self.names["jnp"].asarray(array)

    def functions(self, case: Case, arguments: dict, names: dict):
        jax = self.names["jax"]
        parameters = list(arguments)
        values = list(arguments.values())
        plain = function(case.jax, parameters, names)
        fresh = jax.jit(plain)
        out = [fresh(*values)]
        spare = out[0].unsafe_buffer_pointer()
        giving = jax.jit(lambda _, *values: plain(*values), donate_argnums=0, keep_unused=True)

        def into():
            out[0] = giving(out[0], *values)
            return out[0].block_until_ready()

        into()
        reused = out[0].unsafe_buffer_pointer() == spare
        return lambda: fresh(*values).block_until_ready(), into if reused else None

    def array(self, result):
        import numpy

        return numpy.asarray(result)


PEERS = {"numpy": Numpy, "torch": Torch, "jax": Jax}


def function(expression: str, parameters: list[str], names: dict):
    """A function of the arguments."""
    return eval(f"lambda {', '.join(parameters)}: {expression}", names)


def compiled(expression: str, names: dict):
    """A function without arguments, bound to its inputs."""
    return eval(f"lambda: {expression}", names)


class Worker:
    """Answers requests."""

    def __init__(self, peer: Numpy):
        from . import functions

        self.peer = peer
        self.names = {**vars(functions), **peer.names}
        self.runs = {}
        self.batches = {}
        self.case = None

    def load(self, case: dict, files: list[str]) -> dict:
        """Prepares a case; answers with its modes."""
        import numpy as np

        self.drop()
        self.case = Case(**{k: v for k, v in case.items() if k != "inputs"}, inputs=[])
        arrays = [self.peer.load(np.load(file)) for file in files]
        names = self.names | {"n": types.SimpleNamespace(**self.case.sizes)}
        fresh, reused = self.peer.functions(self.case, dict(zip(ARGUMENTS, arrays)), names)
        self.runs = {"fresh": fresh} | ({"reused": reused} if reused else {})
        self.batches = {mode: clock.batch(run) for mode, run in self.runs.items()}
        return {"modes": list(self.runs)}

    def run(self, mode: str, seconds: float) -> dict:
        """Runs for some seconds."""
        return {"seconds": clock.during(self.runs[mode], self.batches[mode], seconds)}

    def result(self, file: str) -> dict:
        """Writes the result of the case."""
        import numpy as np

        np.save(file, np.asarray(self.peer.array(self.runs["fresh"]()), order="C"))
        return {}

    def drop(self) -> dict:
        """Frees the arrays of the case before."""
        self.runs, self.batches, self.case = {}, {}, None
        return {}


def serve(name: str, threads: int) -> None:
    """Answers until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value: dict) -> None:
        print(json.dumps(value), file=answers, flush=True)

    try:
        worker = Worker(PEERS[name](threads))
    except Exception as error:
        return answer({"error": f"{type(error).__name__}: {error}"})
    answer({"version": worker.peer.version})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer(getattr(worker, request.pop("do"))(**request))
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
