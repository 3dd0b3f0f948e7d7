"""Programs and engines: pickled, copied, in other processes."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest

import ijk

X = np.arange(6.0).reshape(2, 3)
MANY = "mm: m.a; m: ik*kj~ijk; a: +ijk~ij; mm"


def programs():
    multiply, add = ijk.i("ik*kj~ijk"), ijk.i("+ijk~ij")
    return {
        "text": ijk.i("+ij~i"),
        "bindings": ijk.i(MANY),
        "chain": multiply >> add,
        "composed": add << multiply,
        "several": ~(ijk.i(MANY) & (multiply >> add)) >> (ijk.i("ij~ji") | ijk.i("I")),
        "braces": ijk.i("+[i+k{2}]~i") >> ijk.i("i~i"),
        "names in braces": ijk.i("+([i+k{n}]*k{n})~i"),
    }


def again(program, protocol):
    return pickle.loads(pickle.dumps(program, protocol))


def results(program, arguments):
    made = program(*arguments)
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", programs())
def test_components_are_pickled(name, protocol):
    program = programs()[name]
    arguments = {1: [X], 2: [X, X.T.copy()]}[program.arity]
    if program.signature.startswith("(T[1]"):
        arguments = [X[0], X[0, :2]][: program.arity]
    same = again(program, protocol)
    assert type(same) is ijk.Component and same.signature == program.signature
    assert same.steps() == program.steps()
    for expected, found in zip(results(program, arguments), results(same, arguments), strict=True):
        assert np.array_equal(found, expected)
    assert again(same, protocol).steps() == program.steps()


def test_what_else_is_pickled():
    program = ijk.et("# transposes\ny[p,q] = x[q,p]\n\ny\n\nDIMS(p) = 3")
    assert again(program, 4).source == program.source
    assert np.array_equal(again(program, 2)(x=X)["y"], X.T)
    engine = again(ijk.Engine(threads=3, memory_limit=10**6, strict=True), 4)
    assert (engine.threads, engine.memory_limit, engine.strict) == (3, 10**6, True)
    assert ijk.einsum("ij,kj->ik", X, X, engine=engine).shape == (2, 2)
    assert again(ijk.Engine(), 4).__reduce__()[1] == (0, None, False)
    einsum = again(ijk.Einsum([[0, 1], [1, ...], [2]], [0, ...], [(0, 2), (0, 1)]), 4)
    assert einsum.lists() == ([[0, 1], [1, ...], [2]], [0, ...]) and einsum(X, X.T.copy(), X[0]).shape == (2, 2)
    with pytest.raises(ijk.Error) as error:
        ijk.i("ik*kj~ij")
    assert str(again(error.value, 4)) == str(error.value) and type(again(error.value, 4)) is ijk.Error


def test_compositions_may_be_deep():
    program = step = ijk.i("i+1~i")
    for _ in range(20_000):
        program = program >> step
    steps = program.steps()
    assert len(steps) == 20_001 and len(set(map(str, steps))) == 20_001
    assert again(program, 4).steps() == steps
    del program
    gc.collect()
    doubled = ijk.i("i+i~i")
    twice = ijk.i("i*2~i")
    for _ in range(60):
        twice = twice >> ijk.i("i~i")
    assert again(twice, 4)(X[0]).tolist() == [0, 2, 4] and again(doubled, 4).arity == 2
    fan = ijk.i("i+1~i")
    for _ in range(10):
        fan = fan | fan
    assert len(fan.steps()) == 11


def test_copies_are_the_same():
    for value in (*programs().values(), ijk.et("y[p] = x[p]"), ijk.Engine(2), ijk.BigTensor(X)):
        assert copy.copy(value) is value and copy.deepcopy(value) is value
        assert copy.deepcopy({"value": [value]})["value"][0] is value
        assert weakref.ref(value)() is value


def test_names():
    assert ijk.i("ij~ji").__name__ == "component" and ijk.et("y[p] = x[p]").__name__ == "program"
    assert ijk.i("ij~ji").source == "ij~ji" and (ijk.i("ij~ji") >> ijk.i("ij~ji")).source is None


def run(code, *args):
    path = os.pathsep.join(filter(None, [os.path.dirname(os.path.dirname(ijk.__file__)), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *args], input=textwrap.dedent(code), text=True, capture_output=True, timeout=600,
        env={**os.environ, "PYTHONPATH": path},
    )


POOL = """
    import multiprocessing, sys
    import numpy as np, ijk

    product = ijk.i("ik*kj~ijk") >> ijk.i("+ijk~ij")
    engine = ijk.Engine(threads=2, memory_limit=10**8)
    tuples = ijk.et("y[i,j] = x[i,k] * x[j,k]")

    def with_engine(engine_and_x):
        engine, x = engine_and_x
        return ijk.einsum("ij,kj->ik", x, x, engine=engine)

    def refuses(x):
        return product(x, x)

    def main(method):
        xs = [np.random.default_rng(n).integers(0, 9, (300, 300)).astype("f8") for n in range(6)]
        # Threads of this process's engines are there before it forks.
        assert np.array_equal(product(xs[0], xs[0]), xs[0] @ xs[0])
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert all(map(np.array_equal, pool.starmap(product, [(x, x) for x in xs]), [x @ x for x in xs]))
            assert all(map(np.array_equal, pool.map(with_engine, [(engine, x) for x in xs]), [x @ x.T for x in xs]))
            ran = pool.map(ijk.i("+ij~i"), xs)
            assert all(map(np.array_equal, ran, [x.sum(1) for x in xs]))
            sent = pool.apply(tuples, kwds={"x": xs[0]})["y"]
            assert np.array_equal(sent, xs[0] @ xs[0].T)
            try:
                pool.map(refuses, [np.ones((2, 3))])
            except ijk.Error as error:
                assert "letter `k`" in str(error)
            else:
                raise AssertionError("nothing was raised")
        assert np.array_equal(product(xs[1], xs[1]), xs[1] @ xs[1])
        print("fine")

    if __name__ == "__main__":
        main(sys.argv[1])
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(method, tmp_path):
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"the system has no {method}")
    script = tmp_path / "pool.py"
    script.write_text(textwrap.dedent(POOL))
    done = run("", script, method)
    assert done.stdout.strip() == "fine", done.stderr


def test_children_use_what_their_parent_made():
    if not hasattr(os, "fork"):
        pytest.skip("the system has no fork")
    done = run(
        """
        import os, pickle, sys
        import numpy as np, ijk
        x = np.random.rand(200, 200)
        engine, product = ijk.Engine(threads=2), ijk.i("+(ik*kj)~ij")
        before = product(x, x, engine=engine)
        child = os.fork()
        if child == 0:
            same = pickle.loads(pickle.dumps((engine, product)))
            fine = np.array_equal(product(x, x, engine=engine), before)
            fine &= np.array_equal(same[1](x, x, engine=same[0]), before)
            os._exit(0 if fine else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        "-",
    )
    assert done.returncode == 0, done.stderr
