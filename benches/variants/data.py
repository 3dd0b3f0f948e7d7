"""Arrays and their layouts in memory."""

from __future__ import annotations

import zlib

import numpy as np

from .tree import Input

LINE = 64


def values(one: Input, sizes: dict[str, int]) -> np.ndarray:
    """The data of the base program, the same in every run."""
    shape = tuple(sizes[letter] for letter in one.letters)
    random = np.random.default_rng(zlib.crc32(one.source.encode()))
    what, _, most = one.holds.partition(" ")
    if what == "ones":
        return np.ones(shape, np.float32)
    if what == "numbers":
        return np.arange(shape[0])
    if what == "below":
        return random.integers(0, sizes[most], shape)
    if what == "sorted":
        return np.sort(random.integers(0, sizes[most], shape))
    flat = random.random(shape, np.float32)
    return flat * 2 - 1 if what == "signed" else flat + np.float32(0.5)


def laid_out(array: np.ndarray, views: tuple[tuple, ...]) -> np.ndarray:
    """Applies views, one after another."""
    for name, *arguments in views:
        array = VIEWS[name](array, *arguments)
    return array


def touched(array: np.ndarray) -> int:
    """Bytes of the cache lines that hold the elements of an array."""
    run, runs = array.itemsize, 1
    for step, extent in sorted((abs(step), extent) for step, extent in zip(array.strides, array.shape)):
        if step < run + LINE:
            run += step * (extent - 1)
        else:
            runs *= extent
    return runs * (run if run > LINE else LINE if runs > 1 else run)


def turn(array, order):
    """Axes in another order, memory as it was."""
    return array.transpose(order)


def turn_copy(array, order):
    """Axes in another order, and elements, too."""
    return np.ascontiguousarray(array.transpose(order))


def store(array, order):
    """Elements in another order, axes as they were."""
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


def reverse(array, axis):
    """Elements of an axis the other way round in memory."""
    return np.flip(np.ascontiguousarray(np.flip(array, axis)), axis)


def pad(array):
    """Rows with a gap behind each."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] + 16), array.dtype)
    part = wide[..., : array.shape[-1]]
    part[...] = array
    return part


def every_second(array):
    """Every second row of an array of twice as many."""
    tall = np.zeros((2 * array.shape[0], *array.shape[1:]), array.dtype)
    tall[::2] = array
    return tall[::2]


def unit(array, axis):
    """With an axis of one element."""
    return np.expand_dims(array, axis)


def short(array):
    """32-bit integers."""
    return array.astype(np.int32)


VIEWS = {f.__name__: f for f in (turn, turn_copy, store, reverse, pad, every_second, unit, short)}
