"""Arrays at the border: memory that is shared, booleans of any byte, many axes, threads and forks."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ijk

TYPES = ["?", "i4", "i8", "f4", "f8", "c8", "c16"]


class Interface:
    """An object that has the array interface, and no more."""

    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


class DLPack:
    """An object that has DLPack's methods, and no more."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


# Booleans.


def odd_booleans(random, *shape):
    """Booleans the bytes of which are anything, in any layout."""
    bytes_ = random.choice(np.array([0, 0, 1, 2, 128, 255], "u1"), (*shape, 2))
    layout = random.integers(4)
    if layout == 0:
        return bytes_[..., 0].view("?")
    if layout == 1:
        return np.ascontiguousarray(bytes_[..., 0]).view("?")
    if layout == 2:
        return np.asfortranarray(bytes_[..., 0]).view("?")
    return np.ascontiguousarray(bytes_[..., 0])[::-1].view("?")


def is_valid(array):
    """Whether the bytes of booleans are 0 and 1."""
    array = np.array(array, copy=True)
    return array.dtype == "?" and np.all(array.view("u1") <= 1)


@pytest.mark.parametrize("seed", range(20))
def test_any_byte_but_0_is_true(seed):
    random = np.random.default_rng(seed)
    a, b = odd_booleans(random, 5, 7), odd_booleans(random, 7, 6)
    true_a, true_b = a.view("u1") != 0, b.view("u1") != 0
    for wrap in (lambda x: x, Interface, DLPack):
        product = ijk.einsum("ij,jk->ik", wrap(a), wrap(b))
        assert is_valid(product) and np.array_equal(product, np.einsum("ij,jk->ik", true_a, true_b))
    for program, want in (
        ("ij~ji", true_a.T),
        ("+ij~i", true_a.any(1)),
        ("*ij~j", true_a.all(0)),
        ("@not ij~ij", ~true_a),
        ("@i32 ij~ij", true_a.astype("i4")),
        ("I", true_a),
    ):
        got = ijk.i(program)(a)
        assert np.array_equal(got, want), program
        assert got.dtype != "?" or is_valid(got), program
    where = ijk.i("@where(ij,ij,ij)~ij")
    x = random.random((5, 7))
    assert np.array_equal(where(a, x, -x), np.where(true_a, x, -x))
    out = np.full((5, 7), 3, "u1").view("?")
    ijk.i("ij*ij~ij")(a, a, out=out)
    assert is_valid(out) and np.array_equal(out, true_a)
    y = ijk.et("y[i,j] = x[i,j]")(x=a, ranks={"i": 1, "j": 1})["y"]
    assert is_valid(y) and np.array_equal(y, true_a)
    big = ijk.BigTensor(a, [2, 3])
    assert is_valid(big.collect()) and np.array_equal(big.collect(), true_a)
    assert np.array_equal(ijk.BigTensor.lit(a[0], [7], [None]).collect(), true_a[0])


def test_masks_that_repeat_or_overlap_are_read_where_they_are():
    two = np.array([0, 2], "u1").view("?")
    repeated = np.broadcast_to(two, (10**9, 2))
    assert list(ijk.einsum("ij,j->j", repeated[:100_000], np.ones(2, "?"))) == [False, True]
    windows = np.lib.stride_tricks.sliding_window_view(np.tile(two, 500), 900)
    assert np.array_equal(ijk.i("+ij~i")(windows), np.ones(101, "?"))
    fields = np.zeros(4, [("x", "f8"), ("mask", "u1"), ("y", "f4")])
    fields["mask"] = [0, 1, 7, 0]
    assert list(ijk.i("i~i")(fields["mask"].view("?"))) == [False, True, True, False]


def test_booleans_in_files(tmp_path):
    odd = np.array([[0, 1, 2], [255, 0, 4]], "u1")
    np.save(tmp_path / "a.npy", odd.view("?"))
    np.savez(tmp_path / "a.npz", a=odd.view("?"))
    command = os.environ.get("IJK")
    if command is None:
        pytest.skip("the command ijk is not built")
    for n, name in enumerate(("a.npy", "a.npz:a")):
        out = tmp_path / f"out{n}.npy"
        subprocess.run([command, "eval", "ij~ji", tmp_path / name, "-o", out], check=True)
        got = np.load(out)
        assert is_valid(got) and np.array_equal(got, (odd != 0).T)


