"""Arrays of JAX's: in and out, and within jax.jit."""

import numpy as np
import pytest

import ijk

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

product, transpose = ijk.i("+(ik*kj)~ij"), ijk.i("ij~ji")


def array(*shape, dtype="f4", seed=0):
    return jnp.asarray(np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "complex64", "float16", "bfloat16"])
def test_arrays_give_arrays(dtype):
    a, b = array(3, 4).astype(dtype), array(4, 5).astype(dtype)
    want = jnp.einsum("ij,jk->ik", a, b) if dtype != "bool" else (a.astype("i4") @ b.astype("i4")) != 0
    for result in (ijk.einsum("ij,jk->ik", a, b), ijk.einsum(a, [0, 1], b, [1, 2]), ijk.tensordot(a, b, 1)):
        assert isinstance(result, jax.Array) and result.dtype == dtype and jnp.array_equal(result, want)
    assert isinstance(product(a, b), jax.Array) and jnp.array_equal(product(a, b), want)
    results = ijk.et("y[i,j] = x[i,k] * z[k,j]")(x=a, z=b)
    assert isinstance(results["y"], jax.Array) and jnp.array_equal(results["y"], want)
    assert jnp.array_equal(ijk.transpose(a), a.T)


def test_other_results():
    a = array(3, 4)
    total = ijk.einsum("ij,ij->", a, np.ones((3, 4), "f4"))
    assert isinstance(total, jax.Array) and total.shape == () and total == a.sum()
    rows, greatest = (ijk.i("+ij~i") & ijk.i(">ij~j"))(a)
    assert jnp.array_equal(rows, a.sum(1)) and jnp.array_equal(greatest, a.max(0))


def test_what_is_refused():
    a = array(3, 3)
    for out in (a, np.zeros((3, 3), "f4")):
        with pytest.raises(TypeError, match="out is"):
            ijk.einsum("ij,jk->ik", a, a, out=out)
    with pytest.raises(TypeError, match="out is an array of JAX's, but the arguments are NumPy arrays"):
        transpose(np.eye(3), out=a)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(TypeError, match="operand 1 is a tensor of PyTorch's, but operand 2 is an array of JAX's"):
        ijk.einsum("ij,jk->ik", torch.eye(3), a)
    with pytest.raises(TypeError, match="`x` is an array of JAX's, but `z` is a tensor of PyTorch's"):
        ijk.et("y[i,j] = x[i,k] * z[k,j]")(x=a, z=torch.eye(3))


def test_jit_calls_back():
    a, b = array(3, 4), array(4, 5)
    weights = np.arange(5, dtype="f4")

    @jax.jit
    def function(a, b):
        both = ijk.i("+ij~i") & ijk.i("@argmax ij~j")
        c = ijk.einsum("ij,jk,k->ik", a, b, weights)
        y = ijk.et("y[i,j] = x[i,k] * z[k,j]\nn[] = I64(GT(x[i,k], 0))")(x=a, z=b)
        return (c, product(a, b), *both(c), y["y"], y["n"])

    c, d, rows, largest, y, n = function(a, b)
    want = (a @ b) * weights
    assert jnp.allclose(c, want) and jnp.allclose(d, a @ b) and jnp.allclose(y, a @ b)
    assert jnp.allclose(rows, want.sum(1)) and jnp.array_equal(largest, want.argmax(0))
    assert n == (a > 0).sum() and largest.dtype == jnp.int32
    large = array(700, 700)
    assert jnp.allclose(jax.jit(product)(large, large), large @ large)
    with pytest.raises(ijk.Error, match="letter `k` is 4"):
        jax.jit(product)(a, a)


def test_plain_numbers_take_the_type_of_arrays():
    scale = ijk.i("ij*.~ij")
    for dtype in (jnp.float32, jnp.bfloat16, jnp.int32):
        x = array(3, 4).astype(dtype)
        for function in (lambda x: scale(x, 2), jax.jit(lambda x: scale(x, 2))):
            result = function(x)
            assert result.dtype == dtype and jnp.array_equal(result, x * 2)
    x = array(3, 4)
    assert jnp.array_equal(jax.jit(lambda x: ijk.i(".-ij~ij")(0.5, x))(x), 0.5 - x)
    with pytest.raises(TypeError, match="argument 2 is the number 2.5, but the other arguments are int32"):
        scale(x.astype(jnp.int32), 2.5)


def test_vmap_and_grad():
    a, b = array(6, 3, 4), array(6, 4, 5)
    assert jnp.allclose(jax.vmap(product)(a, b), a @ b)
    assert jnp.allclose(jax.jit(jax.vmap(product, (0, None)))(a, b[0]), a @ b[0])
    with pytest.raises(ValueError, match="do not support JVP"):
        jax.grad(lambda a: product(a, b[0]).sum())(a[0])


def test_double_precision_where_jax_keeps_it():
    x = np.eye(3)
    assert ijk.einsum("ij,jk->ik", array(3, 3), x).dtype == jnp.asarray(x).dtype
    with jax.enable_x64(True):
        a = jnp.asarray(x)
        assert ijk.einsum("ij,jk->ik", a, a).dtype == jnp.float64
        assert jax.jit(product)(a, a).dtype == jnp.float64
