"""Programs in i and in Einsum Tuple, and engines."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest

import ijk


def test_programs_in_i():
    softmax = ijk.i("(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij")
    x = np.random.default_rng(0).normal(size=(5, 7)).astype("f4")
    exp = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(softmax(x), exp / exp.sum(axis=1, keepdims=True), rtol=1e-5)
    assert softmax.arity == 1 and "T[2]" in softmax.signature
    assert softmax.shapes([(3, 4)]) == [(3, 4)]
    out = np.empty_like(x)
    assert softmax(x, out=out) is out and np.array_equal(out, softmax(x))
    assert np.array_equal(ijk.i("ij~ji")([[1, 2], [3, 4]]), [[1, 3], [2, 4]])


def test_combinators():
    multiply, add = ijk.i("ik*kj~ijk"), ijk.i("+ijk~ij")
    a, b = np.eye(2), np.arange(4.0).reshape(2, 2)
    assert np.array_equal((multiply >> add)(a, b), b)
    assert np.array_equal((add << multiply)(a, b), b)
    total, greatest = (ijk.i("+i~.") & ijk.i(">i~."))(np.array([1, 5, 2]))
    assert (total, greatest) == (8, 5)
    left, right = (ijk.i("-i~i") | ijk.i("i+1~i"))(np.array([1]), np.array([2]))
    assert (left[0], right[0]) == (-1, 3)
    assert (~ijk.i("i-i~i"))(np.array([1]), np.array([3]))[0] == 2


def test_loops():
    step = ijk.i("+(j*ij)~i")
    x, m = np.array([1.0, 2.0]), np.array([[0.5, 0.5], [1.0, -1.0]])
    powered = np.linalg.matrix_power(m, 5) @ x
    for program in (step**5, step.repeat(5), ijk.i("@repeat{5} (+(j*ij)~i)")):
        assert np.allclose(program(x, m), powered)
    decay, more = np.random.default_rng(0).normal(size=(2, 6, 3))
    states, state = [], np.zeros(3)
    for a, b in zip(decay, more):
        state = state * a + b
        states.append(state)
    recurrence = ijk.i("i*i~i . i+i~i")
    assert np.allclose(recurrence.scan()(np.zeros(3), decay, more), states)
    assert np.allclose(recurrence.fold()(np.zeros(3), decay, more), state)
    assert np.array_equal(recurrence.fold(rows=2)(np.zeros(3), decay[:0], more[:0]), np.zeros(3))
    powers = ijk.i("i*i~i").scan(rows=0, passes=3)
    assert np.array_equal(powers(np.array([1]), np.array([2])), [[2], [4], [8]])
    again = pickle.loads(pickle.dumps(powers >> ijk.i("+ij~j")))
    assert again(np.array([1]), np.array([2])) == [14]
    with pytest.raises(ijk.Error, match="next value of input 1"):
        ijk.i("+ij~i").repeat(2)
    with pytest.raises(ijk.Error, match="has 2 passes by axis 0 of argument 2, but 4"):
        ijk.i("i+i~i").fold(passes=4)(np.zeros(3), np.zeros((2, 3)))


def test_explanations_of_strides():
    sums, x = ijk.i("+ij~i"), np.zeros((500, 300), "f4")
    assert str(sums.explain(x)) != str(sums.explain(x.T.copy().T))


def test_programs_in_einsum_tuple():
    outputs = ijk.et("y[a] = x[a] * x[a]")(x=np.array([[1.0, 2.0]]), ranks={"a": 2})
    assert np.array_equal(outputs["y"], [[1.0, 4.0]])
    drawn = ijk.et("x[a] = RANDOM(0, 1, FLOAT)\nDIMS(a) = 3")
    assert np.array_equal(drawn(seed=1)["x"], drawn(seed=1)["x"])


def test_errors():
    with pytest.raises(ijk.Error) as error:
        ijk.i("ik*kj~ij")
    assert "+(ik*kj)~ij" in str(error.value) and "^" in str(error.value)
    with pytest.raises(TypeError, match="float128|longdouble"):
        ijk.i("+i~.")(np.zeros(3, "g"))
    with pytest.raises(ZeroDivisionError):
        ijk.i("i/i~i")(np.array([1]), np.array([0]))
    with pytest.raises(ValueError, match="letter"):
        ijk.i("i+i~i")(np.zeros(3), np.zeros(4))


def of_every_kind(n, engine=None):
    """Functions that give 4 n² bytes, in which all rows are 1, 2, 3, ..."""
    v = np.ones(n, "f4")
    ramp = np.arange(1, n + 1, dtype="f4")
    outer, tuples = ijk.i("i*j~ij"), ijk.et("y[a,b] = v[a] * w[b]")
    return [
        lambda: ijk.einsum("i,j->ij", v, ramp, engine=engine),
        lambda: ijk.einsum(v, [0], ramp, [1], engine=engine),
        lambda: outer(v, ramp, engine=engine),
        lambda: tuples(v=v, w=ramp, engine=engine, ranks={"a": 1, "b": 1})["y"],
    ]


def test_memory_of_results_is_used_again():
    for engine in (None, ijk.Engine()):
        for make in of_every_kind(1000, engine):
            result = make()
            assert result.flags.writeable and result.flags.aligned and result.flags.c_contiguous
            assert result.dtype == np.float32 and result.shape == (1000, 1000)
            first = result.ctypes.data
            other = make()
            assert other.ctypes.data != first
            result[:] = 7
            assert other[3, 4] == 5
            del result
            again = make()
            assert again.ctypes.data == first and again[999, 999] == 1000


def test_memory_outlives_engines_and_arrays():
    for n in (10, 1000):
        engine = ijk.Engine()
        for make in of_every_kind(n, engine):
            part = make().T[1:3, ::2]
            whole = make()
            assert not np.may_share_memory(part, whole)
            gc.collect()
            assert part.shape == (2, n // 2) and (part.T == [2, 3]).all()
        makes = of_every_kind(n, engine)
        del engine, make
        kept = makes[0]()
        makes.clear()
        gc.collect()
        fresh = [make() for make in of_every_kind(n)]
        kept += 1
        assert (kept[n - 1] == np.arange(2, n + 2)).all()
        assert all((array[0] == np.arange(1, n + 1)).all() for array in fresh)


def test_the_memory_that_is_kept_is_what_came_last():
    engine = ijk.Engine(memory_limit=5_000_000)
    make = of_every_kind(1000, engine)[0]
    results = [make() for _ in range(20)]
    while results:
        last = results.pop().ctypes.data
    assert make().ctypes.data == last
    engine.release_memory()
    assert make()[0, 1] == 2


def test_large_results_of_every_type():
    for name in ("bool", "i4", "i8", "f4", "f8", "c8", "c16"):
        x = np.arange(1_210_000).reshape(1100, 1100).astype(name)
        for result in (ijk.einsum("ij,k->ij", x, np.ones(1, name)), ijk.i("ij~ji")(x).T):
            assert result.dtype == x.dtype and np.array_equal(result, x)


def test_engines():
    engine = ijk.Engine(threads=2, memory_limit=1000)
    assert engine.threads == 2 and engine.memory_limit == 1000
    with pytest.raises(ijk.MemoryLimitError):
        ijk.i("i*j~ij")(np.zeros(100), np.zeros(100), engine=engine)
    assert repr(engine) == "Engine(threads=2, memory_limit=1000)"


def test_other_threads_go_on():
    a = np.ones((1200, 1200))
    turns, done = [0], threading.Event()

    def turn():
        while not done.is_set():
            turns[0] += 1

    thread = threading.Thread(target=turn)
    thread.start()
    before = turns[0]
    ijk.einsum("ij,jk->ik", a, a)
    during = turns[0] - before
    done.set()
    thread.join()
    assert during > 0


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="signals")
def test_an_interrupt_ends_a_computation():
    script = textwrap.dedent(
        """
        import numpy as np, ijk, signal, threading, os, time
        a = np.ones((40, 40, 40, 40), "f4")
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.time()
        try:
            for _ in range(10_000):
                ijk.einsum("abcd,aefd->bcef", a, a)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "interrupted", run.stderr