# Names of the type that no operation is for.
LONG = "(float128|longdouble)"


def test_messages_name_arguments_of_other_types():
    x, long = np.zeros(3), np.zeros(3, "g")
    for call, says in (
        (lambda: ijk.i("i*i~i")(x, long), f"argument 2 is of {LONG}, but ijk computes with bool"),
        (lambda: ijk.et("y[i] = x[i] * z[i]")(x=x, z=long), f"`z` is of {LONG}"),
        (lambda: ijk.BigTensor(long), f"an array is of {LONG}"),
        (lambda: ijk.BigTensor.lit(long, [3], [None]), f"an array of these elements is of {LONG}"),
    ):
        with pytest.raises(ijk.DTypeError, match=says):
            call()


# Outputs that share memory.


def part(random, memory, shape):
    """A view of some of the memory, of that shape: with steps, reversed and transposed at random."""
    slices = []
    for extent in shape:
        step = int(random.integers(1, 3))
        start = int(random.integers(0, 12 - (extent - 1) * step))
        slices.append(slice(start, start + (extent - 1) * step + 1, step))
    square = memory.reshape(12, 12)
    square = square.T if random.integers(2) else square
    view = square[tuple(slices)]
    return view[:: int(random.choice([-1, 1])), :: int(random.choice([-1, 1]))]


@pytest.mark.parametrize("seed", range(150))
def test_outputs_may_share_memory_with_arguments(seed):
    random = np.random.default_rng(seed)
    memory = np.frombuffer(bytearray(8 * 144))
    memory[:] = random.integers(-3, 4, 144)
    x, y, out = (part(random, memory, (4, 4)) for _ in range(3))
    copies = x.copy(), y.copy()
    how = seed % 4
    if how == 0:
        want = np.einsum("ij,jk->ik", *copies)
        assert ijk.einsum("ij,jk->ik", x, y, out=out) is out
    elif how == 1:
        want = copies[0].T
        assert ijk.i("ij~ji")(x, out=out) is out
    elif how == 2:
        want = copies[0] @ copies[1]
        assert ijk.i("ik*kj~ijk . +ijk~ij")(x, y, out=out) is out
    else:
        want = copies[0].sum(1)[:, None] + copies[1]
        assert ijk.i("(+ij~i | I) . i+ij~ij")(x, y, out=out) is out
    assert np.array_equal(out, want)


@pytest.mark.parametrize("seed", range(100))
def test_several_outputs_are_apart_or_refused(seed):
    random = np.random.default_rng(seed)
    memory = np.frombuffer(bytearray(8 * 144))
    memory[:] = random.integers(-3, 4, 144)
    x, first, second = (part(random, memory, (3, 4)) for _ in range(3))
    copy, before = x.copy(), memory.copy()
    both = ijk.i("ij+1~ij & ij*2~ij")
    if np.shares_memory(first, second):
        with pytest.raises(ValueError, match=r"out\[0\] and out\[1\] share memory"):
            both(x, out=(first, second))
        assert np.array_equal(memory, before)
    else:
        both(x, out=(first, second))
        assert np.array_equal(first, copy + 1) and np.array_equal(second, copy * 2)


@given(
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    strides=st.lists(st.integers(0, 6), min_size=3, max_size=3),
)
@settings(max_examples=200, deadline=None)
def test_elements_of_an_output_are_its_own(shape, strides):
    strides = [8 * stride for stride in strides[: len(shape)]]
    out = np.lib.stride_tricks.as_strided(np.zeros(100), shape, strides)
    places = [sum(i * s for i, s in zip(at, strides)) for at in np.ndindex(*shape)]
    letters = "ijk"[: len(shape)]
    x = np.arange(out.size, dtype="f8").reshape(shape)
    for call in (
        lambda: ijk.i(f"{letters}~{letters}")(x, out=out),
        lambda: ijk.einsum(f"{letters},->{letters}", x, np.float64(1), out=out),
    ):
        if len(set(places)) == len(places):
            out[...] = -1
            assert call() is out and np.array_equal(out, x)
        else:
            with pytest.raises(ValueError, match="elements of out share memory"):
                call()


