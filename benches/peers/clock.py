"""Times of runs, taken the way `ijk bench` takes them."""

from __future__ import annotations

import math
import statistics
import time
from typing import Callable

# Runs that are shorter are timed several at a time, so that reading the clock does not count.
SHORT = 20e-6
MOST = 100_000
# What takes longer when it first runs, compilation and all, is not short, and is not run again to see.
LONG = 0.5


def batch(run: Callable[[], object]) -> int:
    """How many runs make a repetition, after one to warm up."""
    if repeat(run, 1) > LONG:
        return 1
    return max(1, min(10_000, math.ceil(SHORT / max(repeat(run, 1), 1e-9))))


def repeat(run: Callable[[], object], count: int) -> float:
    """Seconds of a run, as the mean of so many."""
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def during(run: Callable[[], object], count: int, seconds: float) -> float:
    """Median of the times of runs that go on for so many seconds."""
    return statistics.median(times(run, count, seconds))


def least(run: Callable[[], object], count: int, seconds: float) -> float:
    """Least of the times of runs that go on for so many seconds: what others do on the machine only adds to it."""
    return min(times(run, count, seconds))


def times(run: Callable[[], object], count: int, seconds: float) -> list[float]:
    """Times of runs that go on for so many seconds."""
    begin = time.perf_counter()
    found = [repeat(run, count)]
    while time.perf_counter() - begin < seconds and len(found) < MOST:
        found.append(repeat(run, count))
    return found
