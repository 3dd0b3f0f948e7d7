"""opt_einsum's own tests of contractions, with backend="ijk" where they name none.

python opt_einsums_own.py [pytest's options]: exits with 0 if all pass that pass with NumPy.
"""

import functools
import sys

import opt_einsum
from counted import run

import ijk

#: The files, of opt_einsum/tests.
FILES = ["contract", "edge_cases", "input", "blas", "sharing"]


class Calls:
    """Counts the calls of what opt_einsum looks for in a backend."""

    def __init__(self):
        self.made = 0
        for name in ("einsum", "tensordot", "transpose"):
            setattr(ijk, name, self.counted(getattr(ijk, name)))

    def counted(self, function):
        @functools.wraps(function)
        def call(*arguments, **options):
            self.made += 1
            return function(*arguments, **options)

        return call


def with_backend(function):
    """The function with ijk as the backend that it has by default."""

    @functools.wraps(function)
    def call(*arguments, **options):
        if options.get("backend", "auto") == "auto":
            options["backend"] = "ijk"
        return function(*arguments, **options)

    return call


def main():
    calls = Calls()
    module = sys.modules["opt_einsum.contract"]
    module.contract = opt_einsum.contract = with_backend(opt_einsum.contract)
    module.ContractExpression.__call__ = with_backend(module.ContractExpression.__call__)
    files = [f"opt_einsum.tests.test_{name}" for name in FILES]
    count = run(files, ["--tb=short", *sys.argv[1:]])
    count.tell("opt_einsum's")
    print(f"ijk was called {calls.made} times; NumPy computed {sum(ijk.fallbacks.values())} of them")
    sys.exit(bool(count.failed) or calls.made == 0)


if __name__ == "__main__":
    main()
