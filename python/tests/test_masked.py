"""Masked arrays: their masks are carried, or they are refused."""

import numpy as np
import pytest

import ijk
from ijk import BigTensor

DATA = np.arange(6.0).reshape(2, 3)
MASKED = np.ma.array(DATA, mask=DATA % 2 == 1)
SAYS = r"is a masked array, and the mask would be lost: pass x.filled\(0\).*or x.data"


def calls(x):
    y = np.ones((2, 3))
    ones = BigTensor(y)
    return {
        "operand 2": lambda: ijk.einsum("ij,ij->", y, x),
        "operand 1": lambda: ijk.einsum("ij->", x),
        "operand 1 ": lambda: ijk.einsum(x, [0, 1], y, [0, 1]),
        "operand 2 ": lambda: ijk.einsum("ij,ij->", y, x, engine=ijk.Engine(1)),
        "operand 2  ": lambda: ijk.tensordot(y, x, 2),
        "argument 2": lambda: ijk.i("ij+ij~ij")(y, x),
        "argument 1": lambda: ijk.i("+ij~i")(x),
        "`x`": lambda: ijk.et("y[p] = x[p,q]")(x=x),
        "an array": lambda: BigTensor(x),
        "an array ": lambda: ijk.contract(ones, x, 0, 0),
        "an array  ": lambda: BigTensor.einsum("ij,ij->", ones, x),
        "an array   ": lambda: ijk.i("ij+ij~ij")(ones, x),
        "an array    ": lambda: ijk.et("y[p] = x[p,q] * z[p,q]")(x=ones, z=x),
        "an array of these elements": lambda: BigTensor.lit(x, [2, 3], [None, None]),
    }


@pytest.mark.parametrize("name", calls(MASKED))
def test_masks_are_not_lost(name):
    with pytest.raises(TypeError, match=f"{name.strip()} {SAYS}"):
        calls(MASKED)[name]()


@pytest.mark.parametrize("mask", [False, np.zeros((2, 3), bool), np.ma.nomask])
@pytest.mark.parametrize("name", calls(MASKED))
def test_arrays_of_which_nothing_is_masked_are_arrays(name, mask):
    expected = calls(DATA)[name]()
    found = calls(np.ma.array(DATA, mask=mask))[name]()
    if isinstance(expected, dict):
        found, expected = found["y"], expected["y"]
    assert not isinstance(found, np.ma.MaskedArray)
    assert np.array_equal(np.asarray(found), np.asarray(expected))


def test_views_carry_their_masks():
    for subscripts in ("ij->ji", "ij"):
        view = ijk.einsum(subscripts, MASKED)
        assert isinstance(view, np.ma.MaskedArray)
        want = MASKED.T if subscripts == "ij->ji" else MASKED
        assert np.array_equal(view.mask, want.mask) and np.array_equal(view.data, want.data)
        assert np.shares_memory(view.data, DATA)
    square = np.ma.array(np.eye(3), mask=np.eye(3)[::-1] > 0)
    assert ijk.einsum("ii->i", square).mask.tolist() == [False, True, False]
    assert isinstance(ijk.transpose(MASKED), np.ma.MaskedArray)


def test_masks_within_lists():
    row = np.ma.array([1.0, 2.0], mask=[False, True])
    for rows in ([row, row], ([1.0, 2.0], row), [[1.0, np.ma.masked], [3.0, 4.0]]):
        with pytest.raises(TypeError, match="argument 1 holds a masked array, and its mask would be lost"):
            ijk.i("ij~ji")(rows)
        with pytest.raises(TypeError, match="operand 1 holds a masked array"):
            ijk.einsum("ij,jk->ik", rows, np.eye(2))
    assert ijk.i("+ij~i")([np.ma.array([1.0, 2.0]), row.data]).tolist() == [3, 3]


class File:
    """An object that becomes a masked array, as variables of netCDF4 do."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@pytest.mark.parametrize("name", [name for name in calls(MASKED) if "elements" not in name])
def test_objects_that_become_masked_arrays(name):
    with pytest.raises(TypeError, match=f"{name.strip()} {SAYS}"):
        calls(File(MASKED))[name]()
    found, expected = calls(File(np.ma.array(DATA)))[name](), calls(DATA)[name]()
    if isinstance(expected, dict):
        found, expected = found["y"], expected["y"]
    assert np.array_equal(np.asarray(found), np.asarray(expected))


def test_masked_elements_of_tensors():
    row = np.ma.array([1.0, 2.0], mask=[False, True])
    for elements, shape in (([row], [1]), ([1.0, row[1]], [2]), ([row.data, row], [2])):
        with pytest.raises(TypeError, match="masked"):
            BigTensor.lit(elements, shape, [None])
    with pytest.raises(TypeError, match=r"element \[0\]\[1\].*masked"):
        BigTensor.lit([row], [1], [None], "array(f64)")
    assert BigTensor.lit([np.ma.array(3.0), 1.0], [2], [None]).collect().tolist() == [3, 1]
    u = BigTensor(DATA)
    for other in (np.ma.masked, MASKED):
        with pytest.raises(TypeError, match="the array is a masked array"):
            u + other
        with pytest.raises(TypeError, match="masked"):
            u < other
    with pytest.raises(TypeError, match="masked"):
        u @ MASKED.T


def test_out_is_no_masked_array():
    out = np.ma.array(np.zeros((3, 3)), mask=np.eye(3))
    x = np.eye(3)
    for call in (
        lambda: ijk.einsum("ij,jk->ik", x, x, out=out),
        lambda: ijk.i("ij~ji")(x, out=out),
        lambda: ijk.i("ij~ji & ij~ij")(x, out=(np.zeros((3, 3)), out)),
    ):
        with pytest.raises(TypeError, match=r"out(\[1\])? is a masked array, whose mask would stay.*\.data"):
            call()
    assert ijk.einsum("ij,jk->ik", x, x, out=out.data) is not None and out.data[1, 1] == 1


def test_other_subclasses_are_arrays():
    x = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    for result in (ijk.einsum("ij,jk->ik", x, x), ijk.i("+(ik*kj)~ij")(x, x)):
        assert type(result) is np.ndarray and np.array_equal(result, x @ x)