def test_dependencies_between_any_two_operations():
    product = ijk.i("mm: m.a; m: ik*kj~ijk; a: +ijk~ij; mm")
    shapes = [(3, 4), (4, 5)]
    assert product.operations(shapes) == ["0", "1", "mm.m", "mm.a"]
    sets = product.dependencies(shapes, "a[2,1]")
    assert list(sets) == ["0", "1", "mm.m"]
    assert sets["mm.m"].points() == [(2, 1, k) for k in range(4)]
    assert (2, 1, 3) in sets["mm.m"] and (2, 3, 1) not in sets["mm.m"] and (-1, 0, 0) not in sets["mm.m"]
    assert product.dependencies(shapes, "a[2,1]", on="m[2,1,3]") is True
    assert product.dependencies(shapes, "a[2,1]", on="m[2,3,1]") is False
    assert product.reaches(shapes, "m[2,3,1]", to="a").points() == [(2, 3)]
    assert product.reaches(shapes, "0[1,1]")["mm.a"].is_exact
    assert not product.reaches(shapes, "a[0,0]")
    for wrong in ["b[0]", "a[3,0]", "a[0]", "a", "m[0,0,0", ""]:
        with pytest.raises(ijk.Error):
            product.dependencies(shapes, wrong)


def test_explanations():
    product = ijk.i("+(ik*kj)~ij")
    for n, algorithm, threshold in [(64, "small matrices, read in place", 256), (3000, "packed GEMM", 256)]:
        x = np.zeros((n, n), np.float32)
        explanation = product.explain(x, x)
        assert explanation.operations == 2 * n**3
        (step,) = explanation.steps
        assert step["kernel"] == "contraction" and step["extents"]["k"] == n
        assert (step["algorithm"], step["reasons"][0]["limit"]) == (algorithm, threshold)
        assert step["bound"]["microseconds"] < step["microseconds"]
        assert algorithm in str(explanation)
    (explanation,) = ijk.et("y[i] = x[i] + 1").explain(x=np.zeros(9))
    assert explanation.steps[0]["kernel"]
    with pytest.raises(ijk.Error):
        product.explain(np.zeros((2, 3)), np.zeros((2, 3)))