def test_outputs_of_other_types_do_not_share_elements_either():
    for name in ("i2", "f2", "f4", "u8"):
        out = np.lib.stride_tricks.as_strided(np.zeros(4, name), (4, 4), (0, np.dtype(name).itemsize))
        with pytest.raises(ValueError, match="share memory"):
            ijk.einsum("ij,jk->ik", np.eye(4, dtype="i2"), np.eye(4, dtype="i2"), out=out, casting="unsafe")


def test_what_is_the_matter_with_an_output():
    x, transpose = np.eye(3), ijk.i("ij~ji")
    with pytest.raises(TypeError, match="out must be a NumPy array, not <class 'list'>"):
        transpose(x, out=[[0.0] * 3] * 3)
    fixed = np.zeros((3, 3))
    fixed.flags.writeable = False
    for call in (lambda: transpose(x, out=fixed), lambda: ijk.einsum("ij,jk->ik", x, x, out=fixed)):
        with pytest.raises(ValueError, match="out is read-only"):
            call()
    with pytest.raises(ijk.DTypeError, match=f"out is of {LONG}"):
        transpose(x, out=np.zeros((3, 3), "g"))
    for other in (np.zeros((3, 3), "f4"), np.zeros((3, 3), ">i4"), np.zeros((2, 3)), np.zeros((2, 3), ">f8")):
        with pytest.raises(ijk.Error, match="output 1 is"):
            transpose(x, out=other)
    with pytest.raises(ijk.Error, match="2 results, but 1 outputs"):
        ijk.i("ij+1~ij & ij*2~ij")(x, out=np.zeros((3, 3)))


def test_outputs_of_any_byte_order_and_alignment():
    x = np.arange(6.0).reshape(2, 3)
    unaligned = np.zeros(6 * 8 + 1, "u1")[1:].view("f8").reshape(3, 2)
    records = np.zeros((3, 2), [("flag", "u1"), ("value", "f8")])["value"]
    for out in (np.zeros((3, 2), ">f8"), unaligned, records):
        assert ijk.i("ij~ji")(x, out=out) is out and np.array_equal(out, x.T)
        out[...] = 0
        assert ijk.einsum("ij,->ji", x, np.float64(1), out=out) is out and np.array_equal(out, x.T)


def test_an_empty_argument_may_be_the_output():
    empty = np.zeros((0, 2))
    assert ijk.einsum("db,->db", empty, np.float64(1), out=empty) is empty
    assert ijk.i("ij+1~ij")(empty, out=empty) is empty


def test_arrays_without_elements_need_no_memory():
    nowhere = {"version": 3, "typestr": "<f8", "shape": (0, 3), "data": (0, False)}
    thing = type("Nowhere", (), {"__array_interface__": nowhere})()
    assert np.array_equal(ijk.einsum("ij,ik->jk", thing, np.zeros((0, 2))), np.zeros((3, 2)))


# Ranks.


