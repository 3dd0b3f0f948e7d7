"""Arrays of JAX's in, arrays of JAX's out; within jax.jit, by a callback."""

import jax
import jax.numpy as jnp
import numpy as np

from ._arrays import asarray
from ._interchange import mapped

KIND = "an array of JAX's"


def carry(call, arrays, out):
    """A call with JAX's arrays, and NumPy's beside them: the results are JAX's, of types that JAX keeps."""
    if out is not None:
        raise TypeError("out is given, but arrays of JAX's do not change: use the result in its place")
    if any(isinstance(array, jax.core.Tracer) for array in arrays):
        return _traced(call, arrays)
    given = [taken(array, name) for array, name in zip(arrays, call.names)]
    return mapped(call.compute(given), jnp.asarray)


def taken(array, name):
    """The elements of an argument, where they lie."""
    if not isinstance(array, jax.Array):
        return asarray(array, name)
    if not array.is_fully_addressable:
        raise TypeError(f"{name} lies on several processes, of which each has a part")
    device = next((device for device in array.devices() if device.platform != "cpu"), None)
    if device is not None:
        raise TypeError(
            f"{name} is on the device {device}, but ijk computes in main memory: pass jax.device_get(x)"
        )
    return np.asarray(array)


def _traced(call, arrays):
    """A call that is made when the function that is traced runs."""
    arrays = [
        array if isinstance(array, jax.Array) else asarray(array, name)
        for array, name in zip(arrays, call.names)
    ]
    traced = [isinstance(array, jax.Array) for array in arrays]
    results = mapped(call.results(arrays), _outline)

    def compute(*values):
        values = iter(values)
        taken = [
            np.asarray(next(values)) if is_traced else array
            for array, is_traced in zip(arrays, traced)
        ]
        return jax.tree.map(
            lambda result, outline: np.asarray(result, outline.dtype), call.compute(taken), results
        )

    values = [array for array, is_traced in zip(arrays, traced) if is_traced]
    return jax.pure_callback(compute, results, *values, vmap_method="sequential")


def _outline(result):
    return jax.ShapeDtypeStruct(result.shape, jax.dtypes.canonicalize_dtype(result.dtype))