def test_plain_numbers_take_the_type_of_arrays():
    scale = ijk.i("ij*.~ij")
    x = np.ones((2, 3), np.float32)
    for number in (2, 2.5):
        result = scale(x, number)
        assert result.dtype == np.float32 and np.array_equal(result, x * np.float32(number))
    assert scale(x.astype(np.int8), 3).dtype == np.int8
    with pytest.raises(OverflowError):
        scale(x.astype(np.int8), 300)
    with pytest.raises(TypeError, match="argument 2 is the number 2.5, but the other arguments are int8"):
        scale(x.astype(np.int8), 2.5)
    # A scalar of NumPy has a type of its own.
    with pytest.raises(TypeError):
        scale(x, np.float64(2))


def test_extents_and_names_of_einsum_tuple():
    powers = ijk.et("y[t] = t\n\ny")
    assert list(powers(dims={"t": 3})["y"]) == [0, 1, 2]
    seeded = ijk.et("INPUT seed[a]: F32\ny[a] = 2 * seed[a]")
    seed = np.arange(3, dtype=np.float32)
    assert list(seeded({"seed": seed})["y"]) == [0, 2, 4]
    with pytest.raises(TypeError, match="given twice"):
        ijk.et("y[a] = x[a]")({"x": seed}, x=seed)
    with pytest.raises(ValueError, match="`seed` is not bound"):
        seeded()
    with pytest.raises(TypeError, match="`seed` is declared f32, but the array that is bound is f64"):
        seeded({"seed": seed.astype(float)})
    with pytest.raises(ValueError) as error:
        ijk.et("y[a,b] = x[a+b]")(x=seed)
    assert "dims={" in str(error.value) and "--dims" not in str(error.value)


def test_log_add_exp():
    x = np.random.default_rng(1).normal(size=(40, 50)) * 300
    x[0], x[1, 3], x[2, 4] = -np.inf, np.inf, np.nan
    expected = np.logaddexp.reduce(x, axis=1)
    for found in ijk.i("@logaddexp ij~i")(x), ijk.et("y[i] =logaddexp x[i,j]")(x=x)["y"]:
        assert np.allclose(found, expected, rtol=1e-13, equal_nan=True)
    running = ijk.et("y[i,p] =logaddexp x[i,p-k]\n\nDIMS(k) = DIMS(p)")(x=x, dims={"p": 50})["y"]
    assert np.allclose(running, np.logaddexp.accumulate(x, axis=1), rtol=1e-13, equal_nan=True)
    a, b = x[3:20], x[20:40].T
    product = ijk.i("@logaddexp(ik+kj)~ij")(a, b.copy())
    assert np.allclose(product, np.logaddexp.reduce(a[:, :, None] + b, axis=1), rtol=1e-12)
    blocks = ijk.contract(ijk.BigTensor(a, [8, 16]), ijk.BigTensor(b, [16, 8]), 1, 0, "logaddexp(l + r)")
    assert np.allclose(blocks.collect(), product, rtol=1e-12)
    with pytest.raises(ijk.DTypeError, match="`@f64 ij`"):
        ijk.i("@logaddexp ij~i")(np.ones((2, 3), "i8"))


def test_warnings_of_einsum_tuple():
    with pytest.warns(UserWarning, match="`x\\[-1\\]` is never in bounds"):
        ijk.et("y[i] = x[i]\nz[] = x[-1]")
    # What only the shapes of arrays tell is told when they are there, once.
    shifted = ijk.et("y[i] = x[i + 1000] * w[i]")
    with pytest.warns(UserWarning, match="the array bound to `x` has 10 positions there"):
        shifted(x=np.ones(10), w=np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shifted(x=np.ones(10), w=np.ones(3))
        shifted(x=np.ones(1002), w=np.ones(3))


@pytest.mark.parametrize("number", [2, 2.5, -1])
def test_plain_numbers_take_types(number):
    program = ijk.et("y[i] = k[] * x[i]")
    for dtype in (np.float32, np.float64, np.complex64):
        x = np.arange(3, dtype=dtype)
        y = program(x=x, k=number)["y"]
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, (number * x).astype(dtype))
        assert program({"x": x, "k": number})["y"].dtype == dtype
    # A number of NumPy has a type of its own.
    assert program(x=np.ones(2, np.float32), k=np.float64(2))["y"].dtype == np.float64
    assert program(x=[1.0, 2.0], k=number)["y"].dtype == np.float64
    with pytest.raises(ijk.Error, match=r"`k\[i\]` has 1 axis"):
        ijk.et("y[i] = k[i] * x[i]")(x=np.ones(2), k=number)
    with pytest.raises(ijk.DTypeError, match="`k` is of object"):
        program(x=np.ones(2), k=2**70)