@pytest.mark.parametrize("seed", range(60))
def test_ranks_to_64(seed):
    random = np.random.default_rng(seed)
    rank = int(random.integers(25, 65))
    shape = [1] * rank
    for axis in random.choice(rank, 5, replace=False):
        shape[axis] = int(random.integers(1, 4))
    name = TYPES[seed % len(TYPES)]
    x = random.integers(0, 3, shape).astype(name)
    if random.integers(2):
        x = x.transpose(random.permutation(rank))
    if random.integers(2):
        x = x[(slice(None, None, -1),) * rank]
    labels = list(range(rank))
    order = [int(n) for n in random.permutation(rank)]
    scale = np.array(1, name)
    want = x.transpose(order)
    result = ijk.einsum(x, labels, scale, [], order)
    assert result.shape == want.shape and np.array_equal(result, want)
    out = np.zeros(want.shape, name)
    assert ijk.einsum(x, labels, scale, [], order, out=out) is out and np.array_equal(out, want)
    assert np.array_equal(ijk.einsum("...,->...", x, scale), x)
    names = [chr(0x4E00 + n) for n in range(rank)]
    program = ijk.i("".join(names) + "~" + "".join(names[n] for n in order))
    assert np.array_equal(program(x), want)
    out = np.zeros(want.shape, name)
    assert program(x, out=out) is out and np.array_equal(out, want)
    # A tuple of Einsum Tuple has up to 9 indices.
    tuples = {f"t{n}": min(9, rank - 9 * n) for n in range(-(-rank // 9))}
    first, *rest = tuples
    y = ijk.et(f"y[{','.join([*rest, first])}] = x[{','.join(tuples)}]")(x=x, ranks=tuples)["y"]
    assert np.array_equal(y, x.transpose([*range(9, rank), *range(9)]))
    big = ijk.BigTensor(x, [None] * rank)
    assert big.ndim == rank and np.array_equal(big.collect(), x)
    assert np.array_equal(big.reblock([1] * rank).collect(), x)


def test_results_of_more_axes_than_numpy_has():
    x = np.ones((1,) * 40)
    for call in (lambda: ijk.einsum(x, range(40), x, range(40, 80)), lambda: ijk.tensordot(x, x, 0)):
        with pytest.raises(ValueError, match="80 axes.*64"):
            call()


# Threads.


def test_threads_write_parts_of_an_array():
    n = 64
    a = np.random.default_rng(0).random((n, n))
    want = a @ a
    memory = np.zeros((2 * n, 2 * n))
    places = [memory[:n, :n], memory[:n, n:], memory[n::2], memory[n + 1 :: 2]]
    errors = []

    def work(place):
        try:
            for _ in range(100):
                if place.shape == (n, n):
                    ijk.einsum("ij,jk->ik", a, a, out=place)
                else:
                    ijk.i("ij+1~ij")(a.reshape(n // 2, 2 * n), out=place)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(place,)) for place in places]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors
    assert np.allclose(memory[:n, :n], want) and np.allclose(memory[:n, n:], want)
    assert np.array_equal(memory[n::2], a.reshape(n // 2, 2 * n) + 1)


def test_threads_read_and_write_parts_of_an_array():
    n = 200
    memory = np.zeros((n, 2 * n))
    left, right = memory[:, :n], memory[:, n:]
    left[...] = np.eye(n) * 2
    errors = []

    def work(call):
        try:
            for _ in range(60):
                call()
        except Exception as error:
            errors.append(error)

    calls = [
        lambda: ijk.einsum("ij,jk->ik", left, left, out=right),
        lambda: ijk.einsum("ij,jk->ik", left, left),
        lambda: ijk.i("ij~ji")(left),
    ]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors and np.array_equal(right, np.eye(n) * 4)


def turns_during(call):
    """How often another thread had its turn while something was computed."""
    turns, done, started = [0], threading.Event(), threading.Event()

    def turn():
        started.set()
        while not done.wait(0.0005):
            turns[0] += 1

    thread = threading.Thread(target=turn)
    thread.start()
    started.wait()
    before = turns[0]
    call()
    during = turns[0] - before
    done.set()
    thread.join()
    return during


def test_other_threads_go_on_whatever_the_size_of_the_arguments():
    v = np.ones(300)
    small = np.ones(80)
    chain = ijk.i("i+j~ij . ij+k~ijk . @sin ijk~ijk . +ijk~.")
    tuples = ijk.et("y[] = SIN(v[i] + w[j] + x[k])")
    ranks = {"i": 1, "j": 1, "k": 1}
    for call in (
        lambda: chain(v, v, v),
        lambda: chain(v, v, v, out=np.zeros(())),
        lambda: tuples(v=v, w=v, x=v, ranks=ranks),
        lambda: ijk.einsum("a,b,c,d->abcd", *[small] * 4),
        lambda: ijk.einsum("a,b,c,d->abcd", *[small] * 4, out=np.zeros((80,) * 4)),
    ):
        call()
        # On a busy machine a thread may wait for its turn.
        assert max(turns_during(call) for _ in range(5)) > 3


# Forks.


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_child_forked_while_threads_compute_may_use_their_arrays():
    script = textwrap.dedent(
        """
        import numpy as np, ijk, os, threading, time, warnings
        warnings.simplefilter("ignore")
        a, out, stop = np.ones((700, 700)), np.zeros((700, 700)), False
        def work():
            while not stop:
                ijk.einsum("ij,jk->ik", a, a, out=out)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        time.sleep(0.2)
        said = []
        for _ in range(5):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    v = np.ones(700)
                    ijk.einsum("i,j->ij", v, v, out=a)
                    ijk.i("ij+1~ij")(a, out=out)
                    text = "fine" if (out == 2).all() else "wrong"
                except BaseException as error:
                    text = f"{type(error).__name__}: {error}"
                os.write(write, text.encode())
                os._exit(0)
            said.append(os.read(read, 1000).decode())
            os.waitpid(child, 0)
            os.close(read)
            os.close(write)
        stop = True
        thread.join()
        print(said)
        """
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == str(["fine"] * 5), run.stderr


# Whole numbers.


def test_numbers_that_are_not_allowed():
    x = np.ones((2, 2))
    u = ijk.BigTensor(x, [1, 1])
    program = ijk.et("y[a] = x[a]")
    for call, says in (
        (lambda: ijk.contract(u, u, -1, 0), "axis i is -1: the tensor has the axes 0 to 1"),
        (lambda: u.contract(u, 0, -2), "axis j is -2: the tensor has the axes 0 to 1"),
        (lambda: u.select([-1], None), r"positions of axis 0\[0\] is -1: .* 0 to 1"),
        (lambda: u.select(None, [0, 2**70]), r"positions of axis 1\[1\] is 1180591620717411303424"),
        (lambda: ijk.BigTensor(x, [-1, 1]), r"blocks\[0\] is -1: a block has 1 element or more, and None"),
        (lambda: u.reblock([1, -3]), r"blocks\[1\] is -3"),
        (lambda: u.bc([2, -2], [1, 1]), r"shape\[1\] is -2: a whole number from 0 to"),
        (lambda: ijk.BigTensor.lit([1], [-1], [None]), r"shape\[0\] is -1"),
        (lambda: ijk.BigTensor.lit([2**40], [1], [None], "i32"), "1099511627776 is beyond the numbers of i32"),
        (lambda: ijk.BigTensor.lit([2**70], [1], [None], "i64"), "beyond the numbers of i64"),
        (lambda: u.collect(workers=-1), "workers is a number from 1 to 4096, not -1"),
        (lambda: u.collect(memory_limit=-1), "memory_limit is -1"),
        (lambda: u.collect(limit=-1), "limit is -1"),
        (lambda: u.write("nowhere.zarr", compression=-1), 'a level of zstd from 1 to 22, or "same", not -1'),
        (lambda: u.write("nowhere.zarr", compression=300), 'a level of zstd from 1 to 22, or "same", not 300'),
        (lambda: ijk.Engine(threads=-1), "threads is -1: a whole number from 0 to"),
        (lambda: ijk.Engine(memory_limit=-1), "memory_limit is -1"),
        (lambda: program(x=x, ranks={"a": -1}), r'ranks\["a"\] is -1: a whole number from 0 to 4294967295'),
        (lambda: program(x=x, dims={"a": [2, -2]}), r'dims\["a"\]\[1\] is -2'),
        (lambda: program(x=x, seed=-1), "seed is -1"),
        (lambda: ijk.i("ij~ji").shapes([(2, -1)]), r"shapes\[0\]\[1\] is -1"),
        (lambda: ijk.einsum("ij,jk,kl->il", x, x, x, optimize=[(0, -1), (0, 1)]), "step 0 of the path takes operand -1"),
        (lambda: ijk.Einsum([[2**70]], [2**70]), "an index is 1180591620717411303424"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
    for call, says in (
        (lambda: ijk.contract(u, u, 1.5, 0), "axis i is 1.5, not a whole number"),
        (lambda: ijk.BigTensor(x, 2), "blocks is 2, not a list"),
        (lambda: ijk.BigTensor(x, ["a", 1]), r"blocks\[0\] is 'a', not a whole number"),
    ):
        with pytest.raises(TypeError, match=says):
            call()
    assert ijk.contract(u, u, np.int64(1), np.uint8(0)).shape == (2, 2)
