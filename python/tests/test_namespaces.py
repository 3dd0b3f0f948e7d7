"""Arrays of libraries with the Python array API, and objects that lend memory by DLPack."""

import numpy as np
import pytest

import ijk

X = np.arange(12.0).reshape(3, 4)


def test_arrays_of_another_namespace_give_theirs():
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    x, y = xp.asarray(X), xp.asarray(X.T.copy())
    product = ijk.i("+(ik*kj)~ij")
    for result in (
        ijk.einsum("ij,jk->ik", x, y),
        ijk.einsum("ij,jk->ik", x, X.T),
        ijk.tensordot(x, y, 1),
        product(x, y),
        ijk.et("y[i,j] = x[i,k] * z[k,j]")(x=x, z=y)["y"],
    ):
        assert result.__array_namespace__() is xp and result.dtype == xp.float64
        assert np.array_equal(np.from_dlpack(result), X @ X.T)
    total = ijk.einsum("ij->", x)
    assert total.__array_namespace__() is xp and total.shape == () and float(total) == X.sum()
    assert bool(xp.all(ijk.transpose(x) == y))
    assert np.array_equal(ijk.BigTensor(x).collect(), X)
    assert ijk.i("ij~ji")(xp.asarray(X > 3)).dtype == xp.bool
    with pytest.raises(TypeError, match="out is a NumPy array, but argument 1 is an array of another library"):
        product(x, y, out=np.empty((3, 3)))
    with pytest.raises(ijk.DTypeError, match="argument 1 is of int16"):
        ijk.i("+i~.")(xp.asarray([1, 2], dtype=xp.int16))


def test_two_libraries():
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(TypeError, match="operand 1 is an array of another library, but operand 2 is a tensor"):
        ijk.einsum("ij,ij->", xp.asarray(X), torch.ones(3, 4))


def test_sparse_arrays_of_others_are_refused():
    sparse = pytest.importorskip("sparse", reason="sparse is not installed")
    s = sparse.COO.from_numpy(X)
    for call in (lambda: ijk.einsum("ij->j", s), lambda: ijk.i("+ij~j")(s), lambda: ijk.BigTensor(s)):
        with pytest.raises(TypeError, match=r"is sparse, and is not made dense without a word: pass x.todense\(\)"):
            call()


class Elsewhere:
    """An array on a device, as DLPack describes it."""

    shape, ndim = (3, 4), 2

    def __dlpack__(self, **how):
        raise BufferError("this memory is elsewhere")

    def __dlpack_device__(self):
        return self.device


def test_memory_of_other_devices():
    array = Elsewhere()
    for device, says in (((2, 1), "is on the device 1 of DLPack's kind 2"), ((1, 0), "lends no memory: this memory")):
        array.device = device
        for call in (
            lambda: ijk.einsum("ij,ij->", X, array),
            lambda: ijk.i("+ij~j")(array),
            lambda: ijk.BigTensor(array),
        ):
            with pytest.raises(TypeError, match=says):
                call()


def test_block_tensors_of_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert np.array_equal(ijk.BigTensor(torch.from_numpy(X), [2, None]).collect(), X)
    assert np.array_equal(ijk.i("ij+ij~ij")(ijk.BigTensor(X), torch.from_numpy(X)).collect(), 2 * X)
    with pytest.raises(TypeError, match="an array requires gradients"):
        ijk.BigTensor(torch.ones(3, requires_grad=True))
    pytest.importorskip("ml_dtypes")
    assert ijk.BigTensor(torch.ones(3, dtype=torch.bfloat16)).collect().dtype.name == "bfloat16"
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    assert np.array_equal(ijk.BigTensor(jax.numpy.asarray(X)).collect(), X)
