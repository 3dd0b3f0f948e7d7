"""A contestant in a process of its own: `python -m networks.worker ijk|torch|jax THREADS`.

It reads a JSON object a line and answers each with one. Its standard output is for these alone.
"""

import functools
import itertools
import json
import os
import sys
import time

import numpy as np

from peers import clock

from .data import arrays, steps, subscripts
from .generate import network


class Ijk:
    """ijk.einsum."""

    def __init__(self, threads):
        import ijk

        self.ijk = ijk
        self.engine = None
        if threads < (os.cpu_count() or 1):
            self.engine = ijk.Engine(threads=threads)
        # Other letters for every search, so that no plan is cached.
        self.shifts = itertools.count(1)

    def array(self, array):
        return array

    def numpy(self, result):
        return np.asarray(result)

    def run(self, text, arrays, optimize):
        return self.ijk.einsum(text, *arrays, optimize=optimize, engine=self.engine)

    def path(self, net, arrays):
        """The path that ijk finds."""
        return [list(step) for step in self.ijk.einsum_path(subscripts(net), *arrays)[0][1:]]

    def along(self, net, arrays, path):
        """Ways to run a path."""
        text = subscripts(net)
        return {"einsum": lambda: self.run(text, arrays, path)}

    def found(self, net, arrays):
        """Ways to find a path and run it: each with the seconds of a compilation, which it does not
        repeat."""
        again = lambda: self.run(subscripts(net, next(self.shifts)), arrays, True)
        return {"einsum": (again, 0.0)}


class Torch:
    """PyTorch: pair by pair, and by opt_einsum."""

    def __init__(self, threads):
        import opt_einsum
        import torch

        torch.set_num_threads(threads)
        torch.autograd.grad_mode.set_grad_enabled(False)
        self.torch, self.opt_einsum = torch, opt_einsum

    def array(self, array):
        return self.torch.from_numpy(array)

    def numpy(self, result):
        return result.contiguous().numpy()

    def along(self, net, arrays, path):
        program = steps(net, path)
        einsum = self.torch.einsum

        def pairwise():
            left = list(arrays)
            for positions, text in program:
                taken = [left[at] for at in positions]
                for at in reversed(positions):
                    del left[at]
                left.append(einsum(text, *taken))
            return left[0]

        shapes = [array.shape for array in arrays]
        expression = self.opt_einsum.contract_expression(subscripts(net), *shapes, optimize=list(path))
        return {"pairwise": pairwise, "opt_einsum": lambda: expression(*arrays, backend="torch")}

    def found(self, net, arrays):
        def contract(optimize):
            text = subscripts(net)
            return lambda: self.opt_einsum.contract(text, *arrays, optimize=optimize, backend="torch")

        return {optimize: (contract(optimize), 0.0) for optimize in ("auto", "auto-hq")}


class Jax:
    """JAX on the processor, compiled: pair by pair, and by opt_einsum."""

    def __init__(self, _threads):
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as jnp
        import opt_einsum

        jax.config.update("jax_default_matmul_precision", "highest")
        self.jax, self.jnp, self.opt_einsum = jax, jnp, opt_einsum

    def array(self, array):
        return self.jnp.asarray(array)

    def numpy(self, result):
        return np.asarray(result)

    def compiled(self, function, arrays):
        """A function without arguments, and the seconds of its compilation."""
        start = time.perf_counter()
        compiled = self.jax.jit(function).lower(*arrays).compile()
        seconds = time.perf_counter() - start
        return lambda: compiled(*arrays).block_until_ready(), seconds

    def expression(self, net, arrays, path):
        shapes = [array.shape for array in arrays]
        expression = self.opt_einsum.contract_expression(subscripts(net), *shapes, optimize=list(path))
        return lambda *arrays: expression(*arrays, backend="jax")

    def along(self, net, arrays, path):
        program = steps(net, path)

        def pairwise(*arrays):
            left = list(arrays)
            for positions, text in program:
                taken = [left[at] for at in positions]
                for at in reversed(positions):
                    del left[at]
                left.append(self.jnp.einsum(text, *taken))
            return left[0]

        ways = {"pairwise": pairwise, "opt_einsum": self.expression(net, arrays, path)}
        return {name: self.compiled(way, arrays)[0] for name, way in ways.items()}

    def found(self, net, arrays):
        shapes = [array.shape for array in arrays]
        found = {}
        for optimize in ("auto", "auto-hq"):
            search = functools.partial(
                self.opt_einsum.contract_path, subscripts(net), *shapes, shapes=True, optimize=optimize
            )
            run, compilation = self.compiled(self.expression(net, arrays, search()[0]), arrays)
            found[optimize] = (lambda run=run, search=search: (search(), run())[1], compilation)
        return found


CONTESTANTS = {"ijk": Ijk, "torch": Torch, "jax": Jax}


class Worker:
    """Answers requests."""

    def __init__(self, contestant):
        self.contestant = contestant
        self.net, self.arrays, self.runs, self.batches = None, [], {}, {}

    def load(self, name):
        """Makes a network's operands."""
        self.net, self.runs, self.batches = network(name), {}, {}
        self.arrays = [self.contestant.array(array) for array in arrays(self.net)]
        return {}

    def path(self):
        return {"path": self.contestant.path(self.net, self.arrays)}

    def along(self, path):
        """Prepares the ways to run a path."""
        path = tuple(tuple(step) for step in path)
        ways = self.contestant.along(self.net, self.arrays, path)
        return self.ready("path", {name: (run, 0.0) for name, run in ways.items()})

    def found(self):
        """Prepares the ways that search for a path."""
        return self.ready("found", self.contestant.found(self.net, self.arrays))

    def ready(self, mode, ways):
        """Answers with the prepared ways and the seconds of their compilations."""
        self.runs |= {f"{mode} {name}": run for name, (run, _) in ways.items()}
        for key in (f"{mode} {name}" for name in ways):
            self.batches[key] = clock.batch(self.runs[key])
        return {"ways": {f"{mode} {name}": seconds for name, (_, seconds) in ways.items()}}

    def run(self, way, seconds):
        """The median time of runs that are repeated for some seconds."""
        return {"seconds": clock.during(self.runs[way], self.batches[way], seconds)}

    def result(self, way, file):
        np.save(file, self.contestant.numpy(self.runs[way]()))
        return {}


def serve(name, threads):
    """Answers until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = None
    for line in itertools.chain(['{"do": null}\n'], sys.stdin):
        request = json.loads(line)
        try:
            if worker is None:
                worker = Worker(CONTESTANTS[name](threads))
                answer = {}
            else:
                answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
