"""Tensors of PyTorch in, tensors out. Memory is shared both ways."""

from functools import reduce

import numpy as np
import torch

from . import _ijk
from ._arrays import TYPES, asarray
from ._interchange import mapped

try:
    from ml_dtypes import bfloat16
except ImportError:
    bfloat16 = None

KIND = "a tensor of PyTorch's"


def carry(call, arrays, out):
    """A call with tensors, and arrays of NumPy's beside them: the results are tensors."""
    half, widens = None, call.halves and not _are_bfloat16(call, arrays)
    if widens:
        call, half = _halved(call, arrays, out)
    given = [taken(array, name, widens) for array, name in zip(arrays, call.names)]
    if out is None:
        results = mapped(call.compute(given), _tensor)
        return results if half is None else results.to(half)
    for one in out if isinstance(out, tuple) else (out,):
        _check_written(one)
    if widens and out.dtype == torch.bfloat16:
        _copy(call, given, out, half)
    else:
        call.compute(given, mapped(out, _written))
    return out


def _are_bfloat16(call, arrays):
    """Whether all arrays are of bfloat16, and lent as they are."""
    same = all(getattr(array, "dtype", None) == torch.bfloat16 for array in arrays)
    return bfloat16 is not None and call.dtype is None and same


def _halved(call, arrays, out):
    """The call with NumPy's type in place of PyTorch's, and bfloat16 where the result is to be of that.

    It is computed in float32, which has all values of bfloat16.
    """
    wanted = call.dtype
    if isinstance(wanted, torch.dtype):
        half = torch.bfloat16 if wanted == torch.bfloat16 else None
        return call.of(np.dtype(np.float32) if half else _dtype(wanted)), half
    types = [array.dtype for array in arrays if isinstance(array, torch.Tensor)]
    if wanted is not None or torch.bfloat16 not in types:
        return call, None
    others = (array for array in arrays if not isinstance(array, torch.Tensor))
    types += [torch.from_numpy(np.empty(0, asarray(array).dtype)).dtype for array in others]
    half = torch.bfloat16 if reduce(torch.promote_types, types) == torch.bfloat16 else None
    return call, half


def _dtype(dtype):
    """NumPy's element type for one of PyTorch's."""
    try:
        return torch.empty(0, dtype=dtype).numpy().dtype
    except TypeError:
        raise _ijk.DTypeError(f"dtype is {dtype}, which NumPy does not have") from None


def _check(tensor, name):
    """Raises TypeError where a tensor's elements do not lie in main memory as an array."""
    if torch.masked.is_masked_tensor(tensor):
        raise TypeError(
            f"{name} is a masked tensor, and the mask would be lost: pass x.to_tensor(0), "
            "which leaves masked elements out of sums, or x.get_data() to ignore the mask"
        )
    if tensor.is_nested:
        raise TypeError(f"{name} is a nested tensor: pass x.to_padded_tensor(0), or a call for each part")
    if tensor.layout != torch.strided:
        raise TypeError(
            f"{name} is a tensor of layout {tensor.layout}: pass x.to_dense(), "
            "or a sparse array of SciPy's, whose zeros are not multiplied"
        )
    if tensor.is_quantized:
        raise TypeError(f"{name} is a quantized tensor: pass x.dequantize()")
    if tensor.device.type == "meta":
        raise TypeError(f"{name} is on the device meta, where tensors have no elements")
    if tensor.device.type != "cpu":
        raise TypeError(
            f"{name} is on the device {tensor.device}, but ijk computes in main memory: pass x.cpu()"
        )


def taken(array, name, halves=False):
    """The elements of an argument, where they lie but for those of conjugated and negated tensors."""
    if not isinstance(array, torch.Tensor):
        return asarray(array, name)
    _check(array, name)
    if array.requires_grad and torch.is_grad_enabled():
        raise TypeError(
            f"{name} requires gradients, which ijk does not record: pass x.detach(), "
            "or call ijk within torch.no_grad()"
        )
    array = array.detach().resolve_conj().resolve_neg()
    if array.dtype == torch.bfloat16 and halves:
        array = array.to(torch.float32)
    return _memory(array, name)


def _memory(tensor, name):
    """A tensor's memory as an array."""
    if tensor.dtype == torch.bfloat16 and bfloat16 is not None:
        return tensor.view(torch.int16).numpy().view(bfloat16)
    try:
        return tensor.numpy()
    except TypeError:
        raise _ijk.DTypeError(
            f"{name} is of {tensor.dtype}, but ijk computes with {TYPES}: pass x.to(torch.float32), say"
        ) from None
    except RuntimeError as error:
        raise TypeError(f"{name} has no memory that could be read: {error}") from error


def _check_written(out):
    """Raises TypeError where a result cannot be written to a tensor in place."""
    _check(out, "out")
    if out.requires_grad and torch.is_grad_enabled():
        raise TypeError(
            "out requires gradients, which ijk does not record: pass out.detach(), "
            "or call ijk within torch.no_grad()"
        )
    if out.is_conj() or out.is_neg():
        how = "conjugated" if out.is_conj() else "negated"
        raise TypeError(f"out is a {how} view, whose memory has other values: pass out.clone()")


def _written(out):
    return _memory(out.detach(), "out")


def _copy(call, given, out, half):
    """Computes, and rounds the result into a tensor of bfloat16."""
    if half is None and call.casting not in ("same_kind", "unsafe"):
        raise _ijk.DTypeError(
            "the result does not become torch.bfloat16, the type of out, according to the rule "
            f"'{call.casting}': pass casting='same_kind'"
        )
    result = np.asarray(call.compute(given))
    if result.shape != tuple(out.shape):
        raise _ijk.Error(f"out has the shape {tuple(out.shape)}, but the result {result.shape}")
    out.detach().copy_(_tensor(result))


def _tensor(result):
    """A tensor of an array's elements, without a copy where one can lie as the array does."""
    array = np.asarray(result)
    if not array.flags.writeable or min(array.strides, default=0) < 0:
        array = array.copy()
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    try:
        return torch.from_numpy(array)
    except TypeError:
        raise _ijk.DTypeError(f"the result is of {array.dtype}, of which there are no tensors") from None
