"""Operations of deep learning in NumPy and SciPy, which programs call as `reference`.

`ijk verify` has them where NumPy and SciPy have no single call that does the same. Every function takes arrays in the layout of the program: batch, positions, channels.
"""

import itertools

import numpy as np
from scipy import ndimage, signal, special


def convolution(input, filters, strides=None, dilations=None, padding="VALID"):
    """The convolution of deep learning: a correlation summed over input channels."""
    rank = filters.ndim - 2
    filters = dilate(filters, (dilations or [1] * rank) + [1, 1])
    if padding == "SAME":
        totals = [n - 1 for n in filters.shape[:rank]]
        input = np.pad(input, [(0, 0)] + [(n // 2, n - n // 2) for n in totals] + [(0, 0)])
    result = np.stack(
        [
            np.stack([correlate(one, filters[..., o]) for o in range(filters.shape[-1])], axis=-1)
            for one in input
        ]
    )
    return result[(slice(None), *(slice(None, None, n) for n in strides or [1] * rank))]


def correlate(input, kernel):
    """Over positions and channels, of which there are as many in both."""
    return signal.correlate(input, kernel, mode="valid", method="direct")[..., 0]


def dilate(array, steps):
    """Zeros between the elements."""
    shape = [(n - 1) * step + 1 for n, step in zip(array.shape, steps)]
    wide = np.zeros(shape, array.dtype)
    wide[tuple(slice(None, None, step) for step in steps)] = array
    return wide


def convolution_transpose(input, filters, strides):
    """The gradient of a convolution; filters are positions, output and input channels."""
    stuffed = dilate(input, [1, *strides, 1])
    pads = [(n - 1, n - 1) for n in filters.shape[:-2]]
    stuffed = np.pad(stuffed, [(0, 0), *pads, (0, 0)])
    positions = tuple(range(filters.ndim - 2))
    return convolution(stuffed, np.flip(filters, positions).swapaxes(-1, -2))


def depthwise_convolution(input, filters):
    """Every channel with its own filters; results of one channel lie side by side."""
    parts = [
        convolution(input[..., c : c + 1], filters[..., c : c + 1, :])
        for c in range(input.shape[-1])
    ]
    return np.concatenate(parts, axis=-1)


def separable_convolution(input, depthwise, pointwise):
    """A depthwise convolution, then a matrix product of the channels."""
    return depthwise_convolution(input, depthwise) @ pointwise


def windows(input, window, strides):
    """All windows: batch, positions, channels, positions in the window."""
    axes = tuple(range(1, input.ndim - 1))
    views = np.lib.stride_tricks.sliding_window_view(input, window, axes)
    return views[(slice(None), *(slice(None, None, n) for n in strides))]


def pool(function, input, window, strides):
    """A function of every window: `average` or `max`."""
    views = windows(input, window, strides)
    return {"average": np.average, "max": np.max}[function](views, axis=tuple(range(input.ndim, views.ndim)))


def gather_nd(params, indices, batch_dims):
    """The slices of `params` that the last axis of `indices` picks, batch by batch."""
    batch = np.indices(indices.shape[:-1], sparse=True)[:batch_dims]
    return params[(*batch, *np.moveaxis(indices, -1, 0))]


def scatter_nd(indices, updates, shape):
    """Zeros, with every update added where its index says."""
    result = np.zeros(shape, updates.dtype)
    np.add.at(result, tuple(np.moveaxis(indices, -1, 0)), updates)
    return result


def crop(input, begin, size):
    """A box out of an array."""
    return input[tuple(slice(b, b + n) for b, n in zip(begin, size))]


def space_to_depth(input, block):
    """Blocks of positions become channels."""
    rank = len(block)
    split = [part for n, b in zip(input.shape[1:-1], block) for part in (n // b, b)]
    parts = input.reshape(input.shape[0], *split, input.shape[-1])
    outer, inner = range(1, 2 * rank, 2), range(2, 2 * rank + 1, 2)
    parts = parts.transpose(0, *outer, *inner, 2 * rank + 1)
    return parts.reshape(*parts.shape[: rank + 1], -1)


def depth_to_space(input, block):
    """Channels become blocks of positions."""
    rank = len(block)
    positions = input.shape[1:-1]
    parts = input.reshape(input.shape[0], *positions, *block, -1)
    pairs = itertools.chain(*((n + 1, n + 1 + rank) for n in range(rank)))
    parts = parts.transpose(0, *pairs, 2 * rank + 1)
    return parts.reshape(input.shape[0], *(n * b for n, b in zip(positions, block)), -1)


def normalise(input, axes, scale, offset, epsilon):
    """Mean 0 and variance 1 over some axes, then scaled and shifted."""
    axes = tuple(axes)
    mean = np.mean(input, axis=axes, keepdims=True)
    deviation = np.sqrt(np.var(input, axis=axes, keepdims=True) + epsilon)
    return (input - mean) / deviation * scale + offset


def attention(query, key, value):
    """Scaled dot-product attention."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    return special.softmax(scores, axis=-1) @ value


def upsample(input, factors):
    """Linear interpolation along every position axis, centres of pixels at halves."""
    lines = [(np.arange(n * f) + 0.5) / f - 0.5 for n, f in zip(input.shape[1:-1], factors)]
    grid = np.meshgrid(*lines, indexing="ij")
    resample = lambda plane: ndimage.map_coordinates(plane, grid, order=1, mode="nearest")
    planes = [[resample(one[..., c]) for c in range(input.shape[-1])] for one in input]
    return np.moveaxis(np.array(planes), 1, -1)
