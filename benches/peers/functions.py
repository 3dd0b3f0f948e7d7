"""Functions for cases that are more than one expression: the shortest usual way in each library.

Every function imports its library itself, since not all are installed.
"""

from __future__ import annotations

import numpy as np


def np_softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    e /= e.sum(axis=-1, keepdims=True)
    return e


def np_layer_norm(x):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + np.float32(1e-5))


def np_rms_norm(x):
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(1e-5))


def np_logsumexp(x):
    most = x.max(axis=1, keepdims=True)
    return (np.log(np.exp(x - most).sum(axis=1, keepdims=True)) + most)[:, 0]


def np_gelu(x):
    from scipy.special import erf

    return x * np.float32(0.5) * (1 + erf(x * np.float32(0.5**0.5)))


def np_scatter_add(start, rows, updates):
    np.add.at(start, rows, updates)
    return start


def windows(x, rows: int, columns: int, stride: int = 1, dilation: int = 1):
    """A view [n, c, h, w, r, s] of the windows of images."""
    reach = (dilation * (rows - 1) + 1, dilation * (columns - 1) + 1)
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    return view[:, :, ::stride, ::stride, ::dilation, ::dilation]


def np_max_pool(x, size: int, stride: int):
    return windows(x, size, size, stride).max(axis=(4, 5))


def np_convolution(x, y, stride: int = 1, dilation: int = 1, transposed: int = 0):
    if transposed:
        return np_transposed(x, y, transposed)
    if y.ndim == 2:
        return np.einsum("nchw,fc->nfhw", x, y, optimize=True)
    view = windows(x, *y.shape[-2:], stride, dilation)
    if y.ndim == 3:
        return np.einsum("nchwrs,crs->nchw", view, y)
    return np.tensordot(view, y, axes=([1, 4, 5], [1, 2, 3])).transpose(0, 3, 1, 2)


def np_transposed(x, y, stride: int):
    n, _, h, w = x.shape
    _, f, rows, columns = y.shape
    out = np.zeros((n, f, stride * (h - 1) + rows, stride * (w - 1) + columns), x.dtype)
    for r in range(rows):
        for s in range(columns):
            part = np.einsum("nchw,cf->nfhw", x, y[:, :, r, s], optimize=True)
            out[:, :, r : r + stride * h : stride, s : s + stride * w : stride] += part
    return out


def torch_convolution(x, y, stride: int = 1, dilation: int = 1, transposed: int = 0):
    import torch.nn.functional as F

    if transposed:
        return F.conv_transpose2d(x, y, stride=transposed)
    if y.ndim == 2:
        return F.conv2d(x, y[:, :, None, None])
    if y.ndim == 3:
        return F.conv2d(x, y[:, None], groups=y.shape[0])
    return F.conv2d(x, y, stride=stride, dilation=dilation)


def jax_convolution(x, y, stride: int = 1, dilation: int = 1, transposed: int = 0):
    import jax

    options = dict(dimension_numbers=("NCHW", "OIHW", "NCHW"))
    if transposed:
        # The transpose of a convolution is one of the flipped filter over a spread image.
        y = y[:, :, ::-1, ::-1].swapaxes(0, 1)
        reach = [(n - 1, n - 1) for n in y.shape[2:]]
        spread = (transposed, transposed)
        return jax.lax.conv_general_dilated(x, y, (1, 1), reach, lhs_dilation=spread, **options)
    if y.ndim == 2:
        y = y[:, :, None, None]
    groups = 1
    if y.ndim == 3:
        y, groups = y[:, None], y.shape[0]
    return jax.lax.conv_general_dilated(
        x,
        y,
        (stride, stride),
        "VALID",
        rhs_dilation=(dilation, dilation),
        feature_group_count=groups,
        **options,
    )


def jax_max_pool(x, size: int, stride: int):
    import jax

    window, step = (1, 1, size, size), (1, 1, stride, stride)
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, step, "VALID")


def jnp_layer_norm(x):
    import jax.numpy as jnp

    centred = x - jnp.mean(x, axis=1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred * centred, axis=1, keepdims=True) + 1e-5)
