"""Recurrences as loops that Numba compiles, in the order of passes."""

import numba
import numpy as np


@numba.njit
def recurrence(x, a):
    y = np.empty_like(x)
    for b in range(x.shape[0]):
        last = x.dtype.type(0)
        for t in range(x.shape[1]):
            last = x[b, t] + a[b, t] * last
            y[b, t] = last
    return y


@numba.njit
def forward(m, e):
    steps, states = e.shape
    y = np.empty_like(e)
    sums = np.empty(states, e.dtype)
    for t in range(steps):
        if t == 0:
            sums[:] = 1 / states
        else:
            sums[:] = 0
            for l in range(states):
                before = y[t - 1, l]
                for k in range(states):
                    sums[k] += before * m[l, k]
        total = e.dtype.type(0)
        for k in range(states):
            sums[k] *= e[t, k]
            total += sums[k]
        for k in range(states):
            y[t, k] = sums[k] / total
    return y


@numba.njit
def viterbi(m, e):
    steps, states = e.shape
    y = np.empty_like(e)
    best = np.empty(states, e.dtype)
    y[0] = e[0]
    for t in range(1, steps):
        best[:] = -np.inf
        for l in range(states):
            before = y[t - 1, l]
            for k in range(states):
                found = before + m[l, k]
                best[k] = found if found > best[k] else best[k]
        for k in range(states):
            y[t, k] = best[k] + e[t, k]
    return y


@numba.njit
def edits(a, b):
    y = np.empty((len(a) + 1, len(b) + 1), a.dtype)
    for j in range(len(b) + 1):
        y[0, j] = j
    for i in range(len(a)):
        left = a.dtype.type(i + 1)
        y[i + 1, 0] = left
        for j in range(len(b)):
            least = min(y[i, j] + (a[i] != b[j]), y[i, j + 1] + 1, left + 1)
            y[i + 1, j + 1] = left = least
    return y


@numba.njit
def paths(w):
    y = w.copy()
    for k in range(len(w)):
        for i in range(len(w)):
            first = y[i, k]
            for j in range(len(w)):
                through = first + y[k, j]
                y[i, j] = through if through < y[i, j] else y[i, j]
    return y


@numba.njit
def substitution(l, d, b):
    y = np.zeros_like(b)
    for i in range(len(b)):
        y[i] = (b[i] - np.dot(l[i, :i], y[:i])) / d[i]
    return y


@numba.njit
def life(x, steps):
    n = len(x)
    y = x.copy()
    padded = np.zeros((n + 2, n + 2), x.dtype)
    for _ in range(steps):
        padded[1:-1, 1:-1] = y
        for p in range(n):
            for q in range(n):
                s = x.dtype.type(0)
                for i in range(3):
                    for j in range(3):
                        s += padded[p + i, q + j]
                y[p, q] = (s == 3) | ((s == 4) & (padded[p + 1, q + 1] == 1))
    return y
