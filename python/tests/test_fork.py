"""Forks: children of a process whose threads compute."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

HERE = Path(__file__).parent


def run(code, *args):
    """Runs a program of its own, since a fork of the tests' process would be one of all its threads."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *args], capture_output=True, text=True, timeout=600, cwd=HERE
    )


def test_children_of_a_process_of_threads_compute():
    code = """
        import soak_forks, sys
        sys.exit(soak_forks.forks(40))
    """
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_a_child_starts_helpers_of_its_own():
    code = """
        import os, sys, warnings
        import numpy as np, ijk
        warnings.simplefilter("ignore")
        b = np.random.rand(600, 600)
        engine = ijk.Engine(threads=3)
        count = lambda: len(os.listdir("/proc/self/task"))
        def helpers():
            before = count()
            for _ in range(5):
                result = ijk.einsum("ij,jk->ik", b, b, engine=engine)
            return count() - before, result
        here, expected = helpers()
        child = os.fork()
        if child == 0:
            there, result = helpers()
            os._exit(0 if there == here and np.array_equal(result, expected) else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("threads cannot be counted")
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_memory_of_the_parent_may_return_in_the_child():
    code = """
        import gc, os, sys
        import numpy as np, ijk
        engine = ijk.Engine()
        x = np.random.rand(1 << 18)
        kept = [engine and ijk.i("i*2~i")(x) for _ in range(4)]
        child = os.fork()
        if child == 0:
            kept.clear(); gc.collect()
            again = ijk.i("i*2~i")(x)
            os._exit(not np.array_equal(again, 2 * x))
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_grandchildren_compute():
    code = """
        import os, sys
        import numpy as np, ijk
        a = np.random.rand(300, 300)
        expected = ijk.einsum("ij,jk->ik", a, a)
        def generation(n):
            same = np.array_equal(ijk.einsum("ij,jk->ik", a, a), expected)
            if n == 0 or not same:
                return int(not same)
            child = os.fork()
            if child == 0:
                os._exit(generation(n - 1))
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.exit(generation(3))
    """
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_a_fork_that_comes_back_from_a_signal_handler_ends_the_call_in_the_child():
    code = """
        import os, signal, sys
        import numpy as np, ijk
        a = np.ones((1500, 1500))
        children = []
        def handler(*_):
            children.append(os.fork())
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            for _ in range(20 if not children else 0):
                ijk.einsum("ij,jk,kl,lm->im", a, a, a, a)
                if children:
                    break
            ended = False
        except KeyboardInterrupt:
            ended = True
        if children and children[0] == 0:
            os._exit(0)
        sys.exit(not children or os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) or ended)
    """
    done = run(code)
    assert done.returncode == 0, done.stderr
